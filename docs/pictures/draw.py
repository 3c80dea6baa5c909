#!/usr/bin/python3
"""Draws the pictures of the documents: the system, a handover as a sequence, and where a tick can go.

usage: docs/pictures/draw.py [FOLDER]     writes NAME.svg of each to FOLDER, by default the script's own
"""
import pathlib
import sys
from xml.sax.saxutils import escape

STYLE = """
  :root { --ground: #fff; --ink: #1b2530; --soft: #4d5a6b; --line: #5d6b7d; --box: #f3f5f8; --host: #fafbfd;
    --blue: #dbe9fb; --green: #dff2e2; --yellow: #fff1cf; --red: #fde4e4; --ok: #1d7a3e; --bad: #b02323 }
  @media (prefers-color-scheme: dark) { :root { --ground: #0f141b; --ink: #e8edf3; --soft: #aab6c6; --line: #8c9bb0;
    --box: #1f2733; --host: #151c26; --blue: #1b3558; --green: #173d27; --yellow: #463a16; --red: #4c2022;
    --ok: #67d391; --bad: #ff8f8f } }
  text { font: 13px system-ui, sans-serif; fill: var(--ink) } .soft { fill: var(--soft) } .bold { font-weight: 600 }
  .code { font: 12px ui-monospace, monospace } .small { font-size: 12px } .ok { fill: var(--ok) } .bad { fill: var(--bad) }
  rect { stroke: var(--line); rx: 6 } .box { fill: var(--box) } .host { fill: var(--host) } .blue { fill: var(--blue) }
  .green { fill: var(--green) } .yellow { fill: var(--yellow) } .red { fill: var(--red) }
  path { stroke: var(--line); stroke-width: 1.5; fill: none } .dashed { stroke-dasharray: 5 4 }
  .tip { fill: var(--line); stroke: none } .life { stroke-dasharray: 2 4 }
  .halo { paint-order: stroke; stroke: var(--ground); stroke-width: 5 }
  .leads { fill: var(--ok); stroke: none; rx: 3 }
"""


class Picture:
    def __init__(self, width, height, told):
        self.width, self.height = width, height
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="{escape(told)}">', f"<title>{escape(told)}</title>", f"<style>{STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>',
            f'<rect style="fill: var(--ground); stroke: none; rx: 0" width="{width}" height="{height}"/>']

    def text(self, x, y, text, kind="", anchor="middle"):
        kind = f' class="{kind}"' if kind else ""
        self.lines.append(f'<text{kind} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>')

    def rect(self, x, y, width, height, kind):
        self.lines.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"/>')

    def box(self, x, y, width, height, kind, *texts):
        """The first line is bold; one that begins with $ is code."""
        self.rect(x, y, width, height, kind)
        top = y + height / 2 - 8.5 * (len(texts) - 1) + 4.5
        for i, text in enumerate(texts):
            style = "code" if text.startswith("$") else "soft small" if i else "bold"
            self.text(x + width / 2, top + 17 * i, text.removeprefix("$"), style)

    def arrow(self, *points, kind="", both=False):
        path = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
        begin = ' marker-start="url(#tip)"' if both else ""
        kind = f' class="{kind}"' if kind else ""
        self.lines.append(f'<path{kind} d="{path}"{begin} marker-end="url(#tip)"/>')

    def line(self, *points, kind=""):
        self.lines.append(f'<path class="{kind}" d="M' + " L".join(f"{x:g} {y:g}" for x, y in points) + '"/>')

    def done(self):
        return "\n".join([*self.lines, "</svg>"]) + "\n"


def system():
    p = Picture(960, 600, "Each server has a sidecar with a session at the ZooKeeper ensemble; crontab, applications, "
                "the runner and the page ask their own sidecar over a socket")
    p.box(250, 16, 460, 92, "green")
    p.text(480, 38, "ZooKeeper ensemble", "bold")
    for i in range(3):
        p.box(270 + 145 * i, 48, 130, 28, "host", f"ZooKeeper {i + 1}")
    p.text(480, 98, "workers · leaders · runs · jobs · decisions", "soft small")

    p.rect(20, 170, 560, 330, "host")
    p.text(36, 192, "host1", "bold", "start")
    p.text(564, 192, "leads nightly-report, token 41", "ok small", "end")
    p.box(140, 204, 320, 56, "blue", "zkleaderd, the sidecar", "session · lease · elections · ledger · queues")
    p.box(36, 290, 528, 30, "yellow", "Unix socket")
    p.arrow((300, 289), (300, 261), both=True)
    programs = [("crontab", "$zkleader-check, run"), ("application", "$libzkleader"), ("zkleader", "the command line"),
                ("zkleader-runner", "starts what is due"), ("zkleader-web", "page, metrics, health"),
                ("zkleader-notify", "tells people")]
    for i, texts in enumerate(programs):
        x, y = 36 + 181 * (i % 3), 346 + 78 * (i // 3)
        p.box(x, y, 166, 48, "box", *texts)
        if i < 3:
            p.arrow((x + 83, y - 1), (x + 83, 321))
    for x, sides in ((209.5, (203,)), (390.5, (384, 397))):  # the row below passes between the boxes of this one
        for side in sides:
            p.line((side, 448), (x, 448))
        p.arrow((x, 448), (x, 321))

    p.arrow((300, 203), (300, 109), both=True)
    for i, (name, says) in enumerate((("host2", "next in rank"), ("host3", "third in rank"))):
        x = 600 + 175 * i
        p.rect(x, 170, 160, 330, "host")
        p.text(x + 14, 192, name, "bold", "start")
        p.box(x + 14, 204, 132, 56, "blue", "zkleaderd", says)
        p.box(x + 14, 290, 132, 30, "yellow", "Unix socket")
        p.arrow((x + 80, 289), (x + 80, 261), both=True)
        p.box(x + 14, 346, 132, 48, "box", "crontab", "the same line")
        p.arrow((x + 80, 345), (x + 80, 321))
        p.box(x + 14, 424, 132, 48, "box", "and the rest", "as on host1")
        p.arrow((x + 80, 203), (x + 80, 140), (680 + 20 * i, 140), (680 + 20 * i, 109), both=True)
    p.text(312, 158, "one session of each sidecar", "soft small", "start")

    outside = [("commands", "of tasks and jobs"), ("browser", "Prometheus, load balancer"), ("mail, chat, pager", "pings of checks")]
    for i, texts in enumerate(outside):
        p.box(36 + 181 * i, 536, 166, 48, "box", *texts)
    p.arrow((119, 473), (119, 535))
    p.arrow((300, 535), (300, 473))
    p.arrow((481, 473), (481, 535))
    p.text(768, 556, "Only sidecars talk to ZooKeeper.", "soft")
    p.text(768, 576, "All else asks the sidecar of its host.", "soft")
    return p.done()


def handover():
    p = Picture(960, 944, "A newer version joins and takes a task over: registration, yield, claim, and what each "
                "crontab line is told meanwhile")
    a, z, b = 250, 480, 710
    for x, first, second, kind in ((60, "crontab", "on A", "box"), (a, "sidecar A", "version 1.4", "blue"),
                                   (z, "ZooKeeper", "the quorum", "green"), (b, "sidecar B", "version 1.5", "blue"),
                                   (900, "crontab", "on B", "box")):
        p.line((x, 66), (x, 900), kind="life")
        p.box(x - (45 if kind == "box" else 75), 16, 90 if kind == "box" else 150, 50, kind, first, second)

    def send(y, x1, x2, text, kind="code", dashed=False):
        gap = 6 if x1 < x2 else -6
        p.arrow((x1 + gap, y), (x2 - gap, y), kind="dashed" if dashed else "")
        p.text((x1 + x2) / 2, y - 7, text, kind)

    def more(y, text, x=None, kind="code"):
        p.text(x or (a + z) / 2, y, text, f"{kind} halo")

    def note(y, x, *texts, kind="yellow", width=212):
        p.box(x - width / 2, y, width, 12 + 17 * len(texts), kind, *texts)

    # When a yes may be said.
    p.rect(a - 4, 148, 8, 402, "leads")
    p.rect(b - 4, 760, 8, 140, "leads")
    send(102, a, z, "check workers/A")
    more(118, "create leaders/report")
    send(150, z, a, "done: token 41", "bold", True)
    send(184, 60, a, "check?", "small")
    send(210, a, 60, "yes, for lease_ms", "ok small", True)
    send(240, a, z, "check workers/A")
    more(256, "the confirmation: every T/12", kind="soft small")
    send(290, b, z, "create workers/B")
    send(320, z, a, "workers have changed", "small", True)
    send(320, z, b, "workers have changed", "small", True)
    note(334, a, "ranks: B is the best")
    note(334, b, "ranks: I am the best")
    send(394, b, z, "read leaders/report, watch")
    note(412, a, "waits, and leads on, until", "yield-delay is over", "no full minute is near", "no run holds the task",
         "its last promise has ended")
    note(536, a, "stops saying yes", kind="red")
    send(598, a, z, "check workers/B")
    more(614, "set, delete leaders/report")
    send(646, z, a, "done", "small", True)
    send(646, z, b, "leaders/report: given up", "small", True)
    send(694, b, z, "check workers/B")
    more(710, "create leaders/report", (b + z) / 2)
    send(760, z, b, "done: token 57", "bold", True)
    send(794, 60, a, "check?", "small")
    send(820, a, 60, "no", "bad small", True)
    send(794, 900, b, "check?", "small")
    send(820, b, 900, "yes, for lease_ms", "ok small", True)
    send(850, b, z, "check workers/B")
    more(866, "the confirmation: every T/12", (b + z) / 2, "soft small")
    p.text(480, 926, "The green bars are when a yes may be said. They never overlap. "
           "Lines below one arrow are one transaction.", "small")
    return p.done()


def tick():
    p = Picture(960, 740, "Where a tick can go, from the crontab line or the schedule to how its run has ended")
    p.box(20, 16, 560, 50, "blue", "crontab: the line fires on each host", "$zkleader run TASK -- CMD")
    p.box(620, 16, 320, 50, "blue", "schedule: the tick is due", "$schedule = \"0 2 * * *\"")

    # A crontab's tick, on each host for itself.
    p.box(20, 104, 110, 66, "red", "nobody may", "no candidate", "exit 4")
    p.box(142, 104, 110, 66, "red", "not known", "no session", "exit 2")
    p.box(264, 104, 150, 66, "box", "another leads", "wait for it to claim,", "or until this one leads")
    p.box(446, 104, 134, 66, "box", "this node leads", "and the run before", "has ended")
    for x in (75, 197, 339, 513):
        p.arrow((x, 67), (x, 103))
    p.arrow((415, 137), (445, 137))
    p.box(218, 212, 114, 66, "box", "taken", "by another node", "exit 1")
    p.box(346, 212, 114, 66, "red", "unclaimed", "the wait is over", "exit 1")
    p.arrow((290, 171), (290, 211))
    p.arrow((388, 171), (388, 211))

    # A schedule's tick, in the sidecar that leads.
    p.box(620, 104, 140, 66, "box", "owed", "until it is run,", "or missed")
    p.box(800, 104, 140, 66, "red", "missed", "outage, overlap,", "window, clock, …")
    p.arrow((690, 67), (690, 103))
    p.arrow((761, 137), (799, 137))
    p.box(620, 212, 140, 66, "box", "offered", "to the runner of", "the task's user")
    p.arrow((690, 171), (690, 211))

    p.box(446, 326, 314, 56, "yellow", "the claim: once in the fleet, for ever", "$create runs/TASK/TICK")
    p.arrow((513, 171), (513, 325))
    p.arrow((690, 279), (690, 325))
    p.arrow((445, 354), (275, 354), (275, 279), kind="dashed")
    p.text(360, 346, "others are told", "soft small")
    p.box(800, 326, 140, 56, "box", "claimed", "by check --once")
    p.arrow((761, 354), (799, 354))

    p.box(486, 428, 234, 56, "yellow", "running", "under the lease; holds the task")
    p.arrow((603, 383), (603, 427))
    ends = [(290, 130, "green", ("ok", "status 0")), (446, 130, "red", ("failed", "another status")),
            (602, 130, "red", ("timeout", "ended by it")), (758, 182, "red", ("lost", "its node or its lease"))]
    p.line((603, 485), (603, 510))
    for x, width, kind, texts in ends:
        p.arrow((603, 510), (x + width / 2, 510), (x + width / 2, 533))
        p.box(x, 534, width, 50, kind, *texts)
    p.box(446, 630, 286, 66, "yellow", "the next attempt of the same tick", "failed, timeout: retries of a schedule",
          "lost: on-crash = \"rerun\"")
    p.arrow((511, 585), (511, 629))
    p.arrow((667, 585), (667, 629))
    p.arrow((849, 585), (849, 663), (733, 663))
    p.text(849, 686, "on-crash = \"skip\": it stays lost", "soft small")
    p.arrow((445, 663), (250, 663), (250, 456), (485, 456))
    p.text(480, 728, "zkleader history shows what has a record; zkleader explain TASK --tick TICK says of one tick what became "
           "of it, and why.", "small")
    return p.done()


PICTURES = {"system": system, "handover": handover, "tick": tick}

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for name, draw in PICTURES.items():
        (folder / f"{name}.svg").write_text(draw(), encoding="utf-8")

"""The judge of safety: asks every sidecar all the time, and looks at what was promised in the answers.

A yes is valid from when it was received until lease_ms after its question was sent, both by
CLOCK_BOOTTIME, which all sidecars of a machine share. Nothing takes it back, a later no neither, but
TERM: a sidecar that was told to go lets others lead at once (told_to_go). Promised are:

- no two sidecars' yes answers are valid at the same time;
- zkleader-web says 200 to no /leader/TASK that was asked and answered within the validity of another's yes;
- once a token has been received, no question sent later is answered yes with a smaller one.
"""
import bisect
import collections
import itertools
import threading
import time

from harness.rpc import Client, RpcError
from harness.waiting import wait_until

PAUSE = 0.004

Answer = collections.namedtuple("Answer", "sidecar sent received leader token lease_ms")


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Broken(AssertionError):
    """A promise did not hold."""


def validity(answers, gone=()):
    """[(from, to, sidecar)] of the yes answers, those of one sidecar that touch joined. gone: [(sidecar,
    told, ended)] of those that got TERM; what they have said is valid until then."""
    spans = []
    for a in answers:
        ends = [told for name, told, ended in gone if name == a.sidecar and a.sent < ended]
        end = min([a.sent + a.lease_ms / 1000, *ends])
        if a.leader and end > a.received:
            spans.append((a.received, end, a.sidecar))
    spans.sort()
    joined, last = [], {}
    for start, end, sidecar in spans:
        at = last.get(sidecar)
        if at is not None and start <= joined[at][1]:
            joined[at] = (joined[at][0], max(joined[at][1], end), sidecar)
        else:
            last[sidecar] = len(joined)
            joined.append((start, end, sidecar))
    return joined


def overlaps(answers, gone=()):
    """[(seconds, one span, the other)] of two sidecars whose answers were valid at the same time."""
    found = []
    open_spans = []
    for span in validity(answers, gone):
        open_spans = [s for s in open_spans if s[1] > span[0]]
        found += [(min(s[1], span[1]) - span[0], s, span) for s in open_spans if s[2] != span[2]]
        open_spans.append(span)
    return found


def said_elsewhere(answers, said, gone=()):
    """[(what was said, span)] of a 200 over HTTP, (sidecar, sent, received), within the validity of another's yes:
    it is about a moment of that time, whichever it was."""
    spans = validity(answers, gone)
    return [(one, span) for one in said for span in spans
            if span[2] != one[0] and span[0] <= one[1] and one[2] <= span[1]]


def tokens_gone_back(answers):
    """[(earlier, later)]: later was asked when earlier's bigger token was known already."""
    yes = [a for a in answers if a.leader]
    seen = sorted(yes, key=lambda a: a.received)
    received = [a.received for a in seen]
    biggest = list(itertools.accumulate(seen, lambda a, b: b if b.token > a.token else a))
    found = []
    for a in yes:
        n = bisect.bisect_right(received, a.sent)
        if n and biggest[n - 1].token > a.token:
            found.append((biggest[n - 1], a))
    return found


def double_seconds(answers):
    return sum(seconds for seconds, _, _ in overlaps(answers))


class Poller(threading.Thread):
    """Asks one sidecar until it is told to end, on a connection of its own that is made anew as needed."""

    def __init__(self, oracle, sidecar):
        super().__init__(daemon=True)
        self.oracle, self.sidecar = oracle, sidecar
        self.client = None
        self.asked = 0

    def ask(self):
        if not self.client:
            self.client = Client(self.sidecar.socket, timeout=600)
        sent = now()
        answer = self.client.call("check", self.oracle.task)
        self.oracle.note(self.sidecar.name, sent, answer)
        self.asked += 1

    def run(self):
        while not self.oracle.ended:
            try:
                self.ask()
            except (OSError, EOFError, RpcError, ValueError):
                self.hang_up()
                time.sleep(PAUSE * 5)
            time.sleep(self.oracle.pause)
        self.hang_up()

    def hang_up(self):
        client, self.client = self.client, None
        if client:
            client.close()


class WebPoller(Poller):
    """The same over HTTP, of the zkleader-web beside it."""

    def __init__(self, oracle, sidecar, web):
        super().__init__(oracle, sidecar)
        self.web = web

    def ask(self):
        sent = now()
        if self.web.get(f"/leader/{self.oracle.task}")[0] == 200:
            self.oracle.said.append((self.sidecar.name, sent, now()))
        self.asked += 1


class Oracle:
    """with Oracle("task", a, b) as oracle: ...  Judges at the end, if the test has not failed before."""

    def __init__(self, task, *sidecars, pause=PAUSE):
        self.task = task
        self.pause = pause  # seconds between two questions to one sidecar
        self.answers = []
        self.said = []  # (sidecar, sent, received) of each 200 over HTTP
        self.epochs = [0.0]
        self.gone = []
        self.pollers = []
        self.ended = False
        self.began = now()
        for sidecar in sidecars:
            self.watch(sidecar)

    def watch(self, sidecar):
        poller = Poller(self, sidecar)
        self.pollers.append(poller)
        poller.start()

    def watch_web(self, sidecar, web):
        poller = WebPoller(self, sidecar, web)
        self.pollers.append(poller)
        poller.start()

    def note(self, name, sent, answer):
        """An answer, received just now."""
        self.answers.append(Answer(name, sent, now(), answer["leader"], answer["token"], answer["lease_ms"]))

    def data_lost(self):
        """The server has lost its data, tokens with it: they are compared anew from here on."""
        self.epochs.append(now())

    def told_to_go(self, sidecar, told):
        """Notes that the sidecar got TERM at that moment, and has ended by now."""
        assert not sidecar.is_running()
        self.gone.append((sidecar.name, told, now()))

    # --- liveness

    def led(self, by=None, after=None, within=60, but_not=None):
        """Waits for a valid yes to a question sent after that moment (this one); returns the answer."""
        after = now() if after is None else after

        def found():
            for a in reversed(self.answers):
                if a.received < after:
                    return None
                if a.leader and a.sent >= after and (by is None or a.sidecar == by.name) \
                        and (but_not is None or a.sidecar != but_not.name):
                    return a
            return None
        return wait_until(found, within, f"{self.task} is led" + (f" by {by.name}" if by else ""))

    def not_led_by(self, sidecar, within=60):
        """Waits until it has answered a question of now on with no."""
        after = now()
        return wait_until(lambda: next((a for a in reversed(self.answers) if a.sidecar == sidecar.name
                                        and a.sent >= after and not a.leader), None),
                          within, f"{sidecar.name} leads no more")

    # --- the end

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.ended = True
        for poller in self.pollers:
            if poller.sidecar.is_running():
                poller.sidecar.resume()
            poller.join(10)
        if kind is None:
            self.judge()

    def judge(self):
        answers = list(self.answers)
        found = overlaps(answers, self.gone)
        if found:
            raise Broken(f"{self.task} was led twice: {found[:3]}")
        found = said_elsewhere(answers, list(self.said), self.gone)
        if found:
            raise Broken(f"{self.task} was led twice, over HTTP: {found[:3]}")
        for start, end in zip(self.epochs, self.epochs[1:] + [float("inf")]):
            back = tokens_gone_back([a for a in answers if start <= a.sent and a.received < end])
            if back:
                raise Broken(f"{self.task}: tokens went back: {back[:3]}")
        assert any(a.leader for a in answers), "nobody has ever led: nothing was tested"
        print(self.summary())

    def gap(self):
        """The longest time in which no yes counted, in seconds."""
        spans = sorted(validity(self.answers, self.gone))
        gap, end = 0.0, spans[0][1] if spans else 0.0
        for start, stop, _ in spans:
            gap, end = max(gap, start - end), max(end, stop)
        return gap

    def summary(self):
        yes = [a for a in self.answers if a.leader]
        return (f"measured: {len(self.answers)} answers in {now() - self.began:.1f} s, {len(yes)} yes, "
                f"{len({a.token for a in yes})} tokens, 0 s led twice, at most {self.gap():.2f} s led by nobody")


class FleetPoller(Poller):
    """The same of all tasks of the sidecar at once."""

    def ask(self):
        if not self.client:
            self.client = Client(self.sidecar.socket, timeout=600)
        sent = now()
        answers = self.client.call("tasks")
        received = now()
        for a in answers:
            if a["self"] and a["lease_ms"]:
                self.oracle.note_task(a["task"], Answer(self.sidecar.name, sent, received, True, a["token"], a["lease_ms"]))
        self.asked += 1


class FleetOracle(Oracle):
    """The oracle of all tasks, for hours: only yes answers are kept, and each that continues the one before is joined
    to it."""

    def __init__(self, *sidecars, pause=0.5):
        self.tasks = {}
        self.lock = threading.Lock()  # of the pollers, who join each other's answers
        super().__init__("all tasks", *sidecars, pause=pause)

    def watch(self, sidecar):
        poller = FleetPoller(self, sidecar)
        self.pollers.append(poller)
        poller.start()

    def note_task(self, task, answer):
        with self.lock:
            kept = self.tasks.setdefault(task, [])
            for i in range(len(kept) - 1, -1, -1):
                last = kept[i]
                if last.token > answer.token:
                    break  # an older one: it is judged by itself
                end = last.sent + last.lease_ms / 1000
                if last.sidecar == answer.sidecar and last.token == answer.token and end >= answer.received:
                    lease = max(end, answer.sent + answer.lease_ms / 1000) - last.sent
                    kept[i] = last._replace(lease_ms=lease * 1000)
                    return
                if len(kept) - i > 3:
                    break
            kept.append(answer)

    def judge(self):
        for task, answers in self.tasks.items():
            found = overlaps(answers, self.gone)
            if found:
                raise Broken(f"{task} was led twice: {found[:3]}")
            back = tokens_gone_back(answers)
            if back:
                raise Broken(f"{task}: tokens went back: {back[:3]}")
        assert self.tasks, "nobody has ever led: nothing was tested"
        print(self.summary())

    def summary(self):
        tokens = sum(len({a.token for a in answers}) for answers in self.tasks.values())
        asked = sum(poller.asked for poller in self.pollers)
        return (f"measured: {len(self.tasks)} tasks, {asked} questions about all of them in {now() - self.began:.0f} s, "
                f"{tokens} leaderships, 0 s with two leaders, no token went back")

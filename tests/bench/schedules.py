"""How punctual schedules are, beside cron and systemd where these do the same; and what they cost ZooKeeper."""
import re
import statistics
import time

import msgpack

from harness.cron import is_installed, may_mount, start_cron
from harness.process import end
from harness.runner import Runner, scheduled
from harness.server import Tree
from harness.sidecar import Sidecar
from harness import timers
from harness.waiting import wait_until

NODES = 3
DATE = ["/bin/date", "+%s.%N"]  # says when it began
MINUTELY = "* * * * *"


class Site:
    """Three sidecars with the same tasks, each with a runner."""

    def __init__(self, folder, server, tasks):
        folder.mkdir(parents=True)
        self.server, self.tree = server, Tree(server)
        self.sidecars = [Sidecar(folder / f"n{i}", f"n{i}", self.tree, "1.0", tasks, log_level="error",
                                 session_timeout="10s").start() for i in range(NODES)]
        self.runners = [Runner(s.folder / "runner", s.socket, s.config_file).start() for s in self.sidecars]
        wait_until(lambda: sum(s.status()["leads"] for s in self.sidecars) == len(tasks), 120, "all are led")

    def records(self, task):
        return {tick: msgpack.unpackb(self.tree.get("runs", task, tick)[0]) for tick in self.tree.names("runs", task)}

    def late_ms(self, task):
        """By how much the task's runs began behind their instants, by what they wrote."""
        found = []
        for tick, record in sorted(self.records(task).items()):
            if record["state"] == "ok":
                found.append(1000 * (float(record["output"]) - instant(tick)))
        return found

    def transactions(self):
        """That there were ever: the lower half of the server's last number."""
        return int(re.search(r"Zxid: 0x([0-9a-f]+)", self.server.ask("srvr")).group(1), 16) & 0xffffffff

    def close(self):
        for s in self.sidecars:
            s.kill()
        for r in self.runners:
            r.close()


def instant(tick):
    return time.mktime(time.strptime(tick, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone


def to_the_minute(spare_s):
    """Until so many seconds before a full minute."""
    left = 60 - time.time() % 60 - spare_s
    time.sleep(left if left > 0 else left + 60)


def punctual(report, folder, server, n):
    """A tick each second."""
    site = Site(folder / "seconds", server, [scheduled("second", DATE, schedule="every 1s", history=1000)])
    try:
        wait_until(lambda: len(site.late_ms("second")) >= n, n + 60, "the ticks have run")
        late = site.late_ms("second")[:n]
    finally:
        site.close()
    report.row("schedule_late_ms", f"from an instant to the job's first, {n} ticks", late, "ms", ("<=", 100))


def seconds(file):
    """By how many ms the times in the file are behind their full minutes."""
    return [1000 * (float(line) % 60) for line in file.read_text().split()] if file.exists() else []


def beside_others(report, folder, server, minutes):
    """At full minutes, which cron and systemd know as well."""
    if minutes == 0 or not is_installed() or not may_mount() or not timers.may_start():
        return
    cron_lines, timer_lines = folder / "cron.lines", folder / "timer.lines"
    site = Site(folder / "minutes", server, [scheduled("minute", DATE, schedule=MINUTELY)])
    cron = start_cron(folder / "cron", f"* * * * * root {DATE[0]} '+\\%s.\\%N' >>{cron_lines}\n")
    timer = timers.Timer(folder / "timer", "*-*-* *:*:00", f"/bin/sh -c '{DATE[0]} +%%s.%%N >>{timer_lines}'")
    try:
        found = wait_until(lambda: enough(minutes, site.late_ms("minute"), seconds(cron_lines), seconds(timer_lines)),
                           60 * minutes + 90, "the minutes have come")
    finally:
        timer.close()
        end(cron)
        site.close()
    report.row("schedule_minute_ms", f"the same at {minutes} full minutes", found[0], "ms")
    report.row("cron_minute_ms", "  of cron, beside it", found[1], "ms")
    report.row("timer_minute_ms", "  of a timer of systemd, beside it", found[2], "ms")


def enough(n, *lists):
    return [found[:n] for found in lists] if all(len(found) >= n for found in lists) else None


def all_of(site, names, ticks):
    """By how much the last of so many ticks of each was late; None: one has not run yet."""
    late = []
    for name in names:
        late.append(site.late_ms(name))
        if len(late[-1]) < ticks:
            return None
    return [ms[ticks - 1] for ms in late]


def at_once(report, folder, server, n):
    """Many tasks in the same second: when the last has begun, and what all that costs."""
    tasks = [scheduled(f"due-{i:04d}", DATE, schedule=MINUTELY) for i in range(n)]
    site = Site(folder / "many", server, tasks)
    try:
        names = [f"due-{i:04d}" for i in range(n)]
        # The first one makes the ledgers, and is not counted.
        wait_until(lambda: all_of(site, names, 1), 120, "all have run once")
        before = site.transactions()
        time.sleep(25)
        rest = (site.transactions() - before) / 25
        to_the_minute(5)
        before, began = site.transactions(), time.time()
        late = wait_until(lambda: all_of(site, names, 2), 60, "all have run again")
        cost = site.transactions() - before - rest * (time.time() - began)
    finally:
        site.close()
    report.row("schedule_last_s", f"{n} tasks in one second: the last begins behind it", [max(late) / 1000], "s", ("<=", 5))
    report.row("schedule_half_s", "  half of them", [statistics.median(late) / 1000], "s")
    report.row("schedule_writes", "  transactions a tick, of the whole fleet", [cost / n], "", ("<=", 3))


def schedules(report, folder, server, quick):
    punctual(report, folder, server, 3 if quick else 60)
    beside_others(report, folder, server, 0 if quick else 3)
    at_once(report, folder, server, 20 if quick else 1000)

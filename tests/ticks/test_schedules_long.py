"""`make check-ticks`: hundreds of ticks of schedules on three servers with real runners, while sidecars, runners and
ZooKeeper are killed, stopped and paused at random. What counts is what the jobs wrote.
SCHEDULED=1000 SEED=7 make check-ticks runs another story."""
import collections
import os
import random
import signal
import time

import msgpack
import pytest

from harness.runner import Runner, scheduled
from harness.waiting import wait_until

TICKS = int(os.environ.get("SCHEDULED", "300"))
SEED = int(os.environ.get("SEED", str(int(time.time()))))
TICK = 2
KEPT = 10000  # records: none is pruned meanwhile
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")

# Locked for as long as it runs: a second one beside it says so.
JOB = """exec 9>>{folder}/{task}.lock
flock -n 9 || echo beside $ZKLEADER_TICK $ZKLEADER_ATTEMPT $ZKLEADER_TOKEN >>{folder}/{task}
echo begun $ZKLEADER_TICK $ZKLEADER_ATTEMPT $ZKLEADER_TOKEN >>{folder}/{task}
sleep 0.{tenths}
echo ended $ZKLEADER_TICK $ZKLEADER_ATTEMPT $ZKLEADER_TOKEN >>{folder}/{task}
"""


def task(folder, name, tenths, **values):
    script = JOB.format(folder=folder, task=name, tenths=tenths).replace("\n", "; ").rstrip("; ")
    return scheduled(name, ["/bin/sh", "-c", script], schedule=f"every {TICK}s", catch_up="all", history=KEPT, **values)


def written(folder, name):
    path = folder / name
    lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [(what, tick, int(attempt), int(token)) for what, tick, attempt, token in lines]


def records(zk, name):
    return {tick: msgpack.unpackb(zk.get("runs", name, tick)[0]) for tick in zk.names("runs", name)}


class Story:
    def __init__(self, random_, sites, server):
        self.random, self.sites, self.server = random_, sites, server
        self.done = collections.Counter()

    def trouble(self):
        site = self.random.choice(self.sites)
        what = self.random.choice(["kill", "kill", "term", "pause", "runner", "runner killed", "server"])
        self.done[what] += 1
        if what == "kill":
            site.kill()
            time.sleep(self.random.uniform(0, 6))
            site.start(ready=False)
        elif what == "term":
            site.stop(timeout=90)
            site.start(ready=False)
        elif what == "pause":
            site.pause()
            time.sleep(self.random.uniform(0.2, 8))
            site.resume()
        elif what == "server":
            self.server.kill()
            time.sleep(self.random.uniform(0, 3))
            self.server.start()
        else:
            site.runner.stop(signal.SIGKILL if what == "runner killed" else signal.SIGTERM)
            time.sleep(self.random.uniform(0, 3))
            site.runner.start()


@pytest.mark.seconds(TICKS * TICK + 400)
def test_each_tick_is_run_once(fleet, folder, zk, own_server):
    own_server.start()
    print(f"SCHEDULED={TICKS} SEED={SEED}")
    tasks = [task(folder, "skip", 3), task(folder, "rerun", 5, on_crash="rerun")]
    sites = []
    try:
        for name in ("a", "b", "c"):
            sites.append(fleet.sidecar(name, tasks=tasks))
            sites[-1].runner = Runner(sites[-1].folder / "runner", sites[-1].socket, sites[-1].config_file).start()
        wait_until(lambda: written(folder, "skip") and written(folder, "rerun"), 60, "the first have run")
        story, begun = Story(random.Random(SEED), sites, own_server), time.time()
        while time.time() < begun + TICKS * TICK:
            time.sleep(story.random.uniform(0, 4))
            story.trouble()
        healed = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        zk.forget_client()
        for name in ("skip", "rerun"):
            wait_until(lambda: max(zk.names("runs", name)) > healed and  # pylint: disable=cell-var-from-loop
                       all(r["state"] not in ("running",) for t, r in records(zk, name).items() if t < healed), 120,
                       "what was owed is decided, and over")
        print(dict(story.done), judge(folder, zk, "skip", healed), judge(folder, zk, "rerun", healed))
    finally:
        reports = [report for site in sites for report in site.runner.close()]
    assert not reports, "\n".join(reports)


def judge(folder, zk, name, until):
    """The figures; fails where a tick was not run as is promised."""
    lines, kept = written(folder, name), records(zk, name)
    assert not [line for line in lines if line[0] == "beside"], "two jobs at a time"
    tokens = [token for what, _, _, token in lines if what == "begun"]
    assert tokens == sorted(tokens), "a smaller token after a greater one"
    begun = collections.defaultdict(list)
    for what, tick, attempt, _ in lines:
        if what == "begun":
            begun[tick].append(attempt)
    ended = {tick for what, tick, _, _ in lines if what == "ended"}
    ticks = sorted(t for t in kept if t < until)
    seconds = [time.mktime(time.strptime(t, "%Y-%m-%dT%H:%M:%SZ")) for t in ticks]
    assert seconds == [seconds[0] + i * TICK for i in range(len(seconds))], "each has a record"
    assert len(ticks) >= TICKS - 5 and set(begun) <= set(kept)
    states = collections.Counter(kept[t]["state"] for t in ticks)
    for tick in ticks:
        state, attempts = kept[tick]["state"], begun[tick]
        assert attempts == sorted(set(attempts)), f"{tick}: an attempt was begun twice: {attempts}"
        assert len(attempts) <= 1 or name == "rerun", f"{tick} was begun twice: {attempts}"
        assert (state == "ok") <= (tick in ended), f"{tick} is ok, and did not end"
        assert state != "missed" or not attempts, f"{tick} is missed, and was run"
        assert name != "rerun" or state in ("ok", "missed"), f"{tick}: {state}"
    return name, dict(states), f"{sum(len(a) > 1 for a in begun.values())} begun again"

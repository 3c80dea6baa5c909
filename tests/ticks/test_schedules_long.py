"""`make check-ticks`: hundreds of ticks of schedules on three servers with real runners, while sidecars, runners and
ZooKeeper are killed, stopped and paused at random. What counts is what the jobs wrote.
SCHEDULED=1000 SEED=7 make check-ticks runs another story."""
import collections
import os
import random
import signal
import time

import pytest

from harness.runner import Runner
from harness.schedules import judge, records, task, written
from harness.waiting import wait_until

TICKS = int(os.environ.get("SCHEDULED", "300"))
SEED = int(os.environ.get("SEED", str(int(time.time()))))
TICK = 2
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")


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
    tasks = [task(folder, "skip", TICK, 0.3), task(folder, "rerun", TICK, 0.5, on_crash="rerun")]
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
        for name in ("skip", "rerun"):
            states, again = judge(folder, zk, name, healed, TICK, TICKS - 5, name == "rerun")
            print(f"{name}: {dict(states)}, {again} begun again")
        print(dict(story.done))
    finally:
        reports = [report for site in sites for report in site.runner.close()]
    assert not reports, "\n".join(reports)

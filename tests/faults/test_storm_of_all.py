"""The storm over all that a fleet is used for: tasks with schedules, some of which are renamed, and with crontab lines,
queues, locks and gangs, on three sidecars with runners, with a session timeout of 10 s.

    STORM_SECONDS=3600 STORM_SEEDS=7 python3 -m pytest -s tests/faults/test_storm_of_all.py

is an hour of it. What counts is what leaders say and what jobs write. Logs and data of a storm that failed are kept in
build/storm-SEED.
"""
import collections
import os
import random
import signal
import subprocess
import time

import pytest

from harness.ensemble import Server
from harness.oracle import FleetOracle, now
from harness.proxy import Proxy
from harness.runner import Runner
from harness.schedules import judge, records, task
from harness.server import Tree
from harness.sidecar import build
from harness.storm import StormOfAll
from harness.waiting import wait_until
from harness.workload import Crontabs, Gangs, Locks, Renames, Submits

SECONDS = int(os.environ.get("STORM_SECONDS", "60"))
SEEDS = [int(s) for s in os.environ.get("STORM_SEEDS", "1").split(",")]
TASKS = int(os.environ.get("STORM_TASKS", "300"))
CRONTABS, RENAMED = 5, 6
PERIOD = 60  # seconds, of each schedule; jobs begin in the first SPLAY of them, so the last are quiet
SPLAY, QUIET = 45, 53
TICKS = max(int(SECONDS >= PERIOD), SECONDS // PERIOD - 1)  # that each has at least
PATIENCE = 120
pytestmark = [pytest.mark.slow, pytest.mark.seconds(SECONDS + 1800),
              pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")]


def schedules(folder):
    """{name: whether lost runs are begun again}, and the texts of four files."""
    names = {f"task-{i:03}": i % 2 == 1 for i in range(TASKS - CRONTABS - RENAMED)}
    texts = [task(folder, name, PERIOD, ("0.2", "0.2", "0.2", "3")[i % 4], splay=f"{SPLAY}s",
                  on_crash="rerun" if again else "skip", catch_up="all" if i % 3 else "last")
             for i, (name, again) in enumerate(names.items())]
    return names, {f"schedules-{k}.conf": "".join(texts[k::4]) for k in range(4)}


def all_well(sidecars, names):
    """As in the beginning, and each task is led."""
    for sidecar in sidecars:
        if sidecar.config["node"] != sidecar.name:
            sidecar.kill()
            sidecar.write_config(node=sidecar.name)
            sidecar.start(ready=False)
        wait_until(sidecar.is_connected, PATIENCE, f"{sidecar.name} is connected")
        sidecar.write_config(version="1")
        wait_until(lambda s=sidecar: s.call("reload"), PATIENCE, f"{sidecar.name} reloads")

    def led():
        tasks = [{t["task"]: t for t in s.call("tasks")} for s in sidecars]
        return all(sum(one[name]["self"] for one in tasks) == 1 for name in names)
    wait_until(led, PATIENCE, "each task is led, by one")


def watches(sidecars, tree, names):
    """The number of all watches at a time when nothing is due, but for those of the folders of due jobs: these go a
    quarter of an hour after their minute. Nobody looks by time. The third in rank need not watch a leader, and does so
    once it is asked about it."""
    queues = tree.names("jobs")
    for sidecar in sidecars:
        with sidecar.client() as client:
            for name in [*names, *queues]:
                client.call("explain", name)
    time.sleep((QUIET - time.time()) % PERIOD)
    found = [s.status()["watches"] for s in sidecars]
    assert all(w["by_time"] == 0 for w in found), found
    return sum(w["count"] for w in found) - sum(len(tree.names("jobs", q, "due")) for q in queues)


def equal(one, other):
    assert one == other
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_a_storm_over_all_uses_breaks_no_promise_and_leaves_nothing_behind(fleet, folder, seed):
    chance = random.Random(seed)
    server = Server(folder / "one").start()
    tree = Tree(server)
    proxies = [Proxy(server.port) for _ in range(3)]
    sidecars, uses = [], []
    try:
        for i, proxy in enumerate(proxies):
            sidecars.append(fleet.sidecar(f"s{i}", start=False, version="1", node=f"s{i}", zookeeper=proxy.address, tree=tree,
                                          session_timeout="10s", log_level="info"))
        crontabs = Crontabs(chance, sidecars, folder, CRONTABS)
        renames = Renames(chance, sidecars, folder, RENAMED, SECONDS)
        uses = [crontabs, renames, Submits(chance, sidecars, folder), Locks(chance, sidecars, folder), Gangs(chance, sidecars, folder)]
        names, files = schedules(folder)
        files.update({use.file: use.text for use in uses if use.file})
        for sidecar in sidecars:
            for name, text in files.items():
                sidecar.write_file(text, name)
            sidecar.start()
            sidecar.runner = Runner(sidecar.folder / "runner", sidecar.socket, sidecar.config_file).start()
        led = [*names, *(j.task for j in crontabs.jobs)]
        all_well(sidecars, [*led, *renames.names(0)])
        before = watches(sidecars, tree, [*led, *renames.names(0)])
        tree.forget_client()
        print(f"measured: {before} watches in the beginning")
        with FleetOracle(*sidecars) as oracle:
            storm = StormOfAll(seed, oracle, server, sidecars, proxies, longest=20.0, pauses=(1, 6), patience=PATIENCE)
            storm.blow(SECONDS, lambda: [use.step() for use in uses])
            print(f"measured: seed {seed}, {SECONDS} s, {storm.counts}")
            over = now()
            renames.finish()
            led += renames.names(1)
            all_well(sidecars, led)
            print(f"measured: all is led {now() - over:.1f} s after the last fault")
            for use in uses:
                use.stop()
            for use in uses:
                use.rest()
            healed = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for use in uses:
            print(f"measured: {use.judge()}")
            assert not use.wrong, use.wrong
        print(f"measured: {renames.judge_ticks(tree, healed, TICKS)}")
        print(f"measured: {judge_schedules(folder, tree, names, healed)}")
        wait_until(lambda: equal(watches(sidecars, tree, led), before), 5 * PERIOD, f"there are {before} watches")
        print("measured: as many in the end")
    except BaseException:
        kept = build().parent / f"storm-{seed}"
        kept.mkdir(exist_ok=True)
        subprocess.run(["cp", "-a", "--", folder, kept / time.strftime("%H%M%S")], check=False)
        raise
    finally:
        close(uses, sidecars, proxies, server)


def judge_schedules(folder, tree, names, healed):
    total, again = collections.Counter(), 0
    for name, rerun in names.items():
        open_ = {"running", "lost"} if rerun else {"running"}
        wait_until(lambda n=name, o=open_: not any(r["state"] in o for t, r in records(tree, n).items() if t < healed),
                   PATIENCE, f"what was owed of {name} is over")
        states, n = judge(folder, tree, name, healed, PERIOD, TICKS, rerun)
        again += n
        total.update(states)
    return f"schedules: {len(names)} tasks, {dict(total)}, {again} begun again"


def close(uses, sidecars, proxies, server):
    """Whatever goes on, in whichever state a failure has left it."""
    for use in uses:
        use.close()
    reports = []
    for sidecar in sidecars:
        if getattr(sidecar, "runner", None):
            sidecar.runner.process.send_signal(signal.SIGCONT)
            reports += sidecar.runner.close()
    for proxy in proxies:
        proxy.flow()
    server.resume()
    for sidecar in sidecars:
        if sidecar.is_running():
            sidecar.resume()
            sidecar.stop(timeout=PATIENCE)
    for proxy in proxies:
        proxy.close()
    server.close()
    assert not reports, "\n".join(reports)

"""The cost of partitions for ZooKeeper beside as many tasks: a worker joins, nothing happens, a tick comes."""
import subprocess
import time

from elections import packets
from harness.server import Tree, ZooKeeper
from harness.sidecar import Sidecar, build, task_text

N = 64
SETTLED_S = 3
TICK_S = 60


class Fleet:
    """Workers of one version on a server of their own, so that what it receives is theirs."""

    def __init__(self, folder, tasks):
        folder.mkdir(parents=True)
        self.folder, self.tasks = folder, tasks
        self.server = ZooKeeper(folder / "zk").start()
        self.tree = Tree(self.server)
        self.sidecars = []

    def start(self, n):
        """Starts n more, and waits until all is led and nothing has moved for a while."""
        for _ in range(n):
            name = f"n{len(self.sidecars)}"
            self.sidecars.append(Sidecar(self.folder / name, name, self.tree, "1.0", self.tasks, log_level="error",
                                         session_timeout="10s", yield_delay="0s").start())
        moved = None
        while self.led() != N or moved != self.tree.leader_changes():
            moved = self.tree.leader_changes()
            time.sleep(SETTLED_S)
        return self

    def led(self):
        return sum(s.status()["leads"] for s in self.sidecars)

    def close(self):
        for s in self.sidecars:
            s.kill()
        self.server.close()


def join(folder, tasks, at_rest_s):
    """Packets of a third worker's join, beyond those at rest; those at rest a second; and what moved."""
    fleet = Fleet(folder, tasks)
    try:
        fleet.start(2)
        before = packets(fleet.server)
        time.sleep(at_rest_s)
        a_second = (packets(fleet.server) - before) / at_rest_s
        before, began, moved = packets(fleet.server), time.time(), fleet.tree.leader_changes()
        fleet.start(1)
        moved = (fleet.tree.leader_changes() - moved) / 2
        return packets(fleet.server) - before - a_second * (time.time() - began), a_second, moved
    finally:
        fleet.close()


def run_all(fleet):
    """Every worker asks for the tick, as a crontab does."""
    calls = [subprocess.Popen([build() / "zkleader", "-s", s.socket, "run", "scan", "--", "/bin/true"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for s in fleet.sidecars]
    for call in calls:
        call.wait(120)


def tick(folder, n_workers):
    """Packets of a tick for each partition; the first one, which makes the ledgers, is not counted."""
    fleet = Fleet(folder, [task_text("scan", partitions=N, tick=f"{TICK_S}s", wait="5s")])
    try:
        fleet.start(n_workers)
        for last in (False, True):
            time.sleep(TICK_S - time.time() % TICK_S + 1)
            if last:
                before, began = packets(fleet.server), time.time()
                time.sleep(10)
                a_second = (packets(fleet.server) - before) / (time.time() - began)
                before, began = packets(fleet.server), time.time()
            run_all(fleet)
        cost = packets(fleet.server) - before - a_second * (time.time() - began)
        assert sum(len(fleet.tree.names("runs", f"scan:{k}")) for k in range(N)) == 2 * N
        return cost / N
    finally:
        fleet.close()


def partitions(report, folder, runs, quick):
    plain = [f"task-{k:02d}" for k in range(N)]
    tasks = {"split": [task_text("scan", partitions=N, tick="1h", wait="5s")],
             "group": [task_text(name, spread="group") for name in plain], "plain": plain}
    found = {key: [] for key in tasks}
    for i in range(runs):
        for key, files in tasks.items():
            found[key].append(join(folder / f"{key}{i}", files, 2 if quick else 20))
    for key, what in (("split", f"{N} partitions"), ("group", f"{N} tasks of a spread group"), ("plain", f"{N} tasks")):
        report.row(f"{key}_join", f"packets as a third worker joins, {what}", [j for j, _, _ in found[key]])
        report.row(f"{key}_moved", "  of which so many moved", [m for _, _, m in found[key]])
        report.row(f"{key}_rest", "  packets a second of two at rest", [r for _, r, _ in found[key]])
    n = 4 if quick else 50
    report.row("split_tick", f"packets of a tick for each of {N} partitions, {n} workers", [tick(folder / "tick", n)],
               "", ("<=", 4))

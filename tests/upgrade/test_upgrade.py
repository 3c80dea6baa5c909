"""`make check-upgrade`: 0.1.0 and this version in one fleet, as during an upgrade of zkleader itself and when it
is taken back: one host after the other, while crontabs fire and things go wrong. At no time may two lead, and
each tick is run once. TICKS=200 SEED=7 make check-upgrade tells another story."""
import contextlib
import os
import pathlib
import pprint
import signal
import time

import pytest

from harness.oracle import Oracle, now
from harness.release import FIRST, Unknown, built
from harness.skew import forget, library
from harness.sidecar import build, run_program
from harness.ticks import TASKS, TICK, Ticks
from harness.waiting import wait_until

TICKS = int(os.environ.get("TICKS", "50"))
SEED = int(os.environ.get("SEED", str(int(time.time()))))
KEPT = pathlib.Path("build/upgrade/kept").resolve()
PAUSE = 0.03  # seconds between two questions to one sidecar
SOON = 60


class Upgrade(Ticks):
    """Four hosts whose programs are replaced, one host after the other."""

    def __init__(self, folder, tree, server, seed, programs):
        super().__init__(folder, tree, server, seed, programs)
        self.faults += [self.drain, self.drain]
        self.drained = set()
        self.oracles = []

    @contextlib.contextmanager
    def judged(self):
        """Every sidecar is asked who leads, all the time; judged at the end."""
        with contextlib.ExitStack() as stack:
            sidecars = [node.sidecar for node in self.nodes]
            self.oracles = [stack.enter_context(Oracle(t, *sidecars, pause=PAUSE)) for t in TASKS]
            yield

    def leave(self, node):
        """As the base, but the oracles have to know: TERM takes back what was promised."""
        told = now()
        super().leave(node)
        for oracle in self.oracles:
            oracle.told_to_go(node.sidecar, told)

    def drain(self, node):
        if self.decide(node, "drain", "--reason", "upgrade"):
            self.begin(node, "drained")
            self.drained.add(node)
            self.at(time.time() + self.random.uniform(0.5, 6), self.undrain, node)
        else:
            self.note(node, "could not be drained")  # ZooKeeper is out of its reach

    def undrain(self, node):
        if self.decide(node, "undrain"):
            self.drained.remove(node)
            self.end(node)
        else:
            self.at(time.time() + 0.5, self.undrain, node)

    @staticmethod
    def decide(node, *words):
        """Whether the node's own zkleader got it done."""
        program = node.programs / "zkleader"
        return run_program(node.sidecar.folder, program, "-s", node.sidecar.socket, *words, timeout=30).code == 0

    # --- the upgrade

    def schedule(self, programs, ticks):
        """Each node gets these programs, in an order by chance, evenly over that many ticks."""
        order = self.random.sample(self.nodes, len(self.nodes))
        for i, node in enumerate(order):
            self.at(time.time() + ticks * TICK * (i + 0.7) / len(order), self.replace, node, programs)

    def replace(self, node, programs):
        if node.wrong:
            self.at(time.time() + 0.3, self.replace, node, programs)
            return
        how = self.random.choice([signal.SIGTERM, signal.SIGUSR2, signal.SIGKILL])
        self.begin(node, f"replaced by {how.name}")
        told = now()
        node.sidecar.signal(how)
        node.sidecar.wait_exit(90)
        if how == signal.SIGTERM:
            for oracle in self.oracles:
                oracle.told_to_go(node.sidecar, told)
        forget(node.sidecar.process.pid)
        node.programs = programs
        node.sidecar.program = programs / "zkleaderd"
        self.restart(node)

    def settle(self, programs):
        """Everybody gets the new programs, is connected and drained no more; all agree on who leads."""
        for node in self.nodes:
            node.sidecar.wait_connected(SOON)
            if node in self.drained:
                wait_until(lambda n=node: self.decide(n, "undrain"), SOON, "it is no longer drained")
            if node.programs != programs:
                node.wrong = False
                self.replace(node, programs)
                node.sidecar.wait_connected(SOON)
        wait_until(self.agreed, SOON, "each task is led by whom all of them call the best candidate")

    def agreed(self):
        leaders = self.tree.leaders()
        return all(self.best(node, task) == leaders[task] for node in self.nodes for task in TASKS)

    @staticmethod
    def best(node, task):
        return next(r["id"] for r in node.sidecar.explain(task)["ranking"] if r["candidate"])


@pytest.fixture(scope="module")
def first():
    """The programs of 0.1.0."""
    try:
        return built(FIRST)
    except Unknown as e:
        pytest.fail(f"0.1.0 cannot be built: {e}")


def ship(first, way):
    return (first, build()) if way == "there" else (build(), first)


@pytest.mark.seconds(TICKS * TICK + 600)
@pytest.mark.parametrize("way", ["there", "back"])
def test_hosts_are_upgraded_one_after_the_other(folder, zk, server, first, way):
    assert library(), "libfaketime is not installed"
    before, after = ship(first, way)
    print(f"TICKS={TICKS} SEED={SEED}")
    story = Upgrade(folder, zk, server, SEED, before)
    try:
        story.start()
        with story.judged():
            story.schedule(after, TICKS)
            story.run(TICKS)
            story.heal()
            story.settle(after)
        figures = story.judge()
    except BaseException:
        story.keep(KEPT / way)
        print(f"what tells the story is in {KEPT / way}")
        raise
    finally:
        wrong = story.close()
    pprint.pprint(figures)
    assert not wrong, "\n".join(wrong)
    assert min(figures[t]["ticks"] for t in TASKS) >= TICKS - 5

"""Contenders that hold elections: zkleader, Curator's two recipes, kazoo. Each starts workers that can be asked how
many tasks they lead, and since when."""
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from harness.process import end, resident_bytes, spawn  # noqa: E402
from harness.server import Tree  # noqa: E402
from harness.sidecar import Sidecar  # noqa: E402

TIMEOUT_S = 2
JARS = pathlib.Path("/usr/share/java")
CLASSES = [JARS / f"{n}.jar" for n in (
    "curator-recipes", "curator-framework", "curator-client", "zookeeper", "zookeeper-jute", "guava", "slf4j-api",
    "slf4j-nop", "jackson-annotations", "jackson-core", "jackson-databind")]


class Process:
    """A worker of any contender, as the system sees it."""

    def memory_mib(self):
        return resident_bytes(self.process.pid) / 2**20

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def turns_ms(self):
        """The longest turn of its loop, and that in time of a processor, where it tells."""
        return 0, 0

    def term(self):
        self.process.send_signal(signal.SIGTERM)

    def kill(self):
        end(self.process)

    def close(self):
        if self.process.poll() is None:
            self.term()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                end(self.process)


class SidecarWorker(Process):
    """A sidecar, asked over its socket: the times are those of the answers, at most a poll late."""

    def __init__(self, sidecar):
        self.sidecar = sidecar
        self.started = time.monotonic()
        self.process = sidecar.start(ready=False).process
        self.client = None
        self.led = None

    def leads(self):
        try:
            if not self.client:
                self.client = self.sidecar.client()
            leads = self.client.call("status")["leads"]
        except (OSError, EOFError):
            self.client = None
            return 0
        if leads != self.led:
            self.led, self.changed = leads, time.monotonic()
        return leads

    def last_gain(self):
        return self.changed

    def turns_ms(self):
        status = self.sidecar.status()
        return tuple(status.get(key, 0) for key in ("longest_turn_ms", "longest_turn_cpu_ms"))  # 0.1.0 does not tell

    def registered(self):
        """By the clock of time.monotonic(), from the creation time that the server has written."""
        stat = self.sidecar.tree.get("workers", self.sidecar.id)[1]
        return time.monotonic() - (time.time() - stat.ctime / 1000)

    def close(self):
        if self.client:
            self.client.close()
        super().close()


class Zkleader:
    name = "zkleader"

    def __init__(self, folder, server, n_tasks, log_level="error", **config):
        self.folder, self.server, self.n_tasks = folder, server, n_tasks
        self.tree = Tree(server)
        self.root = self.tree.root
        self.config = {"log_level": log_level, "session_timeout": f"{TIMEOUT_S}s", "yield_delay": "0s", **config}
        self.numbers = itertools.count()

    def start(self, version):
        number = next(self.numbers)
        tasks = [f"job-{i:05d}" for i in range(self.n_tasks)]
        return SidecarWorker(Sidecar(self.folder / f"s{number}", f"s{number}", self.tree, f"1.{version}", tasks,
                                     **self.config))

    def changes(self, workers):
        """Leader nodes made or removed since ever, half of it: a change does both."""
        return self.tree.leader_changes() / 2


class Peer(Process):
    """A program that prints its leaderships with the time of each, by the clock of time.monotonic()."""

    def __init__(self, command):
        self.gained = self.lost = 0
        self.times = {}
        self.started = time.monotonic()
        self.process = spawn(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            what, ns = line.split()
            self.times[what] = int(ns) / 1e9
            if what == "+":
                self.gained += 1
            elif what == "-":
                self.lost += 1

    def leads(self):
        return self.gained - self.lost

    def last_gain(self):
        return self.times["+"]

    def registered(self):
        return self.times["registered"]


class Contender:
    def __init__(self, folder, server, n_tasks):
        self.server, self.n_tasks = server, n_tasks
        self.tree = Tree(server)
        self.root = self.tree.root
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def start(self, version):
        return Peer([*self.command(), self.server.address, self.timeout, self.root, version, self.n_tasks])

    def changes(self, workers):
        return sum(w.gained for w in workers)


class Curator(Contender):
    recipe = None
    timeout = TIMEOUT_S * 1000

    def command(self):
        if not list(self.folder.glob("*.class")):  # once for a server: its start is not to count
            subprocess.run(["javac", "-cp", ":".join(map(str, CLASSES)), "-d", self.folder, HERE / "CuratorPeer.java"],
                           check=True)
        classes = ":".join([str(self.folder), *map(str, CLASSES)])
        return ["java", "-Xmx256m", "-cp", classes, "CuratorPeer", self.recipe]

    @staticmethod
    def is_installed():
        return all(c.exists() for c in CLASSES)


class Selector(Curator):
    name, recipe = "LeaderSelector", "selector"


class Latch(Curator):
    name, recipe = "LeaderLatch", "latch"


class Kazoo(Contender):
    name = "kazoo"
    timeout = TIMEOUT_S

    @staticmethod
    def is_installed():
        return True

    def command(self):
        return [HERE / "kazoo_peer"]


PEERS = [Selector, Latch, Kazoo]

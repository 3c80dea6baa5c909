"""A real ZooKeeper server on loopback, and the tree of one test in it."""
import itertools
import os
import pathlib
import random
import shutil
import socket
import subprocess
import time
import uuid

import msgpack
from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError

from harness import tls
from harness.process import end, spawn
from harness.waiting import TIMEOUT, wait_until

# Below the range from which the kernel takes ports for outgoing connections; a worker process has some of its own,
# so that no other takes that of a server that is away.
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
PORTS = range(20000 + WORKER % 20 * 600, 20600 + WORKER % 20 * 600)
JAVA = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+PerfDisableSharedMem",
        "-Xshare:auto", "-Dzookeeper.forceSync=no", "-Djava.awt.headless=true",
        "-cp", "/usr/share/java/zookeeper.jar:/usr/share/java/netty-codec.jar:/usr/share/java/netty-handler.jar",
        # No folder in it: of such a path no classes are kept. Netty, for TLS, needs two that the first does not name.
        "org.apache.zookeeper.server.quorum.QuorumPeerMain"]
# The JVM's archive of the servers' classes, made once for a checkout: a start costs a third less.
CLASSES = pathlib.Path(__file__).resolve().parents[3] / "build/zookeeper.jsa"


def free_port():
    for _ in range(1000):
        port = random.SystemRandom().choice(PORTS)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port")


def java(heap_mb=128, more=()):
    """The words that start a server, but for its configuration."""
    kept = [f"-XX:SharedArchiveFile={CLASSES}"] if CLASSES.exists() and not more else []
    return [*JAVA[:2], f"-Xmx{heap_mb}m", *kept, *more, *JAVA[2:]]  # of two sizes the later one counts


def keep_classes(folder):
    """Makes CLASSES by a server that ends at once; without them all works as well."""
    if CLASSES.exists() or not shutil.which("java"):
        return
    draft = CLASSES.with_name(f"{CLASSES.name}.{os.getpid()}")
    server = ZooKeeper(folder / "classes")
    server.java = [f"-XX:ArchiveClassesAtExit={draft}"]
    try:
        client = server.start().client()
        client.create("/x", b"", ephemeral=True)
        server.close_clients()
        server.process.terminate()
        server.process.wait(60)
        draft.replace(CLASSES)
    except (OSError, AssertionError, subprocess.TimeoutExpired):
        pass
    finally:
        server.close()


class ZooKeeper:
    def __init__(self, folder, tick_ms=200, heap_mb=128, clients_max=0):
        self.folder = folder
        self.tick_ms = tick_ms
        self.heap_mb = heap_mb
        self.clients_max = clients_max  # of one address: 0 is without a limit, the server's default 60
        self.env = None  # of its process; None: ours
        self.java = []  # more options of the JVM
        self.more = ""  # lines of its configuration
        self.secure = (lambda: tls.secure_of_all(self.port)) if tls.enabled() else None  # the settings of TLS on `port`
        self.session_min_ms, self.session_max_ms = 2 * tick_ms, 60000  # that it grants from its next start on
        self.port = None  # that sidecars and proxies use
        self.plain_port = None  # for kazoo and four-letter words: the same, but where `port` speaks TLS
        self.process = None
        self.clients = []
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        """Starts it, on the same port as before if it ran before, and waits until it serves."""
        first = self.port is None  # later on a try may fail for want of time
        for _ in range(5):
            if first:
                self.port = self.plain_port = free_port()
                if self.secure:
                    self.plain_port = free_port()
            self._launch()
            if self._serves():
                return self
            end(self.process)
        raise AssertionError(f"no ZooKeeper on {self.address}, see {self.folder}/server.log")

    def _launch(self):
        config = self.folder / "zoo.cfg"
        config.write_text(
            f"dataDir={self.folder}/data\nclientPort={self.plain_port}\nclientPortAddress=127.0.0.1\n"
            f"tickTime={self.tick_ms}\nminSessionTimeout={self.session_min_ms}\nmaxSessionTimeout={self.session_max_ms}\nmaxClientCnxns={self.clients_max}\n"
            f"admin.enableServer=false\n4lw.commands.whitelist=*\n{self.more}"
            f"{tls.lines(self.secure() if self.secure else {})}", encoding="ascii")
        with open(self.folder / "server.log", "ab") as log:
            self.process = spawn([*java(self.heap_mb, self.java), config], stdout=log, stderr=subprocess.STDOUT,
                                 env=self.env)

    def _serves(self, timeout=60):
        limit = time.monotonic() + timeout
        while time.monotonic() < limit and self.process.poll() is None:
            if "Mode:" in self.ask("srvr"):
                return True
            time.sleep(0.05)
        return False

    def watches(self):
        """That its clients have set and that have not fired."""
        return int(self.ask("wchs").rsplit("Total watches:", 1)[1])

    def ask(self, word):
        """The answer to a four-letter word, "" if there is none."""
        try:
            with socket.create_connection(("127.0.0.1", self.plain_port), timeout=1) as s:
                s.sendall(word.encode())
                return b"".join(iter(lambda: s.recv(65536), b"")).decode(errors="replace")
        except OSError:
            return ""

    def kill(self):
        """Like a power cut."""
        end(self.process)

    def wipe(self):
        """Forgets everything; only while it is down."""
        assert self.process.poll() is not None
        shutil.rmtree(self.folder / "data", ignore_errors=True)

    def client(self, **kwargs):
        """A kazoo client of it, closed with the server at the latest."""
        client = KazooClient(hosts=f"{self.address.rsplit(':', 1)[0]}:{self.plain_port}", timeout=20, **kwargs)
        self.clients.append(client)
        client.start(timeout=60)
        return client

    def close_clients(self):
        for client in self.clients:
            client.stop()
            client.close()
        self.clients.clear()

    def close(self):
        self.close_clients()
        if self.process:
            end(self.process)


class Tree:
    """ROOT of one test, as another program sees it."""

    numbers = itertools.count(1)

    def __init__(self, server, root=None):
        self.server = server
        self.root = root or f"/test-{uuid.uuid4().hex[:8]}"
        self._client = None

    @property
    def client(self):
        if not self._client:
            self._client = self.server.client()
        return self._client

    def forget_client(self):
        """After the server lost its data: the next question is asked by a new client."""
        if self._client:
            self.server.clients.remove(self._client)
            self._client.stop()
            self._client.close()
            self._client = None

    def path(self, *parts):
        return "/".join([self.root, *parts])

    def get(self, *parts):
        """(data, stat) of a znode, (None, None) if it is not there."""
        try:
            return self.client.retry(self.client.get, self.path(*parts))
        except NoNodeError:
            return None, None

    def names(self, *parts):
        try:
            return sorted(self.client.retry(self.client.get_children, self.path(*parts)))
        except NoNodeError:
            return []

    def workers(self):
        """The records of all workers, by id."""
        found = {}
        for name in self.names("workers"):
            data, _ = self.get("workers", name)
            if data is not None:
                found[name] = msgpack.unpackb(data)
        return found

    def leader(self, task):
        """(record, token) of a task, (None, None) while nobody leads it."""
        data, stat = self.get("leaders", task)
        if data is None:
            return None, None
        try:
            return msgpack.unpackb(data), stat.czxid
        except ValueError:
            return None, stat.czxid

    def leaders(self):
        """The id of the worker whose session owns the leader node, by task; None for nobody's."""
        sessions = {}
        for name in self.names("workers"):
            data, stat = self.get("workers", name)
            if data is not None:
                sessions[stat.ephemeralOwner] = name
        found = {}
        for task in self.names("leaders"):
            data, stat = self.get("leaders", task)
            if data is not None:
                found[task] = sessions.get(stat.ephemeralOwner)
        return found

    def tokens(self):
        return {task: self.leader(task)[1] for task in self.names("leaders")}

    def leader_changes(self):
        """How many leader nodes have been created or deleted, ever."""
        return self.get("leaders")[1].cversion

    def put(self, data, *parts, ephemeral=True, client=None, acl=None):
        client = client or self.client
        try:
            client.ensure_path(self.path(*parts[:-1]))
            client.create(self.path(*parts), data, ephemeral=ephemeral, acl=acl)
        except NodeExistsError:
            client.set(self.path(*parts), data)

    def delete_all(self):
        """ROOT and all that is in it, in one transaction."""
        def once():
            transaction = self.client.transaction()
            for folder in self.names():
                for name in self.names(folder):
                    transaction.delete(self.path(folder, name))
                transaction.delete(self.path(folder))
            transaction.delete(self.root)
            return not any(isinstance(r, Exception) for r in transaction.commit())
        wait_until(once, what="all of it is deleted at once")

    def wait_for_leader(self, task, sidecar, timeout=TIMEOUT):
        return wait_until(lambda: self.leaders().get(task) == sidecar.id and self.leader(task)[1],
                          timeout, f"{sidecar.name} leads {task}")


def worker_record(**changes):
    """A good WorkerNode, with what the test wants to be otherwise; None leaves a key out."""
    record = {
        "id": str(uuid.uuid4()), "version": "9.9", "ip": "192.0.2.1", "random_ints": [1, 2, 3, 4, 5],
        "hostname": "elsewhere", "tasks": [], "started_at": 1_790_000_000_000,
    }
    record.update(changes)
    return {k: v for k, v in record.items() if v is not None}

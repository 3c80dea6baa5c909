"""Many sidecars on one machine, and what they cost their server.

Whether all is as it should be is read from the tree: who is best follows from the workers' records, and
when a task came to be led by it is the creation time of its leader node, by the server's clock.
"""
import collections
import re
import struct
import subprocess
import time

import msgpack
import xxhash

from harness.process import cpu_seconds, end, resident_bytes
from harness.sidecar import Sidecar, build
from harness.waiting import wait_until

QUIET = 1.0  # seconds without a change after which it is at rest

Worker = collections.namedtuple("Worker", "id version key tasks session created")
State = collections.namedtuple("State", "workers leaders")  # by id, by task


def address_key(ip):
    return bytes(int(part) for part in ip.split("."))  # all of them are IPv4 here


def numbers(version):
    return [int(part) for part in version.split(".")]  # all of them are plain ones here


class Crowd:
    def __init__(self, folder, tree, count, tasks, version="1.0", **config):
        self.tree = tree
        self.server = tree.server
        self.tasks = list(tasks)
        config.setdefault("log_level", "info")
        self.sidecars = [Sidecar(folder / f"c{i}", f"c{i}", tree, version, self.tasks, **config)
                         for i in range(count)]
        self.spent = 0.0  # processor seconds of processes that are gone
        self.known = {}  # records never change
        self.lists = {}  # nor do lists

    # --- life

    def running(self):
        return [s for s in self.sidecars if s.is_running()]

    def start(self):
        for sidecar in self.sidecars:
            self.launch(sidecar)

    def launch(self, sidecar):
        """As Sidecar.start(), but without copying this process, which takes longer than theirs to begin."""
        with open(sidecar.log_file, "ab") as log:
            sidecar.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", str(build() / "zkleaderd"), "-c", str(sidecar.config_file)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        sidecar.expected_exit = False

    def restart(self, sidecar, version):
        """As a deployment does: TERM, and at once another process with the new version."""
        self.spent += sidecar.cpu_seconds()
        sidecar.stop()
        sidecar.write_config(version=version)
        self.launch(sidecar)

    def kill(self, sidecars):
        self.spent += sum(s.cpu_seconds() for s in sidecars)
        for sidecar in sidecars:
            sidecar.process.kill()
            sidecar.expected_exit = True
        for sidecar in sidecars:
            sidecar.process.wait(10)

    def cpu(self):
        """Processor seconds of all sidecars, those that are gone as well."""
        return self.spent + sum(s.cpu_seconds() for s in self.running())

    def memory(self):
        return [resident_bytes(s.process.pid) for s in self.running()]

    def close(self):
        wrong = []
        for sidecar in self.running():
            sidecar.expected_exit = True
            sidecar.process.terminate()
        for sidecar in self.sidecars:
            if not sidecar.process:
                continue
            try:
                code = sidecar.process.wait(30)
                if code not in (0, -9):
                    wrong.append(f"{sidecar.name} ended with {code}")
            except subprocess.TimeoutExpired:
                wrong.append(f"{sidecar.name} does not end")
                end(sidecar.process)
        assert not wrong, wrong

    # --- the tree

    def read(self, folder):
        """[(name, data, stat)] of its znodes, all at once."""
        client = self.tree.client
        asked = [(name, client.get_async(self.tree.path(folder, name))) for name in self.tree.names(folder)]
        found = []
        for name, answer in asked:
            try:
                found.append((name, *answer.get(timeout=30)))
            except Exception as e:  # pylint: disable=broad-except  # gone meanwhile
                if type(e).__name__ != "NoNodeError":
                    raise
        return found

    def listed(self, record):
        """The tasks that the record names, or the list that it refers to: one object for all with the same list."""
        if "list" not in record:
            return frozenset(record["tasks"])
        if record["list"] not in self.lists:
            data, _ = self.tree.get("lists", record["list"])
            self.lists[record["list"]] = frozenset(msgpack.unpackb(data)["tasks"])
        return self.lists[record["list"]]

    def state(self):
        workers, leaders = {}, {}
        for name, data, stat in self.read("workers"):
            if name not in self.known:
                record = msgpack.unpackb(data)
                key = xxhash.xxh64_intdigest(struct.pack("<5i", *record["random_ints"]), seed=0)
                rank = (address_key(record["ip"]), record["id"].encode())
                self.known[name] = Worker(name, record["version"], (key, rank), self.listed(record),
                                          stat.ephemeralOwner, stat.ctime / 1000)
            workers[name] = self.known[name]
        sessions = {w.session: w.id for w in workers.values()}
        for task, _, stat in self.read("leaders"):
            leaders[task] = (sessions.get(stat.ephemeralOwner), stat.ctime / 1000)
        return State(workers, leaders)

    def best(self, state, task):
        """As docs/ELECTION.md says it, for versions of numbers."""
        candidates = [w for w in state.workers.values() if task in w.tasks]
        newest = max(numbers(w.version) for w in candidates)
        return max((w for w in candidates if numbers(w.version) == newest),
                   key=lambda w: (xxhash.xxh64_intdigest(task, seed=w.key[0]) >> 11, w.key[1])).id

    def wrong(self, state):
        """Tasks that are not led by their best."""
        return [t for t in self.tasks if t not in state.leaders or state.leaders[t][0] != self.best(state, t)]

    def wait_led(self, workers, timeout=60):
        """Until so many are registered and one of them leads each task, whoever is the best."""
        def all_are():
            state = self.state()
            there = state.workers.keys()
            return len(there) == workers and all(t in state.leaders and state.leaders[t][0] in there for t in self.tasks)
        wait_until(all_are, timeout, "every task is led")

    def changes(self):
        """How many leader nodes, and how many worker nodes, have ever been created or deleted."""
        stats = [self.tree.get(folder)[1] for folder in ("leaders", "workers")]
        return tuple(s.cversion if s else 0 for s in stats)

    def wait_at_rest(self, workers, timeout=60):
        """Until so many are registered and every task is led by its best; the state then."""
        since, seen, judged, what = time.monotonic(), None, None, None

        def at_rest():
            nonlocal since, seen, judged, what
            now = self.changes()
            if now != seen:
                since, seen = time.monotonic(), now
            if time.monotonic() >= since + QUIET and judged != seen:
                state = self.state()
                wrong = self.wrong(state)
                if len(state.workers) == workers and not wrong:
                    return state
                judged = seen
                what = f"{len(state.workers)} workers, {len(wrong)} tasks not led by their best"
            assert not what, what
            return None
        return wait_until(at_rest, timeout, "every task is led by its best")

    # --- figures

    def claims(self):
        """How often each task has come to be led, ever, as the sidecars' logs say."""
        counts = collections.Counter()
        for sidecar in self.sidecars:
            for names in re.findall(r" leading .*\btask=(\S+)", sidecar.log().replace("no longer leading", "")):
                counts.update(names.split(","))
        return counts

    def troubles(self):
        """Connections and sessions that were lost, as the sidecars' logs say."""
        lost = []
        for sidecar in self.sidecars:
            lost += [f"{sidecar.name}: {line}" for line in sidecar.log().splitlines()
                     if re.search(r"\bto=connecting\b.*(no connection|expired|refused)|registration gone", line)]
        return lost


class Meter:
    """The counts of the server and the processor time of all processes, since this was made."""

    def __init__(self, crowd):
        self.crowd = crowd
        self.began = self.read()
        self.at = time.monotonic()

    def read(self):
        server = self.crowd.server
        found = dict(re.findall(r"^zk_(\w+)\t(-?[\d.]+)$", server.ask("mntr"), re.M))
        wanted = ("packets_received", "packets_sent", "watch_count", "connection_drop_count",
                  "stale_sessions_expired", "num_alive_connections", "bytes_received_count")
        values = {k: float(found.get(k, 0)) for k in wanted}
        values["sent_bytes"] = sent_bytes(server.port)
        values["cpu"] = self.crowd.cpu()
        values["server_cpu"] = cpu_seconds(server.process.pid)
        values["leaders"], values["workers"] = self.crowd.changes()
        return values

    def since(self):
        now = self.read()
        return {k: now[k] - self.began[k] for k in now} | {"seconds": time.monotonic() - self.at,
                                                           "watches": now["watch_count"]}


def sent_bytes(port):
    """That the server has sent over the connections which are open now."""
    out = subprocess.run(["ss", "-tinH", "state", "established", f"( sport = :{port} )"], capture_output=True,
                         text=True, check=False).stdout
    return sum(int(n) for n in re.findall(r"\bbytes_sent:(\d+)", out))

"""The life of a fleet, timed: alone, a newer version comes, TERM, KILL. The same for all contenders."""
import random
import re
import socket
import threading
import time

from contenders import TIMEOUT_S

POLL_S = 0.001
SETTLED_S = 1.5  # without a change of leadership
GIVE_UP_S = 120
# When a fleet has settled, heartbeats are in step with its last change: a KILL then would always find them alike.
STEP_S = TIMEOUT_S / 6


def packets(server):
    """That the server has received from its clients so far."""
    return int(re.search(r"Received: (\d+)", server.ask("srvr")).group(1))


def znodes(server):
    return int(re.search(r"zk_znode_count\s+(\d+)", server.ask("mntr")).group(1))


def watches(server):
    return int(re.search(r"Total watches:(\d+)", server.ask("wchs")).group(1))


def when_led(workers, n):
    """The time at which these workers together have come to lead n tasks."""
    limit = time.monotonic() + GIVE_UP_S
    while sum(w.leads() for w in workers) != n:
        if time.monotonic() > limit:
            raise SystemExit(f"bench: {[w.leads() for w in workers]} of {n} tasks led, gave up waiting")
        time.sleep(POLL_S)
    return max(w.last_gain() for w in workers if w.leads() > 0)


def settle(fleet, workers):
    """Until nothing has moved for a while."""
    count, since = fleet.changes(workers), time.monotonic()
    while time.monotonic() - since < SETTLED_S:
        time.sleep(0.1)
        now = fleet.changes(workers)
        if now != count:
            count, since = now, time.monotonic()


class SessionEnd:
    """When the server removes one of the workers: all that its session had goes in the same moment."""

    def __init__(self, fleet, left):
        self.gone = threading.Event()
        self.at = None
        self.left = left
        self.watch = fleet.tree.client.ChildrenWatch(fleet.tree.path("workers"), self._look)

    def _look(self, children):
        if len(children) <= self.left and not self.at:
            self.at = time.monotonic()
            self.gone.set()
        return self.at is None


def newer_version(fleet, workers, found):
    """A newer version is started; what that costs."""
    settle(fleet, workers)
    changes, received = fleet.changes(workers), packets(fleet.server)
    workers.append(fleet.start(len(workers)))
    led = when_led(workers[-1:], fleet.n_tasks)
    found["handover_s"] = led - workers[-1].registered()
    settle(fleet, workers)
    found["handover_changes"] = (fleet.changes(workers) - changes) / fleet.n_tasks
    found["handover_packets"] = (packets(fleet.server) - received) / fleet.n_tasks


def footprint(fleet, workers, found, empty):
    found["leader_mib"], found["follower_mib"] = workers[-1].memory_mib(), workers[-2].memory_mib()
    found["threads"] = max(w.threads() for w in workers)
    found["znodes"] = znodes(fleet.server) - empty
    found["watches"] = watches(fleet.server) / fleet.n_tasks


def leave(fleet, workers, found, how):
    """The newest goes, by TERM or KILL: until all is led by others, and by the best of them."""
    received = packets(fleet.server)
    end = SessionEnd(fleet, len(workers) - 1) if how == "kill" else None
    time.sleep(random.uniform(0, STEP_S))
    leaving = workers.pop()
    start = time.monotonic()
    leaving.term() if how == "term" else leaving.kill()
    led = when_led(workers, fleet.n_tasks)
    best = when_led(workers[-1:], fleet.n_tasks)
    found[f"{how}_s"], found[f"{how}_best_s"] = led - start, best - start
    if how == "kill":
        end.gone.wait(10)
        found["kill_past_s"] = led - start - TIMEOUT_S
        found["kill_after_end_s"] = led - end.at
    leaving.close()
    settle(fleet, workers)
    found[f"{how}_packets"] = (packets(fleet.server) - received) / fleet.n_tasks


def life(fleet, n_workers=3):
    """Everything about one fleet, as figures by name. The workers' versions are 0, 1, 2 ..."""
    found, workers = {}, []
    empty = znodes(fleet.server)
    try:
        workers.append(fleet.start(0))
        found["alone_s"] = when_led(workers, fleet.n_tasks) - workers[0].started
        while len(workers) < n_workers - 1:
            workers.append(fleet.start(len(workers)))
            when_led(workers[-1:], fleet.n_tasks)
        newer_version(fleet, workers, found)
        footprint(fleet, workers, found, empty)
        found["turn_ms"], found["turn_cpu_ms"] = (max(turns) for turns in zip(*(w.turns_ms() for w in workers)))
        leave(fleet, workers, found, "term")
        workers.append(fleet.start(n_workers))
        when_led(workers[-1:], fleet.n_tasks)
        settle(fleet, workers)
        leave(fleet, workers, found, "kill")
    finally:
        for worker in workers:
            worker.close()
    return found


class Subscriber:
    """A subscriber to all that a worker's sidecar tells, which it reads."""

    def __init__(self, worker, *params):
        while not worker.sidecar.socket.exists():
            time.sleep(POLL_S)
        self.client = worker.sidecar.client(timeout=GIVE_UP_S)
        self.client.call("subscribe", *params)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        try:
            while True:
                self.client.read(GIVE_UP_S)
        except (OSError, EOFError):
            pass

    def close(self):
        self.client.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.client.close()


def subscribed_handover(fleet, *params):
    """Packets a task where all goes to a third and newest worker, and each of the three has a subscriber."""
    workers, subscribers = [], []
    try:
        for n in range(2):
            workers.append(fleet.start(n))
            subscribers.append(Subscriber(workers[-1], *params))
            when_led(workers[-1:], fleet.n_tasks)
        settle(fleet, workers)
        received = packets(fleet.server)
        workers.append(fleet.start(2))
        subscribers.append(Subscriber(workers[-1], *params))
        when_led(workers[-1:], fleet.n_tasks)
        settle(fleet, workers)
        return (packets(fleet.server) - received) / fleet.n_tasks
    finally:
        for one in subscribers + workers:
            one.close()


FIGURES = [  # key, what, unit, to reach
    ("handover_s", "newer version registered: leads all", "s", ("<=", 0.15)),
    ("handover_changes", "  changes of leadership of each task", "", ("=", 1)),
    ("handover_packets", "  packets to the server for each task", "", ("<", 3)),
    ("term_s", "TERM: all led elsewhere", "s", ("<=", 0.15)),
    ("term_best_s", "  all led by the best", "s", ("<=", 0.15)),
    ("term_packets", "  packets to the server for each task", "", None),
    ("kill_past_s", "KILL: all led elsewhere, past the timeout", "s", ("<=", 0.1)),
    ("kill_after_end_s", "  since the server ended the session", "s", None),
    ("leader_mib", "resident memory of the leader", "MiB", ("<=", 6)),
    ("follower_mib", "  of a follower", "MiB", ("<=", 6)),
    ("threads", "threads", "", ("<=", 4)),
    ("znodes", "znodes", "", ("<=", None)),  # tasks + 10
    ("watches", "watches for each task in the fleet", "", ("<=", 2)),
    ("alone_s", "start: leads all, alone", "s", ("<=", 0.2)),
]


def goal_of(goal, key, n_tasks):
    return ("<=", n_tasks + 10) if key == "znodes" else goal

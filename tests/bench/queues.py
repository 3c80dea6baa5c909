"""The cost of queues' jobs: sidecars and runners at work, beside RQ with Redis where they do the same."""
import os
import pathlib
import resource
import shutil
import socket
import statistics
import subprocess
import threading
import time

from harness.jobs import children
from harness.process import cpu_seconds, end, resident_bytes, spawn
from harness.runner import Runner
from harness.server import Tree
from harness.sidecar import Sidecar, build, queue_text
from harness.waiting import wait_until

WINDOW = 1000  # submits that are outstanding
NODES = 3
TRUE = ["/bin/true"]
HERE = pathlib.Path(__file__).resolve().parent


def program_of(folder, name, text):
    """A program that says when it began, with as little in front of that as there is."""
    path = folder / name
    path.write_text(text, encoding="ascii")
    path.chmod(0o755)
    return [str(path)]


class Site:
    """Three sidecars of one queue, each with a runner."""

    def __init__(self, folder, server, **values):
        folder.mkdir(parents=True)
        self.tree = Tree(server)
        sections = [queue_text("q", max_queued=50000, keep="10m", **values), "beside"]
        self.sidecars = [Sidecar(folder / f"n{i}", f"n{i}", self.tree, "1.0", sections, log_level="error",
                                 session_timeout="10s").start() for i in range(NODES)]
        self.runners = [Runner(s.folder / "runner", s.socket, s.config_file).start() for s in self.sidecars]
        wait_until(lambda: all(s.call("queue", "q")["state"] == "active" and len(s.call("queue", "q")["workers"]) ==
                               NODES for s in self.sidecars), 60)

    def leader(self, name="q"):
        return next(s for s in self.sidecars if s.leads(name))

    def settled_leader(self, name="q"):
        """The leader that lasts: not the one from before all had joined."""
        def settled():
            leader = self.leader(name)
            time.sleep(1)
            return leader if leader.leads(name) else None
        return wait_until(settled)

    def left(self):
        view = self.sidecars[0].call("queue", "q", timeout=60)
        return view["queued"] + view["running"]

    def close(self):
        for s in self.sidecars:
            s.kill()
        for r in self.runners:
            r.close()


def submit_many(sidecar, n, payload=b"x" * 100):
    """Seconds until n jobs are committed, pipelined over one connection."""
    with sidecar.client(timeout=120) as client:
        start = time.perf_counter()
        sent = answered = 0
        while answered < n:
            while sent < n and sent - answered < WINDOW:
                client.send("submit", "q", {"payload": payload})
                sent += 1
            message = client.read(timeout=120)
            assert message[2] is None, message
            answered += 1
        return time.perf_counter() - start


def submits(report, folder, server, n, runs):
    found = []
    for i in range(runs):
        site = Site(folder / f"submits{i}", server, slots=1, rate="1/30d", command=TRUE)
        try:
            found.append(n / submit_many(site.sidecars[0], n))
        finally:
            site.close()
    report.row("queue_submits", f"submits of 100 bytes, pipelined over one connection ({n})", found, "/s",
               (">=", 2000))


def start_rate(n):
    """
    Starts of /bin/true a second, one program for each processor starts n, one by one; and the milliseconds of a
    processor that each takes.
    """
    command = [str(build() / "bench/spawn"), str(n), *TRUE]
    start, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    spawners = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in os.sched_getaffinity(0)]
    assert all(s.wait() == 0 for s in spawners)
    seconds, now = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    work = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return n * len(spawners) / seconds, work * 1000 / n / len(spawners)


def work_of(site, server):
    """Seconds of a processor that all have used so far, with the children that have ended."""
    pids = [server.process.pid, *[p.process.pid for p in site.sidecars + site.runners]]
    return sum(cpu_seconds(pid, with_children=True) for pid in pids)


def done(report, folder, server, n, runs):
    """
    Jobs a second, beside the starts of a process a second right before and after: both are bound by the same. And the
    ratio of what each takes of a processor, which holds whatever else is at work: a fleet of many processes gets more
    of a busy machine than the few that start one.
    """
    jobs, starts, ratios, takes, parts = [], [], [], [], []
    for i in range(runs):
        site = Site(folder / f"done{i}", server, slots=4, command=TRUE)
        try:
            rate, work = start_rate(n // 4)
            start, used = time.perf_counter(), work_of(site, server)
            submit_many(site.sidecars[0], n)
            wait_until(lambda: site.left() == 0, 600, "all jobs have ended")
            jobs.append(n / (time.perf_counter() - start))
            rate_after, work_after = start_rate(n // 4)
            starts.append((rate + rate_after) / 2)
            ratios.append(jobs[-1] / starts[-1])
            wait_until(lambda: not any(children(r.process.pid) for r in site.runners), what="what is left has ended")
            takes.append((work_of(site, server) - used) * 1000 / n)
            parts.append((work + work_after) / 2 / takes[-1])
        finally:
            site.close()
    report.row("queue_jobs", f"jobs of /bin/true, submitted and done ({n})", jobs, "/s")
    report.row("queue_true", "  starts of /bin/true alone, on all processors", starts, "/s")
    report.row("queue_ratio", "  jobs to starts", ratios, "x", note="too much beside other work")
    report.row("queue_job_cpu_ms", "  of a processor for each job, all of it", takes, "ms")
    report.row("queue_cpu_ratio", "  of that one start of /bin/true", parts, "x", (">=", 0.25))


def starts(report, folder, server, n):
    """Milliseconds from before `submit` is sent to the first instruction of the job."""
    folder.mkdir(parents=True, exist_ok=True)
    noted = folder / "noted"
    site = Site(folder / "starts", server, slots=4, command=program_of(
        folder, "note", f'#!/bin/bash\necho "$EPOCHREALTIME" >>{noted}\n'))
    try:
        found = []
        with site.sidecars[0].client() as client:
            for i in range(n):
                before = time.time()
                client.call("submit", "q", {"payload": b"x"})
                wait_until(lambda i=i: noted.exists() and len(noted.read_text().splitlines()) == i + 1)
                found.append((float(noted.read_text().splitlines()[-1]) - before) * 1000)
                time.sleep(0.05)
        report.row("queue_start_ms", f"from submit to start ({n}, one after the other)", [statistics.median(found)],
                   "ms", ("<=", 30), f"longest {max(found):.0f} ms")
    finally:
        site.close()


def margins(report, folder, server, n):
    """The lease of an election, and the time of a check, while many jobs go through."""
    site = Site(folder / "margins", server, slots=4, command=TRUE)
    leases, times, over = [], [], threading.Event()

    def look(sidecar):
        with sidecar.client() as client:
            while not over.is_set():
                start = time.perf_counter()
                answer = client.call("check", "beside", 0)
                times.append((time.perf_counter() - start) * 1000)
                leases.append(answer["lease_ms"] / 1000 if answer["leader"] else 0)
                time.sleep(0.01)

    thread = threading.Thread(target=look, args=(site.settled_leader("beside"),))
    thread.start()
    try:
        submit_many(site.sidecars[0], n)
        wait_until(lambda: site.left() == 0, 1200, "all jobs have ended")
    finally:
        over.set()
        thread.join()
        site.close()
    report.row("queue_lease_s", f"least lease while {n} jobs go through, session timeout 10 s", [min(leases)], "s",
               (">=", 1))
    times.sort()
    report.row("queue_check_ms", "  a check meanwhile, 99 of 100", [times[len(times) * 99 // 100]], "ms",
               note=f"median {statistics.median(times):.2f}, longest {times[-1]:.0f} ms")


def waiting(report, folder, server, n, seconds):
    """The cost of waiting jobs for their leader, and for a node that does not lead."""
    site = Site(folder / "waiting", server, slots=1, rate="1/30d", command=TRUE)
    try:
        leader = site.settled_leader()
        other, idle = [s for s in site.sidecars if s is not leader]
        before = [resident_bytes(s.process.pid) for s in (leader, idle)]
        submit_many(other, n)
        time.sleep(3)
        grown = [(resident_bytes(s.process.pid) - b) / 2**20 for s, b in zip((leader, idle), before)]
        report.row("queue_leader_mib", f"memory of a leader for {n} that wait", grown[:1], "MiB", ("<=", 8))
        report.row("queue_idle_mib", "  of one that neither leads nor was asked", grown[1:], "MiB")
        for what, key, sidecar in (("leader", "queue_leader_cpu", leader), ("another", "queue_idle_cpu", idle)):
            used = cpu_seconds(sidecar.process.pid)
            time.sleep(seconds)
            report.row(key, f"  idle meanwhile, the {what}", [(cpu_seconds(sidecar.process.pid) - used) / seconds * 100],
                       "% CPU")
    finally:
        site.close()


# --- RQ


RQ_PYTHON = "/usr/bin/python3"


def has_rq():
    return shutil.which("redis-server") and subprocess.run([RQ_PYTHON, "-c", "import rq"], check=False,
                                                           stderr=subprocess.DEVNULL).returncode == 0


class Redis:
    def __init__(self, folder):
        folder.mkdir(parents=True)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        # Written before it is answered, and not waited for on the disk, as the bench's ZooKeeper does.
        self.process = spawn(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder),
                              "--appendonly", "yes", "--appendfsync", "no", "--save", ""],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.workers = []

        def answers():
            with socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        wait_until(answers)

    def start_workers(self, n):
        for _ in range(n):
            self.workers.append(spawn([RQ_PYTHON, HERE / "rq_peer", str(self.port), "work"],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def peer(self, *words):
        out = subprocess.run([RQ_PYTHON, HERE / "rq_peer", str(self.port), *words], check=True, capture_output=True,
                             text=True, timeout=900).stdout
        return float(out.split()[-1])

    def close(self):
        for process in [*self.workers, self.process]:
            end(process)


def by_rq(report, folder, n_submits, n_jobs, n_starts, workers):
    if not has_rq():
        report.row("rq_jobs", "the same by RQ with Redis", [], note="python3-rq or redis-server is not there")
        return
    redis = Redis(folder / "redis")
    try:
        report.row("rq_submits", f"RQ: submits, pipelined over one connection ({n_submits})",
                   [redis.peer("submit", str(n_submits))], "/s", note="Redis with an append-only file")
        redis.peer("empty")
        redis.start_workers(workers)
        report.row("rq_jobs", f"RQ: jobs of /bin/true, submitted and done ({n_jobs})",
                   [redis.peer("jobs", str(n_jobs))], "/s", note=f"{workers} workers")
        report.row("rq_start_ms", f"RQ: from submit to start ({n_starts})", [redis.peer("start", str(n_starts))], "ms")
    finally:
        redis.close()


def queues(report, folder, server, runs, quick):
    if os.geteuid() != 0:
        report.row("queue_jobs", "jobs of queues", [], note="needs root: task files have to be root's")
        return
    many, some, few = (300, 100, 5) if quick else (10000, 2000, 100)
    submits(report, folder, server, many, runs)
    done(report, folder, server, some, runs)
    starts(report, folder, server, few)
    margins(report, folder, server, many)
    waiting(report, folder, server, many, 1 if quick else 20)
    by_rq(report, folder, many, some, few, 4 * NODES)


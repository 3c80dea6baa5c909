"""The cost of `zkleader run`, and how evenly tasks spread: sidecars at work beside the race."""
import math
import os
import statistics
import time

from contenders import Zkleader
from harness.process import cpu_seconds
from harness.server import Tree
from harness.sidecar import Sidecar, build, task_text
from harness.waiting import wait_until

JOBS = 40


def elapsed(command):
    """Milliseconds from the start of a program to its end, and its exit code."""
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return (time.perf_counter() - start) * 1000, code


def next_second():
    time.sleep(1 - time.time() % 1 + 0.01)


def run_command(sidecar, name, *command):
    return [str(build() / "zkleader"), "-s", str(sidecar.socket), "run", name, "--", *command]


def added_to_a_job(leader, names):
    next_second()
    bare = [elapsed(["/bin/true"])[0] for _ in names]
    runs = [elapsed(run_command(leader, name, "/bin/true")) for name in names]
    assert all(code == 0 for _, code in runs), runs
    return statistics.median(ms for ms, _ in runs) - statistics.median(bare)


def lateness(leader, other, name, folder):
    """Milliseconds after CMD's start at which `zkleader run` ends where it does not lead."""
    next_second()
    program = str(build() / "zkleader")
    waiting = os.posix_spawn(program, run_command(other, name, "/bin/true"), os.environ)
    time.sleep(0.3)  # it has looked, and waits
    began = folder / "began"
    started = os.posix_spawn(
        program, run_command(leader, name, "/bin/sh", "-c", f"date +%s.%N > {began}; sleep 0.3"), os.environ)
    assert os.waitstatus_to_exitcode(os.waitpid(waiting, 0)[1]) == 1
    returned = time.time()
    os.waitpid(started, 0)
    return (returned - float(began.read_text(encoding="ascii"))) * 1000


def job_costs(report, folder, server, runs):
    """The time that `zkleader run` adds to a job on the leader, and how soon after the claim another host's run
    returns."""
    names = [f"tick-{i:02d}" for i in range(JOBS)]
    tree, tasks = Tree(server), [task_text(name, tick="1s") for name in names]
    leader, other = (Sidecar(folder / f"v{version}", f"v{version}", tree, version, tasks, log_level="error",
                             session_timeout="10s").start() for version in ("2.0", "1.0"))
    try:
        wait_until(lambda: leader.status()["leads"] == JOBS)
        added_to_a_job(leader, names)  # the first claim of a leadership reads the ledger
        report.row("run_added_ms", "zkleader run: added to a job on the leader",
                   [added_to_a_job(leader, names) for _ in range(runs)], "ms", note=f"of {JOBS} jobs each")
        report.row("run_late_ms", "  who does not lead returns after CMD's start",
                   [lateness(leader, other, name, folder) for name in names[:10]], "ms")
    finally:
        leader.close()
        other.close()


def idle(report, folder, server, n_tasks, seconds):
    """The cost of a sidecar that leads all tasks while nothing happens."""
    fleet = Zkleader(folder, server, n_tasks, session_timeout="10s")
    worker = fleet.start(0)
    try:
        wait_until(lambda: worker.leads() == n_tasks)
        time.sleep(2)
        before = cpu_seconds(worker.process.pid)
        time.sleep(seconds)
        used = cpu_seconds(worker.process.pid) - before
        report.row("idle_cpu", "idle, leading all, session-timeout 10s", [used / seconds * 100], "% CPU")
    finally:
        worker.close()


def spread(report, folder, server):
    """400 tasks over 8 equal workers; then a ninth joins."""
    n = 400
    tree, sidecars = Tree(server), []

    def start():
        name = f"e{len(sidecars)}"
        tasks = [f"job-{i:05d}" for i in range(n)]
        sidecars.append(Sidecar(folder / name, name, tree, "1.0", tasks, log_level="error", yield_delay="0s").start())

    def settled():
        now = tree.tokens()
        time.sleep(1.5)
        return len(now) == n and now == tree.tokens()
    try:
        for _ in range(8):
            start()
        wait_until(settled)
        counts, owners = [s.status()["leads"] for s in sidecars], tree.leaders()
        start()
        wait_until(lambda: sidecars[-1].status()["leads"] > 0 and settled())
        moved = [owner for task, owner in tree.leaders().items() if owner != owners[task]]
        report.row("spread", f"{n} tasks over 8 equal workers: led by each", counts,
                   note=f"to be within {50 - 4 * math.sqrt(50):.1f} .. {50 + 4 * math.sqrt(50):.1f}")
        report.row("spread_moved", "  a ninth joins: tasks that moved", [len(moved)])
        report.row("spread_stray", "  of these not to it", [sum(o != sidecars[-1].id for o in moved)],
                   goal=("=", 0))
    finally:
        for s in sidecars:
            s.close()

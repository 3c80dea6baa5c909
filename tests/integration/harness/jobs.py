"""Jobs for `zkleader run` that tell in a file of their own what they did, and prove that they are alone."""
import os
import pathlib
import signal
import subprocess
import time
import uuid

from harness.process import end, spawn
from harness.sidecar import build, sanitizer_env
from harness.waiting import TIMEOUT, wait_until

# The lock is open in every process of the job, so it is free only when the last of them is dead.
SCRIPT = """#!/bin/sh
say() {{
	read -r up rest < /proc/uptime
	echo "$1 $ZKLEADER_TASK ${{ZKLEADER_TICK:--}} $ZKLEADER_ATTEMPT $ZKLEADER_TOKEN" \\
		"$ZKLEADER_WORKER_ID $ZKLEADER_VERSION $$ $up" >> {out}
}}
{alone}say start
{body}
say end
"""
ALONE = """exec 9>> {lock}
flock -n 9 || say overlap
"""
FIELDS = ("what", "task", "tick", "attempt", "token", "worker", "version", "pid", "up")


class Line:
    """A line that a job wrote."""

    def __init__(self, text):
        for name, value in zip(FIELDS, text.split(), strict=True):
            setattr(self, name, int(value) if name in ("attempt", "token", "pid") else value)
        self.up = float(self.up)

    def __repr__(self):
        return f"{self.what} {self.tick} #{self.attempt} token {self.token:x} by {self.worker[:8]} at {self.up}"


class Run:
    """A `zkleader run` that has been started."""

    def __init__(self, process):
        self.process = process
        self.pid = process.pid

    def wait(self, timeout=120):
        """(exit code, standard output, standard error)"""
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            end(self.process)
            raise
        return self.process.returncode, out, err

    def code(self, timeout=120):
        return self.wait(timeout)[0]

    def signal(self, number):
        self.process.send_signal(number)


def children(pid):
    """The direct children of a process."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(p) for p in task.read_text(encoding="ascii").split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def is_running(pid):
    """Whether it is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes_with(*settings):
    """Those that have these in their environment, and live."""
    wanted, found = {s.encode() for s in settings}, []
    for environ in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted <= set(environ.read_bytes().split(b"\0")) and is_running(int(environ.parent.name)):
                found.append(int(environ.parent.name))
        except (OSError, ValueError):
            continue
    return found


class Jobs:
    """The jobs of one task, the runs that were started, and what the jobs wrote."""

    def __init__(self, folder, task):
        self.folder = folder
        self.task = task
        self.mark = f"ZKL_TEST_JOBS={uuid.uuid4().hex}"  # all their processes have it, and no others
        self.out = folder / f"{task}.out"
        self.lock = folder / f"{task}.lock"
        self.n = 0
        self.runs = []

    def script(self, body=":", alone=True):
        """A file with a job that does this between its two lines; alone: no other of the task may live."""
        self.n += 1
        path = self.folder / f"{self.task}.{self.n}.sh"
        path.write_text(SCRIPT.format(out=self.out, alone=ALONE.format(lock=self.lock) if alone else "", body=body), encoding="utf-8")
        path.chmod(0o755)
        return path

    def run(self, sidecar, *options, body=":", command=None, before=(), env=None, **kwargs):
        """Starts `zkleader run` beside this sidecar, behind these words if there are any."""
        args = [*before, build() / "zkleader", "-s", sidecar.socket, "run", *options, self.task, "--",
                *(command or [self.script(body)])]
        return self._spawn(args, env, **kwargs)

    def once(self, sidecar, *options):
        """Starts `zkleader-check --once` beside this sidecar."""
        return self._spawn([build() / "zkleader-check", "-s", sidecar.socket, "--once", *options, self.task])

    def _spawn(self, args, env=None, **kwargs):
        kwargs.setdefault("stdout", subprocess.PIPE)
        run = Run(spawn(args, stderr=subprocess.PIPE, text=True,
                        env={**sanitizer_env(self.folder), **(env or {}), **dict([self.mark.split("=")])}, **kwargs))
        self.runs.append(run)
        return run

    # --- what they wrote

    def lines(self, what=None):
        if not self.out.exists():
            return []
        lines = [Line(t) for t in self.out.read_text(encoding="ascii").splitlines()]
        return [line for line in lines if what in (None, line.what)]

    def wait_started(self, n=1, timeout=TIMEOUT):
        """Waits until n jobs have started, ever; returns the line of the last."""
        return wait_until(lambda: len(self.lines("start")) >= n and self.lines("start")[n - 1],
                          timeout, f"{n} jobs have started")

    def alive(self):
        """The processes of the jobs, without those of `zkleader run`."""
        return processes_with(self.mark, f"ZKLEADER_TASK={self.task}")

    def wait_gone(self, timeout=TIMEOUT):
        wait_until(lambda: not processes_with(self.mark), timeout, "no process of a run is left")

    def check(self):
        """Checks what has to hold of all runs of a task, whatever was killed."""
        assert not self.lines("overlap"), self.lines()
        tokens = [line.token for line in self.lines("start")]
        assert tokens == sorted(tokens), self.lines()

    def close(self):
        for run in self.runs:
            if run.process.poll() is None:
                run.signal(signal.SIGCONT)
                run.signal(signal.SIGTERM)
        limit = time.monotonic() + 10
        for run in self.runs:
            try:
                run.process.wait(max(0.1, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                end(run.process)
        for pid in processes_with(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for run in self.runs:
            for stream in (run.process.stdout, run.process.stderr):
                if stream:
                    stream.close()


def next_tick(seconds):
    """Waits for the beginning of the next tick: what comes now is in another than what was before."""
    time.sleep(seconds - time.time() % seconds + 0.01)

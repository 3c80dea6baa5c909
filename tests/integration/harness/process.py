"""Processes that end when the tests do, however these end."""
import ctypes
import os
import pathlib
import resource
import shutil
import signal
import subprocess

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


def spawn(args, before=None, **kwargs):
    """A child that the kernel kills when this process dies. To be called in the main thread. before: it calls it."""
    parent = os.getpid()

    def tie():
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        if before:
            before()

    kwargs.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([str(a) for a in args], preexec_fn=tie, **kwargs)


def keep_core():
    """For a child before it is begun: what it was at is kept where it runs, if it crashes."""
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (most, most))


def backtraces(program, folder):
    """Of the crashes whose cores lie there."""
    found = []
    for core in sorted(pathlib.Path(folder).glob("core*")):
        if shutil.which("gdb"):
            gdb = subprocess.run(["gdb", "-batch", "-ex", "bt 30", "-ex", "thread apply all bt 12", str(program),
                                  str(core)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 errors="replace", timeout=120, check=False)
            found.append(f"crashed:\n{gdb.stdout}")
    return found


def end(process, timeout=10):
    """Kills it, stopped or not, and waits until it is gone."""
    if process.poll() is None:
        process.kill()
        process.wait(timeout)


def cpu_seconds(pid):
    """User and system time that the process has used so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

"""Processes that end when the tests do, however these end."""
import os
import pathlib
import resource
import shutil
import subprocess

TIE_SOURCE = pathlib.Path(__file__).parent / "tie.c"
TIE = TIE_SOURCE.parents[3] / "build/tie"


def tie():
    """The program that ties a child to us. Python could do the same in a fork of itself, at ten times the cost."""
    if not TIE.exists() or TIE.stat().st_mtime < TIE_SOURCE.stat().st_mtime:
        TIE.parent.mkdir(exist_ok=True)
        draft = TIE.with_suffix(f".{os.getpid()}")
        subprocess.run(["gcc", "-O2", "-static", "-o", draft, TIE_SOURCE], check=True)
        draft.rename(TIE)
    return str(TIE)


def spawn(args, **kwargs):
    """A child that the kernel kills when this process dies. To be called in the main thread."""
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([tie(), str(os.getpid()), *[str(a) for a in args]], **kwargs)


def keep_core(process):
    """Has the core kept in the process's folder if it crashes."""
    most = resource.prlimit(process.pid, resource.RLIMIT_CORE)[1]
    resource.prlimit(process.pid, resource.RLIMIT_CORE, (most, most))


def backtraces(program, folder):
    """The backtraces of the crashes whose cores lie there."""
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


def cpu_seconds(pid, with_children=False):
    """User and system time that the process has used so far; with that of the children that it has reaped."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15 if with_children else 13]) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

"""Processes whose wall clock is wrong by so many seconds, and no other clock."""
import pathlib

LIBRARY = pathlib.Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")


def library():
    """Debian's libfaketime, wherever its architecture has it; None if it is not installed."""
    if LIBRARY.exists():
        return LIBRARY
    return next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)


def skewed(seconds):
    """The environment of such a process. CLOCK_MONOTONIC and CLOCK_BOOTTIME stay as they are."""
    return {"LD_PRELOAD": str(library()), "FAKETIME": f"{seconds:+.3f}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1"}


def forget(pid):
    """Removes what the library leaves behind of a process that has ended."""
    for name in (f"sem.faketime_sem_{pid}", f"faketime_shm_{pid}"):
        pathlib.Path("/dev/shm", name).unlink(missing_ok=True)

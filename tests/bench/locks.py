"""A free lock: from the start of the program to the start of CMD, beside flock and etcdctl."""
import os
import shutil
import statistics
import time

from harness.server import Tree
from harness.sidecar import Sidecar, build
from harness.waiting import wait_until
from questions import Etcd


def begun_ms(command):
    """Until CMD, /bin/echo, has written; its end is waited for as well."""
    read, write = os.pipe()
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_CLOSE, read), (os.POSIX_SPAWN_CLOSE, write)])
    os.close(write)
    said = os.read(read, 100)
    took = (time.perf_counter() - start) * 1000
    while os.read(read, 100):
        pass
    os.close(read)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != 0 or not said:
        raise SystemExit(f"bench: {command} ended with {code}")
    return took


def locks(report, folder, server, runs, times):
    flocked = folder / "flocked"
    sidecar = Sidecar(folder / "one", "one", Tree(server), "1.0", ["t"], log_level="error",
                      session_timeout="10s").start()
    flocked.touch()
    etcd = Etcd(folder)
    commands = {"lock": [build() / "zkleader", "-s", sidecar.socket, "lock", "l", "--", "/bin/echo", "x"],
                "echo": ["/bin/echo", "x"],
                "flock": [shutil.which("flock"), "-n", flocked, "/bin/echo", "x"],
                "etcd": etcd.command("lock", "l", "/bin/echo", "x")}
    commands = {key: [str(word) for word in words] for key, words in commands.items() if words}
    taken = {key: [] for key in commands}
    try:
        wait_until(lambda: sidecar.leads("t"))
        begun_ms(commands["lock"])  # the first makes the folder
        for _ in range(runs):  # in turn, so that all see the same machine
            for key, command in commands.items():
                taken[key].append(statistics.median(begun_ms(command) for _ in range(times)))
    finally:
        etcd.close()
        sidecar.close()
    report.row("lock_begun_ms", "zkleader lock: a free one, until CMD writes", taken["lock"], "ms")
    report.row("lock_echo_ms", "  CMD alone, /bin/echo", taken["echo"], "ms")
    report.row("lock_flock_ms", "  by flock -n", taken["flock"], "ms")
    report.row("lock_etcd_ms", "  by etcdctl lock", taken.get("etcd", []), "ms")
    report.row("lock_to_flock", "zkleader lock to flock -n",
               [ours / theirs for ours, theirs in zip(taken["lock"], taken["flock"])], "x", ("<", 3))

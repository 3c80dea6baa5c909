"""The real timers of systemd, in a user's manager with units of the test's; the machine may be run by another."""
import os
import pathlib
import shlex
import shutil
import uuid

from harness.process import end, spawn

# A folder in /run tells systemd that it is there at all. The control groups that it sees are its own alone: as root's
# it would move every process of the machine that is in the first group.
PRIVATE = """
set -e
echo $$ >{cgroup}/cgroup.procs
exec unshare -C -m sh -c '
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/user
mount -t tmpfs tmpfs /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
exec systemd --user --log-target=console --unit=timers.target'
"""
UNIT = "[Unit]\nDefaultDependencies=no\n"
TIMER = UNIT + "[Timer]\nOnCalendar={calendar}\nAccuracySec=1us\n"
SERVICE = UNIT + "[Service]\nType=oneshot\nExecStart={command}\n"


def cgroups():
    """The mount point of the second version of the control groups, None: there is none."""
    mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text(encoding="ascii").splitlines()]
    return next((pathlib.Path(m[1]) for m in mounts if m[2] == "cgroup2"), None)


def may_start():
    return os.geteuid() == 0 and shutil.which("systemd") is not None and cgroups() is not None


class Timer:
    """A command, in systemd's words, that is started at each time of a calendar, in systemd's words."""

    def __init__(self, home, calendar, command):
        units = home / "config/systemd/user"
        wanted = units / "timers.target.wants"
        wanted.mkdir(parents=True)
        (units / "timers.target").write_text(UNIT, encoding="ascii")
        (units / "job.timer").write_text(TIMER.format(calendar=calendar), encoding="ascii")
        (units / "job.service").write_text(SERVICE.format(command=command), encoding="ascii")
        (wanted / "job.timer").symlink_to(units / "job.timer")
        self.cgroup = cgroups() / f"zkleader-{uuid.uuid4()}"
        self.cgroup.mkdir()
        env = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "XDG_RUNTIME_DIR": "/run/user"}
        with open(home / "log", "wb") as log:
            self.process = spawn(["sh", "-c", PRIVATE.format(cgroup=shlex.quote(str(self.cgroup)))], env=env, stdout=log,
                                 stderr=log)

    def close(self):
        end(self.process)
        for folder in sorted(self.cgroup.rglob("**/"), reverse=True):
            folder.rmdir()

"""A machine of a Debian release, made by debootstrap and booted by systemd-nspawn: with the network of this one, and
folders, users and a systemd of its own. Where systemd-nspawn cannot boot, what needs no systemd is tried in it."""
import os
import pathlib
import shutil
import signal
import subprocess

from harness.process import end, spawn
from harness.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = "systemd-sysv,dbus,procps,sudo"
SECONDS = 900  # for a command, the slowest being an installation over the network
ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
       **{k: v for k, v in os.environ.items() if k.endswith("_proxy")}}


class Machine:
    def __init__(self, folder, release, more="", like=None):
        """With these packages more; or a copy of another one that has not been booted."""
        name = f"{release}-like" if like else release
        self.root = folder / name
        self.log = folder / f"{name}.log"
        self.process = None
        self.leader = None  # the pid of its init, as seen from here
        self.name = f"zkl-{name}-{os.getpid()}"
        make = ["cp", "-a", like.root, self.root] if like else \
            ["debootstrap", "--variant=minbase", f"--include={PACKAGES}{more}", release, self.root]
        with open(self.log, "ab") as log:
            subprocess.run(make, stdout=log, stderr=log, check=True, timeout=SECONDS)
        (self.root / "etc/machine-id").unlink(missing_ok=True)
        self.write("/etc/hostname", f"{self.name}\n")
        self.write("/etc/hosts", f"127.0.0.1 localhost {self.name}\n")

    def boot(self):
        """Whether its systemd is up."""
        with open(self.log, "ab") as log:
            self.process = spawn(["systemd-nspawn", "--boot", "--quiet", "--register=no", "--keep-unit", "--console=pipe",
                                  "-D", self.root, f"--machine={self.name}"],
                                 stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def up():
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            pids = children.read_text(encoding="ascii").split() if children.exists() else []
            self.leader = pids[0] if pids else None
            return self.process.poll() is not None or self.leader and self.try_run(
                "systemctl is-system-running").stdout.strip() in ("running", "degraded")

        wait_until(up, 120, "the machine is up, or has ended")
        return self.process.poll() is None

    def try_run(self, command, **more):
        """What became of a command of the shell in it."""
        inside = ["nsenter", "-t", self.leader, "-m", "-u", "-i", "-n", "-p"] if self.leader \
            else ["unshare", "-m", "-p", "-f", f"--mount-proc={self.root}/proc", "chroot", str(self.root)]
        return subprocess.run([*inside, "/usr/bin/env", "-i", *(f"{k}={v}" for k, v in ENV.items()), "/bin/sh", "-c",
                               f"cd /root && {command}"],
                              text=True, capture_output=True, timeout=SECONDS, check=False, **more)

    def run(self, command, **more):
        """What a command has written that has to succeed."""
        done = self.try_run(command, **more)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def apt(self, words):
        return self.run(f"apt-get -q -y --no-install-recommends {words} 2>&1")

    def write(self, path, text):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def files(self, words="*zkleader*"):
        """What lies in it under a name like that, but for what dpkg and the journal keep."""
        return sorted(self.run(f"find / -xdev -name '{words}' -not -path '/proc/*' -not -path '/root/*' "
                               "-not -path '/var/lib/apt/*' -not -path '/var/cache/*'").split())

    def pid(self, unit):
        return int(self.run(f"systemctl show -P MainPID {unit}"))

    def close(self):
        if self.process:
            if self.process.poll() is None and self.leader:
                os.kill(int(self.leader), signal.SIGRTMIN + 4)  # poweroff
                try:
                    self.process.wait(60)
                except subprocess.TimeoutExpired:
                    pass
            end(self.process)
        shutil.rmtree(self.root, ignore_errors=True)

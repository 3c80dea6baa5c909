"""The image: made, read as a file, and run by unshare and chroot as a container's runtime runs it, since there may be no
runtime here: root read-only, a user without privileges, namespaces of its own but for the network."""
import hashlib
import io
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tarfile

from debs import BUILT, ROOT, clean_env
from harness.process import end, spawn
from harness.rpc import Client
from harness.waiting import wait_until

# $1: the root; then SOURCE PATH MODE of each mount, "--", and the words of the program with those before chroot.
SETUP = """set -e
root=$1; shift
mount --bind "$root" "$root"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount -t tmpfs -o mode=755,size=64k dev "$root/dev"
mknod -m 666 "$root/dev/null" c 1 3; mknod -m 444 "$root/dev/urandom" c 1 9
while [ "$1" != -- ]; do
	mount --bind "$1" "$root$2"
	mount -o "remount,bind,$3,nosuid,nodev" "$root$2"
	shift 3
done
shift
mount -o remount,bind,ro,nosuid "$root"
exec "$@"
"""


def make_image(folder, debs=BUILT, umask=-1, **env):
    """The file of the image of those packages."""
    done = subprocess.run([ROOT / "debian/image", debs, folder], env=clean_env(**env), umask=umask, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return pathlib.Path(done.stdout.split(": ")[0])


class Image:
    """What is in its file, each digest of it compared."""

    def __init__(self, file):
        self.file = file
        with tarfile.open(file) as tar:
            self.files = {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}
        self.index = json.loads(self.files["index.json"])
        self.manifest = json.loads(self.blob(*self.index["manifests"]))
        self.config = json.loads(self.blob(self.manifest["config"]))
        self.packed = self.blob(*self.manifest["layers"])
        with tarfile.open(fileobj=io.BytesIO(self.packed)) as tar:
            self.members = {m.name: m for m in tar}

    def blob(self, told):
        algorithm, digest = told["digest"].split(":")
        content = self.files[f"blobs/{algorithm}/{digest}"]
        assert hashlib.new(algorithm, content).hexdigest() == digest and len(content) == told["size"], told
        return content

    def unpack(self, folder):
        folder.mkdir()
        subprocess.run(["tar", "-xzp", "--numeric-owner", "-C", folder], input=self.packed, check=True)
        return folder


class Container:
    """A process in an unpacked image."""

    def __init__(self, folder, name, image, root, mounts=(), env=None, command=None, user=None):
        """mounts: (folder, path in it, "ro" or "rw")"""
        config = image.config["config"]
        self.name, self.root, self.mounts = name, root, mounts
        self.env = {**dict(word.split("=", 1) for word in config["Env"]), **(env or {})}
        self.command = command or config["Entrypoint"]
        self.user = user or config["User"]
        self.process = None
        self.pid = None  # of its first process, as seen from here
        self.log = folder / f"{name}.log"
        self.socket = next((source / "zkleader.sock" for source, path, _ in mounts if path == "/run/zkleader"), None)

    def words(self):
        for _, path, _ in self.mounts:  # a runtime makes these, too
            (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        mounts = [str(word) for mount in self.mounts for word in mount]
        enter = [*map(shutil.which, ("env", "setpriv", "chroot"))]
        enter[1:1] = [f"PATH={self.env['PATH']}"]
        enter[3:3] = ["--no-new-privs"]
        enter += [f"--userspec={self.user}", "--groups=", self.root, *self.command]
        script = f"{shlex.join(['hostname', self.name])}\n{SETUP}"
        return ["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child",
                "sh", "-c", script, "sh", self.root, *mounts, "--", *enter]

    def run(self, timeout=60):
        """What becomes of a program that ends by itself."""
        return subprocess.run(self.words(), env={**self.env, "PATH": os.environ["PATH"]}, text=True, capture_output=True,
                              timeout=timeout, check=False)

    def start(self):
        with open(self.log, "ab") as log:
            self.process = spawn(self.words(), stdout=log, stderr=log, env={**self.env, "PATH": os.environ["PATH"]})
        program = pathlib.Path(self.command[0]).name

        def first():
            assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
            pid = self.first_pids()[0]
            return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip() == program and pid

        self.pid = wait_until(first, what=f"{self.name} runs {program}")
        return self

    def execute(self, command, timeout=90):
        """What becomes of a command in it, as a probe or `kubectl exec` runs one: without a shell."""
        uid, gid = self.user.split(":")
        return subprocess.run(["nsenter", "-t", self.pid, "--mount", "--pid", "--uts", "--ipc", "--root", "--wd",
                               "--setgid", gid, "--setuid", uid, *command],
                              env=self.env, text=True, capture_output=True, timeout=timeout, check=False)

    def client(self, timeout=60.0):
        return Client(self.socket, timeout)

    def call(self, method, *params, timeout=60.0):
        with self.client(timeout) as client:
            return client.call(method, *params)

    def leads(self, task):
        return self.call("check", task, 0)["leader"]

    def wait_ready(self):
        wait_until(lambda: self.execute(["/usr/bin/zkleader", "status", "--ready"]).returncode == 0, what=f"{self.name} is ready")
        return self

    def signal(self, number):
        os.kill(int(self.pid), number)

    def wait(self, timeout=90):
        return self.process.wait(timeout)

    def facts(self):
        """The lines of its /proc/PID/status."""
        lines = pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines()
        return dict(line.split(":\t", 1) for line in lines if ":\t" in line)

    def first_pids(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return children.read_text(encoding="ascii").split() if children.exists() else []

    def close(self):
        """With its first process, which has another user by now and so does not die with its parent."""
        if self.process and self.process.poll() is None:
            for pid in self.first_pids():
                os.kill(int(pid), 9)
            end(self.process)

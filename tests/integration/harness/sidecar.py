"""A real zkleaderd with a folder, a configuration and a log of its own."""
import json
import os
import pathlib
import signal
import subprocess
import uuid

from harness import tls
from harness.names import need_mounts
from harness.process import backtraces, cpu_seconds, end, keep_core, spawn
from harness.rpc import Client, RpcError
from harness.waiting import TIMEOUT, wait_until

SUPPRESSIONS = pathlib.Path(__file__).resolve().parents[1] / "lsan.supp"
LOG_SHOWN = 12000  # bytes of a log that are printed for a test that failed

DEFAULTS = {"session_timeout": "3s", "yield_delay": "200ms", "tick_guard": "0s", "log_level": "debug"}


def build():
    """The folder with the programs: --build, or ZKLEADER_BUILD."""
    return pathlib.Path(os.environ.get("ZKLEADER_BUILD", "build/release")).resolve()


def quoted(value):
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(quoted(v) for v in value) + "}"
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def settings(values, indent=""):
    return "".join(f"{indent}{k.replace('_', '-')} = {quoted(v)}\n"
                   for k, v in values.items() if v is not None)


def task_text(name, **values):
    return f'task "{name}" {{\n{settings(values, "  ")}}}\n'


def queue_text(name, user="root", **values):
    """The text of a queue, whose jobs root does."""
    return f'queue "{name}" {{\n{settings(dict(user=user, **values), "  ")}}}\n'


def sanitizer_env(folder):
    """Reports go to files: a report of a child of a child is not lost, and none is overlooked."""
    reports = folder / "reports"
    reports.mkdir(exist_ok=True)
    env = dict(os.environ)
    for name, extra in (("ASAN_OPTIONS", ":verify_asan_link_order=0"),
                        ("UBSAN_OPTIONS", ":print_stacktrace=1"),
                        ("LSAN_OPTIONS", f":suppressions={SUPPRESSIONS}:print_suppressions=0"), ("TSAN_OPTIONS", "")):
        given = env.get(name, "")
        env[name] = f"{given}{':' if given else ''}log_path={reports}/{name[0:4].lower()}{extra}"
    return env


def sanitizer_reports(folder):
    return [f"{p.name}:\n{p.read_text(errors='replace')}" for p in sorted(folder.glob("reports/*"))
            if p.stat().st_size]  # valgrind makes its file in any case


class Sidecar:
    def __init__(self, folder, name, tree, version="1.0", tasks=(), zookeeper=None, env=None, program=None, **config):
        self.name = name
        self.folder = folder
        self.tree = tree
        self.process = None
        self.expected_exit = False  # the test has seen to its end
        self.extra_env = env or {}
        self.command = []
        self.program = program  # another build's zkleaderd
        self.last_log = ""
        self.wanted = {}  # texts of files of tasks that were to change while they were away
        self.socket = folder / "s"
        self.config_file = folder / "zkleader.conf"
        self.task_dir = folder / "conf.d"
        self.log_file = folder / "log"
        self.task_dir.mkdir(parents=True)
        self.config = {**DEFAULTS, **tls.client_config(), "zookeeper": zookeeper or tree.server.address, "root": tree.root,
                       "version": version, "socket": self.socket, **config}
        self.write_config()
        if tasks:
            self.write_tasks(*tasks)

    # --- files

    def write_config(self, **changes):
        """At once, as write_file()."""
        self.config.update(changes)
        draft = self.folder / "draft.conf"
        draft.write_text(settings(self.config), encoding="utf-8")
        os.rename(draft, self.config_file)

    def write_tasks(self, *tasks, file="tasks.conf"):
        """Each is a name, or the text of a whole section."""
        text = "".join(t if t.startswith(("task", "queue", "defaults")) and "{" in t else task_text(t) for t in tasks)
        return self.write_file(text, file)

    def write_file(self, text, file):
        """At once, by renaming: half a file would be read as such."""
        path = self.task_dir / file
        draft = self.folder / "draft"
        draft.write_text(text, encoding="utf-8")
        os.rename(draft, path)
        return path

    def on_its_own_machine(self):
        """Sees a machine id of its own, from its next start on; the test is skipped where that cannot be."""
        need_mounts()
        file = self.folder / "machine-id"
        file.write_text(uuid.uuid4().hex + "\n", encoding="ascii")
        file.chmod(0o644)
        self.command = ["unshare", "-m", "sh", "-c", f"mount --bind {file} /etc/machine-id && exec \"$@\"", "-"]
        return self

    # --- life

    def start(self, ready=True):
        env = {**sanitizer_env(self.folder), **self.extra_env}
        with open(self.log_file, "ab") as log:
            self.process = spawn([*self.command, self.program or build() / "zkleaderd", "-c", self.config_file],
                                 stdout=log, stderr=log, env=env, cwd=self.folder)
        keep_core(self.process)
        self.expected_exit = False
        if ready:
            self.wait_connected()
        return self

    def wait_connected(self, timeout=TIMEOUT):
        wait_until(self.is_connected, timeout, f"{self.name} has a confirmed session")

    def is_connected(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} has ended with {self.process.returncode}:\n{self.log()}")
        return self.status()["session"]["state"] == "connected"

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, timeout=60):
        """Tells it to go; returns its exit code."""
        self.expected_exit = True
        self.signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def kill(self):
        self.expected_exit = True
        end(self.process)

    def pause(self):
        self.signal(signal.SIGSTOP)

        def stopped():
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
                return f.read().rsplit(")", 1)[1].split()[0] in "Tt"
        wait_until(stopped, what="the process is stopped")

    def resume(self):
        self.signal(signal.SIGCONT)

    def wait_exit(self, timeout=TIMEOUT):
        self.expected_exit = True
        return self.process.wait(timeout)

    def close(self):
        """Ends it, and returns what went wrong in its life as a list of texts."""
        wrong = []
        if self.process:
            code = self.process.poll()
            if code is None:
                self.resume()
                self.signal(signal.SIGTERM)
                try:
                    code = self.process.wait(60)  # it waits for a callback, which takes up to 30
                except subprocess.TimeoutExpired:
                    wrong.append("does not end when it is told to")
                    end(self.process)
                if code not in (0, None):
                    wrong.append(f"ended with {code}")
            elif not self.expected_exit:
                wrong.append(f"ended by itself with {code}")
        self.last_log = self.log()  # for the report, which is made when the folder is gone
        return [f"{self.name}: {w}" for w in wrong + sanitizer_reports(self.folder) +
                backtraces(self.program or build() / "zkleaderd", self.folder)]

    # --- questions

    def client(self, timeout=60.0):
        return Client(self.socket, timeout)

    def listens(self):
        """Its socket is there a little before: for wait_until(), to which a refusal is an answer."""
        with self.client():
            return True

    def call(self, method, *params, timeout=60.0):
        with self.client(timeout) as client:
            return client.call(method, *params)

    def error_of(self, method, *params):
        """The RpcError with which the call ends."""
        try:
            result = self.call(method, *params)
        except RpcError as e:
            return e
        raise AssertionError(f"{method} {params} was answered: {result}")

    def status(self):
        return self.call("status")

    def check(self, task, wait_ms=0):
        return self.call("check", task, wait_ms)

    def leads(self, task):
        return self.check(task)["leader"]

    def explain(self, task):
        return self.call("explain", task)

    def problems(self):
        return self.status()["problems"]

    def task_names(self):
        return [t["task"] for t in self.call("tasks")]

    @property
    def id(self):
        return self.status()["id"]

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else self.last_log

    def log_tail(self):
        log = self.log()
        return log if len(log) <= LOG_SHOWN else f"[{len(log) - LOG_SHOWN} bytes before this]\n{log[-LOG_SHOWN:]}"

    def log_records(self):
        """With log-format json: one dict a line."""
        return [json.loads(line) for line in self.log().splitlines()]

    def wait_log(self, text, timeout=TIMEOUT):
        wait_until(lambda: text in self.log(), timeout, f"{self.name} logs {text!r}")

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)


class Outcome:
    """How a program ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}, stdout {self.out!r}, stderr {self.err!r}"


def run_program(folder, name, *args, timeout=180, env=None, text=True):
    """Runs one of our programs to its end."""
    process = spawn([build() / name, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text,
                    env={**sanitizer_env(folder), **(env or {})})
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        end(process)
    return Outcome(process.returncode, out, err)

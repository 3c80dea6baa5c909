"""A zkleader-runner, and a sidecar by script that it asks: what is due is what the test says."""
import os
import pathlib
import signal
import socket
import threading
import time

import msgpack

from harness.jobs import processes_with
from harness.process import end, spawn
from harness.sidecar import build, sanitizer_env, sanitizer_reports, task_text
from harness.waiting import wait_until

TICK = "2026-11-23T22:00:00Z"


def scheduled(name, command, user="root", schedule="@yearly", **values):
    """The text of a task with a schedule."""
    return task_text(name, schedule=schedule, user=user, command=command, **values)


class Scripted:
    """Says "yours" to every claim but those in `taken`, once `held` is set, and renews for as long as `leads`."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.lease_ms, self.leads, self.taken = 10000, True, set()
        self.held = None  # an Event
        self.claimed_at = []
        self.asked = []  # (method, params) in the order in which they came
        self.payloads = {}  # of jobs of queues, by their id; each is begun once
        self.begun = {}  # their numbers, by which they are renewed and have ended
        self.renewed_at = {}  # by their number: when a renewal was asked for last, CLOCK_MONOTONIC
        self.lock = threading.Lock()
        self.open()

    def open(self):
        self.runner = None
        self.connections = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen(512)
        os.chmod(self.path, 0o666)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _answer(self, connection, method, params):
        if method == "runner":
            self.runner = connection
            return {}
        if method == "claim":
            self.claimed_at.append(time.monotonic())
            if self.held:
                self.held.wait()
            if (params[0], params[1]["tick"]) in self.taken:
                return {"outcome": "taken", "tick": params[1]["tick"]}
            return {"outcome": "yours", "tick": params[1]["tick"], "token": 41, "attempt": params[1]["scheduled"],
                    "worker_id": "w", "version": "1.0", "lease_ms": self.lease_ms, "run": 7}
        if method == "job_begin":
            if params[0] not in self.payloads or params[0] in self.begun:
                return {"outcome": "gone", "why": "it is not given to this node"}
            number = self.begun[params[0]] = len(self.begun) + 1
            return {"outcome": "yours", "number": number, "token": 40 + number, "attempt": 1, "timeout_ms": 0,
                    "payload": self.payloads[params[0]], "callback": None, "job": None}
        if method == "job_renew":
            self.renewed_at[params[0]] = time.monotonic()
        if method in ("renew", "job_renew"):
            return {"leads": self.leads, "lease_ms": self.lease_ms, "timeout_ms": 2 * self.lease_ms}
        if method == "attach":
            return {"attached": True, "run": 7, "recorded": False}
        if method == "job_attach":
            return {"attached": True, "run": self.begun[params[0]], "recorded": False}
        return True if method in ("finish", "job_finish") else {}

    def _serve(self, connection):
        unpacker = msgpack.Unpacker(raw=False)
        try:
            while data := connection.recv(65536):
                unpacker.feed(data)
                for _, number, method, params in unpacker:
                    answer = self._answer(connection, method, params)
                    with self.lock:
                        self.asked.append((method, params))
                    connection.sendall(msgpack.packb([1, number, None, answer]))
        except OSError:
            pass

    def due(self, task, tick=TICK, attempt=1, **more):
        wait_until(lambda: self.runner, what="a runner has registered")
        self.runner.sendall(msgpack.packb([2, "due", [{"task": task, "tick": tick, "attempt": attempt, **more}]]))

    def job(self, queue, job_id, payload=b""):
        """Offers a job; once more, if it was offered."""
        wait_until(lambda: self.runner, what="a runner has registered")
        self.payloads.setdefault(job_id, payload)
        self.runner.sendall(msgpack.packb([2, "job", [{"queue": queue, "id": job_id}]]))

    def ended(self, job_id, timeout=60):
        """The end of that job, which is offered until it has begun."""
        def has_ended():
            for number, end_of_it in self.all("job_finish"):
                if number == self.begun.get(job_id):
                    return end_of_it
            return None
        return wait_until(has_ended, timeout, f"{job_id} has ended")

    def all(self, method):
        with self.lock:
            return [params for name, params in self.asked if name == method]

    def finished(self, n=1, timeout=60):
        """The ends of the first n runs."""
        wait_until(lambda: len(self.all("finish")) >= n, timeout, f"{n} runs have ended")
        return [params[1] for params in self.all("finish")][:n]

    def refusals(self):
        """The refusals that the runner has told last."""
        told = self.all("refusals")
        return told[-1][0] if told else None

    def close(self):
        """As a sidecar that is killed: the socket is still there."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()
        self.path.unlink()


class Runner:
    def __init__(self, folder, sidecar_socket, config_file, user=None, env=None):
        self.folder, self.socket, self.config_file = folder, sidecar_socket, config_file
        self.user, self.extra_env = user, env or {}
        self.process = None
        self.command = []
        self.cwd = self.options = None
        self.log_file = folder / "runner.log"
        folder.mkdir(parents=True, exist_ok=True)

    def start(self):
        where = ["-s", self.socket] if self.options is None else self.options
        command = [*self.command, build() / "zkleader-runner", *where, "-c", self.config_file]
        if self.user:
            command = ["setpriv", "--reuid", self.user, "--regid", "nogroup", "--clear-groups", *command]
        with open(self.log_file, "ab") as log:
            self.process = spawn(command, stdout=log, stderr=log, cwd=self.cwd,
                                 env={**sanitizer_env(self.folder), **self.extra_env})
        return self

    def log(self):
        return self.log_file.read_text(errors="replace")

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(60)
        expected = 0 if how in (signal.SIGTERM, signal.SIGINT) else -how
        assert code == expected, f"the runner ended with {code}\n{self.log()}"
        return code

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)
        if self.process:
            end(self.process)
        return sanitizer_reports(self.folder)


class Site:
    """A runner, its sidecar, and the files of both."""

    def __init__(self, folder, **runner):
        self.folder = folder
        self.tasks = folder / "conf.d"
        self.tasks.mkdir()
        config = folder / "zkleader.conf"
        config.write_text(f'zookeeper = "127.0.0.1:1"\nversion = "1.0"\ntask-dir = "{self.tasks}"\n')
        self.sidecar = Scripted(folder / "s")
        self.runner = Runner(folder / "runner", folder / "s", config, **runner)

    def write(self, *texts, file="tasks.conf"):
        draft = self.folder / "draft"
        draft.write_text("".join(texts))
        os.rename(draft, self.tasks / file)
        return self.tasks / file

    def start(self, *texts):
        self.write(*texts)
        self.runner.start()
        wait_until(lambda: self.sidecar.runner, what="the runner has registered")
        return self

    def refused(self, n=1):
        wait_until(lambda: self.sidecar.refusals() is not None and len(self.sidecar.refusals()) == n, 60,
                   f"{n} tasks are refused")
        return self.sidecar.refusals()


def shell(script):
    return ["/bin/sh", "-c", script]


def site_fixture(folder):
    made = Site(folder)
    yield made
    reports = made.runner.close()
    made.sidecar.close()
    for pid in processes_with(f"ZKL_TEST={folder}"):
        os.kill(pid, signal.SIGKILL)
    assert not reports, "\n".join(reports)

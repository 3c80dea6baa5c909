"""A zkleader-web of a test."""
import http.client
import json
import socket

from harness.process import end, spawn
from harness.sidecar import build, sanitizer_env
from harness.waiting import wait_until


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Web:
    """A zkleader-web of its own; each request is a connection of its own."""

    def __init__(self, folder, sidecar_socket, *args, listen=None, through=()):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.port = free_port()
        self.listen = str(listen or "127.0.0.1:{port}").format(port=self.port)
        self.log = folder / "web.log"
        with open(self.log, "ab") as log:
            self.process = spawn([*through, build() / "zkleader-web", "-s", sidecar_socket, "-l", self.listen, *args],
                                 stdout=log, stderr=log, env=sanitizer_env(folder))
        wait_until(self.answers, 20, "zkleader-web listens")

    def answers(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            self.get("/healthz")
            return True
        except OSError:
            return False

    def get(self, path, method="GET", **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            c.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
            r = c.getresponse()
            return r.status, r.headers, r.read().decode()
        finally:
            c.close()

    def json(self, path):
        status, headers, body = self.get(path)
        assert headers["Content-Type"] == "application/json", (status, body)
        return status, json.loads(body)

    def close(self):
        end(self.process)

"""An HTTP server of the test's own that misbehaves on demand, and a zkleader-notify that is to bear it."""
import http.server
import json
import os
import re
import signal
import socket
import threading

from harness.jobs import children
from harness.process import end, spawn
from harness.sidecar import build, sanitizer_env, sanitizer_reports
from harness.waiting import wait_until


class Hooks:
    """Keeps what was POSTed; `answers` are those to the next requests, 200 behind them: a status, "close" or "hang"."""

    def __init__(self):
        self.got = []  # (path, body) of what was answered with 200
        self.seen = []  # (path, body) of all
        self.headers = []  # of all, each a dict
        self.rids = []  # (path, UUID) of those that name a run, and whose path is without it above
        self.answers = []
        self.lock = threading.Lock()
        self.hung = threading.Event()
        hooks = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                hooks.take(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def take(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length", 0))).decode()
        found = re.search("[?&]rid=([0-9a-f-]{36})$", request.path)
        with self.lock:
            if found:
                request.path = request.path[:found.start()]
                self.rids.append((request.path, found[1]))
            answer = self.answers.pop(0) if self.answers else 200
            self.seen.append((request.path, body))
            self.headers.append((request.path, dict(request.headers)))
            if answer == 200:
                self.got.append((request.path, body))
        if answer == "hang":
            self.hung.wait(60)
        if answer in ("hang", "close"):
            request.close_connection = True
            request.connection.shutdown(socket.SHUT_RDWR)
            return
        request.send_response(answer)
        request.send_header("Content-Length", "0")
        request.end_headers()

    def url(self, path, user=""):
        return f"http://{user}127.0.0.1:{self.port}{path}"

    def wait(self, n, timeout=60):
        """The first n that were answered with 200."""
        wait_until(lambda: len(self.got) >= n, timeout, f"{n} pings have come, of {self.seen}")
        return self.got[:n]

    def events(self, n, timeout=60, kind=None):
        """The first n that have come, as JSON, without those that came again: by id."""
        def seen():
            with self.lock:
                found = {}
                for _, body in self.got:
                    event = json.loads(body)
                    if not kind or event["event"] == kind:
                        found.setdefault(event["id"], event)
                return list(found.values())
        wait_until(lambda: len(seen()) >= n, timeout, f"{n} of {kind or 'all'} have come, of {self.seen}")
        return seen()

    def close(self):
        self.hung.set()
        self.server.shutdown()
        self.server.server_close()


class Notifier:
    def __init__(self, folder, sidecar, spool=None):
        self.folder = folder
        folder.mkdir()
        self.spool = spool or folder / "spool"
        if not spool:
            self.spool.mkdir()
        self.log_file = folder / "log"
        self.command = [build() / "zkleader-notify", "-s", sidecar.socket, "-c", sidecar.config_file, "--spool", self.spool]
        self.start()

    def start(self):
        told = self.log().count("hearing of runs") if self.log_file.exists() else 0
        with open(self.log_file, "ab") as log:
            self.process = spawn(self.command, stdout=log, stderr=log, env=sanitizer_env(self.folder))
        wait_until(lambda: self.log().count("hearing of runs") > told, 60, "the notifier hears of runs")

    def log(self):
        return self.log_file.read_text(errors="replace")

    def posters(self):
        """The processes that send over HTTP; [] at rest."""
        return children(self.process.pid)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

    def close(self):
        end(self.process)
        return sanitizer_reports(self.folder)

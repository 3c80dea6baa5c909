"""Queues of jobs: sidecars with runners, what is submitted to them, and a web server that misbehaves."""
import http.server
import json
import pathlib
import ssl
import subprocess
import threading
import time

from harness.process import end, spawn
from harness.runner import Runner
from harness.sidecar import build, sanitizer_env, sanitizer_reports
from harness.waiting import TIMEOUT, wait_until

ENDED = ("ok", "dead", "lost", "cancelled")


class Queues:
    """A fleet whose sidecars have queues, and runners of root's."""

    def __init__(self, fleet, folder, zk):
        self.fleet, self.folder, self.zk = fleet, folder, zk
        self.runners = []
        (folder / "submits").mkdir()

    def site(self, name, *sections, runner=True, ready=True, env=None, **config):
        sidecar = self.fleet.sidecar(name, tasks=sections, ready=ready, **{"session_timeout": "10s", **config})
        sidecar.runner = None
        if runner:
            self.start_runner(sidecar, env)
        return sidecar

    def start_runner(self, sidecar, env=None):
        folder = sidecar.folder / f"runner{len(self.runners)}"
        sidecar.runner = Runner(folder, sidecar.socket, sidecar.config_file, env=env).start()
        self.runners.append(sidecar.runner)

    def wait_open(self, queue="q", timeout=TIMEOUT):
        """Until all sidecars that have the queue know that it takes submits."""
        wait_until(lambda: "open" in self.zk.names("jobs", queue), timeout, f"{queue} is open")
        there = [s for s in self.fleet.sidecars if s.is_running() and queue in s.task_names()]
        for s in there:
            wait_until(lambda s=s: s.call("queue", queue)["state"] == "active", timeout, f"{queue} takes submits")

    def begin(self, sidecar, *args, payload=b"", env=None, user=None):
        """A `zkleader` that goes on."""
        command = ["setpriv", f"--reuid={user}", "--clear-groups"] if user else []
        process = spawn([*command, build() / "zkleader", "-s", sidecar.socket, *args], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        env={**sanitizer_env(self.folder / "submits"), **(env or {})})
        process.stdin.write(payload)
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, sidecar, *args, payload=b"", timeout=60, user=None, env=None):
        process = self.begin(sidecar, *args, payload=payload, user=user, env=env)
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            end(process)
        return process.returncode, out, err.decode()

    def submit(self, sidecar, *args, queue="q", payload=b""):
        """The id of a job that was committed."""
        code, out, err = self.run(sidecar, "submit", *args, queue, payload=payload)
        assert code == 0, (code, out, err)
        return out.decode().strip()

    def job(self, sidecar, job):
        return sidecar.call("job", job)

    def wait_state(self, sidecar, job, *states, timeout=60):
        """The job, once it is in one of these states; or has ended."""
        def there():
            found = self.job(sidecar, job)
            return found if found["state"] in (states or ENDED) else None
        return wait_until(there, timeout, f"{job} is {' or '.join(states or ENDED)}")

    def close(self):
        reports = [r for runner in self.runners for r in runner.close()]
        assert not reports, "\n".join(reports)
        reports = sanitizer_reports(self.folder / "submits")
        assert not reports, "\n".join(reports)


class Hook:
    """A web server on a free port: answers each request as `script` says, and keeps what it was asked."""

    def __init__(self, script, tls_folder=None):
        self.asked = []  # {"path", "headers", "body", "at"}
        self.lock = threading.Lock()
        self.closed = threading.Event()
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with hook.lock:
                    n = len(hook.asked)
                    hook.asked.append({"path": self.path, "headers": dict(self.headers), "body": body,
                                       "at": time.monotonic()})
                try:
                    script(self, n)
                except OSError:
                    pass
                self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.scheme = "http"
        if tls_folder:
            self.scheme = "https"
            cert = self_signed(tls_folder)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(cert)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, path="/"):
        return f"{self.scheme}://127.0.0.1:{self.server.server_address[1]}{path}"

    def requests(self):
        with self.lock:
            return list(self.asked)

    def close(self):
        self.closed.set()
        self.server.shutdown()
        self.server.server_close()


def self_signed(folder):
    cert = pathlib.Path(folder) / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", cert, "-out", f"{cert}.crt"],
                   check=True, capture_output=True)
    cert.write_bytes(cert.read_bytes() + pathlib.Path(f"{cert}.crt").read_bytes())
    return cert


def answer(handler, status, body=b"", **headers):
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def script_of(*answers):
    """The n-th request gets the n-th of these, and those behind them the last: a status, or a function."""
    def script(handler, n):
        one = answers[min(n, len(answers) - 1)]
        if callable(one):
            one(handler)
        else:
            answer(handler, one)
    return script


def loads(body):
    return json.loads(body.decode())

"""docs/examples/scan.py: a job store in a real PostgreSQL, worked on by partitions while servers are killed."""
import collections
import http.server
import json
import os
import pathlib
import random
import shutil
import socket
import sys
import tempfile
import threading

import pytest

from harness.process import end, spawn
from harness.sidecar import build, task_text
from harness.waiting import wait_until

psycopg2 = pytest.importorskip("psycopg2", reason="python3-psycopg2 is not installed: make deps-deep")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("initdb") and not list(
    pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")), reason="postgresql is not installed")]

TASK = "scan"
SCAN = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples" / "scan.py"
TABLE = "CREATE TABLE jobs (id bigint PRIMARY KEY, bucket int NOT NULL, due timestamptz NOT NULL DEFAULT now(), " \
    "token bigint NOT NULL DEFAULT 0, done int NOT NULL DEFAULT 0)"


def program(name):
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return found[-1] if found else shutil.which(name)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Database:
    """A PostgreSQL of its own; it does not run as root."""

    def __init__(self, folder):
        self.port = free_port()
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        if user:
            shutil.chown(folder, "postgres", "postgres")
        data = folder / "data"
        made = spawn([program("initdb"), "-D", data, "-U", "jobs", "-A", "trust", "-N"], cwd=folder,
                     stdout=-3, stderr=-3, **user)
        assert made.wait(90) == 0
        self.process = spawn([program("postgres"), "-D", data, "-p", self.port, "-k", folder, "-c", "fsync=off",
                              "-c", "listen_addresses=127.0.0.1"], cwd=folder, stdout=-3, stderr=-3, **user)
        self.client = wait_until(self.connect, what="PostgreSQL answers")
        self.client.autocommit = True
        self.ask(TABLE)

    def at(self, port=None):
        return f"host=127.0.0.1 port={port or self.port} user=jobs dbname=postgres"

    def connect(self):
        try:
            return psycopg2.connect(self.at())
        except psycopg2.OperationalError:
            return None

    def ask(self, statement, *values):
        with self.client.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def add(self, ids):
        for job in ids:
            self.ask("INSERT INTO jobs (id, bucket) VALUES (%s, %s)", job, random.Random(job).randrange(1 << 30))

    def left(self):
        return self.ask("SELECT count(*) FROM jobs WHERE done = 0")[0][0]

    def counts(self):
        return dict(self.ask("SELECT done, count(*) FROM jobs GROUP BY done"))


@pytest.fixture
def database():
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"zkl-{os.getpid()}-", dir="/tmp"))
    made = None
    try:
        made = Database(folder)
        yield made
    finally:
        if made:
            made.client.close()
            end(made.process)
        shutil.rmtree(folder, ignore_errors=True)


class Results(http.server.ThreadingHTTPServer):
    """The server to which results go: how often each job's came. It takes them while `open` is set."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Receiver)
        self.posts, self.open, self.waiting = collections.Counter(), threading.Event(), threading.Event()
        self.open.set()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/"


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # noqa: N802: as the library has it
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.waiting.set()
        self.server.open.wait()
        self.server.posts[body["job"]] += 1
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def results():
    with Results() as made:
        yield made
        made.open.set()
        made.shutdown()


class Relay:
    """A way to the database on which what a client sends can be held back, and arrives later all the same."""

    def __init__(self, port):
        self.target, self.flows, self.listener = port, threading.Event(), socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.held = threading.Event()
        self.flows.set()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        try:
            while True:
                client = self.listener.accept()[0]
                server = socket.create_connection(("127.0.0.1", self.target))
                for args in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self.pass_on, args=args, daemon=True).start()
        except OSError:
            pass

    def pass_on(self, a, b, up):
        try:
            while data := a.recv(65536):
                if up and not self.flows.is_set():
                    self.held.set()
                    self.flows.wait()
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def start(sidecar, database, results, *words, tick="10s"):
    return spawn([build() / "zkleader", "-s", sidecar.socket, "run", "--tick", tick, "--wait", "0s", TASK, "--",
                  sys.executable, SCAN, "--database", database, "--post", results.url, *words],
                 stdout=-3, stderr=-3)


class Cron:
    """Starts what a crontab would, at each server that is there, again and again."""

    def __init__(self, sidecars, database, results):
        self.sidecars, self.args, self.running = sidecars, (database.at(), results), {}

    def turn(self):
        for s in self.sidecars:
            process = self.running.get(s.name)
            if s.is_running() and (process is None or process.poll() is not None):
                self.running[s.name] = start(s, *self.args)

    def until(self, predicate, what):
        def there():
            self.turn()
            return predicate()
        wait_until(there, timeout=150, what=what)

    def end(self):
        for process in self.running.values():
            if process.poll() is None:
                process.terminate()
                process.wait(30)


def partitioned(n):
    return task_text(TASK, partitions=n, partition_jobs=2)


@pytest.mark.seconds(500)
def test_each_job_is_done_once_while_servers_die_and_the_number_changes(fleet, zk, database, results, program):
    fleet_of = [fleet.sidecar(name, tasks=[partitioned(8)]) for name in ("one", "two", "three")]
    cron = Cron(fleet_of, database, results)

    def order(*words):
        return program("zkleader", "-s", fleet_of[0].socket, *words)
    try:
        database.add(range(60))
        cron.until(lambda: database.left() < 60, "the first jobs are done")
        for round_, victim in enumerate(fleet_of[1:]):
            victim.kill()
            database.add(range(100 * (round_ + 1), 100 * (round_ + 1) + 40))
            cron.until(lambda: database.left() == 0, "the others do its jobs")
            victim.start()
        database.add(range(300, 340))
        assert order("pause", TASK).code == 0
        cron.until(lambda: order("partitions", TASK, "16").code == 0, "another number is in force")
        for s in fleet_of:
            s.write_tasks(partitioned(16))
        assert order("resume", TASK).code == 0
        database.add(range(400, 460))
        cron.until(lambda: database.left() == 0, "all is done by 16")
    finally:
        cron.end()
    assert database.counts() == {1: 240}
    assert set(results.posts) == {row[0] for row in database.ask("SELECT id FROM jobs")}


def late_write(fleet, zk, database, results, *words):
    """How often a job is done whose first write is held back until another leader has done it."""
    relay = Relay(database.port)
    first, second = (fleet.sidecar(name, version=version, tasks=[partitioned(2)])
                     for name, version in (("first", "2"), ("second", "1")))
    wait_until(lambda: all(zk.leaders().get(f"{TASK}:{k}") == first.id for k in range(2)), what="the first leads")
    database.add([7])
    results.open.clear()
    held = start(first, database.at(relay.port), results, *words)
    assert results.waiting.wait(60), "its result is posted"
    relay.flows.clear()
    results.open.set()
    assert relay.held.wait(60), "its write is on its way"
    first.kill()
    cron = Cron([second], database, results)
    try:
        wait_until(lambda: all(zk.leaders().get(f"{TASK}:{k}") == second.id for k in range(2)), what="the second leads")
        while database.left():
            start(second, database.at(), results, *words, tick="1s").wait(60)
        held.wait(60)
        before = database.ask("SELECT done FROM jobs")
        relay.flows.set()
        # The server has read all that was held once the connection that it came on has gone.
        wait_until(lambda: database.ask("SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                                        "AND backend_type = 'client backend'") == [(0,)], what="it has arrived")
    finally:
        cron.end()
        relay.listener.close()
    assert before == [(1,)]
    return database.ask("SELECT done FROM jobs")[0][0]


@pytest.mark.seconds(300)
def test_a_write_that_comes_late_changes_nothing(fleet, zk, database, results):
    assert late_write(fleet, zk, database, results) == 1


@pytest.mark.seconds(300)
def test_without_the_token_it_does(fleet, zk, database, results):
    assert late_write(fleet, zk, database, results, "--no-fence") == 2

"""The cost of one question: a process that asks it, a round trip on a connection, the latest answer."""
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import time

from contenders import Zkleader
from elections import settle, when_led
from harness.process import end, resident_bytes, spawn
from harness.server import free_port
from harness.sidecar import build
from harness.siege import Siege
from harness.waiting import wait_until

TASK = "job-00001"
REQUEST = b"\x94\x00\x01\xa5check\x91\xa9" + TASK.encode()
HTTP_REPLY = "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nyes"
KAZOO = """
from kazoo.client import KazooClient
client = KazooClient(hosts='{server}')
client.start()
client.get('{path}')
client.stop()
"""


class Echo:
    """The bare server beside which ours is measured."""

    def __init__(self, folder, name, *reply):
        self.socket = folder / name
        self.process = spawn([build() / "bench/echo", self.socket, *reply])
        while not self.socket.exists():
            time.sleep(0.005)

    def close(self):
        end(self.process)


class Etcd:
    """An etcd server with one key, if it is installed."""

    def __init__(self, folder):
        self.process = None
        if not shutil.which("etcd"):
            return
        urls = [f"http://127.0.0.1:{free_port()}" for _ in range(2)]
        self.url = urls[0]
        self.process = spawn(["etcd", "--data-dir", folder / "etcd", "--listen-client-urls", urls[0],
                              "--advertise-client-urls", urls[0], "--listen-peer-urls", urls[1],
                              "--initial-advertise-peer-urls", urls[1], "--initial-cluster", f"default={urls[1]}"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: subprocess.run(self.command("put", TASK, "host1"), check=False, capture_output=True,
                                          timeout=10).returncode == 0, what="etcd serves")

    def command(self, *words):
        return [shutil.which("etcdctl"), "--endpoints", self.url, *words] if self.process else []

    def close(self):
        if self.process:
            end(self.process)


def spawn_times(command, times, stdin=None, expected=0):
    """Microseconds that each of so many starts of a program took."""
    spawner = [build() / "bench/spawn", *(["-i", stdin] if stdin else []), times, *command]
    result = subprocess.run([str(a) for a in spawner], capture_output=True, text=True, check=False)
    if result.returncode != expected:
        raise SystemExit(f"bench: {command} ended with {result.returncode}: {result.stderr}")
    return [int(ns) / 1000 for ns in result.stdout.split()]


def commands(folder, server, worker, fleet, echo, http, etcd):
    """(key, what, command, its standard input, times a run); programs that are missing are left out."""
    request = folder / "request"
    request.write_bytes(REQUEST)
    flocked = folder / "flocked"
    flocked.touch()
    path = f"{fleet.root}/leaders/{TASK}"
    zkcli = "/usr/share/zookeeper/bin/zkCli.sh"
    listed = [
        ("check", "zkleader-check", [build() / "zkleader-check", "-s", worker.sidecar.socket, TASK], None, 100),
        ("true", "/bin/true", ["/bin/true"], None, 100),
        ("test", "test -e FILE", ["/usr/bin/test", "-e", worker.sidecar.socket], None, 100),
        ("flock", "flock -n FILE true", ["/usr/bin/flock", "-n", flocked, "/bin/true"], None, 100),
        ("socat", "socat, to the echo server", ["/usr/bin/socat", "-t1", "-", f"UNIX-CONNECT:{echo.socket}"], request,
         50),
        ("curl", "curl --unix-socket", ["/usr/bin/curl", "-s", "--unix-socket", http.socket, "http://x/"], None, 50),
        ("etcdctl", "etcdctl get", etcd.command("get", TASK), None, 10),
        ("kazoo", "python3 with kazoo", ["/usr/bin/python3", "-c", KAZOO.format(server=server.address, path=path)],
         None, 3),
        ("zkcli", "zkCli.sh get", [zkcli, "-server", server.address, "get", path], None, 1),
    ]
    return [c for c in listed if c[2] and shutil.which(str(c[2][0]))]


def load(path, clients, in_flight, seconds, pause_us=0):
    out = subprocess.run([build() / "bench/load", path, TASK, str(clients), str(in_flight), str(seconds),
                          str(pause_us)], capture_output=True, text=True, check=True).stdout
    return json.loads(out)


def processes(report, folder, server, worker, fleet, runs):
    echo, http, etcd = Echo(folder, "echo"), Echo(folder, "http", HTTP_REPLY), Etcd(folder)
    try:
        listed = commands(folder, server, worker, fleet, echo, http, etcd)
        taken = {c[0]: [] for c in listed}
        for _ in range(runs):  # one after the other in each run, so that all see the same machine
            for key, _, command, stdin, times in listed:
                taken[key].append(statistics.median(spawn_times(command, times, stdin)))
    finally:
        for server_beside in (echo, http, etcd):
            server_beside.close()
    ratios = [ours / true for ours, true in zip(taken["check"], taken["true"])]
    for key, what, *_ in listed:
        ratio = statistics.median(taken[key]) / statistics.median(taken["true"])
        report.row(f"spawn_{key}_us", what, taken[key], "us", note=f"{ratio:.2f} of /bin/true")
    report.row("check_to_true", "zkleader-check to /bin/true", ratios, "x", ("<=", 1 / 3))


def round_trips(report, folder, worker, runs, seconds):
    echo = Echo(folder, "echo2")
    try:
        for clients, in_flight in ((1, 1), (16, 1), (16, 8)):
            ours, bare, key = [], [], f"{clients}x{in_flight}"
            name = f"{clients} client{'s' if clients > 1 else ''}, {in_flight} in flight on each"
            for _ in range(runs):
                for path, rates in ((worker.sidecar.socket, ours), (echo.socket, bare)):
                    result = load(path, clients, in_flight, seconds)
                    rates.append(result["answers"] / result["seconds"])
            report.row(f"trips_{key}", f"answers to {name}", ours, "/s")
            report.row(f"echo_{key}", "  of the bare echo server", bare, "/s")
            report.row(f"trips_to_echo_{key}", "  the ratio", [a / b for a, b in zip(ours, bare)], "x", (">=", 0.8))
    finally:
        echo.close()


class Prober:
    """Asks all the time, 200 us after each answer; once it is ended, tells how long the first answer took
    and the longest of the others."""

    def __init__(self, worker):
        self.process = spawn([build() / "bench/load", worker.sidecar.socket, TASK, 1, 1, 60, 200],
                             stdout=subprocess.PIPE, text=True)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        said = json.loads(self.process.communicate()[0])
        return said["first_us"] / 1000, said["later_us"] / 1000


def accepts(path):
    """A path is there a moment before somebody listens at it."""
    with socket.socket(socket.AF_UNIX) as attempt:
        return attempt.connect_ex(str(path)) == 0


def latest_answers(folder, server, n_tasks):
    """While all tasks go from one to the other: the latest answer of the old leader and of the new one; and
    the first of the new one, asked from the moment that its socket is there: it reads its tasks first, and
    only then joins the fleet."""
    fleet, workers = Zkleader(folder, server, n_tasks), []
    try:
        workers.append(fleet.start(0))
        when_led(workers, n_tasks)
        settle(fleet, workers)
        old = Prober(workers[0])
        workers.append(fleet.start(1))
        while not accepts(workers[1].sidecar.socket):
            time.sleep(0.0005)
        new = Prober(workers[1])
        when_led(workers[1:], n_tasks)
        time.sleep(0.5)
        first, latest = new.end()
        return max(old.end()), latest, first
    finally:
        for worker in workers:
            worker.close()


def under_siege(folder, server, connections, seconds):
    """Another user's checks while so many connections of one user ask the dearest things: the slowest in ms, the
    longest turn of the sidecar's loop, that in time of a processor, and what it takes in MiB. None where nobody else can be become."""
    if os.geteuid() != 0:
        return None
    folder.mkdir(parents=True)
    for above in folder.parents[:3]:
        above.chmod(above.stat().st_mode | 0o055)
    fleet = Zkleader(folder, server, 200)
    worker = fleet.start(0)
    try:
        when_led([worker], 200)
        with worker.sidecar.client() as client, Siege(worker.sidecar, TASK, connections=connections):
            until, slowest, biggest = time.monotonic() + seconds, 0, 0
            while time.monotonic() < until:
                begun = time.monotonic()
                client.call("check", TASK)
                slowest = max(slowest, time.monotonic() - begun)
                biggest = max(biggest, resident_bytes(worker.sidecar.process.pid))
                time.sleep(0.01)
        return 1000 * slowest, *worker.turns_ms(), biggest / 2**20
    finally:
        worker.close()


def questions(report, folder, server, n_tasks, runs, seconds):
    fleet = Zkleader(pathlib.Path(folder) / "questions", server, 10)
    worker = fleet.start(0)
    try:
        when_led([worker], 10)
        processes(report, folder, server, worker, fleet, runs)
        round_trips(report, folder, worker, runs, seconds)
    finally:
        worker.close()
    latest = [latest_answers(folder / f"latest{i}", server, n_tasks) for i in range(runs)]
    report.row("latest_old_ms", f"latest answer of who gives {n_tasks} tasks up", [a for a, _, _ in latest], "ms",
               ("<=", 5))
    report.row("latest_new_ms", "  of who takes them", [b for _, b, _ in latest], "ms", ("<=", 5))
    report.row("latest_first_ms", "  its first, since its socket is there", [c for _, _, c in latest], "ms")


def siege(report, folder, server, runs, seconds):
    sieges = [under_siege(pathlib.Path(folder) / f"siege{i}" / "fleet", server, 1000, max(1, seconds)) for i in range(runs)]
    sieges = [s for s in sieges if s]
    report.row("siege_check_ms", "slowest check while 1,000 connections ask much", [s[0] for s in sieges], "ms", ("<=", 100))
    report.row("siege_turn_ms", "  the longest turn of the loop", [s[1] for s in sieges], "ms")
    report.row("siege_turn_cpu_ms", "    of a processor's time", [s[2] for s in sieges], "ms", ("<", 20))
    report.row("siege_mib", "  resident", [s[3] for s in sieges], "MiB", ("<", 32))

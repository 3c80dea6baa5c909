"""The control socket: whatever a client does, it harms nobody else."""
import itertools
import os
import pathlib
import random
import shutil
import socket
import stat
import subprocess
import sys
import threading

import msgpack
import pytest

from harness.process import resident_bytes, spawn
from harness.rpc import Client
from harness.sidecar import build
from harness.waiting import wait_until

TASK = "nightly-report"
CLIENTS_MAX = 1000  # CONTROL_CLIENTS_MAX


@pytest.fixture
def sidecar(fleet):
    made = fleet.sidecar("only", tasks=[TASK, "other"], log_level="info", session_timeout="10s")
    wait_until(lambda: made.leads(TASK) and made.leads("other"), what="it leads")
    return made


@pytest.fixture
def bystander(sidecar):
    """A client that was there before, and has to be served all the time."""
    with sidecar.client() as client:
        assert client.call("check", TASK)["leader"]
        yield client
        assert client.call("check", TASK)["leader"]
        assert sidecar.is_running()


def request(msgid, method, *params):
    return msgpack.packb([0, msgid, method, list(params)])


def test_check_tells_all_that_is_promised(sidecar, zk):
    answer = sidecar.check(TASK)
    assert answer["leader"] is True and answer["state"] == "leading"
    assert answer["token"] == zk.leader(TASK)[1] and answer["lease_ms"] > 0
    sidecar.call("pause", TASK)
    wait_until(lambda: not zk.leader(TASK)[1], what="nobody leads it")
    answer = wait_until(lambda: (a := sidecar.check(TASK))["token"] == 0 and a, what="it knows that it has given it up")
    assert (answer["leader"], answer["state"], answer["token"], answer["lease_ms"]) == (False, "paused", 0, 0)
    sidecar.call("resume", TASK)
    wait_until(lambda: sidecar.leads(TASK), what="it leads again")
    follower = sidecar.call("tasks", TASK)
    assert all({"task", "state", "self", "leader", "token", "since", "lease_ms"} <= set(t) for t in follower)


def test_tables_and_status_have_all_keys_that_are_promised(sidecar, zk):
    [worker] = sidecar.call("workers")
    record = zk.workers()[sidecar.id]
    assert {k: worker[k] for k in ("id", "version", "ip", "hostname", "random_ints", "tasks")} == \
        {k: record[k] for k in ("id", "version", "ip", "hostname", "random_ints", "tasks")}
    assert (worker["state"], worker["leads"], worker["self"]) == ("active", 2, True)
    assert worker["since"].startswith("20") and worker["since"].endswith("Z")
    status = sidecar.status()
    assert {"id", "version", "ip", "session", "lease_ms", "leads", "tasks", "problems"} <= set(status)
    assert {"id", "state", "timeout_ms", "server"} <= set(status["session"])
    assert status["session"]["timeout_ms"] == 10000 and status["session"]["server"] == zk.server.address
    assert (status["leads"], status["tasks"], status["problems"]) == (2, 2, [])
    explain = sidecar.explain(TASK)
    assert {"task", "state", "leads", "reason", "ranking"} <= set(explain) and explain["leads"] is True
    assert all({"id", "ip", "hostname", "version", "rank", "candidate", "why"} <= set(r) for r in explain["ranking"])


@pytest.mark.parametrize("method, params", [
    ("check", []), ("check", ["no-such-task"]), ("check", [7]), ("check", [None]), ("check", [TASK, "soon"]),
    ("check", [TASK, -1]), ("check", [TASK, 2**40]), ("check", [TASK, 0, 0]), ("check", ["x" * 1000]),
    ("check", [TASK + "\0"]), ("check", [[TASK]]), ("tasks", ["no-such-task"]), ("tasks", [{}]), ("explain", []),
    ("explain", [TASK, TASK]), ("subscribe", ["no-such-task"]), ("subscribe", [1]), ("no-such-method", []),
    ("", []), ("x" * 32, [])])
def test_misuse_is_answered_with_code_3_and_the_connection_lives_on(sidecar, bystander, method, params):
    bystander.send_bytes(request(77, method, *params))
    _, _, error, result = bystander.read()
    assert error["code"] == 3 and error["message"] and result is None


def nested(levels):
    return b"\x91" * levels + b"\xc0"


BAD_FRAMES = {
    "never valid": b"\xc1",
    "a number": b"\x07",
    "a text": msgpack.packb("check"),
    "a map": msgpack.packb({"method": "check"}),
    "an empty array": b"\x90",
    "too short": msgpack.packb([0, 1, "check"]),
    "too long": msgpack.packb([0, 1, "check", [TASK], 5]),
    "type 3": msgpack.packb([3, 1, "check", [TASK]]),
    "type as text": msgpack.packb(["0", 1, "check", [TASK]]),
    "a response": msgpack.packb([1, 1, None, True]),
    "negative id": msgpack.packb([0, -1, "check", [TASK]]),
    "huge id": msgpack.packb([0, 2**40, "check", [TASK]]),
    "id as text": msgpack.packb([0, "1", "check", [TASK]]),
    "long method": msgpack.packb([0, 1, "x" * 1000, []]),
    "method as number": msgpack.packb([0, 1, 2, [TASK]]),
    "params as map": msgpack.packb([0, 1, "check", {"task": TASK}]),
    "params as text": msgpack.packb([0, 1, "check", TASK]),
    "no params": msgpack.packb([0, 1, "check", None]),
    "nested": nested(1000),
    "nested without end": b"\x91" * 60_000,
    "nested params": b"\x94\x00\x01\xa5check" + nested(100),
    "huge array": b"\xdd\xff\xff\xff\xff",
    "huge map": b"\xdf\xff\xff\xff\xff",
    "huge text": b"\x94\x00\x01\xdb\xff\xff\xff\xffcheck",
    "huge bin": b"\x94\x00\x01\xa5check\x91\xc6\xff\xff\xff\xff",
    "over 64 KiB": msgpack.packb([0, 1, "check", ["x" * 66_000]]),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "zeros": bytes(4096),
}


@pytest.mark.parametrize("frame", BAD_FRAMES.values(), ids=BAD_FRAMES.keys())
def test_a_frame_that_is_malformed_gets_an_error_and_ends_that_connection_alone(sidecar, bystander, frame):
    with sidecar.client() as bad:
        bad.send_bytes(frame)
        kind, _, error, result = bad.read()
        assert kind == 1 and error["code"] == 3 and error["message"] and result is None
        assert bad.is_closed()


@pytest.mark.parametrize("size", [70_000, 1_000_000])
def test_a_client_that_goes_on_talking_hears_the_error_and_the_end(sidecar, bystander, size):
    for _ in range(20):
        with sidecar.client() as bad:
            bad.send_bytes(msgpack.packb([0, 1, "check", ["x" * size]]))  # never a broken pipe
            assert bad.read()[2]["code"] == 3
            with pytest.raises(EOFError):  # nor a reset
                bad.read()
            bad.send("status")
            with pytest.raises(EOFError):
                bad.read()


def test_a_client_that_never_stops_talking_is_cut_off(sidecar, bystander):
    with sidecar.client() as bad, pytest.raises((BrokenPipeError, ConnectionResetError)):
        for _ in range(64):
            bad.send_bytes(b"\xc1" * 1024 * 1024)


def kernel_takes(message):
    """How many of these a socket takes while nobody reads."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        for count in itertools.count():
            try:
                ours.send(message)
            except BlockingIOError:
                return count


def test_a_client_that_reads_late_hears_the_error_and_is_closed(sidecar, bystander):
    bystander.send_bytes(request(1, "status"))
    most = kernel_takes(msgpack.packb(bystander.read()))
    for count in range(most - 5, most + 6):  # the error is the first that the kernel does not take, or about that
        with sidecar.client() as bad:
            bad.send_bytes(b"".join(request(i, "status") for i in range(count)) + b"\xc1")
            for _ in range(10):
                bystander.call("check", TASK)  # by then the sidecar has read all
            assert [bad.read()[1] for _ in range(count)] == list(range(count))
            assert bad.read()[2]["code"] == 3
            assert bad.is_closed(), count


def test_random_bytes_harm_nobody(sidecar, bystander):
    source = random.Random(2026)
    for _ in range(300):
        with sidecar.client() as bad:
            data = source.randbytes(source.randrange(1, 2000))
            if source.random() < 0.5:  # something near to a request
                good = bytearray(request(source.randrange(2**32), "check", TASK, 0))
                for _ in range(source.randrange(1, 4)):
                    good[source.randrange(len(good))] = source.randrange(256)
                data = bytes(good) + data
            try:
                bad.send_bytes(data)
                bad.sock.shutdown(socket.SHUT_WR)
                assert bad.is_closed(timeout=20)
            except (BrokenPipeError, ConnectionResetError, ValueError):
                pass
    assert bystander.call("check", TASK)["leader"]


def test_a_good_frame_before_garbage_is_answered(sidecar, bystander):
    with sidecar.client() as client:
        client.send_bytes(request(5, "check", TASK) + b"\xc1\xc1\xc1")
        assert client.read()[1:3] == [5, None]
        assert client.read()[2]["code"] == 3
        assert client.is_closed()


def test_a_frame_may_come_byte_by_byte(sidecar, bystander):
    with sidecar.client() as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        for byte in request(9, "check", TASK) + request(10, "tasks"):
            client.send_bytes(bytes([byte]))
        assert {client.read()[1], client.read()[1]} == {9, 10}


def test_a_client_that_goes_in_the_middle_of_a_frame_or_of_an_answer_harms_nobody(sidecar, bystander):
    whole = request(9, "workers") * 50
    for cut in range(1, len(whole), 7):
        with sidecar.client() as client:
            client.send_bytes(whole[:cut])
    assert bystander.call("check", TASK)["leader"]


def test_a_notification_from_a_client_is_taken_in_silence(sidecar, bystander):
    bystander.send_bytes(msgpack.packb([2, "hello", [1, 2, 3]]))
    assert bystander.call("check", TASK)["leader"]


def test_a_frame_just_below_64_kib_is_taken(sidecar):
    names = [TASK] * 4000
    assert len(request(1, "tasks", *names)) < 65536
    assert [t["task"] for t in sidecar.call("tasks", *names)] == [TASK]  # each is told once, however often it is named


def test_100_clients_are_served_at_once(sidecar):
    clients = [sidecar.client() for _ in range(100)]
    try:
        for _ in range(20):
            sent = [(c, [c.send("check", TASK), c.send("tasks"), c.send("status")]) for c in clients]
            for client, (check, tasks, status) in sent:
                assert client.result(status)["leads"] == 2
                assert client.result(check)["leader"]
                assert len(client.result(tasks)) == 2
    finally:
        for client in clients:
            client.close()


def test_many_requests_may_be_in_flight_on_one_connection(sidecar):
    with sidecar.client() as client:
        ids = []
        writer = threading.Thread(target=lambda: ids.extend(
            client.send("check", TASK) if i % 3 else client.send("explain", "other") for i in range(3000)))
        writer.start()
        answers = [client.read() for _ in range(3000)]
        writer.join()
    assert sorted(a[1] for a in answers) == ids
    assert all(a[2] is None for a in answers)


@pytest.fixture
def undecided(fleet, zk):
    """A sidecar with a task that nobody leads for a good while, since its leader might not know it yet."""
    made = fleet.sidecar("undecided", version="1", tasks=["vacant", "own"])
    asleep = fleet.sidecar("asleep", version="2", tasks=["vacant"], session_timeout="40s")
    zk.wait_for_leader("vacant", asleep)
    wait_until(lambda: made.leads("own"), what="it leads a task of its own")
    asleep.pause()
    zk.client.delete(zk.path("leaders", "vacant"))
    wait_until(lambda: made.check("vacant")["state"] == "contending", what="nobody leads it")
    return made


def test_requests_that_wait_do_not_hold_up_others_on_the_same_connection(undecided):
    with undecided.client() as client:
        slow = [client.send("check", "vacant", 60_000) for _ in range(5)]
        short = client.send("check", "vacant", 300)
        assert client.call("check", "own", 60_000)["leader"]
        answer = client.result(short)
        assert not answer["leader"] and answer["state"] == "contending"
        assert not any(i in client.answers for i in slow)


def test_too_many_requests_that_wait_end_that_connection_alone(undecided):
    with undecided.client() as client:
        client.send_bytes(b"".join(request(i, "check", "vacant", 60_000) for i in range(1, 1500)))
        _, _, error, _ = client.read()
        assert error["code"] == 3 and "too many" in error["message"]
        assert client.is_closed()
    assert undecided.leads("own")


def test_idle_clients_and_those_that_never_read_are_harmless(sidecar, bystander):
    idle = [sidecar.client() for _ in range(50)]
    deaf = [sidecar.client() for _ in range(10)]
    before = resident_bytes(sidecar.process.pid)
    for client in deaf:
        client.sock.setblocking(False)
        try:
            for i in range(100_000):
                client.sock.send(request(i + 1, "status"))
        except BlockingIOError:
            pass  # neither does the sidecar read any more
        else:
            raise AssertionError("it took all of them")
    for _ in range(100):
        assert bystander.call("check", TASK)["leader"]
    freed = 0 if build().name == "release" else 256  # MiB that a sanitizer keeps of what was freed
    assert resident_bytes(sidecar.process.pid) - before < (64 + freed) * 1024 * 1024
    for client in idle + deaf:
        client.close()


def test_a_subscriber_that_never_reads_is_harmless(sidecar, bystander, zk):
    deaf = sidecar.client()
    deaf.call("subscribe")
    for _ in range(30):
        token = zk.leader(TASK)[1] or 0
        zk.client.delete(zk.path("leaders", TASK))
        wait_until(lambda: (zk.leader(TASK)[1] or 0) > token, what="led again")
    wait_until(lambda: bystander.call("status")["leads"] == 2, what="it leads both")
    deaf.close()


def test_of_1500_connections_the_newest_are_served_and_the_idlest_go(sidecar):
    clients = []
    try:
        for _ in range(1500):
            client = sidecar.client()
            assert client.call("check", TASK)["leader"]
            clients.append(client)
        assert clients[-1].call("status")["leads"] == 2
        assert clients[600].call("status")["leads"] == 2
        assert clients[0].is_closed(timeout=10)
        assert len(os.listdir(f"/proc/{sidecar.process.pid}/fd")) < CLIENTS_MAX + 100
    finally:
        for client in clients:
            client.close()
    assert sidecar.check(TASK)["leader"]
    assert "too many clients" in sidecar.log()


def test_a_burst_of_connections_is_taken(sidecar):
    clients = [Client(sidecar.socket) for _ in range(400)]
    ids = [c.send("check", TASK) for c in clients]
    assert all(c.result(i)["leader"] for c, i in zip(clients, ids))
    for client in clients:
        client.close()


def test_the_socket_file_of_a_dead_sidecar_is_replaced(sidecar):
    sidecar.kill()
    assert sidecar.socket.exists()
    sidecar.start()
    wait_until(lambda: sidecar.leads(TASK), what="it leads again")


def test_a_second_sidecar_on_the_same_socket_is_refused(sidecar, bystander, fleet):
    second = fleet.sidecar("second", socket=sidecar.socket, ready=False)
    assert second.wait_exit() == 1
    assert "another sidecar" in second.log() and str(sidecar.socket) in second.log()
    assert sidecar.socket.exists()


def test_what_is_no_socket_is_not_removed(fleet, folder):
    file = folder / "precious"
    file.write_text("precious", encoding="ascii")
    refused = fleet.sidecar("refused", socket=file, ready=False)
    assert refused.wait_exit() == 1
    assert file.read_text(encoding="ascii") == "precious" and str(file) in refused.log()


def test_socket_mode_is_what_is_configured(fleet, folder):
    everybody = fleet.sidecar("everybody")
    assert stat.S_IMODE(everybody.socket.stat().st_mode) == 0o666
    few = fleet.sidecar("few", socket_mode="0640")
    assert stat.S_IMODE(few.socket.stat().st_mode) == 0o640


def needs_root():
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")


def ask_as(sidecar, uid, gid, groups, *call):
    """The code of the answer to a call by another user, 0 for success. It is root who reads the harness, which
    others may not be able to: the checkout may be in root's home."""
    script = ("import os, sys; sys.path.insert(0, sys.argv[1])\n"
              "from harness.rpc import Client, RpcError\n"
              f"os.setgroups([{groups}]); os.setgid({gid}); os.setuid({uid})\n"
              "try:\n"
              "    Client(sys.argv[2]).call(*sys.argv[3:]); print(0)\n"
              "except RpcError as e:\n"
              "    print(e.code, e.message)\n")
    process = spawn([sys.executable, "-c", script, pathlib.Path(__file__).parent, sidecar.socket, *call],
                    stdout=subprocess.PIPE, text=True)
    out, _ = process.communicate(timeout=30)
    return out.strip()


def test_everybody_may_ask_and_only_few_may_change_something(fleet, folder):
    needs_root()
    folder.parent.chmod(0o755)
    sidecar = fleet.sidecar("only", tasks=[TASK], socket_group="games")
    games = shutil.os.stat(sidecar.socket).st_gid
    nobody = 65534
    assert ask_as(sidecar, nobody, nobody, "", "check", TASK) == "0"
    assert ask_as(sidecar, nobody, nobody, "", "status") == "0"
    refused = ask_as(sidecar, nobody, nobody, "", "reload")
    assert refused.startswith("3 ") and "root" in refused
    assert ask_as(sidecar, nobody, games, "", "reload") == "0"
    assert ask_as(sidecar, nobody, nobody, str(games), "reload") == "0"
    assert ask_as(sidecar, 0, 0, "", "reload") == "0"

"""zkleader barrier: opens once N are there, and is left together."""
import json
import signal
import subprocess
import time
import uuid

import pytest

from harness.process import end, spawn
from harness.proxy import MULTI
from harness.sidecar import build
from harness.waiting import wait_until

NAME = "start"


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args, **kwargs):
        return program("zkleader", "-s", sidecar.socket, *args, **kwargs)
    return run


@pytest.fixture
def begin():
    """Begins `zkleader barrier` at a sidecar; what still runs in the end is killed."""
    begun = []

    def run(sidecar, *args):
        begun.append(spawn([build() / "zkleader", "-s", sidecar.socket, "barrier", *args], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True))
        return begun[-1]
    yield run
    for process in begun:
        end(process)
        process.stdout.close()
        process.stderr.close()


def members(zk, name=NAME):
    path = f"{zk.root}/barriers/{name}"
    return zk.client.get_children(path) if zk.client.exists(path) else []


def wait_for_members(zk, n, name=NAME):
    wait_until(lambda: len(members(zk, name)) == n, what=f"{n} members of {name}")


def enter(client, name, count, **options):
    """The id, and the number of the request."""
    identity = uuid.uuid4().hex[:16]
    return identity, client.send("barrier", name, {"id": identity, "count": count, **options})


def test_opens_once_all_are_there_and_again(fleet, zkleader, begin, zk):
    one, two = fleet.sidecar("one"), fleet.sidecar("two")
    for _ in range(3):
        first = [begin(one, NAME, "--count", "3"), begin(two, NAME, "-n", "3")]
        wait_for_members(zk, 2)
        assert [f.poll() for f in first] == [None, None]
        assert zkleader(one, "barrier", NAME, "--count", "3").code == 0
        assert [f.wait(30) for f in first] == [0, 0]
        assert members(zk) == []
    assert json.loads(zkleader(two, "--json", "barrier", "other", "-n", "1").out) == {
        "opened": True, "round": 1, "exit_status": None}


def test_without_time_it_opens_for_who_is_there(fleet, zkleader, begin, zk):
    one, two = fleet.sidecar("one"), fleet.sidecar("two")
    assert zkleader(one, "barrier", "alone", "-n", "1", "--timeout", "0s").code == 0
    started = time.monotonic()
    late = zkleader(one, "barrier", NAME, "-n", "2", "--timeout", "0s")
    assert late.code == 1 and late.err == "zkleader: start did not open in time\n"
    assert time.monotonic() - started < 4
    assert members(zk) == []
    waiting = begin(one, NAME, "-n", "2")
    wait_for_members(zk, 1)
    assert zkleader(two, "barrier", NAME, "-n", "2", "--timeout", "0s").code == 0
    assert waiting.wait(30) == 0


def test_who_times_out_is_not_counted(fleet, zkleader, begin, zk):
    one = fleet.sidecar("one")
    late = zkleader(one, "--json", "barrier", NAME, "-n", "2", "--timeout", "200ms")
    assert late.code == 1 and late.err == "zkleader: start did not open in time\n"
    assert json.loads(late.out) == {"opened": False, "round": None, "exit_status": None}
    assert members(zk) == []
    waiting = begin(one, NAME, "-n", "2")
    wait_for_members(zk, 1)
    waiting.kill()
    wait_for_members(zk, 0)


def test_another_count_is_refused(fleet, zkleader, begin, zk):
    one, two = fleet.sidecar("one"), fleet.sidecar("two")
    first = begin(one, NAME, "-n", "2")
    wait_for_members(zk, 1)
    other = zkleader(two, "barrier", NAME, "-n", "3")
    assert other.code == 3 and other.err == "zkleader: the others of this round wait for 2\n"
    wait_for_members(zk, 1)
    assert zkleader(two, "barrier", NAME, "-n", "2").code == 0 and first.wait(30) == 0
    assert zkleader(two, "barrier", NAME, "-n", "1").code == 0  # a round of its own


def test_what_is_refused(fleet, zkleader):
    one = fleet.sidecar("one")
    for args in ([], [NAME], [NAME, "-n", "0"], [NAME, "-n", "1001"], [NAME, "-n", "x"], ["a/b", "-n", "1"],
                 ["x" * 101, "-n", "1"], [NAME, "-n", "2", "--timeout", "x"], [NAME, "true", "-n", "1"],
                 ["-n", "1", "--", NAME, "true"]):
        wrong = zkleader(one, "barrier", *args)
        assert wrong.code == 3 and wrong.err.count("\n") == 1, args
    good = {"id": "0123456789abcdef", "count": 2}
    for options in ({}, {"id": "0123456789abcde"}, {"id": "0" * 16}, {"id": "0123456789abcdeF"}, {"count": 0},
                    {"count": 1001}, {"timeout_ms": -2}, {"command": 1}):
        params = {**good, **options} if options else {}
        assert one.error_of("barrier", NAME, params).code == 3, options
    assert one.error_of("barrier_leave", NAME, {"id": "x", "round": 1}).code == 3


def test_the_same_member_twice_is_refused(fleet):
    one = fleet.sidecar("one")
    with one.client() as client:
        identity, _ = enter(client, NAME, 2)
        assert "there already" in one.error_of("barrier", NAME, {"id": identity, "count": 2}).message
        assert one.error_of("barrier_leave", NAME, {"id": identity, "round": 1}).code == 3


def test_foreign_data_is_not_touched(fleet, zkleader, zk):
    one = fleet.sidecar("one")
    assert zkleader(one, "barrier", NAME, "-n", "1").code == 0
    zk.client.create(f"{zk.root}/barriers/{NAME}/other", b"")
    assert zkleader(one, "barrier", NAME, "-n", "1").code == 0
    zk.client.set(f"{zk.root}/barriers/{NAME}", b"mine")
    other = zkleader(one, "barrier", NAME, "-n", "1")
    assert other.code == 2 and "there is something else in the barrier's place" in other.err
    assert zk.client.get(f"{zk.root}/barriers/{NAME}")[0] == b"mine"
    assert members(zk) == ["other"]


def test_without_a_session(fleet, zkleader):
    alone = fleet.sidecar("alone", ready=False, zookeeper="127.0.0.1:1")
    wait_until(alone.listens, what="it listens")
    no = zkleader(alone, "barrier", NAME, "-n", "1")
    assert no.code == 2 and "no confirmed session" in no.err


def test_with_a_command_it_is_left_together(fleet, begin, folder, zk):
    """A member that has finished waits for the others, and those that come meanwhile wait for them as well."""
    one, two = fleet.sidecar("one"), fleet.sidecar("two")
    go = folder / "go"
    short = begin(one, NAME, "-n", "2", "--", "sh", "-c", f"touch {folder}/short; exit 3")
    wait_for_members(zk, 1)
    long = begin(two, NAME, "-n", "2", "--", "sh", "-c", f"until [ -e {go} ]; do sleep 0.05; done")
    wait_until((folder / "short").exists, what="the short one runs")
    wait_for_members(zk, 1)
    late = [begin(one, NAME, "-n", "2"), begin(two, NAME, "-n", "2")]
    wait_for_members(zk, 3)
    assert [p.poll() for p in (short, long, *late)] == [None] * 4
    go.touch()
    assert (short.wait(30), long.wait(30)) == (3, 0)
    assert [p.wait(30) for p in late] == [0, 0]
    assert members(zk) == []


def test_who_dies_inside_has_left(fleet, begin, folder, zk):
    one, two = fleet.sidecar("one"), fleet.sidecar("two", session_timeout="4s")
    inside = [begin(s, NAME, "-n", "3", "--", "sh", "-c", f"touch {folder}/{i}; exec sleep 60")
              for i, s in enumerate((one, two))]
    waits = begin(one, NAME, "-n", "3", "--", "touch", folder / "2")
    wait_until(lambda: all((folder / str(i)).exists() for i in range(3)), what="all are inside")
    inside[0].kill()
    wait_for_members(zk, 1)
    assert waits.poll() is None
    two.kill()  # its session goes with it, and nothing ends the command
    assert waits.wait(60) == 0
    assert inside[1].poll() is None


def test_a_sidecar_that_is_started_anew_knows_them(fleet, begin, folder, zk):
    one, two = fleet.sidecar("one", session_timeout="20s"), fleet.sidecar("two")
    go = folder / "go"
    inside = [begin(s, NAME, "-n", "2", "--", "sh", "-c", f"touch {folder}/{i}; until [ -e {go} ]; do sleep 0.05; done")
              for i, s in enumerate((one, two))]
    waits = begin(one, "other", "-n", "2")
    gone = begin(one, "third", "-n", "2")
    wait_until(lambda: all((folder / str(i)).exists() for i in range(2)), what="both are inside")
    for name in ("other", "third"):
        wait_for_members(zk, 1, name)
    before = members(zk) + members(zk, "other")
    one.kill()
    gone.kill()
    one.start()
    late = begin(two, "other", "-n", "2")
    assert late.wait(30) == 0 and waits.wait(30) == 0
    assert sorted(members(zk)) == sorted(m for m in before if m in members(zk)) and len(members(zk)) == 2
    go.touch()
    assert [p.wait(30) for p in inside] == [0, 0]
    wait_for_members(zk, 0, "third")  # nobody came for it


def test_a_sidecar_that_ends_is_waited_for(fleet, begin, zk):
    """Also while the next one has no session yet."""
    one, two = fleet.sidecar("one"), fleet.sidecar("two")
    waits = begin(one, NAME, "-n", "2")
    for end_it in (one.stop, one.kill, one.stop):
        wait_for_members(zk, 1)
        end_it()
        address = one.config["zookeeper"]
        one.write_config(zookeeper="127.0.0.1:1")
        one.start(ready=False)
        wait_until(lambda: one.call("status")["session"]["state"] == "connecting", what="it listens")
        assert waits.poll() is None
        one.write_config(zookeeper=address)
        one.stop()
        one.start()
    wait_for_members(zk, 1)
    assert begin(two, NAME, "-n", "2").wait(30) == 0 and waits.wait(30) == 0


def test_a_sidecar_that_is_stopped_is_waited_for_no_longer_than_its_session(fleet, begin, zk):
    one, two = fleet.sidecar("one", session_timeout="4s"), fleet.sidecar("two")
    begin(one, NAME, "-n", "3")
    other = begin(two, NAME, "-n", "3")
    wait_for_members(zk, 2)
    one.pause()
    wait_for_members(zk, 1)
    more = [begin(two, NAME, "-n", "3") for _ in range(2)]
    assert [p.wait(30) for p in (other, *more)] == [0, 0, 0]
    one.resume()
    wait_for_members(zk, 1)  # that one waits again, with another node
    wait_until(one.is_connected, what="it is back")


def is_barrier(kind, payload):
    return kind == MULTI and f"/barriers/{NAME}".encode() in payload


@pytest.mark.parametrize("drop", [False, True])
def test_a_lost_answer_is_found_out(fleet, proxy, zk, drop):
    """Whichever transaction it is about: one member, one round, and nothing left."""
    one = fleet.sidecar("one", zookeeper=proxy.address)
    with one.client() as client:
        for i in range(1, 5):
            lost = proxy.lose(is_barrier, drop=drop, then="close")
            _, first = enter(client, NAME, 2)
            wait_until(lost.applied.is_set, what="an answer is lost")
            wait_for_members(zk, 1)
            wait_until(one.is_connected, what="it is back")
            lost = proxy.lose(is_barrier, drop=drop, then="close")
            _, second = enter(client, NAME, 2)
            wait_until(lost.applied.is_set, what="an answer is lost")
            assert client.result(first, 60) == client.result(second, 60) == {"state": "opened", "round": i}
            wait_until(one.is_connected, what="it is back")
    wait_for_members(zk, 0)


def test_as_many_as_a_gang_all_leave_at_once(fleet, zk):
    """256 clients, entered and left together, ten times over."""
    nodes = [fleet.sidecar(n) for n in "abcd"]
    clients = [node.client(120) for node in nodes for _ in range(64)]
    try:
        for i in range(1, 11):
            entered = [(c, *enter(c, NAME, 256, command=True)) for c in clients]
            assert all(c.result(n, 120) == {"state": "opened", "round": i} for c, _, n in entered)
            left = [(c, c.send("barrier_leave", NAME, {"id": identity, "round": i})) for c, identity, _ in entered]
            assert all(c.result(n, 120)["state"] == "left" for c, n in left)
        assert members(zk) == []
    finally:
        for client in clients:
            client.close()


def test_a_thousand_of_one_sidecar(fleet, zk):
    node = fleet.sidecar("a")
    clients = [node.client(120) for _ in range(10)]
    try:
        asked = [(c, enter(c, NAME, 1000)[1]) for c in clients for _ in range(100)]
        assert all(c.result(n, 120) == {"state": "opened", "round": 1} for c, n in asked)
        assert members(zk) == []
        asked = [(c, enter(c, NAME, 1000)[1]) for c in clients for _ in range(100)]
        assert all(c.result(n, 120) == {"state": "opened", "round": 2} for c, n in asked)
        for i, c in enumerate(clients):
            for _ in range(100):
                enter(c, f"hall{i % 2}", 1000)
        for i in range(2):
            wait_for_members(zk, 500, f"hall{i}")
        more = node.error_of("barrier", "other", {"id": "0123456789abcdef", "count": 1})
        assert more.code == 3 and "at most 1000" in more.message
    finally:
        for client in clients:
            client.close()


def test_a_signal_reaches_the_command(fleet, begin, folder):
    one = fleet.sidecar("one")
    job = begin(one, NAME, "-n", "1", "--", "sh", "-c", f"trap 'exit 7' TERM; touch {folder}/up; sleep 60 & wait")
    wait_until((folder / "up").exists, what="it runs")
    job.send_signal(signal.SIGTERM)
    assert job.wait(30) == 7

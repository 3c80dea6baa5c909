"""The contents of the znodes, and that nothing in them can do harm."""
import re
import socket
import uuid

import msgpack
import pytest

from harness.server import worker_record
from harness.sidecar import task_text
from harness.waiting import holds_for, wait_until

TASK = "nightly-report"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
WINNER = {"version": "99", "tasks": [TASK]}  # would lead, if it were taken


def test_a_worker_node_holds_all_that_is_promised(fleet, zk):
    only = fleet.sidecar("only", version="1.2.3-rc4", tasks=["b", "a"])
    [(name, record)] = zk.workers().items()
    _, stat = zk.get("workers", name)
    assert f"0x{stat.ephemeralOwner:x}" == only.status()["session"]["id"]
    assert record["id"] == name == only.id and UUID.fullmatch(name)
    assert record["version"] == "1.2.3-rc4"
    assert record["ip"] == "127.0.0.1"
    assert record["hostname"] == socket.gethostname()
    assert record["tasks"] == ["a", "b"]
    ints = record["random_ints"]
    assert len(ints) == 5 and all(type(i) is int and -2**31 <= i < 2**31 for i in ints) and len(set(ints)) > 1
    assert abs(record["started_at"] / 1000 - stat.created) < 60


def test_a_leader_node_holds_all_that_is_promised(fleet, zk):
    only = fleet.sidecar("only", version="1.2.3", tasks=[TASK])
    zk.wait_for_leader(TASK, only)
    record, _ = zk.leader(TASK)
    _, stat = zk.get("leaders", TASK)
    assert f"0x{stat.ephemeralOwner:x}" == only.status()["session"]["id"]
    assert record.pop("since") == pytest.approx(stat.created * 1000, abs=60_000)
    assert record == {"id": only.id, "ip": "127.0.0.1", "hostname": socket.gethostname(), "version": "1.2.3"}


def test_the_address_key_is_what_is_published(fleet, zk):
    v6 = fleet.sidecar("v6", address="2001:db8::7", tasks=[TASK])
    v4 = fleet.sidecar("v4", address="192.0.2.7")
    assert {r["ip"] for r in zk.workers().values()} == {"2001:db8::7", "192.0.2.7"}
    assert (v6.status()["ip"], v4.status()["ip"]) == ("2001:db8::7", "192.0.2.7")


def test_a_root_of_several_parts_and_a_chroot_are_created(fleet, zk):
    fleet.sidecar("only", tasks=[TASK], root="/deep/down/apps",
                  zookeeper=f"{zk.server.address}{zk.root}/chroot/below")
    only = fleet.sidecars[0]
    wait_until(lambda: only.leads(TASK), what="it leads")
    base = f"{zk.root}/chroot/below/deep/down/apps"
    assert zk.client.get_children(f"{base}/workers") == [only.id]
    assert zk.client.get_children(f"{base}/leaders") == [TASK]


def test_keys_that_are_not_known_are_passed_over(fleet, zk):
    record = worker_record(tasks=[TASK], shoe_size=43, nested={"a": [1, {"b": None}]}, blob=b"\xff" * 100)
    zk.put(msgpack.packb(record), "workers", record["id"])
    only = fleet.sidecar("only")
    assert record["id"] in [w["id"] for w in only.call("workers")]


def bad_values():
    """Each field wrong in every way that there is."""
    texts = [None, 7, 1.5, True, [], {}, ["x"], b"bin", "", "x" * 70_000, "a\x1b[31mb", "a\nb", "a\0b"]
    for key, more in (("id", ["no/id", " x", "x" * 65, "ümlaut"]), ("version", ["x" * 256, " 1", "1 ", "1\u202e2"]),
                      ("ip", ["no ip", "1.2.3", "1.2.3.4.5", "300.1.1.1", "::g", "127.0.0.1:80"]),
                      ("hostname", ["x" * 256, "ho\u202est"])):
        yield from ((key, value) for value in texts + more)
    yield from (("random_ints", v) for v in (
        None, 7, "12345", {}, [], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 2**31], [1, 2, 3, 4, -2**31 - 1],
        [1, 2, 3, 4, 2**63], [1, 2, 3, 4, 5.0], [1, 2, 3, 4, "5"], [1, 2, 3, 4, None], [1, 2, 3, 4, [5]]))
    yield from (("tasks", v) for v in (
        None, 7, TASK, {TASK: 1}, [7], [None], [TASK, ""], [TASK, "a/b"], [TASK, "x" * 101], [TASK, "-x"],
        [TASK, [TASK]], ["t"] * 10_001))
    yield from (("started_at", v) for v in (None, "now", -1, 2**63, 2**64 - 1, 253402300800000, 1.5, [], {}))


def deep(levels):
    return b"\x91" * levels + b"\xc0"


def bad_bytes():
    good = msgpack.packb(worker_record(**WINNER))
    yield "empty", b""
    yield "text", b"not msgpack at all"
    yield "never valid", b"\xc1" * 50
    yield "cut off", good[:-1]
    yield "followed", good + b"\x00"
    yield "twice", good + good
    yield "array", msgpack.packb([1, 2, 3])
    yield "number", b"\x07"
    yield "nested", deep(10_000)
    yield "nested value", msgpack.packb({"x": 1})[:-1] + deep(100)
    yield "huge map", b"\xdf\xff\xff\xff\xff"
    yield "huge array", b"\xdd\xff\xff\xff\xff"
    yield "huge string", b"\x81\xdb\xff\xff\xff\xffid"
    yield "huge bin", b"\x81\xa2id\xc6\xff\xff\xff\xff"
    yield "big", b"\xc6" + (1000 * 1024).to_bytes(4, "big") + bytes(1000 * 1024)
    yield "key twice", b"\x82\xa2id\xa1x\xa2id\xa1x"
    yield "keys of odd kinds", b"\x83\xc0\xc0\x07\xc0\x93\x01\x02\x03\xc0"


def test_a_worker_node_that_is_wrong_in_any_way_is_ignored_and_named_in_the_log(fleet, zk):
    only = fleet.sidecar("only", version="1", tasks=[TASK], log_level="info", session_timeout="10s")
    token = zk.wait_for_leader(TASK, only)
    wrong = {}
    for key, value in bad_values():
        name = str(uuid.uuid4())
        record = worker_record(**{"id": name, **WINNER, key: value})
        zk.put(msgpack.packb(record), "workers", name)
        wrong[name] = f"{key}: "
    for what, data in bad_bytes():
        name = str(uuid.uuid4())
        zk.put(data, "workers", name)
        wrong[name] = ""
    for name in ("not an id", "x" * 65, "ev\u202eil", "quote\"d"):
        zk.put(msgpack.packb(worker_record(**WINNER)), "workers", name)
        wrong[name] = ""
    other = str(uuid.uuid4())
    zk.put(msgpack.packb(worker_record(**WINNER)), "workers", other)
    wrong[other] = "id: is not the znode's name"
    lasting = worker_record(**WINNER)
    zk.put(msgpack.packb(lasting), "workers", lasting["id"], ephemeral=False)
    wrong[lasting["id"]] = "not ephemeral"
    good = worker_record(version="0.1", tasks=[TASK])
    zk.put(msgpack.packb(good), "workers", good["id"])
    wait_until(lambda: good["id"] in [w["id"] for w in only.call("workers")], what="the good one is seen")
    wait_until(lambda: only.log().count("worker record refused") >= len(wrong), what="all are named")
    lines = [line for line in only.log().splitlines() if "worker record refused" in line]
    for name, why in wrong.items():
        shown = name.replace("\u202e", "\\xe2\\x80\\xae").replace('"', '\\"')
        named = [line for line in lines if f"/workers/{shown}" in line]
        assert len(named) == 1, (name, named)
        assert why in named[0] and "warning" in named[0], named
    assert {w["id"] for w in only.call("workers")} == {only.id, good["id"]}
    assert {r["id"] for r in only.explain(TASK)["ranking"]} == {only.id, good["id"]}
    assert only.leads(TASK) and zk.leader(TASK)[1] == token
    assert "\u202e" not in only.log() and "\x1b" not in only.log()


def test_a_bad_worker_node_is_told_once_and_a_good_one_in_its_place_is_taken(fleet, zk):
    only = fleet.sidecar("only", version="1", tasks=[TASK])
    record = worker_record(tasks=[TASK], version="0.1")
    zk.put(b"garbage", "workers", record["id"])
    only.wait_log("worker record refused")
    zk.put(msgpack.packb(worker_record()), "workers", "something-else")
    only.wait_log("something-else")
    assert only.log().count(record["id"]) == 1
    zk.client.delete(zk.path("workers", record["id"]))
    holds_for(lambda: only.is_running(), 0.3)
    zk.put(msgpack.packb(record), "workers", record["id"])
    wait_until(lambda: record["id"] in [w["id"] for w in only.call("workers")], what="it is taken")


@pytest.mark.parametrize("data", [b"", b"garbage", b"\xc1", deep(5000), b"\xdf\xff\xff\xff\xff", b"\x80", bytes(100_000),
                                  msgpack.packb({"id": 1, "ip": 2, "hostname": 3, "version": 4, "since": "x"})],
                         ids=["empty", "text", "never valid", "nested", "huge map", "no keys", "big", "wrong types"])
def test_a_leader_node_that_is_garbage_is_respected_and_named_in_the_log(fleet, zk, data):
    stranger = zk.server.client()
    zk.put(data, "leaders", TASK, client=stranger)
    only = fleet.sidecar("only", version="1", tasks=[TASK])
    only.wait_log("leader record refused")
    assert f"znode={zk.path('leaders', TASK)}" in only.log()
    answer = only.check(TASK)
    assert not answer["leader"] and answer["token"] == zk.get("leaders", TASK)[1].czxid
    assert only.call("tasks", TASK)[0]["leader"] is not None
    assert only.explain(TASK)["leads"] is False
    zk.client.delete(zk.path("leaders", TASK))
    wait_until(lambda: only.leads(TASK), what="it leads once the node is gone")


def test_a_leader_that_is_no_worker_here_is_told_as_its_node_says(fleet, zk):
    stranger = zk.server.client()
    leader = {"id": str(uuid.uuid4()), "ip": "192.0.2.9", "hostname": "elsewhere", "version": "9.9"}
    zk.put(msgpack.packb({**leader, "since": 1_700_000_000_000}), "leaders", TASK, client=stranger)
    only = fleet.sidecar("only", version="1", tasks=[TASK])
    wait_until(lambda: only.check(TASK)["led_by"] == {**leader, "node": ""}, what="it is told")
    [row] = only.call("tasks", TASK)
    assert (row["leader"], row["since"]) == ({**leader, "node": ""}, "2023-11-14T22:13:20Z")
    zk.client.delete(zk.path("leaders", TASK))
    wait_until(lambda: only.leads(TASK) and only.call("tasks", TASK)[0]["leader"]["hostname"] == socket.gethostname(),
               what="it leads")


def test_a_leader_node_that_is_not_ephemeral_or_names_another_leads_nobody(fleet, zk):
    only = fleet.sidecar("only", version="1", tasks=[TASK])
    zk.wait_for_leader(TASK, only)
    lie, _ = zk.leader(TASK)
    only.stop()
    zk.put(msgpack.packb({**lie, "id": str(uuid.uuid4())}), "leaders", TASK, ephemeral=False)
    only.start()
    holds_for(lambda: not only.leads(TASK), 1, "it is not the leader")
    # The node says that this very worker leads; it does not own it.
    zk.client.set(zk.path("leaders", TASK), msgpack.packb({**lie, "id": only.id}))
    holds_for(lambda: not only.leads(TASK), 1, "it is not the leader")


def test_a_leader_node_of_ours_that_somebody_overwrites_is_still_ours(fleet, zk):
    only = fleet.sidecar("only", version="1", tasks=[TASK], session_timeout="10s")
    token = zk.wait_for_leader(TASK, only)
    wait_until(lambda: only.leads(TASK), what="it leads")
    zk.client.set(zk.path("leaders", TASK), b"garbage")
    only.wait_log("leader record refused")
    wait_until(lambda: only.leads(TASK), what="it leads")
    assert only.check(TASK)["token"] == token
    newer = fleet.sidecar("newer", version="2", tasks=[TASK], session_timeout="10s")
    assert zk.wait_for_leader(TASK, newer) > token


@pytest.mark.parametrize("folders, words", [
    (("runs", TASK, "2026-11-30T08:00:00Z"), ("history", TASK)),
    (("roster", "away"), ("roster",)),
    (("counters", "served"), ("counter", "served")),
    (("locks", "door"), ("lock", "door", "--wait", "1s", "--", "true")),
    (("rolling", "web"), ("rolling", "web", "--status")),
    (("barriers", "start"), ("barrier", "start", "--count", "1", "--timeout", "1s")),
    (("gangs", "crew"), ("join", "crew", "--count", "1", "--timeout", "1s", "--", "true"))],
    ids=lambda value: value[0])
def test_any_other_that_is_garbage_is_named_in_the_log(fleet, zk, program, folders, words):
    only = fleet.sidecar("only", tasks=[TASK])
    zk.put(b"\xc1", *folders, ephemeral=False)
    program("zkleader", "-s", only.socket, *words)
    only.wait_log(f"znode={zk.path(*folders)} ")


def test_what_a_record_says_cannot_forge_a_line_of_the_log(fleet, zk):
    only = fleet.sidecar("only", version="1", tasks=[TASK], log_level="info")
    record = worker_record(hostname='x" token=1 level="error', version='1" leading task="all', tasks=[TASK])
    zk.put(msgpack.packb(record), "workers", record["id"])
    only.wait_log(record["id"])
    line = next(line for line in only.log().splitlines() if record["id"] in line)
    assert r'hostname="x\" token=1 level=\"error"' in line and r'version="1\" leading task=\"all"' in line


def test_other_names_in_the_tree_are_left_alone(fleet, zk):
    zk.put(b"mine", "somebody-else", ephemeral=False)
    zk.put(b"mine", "leaders", "unknown-task", ephemeral=False)
    zk.put(b"mine", "leaders", "not a task", ephemeral=False)
    only = fleet.sidecar("only", version="1", tasks=[TASK])
    zk.wait_for_leader(TASK, only)
    assert only.call("workers")[0]["leads"] == 1
    assert zk.names("leaders") == ["nightly-report", "not a task", "unknown-task"]
    assert zk.get("somebody-else")[0] == b"mine"


def test_the_number_of_tasks_that_a_worker_leads_counts_those_that_are_not_ours(fleet, zk):
    both = fleet.sidecar("both", version="2", tasks=["a", "b", task_text("c", description="only here")])
    some = fleet.sidecar("some", version="1", tasks=["a"])
    wait_until(lambda: set(zk.leaders()) == {"a", "b", "c"}, what="all are led")
    leads = {w["id"]: w["leads"] for w in some.call("workers")}
    assert leads == {both.id: 3, some.id: 0}

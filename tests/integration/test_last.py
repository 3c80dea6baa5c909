"""The last run in `tasks`: read from the ledger when somebody asks, the same on every node, and seldom."""
import json

import msgpack
import pytest

from harness.jobs import next_tick
from harness.sidecar import task_text
from harness.waiting import wait_until

TASK = "nightly"
OLD, NEW = "2026-10-01T02:00:00Z", "2026-10-02T02:00:00Z"
CHILDREN = (8, 12)  # ZooKeeper's requests for the names in a node


def put(zk, tick, task=TASK, **changes):
    """A record as another node has left it."""
    record = {"state": "ok", "id": "11111111-2222-3333-4444-555555555555", "hostname": "elsewhere", "token": 77,
              "attempt": 1, "started_at": 1_790_000_000_000, "ended_at": 1_790_000_002_500, "exit_status": 0, **changes}
    zk.put(msgpack.packb({k: v for k, v in record.items() if v is not None}), "runs", task, tick, ephemeral=False)


def last(sidecar, task=TASK):
    [entry] = sidecar.call("tasks", task)
    return entry["last"]


@pytest.mark.parametrize("changes, expected", [
    ({}, {"state": "ok", "ended_at": "2026-09-21T14:13:22Z"}),
    ({"state": "failed", "exit_status": 3}, {"state": "failed", "ended_at": "2026-09-21T14:13:22Z"}),
    ({"state": "claimed", "ended_at": None, "exit_status": None}, {"state": "claimed", "ended_at": None}),
    ({"state": "running", "ended_at": None, "exit_status": None, "session": 4711}, {"state": "lost", "ended_at": None}),
], ids=["ok", "failed", "claimed", "lost"])
def test_the_first_who_asks_is_told_of_the_newest_run(fleet, zk, program, changes, expected):
    a = fleet.sidecar("a", tasks=[TASK, "never"])
    put(zk, NEW, **changes)
    put(zk, OLD, state="failed", exit_status=9)
    outcome = program("zkleader", "-s", a.socket, "--json", "tasks")
    assert outcome.code == 0, outcome
    assert {t["task"]: t["last"] for t in json.loads(outcome.out)} == {
        TASK: {"tick": NEW, **expected}, "never": None}


def test_the_table_has_outcome_and_age(fleet, zk, program):
    a = fleet.sidecar("a", tasks=[TASK, "never"])
    put(zk, NEW, state="failed", exit_status=9)
    lines = [line.split() for line in program("zkleader", "-s", a.socket, "tasks").out.splitlines()]
    [nightly], [never] = ([line for line in lines if line[:1] == [task]] for task in (TASK, "never"))
    assert nightly[-2] == "failed" and never[-1] == "-"


def test_runs_of_this_node_are_known_at_once_and_those_of_others_soon(fleet, jobs):
    minute = task_text(TASK, tick="1m")
    a, b = (fleet.sidecar(name, version=version, tasks=[minute], session_timeout="10s") for name, version in (("a", "2"), ("b", "1")))
    wait_until(lambda: a.leads(TASK), what="a leads")
    assert last(a) is None and last(b) is None
    job = jobs(TASK)
    next_tick(1)
    running = job.run(a, "--tick", "1s", body="sleep 60")
    job.wait_started(1)
    [tick] = [line.tick for line in job.lines("start")]
    assert last(a) == {"tick": tick, "state": "running", "ended_at": None}
    wait_until(lambda: last(b) == last(a), what="b has read it")
    running.signal(15)
    assert running.code() == 143
    assert last(a)["state"] == "failed" and last(a)["ended_at"]
    wait_until(lambda: last(b) == last(a), what="b has read it")


def test_a_record_that_is_none_is_told_in_the_log(fleet, zk):
    a = fleet.sidecar("a", tasks=[TASK])
    put(zk, OLD)
    zk.put(b"\xff\xff", "runs", TASK, NEW, ephemeral=False)
    assert last(a) is None
    a.wait_log("run record refused")


def test_it_stays_as_it_was_while_the_server_is_away(fleet, own_server, zk):
    own_server.start()
    a = fleet.sidecar("a", tasks=[TASK])
    put(zk, OLD)
    wait_until(lambda: last(a), what="it is read")
    own_server.kill()
    wait_until(lambda: a.status()["session"]["state"] != "connected", what="the connection is gone")
    assert last(a)["tick"] == OLD


def test_many_who_ask_cost_a_read_in_seconds(fleet, proxy, zk):
    names = [f"t{i:02}" for i in range(20)]
    a = fleet.sidecar("a", tasks=names, zookeeper=proxy.address)
    wait_until(lambda: all(a.leads(t) for t in names), what="it leads all")
    put(zk, OLD, task=names[0])
    reads = proxy.count(lambda kind, payload: kind in CHILDREN and b"/runs/" in payload)
    for _ in range(200):
        assert len(a.call("tasks")) == len(names)
    begun = reads.n
    assert begun >= len(names)
    # However slow the machine is: less than once for each question, by far.
    assert begun < 200 * len(names) / 4

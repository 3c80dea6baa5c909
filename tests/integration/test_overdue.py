"""alert-after: a task without a good run for too long says so, whoever was away meanwhile."""
import json

import msgpack

from harness.jobs import next_tick
from harness.sidecar import task_text
from harness.waiting import wait_until

TASK = "nightly"
SHORT = task_text(TASK, alert_after="2s", tick="1s")
LONG = task_text(TASK, alert_after="1h")
HOUR = 3_600_000


def overdue(sidecar, task=TASK):
    [entry] = sidecar.call("tasks", task)
    return entry["overdue"]


def seen(zk, task=TASK):
    data, _ = zk.get("seen", task)
    return msgpack.unpackb(data) if data else None


def test_a_task_that_never_ran_is_overdue_everywhere_and_said_so_once(fleet, program):
    a, b = (fleet.sidecar(name, version=version, tasks=[SHORT, task_text("other")])
            for name, version in (("a", "2"), ("b", "1")))
    wait_until(lambda: a.leads(TASK), what="a leads")
    wait_until(lambda: overdue(a) and overdue(b), what="both say so")
    a.wait_log("task overdue")
    assert a.log().count("task overdue") == 1 and "task overdue" not in b.log()
    assert not overdue(a, "other")
    shown = program("zkleader", "-s", b.socket, "tasks").out
    assert "OVERDUE" in shown and "; 1 overdue" in shown
    metrics = {t["task"]: t["overdue"] for t in a.call("metrics")["tasks"]}
    assert metrics == {TASK: True, "other": None}
    assert {t["overdue"] for t in b.call("metrics")["tasks"]} == {None}
    assert all("overdue" in t for t in json.loads(program("zkleader", "-s", b.socket, "--json", "tasks").out))


def test_a_good_run_ends_it_and_a_bad_one_does_not(fleet, zk, jobs):
    a = fleet.sidecar("a", tasks=[SHORT])
    wait_until(lambda: overdue(a), what="it is overdue")
    assert not seen(zk)["ok"]
    job = jobs(TASK)
    next_tick(1)
    assert job.run(a, "--tick", "1s", body="exit 3").code() == 3
    assert overdue(a)
    next_tick(1)
    assert job.run(a, "--tick", "1s", body="true").code() == 0
    last = seen(zk)
    assert last["ok"]
    metrics, = a.call("metrics")["tasks"]
    assert metrics["last_ok_ms"] == last["since"]
    wait_until(lambda: a.log().count("task overdue") == 2, what="it is overdue again")


def test_a_restart_of_everything_forgets_nothing(fleet, zk):
    a = fleet.sidecar("a", tasks=[LONG])
    wait_until(lambda: seen(zk), what="the first sight is kept")
    first = seen(zk)["since"]
    a.stop()
    a.start()
    wait_until(lambda: a.leads(TASK), what="a leads again")
    assert not overdue(a)
    assert seen(zk) == {"since": first, "ok": False}
    a.stop()
    zk.put(msgpack.packb({"since": first - HOUR, "ok": True}), "seen", TASK, ephemeral=False)
    a.start()
    wait_until(lambda: overdue(a), what="it was too long ago")
    a.wait_log("task overdue")
    assert a.call("metrics")["tasks"][0]["last_ok_ms"] == first - HOUR


def test_good_runs_that_are_pruned_are_not_forgotten(fleet, zk, jobs):
    a = fleet.sidecar("a", tasks=[task_text(TASK, alert_after="1h", tick="1s", history=1)])
    wait_until(lambda: a.leads(TASK) and seen(zk), what="a leads")
    job = jobs(TASK)
    next_tick(1)
    assert job.run(a, "--tick", "1s", body="true").code() == 0
    good = seen(zk)
    next_tick(1)
    assert job.run(a, "--tick", "1s", body="exit 1").code() == 1
    a.stop()
    a.start()
    wait_until(lambda: a.leads(TASK), what="a leads again")
    wait_until(lambda: a.call("metrics")["tasks"][0]["last_ok_ms"] == good["since"], what="it knows the good run")
    assert seen(zk) == good and good["ok"]


def test_a_record_that_is_none_is_written_anew(fleet, zk):
    zk.put(b"\xff\xff", "seen", TASK, ephemeral=False)
    a = fleet.sidecar("a", tasks=[LONG])
    a.wait_log("seen record refused")
    wait_until(lambda: zk.get("seen", TASK)[0] != b"\xff\xff", what="it is a record again")
    assert not seen(zk)["ok"] and not overdue(a)

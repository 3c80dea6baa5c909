"""The stop of a sidecar: what it waits for, and what it does not."""
import signal
import time

import pytest

from harness.faults import LED_AGAIN, TASK
from harness.holders import Holders
from harness.oracle import now
from harness.proxy import MULTI
from harness.sidecar import task_text
from harness.waiting import holds_for, wait_until

DAILY = task_text(TASK, tick="24h", wait="60s")


def is_end(kind, payload):
    return kind == MULTI and b"/runs/" in payload and b"ended_at" in payload


def promised(leader):
    """(when it was asked, until when that is good)"""
    wait_until(lambda: leader.status()["lease_ms"] > 3000, what="it has a long lease")
    asked = now()
    answer = leader.check(TASK)
    assert answer["lease_ms"] > 1500
    return asked, asked + answer["lease_ms"] / 1000


def pair(fleet, zk, session_timeout="10s", **config):
    leader = fleet.sidecar("leader", version="2", tasks=[TASK], session_timeout=session_timeout, **config)
    standby = fleet.sidecar("standby", version="1", tasks=[TASK], session_timeout=session_timeout, **config)
    zk.wait_for_leader(TASK, leader)
    wait_until(lambda: len(leader.explain(TASK)["ranking"]) == 2, what="it knows the other")
    return leader, standby


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_a_stop_waits_for_what_was_promised(fleet, zk, number):
    leader, standby = pair(fleet, zk, stop_wait="20s")
    asked, until = promised(leader)
    leader.signal(number)
    wait_until(lambda: "what answers have promised" in leader.log(), what="it says what it waits for")
    check = leader.check(TASK)
    assert not check["leader"], "nothing more is promised"
    wait_until(lambda: standby.leads(TASK), LED_AGAIN, "the other leads")
    led = now()
    assert led >= until
    assert leader.wait_exit() == 0
    print(f"measured: promised for {until - asked:.2f} s, led by the other after {led - asked:.2f} s")


def test_a_stop_waits_no_longer_than_it_is_told_to(fleet, zk):
    leader, standby = pair(fleet, zk, stop_wait="500ms", yield_delay="20s")
    wait_until(lambda: leader.check(TASK)["lease_ms"] > 4000, what="it promises much")
    told = now()
    assert leader.stop() == 0
    assert now() - told >= 0.5
    assert "for=\"what answers have promised\"" in leader.log()
    wait_until(lambda: standby.leads(TASK), LED_AGAIN, "the other leads")


def test_a_stop_waits_for_no_promise_that_nobody_was_given(fleet, zk):
    leader, standby = pair(fleet, zk, stop_wait="30s")
    assert leader.stop(25) == 0
    assert "waiting" not in leader.log()
    wait_until(lambda: standby.leads(TASK), LED_AGAIN, "the other leads")


def test_a_stop_waits_for_a_job_and_says_so(fleet, zk, jobs):
    leader = fleet.sidecar("leader", tasks=[DAILY])
    wait_until(lambda: leader.leads(TASK), what="it leads")
    job = jobs(TASK)
    run = job.run(leader, body="while [ ! -e release ]; do sleep 0.1; done", cwd=job.folder)
    job.wait_started()
    leader.signal(signal.SIGTERM)
    leader.wait_log(f'waiting for a job task={TASK}')
    holds_for(leader.is_running, 0.5, "it waits")
    (job.folder / "release").touch()
    assert run.wait() == (0, "", ""), "its end is recorded"
    assert leader.wait_exit() == 0


@pytest.mark.parametrize("drop", [False, True], ids=["recorded", "not recorded"])
@pytest.mark.parametrize("fault", ["stall", "cut"])
def test_a_stop_does_not_wait_for_a_record(fleet, zk, proxy, jobs, fault, drop):
    leader = fleet.sidecar("leader", tasks=[DAILY], zookeeper=proxy.address)
    wait_until(lambda: leader.leads(TASK), what="it leads")
    rule = proxy.lose(is_end, drop=drop, then="stall")
    run = jobs(TASK).run(leader)
    assert rule.applied.wait(60)
    if fault == "cut":
        proxy.cut()
    began = time.monotonic()
    assert leader.stop() == 0
    # A second for the record, another for the farewell.
    assert time.monotonic() - began < 10, "it has waited"
    proxy.flow()
    assert run.code() == 0


def test_a_stop_right_behind_a_restart_waits_for_no_job_that_is_not_there(fleet, zk):
    leader, standby = pair(fleet, zk, session_timeout="30s")
    leader.kill()
    leader.start()
    wait_until(lambda: "registration taken over" in leader.log(), what="it goes on as the one before")
    began = time.monotonic()
    assert leader.stop() == 0
    took = time.monotonic() - began
    assert took < 15, "it has waited for what may be left for 30 s"
    zk.wait_for_leader(TASK, standby)
    print(f"measured: it has left after {took:.2f} s")


@pytest.mark.parametrize("ready", [True, False], ids=["taken over", "just started"])
def test_a_stop_right_behind_a_restart_waits_for_the_command_of_the_one_before(fleet, folder, zk, ready):
    one = fleet.sidecar("one", session_timeout="30s")
    two = fleet.sidecar("two", session_timeout="30s")
    holders = Holders(folder, "db")
    try:
        first = holders.run(one, "first")
        holders.wait_started("first")
        second = holders.run(two, "second", body=":")
        wait_until(lambda: len(zk.names("locks", "db")) == 2, what="another waits")
        one.kill()
        one.start(ready)
        wait_until(one.listens, what="it has started")
        one.signal(signal.SIGTERM)
        holds_for(lambda: holders.who("start") == ["first"], 2, "the lock is held")
        holders.release("first")
        assert first.code() == 0
        assert one.wait_exit() == 0
        assert second.code() == 0
        holders.check()
    finally:
        holders.close()

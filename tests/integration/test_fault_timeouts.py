"""Servers that grant another session timeout on the next connection than on the one before."""
import pytest

from harness.faults import LED_AGAIN, TASK, pair
from harness.oracle import Oracle
from harness.proxy import Proxy, is_confirmation
from harness.sidecar import task_text
from harness.waiting import holds_for, wait_until

LONG, SHORT = 10000, 2000


@pytest.fixture
def zk_proxy(own_server):
    """A way to a server of this test's own, which grants up to LONG."""
    own_server.session_max_ms = LONG
    with Proxy(own_server.start().port) as made:
        yield made


def restart(server, max_ms, min_ms=400):
    """The same server and data, but it grants no more and no less than that."""
    server.kill()
    server.session_min_ms, server.session_max_ms = min_ms, max_ms
    server.start()


def granted(sidecar):
    return sidecar.status()["session"]["timeout_ms"]


def published(zk, sidecar):
    return zk.workers().get(sidecar.id, {}).get("timeout_ms")


@pytest.mark.costly
def test_a_leader_that_is_granted_less_and_then_cut_off_is_not_one_of_two(fleet, zk, own_server, zk_proxy):
    leader, standby = pair(fleet, zk_proxy, session_timeout="10s")
    with Oracle(TASK, leader, standby) as oracle:
        token = oracle.led(by=leader).token
        assert wait_until(lambda: leader.status()["lease_ms"] > LONG / 3, what="it has a long lease")
        confirmed = zk_proxy.count(is_confirmation)
        restart(own_server, SHORT)
        wait_until(lambda: confirmed.n >= 5, what="it is connected again")
        zk_proxy.stall()
        assert oracle.led(by=standby, within=LED_AGAIN).token > token
        zk_proxy.flow()
        oracle.led(by=leader, within=LED_AGAIN)


@pytest.mark.costly
def test_a_job_of_a_leader_that_is_granted_less_and_then_cut_off_is_dead_before_it_is_run_again(
        fleet, zk, own_server, zk_proxy, jobs):
    task = task_text(TASK, tick="24h", wait="60s", on_crash="rerun")
    leader = fleet.sidecar("leader", version="2", tasks=[task], session_timeout="10s", zookeeper=zk_proxy.address)
    standby = fleet.sidecar("standby", version="1", tasks=[task], session_timeout="10s")
    wait_until(lambda: leader.leads(TASK), what="it leads")
    job = jobs(TASK)
    body = "trap '' TERM; while [ ! -e release ]; do sleep 0.1 & wait $!; done"
    first = job.run(leader, body=body, cwd=job.folder)
    job.wait_started()
    other = job.run(standby, body=":")
    confirmed = zk_proxy.count(is_confirmation)
    restart(own_server, SHORT)
    wait_until(lambda: confirmed.n >= 5, what="it is connected again")
    zk_proxy.stall()
    # The job takes a lock, and tells if it had to do without.
    job.wait_started(2)
    assert other.code() == 0
    assert first.code() == 2
    assert [line.attempt for line in job.lines("start")] == [1, 2]
    job.check()




@pytest.mark.slow
def test_what_is_told_of_the_timeout_follows_it(fleet, zk, own_server, zk_proxy):
    only = fleet.sidecar("only", tasks=[TASK], session_timeout="10s", zookeeper=zk_proxy.address)
    wait_until(lambda: only.leads(TASK), what="it leads")
    token, session = zk.leader(TASK)[1], only.status()["session"]["id"]
    assert granted(only) == published(zk, only) == LONG
    restart(own_server, SHORT)
    wait_until(lambda: granted(only) == SHORT, what="the shorter timeout is known")
    assert only.status()["lease_ms"] < SHORT
    wait_until(lambda: published(zk, only) == SHORT, what="others are told the shorter timeout")
    assert only.status()["lease_ms"] < SHORT
    # The client library asks for no more than it was granted last.
    restart(own_server, LONG, min_ms=LONG)
    wait_until(lambda: published(zk, only) == LONG, what="others are told the longer timeout")
    assert granted(only) == LONG
    wait_until(lambda: only.status()["lease_ms"] > SHORT, what="the longer timeout counts")
    assert (zk.leader(TASK)[1], only.status()["session"]["id"]) == (token, session)


@pytest.mark.costly
def test_a_server_that_grants_too_little_has_no_leaders(fleet, zk, own_server, zk_proxy):
    leader, standby = pair(fleet, session_timeout="10s")
    with Oracle(TASK, leader, standby) as oracle:
        oracle.led(by=leader)
        restart(own_server, 900)
        for sidecar in (leader, standby):
            sidecar.wait_log("session timeout refused")
            assert "less than 1s" in sidecar.explain(TASK)["reason"]
        holds_for(lambda: not leader.leads(TASK) and not standby.leads(TASK), 1, "nobody leads")
        restart(own_server, LONG)
        oracle.led(by=leader, within=LED_AGAIN)


def test_less_than_a_second_is_not_even_asked_for(fleet, zk, server):
    assert granted(fleet.sidecar("only", session_timeout="500ms")) == 1000

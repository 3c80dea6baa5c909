"""A session that servers keep and that nothing confirms: its owner gives it up, so that another leads."""
import time

import pytest
from kazoo.security import make_acl

from harness.sidecar import task_text
from harness.waiting import wait_until

TASK = "nightly"
TIMEOUT_S = 4
BOUND_S = 2 * TIMEOUT_S + 5  # within which another leads
PING = 11


def kept_by_an_acl(proxy, zk, leader):
    path = zk.path("workers", leader.id)
    zk.client.set_acls(path, [make_acl("ip", "192.0.2.1", all=True)])


def kept_by_a_server_that_hangs_up(proxy, zk, leader):
    proxy.hang_up()


def kept_by_pings_alone(proxy, zk, leader):
    proxy.swallow(lambda kind, payload: kind != PING)


@pytest.fixture
def fleet_of_two(fleet, proxy, zk):
    """The leader, whose way to the server is the proxy, and who is next."""
    task = task_text(TASK)
    leader = fleet.sidecar("leader", version="2.0", tasks=[task], zookeeper=proxy.address,
                           session_timeout=f"{TIMEOUT_S}s")
    zk.wait_for_leader(TASK, leader)
    other = fleet.sidecar("other", version="1.0", tasks=[task], session_timeout=f"{TIMEOUT_S}s")
    wait_until(lambda: len(other.call("workers")) == 2, what="the other knows both")
    return leader, other


@pytest.mark.parametrize("keep, why", [(kept_by_an_acl, "refuse confirmations"),
                                       (kept_by_a_server_that_hangs_up, "hang up again and again"),
                                       (kept_by_pings_alone, "requests are not answered")])
def test_another_leads(fleet_of_two, proxy, zk, keep, why):
    leader, other = fleet_of_two
    session = leader.status()["session"]["id"]
    _, token = zk.leader(TASK)
    begun = time.monotonic()
    keep(proxy, zk, leader)
    wait_until(lambda: zk.leader(TASK)[1] not in (None, token), 60, "the task is led anew")
    took = time.monotonic() - begun
    print(f"measured: led anew after {took:.1f} s, {TIMEOUT_S} s is the session timeout")
    assert took <= BOUND_S
    assert not (leader.leads(TASK) and other.leads(TASK))
    leader.wait_log("session given up ")
    assert why in next(line for line in leader.log().splitlines() if "session given up " in line and "reason=" in line)
    proxy.flow()
    wait_until(lambda: leader.status()["session"]["state"] == "connected", 60, "it has a session again")
    assert leader.status()["session"]["id"] != session
    wait_until(lambda: leader.leads(TASK), 60, "the best leads again")
    limit = leader.status()["watches"]["limit"]
    assert limit == (64 if keep is kept_by_a_server_that_hangs_up else 512) * 1024


@pytest.mark.costly
def test_servers_that_were_away_find_the_session_as_it_was(fleet, own_server):
    """Down for longer than the session timeout, and back with all data: nothing is given up."""
    own_server.start()
    only = fleet.sidecar("only", tasks=[TASK], session_timeout=f"{TIMEOUT_S}s")
    wait_until(lambda: only.leads(TASK), what="it leads")
    session, token = only.status()["session"]["id"], only.check(TASK)["token"]
    own_server.kill()
    time.sleep(2 * TIMEOUT_S)  # not to wait for anything: the servers are away for that long
    own_server.start()
    wait_until(lambda: only.leads(TASK), 60, "it leads again")
    assert only.status()["session"]["id"] == session
    assert only.check(TASK)["token"] == token
    assert "session given up" not in only.log()

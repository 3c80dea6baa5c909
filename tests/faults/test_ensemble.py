"""Three servers that are killed, stopped and parted, with the leading sidecar on the one that suffers."""
import os

import pytest

from harness.ensemble import seconds
from harness.held import Held, skip_queue
from harness.oracle import Oracle, now
from harness.waiting import wait_until

TASK = "nightly-report"
TIMEOUT_S = 2
LED_AGAIN = 60  # a new quorum, expiry, another's turn: some 5 s, and 5 times as much on slow machines
pytestmark = [pytest.mark.slow, pytest.mark.seconds(240)]


def pair(fleet, ensemble, victim):
    """A leader on one server alone, a standby that may use the two others."""
    others = ",".join(s.address for s in ensemble.servers if s is not victim)
    leader = fleet.sidecar("leader", version="2", tasks=[TASK], zookeeper=victim.address)
    wait_until(lambda: leader.leads(TASK), 60, "it leads")
    return leader, fleet.sidecar("standby", version="1", tasks=[TASK], zookeeper=others)


def taken_over(oracle, standby, token, since):
    answer = oracle.led(by=standby, within=LED_AGAIN)
    assert answer.token > token
    print(f"measured: led by the other {answer.sent - since:.2f} s after the fault")


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_a_server_that_is_stopped_takes_its_sidecar_out_and_no_more(fleet, zk, ensemble, role):
    victim = ensemble.leader() if role == "leader" else ensemble.followers()[0]
    leader, standby = pair(fleet, ensemble, victim)
    with Oracle(TASK, leader, standby) as oracle:
        token, since = oracle.led(by=leader).token, now()
        victim.pause()
        try:
            taken_over(oracle, standby, token, since)
        finally:
            victim.resume()
        oracle.led(by=leader, within=LED_AGAIN)


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_a_server_that_is_killed_takes_its_sidecar_out_and_no_more(fleet, zk, ensemble, role):
    victim = ensemble.leader() if role == "leader" else ensemble.followers()[0]
    leader, standby = pair(fleet, ensemble, victim)
    with Oracle(TASK, leader, standby) as oracle:
        token, since = oracle.led(by=leader).token, now()
        victim.kill()
        taken_over(oracle, standby, token, since)
        victim._launch()
        oracle.led(by=leader, within=LED_AGAIN)


def test_a_sidecar_that_knows_all_servers_leads_on_when_its_own_is_killed(fleet, zk, ensemble):
    only = fleet.sidecar("only", tasks=[TASK], zookeeper=ensemble.address, session_timeout="30s")
    wait_until(lambda: only.leads(TASK), 60, "it leads")
    used = only.status()["session"]["server"]
    victim = next(s for s in ensemble.servers if s.address == used)
    with Oracle(TASK, only) as oracle:
        token = oracle.led(by=only).token
        victim.kill()
        wait_until(lambda: only.is_connected() and only.status()["session"]["server"] != used, 60, "it has moved")
        assert oracle.led(by=only, within=LED_AGAIN).token == token


@pytest.mark.parametrize("data", ["with-data", "without-data"])
def test_all_servers_killed_for_longer_than_the_timeout_and_restarted(fleet, zk, ensemble, data):
    sidecars = [fleet.sidecar(n, version=v, tasks=[TASK], zookeeper=ensemble.address)
                for n, v in (("standby", "1"), ("leader", "2"))]
    wait_until(lambda: sidecars[1].leads(TASK), 60, "it leads")
    with Oracle(TASK, *sidecars) as oracle:
        token = oracle.led(by=sidecars[1]).token
        ensemble.kill()
        oracle.not_led_by(sidecars[1])
        seconds(2 * TIMEOUT_S)
        if data == "without-data":
            ensemble.wipe()
            oracle.data_lost()
        ensemble.start()
        since = now()
        answer = oracle.led(by=sidecars[1], within=2 * LED_AGAIN)
        assert data == "without-data" or answer.token >= token
        print(f"measured: led {answer.sent - since:.2f} s after the quorum was there")


@pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")
def test_another_leader_of_the_ensemble_ends_nothing_that_is_held(fleet, zk, ensemble, queues, folder):
    options = {"zookeeper": ensemble.address, "session_timeout": "10s"}
    site = queues.site("site", skip_queue(folder), **options)
    held = Held(folder, queues, site, fleet.sidecar("other", **options))
    try:
        session = site.status()["session"]
        assert session["timeout_ms"] == 10000
        wait_until(lambda: site.status()["lease_ms"] > 5500, what="it has a long lease")
        leader, since = ensemble.leader(), now()
        leader.kill()
        ensemble.wait([s for s in ensemble.servers if s.process.poll() is None])
        wait_until(lambda: site.status()["session"]["state"] == "connected", 60, "it is connected again")
        if now() - since > 5:
            pytest.skip("the servers took longer for another leader than a lease lasts")
        assert site.status()["session"]["id"] == session["id"]
        assert held.go_on()
        held.end_well()
    finally:
        held.close()

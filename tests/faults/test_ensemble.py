"""Three servers that are killed, stopped and parted, with the leading sidecar on the one that suffers."""
import pytest

from harness.ensemble import seconds
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

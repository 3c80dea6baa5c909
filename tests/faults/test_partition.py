"""Servers that are cut off from each other and go on answering their clients.

The follower serves reads and pings for 10 s, as long as the quorum's leader is not missed, while the
quorum expires the sessions of its clients: who trusts his connection leads beside another then.
tests/faults/compare shows that.
"""
import pytest

from harness.oracle import Oracle, now
from harness.waiting import wait_until

from test_ensemble import LED_AGAIN, TASK, pair, taken_over

pytestmark = [pytest.mark.slow, pytest.mark.seconds(240)]


@pytest.mark.parametrize("role", ["follower", "leader"])
def test_a_server_cut_off_from_its_quorum_with_the_leading_sidecar_on_it(fleet, zk, parted, role):
    victim = parted.leader() if role == "leader" else parted.followers()[0]
    leader, standby = pair(fleet, parted, victim)
    with Oracle(TASK, leader, standby) as oracle:
        token, since = oracle.led(by=leader).token, now()
        parted.network.part(parted.servers.index(victim))
        lost = oracle.not_led_by(leader, within=LED_AGAIN)
        print(f"measured: no yes any more {lost.received - since:.2f} s after the cut")
        taken_over(oracle, standby, token, since)
        parted.network.heal()
        oracle.led(by=leader, within=LED_AGAIN)


def test_a_sidecar_on_a_follower_that_is_cut_off_finds_the_quorum_by_itself(fleet, zk, parted):
    only = fleet.sidecar("only", tasks=[TASK], zookeeper=",".join(s.address for s in parted.servers))
    wait_until(lambda: only.leads(TASK), 60, "it leads")
    used = only.status()["session"]["server"]
    at = next(i for i, s in enumerate(parted.servers) if s.address == used)
    with Oracle(TASK, only) as oracle:
        token, since = oracle.led(by=only).token, now()
        parted.network.part(at)
        oracle.not_led_by(only, within=LED_AGAIN)
        answer = oracle.led(by=only, within=LED_AGAIN)
        assert answer.token >= token
        print(f"measured: led again {answer.sent - since:.2f} s after the cut")

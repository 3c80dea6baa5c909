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


def on_a(role, fleet, ensemble):
    """A leading sidecar that knows all servers and is connected to one of that role, and that server."""
    wanted = [ensemble.leader()] if role == "leader" else ensemble.followers()
    only = fleet.sidecar("only", tasks=[TASK], zookeeper=ensemble.address)
    for _ in range(50):  # which one it takes is chance
        used = only.status()["session"]["server"]
        victim = next((s for s in wanted if s.address == used), None)
        if victim:
            wait_until(lambda: only.leads(TASK), 60, "it leads")
            return only, victim
        assert only.stop() == 0
        only.start()
    raise AssertionError(f"it never chose a {role}")


@pytest.mark.parametrize("role", ["follower", "leader"])
def test_a_sidecar_that_knows_all_servers_finds_the_quorum_when_its_own_is_cut_off(fleet, zk, parted, role):
    only, victim = on_a(role, fleet, parted)
    with Oracle(TASK, only) as oracle:
        token, since = oracle.led(by=only).token, now()
        parted.network.part(parted.servers.index(victim))
        wait_until(lambda: only.status()["session"]["server"] != victim.address, 60, "it has left that server")
        left = now()
        wait_until(only.is_connected, 60, "it is confirmed elsewhere")
        assert oracle.led(by=only, within=LED_AGAIN).token >= token
        print(f"measured: left the server {left - since:.2f} s, confirmed {now() - since:.2f} s after the cut")

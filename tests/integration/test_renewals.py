"""Commands under a lease live on while the connection is lost, for as long as the lease lasts; and no longer."""
import os
import time

import pytest

from harness.held import Held, skip_queue
from harness.holders import Holders
from harness.proxy import Proxy, is_confirmation
from harness.waiting import wait_until

LONG, SHORT = 10000, 2000
# By then the lease is a whole one; at its beginning it is shorter.
STEADY = 0.55 * LONG


def session_of(sidecar):
    return sidecar.status()["session"]


@pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")
def test_a_connection_that_is_lost_for_less_than_the_lease_ends_nothing(fleet, folder, queues, proxy):
    section = skip_queue(folder)
    site = queues.site("site", section, session_timeout="10s", zookeeper=proxy.address)
    other = fleet.sidecar("other", session_timeout="10s")
    held = Held(folder, queues, site, other)
    try:
        session = session_of(site)["id"]
        for away in (0.3, 2):
            wait_until(lambda: site.status()["lease_ms"] > STEADY, what="it has a long lease")
            proxy.cut()
            time.sleep(away)
            proxy.flow()
            wait_until(lambda: session_of(site)["state"] == "connected", what="it is connected again")
            assert held.go_on(), away
        assert (session_of(site)["id"], session_of(site)["timeout_ms"]) == (session, LONG)
        held.end_well()
    finally:
        held.close()


@pytest.mark.costly
def test_a_command_whose_sidecar_is_granted_less_is_dead_before_another_holds_the_lock(fleet, folder, own_server, zk):
    own_server.session_max_ms = LONG
    with Proxy(own_server.start().port) as proxy:
        one = fleet.sidecar("one", session_timeout="10s", zookeeper=proxy.address)
        two = fleet.sidecar("two", session_timeout="10s")
        holders = Holders(folder, "db")
        try:
            first = holders.run(one, "first")
            holders.wait_started("first")
            second = holders.run(two, "second", body=":")
            wait_until(lambda: len(zk.names("locks", "db")) == 2, what="another waits")
            wait_until(lambda: one.status()["lease_ms"] > STEADY, what="it has a long lease")
            confirmed = proxy.count(is_confirmation)
            own_server.kill()
            own_server.session_max_ms = SHORT
            own_server.start()
            wait_until(lambda: confirmed.n >= 1, what="it is connected again")
            proxy.stall()
            assert second.code() == 0 and first.code() == 2
            holders.check()
        finally:
            holders.close()

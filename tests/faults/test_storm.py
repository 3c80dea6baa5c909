"""Many faults at once, drawn from a seed: of processes, of each sidecar's network, and of the server.

A run cannot be replayed exactly, as the processes are real; the seed gives the same faults in the same
order. STORM_SEEDS=7,8 and STORM_SECONDS=600 draw others, and more.
"""
import os

import pytest

from harness.ensemble import Server
from harness.faults import LED_AGAIN, TASK
from harness.oracle import Oracle, now
from harness.proxy import Proxy
from harness.storm import Storm
from harness.waiting import wait_until

SECONDS = int(os.environ.get("STORM_SECONDS", "40"))
SEEDS = [int(s) for s in os.environ.get("STORM_SEEDS", "1,2,3").split(",")]
pytestmark = [pytest.mark.slow, pytest.mark.seconds(SECONDS + 240)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_storm_of_faults_makes_no_second_leader_and_ends_well(fleet, zk, folder, seed):
    server = Server(folder / "one").start()
    proxies = [Proxy(server.port) for _ in range(3)]
    try:
        sidecars = [fleet.sidecar(f"s{i}", version="1", tasks=[TASK], zookeeper=p.address)
                    for i, p in enumerate(proxies)]
        with Oracle(TASK, *sidecars) as oracle:
            oracle.led()
            storm = Storm(seed, oracle, server, sidecars, proxies)
            storm.blow(SECONDS)
            print(f"measured: seed {seed}, {SECONDS} s, {storm.counts}")
            over = now()
            for sidecar in sidecars:
                wait_until(sidecar.is_connected, LED_AGAIN, f"{sidecar.name} is connected")
                sidecar.call("reload")  # what was written while it could not be told
            best = max(s.config["version"] for s in sidecars)
            wait_until(lambda: [s.config["version"] for s in sidecars if s.leads(TASK)] == [best], LED_AGAIN,
                       "one of the newest leads, and nobody else")
            print(f"measured: at rest {now() - over:.2f} s after the last fault")
    finally:
        for proxy in proxies:
            proxy.close()
        server.close()

"""Many faults at once, drawn from a seed: of processes, of each sidecar's network, and of the server.

A run cannot be replayed exactly, as the processes are real; the seed gives the same faults in the same
order. STORM_SEEDS=7,8 and STORM_SECONDS=600 draw others, and more.
"""
import os
import random
import time

import pytest

from harness.ensemble import Server
from harness.faults import LED_AGAIN, TASK
from harness.oracle import Oracle, now
from harness.proxy import Proxy, is_claim, is_confirmation, is_release
from harness.waiting import wait_until

SECONDS = int(os.environ.get("STORM_SECONDS", "40"))
SEEDS = [int(s) for s in os.environ.get("STORM_SEEDS", "1,2,3").split(",")]
LONGEST = 4.0  # of a fault, in seconds: twice the session timeout
pytestmark = [pytest.mark.slow, pytest.mark.seconds(SECONDS + 240)]


class Storm:
    def __init__(self, seed, oracle, server, sidecars, proxies):
        self.random = random.Random(seed)
        self.oracle, self.server = oracle, server
        self.sidecars, self.proxies = sidecars, proxies
        self.busy = {}  # what suffers: (until when, what ends it)
        self.counts = {}

    def _for_a_while(self, victim, end):
        self.busy[victim] = (time.monotonic() + self.random.uniform(0.05, LONGEST), end)

    def _end_what_is_over(self, at):
        for victim, (until, end) in list(self.busy.items()):
            if until <= at:
                del self.busy[victim]
                end()

    # --- faults

    def pause(self, sidecar, _):
        sidecar.pause()
        self._for_a_while(sidecar, sidecar.resume)

    def kill(self, sidecar, _):
        sidecar.kill()
        if self.random.random() < 0.3:
            sidecar.socket.with_name("s.session").unlink(missing_ok=True)
        self._for_a_while(sidecar, lambda: sidecar.start(ready=False))

    def term(self, sidecar, _):
        wait_until(sidecar.status, LED_AGAIN, f"{sidecar.name} answers")  # it may have been started just now
        told = now()
        assert sidecar.stop(timeout=30) == 0
        self.oracle.told_to_go(sidecar, told)
        self._for_a_while(sidecar, lambda: sidecar.start(ready=False))

    def kill_and_start(self, sidecar, _):
        sidecar.kill()
        sidecar.start(ready=False)

    def stall(self, _, proxy):
        up, down = self.random.choice([(True, True), (True, False), (False, True)])
        proxy.stall(up, down)
        self._for_a_while(proxy, proxy.flow)

    def cut(self, _, proxy):
        proxy.cut()
        self._for_a_while(proxy, proxy.flow)

    def delay(self, _, proxy):
        proxy.delay(self.random.uniform(0, 1), self.random.uniform(0, 1))
        self._for_a_while(proxy, proxy.flow)

    def drop(self, _, proxy):
        proxy.drop()

    def lose(self, _, proxy):
        matches = self.random.choice([is_claim, is_release, is_confirmation])
        proxy.lose(matches, self.random.random() < 0.5, self.random.choice(["", "close"]))

    def version(self, sidecar, _):
        sidecar.write_config(version=str(self.random.randrange(1, 5)))
        if sidecar not in self.busy:  # but it may have been started just now
            wait_until(lambda: sidecar.call("reload"), LED_AGAIN, f"{sidecar.name} reloads")

    def pause_server(self, *_):
        self.server.pause()
        self._for_a_while(self.server, self.server.resume)

    def kill_server(self, *_):
        self.server.kill()
        self._for_a_while(self.server, self.server.start)

    FAULTS = [(pause, 3), (kill, 2), (term, 2), (kill_and_start, 2), (stall, 4), (cut, 2), (delay, 2), (drop, 3),
              (lose, 4), (version, 2), (pause_server, 1), (kill_server, 0.3)]

    def blow(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._end_what_is_over(time.monotonic())
            fault = self.random.choices([f for f, _ in self.FAULTS], [w for _, w in self.FAULTS])[0]
            i = self.random.randrange(len(self.sidecars))
            sidecar, proxy = self.sidecars[i], self.proxies[i]
            victim = self.server if "server" in fault.__name__ else proxy \
                if fault in (Storm.stall, Storm.cut, Storm.delay) else sidecar
            if victim not in self.busy:
                fault(self, sidecar, proxy)
                self.counts[fault.__name__] = self.counts.get(fault.__name__, 0) + 1
            time.sleep(self.random.uniform(0.02, 0.5))
        self._end_what_is_over(float("inf"))
        for proxy in self.proxies:
            proxy.rules.clear()


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

"""Cases that a crowd goes through, and their cost. Bounds on requests and changes hold however slow the machine is;
those on times are the caller's."""
import math
import random
import time

from harness.crowd import Crowd, Meter

TIMEOUT = 10.0  # the sessions'
AUDIT = 90.0  # in which each has looked who leads the tasks that it is the third for
SETTINGS = {"session_timeout": "10s", "yield_delay": "200ms"}


def make(folder, tree, workers, tasks, **more):
    return Crowd(folder, tree, workers, [f"job-{i:05d}" for i in range(tasks)], **SETTINGS, **more)


class Phase:
    """Figures of what happens within it."""

    def __init__(self, crowd, name):
        self.crowd, self.name = crowd, name
        self.claims = crowd.claims()
        self.meter = Meter(crowd)
        self.began = time.time()

    def end(self, state, since):
        """The figures; since: when the last change happened."""
        crowd, figures = self.crowd, self.meter.since()
        now = crowd.claims()
        moves = [now[t] - self.claims[t] for t in crowd.tasks]
        last = max(at for _, at in state.leaders.values())
        # A leader confirms its lease every T/12, and at first more often; this is no part of a change.
        figures["lease"] = len(crowd.sidecars) * figures["seconds"] * 18 / TIMEOUT
        figures["per_change"] = (figures["packets_received"] - figures["lease"]) / figures["workers"] / \
            len(crowd.sidecars)
        figures["moves"], figures["most"] = sum(moves) / len(moves), max(moves)
        figures["settled"], figures["after"] = last - self.began, max(0.0, last - since)
        figures["memory"] = max(crowd.memory()) / 2**20
        print(f"measured: {self.name}: {len(crowd.running())} workers x {len(crowd.tasks)} tasks, all led by the best "
              f"{figures['settled']:.2f} s after the start, {figures['after']:.2f} s after the last change; "
              f"changes of leadership a task {figures['moves']:.2f}, at most {figures['most']}; "
              f"{figures['packets_received']:.0f} packets to the server: {figures['packets_received'] / len(moves):.1f} "
              f"a task, {figures['packets_received'] / figures['workers'] / len(crowd.sidecars):.2f} a worker and "
              f"change of membership ({figures['workers']:.0f} changes); {figures['bytes_received_count'] / 1e6:.1f} MB "
              f"to the server, over connections that are open still {max(0, figures['sent_bytes']) / 1e6:.1f} MB from it; {figures['watches']:.0f} watches; "
              f"processor seconds: sidecars {figures['cpu']:.1f}, server {figures['server_cpu']:.1f}, in "
              f"{figures['seconds']:.1f} s; resident at most {figures['memory']:.1f} MiB")
        return figures


def unharmed(crowd, figures, meant=0):
    assert crowd.troubles() == [], crowd.troubles()[:5]
    assert figures["connection_drop_count"] <= meant, "connections were dropped"


def harmonic(n):
    return math.log(n) + 1


def cold_start(crowd):
    """All at once. Each that joins moves a task once at most, if it is the best of those that are there."""
    phase = Phase(crowd, "cold start")
    crowd.start()
    state = crowd.wait_at_rest(len(crowd.sidecars), 100)
    figures = phase.end(state, max(w.created for w in state.workers.values()))
    unharmed(crowd, figures)
    assert figures["moves"] <= harmonic(len(crowd.sidecars))
    return figures


def rolling_upgrade(crowd, version, every):
    phase = Phase(crowd, "rolling upgrade")
    for i, sidecar in enumerate(crowd.sidecars):
        time.sleep(max(0, phase.began + i * every - time.time()))
        crowd.restart(sidecar, version)
    state = crowd.wait_at_rest(len(crowd.sidecars), 100)
    figures = phase.end(state, max(w.created for w in state.workers.values()))
    assert {w.version for w in state.workers.values()} == {version}
    unharmed(crowd, figures, meant=len(crowd.sidecars))
    # Away from one that leaves, and to each that is better than all before it.
    assert figures["moves"] <= 2 * harmonic(len(crowd.sidecars))
    return figures


def mass_kill(crowd):
    """Half of them, after some rest; the last change is the end of their sessions. Of many tasks the best two die."""
    time.sleep(AUDIT + 5)
    half = random.Random(1).sample(crowd.sidecars, len(crowd.sidecars) // 2)
    phase = Phase(crowd, "KILL of half")
    crowd.kill(half)
    killed = time.time()
    left = len(crowd.sidecars) - len(half)
    crowd.wait_led(left)
    led = time.time() - killed
    state = crowd.wait_at_rest(left, 100)
    figures = phase.end(state, killed + TIMEOUT)
    print(f"measured: all led {led:.2f} s after the KILL")
    unharmed(crowd, figures, meant=len(half))
    assert figures["most"] <= 2 and led < TIMEOUT + 5
    return figures

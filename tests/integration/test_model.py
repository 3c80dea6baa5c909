"""The simulator's model of ZooKeeper against a real server: the same random requests, the same replies and watches."""
import subprocess

import pytest

from harness.proxy import Proxy
from harness.sidecar import build

STEPS = 600


def lines(program, address, other, seed):
    ended = subprocess.run([build() / program, address, other, str(seed), str(STEPS)], stdout=subprocess.PIPE,
                           timeout=280, check=True, text=True)
    return ended.stdout.splitlines()


@pytest.mark.costly
@pytest.mark.parametrize("seed", [1, *(pytest.param(s, marks=pytest.mark.slow) for s in (2, 3))])
def test_replies_and_watches_and_their_order(own_server, seed):
    own_server.start()
    with Proxy(own_server.port) as proxy:
        real = lines("compare-real", own_server.address, proxy.address, seed)
    model = lines("compare-model", "-", "-", seed)
    assert len(real) == len(model) > STEPS
    # A server promises the order on each connection; that of two is a matter of time.
    for client in sorted({line.split(":")[0] for line in model}):
        theirs, ours = ([x for x in side if x.split(":")[0] == client] for side in (real, model))
        for number, (a, b) in enumerate(zip(theirs, ours)):
            assert a == b, f"line {number}, after {theirs[max(0, number - 12):number]}"
        assert len(theirs) == len(ours)

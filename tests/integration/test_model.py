"""The simulator's model of ZooKeeper against a real server: the same random requests, the same replies."""
import subprocess

import pytest

from harness.proxy import Proxy
from harness.sidecar import build

STEPS = 600


def lines(program, address, other, seed):
    ended = subprocess.run([build() / program, address, other, str(seed), str(STEPS)], stdout=subprocess.PIPE,
                           timeout=90, check=True, text=True)
    return ended.stdout.splitlines()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_replies_and_watches_and_their_order(own_server, seed):
    own_server.start()
    with Proxy(own_server.port) as proxy:
        real = lines("compare-real", own_server.address, proxy.address, seed)
    model = lines("compare-model", "-", "-", seed)
    for number, (theirs, ours) in enumerate(zip(real, model)):
        assert theirs == ours, f"line {number}, after {real[max(0, number - 12):number]}"
    assert len(real) == len(model) and len(real) > STEPS

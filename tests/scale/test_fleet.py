"""Hundreds of sidecars against one server on this machine, which should have nothing else to do."""
import pytest

from harness import crowd_cases

pytestmark = [pytest.mark.slow, pytest.mark.seconds(400)]


@pytest.mark.parametrize("roll_from", ["0", "100"], ids=["without-roll", "with-roll"])
def test_200_sidecars_with_200_tasks(folder, zk, own_server, roll_from):
    assert own_server.clients_max > 200
    crowd = crowd_cases.make(folder, zk, 200, 200, roll_from=roll_from)
    try:
        cold = crowd_cases.cold_start(crowd)
        assert bool(zk.client.exists(zk.path("roll/keeper"))) == (roll_from != "0")
        roll = crowd_cases.rolling_upgrade(crowd, "1.1", every=0.1)
        kill = crowd_cases.mass_kill(crowd)
        assert cold["per_change"] < 2 and roll["per_change"] < 3
        assert kill["after"] < 1
    finally:
        crowd.close()


def test_cold_start_of_50_with_100_tasks(folder, zk, own_server):
    assert own_server.process
    crowd = crowd_cases.make(folder, zk, 50, 100)
    try:
        cold = crowd_cases.cold_start(crowd)
        assert cold["settled"] < 1 and cold["most"] <= 2
    finally:
        crowd.close()

"""A crowd of sidecars on one server; tests/scale has a bigger one, with bounds on the time it takes."""
import pytest

from harness import crowd_cases

pytestmark = [pytest.mark.slow, pytest.mark.seconds(300)]


def test_thirty_sidecars(folder, zk):
    crowd = crowd_cases.make(folder, zk, 30, 30)
    try:
        assert crowd_cases.cold_start(crowd)["per_change"] < 3
        assert crowd_cases.rolling_upgrade(crowd, "1.1", every=0.1)["per_change"] < 4
        crowd_cases.mass_kill(crowd)
    finally:
        crowd.close()

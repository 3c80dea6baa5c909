"""The fixtures and hooks of tests/integration, for the cases that take an ensemble or minutes."""
import importlib.util
import pathlib

import pytest

INTEGRATION = pathlib.Path(__file__).resolve().parents[1] / "integration"
spec = importlib.util.spec_from_file_location("integration", INTEGRATION / "conftest.py")
integration = importlib.util.module_from_spec(spec)
spec.loader.exec_module(integration)
globals().update({k: v for k, v in vars(integration).items() if not k.startswith("_")})

from harness.ensemble import Ensemble, Network  # noqa: E402  # found once the other conftest is there
from harness.server import Tree  # noqa: E402


@pytest.fixture
def ensemble(folder):
    """Three servers on loopback."""
    made = Ensemble(folder / "ensemble")
    try:
        yield made.start()
    finally:
        made.close()


@pytest.fixture
def parted(folder):
    """Three servers in network namespaces of their own. A follower that hears nothing serves on for
    syncLimit ticks: 10 s, as with the server's default configuration."""
    why = Network.why_not()
    if why:
        pytest.skip(why)
    network, made = Network(), None
    try:
        made = Ensemble(folder / "ensemble", network, sync_limit=50)
        made.network = network
        yield made.start()
    finally:
        if made:
            made.close()
        network.close()


@pytest.fixture
def zk(request):
    """The tree of this test, on the server that it has."""
    names = request.fixturenames
    for name in ("ensemble", "parted"):
        if name in names:
            return Tree(request.getfixturevalue(name).servers[0])
    return Tree(request.getfixturevalue("own_server" if "own_server" in names else "server"))

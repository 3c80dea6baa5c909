"""The fixtures and hooks of tests/integration, and a server that takes hundreds of sidecars."""
import importlib.util
import pathlib

import pytest

INTEGRATION = pathlib.Path(__file__).resolve().parents[1] / "integration"
spec = importlib.util.spec_from_file_location("integration", INTEGRATION / "conftest.py")
integration = importlib.util.module_from_spec(spec)
spec.loader.exec_module(integration)
globals().update({k: v for k, v in vars(integration).items() if not k.startswith("_")})

from harness.server import ZooKeeper  # noqa: E402  # found once the other conftest is there


@pytest.fixture
def own_server(folder):
    """All sidecars are on one address, of which a server takes 60 connections if it is not told otherwise."""
    server = ZooKeeper(folder / "zk", heap_mb=512, clients_max=300)
    yield server.start()
    server.close()

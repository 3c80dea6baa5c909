"""The fixtures and hooks of tests/integration, an authority, and servers with TLS."""
import importlib.util
import pathlib

import pytest

INTEGRATION = pathlib.Path(__file__).resolve().parents[1] / "integration"
spec = importlib.util.spec_from_file_location("integration", INTEGRATION / "conftest.py")
integration = importlib.util.module_from_spec(spec)
spec.loader.exec_module(integration)
globals().update({k: v for k, v in vars(integration).items() if not k.startswith("_")})

from harness import tls  # noqa: E402  # found once the other conftest is there
from harness.server import Tree, ZooKeeper  # noqa: E402
from harness.sidecar import build  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def built_with_tls():
    why = tls.why_not(build() / "zkleaderd")
    if why:
        pytest.skip(why)


@pytest.fixture(scope="session")
def authority(base_folder):
    return tls.Authority(base_folder / "authority")


@pytest.fixture
def secure(folder, authority):
    """secure(names...): a server with TLS on `port`, and a port without for the tests themselves."""
    made = []

    def make(*names, client_auth="none", **issue):
        server = ZooKeeper(folder / f"zk{len(made)}")
        made.append(server)
        certify(server, authority, names or ("IP:127.0.0.1", "DNS:localhost"), client_auth, **issue)
        return server.start()

    yield make
    for one in made:
        one.close()


def certify(server, authority, names, client_auth="none", trusts=None, **issue):
    """What it presents from its next start on, and whose certificates it takes."""
    cert, key = authority.issue("server", names, **issue)
    server.secure = lambda: tls.secure(server.port, cert, key, trusts or authority.cert, client_auth)


@pytest.fixture
def zk(request):
    return Tree(request.getfixturevalue("secure")())

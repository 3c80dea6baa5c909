"""The fixtures and hooks of tests/integration, for what takes minutes."""
import importlib.util
import pathlib
import sys

import pytest

INTEGRATION = pathlib.Path(__file__).resolve().parents[1] / "integration"
spec = importlib.util.spec_from_file_location("integration", INTEGRATION / "conftest.py")
integration = importlib.util.module_from_spec(spec)
spec.loader.exec_module(integration)
globals().update({k: v for k, v in vars(integration).items() if not k.startswith("_")})

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from debs import BUILT, ROOT, build  # noqa: E402
from image import Image, make_image  # noqa: E402


def pytest_addoption(parser):
    integration.pytest_addoption(parser)
    parser.addoption("--debs", action="store_true", help="the packages in build/deb are those of this tree")


@pytest.fixture(scope="session")
def debs(request):
    """The packages of this tree."""
    return sorted(BUILT.glob("*.deb")) if request.config.getoption("--debs") else build(BUILT)


@pytest.fixture(scope="session")
def image(debs):  # pylint: disable=unused-argument
    """The image of these packages."""
    return Image(make_image(ROOT / "build/image"))


@pytest.fixture(scope="session")
def rootfs(image, base_folder):
    """The folder with its files."""
    return image.unpack(base_folder / "rootfs")

"""The fixtures of the integration tests, and a browser."""
import importlib.util
import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "integration"))
_spec = importlib.util.spec_from_file_location("integration_conftest", TESTS / "integration/conftest.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
globals().update({name: value for name, value in vars(_module).items() if not name.startswith("__")})

from browser import Browser  # noqa: E402


@pytest.fixture
def browser(folder):
    made = Browser(folder / "browser")
    yield made
    made.close()

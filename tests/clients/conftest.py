"""The fixtures and hooks of tests/integration, and drivers of the clients of each language."""
import importlib.util
import pathlib

import pytest

HERE = pathlib.Path(__file__).resolve().parent
INTEGRATION = HERE.parent / "integration"
spec = importlib.util.spec_from_file_location("integration", INTEGRATION / "conftest.py")
integration = importlib.util.module_from_spec(spec)
spec.loader.exec_module(integration)
globals().update({k: v for k, v in vars(integration).items() if not k.startswith("_")})

import driving  # noqa: E402  # found once the other conftest is there


def pytest_generate_tests(metafunc):
    if "language" in metafunc.fixturenames:
        metafunc.parametrize("language", driving.languages(), scope="session")


def pytest_terminal_summary(terminalreporter):
    for language, why in sorted(driving.missing().items()):
        terminalreporter.write_line(f"clients: {language} was not tried: {why}")


@pytest.fixture
def driver(language, folder):
    """driver(socket): a program that uses the client of the language."""
    why = driving.missing(language).get(language)
    if why:
        pytest.skip(why)
    made = []

    def start(socket):
        made.append(driving.Driver(language, socket, folder / f"driver{len(made)}.err"))
        return made[-1]

    yield start
    wrong = [w for one in made for w in one.close()]
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def scripted(folder):
    """scripted(play): the socket of a server where play(connection, number) sees to each connection."""
    made = []

    def start(play):
        made.append(driving.Scripted(folder / f"scripted{len(made)}", play))
        return made[-1]

    yield start
    for one in made:
        one.close()

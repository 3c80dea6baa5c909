"""Fixtures: a server for all tests of a worker process, one for a test alone, and fleets of sidecars."""
import faulthandler
import logging
import os
import pathlib
import resource
import shutil
import signal
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from harness import tls  # noqa: E402
from harness.jobs import Jobs  # noqa: E402
from harness.proxy import Proxy  # noqa: E402
from harness.queues import Hook, Queues, script_of  # noqa: E402
from harness.server import Tree, ZooKeeper, keep_classes  # noqa: E402
from harness.sidecar import Sidecar, build, run_program, sanitizer_reports  # noqa: E402
from harness.ticks import Ticks  # noqa: E402
from harness.web import Web  # noqa: E402

TEST_SECONDS = 300  # after which a test has failed, if it does not say otherwise
LONG = {  # tests that take more than ten seconds of a quiet machine with twelve at a time
    "test_256_leave_at_once_again_and_again", "test_a_job_goes_on_over_restarts",
    "test_a_lock_that_is_held_stays_so_and_who_waits_gets_it", "test_a_reboot_in_the_middle",
    "test_a_server_away_for_longer_than_the_session_timeout_ends_the_lease_and_no_more",
    "test_a_server_whose_clock_is_wrong_stops_nobody", "test_a_thousand_at_once",
    "test_a_thousand_connections_of_one_user_harm_no_other", "test_as_many_as_a_gang_all_leave_at_once", "test_bytes",
    "test_leaders_that_wake_up_to_deleted_nodes_and_expired_sessions_lead_anew", "test_many_at_once_keep_their_numbers",
    "test_no_herd_with_a_thousand_waiters", "test_nothing_is_allocated_for_each_task_while_nothing_changes",
    "test_replies_and_watches_and_their_order", "test_term_while_another_session_is_asked_for_ends_all_with_0",
    "test_the_next_in_rank_leads_what_is_resigned", "test_the_whole_fleet_goes_down",
    "test_upgrades_and_reboots_as_documented",
}
FOLDER_PREFIX = "zkl-"  # and the number of the process, so that what a killed one left can be told

logging.getLogger("kazoo").setLevel(logging.CRITICAL)


def pytest_addoption(parser):
    parser.addoption("--build", help="the folder with the programs (ZKLEADER_BUILD, or build/release)")
    parser.addoption("--tls", action="store_true", help="all sidecars speak TLS to their servers")


def pytest_configure(config):
    if config.getoption("build"):
        os.environ["ZKLEADER_BUILD"] = config.getoption("build")
    if config.getoption("tls"):
        os.environ["ZKLEADER_TEST_TLS"] = "1"
    config.addinivalue_line("markers", "slow: takes minutes; started first")
    config.addinivalue_line("markers", "costly: takes more than two seconds of a processor; not in make check")
    config.addinivalue_line("markers", "seconds(n): how long the test may take")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard if hard != resource.RLIM_INFINITY else 65536
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(wanted, 65536)), hard))
    faulthandler.enable()
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        with tempfile.TemporaryDirectory(prefix=f"{FOLDER_PREFIX}{os.getpid()}-", dir="/tmp") as folder:
            keep_classes(pathlib.Path(folder))


def pytest_collection_modifyitems(items):
    """The longest are not to be the last, nor one behind the other: a worker gets its first tests in one piece."""
    why = tls.why_not(build() / "zkleaderd") if tls.enabled() else ""
    if why:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=why))
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    long = [item for item in items if item.originalname in LONG]
    others = [item for item in items if item.originalname not in LONG]
    apart = max(1, 2 * len(others) // 3 // max(1, len(long)))
    for n, item in enumerate(long):
        others.insert(n * (apart + 1), item)
    items[:] = others


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """No test hangs: an alarm fails it."""
    marker = item.get_closest_marker("seconds")
    seconds = marker.args[0] if marker else TEST_SECONDS

    def on_alarm(*_):
        pytest.fail(f"took longer than {seconds} s")

    previous = signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    fleet = getattr(item, "funcargs", {}).get("fleet")
    if report.failed and fleet:
        for sidecar in fleet.sidecars:
            report.sections.append((f"log of sidecar {sidecar.name}", sidecar.log_tail()))


def is_alive(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


def new_folder():
    """A short path, since the path of a socket may have 107 bytes only."""
    for old in pathlib.Path("/tmp").glob(FOLDER_PREFIX + "*"):
        pid = old.name.split("-")[1]
        if pid.isdigit() and not is_alive(pid):
            shutil.rmtree(old, ignore_errors=True)
    return pathlib.Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-", dir="/tmp"))


@pytest.fixture(scope="session")
def base_folder():
    folder = new_folder()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def folder(base_folder):
    made = pathlib.Path(tempfile.mkdtemp(dir=base_folder))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_server(base_folder):
    server = ZooKeeper(base_folder / "zk")
    yield server.start()
    server.close()


@pytest.fixture
def server(shared_server):
    """A server that the test shares with others: only its own tree is to be touched."""
    yield shared_server
    shared_server.close_clients()


@pytest.fixture
def proxy(server):
    """A way to that server that the test may cut, stall and delay."""
    with Proxy(server.port) as made:
        yield made


@pytest.fixture
def own_server(folder):
    """A server that the test may kill; not started yet."""
    server = ZooKeeper(folder / "zk")
    yield server
    server.close()


@pytest.fixture
def zk(request):
    """The tree of this test, on its own server if it has one."""
    name = "own_server" if "own_server" in request.fixturenames else "server"
    return Tree(request.getfixturevalue(name))


class Fleet:
    def __init__(self, folder, tree):
        self.folder = folder
        self.tree = tree
        self.sidecars = []

    def sidecar(self, name, start=True, ready=True, **kwargs):
        sidecar = Sidecar(self.folder / name, name, kwargs.pop("tree", self.tree), **kwargs)
        self.sidecars.append(sidecar)
        if start:
            sidecar.start(ready)
        return sidecar

    def close(self):
        wrong = []
        for sidecar in self.sidecars:
            wrong += sidecar.close()
        assert not wrong, "\n".join(wrong)


@pytest.fixture
def fleet(folder, zk):
    made = Fleet(folder, zk)
    yield made
    made.close()


@pytest.fixture
def program(folder):
    """Runs one of our programs: program("zkleader-check", "-s", socket, "nightly")."""
    home = folder / "programs"
    home.mkdir()
    assert build().is_dir(), f"{build()} is not there: build first, or say --build FOLDER"

    def run(name, *args, **kwargs):
        return run_program(home, name, *args, **kwargs)

    run.folder = home
    yield run
    reports = sanitizer_reports(home)
    assert not reports, "\n".join(reports)


@pytest.fixture
def jobs(folder, fleet):
    """jobs(task): the jobs of that task; what is left of them at the end is killed, and told."""
    assert fleet  # whose end comes after that of the jobs
    made = []

    def of(task):
        made.append(Jobs(folder, task))
        return made[-1]

    yield of
    for one in made:
        one.close()
    reports = sanitizer_reports(folder)
    assert not reports, "\n".join(reports)


@pytest.fixture
def ticks(folder, zk, server):
    """ticks(seed): a fleet of four whose clocks differ."""
    made = []

    def of(seed):
        made.append(Ticks(folder, zk, server, seed))
        made[-1].start()
        return made[-1]

    yield of
    wrong = [w for one in made for w in one.close()]
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def queues(fleet, folder, zk):
    """Sidecars with queues, and runners."""
    made = Queues(fleet, folder, zk)
    yield made
    made.close()


@pytest.fixture
def hook(folder):
    """hook(answer...): a web server; see script_of()."""
    made = []

    def make(*answers, tls=False):
        made.append(Hook(script_of(*answers), tls_folder=folder if tls else None))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def web(folder):
    """web(sidecar, args...): a zkleader-web beside it."""
    made = []

    def of(sidecar, *args, **kwargs):
        made.append(Web(folder / f"web{len(made)}", sidecar.socket, *args, **kwargs))
        return made[-1]

    yield of
    for one in made:
        one.close()
    reports = [r for one in made for r in sanitizer_reports(one.folder)]
    assert not reports, "\n".join(reports)

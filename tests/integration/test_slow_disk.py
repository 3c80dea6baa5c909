"""Files of the configuration on a disk that does not answer: who reads them holds nobody up."""
import pathlib
import signal
import subprocess
import threading

import pytest

from harness.sidecar import build
from harness.waiting import holds_for, wait_until

TASK = "nightly"
SLOW_DISK = pathlib.Path(__file__).parent / "harness/slow_disk.c"


@pytest.fixture
def disk(folder):
    """(what a sidecar's environment is to have, the file that is there while nothing can be read)"""
    if "asan" in str(build()) or "tsan" in str(build()):
        pytest.skip("the net has to be loaded first")
    library, hangs = folder / "slow.so", folder / "hangs"
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", library, SLOW_DISK, "-ldl"], check=True)
    yield {"LD_PRELOAD": str(library), "SLOW_DISK": str(hangs)}, hangs
    hangs.unlink(missing_ok=True)


class Reload:
    """An order that is under way."""

    def __init__(self, sidecar):
        self.answer = None
        self.thread = threading.Thread(target=self._ask, args=(sidecar,))
        self.thread.start()

    def _ask(self, sidecar):
        self.answer = sidecar.call("reload", timeout=60)

    def wait(self):
        self.thread.join(60)
        return self.answer


def test_leases_and_answers_go_on_while_files_are_read(fleet, folder, disk):
    env, hangs = disk
    version_file = folder / "VERSION"
    version_file.write_text("1.0\n", encoding="ascii")
    a = fleet.sidecar("a", tasks=[TASK], version=None, version_file=version_file, env=env, session_timeout="10s")
    wait_until(lambda: a.leads(TASK), what="a leads")
    token = a.check(TASK)["token"]
    hangs.touch()
    version_file.write_text("1.1\n", encoding="ascii")
    a.write_tasks(TASK, "another")
    a.signal(signal.SIGHUP)
    reload = Reload(a)
    holds_for(lambda: a.leads(TASK) and a.status()["version"] == "1.0" and len(a.call("tasks")) == 1, 2, "all goes on")
    assert reload.answer is None
    hangs.unlink()
    answer = reload.wait()
    assert answer["problems"] == []
    # The file may have been read before, as it had changed.
    assert {t["task"] for t in a.call("tasks")} == {TASK, "another"}
    wait_until(lambda: a.status()["version"] == "1.1", what="the version is read")
    assert a.check(TASK)["token"] == token and a.log().count('"task added:" name=another') == 1


def test_a_reload_is_answered_by_what_was_on_the_disk_when_it_was_asked_for(fleet, disk):
    env, hangs = disk
    a = fleet.sidecar("a", tasks=[TASK], env=env)
    hangs.touch()
    first = Reload(a)
    holds_for(lambda: first.answer is None, 0.5, "it is read")
    a.write_tasks("bad name", TASK)
    second = Reload(a)
    hangs.unlink()
    assert second.wait()["problems"] and first.wait() is not None
    assert {t["task"] for t in a.call("tasks")} == {TASK}


def test_a_stop_waits_for_no_disk(fleet, disk):
    env, hangs = disk
    a = fleet.sidecar("a", tasks=[TASK], env=env, session_timeout="10s")
    wait_until(lambda: a.leads(TASK), what="a leads")
    hangs.touch()
    a.write_tasks(TASK, "another")
    a.signal(signal.SIGHUP)
    holds_for(lambda: a.leads(TASK), 1, "it goes on")
    assert a.stop() == 0


def test_nothing_waits_for_the_state_of_a_file(fleet, folder, disk):
    """Whoever only looks whether they have changed waits for the disk as well."""
    env, hangs = disk
    version_file = folder / "VERSION"
    version_file.write_text("1.0\n", encoding="ascii")
    a = fleet.sidecar("a", tasks=[TASK], version=None, version_file=version_file, env=env, session_timeout="10s")
    b = fleet.sidecar("b", tasks=[TASK], version="0.9", session_timeout="10s")
    wait_until(lambda: a.leads(TASK), what="a leads")
    token = a.check(TASK)["token"]
    hangs.touch()
    # Nothing is written: the sidecar looks twice a second by itself. An event of inotify comes besides.
    holds_for(lambda: a.leads(TASK) and not b.leads(TASK), 2, "a leads on")
    a.write_tasks(TASK, "another")
    holds_for(lambda: a.leads(TASK) and not b.leads(TASK), 10, "a leads on, beyond its lease")
    version_file.write_text("1.1\n", encoding="ascii")
    hangs.unlink()
    wait_until(lambda: a.status()["version"] == "1.1" and "another" in a.task_names(), what="all is read")
    assert a.check(TASK)["token"] == token
    # The folder is still watched.
    a.write_tasks(TASK, "another", "third")
    wait_until(lambda: "third" in a.task_names(), what="the files are read")

"""Standard error that nobody reads: lines of the log are lost and counted, and nothing waits for a reader."""
import fcntl
import os
import signal

import pytest

from harness.process import end, spawn
from harness.runner import Runner, Scripted, scheduled
from harness.sidecar import build, sanitizer_env
from harness.waiting import holds_for, wait_until

TASK = "nightly-report"
LOST = "lines of the log were lost lines="


class Unread:
    """A full pipe, as standard error of what is started meanwhile."""

    def __init__(self):
        self.reads, self.writes = os.pipe()
        self.flags = fcntl.fcntl(self.writes, fcntl.F_GETFL)
        os.set_blocking(self.writes, False)
        try:
            while True:
                os.write(self.writes, b"x")
        except BlockingIOError:
            os.set_blocking(self.writes, True)

    def read(self):
        """All that is there."""
        os.set_blocking(self.reads, False)
        text = b""
        try:
            while data := os.read(self.reads, 65536):
                text += data
        except BlockingIOError:
            pass
        return text.decode(errors="replace").lstrip("x")

    def is_as_it_was(self):
        return fcntl.fcntl(self.writes, fcntl.F_GETFL) == self.flags

    def close(self):
        os.close(self.reads)
        os.close(self.writes)


@pytest.fixture
def unread():
    made = Unread()
    yield made
    made.close()


def told(unread, said):
    said.append(unread.read())
    return LOST in "".join(said)


def test_a_sidecar_leads_on_and_says_how_many_lines_were_lost(fleet, zk, unread):
    a = fleet.sidecar("a", start=False, tasks=[TASK], session_timeout="10s")
    a.process = spawn([build() / "zkleaderd", "-c", a.config_file], stderr=unread.writes, stdout=unread.writes,
                      env=sanitizer_env(a.folder), cwd=a.folder)
    wait_until(lambda: a.listens(), what="it has a socket")
    a.wait_connected()
    wait_until(lambda: a.leads(TASK), what="it leads")
    token = a.check(TASK)["token"]
    for n in range(3):
        a.write_tasks(TASK, f"another-{n}")
        a.signal(signal.SIGHUP)
        wait_until(lambda: f"another-{n}" in a.task_names(), what="the files are read")
    holds_for(lambda: a.leads(TASK), 11, "it leads for longer than its lease")
    assert a.check(TASK)["token"] == token
    [warning] = [w for w in a.status()["warnings"] if w["file"] == "zkleaderd"]
    assert "nobody reads what it logs: " in warning["message"] and unread.is_as_it_was()
    said = []
    wait_until(lambda: told(unread, said), what="it says what was lost, although nothing else happens")
    wait_until(lambda: not a.status()["warnings"], what="all is told")
    assert "".join(said).count(LOST) == 1
    assert a.stop() == 0


def read_by_nobody(runner, unread):
    command = [build() / "zkleader-runner", "-s", runner.socket, "-c", runner.config_file]
    if runner.user:
        command = ["setpriv", "--reuid", runner.user, "--regid", "nogroup", "--clear-groups", *command]
    runner.process = spawn(command, stdout=unread.writes, stderr=unread.writes, env=sanitizer_env(runner.folder))


@pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")
@pytest.mark.parametrize("user", ["root", "daemon"])
def test_a_runner_starts_jobs_and_obeys(folder, base_folder, unread, user):
    """To open the pipe anew, which root has made, is not allowed to others."""
    tasks = folder / "conf.d"
    tasks.mkdir()
    done = folder / "done"
    done.mkdir()
    base_folder.chmod(0o755)
    done.chmod(0o777)
    loud = "for i in 1 2 3; do echo $i; done; touch " + str(done / "loud")
    (tasks / "tasks.conf").write_text(scheduled("loud", ["/bin/sh", "-c", loud], user=user) +
                                      scheduled("quiet", ["/bin/touch", str(done / "quiet")], user=user))
    config = folder / "zkleader.conf"
    config.write_text(f'zookeeper = "127.0.0.1:1"\nversion = "1.0"\ntask-dir = "{tasks}"\n')
    sidecar = Scripted(folder / "s")
    runner = Runner(folder / "runner", folder / "s", config, user=None if user == "root" else user)
    try:
        read_by_nobody(runner, unread)
        wait_until(lambda: sidecar.runner, what="it has registered")
        for task in ("quiet", "loud"):
            sidecar.due(task)
        assert [r["exit_status"] for r in sidecar.finished(2)] == [0, 0]
        assert {p.name for p in done.iterdir()} == {"quiet", "loud"}
        wait_until(lambda: sidecar.all("refusals") and len(sidecar.all("refusals")[-1]) == 3, 60,
                   "the sidecar is told that lines are lost")
        assert sidecar.all("refusals")[-1][2] > 0 and unread.is_as_it_was()
        said = []
        wait_until(lambda: told(unread, said), 60, "it says what was lost")
        wait_until(lambda: len(sidecar.all("refusals")[-1]) == 2, 60, "the sidecar is told that it is read again")
        runner.process.send_signal(signal.SIGTERM)
        assert runner.process.wait(30) == 0
    finally:
        end(runner.process)
        sidecar.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")
def test_a_runner_ends_on_term_while_nobody_reads(folder, unread):
    config = folder / "zkleader.conf"
    config.write_text('zookeeper = "127.0.0.1:1"\nversion = "1.0"\n')
    sidecar = Scripted(folder / "s")
    runner = Runner(folder / "runner", folder / "s", config)
    try:
        read_by_nobody(runner, unread)
        wait_until(lambda: sidecar.runner, what="it has registered")
        runner.process.send_signal(signal.SIGTERM)
        assert runner.process.wait(30) == 0
    finally:
        end(runner.process)
        sidecar.close()


def test_status_tells_of_a_runner_whose_log_nobody_reads(fleet):
    a = fleet.sidecar("a", tasks=[TASK])
    with a.client() as runner:
        runner.call("runner", {})
        runner.call("refusals", [], False, 7)
        [warning] = a.status()["warnings"]
        assert warning["file"] == "zkleader-runner" and f"uid {os.geteuid()} logs: 7 lines are lost" in warning["message"]
        runner.call("refusals", [])
        assert a.status()["warnings"] == []
        with pytest.raises(Exception, match="how many lines of the log were lost"):
            runner.call("refusals", [], False, "many")

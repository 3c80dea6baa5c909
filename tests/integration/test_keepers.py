"""The supervisors of jobs of queues, which take one job after the other: each is alone, and dead within its lease."""
import ctypes
import os
import shutil
import signal
import time

import pytest

from harness.jobs import children, is_running
from harness.runner import shell, site_fixture
from harness.sidecar import queue_text
from harness.waiting import holds_for, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")
site = pytest.fixture(site_fixture)

# Its payload is a script. Whatever it does, it says under which guard.
COMMAND = shell("echo $PPID; . /dev/stdin")
DEAF = "trap '' TERM; echo $PPID $$ >{0}/of-deaf; while ! [ -e {0}/go ]; do cut -d' ' -f1 /proc/uptime >{0}/draft; " \
       "mv {0}/draft {0}/up; sleep 0.02; done"
# The first timer of its supervisor has long gone off then, and the task file is not read again for its freshness.
OLD_S = 2.5


class Jobs:
    """Jobs for one runner by the name q.1, q.2 and so on."""

    def __init__(self, site):
        self.site, self.n = site, 0

    def offer(self, script, times=1):
        self.n += 1
        for _ in range(times):
            self.site.sidecar.job("q", f"q.{self.n}", script.encode())
        return f"q.{self.n}"

    def do(self, script=":"):
        """Offers it each second until it has begun, as a sidecar does."""
        name = self.offer(script)
        end = time.monotonic() + 60
        while name not in self.site.sidecar.begun and time.monotonic() < end:
            time.sleep(0.1)
            if time.monotonic() % 1 < 0.1:
                self.site.sidecar.job("q", name)
        return name, self.site.sidecar.ended(name)

    def guard(self):
        """The process of the guard of a short job."""
        return int(self.do()[1]["output"])

    def old_guard(self):
        """A guard that has had jobs for some time."""
        since = {}

        def is_old():
            guard = self.guard()
            if time.monotonic() > since.setdefault(guard, time.monotonic()) + OLD_S:
                return guard
            time.sleep(0.2)
            return None
        return wait_until(is_old, what="a guard is used again for some time")

    def deaf(self):
        """A job that does not hear TERM, under supervisors that have had others: its name, and the processes."""
        folder = self.site.folder

        def is_under_old():
            old = self.old_guard()
            name = self.offer(DEAF.format(folder))
            file = folder / "of-deaf"
            guard, job = wait_until(lambda: file.exists() and [int(w) for w in file.read_text().split()],
                                    what="it has begun")
            file.unlink()
            wait_until((folder / "up").exists, what="it says that it lives")
            if guard == old:
                return name, parent(guard), guard, job
            (folder / "go").touch()
            self.site.sidecar.ended(name)
            (folder / "go").unlink()
            (folder / "up").unlink()
            return None
        return wait_until(is_under_old, what="an old guard has it")


@pytest.fixture
def jobs(site):
    site.sidecar.lease_ms = 4000
    site.start(queue_text("q", command=COMMAND, slots=4))
    return Jobs(site)


def parent(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rsplit(")", 1)[1].split()[1])


def test_one_after_the_other_and_each_is_alone(jobs, site):
    """Nothing of a job is there for the next one: neither processes, nor what it wrote, nor its payload."""
    left = site.folder / "left"
    jobs.old_guard()
    _, ended = jobs.do(f"trap '' TERM; echo one >&2; (while :; do sleep 1; done) & echo $! >{left}; cd /; exit 3")
    assert ended["exit_status"] == 3 and ended["output"].split()[1:] == [b"one"]
    assert not is_running(int(left.read_text()))
    name, ended = jobs.do("pwd; echo $ZKLEADER_JOB $ZKLEADER_TOKEN $ZKLEADER_ATTEMPT; readlink /proc/self/fd/2; ls /proc/self/fd")
    lines = ended["output"].decode().split("\n")
    assert lines[1:3] == ["/root", f"{name} {40 + jobs.n} 1"] and lines[3].startswith("pipe:")
    assert [fd for fd in lines[4:] if fd] == ["0", "1", "2", "3"]
    assert (ended["exit_status"], ended["interrupted"]) == (0, False)


def test_two_at_a_time_have_two(jobs, site):
    go = site.folder / "go"
    names = [jobs.offer(f"while ! [ -e {go} ]; do sleep 0.02; done") for _ in range(2)]
    wait_until(lambda: set(names) <= set(site.sidecar.begun), what="both have begun")
    go.touch()
    assert len({site.sidecar.ended(name)["output"] for name in names}) == 2


def test_those_without_a_job_end(jobs, site):
    guard = jobs.guard()
    wait_until(lambda: not is_running(guard) and not children(site.runner.process.pid), what="no supervisor waits")
    assert jobs.guard() != guard


@pytest.mark.parametrize("victim", ["supervisor", "guard"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_later_job_is_dead_before_its_lease_is_over(jobs, site, victim, how):
    name, supervisor, guard, job = jobs.deaf()
    os.kill(supervisor if victim == "supervisor" else guard, how)
    if (victim, how) == ("supervisor", signal.SIGSTOP):
        holds_for(lambda: is_running(job), 1.5, "the job goes on")
        site.sidecar.leads = False
    ended = site.sidecar.ended(name)
    wait_until(lambda: not is_running(job), what="it is dead")
    assert ended["interrupted"] is True and ended["timeout"] is False
    last = float((site.folder / "up").read_text())
    lease_s = site.sidecar.lease_ms / 1000
    assert last < site.sidecar.renewed_at[site.sidecar.begun[name]] + lease_s + 1, "not within its lease"
    site.sidecar.leads = True
    assert jobs.do("echo next")[1]["output"].endswith(b"\nnext\n")
    assert len([1 for begun in site.sidecar.all("job_begin") if begun[0] == name]) == 1
    if is_running(supervisor):  # one that is stopped would stay behind
        os.kill(supervisor, signal.SIGKILL)


@pytest.mark.parametrize("victim", ["supervisor", "guard"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM], ids=["killed", "stopped", "ended"])
def test_what_waits_for_a_job_may_go(jobs, site, victim, how):
    guard = jobs.old_guard()
    time.sleep(0.1)  # it has told the runner that it is free
    target = parent(guard) if victim == "supervisor" else guard
    os.kill(target, how)
    if how == signal.SIGKILL or (victim, how) == ("supervisor", signal.SIGTERM):
        wait_until(lambda: not is_running(target), what="it has no job")
    for word in (b"one", b"two"):
        ended = jobs.do(f"echo {word.decode()}")[1]
        assert ended["output"].endswith(b"\n" + word + b"\n") and ended["exit_status"] == 0
    if is_running(target):  # one that is stopped would stay behind
        os.kill(target, signal.SIGKILL)


class Held:
    """From now on exec(2) of that program hangs, until this is closed: its opening is asked about, and not answered."""

    def __init__(self, program):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.fanotify_init(0x5, os.O_RDONLY)  # FAN_CLASS_CONTENT, FAN_CLOEXEC
        exec_perm = ctypes.c_uint64(0x40000)  # FAN_OPEN_EXEC_PERM
        if self.fd < 0 or libc.fanotify_mark(self.fd, 1, exec_perm, -100, os.fsencode(program)) < 0:
            pytest.skip(f"fanotify(7) holds up no exec(2) here: {os.strerror(ctypes.get_errno())}")

    def close(self):
        os.close(self.fd)


@pytest.mark.parametrize("victim", ["nobody", "supervisor"])
def test_a_start_that_hangs_is_ended_as_well(jobs, site, victim):
    """The guard waits for exec(2) meanwhile."""
    ran, program = site.folder / "ran", site.folder / "sh"
    shutil.copy("/bin/sh", program)
    site.write(queue_text("q", command=[str(program), *COMMAND[1:]], slots=4))
    jobs.guard()
    held = Held(program)
    try:
        name = jobs.offer(f"touch {ran}")
        wait_until(lambda: name in site.sidecar.begun, what="it has begun")
        [supervisor] = wait_until(lambda: [p for p in children(site.runner.process.pid)
                                           if any(children(g) for g in children(p))], what="its process is there")
        [guard] = children(supervisor)
        [job] = children(guard)
        if victim == "supervisor":
            os.kill(supervisor, signal.SIGKILL)
        else:
            assert site.sidecar.ended(name)["interrupted"] is True
        wait_until(lambda: not is_running(job) and not is_running(supervisor), what="both are dead")
    finally:
        held.close()
    wait_until(lambda: not is_running(guard), what="its guard has ended")
    assert not ran.exists()
    assert jobs.do("echo next")[1]["output"].endswith(b"\nnext\n")


def test_the_runner_is_killed(jobs, site):
    """The job goes on; its supervisors end behind it, and those without a job at once, although they are older."""
    first, go = site.folder / "first", site.folder / "first-may-go"
    older = jobs.offer(f"echo $PPID >{first}; while ! [ -e {go} ]; do sleep 0.02; done")
    wait_until(lambda: first.exists() and first.read_text(), what="the older ones have a job")
    name, supervisor, guard, job = jobs.deaf()
    go.touch()
    site.sidecar.ended(older)
    site.runner.stop(signal.SIGKILL)
    wait_until(lambda: not is_running(int(first.read_text())), what="it needs no guard any more")
    assert is_running(supervisor) and is_running(guard) and is_running(job)
    (site.folder / "go").touch()
    assert site.sidecar.ended(name)["exit_status"] == 0
    wait_until(lambda: not is_running(supervisor) and not is_running(guard), what="they have ended")


def test_the_sidecar_is_started_anew(jobs, site):
    name, *_ = jobs.deaf()
    site.sidecar.close()
    site.sidecar.open()
    wait_until(lambda: site.sidecar.all("job_attach"), what="its guard has come again")
    (site.folder / "go").touch()
    assert site.sidecar.ended(name)["interrupted"] is False
    assert jobs.do("echo next")[1]["output"].endswith(b"\nnext\n")


def test_the_command_is_that_of_the_file_as_it_is(jobs, site):
    for word in ("one", "two", "three"):
        site.write(queue_text("q", command=["/bin/echo", word], slots=4))
        assert jobs.do()[1]["output"].decode() == word + "\n"
        assert jobs.do()[1]["output"].decode() == word + "\n"

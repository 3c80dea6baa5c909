"""KILL to each of the processes of a run, at each of its stages: at most one start a tick, nothing is left
behind, and the next tick is run as if nothing had happened."""
import os
import signal

import msgpack
import pytest

from harness.jobs import children, is_running, next_tick
from harness.proxy import MULTI, Proxy
from harness.sidecar import task_text
from harness.waiting import holds_for, wait_until

TASK = "nightly"
DAILY = task_text(TASK, tick="24h", wait="60s")
# Takes no TERM, and always has a child.
BODY = "trap ': > ending' TERM; while [ ! -e release ]; do sleep 0.2 & wait $!; done"


def is_claim(kind, payload):
    return kind == MULTI and b"/runs/" in payload and b"running" in payload


def is_end(kind, payload):
    return kind == MULTI and b"/runs/" in payload and b"ended_at" in payload


class Story:
    """Two servers, the second of which leads, behind a proxy; and one run on it."""

    def __init__(self, fleet, zk, server, jobs):
        self.zk, self.fleet = zk, fleet
        self.proxy = Proxy(server.port)
        self.other = fleet.sidecar("a", version="1", tasks=[DAILY], session_timeout="6s")
        self.leader = fleet.sidecar("b", version="2", tasks=[DAILY], session_timeout="6s", zookeeper=self.proxy.address)
        wait_until(lambda: self.leader.leads(TASK), what="b leads")
        self.job = jobs(TASK)
        self.run = None

    def begin(self, body=BODY):
        self.run = self.job.run(self.leader, body=body, cwd=self.job.folder)

    def file(self, name):
        return self.job.folder / name

    def kill(self, victim):
        if victim == "sidecar":
            self.leader.kill()
        else:
            wait_until(lambda: self.killed(victim), what=f"the {victim} is there, and is killed")

    def killed(self, victim):
        """Whether it could be killed just now; the job's children come and go."""
        pid = self.run.pid
        for _ in range(("supervisor", "guard", "job", "child").index(victim)):
            pid = next(iter(children(pid)), None)
            if not pid:
                return False
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def states(self):
        return [msgpack.unpackb(self.zk.get("runs", TASK, t)[0])["state"] for t in self.zk.names("runs", TASK)]

    def close(self):
        self.proxy.close()

    def conclude(self, most_starts=1):
        """Checks what has to hold whoever was killed; and one more tick, for which both are asked."""
        assert len(self.job.lines("start")) <= most_starts
        wait_until(lambda: not self.job.alive(), what="no process of the job is left")
        if not self.leader.is_running():
            self.leader.start()
        started = len(self.job.lines("start"))
        next_tick(1)
        runs = [self.job.run(s, "--tick", "1s", "--wait", "30s") for s in (self.other, self.leader)]
        # If the two were asked in different seconds, these are two ticks: the one that does not lead waits in vain.
        codes = [r.wait()[0] for r in runs]
        assert sorted(codes) in ([0, 1], [0, 0]), codes
        assert len(self.job.lines("start")) == started + codes.count(0)
        self.job.check()
        self.job.wait_gone()


@pytest.fixture
def story(fleet, zk, server, jobs):
    made = Story(fleet, zk, server, jobs)
    yield made
    made.close()


@pytest.mark.parametrize("victim", ["supervisor", "sidecar"])
def test_while_it_waits_for_another(story, victim):
    run = story.job.run(story.other, "--wait", "5s")
    holds_for(lambda: run.process.poll() is None, 0.5, "it waits")
    if victim == "supervisor":
        run.signal(signal.SIGKILL)
        assert run.code() == -signal.SIGKILL
    else:
        story.other.kill()
        assert run.code() == 2
        story.other.start()
    assert not story.job.lines()
    story.conclude(most_starts=0)


@pytest.mark.parametrize("drop", [False, True], ids=["claimed", "not claimed"])
@pytest.mark.parametrize("victim", ["supervisor", "sidecar"])
def test_while_its_claim_is_on_its_way(story, victim, drop):
    rule = story.proxy.lose(is_claim, drop=drop, then="stall")
    story.begin(":")
    assert rule.applied.wait(60)
    standing = story.job.run(story.other, "--wait", "10s")
    story.kill(victim)
    if victim == "sidecar":
        story.proxy.drop()
    story.proxy.flow()
    if victim == "supervisor":
        assert story.run.code() == -signal.SIGKILL
    # The tick is known to be claimed, or the other runs it when it leads; or nobody but a dead one has asked.
    assert standing.code() in (0, 1)
    if victim == "sidecar":
        assert story.run.code() == 2
    story.conclude()
    if victim == "supervisor":
        wait_until(lambda: "running" not in story.states(), what="it is known not to run")


@pytest.mark.parametrize("stage", ["running", "ending"])
@pytest.mark.parametrize("victim,code,state", [
    ("supervisor", -signal.SIGKILL, "lost"), ("guard", 137, "lost"), ("sidecar", 2, "running"), ("job", 137, "failed"),
    ("child", 0, "ok")])
def test_while_its_job_runs(story, victim, code, state, stage):
    story.begin()
    pid = story.job.wait_started().pid
    wait_until(lambda: children(pid), what="it has a child, and so has set its trap before")
    if stage == "ending":
        story.run.signal(signal.SIGTERM)
        wait_until(story.file("ending").exists, what="the job has got its TERM")
    story.kill(victim)
    if victim == "child":
        holds_for(lambda: story.run.process.poll() is None, 0.5, "the job goes on")
        story.file("release").touch()
    assert story.run.code() == code
    wait_until(lambda: story.states() == [state], what=f"it is recorded as {state}")
    assert len(story.job.lines("end")) == (victim == "child")
    story.conclude()


@pytest.mark.parametrize("what,code", [(signal.SIGKILL, 137), (signal.SIGSTOP, 2)], ids=["killed", "stopped"])
def test_what_escaped_is_ended_and_what_was_there_before_is_not(story, what, code):
    """The guard is killed, or stopped until its lease is over; its shell had a child, with one of its own."""
    before = 'sh -c "sleep 300 & echo \\$! > below; wait" > /dev/null 2>&1 & echo $! > before; exec "$@"'
    script = story.job.script("setsid sh -c 'trap : TERM; echo $$ > escaped; sleep 300 & wait; wait' & wait")
    story.run = story.job.run(story.leader, before=["sh", "-c", before, "sh"], command=[script], cwd=story.job.folder)
    pids = {name: wait_until(lambda: story.file(name).exists() and story.file(name).read_text("ascii").strip(),
                             what=f"{name} is there") for name in ("before", "below", "escaped")}
    spared = [int(pids["before"]), int(pids["below"])]
    try:
        guard = next(p for p in children(story.run.pid) if p not in spared)
        escaped = [int(pids["escaped"]), *wait_until(lambda: children(int(pids["escaped"])), what="it has a child")]
        os.kill(guard, what)
        code_seen, _, err = story.run.wait()
        assert code_seen == code, err
        assert not any(is_running(p) for p in escaped)
        assert all(is_running(p) for p in spared)
        assert "may be alive" not in err
    finally:
        for pid in spared:
            os.kill(pid, signal.SIGKILL)
    story.conclude()


@pytest.mark.parametrize("drop", [False, True], ids=["recorded", "not recorded"])
@pytest.mark.parametrize("victim", ["supervisor", "guard", "sidecar"])
def test_while_its_end_is_being_recorded(story, victim, drop):
    rule = story.proxy.lose(is_end, drop=drop, then="stall")
    story.begin(":")
    assert rule.applied.wait(60)
    story.kill(victim)
    if victim == "sidecar":
        story.proxy.drop()
    story.proxy.flow()
    code = story.run.code()
    assert code == (-signal.SIGKILL if victim == "supervisor" else 0)
    # If the sidecar is gone, too, there is nobody to write the record.
    expected = "running" if victim == "sidecar" and drop else "ok"
    wait_until(lambda: story.states() == [expected], what=f"it is recorded as {expected}")
    story.conclude()

"""zkleader-check --once: the tick is claimed for the caller, and for nobody else in the fleet."""
import time

import msgpack
import pytest

from harness.jobs import next_tick
from harness.server import free_port
from harness.sidecar import task_text
from harness.waiting import wait_until

TASK = "nightly"
DAILY = task_text(TASK, tick="24h", wait="60s")


def start(fleet, zk, *names, task=DAILY, session_timeout="10s"):
    """A sidecar of each name; the last one leads."""
    sidecars = [fleet.sidecar(n, version=str(i + 1), tasks=[task], session_timeout=session_timeout)
                for i, n in enumerate(names)]
    wait_until(lambda: sidecars[-1].leads(TASK), what=f"{names[-1]} leads")
    wait_until(lambda: zk.leaders().get(TASK) == sidecars[-1].id, what="the others know it")
    return sidecars


def test_the_first_one_gets_the_tick_and_nobody_else_ever(fleet, zk, program):
    other, leader = start(fleet, zk, "a", "b")

    def once(sidecar, *options):
        outcome = program("zkleader-check", "-s", sidecar.socket, "--once", *options, TASK)
        return outcome.code, outcome.out, outcome.err

    before = int(time.time() * 1000)
    assert once(leader) == (0, "", "")
    assert [once(leader), once(other), once(leader, "-q")] == [(1, "", "")] * 3
    [tick] = zk.names("runs", TASK)
    record = msgpack.unpackb(zk.get("runs", TASK, tick)[0])
    assert (record["state"], record["attempt"], record["id"]) == ("claimed", 1, leader.id)
    assert record["token"] == zk.leader(TASK)[1] and record["started_at"] >= before
    assert not record.get("exit_status")
    code, out, _ = once(leader, "-v")
    assert code == 1 and out.count("\n") == 1 and tick in out
    # Another length is another tick, unless it begins at the same time.
    code, out, _ = once(leader, "-v", "--tick", "1s")
    assert code == 0 and out.count("\n") == 1 and str(record["token"]) in out
    assert len(zk.names("runs", TASK)) == 2


def test_who_does_not_lead_waits_no_longer_than_it_is_told_to(fleet, zk, program):
    other, _ = start(fleet, zk, "a", "b")
    outcome = program("zkleader-check", "-s", other.socket, "--once", "-w", "200ms", TASK)
    assert (outcome.code, outcome.out, outcome.err) == (1, "", "")
    assert zk.names("runs") == []


def test_it_steps_in_where_leadership_comes_with_the_tick_unclaimed(fleet, zk, program):
    other, leader = start(fleet, zk, "a", "b", session_timeout="2s")
    leader.kill()
    outcome = program("zkleader-check", "-s", other.socket, "--once", "-w", "60s", TASK)
    assert (outcome.code, outcome.err) == (0, "")
    assert len(zk.names("runs", TASK)) == 1


def test_on_crash_rerun_is_nothing_to_it(fleet, zk, program):
    # Nobody knows when what the caller does has ended, so nobody waits for that.
    other, leader = start(fleet, zk, "a", "b", task=task_text(TASK, tick="24h", wait="60s", on_crash="rerun"),
                          session_timeout="2s")
    assert program("zkleader-check", "-s", leader.socket, "--once", TASK).code == 0
    assert program("zkleader-check", "-s", other.socket, "--once", TASK).code == 1
    leader.kill()
    wait_until(lambda: other.leads(TASK), what="the other leads")
    assert program("zkleader-check", "-s", other.socket, "--once", TASK).code == 1


@pytest.mark.parametrize("options,what", [
    (["--once", "unknown"], "unknown"), (["--once", "--tick", "100ms", TASK], "tick"), (["--tick", "1m", TASK], "--once")])
def test_misuse_is_3_with_a_line(fleet, zk, program, options, what):
    [a] = start(fleet, zk, "a")
    outcome = program("zkleader-check", "-s", a.socket, *options)
    assert outcome.code == 3 and outcome.err.count("\n") == 1 and what in outcome.err
    assert zk.names("runs") == []


def test_it_cannot_tell_without_a_sidecar_or_a_server(fleet, zk, program, folder):
    a = fleet.sidecar("a", tasks=[DAILY], zookeeper=f"127.0.0.1:{free_port()}", ready=False)
    wait_until(a.listens, what="it listens")
    for socket in (a.socket, folder / "none"):
        outcome = program("zkleader-check", "-s", socket, "--once", "-w", "300ms", TASK)
        assert outcome.code == 2 and outcome.out == "" and outcome.err.count("\n") == 1
        outcome = program("zkleader-check", "-q", "-s", socket, "--once", "-w", "300ms", TASK)
        assert (outcome.code, outcome.out, outcome.err) == (2, "", "")


def test_two_at_the_same_moment_on_each_of_three_servers(fleet, zk, jobs):
    sidecars = start(fleet, zk, "a", "b", "c")
    job = jobs(TASK)
    for n in range(3):
        next_tick(1)
        runs = [job.once(s, "--tick", "1s") for s in sidecars for _ in range(2)]
        codes = [r.code() for r in runs]
        # More than one only where the clock went on to the next second meanwhile.
        assert 1 <= codes.count(0) and set(codes) == {0, 1}, (n, codes)
        assert len(zk.names("runs", TASK)) == sum(r.process.returncode == 0 for r in job.runs)

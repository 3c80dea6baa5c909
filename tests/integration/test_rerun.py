"""on-crash: a run whose node is lost is taken over where that is wanted, and nowhere else."""
import json
import os
import signal

import msgpack
import pytest

from harness.jobs import children
from harness.sidecar import task_text
from harness.waiting import holds_for, wait_until

TASK = "nightly"
RERUN = task_text(TASK, tick="24h", wait="2s", on_crash="rerun")
SKIP = task_text(TASK, tick="24h", wait="60s", on_crash="skip")
FOR_EVER = "while :; do sleep 0.1; done"


def start(fleet, zk, *names, task=RERUN, session_timeout="6s"):
    """A sidecar of each name; the last one leads, as it has the newest version."""
    sidecars = [fleet.sidecar(n, version=str(i + 1), tasks=[task], session_timeout=session_timeout)
                for i, n in enumerate(names)]
    wait_until(lambda: sidecars[-1].leads(TASK), what=f"{names[-1]} leads")
    wait_until(lambda: zk.leaders().get(TASK) == sidecars[-1].id, what="the others know it")
    return sidecars


def record(zk):
    [tick] = zk.names("runs", TASK)
    return msgpack.unpackb(zk.get("runs", TASK, tick)[0])


def stand_by(job, *sidecars, **kwargs):
    runs = [job.run(s, **kwargs) for s in sidecars]
    # For longer than their wait: they stay for as long as another runs it.
    holds_for(lambda: all(r.process.poll() is None for r in runs), 3, "they stand by")
    return runs


def attempts(job):
    return [(line.attempt, line.worker) for line in job.lines("start")]


def test_a_run_whose_node_dies_is_taken_over_by_one_that_stands_by(fleet, zk, jobs):
    a, b, leader = start(fleet, zk, "a", "b", "c")
    job = jobs(TASK)
    first = job.run(leader, body=FOR_EVER)
    line = job.wait_started()
    standing = stand_by(job, a, b)
    leader.kill()
    # Sidecar b runs it, and a stands by until it has ended.
    assert [r.wait() for r in standing[1:]] == [(0, "", "")]
    assert [r.wait() for r in standing[:1]] == [(1, "", "")]
    assert first.code() == 2
    second = job.lines("start")[1]
    assert attempts(job) == [(1, line.worker), (2, b.id)]
    assert second.tick == line.tick and second.token > line.token
    assert (record(zk)["state"], record(zk)["attempt"], record(zk)["id"]) == ("ok", 2, b.id)
    assert job.run(a).code() == 1, "what has finished is never run again"
    job.check()


def test_it_goes_to_who_stands_by_and_not_to_the_best(fleet, zk, jobs, program):
    a, b, leader = start(fleet, zk, "a", "b", "c")
    job = jobs(TASK)
    job.run(leader, body=FOR_EVER)
    job.wait_started()
    [standing] = stand_by(job, a, body="while [ ! -e done ]; do sleep 0.1; done", cwd=job.folder)
    leader.kill()
    job.wait_started(2)
    assert attempts(job)[1] == (2, a.id)
    holds_for(lambda: a.leads(TASK), 1, "the task stays where its job runs")
    explained = json.loads(program("zkleader", "-s", b.socket, "--json", "explain", TASK).out)
    assert explained["state"] == "following"
    (job.folder / "done").touch()
    assert standing.wait() == (0, "", "")
    wait_until(lambda: b.leads(TASK), what="the best leads again when it is done")
    assert zk.names("policy") == []
    job.check()


@pytest.mark.parametrize("killed", ["zkleader run", "the guard", "both", "all with the job"])
def test_a_run_whose_supervisor_is_killed_is_taken_over_although_its_node_lives(fleet, zk, jobs, killed):
    a, leader = start(fleet, zk, "a", "b")
    job = jobs(TASK)
    first = job.run(leader, body=FOR_EVER)
    line = job.wait_started()
    [standing] = stand_by(job, a)
    [guard] = children(first.pid)
    victims = {"zkleader run": [first.pid], "the guard": [guard], "both": [first.pid, guard],
               "all with the job": [first.pid, guard, line.pid]}[killed]
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    assert standing.wait() == (0, "", "")
    assert attempts(job) == [(1, leader.id), (2, a.id)]
    assert job.lines("start")[1].token > line.token
    assert (record(zk)["state"], record(zk)["attempt"]) == ("ok", 2)
    wait_until(lambda: leader.leads(TASK), what="the best leads again")
    assert job.run(leader).code() == 1
    job.check()


def test_it_is_taken_over_by_the_same_node_where_that_stands_by(fleet, zk, jobs):
    [a] = start(fleet, zk, "a")
    job = jobs(TASK)
    first = job.run(a, body=FOR_EVER)
    job.wait_started()
    [standing] = stand_by(job, a)
    first.signal(signal.SIGKILL)
    assert standing.wait() == (0, "", "")
    assert attempts(job) == [(1, a.id), (2, a.id)]
    assert len({line.token for line in job.lines("start")}) == 1
    job.check()


def test_a_sidecar_that_is_stopped_loses_its_run_and_does_not_begin_it_again(fleet, zk, jobs):
    a, leader = start(fleet, zk, "a", "b")
    job = jobs(TASK)
    first = job.run(leader, body="trap '' TERM; " + FOR_EVER)
    job.wait_started()
    [standing] = stand_by(job, a)
    leader.pause()
    assert standing.wait() == (0, "", "")
    code, _, err = first.wait()
    assert code == 2 and "the leadership of nightly was lost" in err
    leader.resume()
    wait_until(lambda: leader.leads(TASK), what="the best leads again")
    assert job.run(leader).code() == 1
    assert [n for n, _ in attempts(job)] == [1, 2]
    assert (record(zk)["state"], record(zk)["id"]) == ("ok", a.id)
    job.check()


def test_it_is_run_until_it_comes_to_its_end(fleet, zk, jobs):
    sidecars = start(fleet, zk, "a", "b", "c")
    job = jobs(TASK)
    job.run(sidecars.pop(), body=FOR_EVER)
    job.wait_started()
    standing = stand_by(job, *sidecars, body='[ "$ZKLEADER_ATTEMPT" = 3 ] && exit 9; ' + FOR_EVER)
    fleet.sidecars[2].kill()
    job.wait_started(2)
    fleet.sidecars[1].kill()
    assert standing[0].wait() == (9, "", "")
    assert standing[1].code() == 2
    assert [n for n, _ in attempts(job)] == [1, 2, 3]
    # The run failed, but it has finished.
    assert (record(zk)["state"], record(zk)["exit_status"], record(zk)["attempt"]) == ("failed", 9, 3)
    job.check()


@pytest.mark.parametrize("code,state", [(0, "ok"), (3, "failed")])
def test_who_stands_by_goes_when_the_run_has_finished(fleet, zk, jobs, code, state):
    a, leader = start(fleet, zk, "a", "b")
    job = jobs(TASK)
    first = job.run(leader, body=f"while [ ! -e done ]; do sleep 0.1; done; exit {code}", cwd=job.folder)
    job.wait_started()
    [standing] = stand_by(job, a)
    (job.folder / "done").touch()
    assert first.wait() == (code, "", "")
    assert standing.wait() == (1, "", "")
    assert attempts(job) == [(1, leader.id)]
    assert record(zk)["state"] == state


def test_who_stands_by_outlasts_an_outage_of_its_own(fleet, zk, jobs, proxy):
    """Its wait is over long since; but whether the other run goes on it cannot know for now."""
    a = fleet.sidecar("a", version="1", tasks=[RERUN], session_timeout="6s", zookeeper=proxy.address)
    leader = fleet.sidecar("b", version="2", tasks=[RERUN], session_timeout="6s")
    zk.wait_for_leader(TASK, leader)
    wait_until(lambda: len(a.call("workers")) == 2, what="it knows the other")
    job = jobs(TASK)
    first = job.run(leader, body="while [ ! -e done ]; do sleep 0.1; done", cwd=job.folder)
    job.wait_started()
    [standing] = stand_by(job, a)
    proxy.stall()
    wait_until(lambda: a.status()["session"]["state"] != "connected", what="it is cut off")
    holds_for(lambda: standing.process.poll() is None, 1, "it stands by on")
    proxy.flow()
    a.wait_connected(60)
    assert standing.process.poll() is None
    (job.folder / "done").touch()
    assert first.wait() == (0, "", "")
    assert standing.wait() == (1, "", "")
    assert attempts(job) == [(1, leader.id)]


def test_with_skip_it_is_lost_and_not_run_again(fleet, zk, jobs, program):
    a, leader = start(fleet, zk, "a", "b", task=SKIP)
    job = jobs(TASK)
    first = job.run(leader, body=FOR_EVER)
    job.wait_started()
    assert job.run(a).wait() == (1, "", ""), "nobody stands by"
    leader.kill()
    assert first.code() == 2
    wait_until(lambda: a.leads(TASK), what="the other leads")
    assert job.run(a).wait() == (1, "", "")
    assert len(job.lines("start")) == 1
    [shown] = json.loads(program("zkleader", "-s", a.socket, "--json", "history", TASK).out)
    assert (shown["state"], shown["attempt"]) == ("lost", 1)
    job.check()

"""zkleader run: one run of a tick in the whole fleet, and what the job sees of it."""
import os
import pathlib
import pty
import re
import signal
import subprocess
import time

import msgpack
import pytest

from harness.jobs import children
from harness.process import spawn
from harness.rpc import RpcError
from harness.proxy import MULTI, Proxy
from harness.sidecar import build, task_text
from harness.waiting import holds_for, wait_until

TASK = "nightly"
DAY_MS = 24 * 3600 * 1000
# A tick that is so long that all of a test is in one.
DAILY = task_text(TASK, tick="24h")


# Without kills, a busy machine may be late by seconds without a lease being lost.
def start(fleet, zk, *names, task=DAILY, session_timeout="10s", **config):
    """A sidecar of each name; the last one leads, as it has the newest version."""
    sidecars = [fleet.sidecar(n, version=str(i + 1), tasks=[task], session_timeout=session_timeout, **config)
                for i, n in enumerate(names)]
    wait_until(lambda: sidecars[-1].leads(TASK), what=f"{names[-1]} leads")
    wait_until(lambda: zk.leaders().get(TASK) == sidecars[-1].id, what="the others know it")
    return sidecars


def record(zk, tick=None):
    """The record of a tick, or of the only one."""
    ticks = zk.names("runs", TASK)
    if not tick:
        assert len(ticks) == 1, ticks
    return msgpack.unpackb(zk.get("runs", TASK, tick or ticks[0])[0])


def is_claim_of_tick(kind, payload):
    return kind == MULTI and b"/runs/" in payload and b"running" in payload


def is_end_of_run(kind, payload):
    return kind == MULTI and b"/runs/" in payload and b"ended_at" in payload


# --- what the job sees, and what is said of it


def test_the_job_has_its_environment_and_the_run_its_record(fleet, zk, jobs):
    [a] = start(fleet, zk, "a")
    job = jobs(TASK)
    before = int(time.time() * 1000)
    assert job.run(a, body="exit 7").wait() == (7, "", "")
    [line] = job.lines()
    worker = zk.workers()[a.id]
    [tick] = zk.names("runs", TASK)
    assert (line.task, line.tick, line.attempt, line.worker) == (TASK, tick, 1, a.id)
    assert (line.token, line.version) == (zk.leader(TASK)[1], worker["version"])
    today = before // DAY_MS * DAY_MS // 1000
    assert tick in [time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime(t)) for t in (today, today + 86400)]
    found = record(zk)
    assert (found["state"], found["exit_status"], found["id"]) == ("failed", 7, a.id)
    assert (found["token"], found["attempt"], found["hostname"]) == (line.token, 1, worker["hostname"])
    assert before <= found["started_at"] <= found["ended_at"]


@pytest.mark.parametrize("body,code,state", [
    ("exit 0", 0, "ok"), ("exit 255", 255, "failed"), ("kill -TERM $$", 143, "failed"), ("kill -KILL $$", 137, "failed")])
def test_the_exit_code_is_that_of_a_shell(fleet, zk, jobs, body, code, state):
    [a] = start(fleet, zk, "a")
    assert jobs(TASK).run(a, body=body).wait() == (code, "", "")
    assert (record(zk)["state"], record(zk)["exit_status"]) == (state, code)


def test_standard_streams_are_the_jobs_own(fleet, zk, jobs, folder):
    [a] = start(fleet, zk, "a")
    (folder / "in").write_text("from outside\n", encoding="ascii")
    with open(folder / "in", "rb") as stdin:
        run = jobs(TASK).run(a, body="cat; echo told; echo wrong >&2", stdin=stdin)
        assert run.wait() == (0, "from outside\ntold\n", "wrong\n")


def test_a_command_that_is_not_there_has_had_its_tick(fleet, zk, jobs):
    [a] = start(fleet, zk, "a")
    code, _, err = jobs(TASK).run(a, command=["/nowhere/at-all"]).wait()
    assert code == 127 and "/nowhere/at-all" in err
    assert (record(zk)["state"], record(zk)["exit_status"]) == ("failed", 127)


# --- once in the whole fleet


def test_a_tick_is_run_once_and_the_others_are_told_as_soon_as_it_is_claimed(fleet, zk, jobs):
    *others, leader = start(fleet, zk, "a", "b", "c", task=task_text(TASK, tick="24h", wait="60s"))
    job = jobs(TASK)
    waiting = [job.run(s, *options) for s, options in zip(others, [(), ("-E", "0")])]
    holds_for(lambda: all(r.process.poll() is None for r in waiting), 0.5, "they wait for the leader")
    running = job.run(leader, body="while [ ! -e done ]; do sleep 0.1; done", cwd=job.folder)
    assert [r.wait() for r in waiting] == [(1, "", ""), (0, "", "")]
    assert running.process.poll() is None, "they did not wait for the end of the run"
    # And so is who comes later, on any of them.
    assert [job.run(s).wait() for s in (*others, leader)] == [(1, "", "")] * 3
    (job.folder / "done").touch()
    assert running.code() == 0
    assert [line.worker for line in job.lines("start")] == [leader.id]
    job.check()


def test_who_does_not_lead_steps_in_when_leadership_comes_with_the_tick_unclaimed(fleet, zk, jobs):
    other, leader = start(fleet, zk, "a", "b", task=task_text(TASK, tick="24h", wait="60s"), session_timeout="4s")
    job = jobs(TASK)
    run = job.run(other)
    holds_for(lambda: run.process.poll() is None, 0.5, "it waits")
    leader.kill()
    assert run.wait() == (0, "", "")
    assert [line.worker for line in job.lines("start")] == [other.id]


def test_who_does_not_lead_gives_up_when_its_wait_is_over(fleet, zk, jobs):
    other, _ = start(fleet, zk, "a", "b")
    job = jobs(TASK)
    code, out, err = job.run(other, "--wait", "300ms").wait()
    assert (code, out) == (1, "") and "did not claim the tick" in err
    assert job.run(other, "--wait", "0s", "-E", "42").wait() == (42, "", ""), "without a wait nothing is known"
    assert zk.names("runs") == [] and not job.lines()


def test_a_tick_that_its_leader_lets_pass_is_told_by_those_that_waited(fleet, zk, jobs):
    """The leader's cron is off: nobody runs the job, and that is not silent."""
    task = task_text(TASK, tick="1s", wait="400ms")
    waiters = [fleet.sidecar(n, version=v, tasks=[task]) for n, v in (("c", "1.3"), ("b", "1.2"), ("a", "1.1"))]
    leader = fleet.sidecar("leader", version="2", tasks=[task])
    zk.wait_for_leader(TASK, leader)
    wait_until(lambda: all(w.check(TASK)["led_by"] and len(w.call("workers")) == 4 for w in waiters), what="all know")
    job = jobs(TASK)
    outcomes = [r.wait() for r in [job.run(w, "-E", "7") for w in waiters]]
    assert [code for code, _, _ in outcomes] == [7, 7, 7] and not job.lines()
    [name] = [re.escape(w["node"]) for w in leader.call("workers") if w["self"]]
    for _, out, err in outcomes[:2]:
        assert out == "" and re.fullmatch(
            rf"zkleader: tick \S+ of {TASK} was not run: {name} leads it and did not claim the tick; "
            r"is cron running there, with the same line\?\n", err), err
    assert outcomes[2][1:] == ("", ""), "two say it, the best in rank beside the leader"
    for w in waiters:
        [line] = [x for x in w.log().splitlines() if "tick not claimed" in x]
        assert " warning " in line and re.search(f"leader={name} ", line) and "in_a_row=1" in line


def an_hour_ago():
    """A wall clock whose minutes from then on are all over: a tick ahead of its time is refused."""
    return (int(time.time()) - 3600) * 1000


def once(sidecar, at, **options):
    """The outcome of a claim at that time; "older" than the oldest kept is a refusal with a line."""
    try:
        return sidecar.call("claim", TASK, {"kind": "once", "now_ms": at, **options})["outcome"]
    except RpcError as error:
        assert error.code == 2 and "older than" in str(error), error
        return "older"


def test_of_ticks_in_a_row_that_nobody_claims_the_log_has_fewer_and_fewer(fleet, zk, jobs):
    task = task_text(TASK, tick="1s", wait="50ms")
    other = fleet.sidecar("other", version="1", tasks=[task])
    leader = fleet.sidecar("leader", version="2", tasks=[task])
    zk.wait_for_leader(TASK, leader)
    wait_until(lambda: other.check(TASK)["led_by"], what="the other knows")
    now = an_hour_ago()

    def claim(sidecar, at):
        return sidecar.call("claim", TASK, {"kind": "run", "now_ms": at})["outcome"]

    def rows():
        return [int(n) for n in re.findall(r"tick not claimed .* in_a_row=(\d+)", other.log())]

    for i in range(9):
        for _ in range(2):  # the same tick again is no other
            assert claim(other, now + i * 1000) == "waited"
    assert rows() == [1, 2, 4, 8]
    # A claimed tick ends the row.
    assert claim(leader, now + 60_000) == "yours" and claim(other, now + 60_000) == "taken"
    assert claim(other, now + 61_000) == "waited"
    assert rows() == [1, 2, 4, 8, 1]


def test_a_tick_that_is_older_than_the_oldest_kept_counts_as_claimed(fleet, zk):
    other, leader = start(fleet, zk, "a", "b", task=task_text(TASK, tick="1m", wait="60s", history=3))
    now = an_hour_ago()
    minutes = [now + i * 60_000 for i in range(6)]

    def claim(sidecar, at, **options):
        return once(sidecar, at, **options)

    assert [claim(leader, m) for m in minutes] == ["yours"] * 6
    kept = zk.names("runs", TASK)
    assert len(kept) == 3 and zk.get("runs", TASK)[0].decode() == kept[0], "pruned to the last three"
    # Both answer at once, long before the wait is over.
    assert [claim(s, at) for s in (leader, other) for at in (now - 60_000, *minutes)] == \
        (["older"] * 4 + ["taken"] * 3) * 2
    assert claim(other, now + 600_000, wait_ms=0) == "waited"
    # A host whose clock is late, but not by that much, has a tick of its own: nobody has claimed it.
    assert claim(leader, now + 660_000) == "yours"
    assert claim(leader, now + 600_000) == "yours"


def test_what_was_pruned_does_not_come_back_with_another_leader(fleet, zk):
    other, leader = start(fleet, zk, "a", "b", task=task_text(TASK, tick="1m", history=2), session_timeout="4s")
    now = an_hour_ago()

    def claim(sidecar, minute):
        return once(sidecar, now + minute * 60_000)

    assert [claim(leader, m) for m in range(4)] == ["yours"] * 4
    leader.kill()
    wait_until(lambda: other.leads(TASK), what="the other leads")
    assert [claim(other, m) for m in range(4)] == ["older"] * 2 + ["taken"] * 2
    # Nor when the records are gone altogether: what pruning has left is remembered.
    for tick in zk.names("runs", TASK):
        zk.client.delete(zk.path("runs", TASK, tick))
    wait_until(lambda: claim(other, 0) == "older")
    assert [claim(other, m) for m in (1, 5, 4)] == ["older", "yours", "older"]


def test_a_record_that_cannot_be_pruned_stops_nobody(fleet, zk):
    [a] = start(fleet, zk, "a", task=task_text(TASK, tick="1m", history=2))
    now = an_hour_ago()

    def claim(minute):
        return once(a, now + minute * 60_000)

    assert [claim(m) for m in range(2)] == ["yours"] * 2
    zk.client.create(zk.path("runs", TASK, zk.names("runs", TASK)[0], "child"))
    assert [claim(m) for m in (2, 3)] == ["yours"] * 2
    a.wait_log("ledger not pruned")
    zk.client.delete(zk.path("runs", TASK, zk.names("runs", TASK)[0], "child"))
    assert claim(4) == "yours"
    assert len(zk.names("runs", TASK)) == 2


def test_a_ledger_that_others_have_written_to_is_read_again(fleet, zk):
    [a] = start(fleet, zk, "a", task=task_text(TASK, tick="1m", history=3))
    now = an_hour_ago()

    def claim(minute):
        return once(a, now + minute * 60_000)

    assert [claim(m) for m in range(3)] == ["yours"] * 3
    zk.client.set(zk.path("runs", TASK), b"")  # as pruning elsewhere would
    for tick in zk.names("runs", TASK)[:2]:
        zk.client.delete(zk.path("runs", TASK, tick))
    later = time.strftime("%Y-%m-%dT%H:%M:00Z", time.gmtime(now / 1000 + 180))
    zk.put(b"no record", "runs", TASK, later, ephemeral=False)
    assert claim(3) == "taken", "somebody else's, whatever it is"
    assert [claim(m) for m in (4, 5, 6)] == ["yours"] * 3
    assert len(zk.names("runs", TASK)) == 3


def test_a_node_that_does_not_lead_costs_two_requests_a_tick(fleet, zk, server, jobs):
    seen = []

    def is_of_runs(kind, payload):
        if b"/runs" in payload and kind != 18:  # the removal of a watch, once its tick is decided
            seen.append(payload)
        return False

    with Proxy(server.port) as proxy:
        proxy.lose(is_of_runs)
        leader = fleet.sidecar("b", version="2", tasks=[DAILY], session_timeout="10s")
        wait_until(lambda: leader.leads(TASK), what="it leads")
        other = fleet.sidecar("a", version="1", tasks=[DAILY], zookeeper=proxy.address, session_timeout="10s")
        wait_until(lambda: other.check(TASK)["led_by"], what="the other knows it")
        job = jobs(TASK)
        waiting = job.run(other)
        wait_until(lambda: len(seen) == 2, what="it has looked, and waits")
        assert job.run(leader).code() == 0
        assert waiting.code() == 1
        assert len(seen) == 2
        assert job.run(other).code() == 1
        assert len(seen) == 3, "a tick that is claimed already costs one"


def test_nobody_can_tell_while_there_is_no_sidecar_or_no_server(fleet, own_server, zk, jobs):
    own_server.start()
    [a] = start(fleet, zk, "a", session_timeout="4s")
    job = jobs(TASK)
    own_server.kill()
    wait_until(lambda: not a.leads(TASK), what="the lease is over")
    code, out, err = job.run(a, "--wait", "500ms").wait()
    assert (code, out) == (2, "") and err.startswith("zkleader: cannot tell: ") and err.count("\n") == 1
    a.kill()
    # Somebody may be starting it again; where there never was one, nobody waits for long.
    for options in (("--wait", "1s"), ()):
        code, out, err = job.run(a, *options).wait()
        assert (code, out) == (2, "") and err.count("\n") == 1
        a.socket.unlink(missing_ok=True)
    assert not job.lines()


def test_without_a_tick_there_is_no_ledger_but_the_hold(fleet, zk, jobs):
    old, = start(fleet, zk, "a")
    job = jobs(TASK)
    assert job.run(old, "--tick", "none", command=["true"]).code() == 0
    run = job.run(old, "--tick", "none", body="while [ ! -e done ]; do sleep 0.1; done", cwd=job.folder)
    job.wait_started()
    new = fleet.sidecar("b", version="2", tasks=[DAILY], session_timeout="10s")
    holds_for(lambda: not new.leads(TASK), 1, "the task is held")
    (job.folder / "done").touch()
    assert run.code() == 0
    wait_until(lambda: new.leads(TASK), what="it is handed over after the run")
    assert [line.tick for line in job.lines("start")] == ["-"] and zk.names("runs") == []


# --- the hold


def test_a_task_stays_where_its_job_runs_while_the_others_move(fleet, zk, jobs):
    tasks = [DAILY, "cleanup", "mail"]
    old = fleet.sidecar("old", version="1", tasks=tasks, session_timeout="10s")
    wait_until(lambda: old.status()["leads"] == 3, what="the old one leads all")
    job = jobs(TASK)
    run = job.run(old, body="while [ ! -e done ]; do sleep 0.1; done", cwd=job.folder)
    job.wait_started()
    new = fleet.sidecar("new", version="2", tasks=tasks, session_timeout="10s")
    wait_until(lambda: new.status()["leads"] == 2, what="the new one leads the others")
    holds_for(lambda: old.leads(TASK), 2, "the task of the job stays")
    (job.folder / "done").touch()
    assert run.code() == 0
    wait_until(lambda: new.leads(TASK), what="it goes when the job has ended")
    assert record(zk)["state"] == "ok"


@pytest.mark.parametrize("ends", ["by TERM", "by KILL alone"])
def test_a_job_that_is_held_for_too_long_is_dead_before_another_leads(fleet, zk, jobs, ends):
    task = task_text(TASK, tick="24h", hold_max="3s")
    old = fleet.sidecar("old", version="1", tasks=[task], session_timeout="10s")
    wait_until(lambda: old.leads(TASK), what="the old one leads")
    job = jobs(TASK)
    trap = "trap '' TERM; " if ends == "by KILL alone" else ""
    run = job.run(old, body=f"{trap}while :; do sleep 0.05; done")
    job.wait_started()
    # As long as there is no better one, it may go on.
    holds_for(lambda: run.process.poll() is None and old.leads(TASK), 5, "the job goes on")
    new = fleet.sidecar("new", version="2", tasks=[task], session_timeout="10s")
    wait_until(lambda: new.leads(TASK), what="the new one leads")
    assert not job.alive()
    code, _, err = run.wait()
    assert code == 2 and "the leadership of nightly was lost" in err
    wait_until(lambda: record(zk)["state"] == "lost", what="it is recorded")
    job.check()


# --- stopping the sidecar


def test_a_sidecar_that_is_told_to_go_finishes_its_jobs_and_leaves_all_else_at_once(fleet, zk, jobs):
    tasks = [task_text(TASK, tick="24h", wait="60s"), "cleanup"]
    other = fleet.sidecar("a", version="1", tasks=tasks, session_timeout="20s")
    leader = fleet.sidecar("b", version="2", tasks=tasks, session_timeout="20s")
    wait_until(lambda: leader.status()["leads"] == 2, what="b leads")
    job = jobs(TASK)
    run = job.run(leader, body="while [ ! -e done ]; do sleep 0.1; done", cwd=job.folder)
    job.wait_started()
    leader.expected_exit = True
    leader.signal(signal.SIGTERM)
    wait_until(lambda: other.leads("cleanup"), 15, "the other task moves long before a session would expire")
    holds_for(lambda: leader.is_running() and not other.leads(TASK), 1, "the job goes on")
    (job.folder / "done").touch()
    assert run.wait() == (0, "", "")
    assert leader.wait_exit(20) == 0
    assert record(zk)["state"] == "ok"
    wait_until(lambda: other.leads(TASK), 15, "and then its task moves as well")
    assert job.run(other).code() == 1


# --- answers that are lost


@pytest.mark.parametrize("drop", [False, True], ids=["its answer", "itself"])
def test_a_claim_that_is_lost_is_resolved_before_anything_starts(fleet, zk, server, jobs, drop):
    with Proxy(server.port) as proxy:
        [a] = start(fleet, zk, "a", zookeeper=proxy.address)
        rule = proxy.lose(is_claim_of_tick, drop=drop, then="close")
        job = jobs(TASK)
        assert job.run(a).wait() == (0, "", "")
        assert rule.applied.wait(10)
        assert len(job.lines("start")) == 1
        assert (record(zk)["state"], record(zk)["attempt"]) == ("ok", 1)
        assert job.run(a).code() == 1


@pytest.mark.parametrize("drop", [False, True], ids=["its answer", "itself"])
def test_the_end_of_a_run_that_is_lost_is_recorded_all_the_same(fleet, zk, server, jobs, drop):
    with Proxy(server.port) as proxy:
        [a] = start(fleet, zk, "a", zookeeper=proxy.address)
        rule = proxy.lose(is_end_of_run, drop=drop, then="close")
        job = jobs(TASK)
        assert job.run(a, body="exit 3").wait() == (3, "", "")
        assert rule.applied.wait(10)
        assert (record(zk)["state"], record(zk)["exit_status"]) == ("failed", 3)


def test_a_claim_whose_answer_is_lost_together_with_the_session_is_never_run_twice(fleet, zk, server, jobs):
    task = task_text(TASK, tick="24h", wait="60s")
    other = fleet.sidecar("a", version="1", tasks=[task], session_timeout="4s")
    with Proxy(server.port) as proxy:
        leader = fleet.sidecar("b", version="2", tasks=[task], zookeeper=proxy.address, session_timeout="4s")
        wait_until(lambda: leader.leads(TASK), what="b leads")
        rule = proxy.lose(is_claim_of_tick, then="stall")
        job = jobs(TASK)
        mine = job.run(leader)
        assert rule.applied.wait(60)
        theirs = job.run(other)
        wait_until(lambda: other.leads(TASK), what="the session of the first has ended")
        assert theirs.wait() == (1, "", ""), "the tick is claimed, whether it was run or not"
        proxy.flow()
        code, _, err = mine.wait()
        assert code == 2 and err.count("\n") == 1
        assert not job.lines("start")
        wait_until(lambda: record(zk)["state"] == "lost", what="it is recorded")


# --- a sidecar that is started again


def test_a_sidecar_that_is_started_again_claims_what_was_asked_for_meanwhile(fleet, zk, jobs):
    other, leader = start(fleet, zk, "a", "b", task=task_text(TASK, tick="24h", wait="60s"))
    token = zk.leader(TASK)[1]
    job = jobs(TASK)
    waiting = job.run(other)
    leader.kill()
    run = job.run(leader)
    holds_for(lambda: run.process.poll() is None, 0.5, "it waits for its sidecar")
    leader.start()
    assert run.wait() == (0, "", "")
    assert waiting.wait() == (1, "", "")
    [line] = job.lines("start")
    assert line.token == token, "nothing has moved"
    assert record(zk)["state"] == "ok"


@pytest.mark.parametrize("drop", [False, True], ids=["with its answer", "with itself"])
def test_a_claim_that_is_lost_with_its_sidecar_is_resolved_by_the_next(fleet, zk, server, jobs, drop):
    task = task_text(TASK, tick="24h", wait="60s")
    other = fleet.sidecar("a", version="1", tasks=[task], session_timeout="10s")
    with Proxy(server.port) as proxy:
        leader = fleet.sidecar("b", version="2", tasks=[task], zookeeper=proxy.address, session_timeout="10s")
        wait_until(lambda: leader.leads(TASK), what="b leads")
        rule = proxy.lose(is_claim_of_tick, drop=drop, then="stall")
        job = jobs(TASK)
        runs = [job.run(leader), job.run(other)]
        assert rule.applied.wait(60)
        leader.kill()
        proxy.drop()
        proxy.flow()
        leader.start()
        assert [r.wait() for r in runs] == [(0, "", ""), (1, "", "")]
        assert len(job.lines("start")) == 1
        assert (record(zk)["state"], record(zk)["attempt"]) == ("ok", 1)


@pytest.mark.parametrize("on_crash", ["skip", "rerun"])
def test_a_run_is_lost_when_its_sidecar_is_killed_and_started_again_too_late(fleet, zk, jobs, on_crash):
    task = task_text(TASK, tick="24h", wait="60s", on_crash=on_crash)
    other, leader = start(fleet, zk, "a", "b", task=task, session_timeout="4s")
    job = jobs(TASK)
    first = job.run(leader, body="trap '' TERM; while :; do sleep 0.1; done")
    job.wait_started()
    standing = job.run(other)
    new = fleet.sidecar("c", version="3", tasks=[task], session_timeout="4s", ready=False)
    leader.kill()
    # The job is ended with its lease, which is before the session can.
    code, _, err = first.wait()
    assert code == 2 and "was lost" in err
    leader.start()
    wait_until(lambda: record(zk)["state"] != "running", what="it is found to be lost")
    if on_crash == "skip":
        assert standing.wait() == (1, "", "")
        assert (record(zk)["state"], record(zk)["attempt"]) == ("lost", 1)
    else:
        assert standing.wait() == (0, "", "")
        assert (record(zk)["state"], record(zk)["attempt"]) == ("ok", 2)
    wait_until(lambda: new.leads(TASK), what="the best leads")
    job.check()


@pytest.mark.parametrize("on_crash", ["skip", "rerun"])
def test_a_job_that_ends_while_its_sidecar_is_away_is_recorded_by_the_next(fleet, zk, jobs, on_crash):
    task = task_text(TASK, tick="24h", wait="60s", on_crash=on_crash)
    other, leader = start(fleet, zk, "a", "b", task=task)
    job = jobs(TASK)
    run = job.run(leader, body="while [ ! -e done ]; do sleep 0.1; done; exit 3", cwd=job.folder)
    job.wait_started()
    standing = job.run(other)
    leader.kill()
    (job.folder / "done").touch()
    wait_until(lambda: job.lines("start") and not job.alive(), what="the job has ended")
    holds_for(lambda: run.process.poll() is None, 0.5, "its end is to be recorded yet")
    leader.start()
    assert run.wait() == (3, "", "")
    assert (record(zk)["state"], record(zk)["exit_status"], record(zk)["attempt"]) == ("failed", 3, 1)
    assert standing.wait() == (1, "", "")
    assert len(job.lines("start")) == 1


def test_the_guard_may_be_killed_after_a_restart(fleet, zk, jobs):
    [a] = start(fleet, zk, "a")
    job = jobs(TASK)
    run = job.run(a, body="sleep 60")
    job.wait_started()
    a.kill()
    a.start()
    wait_until(lambda: "the supervisor of a run is back" in a.log(), what="it is known again")
    [guard] = [p for p in children(run.pid)]
    os.kill(guard, signal.SIGKILL)
    code, _, err = run.wait()
    assert code == 137 and "guard" in err
    assert record(zk)["state"] == "lost"


def test_who_attaches_is_told_what_is_wrong(fleet, zk, jobs):
    [a] = start(fleet, zk, "a")
    run = jobs(TASK).run(a, body="sleep 60")
    jobs(TASK).wait_started()
    for params, words in [((), "takes a task and the id"), ((TASK,), "takes a task and the id"),
                          (("no-such", "1"), "unknown task"), ((TASK, ""), "not the id of a claim"),
                          ((TASK, "a b"), "not the id of a claim"), ((TASK, 7), "not the id of a claim"),
                          ((TASK, "x" * 200), "not the id of a claim"), ((TASK, "0" * 32), "no such run"),
                          ((TASK, record(zk)["run"]), "no such run")]:
        with pytest.raises(RpcError) as error:
            a.call("attach", *params)
        assert error.value.code == 3 and words in error.value.message, params
    run.signal(signal.SIGTERM)
    assert run.code() == 143


# --- one after the other


def test_two_runs_of_a_task_do_not_overlap(fleet, zk, jobs):
    [a] = start(fleet, zk, "a")
    job = jobs(TASK)
    first = job.run(a, body="while [ ! -e done ]; do sleep 0.1; done", cwd=job.folder)
    job.wait_started()
    code, _, err = job.run(a, "--tick", "1s", "--wait", "1s", "-E", "9").wait()
    assert code == 9 and err == f"zkleader: not begun: the run of {TASK} before this one goes on\n"
    assert len(zk.names("runs", TASK)) == 1, "that tick is not claimed"
    second = job.run(a, "--tick", "none", "--wait", "60s")
    wait_until(lambda: len(os.listdir(f"/proc/{second.pid}/fd")) > 4, what="it asks")
    holds_for(lambda: second.process.poll() is None, 1, "it waits")
    third = job.run(a, "--tick", "1s", "--wait", "60s")
    holds_for(lambda: third.process.poll() is None, 1, "this one as well")
    assert len(job.lines("start")) == 1
    (job.folder / "done").touch()
    assert [r.wait() for r in (first, second, third)] == [(0, "", "")] * 3
    assert [line.tick == "-" for line in job.lines("start")] == [False, True, False], "in their order"
    job.check()


def test_runs_of_a_task_overlap_where_that_is_allowed(fleet, zk, jobs):
    [a] = start(fleet, zk, "a", task=task_text(TASK, tick="24h", overlap="allow"))
    job = jobs(TASK)
    body = "while [ ! -e done ]; do sleep 0.1; done"
    first = job.run(a, command=[job.script(body, alone=False)], cwd=job.folder)
    job.wait_started()
    second = job.run(a, "--tick", "1s", command=[job.script(body, alone=False)], cwd=job.folder)
    job.wait_started(2)
    (job.folder / "done").touch()
    assert [r.wait() for r in (first, second)] == [(0, "", "")] * 2


@pytest.mark.parametrize("content,mode", [(b"\xff no list\nof jobs", 0o600), (b"", 0o644)], ids=["damaged", "open to all"])
def test_a_list_of_jobs_that_cannot_be_trusted_delays_all_for_as_long_as_one_might_live(fleet, zk, jobs, content, mode):
    [a] = start(fleet, zk, "a", session_timeout="4s")
    job = jobs(TASK)
    a.kill()
    kept = a.socket.with_name("s.jobs")
    kept.write_bytes(content)
    kept.chmod(mode)
    began = time.clock_gettime(time.CLOCK_BOOTTIME)
    a.start()
    assert job.run(a, "--wait", "30s").wait() == (0, "", "")
    assert job.lines("start")[0].up - began >= 4
    assert ("are not known" in a.log()) == (mode != 0o600)


# --- who may


def test_users_of_the_task_may_run_it_and_no_others(fleet, zk, jobs, folder, base_folder):
    a = fleet.sidecar("a", tasks=[DAILY, task_text("theirs", tick="24h", users=["nobody"])], session_timeout="10s")
    wait_until(lambda: a.status()["leads"] == 2, what="a leads")
    for path in (base_folder, folder, a.folder):
        path.chmod(0o755)
    outcomes = {}
    for task in (TASK, "theirs"):
        run = jobs(task).run(a, command=["true"], before=["setpriv", "--reuid=nobody", "--clear-groups"])
        outcomes[task] = run.wait()
    code, _, err = outcomes[TASK]
    file = a.task_dir / "tasks.conf"
    may = "(root, the sidecar's own user, the members of socket-group may)\n"
    assert code == 3 and err == (f'zkleader: not allowed: nobody may not run {TASK}: add users = {{"nobody"}} '
                                 f"to the task in {file}:1 {may}")
    assert outcomes["theirs"] == (0, "", "")
    assert zk.names("runs") == ["theirs"]
    # If the task has users, one more is added to them.
    a.write_tasks(DAILY, task_text("theirs", tick="24h", users=["root", "daemon"]))
    wait_until(lambda: 'changed:" name=theirs' in a.log(), what="it is read")
    run = jobs("theirs").run(a, command=["true"], before=["setpriv", "--reuid=nobody", "--clear-groups"])
    line = file.read_text(encoding="ascii").splitlines().index('  users = {"root", "daemon"}') + 1
    assert run.wait()[2] == (f'zkleader: not allowed: nobody may not run theirs: add "nobody" to its users in '
                             f"{file}:{line} {may.replace(' may)', ', root, daemon may)')}")


HUNG_USERS = pathlib.Path(__file__).parent / "harness/hung_users.c"


def test_a_directory_of_users_that_does_not_answer_holds_nobody_up_but_who_has_to_be_known(fleet, zk, jobs, folder, base_folder):
    if "asan" in str(build()) or "tsan" in str(build()):
        pytest.skip("the net has to be loaded first")
    library, answers = folder / "hung.so", folder / "answers"
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", library, HUNG_USERS, "-ldl"], check=True)
    answers.touch()
    a = fleet.sidecar("a", tasks=[DAILY, task_text("theirs", tick="24h", users=["nobody", "no-such-user"])], socket_group="games",
                      session_timeout="10s", env={"LD_PRELOAD": str(library), "HUNG_USERS": str(answers)}, start=False)
    a.start(ready=False)  # its socket-group it has to know at once
    wait_until(a.listens, what="it listens")
    answers.unlink()
    wait_until(lambda: a.status()["leads"] == 2, what="a leads")
    a.signal(signal.SIGHUP)
    a.call("reload")
    a.write_tasks(DAILY, task_text("theirs", tick="24h", users=["nobody", "games", "no-such-user"]))
    a.call("reload")
    for path in (base_folder, folder, a.folder):
        path.chmod(0o755)
    assert jobs(TASK).run(a, command=["true"]).wait() == (0, "", "")
    games = jobs("theirs").run(a, command=["true"], before=["setpriv", "--reuid=5", "--clear-groups"])
    holds_for(lambda: games.process.poll() is None and a.leads(TASK), 1, "who has to be known waits, and others do not")
    answers.touch()
    assert games.wait() == (0, "", "")
    wait_until(lambda: "no such user on this host" in a.log(), what="who is missing is told")


# --- nobody may


def test_nobody_runs_a_task_that_is_paused(fleet, zk, jobs, program):
    other, leader = start(fleet, zk, "a", "b", task=task_text(TASK, tick="24h", wait="60s"))
    job = jobs(TASK)
    waiting = job.run(other)
    holds_for(lambda: waiting.process.poll() is None, 0.5, "it waits for the leader")
    assert program("zkleader", "-s", leader.socket, "pause", TASK).code == 0
    assert waiting.wait() == (4, "", "")
    assert [job.run(s, "-E", "0").wait() for s in (leader, other)] == [(4, "", "")] * 2
    assert program("zkleader-check", "-s", leader.socket, "--once", TASK).code == 4
    assert not job.lines() and zk.names("runs") == []
    assert program("zkleader", "-s", other.socket, "resume", TASK).code == 0
    wait_until(lambda: leader.leads(TASK), what="b leads again")
    assert job.run(leader).code() == 0


def test_a_job_that_runs_when_its_task_is_paused_comes_to_its_end(fleet, zk, jobs, program):
    [a] = start(fleet, zk, "a")
    job = jobs(TASK)
    run = job.run(a, body="while [ ! -e done ]; do sleep 0.1; done", cwd=job.folder)
    job.wait_started()
    assert program("zkleader", "-s", a.socket, "pause", TASK).code == 0
    holds_for(lambda: run.process.poll() is None, 2, "the job goes on")
    (job.folder / "done").touch()
    assert run.wait() == (0, "", "")
    assert record(zk)["state"] == "ok"
    wait_until(lambda: zk.leader(TASK) == (None, None), what="nobody leads it any more")


def test_a_node_that_is_drained_runs_nothing(fleet, zk, jobs, program):
    [a] = start(fleet, zk, "a")
    job = jobs(TASK)
    assert program("zkleader", "-s", a.socket, "drain", "--force").code == 0
    wait_until(lambda: zk.leader(TASK) == (None, None), what="nobody leads it any more")
    assert job.run(a, "--wait", "500ms").wait() == (4, "", "")
    # If another leads, the task is that one's.
    b = fleet.sidecar("b", version="1", tasks=[DAILY], session_timeout="10s")
    wait_until(lambda: b.leads(TASK), what="b leads")
    wait_until(lambda: a.check(TASK)["led_by"], what="a knows it")
    code, out, err = job.run(a, "--wait", "500ms").wait()
    assert (code, out) == (1, "") and "did not claim the tick" in err
    assert job.run(b).code() == 0


# --- keep-output


def test_keep_output_passes_all_on_and_keeps_the_end(fleet, zk, program):
    [a] = start(fleet, zk, "a", task=task_text(TASK, tick="24h", keep_output="true"))
    done = program("zkleader", "-s", a.socket, "run", TASK, "--", "sh", "-c", "seq 1 2000; echo word >&2; exit 3", text=False)
    assert (done.code, done.err) == (3, b"word\n") and done.out == b"".join(b"%d\n" % n for n in range(1, 2001))
    kept = record(zk)["output"]
    assert len(kept) == 2048 and b"1999\n2000\n" in kept and b"word\n" in kept
    assert "1999" in program("zkleader", "-s", a.socket, "logs", TASK).out

def test_keep_output_keeps_what_goes_to_a_terminal(fleet, zk):
    [a] = start(fleet, zk, "a", task=task_text(TASK, tick="24h", keep_output="true"))
    ours, theirs = pty.openpty()
    run = spawn([build() / "zkleader", "-s", a.socket, "run", TASK, "--", "sh", "-c", "echo out; echo err >&2"],
                stdout=theirs, stderr=theirs)
    os.close(theirs)
    assert run.wait(60) == 0
    assert os.read(ours, 100) == b"out\r\nerr\r\n"
    os.close(ours)
    assert record(zk)["output"] == b"out\nerr\n"


def test_an_interpreter_that_is_missing_is_in_the_record(fleet, zk, jobs, folder):
    [a] = start(fleet, zk, "a")
    script = folder / "script"
    script.write_text("#!/usr/bin/no-such-perl\n")
    script.chmod(0o755)
    code, _, err = jobs(TASK).run(a, command=[script]).wait()
    why = "its interpreter /usr/bin/no-such-perl: No such file or directory"
    assert (code, err) == (127, f"zkleader: {why}\n")
    [run] = a.call("history", TASK)
    assert (run["why"], run["detail"]) == ("start", f"the command could not be started: {why}")

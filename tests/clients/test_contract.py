"""What the client of each language has to do, by its driver: README.md."""
import datetime
import os
import pathlib
import signal
import time

import msgpack
import pytest

from harness.sidecar import queue_text, task_text
from harness.waiting import holds_for, wait_until

TASK = "nightly-report"
IDLE_SECONDS, IDLE_CPU = 3, 0.25  # seconds, and of a processor meanwhile: a busy wait takes all of them
FLIGHT = 1000


def led(sidecar, zk, task=TASK):
    """The token under which it leads."""
    token = zk.wait_for_leader(task, sidecar)
    wait_until(lambda: sidecar.leads(task), what="it leads")
    return token


def records(zk, task=TASK):
    return [msgpack.unpackb(zk.get("runs", task, tick)[0]) for tick in zk.names("runs", task)]


def answer_of(task, **changes):
    """What `check` is answered where this node leads."""
    return {"task": task, "leader": True, "state": "leading", "token": 7, "lease_ms": 2000, "why": "so it is",
            "led_by": {"id": "a", "ip": "192.0.2.1", "hostname": "app1", "version": "1.5", "node": "node-a"}, **changes}


# --- asking ---------------------------------------------------------------------------------------

def test_who_leads_and_with_which_token(driver, fleet, zk):
    new = fleet.sidecar("new", node="new", version="2", tasks=[TASK], session_timeout="10s")
    old = fleet.sidecar("old", node="old", version="1.5", tasks=[TASK], session_timeout="10s")
    token = led(new, zk)
    wait_until(lambda: old.check(TASK)["led_by"]["node"] == "new", what="the other knows it")
    expected = {"token": token, "leader": "new", "version": "2"}
    assert driver(new.socket).call("leads", task=TASK) == {"leads": True, "state": "leading", **expected}
    assert driver(old.socket).call("leads", task=TASK) == {"leads": False, "state": "following", **expected}


def test_an_answer_is_true_until_its_lease_is_over_and_no_longer(driver, fleet, zk):
    only = fleet.sidecar("only", node="only", tasks=[TASK], session_timeout="10s")
    led(only, zk)
    d = driver(only.socket)
    d.call("leads", task=TASK)
    asked = time.monotonic()
    first = d.send("leads", task=TASK)
    assert d.answer(first)["leads"]
    answered = time.monotonic()
    if answered - asked < 0.5:  # of 2.5 s; a client without such a clock takes half
        assert d.call("still", of=first) == {"leads": True}
    second = d.send("leads", task=TASK)
    assert d.answer(second)["leads"]
    time.sleep(max(answered + 2.6 - time.monotonic(), 0))
    assert d.call("still", of=first) == {"leads": False}, "although it leads still, nobody has asked"
    assert d.call("leads", task=TASK)["leads"]


def test_an_answer_that_a_stopped_program_holds_is_not_true_when_it_wakes(driver, fleet, zk):
    only = fleet.sidecar("only", node="only", tasks=[TASK], session_timeout="10s")
    led(only, zk)
    d = driver(only.socket)
    asked = d.send("leads", task=TASK)
    assert d.answer(asked)["leads"]
    d.pause()
    time.sleep(2.6)  # a lease is a quarter of the session's timeout
    d.resume()
    assert d.call("still", of=asked) == {"leads": False}


def test_the_lease_counts_from_before_the_question(driver, scripted):
    """An answer that lies there while the program is stopped, and one that is slow."""
    asked = []

    def play(connection, number):
        while True:
            msgid, method, params = connection.request()
            assert method == "check" and params[0] == TASK
            asked.append(time.monotonic())
            if len(asked) == 1:
                wait_until(lambda: (folder / "stopped").exists(), what="the driver is stopped")
            elif len(asked) == 2:
                time.sleep(1.2)
            connection.answer(msgid, answer_of(TASK, lease_ms=1000))

    server = scripted(play)
    folder = pathlib.Path(server.path).parent
    d = driver(server.path)
    first = d.send("leads", task=TASK)
    wait_until(lambda: asked, what="it has asked")
    d.pause()
    (folder / "stopped").touch()
    time.sleep(1.2)
    d.resume()
    assert d.answer(first)["leads"] is False
    assert d.call("leads", task=TASK)["leads"] is False
    assert d.call("leads", task=TASK) == {"leads": True, "token": 7, "state": "leading", "leader": "node-a", "version": "1.5"}


def test_a_thousand_in_flight_on_one_connection(driver, fleet, zk):
    only = fleet.sidecar("only", node="only", tasks=[TASK], session_timeout="60s")
    led(only, zk)
    d = driver(only.socket)
    d.call("leads", task=TASK)
    before, begun = d.sockets(), time.monotonic()
    many = d.call("many", task=TASK, n=FLIGHT)
    assert many["answers"] == FLIGHT and d.sockets() == before
    assert many["leading"] == FLIGHT or time.monotonic() - begun > 5, "each says so until its lease is over"


def test_more_wait_in_the_sidecar_than_it_takes_and_renewals_go_ahead(driver, fleet, zk):
    """While nobody leads each `leads` waits for its second, and the sidecar takes a thousand of those."""
    only = fleet.sidecar("only", node="only", tasks=[TASK, task_text("vacant", min_version="9"), task_text("held", tick="24h")],
                         session_timeout="10s")
    led(only, zk, "held")
    d = driver(only.socket)
    run = d.send("run", task="held", tick=None, outcome="ok", hold_ms=5000)
    assert d.event(run)["began"]
    many = [d.send("leads", task="vacant") for _ in range(1200)]
    for n in many:
        assert not d.answer(n)["leads"]
    assert d.answer(run) == {"ran": True, "reason": "ok"}


# --- watching -------------------------------------------------------------------------------------

def test_a_watch_tells_the_state_and_each_change_over_a_restart_of_the_sidecar(driver, fleet, zk):
    a = fleet.sidecar("a", node="a", version="1", tasks=[TASK, "other"], session_timeout="10s")
    first = led(a, zk)
    d = driver(a.socket)
    watch = d.send("watch", tasks=[TASK])
    assert d.answer(watch) == {}
    assert d.event(watch) == {"task": TASK, "state": "leading", "leads": True, "token": first, "leader": "a", "version": "1"}
    b = fleet.sidecar("b", node="b", version="2", tasks=[TASK], session_timeout="10s")
    second = led(b, zk)
    told, _ = d.wait_event(watch, lambda e: e["leader"] and not e["leads"])
    assert (told["task"], told["token"], told["version"]) == (TASK, second, "2") and told["leader"] == "b"
    a.kill()
    time.sleep(0.5)  # for tries in vain
    a.start()
    wait_until(lambda: a.check(TASK)["led_by"], what="it knows who leads")
    assert b.stop() == 0
    told, before = d.wait_event(watch, lambda e: e["leads"])
    assert told["token"] > second and told["leader"] == "a" and told["task"] == TASK
    told_all = [*before, told]
    assert all(one != next_one for one, next_one in zip(told_all, told_all[1:])), "what is as it was is not told again"
    assert d.call("unwatch", of=watch) == {}
    a.write_tasks(task_text(TASK, min_version="9"), "other")
    wait_until(lambda: not a.leads(TASK), what="it leads no more")
    time.sleep(0.3)
    assert not d.events[watch]


def test_two_watches_and_all_tasks(driver, fleet, zk):
    only = fleet.sidecar("only", node="only", tasks=[TASK, "other"], session_timeout="10s")
    led(only, zk)
    led(only, zk, "other")
    d = driver(only.socket)
    one, all_of_them = d.send("watch", tasks=["other"]), d.send("watch", tasks=[])
    assert d.event(one)["task"] == "other"
    assert {d.event(all_of_them)["task"] for _ in range(2)} == {TASK, "other"}
    assert d.call("leads", task=TASK)["leads"], "and questions are answered meanwhile"


def test_a_watch_begins_when_the_sidecar_is_there(driver, fleet, zk):
    only = fleet.sidecar("only", node="only", tasks=[TASK], start=False)
    d = driver(only.socket)
    watch = d.send("watch", tasks=[TASK])
    time.sleep(0.5)
    only.start()
    d.wait_event(watch, lambda e: e["leads"])


# --- leading --------------------------------------------------------------------------------------

def test_leading_is_entered_when_it_comes_and_lost_when_it_goes(driver, fleet, zk):
    a = fleet.sidecar("a", node="a", version="1", tasks=[TASK], session_timeout="10s")
    b = fleet.sidecar("b", node="b", version="2", tasks=[TASK], session_timeout="10s")
    led(b, zk)
    d = driver(a.socket)
    soon = d.send("leading", task=TASK, wait=0.5)
    scope = d.send("leading", task=TASK, wait=None)
    assert not d.event(soon)["entered"]
    assert b.stop() == 0
    assert d.event(scope) == {"entered": True, "token": led(a, zk)}
    assert d.call("check", of=scope) == {"leads": True}
    holds_for(lambda: d.call("check", of=scope), 4, "it is renewed")
    b.start()
    lost = d.event(scope)
    assert lost["lost"] and lost["left_ms"] > 0, "it is told before another may lead"
    assert d.error("check", of=scope).code == 1
    led(b, zk)
    assert d.call("leave", of=scope) == {}


def test_leading_that_is_not_entered_has_the_code_of_zkleader_check(driver, fleet, zk, program):
    tasks = [TASK, task_text("vacant", min_version="9"), "halted"]
    a = fleet.sidecar("a", node="a", version="1", tasks=[*tasks, "own"], session_timeout="10s")
    b = fleet.sidecar("b", node="b", version="2", tasks=tasks, session_timeout="10s")
    led(b, zk)
    a.call("pause", "halted")
    wait_until(lambda: a.check("halted")["state"] == "paused", what="it is paused")
    d = driver(a.socket)

    def says(task, state, code):
        """The same as zkleader-check, in that state."""
        wait_until(lambda: a.check(task)["state"] == state, what=f"{task} is {state}")
        assert program("zkleader-check", "-s", a.socket, "-w", "0s", task).code == code
        said = d.event(d.send("leading", task=task, wait=0.3))
        assert said in ({"entered": False, "code": code}, {"entered": False, "code": None})

    says(TASK, "following", 1)
    says("vacant", "following", 2)
    says("halted", "paused", 4)
    a.call("drain", {"for_ms": 60000, "force": True})
    says(TASK, "drained", 1)
    says("own", "drained", 4)


@pytest.mark.parametrize("state, is_led, code", [
    ("paused", True, 4), ("contending", False, 2), ("disconnected", True, 2), ("dreaming", True, 1),
    ("dreaming", False, 2)])
def test_leading_that_is_not_entered_has_the_code_of_the_answer(driver, scripted, program, state, is_led, code):
    answer = answer_of(TASK, leader=False, lease_ms=0, state=state)

    def play(connection, number):
        while True:
            msgid, method, _ = connection.request()
            connection.answer(msgid, None if method == "subscribe" else {
                **answer, "led_by": answer["led_by"] if is_led else None})

    server = scripted(play)
    assert program("zkleader-check", "-s", server.path, TASK).code == code
    said = (d := driver(server.path)).event(d.send("leading", task=TASK, wait=0))
    assert said in ({"entered": False, "code": code}, {"entered": False, "code": None})


def test_leading_is_lost_with_zookeeper_before_the_lease_is_over(driver, fleet, own_server):
    own_server.start()
    only = fleet.sidecar("only", node="only", tasks=[TASK], session_timeout="6s")
    d = driver(only.socket)
    for _ in range(5):  # a busy machine may stop a program for the 100 ms that it has, but not each time
        wait_until(lambda: only.leads(TASK), what="it leads")
        scope = d.send("leading", task=TASK, wait=30)
        assert d.event(scope)["entered"]
        own_server.kill()
        lost = d.event(scope, timeout=30)
        assert lost["lost"]
        if lost["left_ms"] > 0:
            break
        d.call("leave", of=scope)
        own_server.start()
    assert lost["left_ms"] > 0
    assert d.error("check", of=scope).code == 1
    assert d.call("leads", task=TASK)["leads"] is False or only.leads(TASK)
    d.call("leave", of=scope)


def test_leading_is_over_when_a_stopped_program_wakes(driver, fleet, zk):
    a = fleet.sidecar("a", node="a", version="1", tasks=[TASK], session_timeout="10s")
    led(a, zk)
    d = driver(a.socket)
    scope = d.send("leading", task=TASK, wait=None)
    assert d.event(scope)["entered"]
    d.pause()
    b = fleet.sidecar("b", node="b", version="2", tasks=[TASK], session_timeout="10s")
    led(b, zk)
    time.sleep(2.6)
    d.resume()
    assert d.error("check", of=scope).code == 1, "the first that it does"
    assert d.event(scope)["lost"]


def test_leading_ends_with_a_sidecar_that_hangs(driver, fleet, zk):
    only = fleet.sidecar("only", node="only", tasks=[TASK], session_timeout="10s")
    led(only, zk)
    d = driver(only.socket)
    scope = d.send("leading", task=TASK, wait=None)
    assert d.event(scope)["entered"]
    only.pause()
    lost = d.event(scope)
    only.resume()
    assert lost["lost"] and lost["left_ms"] > 0
    assert d.error("check", of=scope).code == 1


# --- runs -----------------------------------------------------------------------------------------

def run(d, **fields):
    return d.send("run", **{"task": TASK, "tick": "24h", "outcome": "ok", "hold_ms": 0, **fields})


def test_a_tick_is_run_once(driver, fleet, zk):
    a = fleet.sidecar("a", node="a", version="1", tasks=[task_text(TASK, tick="1m", wait="20s")], session_timeout="10s")
    b = fleet.sidecar("b", node="b", version="2", tasks=[task_text(TASK, tick="1m", wait="20s")], session_timeout="10s")
    token = led(b, zk)
    d, e = driver(a.socket), driver(b.socket)
    other, mine, again = run(d), run(e, hold_ms=500), run(e)
    answers = sorted((d.answer(other), e.answer(mine), e.answer(again)), key=lambda x: x["ran"])
    assert answers == [{"ran": False, "reason": "taken"}] * 2 + [{"ran": True, "reason": "ok"}]
    [began] = [c.event(n) for c, n in ((d, other), (e, mine), (e, again)) if c.answers[n]["ok"]["ran"]]
    assert began["token"] == token and began["attempt"] == 1 and zk.names("runs", TASK) == [began["tick"]]
    [record] = records(zk)
    assert (record["state"], record["exit_status"]) == ("ok", 0)
    assert e.call("run", task=TASK, tick="24h", outcome="ok", hold_ms=0)["reason"] == "taken"


def test_a_function_that_fails_is_recorded_so(driver, fleet, zk):
    only = fleet.sidecar("only", node="only", tasks=[task_text(TASK, tick="24h")], session_timeout="10s")
    led(only, zk)
    d = driver(only.socket)
    assert d.answer(run(d, tick=None, outcome="fail")) == {"ran": True, "reason": "failed"}
    [record] = records(zk)
    assert (record["state"], record["exit_status"]) == ("failed", 1)


def test_a_tick_is_whole_seconds_up_to_a_day(driver, fleet, zk):
    only = fleet.sidecar("only", node="only", tasks=[TASK], session_timeout="10s")
    led(only, zk)
    d = driver(only.socket)
    for tick in ("500ms", "1500ms", "49h"):
        refused = d.error("run", task=TASK, tick=tick, outcome="ok", hold_ms=0)
        assert refused.code == 3 and "tick" in refused.message, tick
    assert zk.names("runs", TASK) == []


def test_who_does_not_lead_waits_and_is_told(driver, fleet, zk):
    a = fleet.sidecar("a", node="a", version="1", tasks=[task_text(TASK, wait="1s")], session_timeout="10s")
    b = fleet.sidecar("b", node="b", version="2", tasks=[task_text(TASK, wait="1s")], session_timeout="10s")
    led(b, zk)
    d = driver(a.socket)
    assert d.answer(run(d)) == {"ran": False, "reason": "waited"}
    a.call("pause", TASK)
    wait_until(lambda: b.check(TASK)["state"] == "paused", what="it is paused")
    assert d.answer(run(d)) == {"ran": False, "reason": "nobody"}


def test_a_run_that_loses_its_lease_ends(driver, fleet, own_server, zk):
    own_server.start()
    only = fleet.sidecar("only", node="only", tasks=[task_text(TASK, tick="24h")], session_timeout="6s")
    led(only, zk)
    d = driver(only.socket)
    n = run(d, hold_ms=60000)
    assert d.event(n)["began"]
    zk.forget_client()
    own_server.kill()
    assert d.answer(n, timeout=30) == {"ran": True, "reason": "lost"}
    own_server.start()
    wait_until(lambda: only.leads(TASK), what="it leads again")
    wait_until(lambda: [r["state"] for r in only.call("history", TASK)] == ["lost"], what="it counts as lost")
    assert d.answer(run(d)) == {"ran": False, "reason": "taken"}, "at most once"


def test_a_run_that_a_stopped_program_wakes_to_is_lost(driver, fleet, zk):
    a = fleet.sidecar("a", node="a", version="1", tasks=[task_text(TASK, tick="24h")], session_timeout="6s")
    led(a, zk)
    d = driver(a.socket)
    n = run(d, hold_ms=60000)
    assert d.event(n)["began"]
    d.pause()
    a.kill()  # nobody renews it, and nobody hands the session over
    time.sleep(6.5)
    d.resume()
    assert d.answer(n, timeout=20) == {"ran": True, "reason": "lost"}


@pytest.mark.parametrize("how", ["restart", "kill"])
def test_a_run_goes_on_while_the_sidecar_is_started_anew(driver, fleet, zk, how):
    only = fleet.sidecar("only", node="only", tasks=[task_text(TASK, tick="24h")], session_timeout="10s")
    token = led(only, zk)
    d = driver(only.socket)
    n = run(d, hold_ms=6000)
    assert d.event(n)["token"] == token
    if how == "restart":
        only.signal(signal.SIGUSR2)
        assert only.wait_exit() == 0
    else:
        only.kill()
    only.start()
    assert d.answer(n) == {"ran": True, "reason": "ok"}
    [record] = records(zk)
    assert (record["state"], record["token"]) == ("ok", token)


def test_a_claim_whose_answer_was_cut_off_runs_at_most_once(driver, scripted):
    claims, finished = [], []

    def play(connection, number):
        while True:
            msgid, method, params = connection.request()
            if method == "claim":
                claims.append(params[1])
                good = msgpack.packb([1, msgid, None, {
                    "outcome": "yours", "tick": "2026-11-20T02:00:00Z", "token": 9, "attempt": 1, "worker_id": "w",
                    "version": "1", "lease_ms": 5000, "run": 4, "busy": False, "output": False, "why": ""}])
                connection.send(good[:20] if len(claims) == 1 else good)
                if len(claims) == 1:
                    return
            elif method == "renew":
                connection.answer(msgid, {"leads": True, "lease_ms": 5000, "timeout_ms": 10000})
            else:
                assert method == "finish", method
                finished.append(params)
                connection.answer(msgid, True)

    d = driver(scripted(play).path)
    n = run(d)
    assert d.answer(n) == {"ran": True, "reason": "ok"}
    assert d.event(n) == {"began": True, "tick": "2026-11-20T02:00:00Z", "token": 9, "attempt": 1} and not d.events[n]
    assert len(claims) == 2 and claims[0]["id"] == claims[1]["id"] and len(claims[0]["id"]) > 16
    assert not claims[0].get("again") and claims[1]["again"] is True
    assert claims[0]["kind"] == "run" and abs(claims[0]["now_ms"] / 1000 - time.time()) < 600
    assert [p[0] for p in finished] == [4] and finished[0][1]["exit_status"] == 0 and not finished[0][1].get("interrupted")


# --- jobs -----------------------------------------------------------------------------------------

@pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")
def test_jobs_are_submitted_once_read_and_cancelled(driver, queues, folder):
    a = queues.site("a", queue_text("q", command=["/bin/sh", "-c", f"cat >>{folder}/got; echo >>{folder}/got"]))
    queues.wait_open()
    d = driver(a.socket)
    job = d.call("submit", queue="q", job=None, payload="grüß", delay=None)["job"]
    assert job.startswith("q.")
    assert d.call("submit", queue="q", job=job, payload="grüß", delay=None) == {"job": job}
    assert d.call("job", job=job, wait_ms=30000) == {"job": job, "state": "ok"}
    assert d.call("submit", queue="q", job=job, payload="grüß", delay=None) == {"job": job}, "also when it has ended"
    assert (folder / "got").read_text(encoding="utf-8") == "grüß\n"
    assert d.call("cancel", job=job) == {"job": job, "done": False}
    later = d.call("submit", queue="q", job=None, payload="", delay=600)["job"]
    assert later != job and d.call("job", job=later, wait_ms=0)["state"] == "queued"
    assert d.call("cancel", job=later) == {"job": later, "done": True}
    assert d.call("job", job=later, wait_ms=5000)["state"] == "cancelled"
    assert d.error("submit", queue="none", job=None, payload="", delay=None).code == 3
    assert d.error("job", job="q.abc.0a1b2c3d-0000-4000-8000-000000000000", wait_ms=0).code == 3
    a.call("pause", "q")
    wait_until(lambda: a.call("queue", "q")["state"] == "paused", what="it is paused")
    refused = d.error("submit", queue="q", job=None, payload="", delay=None)
    assert refused.code == 4 and refused.job.startswith("q.")


@pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")
def test_a_job_begins_no_earlier_than_it_is_to(driver, queues, folder):
    a = queues.site("a", queue_text("q", command=["/bin/sh", "-c", f"date +%s%N >{folder}/began"]))
    queues.wait_open()
    d = driver(a.socket)
    at = int(time.time()) + 2.9
    job = d.call("submit", queue="q", job=None, payload="", delay=None, at_us=int(at * 1e6))["job"]
    assert d.call("job", job=job, wait_ms=30000)["state"] == "ok"
    assert int((folder / "began").read_text()) / 1e9 > at - 0.1, "by the clock of the servers, which is this one"


@pytest.mark.parametrize("us, at", [(900_000, 900), (900_001, 901), (999_999, 1000), (0, 0)])
def test_the_time_of_a_job_is_told_to_the_millisecond(driver, scripted, us, at):
    told, base = [], 1_795_226_400

    def play(connection, number):
        while True:
            msgid, method, params = connection.request()
            if method == "submit":
                told.append(datetime.datetime.fromisoformat(params[1]["at"]).timestamp())
            connection.answer(msgid, {"id": "q.t5b8m.0a1b2c3d-0000-4000-8000-000000000000"})

    d = driver(scripted(play).path)
    d.call("submit", queue="q", job=None, payload="", delay=None, at_us=base * 1_000_000 + us)
    assert [round((one - base) * 1000) for one in told] == [at]


def test_a_submit_whose_answer_was_cut_off_is_repeated_with_its_id(driver, scripted):
    submits = []

    def play(connection, number):
        while True:
            msgid, method, params = connection.request()
            if method == "job_id":
                connection.answer(msgid, {"id": "q.t5b8m.0a1b2c3d-0000-4000-8000-000000000000"})
            else:
                assert method == "submit" and params[0] == "q"
                submits.append(params[1])
                if len(submits) != 2:
                    return
                connection.answer(msgid, {"id": params[1]["id"]})

    d = driver(scripted(play).path)
    ours = "q.t5b8m.0a1b2c3d-0000-4000-8000-000000000000"
    assert d.call("submit", queue="q", job=None, payload="x", delay=1.5) == {"job": ours}
    assert submits == [{"id": ours, "payload": b"x", "in_ms": 1500}] * 2
    submits.append(None)  # each is cut off from now on
    unknown = d.error("submit", queue="q", job=None, payload="x", delay=None)
    assert (unknown.code, unknown.job) == (2, ours) and 5 == len(submits)


@pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")
def test_waiting_for_a_job_goes_on_while_the_sidecar_is_away(driver, queues):
    a = queues.site("a", queue_text("q", command=["/bin/true"]))
    queues.wait_open()
    d = driver(a.socket)
    job = d.call("submit", queue="q", job=None, payload="", delay=4)["job"]
    waiting = d.send("wait", job=job)
    assert d.call("job", job=job, wait_ms=0)["state"] == "queued"
    a.kill()
    time.sleep(2)
    a.start()
    assert d.answer(waiting) == d.call("wait", job=job) == {"job": job, "state": "ok"}
    assert d.error("wait", job="q.abc.0a1b2c3d-0000-4000-8000-000000000000").code == 3


# --- errors -----------------------------------------------------------------------------------------

def test_errors_have_the_codes_of_zkleader_check(driver, fleet, zk):
    only = fleet.sidecar("only", node="only", tasks=[TASK])
    d = driver(only.socket)
    unknown = d.error("leads", task="unknown")
    assert unknown.code == 3 and "unknown" in unknown.message
    assert d.error("leading", task="unknown", wait=5).code == 3
    assert d.error("run", task="unknown", tick=None, outcome="ok", hold_ms=0).code == 3


def test_a_sidecar_that_is_away(driver, fleet, zk):
    only = fleet.sidecar("only", node="only", tasks=[TASK], start=False, session_timeout="6s")
    d = driver(only.socket)
    d.error("leads", task=TASK)
    begun = time.monotonic()
    for request in ({"do": "leads", "task": TASK}, {"do": "submit", "queue": "q", "job": None, "payload": "", "delay": None},
                    {"do": "run", "task": TASK, "tick": None, "outcome": "ok", "hold_ms": 0}):
        away = d.error(**request)
        assert away.code == 2 and away.message
    assert time.monotonic() - begun < 12, "nothing is waited for"
    only.start()
    led(only, zk)
    assert d.call("leads", task=TASK)["leads"]
    only.kill()
    assert d.error("leads", task=TASK).code == 2
    only.start()
    led(only, zk)
    assert d.call("leads", task=TASK)["leads"]
    only.signal(signal.SIGUSR2)  # and one that was away while nobody asked
    only.wait_exit()
    only.start()
    led(only, zk)
    assert d.call("leads", task=TASK)["leads"]
    assert d.answer(run(d)) == {"ran": True, "reason": "ok"}


def test_a_server_that_cannot_tell_is_no_error(driver, fleet, zk, proxy):
    only = fleet.sidecar("only", node="only", tasks=[TASK], session_timeout="3s", zookeeper=proxy.address)
    led(only, zk)
    d = driver(only.socket)
    proxy.cut()
    answer = {}

    def says():
        answer.update(d.call("leads", task=TASK))
        return answer["state"] == "disconnected"
    wait_until(says, what="it cannot tell")
    assert not answer["leads"]


def test_a_frame_that_is_cut_in_the_middle(driver, scripted):
    """The connection ends behind part of an answer: it is asked once more on another, and no more often."""
    numbers = []

    def play(connection, number):
        msgid, _, _ = connection.request()
        numbers.append(number)
        good = msgpack.packb([1, msgid, None, answer_of(TASK)])
        connection.send(good if number in (1, 4) else good[:-20])
        if number == 4:
            connection.request()

    d = driver(scripted(play).path)
    assert d.call("leads", task=TASK)["leads"]
    assert numbers == [0, 1]
    assert d.error("leads", task=TASK).code == 2
    assert d.call("leads", task=TASK)["leads"]


GARBAGE = {
    "no MessagePack": b"\xc1\xc1\xc1", "text": b"HTTP/1.1 400 Bad Request\r\n\r\n", "a number": b"\x05",
    "a request": msgpack.packb([0, 1, "check", []]), "short": msgpack.packb([1, 1]), "a map": msgpack.packb({"a": 1}),
    "too deep": b"\x91" * 40 + b"\x00", "msgid 0": msgpack.packb([1, 0, {"code": 3, "message": "not a request"}, None]),
}
NONSENSE = {
    "nil": None, "a list": [], "no leader": {"state": "leading", "token": 1, "lease_ms": 5},
    "leader is text": answer_of(TASK, leader="true"), "lease is text": answer_of(TASK, lease_ms="2000"),
    "lease is nil": answer_of(TASK, lease_ms=None), "no token": {k: v for k, v in answer_of(TASK).items() if k != "token"},
    "led_by is text": answer_of(TASK, led_by="a"), "state is a number": answer_of(TASK, state=3),
}


def test_an_answer_that_makes_no_sense_is_no_answer(driver, scripted):
    cases = [(name, raw, None) for name, raw in GARBAGE.items()] + [(name, None, result) for name, result in NONSENSE.items()]
    now = [0]

    def play(connection, number):
        while True:
            msgid, _, _ = connection.request()
            if now[0] >= len(cases):
                connection.answer(msgid, answer_of(TASK))
                continue
            _, raw, result = cases[now[0]]
            if raw:
                connection.send(raw)
            else:
                connection.answer(msgid, result)

    d = driver(scripted(play).path)
    for i, (name, _, _) in enumerate(cases):
        now[0] = i
        try:
            assert d.error("leads", task=TASK).code == 2, name
        except AssertionError as e:
            raise AssertionError(f"{name}: {e}") from None
    now[0] = len(cases)
    assert d.call("leads", task=TASK)["leads"], "and it is none the worse for it"


def test_what_is_not_known_is_passed_over_and_answers_come_in_any_order(driver, scripted):
    def play(connection, number):
        first, _, one = connection.request()
        second, _, two = connection.request()
        connection.send(msgpack.packb([2, "weather", [{"rain": True}]]) + msgpack.packb([2, "nothing", []]))
        connection.send(msgpack.packb([1, 4_000_000_000, None, {"late": True}]))
        connection.answer(second, answer_of(two[0], token=2, more={"a": [{"b": None}]}, state="dreaming"))
        for byte in msgpack.packb([1, first, None, answer_of(one[0], token=2 ** 63 - 1, led_by=None)]):
            connection.send(bytes([byte]))
        connection.request()

    d = driver(scripted(play).path)
    one = d.send("leads", task="one")
    two = d.send("leads", task="two")
    got = {d.answer(one)["token"]: d.answers[one]["ok"], d.answer(two)["token"]: d.answers[two]["ok"]}
    assert got[2]["state"] == "dreaming" and got[2]["leads"]
    assert got[2 ** 63 - 1] == {"leads": True, "token": 2 ** 63 - 1, "state": "leading", "leader": None, "version": None}


def test_a_sidecar_that_does_not_answer(driver, scripted):
    def play(connection, number):
        msgid, _, _ = connection.request()
        later, _, _ = connection.request()
        connection.answer(msgid, answer_of(TASK, token=1))  # too late, and not what the second has asked
        connection.answer(later, answer_of(TASK, token=2))
        connection.request()

    d = driver(scripted(play).path)
    begun = time.monotonic()
    assert d.error("leads", task=TASK).code == 2
    assert 4.5 < time.monotonic() - begun < 30
    assert d.call("leads", task=TASK)["token"] == 2


# --- while nothing is to be done ------------------------------------------------------------------

def test_an_idle_client_does_nothing(driver, fleet, zk):
    only = fleet.sidecar("only", node="only", tasks=[TASK, "other"], session_timeout="10s")
    led(only, zk)
    d = driver(only.socket)
    watch = d.send("watch", tasks=["other"])
    d.event(watch)
    assert d.call("leads", task=TASK)["leads"]
    time.sleep(1)
    requests = sum(only.call("metrics")["requests"].values())
    cpu = d.cpu_seconds()
    time.sleep(IDLE_SECONDS)
    assert d.cpu_seconds() - cpu < IDLE_CPU
    assert sum(only.call("metrics")["requests"].values()) - requests <= 1


def test_the_end_of_its_input_ends_it_in_the_middle_of_everything(driver, fleet, zk):
    a = fleet.sidecar("a", node="a", version="1", tasks=[TASK, task_text("mine", min_version="1")], session_timeout="10s")
    b = fleet.sidecar("b", node="b", version="2", tasks=[TASK], session_timeout="10s")
    led(b, zk)
    led(a, zk, "mine")
    d = driver(a.socket)
    watch, scope = d.send("watch", tasks=[TASK]), d.send("leading", task="mine", wait=None)
    d.send("leading", task=TASK, wait=None)
    d.send("run", task=TASK, tick=None, outcome="ok", hold_ms=60000)
    d.event(watch)
    d.event(scope)
    begun = time.monotonic()
    assert d.leave() == 0
    assert time.monotonic() - begun < 10

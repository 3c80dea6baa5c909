"""Schedules with real servers, sidecars, runners and jobs."""
import json
import os
import threading
import time

import msgpack
import pytest

from harness.journal import Journal
from harness.runner import Runner, scheduled
from harness.sidecar import task_text
from harness.waiting import holds_for, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")


@pytest.fixture
def site(fleet, folder):
    """site(name, task...): a sidecar and a runner of root's."""
    runners = []

    def make(name, *tasks, **config):
        sidecar = fleet.sidecar(name, tasks=tasks, **{"session_timeout": "10s", **config})
        runners.append(Runner(sidecar.folder / "runner", sidecar.socket, sidecar.config_file).start())
        sidecar.runner = runners[-1]
        return sidecar

    yield make
    assert fleet
    reports = [r for runner in runners for r in runner.close()]
    assert not reports, "\n".join(reports)


def writes(folder, then=""):
    """A command that notes its tick, attempt and the moment."""
    return ["/bin/sh", "-c", f'echo "$ZKLEADER_TICK $ZKLEADER_ATTEMPT $(date +%s.%N)" >>{folder}/lines; {then}']


def lines(folder):
    path = folder / "lines"
    found = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [(tick, int(attempt), float(at)) for tick, attempt, at in found]


def instant(tick):
    return time.mktime(time.strptime(tick, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone


def records(zk, task="report"):
    return {tick: msgpack.unpackb(zk.get("runs", task, tick)[0]) for tick in zk.names("runs", task)}


def test_each_tick_runs_once_at_its_instant(site, folder, zk):
    # A machine that is late by more than a tick would leave out those before the last.
    site("a", scheduled("report", writes(folder), schedule="every 1s", catch_up="all"))
    wait_until(lambda: len(lines(folder)) >= 5, what="five ticks have run")
    seen = lines(folder)
    ticks = [instant(tick) for tick, _, _ in seen]
    assert ticks == [ticks[0] + i for i in range(len(ticks))], "each, and in order"
    assert all(attempt == 1 for _, attempt, _ in seen)
    assert all(at >= tick for tick, (_, _, at) in zip(ticks, seen)), "none before its instant"
    [tick] = [t for t, _, _ in seen[:1]]
    wait_until(lambda: records(zk)[tick]["state"] == "ok", what="its end is recorded")
    assert zk.names("schedules") == ["report"]


def test_each_partition_has_the_ticks_of_its_task(site, folder, zk, program):
    command = ["/bin/sh", "-c", 'echo "$ZKLEADER_TASK $ZKLEADER_PARTITION $ZKLEADER_PARTITIONS $ZKLEADER_TICK"']
    pair = [site(name, scheduled("report", command, schedule="every 2s", partitions=3, catch_up="all"))
            for name in ("a", "b")]
    names = [f"report:{k}" for k in range(3)]

    def ended():
        found = [records(zk, name) for name in names]
        return found if all(sum(r["state"] == "ok" for r in of.values()) >= 2 for of in found) else None
    found = wait_until(ended, what="two ticks of each have run")
    for k, of in enumerate(found):
        assert {r["state"] for r in of.values()} <= {"ok", "running"}, "none is missed"
        for tick, r in of.items():
            if r["state"] == "ok":
                assert r["output"] == f"report:{k} {k} 3 {tick}\n".encode()
    assert {zk.leaders()[name] for name in names} == {s.id for s in pair}, "both have run some"
    assert zk.names("schedules") == names
    given = json.loads(tool(program, pair[0], "next", "report:1", "-n", "2", "--json").out)
    assert [g["task"] for g in given] == ["report:1"] * 2
    assert tool(program, pair[0], "next", "report:3").code == 3
    by_hand = tool(program, pair[0], "trigger", "report:2", "--wait")
    assert (by_hand.code, by_hand.out.split(" ")[0]) == (0, "report:2")


def tool(program, sidecar, *args):
    return program("zkleader", "-s", sidecar.socket, *args, timeout=120)


def test_what_failed_is_tried_again_and_its_record_is_that_of_the_last_attempt(site, folder, zk):
    site("a", scheduled("report", writes(folder, then="echo told; exit 3"), schedule="every 3s", retries=1,
                        retry_delay="100ms"))
    wait_until(lambda: any(attempt == 2 for _, attempt, _ in lines(folder)), what="a second attempt")
    tick = [t for t, attempt, _ in lines(folder) if attempt == 2][0]
    wait_until(lambda: records(zk)[tick]["state"] == "failed" and records(zk)[tick]["attempt"] == 2,
               what="the second attempt is recorded")
    assert (records(zk)[tick]["exit_status"], records(zk)[tick]["output"]) == (3, b"told\n")
    wait_until(lambda: len({t for t, _, _ in lines(folder)}) >= 3, what="three ticks")
    assert max(attempt for _, attempt, _ in lines(folder)) == 2, "one retry"


def test_why_a_run_did_not_end_well_and_a_tick_was_missed(site, folder, zk):
    tasks = {"status": ["/bin/sh", "-c", "exit 3"], "signal": ["/bin/sh", "-c", "kill -9 $$"],
             "start": ["/nowhere/command"],
             "overlap": ["/bin/sleep", "9"],
             "timeout": ["/bin/sleep", "60"]}
    a = site("a", *(scheduled(name, command, schedule="every 3s", wait="1s",
                              **({"timeout": "1s"} if name == "timeout" else {})) for name, command in tasks.items()))
    details = {"status": "exit status 3", "signal": "signal 9", "start": "No such file", "overlap": "run before",
               "timeout": "timeout"}
    for name, detail in details.items():
        state = {"overlap": "missed", "timeout": "timeout"}.get(name, "failed")
        wait_until(lambda n=name, s=state: any(r["state"] == s for r in a.call("history", n)), what=f"{name}: {state}")
        found = next(r for r in a.call("history", name) if r["state"] == state)
        assert found["why"] == name and detail in found["detail"], found
        kept = records(zk, name)[found["tick"]]
        assert (kept["why"], kept["detail"]) == (found["why"], found["detail"])


def test_defaults_variables_and_directory_reach_the_command(site, folder, zk):
    where = folder / "where"
    where.mkdir()
    defaults = f'defaults {{ user = "root" environment = {{"A=default", "B=default"}} directory = "{where}" }}\n'
    command = ["/bin/sh", "-c", f'echo "$A $B $(pwd)" >>{folder}/said']

    def text(*environment, **values):
        return task_text("report", schedule="every 2s", command=command, environment=list(environment), **values)

    def said():
        path = folder / "said"
        return path.read_text().splitlines() if path.exists() else []

    a = site("a", defaults, text("B=own"))
    wait_until(lambda: f"default own {where}" in said(), what="it has run")
    a.write_tasks(defaults, text("A=new"))
    wait_until(lambda: said()[-1:] == [f"new default {where}"], what="the file is read again by itself")
    a.write_tasks(defaults, text("A=new", directory="/nosuch/place"))
    wait_until(lambda: any(r.get("why") == "start" for r in a.call("history", "report")), what="one could not be started")
    found = next(r for r in a.call("history", "report") if r.get("why") == "start")
    assert "the directory /nosuch/place: No such file or directory" in found["detail"] and found["exit_status"] == 126


def explained(program, sidecar, tick, task="report"):
    outcome = tool(program, sidecar, "--json", "explain", task, "--tick", tick)
    assert outcome.code == 0, outcome
    told = json.loads(outcome.out)
    assert set(told) == {"task", "tick", "state", "why", "detail", "record"} and told["task"] == task
    return told


def named(at):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def test_explain_says_what_became_of_a_tick(site, folder, zk, program):
    a = site("a", scheduled("report", writes(folder), schedule="every 2s"))
    b = site("b", scheduled("report", writes(folder), schedule="every 2s"), version="0.9")
    wait_until(lambda: any(r["state"] == "ok" for r in records(zk).values()), what="one has run")
    ran = next(tick for tick, r in records(zk).items() if r["state"] == "ok")
    for one in (a, b):
        told = explained(program, one, ran)
        assert (told["state"], told["why"], told["record"]["tick"]) == ("ok", None, ran)
        assert told["record"]["exit_status"] == 0 and told["record"]["attempt"] == 1
    shown = tool(program, b, "explain", "report", "--tick", ran.replace("Z", "+00:00"))
    assert shown.code == 0 and f"report {ran}: ok\non " in shown.out and "exit status 0" in shown.out
    even = int(time.time()) // 2 * 2
    assert explained(program, b, named(even + 3600))["state"] == "ahead"
    odd = explained(program, b, named(even + 3601))
    assert odd["state"] == "unknown" and "no such tick" in odd["detail"]
    old = explained(program, a, named(even - 86400))
    assert old["state"] == "unknown" and "came into force" in old["detail"] and old["record"] is None
    for task, tick in (("report", "yesterday"), ("report", "2026-13-40T00:00:00Z"), ("other", ran)):
        assert tool(program, a, "explain", task, "--tick", tick).code == 3
    assert tool(program, a, "pause", "report").code == 0
    due = int(time.time()) // 2 * 2 + 2
    wait_until(lambda: time.time() > due + 0.1, what="a tick is due in the pause")
    for one in (a, b):
        wait_until(lambda s=one: "paused" in explained(program, s, named(due))["detail"], what="it says so")
    assert tool(program, a, "resume", "report").code == 0
    for one in (a, b):
        wait_until(lambda s=one: "end of a pause" in explained(program, s, named(due))["detail"], what="it says so")
    for one in (a, b):
        one.runner.stop()
    for one in (a, b):
        wait_until(lambda s=one: explained(program, s, named(int(time.time()) // 2 * 2))["state"] == "owed", what="owed")


def test_explain_says_that_a_tick_is_older_than_what_is_kept(site, folder, zk, program):
    a = site("a", scheduled("report", writes(folder), schedule="every 1s", history=2))
    ran = wait_until(lambda: [tick for tick, r in records(zk).items() if r["state"] == "ok"], what="one has run")[0]
    wait_until(lambda: ran not in records(zk), what="its record is gone")
    told = explained(program, a, ran)
    assert (told["state"], told["record"]) == ("unknown", None) and "older than the runs that are kept" in told["detail"]


@pytest.mark.costly
def test_what_was_due_while_the_servers_were_away_is_an_outage(own_server, zk, site, folder, program):
    own_server.start()
    a = site("a", scheduled("report", writes(folder), schedule="every 2s", catch_up="none"), session_timeout="4s")
    wait_until(lambda: lines(folder), what="it runs")
    own_server.kill()
    wait_until(lambda: not a.check("report")["leader"], what="its lease is over")
    first = time.time()
    time.sleep(16)
    last = time.time() - 12  # behind that it is in time
    n = len(lines(folder))
    own_server.start()
    wait_until(lambda: len(lines(folder)) > n, what="it runs again")
    due = [named(at) for at in range(int(first) + 2, int(last) + 1) if at % 2 == 0]
    assert due
    for tick in due:
        told = wait_until(lambda t=tick: next((x for x in [explained(program, a, t)] if x["state"] == "missed"), None),
                          what=f"{tick} is missed")
        assert told["why"] == told["record"]["why"] == "outage" and "nobody led it" in told["detail"]


def test_a_run_that_exits_0_at_its_timeout_is_no_good_one(site, folder, zk):
    site("a", scheduled("report", writes(folder, then="trap 'exit 0' TERM; while :; do sleep 0.05; done"),
                        schedule="every 5s", timeout="1s", retries=1, retry_delay="0s"))
    wait_until(lambda: any(attempt == 2 for _, attempt, _ in lines(folder)), what="it is tried again")
    tick = [t for t, attempt, _ in lines(folder) if attempt == 2][0]
    wait_until(lambda: records(zk)[tick]["state"] == "timeout" and records(zk)[tick]["attempt"] == 2,
               what="the second attempt is recorded")
    assert records(zk)[tick]["exit_status"] == 0


def test_a_leader_that_is_killed_is_followed_and_no_tick_runs_twice(site, folder, zk):
    task = scheduled("report", writes(folder), schedule="every 1s", catch_up="all")
    a, b = site("a", task, version="1.0"), site("b", task, version="2.0")
    wait_until(lambda: b.leads("report") and len(lines(folder)) >= 3, what="the newer one runs it")
    b.runner.stop()
    b.kill()
    n = len(lines(folder))
    wait_until(lambda: len(lines(folder)) >= n + 5, what="the other one goes on")
    ticks = [instant(tick) for tick, _, _ in lines(folder)]
    assert len(set(ticks)) == len(ticks), "none twice"
    assert sorted(ticks) == [min(ticks) + i for i in range(len(ticks))], "all of them were caught up with"
    wait_until(lambda: a.leads("report"), what="it leads")


def test_nothing_is_owed_from_before_resume(site, folder, zk, program):
    a = site("a", scheduled("report", writes(folder), schedule="every 1s", catch_up="all"))
    wait_until(lambda: len(lines(folder)) >= 2, what="it runs")
    assert tool(program, a, "pause", "report").code == 0
    assert tool(program, a, "trigger", "report").code == 4
    n = len(lines(folder))
    holds_for(lambda: len(lines(folder)) <= n + 1, 3, "nothing is run")
    before = time.time()
    assert tool(program, a, "resume", "report").code == 0
    seen = len(lines(folder))
    wait_until(lambda: len(lines(folder)) >= seen + 3, what="it goes on")
    assert all(instant(tick) >= before - 1 for tick, _, _ in lines(folder)[seen:])
    assert all(record["state"] != "missed" for record in records(zk).values())


def test_of_what_is_owed_the_last_is_run(site, folder, zk, program):
    a = site("a", scheduled("report", writes(folder), schedule="every 2s"))
    wait_until(lambda: len(lines(folder)) >= 2, what="it runs")
    a.stop()
    n, stopped = len(lines(folder)), time.time()
    holds_for(lambda: len(lines(folder)) == n, 7, "nobody runs it")
    a.start()

    def missed():
        """The ticks that were missed of those due while it was away, which are three at the least."""
        return [tick for tick, r in records(zk).items() if instant(tick) >= stopped and r["state"] == "missed"]
    wait_until(lambda: len(lines(folder)) > n and len(missed()) >= 2, what="it goes on")
    history = json.loads(tool(program, a, "--json", "history", "report").out)
    states = [r["state"] for r in history if instant(r["tick"]) >= stopped]
    assert states[:2] == ["missed", "missed"]
    assert {r["why"] for r in history if r["tick"] in missed()[:2]} == {"outage"}
    ran = [tick for tick, _, _ in lines(folder)]
    assert not {r["tick"] for r in history if r["state"] == "missed"} & set(ran)
    assert len(ran) == len(set(ran))


def test_all_that_is_owed_runs_one_after_the_other_although_runs_may_overlap(site, folder):
    command = ["/bin/sh", "-c", f'echo "b $ZKLEADER_TICK" >>{folder}/order; sleep 0.5; echo "e $ZKLEADER_TICK" '
                                f'>>{folder}/order']
    a = site("a", scheduled("report", command, schedule="every 3s", catch_up="all", overlap="allow"))
    order = folder / "order"

    def seen():
        return [line.split() for line in order.read_text().splitlines()] if order.exists() else []
    wait_until(lambda: ["e"] in [line[:1] for line in seen()], what="it runs")
    a.stop()
    stopped = time.time()
    holds_for(lambda: True, 14, "nobody leads")
    a.start()
    back = time.time()
    wait_until(lambda: [t for kind, t in seen() if kind == "e" and instant(t) > back], 120, "it has caught up")

    def owed():
        return [(kind, tick) for kind, tick in seen() if stopped < instant(tick) < back - 1]
    ticks = [tick for kind, tick in owed() if kind == "b"]
    assert len(ticks) >= 4 and ticks == sorted(ticks)
    wait_until(lambda: len(owed()) == 2 * len(ticks), what="the last has ended: one in time may end before it")
    assert owed() == [(kind, tick) for tick in ticks for kind in "be"], "each begins once the one before has ended"


def test_trigger(site, folder, zk, program):
    task = scheduled("report", writes(folder, then='echo done; exit "$ZKLEADER_ATTEMPT"'), schedule="@yearly")
    site("leader", task, version="2.0")
    other = site("other", task, version="1.0")
    outcome = tool(program, other, "trigger", "report", "--wait")
    assert outcome.code == 1, outcome
    [(tick, record)] = records(zk).items()
    assert (record["state"], record["attempt"]) == ("failed", 1) and record["by"].startswith("root@")
    assert zk.names("policy") == []
    again = tool(program, other, "trigger", "report", "--tick", tick, "--wait")
    assert again.code == 2 and f"report {tick}: failed: exit status 2" in again.out
    assert records(zk)[tick]["attempt"] == 2
    assert [attempt for _, attempt, _ in lines(folder)] == [1, 2]
    assert tool(program, other, "trigger", "report", "--tick", "2020-01-01T00:00:00Z").code == 3
    assert tool(program, other, "trigger", "nothing").code == 3
    found = json.loads(tool(program, other, "--json", "history", "report").out)
    assert (found[0]["output"], found[0]["by"]) == ("done\n", record["by"])


@pytest.mark.parametrize("then, code, attempts", [('exit "$((3 - $ZKLEADER_ATTEMPT))"', 0, 3), ("exit 9", 9, 4),
                                                  ('[ "$ZKLEADER_ATTEMPT" = 2 ] || sleep 60', 0, 2)])
def test_a_trigger_is_waited_for_to_its_last_attempt(site, folder, program, then, code, attempts):
    """Attempts that fail, or are ended by `timeout`; asked of a node that does not lead."""
    task = scheduled("report", writes(folder, then=then), schedule="@yearly", retries=3, retry_delay="1s", timeout="1s")
    a = site("a", task, version="2.0")
    other = site("other", task, version="1.0")
    wait_until(lambda: a.leads("report"), what="it is led")
    outcome = tool(program, other, "--json", "trigger", "report", "--wait")
    told = json.loads(outcome.out)
    assert (outcome.code, told["attempt"], told["retrying"]) == (code, attempts, False)
    assert [attempt for _, attempt, _ in lines(folder)] == list(range(1, attempts + 1))


@pytest.mark.parametrize("end", ["a newer tick", "a pause"])
def test_what_ends_the_retries_ends_the_wait_for_them(site, folder, program, end):
    task = scheduled("report", writes(folder, then='exit "$ZKLEADER_ATTEMPT"'), schedule="@yearly", retries=3, retry_delay="1h")
    a = site("a", task, version="2.0")
    other = site("other", task, version="1.0")
    wait_until(lambda: a.leads("report"), what="it is led")
    ends = []
    waits = [threading.Thread(target=lambda s=s: ends.append(tool(program, s, "trigger", "report", "--wait").code))
             for s in (a, other)]
    waits[0].start()
    wait_until(lambda: len(lines(folder)) == 1, what="the first has failed")
    holds_for(lambda: not ends, 3, "another attempt is to come")
    if end == "a pause":
        assert tool(program, other, "pause", "report").code == 0
    else:
        waits[1].start()
    waits[0].join(30)
    assert ends == [1], "its status"
    if end == "a newer tick":
        wait_until(lambda: len(lines(folder)) == 2, what="that one has failed")
        holds_for(lambda: len(ends) == 1, 2, "and is waited for")
        assert tool(program, other, "pause", "report").code == 0
        waits[1].join(30)
        assert ends == [1, 1]


def test_each_of_twenty_triggers_of_one_second_runs(site, folder, zk):
    """From two nodes at once, with few records kept: each has a tick of its own."""
    task = scheduled("report", writes(folder), schedule="@yearly", history=3)
    pair = [site("a", task, version="2.0"), site("b", task, version="1.0")]
    wait_until(lambda: pair[0].leads("report"), what="it is led")
    told, threads = [], []

    def trigger(sidecar):
        told.append(sidecar.call("trigger", "report")["tick"])
    for i in range(20):
        threads.append(threading.Thread(target=trigger, args=(pair[i % 2],)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert len(told) == len(set(told)) == 20
    wait_until(lambda: len(lines(folder)) >= 20, 120, "all have run")
    assert sorted(t for t, _, _ in lines(folder)) == sorted(told), "each once, and nothing else"
    assert all(attempt == 1 for _, attempt, _ in lines(folder))


def test_a_trigger_that_nobody_runs_in_time_expires(site, folder, zk, program):
    task = scheduled("report", writes(folder), schedule="@yearly", catch_up_window="15s")
    a = site("a", task)
    wait_until(lambda: a.leads("report"), what="it is led")
    assert tool(program, a, "drain", "--force").code == 0
    wait_until(lambda: not a.leads("report"), what="nobody leads")
    tick = a.call("trigger", "report")["tick"]
    holds_for(lambda: not lines(folder), 18, "nobody leads, and nothing is run")
    assert tool(program, a, "undrain").code == 0
    wait_until(lambda: records(zk).get(tick, {}).get("state") == "missed", what="it is recorded as missed")
    assert records(zk)[tick]["by"].startswith("root@")
    wait_until(lambda: zk.names("policy") == [], what="the order is gone")
    wait_until(lambda: "trigger dropped" in a.log(), what="it is logged")
    assert tool(program, a, "trigger", "report", "--wait").code == 0, "one that is new runs"
    assert [t for t, _, _ in lines(folder)] != [tick] and len(lines(folder)) == 1


@pytest.mark.slow
def test_a_tick_that_waits_for_its_splay_is_not_lost_to_a_trigger(site, folder, zk, program):
    """A task keeps one record: the run by hand comes between a tick's instant and its start 7 s later."""
    task = scheduled("report", writes(folder), schedule="every 20s", splay="18s", history=1, catch_up="none")
    a = site("a", task, session_timeout="10s")
    wait_until(lambda: a.leads("report"), what="it is led")
    due = []
    for _ in range(3):
        wait_until(lambda: 1 <= time.time() % 20 <= 3 and named(time.time() // 20 * 20) not in due, 30,
                   "another tick waits for its splay")
        due.append(named(time.time() // 20 * 20))
        assert tool(program, a, "trigger", "report", "--wait").code == 0
    for tick in due[1:]:
        wait_until(lambda: f"run claimed task=report tick={tick}" in a.log() or
                   f"first={tick}" in a.log(), 40, f"{tick} is run, or missed and told")


def test_crashes_use_up_no_retries(site, folder, program):
    """Its supervisors are killed twice; then it fails, and is tried again as often as retries say."""
    script = ('[ "$ZKLEADER_ATTEMPT" -gt 2 ] && exit 3; '
              'kill -9 $(cut -d" " -f4 /proc/$PPID/stat) $PPID; sleep 60')
    a = site("a", scheduled("report", writes(folder, then=script), schedule="@yearly", on_crash="rerun", retries=1,
                            retry_delay="0s"), session_timeout="10s")
    wait_until(lambda: a.leads("report"), what="it is led")
    assert tool(program, a, "trigger", "report").code == 0
    wait_until(lambda: len(lines(folder)) >= 4, 120, "two were lost, one failed, and one is the retry")
    holds_for(lambda: [attempt for _, attempt, _ in lines(folder)] == [1, 2, 3, 4], 5, "no more than that")


def test_what_a_clock_that_was_ahead_has_left(site, folder, zk, program):
    """A day of ticks is decided, more than are kept; until then nothing is run but by hand."""
    task = scheduled("report", writes(folder), schedule="* * * * *", history=3)
    ahead = [time.strftime("%Y-%m-%dT%H:%M:00Z", time.gmtime(time.time() + 86400 + 60 * i)) for i in range(3)]
    zk.client.ensure_path(f"{zk.root}/runs/report")
    zk.client.set(f"{zk.root}/runs/report", ahead[0].encode())  # what was before it was pruned
    for tick in ahead:
        record = {"state": "ok", "id": "x", "token": 1, "session": 1, "started_at": 1, "ended_at": 2, "attempt": 1,
                  "hostname": "h", "run": "r", "exit_status": 0}
        zk.client.create(f"{zk.root}/runs/report/{tick}", msgpack.packb(record))
    leader = site("leader", task, version="2.0")
    other = site("other", task, version="1.0")
    wait_until(lambda: leader.leads("report"), what="it is led")
    [problem] = wait_until(lambda: [p for p in leader.status()["problems"] if p["file"] == "report"], what="it is told")
    assert ahead[-1] in problem["message"] and "zkleader trigger report" in problem["message"]
    due = json.loads(tool(program, leader, "--json", "next", "report", "-n", "2").out)
    assert [d["tick"] > ahead[-1] for d in due] == [True, True]
    for sidecar in (leader, other):
        assert sidecar.call("tasks", "report")[0]["due"] > ahead[-1]
    for _ in range(2):
        outcome = tool(program, other, "trigger", "report", "--wait")
        assert outcome.code == 0, outcome
    assert len(lines(folder)) == 2 and zk.names("policy") == []
    assert zk.get("runs", "report")[0].decode() == ahead[0], "what was pruned is not run again"


def test_what_a_job_writes_is_in_the_journal_under_its_task(fleet, folder, zk):
    a = fleet.sidecar("a", tasks=[scheduled("report", ["/bin/sh", "-c", "echo one; echo two >&2; printf three"],
                                            schedule="@yearly")])
    journal, runner = Journal(folder), Runner(a.folder / "runner", a.socket, a.config_file)
    runner.command = journal.command()
    runner.extra_env.update(journal.told(runner.log_file))
    runner.start()
    try:
        wait_until(lambda: a.leads("report"), what="it leads")
        a.call("trigger", "report", {})
        tick = wait_until(lambda: next((t for t, r in records(zk).items() if r["state"] == "ok"), None), what="it has run")
        wanted = {("report", "report", tick, line) for line in ("one", "two", "three")}
        wait_until(lambda: wanted <= {(e.get("SYSLOG_IDENTIFIER"), e.get("ZKLEADER_TASK"), e.get("ZKLEADER_TICK"), e["MESSAGE"])
                                      for e in journal.read()}, what="each line is there, with its fields")
        assert b"one" not in runner.log_file.read_bytes(), "and nowhere else"
    finally:
        reports = runner.close()
        journal.close()
    assert not reports, "\n".join(reports)

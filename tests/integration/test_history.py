"""zkleader history: what ran, where, how it ended, and what was missed; the same from every node."""
import json
import time

import msgpack
import pytest

from harness.jobs import next_tick
from harness.sidecar import task_text
from harness.waiting import wait_until

TASK = "nightly"
MINUTE = task_text(TASK, tick="1m")
BEGIN = 1_790_000_040  # a full minute


def tick(minute):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BEGIN + 60 * minute))


def put(zk, minute, task=TASK, **changes):
    """A record as another node has left it."""
    started = (BEGIN + 60 * minute) * 1000 + 250
    record = {"state": "ok", "id": "11111111-2222-3333-4444-555555555555", "hostname": "elsewhere", "token": 77,
              "attempt": 1, "started_at": started, "ended_at": started + 2500, "exit_status": 0, **changes}
    record = {k: v for k, v in record.items() if v is not None}
    zk.put(msgpack.packb(record), "runs", task, tick(minute), ephemeral=False)


@pytest.fixture
def history(fleet, program):
    a = fleet.sidecar("a", tasks=[MINUTE], session_timeout="10s")

    def ask(*options, sidecar=a):
        return program("zkleader", "-s", sidecar.socket, *options, "history", TASK)

    ask.sidecar = a
    return ask


def rows(outcome):
    assert outcome.code == 0, outcome
    head, *lines = outcome.out.splitlines()
    return head.split(), [line.split() for line in lines]


def test_json_is_the_records_with_their_ticks_oldest_first(zk, history):
    put(zk, 1, state="failed", exit_status=7, attempt=2)
    put(zk, 0)
    put(zk, 2, state="claimed", ended_at=None, exit_status=None)
    outcome = history("--json")
    found = json.loads(outcome.out)
    assert (outcome.code, outcome.err) == (0, "")
    assert [r["tick"] for r in found] == [tick(0), tick(1), tick(2)]
    assert found[0] == {"tick": tick(0), "state": "ok", "id": "11111111-2222-3333-4444-555555555555",
                        "hostname": "elsewhere", "node": "elsewhere", "token": 77, "attempt": 1, "exit_status": 0,
                        "started_at": tick(0), "ended_at": tick(0).replace(":00Z", ":02Z"), "by": None, "output": None}
    assert (found[1]["state"], found[1]["exit_status"], found[1]["attempt"]) == ("failed", 7, 2)
    assert (found[2]["state"], found[2]["exit_status"], found[2]["ended_at"]) == ("claimed", None, None)


def test_the_table_shows_the_ticks_that_were_missed(zk, history):
    for minute in (0, 1, 2, 5, 6):
        put(zk, minute)
    head, lines = rows(history())
    assert head == ["TICK", "STATE", "NODE", "START", "DURATION", "ATTEMPT", "EXIT", "TOKEN"]
    assert [(line[0], line[1]) for line in lines] == [
        (tick(m), "missed" if m in (3, 4) else "ok") for m in range(7)]
    assert lines[0][2:] == ["elsewhere", tick(0), "2s", "1", "0", "77"]
    for minute in range(30, 33):
        put(zk, minute)
    _, lines = rows(history())
    missed = [line for line in lines if "missed" in line]
    assert len(missed) == 2 + 5 and missed[-1][:3] == ["and", "19", "more"], "no endless list"


def test_json_tells_the_ticks_that_were_missed_with_the_record_before_them(zk, history):
    for minute in (0, 1, 2, 5, 6):
        put(zk, minute)
    found = json.loads(history("--json").out)
    assert [(r["tick"], r.get("missed_after")) for r in found] == [
        (tick(0), None), (tick(1), None), (tick(2), [tick(3), tick(4)]), (tick(5), None), (tick(6), None)]


def test_ticks_that_are_not_regular_are_not_missed(zk, history):
    for minute in (0, 3, 4, 17, 40):
        put(zk, minute)
    assert all("missed" not in line for line in rows(history())[1])
    assert len(rows(history())[1]) == 5


def test_a_schedule_has_no_ticks_but_its_own(zk, history):
    text = task_text(TASK, schedule="0 2 * * MON-FRI", command=["/bin/true"], user="root")
    history.sidecar.write_tasks(text)
    for day in (0, 1, 4, 5, 6):
        put(zk, 1440 * day)
    wait_until(lambda: history.sidecar.call("next", TASK), what="the schedule is read")
    assert [line[1] for line in rows(history())[1]] == ["ok"] * 5
    found = json.loads(history("--json").out)
    assert len(found) == 5 and all(r["scheduled"] and "missed_after" not in r for r in found)


def test_a_run_whose_node_is_gone_is_lost(zk, history):
    put(zk, 0, state="running", ended_at=None, exit_status=None, session=4711)
    [line] = rows(history())[1]
    assert line[1] == "lost"
    assert json.loads(history("--json").out)[0]["state"] == "lost"


def test_runs_of_the_whole_fleet_from_every_node(fleet, zk, history, jobs):
    a = history.sidecar
    wait_until(lambda: a.leads(TASK), what="a leads")
    job = jobs(TASK)
    assert job.run(a, "--tick", "1s").code() == 0
    b = fleet.sidecar("b", version="2", tasks=[MINUTE], node="blue", session_timeout="10s")
    wait_until(lambda: b.leads(TASK), what="b leads")
    next_tick(1)
    running = job.run(b, "--tick", "1s", body="sleep 60")
    job.wait_started(2)
    found = [json.loads(history("--json", sidecar=s).out) for s in (a, b)]
    assert found[0] == found[1]
    assert [(r["state"], r["id"]) for r in found[0]] == [("ok", a.id), ("running", b.id)]
    assert found[0][1]["node"] == "blue" and "blue" in history().out
    assert [r["token"] for r in found[0]] == [line.token for line in job.lines("start")]
    assert found[0][0]["token"] < found[0][1]["token"] and found[0][1]["ended_at"] is None
    running.signal(15)
    assert running.code() == 143
    last = json.loads(history("--json").out)[-1]
    assert (last["state"], last["exit_status"]) == ("failed", 143)


def test_what_is_no_record_is_passed_over_and_told_in_the_log(zk, history):
    put(zk, 0)
    zk.put(b"\xff\xff", "runs", TASK, tick(1), ephemeral=False)
    zk.put(b"", "runs", TASK, "no-tick", ephemeral=False)
    assert [r["tick"] for r in json.loads(history("--json").out)] == [tick(0)]
    history.sidecar.wait_log("run record refused")


def test_of_all_tasks_or_of_several_in_one_table(fleet, zk, program):
    tasks = [task_text(name, tick="1m") for name in ("job-9", "job-10", "idle")]
    a = fleet.sidecar("a", tasks=tasks)

    def ask(*options):
        return program("zkleader", "-s", a.socket, "history", *options)

    for minute, state in ((0, "ok"), (1, "failed"), (3, "lost")):
        put(zk, minute, task="job-10", state=state)
    put(zk, 2, task="job-9", state="running", ended_at=None, exit_status=None, session=4711)
    head, lines = rows(ask())
    assert head[:3] == ["TASK", "TICK", "STATE"]
    newest_first = [("job-10", 3, "lost"), ("job-9", 2, "lost"), ("job-10", 1, "failed"), ("job-10", 0, "ok")]
    assert [tuple(line[:3]) for line in lines] == [(task, tick(m), state) for task, m, state in newest_first]
    assert [tuple(line[:3]) for line in rows(ask("job-10", "job-9", "idle"))[1]] == [tuple(x[:3]) for x in lines]
    found = json.loads(ask("--json", "--failed").out)
    assert [(r["task"], r["tick"], r["state"]) for r in found] == [
        (task, tick(m), state) for task, m, state in newest_first[:3]]
    assert ask("--running").out == "no run matches\n"
    assert ask("idle", "job-9", "nosuch").code == 3
    assert "task" not in json.loads(ask("--json", "job-9").out)[0]


def test_since_and_running_go_by_this_nodes_clock(zk, history, program):
    put(zk, 0)
    now = int(time.time() * 1000)
    put(zk, 1, state="claimed", started_at=now - 60_000, ended_at=None, exit_status=None)
    outcome = program("zkleader", "-s", history.sidecar.socket, "--json", "history", TASK, "--since", "1h")
    assert [r["state"] for r in json.loads(outcome.out)] == ["claimed"]
    assert len(json.loads(history("--json").out)) == 2


def test_without_runs_and_without_a_task(history, program):
    outcome = history()
    assert outcome.code == 0 and outcome.out == f"no runs of {TASK} are recorded\n"
    assert json.loads(history("--json").out) == []
    outcome = program("zkleader", "-s", history.sidecar.socket, "history", "unknown")
    assert outcome.code == 3 and outcome.err.count("\n") == 1


def test_it_says_so_when_it_cannot_tell(fleet, own_server, zk, program):
    own_server.start()
    a = fleet.sidecar("a", tasks=[MINUTE])
    own_server.kill()
    wait_until(lambda: a.status()["session"]["state"] != "connected", what="the connection is gone")
    outcome = program("zkleader", "-s", a.socket, "history", TASK)
    assert outcome.code == 2 and outcome.out == "" and outcome.err.count("\n") == 1


@pytest.fixture
def stalled(fleet, proxy):
    """A sidecar whose server does not answer for now."""
    made = fleet.sidecar("stalled", tasks=[MINUTE], zookeeper=proxy.address, session_timeout="30s")
    wait_until(lambda: made.leads(TASK), what="it leads")
    proxy.stall()
    yield made
    proxy.flow()


def test_an_answer_to_who_has_gone_is_given_to_nobody_else(stalled, proxy):
    for _ in range(20):  # the next one may get the memory of the one before
        with stalled.client() as gone:
            gone.send("history", TASK)
            gone.call("status")
    with stalled.client() as client:
        client.last_id = 1000
        client.call("status")
        proxy.flow()
        asked = client.send("history", TASK)
        assert client.read()[1] == asked


def test_requests_for_the_history_that_wait_are_limited(stalled):
    with stalled.client() as client:
        for _ in range(1001):  # CONTROL_PARKED_MAX and one
            client.send("history", TASK)
        kind, msgid, error, _ = client.read()
        assert (kind, msgid, error["code"]) == (1, 0, 3) and "too many" in error["message"]
        assert client.is_closed()


def test_says_where_older_runs_are_not_kept(fleet, zk, program):
    one = fleet.sidecar("one", tasks=['task "cut" { history = 2 }\n', 'task "whole" { history = 9 }\n'])
    wait_until(lambda: len(zk.leaders()) == 2, what="both are led")
    for i in range(4):
        for task in ("cut", "whole"):
            done = program("zkleader", "-s", one.socket, "run", "--tick", "1s", task, "--", "true")
            assert done.code == 0, done
        time.sleep(1.1)
    kept = one.call("history", "cut")
    said = program("zkleader", "-s", one.socket, "history", "cut")
    assert said.out.endswith(f"\n\nolder runs are not kept (key history) of\n  cut since {kept[0]['tick']}\n"), said
    assert "older runs" not in program("zkleader", "-s", one.socket, "history", "whole").out
    both = program("zkleader", "-s", one.socket, "history")
    assert both.out.endswith(f"\n\nolder runs are not kept (key history) of\n  cut since {kept[0]['tick']}\n"), both

"""zkleader, the operator's tool: its words on a real fleet. Formats are the unit tests' business."""
import itertools
import json
import os
import pty
import re
import signal
import subprocess

import pytest

from harness.process import end, spawn
from harness.sidecar import build, sanitizer_env, task_text
from harness.waiting import wait_until

TASK = "nightly-report"


@pytest.fixture
def trio(fleet, zk):
    versions = {"old": "1.9", "new": "1.10", "other": "1.9"}
    made = {n: fleet.sidecar(n, version=v, tasks=[TASK, "cleanup"], node=n) for n, v in versions.items()}
    wait_until(lambda: zk.leaders() == {TASK: made["new"].id, "cleanup": made["new"].id}, what="the newest leads")
    wait_until(lambda: all(len(s.call("workers")) == 3 for s in made.values()), what="all see all")
    return made


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args, **kwargs):
        return program("zkleader", "-s", getattr(sidecar, "socket", sidecar), *args, **kwargs)
    return run


def as_json(outcome):
    assert outcome.err == "", outcome
    return json.loads(outcome.out)


def test_list_shows_the_workers_newest_first_and_marks_this_node(zkleader, trio):
    found = as_json(zkleader(trio["old"], "--json", "list"))
    assert [w["version"] for w in found] == ["1.10", "1.9", "1.9"]
    keys = {"id", "version", "ip", "hostname", "random_ints", "tasks", "state", "leads", "self", "since"}
    assert all(keys <= set(w) for w in found)
    assert [w["id"] for w in found if w["self"]] == [trio["old"].id]
    assert [w["leads"] for w in found] == [2, 0, 0] and {w["state"] for w in found} == {"active"}
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", w["since"]) for w in found)
    text = zkleader(trio["old"], "list")
    assert text.code == 0 and text.err == "" and "1.10" in text.out.splitlines()[3]
    assert all(len(line) <= 80 for line in text.out.splitlines()), text.out


def test_tasks_shows_who_leads_each(zkleader, trio, zk):
    found = as_json(zkleader(trio["old"], "--json", "tasks"))
    assert [t["task"] for t in found] == ["cleanup", TASK]
    for task in found:
        assert {"task", "state", "self", "leader", "token", "since", "lease_ms"} <= set(task)
        assert (task["state"], task["self"], task["lease_ms"]) == ("following", False, 0)
        assert task["leader"]["id"] == trio["new"].id and task["leader"]["version"] == "1.10"
        assert task["token"] == zk.leader(task["task"])[1]
    [mine] = as_json(zkleader(trio["new"], "--json", "tasks", TASK))
    assert (mine["state"], mine["self"]) == ("leading", True) and mine["lease_ms"] > 0
    text = zkleader(trio["old"], "tasks")
    assert text.code == 0 and TASK in text.out and "1.10" in text.out
    assert all(len(line) <= 80 for line in text.out.splitlines()), text.out


def test_status_exits_0_when_healthy_and_2_when_not(zkleader, trio):
    outcome = zkleader(trio["new"], "--json", "status")
    status = as_json(outcome)
    assert outcome.code == 0
    assert {"id", "version", "ip", "session", "lease_ms", "leads", "tasks", "problems"} <= set(status)
    assert status["id"] == trio["new"].id and status["session"]["timeout_ms"] == 3000
    assert zkleader(trio["new"], "status").code == 0
    trio["new"].write_file("task {", "bad.conf")
    wait_until(trio["new"].problems, what="the file is refused")
    outcome = zkleader(trio["new"], "status")
    assert outcome.code == 2 and "bad.conf:1" in outcome.out + outcome.err
    outcome = zkleader(trio["new"], "--json", "status")
    assert outcome.code == 2 and json.loads(outcome.out)["problems"][0]["line"] == 1


def test_explain_says_why_and_ranks_all(zkleader, trio):
    answer = as_json(zkleader(trio["old"], "--json", "explain", TASK))
    assert {"task", "state", "leads", "reason", "ranking"} <= set(answer)
    assert answer["leads"] is False and len(answer["ranking"]) == 3
    assert answer["ranking"][0]["id"] == trio["new"].id
    assert answer["ranking"] == trio["old"].explain(TASK)["ranking"]
    text = zkleader(trio["old"], "explain", TASK)
    assert text.code == 0 and text.out.count("older version") == 2 and text.err == ""
    assert "lower rank" not in text.out, "the version is what counts for each of an older one"
    assert [w["cause"] for w in answer["ranking"]] == ["best", "version", "version"]
    assert [w["id"] for w in answer["ranking"] if w["self"]] == [trio["old"].id]


def test_tasks_are_chosen_and_described(fleet, zkleader):
    names = ["job-10", "job-9", "report"]
    one = fleet.sidecar("one", tasks=[task_text(n, description=f"what {n} is for") for n in names])
    wait_until(lambda: one.status()["leads"] == 3, what="it leads all")
    shown = lambda *words: [t["task"] for t in as_json(zkleader(one, "--json", "tasks", *words))]  # noqa: E731
    assert shown() == ["job-9", "job-10", "report"]
    assert shown("job-*", "report") == ["job-9", "job-10", "report"] and shown("job-?") == ["job-9"]
    assert zkleader(one, "pause", "report").code == 0
    wait_until(lambda: shown("--no-leader") == ["report"], what="nobody leads what is paused")
    assert shown("--state", "paused") == ["report"] and shown("--mine") == ["job-9", "job-10"]
    host = one.call("workers")[0]["hostname"]
    assert shown("--leader", host, "--sort", "since", "job-10") == ["job-10"] and shown("--leader", "nobody") == []
    nothing = zkleader(one, "tasks", "none-*")
    assert (nothing.code, nothing.err) == (0, "") and nothing.out.endswith("no task matches\n")
    unknown = zkleader(one, "tasks", "job-*", "none")
    assert unknown.code == 3 and 'unknown task "none"' in unknown.err
    assert "what job-9 is for" in zkleader(one, "tasks", "-l").out
    assert zkleader(one, "explain", "job-9").out.startswith("job-9: what job-9 is for\n")


def test_reload_prints_what_changed_and_exits_3_if_a_file_was_refused(zkleader, trio):
    new = trio["new"]
    outcome = zkleader(new, "reload")
    assert outcome.code == 0 and outcome.err == ""
    new.write_config(yield_delay="1s")
    outcome = zkleader(new, "reload")
    assert outcome.code == 0 and "yield-delay" in outcome.out
    new.write_file("task {", "bad.conf")
    outcome = zkleader(new, "reload")
    assert outcome.code == 3 and "bad.conf:1" in outcome.err
    assert new.leads(TASK)


def test_misuse_and_absence_have_their_exit_codes(zkleader, program, trio, folder):
    for args in (["nonsense"], ["explain"], ["explain", "unknown"], ["tasks", "unknown"], ["list", "extra"],
                 ["status", "--bogus"], ["explain", "a/b"], ["watch", "unknown"]):
        outcome = zkleader(trio["new"], *args)
        assert outcome.code == 3 and outcome.out == "" and outcome.err, (args, outcome)
    for args in (["list"], ["tasks"], ["status"], ["explain", TASK], ["reload"]):
        outcome = zkleader(folder / "none", *args)
        assert outcome.code == 2 and outcome.out == "" and outcome.err.count("\n") == 1, (args, outcome)
    for args in (["-h"], ["help"], ["version"], ["-V"], ["list", "-h"], ["help", "explain"], []):
        outcome = program("zkleader", *args)
        assert outcome.code == 0 and outcome.out and outcome.err == "", (args, outcome)


def test_colours_are_for_terminals_alone(zkleader, trio):
    assert "\x1b" not in zkleader(trio["new"], "status").out + zkleader(trio["new"], "list").out

    def on_terminal(*args):
        ours, theirs = pty.openpty()
        process = spawn([build() / "zkleader", "-s", trio["new"].socket, *args], stdout=theirs, stderr=theirs,
                        env={**os.environ, "TERM": "xterm"})
        process.wait(30)
        os.close(theirs)
        text = os.read(ours, 65536).decode()
        os.close(ours)
        return text

    assert "\x1b[" in on_terminal("status") + on_terminal("list")
    assert "\x1b[" not in on_terminal("--no-color", "status") + on_terminal("--no-color", "list")


def test_watch_tells_each_change_as_it_happens_over_a_restart_of_the_sidecar(trio, folder, zk):
    watching = folder / "watching"
    home = folder / "watch-home"
    home.mkdir()
    with open(watching, "wb") as out:
        process = spawn([build() / "zkleader", "-s", trio["old"].socket, "--json", "watch"], stdout=out,
                        stderr=subprocess.STDOUT, env=sanitizer_env(home))
    try:
        def events():
            found = []
            for line in watching.read_text().splitlines():
                if line.startswith("{"):
                    found.append(json.loads(line))
            return found

        # Events before it has subscribed are not told: so make things happen until it tells one.
        def told_of_a_change():
            zk.client.delete(zk.path("leaders", TASK))
            wait_until(lambda: zk.leaders().get(TASK) == trio["new"].id, what="led again")
            return [e for e in events() if e["event"] == "leadership" and e["task"] == TASK]
        wait_until(told_of_a_change, what="a change is told")
        new_id = trio["new"].id
        trio["new"].kill()
        wait_until(lambda: [e for e in events() if e["event"] == "left" and e["id"] == new_id], what="a leave is told")
        trio["old"].stop()
        trio["old"].start()

        def told_of_a_join():
            trio["new"].stop() if trio["new"].is_running() else None
            trio["new"].start()
            id = trio["new"].id
            wait_until(lambda: id in [w["id"] for w in trio["old"].call("workers")], what="it is seen")
            return [e for e in events() if e["event"] == "joined" and e["id"] == id]
        wait_until(told_of_a_join, what="a join is told after the sidecar is back")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        end(process)
    assert not list(home.glob("reports/*"))


def test_watch_tells_how_far_a_rollout_has_come(trio, folder, fleet):
    out = folder / "watching"
    with open(out, "wb") as f:
        process = spawn([build() / "zkleader", "-s", trio["old"].socket, "watch"], stdout=f, stderr=subprocess.STDOUT)
    try:
        number = itertools.count()

        def told():
            if next(number) % 50 == 0:  # what happens before it watches is not told
                fleet.sidecar(f"more{next(number)}", version="1.9", tasks=[TASK])
            lines = [x.split(" ", 1)[1] for x in out.read_text().splitlines() if " rollout: " in x]
            return lines and re.fullmatch(
                r"rollout: 1\.10: 1 of \d workers, leads 2 of 2 tasks; 1\.9: \d workers, leads 0", lines[-1])
        wait_until(told, what="it is told")
    finally:
        end(process)


def called(sidecar):
    """Its node's name, as there are several on this host."""
    return f"{sidecar.status()['hostname']}:{sidecar.socket}"


@pytest.fixture
def watch(folder, request):
    """Starts `watch`, and returns what reads its lines; on the sidecar's host it may be that it hears of nothing yet."""
    started = []

    def begin(sidecar, *words):
        out = folder / f"watching{len(started)}"
        with open(out, "wb") as f:
            started.append(spawn([build() / "zkleader", "-s", sidecar.socket, *words, "watch"], stdout=f,
                                 stderr=subprocess.STDOUT, env={**sanitizer_env(folder), "LC_ALL": "C.UTF-8"}))
        return out.read_text
    yield begin
    for process in started:
        end(process)


def test_watch_tells_a_change_of_hands_in_one_line(trio, watch, zkleader):
    read, read_json = watch(trio["old"]), watch(trio["old"], "--json")

    def watches():
        zkleader(trio["other"], "pin", "cleanup", "1.10")
        zkleader(trio["other"], "unpin", "cleanup")
        return "pinned" in read() and "pin" in read_json()
    wait_until(watches, what="both watch")
    host, new_id = trio["old"].status()["hostname"], trio["new"].id
    trio["new"].stop()
    line = rf"Z {TASK}: new \(1\.10\) → (old|other) \(1\.9\), left the fleet, \d+(\.\d)? m?s\n"
    wait_until(lambda: re.search(line, read()), what="who leads now, who led, why, and for how long nobody did")
    told = [one for one in read().splitlines() if f"Z {TASK}: " in one and "nobody leads it" not in one]
    # If the better of the two came second, that is a line of its own.
    assert ["left the fleet" in one for one in told] == [True] + [False] * (len(told) - 1)
    wait_until(lambda: "new (127.0.0.1, version 1.10) left\n" in read(), what="it does not come back")
    told = [e for e in map(json.loads, read_json().splitlines()) if e["event"] == "leadership" and e["task"] == TASK]
    change = next(e for e in told if e["reason"] == "left the fleet")
    assert change["previous"] == {"id": new_id, "hostname": host, "version": "1.10", "node": "new"}
    assert change["vacant_ms"] >= 0
    trio["new"].start()
    wait_until(lambda: re.search(rf"Z {TASK}: .* → new \(1\.10\), newer version, \d+ ms\n", read()), what="a better one")
    assert zkleader(trio["new"], "drain").code == 0
    wait_until(lambda: re.search(rf"Z {TASK}: new \(1\.10\) → .*, drained, \d+ ms\n", read()), what="why: the drain")


def test_tables_watch_and_the_log_call_a_node_by_its_key(fleet, zk, watch, zkleader):
    old = fleet.sidecar("old", tasks=[TASK], version="1.0", node="blue", log_format="json")
    zk.wait_for_leader(TASK, old)
    read = watch(old)

    def watches():
        zkleader(old, "pin", TASK, "1.0")
        zkleader(old, "unpin", TASK)
        return "pinned" in read()
    wait_until(watches, what="it watches")
    new = fleet.sidecar("new", tasks=[TASK], version="2.0", node="green")
    zk.wait_for_leader(TASK, new)
    wait_until(lambda: old.explain(TASK)["leader"]["node"] == "green", what="the other knows it")
    said = {name: zkleader(old, name, *args) for name, *args in (("list",), ("tasks",), ("explain", TASK), ("status",))}
    host = old.status()["hostname"]
    assert not any(host in said[name].out for name in ("list", "tasks", "explain")), said
    assert re.search(r"\n  2\.0 +127\.0\.0\.1 green .*\n\* 1\.0 +127\.0\.0\.1 blue ", said["list"].out), said["list"]
    assert re.search(rf"\n{TASK} +green +2\.0 ", said["tasks"].out), said["tasks"]
    assert f"{TASK} is led by green (2.0)" in said["explain"].out
    assert re.search(r"\n  1 green .*\n\* 2 blue ", said["explain"].out), said["explain"]
    assert f"Node       blue ({host}, 127.0.0.1)\n" in said["status"].out
    wait_until(lambda: re.search(rf"Z {TASK}: blue \(1\.0\) → green \(2\.0\), newer version, \d+ ms\n", read()), what="a handover")
    records = old.log_records()
    assert [r["better_node"] for r in records if r["message"] == "no longer leading"] == ["green"]
    assert [r["node"] for r in records if r["message"] == "worker joined"] == ["blue", "green"]
    assert zkleader(old, "drain", "green").out.startswith("green is drained")
    wait_until(lambda: "Z green: drained by " in read(), what="a decision")
    wait_until(lambda: re.search(rf"Z {TASK}: green \(2\.0\) → blue \(1\.0\), drained, ", read()), what="and what follows")


def test_watch_tells_that_it_is_disconnected_and_the_difference_afterwards(fleet, zk, proxy, watch, zkleader):
    far = fleet.sidecar("far", version="2", tasks=[TASK])
    wait_until(lambda: zk.leaders() == {TASK: far.id}, what="it leads")
    near = fleet.sidecar("near", version="1", tasks=[TASK], zookeeper=proxy.address)
    wait_until(lambda: len(near.call("workers")) == 2, what="both are there")
    read, read_json = watch(near), watch(near, "--json")

    def watches():
        zkleader(far, "pin", TASK, "2")
        zkleader(far, "unpin", TASK)
        return "pinned" in read() and "pin" in read_json()
    wait_until(watches, what="both watch")
    proxy.stall()
    wait_until(lambda: "Z disconnected: " in read(), what="it says so")
    third = fleet.sidecar("third", version="3", tasks=[TASK])
    wait_until(lambda: zk.leaders() == {TASK: third.id}, what="another leads")
    assert "Z connected" not in read() and "→" not in read()
    proxy.flow()
    change = f"Z {TASK}: {called(far)} (2) → {called(third)} (3) (while disconnected)\n"
    wait_until(lambda: change in read(), 60, "the difference")
    lines = read()[read().index("Z disconnected"):].splitlines()
    assert sum(f" {TASK}: " in line and "→" in line for line in lines) == 1 and any("Z connected" in line for line in lines), lines
    wait_until(lambda: [e for e in map(json.loads, read_json().splitlines()) if e.get("meanwhile") and e.get("task") == TASK],
               what="JSON has it as well")
    events = [e for e in map(json.loads, read_json().splitlines()) if e["event"] == "connection"]
    assert [e["confirmed"] for e in events][:2] == [False, True]


def test_watch_tells_the_end_of_a_rollout(fleet, watch, zkleader):
    one = fleet.sidecar("one", version="2", tasks=["other"])
    read = watch(one)

    def watches():
        zkleader(one, "pin", "other", "2")
        zkleader(one, "unpin", "other")
        return "pinned" in read()
    wait_until(watches, what="it watches")
    two = fleet.sidecar("two", version="1", tasks=["other"])
    wait_until(lambda: " rollout: 2: 1 of 2 workers, leads 1 of 1 task; 1: 1 worker, leads 0\n" in read(), what="a rollout")
    two.stop()
    wait_until(lambda: "Z rollout of 2 complete: 1 of 1 workers, 1 task, " in read(), what="its end")


def test_explain_says_since_when(zkleader, trio):
    explained = as_json(zkleader(trio["old"], "--json", "explain", TASK))
    assert explained["leader"]["id"] == trio["new"].id and explained["token"] > 0
    assert explained["reason"].endswith(f"the best candidate, since {explained['since']}")


def test_watch_tells_after_a_restart_what_has_changed_meanwhile(trio, folder, zk, zkleader):
    out = folder / "watching"
    with open(out, "wb") as f:
        process = spawn([build() / "zkleader", "-s", trio["old"].socket, "--json", "watch"], stdout=f,
                        stderr=subprocess.STDOUT)
    try:
        def told(event, **about):
            return [e for e in map(json.loads, (x for x in out.read_text().splitlines() if x.startswith("{")))
                    if e["event"] == event and about.items() <= e.items()]

        def told_of_a_pin():
            zkleader(trio["other"], "pin", TASK, "1.10")
            zkleader(trio["other"], "unpin", TASK)
            return told("decided", kind="pin")
        wait_until(told_of_a_pin, what="it watches")
        assert zkleader(trio["other"], "pause", "cleanup", "--reason", "try").code == 0
        wait_until(lambda: told("decided", task="cleanup", reason="try"), what="a pause is told")
        new, old = trio["new"].id, trio["old"].id
        trio["old"].stop()
        wait_until(lambda: "trying again" in out.read_text(), what="the sidecar is missed")
        assert zkleader(trio["other"], "resume", "cleanup").code == 0
        assert zkleader(trio["other"], "pause", TASK, "--for", "1h").code == 0
        trio["new"].stop()
        wait_until(lambda: zk.leaders() == {"cleanup": trio["other"].id}, what="much has changed")
        trio["old"].start()
        wait_until(lambda: told("leadership", meanwhile=True, task="cleanup"), what="it tells what has changed")
        [led] = told("leadership", meanwhile=True, task="cleanup")
        # The worker that is back may be the better candidate by then.
        assert led["leader"]["id"] in (trio["other"].id, trio["old"].id)
        assert told("leadership", meanwhile=True, task=TASK)[0]["leader"] is None
        # Its own end may be told while it stops; either way each is told once.
        assert sorted(e["id"] for e in told("left")) == sorted([old, new])
        assert new in {e["id"] for e in told("left", meanwhile=True)}
        assert [e["id"] for e in told("joined", meanwhile=True)] == [trio["old"].id]
        assert [e["task"] for e in told("ended", meanwhile=True)] == ["cleanup"]
        [pause] = told("decided", meanwhile=True)
        assert pause["task"] == TASK and pause["kind"] == "pause" and pause["until"]
        assert not told("joined", id=trio["other"].id), "who was there all the time has not joined"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        end(process)

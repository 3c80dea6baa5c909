"""zkleader next, and the keys of schedules."""
import datetime
import json
import zoneinfo

import pytest

from harness.sidecar import task_text
from harness.waiting import wait_until

JOB = {"command": ["/bin/true"], "user": "nobody"}


def text(name, **values):
    """A task whose command is written as an array."""
    values = {**JOB, **values}
    command = values.pop("command")
    body = task_text(name, **values).rstrip("}\n")
    return body + "\n  command = {" + ", ".join(f'"{w}"' for w in command) + "}\n}\n"


@pytest.fixture
def ask(fleet, program):
    def of(*tasks, **config):
        only = fleet.sidecar("only", tasks=tasks, **config)

        def run(*args):
            return program("zkleader", "-s", only.socket, *args)

        run.sidecar = only
        return run

    return of


def test_instants_of_a_task_in_its_zone(ask):
    run = ask(text("night", schedule="30 2 * * *", timezone="Europe/Berlin"))
    r = run("--json", "next", "night", "-n", "3", "--from", "2026-03-28T00:00:00Z")
    assert r.code == 0, r
    assert json.loads(r.out) == [
        {"task": "night", "tick": "2026-03-28T01:30:00Z", "local": "2026-03-28T02:30:00+01:00", "timezone": "Europe/Berlin"},
        # The clocks jump over 02:30: once, at the first instant after the gap.
        {"task": "night", "tick": "2026-03-29T01:00:00Z", "local": "2026-03-29T03:00:00+02:00", "timezone": "Europe/Berlin"},
        {"task": "night", "tick": "2026-03-30T00:30:00Z", "local": "2026-03-30T02:30:00+02:00", "timezone": "Europe/Berlin"}]
    same = run("--json", "next", "night", "-n", "1", "--from", "2026-03-28T02:30:00+01:00")
    assert [i["tick"] for i in json.loads(same.out)] == ["2026-03-28T01:30:00Z"]


def test_all_tasks_with_the_zone_of_the_main_file(ask):
    run = ask(text("a", schedule="every 6h"), text("b", schedule="@daily"), text("c", schedule="0 12 * * *", timezone="UTC"),
              "plain", timezone="America/New_York")
    r = run("--json", "next", "-n", "2", "--from", "2026-07-01T00:00:00Z")
    found = [(i["task"], i["tick"], i["timezone"]) for i in json.loads(r.out)]
    assert found == [("a", "2026-07-01T00:00:00Z", "America/New_York"), ("b", "2026-07-01T04:00:00Z", "America/New_York"),
                     ("a", "2026-07-01T06:00:00Z", "America/New_York"), ("c", "2026-07-01T12:00:00Z", "UTC"),
                     ("b", "2026-07-02T04:00:00Z", "America/New_York"), ("c", "2026-07-02T12:00:00Z", "UTC")]
    r = run("next", "b")
    assert r.code == 0 and r.out.splitlines()[0].split()[:3] == ["TASK", "DUE", "IN"] and len(r.out.splitlines()) == 6
    first = json.loads(run("--json", "next", "b", "-n", "1").out)[0]
    local = datetime.datetime.now(zoneinfo.ZoneInfo("America/New_York"))
    assert first["local"].startswith(str((local + datetime.timedelta(days=1)).date()))


def test_no_session_is_needed(ask, own_server):
    run = ask(text("a", schedule="0 0 1 1 *"), zookeeper="127.0.0.1:1", start=True, ready=False)
    wait_until(lambda: run("next", "a").code == 0, what="it answers")
    assert json.loads(run("--json", "next", "a", "-n", "1000").out)[-1]["tick"].startswith("30")


def test_what_is_refused(ask):
    run = ask(text("a", schedule="0 0 * * *"), "plain")
    for args, words in ((["nosuch"], 'unknown task "nosuch"'), (["plain"], "no schedule"), (["a", "-n", "0"], "1 to 1000"),
                        (["a", "-n", "1001"], "1 to 1000"), (["a", "-n", "x"], "1 to 1000"),
                        (["a", "--from", "tomorrow"], "a time is needed"),
                        (["a", "--from", "2026-01-01T00:00:00"], "a time is needed")):
        r = run("next", *args)
        assert r.code == 3 and words in r.err, (args, r)


BAD = [
    (text("a", schedule="61 * * * *"), "schedule"),
    (text("a", schedule="@reboot"), "schedule"),
    (text("a", schedule="0 0 0 * * *"), "schedule"),
    (text("a", schedule="5/10 * * * *"), "schedule"),
    (text("a", schedule="0 0 30 2 *"), "schedule"),
    (text("a", schedule="0 0 * * *", timezone="Europe/Nowhere"), "timezone"),
    (text("a", schedule="0 0 * * *", timezone="../../etc/passwd"), "timezone"),
    (text("a", schedule="0 0 * * *", user="no body"), "user"),
    (text("a", schedule="0 0 * * *", command=["relative"]), "command"),
    (text("a", schedule="0 0 * * *", retries="101"), "retries"),
    (task_text("a", schedule="0 0 * * *", user="nobody"), "needs a command"),
    (task_text("a", schedule="0 0 * * *").replace("}", 'command = {"/bin/true"}\n}'), "needs a user"),
    (task_text("a", schedule="0 0 * * *", user="nobody", command="/bin/true"), "is an array"),
    (task_text("a", splay="5s"), "means nothing without a schedule"),
    (task_text("a", user="nobody"), "means nothing without a schedule"),
    (task_text("a", schedule="@daily", user="nobody", command=[]), "command: is empty"),
]


@pytest.mark.parametrize("task, words", BAD)
def test_a_bad_key_names_its_line(fleet, program, task, words):
    only = fleet.sidecar("only", tasks=[task], start=False)
    r = program("zkleaderd", "-t", "-c", only.config_file)
    assert r.code == 78 and words in r.err and "tasks.conf:" in r.err, r


def test_a_bad_zone_of_the_main_file(fleet, program):
    only = fleet.sidecar("only", tasks=[text("a", schedule="@daily")], start=False, timezone="Mars/Olympus")
    r = program("zkleaderd", "-t", "-c", only.config_file)
    assert r.code == 78 and "timezone" in r.err and "zkleader.conf:" in r.err, r


def test_tasks_and_explain_say_when_it_is_due(ask):
    run = ask(text("a", schedule="every 6h"), text("split", schedule="@yearly", partitions=2), "plain")
    wait_until(lambda: "split" in run("tasks").out, what="the partitions are known")
    for name in ("a", "split"):
        due = json.loads(run("--json", "next", name, "-n", "1").out)[0]["tick"]
        assert [t["due"] for t in json.loads(run("--json", "tasks", name).out)] == [due]
        assert json.loads(run("--json", "explain", name).out)["due"] == due
        assert f"due next at {due}, in " in run("explain", name).out
    assert json.loads(run("--json", "tasks", "plain").out)[0]["due"] is None
    assert json.loads(run("--json", "explain", "plain").out)["due"] is None
    assert "DUE IN" in run("tasks").out and "DUE IN" not in run("tasks", "plain").out
    assert "due" not in run("explain", "plain").out

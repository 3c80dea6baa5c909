"""zkleader-web: the runs of all tasks, and the comments of a stream that is never silent."""
import http.client
import itertools
import threading
import time

import pytest

from harness.sidecar import task_text
from harness.waiting import wait_until


def beside(web, sidecar):
    """A zkleader-web that has found its sidecar."""
    made = web(sidecar)
    wait_until(lambda: made.get("/readyz")[0] == 200, what="the web server has found the sidecar")
    return made


def test_history_without_a_task_is_that_of_all(fleet, web, program):
    tasks = [task_text("cleanup", tick="1s"), task_text("nightly", tick="1s"), task_text("scan", tick="1s", partitions=2)]
    only = fleet.sidecar("only", tasks=tasks)
    w = beside(web, only)
    assert w.json("/v1/history") == (200, []) and only.call("history") == []
    wait_until(lambda: only.status()["leads"] == 4, what="it leads all")
    for task in ("nightly", "cleanup", "scan"):
        assert program("zkleader", "-s", only.socket, "run", task, "--", "true").code == 0
    status, found = w.json("/v1/history")
    assert status == 200 and found == only.call("history")
    assert [r["tick"] for r in found] == sorted(r["tick"] for r in found), "oldest first"
    assert {(r["task"], r.get("partition")) for r in found} == {
        ("cleanup", None), ("nightly", None), ("scan:0", 0), ("scan:1", 1)}
    for task in ("cleanup", "nightly"):
        [own] = w.json(f"/v1/history/{task}")[1]
        assert "task" not in own and {**own, "task": task} in found
    assert w.json("/v1/history/scan")[1] == [r for r in found if r["task"].startswith("scan:")]
    error = only.error_of("history", "cleanup", "nightly")
    assert (error.code, error.message) == (3, "history takes one task, or none")


def test_history_takes_a_time_and_a_number(fleet, program):
    only = fleet.sidecar("only", tasks=[task_text("cleanup", tick="1s"), task_text("nightly", tick="1s")])
    wait_until(lambda: only.status()["leads"] == 2, what="it leads all")
    for task in ("cleanup", "cleanup", "cleanup", "nightly"):
        before = only.call("history")
        program("zkleader", "-s", only.socket, "run", task, "--", "sh", "-c", "echo written; sleep 1.1")
        wait_until(lambda n=len(before): len(only.call("history")) == n + 1, what="one more ran")
    found = only.call("history", "cleanup")
    assert only.call("history", "cleanup", {"last": 2}) == found[1:]
    assert only.call("history", "cleanup", {"since": found[1]["tick"]}) == found[1:]
    assert only.call("history", "cleanup", {"since": found[1]["tick"], "last": 1}) == found[2:]
    newest = only.call("history", {"last": 1, "no_outputs": True})
    assert [r["task"] for r in newest] == ["cleanup", "nightly"] and all(r["output"] is None for r in newest)
    for wrong in ({"last": 0}, {"since": "yesterday"}, {"no_outputs": 1}):
        assert only.error_of("history", "cleanup", wrong).code == 3, wrong
        assert only.error_of("history", wrong).code == 3, wrong


def test_a_schedule_is_explained_in_words(fleet):
    texts = [f'task "{name}" {{ schedule = "{when}" timezone = "Europe/Berlin" user = "root" command = {{"/bin/true"}} {more} }}\n'
             for name, when, more in (("daily", "30 2 * * *", 'alert-after = "26h"'), ("split", "every 5m", "partitions = 2"))]
    only = fleet.sidecar("only", tasks=[*texts, "plain"], ready=False)
    wait_until(lambda: only.status()["session"]["state"] == "connected", what="it is connected")
    found = only.call("explain", "daily")
    assert found["schedule"] == {"text": "30 2 * * *", "words": "at 02:30 every day", "timezone": "Europe/Berlin"}
    assert found["alert_after_ms"] == 26 * 3600 * 1000
    assert only.call("explain", "split")["schedule"]["words"] == "every 5 minutes"
    plain = only.call("explain", "plain")
    assert plain["schedule"] is None and plain["alert_after_ms"] is None
    assert only.status()["halted"] == []


def test_history_of_a_sidecar_without_tasks_or_without_a_session(fleet, web, own_server):
    own_server.start()
    only = fleet.sidecar("only")
    w = beside(web, only)
    assert w.json("/v1/history") == (200, [])
    own_server.kill()
    wait_until(lambda: w.json("/v1/history")[0] == 503, what="it cannot tell without a session")


@pytest.mark.slow
def test_comments_come_though_events_do(fleet, web):
    only = fleet.sidecar("only", tasks=["cleanup"])
    w = beside(web, only)
    c = http.client.HTTPConnection("127.0.0.1", w.port, timeout=30)
    c.request("GET", "/v1/events")
    r = c.getresponse()
    begun, done = time.monotonic(), threading.Event()

    def change():
        while not done.wait(1):
            only.call("pause", "cleanup")
            only.call("resume", "cleanup")

    changes = threading.Thread(target=change)
    changes.start()
    try:
        lines = list(itertools.takewhile(lambda line: not line.startswith(b":"), iter(r.readline, b"")))
    finally:
        done.set()
        changes.join()
        c.close()
    assert 14 <= time.monotonic() - begun < 25, "15 s, and some"
    assert lines.count(b"event: decision\n") > 1, lines

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

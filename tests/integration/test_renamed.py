"""A task that is renamed in a rollout is led under one name at a time, and goes on where the former one ended."""
import os

import msgpack
import pytest

from harness.sidecar import task_text
from harness.waiting import holds_for, wait_until
from test_schedules import instant, lines, records, scheduled, site, writes  # noqa: F401, pylint: disable=unused-import

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")

EVERY = {"schedule": "every 1s", "catch_up": "all", "alert_after": "1h"}


def test_a_rollout_runs_each_tick_once_under_one_name(site, folder, zk, program):  # noqa: F811
    before = scheduled("nightly", writes(folder), **EVERY)
    after = scheduled("report", writes(folder), renamed_from="nightly", **EVERY)
    old = site("old", before, version="1")
    wait_until(lambda: len(lines(folder)) >= 2, what="two ticks have run")
    new = site("new", after, version="2")
    wait_until(lambda: "report" in new.task_names(), what="the new one is there")
    holds_for(lambda: "report" not in zk.leaders(), 1, "the old one is led, and it alone")
    told = program("zkleader", "-s", new.socket, "explain", "report")
    assert "it was nightly, which" in told.out and "still lists" in told.out, told
    wait_until(lambda: any("it was nightly" in p["message"] for p in new.problems()), what="status tells it")
    old.write_tasks(after)
    old.call("reload")
    wait_until(lambda: zk.leaders().get("report") == new.id, what="the new name is led")
    wait_until(lambda: len(records(zk)) >= 8, what="it goes on")
    assert zk.names("runs", "nightly") == [] and "nightly" not in zk.names("schedules")
    assert "nightly" not in zk.names("seen") and "report" in zk.names("seen")
    seen = lines(folder)
    ticks = [instant(tick) for tick, _, _ in seen]
    assert ticks == [ticks[0] + i for i in range(len(ticks))], "each once, and in order"
    history = program("zkleader", "-s", old.socket, "history", "report")
    assert seen[0][0] in history.out, "what ran under the former name is there"
    wait_until(lambda: old.problems() == [] and new.problems() == [], what="nothing is left to be told")


def test_a_former_name_that_comes_back_is_told_and_led_alone(fleet, zk):
    new = fleet.sidecar("new", tasks=[task_text("report", renamed_from="nightly")])
    wait_until(lambda: zk.leaders().get("report") == new.id, what="the new name is led")
    old = fleet.sidecar("old", tasks=["nightly"])
    wait_until(lambda: zk.leaders() == {"nightly": old.id}, what="the former name is led alone")
    zk.put(msgpack.packb({"state": "ok", "id": old.id, "hostname": "h", "token": 1, "attempt": 1, "started_at": 1,
                          "ended_at": 2, "exit_status": 0}), "runs", "nightly", "2026-11-20T01:00:00Z",
           ephemeral=False)
    assert old.stop() == 0
    wait_until(lambda: zk.leaders() == {"report": new.id}, what="the new name is led again")
    assert zk.names("runs", "report") == ["2026-11-20T01:00:00Z"] and "nightly" not in zk.names("runs")


def test_a_rollback_goes_on_where_the_later_name_ended(site, folder, zk):  # noqa: F811
    before = scheduled("nightly", writes(folder), **EVERY)
    after = scheduled("report", writes(folder), renamed_from="nightly", **EVERY)
    one = site("one", after)
    wait_until(lambda: len(records(zk, "report")) >= 2, what="two ticks have run under the later name")
    one.write_tasks(before)
    one.call("reload")
    wait_until(lambda: zk.leaders() == {"nightly": one.id}, what="the former name is led")
    seen = {tick for tick, _, _ in lines(folder)}
    assert zk.names("runs", "report") == [] and "report" not in zk.names("schedules")
    wait_until(lambda: len(records(zk, "nightly")) >= len(seen) + 2, what="it goes on")
    assert seen <= set(records(zk, "nightly"))
    ticks = [instant(tick) for tick, _, _ in lines(folder)]
    assert ticks == [ticks[0] + i for i in range(len(ticks))], "each once, and in order"

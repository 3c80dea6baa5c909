"""What `status` names as a problem of the fleet, each with its remedy."""
import json
import time

import pytest

from harness.waiting import holds_for, wait_until


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args, **kwargs):
        return program("zkleader", "-s", sidecar.socket, *args, **kwargs)
    return run


def problems(sidecar):
    return {p["file"]: p["message"] for p in sidecar.status()["problems"]}


def test_a_pin_outlives_its_version(fleet, zk, zkleader):
    old, new = fleet.sidecar("old", version="1.6.0", tasks=["t"]), fleet.sidecar("new", version="1.7.0", tasks=["t"])
    wait_until(lambda: all(len(s.call("workers")) == 2 for s in (old, new)), what="both see both")
    assert zkleader(new, "pin", "t", "1.6.0").code == 0
    zk.wait_for_leader("t", old)
    assert problems(new) == {}
    old.stop()
    wait_until(lambda: "t" in problems(new), what="it is a problem")
    assert problems(new)["t"] == (
        "it is pinned to version 1.6.0, which no worker that lists it has any more (there is 1.7.0), so nobody can "
        "lead it: zkleader unpin t")
    assert zkleader(new, "status").code == 2
    assert zkleader(new, "unpin", "t").code == 0
    wait_until(lambda: problems(new) == {}, what="it is none any more")


@pytest.mark.parametrize("odd", ["1.60", "1,7,0", "20261128", "2026-11-28"])
def test_a_version_whose_form_differs_from_all_others(fleet, odd):
    usual = [fleet.sidecar(n, version=v, tasks=["t"]) for n, v in (("a", "1.6.0"), ("b", "1.5.2-rc1"))]
    wait_until(lambda: len(usual[0].call("workers")) == 2, what="both are there")
    assert problems(usual[0]) == {}
    other = fleet.sidecar("odd", version=odd, tasks=["t"])
    wait_until(lambda: len(usual[0].call("workers")) == 3, what="all are there")
    for sidecar in (*usual, other):
        wait_until(lambda s=sidecar: any(f"its version {odd} has another form" in m for m in problems(s).values()),
                   what="it is a problem")


def test_a_patch_of_a_version_has_its_form(fleet):
    old = [fleet.sidecar(n, version="1.0", tasks=["t"]) for n in "ab"]
    new = fleet.sidecar("new", version="1.0.1", tasks=["t"])
    wait_until(lambda: all(len(s.call("workers")) == 3 for s in (*old, new)), what="all see all")
    assert [problems(s) for s in (*old, new)] == [{}] * 3


def test_a_task_that_nobody_leads(fleet, zk, zkleader):
    one, two = fleet.sidecar("one", tasks=["a", "b", "p"]), fleet.sidecar("two", tasks=["a", "b", "p"])
    wait_until(lambda: all(len(s.call("workers")) == 2 for s in (one, two)), what="both see both")
    assert zkleader(one, "pause", "p").code == 0
    assert zkleader(one, "drain").code == 0
    assert zkleader(two, "drain", "--force").code == 0
    began = time.monotonic()
    wait_until(lambda: zk.leaders() == {}, what="nobody leads")
    holds_for(lambda: time.monotonic() > began + 25 or problems(one) == {}, 20, "a handover is no problem")
    wait_until(lambda: "a" in problems(one), timeout=60, what="it is a problem")
    assert list(problems(one)) == ["a"], "a pause is none, and one line tells of all"
    said = problems(one)["a"]
    assert said.startswith("nobody has led it, nor 1 other for "), said
    assert said.endswith("no worker is a candidate: 2 of 2 that list it are drained (zkleader undrain HOST)")
    assert json.loads(zkleader(two, "--json", "status").out)["problems"]
    assert zkleader(one, "undrain").code == 0
    wait_until(lambda: problems(one) == {}, what="it is none any more")

"""zkleader wait: until so many workers are there."""
import json
import subprocess
import time

import pytest

from harness.process import end, spawn
from harness.sidecar import build
from harness.waiting import wait_until


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args, **kwargs):
        return program("zkleader", "-s", sidecar.socket, *args, **kwargs)
    return run


def begin(sidecar, *args):
    return spawn([build() / "zkleader", "-s", sidecar.socket, "wait", *args], stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE, text=True)


def test_until_they_are_there(fleet, zkleader):
    one = fleet.sidecar("one", version="1.0", tasks=["report"])
    assert zkleader(one, "wait", "--workers", "1").code == 0
    assert zkleader(one, "wait", "--workers", "0").code == 0
    late = zkleader(one, "wait", "-n", "2", "--timeout", "200ms")
    assert late.code == 1 and late.err == "zkleader: 1 of 2 workers are there\n"
    assert json.loads(zkleader(one, "--json", "wait", "-n", "2", "--timeout", "1ms").out) == {
        "done": False, "workers": 1}
    waits = [begin(one, "--workers", "2"), begin(one, "--workers", "1", "--version", "2.0"),
             begin(one, "--workers", "2", "--task", "report"), begin(one, "-n", "2", "--version", "2.0.0")]
    try:
        two = fleet.sidecar("two", version="2.0.0", tasks=["other"])
        assert waits[0].wait(60) == 0 and waits[1].wait(60) == 0
        two.write_tasks("report")
        assert waits[2].wait(60) == 0
        one.write_config(version="2")
        one.call("reload")
        assert waits[3].wait(60) == 0
    finally:
        for wait in waits:
            end(wait)


def test_who_goes_is_forgotten(fleet):
    one = fleet.sidecar("one")
    wait = begin(one, "--workers", "7")
    begun = begin(one, "--workers", "1")
    assert begun.wait(60) == 0
    end(wait)
    two = begin(one, "--workers", "1")
    assert two.wait(60) == 0


def test_what_is_refused(fleet, zkleader):
    one = fleet.sidecar("one")
    for args in ([], ["-n", "x"], ["-n", "-1"], ["-n", "10001"], ["-n", "1", "--task", "a/b"],
                 ["-n", "1", "--version", " "], ["-n", "1", "--timeout", "soon"], ["-n", "1", "x"]):
        wrong = zkleader(one, "wait", *args)
        assert wrong.code == 3 and wrong.err.count("\n") == 1, args
    alone = fleet.sidecar("alone", ready=False, zookeeper="127.0.0.1:1")
    wait_until(alone.listens, what="it listens")
    assert zkleader(alone, "wait", "-n", "0", "--timeout", "100ms").code == 0
    assert zkleader(alone, "wait", "-n", "1", "--timeout", "100ms").code == 1
    alone.stop()
    assert zkleader(alone, "wait", "-n", "1").code == 2


def test_it_costs_zookeeper_nothing(fleet, server, proxy):
    one = fleet.sidecar("one", zookeeper=proxy.address)
    asked = proxy.count(lambda kind, payload: kind != 11 and b"/workers/" not in payload)
    before = -1
    while before != asked.n:  # what a sidecar asks for as it begins
        before = asked.n
        time.sleep(1)
    waits = [begin(one, "--workers", "9", "--timeout", "1s") for _ in range(5)]
    assert [w.wait(60) for w in waits] == [1] * 5
    assert asked.n == before

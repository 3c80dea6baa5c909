"""Sidecars that go by other keys than the others are named; what does not say is given credit."""
import time

import msgpack
import pytest

from harness.oracle import Oracle, validity
from harness.server import worker_record
from harness.waiting import wait_until

TASK = "nightly-report"
CALM = 10  # seconds that a task stays where it is, at least


def test_other_keys_are_named_by_status_explain_and_log(fleet, zk):
    one = fleet.sidecar("one", tasks=[TASK, "same"])
    two = fleet.sidecar("two", tasks=[f'task "{TASK}" {{ min-version = "0.1" }}\n', "same"])
    for sidecar, other in ((one, two), (two, one)):
        wait_until(lambda s=sidecar: len(s.status()["disagreements"]) == 1, what="it is noticed")
        [found] = sidecar.status()["disagreements"]
        assert (found["key"], found["count"], found["tasks"]) == ("min-version", 1, [TASK])
        names = {s.status()["node"] for s in (sidecar, other)}
        assert {n for group in found["groups"] for n in group} == names and len(found["groups"]) == 2
        assert "a worker goes by other keys" in sidecar.log()
        ranking = {r["id"]: r["disagrees"] for r in sidecar.explain(TASK)["ranking"]}
        assert ranking == {sidecar.id: False, other.id: True}
    two.write_tasks(TASK, "same")
    for sidecar in (one, two):
        wait_until(lambda s=sidecar: s.status()["disagreements"] == [], what="they agree again")


def test_a_record_that_does_not_say_is_given_credit(fleet, zk):
    one = fleet.sidecar("one", version="99", tasks=[TASK])
    record = worker_record(tasks=[TASK])
    zk.put(msgpack.packb(record), "workers", record["id"])
    wait_until(lambda: len(one.call("workers")) == 2, what="it is there")
    assert one.status()["disagreements"] == []


def test_other_rules_are_a_disagreement_about_every_task(fleet, zk):
    one = fleet.sidecar("one", version="99", tasks=[TASK, "same"])
    digests = msgpack.unpackb(zk.get("workers", one.id)[0])["digests"]
    record = worker_record(tasks=sorted([TASK, "same"]), scheme=1000, digests=digests)
    zk.put(msgpack.packb(record), "workers", record["id"])
    wait_until(lambda: [(d["key"], d["tasks"]) for d in one.status()["disagreements"]] ==
               [("who leads", sorted([TASK, "same"]))], what="it is noticed")


def test_any_key_is_a_line_and_what_decides_comes_first(fleet, zk, program):
    tasks = [f"job-{i}" for i in range(1, 6)]
    usual = "".join(f'task "{t}" {{ description = "x" tick = "60s" history = 50 }}\n' for t in tasks)
    odd = "".join(f'task "{t}" {{ description = "y" tick = "1m" wait = "9s" users = {{"root"}} }}\n' for t in tasks)
    made = [fleet.sidecar(n, tasks=[usual]) for n in ("a", "b", "c")]
    made.append(fleet.sidecar("d", tasks=[odd.replace('wait', 'min-version = "0.1" wait', 1), "another"]))
    for sidecar in made:
        wait_until(lambda s=sidecar: len(s.call("workers")) == 4, what="all are there")
        found = wait_until(lambda s=sidecar: s.status()["disagreements"], what="it is noticed")
        assert [(d["key"], d["count"]) for d in found] == [
            ("min-version", 1), ("description", 5), ("users", 5), ("wait", 5)]
        nodes = [s.status()["node"] for s in made]
        for d in found[1:]:
            assert d["tasks"] == tasks
            assert [sorted(g) for g in d["groups"]] == [sorted(nodes[:3]), [nodes[3]]]
        assert found[0]["tasks"] == ["job-1"]
    said = program("zkleader", "-s", made[0].socket, "status").out
    lines = [line for line in said.splitlines() if line.startswith("Disagrees")]
    assert len(lines) == 4 and lines[0].startswith("Disagrees  min-version of 1 task (job-1): most as ")
    assert lines[1].startswith("Disagrees  description of 5 tasks (job-1, job-2, job-3 and 2 more): most as ")
    assert all(f", not {nodes[3]}" in line for line in lines)
    record = zk.get("workers", made[0].id)[0]
    assert b"description" not in record, "values and names are not published"


def share_led(oracle, start, end):
    """The part of that time in which a yes was valid."""
    led, at = 0.0, start
    for a, b, _ in sorted(validity(oracle.answers)):
        a, b = max(a, at), min(b, end)
        if b > a:
            led, at = led + b - a, b
    return led / (end - start)


def leaderships(oracle):
    """When each token was said first."""
    first = {}
    for a in oracle.answers:
        if a.leader:
            first.setdefault(a.token, a.sent)
    return sorted(first.values())


@pytest.mark.parametrize("mine, theirs", [
    ("", 'version-policy = "oldest"'),  # each takes the other for the best
    # The one that is best takes itself for no candidate.
    pytest.param("", 'min-version = "3"', marks=pytest.mark.slow),
])
def test_a_task_stays_where_it_is_for_a_while_although_files_disagree(fleet, mine, theirs):
    one = fleet.sidecar("one", version="1", tasks=[f'task "{TASK}" {{ {mine} }}\n'])
    wait_until(lambda: one.leads(TASK), what="one leads")
    with Oracle(TASK, one, pause=0.02) as oracle:
        two = fleet.sidecar("two", version="2", tasks=[f'task "{TASK}" {{ {theirs} }}\n'])
        oracle.watch(two)
        wait_until(lambda: len(leaderships(oracle)) > 1, what="it goes from hand to hand, or back")
        time.sleep(40)
        times = leaderships(oracle)
        share = share_led(oracle, oracle.began, oracle.answers[-1].received)
        print(f"measured: {len(times)} leaderships in 40 s, led for {100 * share:.0f} % of the time")
        # The first was before they disagreed.
        assert all(b - a > CALM - 1 for a, b in zip(times[1:], times[2:])), times
        assert share > 0.75
        # The files are mended: it goes to the best at once, however long it was to stay.
        two.write_tasks(f'task "{TASK}" {{ {mine} }}\n')
        wait_until(lambda: two.leads(TASK), what="the best leads")

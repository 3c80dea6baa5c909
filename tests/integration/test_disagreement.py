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
        assert (found["task"], found["id"]) == (TASK, other.id)
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
    wait_until(lambda: len(one.status()["disagreements"]) == 2, what="it is noticed")


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

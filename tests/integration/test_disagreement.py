"""Sidecars that go by other keys than the others are named; what does not say is given credit."""
import msgpack

from harness.server import worker_record
from harness.waiting import wait_until

TASK = "nightly-report"


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

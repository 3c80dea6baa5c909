"""Claims of many tasks in one transaction."""
from harness.server import worker_record
from harness.waiting import wait_until

import msgpack

TASKS = [f"t{i}" for i in range(40)]


def test_one_task_that_is_not_to_be_had_does_not_keep_the_others(fleet, zk):
    """All are given up to our sidecar at one moment, as a leader does that yields; but one is taken at once."""
    hand = zk.server.client()
    hand.ensure_path(zk.path("leaders"))
    record = msgpack.packb({k: worker_record()[k] for k in ("id", "ip", "hostname", "version")} | {"since": 1})
    for task in TASKS:
        hand.create(zk.path("leaders", task), record, ephemeral=True)
    sidecar = fleet.sidecar("only", tasks=TASKS)
    wait_until(lambda: all(t["state"] == "following" and t["token"] for t in sidecar.call("tasks")), 30, "it follows")
    transaction = hand.transaction()
    for task in TASKS:
        transaction.set_data(zk.path("leaders", task), b"")
        transaction.delete(zk.path("leaders", task))
    transaction.create(zk.path("leaders", TASKS[3]), record, ephemeral=True)
    assert not any(isinstance(r, Exception) for r in transaction.commit())
    others = [t for t in TASKS if t != TASKS[3]]
    wait_until(lambda: all(sidecar.leads(t) for t in others), 30, "it leads the others")
    tokens = {zk.leader(t)[1] for t in others}
    assert len(tokens) <= 13, "they were claimed again together, not each alone"
    assert not sidecar.leads(TASKS[3])
    assert sidecar.log().count("reason=\"claim not done\"") >= 1, "that a claim failed is what this is about"
    hand.delete(zk.path("leaders", TASKS[3]))
    zk.wait_for_leader(TASKS[3], sidecar)

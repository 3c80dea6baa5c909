"""Reads of many leader nodes: so many at a time, and none that a listing can spare."""
from harness.proxy import is_read
from harness.server import worker_record
from harness.waiting import wait_until

import msgpack

AT_A_TIME = 200  # LOOK_READS_MAX
TASKS = [f"t{i:03}" for i in range(1000)]


def test_tasks_that_are_given_up_while_a_newcomer_reads_them_are_not_read_one_by_one(fleet, zk, server, proxy):
    hand = server.client()
    hand.ensure_path(zk.path("leaders"))
    record = msgpack.packb({k: worker_record()[k] for k in ("id", "ip", "hostname", "version")} | {"since": 1})
    taken, given_up = hand.transaction(), hand.transaction()
    for task in TASKS:
        taken.create(zk.path("leaders", task), record, ephemeral=True)
        given_up.set_data(zk.path("leaders", task), b"")
        given_up.delete(zk.path("leaders", task))
    assert not any(isinstance(r, Exception) for r in taken.commit())
    reads = proxy.count(is_read, then="stall")
    sidecar = fleet.sidecar("only", zookeeper=proxy.address, tasks=TASKS, session_timeout="30s", ready=False)
    wait_until(lambda: reads.n >= AT_A_TIME, 60, "it reads the leader nodes")
    assert not any(isinstance(r, Exception) for r in given_up.commit())
    assert reads.n == AT_A_TIME, "no more are on their way while none has been answered"
    proxy.flow()
    wait_until(lambda: sidecar.status()["leads"] == len(TASKS), 60, "it leads all")
    wait_until(lambda: server.ask("wchp").count(zk.path("leaders", "t")) == len(TASKS), 60, "it watches all")
    assert reads.n <= len(TASKS) + 2 * AT_A_TIME, "the others were listed once more"

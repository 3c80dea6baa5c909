"""Who leads: the newest version, then the rank, as the fleet changes."""
import struct
import time

import pytest
import xxhash

from harness.server import worker_record
from harness.sidecar import task_text
from harness.waiting import holds_for, wait_until

TASKS = [f"task-{i:02}" for i in range(12)]


def led_by(zk, sidecar, tasks):
    leaders = zk.leaders()
    return all(leaders.get(t) == sidecar.id for t in tasks)


def wait_led_by(zk, sidecar, tasks):
    wait_until(lambda: led_by(zk, sidecar, tasks), what=f"{sidecar.name} leads all of {len(tasks)}")


def score(task, random_ints):
    """The formula of docs/ELECTION.md."""
    key = xxhash.xxh64_intdigest(struct.pack("<5i", *random_ints), seed=0)
    return xxhash.xxh64_intdigest(task, seed=key) >> 11


def test_a_sidecar_alone_leads_all_of_its_tasks(fleet, zk):
    only = fleet.sidecar("only", tasks=TASKS)
    wait_led_by(zk, only, TASKS)
    assert all(only.leads(t) for t in TASKS)


def test_of_mixed_versions_the_newest_leads_all(fleet, zk):
    names = {"a": "1.9", "b": "1.10-rc1", "c": "1.10-SNAPSHOT"}
    sidecars = {n: fleet.sidecar(n, version=v, tasks=TASKS) for n, v in names.items()}
    wait_led_by(zk, sidecars["c"], TASKS)
    assert all(sidecars["c"].leads(t) for t in TASKS)
    assert not any(sidecars[n].leads(t) for n in "ab" for t in TASKS)


def test_when_a_newer_version_joins_each_task_moves_exactly_once(fleet, zk):
    old = fleet.sidecar("old", version="1.0", tasks=TASKS)
    other = fleet.sidecar("other", version="1.0", tasks=TASKS)
    wait_until(lambda: set(zk.leaders()) == set(TASKS), what="all are led")
    wait_until(lambda: zk.leaders() == best_by_formula(old, TASKS), what="all are led by their best")
    tokens, changes = zk.tokens(), zk.leader_changes()
    new = fleet.sidecar("new", version="1.0.1", tasks=TASKS)
    wait_led_by(zk, new, TASKS)
    holds_for(lambda: led_by(zk, new, TASKS), 1)
    # One deletion and one creation for each.
    assert zk.leader_changes() - changes == 2 * len(TASKS)
    assert all(zk.tokens()[t] > tokens[t] for t in TASKS)
    assert not any(s.leads(t) for s in (old, other) for t in TASKS)


def best_by_formula(sidecar, tasks):
    workers = sidecar.call("workers")
    return {t: max(workers, key=lambda w: score(t, w["random_ints"]))["id"] for t in tasks}

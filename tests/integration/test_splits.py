"""Partitions of a task, as ZooKeeper has them: who leads which, and how many are in force."""
import collections
import importlib.util
import pathlib

import msgpack
import pytest
from harness.sidecar import task_text
from harness.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
N = 12


def scan(n=N, **settings):
    return task_text("scan", partitions=n, **settings)


def owners(zk, n=N):
    """The worker's id for each partition, None where nobody leads it."""
    leaders = zk.leaders()
    return [leaders.get(f"scan:{k}") for k in range(n)]


def shares(zk, n=N):
    """How many each leads; [] while one is led by nobody."""
    found = owners(zk, n)
    return sorted(collections.Counter(found).values()) if all(found) else []


def wait_spread(zk, *counts, n=N):
    wait_until(lambda: shares(zk, n) == sorted(counts), 30, f"{counts} partitions each")


def draft_program():
    """The program of the documentation."""
    spec = importlib.util.spec_from_file_location("draft", ROOT / "docs/examples/draft.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program.draft


def drafted_owners(zk):
    """The best candidate for each partition, by that program."""
    workers = [{"id": r["id"], "ip": r["ip"], "tier": 0, "random_ints": r["random_ints"], "resigned": [],
                "may": list(range(N))} for r in zk.workers().values()]
    return draft_program()("scan", [f"scan:{k}" for k in range(N)], 0, workers)


def test_partitions_are_led_in_equal_shares_as_they_are_drafted(fleet, zk):
    pytest.importorskip("xxhash")
    sidecars = [fleet.sidecar(f"s{i}", tasks=[scan()], session_timeout="10s") for i in range(3)]
    wait_spread(zk, 4, 4, 4)
    assert zk.names("partitions") == ["scan:12"]
    data, stat = zk.get("leaders", "scan")
    assert msgpack.unpackb(data) == {"partitions": True} and stat.ephemeralOwner == 0
    wait_until(lambda: owners(zk) == drafted_owners(zk), 30, "three lead what they are drafted for")
    changes = zk.leader_changes()
    before = owners(zk)
    fleet.sidecar("s3", tasks=[scan()], session_timeout="10s")
    wait_spread(zk, 3, 3, 3, 3)
    wait_until(lambda: owners(zk) == drafted_owners(zk), 30, "four lead what they are drafted for")
    moved = sum(a != b for a, b in zip(before, owners(zk)))
    assert zk.leader_changes() - changes == 2 * moved, "what stays with its owner is not touched"
    sidecars[0].stop()
    wait_spread(zk, 4, 4, 4)


def test_a_restart_moves_no_partition(fleet, zk):
    first = fleet.sidecar("s0", tasks=[scan()], session_timeout="20s")
    fleet.sidecar("s1", tasks=[scan()], session_timeout="20s")
    wait_spread(zk, 6, 6)
    before = {k: zk.leader(f"scan:{k}") for k in range(N)}
    first.kill()
    first.start()
    wait_until(lambda: "taking over the session kept" in first.log(), 30, "it has taken its session over")
    wait_until(lambda: first.is_connected() and first.status()["leads"] == 6, 30, "it leads again")
    assert {k: zk.leader(f"scan:{k}") for k in range(N)} == before


def test_hosts_whose_files_differ_are_no_candidates(fleet, zk):
    eight = fleet.sidecar("eight", tasks=[scan(8)])
    wait_spread(zk, 8, n=8)
    fleet.sidecar("more", tasks=[scan(16)], version="2.0")
    plain = fleet.sidecar("plain", tasks=["scan"], version="3.0")
    wait_until(lambda: len(zk.workers()) == 3, 30, "all are there")
    wait_until(lambda: [w["tasks"] for w in zk.workers().values()].count([]) == 2, 30, "they list it no more")
    assert set(owners(zk, 8)) == {w for w, r in zk.workers().items() if r["tasks"]}
    plain.write_tasks(scan(8))
    plain.signal(1)
    wait_until(lambda: set(owners(zk, 8)) == {w for w, r in zk.workers().items() if r["version"] == "3.0"}, 30,
               "the newest leads all, once its file says as many")
    assert eight.is_running()


def test_nobody_leads_the_whole_beside_its_partitions(fleet, zk):
    plain = fleet.sidecar("plain", tasks=["scan"])
    zk.wait_for_leader("scan", plain)
    split = fleet.sidecar("split", tasks=[scan(4)])
    wait_until(lambda: "partitions" in zk.names(), 30, "the folder is there")
    assert zk.names("partitions") == []
    zk.wait_for_leader("scan", plain)
    plain.write_tasks(scan(4))
    plain.signal(1)
    wait_spread(zk, 2, 2, n=4)
    assert split.is_running()


def test_a_limit_leaves_partitions_to_the_older_version(fleet, zk):
    for i in range(2):
        fleet.sidecar(f"old{i}", tasks=[scan(partition_limit=4)])
    wait_spread(zk, 6, 6)
    fleet.sidecar("canary", tasks=[scan(partition_limit=4)], version="2.0")
    wait_spread(zk, 4, 4, 4)


def group_shares(zk, tasks):
    leaders = zk.leaders()
    return sorted(collections.Counter(leaders[t] for t in tasks).values()) if all(map(leaders.get, tasks)) else []


def test_the_tasks_of_a_group_are_spread_evenly(fleet, zk):
    names = [f"t{i:02}" for i in range(12)]
    files = [task_text(n, spread="feeds") for n in names]
    for i in range(4):
        fleet.sidecar(f"s{i}", tasks=files)
    wait_until(lambda: group_shares(zk, names) == [3, 3, 3, 3], 30, "three each")
    assert {r["groups"][0] for r in zk.workers().values()} == {"feeds"}


def drafted(zk, group):
    """The best candidate for each task of the group, by that program."""
    records = zk.workers().values()
    items = sorted({t for r in records for t, g in zip(r["tasks"], r["groups"]) if g == group})
    workers = [{"id": r["id"], "ip": r["ip"], "tier": 0, "random_ints": r["random_ints"], "resigned": [],
                "may": [items.index(t) for t in r["tasks"]]} for r in records]
    return dict(zip(items, draft_program()(group, items, 0, workers)))


def test_a_host_without_some_of_a_groups_files_goes_by_what_the_others_list(fleet, zk):
    pytest.importorskip("xxhash")
    names = [f"t{i:02}" for i in range(8)]
    files = [task_text(n, spread="feeds") for n in names]
    fleet.sidecar("all", tasks=files)
    fleet.sidecar("half", tasks=files[:4])
    wait_until(lambda: len(zk.workers()) == 2, 30, "both are there")
    assert set(drafted(zk, "feeds")) == set(names)
    wait_until(lambda: {n: zk.leaders().get(n) for n in names} == drafted(zk, "feeds"), 30, "it is as drafted")


THOUSAND = [f"night-{i}" for i in range(1000)]


def shares_of(zk, names):
    """The number of tasks that each leads; [] while nobody leads one of them."""
    leaders = zk.leaders()
    found = [leaders.get(name) for name in names]
    return sorted(collections.Counter(found).values()) if all(found) else []


def test_a_group_of_a_thousand_tasks(fleet, zk):
    pytest.importorskip("xxhash")
    tasks = [task_text(name, spread="nightly") for name in THOUSAND]
    sidecars = [fleet.sidecar(f"s{i}", tasks=tasks, session_timeout="20s") for i in range(3)]
    assert not sidecars[0].status()["problems"]
    wait_until(lambda: shares_of(zk, THOUSAND) == [333, 333, 334], 120, "a third each")
    names = sorted(THOUSAND)  # by strcmp, as the draft takes them
    workers = [{"id": r["id"], "ip": r["ip"], "tier": 0, "random_ints": r["random_ints"], "resigned": [],
                "may": list(range(1000))} for r in zk.workers().values()]
    drafted = draft_program()("nightly", names, 0, workers)
    before, changes = zk.leaders(), zk.leader_changes()
    assert [before[name] for name in names] == drafted
    sidecars[0].stop()
    wait_until(lambda: shares_of(zk, THOUSAND) == [500, 500], 120, "a half each")
    after = zk.leaders()
    moved = sum(before[name] != after[name] for name in THOUSAND)
    assert moved >= 333 and zk.leader_changes() - changes <= 2 * moved, "each moves once at the most"

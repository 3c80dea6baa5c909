"""What workers list is apart from their records, where it is long: shared, damaged, removed by hand, beside an older one."""
import msgpack

from harness.server import worker_record
from harness.waiting import holds_for, wait_until

TASKS = [f"job-{i:03d}" for i in range(200)]


def records(zk):
    return {i: msgpack.unpackb(zk.get("workers", i)[0]) for i in zk.names("workers")}


def all_apart(zk, n):
    found = records(zk)
    return len(found) == n and all("list" in r and "tasks" not in r for r in found.values())


def led(zk):
    return set(zk.leaders()) == set(TASKS)


def pair(fleet, zk):
    one, two = fleet.sidecar("one", tasks=TASKS), fleet.sidecar("two", tasks=TASKS)
    for sidecar in (one, two):
        wait_until(lambda s=sidecar: [len(w["tasks"]) for w in s.call("workers")] == [200, 200],
                   what="each knows what both list")
    return one, two


def test_two_that_list_the_same_share_one_list(fleet, zk):
    one, two = pair(fleet, zk)
    wait_until(lambda: led(zk), what="all are led")
    assert all_apart(zk, 2) and all(len(zk.get("workers", i)[0]) < 400 for i in (one.id, two.id))
    [digest] = zk.names("lists")
    assert all(r["list"] == digest and r["lists"] is True for r in records(zk).values())
    assert msgpack.unpackb(zk.get("lists", digest)[0])["tasks"] == TASKS
    assert set(zk.leaders().values()) == {one.id, two.id}, "both lead some"
    assert one.problems() == two.problems() == [] and one.status()["disagreements"] == []
    assert one.stop() == 0
    wait_until(lambda: set(zk.leaders().values()) == {two.id} and led(zk), what="the other leads all")


def test_a_list_that_hands_delete_or_damage_is_made_again(fleet, zk):
    one, two = pair(fleet, zk)
    [digest] = zk.names("lists")
    good = zk.get("lists", digest)[0]
    zk.client.delete(zk.path("lists", digest))
    wait_until(lambda: zk.names("lists") == [digest] and zk.get("lists", digest)[0] == good, what="it is made again")
    zk.client.set(zk.path("lists", digest), b"junk")
    wait_until(lambda: zk.get("lists", digest)[0] == good, what="it has its bytes again")
    three = fleet.sidecar("three", tasks=["another"])
    wait_until(lambda: sorted(len(w["tasks"]) for w in three.call("workers")) == [1, 200, 200], what="it can be read")
    assert one.problems() == two.problems() == three.problems() == []


def test_a_worker_whose_list_is_not_there_is_named_and_leads_nothing(fleet, zk):
    one = fleet.sidecar("one", tasks=["report"])
    wait_until(lambda: zk.leaders() == {"report": one.id}, what="it is led")
    record = worker_record(lists=True, list="0" * 32, tasks=None, node="elsewhere")
    zk.put(msgpack.packb(record), "workers", record["id"])
    found = wait_until(one.problems, what="it is named")
    assert "lists/" + "0" * 32 in found[0]["message"] and "it is missing" in found[0]["message"], found
    holds_for(lambda: zk.leaders() == {"report": one.id}, 2, "it is not taken for a better one")
    zk.put(b"junk", "lists", ephemeral=False)
    zk.put(b"junk", "lists", "0" * 32, ephemeral=False)
    wait_until(lambda: any("its bytes are not those" in p["message"] for p in one.problems()), what="it is damaged")
    two = fleet.sidecar("two", tasks=['task "summary" { renamed-from = "old" }\n'])
    wait_until(lambda: any("may list" in p["message"] for p in two.problems()), what="that is why nobody leads it")
    assert "summary" not in zk.leaders()
    zk.client.delete(zk.path("workers", record["id"]))
    wait_until(lambda: zk.leaders() == {"report": one.id, "summary": two.id}, what="all is led")
    wait_until(lambda: one.problems() == [], what="nothing is left to be told")


def test_beside_an_older_worker_records_say_all(fleet, zk):
    one, two = pair(fleet, zk)
    older = worker_record(tasks=TASKS, version="0.0.1")
    zk.put(msgpack.packb(older), "workers", older["id"])

    def both():
        found = [r for i, r in records(zk).items() if i != older["id"]]
        return len(found) == 2 and all(r.get("tasks") == TASKS and "list" in r for r in found)
    wait_until(both, what="records say what they list")
    wait_until(lambda: led(zk) and set(zk.leaders().values()) == {one.id, two.id}, what="all are led")
    three = fleet.sidecar("three", tasks=TASKS)
    wait_until(lambda: records(zk).get(three.id, {}).get("tasks") == TASKS, what="so does who comes then")
    zk.client.delete(zk.path("workers", older["id"]))
    wait_until(lambda: all_apart(zk, 3), what="it has gone, and records are short again", timeout=60)
    assert led(zk)

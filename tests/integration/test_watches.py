"""Watches of a session: all go to the server in one packet at each reconnect, so they have a budget, and each goes with
its reason."""
import os
import resource
import time

import pytest

from harness.process import resident_bytes
from harness.sidecar import build, queue_text, task_text
from harness.waiting import wait_until

LONG = "n" * 80  # of a name: thirteen thousand watches of so long paths are more than a packet may have
PACKET = 1024 * 1024


def watches(sidecar):
    return sidecar.status()["watches"]


def in_use(sidecar):
    found = watches(sidecar)
    return found["count"], found["by_time"]


def settled(sidecar):
    """The watches that it has while nobody waits for anything."""
    seen = []

    def twice():
        seen.append(in_use(sidecar))
        time.sleep(0.2)
        return len(seen) > 5 and len(set(seen[-5:])) == 1 and seen[-1]
    return wait_until(twice, what="its watches are as they stay")


def session_of(sidecar):
    return sidecar.status()["session"]["id"]


def cut(proxy, sidecar, task):
    """Once, for a moment: the session goes on, and what is led."""
    session = session_of(sidecar)
    proxy.drop()
    sidecar.wait_log("to=connecting")
    wait_until(lambda: sidecar.status()["session"]["state"] == "connected", 60, "it is connected again")
    wait_until(lambda: sidecar.leads(task), 60, "it leads")
    assert session_of(sidecar) == session, "in the session that it had"


def claim(client, task, minute, wait_ms, kind="once"):
    return client.send("claim", task, {"kind": kind, "now_ms": 1_700_000_000_000 + 60_000 * minute, "tick_ms": 60_000,
                                       "wait_ms": wait_ms})


@pytest.mark.seconds(300)
def test_thousands_of_claims_leave_no_watch(fleet, proxy, zk):
    """Ticks that nobody claims, by a user who waits for a moment each: a cut of the connection is nothing."""
    tasks = [task_text(f"{LONG}-{i}") for i in range(4)]
    leader = fleet.sidecar("leader", version="2.0", tasks=tasks, session_timeout="10s", log_level="info")
    wait_until(lambda: leader.status()["leads"] == len(tasks), 60, "it leads all")
    other = fleet.sidecar("other", version="1.0", tasks=[*tasks, "own"], session_timeout="10s", log_level="info",
                          zookeeper=proxy.address)
    wait_until(lambda: other.leads("own"), 60, "the other leads what it has alone")
    before = settled(other)
    path = len(zk.path("runs", f"{LONG}-0", "2026-11-20T02:00:00Z")) + 4
    number, most = PACKET // path + 500, 0
    with other.client(timeout=120) as client:
        for first in range(0, number, 500):
            ids = [claim(client, f"{LONG}-{i % 4}", i, 50) for i in range(first, first + 500)]
            for msgid in ids:
                assert client.result(msgid)["outcome"] == "waited"
            most = max(most, watches(other)["bytes"])
    assert most <= watches(other)["limit"] <= PACKET // 2
    cut(proxy, other, "own")
    wait_until(lambda: in_use(other) == before, 60, f"it watches what it watched before: {before}")


@pytest.mark.seconds(300)
def test_who_gets_no_watch_is_told_all_the_same(fleet, proxy, zk):
    """Thousands who wait at a time: more than may be watched. Each is told once its tick is claimed."""
    task = f"{LONG}-tick"
    leader = fleet.sidecar("leader", version="2.0", tasks=[task_text(task)], session_timeout="10s", log_level="info")
    wait_until(lambda: leader.leads(task), 60, "it leads")
    other = fleet.sidecar("other", version="1.0", tasks=[task_text(task), "own"], session_timeout="10s",
                          log_level="info", zookeeper=proxy.address)
    wait_until(lambda: other.leads("own"), 60, "the other leads what it has alone")
    before = settled(other)
    clients = [other.client(timeout=120) for _ in range(2)]
    waits = [(client, minute, claim(client, task, minute, 100_000))
             for at, client in enumerate(clients) for minute in range(at * 900, at * 900 + 900)]
    wait_until(lambda: watches(other)["by_time"] > 300, 60, "many are looked at by time")
    assert watches(other)["bytes"] <= watches(other)["limit"]
    cut(proxy, other, "own")
    with leader.client(timeout=60) as claimer:
        for minute in range(0, 1800, 90):  # the others stay unclaimed
            assert claimer.result(claim(claimer, task, minute, 0))["outcome"] == "yours"
    for client, minute, msgid in waits:
        if minute % 90 == 0:
            assert client.result(msgid)["outcome"] == "taken", f"tick {minute}"
    for client in clients:
        client.close()
    wait_until(lambda: in_use(other) == before, 60, f"nothing is left of those who have gone: {before}")


def many_descriptors(n):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, n), hard))


@pytest.mark.seconds(300)
@pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")
def test_clients_that_wait_for_jobs_leave_nothing(queues, proxy):
    """Twelve thousand requests that wait for the ends of jobs that are due in a day, whose clients go."""
    many_descriptors(1024)
    a = queues.site("a", queue_text("q", command=["/bin/true"]), session_timeout="10s", log_level="info",
                    zookeeper=proxy.address)
    queues.wait_open()
    with a.client(timeout=60) as client:
        asked = [client.send("submit", "q", {"in_ms": 86_400_000}) for _ in range(1000)]
        ids = [client.result(msgid)["id"] for msgid in asked]
    before, resident = settled(a), resident_bytes(a.process.pid)
    clients = [a.client(timeout=60) for _ in range(12)]
    for client in clients:
        for job in ids:
            client.send("job", job, {"wait_ms": 3_600_000})
    wait_until(lambda: watches(a)["by_time"] + watches(a)["count"] >= 1000, 60, "they wait")
    assert watches(a)["bytes"] <= watches(a)["limit"]
    grown = resident_bytes(a.process.pid) - resident
    cut(proxy, a, "q")
    for client in clients:
        client.close()
    wait_until(lambda: in_use(a) == before, 60, f"it watches what it watched before: {before}")
    print(f"measured: {grown >> 20} MiB for {len(clients)} times 1,000 waits")
    if build().name == "release":
        assert grown < 12_000 * 5000
        wait_until(lambda: resident_bytes(a.process.pid) - resident < max(grown // 3, 8 << 20), 30, "memory is given back")

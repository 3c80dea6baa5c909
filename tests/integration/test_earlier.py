"""The build of an earlier commit beside the current one, as during an upgrade of zkleader itself."""
import pytest

from harness.release import Unknown, built
from harness.sidecar import build, task_text
from harness.waiting import wait_until

pytestmark = pytest.mark.slow  # to build it takes as long as to build this one

EARLIER = "89b8da6"  # before there were decisions, health and digests
RELEASE = "5a5ffb4"  # 0.1.0, which knows no partitions
TASKS = ["nightly-report", "cleanup", "digest"]


def sidecar_of(commit):
    """Its zkleaderd."""
    try:
        return built(commit) / "zkleaderd"
    except Unknown as e:
        return pytest.skip(str(e))


@pytest.fixture(scope="module")
def earlier():
    return sidecar_of(EARLIER)


@pytest.fixture(scope="module")
def release():
    return sidecar_of(RELEASE)


def led_by(zk, sidecar):
    return lambda: zk.leaders() == {t: sidecar.id for t in TASKS}


@pytest.mark.seconds(300)
def test_they_agree_on_who_leads_and_hand_over_to_each_other(fleet, zk, earlier):
    old = fleet.sidecar("old", version="1", tasks=TASKS, program=earlier)
    wait_until(led_by(zk, old), what="the earlier build leads alone")
    new = fleet.sidecar("new", version="2", tasks=TASKS)
    wait_until(led_by(zk, new), what="the newer version leads")
    assert [w["version"] for w in old.call("workers")] == ["2", "1"]
    assert [w["version"] for w in new.call("workers")] == ["2", "1"]
    assert new.status()["disagreements"] == []
    newest = fleet.sidecar("newest", version="3", tasks=TASKS, program=earlier)
    wait_until(led_by(zk, newest), what="the newest version leads, with the earlier build")
    tokens = zk.tokens()
    assert newest.stop() == 0
    wait_until(led_by(zk, new), what="the current build takes it back")
    assert all(zk.tokens()[t] > tokens[t] for t in TASKS)
    new.kill()
    wait_until(led_by(zk, old), what="after its session")


@pytest.mark.seconds(300)
def test_with_equal_versions_they_rank_alike(fleet, zk, earlier):
    sidecars = [fleet.sidecar(f"n{i}", tasks=TASKS, program=earlier if i % 2 else None) for i in range(4)]
    wait_until(lambda: all(len(s.call("workers")) == 4 for s in sidecars), what="all see all")
    for task in TASKS:
        rankings = [[r["id"] for r in s.explain(task)["ranking"]] for s in sidecars]
        assert all(r == rankings[0] for r in rankings)
    wait_until(lambda: len(zk.leaders()) == len(TASKS), what="all are led")
    best = {t: sidecars[0].explain(t)["ranking"][0]["id"] for t in TASKS}
    wait_until(lambda: zk.leaders() == best, what="each by its best")


def test_the_earlier_build_is_not_this_one(earlier):
    assert earlier.read_bytes() != (build() / "zkleaderd").read_bytes()


@pytest.mark.seconds(300)
def test_it_refuses_partitions_and_is_no_candidate(fleet, zk, release):
    new = fleet.sidecar("new", version="1.0", tasks=[task_text("scan", partitions=4), "plain"])
    old = fleet.sidecar("old", version="2.0", program=release, start=False)
    old.write_tasks("plain", file="plain.conf")
    old.write_tasks(task_text("scan", partitions=4), file="scan.conf")
    old.start()
    wait_until(lambda: zk.leaders().get("plain") == old.id, what="the newer version leads what it knows")
    wait_until(lambda: all(zk.leaders().get(f"scan:{k}") == new.id for k in range(4)), what="each partition is led by the other")
    assert [p["file"] for p in old.status()["problems"]] == [str(old.task_dir / "scan.conf")]
    ranking = new.call("explain", "scan")["ranking"]
    assert [(r["id"], r["candidate"], r["cause"]) for r in ranking] == [
        (new.id, True, "best"), (old.id, False, "not-listed")]
    named = wait_until(lambda: new.status()["disagreements"], what="it is named")
    assert [(d["key"], d["tasks"]) for d in named] == [("partitions", ["scan"])]

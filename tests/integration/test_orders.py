"""Orders about many tasks at once, and the drain of the last candidate."""
import concurrent.futures
import json

import pytest

from harness.sidecar import queue_text, task_text
from harness.waiting import wait_until

MANY = [f"job-{n}" for n in range(1, 121)]
FIRST = "job-1, job-2, job-3, job-4, job-5, job-6, job-7, job-8, job-9, job-10"


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args, **kwargs):
        return program("zkleader", "-s", sidecar.socket, *args, **kwargs)
    return run


@pytest.fixture
def pair(fleet, zk):
    made = [fleet.sidecar(n, version="1", tasks=[*MANY, "report"]) for n in ("one", "two")]
    wait_until(lambda: len(zk.leaders()) == len(MANY) + 1, what="all are led")
    wait_until(lambda: all(len(s.call("workers")) == 2 for s in made), what="both see both")
    return made


def paused(sidecar):
    return {t["task"] for t in sidecar.call("tasks") if t["state"] == "paused"}


def test_globs_are_looked_up_first_and_the_names_are_printed(pair, zk, zkleader):
    one, two = pair
    would = zkleader(one, "pause", "job-*", "--dry-run")
    assert would.code == 0, would
    assert would.out == f"pause would be for 120 tasks ({FIRST} and 110 more); nothing is changed (--dry-run)\n"
    assert zk.names("policy") == []
    for words in (["job-*", "no-such-*"], ["job-1", "no-such"], ["no-such-*"]):
        refused = zkleader(one, "pause", *words)
        assert refused.code == 3 and "no-such" in refused.err, refused
    assert zk.names("policy") == [] and paused(one) == set()

    done = zkleader(one, "pause", "job-*", "report", "--reason", "the database moves")
    assert done.code == 0, done
    assert done.out.startswith(f"121 tasks ({FIRST} and 111 more) are paused by root at "), done.out
    assert done.out.endswith(": the database moves\n")
    wait_until(lambda: zk.leaders() == {}, what="nobody leads")
    wait_until(lambda: len(paused(two)) == 121, what="the other knows")

    some = zkleader(two, "resume", "job-1", "job-2", "--dry-run")
    assert some.code == 0 and "2 tasks (job-1, job-2)" in some.out
    assert len(paused(two)) == 121
    some = zkleader(two, "--json", "resume", "job-?")
    assert some.code == 0
    said = json.loads(some.out)
    assert said["count"] == 9 and said["names"] == MANY[:9] and said["done"] is True
    rest = zkleader(one, "resume", "job-*", "report")
    assert rest.code == 0 and rest.out.startswith("112 tasks (job-10, "), rest
    assert "of 9 others there was nothing to take back" in rest.out
    wait_until(lambda: len(zk.leaders()) == 121, what="all are led again")
    assert zk.names("policy") == []
    nothing = zkleader(one, "resume", "job-*")
    assert nothing.code == 0 and nothing.out.startswith("nothing to take back of 120 tasks"), nothing


def test_pins_and_resignations_of_many(pair, zk, zkleader):
    one, two = pair
    refused = zkleader(one, "pin", "job-1*", "report", "2")
    assert refused.code == 3 and "has version 2" in refused.err and zk.names("policy") == []
    done = zkleader(one, "pin", "job-1*", "report", "1")
    assert done.code == 0 and " tasks (job-1, job-10, " in done.out and " are pinned to version 1 by root" in done.out
    done = zkleader(one, "unpin", "*")
    assert done.code == 0 and " are no longer pinned" in done.out and zk.names("policy") == []

    wait_until(lambda: all(who == one.explain(t)["ranking"][0]["id"] for t, who in zk.leaders().items()),
               what="each is led by its best")
    led = [t for t, who in zk.leaders().items() if who == one.id]
    done = zkleader(one, "resign", "*")
    assert done.code == 0 and f"{len(led)} tasks (" in done.out, done
    wait_until(lambda: one.id not in zk.leaders().values(), what="the other leads all")
    none = zkleader(one, "resign", "job-*")
    assert none.code == 1 and "leads none" in none.err
    hostname = one.call("status")["node"]
    done = zkleader(two, "unresign", "*", hostname)
    assert done.code == 0 and f"{len(led)} tasks (" in done.out, done
    wait_until(lambda: sorted(t for t, who in zk.leaders().items() if who == one.id) == sorted(led),
               what="it leads what it led")


def test_a_drain_of_the_last_candidate_needs_force(fleet, zk, zkleader):
    one = fleet.sidecar("one", version="1", tasks=["alone-1", "alone-2", "both"])
    two = fleet.sidecar("two", version="2", tasks=["both"])
    wait_until(lambda: len(zk.leaders()) == 3, what="all are led")
    wait_until(lambda: all(len(s.call("workers")) == 2 for s in (one, two)), what="both see both")
    for at, words in ((one, []), (two, [one.call("status")["node"]])):
        refused = zkleader(at, "drain", *words)
        assert refused.code == 3 and "2 tasks: alone-1, alone-2; --force" in refused.err, refused
    assert zk.names("policy") == []
    assert zkleader(two, "drain").code == 0, "the first leads it then"
    wait_until(lambda: set(zk.leaders().values()) == {one.id}, what="the first leads all")
    refused = zkleader(one, "drain")
    assert refused.code == 3 and "3 tasks: alone-1, alone-2, both; --force" in refused.err, refused
    done = zkleader(one, "drain", "--force")
    assert done.code == 0
    wait_until(lambda: zk.leaders() == {}, what="nobody leads")
    assert zkleader(one, "drain").code == 0, "what has none already does not count"


def test_what_has_no_candidate_already_counts_on_no_node(fleet, zk, zkleader):
    one = fleet.sidecar("one", tasks=["only-1", task_text("only-2", min_version="9"), queue_text("oq", command=["/bin/true"])])
    two = fleet.sidecar("two", tasks=["other"])
    wait_until(lambda: all(len(s.call("workers")) == 2 for s in (one, two)), what="both see both")
    host = one.call("status")["node"]
    refused = f"without {host} nobody could lead 1 task: only-1; --force drains it all the same"
    wait_until(lambda: refused in zkleader(one, "drain").err, what="the queue has no runner")
    told = refused.replace(";", ", and perhaps nobody 1 task: only-2 (who may is in files that this node does not have);")
    wait_until(lambda: told in zkleader(two, "drain", host).err, what="the other knows that")
    assert zkleader(two, "drain", host).code == 3 and zk.names("policy") == []


def test_of_drains_at_one_time_the_last_is_refused(fleet, zk, zkleader):
    made = [fleet.sidecar(n, version="1", tasks=["backup", "report"]) for n in ("one", "two", "three")]
    with concurrent.futures.ThreadPoolExecutor(len(made)) as pool:
        for _ in range(5):
            wait_until(lambda: all([w["state"] for w in s.call("workers")] == ["active"] * 3 for s in made),
                       what="all see all")
            done = sorted(pool.map(lambda s: zkleader(s, "drain"), made), key=lambda outcome: outcome.code)
            assert [outcome.code for outcome in done] == [0, 0, 3], done
            assert "nobody could lead 2 tasks: backup, report; --force drains it all the same" in done[2].err
            assert len(zk.names("policy")) == 2
            wait_until(lambda: len(zk.leaders()) == 2, what="the one that is left leads")
            for sidecar in made:
                assert zkleader(sidecar, "undrain").code == 0


def test_the_state_of_all_rolling_restarts_without_their_names(fleet, zk, zkleader):
    one, two = fleet.sidecar("one", version="1", tasks=["report"]), fleet.sidecar("two", version="1", tasks=["report"])
    wait_until(lambda: all(len(s.call("workers")) == 2 for s in (one, two)), what="both see both")
    none = zkleader(one, "rolling", "--status")
    assert none.code == 0 and none.out == "there has been no rolling restart of any group\n"
    assert json.loads(zkleader(one, "--json", "rolling", "--status").out) == []
    assert zkleader(one, "rolling", "web", "--soak", "0s", "--", "true").code == 0
    assert zkleader(one, "rolling", "app", "--soak", "0s", "--", "false").code == 1
    said = zkleader(two, "rolling", "--status")
    assert said.code == 0, said
    app, web = said.out.split("\n\n")
    assert app.startswith("app: 1 of 1 slots taken, 0 waiting\nhalted by ") and web == "web: 0 of 1 slots taken, 0 waiting\n"
    groups = json.loads(zkleader(two, "--json", "rolling", "--status").out)
    assert [g["group"] for g in groups] == ["app", "web"] and groups[0]["halted"]["why"]
    assert zkleader(two, "rolling", "--resume").code == 3

"""The roll: kept by one sidecar, and by it the others of a big fleet learn who is there. Here two are many."""
import pytest

from harness.waiting import holds_for, wait_until

TASKS = ["report", "nightly"]
SETTLED = 3 + 5  # s: the session timeout, and what is promised beside it


def sidecar(fleet, name, tasks=TASKS, roll_from=2):
    return fleet.sidecar(name, tasks=tasks, roll_from=roll_from)


def roll(sidecar):
    return sidecar.status()["roll"]


def states(sidecars):
    return [roll(s)["state"] for s in sidecars]


def keeper(sidecars):
    """The one that keeps the roll while all others follow it; None: that is not so."""
    found = states(sidecars)
    one = sorted(found) == ["following"] * (len(sidecars) - 1) + ["keeping"]
    return sidecars[found.index("keeping")] if one else None


def known(sidecar):
    return {w["id"] for w in sidecar.call("workers")}


def all_known(sidecars):
    ids = {s.id for s in sidecars}
    return None not in ids and all(known(s) == ids and roll(s)["workers"] == len(ids) for s in sidecars)


@pytest.fixture
def three(fleet):
    made = [sidecar(fleet, name) for name in ("one", "two", "three")]
    wait_until(lambda: keeper(made), what="one keeps the roll, and the others follow it")
    wait_until(lambda: all_known(made), what="all know each other")
    return made


def test_one_keeps_it_and_the_others_hear_of_who_joins_and_leaves(fleet, zk, three, program):
    kept = keeper(three)
    assert zk.get("roll", "keeper")[0].decode() == kept.id and zk.get("roll", "keeper")[1].ephemeralOwner
    assert zk.names("roll")[0] == "0" and len(zk.get("roll")[0]) > 0
    for one in three:
        found = roll(one)
        assert f"\nRoll       {found['state']}, 3 workers, kept by {found['keeper']}\n" in \
            program("zkleader", "-s", one.socket, "status").out
        assert found["keeper"] == one.explain("zkleader:roll")["ranking"][0]["node"]
        explained = one.explain("zkleader:roll")
        assert explained["leads"] == (one is kept) and explained["state"] == \
            ("leading" if one is kept else "following")
        assert [w["id"] for w in explained["ranking"]] == [kept.id, *sorted({s.id for s in three} - {kept.id})]
        out = program("zkleader", "-s", one.socket, "explain", "zkleader:roll").out
        assert out.startswith("this node keeps the roll of 3 workers\n" if one is kept else
                              f"the roll of 3 workers is kept by {found['keeper']}\n")
    four = sidecar(fleet, "four")
    wait_until(lambda: all_known([*three, four]), what="all know the fourth, and it knows them")
    wait_until(lambda: keeper([*three, four]) is kept, what="the same one keeps it, and the fourth follows")
    assert four.stop() == 0
    wait_until(lambda: all_known(three), what="all know that it has left")
    assert keeper(three) is kept


def test_where_the_keeper_is_killed_another_keeps_it(fleet, zk, three):
    kept = keeper(three)
    lost = kept.id
    kept.kill()
    rest = [s for s in three if s is not kept]
    wait_until(lambda: keeper(rest), SETTLED, "another keeps it")
    wait_until(lambda: all_known(rest), what="the killed one has gone for both")
    assert lost not in zk.workers()
    four = sidecar(fleet, "four")
    wait_until(lambda: all_known([*rest, four]), what="who joins then is known")
    wait_until(lambda: set(zk.leaders()) == set(TASKS), what="all tasks are led")


JUNK = b"\x82junk"
HANDS = {
    "garbage": lambda zk: zk.client.set(zk.path("roll"), JUNK),
    "nothing": lambda zk: zk.client.set(zk.path("roll"), b""),
    "no_chunk": lambda zk: zk.client.delete(zk.path("roll", "0")),
    "no_keeper": lambda zk: zk.client.delete(zk.path("roll", "keeper")),
}


@pytest.mark.parametrize("hand", HANDS)
def test_what_hands_do_to_it_is_healed_and_moves_no_task(fleet, zk, three, hand):
    best = {task: three[0].explain(task)["ranking"][0]["id"] for task in TASKS}
    wait_until(lambda: zk.leaders() == best, what="each task is led by the best")
    tokens = {task: zk.leader(task)[1] for task in TASKS}
    HANDS[hand](zk)
    wait_until(lambda: len(zk.get("roll")[0]) > len(JUNK), what="it has a head")
    four = sidecar(fleet, "four", tasks=["another"])
    wait_until(lambda: all_known([*three, four]), what="who joins then is known")
    wait_until(lambda: keeper([*three, four]), what="one keeps it, and the others follow")
    assert four.stop() == 0
    wait_until(lambda: all_known(three), what="and that it has left")
    wait_until(lambda: {"0", "keeper"} <= set(zk.names("roll")), what="it is whole again")
    assert {task: zk.leader(task)[1] for task in TASKS} == tokens


def test_zero_is_never(fleet, zk):
    made = [sidecar(fleet, name, roll_from=0) for name in ("one", "two", "three")]
    wait_until(lambda: all_known(made), what="all know each other")
    assert made[0].explain("zkleader:roll")["reason"] == "no roll is kept: roll-from is 0"
    holds_for(lambda: states(made) == ["off"] * 3 and zk.get("roll")[1] is None, 1, "there is no roll")

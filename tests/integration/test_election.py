"""The leader has the newest version, and among those the best rank, as the fleet changes."""
import struct
import time

import msgpack
import xxhash

from harness.server import worker_record
from harness.sidecar import task_text
from harness.waiting import holds_for, wait_until

TASKS = [f"task-{i:02}" for i in range(12)]


def led_by(zk, sidecar, tasks):
    leaders = zk.leaders()
    return all(leaders.get(t) == sidecar.id for t in tasks)


def wait_led_by(zk, sidecar, tasks):
    """It does by the servers, and then says so: the answer to its claim comes later than the node."""
    wait_until(lambda: led_by(zk, sidecar, tasks) and all(sidecar.leads(t) for t in tasks),
               what=f"{sidecar.name} leads all of {len(tasks)}")


def score(task, random_ints):
    """The formula of docs/ELECTION.md."""
    key = xxhash.xxh64_intdigest(struct.pack("<5i", *random_ints), seed=0)
    return xxhash.xxh64_intdigest(task, seed=key) >> 11


def test_a_sidecar_alone_leads_all_of_its_tasks(fleet, zk):
    only = fleet.sidecar("only", tasks=TASKS)
    wait_led_by(zk, only, TASKS)


def test_of_mixed_versions_the_newest_leads_all(fleet, zk):
    names = {"a": "1.9", "b": "1.10-rc1", "c": "1.10-SNAPSHOT"}
    sidecars = {n: fleet.sidecar(n, version=v, tasks=TASKS) for n, v in names.items()}
    wait_led_by(zk, sidecars["c"], TASKS)
    assert not any(sidecars[n].leads(t) for n in "ab" for t in TASKS)


def test_when_a_newer_version_joins_each_task_moves_exactly_once(fleet, zk):
    old = fleet.sidecar("old", version="1.0", tasks=TASKS, session_timeout="10s")
    other = fleet.sidecar("other", version="1.0", tasks=TASKS, session_timeout="10s")
    wait_until(lambda: set(zk.leaders()) == set(TASKS), what="all are led")
    wait_until(lambda: zk.leaders() == best_by_formula(old, TASKS), what="all are led by their best")
    tokens, changes = zk.tokens(), zk.leader_changes()
    new = fleet.sidecar("new", version="1.0.1", tasks=TASKS, session_timeout="10s")
    wait_led_by(zk, new, TASKS)
    holds_for(lambda: led_by(zk, new, TASKS), 1)
    # Each task was deleted and created once.
    assert zk.leader_changes() - changes == 2 * len(TASKS)
    assert all(zk.tokens()[t] > tokens[t] for t in TASKS)
    assert not any(s.leads(t) for s in (old, other) for t in TASKS)


def best_by_formula(sidecar, tasks):
    workers = sidecar.call("workers")
    return {t: max(workers, key=lambda w: score(t, w["random_ints"]))["id"] for t in tasks}


def test_the_ranking_is_the_published_formula(fleet, zk):
    versions = {"a": "2.0", "b": "2.0", "c": "1.5", "d": "2.0"}
    for name, version in versions.items():
        fleet.sidecar(name, version=version, tasks=TASKS)
    asked = fleet.sidecars[0]
    wait_until(lambda: len(asked.call("workers")) == len(versions), what="all have joined")
    workers = {w["id"]: w for w in asked.call("workers")}
    for task in TASKS:
        ranking = asked.explain(task)["ranking"]
        wanted = sorted(workers.values(), reverse=True,
                        key=lambda w: (w["version"], score(task, w["random_ints"])))
        assert [r["id"] for r in ranking] == [w["id"] for w in wanted]
        assert [r["rank"] for r in ranking] == [score(task, w["random_ints"]) for w in wanted]
        assert [r["why"] for r in ranking] == ["the best", "lower rank", "lower rank", "older version"]
        assert all(r["candidate"] for r in ranking)
    wait_until(lambda: zk.leaders() == {t: asked.explain(t)["ranking"][0]["id"] for t in TASKS},
               what="each task is led by the first of its ranking")


def test_a_join_moves_only_the_tasks_that_the_newcomer_wins(fleet, zk):
    tasks = [f"spread-{i}" for i in range(40)]
    first = fleet.sidecar("first", tasks=tasks, session_timeout="10s")
    wait_led_by(zk, first, tasks)
    tokens, changes = zk.tokens(), zk.leader_changes()
    second = fleet.sidecar("second", tasks=tasks, session_timeout="10s")
    wait_until(lambda: len(first.call("workers")) == 2, what="the second has joined")
    best = best_by_formula(first, tasks)
    won = [t for t in tasks if best[t] == second.id]
    assert 0 < len(won) < len(tasks)
    wait_until(lambda: zk.leaders() == best, what="each is led by its best")
    holds_for(lambda: zk.leader_changes() - changes == 2 * len(won), 0.5, "each moves once")
    assert {t for t, token in zk.tokens().items() if token == tokens[t]} == set(tasks) - set(won)


def test_a_leave_moves_only_the_tasks_that_were_led_there(fleet, zk):
    tasks = [f"spread-{i}" for i in range(40)]
    sidecars = [fleet.sidecar(n, tasks=tasks, session_timeout="10s") for n in ("a", "b", "c")]
    wait_until(lambda: len(sidecars[0].call("workers")) == 3, what="all have joined")
    wait_until(lambda: zk.leaders() == best_by_formula(sidecars[0], tasks), what="each is led by its best")
    tokens, leaving = zk.tokens(), sidecars[2].id
    lost = [t for t, leader in zk.leaders().items() if leader == leaving]
    assert sidecars[2].stop() == 0
    wait_until(lambda: len(sidecars[0].call("workers")) == 2, what="it has left")
    wait_until(lambda: zk.leaders() == best_by_formula(sidecars[0], tasks), what="each is led by its best")
    assert {t for t, token in zk.tokens().items() if token != tokens[t]} == set(lost)


def test_yield_version_gives_way_to_a_newer_version_and_not_to_a_higher_rank(fleet, zk):
    tasks = [f"kept-{i}" for i in range(16)]
    texts = [task_text(t, **{"yield": "version"}) for t in tasks]
    first = fleet.sidecar("first", version="1.0", tasks=texts, session_timeout="10s")
    wait_led_by(zk, first, tasks)
    changes = zk.leader_changes()
    second = fleet.sidecar("second", version="1.0.0", tasks=texts, session_timeout="10s")
    wait_until(lambda: second.id in [w["id"] for w in first.call("workers")], what="it has joined")
    assert second.id in best_by_formula(first, tasks).values()
    holds_for(lambda: zk.leader_changes() == changes, 1.5, "nothing moves")
    assert "keeps it" in next(e["reason"] for e in map(first.explain, tasks)
                              if e["ranking"][0]["id"] == second.id)
    newer = fleet.sidecar("newer", version="1.1", tasks=texts, session_timeout="10s")
    wait_led_by(zk, newer, tasks)


def test_yield_never_keeps_a_task_from_a_newer_version_until_its_leader_goes(fleet, zk):
    text = task_text("kept", **{"yield": "never"})
    old = fleet.sidecar("old", version="1.0", tasks=[text], session_timeout="10s")
    token = zk.wait_for_leader("kept", old)
    new = fleet.sidecar("new", version="2.0", tasks=[text], session_timeout="10s")
    wait_until(lambda: len(old.call("workers")) == 2, what="it has joined")
    holds_for(lambda: zk.leader("kept")[1] == token, 1.5, "nothing moves")
    assert old.stop() == 0
    assert zk.wait_for_leader("kept", new) > token


def test_a_better_node_has_to_be_there_for_yield_delay_before_it_leads(fleet, zk):
    old = fleet.sidecar("old", version="1.0", tasks=["delayed"], yield_delay="3s")
    zk.wait_for_leader("delayed", old)
    new = fleet.sidecar("new", version="2.0", tasks=["delayed"])
    wait_until(lambda: "yield-delay" in old.explain("delayed")["reason"], what="explain says what it waits for")
    zk.wait_for_leader("delayed", new)
    record, _ = zk.leader("delayed")
    assert record["since"] - zk.workers()[new.id]["started_at"] >= 3000


FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


def test_no_task_is_given_up_within_tick_guard_of_the_full_minute(fleet, zk):
    # The old one's clock shows 56 s into a minute when it starts, so the guard ends 12 s after that: to the
    # millisecond, which is what the server tells.
    started_ms = time.time_ns() // 10**6
    offset_ms = (56_000 - started_ms) % 60_000
    env = {"LD_PRELOAD": FAKETIME, "FAKETIME": f"+{offset_ms / 1000:.3f}", "DONT_FAKE_MONOTONIC": "1"}
    old = fleet.sidecar("old", version="1.0", tasks=["guarded"], tick_guard="8s", env=env, clock_tolerance="1d")
    zk.wait_for_leader("guarded", old)
    new = fleet.sidecar("new", version="2.0", tasks=["guarded"], tick_guard="8s")
    wait_until(lambda: "tick-guard" in old.explain("guarded")["reason"], what="explain says what it waits for")
    zk.wait_for_leader("guarded", new)
    assert zk.get("leaders", "guarded")[1].ctime - started_ms >= 12_000


def test_rank_position_ranks_by_that_random_int(fleet, zk):
    tasks = {f"by-{i}": i for i in range(5)}
    texts = [task_text(t, rank_position=i) for t, i in tasks.items()]
    sidecars = [fleet.sidecar(n, tasks=texts) for n in ("a", "b", "c")]
    wait_until(lambda: len(sidecars[0].call("workers")) == 3, what="all have joined")
    workers = sidecars[0].call("workers")
    best = {t: max(workers, key=lambda w: w["random_ints"][i])["id"] for t, i in tasks.items()}
    wait_until(lambda: zk.leaders() == best, what="each is led by the biggest int")
    for task, i in tasks.items():
        wanted = sorted((w["random_ints"][i] for w in workers), reverse=True)
        assert [r["rank"] for r in sidecars[1].explain(task)["ranking"]] == wanted


def test_a_worker_below_min_version_is_no_candidate(fleet, zk):
    text = task_text("modern", min_version="2.0")
    old = fleet.sidecar("old", version="2.0-rc1", tasks=[text, "plain"])
    zk.wait_for_leader("plain", old)
    holds_for(lambda: zk.leader("modern") == (None, None), 1, "nobody leads it")
    assert not old.leads("modern")
    ranking = old.explain("modern")["ranking"]
    assert [(r["candidate"], r["why"]) for r in ranking] == [(False, "older than min-version")]
    new = fleet.sidecar("new", version="2.0", tasks=[text])
    zk.wait_for_leader("modern", new)


def test_a_worker_that_does_not_list_a_task_is_no_candidate(fleet, zk):
    old = fleet.sidecar("old", version="1.0", tasks=["shared", "own"])
    new = fleet.sidecar("new", version="2.0", tasks=["shared"])
    zk.wait_for_leader("shared", new)
    zk.wait_for_leader("own", old)
    ranking = {r["id"]: r for r in old.explain("own")["ranking"]}
    assert ranking[new.id]["why"] == "does not list the task" and not ranking[new.id]["candidate"]
    assert ranking[old.id]["why"] == "the best"


def test_at_the_start_a_better_worker_that_does_not_act_is_not_waited_for_for_ever(fleet, zk):
    sleeper = worker_record(tasks=["needed"], version="99")
    zk.put(msgpack.packb(sleeper), "workers", sleeper["id"])
    only = fleet.sidecar("only", tasks=["needed"], yield_delay="1h")
    zk.wait_for_leader("needed", only)
    wait_until(lambda: only.leads("needed"), what="it leads")


def test_a_task_offered_to_a_better_worker_that_does_not_act_is_taken_back(fleet, zk):
    only = fleet.sidecar("only", tasks=["needed"])
    token = zk.wait_for_leader("needed", only)
    sleeper = worker_record(tasks=["needed"], version="99")
    zk.put(msgpack.packb(sleeper), "workers", sleeper["id"])
    wait_until(lambda: zk.leader("needed")[1] != token, what="it is given up")
    assert zk.wait_for_leader("needed", only) > token
    wait_until(lambda: only.leads("needed"), what="it leads again")
    again = zk.leader("needed")[1]
    # And is not offered again for a good while.
    holds_for(lambda: zk.leader("needed")[1] == again and only.leads("needed"), 2, "it keeps it")


def test_a_leader_whose_successor_is_chosen_by_ip_and_id_is_the_same_at_all(fleet, zk):
    ints = [7, 7, 7, 7, 7]
    text = task_text("tied", rank_position=0)
    for i, ip in enumerate(["9.0.0.1", "10.0.0.1", "10.0.0.1", "::1"]):
        record = worker_record(id=f"id-{i}", ip=ip, random_ints=ints, tasks=["tied"], version="5")
        zk.put(msgpack.packb(record), "workers", record["id"])
    asked = fleet.sidecar("asked", version="1", tasks=[text])
    wait_until(lambda: len(asked.explain("tied")["ranking"]) == 5, what="all are seen")
    ranking = asked.explain("tied")["ranking"]
    assert [r["id"] for r in ranking] == ["id-3", "id-2", "id-1", "id-0", asked.id]
    assert [r["why"] for r in ranking] == ["the best", "same rank, lower ip",
                                           "same rank and ip, lower id", "same rank, lower ip",
                                           "older version"]

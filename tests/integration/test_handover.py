"""Leadership goes on to the next, with a bigger token, whatever ends it."""
import os
import signal
import time
from datetime import datetime, timedelta

import msgpack
import pytest

from harness.proxy import Proxy
from harness.server import worker_record
from harness.waiting import TIMEOUT, holds_for, wait_until

TASKS = ["nightly-report", "cleanup", "mail"]


def wait_leads_all(zk, sidecar, tasks=TASKS, timeout=TIMEOUT):
    wait_until(lambda: all(zk.leaders().get(t) == sidecar.id for t in tasks), timeout, f"{sidecar.name} leads")
    wait_until(lambda: all(sidecar.leads(t) for t in tasks), timeout, f"{sidecar.name} says so")


def test_a_leader_that_is_told_to_go_hands_over_at_once_and_exits_0(fleet, zk):
    # Expiry would take longer than the wait below.
    standby = fleet.sidecar("standby", version="1", tasks=TASKS, session_timeout="60s")
    leader = fleet.sidecar("leader", version="2", tasks=TASKS, session_timeout="60s")
    wait_leads_all(zk, leader)
    # A leader whose worker the standby never saw may not know that its node is gone: the standby then waits for T.
    wait_until(lambda: len(standby.call("workers")) == 2, what="standby knows the leader")
    tokens = zk.tokens()
    assert leader.stop() == 0
    wait_leads_all(zk, standby, timeout=30)
    assert all(zk.tokens()[t] > tokens[t] for t in TASKS)
    assert not leader.socket.exists()


def test_int_is_as_good_as_term(fleet, zk):
    only = fleet.sidecar("only", tasks=TASKS)
    wait_leads_all(zk, only)
    only.signal(signal.SIGINT)
    assert only.wait_exit() == 0
    wait_until(lambda: zk.workers() == {} and zk.leaders() == {}, what="its znodes are gone")


def test_the_tasks_of_a_leader_that_is_killed_are_led_elsewhere(fleet, zk):
    standby = fleet.sidecar("standby", version="1", tasks=TASKS)
    leader = fleet.sidecar("leader", version="2", tasks=TASKS)
    wait_leads_all(zk, leader)
    tokens = zk.tokens()
    leader.kill()
    wait_leads_all(zk, standby)
    assert all(zk.tokens()[t] > tokens[t] for t in TASKS)
    # And it comes back as somebody new, on the socket file that it left behind.
    leader.start()
    wait_leads_all(zk, leader)


def test_a_leader_that_was_stopped_past_its_lease_never_says_yes_afterwards(fleet, zk):
    standby = fleet.sidecar("standby", version="1", tasks=TASKS)
    leader = fleet.sidecar("leader", version="2", tasks=TASKS, yield_delay="200ms")
    wait_leads_all(zk, leader)
    tokens, old_id = zk.tokens(), leader.id
    with leader.client() as client:
        leader.pause()
        asked = [client.send("check", t) for t in TASKS]  # waiting for it when it wakes up
        wait_leads_all(zk, standby)
        leader.resume()
        for task, msgid in zip(TASKS, asked):
            answer = client.result(msgid)
            assert not answer["leader"] or answer["token"] > tokens[task], answer
    wait_until(lambda: leader.id not in (None, old_id), what="it has registered anew")
    wait_leads_all(zk, leader)
    assert all(zk.tokens()[t] > tokens[t] for t in TASKS)


@pytest.mark.costly
def test_leaders_that_wake_up_to_deleted_nodes_and_expired_sessions_lead_anew(fleet, zk):
    # All at once, so that their threads get in each other's way: what they believe is wrong by then.
    tasks = [f"due-{i}" for i in range(12)]
    leaders = [fleet.sidecar(t, tasks=[t], session_timeout="1s") for t in tasks]
    wait_until(lambda: all(s.leads(s.name) for s in leaders), what="all lead")
    for _ in range(3):
        tokens = zk.tokens()
        for sidecar in leaders:
            sidecar.pause()
        transaction = zk.client.transaction()
        for task in tasks:
            transaction.delete(zk.path("leaders", task))
        transaction.commit()
        wait_until(lambda: zk.workers() == {}, what="all sessions have expired")
        for sidecar in leaders:
            sidecar.resume()
        wait_until(lambda: all(s.leads(s.name) for s in leaders), what="all lead")
        assert all(zk.tokens()[t] > tokens[t] for t in tasks)


def test_a_leader_cut_off_stops_saying_yes_before_another_says_it(fleet, zk, server):
    proxy = Proxy(server.port)
    try:
        standby = fleet.sidecar("standby", version="1", tasks=TASKS)
        leader = fleet.sidecar("leader", version="2", tasks=TASKS, zookeeper=proxy.address)
        wait_leads_all(zk, leader)
        task, token = TASKS[0], zk.leader(TASKS[0])[1]
        proxy.stall()
        with leader.client() as old, standby.client() as new:
            while not new.call("check", task)["leader"]:
                old.call("check", task)
            answer = old.call("check", task)
            assert not answer["leader"] and answer["state"] == "disconnected", answer
            assert new.call("check", task)["token"] > token
        proxy.drop()
        proxy.flow()
        wait_leads_all(zk, leader)
        wait_until(lambda: leader.status()["healthy"], what="it is well again")
    finally:
        proxy.close()


def test_a_connection_that_is_lost_within_the_lease_costs_nothing(fleet, zk, server):
    proxy = Proxy(server.port)
    try:
        only = fleet.sidecar("only", tasks=TASKS, zookeeper=proxy.address, session_timeout="10s")
        wait_leads_all(zk, only)
        tokens, session = zk.tokens(), only.status()["session"]["id"]
        for _ in range(3):
            proxy.drop()
            holds_for(lambda: all(only.leads(t) for t in TASKS), 0.5, "it leads on")
            only.wait_connected()
        assert zk.tokens() == tokens and only.status()["session"]["id"] == session
    finally:
        proxy.close()


def test_the_token_is_the_creation_zxid_of_the_leader_node(fleet, zk):
    only = fleet.sidecar("only", tasks=TASKS)
    wait_leads_all(zk, only)
    for task in TASKS:
        czxid = zk.get("leaders", task)[1].czxid
        assert only.check(task)["token"] == czxid
        assert only.call("tasks", task)[0]["token"] == czxid


def test_the_lease_that_an_answer_names_is_within_the_session_timeout(fleet, zk):
    only = fleet.sidecar("only", tasks=TASKS, session_timeout="4s")
    wait_leads_all(zk, only)
    for _ in range(50):
        answer = only.check(TASKS[0])
        # A new session counts from its opening: the timeout less a hundredth and 100 ms at the most.
        assert answer["leader"] and 0 < answer["lease_ms"] <= 4000 - 40 - 100
        time.sleep(0.01)


def test_a_leader_node_deleted_by_hand_is_made_again_with_a_bigger_token(fleet, zk):
    standby = fleet.sidecar("standby", version="1", tasks=TASKS)
    leader = fleet.sidecar("leader", version="2", tasks=TASKS)
    wait_leads_all(zk, leader)
    token = zk.leader("cleanup")[1]
    zk.client.delete(zk.path("leaders", "cleanup"))
    wait_until(lambda: (zk.leader("cleanup")[1] or 0) > token, what="led again")
    wait_leads_all(zk, leader)
    assert not standby.leads("cleanup")
    assert leader.check("cleanup")["token"] == zk.leader("cleanup")[1]


def test_a_worker_node_deleted_by_hand_is_registered_again(fleet, zk):
    leader = fleet.sidecar("leader", version="2", tasks=TASKS)
    other = fleet.sidecar("other", version="1", tasks=TASKS)
    wait_leads_all(zk, leader)
    old_id, session = leader.id, leader.status()["session"]["id"]
    zk.client.delete(zk.path("workers", old_id))
    wait_until(lambda: len(zk.workers()) == 2 and old_id not in zk.workers(), what="registered again")
    wait_until(lambda: leader.id in zk.workers(), what="it knows its new id")
    assert leader.status()["session"]["id"] == session
    wait_until(lambda: leader.id in [w["id"] for w in other.call("workers")], what="the other sees it")
    wait_until(lambda: all(leader.leads(t) for t in TASKS), what="it leads")
    wait_until(lambda: all(t["leader"]["id"] == leader.id for t in other.call("tasks")),
               what="the other knows who leads")


def test_parents_deleted_by_hand_are_made_again(fleet, zk):
    only = fleet.sidecar("only", tasks=TASKS)
    wait_leads_all(zk, only)
    zk.delete_all()
    wait_until(lambda: set(zk.leaders()) == set(TASKS) and only.id in zk.workers(), what="all is there again")
    wait_leads_all(zk, only)


def test_another_version_in_version_file_registers_anew_and_keeps_what_it_leads(fleet, zk, folder):
    file = folder / "VERSION"
    file.write_text("1.0\n", encoding="ascii")
    changing = fleet.sidecar("changing", version=None, version_file=file, tasks=TASKS, session_timeout="10s")
    other = fleet.sidecar("other", version="0.9", tasks=TASKS, session_timeout="10s")
    wait_leads_all(zk, changing)
    tokens, old_id, session = zk.tokens(), changing.id, changing.status()["session"]["id"]
    file.write_text("1.1\nmore text\n", encoding="ascii")
    wait_until(lambda: changing.id != old_id and changing.id in zk.workers(), what="registered anew")
    assert zk.workers()[changing.id]["version"] == "1.1" and old_id not in zk.workers()
    assert changing.status()["session"]["id"] == session and changing.status()["version"] == "1.1"
    holds_for(lambda: zk.tokens() == tokens and all(changing.leads(t) for t in TASKS), 1, "it leads on")
    wait_until(lambda: [w["version"] for w in other.call("workers")] == ["1.1", "0.9"], what="the other sees it")
    # A rollback takes leadership away.
    file.write_text("0.8\n", encoding="ascii")
    wait_leads_all(zk, other)


@pytest.mark.parametrize("how", ["rename", "symlink"])
def test_a_version_that_is_deployed_at_once_moves_each_task_once(fleet, zk, folder, how):
    """By renaming a new file over the old one, or by pointing the link "current" to another release."""
    for release, version in (("r1", "1.0"), ("r2", "3.0")):
        (folder / release).mkdir()
        (folder / release / "VERSION").write_text(version + "\n", encoding="ascii")
    current = folder / "current"
    current.symlink_to("r1")
    deployed = fleet.sidecar("deployed", version=None, version_file=current / "VERSION", tasks=TASKS, session_timeout="10s")
    other = fleet.sidecar("other", version="2.0", tasks=TASKS, session_timeout="10s")
    wait_leads_all(zk, other)
    changes = zk.leader_changes()
    if how == "rename":
        (folder / "draft").write_text("3.0\n", encoding="ascii")
        os.rename(folder / "draft", folder / "r1" / "VERSION")
    else:
        (folder / "link").symlink_to("r2")
        os.rename(folder / "link", current)
    wait_leads_all(zk, deployed)
    assert deployed.status()["version"] == "3.0"
    assert zk.leader_changes() == changes + 2 * len(TASKS), "each was deleted and made once"


@pytest.mark.slow
def test_a_newer_version_in_place_moves_many_tasks_once_also_without_a_delay(fleet, zk):
    """Whom it makes the best knows an earlier leader of them, who is still there: it has to look before they are
    given up, or would take them for deleted, and wait. So it has half a second. What a busy machine keeps it from
    reading by then goes back once, and moves again later."""
    tasks = [f"job-{i:04}" for i in range(300)]
    settings = {"tasks": tasks, "session_timeout": "10s", "yield_delay": "0s", "log_format": "json"}
    first = fleet.sidecar("first", version="5", **settings)
    wait_until(lambda: set(zk.leaders().values()) == {first.id} and len(zk.leaders()) == 300, what="the first leads")
    heir = fleet.sidecar("heir", version="1", **settings)
    wait_until(lambda: all(t["leader"] for t in heir.call("tasks")), what="the heir knows who leads")
    best = fleet.sidecar("best", version="6", **settings)
    wait_until(lambda: set(zk.leaders().values()) == {best.id} and len(zk.leaders()) == 300, what="the best leads")
    changes = zk.leader_changes()
    heir.write_config(version="9", session_timeout="10s", yield_delay="0s", log_format="json")
    heir.signal(signal.SIGHUP)
    wait_until(lambda: set(zk.leaders().values()) == {heir.id} and len(zk.leaders()) == 300, what="the heir leads")
    known = [r for r in heir.log_records() if r.get("reason") == "handed over"]
    late = {r["task"] for r in heir.log_records() if r.get("reason") == "nobody leads"}
    assert known, "some were read in time"
    moves = zk.leader_changes() - changes
    assert 2 * 300 <= moves <= 2 * (300 + len(late)), "each that was read was deleted and made once"
    joined = next(r for r in best.log_records() if r.get("id") == heir.id)
    given_up = next(r for r in best.log_records() if r.get("better") == heir.id)
    passed = datetime.fromisoformat(given_up["time"]) - datetime.fromisoformat(joined["time"])
    assert passed >= timedelta(milliseconds=499), "the heir has half a second to look"


def test_a_version_file_that_goes_bad_leaves_the_last_version_in_force(fleet, zk, folder):
    file = folder / "VERSION"
    file.write_text("1.0\n", encoding="ascii")
    only = fleet.sidecar("only", version=None, version_file=file, tasks=TASKS)
    wait_leads_all(zk, only)
    old_id = only.id
    file.write_text("\n", encoding="ascii")
    problem = wait_until(only.problems, what="status tells the problem")[0]
    assert problem["file"] == str(only.config_file) and "version-file" in problem["message"]
    assert not only.status()["healthy"]
    file.unlink()
    wait_until(lambda: "does not exist" in only.problems()[0]["message"], what="it tells that it is gone")
    assert len(only.problems()) == 1 and only.call("reload")["problems"] == only.problems()
    holds_for(lambda: only.id == old_id and only.leads(TASKS[0]), 1, "nothing changes")
    file.write_text("3\n", encoding="ascii")
    wait_until(lambda: only.status()["version"] == "3", what="the new version is taken")
    wait_until(lambda: only.status()["healthy"] and only.problems() == [], what="nothing is left of the problem")


def test_a_version_counts_while_the_main_file_is_refused(fleet, zk, folder):
    file = folder / "VERSION"
    file.write_text("1.0\n", encoding="ascii")
    only = fleet.sidecar("only", version=None, version_file=file, tasks=TASKS)
    only.config_file.write_text("bogus = 1\n", encoding="ascii")
    assert only.call("reload")["problems"]
    file.write_text("2.0\n", encoding="ascii")
    wait_until(lambda: only.status()["version"] == "2.0", what="the new version is taken")
    assert only.problems()


def test_subscribers_hear_of_each_change_of_leader_and_member(fleet, zk):
    watched = fleet.sidecar("watched", version="1", tasks=TASKS)
    wait_leads_all(zk, watched)
    with watched.client() as some, watched.client() as everything:
        assert some.call("subscribe", "mail") is True
        assert everything.call("subscribe") is True
        new = fleet.sidecar("new", version="2", tasks=TASKS)
        wait_leads_all(zk, new)
        new_id, tokens = new.id, zk.tokens()

        def heard(client):
            try:
                client.pump(0.05)
            except OSError:
                pass
            return client.notifications

        def hears(client, task):
            return [n for kind, n in heard(client) if kind == "leadership" and n["task"] == task
                    and n["leader"] and n["leader"]["id"] == new_id and n["token"] == tokens[task]]

        def hears_member(client, event):
            return [n for kind, n in heard(client) if kind == "membership" and n["event"] == event
                    and n["id"] == new_id]

        for task in TASKS:
            wait_until(lambda: hears(everything, task), what=f"who leads {task} is told")
        wait_until(lambda: hears(some, "mail"), what="who leads mail is told")
        wait_until(lambda: hears_member(some, "joined"), what="the join is told")
        new.kill()
        wait_until(lambda: hears_member(everything, "left"), what="the leave is told")
        wait_until(lambda: [n for k, n in heard(some) if k == "leadership" and n["self"]
                            and n["token"] > tokens["mail"]], what="that it leads again is told")
        told = {n["task"] for kind, n in some.notifications if kind == "leadership"}
        assert told == {"mail"}
        assert all("time" in n for _, n in some.notifications)


def test_the_leader_before_is_named_though_its_registration_was_read_later(fleet, zk):
    only = fleet.sidecar("only", tasks=TASKS[:1])
    wait_leads_all(zk, only, TASKS[:1])
    assert only.call("pause", TASKS[0], {})
    wait_until(lambda: not zk.leaders(), what="nobody leads")
    with only.client() as client:
        assert client.call("subscribe", TASKS[0]) is True
        other = worker_record(hostname="elsewhere", version="3")
        leader = {"id": other["id"], "ip": other["ip"], "hostname": "elsewhere", "version": "3", "since": 1}
        zk.put(msgpack.packb(leader), "leaders", TASKS[0])
        wait_until(lambda: [n for k, n in listen(client) if k == "leadership" and n["leader"]
                            and n["leader"]["id"] == other["id"]], what="a leader that is no worker yet")
        zk.put(msgpack.packb(other), "workers", other["id"])
        wait_until(lambda: [n for k, n in listen(client) if k == "membership" and n["id"] == other["id"]], what="it joins")
        zk.client.delete(zk.path("leaders", TASKS[0]))
        assert only.call("resume", TASKS[0]) is not None
        last = wait_until(lambda: [n for k, n in listen(client) if k == "leadership" and n["self"]], what="it leads")[-1]
    previous = last["previous"]
    assert (previous["id"], previous["hostname"], previous["version"]) == (other["id"], "elsewhere", "3")


def listen(client, seconds=0.05):
    """The client's notifications so far, as (method, what)."""
    try:
        client.pump(seconds)
    except OSError:
        pass
    return client.notifications


@pytest.mark.costly
def test_who_subscribes_before_the_server_is_up_hears_once_what_is_so_and_then_each_change(fleet, own_server, zk):
    own_server.start()
    own_server.kill()
    early = fleet.sidecar("early", version="1", tasks=TASKS, ready=False)
    wait_until(early.listens, what="it listens")
    with early.client() as client:
        assert client.call("subscribe") is True
        wait_until(lambda: listen(client), what="it is told that nothing is confirmed")
        assert [(k, n["confirmed"]) for k, n in client.notifications] == [("connection", False)]
        assert all(t["state"] == "disconnected" for t in client.call("tasks"))
        own_server.start()

        def told(kind):
            return [n for k, n in listen(client) if k == kind]

        wait_until(lambda: {n["task"] for n in told("leadership") if n["self"]} == set(TASKS), 60, "all are told")
        assert [n["confirmed"] for n in told("connection")] == [False, True]
        tokens = zk.tokens()
        for task in TASKS:
            mine = [n for n in told("leadership") if n["task"] == task and n["leader"]]
            assert [n["token"] for n in mine] == [tokens[task]], "each state is told once"
        with early.client() as late:  # where it is certain, at once
            assert late.call("subscribe", TASKS[0]) is True
            wait_until(lambda: [k for k, _ in listen(late)] == ["connection", "leadership"], what="both are told")
            assert late.notifications[1][1]["token"] == tokens[TASKS[0]]
        before = len(told("leadership"))
        own_server.kill()
        wait_until(lambda: [n["confirmed"] for n in told("connection")] == [False, True, False], 60, "it is lost")
        own_server.start()
        wait_until(lambda: [n["confirmed"] for n in told("connection")][-1], 60, "it is back")
        wait_until(lambda: all(early.leads(t) for t in TASKS), 60, "it leads again")
        again = [n for n in told("leadership")[before:] if n["leader"] and n["token"] == tokens[n["task"]]]
        assert not again, "what is as it was told is not told again"


def watches_at_rest(server):
    """How many there are once none has come or gone for half a second."""
    seen = [server.watches()]

    def at_rest():
        seen.append(server.watches())
        return len(seen) > 10 and len(set(seen[-10:])) == 1
    wait_until(at_rest, what="nothing is watched anew")
    return seen[-1]


def test_who_wants_to_know_what_this_node_leads_costs_no_question(fleet, zk):
    first = fleet.sidecar("first", version="1", tasks=TASKS)
    wait_leads_all(zk, first)
    second = fleet.sidecar("second", version="0.5", tasks=TASKS)
    third = fleet.sidecar("third", version="0.4", tasks=TASKS)
    wait_until(lambda: len(third.call("workers")) == 3, what="they know each other")
    watched = watches_at_rest(zk.server)
    with third.client() as mine, first.client() as leader:
        assert mine.call("subscribe", {"mine": True}) is True
        assert leader.call("subscribe", TASKS[0], {"mine": True}) is True
        wait_until(lambda: len([1 for k, n in listen(mine) if k == "leadership" and not n["self"]]) == len(TASKS),
                   what="it is told that it leads nothing")
        wait_until(lambda: [n["self"] for k, n in listen(leader) if k == "leadership"] == [True], what="this one leads")
        assert watches_at_rest(zk.server) == watched, "nothing is watched for that"
        first.stop()
        wait_leads_all(zk, second)
        second.stop()
        wait_leads_all(zk, third)
        wait_until(lambda: {n["task"] for k, n in listen(mine) if k == "leadership" and n["self"]} == set(TASKS),
                   what="it is told that it leads all")


@pytest.mark.parametrize("params", [[{"mine": 1}], [{"mine": True}, "mail"], [{7: 8}]])
def test_subscribe_refuses_what_is_no_option(fleet, params):
    assert fleet.sidecar("only", tasks=TASKS).error_of("subscribe", *params).code == 3


def test_a_question_during_a_handover_waits_for_the_election_to_settle(fleet, zk):
    standby = fleet.sidecar("standby", version="1", tasks=["due"])
    leader = fleet.sidecar("leader", version="2", tasks=["due"], session_timeout="6s")
    wait_leads_all(zk, leader, ["due"])
    leader.pause()
    # Nobody has it from here on until the paused one's lease must have ended.
    zk.client.delete(zk.path("leaders", "due"))
    wait_until(lambda: standby.check("due")["state"] == "contending", what="nobody leads")
    assert not standby.leads("due")
    answer = standby.call("check", "due", 60_000, timeout=70)
    assert answer["leader"] and answer["token"] == zk.leader("due")[1]
    leader.resume()

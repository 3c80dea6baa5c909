"""Leaders that give up of their own accord, hands that change znodes, and servers that refuse."""
import pytest
from kazoo.exceptions import NoNodeError

from harness.faults import LED_AGAIN, TASK, leads, pair
from harness.oracle import Oracle
from harness.waiting import holds_for, wait_until


# --- of its own accord: what was promised is kept ------------------------------------------------------


GIVING_UP = {
    "resign": lambda leader: leader.call("resign", TASK, {}),
    "drain": lambda leader: leader.call("drain", {}),
    "older": lambda leader: (leader.write_config(version="0.5"), leader.call("reload")),
    "task-removed": lambda leader: leader.write_tasks("another"),
}


@pytest.mark.parametrize("how", GIVING_UP)
def test_a_leader_that_gives_up_keeps_what_it_has_promised(fleet, zk, how):
    leader, standby = pair(fleet)
    wait_until(lambda: len(leader.explain(TASK)["ranking"]) == 2, what="it knows the other")
    with Oracle(TASK, leader, standby) as oracle:
        token = oracle.led(by=leader).token
        # Decisions are taken a moment later than questions, once their folder is there.
        wait_until(lambda: GIVING_UP[how](leader), what="it is told")
        assert oracle.led(by=standby, within=LED_AGAIN).token > token


def test_a_task_that_is_paused_and_resumed_is_never_led_twice(fleet, zk):
    leader, standby = pair(fleet)
    with Oracle(TASK, leader, standby) as oracle:
        for _ in range(3):
            oracle.led(by=leader, within=LED_AGAIN)
            wait_until(lambda: standby.call("pause", TASK, {}), what="it is paused")
            oracle.not_led_by(leader)
            standby.call("resume", TASK)
        oracle.led(by=leader, within=LED_AGAIN)


# --- other hands -----------------------------------------------------------------------------------


def delete(zk):
    try:
        zk.client.delete(zk.path("leaders", TASK))
    except NoNodeError:
        pass


def test_a_leader_node_deleted_while_its_owner_is_connected_makes_no_second_leader(fleet, zk):
    leader, standby = pair(fleet)
    with Oracle(TASK, leader, standby) as oracle:
        for _ in range(3):
            token = oracle.led(by=leader, within=LED_AGAIN).token
            delete(zk)
            wait_until(lambda: (zk.leader(TASK)[1] or 0) > token, what="led again")
        oracle.led(by=leader, within=LED_AGAIN)


def test_a_leader_node_deleted_while_its_owner_is_cut_off_within_its_lease_makes_no_second_leader(
        fleet, zk, proxy):
    leader, standby = pair(fleet, proxy, session_timeout="6s")
    with Oracle(TASK, leader, standby) as oracle:
        token = oracle.led(by=leader).token
        proxy.stall()
        delete(zk)
        assert oracle.led(by=leader).token == token, "it is within its lease"
        assert oracle.led(by=standby, within=LED_AGAIN).token > token
        proxy.flow()
        oracle.led(by=leader, within=LED_AGAIN)


def test_a_leader_node_made_by_another_hand_and_removed_again_lets_nobody_in_before_the_lease_ends(
        fleet, zk, proxy):
    leader, standby = pair(fleet, proxy, session_timeout="6s")
    with Oracle(TASK, leader, standby) as oracle:
        token = oracle.led(by=leader).token
        proxy.stall()
        delete(zk)
        zk.put(b"not ours", "leaders", TASK)  # an ephemeral of the test's own session
        wait_until(lambda: standby.check(TASK)["state"] == "following", what="the standby has seen it")
        delete(zk)
        assert oracle.led(by=standby, within=LED_AGAIN).token > token
        proxy.flow()
        oracle.led(by=leader, within=LED_AGAIN)


def test_a_leader_node_replaced_by_another_hand_while_its_owner_is_cut_off_is_not_taken_for_its_own(
        fleet, zk, proxy):
    only = leads(fleet.sidecar("only", tasks=[TASK], zookeeper=proxy.address, session_timeout="10s"))
    with Oracle(TASK, only) as oracle:
        token, session = oracle.led(by=only).token, only.status()["session"]["id"]
        proxy.stall()
        delete(zk)
        zk.put(b"not ours", "leaders", TASK)
        foreign = zk.leader(TASK)[1]
        proxy.flow()
        wait_until(lambda: only.check(TASK)["state"] == "following", what="it has seen the other's node")
        assert only.status()["session"]["id"] == session, "the session has lived on"
        holds_for(lambda: not only.leads(TASK), 1, "it does not lead")
        assert zk.leader(TASK)[1] == foreign
        delete(zk)
        assert oracle.led(by=only, within=LED_AGAIN).token > foreign > token


# --- refusals -------------------------------------------------------------------------


def test_a_sidecar_whose_authentication_is_refused_leaves_the_task_to_others(fleet, zk, folder):
    file = folder / "zkleader.auth"
    file.write_text("nosuchscheme:user:secret\n", encoding="ascii")
    file.chmod(0o600)
    good = leads(fleet.sidecar("good", version="1", tasks=[TASK]))
    refused = fleet.sidecar("refused", version="2", tasks=[TASK], auth_file=file, ready=False)
    wait_until(lambda: "auth" in (refused.status()["why"] or ""), what="status says why")
    with Oracle(TASK, good, refused) as oracle:
        holds_for(lambda: good.leads(TASK) and not refused.leads(TASK), 2, "the good one leads")
        assert oracle.led().sidecar == "good"


def test_a_chroot_that_is_not_there_is_made(fleet, zk):
    only = fleet.sidecar("only", tasks=[TASK], zookeeper=f"{zk.server.address}{zk.root}/not/there")
    with Oracle(TASK, only) as oracle:
        oracle.led(by=only, within=LED_AGAIN)

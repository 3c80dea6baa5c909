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


def test_a_persistent_node_in_the_place_of_a_leader_is_told_to_be_deleted_and_then_somebody_leads(
        fleet, zk, program, jobs):
    zk.client.create(zk.path("leaders", TASK), b"from a backup", makepath=True)
    path = zk.path("leaders", TASK)
    one, other = fleet.sidecar("one", tasks=[TASK, "free"]), fleet.sidecar("other", tasks=[TASK, "free"])
    wait_until(lambda: one.leads("free") or other.leads("free"), what="what stands in no way is led")
    for sidecar in (one, other):
        asked = program("zkleader-check", "-s", sidecar.socket, TASK)
        assert asked.code == 2 and f"delete {path}" in asked.err and asked.err.count("\n") == 1, asked
        run = jobs(TASK).run(sidecar, "--wait", "100ms")
        code, out, err = run.wait()
        assert (code, out) == (2, "") and f"delete {path}" in err and err.count("\n") == 1, err
        [problem] = sidecar.problems()
        assert problem["file"] == TASK and path in problem["message"] and not sidecar.status()["healthy"]
        shown = program("zkleader", "-s", sidecar.socket, "status")
        assert shown.code == 2 and f"{TASK}: nobody can lead it" in shown.out
        assert path in sidecar.explain(TASK)["reason"] and sidecar.explain(TASK)["leader"] is None
        sidecar.wait_log(f"znode={path}")
        assert sidecar.log().count("nobody can lead the task") == 1, "once"
    [listed] = one.call("tasks", TASK)
    assert (listed["leader"], listed["token"], listed["state"]) == (None, None, "contending")
    zk.client.delete(path)
    wait_until(lambda: one.leads(TASK) or other.leads(TASK), LED_AGAIN, "it is led by itself")
    wait_until(lambda: one.status()["healthy"] and other.status()["healthy"], what="all is well")


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

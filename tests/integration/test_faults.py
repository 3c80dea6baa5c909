"""Faults of processes, networks and servers, judged by an oracle that asks every sidecar all the time.

The quick ones; those that need an ensemble, namespaces or minutes are in tests/faults.
docs/SAFETY.md lists them all.
"""
import calendar
import os
import time

import pytest
from kazoo.exceptions import NoNodeError

from harness.ensemble import Server, seconds
from harness.oracle import Answer, Broken, Oracle, double_seconds, now, overlaps, tokens_gone_back
from harness.proxy import Proxy, is_claim, is_confirmation, is_release
from harness.waiting import holds_for, wait_until

TASK = "nightly-report"
# Session timeout 2 s: expiry, its bucket, and another's turn to claim. The rest is for slow machines.
LED_AGAIN = 30
QUEUED = 20


@pytest.fixture
def proxy(server):
    with Proxy(server.port) as made:
        yield made


def leads(sidecar):
    wait_until(lambda: sidecar.leads(TASK), what=f"{sidecar.name} leads")
    return sidecar


def pair(fleet, behind=None, **config):
    """A leader (behind a proxy), and a standby with an older version."""
    leader = fleet.sidecar("leader", version="2", tasks=[TASK],
                           zookeeper=behind.address if behind else None, **config)
    leads(leader)
    return leader, fleet.sidecar("standby", version="1", tasks=[TASK], **config)


def ask_in_advance(client, n=QUEUED):
    """Questions that nobody answers yet: [(when sent, msgid)]."""
    return [(now(), client.send("check", TASK)) for _ in range(n)]


def take_answers(oracle, sidecar, client, asked):
    for sent, msgid in asked:
        oracle.note(sidecar.name, sent, client.result(msgid))


# --- the judge -----------------------------------------------------------------------------------


def yes(sidecar, sent, lease_ms, token=1, took=0.001):
    return Answer(sidecar, sent, sent + took, True, token, lease_ms)


def no(sidecar, sent):
    return Answer(sidecar, sent, sent + 0.001, False, 0, 0)


def judge(*answers, epochs=(0.0,)):
    oracle = Oracle(TASK)
    oracle.answers, oracle.epochs = list(answers), list(epochs)
    oracle.judge()


def test_the_oracle_finds_a_planted_overlap():
    with pytest.raises(Broken, match="led twice"):
        judge(yes("a", 1.0, 1000), no("b", 1.5), yes("b", 1.99, 1000, token=2))
    # A long lease inside which a short one of another lies, and one that is found by its end alone.
    found = overlaps([yes("a", 1.0, 9000), yes("a", 1.1, 10), yes("b", 5.0, 500, token=2)])
    assert len(found) == 1 and found[0][0] == pytest.approx(0.499)
    assert double_seconds([yes("a", 1.0, 2000), yes("b", 2.0, 3000)]) == pytest.approx(0.999)


def test_the_oracle_finds_a_token_that_goes_back():
    with pytest.raises(Broken, match="went back"):
        judge(yes("a", 1.0, 100, token=7), yes("b", 2.0, 100, token=6))
    with pytest.raises(Broken, match="went back"):
        judge(yes("a", 1.0, 100, token=7), yes("a", 1.05, 100, token=6))
    # Sent before the bigger one was received: nobody could know of it.
    assert not tokens_gone_back([yes("a", 1.0, 100, token=7), yes("b", 0.9, 50, token=6)])


def test_the_oracle_lets_what_is_right_pass():
    judge(yes("a", 1.0, 1000), yes("a", 1.5, 1000), yes("b", 2.5, 1000, token=2), yes("a", 3.6, 10, token=3))
    # A no, and a yes that was too old when it came, are no validity.
    judge(yes("a", 1.0, 1000), no("b", 1.1), yes("b", 1.2, 100, token=1, took=0.2))
    # A no withdraws the yes before it, if it follows soon.
    judge(yes("a", 0.1, 9000), yes("a", 1.0, 9000), no("a", 1.1), yes("b", 1.2, 1000, token=2))
    with pytest.raises(Broken, match="led twice"):
        judge(yes("a", 1.0, 9000), no("a", 2.0), yes("b", 1.2, 1000, token=2))
    # Tokens begin anew with a server that has lost its data.
    judge(yes("a", 1.0, 100, token=700), yes("a", 5.0, 100, token=3), epochs=(0.0, 4.0))
    with pytest.raises(AssertionError, match="nothing was tested"):
        judge(no("a", 1.0))


def test_the_oracle_catches_two_fleets_that_know_nothing_of_each_other(fleet, zk, server):
    one, other = (fleet.sidecar(n, tasks=[TASK], root=f"{zk.root}/{n}") for n in ("one", "other"))
    leads(one), leads(other)
    with pytest.raises(Broken, match="led twice"):
        with Oracle(TASK, one, other) as oracle:
            oracle.led(by=one), oracle.led(by=other)


# --- processes -------------------------------------------------------------------------------------


def test_questions_queued_while_the_leader_is_stopped_past_its_session_get_no_old_yes(fleet, zk):
    leader, standby = pair(fleet)
    with Oracle(TASK, leader, standby) as oracle, leader.client(60) as client:
        oracle.led(by=leader)
        leader.pause()
        asked = ask_in_advance(client)
        oracle.led(by=standby, within=LED_AGAIN)
        asked += ask_in_advance(client)
        leader.resume()
        take_answers(oracle, leader, client, asked)
        oracle.led(by=leader, within=LED_AGAIN)


def test_a_stopped_leader_does_not_count_replies_that_lay_in_a_buffer(fleet, zk, proxy):
    leader, standby = pair(fleet, proxy)
    with Oracle(TASK, leader, standby) as oracle, leader.client(60) as client:
        oracle.led(by=leader)
        proxy.stall(up=False)  # confirmations still reach the server, their acknowledgements wait
        seconds(0.5)
        leader.pause()
        asked = ask_in_advance(client)
        oracle.led(by=standby, within=LED_AGAIN)
        proxy.flow()
        asked += ask_in_advance(client)
        leader.resume()
        take_answers(oracle, leader, client, asked)
        oracle.led(by=leader, within=LED_AGAIN)


def test_a_leader_stopped_for_half_the_timeout_leads_on_with_the_same_token(fleet, zk):
    leader, standby = pair(fleet, session_timeout="10s")
    with Oracle(TASK, leader, standby) as oracle:
        token, changes = oracle.led(by=leader).token, zk.leader_changes()
        leader.pause()
        seconds(5)
        leader.resume()
        assert oracle.led(by=leader, within=LED_AGAIN).token == token
        holds_for(lambda: leader.leads(TASK), 1, "it leads on")
        assert zk.leader_changes() == changes


def test_a_leader_killed_and_started_at_once_leads_anew_with_a_bigger_token(fleet, zk):
    leader, standby = pair(fleet)
    with Oracle(TASK, leader, standby) as oracle:
        token = oracle.led(by=leader).token
        leader.kill()
        killed = now()
        leader.start(ready=False)
        # The old session's node may be in the way until it has expired; nobody adopts it.
        answer = oracle.led(by=leader, within=LED_AGAIN)
        assert answer.token > token
        print(f"measured: led by the new process {answer.sent - killed:.2f} s after the kill")


# --- the network ------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_leader_whose_network_stalls_one_way_is_followed_without_overlap(fleet, zk, proxy, way):
    leader, standby = pair(fleet, proxy)
    with Oracle(TASK, leader, standby) as oracle:
        token = oracle.led(by=leader).token
        proxy.stall(up=way == "up", down=way == "down")
        assert oracle.led(by=standby, within=LED_AGAIN).token > token
        proxy.flow()
        oracle.led(by=leader, within=LED_AGAIN)


LOSSES = [pytest.param(False, "", id="reply-lost"), pytest.param(False, "close", id="reply-lost-and-closed"),
          pytest.param(True, "", id="request-lost"), pytest.param(True, "close", id="request-lost-and-closed")]


@pytest.mark.parametrize("drop, then", LOSSES)
def test_a_claim_without_an_answer_becomes_what_the_tree_says(fleet, zk, proxy, drop, then):
    rule = proxy.lose(is_claim, drop, then)
    leader = fleet.sidecar("leader", version="2", tasks=[TASK], zookeeper=proxy.address, session_timeout="6s")
    standby = fleet.sidecar("standby", version="1", tasks=[TASK], session_timeout="6s")
    with Oracle(TASK, leader, standby) as oracle:
        answer = oracle.led(by=leader, within=LED_AGAIN)
        assert rule.applied.is_set()
        assert answer.token == zk.leader(TASK)[1]
        holds_for(lambda: leader.leads(TASK), 1, "it leads on")


@pytest.mark.parametrize("drop, then", LOSSES)
def test_a_release_without_an_answer_ends_in_one_leader(fleet, zk, proxy, drop, then):
    rule = proxy.lose(is_release, drop, then)
    old = fleet.sidecar("old", version="1", tasks=[TASK], zookeeper=proxy.address, session_timeout="6s")
    leads(old)
    with Oracle(TASK, old) as oracle:
        token = oracle.led(by=old).token
        new = fleet.sidecar("new", version="2", tasks=[TASK], session_timeout="6s")
        oracle.watch(new)
        assert oracle.led(by=new, within=LED_AGAIN).token > token
        assert rule.applied.is_set()
        oracle.not_led_by(old)


@pytest.mark.parametrize("drop, then", LOSSES)
def test_a_confirmation_without_an_answer_costs_nothing(fleet, zk, proxy, drop, then):
    leader, standby = pair(fleet, proxy, session_timeout="10s")
    with Oracle(TASK, leader, standby) as oracle:
        token, changes = oracle.led(by=leader).token, zk.leader_changes()
        rule = proxy.lose(is_confirmation, drop, then)
        assert rule.applied.wait(20)
        holds_for(lambda: leader.leads(TASK), 2, "it leads on")
        wait_until(leader.is_connected, what="it is confirmed again")
        assert oracle.led(by=leader).token == token and zk.leader_changes() == changes


def test_a_node_whose_claim_was_never_answered_is_not_adopted_by_the_next_session(fleet, zk, proxy):
    rule = proxy.lose(is_claim, then="stall")
    lost = fleet.sidecar("lost", tasks=[TASK], zookeeper=proxy.address, ready=False)
    assert rule.applied.wait(20)
    token = wait_until(lambda: zk.leader(TASK)[1], what="the claim was carried out")
    with Oracle(TASK, lost) as oracle:
        wait_until(lambda: zk.leader(TASK)[1] is None, what="the session has expired")
        proxy.flow()
        answer = oracle.led(by=lost, within=LED_AGAIN)
        assert answer.token > token and answer.token == zk.leader(TASK)[1]


def test_connections_dropped_every_200_ms_make_no_second_leader_and_end_well(fleet, zk, proxy):
    leader, standby = pair(fleet, proxy)
    with Oracle(TASK, leader, standby) as oracle:
        oracle.led(by=leader)
        for _ in range(25):
            proxy.drop()
            seconds(0.2)
        oracle.led(by=leader, within=LED_AGAIN)


# --- servers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.8, 2.5])
def test_a_server_stopped_for_a_share_of_the_timeout_makes_no_second_leader(fleet, zk, folder, share):
    server = Server(folder / "one").start()
    try:
        leader = leads(fleet.sidecar("leader", version="2", tasks=[TASK], zookeeper=server.address))
        standby = fleet.sidecar("standby", version="1", tasks=[TASK], zookeeper=server.address)
        with Oracle(TASK, leader, standby) as oracle:
            oracle.led(by=leader)
            server.pause()
            seconds(share * 2)
            server.resume()
            oracle.led(by=leader, within=LED_AGAIN)
    finally:
        server.close()


@pytest.mark.parametrize("data", ["with-data", "without-data"])
def test_a_server_down_for_longer_than_the_timeout_is_led_again_with_and_without_its_data(
        fleet, folder, zk, data):
    server = Server(folder / "one").start()
    try:
        leader = leads(fleet.sidecar("leader", version="2", tasks=[TASK], zookeeper=server.address))
        standby = fleet.sidecar("standby", version="1", tasks=[TASK], zookeeper=server.address)
        with Oracle(TASK, leader, standby) as oracle:
            token = oracle.led(by=leader).token
            server.kill()
            oracle.not_led_by(leader)
            seconds(2)
            if data == "without-data":
                server.wipe()
                oracle.data_lost()
            server.start()
            started = now()
            answer = oracle.led(by=leader, within=LED_AGAIN)
            assert data == "without-data" or answer.token >= token
            print(f"measured: led {answer.sent - started:.2f} s after the server served")
    finally:
        server.close()


@pytest.mark.parametrize("what", ["server", "network"])
def test_term_while_nothing_answers_ends_it_soon_all_the_same(fleet, folder, zk, what):
    server = Server(folder / "one").start()
    with Proxy(server.port) as proxy:
        try:
            leader = leads(fleet.sidecar("leader", tasks=[TASK], zookeeper=proxy.address))
            (server.pause if what == "server" else proxy.stall)()
            told = time.monotonic()
            assert leader.stop(timeout=30) == 0
            took = time.monotonic() - told
            print(f"measured: ended {took:.2f} s after TERM")
            assert took < 10, "promised are 2 s; the rest is for slow machines"
        finally:
            server.resume()
            server.close()


def test_a_server_that_takes_no_more_connections_is_waited_for_and_others_lead(fleet, zk, folder):
    # The limit is 60 in life. The test's own client has the first, the leader the second.
    server = Server(folder / "one", maxClientCnxns=2).start()
    try:
        server.client()
        leader = leads(fleet.sidecar("leader", version="1", tasks=[TASK], zookeeper=server.address))
        late = fleet.sidecar("late", version="2", tasks=[TASK], zookeeper=server.address, ready=False)
        wait_until(late.status, what="it answers")
        with Oracle(TASK, leader, late) as oracle:
            oracle.led(by=leader)
            holds_for(lambda: leader.leads(TASK) and not late.status()["healthy"], 2, "it is told")
            assert late.status()["why"]
            told = now()
            assert leader.stop() == 0
            oracle.told_to_go(leader, told)
            oracle.led(by=late, within=LED_AGAIN)
    finally:
        server.close()


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


# --- clocks, names, refusals -------------------------------------------------------------------------


def faketime(how):
    library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
    found = [library] if os.path.exists(library) else \
        [os.path.join(d, f) for d, _, files in os.walk("/usr/lib") for f in files if f == "libfaketimeMT.so.1"]
    if not found:
        pytest.skip("libfaketime is not installed")
    preload = found[0]
    if "asan" in os.environ.get("ZKLEADER_BUILD", ""):
        pytest.skip("libfaketime and the sanitizers do not go together")
    return {"LD_PRELOAD": preload, "FAKETIME": how, "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@pytest.mark.parametrize("how", ["+3600", "-3600", "+0 x3"], ids=["an-hour-ahead", "an-hour-behind", "fast"])
def test_a_wrong_wall_clock_has_no_effect_on_who_leads(fleet, zk, proxy, how):
    leader = leads(fleet.sidecar("leader", version="2", tasks=[TASK], zookeeper=proxy.address, env=faketime(how)))
    standby = fleet.sidecar("standby", version="1", tasks=[TASK])
    written = calendar.timegm(time.strptime(leader.log()[:19], "%Y-%m-%dT%H:%M:%S")) 
    if how[-4:] == "3600":
        assert abs(written - time.time() - int(how)) < 600, "its clock is not faked: nothing would be tested"
    with Oracle(TASK, leader, standby) as oracle:
        token = oracle.led(by=leader).token
        holds_for(lambda: leader.leads(TASK), 2, "it leads on")
        assert oracle.led(by=leader).token == token
        proxy.stall()
        oracle.led(by=standby, within=LED_AGAIN)
        proxy.flow()
        oracle.led(by=leader, within=LED_AGAIN)


def test_a_host_name_that_resolves_only_later_is_found_without_a_restart(fleet, zk, server, folder):
    if os.system("unshare --mount true 2>/dev/null") != 0:
        pytest.skip("mount namespaces are not allowed here")
    hosts = folder / "hosts"
    hosts.write_text("127.0.0.1 localhost\n", encoding="ascii")
    late = fleet.sidecar("late", start=False, tasks=[TASK], zookeeper=f"zookeeper.test.invalid:{server.port}")
    late.command = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts]
    late.start(ready=False)
    wait_until(lambda: "zookeeper.test.invalid" in (late.status()["why"] or ""), what="status names the host")
    with Oracle(TASK, late) as oracle:
        holds_for(lambda: not late.leads(TASK), 1)
        with open(hosts, "a", encoding="ascii") as f:  # in place: the mount is of this very file
            f.write("127.0.0.1 zookeeper.test.invalid\n")
        oracle.led(by=late, within=LED_AGAIN)


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

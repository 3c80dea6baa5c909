"""Faults of processes, networks and servers, judged by an oracle that asks every sidecar all the time.

The quick ones; those that need an ensemble, namespaces or minutes are in tests/faults.
docs/SAFETY.md lists them all.
"""
import os
import socket
import ssl
import struct
import time

import pytest

from harness import tls
from harness.ensemble import Server, seconds
from harness.faults import LED_AGAIN, TASK, ask_in_advance, leads, pair, take_answers
from harness.oracle import Oracle, now
from harness.proxy import Proxy, is_claim, is_confirmation, is_release
from harness.waiting import holds_for, wait_until
from harness.web import Web


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


@pytest.mark.parametrize("kept", ["session", "nothing"])
def test_a_leader_killed_and_started_at_once(fleet, zk, kept):
    # The leader has to be back within its session, or the server has to miss it soon.
    leader, standby = pair(fleet, session_timeout="20s" if kept == "session" else "3s")
    with Oracle(TASK, leader, standby) as oracle:
        token = oracle.led(by=leader).token
        leader.kill()
        killed = now()
        if kept == "nothing":
            os.unlink(f"{leader.socket}.session")
        leader.start(ready=False)
        answer = oracle.led(by=leader, within=LED_AGAIN)
        if kept == "session":
            assert answer.token == token, "the new process takes the session over"
        else:
            # The old session's node is in the way until it has expired; nobody adopts it.
            assert answer.token > token
        print(f"measured: {kept} kept: led by the new process {answer.sent - killed:.2f} s after the kill")


def test_over_http_no_other_node_is_the_leader_at_the_same_time(fleet, zk, proxy, folder):
    both = pair(fleet, proxy)
    leader, standby = both
    webs = [Web(folder / f"web-{s.name}", s.socket) for s in both]

    def led(by):
        oracle.led(by=by, within=LED_AGAIN)
        after = now()
        wait_until(lambda: any(name == by.name and sent > after for name, sent, _ in list(oracle.said)), LED_AGAIN,
                   f"{by.name} leads, over HTTP")

    try:
        with Oracle(TASK, *both) as oracle:
            for sidecar, web in zip(both, webs):
                oracle.watch_web(sidecar, web)
            led(leader)
            leader.pause()
            led(standby)
            leader.resume()
            led(leader)
            proxy.stall()
            led(standby)
            proxy.flow()
            led(leader)
    finally:
        for web in webs:
            web.close()


# --- the network ------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["up", "down", "both"])
def test_a_leader_whose_network_stalls_is_followed_without_overlap(fleet, zk, proxy, way):
    leader, standby = pair(fleet, proxy)
    with Oracle(TASK, leader, standby) as oracle:
        token = oracle.led(by=leader).token
        proxy.stall(up=way != "down", down=way != "up")
        assert oracle.led(by=standby, within=LED_AGAIN).token > token
        proxy.flow()
        oracle.led(by=leader, within=LED_AGAIN)


def test_a_leader_whose_connections_are_cut_is_followed_without_overlap(fleet, zk, proxy):
    leader, standby = pair(fleet, proxy)
    with Oracle(TASK, leader, standby) as oracle:
        token = oracle.led(by=leader).token
        proxy.cut()
        assert oracle.led(by=standby, within=LED_AGAIN).token > token
        proxy.flow()
        oracle.led(by=leader, within=LED_AGAIN)


def test_a_network_that_is_slow_both_ways_changes_no_leader(fleet, zk, proxy):
    leader, standby = pair(fleet, proxy, session_timeout="10s")
    with Oracle(TASK, leader, standby) as oracle:
        token, changes = oracle.led(by=leader).token, zk.leader_changes()
        proxy.delay(up=0.5, down=0.5)
        holds_for(lambda: leader.leads(TASK), 5, "it leads on")
        assert oracle.led(by=leader).token == token and zk.leader_changes() == changes


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_network_that_is_too_slow_one_way_makes_no_second_leader(fleet, zk, proxy, way):
    leader, standby = pair(fleet, proxy)
    with Oracle(TASK, leader, standby) as oracle:
        oracle.led(by=leader)
        proxy.delay(**{way: 1.8})  # of a timeout of 3 s
        seconds(6)
        proxy.flow()
        oracle.led(by=leader, within=LED_AGAIN)


def test_a_server_that_falls_silent_is_left_for_another_before_the_lease_is_over(fleet, zk, server, proxy):
    with Proxy(server.port) as other:
        only = leads(fleet.sidecar("only", tasks=[TASK], zookeeper=f"{proxy.address},{other.address}",
                                   session_timeout="10s"))
        used = only.status()["session"]["server"]
        with Oracle(TASK, only) as oracle:
            token, changes, since = oracle.led(by=only).token, zk.leader_changes(), now()
            (proxy if used == proxy.address else other).stall()
            wait_until(lambda: only.is_connected() and only.status()["session"]["server"] != used,
                       what="it is confirmed by the other")
            print(f"measured: confirmed by another server {now() - since:.2f} s after the silence began")
            assert oracle.led(by=only).token == token and zk.leader_changes() == changes


LOSSES = [pytest.param(False, "", id="reply-lost"), pytest.param(False, "close", id="reply-lost-and-closed"),
          pytest.param(True, "", id="request-lost"), pytest.param(True, "close", id="request-lost-and-closed")]


@pytest.mark.parametrize("drop, then", LOSSES)
def test_a_claim_without_an_answer_becomes_what_the_tree_says(fleet, zk, proxy, drop, then):
    rule = proxy.lose(is_claim, drop, then)
    leader = fleet.sidecar("leader", version="2", tasks=[TASK], zookeeper=proxy.address, session_timeout="6s")
    standby = fleet.sidecar("standby", version="1", tasks=[TASK], session_timeout="6s")
    with Oracle(TASK, leader, standby) as oracle:
        answer = oracle.led(by=leader, within=LED_AGAIN)
        assert rule.applied.wait(10)
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
        assert rule.applied.wait(10)
        oracle.not_led_by(old)


@pytest.mark.parametrize("drop, then", LOSSES)
def test_a_confirmation_without_an_answer_costs_nothing(fleet, zk, proxy, drop, then):
    leader, standby = pair(fleet, proxy, session_timeout="10s")
    with Oracle(TASK, leader, standby) as oracle:
        token, changes = oracle.led(by=leader).token, zk.leader_changes()
        rule = proxy.lose(is_confirmation, drop, then)
        assert rule.applied.wait(60)
        holds_for(lambda: leader.leads(TASK), 2, "it leads on")
        wait_until(leader.is_connected, what="it is confirmed again")
        assert oracle.led(by=leader).token == token and zk.leader_changes() == changes


def test_a_node_whose_claim_was_never_answered_is_not_adopted_by_the_next_session(fleet, zk, proxy):
    rule = proxy.lose(is_claim, then="stall")
    lost = fleet.sidecar("lost", tasks=[TASK], zookeeper=proxy.address, ready=False)
    assert rule.applied.wait(60)
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


@pytest.mark.costly
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


@pytest.mark.costly
def test_term_while_another_session_is_asked_for_ends_all_with_0(fleet, zk, own_server):
    own_server.start()
    many = [leads(fleet.sidecar(f"s{i}", tasks=[TASK], root=f"{zk.root}/{i}")) for i in range(8)]
    own_server.kill()
    for one in many:  # once the lease is over
        wait_until(lambda: one.log().count("Initiating client connection") == 2, what="it asks for one")
    assert [one.stop(timeout=30) for one in many] == [0] * len(many)


def open_session(server):
    """A connection with a session of a minute, or None where the server closes it at once."""
    sock = socket.socket()
    try:
        sock.settimeout(20)
        sock.connect(("127.0.0.1", server.port))
        sock = tls.to_server(sock)
        sock.sendall(struct.pack(">iiqiqi16s", 44, 0, 0, 60000, 0, 16, bytes(16)))
        if sock.recv(1):
            return sock
    except (ConnectionError, ssl.SSLError):
        pass
    sock.close()
    return None


@pytest.mark.costly
def test_the_61st_connection_from_an_address_is_waited_for_and_others_lead(fleet, zk, folder):
    server = Server(folder / "one", maxClientCnxns=60).start()  # which is the default
    held = []
    try:
        # A lease that a busy machine does not end: the leader would lose its connection to the one that waits.
        leader = leads(fleet.sidecar("leader", version="1", tasks=[TASK], zookeeper=server.address, session_timeout="10s"))

        def full():
            """The leader's and 59 of ours; one that is about to end may be counted for a moment."""
            while len(held) < 100 and (sock := open_session(server)):
                held.append(sock)
            return len(held) == 59
        wait_until(full, what="the server takes no other")
        late = fleet.sidecar("late", version="2", tasks=[TASK], zookeeper=server.address, ready=False)
        wait_until(lambda: late.status()["why"], what="it is told")
        with Oracle(TASK, leader, late) as oracle:
            oracle.led(by=leader)
            holds_for(lambda: leader.leads(TASK) and not late.status()["healthy"], 2, "others lead meanwhile")
            told = now()
            assert leader.stop() == 0
            oracle.told_to_go(leader, told)
            oracle.led(by=late, within=LED_AGAIN)
    finally:
        for sock in held:
            sock.close()
        server.close()

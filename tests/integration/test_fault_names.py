"""Names that are not found, are found late, or are asked for in vain; by the system's own resolver."""
import pytest

from harness.faults import LED_AGAIN, TASK
from harness.names import SERVFAIL, NameServer, asking, need_mounts, with_etc
from harness.oracle import Oracle, now
from harness.proxy import Proxy
from harness.waiting import holds_for, wait_until

NAME = "zookeeper.test"


@pytest.fixture
def names():
    need_mounts()
    with NameServer() as made:
        yield made


def named(fleet, names, name, port, **config):
    """A sidecar that knows its server by name alone; not started."""
    made = fleet.sidecar(name, start=False, tasks=[TASK], zookeeper=f"{NAME}:{port}", **config)
    made.command = asking(names, made.folder)
    return made


def test_a_host_name_that_resolves_only_later_is_found_without_a_restart(fleet, zk, server, folder):
    need_mounts()
    late = fleet.sidecar("late", start=False, tasks=[TASK], zookeeper=f"zookeeper.test.invalid:{server.port}")
    late.command = with_etc(folder, hosts="127.0.0.1 localhost\n", nsswitch_conf="hosts: files\n")
    late.start(ready=False)
    wait_until(lambda: "zookeeper.test.invalid" in (late.status()["why"] or ""), what="status names the host")
    with Oracle(TASK, late) as oracle:
        holds_for(lambda: not late.leads(TASK), 1)
        with open(folder / "hosts", "a", encoding="ascii") as f:  # in place: the mount is of this very file
            f.write("127.0.0.1 zookeeper.test.invalid\n")
        oracle.led(by=late, within=LED_AGAIN)


def test_a_name_server_that_takes_seconds_delays_the_start_and_no_answer(fleet, zk, server, names):
    names.delay = 4
    slow = named(fleet, names, "slow", server.port)
    began = now()
    slow.start(ready=False)
    wait_until(lambda: slow.check(TASK)["state"] == "disconnected", what="it answers")
    with Oracle(TASK, slow) as oracle:
        assert oracle.led(by=slow, within=LED_AGAIN).sent - began >= 4, "nothing was delayed: nothing was tested"
        assert max(a.received - a.sent for a in oracle.answers) < 3, "no answer waits for a name"


@pytest.mark.parametrize("how", ["fails", "hangs"])
def test_a_name_that_cannot_be_looked_up_while_it_leads_costs_nothing(fleet, zk, names, proxy, how):
    leader = named(fleet, names, "leader", proxy.port, session_timeout="30s").start()
    wait_until(lambda: leader.leads(TASK), what="it leads")
    with Oracle(TASK, leader) as oracle:
        token, changes = oracle.led(by=leader).token, zk.leader_changes()
        names.rcode, names.silent, asked = SERVFAIL, how == "hangs", names.asked
        proxy.cut()
        wait_until(lambda: names.asked > asked, what="it asks for the name again")
        proxy.flow()
        wait_until(leader.is_connected, what="it is confirmed again")
        assert oracle.led(by=leader).token == token and zk.leader_changes() == changes
        assert oracle.gap() == 0


@pytest.mark.parametrize("how", ["cut", pytest.param("stall", marks=pytest.mark.slow)])
def test_a_server_that_moves_to_another_address_is_found_within_the_lease(fleet, zk, server, names, proxy, how):
    """Its old address refuses, or swallows what is sent there."""
    leader = named(fleet, names, "leader", proxy.port, session_timeout="20s").start()
    wait_until(lambda: leader.leads(TASK), what="it leads")
    with Oracle(TASK, leader) as oracle, Proxy(server.port, listen=("127.0.0.9", proxy.port)):
        token, changes = oracle.led(by=leader).token, zk.leader_changes()
        names.points_to = "127.0.0.9"
        getattr(proxy, how)()
        wait_until(lambda: "127.0.0.9" in leader.log() and "other addresses" in leader.log(), what="it is looked up")
        # The proxy still stalls or cuts: only the new address can confirm it.
        holds_for(lambda: leader.check(TASK)["token"] == token, 25, "it leads for longer than its lease")
        assert oracle.led(by=leader).token == token and zk.leader_changes() == changes
        assert oracle.gap() == 0


def test_term_while_a_name_is_looked_up_ends_it_soon(fleet, zk, server, names):
    names.silent = True
    only = named(fleet, names, "only", server.port)
    only.start(ready=False)
    wait_until(lambda: names.asked and only.status(), what="it asks for the name")
    told = now()
    assert only.stop(timeout=40) == 0
    print(f"measured: ended {now() - told:.2f} s after TERM")
    assert now() - told < 4, "promised are 2 s; the resolver alone takes 10 s"


def test_term_while_a_name_is_looked_up_and_it_leads_lets_others_lead_at_once(fleet, zk, names, proxy):
    leader = named(fleet, names, "leader", proxy.port, version="2", session_timeout="30s").start()
    wait_until(lambda: leader.leads(TASK), what="it leads")
    standby = fleet.sidecar("standby", version="1", tasks=[TASK])
    with Oracle(TASK, leader, standby) as oracle:
        oracle.led(by=leader)
        names.silent, asked = True, names.asked
        proxy.cut()
        wait_until(lambda: names.asked > asked, what="it asks for the name again")
        proxy.flow()
        wait_until(leader.is_connected, what="it is confirmed again")
        told = now()
        assert leader.stop(timeout=40) == 0
        oracle.told_to_go(leader, told)
        took = oracle.led(by=standby, after=told).sent - told
        print(f"measured: led by the other {took:.2f} s after TERM")
        assert took < 8, "the resolver took 10 s, the session 30 s"

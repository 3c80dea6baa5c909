"""A server that is down, comes back, comes back empty, or forgets the session: nothing needs a restart."""
import time

import pytest

from harness.waiting import holds_for, wait_until

TASKS = ["nightly-report", "cleanup"]


def wait_leads(sidecar, tasks=TASKS):
    wait_until(lambda: all(sidecar.leads(t) for t in tasks), 60, f"{sidecar.name} leads")


def wait_disconnected(sidecar):
    wait_until(lambda: sidecar.status()["session"]["state"] != "connected", what="the loss is noticed")


def share_of_cpu(sidecar, seconds):
    """How much of a processor it uses."""
    began, used = time.monotonic(), sidecar.cpu_seconds()
    time.sleep(seconds)  # not to wait for anything: what is measured is this very time
    return (sidecar.cpu_seconds() - used) / (time.monotonic() - began)


def test_a_server_that_is_down_at_the_start_is_waited_for(fleet, own_server):
    own_server.start()
    own_server.kill()
    early = fleet.sidecar("early", tasks=TASKS, ready=False)
    wait_until(lambda: early.status(), what="the socket is there")
    answer = early.check(TASKS[0])
    assert not answer["leader"] and answer["state"] == "disconnected" and answer["lease_ms"] == 0
    status = early.status()
    assert not status["healthy"] and status["why"] and status["id"] is None
    own_server.start()
    wait_leads(early)
    assert early.status()["healthy"] and early.status()["why"] is None


def test_who_was_there_before_the_server_leads_with_a_whole_lease(fleet, own_server):
    """The session's beginning is not known better than when it was first asked for, which was long ago."""
    own_server.start()
    own_server.kill()
    early = fleet.sidecar("early", tasks=TASKS[:1], session_timeout="6s", ready=False)
    wait_until(lambda: early.status(), what="the socket is there")
    time.sleep(6)  # not to wait for anything: a lease that began with the asking would be over
    own_server.start()
    early.wait_log(f"leading task={TASKS[0]} ", 60)
    assert early.check(TASKS[0])["leader"]


def test_a_name_that_cannot_be_looked_up_is_tried_again_and_told(fleet, zk):
    lost = fleet.sidecar("lost", tasks=TASKS, zookeeper="zk.invalid:2181", ready=False)
    wait_until(lambda: "zk.invalid" in (lost.status()["why"] or ""), what="status names the host")
    assert lost.check(TASKS[0])["state"] == "disconnected"
    assert share_of_cpu(lost, 2) < 0.05


def test_names_are_looked_up_and_a_dead_server_in_the_list_does_no_harm(fleet, zk, server):
    some = fleet.sidecar("some", tasks=TASKS, zookeeper=f"127.0.0.1:1,localhost:{server.port}")
    wait_leads(some)


def test_a_server_that_is_killed_and_comes_back_finds_all_as_it_was(fleet, zk, own_server):
    own_server.start()
    only = fleet.sidecar("only", tasks=TASKS, session_timeout="20s")
    wait_leads(only)
    tokens, session, id = zk.tokens(), only.status()["session"]["id"], only.id
    own_server.kill()
    wait_disconnected(only)
    assert only.leads(TASKS[0]), "within its lease it leads on"
    own_server.start()
    only.wait_connected(60)
    wait_leads(only)
    assert zk.tokens() == tokens and only.id == id and only.status()["session"]["id"] == session


@pytest.mark.costly
def test_a_server_away_for_longer_than_the_session_timeout_ends_the_lease_and_no_more(fleet, zk, own_server):
    own_server.start()
    sidecars = [fleet.sidecar("a", version="1", tasks=TASKS), fleet.sidecar("b", version="2", tasks=TASKS)]
    wait_leads(sidecars[1])
    tokens = zk.tokens()
    own_server.kill()
    wait_until(lambda: not sidecars[1].leads(TASKS[0]), what="the lease ends")
    for sidecar in sidecars:
        answer = sidecar.check(TASKS[0])
        assert answer["state"] == "disconnected" and answer["lease_ms"] == 0
        assert share_of_cpu(sidecar, 2) < 0.05
        assert sidecar.explain(TASKS[0])["reason"] == answer["why"], "of who leads nothing is said"
    own_server.start()
    wait_leads(sidecars[1])
    holds_for(lambda: sidecars[1].leads(TASKS[0]), 3, "it leads on")
    assert all(zk.tokens()[t] >= tokens[t] for t in TASKS)


def test_a_server_that_comes_back_empty_is_filled_again(fleet, zk, own_server):
    own_server.start()
    sidecars = [fleet.sidecar("a", version="1", tasks=TASKS), fleet.sidecar("b", version="2", tasks=TASKS)]
    wait_leads(sidecars[1])
    zk.forget_client()
    own_server.kill()
    own_server.wipe()
    own_server.start()
    wait_until(lambda: len(zk.workers()) == 2, 60, "both have registered again")
    wait_until(lambda: zk.leaders() == {t: sidecars[1].id for t in TASKS}, 60, "the newest leads all")
    wait_leads(sidecars[1])
    assert not sidecars[0].leads(TASKS[0])


def test_an_idle_sidecar_uses_next_to_no_cpu(fleet, zk):
    only = fleet.sidecar("only", tasks=[f"idle-{i}" for i in range(200)])
    wait_leads(only, ["idle-0", "idle-199"])
    assert share_of_cpu(only, 3) < 0.05


def test_a_new_session_is_a_new_registration_with_bigger_tokens(fleet, zk):
    only = fleet.sidecar("only", tasks=TASKS)
    wait_leads(only)
    tokens, session, id = zk.tokens(), only.status()["session"]["id"], only.id
    only.pause()
    wait_until(lambda: id not in zk.workers(), what="the session has expired")
    only.resume()
    wait_until(lambda: only.status()["session"]["id"] not in (None, session), what="there is another session")
    wait_leads(only)
    assert only.id != id and list(zk.workers()) == [only.id]
    assert all(zk.tokens()[t] > tokens[t] for t in TASKS)


def test_many_servers_restarts_leave_a_working_fleet(fleet, zk, own_server):
    own_server.start()
    sidecars = [fleet.sidecar(n, version=v, tasks=TASKS) for n, v in (("a", "1"), ("b", "2"), ("c", "2"))]
    last = {t: 0 for t in TASKS}

    def tokens():
        """The tokens of the leaders, if each task has one; else None."""
        told = {t: [a["token"] for a in (s.check(t) for s in sidecars) if a["leader"]] for t in TASKS}
        return {t: tokens[0] for t, tokens in told.items()} if all(len(v) == 1 for v in told.values()) else None

    for _ in range(3):
        found = wait_until(tokens, 60, "all are led")
        assert all(found[t] >= last[t] for t in TASKS)
        last = found
        own_server.kill()
        own_server.start()
    found = wait_until(tokens, 60, "all are led")
    assert all(found[t] >= last[t] for t in TASKS)
    wait_until(lambda: not any(sidecars[0].leads(t) for t in TASKS), 60, "the older one leads nothing")

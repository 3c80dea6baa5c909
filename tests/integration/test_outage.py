"""An outage as operators see it: marked as last known, exit 2, a warning for what was lost; ages; probes."""
import datetime
import os

import pytest

from harness.waiting import wait_until

TASK = "nightly-report"


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args):
        return program("zkleader", "-s", sidecar.socket, *args)
    return run


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def wait_disconnected(sidecar):
    wait_until(lambda: sidecar.status()["session"]["state"] != "connected", what="the loss is noticed")


@pytest.mark.costly
def test_what_is_shown_while_no_session_is_confirmed_is_marked_as_last_known(fleet, zk, own_server, zkleader):
    own_server.start()
    only = fleet.sidecar("only", tasks=[TASK])
    zk.wait_for_leader(TASK, only)
    assert only.status()["stale_since"] is None
    for words in (("list",), ("tasks",), ("explain", TASK)):
        good = zkleader(only, *words)
        assert good.code == 0 and good.err == ""
    before = now()
    own_server.kill()
    wait_disconnected(only)
    since = only.status()["stale_since"]
    assert before - datetime.timedelta(seconds=1) <= instant(since) <= now()
    for words in (("list",), ("tasks",), ("explain", TASK), ("--json", "list")):
        stale = zkleader(only, *words)
        assert stale.code == 2 and stale.err.count("\n") == 1, stale
        assert stale.err.startswith(f"zkleader: as last known: no confirmed session with ZooKeeper since {since} (")
        known = {"list": "active", "tasks": TASK, "explain": "the best"}[[w for w in words if w[0] != "-"][0]]
        assert known in stale.out, "what was last known"
    assert zkleader(only, "history", TASK).code == 2
    assert f"Confirmed  not since {since}" in zkleader(only, "status").out
    own_server.start()
    only.wait_connected(60)
    assert only.status()["stale_since"] is None and zkleader(only, "list").err == ""


def test_a_sidecar_that_never_had_a_session_knows_nothing_since_its_start(fleet, own_server, zkleader):
    own_server.start()
    own_server.kill()
    before = now()
    early = fleet.sidecar("early", tasks=[TASK], ready=False)
    wait_until(lambda: os.path.exists(early.socket) and early.status(), what="the socket is there")
    assert before - datetime.timedelta(seconds=1) <= instant(early.status()["stale_since"]) <= now()
    assert zkleader(early, "tasks").code == 2


@pytest.mark.costly
def test_losing_what_is_led_is_a_warning_and_losing_nothing_is_none(fleet, zk, own_server):
    own_server.start()
    leader = fleet.sidecar("leader", version="2", tasks=[TASK, "second"], session_timeout="6s")
    other = fleet.sidecar("other", version="1", tasks=[TASK], session_timeout="6s")
    zk.wait_for_leader(TASK, leader)
    zk.wait_for_leader("second", leader)
    wait_until(lambda: other.check(TASK)["led_by"], what="the other knows")
    own_server.kill()
    leader.wait_log("leaderships lost")
    wait_disconnected(other)
    own_server.start()
    leader.wait_connected(60)
    other.wait_connected(60)
    lines = [line for line in leader.log().splitlines() if "leaderships lost" in line]
    assert len(lines) == 1 and "the lease is over" in lines[0] and " warning " in f" {lines[0].lower()} ", lines
    assert " tasks=2 " in lines[0], lines
    assert "leaderships lost" not in other.log()


def test_a_stop_is_no_loss(fleet, zk):
    one = fleet.sidecar("one", tasks=[TASK])
    zk.wait_for_leader(TASK, one)
    assert one.stop() == 0
    assert "leaderships lost" not in one.log()


def test_process_session_and_registration_have_their_own_ages(fleet, zk, zkleader):
    one = fleet.sidecar("one", tasks=[TASK], session_timeout="20s")
    zk.wait_for_leader(TASK, one)
    first = one.status()
    assert first["started_at"] <= first["session"]["since"] <= first["registered_at"]
    one.kill()
    wait_until(lambda: now() - instant(first["registered_at"]) > datetime.timedelta(seconds=1), what="a second is over")
    one.start()
    # The same worker and session, which go on; another process.
    wait_until(lambda: one.status()["registered_at"] and one.leads(TASK), what="it goes on")
    second = one.status()
    assert second["session"]["id"] == first["session"]["id"] and second["id"] == first["id"]
    assert second["session"]["since"] == first["session"]["since"]
    assert instant(second["started_at"]) > instant(first["started_at"])
    drift = abs(instant(second["registered_at"]) - instant(first["registered_at"]))
    assert drift < datetime.timedelta(seconds=5), "by the server's clock instead of our own"
    assert instant(second["registered_at"]) < instant(second["started_at"]), "it was registered by the process before"
    # Another version is another registration.
    one.write_config(version="7")
    assert zkleader(one, "reload").code == 0
    wait_until(lambda: one.status()["id"] != first["id"], what="it is registered anew")
    third = one.status()
    assert instant(third["registered_at"]) > instant(second["registered_at"])
    assert [w["since"] for w in one.call("workers")] == [third["registered_at"]]
    assert third["started_at"] == second["started_at"]
    shown = zkleader(one, "status").out
    assert " old\n" in shown and ", registered " in shown and ", up " in shown


def test_what_waits_for_a_restart_is_told_until_it_has_come(fleet, zk, zkleader):
    one = fleet.sidecar("one", tasks=[TASK])
    assert one.status()["pending_restart"] == []
    one.write_config(session_timeout="4s", socket_mode="0660")
    assert "takes effect with a restart: session-timeout" in zkleader(one, "reload").out
    for _ in range(2):
        assert one.status()["pending_restart"] == ["session-timeout", "socket-mode"]
        assert zkleader(one, "reload").code == 0
    shown = zkleader(one, "status")
    assert shown.code == 0 and "Pending    session-timeout takes effect with a restart" in shown.out
    one.kill()
    one.start()
    assert one.status()["pending_restart"] == []


def test_probes_ask_for_less_than_health(fleet, own_server, zkleader):
    own_server.start()
    one = fleet.sidecar("one", tasks=[TASK])
    one.write_file("nonsense", "bad.conf")
    wait_until(lambda: zkleader(one, "status").code == 2, what="a mistake in a file is seen")
    for probe in ("--live", "--ready"):
        told = zkleader(one, "status", probe)
        assert (told.code, told.out, told.err) == (0, "", "")
    own_server.kill()
    wait_disconnected(one)
    assert zkleader(one, "status", "--live").code == 0
    told = zkleader(one, "status", "--ready")
    assert told.code == 2 and told.out == "" and told.err.startswith("zkleader: not ready: ")
    one.stop()
    for probe in ("--live", "--ready"):
        assert zkleader(one, "status", probe).code == 2


@pytest.mark.parametrize("of_the_node", [False, True])
def test_a_failing_check_of_health_is_told_where_one_looks(fleet, zk, folder, zkleader, of_the_node):
    sick_file = folder / "sick"
    command = f"if [ -e {sick_file} ]; then echo disk is full; exit 3; fi"
    keys = {"health_command": command, "health_interval": "100ms", "health_fall": 1, "health_rise": 1}
    own = "".join(f"{k.replace('_', '-')} = {v if isinstance(v, int) else chr(34) + v + chr(34)}\n"
                  for k, v in keys.items())
    task = TASK if of_the_node else f'task "{TASK}" {{\n{own}}}\n'
    one = fleet.sidecar("one", tasks=[task, "other"], **(keys if of_the_node else {}))
    zk.wait_for_leader(TASK, one)
    sick_file.touch()
    wait_until(lambda: TASK not in zk.leaders(), what="nobody leads it")
    by_name = {t["task"]: t for t in one.call("tasks")}
    assert by_name[TASK]["unhealthy"] == "exit 3: disk is full" and by_name[TASK]["state"] == "following"
    assert by_name["other"]["unhealthy"] == (by_name[TASK]["unhealthy"] if of_the_node else None)
    shown = zkleader(one, "tasks").out
    row = next(line for line in shown.splitlines() if line.startswith(TASK))
    assert "unhealthy" in row.split()
    below = (f"{TASK} and 1 more: this node is not healthy for them" if of_the_node
             else f"{TASK}: this node is not healthy for it")
    assert f"{below}: exit 3: disk is full" in shown
    explained = one.explain(TASK)
    assert "this node is not healthy" in explained["reason"] and "disk is full" in explained["reason"]
    assert explained["ranking"][0]["why"] == "not healthy: exit 3: disk is full"
    sick_file.unlink()
    zk.wait_for_leader(TASK, one)
    assert all(t["unhealthy"] is None for t in one.call("tasks"))

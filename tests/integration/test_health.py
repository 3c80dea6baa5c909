"""Health: a node that is not healthy is no candidate, for all tasks or for one."""
import os
import signal

import pytest

from harness.waiting import holds_for, wait_until

TASK = "nightly-report"


@pytest.fixture
def sick_file(folder):
    """While it is there, the commands of the tests fail."""
    return folder / "sick"


def command(sick_file):
    return f'if [ -e {sick_file} ]; then echo "disk is full"; exit 3; fi'


def quick(**more):
    return {"health_interval": "100ms", "health_fall": 2, "health_rise": 2, **more}


def leader_of(zk, task=TASK):
    return zk.leaders().get(task)


def test_a_node_whose_command_fails_leads_nothing_until_it_succeeds_again(fleet, zk, sick_file):
    new = fleet.sidecar("new", version="2", tasks=[TASK], **quick(health_command=command(sick_file)))
    old = fleet.sidecar("old", version="1", tasks=[TASK])
    zk.wait_for_leader(TASK, new)
    sick_file.touch()
    zk.wait_for_leader(TASK, old)
    status = new.status()
    assert status["health"]["node"] == "exit 3: disk is full" and not status["healthy"]
    whys = {r["id"]: r["why"] for r in old.explain(TASK)["ranking"]}
    assert whys[new.id] == "not healthy"
    assert [w["healthy"] for w in old.call("workers")] == [False, True]
    sick_file.unlink()
    zk.wait_for_leader(TASK, new)
    assert new.status()["healthy"]


def test_a_task_has_a_health_of_its_own(fleet, zk, sick_file):
    own = (f'task "{TASK}" {{ health-command = "test ! -e {sick_file}"\n health-interval = "100ms"\n'
           ' health-fall = 1\n health-rise = 1 }\n')
    new = fleet.sidecar("new", version="2", tasks=[own, "other"])
    old = fleet.sidecar("old", version="1", tasks=[TASK, "other"])
    zk.wait_for_leader(TASK, new)
    sick_file.touch()
    zk.wait_for_leader(TASK, old)
    assert leader_of(zk, "other") == new.id
    assert new.status()["health"]["tasks"] == [{"task": TASK, "says": "exit 1"}]
    sick_file.unlink()
    zk.wait_for_leader(TASK, new)


def test_a_file_that_has_to_be_there(fleet, zk, folder):
    ready = folder / "ready"
    only = fleet.sidecar("only", tasks=[TASK], **quick(health_file=ready))
    wait_until(lambda: "no such file" in (only.status()["health"]["node"] or ""), what="it is missed")
    assert leader_of(zk) is None and only.check(TASK)["leader"] is False
    assert "not healthy" in only.check(TASK)["why"]
    ready.touch()
    zk.wait_for_leader(TASK, only)


def test_what_is_printed_need_not_be_utf_8(fleet, zk, folder):
    said = folder / "said"
    said.write_bytes(b"gar\xe7on " + 100 * "ö".encode())  # and is cut after 160 bytes, within a character
    only = fleet.sidecar("only", tasks=[TASK], **quick(health_command=f"cat {said}; exit 1"))
    health = wait_until(lambda: only.status()["health"]["node"], what="it fails")
    assert health.startswith("exit 1: gar?on öö") and health.endswith("ö?")


def test_it_does_not_flap(fleet, zk, folder):
    """A single failure, of two that it takes, again and again."""
    count = folder / "count"
    flaky = f'echo x >> {count}; test $(( $(wc -l < {count}) % 2 )) = 1'
    sidecar = fleet.sidecar("one", tasks=[TASK], **quick(health_command=flaky), session_timeout="10s")
    zk.wait_for_leader(TASK, sidecar)
    token = zk.leader(TASK)[1]
    wait_until(lambda: len(count.read_text().splitlines()) > 12, what="it was checked often")
    assert zk.leader(TASK)[1] == token and sidecar.status()["health"]["node"] is None


def test_a_command_that_hangs_is_killed_with_all_that_it_started(fleet, zk, folder):
    pids = folder / "pids"
    hangs = f'sleep 1000 & echo $! $$ >> {pids}; wait'
    sidecar = fleet.sidecar("one", tasks=[TASK], **quick(health_command=hangs, health_timeout="300ms"))
    wait_until(lambda: "took longer than 300 ms" in (sidecar.status()["health"]["node"] or ""), what="it is too late")

    def gone(pid):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    # On a busy machine it may be killed before it has written a word, and is run again.
    wait_until(lambda: pids.exists() and "\n" in pids.read_text(), what="one has begun")
    first = [int(p) for p in pids.read_text().splitlines()[0].split()]
    assert len(first) == 2
    wait_until(lambda: all(gone(p) for p in first), what="both are gone")


def test_what_runs_at_the_end_is_killed(fleet, zk, folder):
    pids = folder / "pids"
    sidecar = fleet.sidecar("one", tasks=[TASK], ready=False,
                            health_command=f"echo $$ >> {pids}; exec sleep 1000", health_timeout="1h")
    wait_until(lambda: pids.exists() and pids.read_text().strip(), what="it runs")
    assert sidecar.status()["health"]["known"] is False and zk.workers() == {}, "nothing is said before it is known"
    assert sidecar.stop() == 0
    pid = int(pids.read_text().split()[0])
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), what="it is gone")


def test_a_restart_moves_nothing_with_health_checks_either(fleet, zk, sick_file):
    config = quick(health_command=command(sick_file))
    new = fleet.sidecar("new", version="2", tasks=[TASK], session_timeout="20s", **config)
    old = fleet.sidecar("old", version="1", tasks=[TASK], session_timeout="20s")
    zk.wait_for_leader(TASK, new)
    wait_until(lambda: len(old.call("workers")) == 2, what="both see both")
    token = zk.leader(TASK)[1]
    new.signal(signal.SIGUSR2)
    assert new.wait_exit() == 0
    new.start()
    wait_until(lambda: new.leads(TASK), what="it goes on")
    assert zk.leader(TASK)[1] == token


def test_keys_that_come_with_a_reload(fleet, zk, sick_file):
    sidecar = fleet.sidecar("one", tasks=[TASK])
    zk.wait_for_leader(TASK, sidecar)
    sick_file.touch()
    sidecar.write_config(**quick(health_command=command(sick_file)))
    sidecar.call("reload")
    wait_until(lambda: leader_of(zk) is None, what="it is not healthy now")
    sidecar.write_config(health_command=None)
    sidecar.call("reload")
    zk.wait_for_leader(TASK, sidecar)


@pytest.mark.parametrize("key, value", [("health-command", '""'), ("health-file", '""'), ("health-interval", '"1ms"'),
                                        ("health-fall", "0"), ("health-rise", "101")])
def test_bad_values_are_refused_with_their_line(program, fleet, key, value):
    sidecar = fleet.sidecar("one", start=False)
    with open(sidecar.config_file, "a", encoding="utf-8") as f:
        f.write(f"{key} = {value}\n")
    line = len(sidecar.config_file.read_text().splitlines())
    refused = program("zkleaderd", "-t", "-c", sidecar.config_file)
    assert refused.code == 78 and f":{line}: {key}: " in refused.err, refused


@pytest.mark.costly
def test_many_commands_take_turns(fleet, zk):
    """More than run at a time."""
    tasks = [f'task "t{i:02}" {{ health-command = "sleep 0.05"\n health-interval = "1s" }}\n' for i in range(40)]
    sidecar = fleet.sidecar("one", tasks=tasks)
    wait_until(lambda: len(zk.leaders()) == 40, what="all are healthy, and led")
    holds_for(lambda: sidecar.status()["health"]["tasks"] == [], 1)

"""Wrong wall clocks: of a host, of the ZooKeeper server, and of who asks. None stops others' ticks, or doubles them."""
import os
import time

import pytest

from harness.clocks import faketime
from harness.rpc import RpcError
from harness.sidecar import queue_text, task_text
from harness.waiting import holds_for, wait_until

TASK = "nightly"
MINUTE, HOUR, DAY = 60, 3600, 24 * 3600
# A tick that is so long that a test begins and ends in one.
TEXT = task_text(TASK, tick="1h")


def start(fleet, name, ahead=0, version="1", text=TEXT, own_machine=False, **config):
    """A sidecar whose clock, and that of who asks it, is ahead by so many seconds."""
    sidecar = fleet.sidecar(name, start=False, version=version, tasks=[text], env=clock(ahead),
                            **{"session_timeout": "10s", **config})
    sidecar.clock = clock(ahead)
    return (sidecar.on_its_own_machine() if own_machine else sidecar).start()


def clock(ahead):
    return faketime(f"{ahead:+d}") if ahead else {}


def run(jobs, sidecar, *options):
    """(exit code, standard error) of `zkleader run` on that host."""
    code, out, err = jobs(TASK).run(sidecar, *options, env=sidecar.clock).wait()
    assert out == ""
    return code, err


def refused(jobs, sidecar, text):
    code, err = run(jobs, sidecar)
    assert code == 2 and text in err and err.count("\n") == 1, (code, err)


def wait_off(sidecar, *others):
    """The fleet takes its clock for wrong."""
    for one in (sidecar, *others):
        wait_until(lambda o=one: [r["cause"] for r in o.explain(TASK)["ranking"] if r["id"] == sidecar.id] == ["clock"],
                   what=f"{one.name} ranks it last")


def wait_led(zk, *by):
    return wait_until(lambda: next((s for s in by if zk.leaders().get(TASK) == s.id and s.leads(TASK)), None),
                      what="it is led by one of them")


def ran(zk):
    return zk.names("runs", TASK)


# --- a host


@pytest.mark.parametrize("ahead", [DAY, -2 * HOUR], ids=["a-day-ahead", "two-hours-behind"])
def test_a_host_whose_clock_is_wrong_comes_last_and_claims_nothing(fleet, zk, jobs, program, ahead):
    right = start(fleet, "right")
    wrong = start(fleet, "wrong", ahead, version="2")  # it would lead
    wait_off(wrong, right)
    wait_led(zk, right)
    refused(jobs, wrong, "1d ahead of" if ahead > 0 else "2h behind")
    assert ran(zk) == []
    asked = program("zkleader-check", "-s", wrong.socket, "--once", TASK)
    assert asked.code == 2 and "clock" in asked.err, asked
    assert run(jobs, right) == (0, "") and len(ran(zk)) == 1
    # The sidecar says that its clock is wrong, and nobody else does.
    status = wrong.status()
    assert not status["healthy"] and status["clock"]["off"], status
    assert abs(status["clock"]["offset_ms"] - ahead * 1000) < 5000
    [problem] = status["problems"]
    assert "clock" in problem["message"]
    shown = program("zkleader", "-s", wrong.socket, "status")
    assert shown.code == 2 and ("1d ahead of" if ahead > 0 else "2h behind") in shown.out
    assert right.status()["healthy"] and not right.status()["clock"]["off"]
    # If nobody else is there, it leads: whose clock is wrong can then not be told.
    right.stop()
    wait_led(zk, wrong)
    wait_until(lambda: not wrong.status()["clock"]["off"], what="nobody outvotes it")


def test_what_a_host_a_day_ahead_has_claimed_alone_stops_nobody_else(fleet, zk, jobs):
    wrong = start(fleet, "wrong", DAY)
    wait_led(zk, wrong)
    assert run(jobs, wrong) == (0, ""), "alone, it may be the server whose clock is wrong"
    [ahead] = ran(zk)
    right = start(fleet, "right")
    wait_led(zk, right)
    assert run(jobs, right) == (0, "")
    assert run(jobs, right) == (1, ""), "once"
    assert len(ran(zk)) == 2 and ran(zk)[1] == ahead > ran(zk)[0]


def test_older_than_the_oldest_kept_is_told(fleet, zk, jobs, program):
    text = task_text(TASK, tick="1s", history=3)
    wrong = start(fleet, "wrong", DAY, text=text)
    wait_led(zk, wrong)
    for _ in range(4):  # now the ledger is full of what lies ahead, and was pruned
        wait_until(lambda: run(jobs, wrong) == (0, ""), what="the next tick")
    right, other = start(fleet, "right", text=text, version="3"), start(fleet, "other", text=text, version="2")
    wait_led(zk, right)
    for sidecar in (right, other):
        refused(jobs, sidecar, "older than the oldest that is kept")
        asked = program("zkleader-check", "-s", sidecar.socket, "--once", TASK)
        assert asked.code == 2 and "older than the oldest" in asked.err, asked
    assert len(ran(zk)) == 3


@pytest.mark.slow
def test_a_host_whose_clock_is_set_while_it_leads_claims_nothing_from_then_on(fleet, zk, jobs, folder):
    file = folder / "time"
    file.write_text("+0\n", encoding="ascii")
    env = {**faketime("+0"), "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1"}
    del env["FAKETIME"]
    leader = fleet.sidecar("leader", version="2", tasks=[TEXT], env=env, session_timeout="10s")
    leader.clock = {}
    other = start(fleet, "other")
    wait_led(zk, leader)
    token = zk.leader(TASK)[1]
    assert run(jobs, leader) == (0, "")
    # A clock is off by the server's and by most workers': it has to know both.
    wait_until(lambda: leader.status()["clock"]["offset_ms"] is not None and len(leader.call("workers")) == 2,
               what="it knows the server's time, and the other")
    file.write_text(f"+{DAY}\n", encoding="ascii")
    refused(jobs, leader, "1d ahead of")
    # Others hear of it within a minute, and lead.
    wait_until(lambda: zk.leaders().get(TASK) == other.id, 90, "it is led by the other")
    assert zk.leader(TASK)[1] > token
    # And when it is right again, it leads again.
    file.write_text("+0\n", encoding="ascii")
    wait_until(lambda: zk.leaders().get(TASK) == leader.id, 90, "it is led by the best again")
    wait_until(lambda: leader.status()["healthy"], what="it says so itself")


# --- the server


@pytest.fixture
def wrong_server(own_server):
    own_server.env = {**os.environ, **faketime("+3600")}
    return own_server.start()


@pytest.mark.costly
@pytest.mark.parametrize("hosts", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3))])
def test_a_server_whose_clock_is_wrong_stops_nobody(fleet, zk, jobs, wrong_server, hosts):
    sidecars = [start(fleet, f"s{i}", version=str(i + 1)) for i in range(hosts)]
    leader = wait_led(zk, sidecars[-1])
    token = zk.leader(TASK)[1]
    assert run(jobs, leader) == (0, "")
    for sidecar in sidecars:
        status = sidecar.status()
        assert status["healthy"] and not status["clock"]["off"]
        assert abs(status["clock"]["offset_ms"] + 3600 * 1000) < 5000, status["clock"]
    for sidecar in sidecars[:-1]:
        assert run(jobs, sidecar) == (1, "")
    assert zk.leader(TASK)[1] == token


# Two of one machine have one vote, and one against one is no majority.
@pytest.mark.costly
def test_a_host_whose_clock_is_wrong_is_found_beside_a_server_whose_clock_is(fleet, zk, jobs, wrong_server):
    right = [start(fleet, n, version=v, own_machine=True) for n, v in (("a", "1"), ("b", "1.5"))]
    wrong = start(fleet, "wrong", 5 * HOUR, version="2")
    wait_off(wrong, *right)
    leader = wait_led(zk, right[1])
    refused(jobs, wrong, "4h ahead of")
    assert run(jobs, leader) == (0, "")


@pytest.mark.costly
def test_clones_have_a_vote_each(fleet, zk, jobs, wrong_server):
    """Four hosts of one image have one machine id. A fifth is wrong, just as the ZooKeeper server is."""
    wrong = start(fleet, "wrong", HOUR, version="9", own_machine=True, node="wrong")
    clones = [start(fleet, f"clone{i}", version=str(i), node=f"clone{i}") for i in range(1, 5)]
    everybody = [wrong, *clones]
    wait_until(lambda: all(len(s.call("workers")) == 5 for s in everybody), what="they know each other")
    holds_for(lambda: not any(s.status()["clock"]["off"] for s in clones), 2, "no clone is outvoted")
    wrong.stop()
    leader = wait_led(zk, clones[-1])
    assert run(jobs, leader) == (0, "")


def test_the_sidecars_of_a_host_have_one_vote(fleet, zk, jobs):
    """Told apart by their sockets alone."""
    right = start(fleet, "right", own_machine=True)
    wrong = [start(fleet, f"wrong{i}", HOUR, version="2") for i in range(4)]
    for sidecar in wrong:
        wait_off(sidecar, right)
    assert run(jobs, wait_led(zk, right)) == (0, "")


@pytest.mark.slow
def test_a_server_whose_clock_is_set_moves_nothing(fleet, zk, jobs, own_server, folder):
    file = folder / "time"
    file.write_text("+0\n", encoding="ascii")
    env = {**os.environ, **faketime("+0"), "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1"}
    del env["FAKETIME"]
    own_server.env = env
    own_server.start()
    sidecars = [start(fleet, "a"), start(fleet, "b", version="2")]
    leader = wait_led(zk, sidecars[1])
    token = zk.leader(TASK)[1]
    file.write_text("+7200\n", encoding="ascii")
    # A late sidecar finds all others two hours apart; they look for themselves, and agree with it.
    late = start(fleet, "late", version="0")
    for sidecar in (*sidecars, late):
        wait_until(lambda s=sidecar: abs(s.status()["clock"]["offset_ms"] + 7200 * 1000) < 5000,
                   what=f"{sidecar.name} knows the server's time")
        wait_until(lambda s=sidecar: s.status()["healthy"], what=f"{sidecar.name} is healthy")
    assert run(jobs, leader) == (0, "")
    assert zk.leader(TASK)[1] == token and leader.leads(TASK)
    wait_until(lambda: all(r["cause"] != "clock" for s in (*sidecars, late) for r in s.explain(TASK)["ranking"]),
               60, "nobody's clock is wrong")
    assert zk.leader(TASK)[1] == token


# --- jobs


def job_state(sidecar, job):
    return sidecar.call("job", job)["state"]


@pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")
def test_jobs_from_a_host_that_is_a_quarter_of_an_hour_ahead(queues):
    """By its programs and by those that leave the id to the sidecar, beside one whose clock is right."""
    text = queue_text("q", command=["/bin/true"])
    ahead = queues.site("ahead", text, env=clock(15 * MINUTE), version="2")
    right = queues.site("right", text)
    queues.wait_open()
    for sidecar, env in ((ahead, clock(15 * MINUTE)), (right, {})):
        code, out, err = queues.run(sidecar, "submit", "q", env=env)
        assert (code, err) == (0, "")
        mine = [out.decode().strip(), sidecar.call("submit", "q", {})["id"]]
        for job in mine:
            assert abs(int(job.split(".")[1], 36) - time.time() / MINUTE) < 2, "the server's minute"
            assert queues.wait_state(sidecar, job)["state"] == "ok"
        assert queues.run(sidecar, "submit", "--id", mine[0], "q", env=env)[1].decode().strip() == mine[0]
    later = queues.submit(right, "--in", "10m")
    holds_for(lambda: job_state(right, later) == "queued", 3, "it is not due by the server's clock")


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")
def test_a_server_that_comes_back_ten_days_ahead_runs_nothing_early_and_deletes_nothing(queues, own_server, folder):
    file = folder / "time"
    file.write_text("+0\n", encoding="ascii")
    own_server.env = {**os.environ, **faketime("+0"), "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1"}
    del own_server.env["FAKETIME"]
    own_server.start()
    a = queues.site("a", queue_text("q", attempts=1, command=["/bin/sh", "-c", "read -r s; exit $s"]))
    queues.wait_open()
    dead, later = queues.submit(a, payload=b"7\n"), queues.submit(a, "--in", "5d", payload=b"0\n")
    assert queues.wait_state(a, dead)["state"] == "dead"
    own_server.kill()
    a.kill()
    file.write_text("+864000\n", encoding="ascii")
    own_server.start()
    a.start()
    queues.wait_open()
    def told():
        return [p["message"] for p in a.status()["problems"] if p["file"] == "jobs"]
    wait_until(told, what="status says why")
    assert "10d behind" in told()[0] and "none begins early" in told()[0]
    soon = queues.submit(a, payload=b"0\n")
    assert queues.wait_state(a, soon)["state"] == "ok", "what is due is done"
    holds_for(lambda: (job_state(a, later), job_state(a, dead)) == ("queued", "dead"), 30, "it waits, and is kept")
    file.write_text("+0\n", encoding="ascii")
    own_server.kill()
    a.kill()
    own_server.start()
    a.start()
    wait_until(lambda: not told(), what="the clock is right again")
    assert (job_state(a, later), job_state(a, dead)) == ("queued", "dead")


# --- who asks


def test_a_tick_ahead_of_its_time_is_not_to_be_claimed(fleet, zk, jobs):
    a = start(fleet, "a", text=TEXT + task_text("daily", tick="1d"))
    wait_led(zk, a)
    wait_until(lambda: a.leads("daily"), what="it leads both")
    now = int(time.time() * 1000)
    for ahead in (2 * HOUR, DAY, 3000 * DAY):
        with pytest.raises(RpcError) as error:
            a.call("claim", TASK, {"kind": "once", "now_ms": now + ahead * 1000, "wait_ms": 0})
        assert error.value.code == 2 and "ahead of its time" in str(error.value)
    assert ran(zk) == []
    # Within the tolerance it is, and in a zone where it is tomorrow already, if it is late enough for that.
    claim = {"kind": "once", "tick_ms": 1000, "now_ms": int(time.time() * 1000) + 20000, "wait_ms": 0}
    assert a.call("claim", TASK, claim)["outcome"] == "yours"
    day = {"kind": "once", "tick_ms": DAY * 1000, "zone_ms": 14 * HOUR * 1000, "now_ms": int(time.time() * 1000) + 1000}
    assert a.call("claim", "daily", {**day, "wait_ms": 0})["outcome"] == "yours"

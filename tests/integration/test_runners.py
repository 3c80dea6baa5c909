"""Runners as a sidecar sees those of its host: who registers, what they refuse, and who leads meanwhile."""
import os
import signal

import pytest

from harness.rpc import RpcError
from harness.runner import Runner, scheduled
from harness.sidecar import queue_text
from harness.waiting import holds_for, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")


@pytest.fixture
def runner(fleet):
    """runner(sidecar): started, and ended with the test."""
    made = []

    def of(sidecar, folder="runner", **kwargs):
        made.append(Runner(sidecar.folder / folder, sidecar.socket, sidecar.config_file, **kwargs).start())
        return made[-1]

    yield of
    assert fleet  # which ends behind them
    reports = [report for one in made for report in one.close()]
    assert not reports, "\n".join(reports)


def problems(sidecar):
    return [(p["file"], p["message"]) for p in sidecar.status()["problems"]]


def unhealthy(sidecar):
    return [u["task"] for u in sidecar.status()["health"]["tasks"]]


def leads(sidecar, task="report"):
    return sidecar.check(task)["leader"]


def test_without_a_runner_another_node_leads(fleet, runner):
    task = scheduled("report", ["/bin/true"])
    old = fleet.sidecar("old", version="1.0", tasks=[task])
    there = runner(old)
    wait_until(lambda: leads(old), what="the only one leads")
    new = fleet.sidecar("new", version="2.0", tasks=[task, scheduled("other", ["/bin/true"])])
    # For 5 s a runner may be away. Then it is said once, and the node is no candidate.
    wait_until(lambda: unhealthy(new) == ["other", "report"], what="nobody starts it there")
    assert [(who, "zkleader-runner@root" in what) for who, what in problems(new)] == [("root", True)]
    wait_until(lambda: leads(old), what="the older one leads")
    runner(new)
    wait_until(lambda: leads(new) and not unhealthy(new) and not problems(new), what="the newer one leads")
    there.close()
    wait_until(lambda: unhealthy(old) == ["report"], what="nobody starts it here")
    assert leads(new)


def test_a_runner_that_is_started_anew_changes_nothing(fleet, runner):
    only = fleet.sidecar("only", tasks=[scheduled("report", ["/bin/true"])], session_timeout="10s")
    one = runner(only)
    wait_until(lambda: leads(only), what="it leads")
    wait_until(lambda: " registered " in one.log(), what="the runner is there")
    token = only.check("report")["token"]
    for times in range(2, 5):
        one.stop()
        one.start()
        wait_until(lambda: one.log().count(" registered ") == times, what="the runner is back")
    assert only.check("report")["token"] == token and unhealthy(only) == []


def test_a_bad_zone_in_the_main_file_ends_no_runner(fleet, runner):
    only = fleet.sidecar("only", tasks=[scheduled("report", ["/bin/true"])])
    one = runner(only)
    wait_until(lambda: leads(only) and " registered " in one.log(), what="the runner is there")
    pid, config = one.process.pid, only.config_file.read_text()
    only.config_file.write_text(config + '\ntimezone = "Mars/Olympus"\n')
    only.signal(signal.SIGHUP)
    wait_until(lambda: any("timezone" in what for _, what in problems(only)), what="it is told")
    only.write_file(scheduled("more", ["/bin/true"]), "more.conf")
    holds_for(lambda: one.process.poll() is None and one.process.pid == pid, 6)  # it reads the folder each 5 s
    only.config_file.write_text(config)
    only.signal(signal.SIGHUP)
    wait_until(lambda: leads(only, "more") and not unhealthy(only) and not problems(only), what="all is well again")


def test_what_a_runner_refuses(fleet, runner):
    only = fleet.sidecar("only", tasks=[scheduled("report", ["/bin/true"])])
    spare = fleet.sidecar("spare", version="0.9", tasks=[scheduled("report", ["/bin/true"])])
    runner(only), runner(spare)
    wait_until(lambda: leads(only), what="it leads")
    file = only.task_dir / "tasks.conf"
    file.chmod(0o664)
    wait_until(lambda: problems(only), what="it is told")
    assert [(who, "can be written by its group: chmod g-w" in what) for who, what in problems(only)] == [(str(file), True)]
    wait_until(lambda: leads(spare), what="another leads")
    explained = only.explain("report")
    assert "chmod g-w" in str(explained)
    file.chmod(0o644)
    wait_until(lambda: leads(only) and not problems(only), what="it leads again")


def test_a_user_that_is_not_there(fleet):
    only = fleet.sidecar("only", tasks=[scheduled("report", ["/bin/true"], user="nosuchuser")])
    wait_until(lambda: unhealthy(only) == ["report"], what="nobody can start it")
    assert any("nosuchuser" in what for _, what in problems(only))


def test_what_runners_say(fleet):
    only = fleet.sidecar("only", tasks=[scheduled("report", ["/bin/true"])])
    one, other = only.client(), only.client()
    with pytest.raises(RpcError):
        one.call("refusals", [])
    assert one.call("runner", {}) == {}
    assert one.call("refusals", [{"task": "report", "file": "/f", "message": "\x1b" + "x" * 1000}]) == {}
    assert unhealthy(only) == ["report"]
    told = problems(only)[0]
    assert told[0] == "/f" and "\x1b" not in told[1] and len(told[1]) < 600
    for bad in (["x"], [{"task": "../"}], [{"file": 1}], "x"):
        with pytest.raises(RpcError):
            one.call("refusals", bad)
    assert one.call("refusals", [{"task": "report", "file": "/f", "message": "a", "later": [1]}]) == {}
    assert one.call("refusals", [{"task": "unknown", "file": "/g", "message": "b"}], True) == {}
    assert unhealthy(only) == ["report"] and one.call("refusals", []) == {} and unhealthy(only) == []
    # A later one takes its place.
    assert other.call("runner", {}) == {}
    with pytest.raises((EOFError, OSError)):
        one.call("refusals", [])
    assert other.call("refusals", []) == {}
    assert other.call("runner", {}) == {}, "said twice it stays"
    holds_for(lambda: other.call("refusals", []) == {}, 0.2)


@pytest.mark.slow
@pytest.mark.seconds(300)
def test_a_runner_that_ends_leaves_room_in_the_record_of_4400_long_names(fleet, zk, runner):
    """The record then has each name twice."""
    names = [f"{n:04}" + 91 * "n" for n in range(4400)]
    text = "".join(f'task "{name}" {{ schedule = "@yearly" user = "root" command = {{"/bin/true"}} }}\n'
                   for name in names)
    only = fleet.sidecar("only", start=False)
    only.write_file(text, "many.conf")
    only.start()

    def away():
        return {len(unhealthy(only)), len(zk.workers()[only.id].get("unhealthy", []))}
    wait_until(lambda: away() == {len(names)}, 60, "nobody starts them yet")
    there = runner(only)
    wait_until(lambda: away() == {0}, 60, "the runner is there")
    there.close()
    wait_until(lambda: away() == {len(names)}, 60, "it has gone")
    assert only.is_running()


@pytest.mark.slow
@pytest.mark.seconds(300)
def test_a_runner_that_hangs_counts_as_one_that_is_away(fleet, runner):
    task = scheduled("report", ["/bin/true"])
    new, old = fleet.sidecar("new", version="2.0", tasks=[task]), fleet.sidecar("old", version="1.0", tasks=[task])
    there, _ = runner(new), runner(old)
    wait_until(lambda: leads(new) and " registered " in there.log(), what="the newer one leads")
    there.process.send_signal(signal.SIGSTOP)
    holds_for(lambda: not unhealthy(new), 20, "it may be slow")
    wait_until(lambda: unhealthy(new) == ["report"], what="it does not answer")
    assert [(who, "systemctl restart zkleader-runner@root" in what) for who, what in problems(new)] == [("root", True)]
    wait_until(lambda: leads(old), what="the older one leads")
    there.process.send_signal(signal.SIGCONT)
    wait_until(lambda: leads(new) and not unhealthy(new) and not problems(new), what="it answers again")


@pytest.mark.seconds(300)
def test_jobs_of_a_runner_that_hangs_go_elsewhere(queues, folder):
    command = ["/bin/sh", "-c", f'echo "$ZKLEADER_JOB" >>{folder}/ran']
    q = queue_text("q", slots=2, command=command)
    new, old = queues.site("new", q, version="2.0"), queues.site("old", q, version="1.0")
    queues.wait_open()
    new.runner.process.send_signal(signal.SIGSTOP)
    jobs = [queues.submit(old) for _ in range(2)]
    wait_until(lambda: {old.call("job", j)["state"] for j in jobs} == {"assigned"}, what="they are given to the newer")
    assert {queues.wait_state(old, job, timeout=120)["state"] for job in jobs} == {"ok"}
    new.runner.process.send_signal(signal.SIGCONT)
    wait_until(lambda: not unhealthy(new), what="it is back")
    holds_for(lambda: sorted((folder / "ran").read_text().split()) == sorted(jobs), 3, "each ran once")


def test_a_runner_of_an_earlier_release_is_not_asked(fleet):
    """The runner does not say that it answers, and so it need not."""
    only = fleet.sidecar("only", tasks=[scheduled("report", ["/bin/true"])])
    with only.client() as earlier, only.client() as later:
        earlier.call("runner", {})
        with pytest.raises(RpcError):
            later.call("pong", 1)
        holds_for(lambda: not unhealthy(only), 12, "it counts as there")

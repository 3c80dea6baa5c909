"""ping-url and zkleader-notify: each run is told as it begins and ends, whatever the server does."""
import os
import signal
import subprocess

import pytest

from harness.hooks import Hooks, Notifier
from harness.jobs import is_running, next_tick
from harness.queues import Hook, script_of
from harness.sidecar import build, task_text
from harness.waiting import wait_until

TASK = "nightly"


@pytest.fixture
def hooks():
    made = Hooks()
    yield made
    made.close()


@pytest.fixture
def notifier(folder):
    made = []

    def of(sidecar):
        made.append(Notifier(folder / f"notify{len(made)}", sidecar))
        return made[-1]

    yield of
    reports = [r for one in made for r in one.close()]
    assert not reports, "\n".join(reports)


def begin(fleet, *tasks):
    a = fleet.sidecar("a", tasks=list(tasks))
    wait_until(lambda: a.leads(TASK), what="a leads")
    return a


def test_a_run_is_told_as_it_begins_and_as_it_ends(fleet, hooks, notifier, jobs):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/hc/uuid?rid=7")), task_text("other", tick="1s"))
    notifier(a)
    job, other = jobs(TASK), jobs("other")
    assert other.run(a, "--tick", "none", body="true").code() == 0
    running = job.run(a, "--tick", "none", body="sleep 60")
    assert hooks.wait(1) == [("/hc/uuid/start?rid=7", "")]
    job.wait_started(1)  # what comes before that ends zkleader run itself
    running.signal(15)
    assert running.code() == 143
    assert hooks.wait(2)[1] == ("/hc/uuid/143?rid=7", "")
    assert job.run(a, "--tick", "none", body="true").code() == 0
    assert [path for path, _ in hooks.wait(4)[2:]] == ["/hc/uuid/start?rid=7", "/hc/uuid/0?rid=7"]
    assert len(hooks.seen) == 4


def test_what_it_wrote_comes_along_where_the_sidecar_knows_it(fleet, hooks, notifier):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    notifier(a)
    with a.client() as client:
        claim = client.call("claim", TASK, {"kind": "run", "now_ms": 1_790_000_000_000, "zone_ms": 0, "tick_ms": 0, "wait_ms": 0})
        assert claim["outcome"] == "yours"
        client.call("finish", claim["run"], {"exit_status": 3, "interrupted": False, "timeout": False,
                                             "output": b"the last words"})
    assert hooks.wait(2) == [("/x/start", ""), ("/x/3", "the last words")]


def test_a_server_that_fails_hangs_up_or_is_late_gets_it_again_in_order(fleet, hooks, notifier, jobs):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    notifier(a)
    hooks.answers = [500, "close", 302]
    assert jobs(TASK).run(a, "--tick", "none", body="true").code() == 0
    assert [path for path, _ in hooks.wait(2)] == ["/x/start", "/x/0"]
    assert [path for path, _ in hooks.seen] == ["/x/start"] * 4 + ["/x/0"]


def test_it_is_given_up_after_five_tries_and_the_next_one_comes(fleet, hooks, notifier, jobs):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/secret?key=secret", user="user:secret@")))
    n = notifier(a)
    hooks.answers = [503] * 5
    assert jobs(TASK).run(a, "--tick", "none", body="true").code() == 0
    assert [path for path, _ in hooks.wait(1)] == ["/secret/0?key=secret"]
    assert [path for path, _ in hooks.seen[:5]] == ["/secret/start?key=secret"] * 5
    assert "a ping was given up" in n.log() and "status=503" in n.log()
    assert f"to=http://127.0.0.1:{hooks.port}" in n.log() and "secret" not in n.log()
    assert "secret" not in a.log()


def test_one_that_hangs_holds_up_neither_runs_nor_others(fleet, hooks, notifier, jobs):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/slow")),
              task_text("quick", tick="1s", ping_url=hooks.url("/quick")))
    notifier(a)
    wait_until(lambda: a.leads("quick"), what="a leads")
    hooks.answers = ["hang"]
    assert jobs(TASK).run(a, "--tick", "none", body="true").code() == 0
    wait_until(lambda: hooks.seen, what="it hangs")
    assert jobs("quick").run(a, "--tick", "none", body="true").code() == 0
    assert [path for path, _ in hooks.wait(2)] == ["/quick/start", "/quick/0"]
    hooks.hung.set()
    assert [path for path, _ in hooks.wait(4)[2:]] == ["/slow/start", "/slow/0"]


def test_a_sidecar_that_is_killed_and_a_notifier_that_is_killed_are_heard_of_again(fleet, hooks, notifier, jobs):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    n = notifier(a)
    a.kill()
    a.start()
    wait_until(lambda: n.log().count("hearing of runs") == 2, what="it hears of runs again")
    wait_until(lambda: a.leads(TASK), what="a leads again")
    job = jobs(TASK)
    assert job.run(a, "--tick", "none", body="true").code() == 0
    hooks.wait(2)
    n.kill()
    n.start()
    assert job.run(a, "--tick", "none", body="true").code() == 0
    assert [path for path, _ in hooks.wait(4)] == ["/x/start", "/x/0"] * 2
    assert n.stop() == 0


def test_a_claim_that_runs_nothing_is_not_told(fleet, hooks, notifier, program, jobs):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    notifier(a)
    assert program("zkleader-check", "-s", a.socket, "--once", TASK).code == 0
    next_tick(1)
    assert jobs(TASK).run(a, "--tick", "1s", body="true").code() == 0
    assert [path for path, _ in hooks.wait(2)] == ["/x/start", "/x/0"]
    assert len(hooks.seen) == 2


def test_the_process_that_sends_is_there_only_while_it_is_needed(fleet, hooks, notifier, jobs):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    n = notifier(a)
    assert n.posters() == []
    hooks.answers = ["hang"]
    job = jobs(TASK)
    assert job.run(a, "--tick", "none", body="true").code() == 0
    wait_until(lambda: hooks.seen, what="the server hangs")
    [poster] = n.posters()
    os.kill(poster, signal.SIGKILL)
    assert [path for path, _ in hooks.wait(2)] == ["/x/start", "/x/0"], "what it had is sent by the next one"
    wait_until(lambda: n.posters() == [], what="it ends with nothing to do")
    hooks.answers = ["hang"]
    assert job.run(a, "--tick", "none", body="true").code() == 0
    wait_until(lambda: len(hooks.seen) == 4, what="the server hangs again")
    [poster] = n.posters()
    n.kill()
    wait_until(lambda: not is_running(poster), what="it does not outlive the notifier")


def test_a_process_that_sends_and_is_stopped_is_replaced(fleet, hooks, notifier, jobs):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    n = notifier(a)
    hooks.answers = ["hang"]
    assert jobs(TASK).run(a, "--tick", "none", body="true").code() == 0
    wait_until(lambda: hooks.seen, what="the server hangs")
    [poster] = n.posters()
    os.kill(poster, signal.SIGSTOP)
    assert [path for path, _ in hooks.wait(2)] == ["/x/start", "/x/0"]
    assert not is_running(poster)


def test_a_server_whose_certificate_nobody_trusts_is_told_nothing(fleet, notifier, jobs, folder):
    hook = Hook(script_of(200), tls_folder=folder)
    try:
        a = begin(fleet, task_text(TASK, tick="1s", ping_url=hook.url("/x")))
        n = notifier(a)
        assert jobs(TASK).run(a, "--tick", "none", body="true").code() == 0
        wait_until(lambda: "a ping was given up" in n.log(), what="it is given up")
        assert "certificate" in n.log() and hook.requests() == []
    finally:
        hook.close()


def test_misuse():
    for args, code in ((["-x"], 78), (["more"], 78), (["-h"], 0), (["-V"], 0), (["-s", "x" * 200], 78)):
        assert subprocess.run([build() / "zkleader-notify", *args], capture_output=True, check=False,
                              timeout=60).returncode == code, args

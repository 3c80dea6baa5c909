"""ping-url and zkleader-notify: each run is told as it begins and ends, whatever the server does."""
import json
import os
import pathlib
import pty
import signal
import subprocess

import pytest

from harness.hooks import Hooks, Notifier
from harness.jobs import children, is_running, next_tick
from harness.process import spawn
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
    a = fleet.sidecar("a", tasks=list(tasks), session_timeout="10s")
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


def begun(a, *command, tick="none", **kwargs):
    """zkleader run with that command."""
    return spawn([build() / "zkleader", "-s", a.socket, "run", "--tick", tick, TASK, "--", *command], **kwargs)


def test_the_end_of_what_it_wrote_comes_along_and_all_of_it_goes_where_it_went(fleet, hooks, notifier, program):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    notifier(a)
    # Behind the end of the whole: a first line that is not kept, and one of each stream.
    script = "seq 1 2000; echo some word >&2; printf 'the last \\377 one'; exit 3"
    done = program("zkleader", "-s", a.socket, "run", "--tick", "1s", TASK, "--", "sh", "-c", script, text=False)
    assert (done.code, done.err) == (3, b"some word\n")
    assert done.out == b"".join(b"%d\n" % n for n in range(1, 2001)) + b"the last \xff one"
    (_, body) = hooks.wait(2)[1]
    assert hooks.got[1][0] == "/x/3" and len(body) == 2048
    assert "1999\n2000\n" in body and "some word\n" in body and "the last ? one" in body and "\n1\n" not in body
    [run] = json.loads(program("zkleader", "-s", a.socket, "--json", "history", TASK).out)
    assert run["output"] == body


def test_what_is_still_in_the_pipe_as_the_command_ends_belongs_to_its_end(fleet, hooks, notifier, folder):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    notifier(a)
    for _ in range(5):
        with open(folder / "out", "wb") as out:
            run = begun(a, "sh", "-c", "yes | head -c 60000; echo last", stdout=out, stderr=subprocess.DEVNULL)
            assert run.wait(60) == 0
        assert (folder / "out").stat().st_size == 60005
    ends = [body for path, body in hooks.wait(10) if path == "/x/0"]
    assert len(ends) == 5 and all(body.endswith("last\n") for body in ends)


def test_bytes_that_end_texts_do_not_end_the_output(fleet, hooks, notifier, program):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    notifier(a)
    done = program("zkleader", "-s", a.socket, "run", "--tick", "none", TASK, "--", "printf", "one\\0two\\0")
    assert done.code == 0 and done.out == "one\0two\0"
    assert hooks.wait(2)[1] == ("/x/0", "one?two?")


def test_streams_that_are_one_file_keep_their_order(fleet, hooks, notifier):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    notifier(a)
    script = "for i in 1 2 3 4 5 6 7 8 9; do echo out; echo err >&2; done"
    run = begun(a, "sh", "-c", script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert run.communicate(timeout=60)[0] == b"out\nerr\n" * 9
    assert hooks.wait(2)[1] == ("/x/0", "out\nerr\n" * 9)


def test_a_terminal_is_left_to_the_command(fleet, hooks, notifier):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    notifier(a)
    ours, theirs = pty.openpty()
    run = begun(a, "sh", "-c", "test -t 1 && test -t 2 && echo seen", stdout=theirs, stderr=theirs)
    os.close(theirs)
    assert os.read(ours, 100) == b"seen\r\n" and run.wait(60) == 0
    os.close(ours)
    run = begun(a, "sh", "-c", "test ! -t 2 && echo kept >&2", stdout=None, stderr=subprocess.PIPE)
    assert run.communicate(timeout=60)[1] == b"kept\n"
    assert [body for _, body in hooks.wait(4)] == ["", "", "", "kept\n"]


def test_a_reader_that_has_gone_ends_the_command_as_ever(fleet, hooks, notifier):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    notifier(a)
    run = begun(a, "yes", stdout=subprocess.PIPE)
    assert run.stdout.read(4) == b"y\ny\n"
    run.stdout.close()
    assert run.wait(60) == 128 + signal.SIGPIPE
    assert hooks.wait(2)[1][0] == "/x/141"


def test_a_slow_reader_holds_up_the_call_and_not_the_record(fleet, hooks, notifier):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    notifier(a)
    run = begun(a, "sh", "-c", "head -c 100000 /dev/zero; echo end >&2", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert hooks.wait(2)[1][0] == "/x/0", "it is told though much is unread"
    assert run.poll() is None
    assert len(run.communicate(timeout=60)[0]) == 100000 and run.returncode == 0
    run = begun(a, "head", "-c", "100000", "/dev/zero", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    hooks.wait(4)

    def is_ended():
        run.terminate()  # one that comes before its wait is the command's, which has ended
        return run.poll() is not None

    wait_until(is_ended, what="what waits for its reader alone is ended by any signal")
    assert run.returncode == -signal.SIGTERM
    run.stdout.close()


@pytest.mark.parametrize("which", ["call", "guard"])
def test_what_passes_the_output_on_ends_with_the_command(fleet, hooks, which):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    run = begun(a, "sh", "-c", "echo $$; exec sleep 60", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    command = int(run.stdout.readline())
    around = {(pathlib.Path("/proc") / str(pid) / "comm").read_text().strip(): pid for pid in children(run.pid)}
    assert set(around) == {"zkleader-guard", "zkleader-relay"}
    os.kill(run.pid if which == "call" else around["zkleader-guard"], signal.SIGKILL)
    assert run.stdout.read() == b"" and run.wait(60) == (-9 if which == "call" else 137)
    wait_until(lambda: not any(map(is_running, [command, *around.values()])), what="nothing is left")


def test_without_a_ping_url_the_command_has_the_streams_of_the_call(fleet, folder):
    a = begin(fleet, task_text(TASK, tick="1s"))
    with open(folder / "out", "wb") as out:
        assert begun(a, "sh", "-c", f"test /proc/self/fd/1 -ef {folder}/out", stdout=out).wait(60) == 0


def test_a_server_that_fails_hangs_up_or_is_late_gets_it_again_in_order(fleet, hooks, notifier, jobs):
    a = begin(fleet, task_text(TASK, tick="1s", ping_url=hooks.url("/x")))
    notifier(a)
    hooks.answers = [500, "close", 302]
    assert jobs(TASK).run(a, "--tick", "none", body="true").code() == 0
    assert [path for path, _ in hooks.wait(2)] == ["/x/start", "/x/0"]
    assert [path for path, _ in hooks.seen] == ["/x/start"] * 4 + ["/x/0"]
    assert jobs(TASK).run(a, "--tick", "1s", body="true").code() == 0
    hooks.wait(4)
    rids = [rid for _, rid in hooks.rids]
    assert len(rids) == 7 and len(set(rids[:5])) == 1 and len(set(rids[5:])) == 1 and rids[0] != rids[5]


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

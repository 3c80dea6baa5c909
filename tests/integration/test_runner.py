"""zkleader-runner beside a sidecar by script: what it starts, how, and what it refuses."""
import os
import pathlib
import pwd
import signal
import threading
import time

import pytest

from harness.runner import TICK, Site, scheduled, shell, site_fixture
from harness.sidecar import queue_text
from harness.waiting import holds_for, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")
site = pytest.fixture(site_fixture)


def test_a_job_gets_what_the_interface_says(site):
    site.runner.extra_env = {"SECRET": "x"}
    site.start(scheduled("report", shell("env; pwd; umask; readlink /proc/self/fd/0; ps -o sid= -p $$; echo err >&2; exit 3")))
    site.sidecar.due("report", attempt=2)
    ended = site.sidecar.finished()[0]
    assert (ended["exit_status"], ended["interrupted"], ended["timeout"]) == (3, False, False)
    lines = ended["output"].decode().splitlines()
    env = dict(line.split("=", 1) for line in lines if "=" in line)
    env.pop("_", None), env.pop("PWD"), env.pop("OLDPWD", None), env.pop("SHLVL", None)
    assert env == {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "USER": "root", "LOGNAME": "root",
                   "SHELL": "/bin/sh", "ZKLEADER_TASK": "report", "ZKLEADER_TICK": TICK, "ZKLEADER_TOKEN": "41",
                   "ZKLEADER_ATTEMPT": "2", "ZKLEADER_WORKER_ID": "w", "ZKLEADER_VERSION": "1.0"}
    pwd, umask, stdin, session, err = [line for line in lines if "=" not in line]
    assert (pwd, umask, stdin, err) == ("/root", "0022", "/dev/null", "err")
    assert int(session) not in (os.getsid(0), os.getsid(site.runner.process.pid))
    task, options = site.sidecar.all("claim")[0]
    assert task == "report" and options["kind"] == "run" and options["tick"] == TICK and options["scheduled"] == 2


def test_each_line_is_logged_and_the_last_bytes_are_recorded(site):
    site.start(scheduled("wordy", shell("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; printf '\\033[1mlast'")))
    site.sidecar.due("wordy")
    output = site.sidecar.finished()[0]["output"]
    assert len(output) == 2048 and output.endswith(b"line 1998\nline 1999\n\033[1mlast")
    wait_until(lambda: "run ended" in site.runner.log(), what="it is logged")
    said = [line.split(" ", 2)[2] for line in site.runner.log().splitlines() if line.startswith(f"wordy {TICK} ")]
    assert said == [f"line {i}" for i in range(2000)] + ["\\x1b[1mlast"]


def test_a_long_line_comes_in_pieces(site):
    site.start(scheduled("long", shell("head -c 5000 /dev/zero | tr '\\0' x; echo; echo end")))
    site.sidecar.due("long")
    site.sidecar.finished()
    wait_until(lambda: "run ended" in site.runner.log(), what="it is logged")
    said = [line.split(" ", 2)[2] for line in site.runner.log().splitlines() if line.startswith(f"long {TICK} ")]
    assert [len(s) for s in said] == [2000, 2000, 1000, 3]


def test_a_timeout_ends_it(site):
    site.start(scheduled("slow", shell("trap 'echo told; exit 0' TERM; while :; do sleep 0.1; done"), timeout="3s"))
    site.sidecar.due("slow")
    ended = site.sidecar.finished()[0]
    assert ended["timeout"] is True and ended["interrupted"] is False and ended["output"].endswith(b"told\n")


def test_what_does_not_hear_is_killed(site):
    site.sidecar.lease_ms = 3000
    site.start(scheduled("deaf", shell("trap '' TERM; echo $$; while :; do sleep 0.1; done")))
    site.sidecar.due("deaf")
    wait_until(lambda: f"deaf {TICK} " in site.runner.log(), what="it runs")
    site.sidecar.leads = False
    ended = site.sidecar.finished()[0]
    assert ended["exit_status"] == 137 and ended["interrupted"] is True and ended["timeout"] is False


def test_not_ours_is_not_run(site):
    site.sidecar.taken.add(("report", TICK))
    site.start(scheduled("report", ["/usr/bin/touch", str(site.folder / "ran")]))
    site.sidecar.due("report")
    site.sidecar.due("report", tick="2026-11-23T22:00:01Z")
    site.sidecar.finished()
    assert len(site.sidecar.all("finish")) == 1 and len(site.sidecar.all("claim")) == 2


def test_the_same_attempt_is_begun_once_at_a_time(site):
    go = site.folder / "go"
    site.start(scheduled("report", shell(f"while ! [ -e {go} ]; do sleep 0.05; done")), scheduled("last", ["/bin/true"]))
    for _ in range(5):
        site.sidecar.due("report")
    site.sidecar.due("last")
    site.sidecar.finished()  # so it has heard of all before it
    go.touch()
    site.sidecar.finished(2)
    # Each claim is made by a process of its own, so they come in any order.
    assert sorted(params[0] for params in site.sidecar.all("claim")) == ["last", "report"]


def test_jobs_live_on_while_runner_and_sidecar_restart(site):
    done = site.folder / "done"
    site.start(scheduled("report", shell(f"while ! [ -e {site.folder}/go ]; do sleep 0.05; done; echo now; echo x >> {done}")))
    site.sidecar.due("report")
    wait_until(lambda: "run begun" in site.runner.log(), what="it runs")
    assert site.runner.stop() == 0
    site.runner.start()
    wait_until(lambda: site.runner.log().count(" registered ") == 2, what="the runner is there again")
    site.sidecar.close()
    site.sidecar.open()
    wait_until(lambda: site.runner.log().count(" registered ") == 3, what="the runner has registered again")
    site.runner.stop(signal.SIGKILL)
    site.runner.start()
    wait_until(lambda: site.sidecar.all("attach"), what="the job's guard has come again")
    (site.folder / "go").touch()
    ended = site.sidecar.finished()[0]
    assert ended["exit_status"] == 0 and ended["output"] == b"now\n" and done.read_text() == "x\n"
    assert len(site.sidecar.all("claim")) == 1


def test_the_command_is_that_of_the_file_as_it_is(site):
    site.start(scheduled("report", ["/bin/echo", "one"]))
    for i, word in enumerate(("one", "two", "three"), 1):
        site.write(scheduled("report", ["/bin/echo", word]))
        site.sidecar.due("report", tick=f"2026-11-23T22:00:0{i}Z")
        assert site.sidecar.finished(i)[-1]["output"].decode() == word + "\n"
    site.write(scheduled("late", ["/bin/echo", "late"]), file="late.conf")
    site.sidecar.due("late")
    assert site.sidecar.finished(4)[-1]["output"] == b"late\n"


def spoil(site, how):
    file = site.tasks / "tasks.conf"
    if how == "file of another":
        os.chown(file, 65534, 0)
    elif how == "file for its group":
        file.chmod(0o664)
    elif how == "file for all":
        file.chmod(0o646)
    elif how == "folder for its group":
        site.tasks.chmod(0o775)
    elif how == "folder of another":
        os.chown(site.tasks, 65534, 0)
    elif how == "folder above":
        site.folder.chmod(0o777)
    elif how == "link to another's":
        other = site.folder / "other"
        other.mkdir()
        os.rename(file, other / "real")
        os.chown(other, 65534, 0)
        os.symlink("../other/real", file)


@pytest.mark.parametrize("how, words", [
    ("file of another", "is not root's"), ("file for its group", "its group"), ("file for all", "everybody"),
    ("folder for its group", "its group"), ("folder of another", "is not root's"), ("folder above", "everybody"),
    ("link to another's", "is not root's")])
def test_what_others_can_write_is_refused(site, how, words):
    ran = site.folder / "ran"
    site.start(scheduled("report", ["/usr/bin/touch", str(ran)]))
    assert site.refused(0) == []
    spoil(site, how)
    site.sidecar.due("report")
    refusal = site.refused()[0]
    assert refusal["task"] == "report" and refusal["file"] == str(site.tasks / "tasks.conf"), refusal
    assert words in refusal["message"], refusal
    assert not ran.exists() and not site.sidecar.all("claim")
    assert "a task is not started here" in site.runner.log()


def test_it_is_found_without_being_due_and_mended(site):
    file = site.write(scheduled("report", ["/bin/true"]), scheduled("other", ["/bin/true"], user="nobody"))
    file.chmod(0o666)
    site.runner.start()
    assert [r["task"] for r in site.refused()] == ["report"]
    file.chmod(0o644)
    assert site.refused(0) == []


def test_links_and_sticky_folders_are_good(site):
    (site.folder / "deep").mkdir()
    (site.folder / "deep").chmod(0o1777)
    site.write(scheduled("report", ["/bin/echo", "good"]))
    os.rename(site.tasks / "tasks.conf", site.folder / "deep" / "real")
    os.symlink(f"{site.tasks}/../deep/./real", site.tasks / "tasks.conf")
    site.runner.start()
    site.sidecar.due("report")
    assert site.sidecar.finished()[0]["output"] == b"good\n"


@pytest.mark.parametrize("text", [
    'task "report" {\n  schedule = "@yearly"\n  user = "root"\n  command = "/bin/true"\n  nonsense\n}\n',
    'task "report" {\n}\n', scheduled("report", ["/bin/true"], user="nobody")])
def test_a_file_that_says_otherwise_is_refused(site, text):
    site.start(scheduled("report", ["/bin/true"]))
    assert site.refused(0) == []
    site.write(text)
    site.sidecar.due("report")
    assert site.refused()[0]["task"] == "report"
    assert not site.sidecar.all("claim")


def test_nonsense_from_the_sidecar(site):
    site.start(scheduled("report", ["/bin/true"]))
    for task, tick, attempt in (("../x", TICK, 1), ("report", "x\ny", 1), ("report", TICK, 0), ("report", TICK, "1"),
                                ("report", "", 1), ("report", TICK * 3, 1)):
        site.sidecar.due(task, tick, attempt)
    site.sidecar.due("report", command=["/bin/false"])
    assert site.sidecar.finished()[0]["exit_status"] == 0
    assert len(site.sidecar.all("claim")) == 1 and "makes no sense" in site.runner.log()


def test_a_program_that_is_not_there(site):
    site.start(scheduled("report", ["/nosuch/program"]))
    site.sidecar.due("report")
    ended = site.sidecar.finished()[0]
    assert ended["exit_status"] == 127 and b"/nosuch/program" in ended["output"]


def test_a_command_has_the_variables_and_the_directory_of_its_file(site):
    where = site.folder / "where it starts"
    where.mkdir()
    defaults = f'defaults {{ environment = {{"LANG=C.UTF-8", "A=default"}} directory = "{site.folder}" }}\n'
    site.start(defaults, scheduled("report", shell("pwd; env"), directory=str(where),
                                   environment=["A=own", "HOME=/elsewhere", "PATH=/bin", "EMPTY=", "TOLD=a=b c"]),
               scheduled("other", shell("pwd; env")))
    site.sidecar.due("report")
    own = site.sidecar.finished()[0]["output"].decode().splitlines()
    site.sidecar.due("other")
    other = site.sidecar.finished(2)[1]["output"].decode().splitlines()
    assert own[0] == str(where) and other[0] == str(site.folder)
    assert {"LANG=C.UTF-8", "A=own", "HOME=/elsewhere", "PATH=/bin", "EMPTY=", "TOLD=a=b c", "USER=root",
            "ZKLEADER_TASK=report"} <= set(own) and "A=default" not in own
    assert {"LANG=C.UTF-8", "A=default", "HOME=/root", "PATH=/usr/local/bin:/usr/bin:/bin"} <= set(other)
    site.write(defaults, scheduled("other", shell("pwd; env"), environment=["A=new"]))
    site.sidecar.due("other", tick="2026-11-23T22:00:01Z")
    assert "A=new" in site.sidecar.finished(3)[2]["output"].decode().splitlines(), "it is read again at each start"


def test_what_keeps_a_command_from_starting_is_named(site):
    script = site.folder / "script"
    script.write_text("#!/usr/bin/no-such-perl -w\n")
    script.chmod(0o755)
    (site.folder / "file").touch()
    cases = {"there": (["/bin/true"], "/nosuch/place", 126, "the directory /nosuch/place: No such file or directory"),
             "file": (["/bin/true"], str(site.folder / "file"), 126, "file: Not a directory"),
             "script": ([str(script)], "/", 127, "its interpreter /usr/bin/no-such-perl: No such file or directory"),
             "mode": ([str(site.folder / "file")], "/", 126, "file: Permission denied"),
             "none": (["/nosuch/program"], "/", 127, "/nosuch/program: No such file or directory")}
    site.start(*(scheduled(name, command, directory=where) for name, (command, where, _, _) in cases.items()))
    for n, (name, (_, _, code, why)) in enumerate(cases.items(), 1):
        site.sidecar.due(name)
        ended = site.sidecar.finished(n)[-1]
        assert ended["exit_status"] == code and ended["start"].endswith(why), ended
        assert ended["output"].decode() == f"zkleader: {ended['start']}\n"


def test_jobs_have_them_too(site):
    where = site.folder / "where"
    where.mkdir()
    text = queue_text("q", command=shell("pwd; env"), directory=str(where), environment=["A=own"])
    site.start(text, queue_text("lost", command=["/bin/true"], directory="/nosuch/place"))
    for n in range(3):  # the process around them is the same, and starts in the home folder
        site.sidecar.job("q", f"q.{n}.x")
        lines = site.sidecar.ended(f"q.{n}.x")["output"].decode().splitlines()
        assert lines[0] == str(where) and {"A=own", "HOME=/root", f"ZKLEADER_JOB=q.{n}.x"} <= set(lines)
    site.sidecar.job("lost", "lost.1.x")
    ended = site.sidecar.ended("lost.1.x")
    assert (ended["exit_status"], ended["start"]) == (126, "the directory /nosuch/place: No such file or directory")
    site.write(queue_text("q", command=shell("pwd; env"), environment=["A=new"]))
    site.sidecar.job("q", "q.9.x")
    lines = site.sidecar.ended("q.9.x")["output"].decode().splitlines()
    assert lines[0] == "/root" and "A=new" in lines


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_relative_socket(site, how):
    site.runner.cwd = site.folder.parent
    relative = f"{site.folder.name}/s"
    if how == "variable":
        site.runner.extra_env = {"ZKLEADER_SOCKET": relative}
    site.runner.socket = relative
    site.runner.options = [] if how == "variable" else ["-s", relative]
    site.start(scheduled("report", ["/bin/pwd"]), queue_text("q", command=["/bin/pwd"]))
    site.sidecar.due("report")
    assert site.sidecar.finished()[0]["output"] == b"/root\n"
    site.sidecar.job("q", "q.1.x")
    assert site.sidecar.ended("q.1.x")["output"] == b"/root\n"


def test_a_runner_of_another_user(folder, base_folder):
    base_folder.chmod(0o755)
    site = Site(folder, user="nobody")
    site.runner.folder.chmod(0o777)
    (site.runner.folder / "reports").mkdir(mode=0o777, exist_ok=True)
    (site.runner.folder / "reports").chmod(0o777)
    try:
        site.write(scheduled("mine", shell("id -un; echo $USER"), user="nobody"), scheduled("roots", ["/bin/true"]))
        site.runner.start()
        if pathlib.Path(pwd.getpwnam("nobody").pw_dir).is_dir():
            site.sidecar.due("mine")
            assert site.sidecar.finished()[0]["output"] == b"nobody\nnobody\n"
            site.sidecar.due("roots")
            assert [r["task"] for r in site.refused()] == ["roots"]
        else:
            assert site.refused()[0]["task"] == "mine" and "home folder" in site.refused()[0]["message"]
            site.sidecar.due("roots")
            assert [r["task"] for r in site.refused(2)] == ["mine", "roots"] and not site.sidecar.all("claim")
    finally:
        assert not site.runner.close()
        site.sidecar.close()


@pytest.mark.slow
@pytest.mark.seconds(600)
def test_a_thousand_at_once(site):
    site.start(*[scheduled(f"t{i}", ["/bin/true"]) for i in range(1000)])
    began = time.monotonic()
    for i in range(1000):
        site.sidecar.due(f"t{i}")
    wait_until(lambda: len(site.sidecar.all("finish")) == 1000, 280, "all have ended")
    print(f"measured: 1,000 due at once, all ended {time.monotonic() - began:.1f} s later")
    holds_for(lambda: len(site.sidecar.all("claim")) == 1000, 0.2, "each once")


def begin_at_once():
    """As many as the runner starts before one of them has its answer."""
    return max(8, 4 * os.sysconf("SC_NPROCESSORS_ONLN"))


def test_so_many_begin_at_a_time(site):
    """Each that begins is several processes: with all at once the sidecar would not get its turn."""
    most = begin_at_once()
    names = [f"t{i}" for i in range(2 * most + 3)]
    site.sidecar.held = threading.Event()
    site.start(*[scheduled(name, ["/bin/true"]) for name in names])
    began = time.monotonic()
    for name in names:
        site.sidecar.due(name)
    wait_until(lambda: len(site.sidecar.claimed_at) > most, what="others are tried, as those wait for something")
    assert site.sidecar.claimed_at[most] - began >= 1, "the next one waits for a second"
    wait_until(lambda: len(site.sidecar.claimed_at) == len(names), what="all are tried")
    site.sidecar.held.set()
    site.sidecar.finished(len(names))
    assert sorted(params[0] for params in site.sidecar.all("claim")) == sorted(names), "each once"


def test_what_goes_on_holds_up_nothing(site):
    names = [f"t{i}" for i in range(2 * begin_at_once())]
    marks = site.folder / "marks"
    marks.mkdir()
    site.start(*[scheduled(name, shell(f"touch {marks}/{name}; exec sleep 1000")) for name in names])
    for name in names:
        site.sidecar.due(name)
    wait_until(lambda: len(list(marks.iterdir())) == len(names), 60, "all go on")
    assert not site.sidecar.all("finish")


def test_what_waits_for_its_turn_goes_with_the_sidecar(site):
    """The next one says what is due then."""
    most = begin_at_once()
    names = [f"t{i}" for i in range(most + 5)]
    site.sidecar.held = threading.Event()
    site.start(*[scheduled(name, ["/bin/true"]) for name in names])
    for name in names:
        site.sidecar.due(name)
    wait_until(lambda: len(site.sidecar.claimed_at) >= most, what="the first ones claim")
    site.sidecar.close()
    site.sidecar.held.set()
    site.sidecar.claimed_at = []
    site.sidecar.open()
    site.sidecar.due(names[-1])
    site.sidecar.finished()
    holds_for(lambda: names[-2] not in [params[0] for params in site.sidecar.all("claim")], 1.5, "it is not due any more")

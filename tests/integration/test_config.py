"""Configuration: what is wrong is told with file and line, and what changes takes effect by itself."""
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from harness.sidecar import Sidecar, build, task_text
from harness.waiting import holds_for, wait_until

BAD_CONFIG = 78
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def files(folder, zk):
    """A sidecar that is not started: its files alone."""
    return Sidecar(folder / "files", "files", zk, tasks=["nightly-report"])


def run_test(program, sidecar):
    return program("zkleaderd", "-t", "-c", sidecar.config_file)


def lines(outcome):
    """(file name, line) of each problem."""
    found = []
    for line in outcome.err.splitlines():
        match = re.fullmatch(r"(?:.*/)?([^/:]+):(\d+): (.+)", line)
        assert match, line
        found.append((match[1], int(match[2])))
    return found


# --- zkleaderd -t

def test_t_is_content_with_a_good_configuration_and_exits_0(program, files):
    outcome = run_test(program, files)
    assert outcome.code == 0 and outcome.err == "" and "1 task" in outcome.out


def test_t_tells_every_problem_of_the_configuration_and_exits_78(program, files):
    files.config_file.write_text(
        'zookeeper = "127.0.0.1:99999"\nroot = "/"\nsession-timeout = "1x"\nbogus = 3\n'
        'yield-delay = "2s"\nyield-delay = "3s"\naddress = "nope"\nlog-level = "loud"\n'
        'socket-mode = "0999"\ntick-guard = "31s"\nversion = ""\n', encoding="ascii")
    outcome = run_test(program, files)
    assert outcome.code == BAD_CONFIG and outcome.out == ""
    told = lines(outcome)
    assert {line for _, line in told} == {1, 2, 3, 4, 6, 7, 8, 9, 10, 11}
    assert {file for file, _ in told} == {"zkleader.conf"}


def test_t_tells_every_problem_of_every_task_file_and_exits_78(program, files):
    files.write_file('task "a" {\n  yield = "sometimes"\n  rank-position = 9\n}\ntask "b b" { tick = "1h" }\n', "a.conf")
    files.write_file('task "c" {\n', "c.conf")
    files.write_file('task "d" { }\ntask "d" { }\n', "d.conf")
    files.write_file('task "e" { }\nnonsense\n', "e.conf")
    files.write_file('task "nightly-report" { }\n', "z.conf")
    files.write_file("this is not looked at {{{", "README")
    files.write_file("nor is this {{{", ".hidden.conf")
    outcome = run_test(program, files)
    assert outcome.code == BAD_CONFIG
    assert lines(outcome) == [("a.conf", 2), ("a.conf", 3), ("a.conf", 5), ("c.conf", 1), ("d.conf", 2),
                              ("e.conf", 2), ("z.conf", 1)]


@pytest.mark.parametrize("text", ["", "version = \n", "version = \"1\"\nversion-file = \"x\"\n", "{", "\"", "\0", "\xff" * 100,
                                  "version = \"1\" }", "include(\"/etc/passwd\")\nversion = \"1\"\n", "version = \"1\"\n" * 3,
                                  "/* never closed"])
def test_a_bad_main_configuration_ends_the_sidecar_with_78(program, files, text):
    files.config_file.write_text(text, encoding="latin-1")
    for args in (["-t"], []):
        outcome = program("zkleaderd", *args, "-c", files.config_file)
        assert outcome.code == BAD_CONFIG and lines(outcome), outcome


def test_a_configuration_that_is_not_there_ends_the_sidecar_with_78(program, folder):
    outcome = program("zkleaderd", "-c", folder / "none.conf")
    assert outcome.code == BAD_CONFIG and outcome.err == f"{folder / 'none.conf'}: does not exist\n"


def test_t_warns_of_what_is_probably_not_meant_and_exits_0(program, files):
    files.write_file("task a {}\n", "a.cfg")
    files.write_tasks()
    outcome = run_test(program, files)
    assert outcome.code == 0 and "0 tasks" in outcome.out
    misnamed, none = outcome.err.splitlines()
    assert misnamed == f"{files.task_dir}/a.cfg: warning: is not read: its name does not end with .conf"
    assert re.search(r"/zkleader\.conf:\d+: warning: task-dir: no \*\.conf in .* has a task", none)


def test_the_shipped_configuration_has_no_version_and_nothing_starts_with_it(program, folder):
    shipped = folder / "zkleader.conf"
    shutil.copy(DOCS / "zkleader.conf", shipped)
    for args in (["-t"], []):
        outcome = program("zkleaderd", *args, "-c", shipped)
        assert outcome.code == BAD_CONFIG and "version or version-file is needed" in outcome.err, outcome


def test_a_session_timeout_that_the_server_does_not_grant_is_told_as_negotiated(fleet, zk):
    # The server grants at least two of its ticks of 200 ms and at most 60 s.
    most = fleet.sidecar("most", session_timeout="5m")
    assert most.status()["session"]["timeout_ms"] == 60_000


# --- limits of what the files come to together

def in_groups(names, group):
    return "".join(f'task "{name}" {{ spread = "{group(n)}" }}\n' for n, name in enumerate(names))


@pytest.mark.costly
def test_more_than_a_record_holds_is_refused_and_the_last_good_goes_on(program, fleet):
    """10,000 tasks with groups of 100 characters."""
    only = fleet.sidecar("only", start=False, session_timeout="30s")
    only.write_file(in_groups((f"a{n:04}" for n in range(5000)), lambda n: f"{n:0100}"), "a.conf")
    second = only.write_file(in_groups((f"b{n:04}" for n in range(100)), lambda n: f"{n:0100}"), "b.conf")
    assert run_test(program, only).code == 0
    only.start()
    only.write_file(in_groups((f"b{n:04}" for n in range(5000)), lambda n: f"{n:0100}"), "b.conf")
    outcome = run_test(program, only)
    assert outcome.code == BAD_CONFIG and lines(outcome) == [("b.conf", 1)] and "record" in outcome.err, outcome
    wait_until(lambda: [(p["file"], p["line"]) for p in only.problems()] == [(str(second), 1)], 60, "it is refused")
    assert only.is_running() and len(only.task_names()) == 5100


@pytest.mark.slow
def test_groups_as_far_as_the_record_holds_them_run(program, fleet, zk):
    only = fleet.sidecar("only", start=False)
    for k in range(2):
        names = [f"{k}{n:019}" for n in range(5000)]
        only.write_file(in_groups(names, lambda n: f"{n % 1000:042}"), f"{k}.conf")
    assert run_test(program, only).code == 0
    only.start()
    wait_until(lambda: len(zk.leaders()) == 10000, 60, "it leads all")


# --- conf.d

def test_a_task_file_that_is_dropped_in_takes_effect_by_itself(fleet, zk):
    only = fleet.sidecar("only", tasks=["first"], session_timeout="10s")
    other = fleet.sidecar("other", version="0.1", session_timeout="10s")
    wait_until(lambda: only.leads("first"), what="it leads")
    token, old_id = zk.leader("first")[1], only.id
    only.write_tasks("second", task_text("third", description="and one more"), file="more.conf")
    wait_until(lambda: only.leads("second") and only.leads("third"), what="it leads the new ones")
    assert only.task_names() == ["first", "second", "third"]
    assert zk.leader("first")[1] == token, "what was led stays"
    assert zk.workers()[only.id]["tasks"] == ["first", "second", "third"] and only.id != old_id
    wait_until(lambda: [w["tasks"] for w in other.call("workers")] == [["first", "second", "third"], []],
               what="the other sees it")


def test_a_change_of_a_task_file_takes_effect_by_itself(fleet, zk):
    only = fleet.sidecar("only", version="1.5", tasks=["changing", "staying"])
    wait_until(lambda: only.leads("changing"), what="it leads")
    only.write_tasks(task_text("changing", min_version="2"), "staying")
    wait_until(lambda: "changing" not in zk.leaders(), what="it is no candidate any more, and gives it up")
    assert not only.leads("changing") and only.leads("staying")
    only.write_tasks(task_text("changing", min_version="1.5"), "staying")
    wait_until(lambda: only.leads("changing"), what="it leads again")


def test_a_task_file_that_is_removed_takes_effect_by_itself(fleet, zk):
    only = fleet.sidecar("only", tasks=["staying"])
    other = fleet.sidecar("other", version="0.1", tasks=["going"])
    file = only.write_tasks("going", file="going.conf")
    wait_until(lambda: zk.leaders() == {"staying": only.id, "going": only.id}, what="it leads both")
    token = zk.leader("going")[1]
    file.unlink()
    wait_until(lambda: zk.leaders().get("going") == other.id, what="another leads it")
    assert zk.leader("going")[1] > token
    assert only.error_of("check", "going").code == 3
    assert only.task_names() == ["staying"] and zk.workers()[only.id]["tasks"] == ["staying"]
    only.write_tasks("going", file="going.conf")
    wait_until(lambda: only.leads("going"), what="back again, it leads it")


def test_a_task_dir_that_is_replaced_is_followed(fleet, zk):
    only = fleet.sidecar("only", tasks=["first"])
    wait_until(lambda: only.leads("first"), what="it leads")
    shutil.rmtree(only.task_dir)
    wait_until(lambda: only.problems(), what="that there is no folder is a problem")
    new = only.folder / "new"
    new.mkdir()
    (new / "a.conf").write_text(task_text("second"), encoding="ascii")
    new.rename(only.task_dir)
    wait_until(lambda: only.task_names() == ["second"] and only.leads("second"), what="the new folder counts")
    assert only.problems() == []
    only.write_tasks("third", file="b.conf")
    wait_until(lambda: only.leads("third"), what="and is watched")


def test_files_renamed_into_place_as_editors_and_deployments_do_are_taken(fleet, zk):
    only = fleet.sidecar("only", tasks=["first"])
    draft = only.folder / "draft"
    draft.write_text(task_text("second"), encoding="ascii")
    os.rename(draft, only.task_dir / "tasks.conf")
    wait_until(lambda: only.task_names() == ["second"] and only.leads("second"), what="the new file counts")
    target = only.folder / "target.conf"
    target.write_text(task_text("linked"), encoding="ascii")
    (only.task_dir / "link.conf").symlink_to(target)
    wait_until(lambda: only.leads("linked"), what="a link is followed")


def test_what_becomes_of_the_file_behind_a_link_is_seen(fleet, zk):
    only = fleet.sidecar("only", tasks=["first"])
    for name in "ab":
        (only.folder / name).mkdir()
        (only.folder / name / "real.conf").write_text(task_text(f"of-{name}"), encoding="ascii")
    (only.folder / "now").symlink_to("a")
    (only.task_dir / "link.conf").symlink_to("../now/real.conf")
    wait_until(lambda: only.leads("of-a"), what="it leads")
    (only.folder / "a" / "real.conf").write_text(task_text("changed"), encoding="ascii")
    wait_until(lambda: only.task_names() == ["changed", "first"], what="the file has changed")
    (only.folder / "next").symlink_to("b")
    os.rename(only.folder / "next", only.folder / "now")
    wait_until(lambda: only.task_names() == ["first", "of-b"], what="the link on the way leads elsewhere")
    (only.folder / "b" / "real.conf").unlink()
    wait_until(lambda: only.problems() or only.task_names() == ["first"], what="the file is gone")
    (only.folder / "b" / "real.conf").write_text(task_text("back"), encoding="ascii")
    wait_until(lambda: only.task_names() == ["back", "first"] and only.problems() == [], what="it is there again")


def test_a_file_written_in_several_steps_counts_once_it_is_whole(fleet, zk):
    only = fleet.sidecar("only", tasks=["first"])
    with open(only.task_dir / "slow.conf", "w", encoding="ascii") as f:
        for part in ('task "se', 'cond" {', '\n', '}\n'):
            f.write(part)
            f.flush()
            wait_until(lambda: only.status(), what="an answer in between")
    wait_until(lambda: only.leads("second") and only.problems() == [], what="it leads")


def test_a_bad_file_refuses_that_file_alone_and_what_ran_goes_on(fleet, zk):
    only = fleet.sidecar("only", version="1", tasks=["first"], session_timeout="10s")
    other = fleet.sidecar("other", version="0.5", tasks=["running"], session_timeout="10s")
    only.write_tasks("running", task_text("too", description="in the same file"), file="some.conf")
    wait_until(lambda: only.leads("running") and only.leads("first") and only.leads("too"), what="it leads")
    tokens = zk.tokens()
    only.write_file('task "running" { }\ntask "too" { }\ntask "fresh" {\n  yield = "maybe"\n}\n', "some.conf")
    only.write_tasks("good", file="good.conf")
    problem = wait_until(lambda: only.problems(), what="status tells the problem")[0]
    assert problem["file"] == str(only.task_dir / "some.conf") and problem["line"] == 4
    assert "yield" in problem["message"]
    wait_until(lambda: only.leads("good"), what="a good file is taken")
    assert only.task_names() == ["first", "good", "running", "too"]
    assert {t: token for t, token in zk.tokens().items() if t in tokens} == tokens
    assert not only.status()["healthy"] and not other.leads("running")
    refused = [line for line in only.log().splitlines() if " error refused" in line]
    assert len(refused) == 1 and "some.conf" in refused[0] and "line=4" in refused[0]
    error = only.error_of("check", "fresh")
    assert error.code == 3 and "some.conf:4" in error.message
    # Repaired, it counts as it now is.
    only.write_tasks("running", "fresh", file="some.conf")
    wait_until(lambda: only.leads("fresh"), what="the repaired file counts")
    assert only.problems() == [] and only.status()["healthy"]
    assert only.task_names() == ["first", "fresh", "good", "running"]
    assert zk.leader("running")[1] == tokens["running"]


def test_a_bad_file_that_vanishes_takes_its_last_good_tasks_along(fleet, zk):
    only = fleet.sidecar("only", version="1", tasks=["first"])
    file = only.write_tasks("running", file="some.conf")
    wait_until(lambda: only.leads("running"), what="it leads")
    only.write_file("{", "some.conf")
    wait_until(lambda: only.problems(), what="status tells the problem")
    assert only.leads("running")
    file.unlink()
    wait_until(lambda: only.task_names() == ["first"] and not only.problems(), what="all of it is gone")
    wait_until(lambda: set(zk.leaders()) == {"first"}, what="and is not led any more")


def test_a_bad_file_at_the_start_refuses_that_file_alone(fleet, zk):
    only = fleet.sidecar("only", tasks=["first"], start=False)
    only.write_file('task "bad" {\n  yeild = "rank"\n}\n', "bad.conf")
    only.start()
    wait_until(lambda: only.leads("first"), what="it leads")
    [problem] = only.problems()
    assert problem["line"] == 2 and "yeild" in problem["message"] and "did you mean \"yield\"" in problem["message"]


def test_a_task_that_two_files_have_is_that_of_the_first(fleet, zk):
    only = fleet.sidecar("only", tasks=["shared"])
    only.write_tasks("shared", "alone", file="zz.conf")
    problem = wait_until(lambda: only.problems(), what="status tells the problem")[0]
    assert problem["file"].endswith("zz.conf") and "shared" in problem["message"]
    assert only.task_names() == ["shared"]


# --- HUP and reload

@pytest.mark.parametrize("how", ["HUP", "rpc"])
def test_reload_reads_all_files_again(fleet, zk, how):
    only = fleet.sidecar("only", version="1", tasks=["first"], log_level="info", session_timeout="10s")
    wait_until(lambda: only.leads("first"), what="it leads")
    token, old_id = zk.leader("first")[1], only.id
    only.write_config(version="2", yield_delay="1s")

    def reload():
        if how == "HUP":
            only.signal(signal.SIGHUP)
            return None
        return only.call("reload")

    answer = reload()
    wait_until(lambda: only.status()["version"] == "2", what="the new version counts")
    wait_until(lambda: only.id != old_id and zk.workers()[only.id]["version"] == "2", what="it is registered")
    assert zk.leader("first")[1] == token and only.leads("first")
    if answer:
        assert any("version" in c for c in answer["changes"]) and any("yield-delay" in c for c in answer["changes"])
        assert answer["problems"] == []
    # A bad main configuration leaves the last good one in force.
    only.config_file.write_text('version = "3"\nbogus = 1\n', encoding="ascii")
    answer = reload()
    problem = wait_until(lambda: only.problems(), what="status tells the problem")[0]
    assert problem["line"] == 2 and problem["file"] == str(only.config_file)
    assert only.status()["version"] == "2" and only.leads("first")
    if answer:
        assert answer["problems"] == only.problems()
    only.write_config(version="2")
    reload()
    wait_until(lambda: only.problems() == [], what="all is well again")


@pytest.mark.parametrize("key, value", [
    ("yield-delay", "1s"), ("stop-wait", "2s"), ("tick-guard", "1s"), ("clock-tolerance", "9s"), ("version-strip", "v"),
    ("timezone", "Europe/Berlin"), ("recipe-users", ["nobody"]), ("health-file", "/nonexistent/x"), ("log-level", "error"),
    ("task-dir", None)])
def test_a_key_that_takes_effect_is_told(fleet, zk, key, value):
    only = fleet.sidecar("only", tasks=["first"])
    other = only.folder / "other"
    other.mkdir()
    only.write_config(**{key.replace("-", "_"): value or other})
    changes = [c for c in only.call("reload")["changes"] if c.startswith("changed:")]
    assert len(changes) == 1 and key.split("-file", maxsplit=1)[0] in changes[0], changes
    assert [c for c in only.call("reload")["changes"] if c.startswith("changed:")] == []


def test_a_key_that_needs_a_restart_is_told_and_not_half_applied(fleet, zk):
    only = fleet.sidecar("only", tasks=["first"])
    wait_until(lambda: only.leads("first"), what="it leads")
    only.write_config(root="/elsewhere", session_timeout="9s", socket=only.folder / "t")
    changes = "\n".join(only.call("reload")["changes"])
    assert all(f"restart: {key}" in changes for key in ("root", "session-timeout", "socket"))
    holds_for(lambda: only.leads("first") and only.id in zk.workers(), 0.5)
    assert only.socket.exists() and not (only.folder / "t").exists()


def test_many_hups_at_once_do_no_harm(fleet, zk):
    only = fleet.sidecar("only", tasks=["first"], session_timeout="10s")
    wait_until(lambda: only.leads("first"), what="it leads")
    token = zk.leader("first")[1]
    for i in range(50):
        only.write_tasks("first", file="tasks.conf")
        only.write_tasks(f"n-{i}", file="more.conf")
        only.signal(signal.SIGHUP)
    wait_until(lambda: only.task_names() == ["first", "n-49"], what="the last counts")
    wait_until(lambda: only.leads("n-49") and only.leads("first"), what="it leads both")
    wait_until(lambda: set(zk.leaders()) == {"first", "n-49"}, what="none of the others is led")
    assert zk.leader("first")[1] == token


# --- the log

def test_a_json_log_has_one_object_a_line(fleet, zk):
    only = fleet.sidecar("only", tasks=["first"], log_format="json", log_level="debug")
    other = fleet.sidecar("other", version="0.1", tasks=["first"], log_format="json", log_level="debug")
    wait_until(lambda: only.leads("first"), what="it leads")
    only.write_file('task "\x1b[31m" { }\n', "bad.conf")
    wait_until(lambda: only.problems(), what="status tells the problem")
    assert only.stop() == 0 and other.stop() == 0
    for sidecar in (only, other):
        records = sidecar.log_records()
        assert len(records) > 10 and all(isinstance(r, dict) for r in records)
        assert all({"time", "level"} <= set(r) for r in records), records[0]


def test_log_level_error_is_silent_while_all_is_well(fleet, zk):
    only = fleet.sidecar("only", tasks=["first"], log_level="error")
    wait_until(lambda: only.leads("first"), what="it leads")
    assert only.stop() == 0
    assert only.log() == ""


# --- options

def test_help_and_version_exit_0_and_misuse_does_not(program):
    for option in ("-h", "--help", "-V", "--version"):
        outcome = program("zkleaderd", option)
        assert outcome.code == 0 and "zkleaderd" in outcome.out and outcome.err == ""
    for args in (["--bogus"], ["extra"], ["-c"]):
        outcome = program("zkleaderd", *args)
        assert outcome.code == 1 and outcome.out == "" and outcome.err != ""


@pytest.mark.parametrize("name", ["zkleader", "zkleaderd", "zkleader-runner", "zkleader-web", "zkleader-notify"])
def test_help_that_cannot_be_written_is_no_success(name):
    for option in ("-h", "-V"):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([build() / name, option], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode != 0 and done.stderr == f"{name}: the output could not be written\n"


# --- versions whose form deceives

def test_a_version_whose_form_deceives_is_a_warning_everywhere_and_no_more(program, files):
    files.write_config(version="v1.6")
    files.write_file('task "nightly-report" {\n  min-version = "1.5.O"\n}\n', "tasks.conf")
    outcome = run_test(program, files)
    assert outcome.code == 0 and "1 task" in outcome.out
    main, task = outcome.err.splitlines()
    assert re.search(r'/zkleader\.conf:\d+: warning: version: "v1\.6" begins with no number', main)
    assert re.search(r'/tasks\.conf:2: warning: min-version: "1\.5\.O" has a letter', task)
    files.start()
    status = files.status()
    assert status["healthy"] and [w["line"] for w in status["warnings"]] == [int(main.split(":")[1]), 2]
    shown = program("zkleader", "-s", files.socket, "status")
    assert shown.code == 0 and "Warnings   in the configuration:" in shown.out and '"v1.6"' in shown.out
    assert files.log().count("odd configuration") == 2
    # A mended setting is no longer warned of; the task's file stays as it is.
    files.write_config(version_strip="v")
    told = program("zkleader", "-s", files.socket, "reload")
    assert told.code == 0 and "version changed: 1.6" in told.out
    assert "warning: " in told.err and "min-version" in told.err and "v1.6" not in told.err
    wait_until(lambda: files.status()["version"] == "1.6" and len(files.status()["warnings"]) == 1, what="one warning")
    files.write_file('task "nightly-report" {}\n', "tasks.conf")
    wait_until(lambda: files.status()["warnings"] == [], what="no warnings")


def test_the_version_file_is_stripped_and_warned_of_when_it_changes(files):
    version_file = files.folder / "VERSION"
    version_file.write_text("v1.5\n", encoding="ascii")
    files.write_config(version=None, version_file=version_file, version_strip="v")
    files.start()
    assert files.status()["version"] == "1.5" and files.status()["warnings"] == []
    version_file.write_text("latest\n", encoding="ascii")
    wait_until(lambda: files.status()["version"] == "latest" and len(files.status()["warnings"]) == 1, what="a warning")
    version_file.write_text("v1.7\n", encoding="ascii")
    wait_until(lambda: files.status()["version"] == "1.7" and files.status()["warnings"] == [], what="no warning")

"""notify: people are told of each event once for the fleet, whoever dies, and whatever those do who are told."""
import json
import os
import pathlib
import socketserver
import threading
import time

import pytest

from harness.hooks import Hooks, Notifier
from harness.process import end, spawn
from harness.runner import Runner, scheduled
from harness.sidecar import build, queue_text, quoted, task_text
from harness.waiting import holds_for, wait_until

TASK = "nightly"
KEYS = {"event", "id", "task", "node", "version", "time", "token", "tick", "attempt", "exit_status", "output", "text",
        "why", "detail", "final", "failed", "since", "first"}


@pytest.fixture
def hooks():
    made = Hooks()
    yield made
    made.close()


@pytest.fixture
def runners(folder):
    made = []

    def of(sidecar):
        made.append(Runner(folder / f"runner{len(made)}", sidecar.socket, sidecar.config_file))
        made[-1].start()

    yield of
    reports = [r for one in made for r in one.close()]
    assert not reports, "\n".join(reports)


@pytest.fixture
def notifier(folder):
    made = []

    def of(sidecar, **kwargs):
        made.append(Notifier(folder / f"notify{len(made)}", sidecar, **kwargs))
        return made[-1]

    yield of
    reports = [r for one in made for r in one.close()]
    assert not reports, "\n".join(reports)


def section(name="chat", **values):
    def text(value):
        return "{" + ", ".join(quoted(v) for v in value) + "}" if isinstance(value, (list, tuple)) else quoted(value)
    return f'notify "{name}" {{\n' + "".join(f"  {k} = {text(v)}\n" for k, v in values.items()) + "}\n"


def begin(fleet, name="a", text="", tasks=(TASK,), ready=True, **kwargs):
    one = fleet.sidecar(name, start=False, tasks=list(tasks), **{"session_timeout": "10s", **kwargs})
    one.write_file(text, "notify.conf")
    one.start(ready)
    return one


def run(jobs, a, body, *options, code=None):
    assert jobs(TASK).run(a, *options, body=body).code() == code


def test_a_run_that_fails_is_told_with_all_that_is_known(fleet, hooks, notifier, jobs, zk):
    a = begin(fleet, text=section(url=hooks.url("/x?key=secret"), on=["failed"]), tasks=[task_text(TASK, tick="1s")])
    wait_until(lambda: a.leads(TASK), what="a leads")
    n = notifier(a)
    run(jobs, a, "exit 3", "--tick", "1s", code=3)
    [event] = hooks.events(1)
    assert set(event) == KEYS
    assert event["event"] == "failed" and event["task"] == TASK and event["version"] == "1.0"
    assert event["attempt"] == 1 and event["exit_status"] == 3 and event["token"] > 0
    assert event["tick"].endswith("Z") and event["time"].endswith("Z") and event["output"] is None
    assert TASK in event["text"] and "status 3" in event["text"]
    assert (event["why"], event["detail"]) == ("status", "exit status 3")
    run(jobs, a, "exit 4", "--tick", "none", code=4)
    event = hooks.events(2)[1]
    assert event["tick"] is None and event["exit_status"] == 4
    wait_until(lambda: zk.names("notices") == [], what="they are forgotten once spooled")
    run(jobs, a, "true", "--tick", "none", code=0)
    wait_until(lambda: not list(n.spool.iterdir()), what="the spool is empty")
    assert len(hooks.seen) == 2 and "secret" not in n.log() + a.log()


def test_a_tick_that_its_leader_lets_pass_is_told_by_the_best_of_those_that_waited(fleet, hooks, notifier, jobs, program):
    task, text = task_text(TASK, tick="1s", wait="300ms"), section(url=hooks.url("/x"), on=["missed"])
    last, best, leader = [begin(fleet, name, text, [task], version=version)
                          for name, version in (("c", "1.1"), ("b", "1.2"), ("a", "1.3"))]
    waiters = (last, best)
    wait_until(lambda: leader.leads(TASK) and all(w.check(TASK)["led_by"] and len(w.call("workers")) == 3 for w in waiters),
               what="all know")
    for one in (*waiters, leader):
        notifier(one)
    job = jobs(TASK)
    run = [job.run(w, "-E", "7", "--tick", "1h") for w in waiters]
    assert [r.wait()[0] for r in run] == [7, 7]
    [event] = hooks.events(1)
    names = {one: next(w["node"] for w in one.call("workers") if w["self"]) for one in (best, leader)}
    assert (event["event"], event["task"], event["why"], event["node"]) == ("missed", TASK, "unclaimed", names[best])
    assert names[leader] in event["detail"]
    for one, state in ((best, "unclaimed"), (last, "unclaimed"), (leader, "unknown")):
        told = program("zkleader", "-s", one.socket, "explain", TASK, "--tick", event["tick"], "--json")
        told = json.loads(told.out)
        assert (told["state"], told["why"], told["record"]) == (state, "unclaimed" if one != leader else None, None)
    holds_for(lambda: len(hooks.seen) == 1, 1, "one message for the fleet")


def test_where_nobody_wants_it_nothing_is_written(fleet, hooks, notifier, jobs, zk):
    a = begin(fleet, tasks=[task_text(TASK, tick="1s")])
    wait_until(lambda: a.leads(TASK), what="a leads")
    notifier(a)
    run(jobs, a, "exit 3", "--tick", "1s", code=3)
    assert "notices" not in zk.names() and "led" not in zk.names()
    a.write_file(section(url=hooks.url("/x"), on=["lost"], tasks=["other*"]), "notify.conf")
    wait_until(lambda: "notices" in zk.names(), what="it is read")
    run(jobs, a, "exit 3", "--tick", "none", code=3)
    assert zk.names("notices") == [] and not hooks.seen


def test_a_new_leader_and_the_run_that_was_lost_are_told_once_by_a_fleet_of_three(fleet, hooks, notifier, jobs, zk):
    text = section(url=hooks.url("/x"), on=["leader", "lost", "failed"])
    a, *rest = (begin(fleet, name, text, version=version, tasks=[task_text(TASK, tick="1s")])
                for name, version in (("a", "3"), ("b", "2"), ("c", "1")))
    for one in (a, *rest):
        notifier(one)
    wait_until(lambda: a.leads(TASK), what="a leads")
    job = jobs(TASK)
    job.run(a, "--tick", "1s", body="sleep 60")
    job.wait_started(1)
    wait_until(lambda: zk.names("led") == [TASK] and zk.names("notices") == [], what="the first leader is known")
    a.kill()
    wait_until(lambda: rest[0].leads(TASK), what="b leads")
    found = {e["event"]: e for e in hooks.events(2)}
    assert set(found) == {"leader", "lost"}
    assert found["leader"]["token"] == rest[0].check(TASK)["token"]
    assert found["leader"]["version"] == "2" and found["lost"]["attempt"] == 1 and found["lost"]["exit_status"] is None
    wait_until(lambda: zk.names("notices") == [], what="all is spooled")
    holds_for(lambda: len(hooks.seen) == 2, 3, "one message of each")


def test_who_dies_before_it_is_spooled_leaves_it_to_another(fleet, hooks, notifier, jobs, zk):
    text = section(url=hooks.url("/x"), on=["failed"])
    a, b, c = (begin(fleet, name, text, version=version, tasks=[task_text(TASK, tick="1s")])
               for name, version in (("a", "3"), ("b", "2"), ("c", "1")))
    wait_until(lambda: a.leads(TASK), what="a leads")
    run(jobs, a, "exit 3", "--tick", "1s", code=3)
    wait_until(lambda: len(zk.names("notices")) == 1, what="it is noted")
    [name] = zk.names("notices")
    notifier(b), notifier(c)
    holds_for(lambda: not hooks.seen, 2, "a is there still, whose it is")
    a.kill()
    [event] = hooks.events(1)
    assert name.endswith(event["id"]) and event["exit_status"] == 3
    wait_until(lambda: zk.names("notices") == [], what="it is forgotten")
    holds_for(lambda: len(hooks.seen) == 1, 2, "one message")


def test_a_sidecar_and_a_notifier_that_are_killed_lose_nothing(fleet, hooks, notifier, jobs, zk):
    a = begin(fleet, text=section(url=hooks.url("/x"), on=["failed"]), tasks=[task_text(TASK, tick="1s")])
    wait_until(lambda: a.leads(TASK), what="a leads")
    run(jobs, a, "exit 3", "--tick", "1s", code=3)
    wait_until(lambda: len(zk.names("notices")) == 1, what="it is noted")
    a.kill()
    a.start()
    hooks.answers = [500, "close", 503]
    n = notifier(a)
    wait_until(lambda: hooks.seen, what="it is tried")
    n.kill()
    n.start()
    [event] = hooks.events(1)
    assert {json.loads(body)["id"] for _, body in hooks.seen} == {event["id"]}
    wait_until(lambda: zk.names("notices") == [] and not list(n.spool.iterdir()), what="all is done")


def test_a_spool_that_cannot_be_used_is_a_problem_and_nothing_is_lost(fleet, hooks, notifier, jobs, zk, folder):
    a = begin(fleet, text=section(url=hooks.url("/x"), on=["failed"]), tasks=[task_text(TASK, tick="1s")])
    wait_until(lambda: a.leads(TASK), what="a leads")
    wait_until(lambda: any("zkleader-notify is there" in p["message"] for p in a.problems()), what="none is there")
    spool = folder / "no" / "away"
    notifier(a, spool=spool)
    wait_until(lambda: any("the spool cannot be used" in p["message"] and p["file"] == str(spool)
                           and f"install -d -m 0700 -o {os.geteuid()} {spool}"[:100] in p["message"]
                           for p in a.problems()), what="it is a problem, with its remedy")
    run(jobs, a, "exit 3", "--tick", "1s", code=3)
    holds_for(lambda: len(zk.names("notices")) == 1 and not hooks.seen, 1, "it waits")
    spool.parent.mkdir()
    wait_until(spool.is_dir, what="it makes the folder")
    assert spool.stat().st_mode & 0o777 == 0o700
    assert hooks.events(1)[0]["exit_status"] == 3
    wait_until(lambda: a.problems() == [] and zk.names("notices") == [], what="all is well")


@pytest.mark.slow
def test_a_full_spool_is_a_problem_and_what_is_in_it_outlives_a_restart(fleet, hooks, notifier, jobs, zk, folder):
    script, block, out = folder / "tell", folder / "block", folder / "told"
    script.write_text(f"#!/bin/sh\n[ ! -e {block} ] || exit 1\nprintf '%s\\n' \"$(cat)\" >> {out}\n")
    script.chmod(0o755)
    block.touch()
    a = begin(fleet, text=section("sh", command=[script], on=["failed"]), tasks=[task_text(TASK, tick="1s")])
    wait_until(lambda: a.leads(TASK), what="a leads")
    spool, now_ms = folder / "full", int(time.time() * 1000)
    spool.mkdir()
    (spool / f"{0:016x}.{0:08x}").write_text("{")
    n = notifier(a, spool=spool)
    assert (spool / f"bad-{0:016x}.{0:08x}").exists()
    n.kill()
    for i in range(10_000):
        (spool / f"{i:016x}.{i:08x}").write_text(json.dumps(
            {"channel": "sh/command" if i < 3 else "gone/url", "since": now_ms - (86_400_000 if i == 9_999 else 0),
             "event": {"id": f"old-{i}", "event": "failed", "text": "old"}}))
    (spool / f"{9_999:016x}.{9_999:08x}").rename(spool / f"{9_998:016x}.{9_999:08x}")
    n.start()
    wait_until(lambda: any(p["file"] == str(spool) and "the spool is full" in p["message"] or p["file"] == "gone/url"
                           for p in a.problems()), what="it is a problem")
    wait_until(lambda: "a message was given up" in n.log(), what="what is a day old is given up")
    run(jobs, a, "exit 3", "--tick", "1s", code=3)
    run(jobs, a, "exit 4", "--tick", "none", code=4)
    wait_until(lambda: any("the spool is full" in p["message"] for p in a.problems()), what="it is full again")
    wait_until(lambda: len(zk.names("notices")) == 1, what="the second one waits")
    block.unlink()
    wait_until(lambda: out.exists() and out.read_text().count("\n") == 5, 90, "all five have been told")
    told = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted(e.get("exit_status", 0) for e in told) == [0, 0, 0, 3, 4] and len({e["id"] for e in told}) == 5
    wait_until(lambda: zk.names("notices") == [], what="nothing waits")
    assert any(p["file"] == "gone/url" for p in a.problems())


def test_who_is_told_by_a_command_and_in_which_form(fleet, hooks, notifier, jobs, folder):
    script, out = folder / "tell", folder / "told"
    script.write_text(f"#!/bin/sh\n[ -e {folder}/once ] || {{ touch {folder}/once; exit 1; }}\nprintf '%s\\n' \"$(cat)\" >> {out}\n")
    script.chmod(0o755)
    text = (section("sh", command=[script, "x"], on=["failed"]) +
            section("slack", url=hooks.url("/slack"), template="slack", on=["failed"], tasks=["night*"]) +
            section("am", url=hooks.url("/am"), template="alertmanager", on="failed") +
            section("none", url=hooks.url("/none"), tasks=["other"], on=["failed"]))
    a = begin(fleet, text=text, tasks=[task_text(TASK, tick="1s")])
    wait_until(lambda: a.leads(TASK), what="a leads")
    notifier(a)
    run(jobs, a, "exit 3", "--tick", "1s", code=3)
    got = dict(hooks.wait(2))
    assert set(got) == {"/slack", "/am"}
    slack, [alert] = json.loads(got["/slack"]), json.loads(got["/am"])
    assert set(slack) == {"text"} and slack["text"].startswith("*failed*: ") and "status 3" in slack["text"]
    assert alert["labels"]["alertname"] == "ZkleaderFailed" and alert["labels"]["task"] == TASK
    assert (alert["annotations"]["why"], alert["annotations"]["detail"]) == ("status", "exit status 3")
    assert alert["startsAt"].endswith("Z") and "status 3" in alert["annotations"]["summary"]
    event = json.loads(wait_until(lambda: out.exists() and out.read_text().strip(), what="the command has run again"))
    assert set(event) == KEYS and event["id"] == alert["labels"]["id"]


def test_a_file_that_others_can_write_is_not_heeded_and_named(fleet, hooks, notifier, jobs):
    a = begin(fleet, text=section(url=hooks.url("/x"), on=["failed"]), tasks=[task_text(TASK, tick="1s")])
    path = a.task_dir / "notify.conf"
    path.chmod(0o666)
    wait_until(lambda: a.leads(TASK), what="a leads")
    n = notifier(a)
    wait_until(lambda: any(p["file"] == str(path) and "chmod go-w" in p["message"] for p in a.problems()), what="named")
    run(jobs, a, "exit 3", "--tick", "1s", code=3)
    assert "nobody is told by what this file says" in n.log() and not hooks.seen


@pytest.mark.slow
def test_nodes_that_are_back_from_an_outage_are_one_message_a_minute_later(fleet, hooks, notifier, own_server, zk):
    own_server.start()
    nodes = [begin(fleet, name, section(url=hooks.url("/x"), on=["disconnected"])) for name in ("a", "b", "c")]
    for one in nodes:
        notifier(one)
    wait_until(lambda: all(len(n.call("workers")) == 3 for n in nodes), what="all are there")
    own_server.kill()
    wait_until(lambda: all(n.status()["session"]["state"] != "connected" for n in nodes), what="all are cut off")
    time.sleep(12)
    assert not hooks.seen
    own_server.start()
    for one in nodes:
        one.wait_connected(60)
    began = time.monotonic()
    names = [next(w["node"] for w in one.call("workers") if w["self"]) for one in nodes]
    [event] = hooks.events(1, 120)
    assert time.monotonic() - began > 30
    assert event["event"] == "disconnected" and event["task"] is None
    assert event["text"].startswith("3 servers were without ZooKeeper, and are back: ")
    assert all(name in event["text"] and name in event["output"] for name in names)
    holds_for(lambda: len(hooks.seen) == 1, 5, "one message")


def test_a_task_that_is_overdue_is_told_once_until_it_was_run_well(fleet, hooks, notifier, jobs, zk):
    text = section(url=hooks.url("/x"), on=["overdue"])
    task = task_text(TASK, alert_after="2s", tick="1s")
    a, b = (begin(fleet, name, text, version=version, tasks=[task]) for name, version in (("a", "2"), ("b", "1")))
    notifier(a), notifier(b)
    assert hooks.events(1)[0]["task"] == TASK
    wait_until(lambda: a.leads(TASK), what="a leads")
    a.stop()
    wait_until(lambda: b.leads(TASK), what="b leads")
    b.wait_log("task overdue")
    holds_for(lambda: len(hooks.seen) == 1, 2, "b knows that it was told")
    run(jobs, b, "true", "--tick", "1s", code=0)
    assert len(hooks.events(2)) == 2


def test_ticks_that_were_missed_are_told_by_the_leader(fleet, hooks, notifier, folder, zk):
    task = scheduled("report", ["/bin/true"], schedule="every 1s", catch_up="none")
    a = begin(fleet, text=section(url=hooks.url("/x"), on=["missed"]), tasks=[task])
    wait_until(lambda: zk.names("schedules") == ["report"], what="the schedule is in force")
    a.stop()
    time.sleep(3)
    a.start()
    notifier(a)
    event = hooks.events(1)[0]
    assert event["event"] == "missed" and event["task"] == "report" and event["tick"].endswith("Z")


def test_a_rolling_restart_that_is_halted_is_told(fleet, hooks, notifier):
    a = begin(fleet, text=section(url=hooks.url("/x"), on=["halted"]))
    notifier(a)
    process = spawn([build() / "zkleader", "-s", a.socket, "rolling", "web", "--soak", "0s", "--", "false"])
    try:
        assert process.wait(60) == 1
    finally:
        end(process)
    [event] = hooks.events(1)
    assert event["event"] == "halted" and event["exit_status"] == 1 and "web" in event["text"]


def test_a_rollout_that_is_complete_is_told_once(fleet, hooks, notifier, zk):
    text = section(url=hooks.url("/x"), on=["rollout"])
    a, b, c = (begin(fleet, name, text, version="1.4") for name in "abc")
    for one in (a, b, c):
        notifier(one)
    wait_until(lambda: zk.get("notices")[0] == b"1.4", what="the version is known")
    for one in (a, b, c):
        one.write_config(version="1.5")
        one.call("reload")
    [event] = hooks.events(1)
    assert event["event"] == "rollout" and event["version"] == "1.5" and "3 of 3" in event["text"]
    holds_for(lambda: len(hooks.seen) == 1, 3, "once for the fleet")


def test_a_dead_letter_is_told(queues, hooks, notifier, zk):
    a = queues.site("a", queue_text("q", command=["/bin/false"], user="root", attempts=1))
    a.write_file(section(url=hooks.url("/x"), on=["dead"], tasks=["q"]), "notify.conf")
    a.call("reload")
    queues.wait_open()
    notifier(a)
    job = queues.submit(a, payload=b"x")
    assert queues.wait_state(a, job)["state"] == "dead"
    [event] = hooks.events(1)
    assert event["event"] == "dead" and event["task"] == "q" and event["attempt"] == 1 and event["exit_status"] == 1
    assert job in event["text"] and event["output"] is None
    wait_until(lambda: zk.names("notices") == [], what="it is forgotten")


class Mailbox(socketserver.BaseRequestHandler):
    """The least of SMTP."""

    def handle(self):
        lines, data = self.request.makefile("r", newline="\r\n"), None
        self.request.sendall(b"220 here\r\n")
        for line in lines:
            if data is not None and line != ".\r\n":
                data.append(line)
                continue
            if data is not None:
                self.server.mails.append("".join(data))
            word = line[:4].upper()
            data = [] if word == "DATA" else None
            self.request.sendall({"DATA": b"354 go on\r\n", "QUIT": b"221 bye\r\n"}.get(word, b"250 good\r\n"))


def test_an_event_becomes_a_mail_by_the_example(fleet, notifier, jobs):
    example = pathlib.Path(__file__).parents[2] / "docs/examples/mail.py"
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mailbox) as server:
        server.mails, server.daemon_threads = [], True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        command = ["/usr/bin/python3", example, "ops@example.org", "--server", f"127.0.0.1:{server.server_address[1]}"]
        a = begin(fleet, text=section("mail", command=command, on=["failed"]), tasks=[task_text(TASK, tick="1s")])
        wait_until(lambda: a.leads(TASK), what="a leads")
        notifier(a)
        run(jobs, a, "exit 3", "--tick", "none", code=3)
        [mail] = wait_until(lambda: server.mails, 60, "the mail has come")
        server.shutdown()
    assert f"Subject: zkleader: failed: {TASK}\r\n" in mail and "To: ops@example.org\r\n" in mail
    assert "exit_status: 3\r\n" in mail and "failed with status 3" in mail


def test_what_is_wrong_with_a_section_is_said_with_its_place(fleet, program, folder):
    a = begin(fleet, text='notify "x" {\n  on = {"fail"}\n  template = "slack"\n}\nnotify "y" { command = {"mail"} }\n'
              'notify "y" { url = "nowhere", on = "lost" }\n')
    out = program("zkleaderd", "-c", a.config_file, "-t")
    assert out.code == 78
    for line, text in ((1, "has neither a url nor a command"), (2, 'did you mean "failed"?'), (3, "template: needs a url"),
                       (5, "no absolute path"), (6, "is in line 5 already"), (6, "url: is none")):
        assert any(f"notify.conf:{line}: " in said and text in said for said in (out.out + out.err).splitlines()), (line, text, out)
    a.call("status")


def test_a_row_of_failures_and_its_end_in_every_form(fleet, hooks, notifier, jobs, folder, zk):
    key, secret = folder / "key", folder / "headers"
    key.write_text("R0UT1NG\n")
    secret.write_text("Authorization: Bearer s3cret\n\nX-Two: 2\n")
    key.chmod(0o640), secret.chmod(0o644)
    text = (section("all", url=hooks.url("/all")) +
            section("first", url=hooks.url("/first"), repeat="first", on=["failed", "recovered"]) +
            section("pd", url=hooks.url("/pd"), template="pagerduty", on=["failed", "recovered"], **{"routing-key-file": key}) +
            section("teams", url=hooks.url("/teams"), template="teams", on=["failed"], headers=["X-One: 1"],
                    **{"headers-file": secret}))
    a = begin(fleet, text=text)
    wait_until(lambda: a.leads(TASK), what="a leads")
    notifier(a)
    run(jobs, a, "true", "--tick", "none", code=0)
    for _ in range(3):
        run(jobs, a, "exit 3", "--tick", "none", code=3)
    run(jobs, a, "true", "--tick", "none", code=0)
    run(jobs, a, "true", "--tick", "none", code=0)

    def got(path):
        return [json.loads(body) for p, body in list(hooks.got) if p == path]
    wait_until(lambda: len(got("/all")) >= 4 and len(got("/pd")) >= 4 and len(got("/first")) >= 2, what="all have come")
    rows = sorted((e for e in got("/all") if e["event"] != "leader"), key=lambda e: e["time"])
    assert [(e["event"], e["final"], e["failed"], e["first"]) for e in rows] == [
        ("failed", True, 1, True), ("failed", True, 1, False), ("failed", True, 1, False), ("recovered", None, 3, None)]
    assert {e["since"] for e in rows} == {rows[0]["time"]}
    assert sorted(e["event"] for e in got("/first")) == ["failed", "recovered"]
    assert {(e["event_action"], e["dedup_key"], e["routing_key"]) for e in got("/pd")} == {
        ("trigger", f"zkleader/{TASK}", "R0UT1NG"), ("resolve", f"zkleader/{TASK}", "R0UT1NG")}
    assert {e["payload"]["severity"] for e in got("/pd")} == {"critical", "info"}
    assert not got("/teams")
    wait_until(lambda: any(p["file"] == "teams/url" and "chmod 640" in p["message"] and "s3cret" not in p["message"]
                           for p in a.problems()), what="others can read the file: named")
    secret.chmod(0o640)
    wait_until(lambda: len(got("/teams")) == 3, 90, "the cards have come")
    card = got("/teams")[0]["attachments"][0]
    assert card["contentType"] == "application/vnd.microsoft.card.adaptive" and card["content"]["type"] == "AdaptiveCard"
    sent = [h for path, h in hooks.headers if path == "/teams"]
    assert all((h["X-One"], h["X-Two"], h["Authorization"]) == ("1", "2", "Bearer s3cret") for h in sent)
    assert zk.names("troubles") == []


def test_attempts_that_others_follow_are_told_where_somebody_wants_to_know(fleet, hooks, notifier, folder, program, runners):
    counter = folder / "count"
    body = f"echo x >> {counter}; test $(wc -l < {counter}) -ge 3"
    text = (section("all", url=hooks.url("/all")) + section("tries", url=hooks.url("/tries"), on=["retrying", "failed"]))
    a = begin(fleet, text=text, tasks=[scheduled(TASK, ["/bin/sh", "-c", body], retries=2, retry_delay="1s")])
    wait_until(lambda: a.leads(TASK), what="a leads")
    notifier(a)
    runners(a)
    program("zkleader", "-s", a.socket, "trigger", TASK)
    wait_until(lambda: counter.exists() and counter.read_text().count("x") == 3, what="the third is good")
    wait_until(lambda: len([1 for p, _ in hooks.got if p == "/tries"]) == 2, what="two attempts are told")
    told = [json.loads(b) for p, b in hooks.got if p == "/tries"]
    assert [(e["event"], e["attempt"], e["final"]) for e in told] == [("retrying", 1, False), ("retrying", 2, False)]
    holds_for(lambda: not [1 for p, b in hooks.got if p == "/all" and json.loads(b)["event"] != "leader"], 2, "no other")


def test_a_newer_tick_ends_the_retries_and_people_are_told(fleet, hooks, notifier, runners):
    text = section("all", url=hooks.url("/x"), on=["failed", "retrying"])
    a = begin(fleet, text=text, tasks=[scheduled(TASK, ["/bin/false"], schedule="every 4s", retries=5, retry_delay="1h")])
    wait_until(lambda: a.leads(TASK), what="a leads")
    notifier(a)
    runners(a)
    wait_until(lambda: len([e for e in hooks.events(0) if e["event"] == "failed"]) >= 2, 60, "two ticks have failed for good")
    events = sorted(hooks.events(0), key=lambda e: e["time"])
    failed = [e["tick"] for e in events if e["event"] == "failed"]
    assert set(failed) <= {e["tick"] for e in events if e["event"] == "retrying"} and len(set(failed)) == len(failed)


@pytest.mark.parametrize("ticks", ["schedule", "trigger"])
def test_a_good_tick_is_the_last_word(fleet, hooks, notifier, runners, folder, program, ticks):
    """The tick before it had a retry left: that it has failed is told first. With triggers no other tick comes."""
    good = folder / "good"
    text = (section("all", url=hooks.url("/all"), on=["failed", "recovered"]) +
            section("first", url=hooks.url("/first"), on=["failed", "recovered"], repeat="first"))
    a = begin(fleet, text=text, tasks=[scheduled(TASK, ["/bin/sh", "-c", f"test -e {good}"], retries=1, retry_delay="1h",
                                                 schedule="every 3s" if ticks == "schedule" else "@yearly")])
    wait_until(lambda: a.leads(TASK), what="a leads")
    notifier(a)
    runners(a)

    def failed():
        return a.log().count("state=failed")
    for i in range(3):
        if ticks == "trigger":
            program("zkleader", "-s", a.socket, "trigger", TASK)
        wait_until(lambda i=i: failed() > i, 30, "a tick has failed")
    good.write_text("")
    if ticks == "trigger":
        program("zkleader", "-s", a.socket, "trigger", TASK)

    def got(path):
        return sorted((json.loads(body) for p, body in list(hooks.got) if p == path), key=lambda e: e["time"])
    wait_until(lambda: [e for e in got("/all") if e["event"] == "recovered"], 30, "it is well again")
    holds_for(lambda: [e["event"] for e in got("/all")].count("recovered") == 1, 5, "that is told once")
    all_told, n = got("/all"), failed()
    assert [e["event"] for e in all_told] == ["failed"] * n + ["recovered"] and all_told[-1]["failed"] == n >= 3
    ticks_told = [e["tick"] for e in all_told]
    assert ticks_told == sorted(set(ticks_told)), "each once, in their order"
    assert [e["event"] for e in got("/first")] == ["failed", "recovered"]

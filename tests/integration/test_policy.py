"""Operators' decisions for the fleet: drain, pause, resign, pin; kept in ZooKeeper, ended by themselves."""
import json
import os
import re
import subprocess

import msgpack
import pytest

from harness.process import end, spawn
from harness.sidecar import build
from harness.waiting import holds_for, wait_until

TASK = "nightly-report"


@pytest.fixture
def trio(fleet, zk):
    """Two with the older version, and the one that leads."""
    versions = {"one": "1", "two": "1", "new": "2"}
    made = {n: fleet.sidecar(n, version=v, tasks=[TASK, "cleanup"]) for n, v in versions.items()}
    wait_until(lambda: set(zk.leaders().values()) == {made["new"].id}, what="the newest leads all")
    wait_until(lambda: all(len(s.call("workers")) == 3 for s in made.values()), what="all see all")
    return made


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args, **kwargs):
        return program("zkleader", "-s", sidecar.socket, *args, **kwargs)
    return run


@pytest.fixture
def check(program):
    def run(sidecar, task=TASK):
        return program("zkleader-check", "-s", sidecar.socket, task).code
    return run


def leader_of(zk, task=TASK):
    return zk.leaders().get(task)


def leads_elsewhere(zk, sidecar):
    return lambda: len(zk.leaders()) == 2 and sidecar.id not in zk.leaders().values()


def state_of(sidecar, worker):
    return {w["id"]: w["state"] for w in sidecar.call("workers")}[worker.id]


def test_a_drained_node_leads_nothing_until_it_is_undrained(trio, zk, zkleader, check):
    new, one = trio["new"], trio["one"]
    done = zkleader(new, "drain", "--reason", "new kernel")
    assert done.code == 0 and "drained" in done.out and "new kernel" in done.out
    wait_until(leads_elsewhere(zk, new), what="others lead")
    assert check(new) == 1
    assert state_of(one, new) == "drained"
    drain = {w["id"]: w["drain"] for w in one.call("workers")}[new.id]
    assert drain["reason"] == "new kernel" and drain["by"] == "root" and drain["until"] is None
    assert {t["state"] for t in new.call("tasks")} == {"drained"}
    why = {r["id"]: r["why"] for r in one.explain(TASK)["ranking"]}[new.id]
    assert why.startswith("drained by root at ") and why.endswith(": new kernel")
    assert zkleader(new, "undrain").code == 0
    wait_until(lambda: leader_of(zk) == new.id, what="it leads again")
    again = zkleader(new, "undrain")
    assert again.code == 0 and again.out.endswith(" is not drained; no node is drained\n")


def test_a_drain_survives_a_restart(trio, zk, zkleader):
    new = trio["new"]
    assert zkleader(new, "drain").code == 0
    wait_until(leads_elsewhere(zk, new), what="others lead")
    new.kill()
    new.start()
    wait_until(lambda: state_of(new, new) == "drained", what="it knows that it is drained")
    holds_for(leads_elsewhere(zk, new), 1.5)


def test_a_pause_is_for_the_whole_fleet_and_ends_by_itself(trio, zk, zkleader, check):
    done = zkleader(trio["one"], "pause", TASK, "--reason", "incident 17", "--for", "1h")
    assert done.code == 0 and "paused" in done.out
    wait_until(lambda: leader_of(zk) is None, what="nobody leads it")
    for sidecar in trio.values():
        wait_until(lambda s=sidecar: check(s) == 4, what="nobody may run it")
        assert sidecar.call("tasks", TASK)[0]["state"] == "paused"
        assert "incident 17" in sidecar.explain(TASK)["reason"]
    assert leader_of(zk, "cleanup") == trio["new"].id
    ran = zkleader(trio["new"], "run", TASK, "--", "echo", "no")
    assert (ran.code, ran.out, ran.err) == (4, "", "")
    # Another pause takes its place, which will be over soon.
    assert zkleader(trio["two"], "pause", TASK, "--for", "2s").code == 0
    wait_until(lambda: leader_of(zk) == trio["new"].id, what="it is led again")
    wait_until(lambda: zk.names("policy") == [], what="nothing is left of it")


def test_explain_says_leads_when_check_does(trio, zk):
    new = trio["new"]
    wait_until(lambda: new.leads(TASK), what="it leads")
    new.call("pause", TASK)
    while leader_of(zk):  # what it has promised is not over
        before, explained, after = new.leads(TASK), new.explain(TASK), new.leads(TASK)
        assert before != after or explained["leads"] == before, explained
    assert not new.explain(TASK)["leads"]


def test_resume_ends_a_pause(trio, zk, zkleader, check):
    assert zkleader(trio["one"], "pause", TASK).code == 0
    wait_until(lambda: leader_of(zk) is None, what="nobody leads it")
    # Another pause takes the place of the first.
    assert zkleader(trio["two"], "pause", TASK, "--reason", "second").code == 0
    wait_until(lambda: len(zk.names("policy")) == 1, what="there is one of them")
    assert zkleader(trio["new"], "resume", TASK).code == 0
    wait_until(lambda: leader_of(zk) == trio["new"].id, what="it is led again")


def test_the_next_in_rank_leads_what_is_resigned(trio, zk, zkleader, check):
    new, one = trio["new"], trio["one"]
    expected = [r["id"] for r in one.explain(TASK)["ranking"]][1]
    wait_until(lambda: one.check(TASK)["led_by"], what="it knows who leads")
    refused = zkleader(one, "resign", TASK)
    assert refused.code == 1 and refused.err == f"zkleader: this node does not lead {TASK}: {node_of(new)} does\n"
    done = zkleader(new, "resign", TASK, "--for", "10s")
    assert done.code == 0 and "the next is" in done.out
    wait_until(lambda: leader_of(zk) == expected, what="the next in rank leads")
    assert leader_of(zk, "cleanup") == new.id
    holds_for(lambda: leader_of(zk) == expected, 1.5, "it does not bounce straight back")
    wait_until(lambda: leader_of(zk) == new.id, what="it comes back when the time is over")


def test_who_has_resigned_leads_when_nobody_else_can(trio, zk, zkleader):
    new = trio["new"]
    assert zkleader(new, "resign", TASK).code == 0
    wait_until(lambda: leader_of(zk) not in (None, new.id), what="another leads")
    for name in ("one", "two"):
        trio[name].stop()
    wait_until(lambda: leader_of(zk) == new.id, what="it leads, there being no other")
    refused = zkleader(new, "resign", TASK)
    assert refused.code == 3 and "no other worker" in refused.err


def test_only_the_pinned_version_leads(trio, zk, zkleader, check):
    assert zkleader(trio["one"], "pin", TASK, "1.0", "--reason", "rollback").code == 0
    wait_until(lambda: leader_of(zk) in (trio["one"].id, trio["two"].id), what="the older leads")
    assert leader_of(zk, "cleanup") == trio["new"].id
    whys = {r["id"]: r["why"] for r in trio["new"].explain(TASK)["ranking"]}
    assert whys[trio["new"].id] == "not the pinned version"
    nobody = zkleader(trio["one"], "pin", TASK, "3")
    assert nobody.code == 3 and nobody.err == (
        f"zkleader: no worker that lists {TASK} has version 3: there is 1, 2; --force pins it all the same\n")
    nobody = zkleader(trio["one"], "pin", TASK, "3", "--force")
    assert nobody.code == 0 and "nobody leads it" in nobody.out
    wait_until(lambda: leader_of(zk) is None, what="nobody has that version")
    assert check(trio["one"]) == 2
    assert zkleader(trio["one"], "unpin", TASK).code == 0
    wait_until(lambda: leader_of(zk) == trio["new"].id, what="the newest leads again")


def test_all_drained_is_exit_4(trio, zk, zkleader, check):
    for sidecar in trio.values():
        assert zkleader(sidecar, "drain", "--force").code == 0
    wait_until(lambda: zk.leaders() == {}, what="nobody leads anything")
    for sidecar in trio.values():
        assert check(sidecar) == 4
        assert zkleader(sidecar, "run", "--wait", "100ms", TASK, "--", "true").code == 4


def test_the_oldest_version_leads_where_the_policy_says_so(fleet, zk):
    task = f'task "{TASK}" {{ version-policy = "oldest" }}\n'
    made = {v: fleet.sidecar(v, version=v, tasks=[task]) for v in ("1.9", "1.10", "1.8")}
    wait_until(lambda: leader_of(zk) == made["1.8"].id, what="the oldest leads")
    made["1.8"].stop()
    wait_until(lambda: leader_of(zk) == made["1.9"].id, what="then the next")


def test_a_job_that_runs_finishes_first(trio, zk, zkleader, folder):
    new = trio["new"]
    go = folder / "go"
    os.mkfifo(go)
    job = spawn([build() / "zkleader", "-s", new.socket, "run", "--tick", "none", TASK, "--", "cat", go])
    try:
        wait_until(lambda: "run claimed" in new.log(), what="the job runs")
        done = zkleader(new, "drain")
        assert f" given up, 1 of them when its job has ended: {TASK}" in done.out or \
            f"1 task is given up when its job has ended: {TASK}" in done.out, "the other may have moved already"
        wait_until(lambda: leader_of(zk, "cleanup") not in (None, new.id), what="the other task moves")
        holds_for(lambda: leader_of(zk) == new.id, 1.5)
        with open(go, "w", encoding="ascii"):
            pass
        assert job.wait(60) == 0
    finally:
        end(job)
    wait_until(lambda: leader_of(zk) not in (None, new.id), what="then that one as well")


def test_bad_orders_are_refused(trio, zk, zkleader):
    one = trio["one"]
    cases = [
        ("pause", "no-such-task"), ("pause", TASK, "--reason", "x" * 201), ("pause", TASK, "--reason", "a\nb"),
        ("pin", TASK, " 1"), ("pause", TASK, "--for", "0s"), ("drain", TASK), ("drain", "no-such-host"), ("undrain", "no-such-host"), ("unresign", TASK, "no-such-host"),
    ]
    for case in cases:
        refused = zkleader(one, *case)
        assert refused.code == 3 and refused.err.startswith("zkleader: "), (case, refused)
    for params in ([], [1], [TASK, 1], [TASK, {"for_ms": -1}], [TASK, {"for_ms": "x"}], [TASK, {}, {}]):
        assert one.error_of("pause", *params).code == 3, params
    assert zk.names("policy") == []


def test_a_policy_record_that_is_none_is_refused_and_decides_nothing(trio, zk):
    zk.put(b"\xc1", "policy", "nonsense", ephemeral=False)
    zk.put(b"", "policy", "empty", ephemeral=False)
    for sidecar in trio.values():
        wait_until(lambda s=sidecar: s.log().count("policy record refused") == 2, what="it is named")
        assert "/policy/nonsense" in sidecar.log()
    assert leader_of(zk) == trio["new"].id


def test_a_reason_that_is_not_utf_8_reaches_all_as_utf_8(trio, zk):
    with trio["one"].client() as client:
        client.send_bytes(msgpack.packb([0, 1, "pause", [TASK, {"reason": b"zw\xf6lf"}]], use_bin_type=False))
        assert client.read()[3]["message"].endswith("zw?lf")

    def reasons(sidecar):
        return [d["reason"] for d in sidecar.call("tasks", TASK)[0]["decisions"]]
    for sidecar in trio.values():
        wait_until(lambda s=sidecar: reasons(s) == ["zw?lf"], what="it is told")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user to be refused")
def test_others_may_not(trio, folder):
    one = trio["one"]
    folder.parent.chmod(0o755)
    for words in (["drain"], ["undrain"], ["pause", TASK], ["resume", TASK], ["resign", TASK], ["pin", TASK, "1"],
                  ["unpin", TASK], ["unresign", TASK], ["drain", "x"]):
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", build() / "zkleader", "-s", one.socket]
        refused = spawn([*command, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        err = refused.communicate(timeout=30)[1]
        assert refused.returncode == 3 and "not allowed" in err and "socket-group" in err, (words, err)


def test_json(trio, zkleader):
    done = zkleader(trio["one"], "--json", "pause", TASK)
    assert json.loads(done.out)["done"] is True
    [task] = trio["one"].call("tasks", TASK)
    [decision] = task["decisions"]
    assert decision["kind"] == "pause" and decision["by"] == "root" and decision["reason"] is None


# --- other nodes by name

def node_of(sidecar):
    return f"{sidecar.status()['hostname']}:{sidecar.socket}"


def test_another_node_is_drained_by_its_name_and_undrained(trio, zk, zkleader):
    new, one = trio["new"], trio["one"]
    done = zkleader(one, "drain", node_of(new), "--reason", "x")
    assert done.code == 0 and done.out.startswith(f"{node_of(new)} is drained by root at "), done
    # How many it still leads by then is a matter of time.
    assert " given up, when jobs that run there have ended" in done.out or "; it leads none of " in done.out
    wait_until(leads_elsewhere(zk, new), what="others lead")
    assert state_of(one, new) == "drained" and state_of(one, one) == "active"
    nothing = zkleader(one, "undrain")
    assert nothing.code == 0 and nothing.out == f"{node_of(one)} is not drained; {node_of(new)} is drained\n"
    assert zkleader(trio["two"], "undrain", node_of(new)).code == 0
    wait_until(lambda: leader_of(zk) == new.id, what="it leads again")


def test_a_bare_hostname_is_good_where_it_has_one_sidecar(fleet, zk, zkleader):
    one = fleet.sidecar("one", tasks=[TASK])
    zk.wait_for_leader(TASK, one)
    hostname = one.status()["hostname"]
    done = zkleader(one, "drain", "--force", hostname)
    assert done.code == 0 and done.out.startswith(f"{hostname} is drained by ")
    wait_until(lambda: leader_of(zk) is None, what="nobody leads")
    # With a second one it is not clear which is meant.
    two = fleet.sidecar("two", tasks=[TASK])
    wait_until(lambda: len(two.call("workers")) == 2, what="both are there")
    refused = zkleader(two, "undrain", hostname)
    assert refused.code == 3 and "has several sidecars" in refused.err
    assert node_of(one) in refused.err and node_of(two) in refused.err
    assert zkleader(two, "undrain", node_of(one)).code == 0
    unknown = zkleader(two, "drain", hostname + "x")
    assert unknown.code == 3 and f'did you mean "{hostname}"?' in unknown.err


def test_a_drain_is_waited_for(trio, zk, zkleader, folder, program):
    new, one = trio["new"], trio["one"]
    go = folder / "go"
    os.mkfifo(go)
    job = spawn([build() / "zkleader", "-s", new.socket, "run", "--tick", "1m", TASK, "--", "cat", go])
    try:
        wait_until(lambda: "run claimed" in new.log(), what="the job runs")
        [going] = new.status()["jobs"]
        assert going["task"] == TASK and going["tick"].endswith("Z")
        late = zkleader(new, "drain", "--wait=300ms")
        assert late.code == 1 and f"jobs that run: {TASK} ({going['tick']})" in late.out
        assert late.err.endswith(" is not done in time; the drain stays\n")
        waits = [spawn([build() / "zkleader", "-s", s.socket, "drain", node_of(new), "--wait"],
                       stdout=subprocess.PIPE, text=True) for s in (new, one)]
        for w in waits:
            while "waiting for " not in (line := w.stdout.readline()):
                assert line, "it ends before it has waited"
        wait_until(lambda: leader_of(zk, "cleanup") not in (None, new.id), what="the other task moves")
        explained = new.explain(TASK)["reason"]
        assert re.search(r"^\S+ is kept here for a job, since \S+; it goes to \S+ when the job that runs has ended, at ", explained), explained
        assert " in 86" not in explained
        assert all(w.poll() is None for w in waits), "they wait for the job"
        with open(go, "w", encoding="ascii"):
            pass
        assert job.wait(60) == 0
        for w in waits:
            out = w.communicate(timeout=30)[0]
            assert w.returncode == 0 and out.endswith(" leads nothing, and no job runs there\n"), out
    finally:
        end(job)
    assert json.loads(zkleader(one, "--json", "drain", node_of(new), "--wait=5s").out)["drained"] is True


def test_a_resignation_is_taken_back_for_any_node(trio, zk, zkleader):
    new, one = trio["new"], trio["one"]
    for sidecar, words in ((new, [TASK]), (one, [TASK, node_of(new)])):
        assert zkleader(new, "resign", TASK, "--for", "1h").code == 0
        wait_until(lambda: leader_of(zk) not in (None, new.id), what="another leads")
        done = zkleader(sidecar, "unresign", *words)
        assert done.code == 0 and f"has taken its resignation from {TASK} back" in done.out
        wait_until(lambda: leader_of(zk) == new.id, what="it leads again")
    nothing = zkleader(one, "unresign", TASK)
    assert nothing.code == 0 and nothing.out == f"{node_of(one)} has not resigned from {TASK}; nobody has\n"


# --- nothing to take back, and names that are not there

def test_what_is_not_there_to_be_taken_back_is_told_with_what_is(trio, zkleader):
    one = trio["one"]
    assert zkleader(one, "resume", TASK).out == f"{TASK} is not paused; no task is\n"
    assert zkleader(one, "pin", TASK, "1").code == 0
    assert zkleader(one, "pause", "cleanup").code == 0
    told = zkleader(one, "resume", TASK)
    assert told.code == 0 and told.out.startswith(
        f"{TASK} is not paused; cleanup is paused; it is pinned to version 1 by root at "), told
    told = zkleader(one, "unpin", "cleanup")
    assert told.code == 0 and told.out.startswith(f"cleanup is not pinned; {TASK} is pinned; it is paused by "), told
    assert json.loads(zkleader(one, "--json", "unpin", "cleanup").out)["done"] is False


def test_what_was_decided_about_a_task_that_is_gone_can_be_taken_back(trio, zk, zkleader):
    one = trio["one"]
    assert zkleader(one, "pause", "cleanup").code == 0
    one.write_tasks(TASK)
    wait_until(lambda: one.task_names() == [TASK], what="it is gone here")
    assert zkleader(one, "pin", "cleanup", "1").code == 3
    done = zkleader(one, "resume", "cleanup")
    assert done.code == 0 and done.out == "cleanup is no longer paused\n"
    # A sidecar that does not know the task cannot know whether it has a schedule, so the pause's end is kept.
    assert [msgpack.unpackb(zk.get("policy", name)[0])["kind"] for name in zk.names("policy")] == ["ended"]


def test_an_unknown_task_gets_the_name_that_may_be_meant(trio, zkleader, program):
    one = trio["one"]
    for words in (("pause", "nightly-repotr"), ("explain", "nightly"), ("tasks", "nightlyreport"),
                  ("run", "nightly-report2", "--", "true")):
        told = zkleader(one, *words)
        assert told.code == 3 and f'did you mean "{TASK}"?' in told.err, told
    told = program("zkleader-check", "-s", one.socket, "cleanupp")
    assert told.code == 3 and 'did you mean "cleanup"?' in told.err
    assert "did you mean" not in zkleader(one, "explain", "something-else").err

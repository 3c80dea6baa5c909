"""What operators decide for the fleet: drain, pause, resign, pin; kept in ZooKeeper, ended by themselves."""
import json
import os
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
    assert again.code == 0 and "nothing" in again.out


def test_a_drain_survives_a_restart(trio, zk, zkleader):
    new = trio["new"]
    assert zkleader(new, "drain").code == 0
    wait_until(leads_elsewhere(zk, new), what="others lead")
    new.kill()
    new.start()
    wait_until(lambda: state_of(new, new) == "drained", what="it knows that it is drained")
    holds_for(leads_elsewhere(zk, new), 1.5)


def test_a_pause_is_for_the_whole_fleet_and_ends_by_itself(trio, zk, zkleader, check):
    done = zkleader(trio["one"], "pause", TASK, "--reason", "incident 17", "--for", "12s")
    assert done.code == 0 and "paused" in done.out
    wait_until(lambda: leader_of(zk) is None, what="nobody leads it")
    for sidecar in trio.values():
        wait_until(lambda s=sidecar: check(s) == 4, what="nobody may run it")
        assert sidecar.call("tasks", TASK)[0]["state"] == "paused"
        assert "incident 17" in sidecar.explain(TASK)["reason"]
    assert leader_of(zk, "cleanup") == trio["new"].id
    ran = zkleader(trio["new"], "run", TASK, "--", "echo", "no")
    assert (ran.code, ran.out, ran.err) == (4, "", "")
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
    assert zkleader(one, "resign", TASK).code == 1
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
    assert nobody.code == 0 and "nobody leads it" in nobody.out
    wait_until(lambda: leader_of(zk) is None, what="nobody has that version")
    assert check(trio["one"]) == 2
    assert zkleader(trio["one"], "unpin", TASK).code == 0
    wait_until(lambda: leader_of(zk) == trio["new"].id, what="the newest leads again")


def test_all_drained_is_exit_4(trio, zk, zkleader, check):
    for sidecar in trio.values():
        assert zkleader(sidecar, "drain").code == 0
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
        assert "1 of them when their jobs have ended" in done.out
        wait_until(lambda: leader_of(zk, "cleanup") not in (None, new.id), what="the other task moves")
        holds_for(lambda: leader_of(zk) == new.id, 1.5)
        with open(go, "w", encoding="ascii"):
            pass
        assert job.wait(20) == 0
    finally:
        end(job)
    wait_until(lambda: leader_of(zk) not in (None, new.id), what="then that one as well")


def test_bad_orders_are_refused(trio, zk, zkleader):
    one = trio["one"]
    cases = [
        ("pause", "no-such-task"), ("pause", TASK, "--reason", "x" * 201), ("pause", TASK, "--reason", "a\nb"),
        ("pin", TASK, " 1"), ("pause", TASK, "--for", "0s"), ("drain", TASK),
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
                  ["unpin", TASK]):
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

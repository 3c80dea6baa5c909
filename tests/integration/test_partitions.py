"""Tasks with partitions: what the socket, zkleader and zkleader-check say of them and do with them."""
import json
import os
import pathlib
import subprocess

import msgpack
import pytest

from harness.process import end, spawn
from harness.sidecar import build, task_text
from harness.waiting import holds_for, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
TASK = "scan"
N = 6


def partition(k, task=TASK):
    return f"{task}:{k}"


def partitioned(n=N, name=TASK, **values):
    return task_text(name, **{"partitions": n, "partition_jobs": n, **values})


def led(zk, n=N, task=TASK):
    """The id of the leader of each partition; None while not all of them have one."""
    leaders = zk.leaders()
    owners = [leaders.get(partition(k, task)) for k in range(n)]
    return owners if all(owners) else None


def wait_led(zk, sidecars, n=N, task=TASK):
    """Until each partition is led, and as evenly as can be by these; their owners."""
    def even():
        owners = led(zk, n, task)
        counts = [owners.count(s.id) for s in sidecars] if owners else [0]
        return owners if sum(counts) == n and max(counts) - min(counts) <= 1 else None
    return wait_until(even, what="the partitions are spread evenly")


@pytest.fixture
def pair(fleet, zk):
    """Two sidecars that share six partitions, and have a plain task beside them."""
    made = [fleet.sidecar(name, tasks=[partitioned(), "nightly"], session_timeout="6s") for name in ("one", "two")]
    wait_led(zk, made)
    return made


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args, **kwargs):
        return program("zkleader", "-s", sidecar.socket, *args, **kwargs)
    return run


@pytest.fixture
def check(program):
    def run(sidecar, *args):
        return program("zkleader-check", "-s", sidecar.socket, *args)
    return run


def mine(zk, sidecar, n=N):
    return [k for k, owner in enumerate(led(zk, n)) if owner == sidecar.id]


# --- who leads which


def test_partitions_says_who_leads_which(pair, zk, zkleader):
    one, two = pair
    owners = led(zk)
    found = json.loads(zkleader(one, "--json", "partitions", TASK).out)
    assert found["task"] == TASK and found["partitions"] == N
    assert [o["partition"] for o in found["owners"]] == list(range(N))
    assert [o["leader"]["id"] for o in found["owners"]] == owners
    assert [o["token"] for o in found["owners"]] == [zk.leader(partition(k))[1] for k in range(N)]
    assert all(o["since"].endswith("Z") for o in found["owners"])
    text = zkleader(two, "partitions", TASK)
    assert text.code == 0 and "scan has 6 partitions: 6 led, 3 of them here" in text.out
    here = zkleader(one, "partitions", TASK, "--here")
    assert here.code == 0 and [int(k) for k in here.out.split()] == mine(zk, one)
    found = json.loads(zkleader(one, "--json", "partitions", TASK, "--here").out)
    assert [o["partition"] for o in found["owners"]] == mine(zk, one)


def test_partitions_here_is_exit_1_where_none_is(pair, zk, zkleader):
    one, two = pair
    assert zkleader(two, "drain").code == 0
    wait_until(lambda: led(zk) == [one.id] * N, what="the other leads all")
    none = zkleader(two, "partitions", TASK, "--here")
    assert (none.code, none.out, none.err) == (1, "", "")


def test_misuse_of_partitions_is_exit_3(pair, zkleader):
    one = pair[0]
    cases = {("nightly",): "nightly has no partitions", ("scam",): 'did you mean "scan"?',
             ("scan:1",): "has no partitions", ("scan", "0"): "no number of partitions",
             ("scan", "257"): "no number of partitions", ("scan", "8"): "scan is not paused",
             ("scan:1", "8"): "that is one partition", ("scam", "8"): "unknown task"}
    for args, text in cases.items():
        found = zkleader(one, "partitions", *args)
        assert found.code == 3 and text in found.err, (args, found)


# --- zkleader-check


def test_check_is_about_one_partition_or_any(pair, zk, check):
    one, two = pair
    for k, owner in enumerate(led(zk)):
        assert check(one, partition(k)).code == (0 if owner == one.id else 1)
        assert check(two, TASK, "--partition", str(k)).code == (0 if owner == two.id else 1)
    plain = check(one, TASK)
    assert plain.code == 3 and "scan has 6 partitions: name one of them" in plain.err
    assert check(one, "--any", TASK).code == 0
    far = check(one, partition(N))
    assert far.code == 3 and "scan has 6 partitions: scan:0 to scan:5" in far.err
    assert check(one, "nightly:0").code == 3
    assert check(one, "--any", "nightly").code in (0, 1)
    assert one.call("drain")["done"]
    wait_until(lambda: led(zk) == [two.id] * N, what="the other leads all")
    assert check(one, "--any", TASK).code == 1
    assert check(two, "--any", "-v", TASK).out.startswith("this node leads partitions of scan, token ")


def test_nobody_may_run_what_is_paused(pair, zk, check, zkleader):
    one = pair[0]
    assert zkleader(one, "pause", TASK, "--reason", "a move").code == 0
    wait_until(lambda: not any(name.startswith("scan:") for name in zk.names("leaders")), what="nobody leads")
    wait_until(lambda: one.check(partition(0))["state"] == "paused", what="it knows")
    assert check(one, partition(0)).code == 4
    assert check(one, "--any", TASK).code == 4
    assert [t["state"] for t in one.call("tasks") if t["task"] == TASK] == ["paused"]
    assert one.call("tasks", TASK)[0]["decisions"][0]["reason"] == "a move"
    assert one.call("tasks", partition(1))[0]["decisions"][0]["kind"] == "pause"
    done = zkleader(one, "resume", TASK)
    assert done.code == 0
    wait_led(zk, pair)


def test_once_claims_the_tick_of_one_partition(pair, zk, check):
    one, two = pair
    k = mine(zk, one)[0]
    assert check(one, "--once", "--tick", "1d", partition(k)).code == 0
    assert check(one, "--once", "--tick", "1d", partition(k)).code == 1
    assert check(two, "--once", "--tick", "1d", "-w", "0s", partition(k)).code == 1
    assert [len(zk.names("runs", partition(j))) for j in range(N)] == [int(j == k) for j in range(N)]


# --- tables


def test_tasks_has_one_entry_for_all_partitions(pair, zk, zkleader):
    one = pair[0]
    entry = {t["task"]: t for t in json.loads(zkleader(one, "--json", "tasks").out)}
    assert set(entry) == {TASK, "nightly"}
    scan = entry[TASK]
    assert scan["state"] == "leading" and scan["self"] is True
    assert scan["leader"] is None and scan["token"] is None
    assert scan["partitions"] == N and scan["led"] == N and scan["here"] == mine(zk, one)
    assert [o["leader"]["id"] for o in scan["owners"]] == led(zk)
    leases = [o["lease_ms"] for o in scan["owners"] if o["lease_ms"] > 0]
    assert 0 < scan["lease_ms"] <= 2000 and len(leases) == len(scan["here"])
    single = json.loads(zkleader(one, "--json", "tasks", partition(0)).out)
    assert single[0]["task"] == "scan:0" and single[0]["leader"]["id"] == led(zk)[0]
    text = zkleader(one, "tasks").out
    assert "2 tasks: 2 led" in text and "6 of 6" in text and "leading 3" in text
    assert TASK in zkleader(one, "tasks", "--mine").out
    assert TASK not in zkleader(one, "tasks", "--no-leader").out
    assert len(json.loads(zkleader(one, "--json", "tasks", "scan", "scan:1", "scan").out)) == 2


def test_list_counts_partitions(pair, zk, zkleader):
    one, two = pair

    def counted():
        plain = zk.leaders().get("nightly")
        leads = {w["id"]: w["leads"] for w in json.loads(zkleader(one, "--json", "list").out)}
        return plain and leads == {s.id: 3 + (s.id == plain) for s in (one, two)}
    wait_until(counted, what="three for each, and the plain task for its leader")
    assert {tuple(w["tasks"]) for w in one.call("workers")} == {("nightly", TASK)}
    assert [w["partitions"] for w in one.call("workers")] == [{TASK: N}] * 2
    wait_until(lambda: sum(s.status()["leads"] for s in pair) == N + 1, what="each knows what it leads")


def test_explain_shows_the_draft_and_each_partition(pair, zk, zkleader):
    one = pair[0]
    found = json.loads(zkleader(one, "--json", "explain", TASK).out)
    assert found["task"] == TASK and found["leads"] is True and found["state"] == "leading"
    assert [r["candidate"] for r in found["ranking"]] == [True, True]
    for ranked in found["ranking"]:
        owned = [k for k, owner in enumerate(led(zk)) if owner == ranked["id"]]
        assert ranked["why"].startswith(f"{len(owned)} of {N}: "), ranked
    assert [p["task"] for p in found["partitions"]] == [partition(k) for k in range(N)]
    for k, part in enumerate(found["partitions"]):
        assert part["ranking"][0]["id"] == led(zk)[k] and part["ranking"][0]["why"] == "the best"
        assert set(part) >= {"task", "state", "leads", "reason", "ranking"}
    text = zkleader(one, "explain", TASK).out
    assert "this node leads 3 of the 6 partitions of scan: " in text and "3 of 6: " in text
    single = zkleader(one, "explain", partition(2)).out
    assert "scan:2" in single and "the best" in single


def test_history_is_that_of_all_partitions(pair, zk, check, zkleader):
    one, two = pair
    assert json.loads(zkleader(one, "--json", "history", TASK).out) == []
    for k, owner in enumerate(led(zk)):
        sidecar = one if owner == one.id else two
        assert check(sidecar, "--once", "--tick", "1d", partition(k)).code == 0
    found = json.loads(zkleader(one, "--json", "history", TASK).out)
    assert [(e["task"], e["partition"], e["state"]) for e in found] == [(partition(k), k, "claimed") for k in range(N)]
    single = json.loads(zkleader(two, "--json", "history", partition(3)).out)
    assert len(single) == 1 and "task" not in single[0]
    text = zkleader(one, "history", TASK).out
    assert text.splitlines()[0].startswith("TASK") and sum("claimed" in line for line in text.splitlines()) == N
    assert "scan:5" in zkleader(one, "history").out
    gone = zkleader(one, "history", partition(200))
    assert gone.code == 0 and "no runs" in gone.out


# --- orders


def test_resign_gives_up_all_that_are_led_here(pair, zk, zkleader):
    one, two = pair
    done = zkleader(one, "resign", TASK, "--reason", "hot")
    assert done.code == 0 and "has resigned from all 6 partitions of scan: hot" in done.out
    wait_until(lambda: led(zk) == [two.id] * N, what="the other leads all")
    again = zkleader(one, "resign", TASK)
    assert again.code == 1 and "leads no partition" in again.err
    back = zkleader(one, "unresign", TASK)
    assert back.code == 0 and "its resignation from 6 partitions of scan back" in back.out
    wait_led(zk, pair)


def test_one_partition_is_resigned_and_paused_alone(pair, zk, zkleader, check):
    one, two = pair
    k = mine(zk, one)[0]
    assert zkleader(one, "resign", partition(k)).code == 0
    wait_until(lambda: zk.leaders().get(partition(k)) == two.id, what="the other leads it")
    assert zkleader(two, "pause", partition(k)).code == 0
    wait_until(lambda: partition(k) not in zk.leaders(), what="nobody leads it")
    assert check(two, partition(k)).code == 4
    # A resignation may move a second partition, the other way: the spread is even again.
    wait_until(lambda: "5 of 6" in zkleader(two, "tasks").out, what="all the others are led")
    assert f"scan:{k}" in zkleader(two, "tasks").out
    done = zkleader(one, "resume", TASK)
    assert done.code == 0 and "scan is no longer paused, nor is any of its partitions" in done.out
    wait_until(lambda: led(zk), what="all are led")


def test_a_pin_is_for_all_partitions(pair, zk, zkleader):
    one, two = pair
    refused = zkleader(one, "pin", TASK, "7.0")
    assert refused.code == 3 and "no worker that lists scan has version 7.0" in refused.err
    assert zkleader(one, "pin", TASK, "7.0", "--force").code == 0
    wait_until(lambda: not any(name.startswith("scan:") and leader for name, leader in zk.leaders().items()), what="nobody leads")
    two.write_config(version="7.0")
    assert zkleader(two, "reload").code == 0
    wait_until(lambda: led(zk) == [two.id] * N, what="who has that version leads all")
    assert zkleader(one, "unpin", TASK).code == 0


def test_watch_has_a_line_for_each_partition(pair, zk):
    one, two = pair
    watch = spawn([build() / "zkleader", "-s", one.socket, "--json", "watch", TASK],
                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        moved = [k for k, owner in enumerate(led(zk)) if owner == two.id]
        wait_until(lambda: any(t["task"] == TASK for t in one.call("tasks")), what="it answers")
        two.kill()
        found = set()
        while not {partition(k) for k in moved} <= found:
            change = json.loads(watch.stdout.readline())
            if change["event"] == "leadership" and change["leader"] and change["leader"]["id"] == one.id:
                found.add(change["task"])
        assert "nightly" not in found
    finally:
        end(watch)
        watch.stdout.close()
        watch.stderr.close()


def test_a_subscriber_to_a_task_hears_of_its_partitions(pair, zk):
    one = pair[0]
    with one.client() as client:
        assert client.call("subscribe", TASK) is True
        told = set()
        while len(told) < N:
            while not client.notifications:
                client.pump()
            method, params = client.notifications.pop(0)
            if method == "leadership":
                assert params["leader"] is None or params["leader"]["id"] in led(zk)
                told.add(params["task"])
        assert told == {partition(k) for k in range(N)}

# --- runs


def run_all(sidecar, *words, command, **kwargs):
    """Starts `zkleader run` of the task beside this sidecar."""
    return spawn([build() / "zkleader", "-s", sidecar.socket, "run", *words, TASK, "--", *command],
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)


def outcome(process, timeout=60):
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        end(process)
    return process.returncode, out, err


SAY = ["sh", "-c", "echo $ZKLEADER_TASK $ZKLEADER_PARTITION of $ZKLEADER_PARTITIONS $ZKLEADER_TOKEN"]


def test_run_is_one_command_for_each_partition_led_here(pair, zk):
    runs = {s: run_all(s, "--tick", "1d", command=SAY) for s in pair}
    seen = []
    for sidecar, process in runs.items():
        code, out, err = outcome(process)
        assert code == 0 and err == "", (code, out, err)
        lines = sorted(out.splitlines())
        tokens = [zk.leader(partition(k))[1] for k in mine(zk, sidecar)]
        assert lines == [f"scan:{k} {k} of {N} {t}" for k, t in zip(mine(zk, sidecar), tokens)]
        seen += lines
    assert len(seen) == N
    assert all(len(zk.names("runs", partition(k))) == 1 for k in range(N))
    code, out, err = outcome(run_all(pair[0], "--tick", "1d", "-E", "9", command=SAY))
    assert (code, out, err) == (9, "", "")


def test_run_without_a_tick_is_one_command_for_each_partition_led_here(pair, zk):
    for wait in ("0s", "1500ms"):
        code, out, err = outcome(run_all(pair[0], "--tick", "none", "--wait", wait,
                                         command=["sh", "-c", "echo $ZKLEADER_TASK,$ZKLEADER_TICK"]))
        assert (code, err) == (0, "")
        assert sorted(out.splitlines()) == [f"scan:{k}," for k in mine(zk, pair[0])]
    assert all(zk.names("runs", partition(k)) == [] for k in range(N))


def run_here(sidecar, tick):
    return outcome(run_all(sidecar, "--tick", tick, "--wait", "0s", command=["sh", "-c", "echo $ZKLEADER_PARTITION"]))


def test_a_tick_before_the_newest_is_run_as_well(pair, zk):
    one = pair[0]
    old = {"state": "ok", "id": one.id, "hostname": "h", "token": 1, "attempt": 1, "started_at": 1, "ended_at": 2,
           "exit_status": 0}
    for k in mine(zk, one):
        zk.put(msgpack.packb(old), "runs", partition(k), "2020-01-01T00:00:00Z", ephemeral=False)
    for tick in ("1s", "1d"):
        code, out, err = run_here(one, tick)
        assert (code, sorted(map(int, out.split())), err) == (0, mine(zk, one), "")


def test_a_tick_before_all_that_are_kept_cannot_be_told(pair):
    one = pair[0]
    assert run_here(one, "1s")[0] == 0
    code, out, err = run_here(one, "1d")
    assert (code, out) == (2, "") and "is older than the oldest that is kept of scan:" in err, err


def test_the_greatest_status_is_that_of_the_call(pair, zk):
    one = pair[0]
    k = max(mine(zk, one))
    code, _, _ = outcome(run_all(one, "--wait", "0s", command=["sh", "-c", f"exit $((ZKLEADER_PARTITION == {k} ? 7 : 3))"]))
    assert code == 7


def test_tag_names_the_partition_before_each_line(pair, zk):
    one = pair[0]
    script = "echo one; echo two >&2; printf three"
    code, out, err = outcome(run_all(one, "--wait", "0s", "--tag", command=["sh", "-c", script]))
    assert code == 0
    assert sorted(out.splitlines()) == sorted(f"scan:{k} {w}" for k in mine(zk, one) for w in ("one", "three"))
    assert sorted(err.splitlines()) == [f"scan:{k} two" for k in mine(zk, one)]


def test_run_of_one_partition_by_name(pair, zk, program):
    one = pair[0]
    k = mine(zk, one)[0]
    done = program("zkleader", "-s", one.socket, "run", partition(k), "--", *SAY)
    assert done.code == 0 and done.out.startswith(f"scan:{k} {k} of {N} ")


def test_term_ends_all_commands_of_a_call(pair, zk, folder):
    one = pair[0]
    process = run_all(one, "--wait", "0s", command=["sh", "-c", f"touch {folder}/on.$ZKLEADER_PARTITION; exec sleep 60"])
    wait_until(lambda: len(list(folder.glob("on.*"))) == 3, what="all have begun")
    process.terminate()
    code, _, _ = outcome(process)
    assert code == 128 + 15


def test_commands_end_with_the_call_that_is_killed(pair, zk, folder):
    one = pair[0]
    process = run_all(one, "--wait", "0s", command=["sh", "-c", f"echo $$ > {folder}/on.$ZKLEADER_PARTITION; exec sleep 60"])
    wait_until(lambda: len([p for p in folder.glob("on.*") if p.read_text()]) == 3, what="all have begun")
    pids = [int(p.read_text()) for p in folder.glob("on.*")]
    process.kill()
    outcome(process)
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), what="no command is left")


# --- another number


def wait_nobody(zk, n=N):
    wait_until(lambda: not any(partition(k) in zk.leaders() for k in range(n)), what="nobody leads")


def test_another_number_is_put_in_force_while_the_task_is_paused(pair, zk, zkleader, check):
    one, two = pair
    assert zkleader(one, "pause", TASK).code == 0
    wait_nobody(zk)
    done = zkleader(one, "partitions", TASK, "8", "--reason", "more hosts")
    assert (done.code, done.out) == (0, "scan has 8 partitions from now on: write partitions = 8 in its file on all servers, "
                    "then zkleader resume scan\n"), done
    # A node that registers anew with that number just then says so, and to try again.
    again = wait_until(lambda: (lambda a: a if a.code == 0 else None)(zkleader(one, "partitions", TASK, "8")),
                       what="it is registered anew")
    assert again.out == "scan has 8 partitions already\n"
    wait_until(lambda: any("scan" in p["file"] for p in two.problems()), what="the files say another number")
    refused = check(two, partition(0))
    assert refused.code == 3 and "8" in refused.err
    assert zkleader(two, "status").code == 2
    for sidecar in pair:
        sidecar.write_tasks(partitioned(8), "nightly")
    assert zkleader(one, "resume", TASK).code == 0
    wait_led(zk, pair, 8)
    assert zk.names("partitions") == ["scan:8"]
    assert json.loads(zkleader(two, "--json", "partitions", TASK).out)["partitions"] == 8
    wait_until(lambda: not one.problems() and not two.problems(), what="nothing is wrong")


def test_a_task_is_plain_again_with_one_partition(pair, zk, zkleader, check):
    one, two = pair
    assert zkleader(one, "pause", TASK).code == 0
    wait_nobody(zk)
    done = zkleader(two, "partitions", TASK, "1")
    assert (done.code, done.out) == (0, "scan is a plain task from now on: take partitions out of its file on all servers, "
                    "then zkleader resume scan\n"), done
    for sidecar in pair:
        sidecar.write_tasks(TASK, "nightly")
    assert zkleader(one, "resume", TASK).code == 0
    wait_until(lambda: zk.leaders().get(TASK) in (one.id, two.id), what="it is led as a whole")
    wait_until(lambda: {check(s, TASK).code for s in pair} == {0, 1}, what="the best of both leads it")


def test_the_ledgers_of_partitions_that_are_gone_are_pruned_with_those_that_are_there(pair, zk, zkleader, check):
    one, two = pair
    for k, owner in enumerate(led(zk)):
        assert check(one if owner == one.id else two, "--once", "--tick", "1s", partition(k)).code == 0
    assert zkleader(one, "pause", TASK).code == 0
    wait_nobody(zk)
    assert zkleader(one, "partitions", TASK, "4").code == 0
    for sidecar in pair:
        sidecar.write_tasks(partitioned(4, history=1), "nightly")
    assert zkleader(one, "resume", TASK).code == 0
    first = one if wait_led(zk, pair, 4)[0] == one.id else two
    # Partition 0 has kept that time until now, and so have they.
    assert len(json.loads(zkleader(two, "--json", "history", partition(5)).out)) == 1

    def pruned():
        check(first, "--once", "--tick", "1s", partition(0))
        return not zk.names("runs", partition(4)) and not zk.names("runs", partition(5))
    wait_until(pruned, what="what is older than partition 0 keeps is gone")
    assert zk.names("runs", partition(3)), "what is in force is pruned by its own claims"


def test_a_marker_that_a_hand_has_deleted_does_not_keep_a_task_split(pair, zk, zkleader):
    one, two = pair
    assert zkleader(one, "pause", TASK).code == 0
    wait_nobody(zk)
    zk.client.delete(zk.path("leaders", TASK))
    done = zkleader(two, "partitions", TASK, "1")
    assert done.code == 0, done
    assert zk.names("partitions") == ["scan:1"] and TASK not in zk.names("leaders")


def test_another_number_is_refused_while_a_job_runs(pair, zk, zkleader, folder):
    one = pair[0]
    process = run_all(one, "--wait", "0s", command=["sh", "-c", f"touch {folder}/on.$ZKLEADER_PARTITION; exec sleep 60"])
    wait_until(lambda: len(list(folder.glob("on.*"))) >= 1, what="one has begun")
    assert zkleader(one, "pause", TASK).code == 0
    refused = zkleader(one, "partitions", TASK, "8")
    assert refused.code == 2 and "scan:" in refused.err, refused
    process.terminate()
    outcome(process)


def test_the_end_of_a_job_whose_task_is_removed_meanwhile_is_recorded(pair, zk, zkleader, folder):
    one = pair[0]
    k = mine(zk, one)[0]
    waits = f"touch {folder}/on; while [ ! -e {folder}/go ]; do sleep 0.1; done"
    process = run_all(one, "--wait", "0s", command=["sh", "-c", f"[ $ZKLEADER_PARTITION = {k} ] || exit 0; {waits}; exit 5"])
    wait_until((folder / "on").exists, what="its job has begun")
    one.write_tasks("nightly")
    wait_until(lambda: one.error_of("explain", TASK), what="it is removed")
    (folder / "go").touch()
    assert outcome(process)[0] == 5
    found = json.loads(zkleader(pair[1], "--json", "history", partition(k)).out)
    assert [(r["state"], r["exit_status"]) for r in found] == [("failed", 5)]


def test_a_host_with_another_number_is_named_by_the_others(pair, fleet, zkleader):
    one = pair[0]
    other = fleet.sidecar("other", tasks=[partitioned(8, partition_jobs=N)])
    # Once, also while it still publishes the keys of the task that it has just refused.
    named = wait_until(lambda: one.status()["disagreements"], what="it is named")
    assert [(d["key"], d["tasks"]) for d in named] == [("partitions", [TASK])]
    # The sidecar registers anew meanwhile, without the task.
    wait_until(lambda: "Disagrees" in zkleader(one, "status").out, what="status names it")
    wait_until(lambda: any("scan" in p["file"] for p in other.problems()), what="it is refused there")
    named = wait_until(lambda: [d for d in one.status()["disagreements"] if [other.status()["node"]] in d["groups"]],
                       what="it is named, as it is registered now")
    assert [(d["key"], d["tasks"]) for d in named] == [("partitions", [TASK])]
    entry = other.call("tasks", TASK)[0]
    assert entry["problem"] and entry["here"] == [] and entry["state"] == "following"


# --- the keys of partitions


def share(zk, sidecars):
    owners = led(zk)
    return [owners.count(s.id) for s in sidecars] if owners else None


def two_versions(fleet, **values):
    return [fleet.sidecar(name, version=version, tasks=[partitioned(**values)])
            for name, version in (("old", "1.0"), ("new", "2.0"))]


def test_the_newest_version_leads_no_more_than_the_limit(fleet, zk, zkleader):
    old, new = two_versions(fleet, partition_limit=2)
    # The limit is raised until all have a leader: 2 and 2, then one more for each.
    wait_until(lambda: share(zk, [old, new]) == [3, 3], what="each has three")
    for s in (old, new):
        s.write_tasks(partitioned(partition_limit=5))
    wait_until(lambda: share(zk, [old, new]) == [1, 5], what="the newest has five")
    assert zkleader(old, "partitions", TASK, "--here").out.split() == [str(k) for k in mine(zk, old)]


def test_all_versions_are_equal_where_any_will_do(fleet, zk, zkleader):
    old, new = two_versions(fleet, version_policy="any")
    wait_until(lambda: share(zk, [old, new]) == [3, 3], what="each has three")
    assert "this node leads 3 of the 6 partitions" in zkleader(old, "explain", TASK).out


def test_no_more_commands_at_a_time_than_partition_jobs(fleet, zk, folder):
    only = fleet.sidecar("only", tasks=[partitioned(partition_jobs=1)])
    wait_led(zk, [only])
    alone = ["sh", "-c", f"mkdir {folder}/busy || exit 9; echo $ZKLEADER_PARTITION; rmdir {folder}/busy"]
    code, out, err = outcome(run_all(only, "--tick", "1d", command=alone))
    assert (code, err) == (0, "") and sorted(out.split()) == [str(k) for k in range(N)]


COMPLETE = r'''
source "$1"; line=$2
read -ra COMP_WORDS <<<"${line//:/ : }"
[[ $line == *[\ :] ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line}
"_${COMP_WORDS[0]//-/_}" "" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
printf '%s\n' "${COMPREPLY[@]}"
'''


def complete(sidecar, line):
    """The words that bash offers at the end of that line, as readline splits it."""
    env = {**os.environ, "PATH": f"{build()}:{os.environ['PATH']}", "ZKLEADER_SOCKET": str(sidecar.socket)}
    run = subprocess.run(["bash", "-c", COMPLETE, "bash", ROOT / "docs/zkleader.bash-completion", line], env=env,
                         capture_output=True, text=True, timeout=60, check=True)
    return sorted(run.stdout.split())


def test_partitions_are_completed(pair, zk):
    a = pair[0]
    wait_until(lambda: complete(a, "zkleader explain sc") == ["scan"], what="the task is completed")
    numbers = sorted(str(k) for k in range(N))
    for line in ("zkleader explain scan:", "zkleader-check scan:", "zkleader pin scan:", "zkleader history scan:"):
        assert complete(a, line) == numbers, line
    assert complete(a, "zkleader explain scan:1") == [k for k in numbers if k.startswith("1")]
    assert complete(a, "zkleader explain other:") == []
    assert complete(a, "zkleader pin scan:1 ") == ["1.0"], "the next operand is a version"


def test_a_record_of_partitions_that_makes_no_sense_is_told_and_mended_by_deleting_it(fleet, zk):
    a = fleet.sidecar("a", tasks=[task_text("other", partitions=2)])
    wait_until(lambda: zk.leaders().get("other:1"), what="the folders are there")
    zk.put(b"\x00nonsense", "partitions", "scan:4", ephemeral=False)
    a.write_tasks(task_text("scan", partitions=4))
    b = fleet.sidecar("b", tasks=[task_text("scan", partitions=4)])

    def problems(sidecar):
        return [p["message"] for p in sidecar.status()["problems"]]

    for sidecar in (a, b):
        wait_until(lambda: any("delete" in m and "/partitions/scan:4" in m for m in problems(sidecar)),
                   what="it is told what to do")
        assert sidecar.log().count("record of partitions refused") == 1
    assert not zk.leaders().get("scan:0")
    zk.client.delete(zk.path("partitions", "scan:4"))
    wait_until(lambda: all(zk.leaders().get(f"scan:{k}") for k in range(4)), what="it is led")
    for sidecar in (a, b):
        wait_until(lambda: not problems(sidecar), what="all is well")


def test_a_number_that_a_hand_has_deleted_is_followed_by_another_only_once_nobody_leads(fleet, zk, folder):
    """A host with another number in its file waits for the jobs of the number before."""
    one = fleet.sidecar("one", tasks=[partitioned(4)], session_timeout="30s")
    wait_until(lambda: all(zk.leaders().get(f"scan:{k}") for k in range(4)), what="all are led")
    process = run_all(one, "--wait", "0s", command=["sh", "-c", f"touch {folder}/on.$ZKLEADER_PARTITION; exec sleep 60"])
    wait_until(lambda: len(list(folder.glob("on.*"))) >= 1, what="one has begun")
    busy = int(next(folder.glob("on.*")).suffix[1:])
    other = fleet.sidecar("other", tasks=[partitioned(8, partition_jobs=N)])
    wait_until(lambda: any("scan" in p["file"] for p in other.problems()), what="it is refused there")
    zk.client.delete(zk.path("partitions", "scan:4"))
    wait_until(lambda: any("is led by" in p["message"] for p in other.problems()), what="it says who leads still")
    holds_for(lambda: zk.names("partitions") == [] and zk.leaders().get(f"scan:{busy}") == one.id
              and not any(zk.leaders().get(f"scan:{k}") == other.id for k in range(8)), 2, "no other number is at work")
    process.terminate()
    outcome(process)
    wait_until(lambda: len(zk.names("partitions")) == 1, what="one of the two numbers is in force")
    [name] = zk.names("partitions")
    wait_until(lambda: all(zk.leaders().get(f"scan:{k}") for k in range(int(name[5:]))), what="it is led by that number")


def test_what_became_of_a_tick_is_told_of_each_partition(fleet, zk, zkleader):
    one = fleet.sidecar("one", tasks=[partitioned(2)])
    wait_led(zk, [one], 2)
    tick = "2000-01-01T00:00:00Z"
    told = zkleader(one, "explain", TASK, "--tick", tick)
    assert told.code == 0 and [f"scan:{k} {tick}: " in told.out for k in range(2)] == [True, True], told
    found = json.loads(zkleader(one, "--json", "explain", TASK, "--tick", tick).out)
    alone = [json.loads(zkleader(one, "--json", "explain", partition(k), "--tick", tick).out) for k in range(2)]
    assert found == {"task": TASK, "tick": tick, "partitions": alone}

"""Jobs of queues in a fleet: from any node, through deaths, restarts and rollouts, within the limits."""
import os
import signal
import threading
import time

import pytest
from kazoo.exceptions import NoAuthError

from harness.sidecar import queue_text
from harness.waiting import holds_for, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")


def noting(folder, then=""):
    """A command that notes its job, its attempt, and when it begins and ends."""
    return ["/bin/sh", "-c", f'echo "b $ZKLEADER_JOB $ZKLEADER_ATTEMPT $(date +%s.%N) $ZKLEADER_TOKEN" >>{folder}/ran; '
                             f'{then or ":"}; echo "e $ZKLEADER_JOB $ZKLEADER_ATTEMPT $(date +%s.%N)" >>{folder}/ran']


def ran(folder, kind="b"):
    path = folder / "ran"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line.split()[1:] for line in lines if line.startswith(kind)]


def most_at_a_time(folder):
    """The most jobs at a time, of those that came to their end: one that is killed with its lease does not say when."""
    ended = {(job, attempt) for job, attempt, _ in ran(folder, "e")}
    events = sorted((float(at), 1 if kind == "b" else -1) for kind in "be"
                    for job, attempt, at, *_ in ran(folder, kind) if (job, attempt) in ended)
    now = most = 0
    for _, step in events:
        now += step
        most = max(most, now)
    return most


def fullest(client, path):
    """How many are in the fullest of the folders there, whose lists have to stay below 1 MiB."""
    children = client.get_children(path)
    assert sum(len(name) + 4 for name in children) < 1 << 20, path
    return max([len(children), *(fullest(client, f"{path}/{name}") for name in children if "-" not in name)])


def leader_of(sidecars, queue="q"):
    return wait_until(lambda: next((s for s in sidecars if s.is_running() and s.leads(queue)), None), what="one leads")


def test_from_any_node_and_by_any_of_the_newest(queues, folder):
    q = queue_text("q", slots=1, command=noting(folder, "sleep 1"))
    a, b = queues.site("a", q, version="2.0"), queues.site("b", q, version="2.0")
    old = queues.site("old", q, version="1.0")
    alone = queues.site("alone", queue_text("q", slots=0), version="2.0", runner=False)
    wait_until(lambda: a.call("queue", "q")["state"] == "active" and len(a.call("queue", "q")["workers"]) >= 2,
               what="two serve it")
    queues.wait_open()
    jobs = [queues.submit(s) for s in (a, b, old, alone) for _ in range(2)]
    found = [queues.wait_state(alone, job) for job in jobs]
    assert {f["state"] for f in found} == {"ok"}
    nodes = {f["node"] for f in found}
    by_name = {s: next(w["node"] for w in a.call("workers") if w["id"] == s.id) for s in (a, b, old, alone)}
    assert nodes == {by_name[a], by_name[b]}, "both of the newest version, and nobody else"
    assert "q" not in next(w["tasks"] for w in a.call("workers") if w["node"] == by_name[alone])
    assert most_at_a_time(folder) <= 2


@pytest.mark.seconds(300)
def test_fifty_submitters_on_five_nodes_with_one_key(queues, folder):
    q = queue_text("q", slots=1, command=noting(folder))
    sidecars = [queues.site(f"n{i}", q, runner=i == 0) for i in range(5)]
    queues.wait_open()
    wait_until(lambda: all(s.call("queue", "q")["state"] == "active" for s in sidecars), what="all know who serves it")
    ids = []

    def one(i):
        ids.append(sidecars[i % 5].call("submit", "q", {"key": "import", "payload": b"%d" % i}, timeout=60)["id"])

    threads = [threading.Thread(target=one, args=(i,)) for i in range(50)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(ids) == 50 and len(set(ids)) == 1
    queues.wait_state(sidecars[0], ids[0])
    holds_for(lambda: len(ran(folder)) == 1, 2, "one job")


@pytest.mark.costly
def test_a_leader_that_is_killed_loses_nothing(queues, folder):
    q = queue_text("q", slots=2, command=noting(folder, "sleep 0.3"))
    sidecars = [queues.site(n, q, version=v) for n, v in (("a", "1.0"), ("b", "1.0"), ("c", "1.0"))]
    queues.wait_open()
    jobs = [queues.submit(sidecars[i % 3]) for i in range(30)]
    leader = leader_of(sidecars)
    leader.runner.stop(signal.SIGKILL)
    leader.kill()
    rest = [s for s in sidecars if s is not leader]
    found = [queues.wait_state(rest[0], job, timeout=90) for job in jobs]
    assert {f["state"] for f in found} == {"ok"}
    for job in jobs:
        attempts = [int(a) for j, a, *_ in ran(folder) if j == job]
        # A job that is killed as it begins has written nothing.
        assert attempts in ([1], [2], [1, 2]), "each attempt once"


@pytest.mark.parametrize("on_crash", ["rerun", pytest.param("skip", marks=pytest.mark.slow)])
def test_a_worker_that_is_killed(queues, folder, on_crash):
    q = queue_text("q", slots=1, on_crash=on_crash, backoff="60s",
                   command=noting(folder, '[ "$ZKLEADER_ATTEMPT" = 2 ] || sleep 60'))
    worker = queues.site("worker", q, version="2.0")
    other = queues.site("other", q, version="1.0")
    queues.wait_open()
    wait_until(lambda: other.call("queue", "q")["state"] == "active", what="it is served")
    job = queues.submit(other)
    wait_until(lambda: ran(folder), what="it has begun")
    worker.kill()
    killed = time.time()
    worker.runner.stop(signal.SIGKILL)
    found = queues.wait_state(other, job)
    if on_crash == "skip":
        assert found["state"] == "lost" and len(ran(folder)) == 1
        assert found["why"] == "node" and "has ended" in found["detail"]
        assert [d["id"] for d in other.call("dead", "q")] == [job]
        assert queues.run(other, "job", "--wait", job)[0] == 70
        return
    assert (found["state"], found["attempt"]) == ("ok", 2)
    first, second = ran(folder)
    assert int(second[3]) > int(first[3]), "the token has grown"
    assert float(second[2]) - killed < 30, "a crash waits for no backoff"
    assert [attempt for _, attempt, _ in ran(folder, "e")] == ["2"], "the first was ended with its lease"
    assert float(second[2]) >= killed + 1, "not before the session of the dead one has ended"


def test_a_job_that_exits_0_as_its_lease_ends_is_lost(queues, folder):
    q = queue_text("q", slots=1, on_crash="skip",
                   command=noting(folder, "trap 'exit 0' TERM; while :; do sleep 0.05; done"))
    worker = queues.site("worker", q, version="2.0")
    other = queues.site("other", q, version="1.0")
    queues.wait_open()
    wait_until(lambda: other.call("queue", "q")["state"] == "active", what="it is served")
    job = queues.submit(other)
    wait_until(lambda: ran(folder), what="it has begun")
    worker.pause()
    found = queues.wait_state(other, job)
    assert (found["state"], found["why"]) == ("lost", "node")
    worker.resume()
    holds_for(lambda: other.call("job", job)["state"] == "lost", 2, "it stays that")
    assert len(ran(folder)) == 1


def test_a_supervisor_that_is_killed_is_a_crash(queues, folder):
    q = queue_text("q", slots=1, command=["/bin/sh", "-c", f'echo $PPID >{folder}/guard; '
                                          f'echo "b $ZKLEADER_JOB $ZKLEADER_ATTEMPT 1" >>{folder}/ran; '
                                          '[ "$ZKLEADER_ATTEMPT" = 1 ] && sleep 600; exit 0'])
    a = queues.site("a", q)
    queues.wait_open()
    job = queues.submit(a)
    wait_until(lambda: ran(folder), what="it has begun")
    guard = int((folder / "guard").read_text())
    with open(f"/proc/{guard}/stat", encoding="ascii") as f:
        supervisor = int(f.read().rsplit(")", 1)[1].split()[1])
    os.kill(supervisor, signal.SIGKILL)
    os.kill(guard, signal.SIGKILL)
    found = queues.wait_state(a, job)
    assert (found["state"], found["attempt"]) == ("ok", 2)


def test_a_drained_worker_ends_what_runs_and_gives_the_rest_back(queues, folder):
    go = folder / "go"
    q = queue_text("q", slots=2, command=noting(folder, f"while ! test -e {go}; do sleep 0.1; done"))
    # A lease that a busy machine does not end: what is ended with it would begin again.
    a, b = (queues.site(name, q, session_timeout="10s") for name in "ab")
    queues.wait_open()
    wait_until(lambda: len(a.call("queue", "q")["workers"]) == 2, what="two serve it")
    jobs = [queues.submit(a) for _ in range(4)]
    wait_until(lambda: len(ran(folder)) == 4, what="all run")
    name = {s: next(w["node"] for w in a.call("workers") if w["id"] == s.id) for s in (a, b)}
    assert queues.run(b, "drain")[0] == 0
    later = [queues.submit(a) for _ in range(3)]
    holds_for(lambda: len(ran(folder)) == 4, 2, "a is full, and b gets nothing")
    for s in (a, b):  # on the host itself, and on another one
        code, out, err = queues.run(s, "drain", *([name[b]] if s is a else []), "--wait=300ms")
        assert (code, out.decode().splitlines()[-1]) == (1, f"waiting for {name[b]}: it still leads 0 tasks; it has 2 jobs of queues"), err
    go.touch()
    for job in jobs + later:
        assert queues.wait_state(a, job)["state"] == "ok"
    assert {queues.job(a, job)["node"] for job in later} == {name[a]}
    assert all(len([1 for j, *_ in ran(folder) if j == job]) == 1 for job in jobs + later)
    wait_until(lambda: queues.run(b, "drain", "--wait=1s")[0] == 0, what="no job is left there")


def test_a_sidecar_that_is_started_anew_goes_on_with_the_job(queues, folder):
    go = folder / "go"
    a = queues.site("a", queue_text("q", slots=1, timeout="5m", command=noting(
        folder, f"while ! test -e {go}; do sleep 0.1; done")), session_timeout="10s")
    queues.wait_open()
    for how in (signal.SIGUSR2, signal.SIGKILL):
        job = queues.submit(a)
        wait_until(lambda: any(j == job for j, *_ in ran(folder)), what="it has begun")
        a.signal(how)
        a.wait_exit()
        a.start()
        holds_for(lambda: queues.job(a, job)["state"] == "running", 3, "it runs on")
        go.touch()
        found = queues.wait_state(a, job)
        assert (found["state"], found["attempt"]) == ("ok", 1), how
        assert len([1 for j, *_ in ran(folder) if j == job]) == 1
        go.unlink()


def test_a_runner_that_is_started_anew_leaves_jobs_alone(queues, folder):
    go = folder / "go"
    a = queues.site("a", queue_text("q", slots=1, command=noting(folder, f"while ! test -e {go}; do sleep 0.1; done")),
                    session_timeout="10s")
    queues.wait_open()
    job = queues.submit(a)
    wait_until(lambda: ran(folder), what="it has begun")
    a.runner.stop()
    queues.start_runner(a)
    go.touch()
    found = queues.wait_state(a, job)
    assert (found["state"], found["attempt"]) == ("ok", 1)
    assert queues.run(a, "submit", "--wait", "q")[0] == 0


def test_a_stop_waits_for_jobs_and_gives_back_the_rest(queues, folder):
    go = folder / "go"
    q = queue_text("q", slots=1, command=noting(folder, f"while ! test -e {go}; do sleep 0.1; done"))
    a, b = (queues.site(n, q, version=v, session_timeout="10s") for n, v in (("a", "2.0"), ("b", "1.0")))
    queues.wait_open()
    wait_until(lambda: b.call("queue", "q")["state"] == "active", what="it is served")
    job = queues.submit(b)
    wait_until(lambda: ran(folder), what="it has begun")
    a.signal(signal.SIGTERM)
    holds_for(a.is_running, 0.5, "it waits for the job")
    go.touch()
    assert a.wait_exit() == 0
    found = queues.wait_state(b, job)
    assert (found["state"], found["attempt"]) == ("ok", 1), "it has ended by itself"
    assert queues.wait_state(b, queues.submit(b))["state"] == "ok", "the other version goes on"


@pytest.mark.costly
def test_the_concurrency_of_the_fleet(queues, folder):
    go = folder / "go"
    q = queue_text("q", slots=4, concurrency=3, command=noting(folder, f"while ! test -e {go}; do sleep 0.1; done"))
    # A lease that a busy machine does not end: what is ended with it would begin again.
    sidecars = [queues.site(n, q, session_timeout="10s") for n in "ab"]
    queues.wait_open()
    wait_until(lambda: len(sidecars[0].call("queue", "q")["workers"]) == 2, what="two serve it, with eight slots")
    jobs = [queues.submit(sidecars[i % 2]) for i in range(24)]
    wait_until(lambda: len(ran(folder)) == 3, what="three run")
    holds_for(lambda: len(ran(folder)) == 3, 2, "and no more, though slots are free")
    go.touch()
    for job in jobs:
        assert queues.wait_state(sidecars[0], job)["state"] == "ok"
    assert most_at_a_time(folder) == 3


def test_the_rate_of_the_fleet(queues, folder):
    a = queues.site("a", queue_text("q", slots=10, rate="4/2s", command=noting(folder)))
    queues.wait_open()
    jobs = [queues.submit(a) for _ in range(12)]
    for job in jobs:
        queues.wait_state(a, job)
    at = sorted(float(line[2]) for line in ran(folder))
    # Four, and four more two seconds later; what it takes to begin varies.
    assert at[4] - at[0] >= 1 and at[11] - at[0] >= 3


@pytest.mark.costly
def test_a_server_restart_loses_nothing(queues, folder, own_server):
    own_server.start()
    q = queue_text("q", slots=2, command=noting(folder, "sleep 0.2"))
    a = queues.site("a", q, session_timeout="10s")
    queues.wait_open()
    jobs = [queues.submit(a) for _ in range(40)]
    own_server.kill()
    own_server.start()
    a.wait_connected(60)
    for job in jobs:
        assert queues.wait_state(a, job, timeout=90)["state"] == "ok"
    assert all(len([1 for j, *_ in ran(folder) if j == job]) <= 2 for job in jobs)


@pytest.mark.slow
@pytest.mark.seconds(400)
def test_a_server_restart_with_ten_thousand_queued_loses_nothing(queues, folder, own_server):
    own_server.start()
    a = queues.site("a", queue_text("q", slots=2, max_queued=20000, command=noting(folder)), session_timeout="20s")
    queues.wait_open()
    n, now = 10000, 20
    with a.client(timeout=300) as client:
        def ask(method, params):
            """The answers to all of them, sent ahead by so many as are read again."""
            answers = {}
            for begin in range(0, len(params), 500):
                sent = [client.send(method, *p) for p in params[begin:begin + 500]]
                while not all(i in answers for i in sent):
                    _, number, error, result = client.read(timeout=60)
                    assert error is None, error
                    answers[number] = result
            return list(answers.values())

        later = [r["id"] for r in ask("submit", [("q", {"payload": b"p", "in_ms": 3600000})] * n)]
        assert len(set(later)) == n
        soon = [r["id"] for r in ask("submit", [("q", {"payload": b"p"})] * now)]
        assert fullest(a.tree.client, a.tree.path("jobs", "q")) < 10000
        own_server.kill()
        own_server.start()
        a.wait_connected(60)
        for job in soon:
            assert queues.wait_state(a, job, timeout=90)["state"] == "ok"
        wait_until(lambda: a.call("queue", "q")["queued"] == n, 60, "all others wait as before")
        found = ask("job", [(job,) for job in later])
        assert {f["id"] for f in found} == set(later) and {f["state"] for f in found} == {"queued"}


def test_round_robin_and_random(queues, folder):
    for name in ("round-robin", "random"):
        q = queue_text(name, slots=10, assign=name, command=["/bin/sleep", "1"])
        sidecars = [queues.site(f"{name}-{n}", q) for n in "ab"]
        queues.wait_open(name)
        wait_until(lambda: len(sidecars[0].call("queue", name)["workers"]) == 2, what="two serve it")
        jobs = [queues.submit(sidecars[0], queue=name) for _ in range(8)]
        nodes = [queues.wait_state(sidecars[0], job)["node"] for job in jobs]
        assert len(set(nodes)) == 2 or name == "random"
        if name == "round-robin":
            assert min(nodes.count(n) for n in set(nodes)) >= 3, nodes


def test_records_are_closed_to_the_world_with_an_auth_file(queues, folder, zk):
    auth = folder / "auth"
    auth.write_text("digest:user:secret\n")
    auth.chmod(0o600)
    a = queues.site("a", queue_text("q", command=["/bin/true"]), auth_file=auth)
    wait_until(lambda: queues.run(a, "submit", "q")[0] == 0, what="it takes jobs")
    job = queues.submit(a, "--in", "1h", payload=b"secret")
    _, minute, uuid = job.split(".")
    path = zk.path("jobs", "q", "job", minute, uuid[0], uuid)
    with pytest.raises(NoAuthError):
        zk.client.get(path)
    known = zk.server.client()
    known.add_auth("digest", "user:secret")
    assert b"secret" in known.get(path)[0]


# --- a sidecar that has changed while its session lives on


def submit_many(sidecar, n):
    """The exit codes of so many submits that are sent ahead; 0: it is committed."""
    with sidecar.client(timeout=60) as client:
        sent = [client.send("submit", "q", {"payload": b"p"}) for _ in range(n)]
        answers = [client.read(timeout=60) for _ in sent]
    return [error["code"] if error else 0 for _, _, error, _ in answers]


def test_no_more_wait_than_may_while_nobody_leads(queues, folder):
    limit = 40
    a = queues.site("a", queue_text("q", slots=1, max_queued=limit, command=noting(folder, "sleep 600")),
                    session_timeout="20s")
    others = [queues.site(n, queue_text("q", slots=0, max_queued=limit), runner=False) for n in "bc"]
    queues.wait_open()
    submit_many(others[0], 5)
    wait_until(lambda: len(ran(folder)) == 1, what="one has begun")
    a.pause()  # the only worker, so it leads
    found = []
    threads = [threading.Thread(target=lambda s=s: found.extend(submit_many(s, 200))) for s in others]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    view = others[0].call("queue", "q")
    assert view["queued"] == limit and view["state"] == "full"
    assert found.count(0) == limit - 4 and found.count(4) == 400 - found.count(0)
    assert set(submit_many(others[1], 5)) == {4}
    a.resume()
    a.runner.stop(signal.SIGKILL)
    a.kill()


def test_what_no_healthy_worker_serves_takes_nothing(queues, folder):
    a = queues.site("a", queue_text("q", slots=1, command=noting(folder, "sleep 600")))
    b = queues.site("b", queue_text("q", slots=0), runner=False)
    queues.wait_open()
    assert submit_many(b, 3) == [0] * 3
    a.runner.stop(signal.SIGKILL)
    wait_until(lambda: b.call("queue", "q")["state"] == "unserved", what="its worker is unhealthy")
    wait_until(lambda: set(submit_many(b, 10)) == {4}, 15, "nothing is taken")
    code, _, err = queues.run(b, "submit", "q")
    assert code == 4 and "nobody serves" in err
    queues.start_runner(a)
    wait_until(lambda: submit_many(b, 1) == [0], what="it is taken again")
    a.runner.stop(signal.SIGKILL)
    a.kill()


def two_nodes(queues, folder, then="sleep 600"):
    """The worker of the newest version, whose first job is `then`, and one that works once that one does not."""
    q = queue_text("q", slots=2, concurrency=1, command=noting(folder, f"! mkdir {folder}/first 2>/dev/null || {then}"))
    worker, other = queues.site("worker", q, version="2.0"), queues.site("other", q, version="1.0")
    queues.wait_open()
    return worker, other


def restart(sidecar):
    """At once, with the session that it had."""
    session = sidecar.status()["session"]["id"]
    sidecar.kill()
    sidecar.start()
    assert sidecar.status()["session"]["id"] == session, "it lives on"


def changes(sidecar, how):
    if how == "node":
        sidecar.write_config(node="renamed")
    elif how == "file gone":
        (sidecar.task_dir / "tasks.conf").unlink()
    else:
        sidecar.write_file("queue \"q\" {\n", "tasks.conf")


@pytest.mark.seconds(300)
@pytest.mark.parametrize("how", ["node", "file gone", "file broken"])
def test_what_runs_where_nobody_answers_for_it_is_tried_again(queues, folder, how):
    worker, other = two_nodes(queues, folder)
    job = queues.submit(other)
    wait_until(lambda: ran(folder), what="it has begun")
    waits = queues.submit(other)
    changes(worker, how)
    restart(worker)
    found = queues.wait_state(other, job, timeout=90)
    assert (found["state"], found["attempt"]) == ("ok", 2)
    assert most_at_a_time(folder) <= 1
    assert queues.wait_state(other, waits, timeout=90)["state"] == "ok", "concurrency counts it no more"


@pytest.mark.seconds(300)
def test_what_runs_where_nobody_answers_for_it_is_cancelled(queues, folder):
    worker, other = two_nodes(queues, folder)
    job = queues.submit(other)
    wait_until(lambda: ran(folder), what="it has begun")
    changes(worker, "node")
    restart(worker)
    assert queues.run(other, "cancel", job)[0] == 0
    assert queues.wait_state(other, job, timeout=90)["state"] == "cancelled"


@pytest.mark.seconds(300)
def test_a_job_that_runs_goes_on_while_its_queue_goes_from_the_files(queues, folder):
    worker, other = two_nodes(queues, folder, then=f"until test -e {folder}/go; do sleep 0.1; done")
    job = queues.submit(other)
    wait_until(lambda: ran(folder), what="it has begun")
    changes(worker, "file gone")
    wait_until(lambda: "q" not in worker.task_names(), what="the queue is gone there")
    timeout_s = worker.status()["session"]["timeout_ms"] / 1000
    holds_for(lambda: other.call("job", job)["state"] == "running", 2 * timeout_s + 2, "nobody takes it away")
    (folder / "go").touch()
    found = queues.wait_state(other, job)
    assert (found["state"], found["attempt"]) == ("ok", 1)


def test_an_epoch_of_another_ensemble_is_told_and_its_remedy_works(queues, folder):
    a = queues.site("a", queue_text("q", command=noting(folder)))
    queues.wait_open()
    path = f"{queues.zk.root}/jobs/q"
    queues.zk.client.set(path, b"900000000000000000")
    job = queues.submit(a)
    [problem] = wait_until(lambda: [p for p in a.status()["problems"] if p["file"] == "q"], what="it is told")
    assert "900000000000000000" in problem["message"] and f"zkCli.sh set {path} 0" in problem["message"]
    queues.zk.client.set(path, b"0")
    assert queues.wait_state(a, job)["state"] == "ok"
    wait_until(lambda: not a.status()["problems"], what="nothing is wrong any more")

"""Jobs of queues on one node: what is submitted, what is done of it, and what is said."""
import json
import os
import threading
import time

import msgpack
import pytest

from harness.rpc import RpcError
from harness.sidecar import Outcome, queue_text
from harness.waiting import holds_for, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")


def shell(script):
    return ["/bin/sh", "-c", script]


def minute_text(minute):
    """As it is in an id: in base 36."""
    digits = ""
    while minute:
        digits, minute = "0123456789abcdefghijklmnopqrstuvwxyz"[minute % 36] + digits, minute // 36
    return digits


def code_of(sidecar, method, *params):
    return sidecar.error_of(method, *params).code


def test_a_job_is_done_and_told_of(queues, folder):
    a = queues.site("a", queue_text("q", command=shell(f"cat >{folder}/got; echo out; echo err >&2; pwd; exit 0")))
    queues.wait_open()
    before = time.time()
    job = queues.submit(a, payload=b"hello")
    queue, minute, uuid = job.split(".")
    assert queue == "q" and len(uuid) == 36
    assert abs(int(minute, 36) - before / 60) < 2, "the minute of submission"
    found = queues.wait_state(a, job)
    assert (found["state"], found["attempt"], found["exit_status"]) == ("ok", 1, 0)
    assert found["output"] == "out\nerr\n/root\n"
    assert (found["id"], found["queue"], found["by"], found["key"]) == (job, "q", "root", None)
    assert found["node"] == a.call("workers")[0]["node"]
    assert set(found) == {"id", "queue", "state", "attempt", "key", "by", "host", "submitted", "due", "started",
                          "ended", "node", "exit_status", "output", "why", "detail"}
    for key in ("submitted", "due", "started", "ended"):
        assert found[key].endswith("Z") and found[key][:2] == "20"
    assert (folder / "got").read_bytes() == b"hello"
    code, out, _ = queues.run(a, "job", job)
    assert code == 0 and f"id         {job}" in out.decode() and "out" in out.decode()
    code, out, _ = queues.run(a, "--json", "job", job)
    assert code == 0 and json.loads(out) == found


def test_payloads_have_every_byte(queues, folder):
    a = queues.site("a", queue_text("q", command=shell(f'cat >{folder}/"$ZKLEADER_JOB"')))
    queues.wait_open()
    every = bytes(range(256)) * 64
    assert len(every) == 16384
    for payload in (b"", b"\0", every):
        job = queues.submit(a, payload=payload)
        assert queues.wait_state(a, job)["state"] == "ok"
        assert (folder / job).read_bytes() == payload
    code, out, err = queues.run(a, "submit", "q", payload=every + b"x")
    assert (code, out) == (3, b"") and "16384" in err
    e = a.error_of("submit", "q", {"payload": every + b"x"})
    assert e.code == 3 and "16385 bytes" in e.message


def test_a_job_finds_its_names_and_nothing_else(queues):
    a = queues.site("a", queue_text("q", command=["/usr/bin/env"]))
    queues.wait_open()
    job = queues.submit(a, payload=b"secret")
    found = queues.wait_state(a, job)
    env = dict(line.split("=", 1) for line in found["output"].splitlines())
    assert env.pop("ZKLEADER_QUEUE") == "q" and env.pop("ZKLEADER_JOB") == job
    assert env.pop("ZKLEADER_ATTEMPT") == "1" and int(env.pop("ZKLEADER_TOKEN")) > 0
    assert env == {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "USER": "root", "LOGNAME": "root",
                   "SHELL": "/bin/sh"}


def test_wait_has_the_status_and_the_output(queues):
    a = queues.site("a", queue_text("q", attempts=1, command=shell('read -r s; echo "is $s"; exit "$s"')))
    queues.wait_open()
    for status in (0, 3, 255):
        code, out, _ = queues.run(a, "submit", "--wait", "q", payload=b"%d\n" % status)
        job, rest = out.decode().split("\n", 1)
        assert (code, rest) == (status, f"is {status}\n")
        assert queues.run(a, "job", "--wait", job)[0] == status
    code, out, _ = queues.run(a, "--json", "submit", "--wait", "q", payload=b"4\n")
    assert code == 4 and json.loads(out)["state"] == "dead" and json.loads(out)["exit_status"] == 4


def test_what_failed_is_tried_again_and_is_dead_at_last(queues, folder):
    a = queues.site("a", queue_text("q", attempts=3, backoff="200ms", backoff_max="10s",
                                    command=shell(f'date +%s.%N >>{folder}/at; echo "$ZKLEADER_ATTEMPT" '
                                                  f'>>{folder}/attempts; exit 7')))
    queues.wait_open()
    job = queues.submit(a, payload=b"x")
    found = queues.wait_state(a, job)
    assert (found["state"], found["attempt"], found["exit_status"]) == ("dead", 3, 7)
    assert (folder / "attempts").read_text() == "1\n2\n3\n"
    at = [float(line) for line in (folder / "at").read_text().split()]
    assert at[1] - at[0] >= 0.1 and at[2] - at[1] >= 0.2, "half of the backoff at the least"
    [dead] = a.call("dead", "q")
    assert dead == found and found["output"] is None, "it wrote nothing"
    code, out, _ = queues.run(a, "dead", "q")
    assert code == 0 and job in out.decode()
    assert json.loads(queues.run(a, "--json", "dead", "q")[1]) == a.call("dead", "q")
    assert a.call("queue", "q")["dead"] == 1


def test_dead_letters_are_requeued_and_purged(queues, folder):
    good = folder / "good"
    a = queues.site("a", queue_text("q", attempts=1, command=shell(
        f'echo "$ZKLEADER_JOB $ZKLEADER_ATTEMPT" >>{folder}/ran; test -e {good}')))
    queues.wait_open()
    jobs = [queues.submit(a, payload=b"%d" % i) for i in range(4)]
    for job in jobs:
        assert queues.wait_state(a, job)["state"] == "dead"
    good.touch()
    code, out, _ = queues.run(a, "requeue", jobs[0])
    assert code == 0 and out == b"requeued 1 job\n"
    found = queues.wait_state(a, jobs[0], "ok")
    assert found["attempt"] == 2, "ZKLEADER_ATTEMPT goes on"
    assert f"{jobs[0]} 2" in (folder / "ran").read_text()
    assert queues.run(a, "requeue", jobs[0])[0] == 3, "it is no dead letter any more"
    good.unlink()
    assert a.call("requeue", jobs[1]) == {"requeued": 1}
    wait_until(lambda: a.call("job", jobs[1])["attempt"] == 2 and a.call("job", jobs[1])["state"] == "dead",
               what="attempts begin anew, and there is one")
    good.touch()
    code, out, _ = queues.run(a, "requeue", "--all", "q")
    assert code == 0 and out == b"requeued 3 jobs\n"
    for job in jobs[1:]:
        queues.wait_state(a, job, "ok")
    assert a.call("dead", "q") == []
    good.unlink()
    last = queues.submit(a)
    queues.wait_state(a, last, "dead")
    code, out, _ = queues.run(a, "purge", "q")
    assert code == 0 and out == b"purged 1 dead letter\n"
    assert a.call("dead", "q") == [] and code_of(a, "job", last) == 3
    assert json.loads(queues.run(a, "--json", "purge", "q")[1]) == {"purged": 0}
    assert queues.run(a, "requeue")[0] == 3 and queues.run(a, "requeue", "--all", "q", last)[0] == 3


def test_a_purge_takes_the_key_and_its_id_is_known(queues, folder, zk):
    a = queues.site("a", queue_text("q", attempts=1, command=shell(
        f'cat >>{folder}/ran; echo >>{folder}/ran; grep -q good {folder}/ran')))
    queues.wait_open()
    job = queues.submit(a, "--key", "night", payload=b"bad")
    queues.wait_state(a, job, "dead")
    assert queues.submit(a, "--key", "night") == job, "its key is kept with it"
    assert queues.run(a, "purge", "q")[1] == b"purged 1 dead letter\n"
    assert code_of(a, "job", job) == 3 and code_of(a, "requeue", job) == 3
    assert queues.run(a, "cancel", job)[0] != 0
    assert queues.submit(a, "--id", job, payload=b"bad") == job, "it was committed, and is not made again"
    assert a.call("queue", "q")["queued"] == 0 and code_of(a, "job", job) == 3
    other = queues.submit(a, "--key", "night", payload=b"good")
    assert other != job
    assert queues.wait_state(a, other)["state"] == "ok"
    assert (folder / "ran").read_text().split() == ["bad", "good"]
    # A hand deletes the record alone.
    minute, uuid = other.split(".")[1:]
    zk.client.delete(zk.path("jobs", "q", "job", minute, uuid[0], uuid))
    third = queues.submit(a, "--key", "night", payload=b"again")
    assert third not in (job, other)
    assert queues.wait_state(a, third)["state"] == "ok"
    assert queues.submit(a, "--key", "night") == third


def bury(zk, n, state="dead", minutes_ago=1, **changes):
    """Jobs of q that have ended, as a sidecar leaves them, without being run: their ids, the oldest first."""
    now_ms, client, made = int(time.time() * 1000) - (minutes_ago - 1) * 60000, zk.client, []
    ids = [f"q.{minute_text(now_ms // 60000 - 1 + (i >= n // 2))}.{i:08x}-5e6f-4a7b-8c9d-0e1f2a3b4c5d" for i in range(n)]
    for i, job in enumerate(ids):
        minute, uuid = job.split(".")[1:]
        record = {"id": job, "queue": "q", "state": state, "attempt": 1, "by": "root", "host": "h", "exit_status": 7,
                  "submitted": now_ms, "due": now_ms, "started": now_ms, "ended": now_ms, "output": b"x" * 2048,
                  **changes}
        folder = zk.path("jobs", "q", "job", minute, uuid[0])
        if folder not in made:
            for x in "0123456789abcdef":
                client.ensure_path(folder[:-1] + x)
            made.append(folder)
        made.append(client.create_async(f"{folder}/{uuid}", msgpack.packb(record)))
        if state == "dead":
            made.append(client.create_async(zk.path("jobs", "q", "dead", f"{minute}.{uuid}")))
        if i % 500 == 499:  # a server stops reading at a thousand
            made[-1].get(60)
    for one in made:
        if not isinstance(one, str):
            one.get(60)
    return ids


@pytest.mark.slow
def test_all_dead_letters_are_listed(queues, zk, web):
    """An answer has 500 of them at the most; the command asks on."""
    a = queues.site("a", queue_text("q", command=["/bin/true"]))
    queues.wait_open()
    ids = bury(zk, 1200)
    found = json.loads(queues.run(a, "--json", "dead", "q")[1])
    assert [d["id"] for d in found] == ids
    assert found[0]["state"] == "dead" and found[0]["output"] == "x" * 2048
    lines = queues.run(a, "dead", "q")[1].decode().splitlines()
    assert [line.split()[0] for line in lines[1:]] == ids
    assert a.call("dead", "q") == found[:500]
    assert a.call("dead", "q", {"after": ids[499], "of a later version": 1}) == found[500:1000]
    assert a.call("dead", "q", {"after": ids[1198]}) == found[-1:]
    assert a.call("dead", "q", {"after": ids[-1]}) == []
    for bad in ({"after": "q"}, {"after": 1}, {"after": ids[0].replace("q.", "r.")}, [], 1):
        assert code_of(a, "dead", "q", bad) == 3
    assert code_of(a, "dead", "q", {}, {}) == 3
    assert a.call("queue", "q")["dead"] == 1200
    page = web(a)
    wait_until(lambda: page.get("/readyz")[0] == 200, what="the web server has found the sidecar")
    assert "Some 50 of 1200 are shown" in page.get("/task/q")[2], "as it has the oldest 500"
    assert queues.run(a, "purge", "q")[1] == b"purged 1200 dead letters\n"
    assert json.loads(queues.run(a, "--json", "dead", "q")[1]) == []


def test_the_jobs_of_a_queue_are_listed(queues, folder):
    a = queues.site("a", queue_text("q", attempts=1, slots=1, command=shell(f"read -r s; [ $s = 0 ] && exit; "
                                                                            f"[ $s = 1 ] && exit 7; "
                                                                            f"until test -e {folder}/end; do sleep 0.1; "
                                                                            f"done")))
    queues.wait_open()
    jobs = []
    for i in range(3):
        jobs.append(queues.submit(a, "--key", f"key {i}", payload=b"%d\n" % i))
        wait_until(lambda i=i: a.call("job", jobs[i])["state"] == ("ok", "dead", "running")[i], what="it is so far")
    jobs.append(queues.submit(a, "--in", "1h", payload=b"0\n"))
    found = json.loads(queues.run(a, "--json", "queue", "q", "--jobs")[1])
    assert [(j["id"], j["state"], j["key"]) for j in found] == [
        (jobs[3], "queued", None), (jobs[2], "running", "key 2"), (jobs[1], "dead", "key 1"), (jobs[0], "ok", "key 0")]
    known = a.call("job", jobs[1])
    del known["output"]
    assert found[2] == known, "as job says, without payload and output"
    assert json.loads(queues.run(a, "--json", "queue", "q", "--jobs", "-n", "1")[1]) == found[:1]
    assert json.loads(queues.run(a, "--json", "queue", "q", "--jobs", "--state", "dead")[1]) == [found[2]]
    code, out, _ = queues.run(a, "queue", "q", "--jobs")
    lines = [line.split() for line in out.decode().splitlines()]
    assert code == 0 and lines[0] == ["JOB", "STATE", "AGE", "ATTEMPT", "NODE", "DUE", "KEY", "WHY"]
    assert lines[1][:2] == [jobs[3], "queued"] and lines[1][-3][:2] in ("59", "1h")
    assert [line[-1] for line in lines[1:]] == ["-", "-", "status", "-"]
    assert [line[0] for line in lines[1:]] == [j["id"] for j in found]
    assert queues.run(a, "queue", "q", "--jobs", "--state", "lost")[:2] == (0, b"q has no jobs that are lost\n")
    for wrong in (["q", "--jobs", "--state", "what"], ["q", "--jobs", "-n", "0"], ["--jobs"], ["q", "-n", "3"],
                  ["nosuch", "--jobs"]):
        assert queues.run(a, "queue", *wrong)[0] == 3, wrong
    (folder / "end").touch()


@pytest.mark.slow
@pytest.mark.seconds(400)
def test_ended_jobs_go_in_their_time_and_dead_letters_no_sooner(queues, zk):
    """Half a minute of 200 jobs a second goes in far less than that; 9,001 dead letters were too many."""
    a = queues.site("a", queue_text("q", command=["/bin/true"], keep="30m"))
    queues.wait_open()
    bury(zk, 9100, minutes_ago=40, output=b"")
    gone = bury(zk, 6000, state="ok", minutes_ago=90, output=b"")
    minutes = {job.split(".")[1] for job in gone}

    def left():
        return minutes & set(zk.names("jobs", "q", "job"))
    wait_until(lambda: not left(), 120, "they are deleted, and their folders")
    later = queues.submit(a)
    assert queues.wait_state(a, later)["state"] == "ok"
    assert len(zk.names("jobs", "q", "dead")) == 9100
    [oldest, *_] = a.call("dead", "q")
    assert oldest["state"] == "dead"


def test_a_timeout_ends_an_attempt(queues, folder):
    a = queues.site("a", queue_text("q", attempts=2, backoff="0s", timeout="2s",
                                    command=shell(f"echo begun; echo x >>{folder}/ran; sleep 600")))
    queues.wait_open()
    found = queues.wait_state(a, queues.submit(a))
    assert (found["state"], found["attempt"], found["output"]) == ("dead", 2, "begun\n")
    assert (folder / "ran").read_text() == "x\nx\n"


GOOD_MANNERS = "trap 'exit 0' TERM; while :; do sleep 0.05; done"  # it exits 0 when it is told to go


def test_a_timeout_is_never_ok(queues):
    a = queues.site("a", queue_text("q", attempts=2, backoff="0s", timeout="500ms", command=shell(GOOD_MANNERS)))
    queues.wait_open()
    code, out, _ = queues.run(a, "submit", "--wait", "q")
    found = a.call("job", out.decode().split()[0])
    assert (found["state"], found["attempt"], found["exit_status"]) == ("dead", 2, 0)
    assert code == 70, "the status that it ended with says nothing"


def test_a_cancelled_job_is_never_ok(queues, folder):
    a = queues.site("a", queue_text("q", command=shell(f"echo x >>{folder}/ran; {GOOD_MANNERS}")))
    queues.wait_open()
    job = queues.submit(a)
    wait_until(lambda: (folder / "ran").exists(), what="it has begun")
    assert queues.run(a, "cancel", job)[0] == 0
    assert queues.wait_state(a, job)["state"] == "cancelled"
    assert (folder / "ran").read_text() == "x\n"


def test_later_jobs_wait_for_their_time(queues):
    a = queues.site("a", queue_text("q", command=["/bin/true"]))
    queues.wait_open()
    began = time.time()
    soon = queues.submit(a, "--in", "3s")
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began + 4))
    then = queues.submit(a, "--at", at)
    far = queues.submit(a, "--in", "89d")
    day = [time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(began + 86400 + s)) for s in (0, 1)]
    assert a.call("job", queues.submit(a, "--at", f"{day[0]}.001Z"))["due"] == f"{day[1]}Z", "no earlier"
    now = queues.submit(a)
    assert queues.wait_state(a, now)["state"] == "ok"
    assert a.call("job", then)["due"] == at
    assert queues.wait_state(a, soon)["state"] == "ok" and time.time() >= began + 3
    assert queues.wait_state(a, then)["state"] == "ok" and time.time() >= int(began + 4)
    assert a.call("job", far)["state"] == "queued"
    for args in (["--in", "91d"], ["--at", "2199-01-01T00:00:00Z"], ["--at", "tomorrow"], ["--in", "1"],
                 ["--at", "2026-02-30T00:00:00Z"], ["--in", "1s", "--at", at]):
        code, out, _ = queues.run(a, "submit", *args, "q")
        assert (code, out) == (3, b""), args
    assert code_of(a, "submit", "q", {"in_ms": 91 * 86400000}) == 3
    assert code_of(a, "submit", "q", {"at": "2199-01-01T00:00:00Z"}) == 3
    assert queues.run(a, "submit", "--at", "2020-01-01T00:00:00Z", "q")[0] == 0, "what is past is due at once"


def test_an_id_is_repeated_safely(queues, folder):
    a = queues.site("a", queue_text("q", command=shell(f'echo "$ZKLEADER_JOB" >>{folder}/ran')))
    queues.wait_open()
    job = queues.submit(a, payload=b"x")
    for _ in range(3):
        assert queues.submit(a, "--id", job, payload=b"x") == job
    queues.wait_state(a, job)
    assert queues.submit(a, "--id", job) == job, "after its end as well"
    assert (folder / "ran").read_text() == f"{job}\n"
    minute = int(time.time() // 60)

    def made(shift):
        return f"q.{minute_text(minute + shift)}.0a1b2c3d-0000-4000-8000-0000000000{shift % 100:02d}"

    assert queues.submit(a, "--id", made(-5)) == made(-5)
    for shift in (-15, 15):
        code, out, err = queues.run(a, "submit", "--id", made(shift), "q")
        assert (code, out) == (3, b"") and err, "too old, or from the future"
    for bad in ("q", "q.x", made(0).upper(), made(0).replace("q.", "r.", 1), made(0) + "x", "q.0." + made(0)[-36:]):
        assert queues.run(a, "submit", "--id", bad, "q")[0] == 3, bad


def test_what_is_committed_is_not_refused_later(queues):
    """Whose answer was lost repeats it: that the queue takes nothing any more says nothing of that job."""
    a = queues.site("a", queue_text("q", command=["/bin/true"]))
    b = queues.site("b", queue_text("q", slots=0), runner=False)
    queues.wait_open()
    job = queues.submit(a, "--in", "1h", payload=b"x")
    keyed = queues.submit(a, "--in", "1h", "--key", "night")
    assert queues.run(a, "pause", "q")[0] == 0
    wait_until(lambda: b.call("queue", "q")["state"] == "paused", what="the other has heard of it")
    minute = job.split(".")[1]
    for i, node in enumerate((a, b)):
        assert queues.run(node, "submit", "--id", job, "q", payload=b"x")[:2] == (0, f"{job}\n".encode())
        other = f"q.{minute}.0a1b2c3d-0000-4000-8000-00000000000{i}"
        code, out, err = queues.run(node, "submit", "--id", other, "q")
        assert (code, out) == (4, b"") and "paused" in err
        code, out, _ = queues.run(node, "submit", "--id", other, "--key", "night", "q")
        assert (code, out) == (0, f"{keyed}\n".encode()), "as the first call was answered"
        assert queues.run(node, "submit", "--id", other, "--key", "day", "q")[0] == 4
    assert a.call("queue", "q")["queued"] == 2, "nothing was added"


def test_many_threads_with_one_key_make_one_job(queues, folder):
    a = queues.site("a", queue_text("q", slots=2, command=shell(f'echo "$ZKLEADER_JOB" >>{folder}/ran')))
    queues.wait_open()
    ids = []

    def one():
        ids.append(a.call("submit", "q", {"key": "nightly", "payload": b"x"})["id"])

    threads = [threading.Thread(target=one) for _ in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(ids)) == 1 and len(ids) == 20
    assert queues.wait_state(a, ids[0])["key"] == "nightly"
    assert a.call("submit", "q", {"key": "nightly"})["id"] == ids[0], "as long as it is kept"
    assert a.call("submit", "q", {"key": "another"})["id"] != ids[0]
    wait_until(lambda: len((folder / "ran").read_text().splitlines()) == 2, what="two jobs have run")


def test_a_key_while_its_job_is_open_and_while_it_is_kept(queues, folder):
    a = queues.site("a", queue_text("q", attempts=1, command=shell(f"until test -e {folder}/end; do sleep 0.1; done; "
                                                                   f"exit 7")))
    queues.wait_open()
    both = [["--key", "nightly"], ["--key", "nightly", "--while", "open"]]
    first = queues.submit(a, *both[0])
    wait_until(lambda: a.call("job", first)["state"] == "running", what="it runs")
    for how in both:
        code, out, err = queues.run(a, "submit", *how, "q")
        assert (code, out.decode(), err) == (0, first + "\n", ""), "it is open"
    (folder / "end").touch()
    ended = queues.wait_state(a, first)
    assert (ended["state"], ended["why"], ended["detail"]) == ("dead", "status", "exit status 7")
    for words in (["job", first], ["dead", "q"], ["queue", "q", "--jobs"]):
        assert b"status" in queues.run(a, *words)[1]
        listed = json.loads(queues.run(a, "--json", *words)[1])
        assert (listed if words[0] == "job" else listed[0])["why"] == "status"
    for how in (both[0], both[0] + ["--while", "kept"]):
        code, out, err = queues.run(a, "submit", *how, "q")
        assert (code, out.decode()) == (0, first + "\n")
        assert "dead" in err and "ago, exit status 7" in err and "--while open" in err and f"requeue tries" in err
        assert err.count("\n") == 1 and f"anew: {first}" in err
    (folder / "end").unlink()
    second = queues.submit(a, *both[1])
    assert second != first
    assert queues.submit(a, *both[1]) == queues.submit(a, *both[0]) == second, "that one has the key now"
    assert a.call("submit", "q", {"key": "nightly", "while": "open"}) == {"id": second}
    (folder / "end").touch()
    queues.wait_state(a, second)
    for wrong in (["--while", "open"], ["--key", "k", "--while", "never"]):
        assert queues.run(a, "submit", *wrong, "q")[0] == 3
    assert code_of(a, "submit", "q", {"key": "k", "while": "never"}) == 3


def test_cancel(queues, folder):
    a = queues.site("a", queue_text("q", slots=1, command=shell(
        f'trap "echo term >>{folder}/ends; exit 9" TERM; echo x >>{folder}/ran; sleep 600 & wait')))
    queues.wait_open()
    running = queues.submit(a)
    queued, later = queues.submit(a), queues.submit(a, "--in", "1h")
    queues.wait_state(a, running, "running")
    wait_until(lambda: (folder / "ran").exists(), what="it has begun")
    for job in (queued, later):
        code, out, _ = queues.run(a, "cancel", job)
        assert code == 0 and out.decode() == f"{job}: cancelled\n"
        assert a.call("job", job)["state"] == "cancelled"
    waiting = queues.begin(a, "job", "--wait", running)
    assert queues.run(a, "cancel", running)[0] == 0
    found = queues.wait_state(a, running)
    assert found["state"] == "cancelled"
    assert (folder / "ends").read_text() == "term\n"
    assert waiting.wait(30) == 70, "it has no status"
    waiting.communicate()
    code, out, _ = queues.run(a, "cancel", running)
    assert code == 0 and "cancelled" in out.decode(), "nothing to undo"
    assert queues.run(a, "cancel", "q.abc.0a1b2c3d-0000-4000-8000-000000000000")[0] == 3
    assert (folder / "ran").read_text() == "x\n", "nothing else has begun"
    assert a.call("dead", "q") == []


def test_what_has_ended_is_not_cancelled(queues):
    a = queues.site("a", queue_text("q", command=["/bin/true"]))
    queues.wait_open()
    job = queues.submit(a)
    queues.wait_state(a, job, "ok")
    code, out, _ = queues.run(a, "--json", "cancel", job)
    assert code == 0 and json.loads(out)["done"] is False
    assert "it has ended" in json.loads(out)["message"]
    assert a.call("job", job)["state"] == "ok"


def test_paused_and_unserved_queues_take_nothing(queues):
    a = queues.site("a", queue_text("q", command=["/bin/true"]))
    queues.wait_open()
    assert queues.run(a, "pause", "q")[0] == 0
    code, out, err = queues.run(a, "submit", "q")
    assert code == 4 and out == b"" and "paused" in err
    assert a.call("queue", "q")["state"] == "paused"
    assert queues.run(a, "resume", "q")[0] == 0
    wait_until(lambda: queues.run(a, "submit", "q")[0] == 0, what="it takes jobs again")
    alone = queues.site("b", queue_text("r", slots=0), runner=False)
    code, out, err = queues.run(alone, "submit", "r")
    assert code == 4 and "nobody serves" in err
    assert alone.call("queue", "r")["state"] == "unserved"


def test_what_is_queued_stays_over_a_pause(queues, folder):
    a = queues.site("a", queue_text("q", command=shell(f"echo x >>{folder}/ran")))
    queues.wait_open()
    job = queues.submit(a, "--in", "6s")  # what the leader has promised is over before that
    assert queues.run(a, "pause", "q")[0] == 0
    holds_for(lambda: a.call("job", job)["state"] == "queued", 8, "it is not begun")
    assert queues.run(a, "resume", "q")[0] == 0
    assert queues.wait_state(a, job)["state"] == "ok"


def test_a_full_queue_takes_nothing_and_drops_nothing(queues, folder):
    go = folder / "go"
    a = queues.site("a", queue_text("q", slots=1, max_queued=10, command=shell(
        f'while ! test -e {go}; do sleep 0.1; done')), session_timeout="10s")
    queues.wait_open()
    ids = []

    def refused():
        code, out, err = queues.run(a, "submit", "q")
        if code == 0:
            ids.append(out.decode().strip())
        return (code, out, err) if code else None
    code, out, err = wait_until(refused, what="it is full")
    assert (code, out) == (4, b"") and "full" in err
    assert len(ids) >= 10
    assert a.call("queue", "q")["state"] == "full"
    go.touch()
    for job in ids:
        assert queues.wait_state(a, job)["state"] == "ok"
    wait_until(lambda: queues.run(a, "submit", "q")[0] == 0, what="it takes jobs again")


def test_who_may(queues, folder, base_folder):
    for path in (base_folder, folder):
        path.chmod(0o755)
    a = queues.site("a", queue_text("q", command=["/bin/sh", "-c", "echo told"], submitters=["nobody"]),
                    queue_text("closed", command=["/bin/true"]), socket_mode="0666")
    queues.wait_open()
    queues.wait_open("closed")

    def as_nobody(*args):
        code, out, err = queues.run(a, *args, user="nobody")
        return Outcome(code, out.decode(), err)

    a.folder.chmod(0o755)
    job = queues.submit(a)
    queues.wait_state(a, job)
    for args, code in ((("submit", "closed"), 3), (("submit", "q"), 0), (("cancel", job), 3), (("purge", "q"), 3),
                       (("requeue", job), 3), (("pause", "q"), 3), (("queue",), 0), (("queue", "q"), 0),
                       (("dead", "q"), 0), (("job", job), 0)):
        assert as_nobody(*args).code == code, args
    refused = as_nobody("submit", "closed")
    assert 'nobody may not submit to closed: add submitters = {"nobody"} to the queue' in refused.err
    assert json.loads(as_nobody("--json", "job", job).out)["output"] == "told\n", "who may submit may read"
    other = queues.submit(a, queue="closed")
    queues.wait_state(a, other)
    assert json.loads(as_nobody("--json", "job", other).out)["output"] is None
    by = as_nobody("submit", "q")
    assert a.call("job", by.out.strip())["by"] == "nobody"


def test_what_makes_no_sense_is_refused(queues):
    a = queues.site("a", 'task "t" { }', queue_text("q", command=["/bin/true"]))
    queues.wait_open()
    for args in (["submit"], ["submit", "nothing"], ["submit", "t"], ["submit", "q", "x"], ["job", "x"],
                 ["job", "q.abc.0a1b2c3d-0000-4000-8000-000000000000"], ["cancel", "x"], ["dead"], ["dead", "t"],
                 ["queue", "nothing"], ["purge", "nothing"], ["requeue", "x"], ["submit", "--key", "a\nb", "q"],
                 ["submit", "--key", "k" * 201, "q"], ["submit", "--callback", "http://x/", "q"]):
        code, out, err = queues.run(a, *args)
        assert (code, out) == (3, b"") and err.count("\n") == 1, args
    assert 'did you mean "q"' in queues.run(a, "submit", "q1")[2]
    for params in ([], ["q"], ["q", 1], ["q", {"payload": 1}], ["q", {"id": 1}], ["q", {"in_ms": -1}],
                   ["q", {"in_ms": "x"}], ["q", {"at": 1}], [1, {}], ["q", {}, {}], ["q", {1: 2}]):
        assert code_of(a, "submit", *params) == 3, params
    other = "other.abc.0a1b2c3d-0000-4000-8000-000000000000"
    for method, params in (("job", []), ("job", ["q", {}]), ("cancel", []), ("requeue", []), ("requeue", [{}]),
                           ("requeue", [{"queue": 1}]), ("requeue", [[]]), ("purge", []), ("queue", ["q", "q"]),
                           ("requeue", [{"queue": "q", "after": "x"}]), ("requeue", [{"after": other}]),
                           ("requeue", [{"queue": "q", "after": other}]), ("purge", ["q", {"after": 1}]),
                           ("purge", ["q", {"after": other}]), ("purge", ["q", {}, {}]),
                           ("job_begin", []), ("job_begin", ["x"]), ("job_renew", [1]), ("job_renew", []),
                           ("job_finish", [1, {}]), ("job_finish", [1]), ("job_attach", ["x", 1]), ("job_attach", [])):
        assert code_of(a, method, *params) == 3, (method, params)
    assert a.check("q")["leader"], "it goes on"


def test_queue_is_shown_with_its_workers(queues, folder):
    go = folder / "go"
    a = queues.site("a", queue_text("q", slots=2, concurrency=2, rate="1000/1s", command=shell(
        f"while ! test -e {go}; do sleep 0.1; done")), queue_text("r", command=["/bin/true"]), session_timeout="10s")
    queues.wait_open()
    queues.wait_open("r")
    jobs = [queues.submit(a) for _ in range(5)]
    wait_until(lambda: a.call("queue", "q")["running"] == 2 and a.call("queue", "q")["queued"] == 3,
               what="two run and three wait")
    found = a.call("queue", "q")
    [worker] = found.pop("workers")
    assert worker == {"node": a.call("workers")[0]["node"], "slots": 2, "running": 2}
    assert found.pop("oldest_ms") >= 0
    assert found == {"queue": "q", "state": "active", "queued": 3, "running": 2, "dead": 0, "rate": "1000/1s",
                     "concurrency": 2}
    assert [q["queue"] for q in a.call("queue")] == ["q", "r"]
    code, out, _ = queues.run(a, "queue")
    lines = out.decode().splitlines()
    assert code == 0 and lines[0].split() == ["QUEUE", "STATE", "QUEUED", "OLDEST", "RUNNING", "RATE", "DEAD"]
    assert lines[1].split()[:3] == ["q", "active", "3"] and lines[1].split()[4:] == ["2/2", "1000/1s", "0"]
    assert "2/2" in lines[2] and max(map(len, lines)) <= 80
    assert json.loads(queues.run(a, "--json", "queue", "q")[1])["queued"] == 3
    assert queues.run(a, "queue", "q")[1].decode().splitlines()[1].split()[0] == "q"
    watching = queues.begin(a, "queue", "--watch", "q")
    first = b"".join(watching.stdout.readline() for _ in lines[:3])
    go.touch()
    for job in jobs:
        assert queues.wait_state(a, job)["state"] == "ok"
    wait_until(lambda: a.call("queue", "q")["running"] == 0, what="none is left")
    later = []
    while not later or later[-1][:1] != ["q"] or later[-1][2] != "0":
        assert (line := watching.stdout.readline()), later
        later.append(line.decode().split())
    watching.terminate()
    watching.communicate(timeout=30)
    assert watching.returncode == 0
    assert b"2/2" in first


def test_tasks_list_and_explain_have_the_queue(queues, program):
    a = queues.site("a", queue_text("q", command=["/bin/true"], description="work to do"), 'task "t" { }')
    queues.wait_open()
    found = {t["task"]: t for t in a.call("tasks")}
    assert set(found) == {"q", "t"} and found["q"]["state"] == "leading"
    assert found["q"]["description"] == "work to do"
    assert a.call("workers")[0]["tasks"] == ["q", "t"]
    assert program("zkleader", "-s", a.socket, "explain", "q").code == 0
    assert program("zkleader-check", "-s", a.socket, "q").code == 0
    refused = program("zkleader", "-s", a.socket, "run", "q", "--", "/bin/true")
    assert refused.code == 3 and "queue" in refused.err
    assert program("zkleader", "-s", a.socket, "trigger", "q").code == 3


def test_without_a_runner_a_node_is_unhealthy_and_gets_nothing(queues):
    a = queues.site("a", queue_text("q", command=["/bin/true"]), runner=False)
    wait_until(lambda: any("no runner" in p["message"] for p in a.problems()), what="it is a problem")
    wait_until(lambda: not a.leads("q"), what="it does not lead the queue")
    job = queues.submit(a)
    holds_for(lambda: queues.job(a, job)["state"] == "queued", 3, "it waits")
    queues.start_runner(a)
    assert queues.wait_state(a, job)["state"] == "ok", "with a runner it is done"
    wait_until(lambda: a.problems() == [], what="all is well")


def test_a_file_that_is_not_roots_is_not_run(queues, folder):
    a = queues.site("a", queue_text("q", command=shell(f"echo x >>{folder}/ran")))
    queues.wait_open()
    path = a.task_dir / "tasks.conf"
    os.chown(path, 65534, 0)
    wait_until(lambda: any("tasks.conf" in p["file"] for p in a.problems()), what="it is a problem")
    assert queues.run(a, "submit", "q")[0] in (0, 4)
    holds_for(lambda: not (folder / "ran").exists(), 3, "it is not started")
    os.chown(path, 0, 0)
    wait_until(lambda: queues.run(a, "submit", "--wait", "q")[0] == 0, what="it is done again")


def test_a_reload_takes_effect(queues, folder):
    a = queues.site("a", queue_text("q", command=shell("exit 1"), attempts=1))
    queues.wait_open()
    queues.wait_state(a, queues.submit(a), "dead")
    a.write_tasks(queue_text("q", command=shell("exit 0"), attempts=1), queue_text("new", command=["/bin/true"]))
    queues.wait_open("new")
    wait_until(lambda: queues.run(a, "submit", "--wait", "q")[0] == 0, what="the new command is run")
    assert queues.run(a, "submit", "--wait", "new", "--id", "x")[0] == 3
    a.write_tasks('task "q" { }')
    wait_until(lambda: a.task_names() == ["q"], what="the queue is a task now")
    assert queues.run(a, "submit", "q")[0] == 3
    changed = queues.run(a, "reload")
    assert changed[0] == 0


def test_a_thousand_outstanding_requests_and_more(queues):
    a = queues.site("a", queue_text("q", slots=0), runner=False)
    b = queues.site("b", queue_text("q", slots=1, concurrency=1, command=["/bin/sleep", "600"]))
    queues.wait_open()
    n = 2500

    def answers(client, *requests):
        sender = threading.Thread(target=lambda: [client.send(*request) for request in requests])
        sender.start()
        found = []
        while len(found) < len(requests):
            message = client.read(timeout=60)
            assert message[0] == 1 and message[2] is None, message
            found.append(message[3])
        sender.join()
        return found

    with a.client(timeout=100) as client:
        ids = {job["id"] for job in answers(client, *[("submit", "q", {"payload": b"p" * 200})] * n)}
        assert len(ids) == n
        wait_until(lambda: b.call("queue", "q")["queued"] >= n - 2, what="all of them are there")
        assert {job["id"] for job in answers(client, *(("job", name) for name in ids))} == ids
        answers(client, *(("cancel", name) for name in ids))
    wait_until(lambda: b.call("queue", "q")["queued"] == 0, what="all are cancelled")
    assert a.is_running() and b.is_running()
    b.kill()  # what runs there would be waited for


def test_the_environment_of_a_sidecar_that_is_away(queues):
    a = queues.site("a", queue_text("q", command=["/bin/true"]))
    queues.wait_open()
    a.stop()
    code, out, err = queues.run(a, "submit", "q")
    assert code == 2, "it cannot be known whether it was done"
    job = out.decode().strip()
    assert job.startswith("q.") and f"--id {job}" in err
    a.start()
    queues.wait_open()
    wait_until(lambda: queues.run(a, "submit", "--id", job, "q")[0] == 0, what="the same again is committed")
    assert queues.wait_state(a, job)["state"] == "ok"
    with pytest.raises(RpcError):
        a.call("submit", "q", {"id": "nonsense"})


def test_its_leader_tells_metrics_of_it(queues):
    q = queue_text("q", command=["/bin/false"], attempts=1)
    leader, other = queues.site("a", q, version="2.0"), queues.site("b", q, version="1.0")
    queues.wait_open()
    wait_until(lambda: leader.leads("q"), what="the newer leads it")
    a, b = leader, other
    queues.wait_state(a, queues.submit(a), "dead")
    for _ in range(3):
        queues.submit(b, "--in", "1h")

    def told():
        [found] = leader.call("metrics")["queues"]
        return (found["queue"], found["queued"], found["dead"], found["oldest_ms"]) == ("q", 3, 1, 0)
    wait_until(told, what="it is told")
    assert other.call("metrics")["queues"] == []

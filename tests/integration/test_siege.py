"""A local user cannot have what the others need: with 1,000 of his connections asking the dearest things no job is
ended, nobody else's check is late, and the sidecar does not grow."""
import os
import time

import pytest

from harness.process import cpu_seconds, resident_bytes
from harness.sidecar import build, task_text
from harness.siege import Siege
from harness.waiting import wait_until

TASK = "nightly"
TASKS = [f"task-{i:03}" for i in range(200)]
SECONDS = 6
SLOWEST = 0.5  # of a check, by what the sidecar does of others' before it: how fast a machine does that is the bench's
RESIDENT = 32 * 1024 * 1024


@pytest.fixture
def sidecar(fleet, folder):
    folder.parent.chmod(0o755)
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    made = fleet.sidecar("only", tasks=[task_text(TASK, tick="24h"), *TASKS], session_timeout="10s", log_level="info")
    wait_until(lambda: made.status()["leads"] == len(TASKS) + 1, what="it leads all")
    return made


def is_sanitized():
    return build().name != "release"


@pytest.mark.seconds(180)
def test_a_thousand_connections_of_one_user_harm_no_other(sidecar, jobs):
    job = jobs(TASK)
    run = job.run(sidecar, body="sleep 300 & wait")
    job.wait_started()
    pid, took, work, tables, biggest = sidecar.process.pid, [], [], [], 0
    with sidecar.client(timeout=60) as bystander, Siege(sidecar, TASKS[0]) as siege:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            begun, before = time.monotonic(), cpu_seconds(pid)
            assert bystander.call("check", TASK)["leader"]
            with sidecar.client(timeout=60) as newcomer:
                assert newcomer.call("check", TASKS[1])["leader"]
            took.append(time.monotonic() - begun)
            work.append(cpu_seconds(pid) - before)
            begun = time.monotonic()
            assert len(bystander.call("tasks")) == len(TASKS) + 1
            tables.append(time.monotonic() - begun)
            biggest = max(biggest, resident_bytes(pid))
            time.sleep(0.02)
        assert len(os.listdir(f"/proc/{pid}/fd")) > 900, "the crowd is there"
    print(f"{len(took)} rounds, ms: {[round(1000 * t) for t in took]}, of work {[round(1000 * t) for t in work]}, tables {[round(1000 * t) for t in tables]}, "
          f"{biggest >> 20} MiB, longest turn {sidecar.status()['longest_turn_ms']} ms, "
          f"{sidecar.status()['longest_turn_cpu_ms']} of a processor's, closed {siege.closed}")
    assert run.process.poll() is None and len(job.alive()) > 0, "the job has been left alone"
    assert "no longer leading" not in sidecar.log()
    if not is_sanitized():
        assert max(work) < SLOWEST
        assert biggest < RESIDENT
    wait_until(lambda: sidecar.status()["leads"] == len(TASKS) + 1, what="it answers as before")


def test_a_client_that_goes_as_the_last_of_its_user_leaves_nothing(sidecar):
    """Again and again, with requests on their way: what is freed with it is not looked at any more."""
    for connections in (1, 1, 2, 3, 5):
        siege = Siege(sidecar, TASKS[0], connections=connections)
        with siege:
            sidecar.check(TASK)
        sidecar.check(TASK)
    assert sidecar.is_running()

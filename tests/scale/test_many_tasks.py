"""A sidecar with as many tasks as it may have, and paths as long as they may be."""
import time

import msgpack
import pytest

from harness.process import resident_bytes
from harness.oracle import now
from harness.server import worker_record
from harness.sidecar import run_program
from harness.waiting import wait_until

COUNT = 10_000
TURN_MS = 20  # of a processor's time, that a turn of the loop takes at the most
PATHS_MAX = 512 * 1024  # TASKDIR_PATHS_MAX
pytestmark = [pytest.mark.slow, pytest.mark.seconds(300)]


def leads(sidecar):
    return sidecar.status()["leads"]


def turn_ms(sidecar):
    """The longest turn of its loop, and that in time of a processor."""
    status = sidecar.status()
    return status["longest_turn_ms"], status["longest_turn_cpu_ms"]


def mib(sidecar):
    return resident_bytes(sidecar.process.pid) / 2**20


def test_10000_tasks_are_taken_and_handed_over(fleet, zk, own_server):
    assert own_server.process
    tasks = [f"job-{i:05d}" for i in range(COUNT)]
    settings = {"tasks": tasks, "session_timeout": "20s", "yield_delay": "0s", "log_level": "error", "ready": False}
    began = now()
    old = fleet.sidecar("old", **settings)
    wait_until(lambda: leads(old) == COUNT, 60, "it leads all")
    print(f"measured: {COUNT} tasks led {now() - began:.2f} s after the start, resident {mib(old):.1f} MiB")
    changes, began = zk.leader_changes(), now()
    new = fleet.sidecar("new", version="1.1", **settings)
    wait_until(lambda: leads(new) == COUNT, 60, "the newer one leads all")
    moves = (zk.leader_changes() - changes) / 2 / COUNT
    print(f"measured: handed over {now() - began:.2f} s after the newer one's start, {moves:.3f} moves a task, "
          f"resident {mib(new):.1f} and {mib(old):.1f} MiB, processor seconds {new.cpu_seconds():.2f} and "
          f"{old.cpu_seconds():.2f}, longest turn {turn_ms(new)} and {turn_ms(old)} ms")
    # The bound is on processor time: how long the machine lets a sidecar wait says nothing about it.
    assert max(turn_ms(new)[1], turn_ms(old)[1]) < TURN_MS
    assert moves == 1
    assert max(mib(new), mib(old)) < 64
    for sidecar in (new, old):
        sidecar.write_tasks(*tasks[1:], "another")
        sidecar.call("reload")
    print(f"measured: longest turn with another task file {turn_ms(new)} and {turn_ms(old)} ms")


def test_the_longest_paths_survive_a_reconnection_and_a_crash(fleet, zk, own_server, folder):
    prefix = len(zk.path("leaders", ""))
    most = PATHS_MAX // (prefix + 100)
    tasks = [f"{i:05d}".ljust(100, "x") for i in range(most)]
    only = fleet.sidecar("only", tasks=tasks, session_timeout="5s", log_level="info", ready=False)
    wait_until(lambda: leads(only) == most, 60, "it leads all")
    print(f"measured: {most} paths of {prefix + 100} bytes, {most * (prefix + 100)} bytes in all")
    session = only.status()["session"]["id"]
    # A further task does not fit, and says so before any server hears of it.
    only.write_tasks("y" * 100, file="z.conf")
    refusal = run_program(folder, "zkleaderd", "-t", "-c", only.config_file)
    assert refusal.code == 78 and "z.conf" in refusal.out + refusal.err, refusal
    print(f"measured: {(refusal.out + refusal.err).strip()}")
    (only.task_dir / "z.conf").unlink()
    # The watches are set anew in one packet, or several.
    own_server.kill()
    own_server.start()
    wait_until(only.is_connected, 60, "it is connected again")
    assert only.status()["session"]["id"] == session
    token = only.check(tasks[0])["token"]
    zk.client.delete(zk.path("leaders", tasks[0]))
    wait_until(lambda: only.check(tasks[0])["token"] > token, 30, "its watches are there")
    # Its end is one transaction of all its paths, which the server has to read again when it starts.
    only.kill()
    wait_until(lambda: not zk.names("leaders"), 60, "the session has ended")
    own_server.kill()
    own_server.start()
    wait_until(lambda: zk.names("workers") == [], 30, "the server has read its log")


@pytest.mark.parametrize(("workers", "n_tasks"), [(5_000, 1_000), (10_000, 100)])
def test_one_in_a_big_fleet(fleet, zk, own_server, workers, n_tasks):
    """The others are records that a client has written: older, so that ours is the best of all."""
    assert own_server.process
    tasks = [f"job-{i:05d}" for i in range(n_tasks)]
    zk.client.ensure_path(zk.path("workers"))
    made = [zk.client.create_async(zk.path("workers", record["id"]), msgpack.packb(record), ephemeral=True)
            for record in (worker_record(version="0.9", tasks=tasks) for _ in range(workers - 101))]
    for one in made:
        one.get(timeout=120)
    began = now()
    only = fleet.sidecar("only", tasks=tasks, session_timeout="20s", log_level="info", ready=False)
    wait_until(lambda: leads(only) == len(tasks), 120, "it leads all")
    print(f"measured: in a fleet of {workers - 100} all of {n_tasks} tasks are led {now() - began:.2f} s after the start, "
          f"{only.cpu_seconds():.2f} processor seconds, resident {mib(only):.1f} MiB")
    used, began = only.cpu_seconds(), now()
    for i in range(100):
        record = worker_record(version="0.9", tasks=tasks)
        zk.client.create(zk.path("workers", record["id"]), msgpack.packb(record), ephemeral=True)
        time.sleep(max(0, began + (i + 1) * 0.1 - now()))
    roll = {"state": "keeping", "workers": workers, "keeper": only.status()["node"]}
    wait_until(lambda: only.status()["roll"] == roll, 30, "it knows them, and keeps the roll for those to come")
    print(f"measured: 100 that join, ten a second, cost it {only.cpu_seconds() - used:.2f} processor seconds, "
          f"resident {mib(only):.1f} MiB")
    assert mib(only) < 40

"""A sidecar's allocations while nothing changes do not depend on how many tasks it has."""
import pathlib
import subprocess
import time

import pytest

from harness.sidecar import build
from harness.waiting import wait_until

COUNTER = pathlib.Path(__file__).parent / "harness/allocations.c"
AUDIT_S = 60  # LEADERS_AUDIT_MS: the first lists the leader nodes, the next ones look whether they must


@pytest.fixture
def counting(folder):
    """Environment for a sidecar whose allocations are counted, and a function that tells the count."""
    if any(net in str(build()) for net in ("asan", "tsan")):
        pytest.skip("the net has an allocator of its own")
    library, counted = folder / "allocations.so", folder / "counted"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, COUNTER], check=True)

    def env(name):
        file = folder / f"{counted.name}-{name}"
        file.write_bytes(bytes(8))
        return {"LD_PRELOAD": str(library), "ALLOCATIONS": str(file)}, lambda: int.from_bytes(
            file.read_bytes(), "little")
    return env


@pytest.mark.parametrize("after, seconds", [
    pytest.param(4, 6, id="between-audits"),
    pytest.param(AUDIT_S + 6, AUDIT_S, id="over-an-audit", marks=[pytest.mark.slow, pytest.mark.seconds(300)])])
def test_nothing_is_allocated_for_each_task_while_nothing_changes(fleet, zk, counting, after, seconds):
    """Two fleets of one on the same server: one with 10 tasks, one with 1,000, watched at the same time."""
    counts = {}
    for n in (10, 1000):
        env, count = counting(n)
        # Each has tasks of its own: both lead all of theirs.
        sidecar = fleet.sidecar(f"with-{n}", tasks=[f"of-{n}-{i:04d}" for i in range(n)], env=env, log_level="error")
        wait_until(lambda s=sidecar, n=n: s.status()["leads"] == n, what=f"leads {n}")
        counts[n] = count
    assert counts[1000]() > 5 * counts[10](), "allocations are not counted: nothing would be tested"
    time.sleep(after)
    before = {n: count() for n, count in counts.items()}
    time.sleep(seconds)
    made = {n: count() - before[n] for n, count in counts.items()}
    print(f"allocations in {seconds} s: {made[10]} with 10 tasks, {made[1000]} with 1,000")
    assert made[10] > 0
    # A heartbeat, of some fifty, may fall into the time of one and not of the other, at either end: that is less than
    # one for every second task.
    assert made[1000] < made[10] + (1000 - 10) / 2

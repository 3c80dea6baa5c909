"""Each tick is run once, whatever happens to the servers: the short run of `make check-ticks`."""
import subprocess
import time

import pytest

from harness.skew import forget, library, skewed


def needs_library():
    if not library():
        pytest.fail("libfaketime is not installed")


def test_the_wall_clock_alone_is_skewed():
    needs_library()
    ask = "import time; print(*(time.clock_gettime(c) for c in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME)))"
    before = [time.clock_gettime(c) for c in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME)]
    with subprocess.Popen(["/usr/bin/python3", "-S", "-c", ask], env=skewed(-5000), stdout=subprocess.PIPE) as process:
        said = [float(t) for t in process.communicate()[0].split()]
    forget(process.pid)
    assert [round((s - b) / 1000) for s, b in zip(said, before)] == [-5, 0, 0]


@pytest.mark.slow
@pytest.mark.seconds(300)
def test_each_tick_is_run_once_through_thirty_ticks_of_trouble(ticks):
    needs_library()
    story = ticks(seed=1)  # new stories are told by tests/ticks
    story.run(30)
    story.heal()
    figures = story.judge()
    print(figures)
    assert figures["skip"]["ticks"] >= 25 and figures["rerun"]["ticks"] >= 25

"""`make check-ticks`: hundreds of ticks of two seconds on four servers with skewed clocks, while they are
killed, stopped, cut off and replaced. TICKS=1000 SEED=7 make check-ticks runs another story."""
import os
import pathlib
import pprint
import time

import pytest

from harness.skew import library
from harness.ticks import TICK

TICKS = int(os.environ.get("TICKS", "520"))
KEPT = pathlib.Path("build/ticks").resolve()
SEED = int(os.environ.get("SEED", str(int(time.time()))))


@pytest.mark.seconds(TICKS * TICK + 300)
def test_each_tick_is_run_once(ticks):
    assert library(), "libfaketime is not installed"
    print(f"TICKS={TICKS} SEED={SEED}")
    story = ticks(SEED)
    story.run(TICKS)
    story.heal()
    try:
        figures = story.judge()
    except AssertionError:
        story.keep(KEPT)
        print(f"what tells the story is in {KEPT}")
        raise
    pprint.pprint(figures)
    assert min(figures[t]["ticks"] for t in ("skip", "rerun")) >= TICKS - 5

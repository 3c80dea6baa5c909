"""Ticks of a day where a day has 23 hours."""
import datetime
import time
import zoneinfo

import pytest

from harness.sidecar import task_text
from harness.skew import forget, library, skewed

TASK = "nightly"
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


def run_at(jobs, sidecar, *moment):
    """The exit code of a run that is started at this local time in Berlin."""
    seconds = datetime.datetime(*moment, tzinfo=BERLIN).timestamp() - time.time()
    run = jobs.run(sidecar, env={**skewed(seconds), "TZ": "Europe/Berlin"})
    code = run.code()
    forget(run.pid)
    return code


def test_a_line_of_every_night_runs_in_the_night_after_the_clocks_were_set_forward(fleet, zk, jobs):
    """The change of March 2020 has the dates of that of March 2026, and lies behind every clock."""
    if not library():
        pytest.fail("libfaketime is not installed")
    a = fleet.sidecar("a", tasks=[task_text(TASK, tick="1d")])
    job = jobs(TASK)
    for night in (28, 29, 30, 31):
        assert run_at(job, a, 2020, 3, night, 1, 0) == 0
        assert run_at(job, a, 2020, 3, night, 23, 59) == 1, "once a day"
    assert [line.tick for line in job.lines("start")] == [f"2020-03-{n}T00:00:00Z" for n in (28, 29, 30, 31)]
    assert zk.names("runs", TASK) == [f"2020-03-{n}T00:00:00Z" for n in (28, 29, 30, 31)]

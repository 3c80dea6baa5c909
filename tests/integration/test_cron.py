"""The whole of it, with the real cron: one line in each server's crontab, one run a minute."""
import pathlib
import time

import pytest

from harness.cron import is_installed, may_mount, start_cron
from harness.process import end
from harness.sidecar import build
from harness.waiting import wait_until

TASK = "nightly-report"
LONG = 150  # seconds within which two full minutes come

@pytest.fixture
def cron(folder):
    """start(text): runs cron on that crontab, in a mount namespace of its own."""
    if not is_installed():
        pytest.fail("cron is not installed")
    if not may_mount():
        pytest.skip("needs root, for a mount namespace")
    started = []

    def start(text):
        started.append(start_cron(folder / "cron", text))
        return started[-1]

    yield start
    for process in started:
        end(process)


def minute_of(line):
    """The full minute that a run stands for; cron may be some seconds late."""
    return int(line.split()[1]) // 60


@pytest.mark.slow
@pytest.mark.seconds(400)
def test_a_crontab_line_on_three_servers_runs_once_a_minute_through_a_handover(fleet, zk, folder, cron):
    versions = {"a": "1.0", "b": "1.1", "c": "1.1"}
    config = {"tasks": [TASK], "tick_guard": "5s", "session_timeout": "10s", "yield_delay": "2s"}
    sidecars = {n: fleet.sidecar(n, version=v, **config) for n, v in versions.items()}
    wait_until(lambda: sum(s.leads(TASK) for s in sidecars.values()) == 1, what="one leads")
    wait_until(lambda: zk.leaders().get(TASK) in (sidecars["b"].id, sidecars["c"].id), LONG, "the newest leads")
    folder.parent.chmod(0o755)
    runs, fired = folder / "runs", folder / "fired"
    check = build() / "zkleader-check"
    # The lines of a real crontab, but for the socket; the first column of "runs" is the server.
    lines = "".join(
        f"* * * * * root date '+{n} \\%s' >> {fired}; "
        f"{check} -s {s.socket} {TASK} && date '+{n} \\%s' >> {runs}\n" for n, s in sidecars.items())
    daemon = cron(f"SHELL=/bin/sh\nPATH=/usr/bin:/bin\nMAILTO=\"\"\n{lines}")

    def read(file):
        return file.read_text(encoding="ascii").splitlines() if file.exists() else []

    def ticks(number):
        assert daemon.poll() is None, pathlib.Path(folder / "cron" / "log").read_text(encoding="utf-8")
        whole = [m for m in map(minute_of, read(fired))]
        return [m for m in sorted(set(whole)) if whole.count(m) == len(sidecars)][number - 1:number]

    [first] = wait_until(lambda: ticks(1), LONG, "all three crontab lines have fired")
    wait_until(lambda: [m for m in map(minute_of, read(runs)) if m == first], what="one of them runs the job")
    leader = read(runs)[0].split()[0]
    assert versions[leader] == "1.1"
    # The server that ran it goes, so that the next tick is another's.
    assert sidecars[leader].stop() == 0
    [second] = wait_until(lambda: ticks(2), LONG, "they have fired again")
    wait_until(lambda: [m for m in map(minute_of, read(runs)) if m == second], what="one of them runs the job")
    end(daemon)
    ran = [(line.split()[0], minute_of(line)) for line in read(runs)]
    [standby] = {"b", "c"} - {leader}
    assert ran == [(leader, first), (standby, second)], f"{time.time()}: {read(fired)}"


def minutes_of(jobs):
    return [time.strftime("%Y-%m-%dT%H:%M:00Z", time.gmtime(60 * (time.time() // 60 + n))) for n in range(1, 1 + jobs)]


@pytest.mark.slow
@pytest.mark.seconds(400)
def test_run_in_three_crontabs_runs_each_minute_once_though_leadership_moves_at_the_full_minute(
        fleet, zk, folder, base_folder, cron, jobs):
    config = {"tasks": [TASK], "tick_guard": "0s", "session_timeout": "4s", "yield_delay": "0s", "version": None}
    sidecars = {}
    for name in "abc":
        (folder / f"version.{name}").write_text("1.0\n", encoding="ascii")
        sidecars[name] = fleet.sidecar(name, version_file=folder / f"version.{name}", **config)
    wait_until(lambda: sum(s.leads(TASK) for s in sidecars.values()) == 1, what="one leads")
    for path in (base_folder, folder):
        path.chmod(0o755)
    job, codes, zkleader = jobs(TASK), folder / "codes", build() / "zkleader"
    script = job.script("sleep 2")
    lines = "".join(f"* * * * * root {job.mark} {zkleader} -s {s.socket} run {TASK} -- {script}; "
                    f"echo {n} $? >> {codes}\n" for n, s in sidecars.items())
    if time.time() % 60 > 50:  # so that what follows is in time for the next minute
        time.sleep(60 - time.time() % 60)
    ticks = minutes_of(2)
    daemon = cron(f"SHELL=/bin/sh\nPATH=/usr/bin:/bin\nMAILTO=\"\"\n{lines}")

    def leader():
        return wait_until(lambda: [n for n, s in sidecars.items() if s.is_running() and s.leads(TASK)],
                          what="one leads")[0]

    def sleep_to(second):
        time.sleep((second - time.time()) % 60)

    def codes_of(n):
        assert daemon.poll() is None
        return codes.exists() and len(codes.read_text(encoding="ascii").splitlines()) >= n

    # A newer version, so that leadership is on its way just when the crontabs fire.
    before = leader()
    newer = next(n for n in sidecars if n != before)
    sleep_to(59.9)
    (folder / f"version.{newer}").write_text("2.0\n", encoding="ascii")
    wait_until(lambda: codes_of(3), 60, "all three have returned")
    assert leader() == newer
    # And then the leader is killed, with the tick on its way.
    sleep_to(59.7)
    sidecars[newer].kill()
    wait_until(lambda: codes_of(6), 60, "all three have returned")
    end(daemon)
    assert [line.tick for line in job.lines("start")] == ticks, job.lines()
    assert [line.tick for line in job.lines("end")] == ticks
    found = [line.split() for line in codes.read_text(encoding="ascii").splitlines()]
    assert sorted(code for _, code in found[:3]) == ["0", "1", "1"]
    # The one beside the killed sidecar cannot tell; of the others one has run it.
    assert sorted(code for n, code in found[3:] if n != newer) == ["0", "1"] and [newer, "2"] in found[3:]
    job.check()
    job.wait_gone()

"""A loop that stands still, while the library's threads keep the session: the process ends, and others lead."""
import multiprocessing
import os
import pathlib
import socket
import subprocess
import time

import pytest

from harness.sidecar import build
from harness.waiting import holds_for, wait_until

TASK = "nightly-report"
T = 3
HUNG_LOOP = pathlib.Path(__file__).parent / "harness/hung_loop.c"


@pytest.fixture
def hook(folder):
    """(what a sidecar's environment is to have, the file that is there while the next client finds it hanging)"""
    if "asan" in str(build()) or "tsan" in str(build()):
        pytest.skip("the net has to be loaded first")
    library, hangs = folder / "hung.so", folder / "hangs"
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", library, HUNG_LOOP, "-ldl"], check=True)
    yield {"LD_PRELOAD": str(library), "HUNG_LOOP": str(hangs)}, hangs
    hangs.unlink(missing_ok=True)


@pytest.mark.costly
@pytest.mark.parametrize("how", ["asleep", "at work"])
def test_a_process_whose_loop_hangs_ends(fleet, hook, how):
    env, hangs = hook
    a = fleet.sidecar("a", tasks=[TASK], version="2.0", env=env, session_timeout=f"{T}s")
    wait_until(lambda: a.leads(TASK), what="a leads")
    b = fleet.sidecar("b", tasks=[TASK], session_timeout=f"{T}s")
    token = a.check(TASK)["token"]
    hangs.write_text("" if how == "asleep" else "x")
    began = time.monotonic()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(a.socket))
        # "At work" goes by its time of a processor, of which a busy machine gives it little.
        assert a.wait_exit(200) == 1
        wait_until(lambda: b.leads(TASK), 60, "b leads")
    took = time.monotonic() - began
    assert b.check(TASK)["token"] > token
    [line] = [text for text in a.log().splitlines() if "the loop hangs" in text]
    assert 'doing="a connection of the socket"' in line and f"timeout_ms={T}000" in line
    assert f"state={'S' if how == 'asleep' else 'R'}" in line
    assert not os.path.exists(f"{a.socket}.session")
    print(f"measured: led by the other after {took:.1f} s")
    # On a busy machine the thread does not run on time, and its time counts only in part.
    if os.getloadavg()[0] < 2 * (os.cpu_count() or 1):
        assert took < 2 * T + 5


def test_a_stopped_process_goes_on(fleet, zk):
    a = fleet.sidecar("a", tasks=[TASK], session_timeout=f"{T}s")
    wait_until(lambda: a.leads(TASK), what="a leads")
    for seconds in (3 * T, T, T):
        a.pause()
        time.sleep(seconds)
        a.resume()
        time.sleep(T / 10)
    wait_until(lambda: a.leads(TASK), what="a leads again")
    assert a.is_running() and "the loop hangs" not in a.log()


def spin():
    while True:
        pass


@pytest.mark.costly
def test_a_sidecar_on_a_busy_machine_goes_on(fleet):
    a = fleet.sidecar("a", tasks=[TASK], session_timeout=f"{T}s")
    os.setpriority(os.PRIO_PROCESS, a.process.pid, 19)
    busy = [multiprocessing.Process(target=spin, daemon=True) for _ in range(4 * (os.cpu_count() or 1))]
    for process in busy:
        process.start()
    try:
        holds_for(a.is_running, 4 * T, "it goes on")
    finally:
        for process in busy:
            process.kill()
            process.join()
    wait_until(lambda: a.leads(TASK), 60, "it leads")
    assert "the loop hangs" not in a.log()

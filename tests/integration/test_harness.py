"""The nets under these tests catch what they are there for."""
import signal

import pytest

from harness.sidecar import Sidecar
from harness.waiting import wait_until


def test_a_sidecar_that_dies_by_itself_fails_its_test(folder, zk):
    sidecar = Sidecar(folder / "dies", "dies", zk).start()
    sidecar.signal(signal.SIGSEGV)
    sidecar.process.wait(30)
    assert any("ended by itself with" in w for w in sidecar.close())


def test_a_sidecar_that_does_not_end_with_0_fails_its_test(folder, zk):
    sidecar = Sidecar(folder / "odd", "odd", zk, session_timeout="1s").start()
    sidecar.process.send_signal = lambda number: type(sidecar.process).send_signal(
        sidecar.process, signal.SIGKILL if number == signal.SIGTERM else number)
    assert any("ended with -9" in w for w in sidecar.close())


def test_a_report_of_a_sanitizer_fails_its_test(folder, zk):
    sidecar = Sidecar(folder / "reported", "reported", zk).start()
    (sidecar.folder / "reports" / "asan.1").write_text("heap-use-after-free", encoding="ascii")
    assert any("heap-use-after-free" in w for w in sidecar.close())


def test_waiting_ends_with_what_was_waited_for():
    with pytest.raises(AssertionError, match="a thing that never comes"):
        wait_until(lambda: False, 0.1, "a thing that never comes")

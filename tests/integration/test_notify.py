"""Notifications to systemd: readiness, reloads, the status line of the unit, and the watchdog."""
import signal
import socket

import pytest

from harness.waiting import wait_until

TASKS = ["nightly-report", "cleanup"]


@pytest.fixture
def notified(folder):
    """The messages that have come to NOTIFY_SOCKET so far."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(folder / "notify"))
        sock.setblocking(False)
        heard = []

        def read():
            try:
                while True:
                    heard.append(sock.recv(4096).decode())
            except BlockingIOError:
                return heard

        read.env = {"NOTIFY_SOCKET": str(folder / "notify")}
        yield read


def status(notified):
    lines = [line for line in notified() if line.startswith("STATUS=")]
    return lines[-1][len("STATUS="):] if lines else None


def test_the_status_of_the_unit_follows_what_is_led(fleet, zk, notified):
    only = fleet.sidecar("only", tasks=TASKS, env=notified.env)
    wait_until(lambda: status(notified) == "connected, leading 2 of 2 tasks", what="it says that it leads both")
    only.call("pause", TASKS[0])
    wait_until(lambda: status(notified) == "connected, leading 1 of 2 tasks", what="it says that it leads one")
    only.write_tasks(*TASKS, "third")
    wait_until(lambda: status(notified) == "connected, leading 2 of 3 tasks", what="it says that there is one more")


def test_many_changes_at_once_are_told_together(fleet, zk, notified):
    fleet.sidecar("only", tasks=[f"job-{i}" for i in range(200)], env=notified.env)
    wait_until(lambda: status(notified) == "connected, leading 200 of 200 tasks", what="it leads all")
    assert len(notified()) < 20, notified()


def test_readiness_reload_watchdog_and_the_end_are_told(fleet, zk, notified):
    only = fleet.sidecar("only", tasks=TASKS, env={**notified.env, "WATCHDOG_USEC": "200000"})
    assert notified()[0] == "READY=1"
    wait_until(lambda: notified().count("WATCHDOG=1") > 3, what="the watchdog is fed")
    only.signal(signal.SIGHUP)
    wait_until(lambda: "RELOADING=1" in notified(), what="it reloads")
    wait_until(lambda: "READY=1" in notified()[notified().index("RELOADING=1"):], what="it is ready again")
    assert only.stop() == 0
    assert "STOPPING=1" in notified()

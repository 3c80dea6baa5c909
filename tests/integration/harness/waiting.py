"""Bounded polling, the only way in which these tests wait."""
import time

from harness.rpc import RpcError

# Generous: a bound is there to end a test that has failed, not to measure anything.
TIMEOUT = 60.0
# Between two looks, at first and at most: what takes long is not to be slowed down by being looked at.
PAUSE, PAUSE_MAX = 0.02, 0.1


def wait_until(predicate, timeout=TIMEOUT, what="what was waited for"):
    """Polls until predicate() is true and returns its value; exceptions of the last try are shown."""
    end = time.monotonic() + timeout
    pause = PAUSE
    while True:
        error = None
        try:
            value = predicate()
            if value:
                return value
        except (AssertionError, LookupError, OSError, EOFError, TypeError, RpcError) as e:
            value, error = None, e
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout:g} s: {what} (last: {error or value!r})")
        time.sleep(pause)
        pause = min(1.2 * pause, PAUSE_MAX)


def holds_for(predicate, seconds, what="what has to hold"):
    """Asserts that predicate() is true, asked again and again, for that long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert predicate(), what
        time.sleep(2 * PAUSE)

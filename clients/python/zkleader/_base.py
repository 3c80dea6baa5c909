"""Errors, time, and the bytes of a connection; without any input or output."""
import datetime
import os
import random
import sys
import time
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, Optional, TypeVar, Union

from . import _msgpack

FRAME_MAX = 64 << 20  # bytes
RECEIVE = 65536  # bytes at a time
BACKOFF_MIN, BACKOFF_MAX = 0.05, 1.0  # seconds between tries to connect
TICK_MAX = 86_400_000  # ms
NEVER = float("inf")

T = TypeVar("T")
Path = Union[None, str, "os.PathLike[str]"]
Length = Union[None, str, int, float, datetime.timedelta]


class Error(Exception):
    """What the sidecar refuses, or could not be asked.

    `code` is as an exit code of zkleader-check: 1 another node leads, or the lease was lost; 2 cannot tell: no
    sidecar, no answer in time, no confirmed session; 3 misuse; 4 nobody may. `job` is the id of the job that a
    failed `submit` was about: with it the same may be submitted again.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.job: Optional[str] = None


class Lost(Error):
    """The lease is over, or about to be: another node may lead from then on."""

    def __init__(self, message: str) -> None:
        super().__init__(1, message)


class Gone(Error):
    """The connection ended before the answer came: what was asked may have been done or not."""

    def __init__(self, message: str = "the sidecar has closed the connection") -> None:
        super().__init__(2, message)


class Unsent(Gone):
    """The connection had ended before the request was sent."""


class Nonsense(Gone):
    """The sidecar says what makes no sense."""


class NoAnswer(Error):
    """None came in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(2, f"no answer from the sidecar within {seconds:.3g} s")


class Closed(Error):
    """The client was closed."""

    def __init__(self) -> None:
        super().__init__(2, "the client is closed")


def is_final(error: Error) -> bool:
    """Whether to ask again would be of no use."""
    return error.code != 2 or isinstance(error, Closed)


def now() -> float:
    """Seconds by a clock that goes on while the machine is suspended, as a lease does; where there is one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


def lease_seconds(ms: int) -> float:
    """Half of it, and no more than 5 s, where the clock does not count suspend."""
    return ms / 1000 if sys.platform == "linux" else min(ms / 2000, 5.0)


def ms(seconds: float) -> int:
    return max(int(seconds * 1000 + 0.5), 0)


def tick_ms(tick: Length) -> Optional[int]:
    """The length of a tick: "10s", "5m", "1d", "none", seconds or a timedelta. None: the task's."""
    if tick is None:
        return None
    if tick == "none":
        return 0
    if isinstance(tick, str):
        digits = tick.rstrip("msdh")
        unit = {"ms": 1, "s": 1000, "m": 60000, "h": 3600000, "d": 86400000}.get(tick[len(digits):])
        if not digits.isdecimal() or not unit:
            raise Error(3, f"{tick!r} is not a length such as 60s or 5m")
        length: float = int(digits) * unit
    else:
        length = 1000 * (tick.total_seconds() if isinstance(tick, datetime.timedelta) else tick)
    if not 1000 <= length <= TICK_MAX or length % 1000:
        raise Error(3, f"{tick!r} is no tick: whole seconds from 1s to 1d")
    return int(length)


def backoff() -> Generator[float, None, None]:
    """Seconds to wait before each further try."""
    pause = BACKOFF_MIN
    while True:
        yield pause * random.uniform(0.8, 1.2)
        pause = min(2 * pause, BACKOFF_MAX)


class Response(NamedTuple):
    msgid: int
    error: Optional[Error]
    result: Any


class Notification(NamedTuple):
    method: str
    param: dict[str, Any]


class Session:
    """Turns requests into bytes, and bytes into messages."""

    def __init__(self) -> None:
        self._msgid = 0
        self._buffer = b""
        self._look_at = 0  # how many bytes there should be before it is looked again whether a message is whole

    def request(self, method: str, params: Sequence[Any]) -> tuple[int, bytes]:
        self._msgid = msgid = self._msgid % 0xFFFFFFFF + 1
        return msgid, _msgpack.pack([0, msgid, method, params])

    def feed(self, data: bytes) -> list[Union[Response, Notification]]:
        """The messages that are whole by now. Nonsense where the sidecar makes none."""
        buffer = self._buffer + data if self._buffer else data
        found: list[Union[Response, Notification]] = []
        at = 0
        if len(buffer) >= self._look_at or len(data) < RECEIVE:
            try:
                while at < len(buffer):
                    message, at = _msgpack.unpack(buffer, at)
                    found.append(_message(message))
                self._look_at = 0
            except _msgpack.Incomplete:
                # A long one comes in many pieces: not each of them is worth a look.
                self._look_at = (len(buffer) - at) * 5 // 4
            except ValueError as e:
                raise Nonsense(f"the sidecar's answer makes no sense: {e}") from None
        self._buffer = buffer[at:]
        if len(self._buffer) > FRAME_MAX:
            raise Nonsense("the sidecar's answer is too long")
        return found


def _message(message: Any) -> Union[Response, Notification]:
    if isinstance(message, list) and message[:1] == [1] and len(message) == 4 and type(message[1]) is int:
        _, msgid, error, result = message
        if error is None:
            return Response(msgid, None, result)
        code, text = want(error, "code", int), want(error, "message", str)
        if msgid == 0:
            raise Nonsense(text)
        return Response(msgid, Error(code, text), None)
    if isinstance(message, list) and message[:1] == [2] and len(message) == 3 and isinstance(message[1], str):
        params = message[2]
        param = params[0] if isinstance(params, list) and params and isinstance(params[0], dict) else {}
        return Notification(message[1], param)
    raise Nonsense("the sidecar's answer makes no sense")


def want(value: Any, key: str, kind: "type[T]") -> T:
    """The value of a key that has to be there."""
    found = value.get(key) if isinstance(value, dict) else None
    if type(found) is not kind:
        raise Nonsense(f"the sidecar's answer makes no sense: {key} is {found!r}")
    return found


def may(value: Any, key: str, kind: "type[T]") -> Optional[T]:
    """The value of a key that may be missing or nil."""
    return None if value.get(key) is None else want(value, key, kind)

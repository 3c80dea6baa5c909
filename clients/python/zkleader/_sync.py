"""The client for threads.

There is one connection, and no thread that reads it: of the threads that wait for an answer one reads for all of
them, and passes that on to another as its own answer comes. So a client that nobody asks costs nothing.
"""
import functools
import os
import select
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Optional, TypeVar

from . import _core
from ._base import NEVER, RECEIVE, Error, Gone, NoAnswer, Notification, Path, Unsent, now
from ._core import Lease, Run
from ._told import Change

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec
    P = ParamSpec("P")
T = TypeVar("T")


def _do(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs one of the core through, which never suspends, as what it awaits blocks."""
    try:
        coroutine.send(None)
    except StopIteration as e:
        result: T = e.value
        return result
    raise AssertionError("the core has suspended")


def _blocking(fn: "Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]") -> "Callable[Concatenate[Any, P], T]":
    """The same of what is behind an object, as a method that blocks."""
    @functools.wraps(fn)
    def method(__self: Any, *args: "P.args", **kwargs: "P.kwargs") -> T:
        return _do(fn(__self._core, *args, **kwargs))
    return method


class _Waiter:
    """One who waits for an answer."""

    __slots__ = ("woken", "msgid", "sent", "done", "error", "result")

    def __init__(self) -> None:
        self.woken = threading.Lock()
        self.woken.acquire()
        self.msgid = 0
        self.sent = self.done = False
        self.error: Optional[Error] = None
        self.result: Any = None

    def finish(self, result: Any, error: Optional[Error]) -> None:
        self.result, self.error, self.done = result, error, True
        self.wake()

    def wake(self) -> None:
        if self.woken.locked():
            self.woken.release()


class _Link(_core.Link):
    """A connection. The socket is closed with the object, so never under who reads it."""

    def __init__(self, path: str, timeout: float, notified: Callable[[Notification], None]) -> None:
        super().__init__(notified)
        self.turn = threading.Semaphore(_core.IN_FLIGHT_MAX)
        self.send_lock = threading.Lock()
        self.lock = threading.Lock()  # of what follows
        self.waiters: dict[int, _Waiter] = {}
        self.reading = False
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        try:
            self.sock.connect(path)
        except OSError as e:
            raise Error(2, f"cannot ask the sidecar on {path}: {e.strerror or e}") from None
        self.readable = select.poll()
        self.readable.register(self.sock, select.POLLIN)

    def __del__(self) -> None:
        self.sock.close()

    # Requests

    async def call(self, method: str, params: Sequence[Any], timeout: Optional[float]) -> Any:
        if not self.turn.acquire(timeout=timeout):
            raise Error(2, f"{_core.IN_FLIGHT_MAX} requests wait already")
        waiter = _Waiter()
        try:
            self._send(waiter, method, params)
            while not self._wait(waiter, now() + (_core.LOOK_AGAIN if timeout is None else timeout)):
                if timeout is not None:
                    raise NoAnswer(timeout)
                await self.ping(params[0])
        finally:
            self.turn.release()
            if not waiter.done:
                with self.lock:
                    self.waiters.pop(waiter.msgid, None)
                    self._next_reader()
        if waiter.error:
            raise waiter.error
        return waiter.result

    def _send(self, waiter: _Waiter, method: str, params: Sequence[Any]) -> None:
        with self.send_lock:
            with self.lock:
                if self.gone:
                    raise Unsent(self.gone.message)
                waiter.msgid, data = self.session.request(method, params)
                self.waiters[waiter.msgid] = waiter
            try:
                self.sock.sendall(data)
            except BaseException as e:  # a part of it may be sent, and the sidecar does nothing of a part
                self.end(Gone())
                if isinstance(e, OSError):
                    raise Unsent(f"the sidecar cannot be asked: {e.strerror or e}") from None
                raise
            waiter.sent = True

    # Answers

    def _wait(self, waiter: _Waiter, deadline: float) -> bool:
        """Until it is answered; reads, if nobody else does. False: not until then."""
        while not waiter.done:
            if self._begin_reading():
                try:
                    while not waiter.done:
                        if not self._read(deadline):
                            return False
                finally:
                    self._end_reading()
            elif not waiter.woken.acquire(timeout=max(deadline - now(), 0.0)):
                return waiter.done
        return True

    async def listen(self, deadline: float) -> bool:
        self._begin_reading()
        try:
            return self.gone is not None or self._read(deadline)
        finally:
            self._end_reading()

    def _begin_reading(self) -> bool:
        """False: another does."""
        with self.lock:
            mine = not self.reading
            self.reading = True
            return mine

    def _end_reading(self) -> None:
        with self.lock:
            self.reading = False
            self._next_reader()

    def _next_reader(self) -> None:
        """Wakes one, as nobody reads. Who still sends will see by itself; until then it may wait for others' answers."""
        if not self.reading:
            for waiter in self.waiters.values():
                if waiter.sent:
                    return waiter.wake()

    def _read(self, deadline: float) -> bool:
        """Takes what has come, or comes until then. False: nothing."""
        try:
            if not self.readable.poll(None if deadline == NEVER else max(deadline - now(), 0.0) * 1000):
                return False
            data = self.sock.recv(RECEIVE)
            if not data:
                raise Gone()
            for message in self.session.feed(data):
                if isinstance(message, Notification):
                    self.notified(message)
                    continue
                with self.lock:
                    waiter = self.waiters.pop(message.msgid, None)
                    if waiter:  # else it came too late
                        waiter.finish(message.result, message.error)
        except Gone as e:
            self.end(e)
        except OSError as e:
            self.end(Gone(f"the connection to the sidecar has ended: {e.strerror or e}"))
        return True

    def end(self, error: Gone) -> None:
        with self.lock:
            if self.gone:
                return
            self.gone = error
            for waiter in self.waiters.values():
                waiter.finish(None, error)
            self.waiters.clear()
            try:
                self.sock.shutdown(socket.SHUT_RDWR)  # whoever reads or sends wakes
            except OSError:
                pass


class _Stopped(Exception):
    """A keeper is not needed any more."""


class _Keeper(threading.Thread, _core.Keeper):
    """Renews a lease while somebody works under it."""

    def __init__(self, core: "_Core", lease: Lease) -> None:
        super().__init__(name=f"zkleader {lease.task}", daemon=True)
        self.core, self.lease = core, lease
        self.over = threading.Event()
        self.start()

    def run(self) -> None:
        try:
            _do(self.core.renewing(self.lease, self._sleep))
        except _Stopped:
            pass

    async def _sleep(self, seconds: float) -> None:
        if self.over.wait(seconds):
            raise _Stopped()

    async def stop(self) -> None:
        self.over.set()
        self.join()


class _Core(_core.Client):
    """The core, with functions that block."""

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__(path, timeout)
        self._begin()

    def _begin(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.link: Optional[_core.Link] = None
        self.links.clear()
        self.over = threading.Event()

    async def open(self, notified: Callable[[Notification], None]) -> _Link:
        return _Link(self.path, self.timeout, notified)

    async def connected(self) -> _core.Link:
        if self.pid != os.getpid():  # a fork: the connection is the parent's
            self._begin()
        link = self.link
        if link is None or link.gone:
            with self.lock:
                link = self.link
                if link is None or link.gone:
                    link = self.link = await self.new_link()
        return link

    async def sleep(self, seconds: float) -> None:
        self.over.wait(seconds)

    def keep(self, lease: Lease) -> _Keeper:
        return _Keeper(self, lease)

    async def perform(self, fn: Callable[..., Any], run: Run) -> Any:
        return _core.call(fn, run)

    def end(self) -> None:
        super().end()
        self.over.set()


class Client:
    """A connection to the sidecar of this machine, for any number of threads; made by `zkleader.connect()`.

    It connects when it is first needed, and again after the connection was lost. After a fork the child has a
    connection of its own.
    """

    def __init__(self, path: Path = None, timeout: float = 5.0) -> None:
        self._core = _Core(path, timeout)

    @property
    def path(self) -> str:
        """The path of the socket."""
        return self._core.path

    def watch(self, *tasks: str) -> "Watch":
        """The state of each of the tasks (of all, where none is named), and each change, as an iterator."""
        return Watch(self._core, tasks)

    def leading(self, task: str, wait: Optional[float] = None,
                on_lost: Optional[Callable[[Lease], object]] = None) -> "Leading":
        """A scope that is entered once this node leads, and that renews the lease meanwhile.

            with client.leading("report") as lease:
                for step in steps:
                    lease.check()
                    step.write(token=lease.token)

        `wait` seconds at most, then it raises Error; None: for as long as it takes. As the leadership is lost,
        before the lease is over, `on_lost` is called with the lease, in another thread, and from then on
        `check()` raises Lost. The scope is left by the caller alone.
        """
        return Leading(self._core, task, wait, on_lost)

    leads = _blocking(_core.Client.leads)
    run = _blocking(_core.Client.run)
    job_id = _blocking(_core.Client.job_id)
    submit = _blocking(_core.Client.submit)
    job = _blocking(_core.Client.job)
    wait = _blocking(_core.Client.wait)
    cancel = _blocking(_core.Client.cancel)

    def close(self) -> None:
        """Ends the connection, the watches, and whatever waits for an answer."""
        self._core.end()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Watch:
    """Changes as they come: `for change in watch`. First the present state; over reconnects.

    It has a connection of its own, so that who reads it slowly holds up no answer. `close()`, from any thread,
    ends the loop.
    """

    def __init__(self, core: _Core, tasks: Sequence[str]) -> None:
        self._core = _core.Watching(core, tasks)

    get = _blocking(_core.Watching.get)

    def close(self) -> None:
        """Ends it."""
        self._core.close()

    def __iter__(self) -> Iterator[Change]:
        with self:
            change = self.get()
            while change:
                yield change
                change = self.get()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Leading:
    """`with client.leading(task) as lease`: see there."""

    def __init__(self, core: _Core, task: str, wait: Optional[float], on_lost: Optional[Callable[[Lease], object]]) -> None:
        self._core, self._task, self._wait, self._on_lost = core, task, wait, on_lost

    def __enter__(self) -> Lease:
        lease = _do(self._core.enter(self._task, self._wait))
        lease._told = self._on_lost
        self._keeper = self._core.keep(lease)
        return lease

    def __exit__(self, *_: object) -> None:
        self._keeper.over.set()

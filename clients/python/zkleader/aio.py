"""The client for asyncio: what `zkleader.Client` has, to be awaited.

    client = zkleader.aio.connect()
    if await client.leads("nightly-report"):
        ...
    async with client.leading("feed") as lease:  # cancels its body, and raises Lost, as the lease is lost
        ...

It runs no task while nobody waits for it, but one for each scope that leads or runs.
"""
import asyncio
import inspect
from collections.abc import Callable, Generator, Sequence
from typing import Any, Optional

from . import _core
from ._base import NEVER, RECEIVE, Error, Gone, Lost, NoAnswer, Notification, Path, Unsent, now
from ._core import Lease, Run, Watching
from ._told import Answer, Change, Job, Ran

__all__ = ["Answer", "Change", "Client", "Error", "Job", "Lease", "Leading", "Lost", "Ran", "Run", "Watch", "connect", "now"]


def _end(waiter: "asyncio.Future[Any]", error: Optional[Error], result: Any = None) -> None:
    if not waiter.done():
        waiter.set_exception(error) if error else waiter.set_result(result)


class _Link(_core.Link, asyncio.BufferedProtocol):
    """A connection. It has a buffer of its own: asyncio's, drawn anew for each read, costs more than all the rest."""

    def __init__(self, notified: Callable[[Notification], None]) -> None:
        super().__init__(notified)
        self.turn = asyncio.Semaphore(_core.IN_FLIGHT_MAX)
        self.waiters: dict[int, asyncio.Future[Any]] = {}
        self.news = asyncio.Event()
        self.transport: Any = None
        self.buffer = bytearray(RECEIVE)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def get_buffer(self, _: int) -> bytearray:
        return self.buffer

    def buffer_updated(self, n: int) -> None:
        try:
            for message in self.session.feed(bytes(self.buffer[:n])):
                if isinstance(message, Notification):
                    self.notified(message)
                    self.news.set()
                    continue
                waiter = self.waiters.pop(message.msgid, None)
                if waiter:  # else it came too late
                    _end(waiter, message.error, message.result)
        except Gone as e:
            self.end(e)

    def connection_lost(self, error: Optional[Exception]) -> None:
        self.end(Gone())

    def end(self, error: Gone) -> None:
        if self.gone is None:
            self.gone = error
            self.transport.abort()
            self.news.set()
            for waiter in self.waiters.values():
                _end(waiter, error)

    async def call(self, method: str, params: Sequence[Any], timeout: Optional[float]) -> Any:
        async with self.turn:
            return await self._call(method, params, timeout)

    async def _call(self, method: str, params: Sequence[Any], timeout: Optional[float]) -> Any:
        if self.gone:
            raise Unsent(self.gone.message)
        loop = asyncio.get_running_loop()
        msgid, data = self.session.request(method, params)
        waiter = self.waiters[msgid] = loop.create_future()
        self.transport.write(data)
        try:
            if timeout is None:
                while not (await asyncio.wait({waiter}, timeout=_core.LOOK_AGAIN))[0]:
                    await self.ping(params[0])
                return waiter.result()
            late = loop.call_later(timeout, _end, waiter, NoAnswer(timeout))
            try:
                return await waiter
            finally:
                late.cancel()
        finally:
            self.waiters.pop(msgid, None)

    async def listen(self, deadline: float) -> bool:
        try:
            await asyncio.wait_for(self.news.wait(), None if deadline == NEVER else max(deadline - now(), 0.0))
        except asyncio.TimeoutError:
            return False
        self.news.clear()
        return True


class _Keeper(_core.Keeper):
    def __init__(self, work: "asyncio.Future[None]") -> None:
        self.work = work

    async def stop(self) -> None:
        self.work.cancel()
        await asyncio.wait({self.work})


class Watch(Watching):
    """Changes as they come: `async for change in watch`. First the present state; over reconnects."""

    def __aiter__(self) -> "Watch":
        return self

    async def __anext__(self) -> Change:
        change = await self.get()
        if change is None:
            raise StopAsyncIteration
        return change

    async def __aenter__(self) -> "Watch":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class Leading:
    """`async with client.leading(task) as lease`: see there."""

    def __init__(self, client: "Client", task: str, wait: Optional[float]) -> None:
        self._client, self._task, self._wait = client, task, wait
        self._cancelled = False

    async def __aenter__(self) -> Lease:
        self._lease = await self._client.enter(self._task, self._wait)
        self._body: Any = asyncio.current_task()
        self._lease._told = self._cancel
        self._keeper = self._client.keep(self._lease)
        return self._lease

    def _cancel(self, _: Lease) -> None:
        self._cancelled = True
        self._body.cancel()

    async def __aexit__(self, kind: Any, error: Optional[BaseException], _: object) -> None:
        self._keeper.work.cancel()
        if not self._cancelled:
            return
        if not isinstance(error, asyncio.CancelledError):
            try:
                await asyncio.sleep(0)  # where the cancellation strikes that came too late for the body
            except asyncio.CancelledError:
                pass
        if hasattr(self._body, "uncancel"):
            self._body.uncancel()
        if error is None or isinstance(error, asyncio.CancelledError):
            self._lease.check()


class Client(_core.Client):
    """A connection to the sidecar of this machine, for any number of tasks; made by `zkleader.aio.connect()`."""

    _loop: Any = None
    _link: Optional[_core.Link] = None

    def watch(self, *tasks: str) -> Watch:
        """The state of each of the tasks (of all, where none is named), and each change, as an async iterator."""
        return Watch(self, tasks)

    def leading(self, task: str, wait: Optional[float] = None) -> Leading:
        """A scope that is entered once this node leads, within `wait` seconds or else it raises Error.

        As the leadership is lost, before the lease is over, its body is cancelled, and the scope raises Lost.
        """
        return Leading(self, task, wait)

    async def close(self) -> None:
        """Ends the connection, the watches, and whatever waits for an answer."""
        self.end()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __await__(self) -> Generator[Any, None, "Client"]:
        """`await connect()` is the client as well."""
        yield from ()
        return self

    async def open(self, notified: Callable[[Notification], None]) -> _Link:
        try:
            making = asyncio.get_running_loop().create_unix_connection(lambda: _Link(notified), self.path)
            return (await asyncio.wait_for(making, self.timeout))[1]
        except (OSError, asyncio.TimeoutError) as e:
            raise Error(2, f"cannot ask the sidecar on {self.path}: {getattr(e, 'strerror', None) or 'no answer'}") from None

    async def connected(self) -> _core.Link:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._lock, self._link = loop, asyncio.Lock(), None
        link = self._link
        if link is None or link.gone:
            async with self._lock:
                link = self._link
                if link is None or link.gone:
                    link = self._link = await self.new_link()
        return link

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def keep(self, lease: Lease) -> _Keeper:
        return _Keeper(asyncio.ensure_future(self.renewing(lease, self.sleep)))

    async def perform(self, fn: Callable[..., Any], run: Run) -> Any:
        value = _core.call(fn, run)
        if not inspect.isawaitable(value):
            return value
        work = asyncio.ensure_future(value)
        run._told = lambda _: work.cancel()
        try:
            return await work
        except asyncio.CancelledError:
            run.check()
            raise


def connect(path: Path = None, timeout: float = 5.0) -> Client:
    """A client of the sidecar on this socket, as `zkleader.connect()`; it may be awaited, and need not be."""
    return Client(path, timeout)

"""What both clients do, without any input or output.

It is written once, with `async`. `zkleader.aio` derives from it; for threads `zkleader._sync` gives it a connection
whose functions block and never suspend, so that a coroutine runs through to its result as a function does.
"""
import collections
import datetime
import inspect
import os
import time
import uuid
import weakref
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Optional, TypeVar, Union

from ._base import (BACKOFF_MIN, NEVER, Closed, Error, Gone, Length, Lost, NoAnswer, Nonsense, Notification, Path, Session,
                    Unsent, backoff, is_final, lease_seconds, may, ms, now, tick_ms, want)
from ._told import Answer, Change, Job, Ran, answer, job, who

DEFAULT_SOCKET = "/run/zkleader/zkleader.sock"
IN_FLIGHT_MAX = 900  # requests that may wait in the sidecar: it ends a connection with more than 1,000
LOOK_AGAIN = 5.0  # seconds: how often one who waits to lead asks, beside being told; and between pings
LEASE_GUARD = 0.1  # seconds of a lease that are never counted on

T = TypeVar("T")


class Link:
    """A connection."""

    gone: Optional[Gone] = None  # why it has ended

    def __init__(self, notified: Callable[[Notification], None]) -> None:
        self.session = Session()
        self.notified = notified

    async def call(self, method: str, params: Sequence[Any], timeout: Optional[float]) -> Any:
        """The result of a request. Without a timeout: as long as the sidecar lives, which is asked in between."""
        raise NotImplementedError

    async def ask(self, method: str, params: Sequence[Any], timeout: Optional[float], parse: Callable[[Any, float], T]) -> T:
        """What parse(result, sent) makes of the answer. Where that makes no sense, the connection is not used any more."""
        sent = now()  # so neither a slow answer nor a process that is stopped makes a lease look longer
        result = await self.call(method, params, timeout)
        try:
            return parse(result, sent)
        except Nonsense as e:
            self.end(e)
            raise

    async def listen(self, deadline: float) -> bool:
        """Until something was notified, or the connection has ended. False: neither until then."""
        raise NotImplementedError

    def end(self, error: Gone) -> None:
        raise NotImplementedError

    async def ping(self, task: str) -> None:
        """Ends it if the sidecar does not answer."""
        try:
            await self.call("check", [task], LOOK_AGAIN)
        except NoAnswer as e:
            self.end(Gone(e.message))
        except Error:
            pass


class Keeper:
    """Renews a lease in the background."""

    async def stop(self) -> None:
        raise NotImplementedError


class Watching:
    """Changes of tasks as they come, over reconnects; on a connection of its own, so it holds up no answer."""

    def __init__(self, client: "Client", tasks: Sequence[str], mine: bool = False) -> None:
        self._client = client
        self._params: list[Any] = [*tasks, {"mine": True}] if mine else list(tasks)
        self._told: dict[str, tuple[Any, ...]] = {}
        self._news: collections.deque[Notification] = collections.deque()
        self._link: Optional[Link] = None
        self._closed = False
        self._pauses = backoff()

    async def get(self, timeout: Optional[float] = None) -> Optional[Change]:
        """The next change; None if none comes within `timeout` seconds, or the watch is closed."""
        deadline = NEVER if timeout is None else now() + timeout
        while await self._hear(deadline):
            change = self._change(self._news.popleft())
            if change:
                return change
        return None

    async def poke(self, seconds: float) -> None:
        """Waits until there is any news."""
        if await self._hear(now() + seconds):
            self._news.clear()

    async def _hear(self, deadline: float) -> bool:
        while not self._closed and not self._client.closed:
            if self._news:
                return True
            try:
                if self._link is None or self._link.gone:
                    self._link = link = await self._client.new_link(self._news.append)
                    await link.call("subscribe", self._params, self._client.timeout)
                    self._pauses = backoff()
                elif not await self._link.listen(deadline):
                    return False
            except Error as e:
                if is_final(e):
                    raise
                if self._link:
                    self._link.end(Gone())
                if now() >= deadline:
                    return False
                await self._client.sleep(min(next(self._pauses), deadline - now()))
        self.close()
        return False

    def _change(self, news: Notification) -> Optional[Change]:
        """None: nothing of what is told is another than before."""
        said = news.param
        if news.method != "leadership":
            return None
        leader, version = who(may(said, "leader", dict))
        told = (want(said, "task", str), want(said, "state", str), want(said, "self", bool), may(said, "token", int) or 0,
                leader, version)
        if self._told.get(told[0]) == told:
            return None
        self._told[told[0]] = told
        return Change(*told, reason=may(said, "reason", str))

    def close(self) -> None:
        """Ends it."""
        self._closed = True
        if self._link:
            self._link.end(Gone())


class Lease:
    """That this node leads a task. Look with `check()` before each step that must not happen on two nodes."""

    def __init__(self, task: str, token: int, until: float, length: float) -> None:
        self.task = task
        #: The fencing token: hand it to whatever can compare it and refuse a smaller one.
        self.token = token
        #: Until when it is good, by `zkleader.now()`; it moves on as the lease is renewed.
        self.until = until
        self._length = length
        self._why: Optional[str] = None
        self._told: Optional[Callable[[Lease], object]] = None

    @property
    def left(self) -> float:
        """Seconds that are left, 0.0 once it is lost."""
        return max(self.until - now(), 0.0) if self._why is None else 0.0

    @property
    def lost(self) -> bool:
        """Whether it is over, or about to be. Once true it stays so."""
        if self._why is None and now() >= self.until:
            self._why = "it was not renewed in time"
        return self._why is not None

    def check(self) -> None:
        """Raises Lost if another node may lead by now, or soon. Asks nobody."""
        if self.lost:
            raise Lost(f"{self.task} is not led here any more: {self._why}")

    def _spare(self) -> float:
        """Seconds until it has to be given up."""
        return self.until - max(self._length / 5, LEASE_GUARD) - now()

    def _due(self) -> float:
        """Seconds until it is to be renewed: a third of it is over then."""
        return max(min(self.until - self._length * 2 / 3 - now(), self._spare()), 0.0)

    def _extend(self, until: float, length: float) -> None:
        self.until, self._length = until, length

    def _lose(self, why: str) -> None:
        if self._why is None:
            self._why = why
        if self._told:
            self._told(self)

    async def _renew(self, client: "Client", timeout: float) -> None:
        found = await client.ask("check", [self.task, 0], timeout, lambda said, sent: answer(self.task, said, sent))
        if found and found.token == self.token:
            self._extend(found.until, found.lease)
        else:
            self._lose(found.why or "another node leads")


class Run(Lease):
    """A tick that is claimed for the caller, while it runs."""

    #: The tick, such as "2026-11-20T02:00:00Z"; None: without one.
    tick: Optional[str] = None
    #: 1, 2, ...
    attempt: int = 1
    #: Of a task with partitions: which one this is, else None.
    partition: Optional[int] = None
    _number = 0

    def __init__(self, task: str, link: Link, id_: str) -> None:
        super().__init__(task, 0, 0.0, 0.0)
        self._link, self._id = link, id_

    async def _renew(self, client: "Client", timeout: float) -> None:
        try:
            leads = await self._link.ask("renew", [self._number], timeout, self._renewed)
        except Gone:
            if not await self._attach(client, timeout):
                return
            leads = await self._link.ask("renew", [self._number], timeout, self._renewed)
        if not leads:
            self._lose("another node may lead")

    def _renewed(self, said: Any, sent: float) -> bool:
        leads, lease = want(said, "leads", bool), lease_seconds(want(said, "lease_ms", int))
        if leads:
            self._extend(sent + lease, lease)
        return leads

    async def _attach(self, client: "Client", timeout: float) -> bool:
        """Goes on over a new connection, after the sidecar was started anew. False: the run is over."""
        self._link = await client.new_link()
        try:
            attached, number = await self._link.ask("attach", [self.task, self._id], timeout, lambda said, _: (
                want(said, "attached", bool), may(said, "run", int)))
        except Error:
            self._link.end(Gone())
            raise
        self._number = number or 0
        if not attached:
            self._lose("the sidecar was started anew, and does not lead as before")
        return attached

    def _claimed(self, said: Any, sent: float) -> Optional[Ran]:
        """Takes the answer to the claim. What came of it, where the tick is not ours."""
        outcome, self.tick = want(said, "outcome", str), may(said, "tick", str)
        if outcome != "yours":
            return Ran(False, outcome, may(said, "why", str) or "", self.tick)
        lease = lease_seconds(want(said, "lease_ms", int))
        self._extend(sent + lease, lease)
        self.token, self.attempt, self._number = want(said, "token", int), want(said, "attempt", int), want(said, "run", int)
        self.partition = may(said, "partition", int)
        if self.partition is not None:
            self.task = f"{self.task}:{self.partition}"
        return None


def call(fn: Callable[..., Any], run: Run) -> Any:
    """Calls fn with the run, or without it where it takes none."""
    try:
        inspect.signature(fn).bind(run)
    except TypeError:
        return fn()
    except ValueError:  # one in C, which does not say
        pass
    return fn(run)


class Client:
    """A connection to the sidecar of this machine."""

    def __init__(self, path: Path = None, timeout: float = 5.0) -> None:
        #: The path of the socket.
        self.path = os.fspath(path) if path is not None else os.environ.get("ZKLEADER_SOCKET") or DEFAULT_SOCKET
        #: Seconds that an answer may take, beside what the question itself waits for.
        self.timeout = timeout
        self.closed = False
        self.links: weakref.WeakSet[Link] = weakref.WeakSet()

    async def open(self, notified: Callable[[Notification], None]) -> Link:
        raise NotImplementedError

    async def new_link(self, notified: Callable[[Notification], None] = lambda _: None) -> Link:
        """A connection besides the one."""
        if self.closed:
            raise Closed()
        link = await self.open(notified)
        self.links.add(link)
        if self.closed:  # meanwhile
            link.end(Gone("the client is closed"))
        return link

    def end(self) -> None:
        self.closed = True
        while self.links:
            try:
                self.links.pop().end(Gone("the client is closed"))
            except KeyError:  # the last of them has gone by itself
                break

    async def connected(self) -> Link:
        """The one connection that there is, made if need be."""
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError

    def keep(self, lease: Lease) -> Keeper:
        """Renews it until it is lost, or the keeper is stopped."""
        raise NotImplementedError

    async def perform(self, fn: Callable[..., Any], run: Run) -> Any:
        """Calls fn, and returns what it does."""
        raise NotImplementedError

    async def ask(self, method: str, params: Sequence[Any], timeout: float, parse: Callable[[Any, float], T],
                  again: bool = True) -> T:
        """`again`: where the connection ends before the answer, it is sent once more on a new one."""
        for last in (False, True):
            link = await self.connected()
            try:
                return await link.ask(method, params, timeout, parse)
            except Gone as e:
                if last or not again and not isinstance(e, Unsent):
                    raise
        raise AssertionError

    # Asking, leading

    async def leads(self, task: str, wait: float = 1.0) -> Answer:
        """Whether this node leads the task, or, as "TASK:K", that partition of it.

        While nobody leads (a handover), the sidecar waits up to `wait` seconds for the election to settle. The
        Answer is true only until its lease is over, counted from before it was asked.
        """
        return await self.ask("check", [task, ms(wait)], wait + self.timeout, lambda said, sent: answer(task, said, sent))

    async def enter(self, task: str, wait: Optional[float]) -> Lease:
        """Waits until this node leads."""
        end, watch = NEVER if wait is None else now() + wait, None
        try:
            while True:
                found = None
                try:
                    found = await self.leads(task, min(1.0, max(end - now(), 0.0)))
                    lease = Lease(task, found.token, found.until, found.lease)
                    if lease._spare() > 0:
                        return lease
                    failed = Error(found._code, found.why)
                except Error as e:
                    failed = e
                if now() >= end or found is None and is_final(failed):
                    raise failed
                if found is not None and found.lease > 0:
                    await self.sleep(BACKOFF_MIN)  # its lease is as good as over, or about to be longer
                    continue
                watch = watch or Watching(self, [task], mine=True)
                await watch.poke(min(LOOK_AGAIN, max(end - now(), 0.0)))
        finally:
            if watch:
                watch.close()

    async def renewing(self, lease: Lease, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Renews it until it is lost."""
        pauses = backoff()
        while lease._why is None:
            await sleep(lease._due())
            spare = lease._spare()
            if spare <= 0:
                return lease._lose("it could not be renewed in time")
            try:
                await lease._renew(self, spare)
                pauses = backoff()
            except Error as e:
                if is_final(e):
                    return lease._lose(e.message)
                await sleep(max(min(next(pauses), lease._spare()), 0.0))

    # Runs

    async def run(self, task: str, fn: Callable[..., Any], tick: Length = None, wait: Optional[float] = None) -> Ran:
        """Claims the present tick of the task, and calls `fn` here if it is ours: `fn(run)`, or `fn()`.

        `tick`: its length in whole seconds ("60s", "5m"), or "none"; by default the task's. While the claim is
        undecided it waits for up to `wait` seconds (by default the task's). `fn` looks with `run.check()`, which
        raises Lost once the leadership is lost, whether it may go on; with asyncio it is a coroutine function,
        which is cancelled then. What it raises is recorded as a failure, and raised here. Lost is raised, too,
        where `fn` came to its end only after the lease.
        """
        run = await self._claim(task, tick, wait)
        if isinstance(run, Ran):
            return run
        keeper = self.keep(run)
        status, interrupted, value = 1, True, None
        try:
            run.check()
            value = await self.perform(fn, run)
            status, interrupted = 0, False
        except Exception as e:
            interrupted = isinstance(e, Lost) or run.lost
            raise
        finally:
            await keeper.stop()
            interrupted = interrupted or now() >= run.until
            recorded = await self._finish(run, status, interrupted)
            run._link.end(Gone())
        if interrupted:
            run._lose("its function came to its end after the lease")
            run.check()
        return Ran(True, "ok", "", run.tick, value, recorded)

    async def _claim(self, task: str, tick: Length, wait: Optional[float]) -> Union[Run, Ran]:
        """On a connection of its own: who gives up a claim that waits takes it back by its end."""
        wall, id_ = time.time(), str(uuid.uuid4())
        options = {"kind": "run", "id": id_, "now_ms": int(wall * 1000), "zone_ms": time.localtime(wall).tm_gmtoff * 1000}
        if tick is not None:
            options["tick_ms"] = tick_ms(tick)
        if wait is not None:
            options["wait_ms"] = ms(wait)
        for again in (False, True):
            run = Run(task, await self.new_link(), id_)
            got = False
            try:
                other = await run._link.ask("claim", [task, {**options, "again": again}], None, run._claimed)
                if other is not None:
                    return other
                if run._due() <= 0:  # it has waited, and its lease counts from before that
                    await run._renew(self, self.timeout)
                got = True
                return run
            except Gone:
                if again:
                    raise
            finally:
                if not got:
                    run._link.end(Gone())
        raise AssertionError

    async def _finish(self, run: Run, status: int, interrupted: bool) -> bool:
        """Whether the end is recorded."""
        end = {"exit_status": status, "interrupted": interrupted}
        deadline, pauses = now() + self.timeout, backoff()
        while True:
            try:
                return bool(await run._link.call("finish", [run._number, end], self.timeout))
            except Gone:
                if interrupted or now() >= deadline:
                    return False
            except Error:
                return False
            try:
                if not await run._attach(self, self.timeout):
                    return False
            except Error as e:
                if is_final(e):
                    return False
                await self.sleep(next(pauses))

    # Jobs

    async def job_id(self, queue: str) -> str:
        """An id for a job to submit, to be kept before it is."""
        return await self.ask("job_id", [queue], self.timeout, lambda said, _: want(said, "id", str))

    async def submit(self, queue: str, payload: Union[bytes, str] = b"", *, id: Optional[str] = None,
                     delay: Optional[float] = None, at: Union[None, str, datetime.datetime] = None,
                     key: Optional[str] = None, while_open: bool = False, callback: Optional[str] = None) -> str:
        """Submits a job, and returns its id once it is committed.

        The same with the same `id` is safe to repeat for ten minutes; without one it is drawn here, and an Error
        has it as `job`. `delay`: seconds; `at`: a datetime, or RFC 3339; `key`: one job of it at a time, and the
        id is that one's if it is there; `while_open`: only until that has ended; `callback`: a URL.
        """
        id = id or await self.job_id(queue)
        if isinstance(at, datetime.datetime):
            at += datetime.timedelta(microseconds=-at.microsecond % 1000)  # ms, rounded up
            utc = at.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            at = utc.isoformat(timespec="milliseconds") + "Z"
        options = {"id": id, "payload": payload.encode() if isinstance(payload, str) else payload, "at": at, "key": key,
                   "in_ms": ms(delay) if delay else None, "while": "open" if while_open else None, "callback": callback}
        params = [queue, {k: v for k, v in options.items() if v is not None}]
        try:
            return await self.ask("submit", params, self.timeout, lambda said, _: want(said, "id", str))
        except Error as e:
            e.job = id
            raise

    async def job(self, id: str, wait: float = 0.0) -> Job:
        """The job as it is; with `wait` once it has ended, or that many seconds are over."""
        params: list[Any] = [id, {"wait_ms": ms(wait)}] if wait > 0 else [id]
        return await self.ask("job", params, wait + self.timeout, lambda said, _: job(said))

    async def wait(self, id: str) -> Job:
        """The job, once it has ended, however long that takes."""
        pauses = backoff()
        while True:
            try:
                found = await self.job(id, 60.0)
                if found.ended:
                    return found
            except Error as e:
                if is_final(e):
                    raise
                await self.sleep(next(pauses))

    async def cancel(self, id: str) -> bool:
        """Cancels a job; False if it had ended already."""
        return await self.ask("cancel", [id], self.timeout, lambda said, _: want(said, "done", bool), again=False)

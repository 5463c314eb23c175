"""The same for asyncio, by the loop's own reader: no threads.

    async with berth.aio.acquire("db:2", wait=30, cancel_on_loss=True) as lease:
        ...
"""

from __future__ import annotations

import asyncio
import functools
import os
import sys
import weakref
from types import TracebackType
from typing import Any, AsyncGenerator, Awaitable, Callable, Generator, Optional, TypeVar

from ._core import ENDED, HELD, NEVER, Claim, Loss, clock
from ._lease import BaseLease, Owner
from ._link import Link, endpoint
from ._wire import Request, parent_lease
from .client import RETURN_WITHIN
from .errors import Lost, NotFree

T = TypeVar("T")


def _open(changed: asyncio.Future[None]) -> None:
    if not changed.done():
        changed.set_result(None)


class Lease(BaseLease["Client"]):
    __slots__ = ()

    async def release(self) -> None:
        """Gives it back; again: nothing. It is sent at once, also if this is cancelled then."""
        self._owner._check()
        await self._owner._give_back(self._claim)
        self._close_pipe()

    async def wait_lost(self) -> Optional[Loss]:
        """Until it is lost, or given back by another task (None)."""
        self._owner._check()
        claim = self._claim
        await self._owner._until(claim, lambda: claim.loss is not None or claim.state is not HELD)
        return claim.loss

    async def __aenter__(self) -> Lease:
        self._enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._owner._pid == os.getpid():
            await self.release()


class Acquiring:
    """`await` it for a lease, or `async with` it for a block."""

    def __init__(self, client: Client, request: Request, wait: Optional[float], cancel_on_loss: bool) -> None:
        self._client, self._request, self._wait = client, request, wait
        self._cancel_on_loss = cancel_on_loss
        self._lease: Optional[Lease] = None
        self._was_cancelled = False  # by us
        self._cancelling = 0  # requests to cancel the task that were there before

    def __await__(self) -> Generator[Any, None, Lease]:
        return self._client._acquire(self._request, self._wait).__await__()

    async def __aenter__(self) -> Lease:
        if self._lease is not None:
            raise RuntimeError("entered already: each block acquires for itself")
        self._lease = lease = await self
        task = asyncio.current_task()
        if self._cancel_on_loss and task is not None:
            body = task
            if sys.version_info >= (3, 11):
                self._cancelling = task.cancelling()
            lease.on_lost(lambda _: self._cancel(body))
        return lease

    def _cancel(self, body: asyncio.Task[Any]) -> None:
        if self._lease is not None:
            self._was_cancelled = True
            body.cancel()

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        assert self._lease is not None
        lease, self._lease = self._lease, None
        if lease._owner._pid != os.getpid():
            return
        is_ours = self._was_cancelled
        if sys.version_info >= (3, 11):
            task = asyncio.current_task()
            if is_ours and task is not None:
                is_ours = task.uncancel() <= self._cancelling  # else somebody cancels the task as well
        await lease.release()
        if is_ours and kind is asyncio.CancelledError:
            loss = lease.lost
            assert loss is not None
            raise Lost(f"{loss.text} ({loss.code})", loss.code) from error


class Client(Owner):
    """A connection for all tasks of one loop; made in it, or used there first."""

    def __init__(self, path: Optional[str] = None, *, patience: float = 5.0) -> None:
        self._pid = os.getpid()
        self._parent = parent_lease()
        self._link = Link(path, patience)
        self._link.closing = self._forget_reader
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._fd = -1
        self._writes = False
        self._timer: Optional[asyncio.TimerHandle] = None
        self._timer_at = NEVER
        self._at_end: Optional[AsyncGenerator[None, None]] = None

    def acquire(self, *wanted: str, wait: Optional[float] = None, strict: bool = False, cancel_on_loss: bool = False,
                **options: object) -> Acquiring:
        """As berth.acquire(). With `cancel_on_loss` the block is cancelled when the lease is lost, and raises Lost."""
        return Acquiring(self, Request.of(wanted, strict, tuple(options.items()), self._parent), wait, cancel_on_loss)

    async def try_acquire(self, *wanted: str, **options: Any) -> Optional[Lease]:
        """None: it is not free."""
        try:
            return await self.acquire(*wanted, wait=0.0, **options)
        except NotFree:
            return None

    async def close(self) -> None:
        """Gives back what is held. In a forked child it only closes."""
        if self._pid == os.getpid():
            for claim in list(self._link.claims.values()):
                await self._give_back(claim)
            self._close()
        self._pid = 0  # of no process

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._link.close()

    async def _close_with_loop(self) -> AsyncGenerator[None, None]:
        """asyncio.run() ends what generators wait for, and this one with them."""
        try:
            yield
        finally:
            if self._pid == os.getpid():
                self._close()

    # ---- waiting

    async def _acquire(self, request: Request, wait: Optional[float]) -> Lease:
        self._check()
        if self._loop is not asyncio.get_running_loop():
            if self._loop is not None:
                raise RuntimeError("a client of another loop")
            self._loop = asyncio.get_running_loop()
            self._at_end = self._close_with_loop()
            await self._at_end.__anext__()
        claim = Claim(request, wait)
        try:
            self._link.add(claim)
            self._turn()
            await self._until(claim, claim.is_decided)
            if claim.error is not None:
                raise claim.error
            return Lease(self, claim)
        except BaseException:  # also a cancellation that races the grant
            self._link.give_back(claim)
            self._turn()
            raise

    async def _until(self, claim: Claim, is_so: Callable[[], bool]) -> None:
        while not is_so():
            changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            claim.gates += (functools.partial(_open, changed),)
            await changed

    async def _give_back(self, claim: Claim) -> None:
        link = self._link
        link.give_back(claim)
        self._turn()
        try:
            await asyncio.wait_for(
                self._until(claim, lambda: claim.state is ENDED or not link.is_connected), RETURN_WITHIN)
        except asyncio.TimeoutError:
            pass  # it is repeated until berthd answers

    def _listen(self, claim: Claim, told: Callable[[Loss], object]) -> None:
        if claim.loss is not None:
            told(claim.loss)
        else:
            claim.callbacks += (told,)

    def _look(self) -> None:
        self._on_news()

    # ---- the loop

    def _on_news(self) -> None:
        self._link.dispatch()
        self._turn()

    def _turn(self) -> None:
        """After each change: sends, tells, and has the loop wait for what the link waits for."""
        link, loop = self._link, self._loop
        assert loop is not None
        link.flush()
        calls, link.calls = link.calls, []
        for call in calls:
            loop.call_soon(call)
        fd = link.fileno()
        if fd != self._fd:
            loop.add_reader(fd, self._on_news)
            self._fd = fd
        writes = fd >= 0 and bool(link.out)
        if writes != self._writes:
            if writes:
                loop.add_writer(fd, self._on_news)
            else:
                loop.remove_writer(fd)
            self._writes = writes
        at = link.next_at()
        if at != self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None if at == NEVER else loop.call_later(max(at - clock(), 0.0), self._on_timer)
            self._timer_at = at

    def _on_timer(self) -> None:
        self._timer, self._timer_at = None, NEVER
        self._on_news()

    def _forget_reader(self, fd: int) -> None:
        if self._loop is not None and fd == self._fd:
            self._loop.remove_reader(fd)
            self._loop.remove_writer(fd)
            self._fd, self._writes = -1, False


_shared: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Client]] = weakref.WeakKeyDictionary()


def _client() -> Client:
    """One for each loop and socket. (A loop that a forked child goes on with has the parent's, which fails.)"""
    path, clients = endpoint(), _shared.setdefault(asyncio.get_running_loop(), {})
    client = clients.get(path)
    if client is None:
        client = clients[path] = Client(path)
    return client


def acquire(*wanted: str, wait: Optional[float] = None, strict: bool = False, cancel_on_loss: bool = False,
            **options: object) -> Acquiring:
    """Client.acquire() of the client that all tasks of the running loop share."""
    return _client().acquire(*wanted, wait=wait, strict=strict, cancel_on_loss=cancel_on_loss, **options)


async def try_acquire(*wanted: str, **options: Any) -> Optional[Lease]:
    """None: it is not free."""
    return await _client().try_acquire(*wanted, **options)


class Limiter:
    """`async with limiter:` in any number of tasks: each has a lease of its own. Not for another loop meanwhile."""

    def __init__(self, *wanted: str, **options: Any) -> None:
        self._wanted, self._options = wanted, options
        self._entered: dict[asyncio.Task[Any], Acquiring] = {}

    async def run(self, function: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
        async with acquire(*self._wanted, **self._options):
            return await function(*args, **kwargs)

    def _task(self) -> asyncio.Task[Any]:
        task = asyncio.current_task()
        assert task is not None
        return task

    async def __aenter__(self) -> Lease:
        task = self._task()
        if task in self._entered:
            raise RuntimeError("this task has entered already, and would wait for itself")
        acquiring = self._entered[task] = acquire(*self._wanted, **self._options)
        try:
            return await acquiring.__aenter__()
        except BaseException:
            del self._entered[task]
            raise

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self._entered.pop(self._task()).__aexit__(kind, error, trace)

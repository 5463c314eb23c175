"""Berth in a program's own words: units of what berthd limits, for as long as a block runs.

    with berth.acquire("db:2", wait=30) as lease:
        ...

doc/libraries.md says what holds for each lease; `berth.aio` is the same for asyncio."""

from __future__ import annotations

import concurrent.futures
import functools
import inspect
import os
from typing import Any, Callable, Optional, TypeVar, cast

from ._core import Loss
from ._link import endpoint
from ._wire import Units
from .client import Client, Lease, Pending
from .errors import BerthError, Down, Forbidden, Forked, Lost, NotFree, Refused, Timeout

__version__ = "0.1.0"
__all__ = ["BerthError", "Client", "Down", "Executor", "Forbidden", "Forked", "Lease", "Loss", "Lost", "NotFree",
           "Pending", "Refused", "Timeout", "Units", "acquire", "limited", "try_acquire"]

Function = TypeVar("Function", bound=Callable[..., Any])

_shared: dict[tuple[int, str], Client] = {}  # of each process, one for each socket


def _client() -> Client:
    key = (os.getpid(), endpoint())
    client = _shared.get(key)
    if client is None:
        client = _shared.setdefault(key, Client(key[1]))
    return client


def acquire(*wanted: str, wait: Optional[float] = None, strict: bool = False, **options: object) -> Lease:
    """Client.acquire() of the client that all of this process share."""
    return _client().acquire(*wanted, wait=wait, strict=strict, **options)


def try_acquire(*wanted: str, strict: bool = False, **options: object) -> Optional[Lease]:
    """None: it is not free."""
    return _client().try_acquire(*wanted, strict=strict, **options)


def limited(*wanted: str, wait: Optional[float] = None, **options: Any) -> Callable[[Function], Function]:
    """A decorator: each call has a lease of its own. Of coroutine functions, too."""

    def decorate(function: Function) -> Function:
        if inspect.iscoroutinefunction(function):
            from . import aio

            @functools.wraps(function)
            async def later(*args: Any, **kwargs: Any) -> Any:
                async with aio.acquire(*wanted, wait=wait, **options):
                    return await function(*args, **kwargs)

            return cast(Function, later)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with acquire(*wanted, wait=wait, **options):
                return function(*args, **kwargs)

        return cast(Function, call)

    return decorate


def _under(wanted: tuple[str, ...], options: dict[str, Any], function: Callable[..., Any], args: Any,
           kwargs: Any) -> Any:
    with acquire(*wanted, **options):
        return function(*args, **kwargs)


class Executor(concurrent.futures.Executor):
    """Each task of another executor, of threads or processes, takes a lease where it runs."""

    def __init__(self, executor: concurrent.futures.Executor, *wanted: str, **options: Any) -> None:
        self._executor, self._wanted, self._options = executor, wanted, options

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        return self._executor.submit(_under, self._wanted, self._options, function, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._executor.shutdown(wait, cancel_futures=cancel_futures)

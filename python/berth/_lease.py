"""A held lease, as both kinds of client have it."""

from __future__ import annotations

import os
import warnings
from typing import Callable, Generic, Optional, TypeVar

from ._core import HELD, NEVER, Claim, Loss
from ._link import Link
from ._wire import Units
from .errors import BerthError, Forked, Lost


class Owner:
    """What a lease needs of its client, of either kind."""

    _link: Link
    _pid: int

    def _check(self) -> None:
        if self._pid != os.getpid():
            if self._pid == 0:
                raise BerthError("the client is closed")
            raise Forked("a client or lease of the parent process: use berth.acquire() in the child")

    def _listen(self, claim: Claim, told: Callable[[Loss], object]) -> None:
        raise NotImplementedError

    def _look(self) -> None:
        raise NotImplementedError


AnyOwner = TypeVar("AnyOwner", bound=Owner)


class BaseLease(Generic[AnyOwner]):
    """A held lease. It does not change; `lost` and `away` say how it fares. There are no counts: each acquire is
    another lease, which is given back once."""

    __slots__ = ("_owner", "_claim", "_pipe", "id", "units", "__weakref__")
    _owner: AnyOwner
    _claim: Claim
    _pipe: list[int]
    id: str
    units: tuple[Units, ...]

    def __init__(self, owner: AnyOwner, claim: Claim) -> None:
        put = object.__setattr__
        put(self, "_owner", owner)
        put(self, "_claim", claim)
        put(self, "_pipe", [])
        put(self, "id", claim.lease)
        put(self, "units", claim.units)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a lease does not change")

    def __reduce__(self) -> str:
        raise TypeError("a lease is its process's: it cannot be sent to another one")

    def __repr__(self) -> str:
        return f"<berth lease {self.id} of {', '.join(f'{one.name} {one.text}' for one in self.units)}>"

    def __getitem__(self, name: str) -> Units:
        """What it has of that resource."""
        return next(one for one in self.units if one.name == name)

    @property
    def token(self) -> int:
        """The fencing token, of the first resource."""
        return self.units[0].token

    @property
    def slots(self) -> tuple[int, ...]:
        return next((one.slots for one in self.units if one.slots), ())

    @property
    def items(self) -> tuple[str, ...]:
        return next((one.items for one in self.units if one.items), ())

    @property
    def bound(self) -> str:
        """What it ends with at the latest: "program", the process that has asked; "process", which may be stopped for
        it; or, where berthd does not see the process, "connection"."""
        return self._claim.bound_to

    @property
    def stop_by(self) -> Optional[float]:
        """When to stop unless the lease is renewed by then (CLOCK_BOOTTIME); None: it is not limited."""
        return self._limit("stop_by")

    @property
    def gone_by(self) -> Optional[float]:
        """From when on others may have its units, unless it is renewed by then."""
        return self._limit("gone_by")

    def _limit(self, name: str) -> Optional[float]:
        self._owner._check()
        self._owner._look()
        at: float = getattr(self._claim, name)
        return at if at < NEVER else None

    @property
    def lost(self) -> Optional[Loss]:
        """None while it is held. Away from berthd is not lost."""
        self._owner._check()
        if self._claim.loss is None and self._claim.state is HELD:
            self._owner._look()
        return self._claim.loss

    @property
    def away(self) -> bool:
        """berthd is not there at present."""
        self._owner._check()
        return not self._owner._link.is_connected

    def check(self) -> None:
        """Raises Lost if it is lost, or was given back."""
        if (loss := self.lost) is not None:
            raise Lost(f"{loss.text} ({loss.code})", loss.code)
        if self._claim.state is not HELD:
            raise Lost("it was given back", "released")

    def _enter(self) -> None:
        self._owner._check()
        if self._claim.state is not HELD:
            self.check()  # a block for each lease, and no second one

    def on_lost(self, told: Callable[[Loss], object]) -> None:
        """Calls told(loss) once, from another thread (in asyncio: from the loop); at once if it is lost already."""
        self._owner._check()
        self._owner._listen(self._claim, told)

    def fileno(self) -> int:
        """A descriptor that is readable once the lease is lost, until it is given back."""
        self._owner._check()
        if not self._pipe:
            self._pipe.extend(os.pipe())
            writer = self._pipe[1]
            self.on_lost(lambda _: os.write(writer, b"!"))
        return self._pipe[0]

    def _close_pipe(self) -> None:
        if self._pipe:
            self._claim.callbacks = ()
            for fd in self._pipe:
                os.close(fd)
            self._pipe.clear()

    def __del__(self, warn: Callable[..., None] = warnings.warn, getpid: Callable[[], int] = os.getpid) -> None:
        try:
            if self._claim.state is HELD and self._claim.loss is None and self._owner._pid == getpid():
                warn(f"{self!r} was not given back: it is held until this process ends", ResourceWarning, source=self)
        except AttributeError:
            pass  # not whole yet

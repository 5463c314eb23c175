"""Blocking calls: thin loops over a Link, which any number of threads share.

Of the threads that wait, one reads for all of them (it leads), and hands over when its own wait is over. While a
lease is held and nobody waits, a thread of its own, the keeper, reads: somebody must bring the lease back to a
berthd that was restarted, and hear that it is lost. It begins when a lease is granted and ends a second after
the last one; a program that acquires and releases quickly is not in its way, as it looks ten times a second
until a lease is held for longer. `Client(keep=False)` has none: then the lease is looked after in calls alone."""

from __future__ import annotations

import atexit
import functools
import os
import select
import threading
import warnings
import weakref
from types import TracebackType
from typing import Callable, Generic, Iterator, Optional, TypeVar

from ._core import ENDED, HELD, NEVER, Claim, Loss, clock
from ._link import Link
from ._wire import Request, Units, decode, parent_lease
from .errors import BerthError, Down, Forked, Lost, NotFree, error_of

LOOK_EVERY = 0.1  # of the keeper, until a lease is held for longer
LINGER = 10  # looks
RETURN_WITHIN = 1.0  # so long a release waits for berthd's word; it is given back in any case

_clients: weakref.WeakSet[Client] = weakref.WeakSet()


class Owner:
    """What a lease needs of its client, of either kind."""

    _link: Link
    _pid: int

    def _check(self) -> None:
        if self._pid != os.getpid():
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


class Lease(BaseLease["Client"]):
    __slots__ = ()

    def release(self) -> None:
        """Gives it back; again: nothing. Forgotten only when berthd has it back."""
        self._owner._check()
        self._owner._give_back(self._claim)
        self._close_pipe()

    def wait_lost(self, timeout: Optional[float] = None) -> Optional[Loss]:
        """Waits until it is lost, or given back by another thread (None, as after `timeout` seconds)."""
        self._owner._check()
        claim = self._claim
        until = NEVER if timeout is None else clock() + timeout
        self._owner._until(claim, lambda: claim.loss is not None or claim.state is not HELD, until)
        return claim.loss

    def bind(self, pid: int) -> None:
        """From now on it lasts as long as that process, which may be stopped for it; released as before."""
        self._owner._check()
        self._owner._bind(self._claim, pid)

    def __enter__(self) -> Lease:
        self._enter()
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self._owner._pid == os.getpid():  # a forked child that leaves the block gives nothing back
            self.release()


class Client(Owner):
    """A connection to berthd, for all threads of this process. `patience`: seconds until a berthd that does not
    answer is Down."""

    def __init__(self, path: Optional[str] = None, *, patience: float = 5.0, keep: bool = True) -> None:
        self._pid = os.getpid()
        self._parent = parent_lease()
        self._link = Link(path, patience)
        self._keep = keep
        self._lock = threading.Lock()  # of the link, and of all that follows
        self._leads = False
        self._followers: dict[threading.Lock, None] = {}  # gates, each locked until it is opened
        self._turns = 0  # of leaders
        self._registered = (-1, 0)  # what the leader waits for, and
        self._polled_until = NEVER
        self._bell, self._button = os.pipe()  # wakes the leader
        os.set_blocking(self._bell, False)
        os.set_blocking(self._button, False)
        self._poll = select.poll()
        self._poll.register(self._bell, select.POLLIN)
        self._link.closing = self._unregister
        self._keeper: Optional[threading.Thread] = None
        self._hurry = threading.Event()  # the keeper is to look now
        self._is_heard = False  # somebody wants to be told at once
        _clients.add(self)

    # ---- for users

    def acquire(self, *wanted: str, wait: Optional[float] = None, strict: bool = False, **options: object) -> Lease:
        """Waits at most `wait` seconds (None: for ever; 0: only tries) for "NAME" or "NAME:COUNT", all of them or
        none. Options: priority, reason, program, holder, kill_after, on_lost. With `strict` the lease is bound to this
        process as a job's, which is stopped, by SIGKILL in the end, when the lease is lost."""
        self._check()
        claim = Claim(Request.of(wanted, strict, tuple(options.items()), self._parent), wait)
        try:
            with self._lock:
                self._link.add(claim)
                self._ring_if_needed()
            self._until(claim, claim.is_decided)
            if claim.error is not None:
                raise claim.error
            lease = Lease(self, claim)
            if self._keep and self._keeper is None:
                self._start_keeper()
        except BaseException:
            self._give_back(claim, within=0.0)
            raise
        return lease

    def try_acquire(self, *wanted: str, strict: bool = False, **options: object) -> Optional[Lease]:
        """None: it is not free."""
        try:
            return self.acquire(*wanted, wait=0.0, strict=strict, **options)
        except NotFree:
            return None

    def close(self) -> None:
        """Gives back what is held. In a forked child it only closes."""
        if self._pid == os.getpid():
            for claim in list(self._link.claims.values()):
                self._give_back(claim)
            self._pause()
            with self._lock:
                self._link.close()
        for fd in (self._bell, self._button):
            if fd >= 0:
                os.close(fd)
        self._bell = self._button = -1
        self._pid = 0  # of no process: whoever uses it hears that it is not theirs
        _clients.discard(self)

    def __del__(self) -> None:
        for fd in (getattr(self, "_bell", -1), getattr(self, "_button", -1)):
            if fd >= 0:
                os.close(fd)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- for any loop: a program that waits by itself calls dispatch() when fileno() is ready or timeout() is over

    def fileno(self) -> int:
        return self._link.fileno()

    def events(self) -> int:
        return self._link.events()

    def timeout(self) -> Optional[float]:
        return self._link.timeout()

    def dispatch(self) -> None:
        self._check()
        self._look()

    # ---- waiting

    def _until(self, claim: Claim, is_so: Callable[[], bool], until: float = NEVER) -> None:
        """Returns when it is so, or `until` has come."""
        while True:
            with self._lock:
                if is_so() or (until < NEVER and clock() >= until):
                    self._hand_over()  # perhaps it was for us to lead
                    return
                if self._leads:
                    gate = threading.Lock()
                    gate.acquire()
                    self._followers[gate] = None
                    claim.gates += (functools.partial(self._open, gate),)
                else:
                    gate = None
                    self._leads = True
            if gate is None:
                self._lead(is_so, until)
                return
            self._follow(gate, until)

    def _open(self, gate: threading.Lock) -> None:
        if gate in self._followers:
            del self._followers[gate]
            gate.release()

    def _follow(self, gate: threading.Lock, until: float) -> None:
        is_open = False
        try:
            is_open = gate.acquire(timeout=-1 if until == NEVER else min(max(until - clock(), 0), threading.TIMEOUT_MAX))
        finally:
            if not is_open:
                with self._lock:
                    if gate in self._followers:
                        del self._followers[gate]
                    else:
                        self._hand_over()  # it was opened for nothing: perhaps for us to lead

    def _lead(self, is_so: Callable[[], bool], until: float = NEVER) -> None:
        leads = True
        try:
            with self._lock:
                timeout = self._prepare(until)
            while leads:
                ready = self._poll.poll(timeout)
                with self._lock:
                    self._turns += 1
                    self._take(ready)
                    if is_so() or (until < NEVER and clock() >= until):
                        leads = self._leads = False
                        self._hand_over()
                    else:
                        timeout = self._prepare(until)
                if self._link.calls:
                    self._tell()
        finally:
            if leads:  # interrupted
                with self._lock:
                    self._leads = False
                    self._hand_over()

    def _prepare(self, until: float) -> Optional[float]:
        """Milliseconds."""
        link = self._link
        at = min(link.next_at(), until)
        wanted = (link.fileno(), link.events())
        if wanted != self._registered:
            if wanted[0] >= 0:
                self._poll.register(*wanted)
            self._registered = wanted
        self._polled_until = at
        return None if at == NEVER else max(at - clock(), 0.0) * 1000

    def _unregister(self, fd: int) -> None:
        if self._registered[0] == fd:
            self._poll.unregister(fd)
            self._registered = (-1, 0)

    def _take(self, ready: list[tuple[int, int]]) -> None:
        for fd, _ in ready:
            if fd == self._bell:
                os.read(self._bell, 4096)
        self._link.dispatch()

    def _hand_over(self) -> None:
        """Under the lock; nobody leads. The next one that waits does, or else, in a while, the keeper."""
        if self._leads:
            return
        for gate in self._followers:
            self._open(gate)
            return
        if self._is_heard:
            self._hurry.set()

    def _ring_if_needed(self) -> None:
        """Under the lock, after a change: the leader waits for something else now."""
        if self._leads:
            link = self._link
            if (link.fileno(), link.events()) != self._registered or link.next_at() < self._polled_until:
                self._ring()

    def _ring(self) -> None:
        try:
            os.write(self._button, b"!")
        except (BlockingIOError, OSError):
            pass

    def _tell(self) -> None:
        """Outside of the lock: who is told may call us."""
        calls, self._link.calls = self._link.calls, []
        for call in calls:
            call()

    def _look(self) -> None:
        """What has come so far, unless somebody else reads."""
        with self._lock:
            if not self._leads:
                self._link.dispatch()
        self._tell()

    def _listen(self, claim: Claim, told: Callable[[Loss], object]) -> None:
        with self._lock:
            loss = claim.loss
            if loss is None:
                claim.callbacks += (told,)
                self._is_heard = True
                self._hurry.set()
        if loss is not None:
            told(loss)
        self._start_keeper()

    def _give_back(self, claim: Claim, within: float = RETURN_WITHIN) -> None:
        link = self._link
        with self._lock:
            link.give_back(claim)
            link.flush()
            self._ring_if_needed()
        if claim.state is not ENDED:
            if link.is_connected and within > 0:
                self._until(claim, lambda: claim.state is ENDED or not link.is_connected, clock() + within)
            if claim.state is not ENDED and self._keep:
                self._start_keeper()

    def _bind(self, claim: Claim, pid: int) -> None:
        answers: list[list[str]] = []
        with self._lock:
            is_asked = self._link.move(claim, pid, answers.append)
            self._link.flush()
            self._ring_if_needed()
        self._until(claim, lambda: bool(answers) or not self._link.is_connected, clock() + self._link.patience)
        if not is_asked or not answers:
            raise Down(self._link.why, "down")
        if answers[0][0] != "ok":
            raise error_of(answers[0][1], decode(answers[0][2]))

    # ---- the keeper

    def _start_keeper(self) -> None:
        with self._lock:
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep_leases, name="berth keeper", daemon=True)
                self._keeper.start()

    def _keep_leases(self) -> None:
        me = threading.current_thread()
        idle, turns = 0, -1
        while True:
            in_a_hurry = self._hurry.wait(LOOK_EVERY)
            with self._lock:
                self._hurry.clear()
                if self._keeper is not me:
                    return
                idle = 0 if self._link.claims else idle + 1
                if idle >= LINGER:
                    self._keeper, self._is_heard = None, False
                    return
                if self._leads or idle or not (in_a_hurry or self._turns == turns):
                    turns = self._turns
                    continue
                self._leads = True
            self._lead(lambda: self._keeper is not me or not self._link.claims)

    def _pause(self) -> None:
        """Ends the keeper."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None and keeper is not threading.current_thread():
            self._hurry.set()
            self._ring()
            keeper.join(1.0)


def _clients_here() -> Iterator[Client]:
    for client in list(_clients):
        if client._pid == os.getpid():
            yield client


def _before_fork() -> None:
    """A child of one thread is simpler, and newer Pythons warn of others."""
    for client in _clients_here():
        client._pause()


def _in_parent() -> None:
    for client in _clients_here():
        if client._keep and client._link.claims:
            client._start_keeper()


def _in_child() -> None:
    for client in list(_clients):
        client._keeper = None
        if client._bell >= 0:
            os.close(client._bell)
            os.close(client._button)
            client._bell = client._button = -1
        _clients.discard(client)


def _at_exit() -> None:
    for client in _clients_here():
        client._pause()
        with client._lock:
            client._link.close()


os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
atexit.register(_at_exit)

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
import weakref
from threading import get_ident
from types import TracebackType
from typing import Callable, Iterator, Optional

from ._core import ENDED, HELD, NEVER, Claim, Loss, clock, log
from ._lease import BaseLease, Owner
from ._link import Link
from ._wire import Request, decode, parent_lease, units_of, word_of
from .errors import Down, NotFree, error_of

LOOK_EVERY = 0.1  # of the keeper, until a lease is held for longer
LINGER = 10  # looks
RETURN_WITHIN = 1.0  # so long a release waits for berthd's word; it is given back in any case

_clients: weakref.WeakSet[Client] = weakref.WeakSet()


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

    def hand_over(self) -> str:
        """For Client.take_over() of another process of this user. Here it is over; the lease is held until then, or
        until this process ends."""
        self.check()
        with self._owner._lock:
            self._owner._link.hand_over(self._claim)
        self._close_pipe()
        return f"{self.id}{self._claim.request.words} {' '.join(map(word_of, self.units))}"

    def __enter__(self) -> Lease:
        self._enter()
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self._owner._pid == os.getpid():  # a forked child that leaves the block gives nothing back
            self.release()


class Pending:
    """What was asked for, in a program that waits by itself."""

    def __init__(self, client: Client, claim: Claim) -> None:
        self._client, self._claim = client, claim
        self._lease: Optional[Lease] = None

    def lease(self) -> Optional[Lease]:
        """None while it waits; raises what acquire() would."""
        self._client._check()
        if self._claim.error is not None:
            raise self._claim.error
        if self._lease is None and self._claim.state is HELD:
            self._lease = Lease(self._client, self._claim)
        return self._lease

    def cancel(self) -> None:
        """Gives it back, granted or not."""
        self._client._check()
        self._client._give_back(self._claim, within=0.0)


class Client(Owner):
    """A connection to berthd, for all threads of this process. `patience`: seconds until a berthd that does not
    answer is Down."""

    def __init__(self, path: Optional[str] = None, *, patience: float = 5.0, keep: bool = True) -> None:
        self._pid = os.getpid()
        self._parent = parent_lease()
        self._link = Link(path, patience)
        self._keep = keep
        self._lock = threading.Lock()  # of the link, and of all that follows
        self._leader = 0  # the thread that reads
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
        """Waits at most `wait` seconds (None: for ever; 0: only tries) for "NAME" or "NAME:COUNT", all of them or none.
        COUNT may be "all" (one unit, and nobody else has any) or "shared" (of a lock).
        Options: priority, reason, program, holder, replace, share, kill_after, on_lost, nested. With `strict` the lease is
        bound to this process as a job's, which is stopped, by SIGKILL in the end, when the lease is lost."""
        self._check()
        return self._wait(Claim(Request.of(wanted, strict, tuple(options.items()), self._parent), wait))

    def take_over(self, ticket: str) -> Lease:
        """The lease that another process has handed over, bound to this one from now on."""
        self._check()
        lease, *words = ticket.split()
        units = tuple(one for one in map(units_of, words) if one)
        if not lease.isalnum() or len(words) != 2 * len(units):
            raise ValueError(f"not from hand_over(): {ticket!r}")
        claim = Claim(Request.of(tuple(words[:len(units)]), False, (), self._parent), None)
        claim.lease, claim.units, claim.is_moving = lease, units, True
        return self._wait(claim)

    def _wait(self, claim: Claim) -> Lease:
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
            claims = list(self._link.claims.values())
            for claim in claims:
                self._give_back(claim, within=0.0)
            until = clock() + RETURN_WITHIN
            for claim in claims:
                self._until(claim, functools.partial(self._is_back, claim), until)
            self._pause()
            with self._lock:
                self._link.close()
        for fd in (self._bell, self._button):
            if fd >= 0:
                os.close(fd)
        self._bell = self._button = -1
        self._pid = 0  # of no process
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

    def begin(self, *wanted: str, wait: Optional[float] = None, strict: bool = False, **options: object) -> Pending:
        """Asks as acquire() does, and does not wait."""
        self._check()
        claim = Claim(Request.of(wanted, strict, tuple(options.items()), self._parent), wait)
        with self._lock:
            self._link.add(claim)
            self._ring_if_needed()
        return Pending(self, claim)

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
        is_over = False
        while not is_over:
            gate = None
            try:
                with self._lock:
                    if is_so() or (until < NEVER and clock() >= until):
                        self._hand_over()  # perhaps it was for us to lead
                        return
                    if self._leader == 0:
                        self._leader = get_ident()
                    else:
                        gate = threading.Lock()
                        gate.acquire()
                        self._followers[gate] = None
                        claim.gates += (functools.partial(self._open, gate),)
                if gate is None:
                    is_over = self._lead(is_so, until)
                else:
                    self._follow(gate, until)
            finally:
                if self._leader == get_ident():  # interrupted
                    with self._lock:
                        self._step_down()
            if self._link.calls:
                self._tell()

    def _open(self, gate: threading.Lock) -> None:
        if gate in self._followers:
            del self._followers[gate]
            gate.release()

    def _follow(self, gate: threading.Lock, until: float) -> None:
        is_open = False
        try:
            left = -1.0 if until == NEVER else min(max(until - clock(), 0.0), threading.TIMEOUT_MAX)
            is_open = gate.acquire(timeout=left)
        finally:
            if not is_open:
                with self._lock:
                    if gate in self._followers:
                        del self._followers[gate]
                    else:
                        self._hand_over()  # it was opened for nothing: perhaps for us to lead

    def _lead(self, is_so: Callable[[], bool], until: float = NEVER) -> bool:
        """Reads for all, until it is so, or somebody has to be told, who may call us. False: it is not so yet."""
        with self._lock:
            timeout = self._prepare(until)
        while True:
            ready = self._poll.poll(timeout)
            with self._lock:
                self._turns += 1
                self._take(ready)
                is_over = is_so() or (until < NEVER and clock() >= until)
                if is_over or self._link.calls:
                    self._step_down()
                    return is_over
                timeout = self._prepare(until)

    def _step_down(self) -> None:
        self._leader = 0
        self._hand_over()

    def _prepare(self, until: float) -> Optional[float]:
        """Milliseconds."""
        link = self._link
        at = min(link.next_at(), until)
        wanted = (link.fd, link.events())
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
        if self._leader != 0:
            return
        for gate in self._followers:
            self._open(gate)
            return
        if self._is_heard:
            self._hurry.set()

    def _ring_if_needed(self) -> None:
        """Under the lock, after a change: the leader waits for something else now."""
        if self._leader != 0:
            link = self._link
            if (link.fd, link.events()) != self._registered or link.next_at() < self._polled_until:
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
            try:
                call()
            except Exception:  # not our caller's
                log.exception("a callback of on_lost has failed")

    def _look(self) -> None:
        """What has come so far, unless somebody else reads."""
        with self._lock:
            if self._leader == 0:
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
                self._until(claim, functools.partial(self._is_back, claim), clock() + within)
            if claim.state is not ENDED and self._keep:
                self._start_keeper()

    def _is_back(self, claim: Claim) -> bool:
        """As far as can be known now."""
        return claim.state is ENDED or not self._link.is_connected

    def _bind(self, claim: Claim, pid: int) -> None:
        answers: list[list[str]] = []
        with self._lock:
            is_asked = self._link.bind(claim, pid, answers.append)
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
                if self._leader != 0 or idle or not (in_a_hurry or self._turns == turns):
                    turns = self._turns
                    continue
                self._leader = get_ident()
            self._lead(lambda: self._keeper is not me or not self._link.claims)
            if self._link.calls:
                self._tell()
                self._hurry.set()  # nobody reads now

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

"""The protocol without any I/O: lines come in, lines go out, time is asked for. One Core has any number
of requests and leases, over one connection at a time.

Whoever drives it (_link.py adds the socket, client.py and aio.py wait) calls receive(), tick() by
next_at(), and sends `out`. What users want to hear is in `calls`, to be called outside of any lock."""

from __future__ import annotations

import functools
import heapq
import itertools
import logging
import os
import time
from collections import deque
from typing import Callable, NamedTuple, Optional

from ._wire import MAX_LINE, Request, Units, decode, keys_of, units_of
from .errors import BerthError, Down, Timeout, error_of

log = logging.getLogger("berth")
NEVER = float("inf")
HEAR_FIRST = 0.1  # berthd, which knows more, speaks first when a time is over
PEER = " bind=peer"  # what a lease that is not strict is bound by
AGAIN = 0.5  # until something that may pass is tried again

# What becomes of a request. A lease that is to be stopped is HELD until it is given back.
ASKED, WAITING, HELD, RETURNING, ENDED = "asked", "waiting", "held", "returning", "ended"


def _own_offset() -> float:
    """In a time namespace our CLOCK_BOOTTIME is another one than berthd's."""
    try:
        with open("/proc/self/timens_offsets", encoding="ascii") as file:
            for line in file:
                name, seconds, nanoseconds = line.split()
                if name in ("boottime", "7"):
                    return int(seconds) + int(nanoseconds) / 1e9
    except (OSError, ValueError):
        pass
    return 0.0


# Seconds; goes on while the machine is suspended, as berthd's does.
clock: Callable[[], float] = functools.partial(time.clock_gettime, time.CLOCK_BOOTTIME)


class Hangup(Exception):
    """The connection is of no use any more; the text says why."""


class Loss(NamedTuple):
    """A lease is lost: stop by `stop_by`; from `gone_by` on others may have the units (None: perhaps now).
    Both are seconds of CLOCK_BOOTTIME."""

    code: str
    text: str
    stop_by: float
    gone_by: Optional[float]


class Claim:
    """One request, and the lease that it becomes."""

    state = ASKED
    once = ""  # given when it is asked for
    lease = ""  # its id, once berthd has told
    proof = ""
    bound = ""  # the key that says what it is to be bound to
    bound_to = ""  # what it is bound to: program, process or connection
    units: tuple[Units, ...] = ()
    error: Optional[BerthError] = None
    loss: Optional[Loss] = None
    stop_by = gone_by = NEVER
    position: Optional[int] = None
    is_queued = is_pending = is_sent = is_reclaiming = False
    is_moving = False  # another process has had it so far
    again_at = NEVER
    planned = NEVER  # an entry of Core._timers is for then
    gates: tuple[Callable[[], None], ...] = ()  # opened at the next change
    callbacks: tuple[Callable[[Loss], object], ...] = ()  # of on_lost

    def __init__(self, request: Request, wait: Optional[float]) -> None:
        self.request = request
        self.asked_at = clock()  # the only time that counts for `wait`
        self.wait = NEVER if wait is None else max(wait, 0.0)
        self.wait_until = self.asked_at + self.wait

    def is_decided(self) -> bool:
        return self.state is not ASKED and self.state is not WAITING

    def is_ended(self) -> bool:
        return self.state is ENDED

    def changed(self) -> None:
        gates, self.gates = self.gates, ()
        for opened in gates:
            opened()


class Core:
    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.claims: dict[str, Claim] = {}  # by `once`; a claim leaves when it has ended, not before
        self.out = bytearray()
        self.calls: list[Callable[[], object]] = []
        self.is_connected = False
        self.why = "not connected yet"
        self._in = b""
        self._by_lease: dict[str, Claim] = {}
        self._answers: deque[tuple[Callable[[Claim, list[str]], None], Claim]] = deque()
        self._timers: list[tuple[float, int, Claim]] = []
        self._serial = itertools.count()
        self._mark = os.urandom(8).hex() + "."

    # ---- what users want

    def _new_once(self) -> str:
        return f"{self._mark}{next(self._serial):x}"

    def add(self, claim: Claim) -> None:
        claim.once = self._new_once()
        self.claims[claim.once] = claim
        if self.is_connected:
            self._acquire(claim)
        self._plan(claim)

    def give_back(self, claim: Claim) -> None:
        """Idempotent. It is over once berthd has answered: until then it is repeated over connections."""
        if claim.state is RETURNING or claim.state is ENDED:
            return
        if claim.once not in self.claims or not (claim.is_sent or claim.lease):
            self._end(claim)
            return
        claim.state = RETURNING
        claim.again_at = NEVER
        if self.is_connected:
            self._return(claim)
        claim.changed()

    def hand_over(self, claim: Claim) -> None:
        """Another process will have it: here it is over."""
        self._end(claim)

    def bind(self, claim: Claim, pid: int, answered: Callable[[list[str]], None]) -> bool:
        """False: there is no connection to ask over."""
        def bound(claim: Claim, words: list[str]) -> None:
            if words[0] == "ok":
                claim.proof = keys_of(words).get("proof", claim.proof)
                claim.bound = f" pid={pid}"
                claim.bound_to = keys_of(words).get("bound", "process")
            answered(words)
            claim.changed()

        if self.is_connected:
            self._send(f"bind {claim.lease} pid={pid}", bound, claim)
        return self.is_connected

    # ---- what the driver does

    def connected(self) -> None:
        self.is_connected = True
        for claim in list(self.claims.values()):
            self._resume(claim)

    def disconnected(self, why: str) -> None:
        """Away is not lost: what is held stays held, and what waits keeps its place."""
        self.is_connected = False
        self.why = why
        self.out.clear()
        self._in = b""
        self._answers.clear()
        for claim in list(self.claims.values()):
            claim.again_at = NEVER  # a new connection is another try
            if claim.state is RETURNING:
                claim.changed()

    def receive(self, data: bytes) -> None:
        *lines, self._in = (self._in + data).split(b"\n")
        if len(self._in) > MAX_LINE:
            raise Hangup("the server there does not speak Berth's protocol")
        for line in lines:
            words = line.decode("latin-1").split(" ")
            if words[0] == "*":
                if len(words) >= 3:
                    self._take_event(words[1], words[2:])
            elif self._answers:
                answered, claim = self._answers.popleft()
                answered(claim, words)
            elif words[0] == "error" and len(words) >= 3:
                raise Hangup(decode(words[2]))
            else:
                raise Hangup("an answer without a request")

    def next_at(self) -> float:
        """When tick() is due."""
        return self._timers[0][0] if self._timers else NEVER

    def tick(self, now: float) -> None:
        while self._timers and self._timers[0][0] <= now:
            at, _, claim = heapq.heappop(self._timers)
            if claim.planned == at:
                claim.planned = NEVER
                self._due(claim, now)
                self._plan(claim)

    # ---- time

    def _limit(self, claim: Claim) -> float:
        """Until when it goes on without a grant. Who was queued waits for berthd, however long it is away."""
        if claim.is_queued:
            return claim.wait_until + HEAR_FIRST
        shortest = self.patience if claim.wait == 0 else min(1.0, self.patience)
        return min(claim.asked_at + self.patience, max(claim.wait_until, claim.asked_at + shortest))

    def _plan(self, claim: Claim) -> None:
        at = claim.again_at
        if claim.state is ASKED or claim.state is WAITING:
            at = min(at, self._limit(claim))
        elif claim.state is HELD and claim.loss is None:
            at = min(at, claim.stop_by + HEAR_FIRST / 5)
        if at < claim.planned and claim.state is not ENDED:
            claim.planned = NEVER
            if len(self._timers) > 64 + 2 * len(self.claims):  # most are of claims that have ended
                self._timers = [(one.planned, next(self._serial), one)
                                for one in self.claims.values() if one.planned < NEVER]
                heapq.heapify(self._timers)
            heapq.heappush(self._timers, (at, next(self._serial), claim))
            claim.planned = at

    def _due(self, claim: Claim, now: float) -> None:
        if claim.again_at <= now:
            claim.again_at = NEVER
            if self.is_connected:
                self._resume(claim)
        if not claim.is_decided() and now >= self._limit(claim):
            if claim.is_queued:
                self._fail(claim, Timeout("timed out waiting for" + claim.request.words, "timeout"))
            elif claim.is_pending:
                self._fail(claim, Down("no answer from the database of" + claim.request.words, "down"))
            else:
                self._fail(claim, Down("berthd does not answer" if self.is_connected else self.why, "down"))
        elif claim.state is HELD and claim.loss is None and claim.stop_by <= now:
            self._lose(claim, "deadline", "berthd has not renewed it in time", claim.gone_by)

    # ---- requests

    def _send(self, line: str, answered: Callable[[Claim, list[str]], None], claim: Claim) -> None:
        self.out += line.encode("latin-1") + b"\n"
        self._answers.append((answered, claim))

    def _keys(self, claim: Claim) -> str:
        request = claim.request
        return f"{request.keys} once={claim.once}{claim.bound}"

    def _acquire(self, claim: Claim, wait: Optional[float] = None) -> None:
        claim.is_sent = True
        if claim.is_moving:
            self._send(f"bind {claim.lease}{PEER}", self._moved, claim)
            return
        claim.bound = f" pid={os.getpid()}" if claim.request.strict else PEER
        left = max(claim.wait_until - clock(), 0.0) if wait is None else wait
        span = "" if left == NEVER else f" wait={-int(-left * 1000 // 1)}ms"
        request = claim.request
        self._send(f"acquire{request.words}{span}{request.texts}{self._keys(claim)}", self._answered, claim)

    def _reclaim(self, claim: Claim) -> None:
        claim.is_reclaiming = True
        request, left = claim.request, max(claim.wait_until - clock(), 0.0)
        span = "" if claim.units or left == NEVER else f" wait={int(left * 1000) + 1}ms"
        proof = f" proof={claim.proof}" if claim.proof else ""
        # Only a berthd that has lost its journal needs more than the id: what does not fit may be left out.
        for units, texts in ((claim.units, request.texts), (claim.units, ""), ((), "")):
            proven = "" if claim.units and not units else proof
            line = f"reclaim {claim.lease}{request.words_with(units)}{span}{texts}{self._keys(claim)}{proven}"
            if len(line) < MAX_LINE:
                break
        self._send(line, self._answered, claim)

    def _resume(self, claim: Claim) -> None:
        """A new connection, or another try."""
        if claim.state is RETURNING:
            self._return(claim)
        elif claim.lease and not claim.is_moving:
            self._reclaim(claim)
        else:
            self._acquire(claim)

    def _return(self, claim: Claim) -> None:
        if claim.lease:
            self._send(f"release {claim.lease}", self._returned, claim)
            return
        if not any(asked is claim for _, asked in self._answers):  # the connection that asked is gone
            self._acquire(claim, wait=0.0)
        self._send(f"cancel once={claim.once}", self._returned, claim)

    # ---- answers

    def _moved(self, claim: Claim, words: list[str]) -> None:
        if claim.state is not ASKED:
            return
        if words[0] == "ok":
            claim.is_moving, claim.bound = False, PEER
            claim.bound_to = keys_of(words).get("bound", "connection")
            claim.proof = keys_of(words).get("proof", "")
            claim.state = HELD
            self._by_lease[claim.lease] = claim
            claim.changed()
        else:
            claim.error = error_of(words[1], decode(words[2]))
            self._end(claim)

    def _returned(self, claim: Claim, words: list[str]) -> None:
        if words[0] == "error" and isinstance(error_of(words[1], ""), Down):
            claim.again_at = clock() + AGAIN
            self._plan(claim)
        else:
            self._end(claim)

    def _answered(self, claim: Claim, words: list[str]) -> None:
        """The answer to an acquire or a reclaim."""
        if claim.state is RETURNING or claim.state is ENDED:
            return
        kind = words[0]
        if kind == "ok":
            self._granted(claim, words[1:])
        elif kind in ("waiting", "pending") and len(words) >= 2:
            self._waits(claim, kind, words[1:])
        elif kind == "error" and len(words) >= 3:
            self._denied(claim, words[1], decode(words[2]))
        else:
            raise Hangup("the server there does not speak Berth's protocol")
        self._plan(claim)

    def _waits(self, claim: Claim, kind: str, words: list[str]) -> None:
        claim.is_reclaiming = claim.is_reclaiming and kind == "pending"
        if claim.state is HELD:
            if kind == "waiting":
                self._lose(claim, "lost", "berthd has no record of it")
                self.give_back(claim)
            return
        keys = keys_of(words)
        claim.state = WAITING
        claim.lease = words[0]
        claim.proof = keys.get("proof", claim.proof)
        claim.is_pending = kind == "pending"
        claim.is_queued = claim.is_queued or kind == "waiting"
        if "position" in keys:
            claim.position = int(keys["position"])
        self._by_lease[claim.lease] = claim

    def _granted(self, claim: Claim, words: list[str]) -> None:
        granted = tuple(units for units in map(units_of, words) if units)
        if len(granted) != len(claim.request.wanted):
            raise Hangup("the server there does not speak Berth's protocol")
        claim.is_reclaiming = False
        claim.bound_to = "process" if claim.bound.startswith(" pid=") else "connection"
        for word in words:
            if word.startswith("proof="):
                claim.proof = word[6:]
            elif word.startswith("bound="):
                claim.bound_to = word[6:]
        if claim.state is HELD:
            if [(units.name, units.text) for units in granted] != [(units.name, units.text) for units in claim.units]:
                self._lose(claim, "lost", "berthd returned different units")
                self.give_back(claim)
            return  # the same lease: its object does not change
        claim.lease, claim.units, claim.state = words[0], granted, HELD
        self._by_lease[claim.lease] = claim
        claim.changed()

    def _denied(self, claim: Claim, code: str, text: str) -> None:
        was_reclaiming, claim.is_reclaiming = claim.is_reclaiming, False
        if code in ("busy", "no-memory"):
            raise Hangup(text)
        error = error_of(code, text)
        if claim.state is HELD:
            if code in ("lost", "forbidden", "unknown"):
                self._lose(claim, code, text, is_over=True)
            else:
                self._again(claim)
        elif was_reclaiming and code == "lost":
            self._forget(claim)  # the wish stays; but from now on it is another request
            self._acquire(claim)
        elif was_reclaiming and code in ("held", "grace", "no-space", "down"):
            self._again(claim)
        elif claim.is_queued and isinstance(error, Down):
            self._forget(claim)
            self._again(claim)
        else:
            claim.error = error
            self._end(claim)

    def _again(self, claim: Claim) -> None:
        claim.again_at = clock() + AGAIN
        self._plan(claim)

    def _forget(self, claim: Claim) -> None:
        self.claims.pop(claim.once, None)
        self._by_lease.pop(claim.lease, None)
        claim.once, claim.lease, claim.proof, claim.state = self._new_once(), "", "", ASKED
        claim.is_pending = claim.is_sent = False
        self.claims[claim.once] = claim

    # ---- events

    def _take_event(self, kind: str, words: list[str]) -> None:
        claim = self._by_lease.get(words[0])
        if claim is None or claim.state is RETURNING or len(words) < 2:
            return
        if kind == "granted":
            self._granted(claim, words)
        elif kind == "denied":
            if claim.state is WAITING or claim.is_reclaiming:
                self._denied(claim, words[1], decode(words[2]))
        elif kind == "waiting":
            if claim.state is WAITING or claim.is_reclaiming:
                self._waits(claim, kind, words)
        elif kind == "deadline":
            self._take_deadline(claim, words)
        elif kind in ("revoked", "expired", "lost"):
            gone = keys_of(words).get("gone", "")
            gone_by = int(gone) / 1e9 + _own_offset() if gone.isdigit() else None
            if gone_by is None and claim.stop_by <= clock():
                gone_by = claim.gone_by  # the deadline before it was about this
            code = words[1]
            self._lose(claim, code, decode(words[2]), gone_by, is_over=kind == "lost" or code == "expired")
        self._plan(claim)

    def _take_deadline(self, claim: Claim, words: list[str]) -> None:
        if not words[1].isdigit():
            return
        stop = keys_of(words).get("stop", "")
        gone_by = int(words[1]) / 1e9 + _own_offset()
        if claim.stop_by < clock():
            log.warning("lease %s was renewed late", claim.lease)
        claim.gone_by = gone_by
        claim.stop_by = min(int(stop) / 1e9 + _own_offset(), gone_by) if stop.isdigit() else gone_by

    def _lose(self, claim: Claim, code: str, text: str, gone_by: Optional[float] = None, is_over: bool = False) -> None:
        if claim.state is not HELD:
            claim.error = error_of(code, text)
        elif claim.loss is None:
            stop_by = claim.stop_by if code == "deadline" and claim.stop_by < NEVER else clock()
            claim.loss = loss = Loss(code, text, stop_by, gone_by)
            log.warning("lost the lease %s of%s: %s (%s)", claim.lease, claim.request.words, text, code)
            self.calls += [functools.partial(told, loss) for told in claim.callbacks]
        if is_over:
            self._end(claim)
        claim.changed()

    def _fail(self, claim: Claim, error: BerthError) -> None:
        claim.error = error
        self.give_back(claim)

    def _end(self, claim: Claim) -> None:
        claim.state = ENDED
        self.claims.pop(claim.once, None)
        self._by_lease.pop(claim.lease, None)
        claim.changed()

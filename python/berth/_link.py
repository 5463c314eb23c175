"""A Core over a socket of berthd, for any loop: fileno(), events(), timeout(), dispatch(). Nothing here blocks."""

from __future__ import annotations

import errno
import os
import pwd
import random
import select
import socket
import struct
import weakref
from typing import Callable, Optional

from ._core import NEVER, Claim, Core, Hangup, clock

DEFAULT = "/run/berth/berth.sock"
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0

_links: weakref.WeakSet[Link] = weakref.WeakSet()


def endpoint(path: Optional[str] = None) -> str:
    """"user" is the daemon that the user has started."""
    path = path or os.environ.get("BERTH_SOCKET") or DEFAULT
    if path != "user":
        return path
    directory = os.environ.get("XDG_RUNTIME_DIR", "")
    return f"{directory if directory.startswith('/') else f'/run/user/{os.getuid()}'}/berth/berth.sock"


def _is_trusted(uid: int) -> bool:
    """berthd runs as root, as us, or as its own user."""
    if uid in (0, os.geteuid()):
        return True
    try:
        return uid == pwd.getpwnam("berth").pw_uid
    except KeyError:
        return False


class Link(Core):
    def __init__(self, path: Optional[str], patience: float) -> None:
        super().__init__(patience)
        self.path = endpoint(path)
        self.closing: Callable[[int], None] = lambda fd: None  # called before the descriptor is closed
        self.fd = -1
        self._socket: Optional[socket.socket] = None
        self._retry_at = 0.0
        self._pause = FIRST_PAUSE
        _links.add(self)

    # ---- for the loop

    def fileno(self) -> int:
        return self.fd

    def events(self) -> int:
        return select.POLLIN | (select.POLLOUT if self.out else 0)

    def next_at(self) -> float:
        at = self._timers[0][0] if self._timers else NEVER
        return min(at, self._retry_at) if self._socket is None and self.claims else at

    def timeout(self) -> Optional[float]:
        """Seconds; None: only the descriptor can bring news."""
        at = self.next_at()
        return None if at == NEVER else max(at - clock(), 0.0)

    def dispatch(self) -> None:
        """Reads, writes, and does what is due."""
        if self._socket is not None:
            try:
                self._read(self._socket)
            except Hangup as hangup:
                self._hang_up(str(hangup))
        if self._timers:
            self.tick(clock())
        self.flush()

    def flush(self) -> None:
        """Sends what is to be sent; connects if that is needed."""
        if self._socket is None and self.claims and clock() >= self._retry_at:
            self._connect()
        if self._socket is not None and self.out:
            try:
                n = self._socket.send(self.out, socket.MSG_NOSIGNAL)
                del self.out[:n]
            except BlockingIOError:
                pass
            except OSError:
                self.out.clear()  # reading will tell, and perhaps why

    def close(self) -> None:
        if self._socket is not None:
            self._hang_up("closed")

    def abandon(self) -> None:
        """In a forked child: the parent's conversation goes on without it."""
        if self._socket is not None:
            os.close(self._socket.detach())
            self._socket, self.fd = None, -1

    # ---- the socket

    def add(self, claim: Claim) -> None:
        super().add(claim)
        self.flush()

    def _read(self, sock: socket.socket) -> None:
        try:
            data = sock.recv(65536)
        except BlockingIOError:
            return
        except OSError as error:
            raise Hangup(f"lost the connection to berthd: {error.strerror}") from None
        if not data:
            raise Hangup("berthd closed the connection")
        self.receive(data)
        self._pause = FIRST_PAUSE

    def _hang_up(self, why: str) -> None:
        if self._socket is not None:
            self.closing(self.fd)
            self._socket.close()
            self._socket, self.fd = None, -1
        self._retry_at = clock() + self._pause * random.uniform(0.5, 1.0)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        self.disconnected(why)

    def _connect(self) -> None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            number = sock.connect_ex(self.path)
        except OSError as error:  # such as a path that is too long
            number = error.errno or errno.EINVAL
        if number == 0:
            _, uid, _ = struct.unpack("iII", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if _is_trusted(uid):
                self._socket, self.fd = sock, sock.fileno()
                self.connected()
                return
            why = f"the server at {self.path} runs neither as root, nor as berth, nor as you"
        else:
            why = f"cannot connect to {self.path}: {os.strerror(number)}"
        sock.close()
        if number == errno.EAGAIN:
            self._pause = FIRST_PAUSE  # a crowd: whoever pauses long never gets in
        self._hang_up(why)


def _abandon_all() -> None:
    for link in list(_links):
        link.abandon()


os.register_at_fork(after_in_child=_abandon_all)

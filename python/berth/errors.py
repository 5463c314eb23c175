"""What can go wrong, by name. `code` is the protocol's word for it (doc/protocol.md, 5)."""

from __future__ import annotations


class BerthError(Exception):
    """Of all that follow."""

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code


class NotFree(BerthError):
    """It would have to wait, or may not: would-wait, paused, closed, draining, quota, ..."""


class Timeout(BerthError, TimeoutError):
    """`wait` is over. (A berthd that has never answered is Down.)"""


class Down(BerthError, ConnectionError):
    """berthd, or its database, is not there, or has no room."""


class Forbidden(BerthError, PermissionError):
    """Not permitted."""


class Refused(BerthError, ValueError):
    """It can never be granted: unknown, impossible, mixed, differs; or the request is malformed."""


class Lost(BerthError):
    """The lease has ended, or ends: stop using it."""


class Forked(BerthError, RuntimeError):
    """A client, or a lease, of the parent is used in a child."""


_NOT_FREE = """would-wait paused closed draining held ancestor circle queue-full quota in-use older grace not-new
    cancelled replaced"""
_CLASSES: dict[str, type[BerthError]] = {
    **dict.fromkeys(_NOT_FREE.split(), NotFree),
    "timeout": Timeout,
    **dict.fromkeys("busy no-memory no-space down".split(), Down),
    **dict.fromkeys("lost released dropped revoked max-hold expired deadline".split(), Lost),
    **dict.fromkeys("forbidden not-holder jobs-only".split(), Forbidden),
}


def error_of(code: str, text: str) -> BerthError:
    return _CLASSES.get(code, Refused)(f"{text or code} ({code})", code)

"""What `history` answers, for the tests of it."""

import urllib.parse

from daemon_help import keys


class Entry(dict):
    """One `ended` line: its keys, and .lease."""

    def __init__(self, line):
        assert len(line) < 4096 and "  " not in line
        kind, self.lease, *words = line.split(" ")
        assert kind == "ended"
        super().__init__((key, urllib.parse.unquote(text)) for key, text in keys(words).items())
        assert len(self) == len(words), line

    def has(self, **expected):
        """Asserts these values; None: the key is missing."""
        for key, value in expected.items():
            assert self.get(key) == value, (key, self)
        return self


def history(client, request="history"):
    """All leases and waits that are over, oldest first."""
    return [Entry(line) for line in lines_of(client, request) if not line.startswith("did ")]


def lines_of(client, request="history"):
    head, *lines, end = client.lines(request)
    assert head.startswith("ok now=") and end == "end", (head, lines)
    return lines


class Did(dict):
    """One `did` line: its keys, and .verb."""

    def __init__(self, line):
        assert len(line) < 4096 and "  " not in line
        kind, self.verb, *words = line.split(" ")
        assert kind == "did"
        super().__init__((key, urllib.parse.unquote(text)) for key, text in keys(words).items())
        assert len(self) == len(words), line

    def said(self):
        """The line without who and when."""
        return (self.verb, {key: text for key, text in self.items() if key not in ("at", "uid", "login")})


def done(client, request="history"):
    """What operators did, oldest first."""
    return [Did(line) for line in lines_of(client, request) if line.startswith("did ")]


def last(client, request="history"):
    return history(client, request)[-1]


def is_over(watcher, lease):
    """Waits until that lease, or that wait, is over."""
    assert watcher.request(f"wait lease={lease}") in ("ok held=0", "ok held=1")
    assert watcher.line() == "* idle"

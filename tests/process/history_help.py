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
    """All entries, oldest first."""
    head, *lines, end = client.lines(request)
    assert head.startswith("ok now=") and end == "end", (head, lines)
    return [Entry(line) for line in lines]


def last(client, request="history"):
    return history(client, request)[-1]


def is_over(watcher, lease):
    """Waits until that lease, or that wait, is over."""
    assert watcher.request(f"wait lease={lease}") in ("ok held=0", "ok held=1")
    assert watcher.line() == "* idle"

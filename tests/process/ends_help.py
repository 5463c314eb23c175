"""What `history database=D` answers, for the tests of it."""

from daemon_help import keys
from fleet_ops_help import client_of
from history_help import Did, Entry
from lines import until


class Answer:
    """.head, a dict; .entries, the `ended` lines; .done, what operators did; .gaps, dicts."""

    def __init__(self, lines):
        head, *rest, end = lines
        assert head.startswith("ok now=") and end == "end", lines
        self.head = dict(keys(head.split(" ")[1:]))
        self.entries = [Entry(line) for line in rest if line.startswith("ended ")]
        self.done = [Did(line) for line in rest if line.startswith("did ")]
        self.gaps = [dict(keys(line.split(" ")[1:])) for line in rest if line.startswith("gap ")]
        assert len(rest) == len(self.entries) + len(self.done) + len(self.gaps), rest


def ends(host, words="", uid=None):
    return Answer(client_of(host, uid).lines(f"history database=default {words}".rstrip()))


def end_of(host, lease, words=""):
    """The only one of that lease, once it is there."""
    entry, = until(lambda: [one for one in ends(host, words).entries if one.lease.endswith(lease)])
    return entry

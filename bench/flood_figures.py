"""What a user feels of another user's flood: the median of acquire + release during the flood,
beside that with a flooder that only spins."""

import statistics

from figures import Result, listed, microseconds


def compare(rounds):
    """The ratio is taken round by round, from the medians."""
    ours, theirs = zip(*((statistics.median(a), statistics.median(b)) for a, b in rounds))
    return Result(
        microseconds(statistics.median(ours)),
        microseconds(statistics.median(theirs)),
        statistics.median(a / b for a, b in zip(ours, theirs)),
    )


def measure(bench, kind):
    rounds = bench.measured[kind] = bench.rounds(kind)
    return compare(rounds)


def ping(bench):
    """2000 connections, 850 of which wait for a lock, send `ping` without end, many at once, and
    read the answers."""
    return measure(bench, "ping")


def status(bench):
    """The same with `status`, which shows all waiters."""
    return measure(bench, "status")


def deaf(bench):
    """The same, reading no answer."""
    return measure(bench, "deaf")


def cancel(bench):
    """The same with requests that join the queue, up to max-waiters-per-user, and leave it again."""
    return measure(bench, "cancel")


def nonsense(bench):
    """The same with lines that mean nothing."""
    return measure(bench, "nonsense")


def drip(bench):
    """The same with a line that never ends, a byte at a time."""
    return measure(bench, "drip")


def connect(bench):
    """Connects and closes without end."""
    return measure(bench, "connect")


def last_words(bench):
    """The same; each connection asks for the lock before it closes."""
    return measure(bench, "last-words")


FIGURES = tuple(
    (function, title + " / spinning", 2.0, "%.2f x")
    for function, title in (
        (ping, "2000 connections send ping"),
        (status, "status"),
        (deaf, "status, unread"),
        (cancel, "acquire and cancel"),
        (nonsense, "nonsense"),
        (drip, "a byte at a time"),
        (connect, "connect and close"),
        (last_words, "connect, acquire, close"),
    )
)


# ---- for information ----


def percentile(samples, percent):
    return sorted(samples)[len(samples) * percent // 100]


def slow(bench):
    """The slowest pair of a hundred, and the slowest of all, with each measured flood and with
    spinning."""
    lines = []
    for kind, rounds in bench.measured.items():
        ours = [sample for flooded, _ in rounds for sample in flooded]
        theirs = [sample for _, spinning in rounds for sample in spinning]
        lines.append(
            "%s: 1 of 100 %s (spinning: %s), worst %s (%s)"
            % (
                kind,
                microseconds(percentile(ours, 99)),
                microseconds(percentile(theirs, 99)),
                microseconds(max(ours)),
                microseconds(max(theirs)),
            )
        )
    return listed(lines)


def fresh(kind):
    def of_kind(bench):
        ours, theirs = zip(*bench.rounds(kind, "fresh", n=2, bursts=20))
        ours, theirs = sum(ours, []), sum(theirs, [])
        return "%s (spinning: %s)" % (
            microseconds(statistics.median(ours)),
            microseconds(statistics.median(theirs)),
        )

    of_kind.__name__ = "fresh_" + kind
    of_kind.__doc__ = "Median of a pair over a fresh connection, with the flood `%s`." % kind
    return of_kind


INFORMATION = (
    (slow, "the slowest"),
    (fresh("ping"), "over a fresh connection each, ping"),
    (fresh("status"), "over a fresh connection each, status"),
    (fresh("connect"), "over a fresh connection each, connect"),
)

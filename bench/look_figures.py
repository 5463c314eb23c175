"""What others feel while somebody looks: how long berthd works on something else before it answers
their request."""

import os
import re

from figures import Result, listed, milliseconds

# Each is sent again as soon as its answer has come: a row of the table for each.
REQUESTS = (
    ("metrics", "the figures of all definitions, in answers of some each"),
    ("status", "all resources, leases and waiters"),
    ("status crowd", "one resource with half of all leases and waiters"),
    ("status 'market/*'", "a pattern that 5000 instances match"),
    ("why pid=PID", "a process among all leases"),
    ("history", "10 000 leases that are over"),
    ("history user=4711", "the same, of which none is shown"),
)
BOUND = 5.0  # ms
DOCUMENT = """`%s`: %s. The longest that berthd works between a
    ping and its answer, in the best of five rounds, beside the same when nobody looks."""


def longest(rounds):
    """What an answer causes comes in every round; what the machine does, in some."""
    return min(max(work for work, _ in samples) for samples in rounds)


def figure(request, what):
    def of_request(bench):
        line = request.replace("'", "").replace("PID", str(os.getpid()))
        rounds = bench.measured[request] = bench.delays(line)
        worst, usual = longest(rounds), longest(bench.delays(None))
        return Result(milliseconds(worst), milliseconds(usual), worst / 1e6)

    of_request.__name__ = re.sub(r"\W+", "_", request).strip("_")
    of_request.__doc__ = DOCUMENT % (request, what)
    return of_request


FIGURES = tuple(
    (figure(request, what), "a ping during " + request + " / alone", BOUND, "%.2f ms")
    for request, what in REQUESTS
)


# ---- for information ----


def by_the_clock(what, rounds):
    times = sorted(time for samples in rounds for _, time in samples)
    middle, worst = milliseconds(times[len(times) // 2]), milliseconds(times[-1])
    return "%s: %s, %s; %d samples" % (what, middle, worst, len(times))


def elapsed(bench):
    """By the clock, other programs on the machine included: half of the pings, and the slowest of all."""
    return listed(by_the_clock(request, rounds) for request, rounds in bench.measured.items())


INFORMATION = ((elapsed, "by the clock: median, worst"),)

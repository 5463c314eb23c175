"""What others feel while many follow: how long berthd works on something else before it answers
their request."""

from figures import Result, listed, milliseconds
from look_figures import by_the_clock, longest

BOUND = 5.0  # ms


def result(bench, request):
    followed, alone = bench.delays(request)
    bench.measured[request] = followed, alone
    worst, usual = longest(followed), longest(alone)
    return Result(milliseconds(worst), milliseconds(usual), worst / 1e6)


def ping(bench):
    """The longest that berthd works between a ping and its answer while 20 follow, in the best of five
    rounds, beside the same while nobody does. Rounds take turns. In each, the followers are new, so
    that berthd makes 20 snapshots, and a client acquires and releases all the time."""
    return result(bench, "ping")


def pair(bench):
    """The same for an acquire and its release."""
    return result(bench, "pair")


FIGURES = (
    (ping, "a ping while 20 follow / alone", BOUND, "%.2f ms"),
    (pair, "acquire, release while 20 follow / alone", BOUND, "%.2f ms"),
)


# ---- for information ----


def elapsed(bench):
    """By the clock, other programs on the machine included: half of the requests, and the slowest of all;
    while 20 follow, and alone."""
    return listed(
        by_the_clock("%s, %s" % (request, what), rounds)
        for request, measured in bench.measured.items() for what, rounds in zip(("followed", "alone"), measured))


def told(bench):
    """What the followers that read at once have had in all rounds."""
    return "%.1f MB to %d followers" % (bench.told / 1e6, bench.n_readers)


INFORMATION = ((elapsed, "by the clock: median, worst"), (told, "what they were told"))

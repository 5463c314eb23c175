"""How fast berth-history answers when it has 1 000 000 leases, how much berthd works meanwhile, and what is recorded
when much ends."""

import re

from figures import Result, listed, milliseconds
from history_processes import KEPT, RATE, SECONDS

ASKED = (  # words of berthctl
    ("stats",),
    ("stats", "rare"),
    ("history", "--limit", "1000"),
    ("history", "rare"),
    ("history", "--lease", "LEASE"),
)
TIMES = 5
DURING = ("stats", "history limit=1000", "history rare")


def figure_of_ctl(words):
    def of_ctl(bench):
        bench.full()
        times = sorted(bench.ctl(*(bench.lease if word == "LEASE" else word for word in words)) for _ in range(TIMES))
        return Result(milliseconds(times[TIMES // 2]), milliseconds(times[-1]), times[TIMES // 2] / 1e6)

    of_ctl.__name__ = re.sub(r"\W+", "_", " ".join(words))
    of_ctl.__doc__ = """`berthctl %s` with %d leases of one day, from its start to its end: the median of %d, beside
    the slowest.""" % (" ".join(words), KEPT, TIMES)
    return of_ctl


def page(bench):
    """What the page of berth-web asks for to show a day of as many: its newest 5000; the median of 5."""
    bench.full()
    times = sorted(bench.page() for _ in range(TIMES))
    return Result(milliseconds(times[TIMES // 2]), milliseconds(times[-1]), times[TIMES // 2] / 1e6)


def delay(bench):
    """The longest that berthd works between a ping and its answer, in the best of three rounds, while somebody asks
    berth-history for all figures, for the newest 1000, and for a few of all, beside the same when nobody asks."""
    bench.full()

    def longest(request):
        bench.samples_of[request] = bench.delays(request)
        return max(worked for worked, _ in bench.samples_of[request])

    worst = max(min(longest(request) for _ in range(3)) for request in DURING)
    return Result(milliseconds(worst), milliseconds(longest(None)), worst / 1e6)


def left_out(bench):
    """Of 5000 leases that end each second, for a minute: how many are not recorded, in percent. All that is missing
    is counted in gaps, or the figure is an error."""
    ended, kept, missing, took = bench.quickly()
    bench.quick = ended / took
    value = 100 * (ended - kept) / ended if kept + missing == ended else float("inf")
    return Result("%d kept" % kept, "%d gone" % missing, value)


FIGURES = (
    *((figure_of_ctl(words), "berthctl " + " ".join(words), 1000.0, "%.0f ms") for words in ASKED),
    (page, "a day on the page", 1000.0, "%.0f ms"),
    (delay, "a ping while somebody asks / alone", 5.0, "%.2f ms"),
    (left_out, "%d ends a second for %d s, left out" % (RATE, SECONDS), 1.0, "%.3f %%"),
)


# ---- for information ----


def elapsed(bench):
    """The pings by the clock, other programs on the machine included: half of them, and the slowest."""
    def line(request, samples):
        times = sorted(time for _, time in samples)
        return "%s: %s, %s; %d samples" % (
            request, milliseconds(times[len(times) // 2]), milliseconds(times[-1]), len(times))

    return listed(line(request, samples) for request, samples in bench.samples_of.items())


def speed(bench):
    """How many have ended in a second, indeed."""
    return "%.0f" % bench.quick if bench.quick else "nothing measured"


INFORMATION = ((elapsed, "by the clock: median, worst"), (speed, "ends a second, indeed"))

"""What others feel while somebody looks: how long berthd works on something else before it answers
their request."""

from figures import Result, milliseconds

# Each is sent again as soon as its answer has come: a row of the table for each.
REQUESTS = (
    ("metrics", "the figures of all definitions, in answers of some each"),
    ("status", "all resources, leases and waiters"),
    ("status crowd", "one resource with half of all leases and waiters"),
    ("status 'market/*'", "a pattern that 5000 instances match"),
)
BOUND = 5.0  # ms
DOCUMENT = """`%s`: %s. The longest that berthd works between a
    ping and its answer, beside the same when nobody looks."""


def figure(request, what):
    def of_request(bench):
        samples, n_answers = bench.delays(request.replace("'", ""))
        bench.measured[request] = samples, n_answers
        quiet, _ = bench.delays(None)
        worst, usual = (max(work for work, _ in some) for some in (samples, quiet))
        return Result(milliseconds(worst), milliseconds(usual), worst / 1e6)

    of_request.__name__ = request.replace(" ", "_").replace("'", "").replace("/*", "")
    of_request.__doc__ = DOCUMENT % (request, what)
    return of_request


FIGURES = tuple(
    (figure(request, what), "a ping during " + request + " / alone", BOUND, "%.2f ms")
    for request, what in REQUESTS
)


# ---- for information ----


def elapsed(bench):
    """By the clock, other programs on the machine included: half of the pings, and the slowest of all."""
    lines = []
    for request, (samples, n_answers) in bench.measured.items():
        times = sorted(time for _, time in samples)
        middle, worst = milliseconds(times[len(times) // 2]), milliseconds(times[-1])
        lines.append(
            "%s: %s, %s; %d pings during %d answers" % (request, middle, worst, len(times), n_answers)
        )
    return "\n".join("  " + line if i else line for i, line in enumerate(lines)) or "nothing measured"


INFORMATION = ((elapsed, "by the clock: median, worst"),)

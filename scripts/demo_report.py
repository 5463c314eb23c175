"""From the jobs' own notes: the picture of who ran when, and what must hold. Pure: no clock, no
files, no daemon."""

import dataclasses
import itertools

WIDTH = 79
MARGIN = 10  # columns left of the picture
COLUMNS = WIDTH - MARGIN


@dataclasses.dataclass
class Job:
    caller: str  # one letter
    source: str  # the file compressed
    result: str
    called: int  # when the caller ran berth; all instants are nanoseconds of CLOCK_MONOTONIC
    started: int
    ended: int
    lease: str
    token: int
    slot: int


# ---- what must hold ----

def asked_order(jobs):
    """berthd numbers leases in the order in which their requests arrive; the numbers are written
    without leading zeros, in digits that sort as letters do."""
    return sorted(jobs, key=lambda job: (len(job.lease), job.lease))


def granted_order(jobs):
    """Fencing tokens come with the units, and only grow."""
    return sorted(jobs, key=lambda job: job.token)


def changes(jobs):
    """(instant, +1 or -1); where both fall on one instant, the end comes first."""
    return sorted([(job.started, 1) for job in jobs] + [(job.ended, -1) for job in jobs])


def peak(jobs):
    return max(itertools.accumulate(change for _, change in changes(jobs)), default=0)


def overlaps_in_slot(jobs):
    """Jobs that started in a slot in which another one was running."""
    count = 0
    free_at = {}
    for job in sorted(jobs, key=lambda job: job.started):
        count += job.started < free_at.get(job.slot, 0)
        free_at[job.slot] = max(job.ended, free_at.get(job.slot, 0))
    return count


def contradictions(jobs):
    """Pairs in which the numbers of the leases cannot be the order of the requests: the job with
    the later number ran before the other caller had even called berth."""
    ordered = asked_order(jobs)
    return sum(later.started < earlier.called
               for earlier, later in itertools.combinations(ordered, 2))


# ---- the picture ----

class Scale:
    """Instants to columns."""

    def __init__(self, jobs):
        self.begin = min(job.called for job in jobs)
        self.end = max(job.ended for job in jobs)

    def column(self, instant):
        return min((instant - self.begin) * COLUMNS // (self.end - self.begin), COLUMNS - 1)


def caller_row(jobs, scale):
    """Dots while waiting, the number of the slot while running."""
    row = [" "] * COLUMNS
    for job in jobs:
        for column in range(scale.column(job.called), scale.column(job.started)):
            row[column] = "."
    for job in jobs:
        for column in range(scale.column(job.started), scale.column(job.ended) + 1):
            row[column] = str(job.slot)[-1]
    return "".join(row)


def max_running(jobs, scale):
    """For each column the most that ran at once."""
    peaks = [0] * COLUMNS
    running = column = 0
    for instant, change in changes(jobs):
        for passed in range(column, scale.column(instant) + 1):
            peaks[passed] = max(peaks[passed], running)
        column = scale.column(instant)
        running += change
        peaks[column] = max(peaks[column], running)
    return peaks


def running_rows(jobs, scale, limit):
    """One row for each level, with the limit as a line above what it allows."""
    peaks = max_running(jobs, scale)
    rows = []
    for level in range(max(*peaks, limit), 0, -1):
        if level == limit:
            rows.append(f"{f'limit {limit}':>{MARGIN - 1}} {'-' * COLUMNS}")
        mark = "#" if level <= limit else "!"
        bar = "".join(mark if height >= level else " " for height in peaks)
        rows.append(f"{level:>{MARGIN - 1}} {bar}".rstrip())
    return rows


def time_row(scale):
    end = f"{(scale.end - scale.begin) / 1e9:.1f} s"
    return " " * MARGIN + "0 s" + end.rjust(COLUMNS - 3)


def timeline(jobs, limit):
    scale = Scale(jobs)
    rows = []
    for caller in sorted({job.caller for job in jobs}):
        row = caller_row([job for job in jobs if job.caller == caller], scale)
        rows.append(f"{f'caller {caller}':<{MARGIN}}{row}".rstrip())
    return "\n".join([*rows, "", *running_rows(jobs, scale, limit), time_row(scale)])


def order_picture(jobs):
    """Callers in both orders, one below the other."""
    asked = asked_order(jobs)
    granted = granted_order(jobs)
    marks = "".join(" " if a is b else "^" for a, b in zip(asked, granted))
    rows = [
        "asked     " + "".join(job.caller for job in asked),
        "granted   " + "".join(job.caller for job in granted),
        "          " + marks,
    ]
    return "\n".join(row.rstrip() for row in rows if row.strip())


# ---- the verdict ----

def verdicts(jobs, limit):
    """Pairs: whether it holds, and what."""
    in_order = sum(a is b for a, b in zip(asked_order(jobs), granted_order(jobs)))
    highest = peak(jobs)
    slots = sorted({job.slot for job in jobs})
    overlaps = overlaps_in_slot(jobs)
    strange = contradictions(jobs)
    return [
        (highest == limit, f"peak: {highest} at once, where the limit is {limit}"),
        (slots == list(range(limit)) and overlaps == 0,
         f"slots: {' '.join(map(str, slots))} used, {overlaps} jobs met another one in theirs"),
        (in_order == len(jobs),
         f"order: {in_order} of {len(jobs)} grants came in the order of the requests"),
        (strange == 0, f"clocks: {strange} pairs of requests in another order by their callers' "
         "clock"),
    ]

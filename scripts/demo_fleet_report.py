"""From the notes of a fleet's jobs: the picture of who ran when, on which host, and what must hold.
Pure; builds on demo_report.py."""

import dataclasses
import itertools

import demo_report
from demo_report import COLUMNS, MARGIN

# A request called earlier by this much was certainly earlier at Redis.
CERTAINLY = 2_000_000_000  # ns

MARKS = {"host": ("K", "a host dies"), "redis": ("R", "Redis comes back empty")}


@dataclasses.dataclass
class Job(demo_report.Job):
    host: str
    died: bool  # with its host: `ended` is when its death was seen


# ---- the picture ----

def caller_row(jobs, scale):
    row = list(demo_report.caller_row(jobs, scale))
    for job in jobs:
        if job.died:
            row[scale.column(job.ended)] = "x"
    return "".join(row)


def fault_row(faults, scale):
    row = [" "] * COLUMNS
    for fault, instant in faults.items():
        row[scale.column(instant)] = MARKS[fault][0]
    return " " * MARGIN + "".join(row).rstrip()


def timeline(jobs, hosts, limit, faults):
    scale = demo_report.Scale(jobs)
    rows = []
    for host in hosts:
        callers = sorted({job.caller for job in jobs if job.host == host})
        for caller in callers:
            row = caller_row([job for job in jobs if job.caller == caller], scale)
            label = f"{host if caller == callers[0] else '':<{MARGIN - 3}}{caller}"
            rows.append(f"{label:<{MARGIN}}{row}".rstrip())
    legend = "; ".join(f"{mark}: {what}" for mark, what in MARKS.values())
    return "\n".join([*rows, "", *demo_report.running_rows(jobs, scale, limit),
                      demo_report.time_row(scale), fault_row(faults, scale),
                      " " * MARGIN + legend])


# ---- what must hold ----

def n_overtaken(jobs):
    """Pairs whose later request, by far, was granted first. (Not while Redis was down: then places
    are lost.)"""
    return sum(later.called - earlier.called > CERTAINLY and later.token < earlier.token
               for earlier, later in itertools.permutations(jobs, 2))


def n_backward_tokens(jobs):
    """Pairs in which one job had ended before the other began, but has the larger token."""
    return sum(before.ended < after.started and before.token >= after.token
               for before, after in itertools.permutations(jobs, 2))


def n_early(jobs):
    """Jobs that had a dead job's slot before that job was certainly dead."""
    return sum(job.slot == dead.slot and dead.started < job.started < dead.ended
               for dead in jobs if dead.died for job in jobs)


def longest_pause_after(jobs, instant):
    """The longest time without a start of a job, from that instant on."""
    starts = sorted([instant, *(job.started for job in jobs if job.started > instant)])
    return max((b - a for a, b in zip(starts, starts[1:])), default=0) / 1e9


def verdicts(jobs, limit, faults):
    """Pairs: whether it holds, and what."""
    highest = demo_report.peak(jobs)
    overlaps = demo_report.overlaps_in_slot(jobs)
    slots = sorted({job.slot for job in jobs})
    died = [job for job in jobs if job.died]
    overtaken = n_overtaken(jobs)
    backward = n_backward_tokens(jobs)
    survived = sum(job.started < faults.get("redis", 0) < job.ended for job in jobs)
    return [
        (highest == limit, f"peak: {highest} at once on all hosts, where the limit is {limit}"),
        (slots == list(range(limit)) and overlaps == 0,
         f"slots: {' '.join(map(str, slots))} used, {overlaps} jobs met another one in theirs"),
        (died and n_early(jobs) == 0,
         f"host: {len(died)} jobs died with theirs, and were done again on another"),
        ("redis" in faults and survived > 0,
         f"Redis: {survived} jobs ran through its restart, then nothing was granted for "
         f"{longest_pause_after(jobs, faults.get('redis', 0)):.1f} s"),
        (overtaken == 0, f"order: {overtaken} pairs in which a request of much later was served first"),
        (backward == 0, f"tokens: {backward} pairs in which a later job has a smaller one"),
    ]

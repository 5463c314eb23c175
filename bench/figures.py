"""The figures: what each one measures, and the bound that it must not exceed. The first lines of a
function's text are what `bench/run --help` shows."""

import contextlib
import os
import statistics
import subprocess

from processes import MANY, Chain, Trouble

FEW = 10  # waiters


class Result:
    """One measurement: two columns to read, and `value`, which the bound is about."""

    def __init__(self, berth, peer, value):
        self.berth = berth
        self.peer = peer
        self.value = value


def microseconds(ns):
    return "%.1f µs" % (ns / 1e3)


def milliseconds(ns):
    return "%.2f ms" % (ns / 1e6)


def listed(lines):
    """Lines of information, each but the first on a line of its own."""
    return "\n  ".join(lines) or "nothing measured"


def compare(in_words, ours, theirs, block=1):
    """Compares samples taken in turns, in nanoseconds. What slows the machine down for a while
    slows both down, so the ratio is taken block by block, from the medians of `block` samples;
    the figure is the median of these ratios."""
    ratios = [
        statistics.median(ours[i : i + block]) / statistics.median(theirs[i : i + block])
        for i in range(0, len(ours), block)
    ]
    return Result(
        in_words(statistics.median(ours)),
        in_words(statistics.median(theirs)),
        statistics.median(ratios),
    )


def run(bench):
    """`berth run NAME -- true` beside `flock FILE true`, the whole process from posix_spawn to
    wait: 1000 of each in turns, in 50 blocks."""
    commands = [*bench.berth_run("true"), "::", *bench.flock("true")]
    with bench.berthd():
        return compare(milliseconds, *bench.samples("spawn", 1000, *commands), block=20)


def pairs(bench, depth):
    with bench.berthd(pinned=True), bench.echo(pinned=True):
        return bench.samples(
            "pair", bench.socket, bench.echo_socket, "echo", "slots", depth, 100, 512, pinned=True
        )


def pair(bench):
    """An acquire and its release over one connection, one request at a time, beside two round trips
    of the same requests to a bare libuv echo server; client and servers on one CPU: 100 blocks
    of 512 in turns."""
    return compare(microseconds, *pairs(bench, 1))


def library(bench):
    """An acquire and its release by the library for Python, beside two bare round trips of the same
    lines from Python to the echo server; all on one CPU: 100 blocks of 200 in turns."""
    with bench.berthd(pinned=True), bench.echo(pinned=True):
        return compare(
            microseconds,
            *bench.samples(
                "library_pair.py", bench.socket, bench.echo_socket, "slots", 100, 200, pinned=True
            ),
        )


def journal(bench):
    """The same pair at berthd, beside a berthd built without its journal; all on one CPU: 200
    blocks of 512 in turns."""
    with bench.berthd(pinned=True), bench.berthd_unwritten(pinned=True) as peer:
        return compare(
            microseconds,
            *bench.samples(
                "pair", bench.socket, peer.socket, "berthd", "slots", 1, 200, 512, pinned=True
            ),
        )


def queue_ratio(bench, kind):
    groups = ["many:%d%s" % (bench.many, kind), "few:%d%s" % (FEW, kind)]
    with bench.berthd(pinned=True):
        return compare(
            microseconds, *bench.samples("waiters", bench.socket, 100, 200, *groups, pinned=True)
        )


def waiters(bench):
    """A hand-over (a release, the grant to the next waiter, and a new request at the queue's end)
    with 10 000 waiting beside 10, each on its own connection, everything on one CPU: 100 blocks
    of 200 in turns."""
    return queue_ratio(bench, "")


def waiters_shared(bench):
    """The same with all waiters on one connection: the queue without the sockets."""
    return queue_ratio(bench, ":shared")


def handover(bench):
    """From one job's last act to the first act of the next, which waits for the first job's end, by
    `berth run` and by `flock`, start of the process included: 300 of each in turns, in 15
    blocks."""
    job = bench.program("bench/stamp")
    with contextlib.ExitStack() as stack:
        stack.enter_context(bench.berthd())
        connection = stack.enter_context(bench.connect(bench.socket))
        ours = stack.enter_context(
            Chain(bench.berth_run(job), bench.berth_has_waiter(connection))
        )
        theirs = stack.enter_context(Chain(bench.flock(job), bench.flock_has_waiter()))
        samples = [(ours.hand_over(), theirs.hand_over()) for _ in range(300)]
    return compare(milliseconds, *zip(*samples), block=20)


def bytes_per_connection(bench, server, path, line, kind="Anonymous"):
    """The server's own memory for each of `bench.many` connections that have sent `line`. The
    journal is a file: its pages are the page cache's, whether berthd has mapped them or not."""
    before = server.memory(kind)
    with contextlib.ExitStack() as stack:
        for _ in range(bench.many):
            connection = stack.enter_context(bench.connect(path))
            connection.sendall(line)
            answer = connection.recv(4096)
            if not answer.startswith((b"ok ", line)):
                raise Trouble("%s is answered by %s" % (line, answer))
        return (server.memory(kind) - before) / bench.many


def holder_bytes(bench, line, kind="Anonymous"):
    with bench.berthd() as server:
        return bytes_per_connection(bench, server, bench.socket, line, kind)


def memory(bench):
    """berthd's own memory for each of 10 000 idle connections that hold one unit of a semaphore
    each, beside the echo server's for each of 10 000 connections."""
    line = b"acquire crowd\n"
    ours = holder_bytes(bench, line)
    with bench.echo() as server:
        theirs = bytes_per_connection(bench, server, bench.echo_socket, line)
    return Result("%.0f B" % ours, "%.0f B" % theirs, ours)


def nanoseconds_to_start(bench, more):
    with bench.berthd(more) as server:
        return server.seconds_to_start * 1e9


def start(bench):
    """From starting berthd to its ready descriptor, with 10 000 semaphores in the file, beside
    without them: 7 of each in turns."""
    many = "".join("[semaphore r%d]\nlimit = 4\n" % i for i in range(MANY))
    samples = [(nanoseconds_to_start(bench, many), nanoseconds_to_start(bench, "")) for _ in range(7)]
    return compare(milliseconds, *zip(*samples))


FIGURES = (
    # function, the two sides, bound, format of value and bound
    (run, "berth run NAME -- true / flock FILE true", 1.0, "%.2f x"),
    (pair, "acquire + release / 2 round trips of echo", 1.4, "%.2f x"),
    (journal, "the same / without the journal", 1.1, "%.2f x"),
    (library, "the same in Python / bare round trips", 2.5, "%.2f x"),
    (waiters, "hand-over with 10 000 waiting / with 10", 1.2, "%.2f x"),
    (waiters_shared, "  the same over one connection", 1.2, "%.2f x"),
    (handover, "job to job, berth run / flock", 1.0, "%.2f x"),
    (memory, "an idle holder / a connection of echo", 960, "%.0f B"),
    (start, "start with 10 000 resources / with 5", 5.0, "%.2f x"),
)


# ---- for information ----


def sockets(bench):
    """A round trip to the echo server over 10 000 connections in turn, beside 10: the part of
    `waiters` that is due to the sockets, whoever serves them."""
    counts = (bench.many, FEW)
    with bench.echo(pinned=True):
        samples = bench.samples("ring", bench.echo_socket, 100, 200, *counts, pinned=True)
    return "%.2f x" % compare(microseconds, *samples).value


def in_flight(bench, depth):
    ours, theirs = (1e3 / statistics.median(samples) for samples in pairs(bench, depth))
    return "%.2f million pairs/s (echo: %.2f)" % (ours, theirs)


def in_flight_16(bench):
    """Pairs a second over one connection, with 16 requests sent at once."""
    return in_flight(bench, 16)


def in_flight_128(bench):
    """The same with 128."""
    return in_flight(bench, 128)


def page_faults(command):
    """Those of the command and of the processes that it has waited for."""
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise Trouble("%s: wait status %#x" % (command[0], status))
    return usage.ru_minflt


def faults(bench):
    """Page faults of `berth run NAME -- true` and of `flock FILE true`, with those of `true`: each
    costs about as much as a system call, and a fork doubles those that write."""
    with bench.berthd():
        commands = (bench.berth_run("true"), bench.flock("true"))
        return "%d (flock: %d)" % tuple(page_faults(command) for command in commands)


def memory_full(bench):
    """As `memory`, for holders that have given program, pid, and a reason of 40 bytes."""
    line = b"acquire crowd:1 program=nightly-etl pid=%d reason=%b\n" % (os.getpid(), b"r" * 40)
    return "%.0f B" % holder_bytes(bench, line)


def memory_mapped(bench):
    """As `memory`, with the journal's pages that berthd has mapped (Rss)."""
    return "%.0f B" % holder_bytes(bench, b"acquire crowd\n", "Rss")


def idle(bench):
    """Resident memory of a berthd that has just started, libraries included."""
    with bench.berthd() as server:
        return "%.1f MiB" % (server.memory("Rss") / 2**20)


def size(bench):
    """The programs' size on disk, stripped."""
    sizes = []
    for name in ("berth", "berthd"):
        stripped = os.path.join(bench.directory, name)
        subprocess.run(["strip", "-o", stripped, bench.program(name)], check=True)
        sizes.append("%s %.0f KiB" % (name, os.stat(stripped).st_size / 1024))
    return ", ".join(sizes)


INFORMATION = (
    (sockets, "echo over 10 000 connections / over 10"),
    (in_flight_16, "16 requests in flight"),
    (in_flight_128, "128 requests in flight"),
    (faults, "page faults of berth run NAME -- true"),
    (memory_full, "an idle holder with reason and program"),
    (memory_mapped, "an idle holder and its part of the journal"),
    (idle, "an idle berthd"),
    (size, "size, stripped"),
)

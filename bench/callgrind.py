"""Counts berthd's instructions for each workload under callgrind, and compares them with the
record. callgrind writes down a part of its counts at each ping: what is counted lies between two
pings."""

import argparse
import functools
import glob
import os
import platform
import shutil
import socket
import subprocess
import tempfile

from command import flags_of
from processes import Server, Trouble
from workloads import BY_HISTORY, CONFIGURATION, WORKLOADS, Client

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
RECORD = os.path.join(TOP, "bench", "instructions.txt")
MAX_GROWTH = 0.05
MACHINE = "x86_64"  # the record's

# The C library has string functions for each kind of processor: these run on all.
TUNABLES = "glibc.cpu.hwcaps=-AVX2,-AVX,-BMI2,-ERMS"


def first_line(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def tools():
    """What the counts depend on besides the source."""
    return "%s; %s" % (first_line("cc", "--version"), first_line("ldd", "--version"))


# ---- counting ----


class Counted:
    """A berthd under callgrind; `configuration` has a place for its {socket}. A context."""

    def __init__(self, build, directory, configuration):
        self.socket = os.path.join(directory, "berth.sock")
        self.parts = os.path.join(directory, "part")
        self.connections = []  # open to the end, so that nothing else happens while we count
        path = os.path.join(directory, "berth.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(configuration.format(socket=self.socket))
        self.server = Server(
            [
                "valgrind",
                "--log-file=" + os.path.join(directory, "messages"),
                "--tool=callgrind",
                "--dump-before=command_ping",
                "--callgrind-out-file=" + self.parts,
                os.path.join(build, "berthd"),
                "-c",
                path,
                "--ready-fd",
            ],
            GLIBC_TUNABLES=TUNABLES,
            STATE_DIRECTORY=os.path.join(directory, "state"),
        )

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(60)
        connection.connect(self.socket)
        self.connections.append(connection)
        return connection

    def run(self, workload):
        """Returns how often the work was done; its count is the part between the last two pings."""
        client = Client(self.connect())
        run = workload(self.connect)
        next(run)
        client.ask("ping", "ok")
        try:
            next(run)
        except StopIteration as end:
            client.ask("ping", "ok")
            return end.value
        raise Trouble("%s: a workload yields once" % workload.__name__)

    def part(self, part):
        """The path of what callgrind has counted before this ping (from 1)."""
        return "%s.%d" % (self.parts, part)

    def count(self, part):
        with open(self.part(part), encoding="ascii") as lines:
            for line in lines:
                if line.startswith("summary:"):
                    return int(line.split()[1])
        raise Trouble("callgrind has counted nothing")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.__exit__()


def count_some(build, directory, history, workloads):
    """Instructions by name of workload, with one berthd."""
    with Counted(build, directory, CONFIGURATION.replace("{history}", history)) as berthd:
        times = [berthd.run(workload) for workload in workloads]
        if len(glob.glob(berthd.parts + ".*")) != 2 * len(workloads):
            raise Trouble("callgrind has not written a part for each ping")
        return {
            workload.__name__: berthd.count(2 * i + 2) // times[i]
            for i, workload in enumerate(workloads)
        }


def count_all(build):
    counts = {}
    for history, workloads in BY_HISTORY.items():
        with tempfile.TemporaryDirectory(prefix="berth-instructions-") as directory:
            counts |= count_some(build, directory, history, workloads)
    return counts


def count_until(count, is_enough):
    """Three times at most, and the smallest counts: berthd ends a turn after a millisecond by the
    clock, so that it has more turns on a busy machine."""
    counts = count()
    for _ in range(2):
        if is_enough(counts):
            break
        again = count()
        counts = {name: min(count, again[name]) for name, count in counts.items()}
    return counts


# ---- the record ----


def parse_record(text):
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {name: int(count) for name, count in rows}


def format_record(counts):
    head = "# Instructions of berthd (%s), as bench/instructions --record has counted them with\n# %s\n"
    rows = ["%-8s %7d\n" % row for row in counts.items()]
    return head % (MACHINE, tools()) + "".join(rows)


def grown(counts, recorded):
    """Names of workloads that take too many instructions, or are not recorded."""
    return [
        name
        for name, count in counts.items()
        if name not in recorded or count > recorded[name] * (1 + MAX_GROWTH)
    ]


def report(counts, recorded):
    too_many = grown(counts, recorded)
    for workload in WORKLOADS:
        name = workload.__name__
        before = recorded.get(name)
        change = "%+5.1f %%" % (100 * (counts[name] / before - 1)) if before else "not recorded"
        has_shrunk = before and counts[name] < before * (1 - MAX_GROWTH)
        verdict = "GROWN" if name in too_many else "record" if has_shrunk else "ok"
        print("%-8s %7d  %s  %-6s  %s" % (name, counts[name], change, verdict, workload.__doc__))
    return too_many


def compare(count):
    with open(RECORD, encoding="utf-8") as file:
        record = file.read()
    recorded = parse_record(record)
    counts = count_until(count, lambda counts: not grown(counts, recorded))
    if not report(counts, recorded):
        return 0
    print("over %d %% more than recorded" % (100 * MAX_GROWTH))
    print("if that is meant: bench/instructions --record, and commit bench/instructions.txt")
    if tools() not in record:
        print("recorded with other tools; these are: " + tools())
    return 1


def may_count(build):
    if not os.path.exists(os.path.join(build, "berthd")):
        raise Trouble("%s: no berthd there" % build)
    is_default = flags_of(build, "CFLAGS") == "CFLAGS = -g -O2\n"
    if not is_default or "-fsanitize" in flags_of(build, "BERTH_CFLAGS"):
        raise Trouble("%s: not built with the default CFLAGS" % build)
    if not shutil.which("valgrind"):
        raise Trouble("valgrind is missing: scripts/install-packages --test installs it")


def main(text):
    """Returns the exit status."""
    parser = argparse.ArgumentParser(
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=argparse.SUPPRESS,
    )
    parser.add_argument("--record", action="store_true")
    plain = os.path.join(TOP, "build", "plain")
    parser.add_argument("build", nargs="?", metavar="BUILD_DIR", default=plain)
    arguments = parser.parse_args()
    if platform.machine() != MACHINE:
        print("bench/instructions: skipped: the record is of %s" % MACHINE)
        return 0
    try:
        may_count(arguments.build)
        count = functools.partial(count_all, arguments.build)
        if not arguments.record:
            return compare(count)
        counts = count_until(count, lambda counts: False)
    except (Trouble, OSError, AssertionError) as trouble:
        print("bench/instructions: %s" % trouble)
        return 2
    with open(RECORD, "w", encoding="utf-8") as file:
        file.write(format_record(counts))
    return 0

"""What the commands of this folder have in common: a build with the programs that they need,
figures that are measured and compared with their bounds, the report."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from processes import Trouble

ATTEMPTS = 3


def name_of(row):
    return row[0].__name__.replace("_", "-")


def measure(function, bound, bench):
    """Returns the best attempt, and how many there were."""
    best = None
    for attempt in range(1, ATTEMPTS + 1):
        result = function(bench)
        if best is None or result.value < best.value:
            best = result
        if best.value <= bound:
            break
    return best, attempt


def report_figure(row, bench):
    function, title, bound, form = row
    result, attempts = measure(function, bound, bench)
    holds = result.value <= bound
    columns = (title, result.berth, result.peer, form % result.value, form % bound)
    verdict = "ok" if holds else "MISSED"
    if attempts > 1:
        verdict += " (%d attempts)" % attempts
    print("%-42s %10s %10s %10s %10s  %s" % (*columns, verdict), flush=True)
    return holds


# As debian/rules configures, but for paths.
AS_PACKAGED = ("--disable-tests", "--enable-lto")


def find_build(given):
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
    for directory in [given] if given else [os.curdir, os.path.join(top, "build")]:
        if os.path.exists(os.path.join(directory, "config.status")):
            return os.path.realpath(directory)
    if given:
        raise Trouble("%s: nothing is configured there" % given)
    build = os.path.join(top, "build", "bench")
    made = subprocess.run(
        [os.path.join(top, "scripts", "build"), os.path.join("build", "bench"), *AS_PACKAGED],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if made.returncode != 0:
        raise Trouble("cannot build: %s" % made.stdout.decode(errors="replace"))
    return os.path.realpath(build)


def flags_of(build, name):
    """What configure has set it to."""
    with open(os.path.join(build, "Makefile"), encoding="utf-8") as makefile:
        return "".join(line for line in makefile if line.startswith(name + " ="))


def make_programs(build):
    if "-fsanitize" in flags_of(build, "BERTH_CFLAGS"):
        raise Trouble("%s is built with sanitizers: its figures would mean nothing" % build)
    made = subprocess.run(
        ["make", "-s", "-C", build, "berth", "berthd", "bench-programs"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if made.returncode != 0:
        raise Trouble(made.stdout.decode())


def stop(*_):
    sys.exit(128 + signal.SIGTERM)


class Command:
    """`figures` are rows of function, title, bound, and format of value and bound; `information`
    rows of function and title. `make_bench` makes the functions' argument from a build and a
    directory; its `remarks` are printed first."""

    def __init__(self, name, text, figures, information, make_bench):
        self.name = name
        self.text = text
        self.figures = figures
        self.information = information
        self.make_bench = make_bench

    def help_on_figures(self):
        lines = ["figures:"]
        for row in self.figures:
            lines.append(
                "  %s: at most %s\n    %s" % (name_of(row), row[3] % row[2], row[0].__doc__)
            )
        lines.append("for information:")
        for row in self.information:
            lines.append("  %s\n    %s" % (name_of(row), row[0].__doc__))
        return "\n".join(lines)

    def parse_arguments(self):
        parser = argparse.ArgumentParser(
            description=self.text,
            epilog=self.help_on_figures(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            usage=argparse.SUPPRESS,
        )
        names = [name_of(row) for row in self.figures + self.information]
        parser.add_argument("--only", action="append", metavar="FIGURE", choices=names)
        parser.add_argument("build", nargs="?", metavar="BUILD_DIR")
        return parser.parse_args()

    def report(self, bench, only):
        figures = [row for row in self.figures if not only or name_of(row) in only]
        information = [row for row in self.information if not only or name_of(row) in only]
        print("%-42s %10s %10s %10s %10s" % ("", "Berth", "peer", "figure", "bound"))
        held = [report_figure(row, bench) for row in figures]
        if information:
            print("\nfor information")
        for function, title in information:
            print("%-42s %s" % (title, function(bench)), flush=True)
        return all(held)

    def measure_all(self, arguments, directory):
        started = time.monotonic()
        build = find_build(arguments.build)
        make_programs(build)
        bench = self.make_bench(build, directory)
        print("%d CPUs, load %.1f, Linux %s" % (os.cpu_count(), os.getloadavg()[0], os.uname()[2]))
        for remark in bench.remarks:
            print(remark)
        holds = self.report(bench, arguments.only)
        print("\n%s in %.0f s" % ("held" if holds else "MISSED", time.monotonic() - started))
        return 0 if holds else 1

    def main(self):
        """Returns the exit status."""
        arguments = self.parse_arguments()
        signal.signal(signal.SIGTERM, stop)
        # In memory, as a runtime directory is.
        directory = tempfile.mkdtemp(
            prefix="berth-bench-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"
        )
        try:
            return self.measure_all(arguments, directory)
        except (Trouble, OSError, subprocess.SubprocessError) as trouble:
            print("%s: %s" % (self.name, trouble), file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        finally:
            shutil.rmtree(directory, ignore_errors=True)

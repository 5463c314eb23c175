"""The trips that bench/trips counts. Between two pings lie a trip, or nothing: what is counted is the
difference, so that the ping itself is not."""

import argparse
import collections
import glob
import os
import re
import subprocess
import tempfile

import fleet_processes
from callgrind import TOP, Counted
from processes import Trouble
from workloads import Client, acquire

CONFIGURATION = """
[daemon]
socket = {socket}
history = 0
[redis]
url = %%s
prefix = %s
[semaphore here]
limit = 1000
[semaphore everywhere]
scope = fleet
limit = 1000
""" % fleet_processes.PREFIX
RESOURCES = ["shown-%d" % i for i in range(6)]
CONFIGURATION += "".join("[lock %s]\n" % name for name in RESOURCES)


# ---- callgrind's file: name compression, and who calls whom how often ----

NAME = re.compile(r"(c?(?:fn|fl|fi|fe)|cob|ob)=\((\d+)\)(?: (.*))?$")


class Calls:
    """How often each function was called, by (file, function)."""

    def __init__(self, path):
        self.counts = collections.Counter()
        self.names = {"fl": {}, "fn": {}, "ob": {}}
        self.file = called_file = called = ""
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                found = NAME.match(line)
                if found:
                    kind, name = found.group(1), self.name(*found.groups())
                    if kind in ("fl", "fi", "fe"):
                        self.file = called_file = name
                    elif kind in ("cfl", "cfi"):
                        called_file = name
                    elif kind == "cfn":
                        called = name
                elif line.startswith("calls="):
                    self.counts[called_file, called] += int(line[len("calls="):].split()[0])
                    called_file = self.file

    def name(self, kind, number, name):
        kind = "fn" if kind in ("fn", "cfn") else "ob" if kind in ("ob", "cob") else "fl"
        names = self.names[kind]
        if name is not None:
            names[number] = name.split("'")[0]  # a recursion's depth follows
        return names[number]


def crossed(before, after):
    """Calls by file of src/."""
    calls = collections.Counter()
    for (path, _), n in (after.counts - before.counts).items():
        inside = path.rpartition("/src/")
        if inside[1]:
            calls[inside[2]] += n
    return calls


# ---- trips ----


class Asker(Client):
    """Events may come before an answer: they are left out."""

    def read(self, expected):
        line = self.lines.readline().decode()
        while line.startswith("* ") and not expected.startswith("* "):
            line = self.lines.readline().decode()
        assert line.startswith(expected), (expected, line)
        return line


def trip(client, berthd, prepare, once):
    """Calls by file. Two warm ones first: memory grows, names are looked up."""
    for _ in range(2):
        prepare()
        once()
    prepare()
    for work in (lambda: None, once):
        client.ask("ping", "ok")
        work()
    client.ask("ping", "ok")
    *_, before, after = range(1, 1 + len(glob.glob(berthd.parts + ".*")))
    return crossed(Calls(berthd.part(before)), Calls(berthd.part(after)))


class Trips:
    """An acquire of a unit of `name`, and a status."""

    def __init__(self, client, berthd, name):
        self.client = client
        self.berthd = berthd
        self.name = name
        self.lease = None

    def release(self):
        if self.lease:
            self.client.ask("release " + self.lease, "ok\n")
            self.lease = None

    def acquire(self):
        answer, self.lease = self.client.ask(acquire(self.name, os.getpid()), "").split()[:2]
        if answer != "ok":
            self.client.read("* granted " + self.lease)

    def status(self):
        self.client.send("status " + " ".join(RESOURCES))
        while self.client.lines.readline() != b"end\n":
            pass

    def of_acquire(self):
        return trip(self.client, self.berthd, self.release, self.acquire)

    def of_status(self):
        return trip(self.client, self.berthd, lambda: None, self.status)


def count_all(build):
    """Rows of title and calls by file."""
    with tempfile.TemporaryDirectory(prefix="berth-trips-") as directory, \
            fleet_processes.Redis(directory) as redis, \
            Counted(build, directory, CONFIGURATION % redis.url) as berthd:
        redis.wait_for_hosts(1)
        client = Asker(berthd.connect())
        return [
            ("acquire, host scope", Trips(client, berthd, "here").of_acquire()),
            ("acquire, fleet scope", Trips(client, berthd, "everywhere").of_acquire()),
            ("status of six resources", Trips(client, berthd, None).of_status()),
        ]


def find_build(given):
    if given:
        return given
    made = subprocess.run(
        [os.path.join(TOP, "scripts", "build"), "build/trips", "--disable-tests", "CFLAGS=-g -O0",
         "--disable-hardening"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if made.returncode != 0:
        raise Trouble("cannot build: %s" % made.stdout)
    return os.path.join(TOP, "build", "trips")


def main(text):
    """Returns the exit status."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--files", action="store_true")
    parser.add_argument("build", nargs="?", metavar="BUILD_DIR")
    arguments = parser.parse_args()
    try:
        rows = count_all(find_build(arguments.build))
    except (Trouble, OSError, AssertionError) as trouble:
        print("bench/trips: %s" % trouble)
        return 2
    print("%-25s %6s %6s %9s" % ("", "calls", "files", "in fleet/"))
    for title, calls in rows:
        of_fleet = sum(n for path, n in calls.items() if path.startswith("fleet/"))
        print("%-25s %6d %6d %9d" % (title, calls.total(), len(calls), of_fleet))
        if arguments.files:
            for path, n in calls.most_common():
                print("  %5d %s" % (n, path))
    return 0

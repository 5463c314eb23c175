"""A copy of the source tree with its own build, in which one worker breaks one thing after the
other."""

import collections
import ctypes
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree

from guards import PYTEST
from mutations import TOP

# Neither optimized nor hardened: each build runs only a few times.
CONFIGURE = ("--enable-tests", "--disable-hardening", "CFLAGS=-O0")
MAKE = ("make", "-rRs", "-C", "build")
# Of process tests, in seconds: what a mutation keeps from happening is waited for no longer.
DEADLINE = int(os.environ.get("BERTH_DEADLINE", 10))
PR_SET_CHILD_SUBREAPER = 36

Done = collections.namedtuple("Done", "status output seconds")  # status: None if its time was up


class Workshop:
    def __init__(self, directory):
        self.source = directory
        self.build = directory / "build"
        self.originals = {}  # path: text, for all that was ever broken
        self.broken = set()  # paths broken at present
        # What a test leaves running becomes our child, and its time counts.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)

    def set_up(self, wants_package):
        """Copies the present sources over those of an earlier run, without those that are gone by now, and makes all
        programs."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=TOP, capture_output=True)
        names = listed.stdout.decode().split("\0")[:-1] or [
            str(path.relative_to(TOP)) for path in TOP.rglob("*") if not path.relative_to(TOP).parts[0].startswith("build")]
        for name in names:
            here, there = TOP / name, self.source / name
            if here.is_file() and not (there.exists() and there.read_bytes() == here.read_bytes()):
                there.parent.mkdir(parents=True, exist_ok=True)
                there.unlink(missing_ok=True)
                shutil.copy(here, there)
        for path in [*(self.source / "src").rglob("*"), *(self.source / "tests").rglob("*")]:
            if path.is_file() and not (TOP / path.relative_to(self.source)).exists():
                path.unlink()  # tests read some directories whole
        self.must(["scripts/build", "build", *CONFIGURE], self.source)
        self.must([*MAKE, f"-j{os.cpu_count()}", "check-programs"], self.source)
        if wants_package:
            self.must(["scripts/package", "build"], self.source)

    def become_copy_of(self, other):
        shutil.rmtree(self.source, ignore_errors=True)
        shutil.copytree(other.source, self.source, symlinks=True)
        self.must(["./config.status", "--silent"], self.build)  # it contains its own path

    def must(self, words, directory):
        done = self.run(words, 1800, directory)
        if done.status != 0:
            raise RuntimeError(f"{done.output}\nbroken: failed: {' '.join(words)}")

    def variable(self, name):
        return re.search(rf"^{name} = (.*)$", (self.build / "Makefile").read_text(), re.M).group(1)

    def carry_out(self, mutation):
        """Mends what is broken now, then carries the mutation out. None: only mends."""
        changed = mutation.changed if mutation else {}
        for path in changed.keys() | self.broken:
            original = self.originals.setdefault(path, (self.source / path).read_text())
            (self.source / path).write_text(changed.get(path, original))
        self.broken = set(changed)

    def make(self, targets):
        """Returns None, or why it does not build."""
        if not targets:
            return None
        done = self.run([*MAKE, *targets], 600, self.source)
        return None if done.status == 0 else done.output

    def run(self, words, seconds, directory=None, processor_seconds=resource.RLIM_INFINITY):
        """Leaves nothing running. At the end of its time the test may clean up for 5 seconds. A
        process that has used that much of a processor is killed."""
        began = time.monotonic()
        environment = {
            **os.environ, "BERTH_DEADLINE": str(DEADLINE),
            "BERTH_BUILD_DIR": str(self.build), "BERTH_SOURCE_DIR": str(self.source), "BERTH_TREE_DIR": str(TOP / "build"),
            "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(self.source / "pycache")}
        output = self.source / "output"
        with open(output, "wb") as file:
            child = subprocess.Popen(
                words, cwd=directory or self.build, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (processor_seconds, processor_seconds)))
        try:
            status = child.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
            child.send_signal(signal.SIGINT)
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        kill_children()
        return Done(status, output.read_text(errors="replace"), time.monotonic() - began)

    def times_of(self, guards):
        """Runs process tests together: {text: seconds of each that passes}, and the output."""
        report = self.source / "report.xml"
        report.unlink(missing_ok=True)
        tests = sorted({f"{self.source}/{guard.text}" for guard in guards})
        done = self.run([self.variable("PYTHON"), *PYTEST, f"--junitxml={report}", *tests], 1800)
        times = collections.defaultdict(float)
        if report.exists():
            for case in xml.etree.ElementTree.parse(report).iter("testcase"):
                key = case.get("classname").split(".")[-1], case.get("name")
                for name in (key, (key[0], key[1].split("[")[0])):
                    times[name] += float("inf") if len(case) else float(case.get("time"))
        passed = {}
        for guard in guards:
            file, name = guard.text.split("/")[-1].split(".py::")
            if 0 < times[file, name] < float("inf"):
                passed[guard.text] = times[file, name]
        return passed, done.output


def kill_children():
    """And their children, as they become ours."""
    children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children")
    while pids := children.read_text().split():
        for pid in map(int, pids):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def cpu_seconds():
    """Of everything run so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

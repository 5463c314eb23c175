"""The tests that catch mutations: what a `caught-by` may say, what must be made for it, and its command.

    tests/unit/PROGRAM SUITE/NAME       one test of a unit test program
    tests/process/FILE.py::NAME         one process test, perhaps with its [PARAMETERS]
    tests/systemd/FILE.py::NAME         one test of the booted service
    PROGRAM [ARGUMENT...]               a program of the build or of tests/; it must fail as a whole
"""

import re
import shlex

PROGRAMS = (
    "berthd", "berth", "berthctl", "berth-web", "berth-history",
    "tests/process/witness_job", "tests/process/link_probe", "tests/sim/redis_probe",
    *(f"tests/process/{name}_shim.so" for name in ("alloc", "clock", "disk", "names")))


class Guard:
    def __init__(self, text):
        self.text = text
        self.words = shlex.split(text)
        self.pytest = parts(r"(tests/(?:process|systemd)/test_\w+\.py)::(test_\w+)(?:\[.*\])?", text)
        self.unit = parts(r"(tests/unit/test_\w+) (\w+/\w+)", text)
        self.is_process = bool(self.pytest) and text.startswith("tests/process/")
        self.is_systemd = bool(self.pytest) and text.startswith("tests/systemd/")

    def what_is_missing(self, top):
        """None if the source tree has such a test."""
        if self.pytest:
            path, name = self.pytest
            if not (top / path).exists():
                return f"there is no {path}"
            if not re.search(rf"^def {name}\(", (top / path).read_text(), re.M):
                return f"{path} has no {name}"
        elif self.unit:
            program, name = self.unit
            if not re.search(rf"\b{program}\b", (top / "tests/Makefile.inc").read_text()):
                return f"there is no {program}"
            if name not in unit_tests(top):
                return f"no file of tests/unit has Test({name.replace('/', ', ')})"
        elif self.words[0] != "tests/alloc-failures" and not self.words[0].startswith("tests/sim/"):
            return "it has no form that tests/broken/guards.py knows"
        return None

    @property
    def targets(self):
        """For make. Tests of the Redis scripts read these from the source."""
        if "/test_fleet_upgrade" in self.text:
            return (*PROGRAMS, "tests/next-format/berthd")
        if self.pytest:
            return () if "/test_scripts" in self.text else PROGRAMS
        if self.words[0] == "tests/alloc-failures":
            return PROGRAMS
        return (self.words[0],)

    def command(self, source, python):
        """To be run in the build directory."""
        if self.is_process:
            return [python, *PYTEST, "-x", f"{source}/{self.text}"]
        if self.is_systemd:
            return [f"{source}/tests/systemd/run", "--over", ".", self.text.removeprefix("tests/systemd/")]
        if self.unit:
            return [self.unit[0], "--filter", self.unit[1]]
        if self.words[0] == "tests/alloc-failures":
            return [f"{source}/{self.words[0]}", *self.words[1:]]
        return self.words

    def has_failed(self, status):
        """And not just ended: 2 to 5 are pytest's own errors."""
        return status == 1 if self.pytest else status != 0


PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
found_unit_tests = {}


def parts(pattern, text):
    found = re.fullmatch(pattern, text)
    return found and found.groups()


def unit_tests(top):
    if top not in found_unit_tests:
        found_unit_tests[top] = {
            f"{suite.lower()}/{name}" for path in (top / "tests/unit").glob("*.c")
            for suite, name in re.findall(r"^(?:Test\(|(?=[A-Z]+_TEST))(\w+?)(?:, |_TEST\()(\w+)", path.read_text(), re.M)}
    return found_unit_tests[top]

"""One booted machine with the package installed, for all tests; each finds it as after the
installation.

witness.py starts its jobs from BUILD."""

import json
import os
import shutil
import subprocess

import pytest

from machine import DEADLINE, PACKAGE, TOP, WORK, Machine
from programs import read_line
from still_running import pytest_runtest_protocol  # a hook

BUILD = WORK
OVER = os.environ.get("BERTH_OVER")

CONFIGURATION = """\
[lock ship]

[semaphore fifty]
limit = 50

[semaphore crowd]
limit = 6

[lock brief-kill]
kill-after = 250ms

[semaphore brief-hold]
limit = 1
max-hold = 500ms
kill-after = 250ms
"""


def put_over(machine):
    """Puts what is under development in place of the package's files."""
    for program, place in (
            ("berthd", "usr/sbin"), ("berth-history", "usr/sbin"), ("berth", "usr/bin"), ("berthctl", "usr/bin")):
        shutil.copy(f"{OVER}/{program}", machine.root / place / program)
    for kind in ("service", "socket"):
        fill_in(f"berthd.{kind}.in", machine.root / "lib/systemd/system" / f"berthd.{kind}")
        fill_in(f"berthd.{kind}.in", machine.root / "lib/systemd/system" / f"berthd@.{kind}")
        fill_in(f"berth-history.{kind}.in", machine.root / "lib/systemd/system" / f"berth-history.{kind}")
        fill_in(f"berth-history.{kind}.in", machine.root / "lib/systemd/system" / f"berth-history@.{kind}")
        fill_in(f"user.{kind}.in", machine.root / "usr/lib/systemd/user" / f"berthd.{kind}")
    shutil.copytree(
        TOP / "systemd/examples", machine.root / "usr/share/doc/berth/examples/systemd", dirs_exist_ok=True)


def fill_in(template, unit):
    with open(TOP / "systemd" / template) as before, open(unit, "w") as after:
        subprocess.run(
            ["sh", TOP / "systemd/fill-in", unit.name, "/usr/sbin", "/usr/bin", "/etc", "/usr/share/doc/berth"],
            stdin=before, stdout=after, check=True)


def install(machine, package=PACKAGE):
    shutil.copy(package, machine.root / "package.deb")
    machine.run("dpkg", "--unpack", "/package.deb")
    if OVER:
        put_over(machine)
    machine.run("dpkg", "--configure", "berth")


def add_users(machine):
    for name, number in (("alice", 2001), ("bob", 2002)):
        machine.run("useradd", "-m", "-u", number, "-U", name)


@pytest.fixture(scope="session")
def installed():
    machine = Machine(WORK / f"machine-{os.getpid()}")
    try:
        machine.boot()
        add_users(machine)
        install(machine)
        yield machine
    finally:
        machine.off()
        shutil.rmtree(machine.root, ignore_errors=True)


class Job:
    """`berth run NAME -- …`, which runs until end()."""

    def __init__(self, machine, name, *options, user=None):
        self.machine = machine
        self.process = machine.start(
            "berth", "run", *options, name, "--",
            "sh", "-c", "echo $$ $BERTH_LEASE $BERTH_TOKEN; read _ || :", user=user)
        self.pid = self.lease = self.token = None

    def begins(self):
        """Waits until it has its place; returns itself."""
        pid, self.lease, token = read_line(self.process.stdout).split()
        self.pid, self.token = int(pid), int(token)
        return self

    def wrapper(self):
        status = self.machine.read(f"/proc/{self.pid}/status")
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("PPid:")))

    def lives(self):
        return self.machine.outside(f"/proc/{self.pid}/cmdline").exists()

    def end(self):
        self.process.stdin.close()
        return self.process.wait(DEADLINE)


@pytest.fixture
def machine(installed):
    """berthd runs as after the installation, with some resources."""
    machine = installed
    machine.write("/etc/berth/conf.d/test.conf", CONFIGURATION)
    machine.systemctl("start", "berthd.socket", "berthd.service")
    machine.systemctl("reload", "berthd.service")
    yield machine
    for process in machine.started:
        if process.poll() is None:
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
            process.wait(DEADLINE)
    machine.started.clear()


@pytest.fixture
def drop_in(installed):
    """drop_in(UNIT, TEXT): until the end of the test."""
    written = []

    def write(unit, text, name="test.conf"):
        path = f"/run/systemd/system/{unit}.d/{name}"
        installed.write(path, text)
        written.append(path)
        installed.systemctl("daemon-reload")

    yield write
    for path in written:
        installed.outside(path).unlink()
    if written:
        installed.systemctl("daemon-reload")


@pytest.fixture
def main_file(machine):
    """main_file(TEXT): as berth.conf, until the end of the test. The resources are there as well."""
    path = "/etc/berth/berth.conf"
    before = machine.read(path)
    yield lambda text: machine.write(path, text + "include = conf.d\n")
    machine.write(path, before)
    machine.systemctl("restart", "berthd.service")


def status(machine, name):
    """A resource, as in JSON."""
    resource, = json.loads(machine.run("berthctl", "status", "--json", name))["resources"]
    return resource


def leases(machine, name):
    """{lease: pid of its job} of the holders."""
    return {holder["lease"]: holder["pid"] for holder in status(machine, name)["holders"]}

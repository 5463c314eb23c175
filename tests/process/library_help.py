"""For the tests of the library for Python: the one of the source, and critical sections that are their own
witnesses."""

import asyncio
import contextlib
import fcntl
import os
import struct
import subprocess
import sys
import threading

import pytest

from documents import SOURCE
from lines import DEADLINE
from witness import FLOCK, START

sys.path.insert(0, str(SOURCE / "python"))

import berth  # noqa: E402
from berth import aio  # noqa: E402

JOBS, MAX_JOBS, SLOTS = 0, 1 << 20, 1 << 21  # as in witness_job.c


@pytest.fixture
def use(directory, monkeypatch):
    """The shared clients are those of the test's socket."""
    monkeypatch.setenv("BERTH_SOCKET", str(directory / "s"))
    monkeypatch.delenv("BERTH_LEASE", raising=False)
    yield
    for client in list(berth._shared.values()):
        client.close()
    berth._shared.clear()


@pytest.fixture
def client(directory):
    with berth.Client(str(directory / "s"), patience=2.0) as client:
        yield client


def script(directory, text, *args, **variables):
    """Runs a program that has the library, and shows all warnings. Returns what it has written."""
    environ = {**os.environ, **variables, "BERTH_SOCKET": str(directory / "s"), "PYTHONPATH": str(SOURCE / "python")}
    done = subprocess.run([sys.executable, "-X", "dev", *args, "-c", text], cwd=directory, env=environ, capture_output=True,
                          text=True, timeout=DEADLINE)
    return done.returncode, done.stdout, done.stderr


def granted(fake, client, *lines, **options):
    """The lease that the fake has granted, and the connection."""
    result = []
    thread = threading.Thread(target=lambda: result.append(client.acquire("r", **options)))
    thread.start()
    peer, _ = fake.asked()
    peer.send("".join(line + "\n" for line in ("ok 1 slot=r,5,0", *lines)))
    thread.join(DEADLINE)
    return result[0], peer


def given_back(lease, peer):
    thread = threading.Thread(target=lease.release)
    thread.start()
    while not peer.line().startswith("release"):
        pass
    peer.send("ok\n")
    thread.join(DEADLINE)


class Section:
    """What a lease protects: locks of the kernel on its slot (of open files, so of tasks and threads, too), and what a
    Witness reads in its log."""

    def __init__(self, directory, number, lease):
        self.number = number
        self.file = os.open(directory / "locks", os.O_RDWR | os.O_CLOEXEC)
        self.log = os.open(directory / "log", os.O_RDWR | os.O_CLOEXEC)
        slot, = lease.slots
        self.lock(fcntl.F_OFD_SETLKW, START)
        self.lock(fcntl.F_OFD_SETLK, JOBS + number)
        try:
            self.lock(fcntl.F_OFD_SETLK, SLOTS + slot)
        except BlockingIOError:
            self.say(f"taken {number} {os.getpid()} {slot}")
        self.say(f"start {number} {os.getpid()} {self.others(JOBS, MAX_JOBS)} {slot} {lease.token}")
        self.lock(fcntl.F_OFD_SETLK, START, fcntl.F_UNLCK)

    def say(self, line):
        os.write(self.log, line.encode() + b"\n")

    def lock(self, command, byte, kind=fcntl.F_WRLCK):
        fcntl.fcntl(self.file, command, struct.pack(FLOCK, kind, os.SEEK_SET, byte, 1, 0))

    def others(self, first, end):
        n = 0
        while first < end:
            range_ = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, first, end - first, 0)
            kind, _, start, length, _ = struct.unpack(FLOCK, fcntl.fcntl(self.file, fcntl.F_OFD_GETLK, range_))
            if kind == fcntl.F_UNLCK:
                break
            n += 1 + self.others(first, start)
            first = start + length
        return n

    def leave(self):
        self.say(f"end {self.number}")
        os.close(self.file)
        os.close(self.log)


@contextlib.contextmanager
def section(directory, number, lease):
    entered = Section(directory, number, lease)
    try:
        yield
    finally:
        entered.leave()


def one_of_a_pool(directory, number, seconds):
    """In a worker of multiprocessing. Leaves early if the lease is lost. Returns whether it was."""
    with berth.acquire("s", wait=60) as lease, section(directory, number, lease):
        return lease.wait_lost(seconds) is not None


async def one_of_a_loop(directory, number, seconds):
    try:
        async with aio.acquire("s", wait=60, cancel_on_loss=True) as lease:
            with section(directory, number, lease):
                await asyncio.sleep(seconds)
    except berth.Lost:
        return True
    return False


def connections(daemon):
    """Sockets that berthd has open."""
    files = f"/proc/{daemon.process.pid}/fd"
    found = 0
    for fd in os.listdir(files):
        with contextlib.suppress(OSError):
            found += os.readlink(f"{files}/{fd}").startswith("socket:")
    return found


def slots_of(name):
    """For a pool that spawns: what a fresh interpreter was granted."""
    with berth.acquire(name) as lease:
        return os.getpid(), lease.slots

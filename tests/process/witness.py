"""Jobs that are their own witnesses (witness_job.c): the kernel says how many run at once, not
Berth. After read() or wait_until(), look at .running, .grants, …"""

import fcntl
import os
import select
import struct
import time

from conftest import BUILD
from lines import DEADLINE

# As in witness_job.c.
START, GATES, MAX_LOCKS = 1 << 20, 1 << 22, 1 << 16

FLOCK = "hhqqi4x"  # type, whence, start, length, pid


class Witness:
    """A directory for the jobs. They end when this process does, at the latest."""

    def __init__(self, directory):
        self.directory = directory / "witness"
        self.directory.mkdir()
        self.directory.chmod(0o777)
        os.mkfifo(self.directory / "log")
        # The gates' locks are this process's for as long as no descriptor of the file is closed.
        self.locks = os.open(self.directory / "locks", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        fcntl.lockf(self.locks, fcntl.LOCK_EX, MAX_LOCKS, GATES)
        self.log = os.open(self.directory / "log", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        for name in ("log", "locks"):
            (self.directory / name).chmod(0o666)
        self.buffer = b""
        self.pids = {}  # number: pid, of all that have ever started
        self.running = set()  # numbers; those that were killed too
        self.ended = set()
        self.grants = []  # (token, number)
        self.max_others = 0
        self.starts = []  # (time.monotonic(), others)
        self.wrong = []  # lines that should never have come
        self.wrong_at = []  # when they came

    def job(self, number):
        """The command line of a job. Each number is for one job."""
        return [str(BUILD / "tests/process/witness_job"), str(self.directory), str(number)]

    def let_go(self, number):
        fcntl.lockf(self.locks, fcntl.LOCK_UN, 1, GATES + number)

    def let_all_go(self):
        """Including those that start later."""
        fcntl.lockf(self.locks, fcntl.LOCK_UN, MAX_LOCKS, GATES)

    def is_alive(self, number):
        """Whether the job has started and still lives."""
        range_ = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, number, 1, 0)
        kind, *_ = struct.unpack(FLOCK, fcntl.fcntl(self.locks, fcntl.F_GETLK, range_))
        return kind != fcntl.F_UNLCK

    def complain(self, line):
        self.wrong.append(line)
        self.wrong_at.append(time.monotonic())

    def started(self, number, pid, others, *slots_and_token):
        if number in self.pids:
            self.complain(f"job {number} has run twice")
        self.pids[number] = pid
        self.running.add(number)
        self.max_others = max(self.max_others, others)
        self.starts.append((time.monotonic(), others))
        self.grants.append((int(slots_and_token[-1]), number))

    def take(self, line):
        words = line.split()
        if words[0] == "start":
            self.started(*map(int, words[1:4]), *words[4:])
        elif words[0] == "end":
            self.running.discard(int(words[1]))
            self.ended.add(int(words[1]))
        else:
            self.complain(line)

    def read(self, timeout=0.0):
        """Takes in what has happened; waits up to so many seconds for something to happen."""
        if not select.select([self.log], [], [], timeout)[0]:
            return False
        while True:
            try:
                self.buffer += os.read(self.log, 65536)
            except BlockingIOError:
                break
        *lines, self.buffer = self.buffer.split(b"\n")
        for line in lines:
            self.take(line.decode())
        return True

    def wait_until(self, is_so, timeout=DEADLINE):
        end = time.monotonic() + timeout
        while not is_so():
            assert self.read(max(end - time.monotonic(), 0)), (
                f"in time only: {sorted(self.running)} run, {sorted(self.ended)} have ended")

    def wait_for_starts(self, n):
        """Until so many have started, ever."""
        self.wait_until(lambda: len(self.pids) >= n)

    def check(self, limit):
        """Never more than the limit at once, no job or unit twice, none killed."""
        self.read()
        assert not self.wrong
        assert self.max_others < limit
        dead = [number for number in self.running if not self.is_alive(number)]
        self.read()
        assert not self.running.intersection(dead), "jobs were stopped"

    def in_order_of_grant(self):
        return [number for _, number in sorted(self.grants)]

    def close(self):
        os.close(self.locks)
        os.close(self.log)

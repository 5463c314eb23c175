"""A berthd, the berth-history that keeps what ends there, and who asks for it."""

import atexit
import contextlib
import os
import shutil
import subprocess
import tempfile
import time

from look_processes import Sampler, ask_at_once, read_answer
from processes import DEADLINE, Bench, Server, Trouble, wait_until

# Users are not slowed down: all requests here are one user's.
CONFIGURATION = """
[daemon]
socket = {socket}
history-user = %d
max-leases-per-user = 1000000
max-waiters-per-user = 1000000
max-instances-per-user = 1000000
max-requests-per-second-per-user = unbounded
history = 16M
[semaphore slots]
limit = 10000
[lock rare]
[semaphore market/*]
limit = 10
max-instances = 1000000
""" % os.geteuid()
KEPT = 1_000_000
AT_ONCE = 500  # requests on their way
RARE = 20_000  # one of so many is on the lock `rare`, which few others are looked through for
RATE, SECONDS = 5000, 60  # of what ends quickly


def name_of(i):
    return "rare" if i % RARE == RARE // 2 else "market/%d" % (i % 200) if i % 2 else "slots"


class HistoryBench(Bench):
    configuration = CONFIGURATION

    def __init__(self, build, directory):
        super().__init__(build, directory)
        if len(os.sched_getaffinity(0)) < 2:
            raise Trouble("needs two CPUs")
        self.made = subprocess.run(["make", "-s", "-C", build, "berth-history", "berthctl", "berth-web"],
                                   capture_output=True, check=False)
        if self.made.returncode != 0:
            raise Trouble(self.made.stderr.decode())
        # On a disk, unlike the socket.
        self.state = tempfile.mkdtemp(prefix="berth-bench-", dir="/var/tmp")
        atexit.register(shutil.rmtree, self.state, ignore_errors=True)
        self.stack = None

    def end_and_begin(self, connection, requests):
        answers = ask_at_once(connection, requests)
        ask_at_once(connection, ["release " + answer.split()[1] for answer in answers])
        return answers

    @contextlib.contextmanager
    def keeper(self, pinned=None):
        """A berth-history of the berthd that runs; the block gets its socket."""
        path = os.path.join(self.directory, "berth-history.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write("[history]\nsize = 8G\n")
        command = [self.program("berth-history"), "-S", self.socket, "-c", path, "--ready-fd"]
        state = tempfile.mkdtemp(dir=self.state)
        with Server(command, STATE_DIRECTORY=state):
            yield os.path.join(self.directory, "berth-history.sock")
        shutil.rmtree(state)

    def count(self, path):
        """How many leases berth-history has."""
        with self.connect(path) as connection:
            connection.sendall(b"stats\n")
            answer = b""
            while not answer.endswith(b"\nend\n"):
                answer += connection.recv(1 << 20)
        lines = answer.decode().splitlines()
        n = sum(int(line.split(" leases=")[1].split()[0]) for line in lines if line.startswith("figures * "))
        missing = sum(int(line.split(" n=")[1].split()[0]) for line in lines if line.startswith("gap "))
        return n, missing

    def fill(self, path):
        with self.connect(self.socket) as connection, self.connect(path) as keeper:
            for first in range(0, KEPT, AT_ONCE):
                self.end_and_begin(connection, [
                    "acquire %s program=job reason=nightly%%20build holder=%d" % (name_of(i), i)
                    for i in range(first, first + AT_ONCE)])
                if first % 10_000 == 0:  # more than that waits in the ring
                    keeper.sendall(b"history since=0\n")
                    read_answer(keeper)
        if self.count(path) != (KEPT, 0):
            raise Trouble("kept, and missing: %d, %d" % self.count(path))

    def full(self):
        """Starts a berthd and a berth-history that have all of it, once."""
        if not self.stack:
            self.stack = contextlib.ExitStack()
            atexit.register(self.stack.close)
            self.server = self.stack.enter_context(self.berthd())
            self.path = self.stack.enter_context(self.keeper())
            self.fill(self.path)
        return self

    def ctl(self, *words):
        """Nanoseconds of a berthctl from its start to its end."""
        start = time.monotonic_ns()
        done = subprocess.run([self.program("berthctl"), "-S", self.socket, *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=DEADLINE, check=False)
        if done.returncode != 0 or done.stderr:
            raise Trouble("berthctl %s: %s" % (" ".join(words), done.stderr.decode()))
        return time.monotonic_ns() - start

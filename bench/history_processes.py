"""A berthd, the berth-history that keeps what ends there, and who asks for it."""

import atexit
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from look_processes import Sampler, ask_at_once, read_answer
from processes import DEADLINE, Bench, Server, Trouble

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
ASKED_FOR = 5  # seconds
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
        self.stack, self.samples_of, self.quick = None, {}, None
        atexit.register(shutil.rmtree, self.state, ignore_errors=True)
        atexit.register(self.clear)

    def begin_and_end(self, connection, requests):
        answers = ask_at_once(connection, requests)
        ask_at_once(connection, ["release " + answer.split()[1] for answer in answers])
        return answers

    @contextlib.contextmanager
    def keeper(self):
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
        """Returns a lease from the middle."""
        with self.connect(self.socket) as connection, self.connect(path) as keeper:
            lease = None
            for first in range(0, KEPT, AT_ONCE):
                answers = self.begin_and_end(connection, [
                    "acquire %s program=job reason=nightly%%20build holder=%d" % (name_of(i), i)
                    for i in range(first, first + AT_ONCE)])
                lease = answers[0].split()[1] if first == KEPT // 2 else lease
                if first % 10_000 == 0:  # more than that waits in the ring
                    keeper.sendall(b"history since=0\n")
                    read_answer(keeper)
        if self.count(path) != (KEPT, 0):
            raise Trouble("kept, and missing: %d, %d" % self.count(path))
        return lease

    def start_web(self):
        """A berth-web; returns its port."""
        path = os.path.join(self.directory, "berth-web.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write("[web]\nsocket = %s\n" % self.socket)
        readable, writable = os.pipe()
        process = subprocess.Popen(
            [self.program("berth-web"), "-c", path, "-l", "127.0.0.1:0", "--ready-fd", str(writable)],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[writable])
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)
        os.close(writable)
        with os.fdopen(readable) as said:
            return int(said.readline().rstrip("/\n").rpartition(":")[2])

    def full(self):
        """Starts a berthd, a berth-history that has all of it, and a berth-web: once."""
        if not self.stack:
            self.stack = contextlib.ExitStack()
            self.server = self.stack.enter_context(self.berthd(pinned=True))
            self.kept = self.stack.enter_context(self.keeper())
            self.lease = self.fill(self.kept)
            self.port = self.start_web()
        return self

    def clear(self):
        """Ends them."""
        if self.stack:
            self.stack.close()
            self.stack = None

    def ctl(self, *words):
        """Nanoseconds of a berthctl from its start to its end."""
        start = time.monotonic_ns()
        done = subprocess.run([self.program("berthctl"), "-S", self.socket, *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=DEADLINE, check=False)
        if done.returncode != 0 or done.stderr:
            raise Trouble("berthctl %s: %s" % (" ".join(words), done.stderr.decode()))
        return time.monotonic_ns() - start


    def page(self):
        """Nanoseconds of what the page asks for to show a day."""
        now = int(time.time() * 1000)
        start = time.monotonic_ns()
        with socket.create_connection(("127.0.0.1", self.port), DEADLINE) as connection:
            # Each time another question: what has just been answered is not asked again.
            connection.sendall(b"GET /history.json?from=%d&until=%d&limit=5000 HTTP/1.1\r\nHost: localhost\r\n"
                               b"Connection: close\r\n\r\n" % (now - 86400000, now + start % 1000))
            answer = b"".join(iter(lambda: connection.recv(1 << 20), b""))
        if not answer.startswith(b"HTTP/1.1 200 ") or answer.count(b'"ended_at_ms"') < 5000 or b'"berth-history"' not in answer:
            raise Trouble("/history.json: %s" % answer[:500].decode())
        return time.monotonic_ns() - start

    def delays(self, request):
        """The samples of pings to berthd while somebody asks berth-history, or nobody (None), again and again."""
        ends = []

        def ask():
            with self.connect(self.kept) as connection:
                while not ends:
                    connection.sendall(request.encode() + b"\n")
                    read_answer(connection)

        with self.connect(self.socket) as connection, open(
            "/proc/%d/task/%d/schedstat" % ((self.server.process.pid,) * 2), "rb", buffering=0
        ) as schedule:
            asker = threading.Thread(target=ask) if request else None
            if asker:
                asker.start()
            try:
                end = time.monotonic() + ASKED_FOR
                return Sampler(connection, schedule).samples(
                    lambda: connection.sendall(b"ping\n") or connection.recv(4096), lambda n: time.monotonic() < end)
            finally:
                ends.append(True)
                if asker:
                    asker.join()

    def quickly(self):
        """How many leases have ended, how many of them are kept, how many are said to be missing; and how many seconds
        that took."""
        self.clear()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket + ".history")  # of the berthd before
        with self.berthd(), self.keeper() as path, self.connect(self.socket) as connection:
            batch, begun = RATE // 50, time.monotonic()
            for i in range(SECONDS * 50):
                self.begin_and_end(connection, ["acquire %s" % name_of(n) for n in range(batch)])
                time.sleep(max(0, begun + (i + 1) / 50 - time.monotonic()))
            took = time.monotonic() - begun
            kept, missing = self.count(path)
            return SECONDS * RATE, kept, missing, took

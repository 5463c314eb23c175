"""The processes of a measurement: servers that report when they serve, jobs that take over from
each other, and the programs of this folder."""

import contextlib
import os
import resource
import select
import shutil
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE = 60  # seconds, for any wait
MANY = 10_000  # waiters, connections, resources

CONFIGURATION = """
[daemon]
socket = {socket}
max-clients-per-user = 1000000
max-waiters-per-user = 1000000
max-leases-per-user = 1000000
[lock job]
[semaphore slots]
limit = 1000
[semaphore crowd]
limit = 1000000
[lock few]
[lock many]
max-waiters = 1000000
"""


class Trouble(Exception):
    """Something could not be measured; the text says what."""


def read_before_deadline(fd):
    if not select.select([fd], [], [], DEADLINE)[0]:
        raise Trouble("a program said nothing for %d s" % DEADLINE)
    return os.read(fd, 65536)


def wait_until(condition):
    """For events that no descriptor reports: looks again and again, and lets others run meanwhile."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            raise Trouble("something has not come about in %d s" % DEADLINE)
        os.sched_yield()


def pin_to(cpu):
    """Pins to the first CPU that may be used, or to the last one (if there is only one, to that)."""
    cpus = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(cpus[cpu])] if cpu is not None else []


def pin(pinned):
    """Server and client on one CPU: a wake-up across CPUs costs more than the work to be measured."""
    return pin_to(0 if pinned else None)


class Server:
    """A process that reports on a descriptor when it serves. A context."""

    def __init__(self, command, **environ):
        """Appends the number of the ready descriptor to the command."""
        readable, writable = os.pipe()
        started = time.monotonic()
        self.process = subprocess.Popen(
            command + [str(writable)],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[writable],
            env={**os.environ, **environ},
        )
        os.close(writable)
        try:
            is_ready = read_before_deadline(readable)
        except BaseException:
            self.process.kill()
            raise
        finally:
            os.close(readable)
        self.seconds_to_start = time.monotonic() - started
        if not is_ready:
            raise Trouble("%s: %s" % (command[0], self.process.communicate()[1].decode()))

    def memory(self, kind):
        """Bytes of a kind. smaps_rollup counts exactly; VmRSS in `status` is only approximate."""
        with open("/proc/%d/smaps_rollup" % self.process.pid, encoding="ascii") as rollup:
            for line in rollup:
                if line.startswith(kind + ":"):
                    return int(line.split()[1]) * 1024
        raise Trouble("no %s in smaps_rollup" % kind)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


class Chain:
    """Jobs that take over from each other: each prints when it began, stays until its standard
    input ends, and prints when that was (stamp.c). A context; the first job runs at its
    beginning."""

    def __init__(self, command, has_waiter):
        self.command = command
        self.has_waiter = has_waiter

    def start(self):
        return subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    def hand_over(self):
        """Nanoseconds from the end of one job to the start of the next, which was waiting."""
        before, self.holder = self.holder, self.start()
        try:
            wait_until(self.has_waiter)
        finally:
            before.stdin.close()
        started = read_before_deadline(self.holder.stdout.fileno())
        ended = read_before_deadline(before.stdout.fileno())
        self.see_end_of(before)
        return int(started) - int(ended)

    def see_end_of(self, job):
        job.stdout.close()
        try:
            status = job.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            job.kill()
            status = job.wait()
        if status != 0:
            raise Trouble("%s: status %d" % (self.command[0], status))

    def __enter__(self):
        self.holder = self.start()
        read_before_deadline(self.holder.stdout.fileno())
        return self

    def __exit__(self, *_):
        self.holder.stdin.close()
        read_before_deadline(self.holder.stdout.fileno())
        self.see_end_of(self.holder)


class Bench:
    """What is measured, and a private directory for it."""

    configuration = CONFIGURATION

    def __init__(self, build, directory):
        self.build = build
        self.directory = directory
        self.socket = os.path.join(directory, "berth.sock")
        self.echo_socket = os.path.join(directory, "echo.sock")
        self.lock_file = os.path.join(directory, "lock")
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        self.many = min(MANY, files - 256) if files != resource.RLIM_INFINITY else MANY

    @property
    def remarks(self):
        """Conditions that impair a measurement."""
        if self.many < MANY:
            yield "%d in place of %d: no more files may be open" % (self.many, MANY)

    def program(self, name):
        return os.path.join(self.build, name)

    def start_berthd(self, program, socket, more, pinned):
        path = socket + ".conf"
        with open(path, "w", encoding="ascii") as file:
            file.write(self.configuration.format(socket=socket) + more)
        # No client comes back from the last measurement.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(socket + ".journal")
        shutil.rmtree(os.path.join(self.directory, "state"), ignore_errors=True)
        server = Server(
            pin(pinned) + [self.program(program), "-c", path, "--ready-fd"],
            STATE_DIRECTORY=os.path.join(self.directory, "state"),
        )
        server.socket = socket
        return server

    def berthd(self, more="", pinned=False):
        """A berthd with the configuration and `more`."""
        return self.start_berthd("berthd", self.socket, more, pinned)

    def berthd_unwritten(self, pinned=False):
        """A berthd that writes nothing down."""
        socket = os.path.join(self.directory, "unwritten.sock")
        return self.start_berthd("bench/berthd-unwritten", socket, "", pinned)

    def echo(self, pinned=False):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.echo_socket)
        return Server(pin(pinned) + [self.program("bench/echo"), self.echo_socket])

    def berth_run(self, *command):
        return [self.program("berth"), "run", "-S", self.socket, "job", "--", *command]

    def flock(self, *command):
        return ["flock", self.lock_file, *command]

    def samples(self, name, *arguments, pinned=False):
        """The output of a program of this folder: its columns of numbers."""
        program = [sys.executable, os.path.join(HERE, name)] if name.endswith(".py") else [self.program("bench/" + name)]
        command = pin(pinned) + program + [str(a) for a in arguments]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE, check=False
        )
        if done.returncode != 0:
            raise Trouble(done.stderr.decode().strip() or "%s failed" % name)
        rows = [map(int, line.split()) for line in done.stdout.decode().splitlines()]
        return [list(column) for column in zip(*rows)]

    def connect(self, path):
        """Not settimeout() alone, which would not wait while the queue of connections is full."""
        connection = socket.socket(socket.AF_UNIX)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", DEADLINE, 0))
        connection.connect(path)
        connection.settimeout(DEADLINE)
        return connection

    def flock_has_waiter(self):
        """A function that says whether a process waits for the lock file."""
        open(self.lock_file, "a", encoding="ascii").close()
        inode = os.stat(self.lock_file).st_ino

        def has_waiter():
            with open("/proc/locks", encoding="ascii") as locks:
                return any("->" in line and ":%d " % inode in line for line in locks)

        return has_waiter

    def berth_has_waiter(self, connection):
        """The same for berthd's lock `job`."""

        def has_waiter():
            connection.sendall(b"status job\n")
            answer = b""
            while not answer.endswith(b"\nend\n"):
                answer += connection.recv(65536)
            return b" waiting=1 " in answer.replace(b"\n", b" ")

        return has_waiter

"""For the tests of what must not be lost: crowds of wrappers with witnesses for jobs, chance that
can be replayed, namespaces, and waiting for what berthd tells only when asked."""

import contextlib
import ctypes
import os
import pathlib
import select
import signal
import socket
import subprocess
import time

import pytest

from conftest import read_line
from daemon_help import SANITIZED, Status, become, held, in_child, must_end_well
from lines import DEADLINE, Client, LineSocket
from witness import Witness

# A sanitized build does a quarter of what is done a hundred times, unless the variable sets a
# scale.
SCALE = float(os.environ.get("BERTH_TEST_SCALE", 0.25 if SANITIZED else 1))


def scaled(n):
    return max(int(n * SCALE), 1)


@pytest.fixture
def witness(directory):
    witness = Witness(directory)
    yield witness
    witness.let_all_go()
    witness.close()


class Crowd:
    """Many `berth run s -- witness_job`, which print nothing."""

    def __init__(self, berth, witness, stderr):
        self.berth, self.witness = berth, witness
        self.stderr = stderr
        self.wrappers = {}  # number: Popen

    def start(self, number, *options, **popen):
        with open(self.stderr, "ab") as stderr:
            self.wrappers[number] = self.berth.start(
                "run", "-q", "--if-down", "wait", *options, "s", "--", *self.witness.job(number),
                stdout=subprocess.DEVNULL, stderr=stderr, **popen)
        return self.wrappers[number]

    def must_end_well(self):
        for number, wrapper in self.wrappers.items():
            assert wrapper.wait(DEADLINE) == 0, f"wrapper {number}: {self.said()}"
        assert self.said() == ""

    def said(self):
        return pathlib.Path(self.stderr).read_text()


def restart(daemon, how):
    """how: "kill" or "stop"."""
    getattr(daemon, how)()
    daemon.start()


def after_restart(daemon, how):
    """The same; returns a client of the new one."""
    restart(daemon, how)
    return daemon.client()


def asked_until(daemon, is_so, *names):
    """The first `status` that is_so(), asked for again and again."""
    end = time.monotonic() + DEADLINE
    client = daemon.client()
    while True:
        now = Status(client.lines(" ".join(["status", *names])))
        if is_so(now):
            return now
        assert time.monotonic() < end, vars(now)
        select.select([client.socket], [], [], 0.01)  # nothing more comes: not too fast


def all_back(held, waiting):
    """For asked_until: there are n, and each has its connection."""
    def is_so(now):
        everybody = [one for resource in now.resources.values()
                     for one in resource["holders"] + resource["waiters"]]
        return (now.held, now.waiting) == (held, waiting) and not any(
            one.get("away") == "1" for one in everybody)
    return is_so


def all_free(now):
    return (now.held, now.waiting) == (0, 0) and all(
        resource["free"] == resource["limit"] for resource in now.resources.values())


# ---- a job and its group

# Two processes of one group; they end by a signal, or with the tests.
STAYS = "cat /dev/fd/$LEASH & echo runs $$ $!; wait"
STUBBORN = f"trap '' TERM INT HUP; {STAYS}"
# One process that ends when the test writes a line.
WAITS = "echo runs $$; read line"

leash, hand = os.pipe()


def main_is_gone(now, name, wrapper):
    """The job's main process has ended, and the wrapper with that pid keeps the lease."""
    holder, = now.resources[name]["holders"]
    return holder["pid"] == str(wrapper)


class Job:
    """`berth run` with a script that prints "runs" and the pids of its processes."""

    def __init__(self, berth, *args, script=STAYS):
        self.stderr = berth.directory / f"said.{len(berth.started)}"  # what stays alive keeps it open
        with open(self.stderr, "wb") as stderr:
            self.wrapper = berth.start(
                "run", *args, "--", "sh", "-c", script, stdin=subprocess.PIPE, stderr=stderr,
                pass_fds=[leash], env={"LEASH": str(leash)})
        word, *pids = read_line(self.wrapper.stdout).split()
        assert word == "runs"
        self.pids = [int(pid) for pid in pids]
        self.pidfds = [os.pidfd_open(pid) for pid in self.pids]

    def is_alive(self):
        """Whether any process is."""
        return len(select.select(self.pidfds, [], [], 0)[0]) < len(self.pidfds)

    def end(self):
        """Waits until all its processes are gone."""
        for fd in self.pidfds:
            assert select.select([fd], [], [], DEADLINE)[0], "the job runs on"

    def answer(self):
        """Sends the line that WAITS waits for."""
        self.wrapper.stdin.write(b"\n")
        self.wrapper.stdin.flush()

    def kill_wrapper(self):
        self.wrapper.kill()
        self.wrapper.wait()

    def wait(self):
        """The wrapper's status, and its messages."""
        return self.wrapper.wait(DEADLINE), self.stderr.read_text()

    def close(self):
        for fd in self.pidfds:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
            os.close(fd)


@pytest.fixture
def job(berth):
    """job(arguments of berth run…, script=…): a running job. Nothing outlives the test."""
    jobs = []

    def start(*args, **options):
        jobs.append(Job(berth, *args, **options))
        return jobs[-1]

    yield start
    for one in jobs:
        one.close()


def stop_process(process):
    """SIGSTOP, and wait until it has stopped."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


# ---- a lease that outlives berthd

@contextlib.contextmanager
def held_over_a_kill(daemon, name):
    """A process has a lease of that resource while berthd is killed and started. Yields a client of the
    new one, the lease, and the pid."""
    with sleeper() as pid:
        lease = held(daemon.client(), f"acquire {name} pid={pid}")
        yield after_restart(daemon, "kill"), lease, pid


# ---- namespaces

CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_RDONLY, MS_BIND, MS_REC, MS_PRIVATE = 0x1, 0x1000, 0x4000, 0x40000

libc = ctypes.CDLL(None, use_errno=True)


def call(function, *args):
    if function(*args) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def mount(source, target, kind=None, flags=0, options=None):
    call(libc.mount, *(os.fsencode(word) if word is not None else None
                       for word in (source, target, kind)), ctypes.c_ulong(flags),
         options.encode() if options else None)


def with_own_mounts(work):
    """work() in a child with its own mounts, which end with it."""
    def child():
        call(libc.unshare, CLONE_NEWNS)
        mount(None, "/", flags=MS_REC | MS_PRIVATE)
        work()
    must_end_well(in_child(child))


def with_own_pids(work):
    """work() as process 1 of its own namespace: its children end with it."""
    def parent():
        call(libc.unshare, CLONE_NEWNS | CLONE_NEWPID)
        mount(None, "/", flags=MS_REC | MS_PRIVATE)

        def first():
            mount("proc", "/proc", "proc")
            work()

        must_end_well(in_child(first))
    must_end_well(in_child(parent))


def works(probe):
    """Whether it ends well, in a child that prints nothing."""
    def child():
        nowhere = os.open("/dev/null", os.O_WRONLY)
        os.dup2(nowhere, 2)
        probe()
    return os.waitstatus_to_exitcode(os.waitpid(in_child(child), 0)[1]) == 0


def choose_a_pid():
    pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text("100")


needs_mounts = pytest.mark.skipif(
    not works(lambda: with_own_mounts(lambda: None)), reason="may not have mounts of its own")
needs_pids = pytest.mark.skipif(
    not works(lambda: with_own_pids(choose_a_pid)), reason="may not choose the numbers of processes")


# ---- a boot

BOOTS = [f"{n:08x}-0000-4000-8000-000000000000" for n in range(4)]


def set_boot_id(directory, boot_id):
    """In our mounts only, the machine has been rebooted."""
    path = directory / "boot_id"
    path.write_text(boot_id + "\n")
    mount(path, "/proc/sys/kernel/random/boot_id", flags=MS_BIND)


def reboot(directory, daemon, boot_id, journal_is_left):
    daemon.kill()
    for client in daemon.clients:
        client.close()
    set_boot_id(directory, boot_id)
    if not journal_is_left:
        daemon.journal.unlink()
    daemon.start()


# ---- processes

def read_byte(fd):
    """b"" at the end."""
    assert select.select([fd], [], [], DEADLINE)[0], "nothing came"
    return os.read(fd, 1)


@contextlib.contextmanager
def sleeper(before=lambda: None):
    """A process that does nothing after before(); yields its pid. It ends with the block."""
    ready, notify = os.pipe()

    def work():
        before()
        os.write(notify, b"x")
        os.closerange(3, 4096)  # no connection of ours stays open in it
        signal.pause()

    pid = in_child(work)
    os.close(notify)
    try:
        assert read_byte(ready) == b"x"
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(ready)


@contextlib.contextmanager
def living_as(daemon, uid, gid=None):
    """A connection of another user's process, which lives as long as the block: only a living
    process may name processes. (That of connect_as() is the test.)"""
    here, there = socket.socketpair()

    def connect():
        become(uid, gid)
        client = Client(daemon.socket)
        socket.send_fds(there, [b"x"], [client.socket.fileno()])

    with sleeper(connect):
        _, (fd,), _, _ = socket.recv_fds(here, 1, 1)
        client = LineSocket(socket.socket(fileno=fd))
        daemon.clients.append(client)
        yield client
    here.close()
    there.close()


def lose_the_journal(daemon):
    daemon.kill()
    daemon.journal.unlink()
    daemon.start()

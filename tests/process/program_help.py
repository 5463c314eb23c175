"""Programs: processes of their own that connect, and what berthd tells them."""

import contextlib
import os
import signal
import socket
import time

import pytest

from daemon_help import in_child, keys
from lines import DEADLINE, Client, LineSocket


class Program:
    """A process that connects on request, and hands its socket to the test: a child of it
    that has inherited the socket. A signal ends it."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.here, there = socket.socketpair()
        self.here.settimeout(DEADLINE)
        self.pid = in_child(lambda: self.work(there))
        there.close()

    def work(self, there):
        there = socket.socket(fileno=os.dup2(there.fileno(), 3, False))
        os.closerange(4, 4096)
        while there.recv(1):
            with Client(self.daemon.socket).socket as connection:
                socket.send_fds(there, [b"x"], [connection.fileno()])

    def connect(self):
        self.here.send(b"c")
        _, (fd,), _, _ = socket.recv_fds(self.here, 1, 1)
        client = LineSocket(socket.socket(fileno=fd))
        self.daemon.clients.append(client)
        return client

    def lives(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)


@contextlib.contextmanager
def programs(daemon):
    """Yields a function that starts one more; all end with the block."""
    with contextlib.ExitStack() as stack:
        def start():
            one = Program(daemon)
            stack.callback(os.waitpid, one.pid, 0)
            stack.callback(one.end)
            stack.callback(one.here.close)
            return one
        yield start


@pytest.fixture
def program(daemon):
    """program() starts one more."""
    with programs(daemon) as start:
        yield start


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def told(client, lease):
    """(gone by, stop by) of the next event, which is about that lease."""
    star, kind, whose, gone, stop = client.line().split()
    assert (star, kind, whose) == ("*", "deadline", lease)
    return int(gone), int(keys([stop])["stop"])

"""A berthd with 10 000 leases and 10 000 waiters, 20 who follow, somebody who changes something all
the time, and somebody whose requests are measured."""

import contextlib
import mmap
import os
import select
import signal
import socket
import struct

from look_processes import LookBench, ask_at_once

READERS, SLOW_BYTES = 18, 512  # and one that reads so much at a time, and one that is stopped
ROUNDS, SAMPLES = 5, 2000
PAIRS_AT_ONCE = 20


def follow(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.sendall(b"watch\n")
    connection.recv(1)
    return connection


class WatchBench(LookBench):
    n_readers = READERS

    def __init__(self, build, directory):
        super().__init__(build, directory)
        self.told_so_far = mmap.mmap(-1, 8)  # shared with the readers

    @property
    def told(self):
        return struct.unpack("q", self.told_so_far[:])[0]

    @contextlib.contextmanager
    def process(self, work):
        """A process on the second CPU, which does work(descriptor) until the end of the block; the block
        begins when it has written to that."""
        ready, to_ready = os.pipe()
        process = os.fork()
        if process == 0:
            try:
                os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
                work(to_ready)
            finally:
                os._exit(1)
        os.close(to_ready)
        os.read(ready, 1)
        try:
            yield
        finally:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(ready)

    def reads(self, ready):
        """The readers, and the slow one, which has a turn when the others have had theirs."""
        readers = [follow(self.socket) for _ in range(READERS)]
        slow = follow(self.socket)
        os.write(ready, b"x")
        while True:
            for reader in select.select(readers, [], [])[0]:
                self.told_so_far[:] = struct.pack("q", self.told + len(reader.recv(1 << 20)))
            if select.select([slow], [], [], 0)[0]:
                slow.recv(SLOW_BYTES)

    def stops(self, ready):
        connection = follow(self.socket)
        os.write(ready, b"x")
        os.kill(os.getpid(), signal.SIGSTOP)
        connection.close()

    def moves(self, ready):
        with self.connect(self.socket) as connection:
            os.write(ready, b"x")
            while True:
                answers = ask_at_once(connection, ["acquire slots program=job"] * PAIRS_AT_ONCE)
                ask_at_once(connection, ["release " + answer.split()[1] for answer in answers])

    def delays(self, request):
        """(rounds with followers, rounds without): in each, the samples of that request."""
        followed, alone = [], []
        with self.sampler() as sampler:

            def pair():
                sampler.ask(b"release %s\n" % sampler.ask(b"acquire slots\n").split()[1])

            def ping():
                sampler.ask(b"ping\n")

            def samples():
                return sampler.samples(pair if request == "pair" else ping, lambda n: n < SAMPLES)

            for _ in range(ROUNDS):
                with self.process(self.moves):
                    alone.append(samples())
                    with self.process(self.reads), self.process(self.stops):
                        followed.append(samples())
        return followed, alone

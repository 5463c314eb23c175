"""A berthd with 10 000 leases and 10 000 waiters, somebody who looks, and somebody who sends pings."""

import contextlib
import os
import signal
import time

from processes import MANY, Bench, Trouble

# Half of the leases and of the waiters are on one resource, the others on instances of a template.
# Users are not slowed down: all requests here are one user's.
CONFIGURATION = """
[daemon]
socket = {socket}
max-clients-per-user = 1000000
max-waiters-per-user = 1000000
max-leases-per-user = 1000000
max-instances-per-user = 1000000
max-requests-per-second-per-user = unbounded
history = 32M
[semaphore slots]
limit = 1000
[semaphore crowd]
limit = %d
max-waiters = 1000000
[lock market/*]
max-instances = 1000000
""" % (MANY // 2) + "".join("[lock other-%d]\n" % i for i in range(200))

AT_ONCE = 500  # requests on their way
ROUNDS, LOOKS = 5, 4  # each round has so many answers to the request
PINGS = 200  # at least, in each round


def read_answer(connection):
    """An answer of several lines, or an error; returns its first bytes."""
    first = last = connection.recv(65536)
    while not (last.endswith(b"\nend\n") or first.startswith(b"error ") and last.endswith(b"\n")):
        last = (last + connection.recv(65536))[-65536:]
    return first


def ask_at_once(connection, requests):
    """Returns their answers."""
    connection.sendall("".join(request + "\n" for request in requests).encode())
    answers = b""
    while answers.count(b"\n") < len(requests):
        answers += connection.recv(65536)
    answers = answers.decode().splitlines()
    for answer in answers:
        if not answer.startswith(("ok", "waiting ")):
            raise Trouble("a request is refused: %s" % answer)
    return answers


def look(connection, request):
    """All answers to the request: `next=` in one names the next."""
    following = request
    while following:
        connection.sendall(following.encode() + b"\n")
        first = read_answer(connection).split(b"\n")[0].decode()
        if not first.startswith("ok"):
            raise Trouble("%s: %s" % (request, first))
        more = first.partition(" next=")[2]
        following = more and "%s from=%s" % (request, more)


class Sampler:
    """Measures berthd's answers on a connection. `schedule` has its time on a processor, so that other programs on
    the machine do not count."""

    def __init__(self, connection, schedule):
        self.connection, self.schedule = connection, schedule

    def ask(self, line):
        self.connection.sendall(line)
        return self.connection.recv(4096)

    def worked(self):
        return int(os.pread(self.schedule.fileno(), 64, 0).split()[0])

    def samples(self, work, goes_on):
        """(how long berthd has worked, how long it was by the clock) for each work(), in nanoseconds, as long as
        goes_on(how many there are)."""
        samples = []
        mine = os.sched_getaffinity(0)
        # berthd's processor: whenever this runs, berthd does not, and its time is exact.
        os.sched_setaffinity(0, {min(mine)})
        try:
            while goes_on(len(samples)):
                before, start = self.worked(), time.monotonic_ns()
                work()
                end = time.monotonic_ns()
                samples.append((self.worked() - before, end - start))
        finally:
            os.sched_setaffinity(0, mine)
        return samples


class LookBench(Bench):
    configuration = CONFIGURATION

    def __init__(self, build, directory):
        super().__init__(build, directory)
        if len(os.sched_getaffinity(0)) < 2:
            raise Trouble("needs two CPUs")
        self.measured = {}

    def fill(self, connection):
        for _ in range(0, MANY, AT_ONCE):
            answers = ask_at_once(connection, ["acquire slots program=job reason=nightly"] * AT_ONCE)
            ask_at_once(connection, ["release " + answer.split()[1] for answer in answers])
        requests = ["acquire crowd"] * MANY + ["acquire market/%d" % (i // 2) for i in range(MANY)]
        for i in range(0, len(requests), AT_ONCE):
            ask_at_once(connection, requests[i : i + AT_ONCE])

    @contextlib.contextmanager
    def looker(self, request):
        """A process on the second CPU that asks LOOKS times, then ends; the block gets a function that
        says whether it is still at it. None: it asks nothing."""
        cpus = sorted(os.sched_getaffinity(0))
        process = os.fork()
        if process == 0:
            status = 1
            try:
                os.sched_setaffinity(0, {cpus[-1]})
                with self.connect(self.socket) as connection:
                    for _ in range(LOOKS if request else 0):
                        look(connection, request)
                status = 0
            finally:
                os._exit(status)
        ended = []

        def is_at_it():
            if not ended:
                pid, status = os.waitpid(process, os.WNOHANG)
                ended.extend([status] if pid else [])
            return not ended

        try:
            yield is_at_it
        finally:
            if is_at_it():
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
        if ended[0] != 0:
            raise Trouble("%s: no answer" % request)

    @contextlib.contextmanager
    def sampler(self):
        """Of a berthd that has all leases and waiters."""
        with self.berthd(pinned=True) as server, self.connect(self.socket) as crowd:
            self.fill(crowd)
            with self.connect(self.socket) as connection, open(
                "/proc/%d/task/%d/schedstat" % ((server.process.pid,) * 2), "rb", buffering=0
            ) as schedule:
                yield Sampler(connection, schedule)

    def delays(self, request):
        """Round by round, the samples of pings while somebody makes the request."""
        rounds = []
        with self.sampler() as sampler:
            for _ in range(ROUNDS):
                with self.looker(request) as is_at_it:
                    rounds.append(sampler.samples(
                        lambda: sampler.ask(b"ping\n"), lambda n: n < PINGS or is_at_it()))
        return rounds

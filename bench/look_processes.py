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
[semaphore crowd]
limit = %d
max-waiters = 1000000
[lock market/*]
max-instances = 1000000
""" % (MANY // 2) + "".join("[lock other-%d]\n" % i for i in range(200))

AT_ONCE = 500  # requests on their way
LOOKS = 20  # answers to each request


def read_answer(connection):
    """An answer of several lines, or an error; returns its first bytes."""
    first = last = connection.recv(65536)
    while not (last.endswith(b"\nend\n") or first.startswith(b"error ") and last.endswith(b"\n")):
        last = (last + connection.recv(65536))[-65536:]
    return first


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


class LookBench(Bench):
    configuration = CONFIGURATION

    def __init__(self, build, directory):
        super().__init__(build, directory)
        if len(os.sched_getaffinity(0)) < 2:
            raise Trouble("needs two CPUs")
        self.measured = {}

    def fill(self, connection):
        requests = ["acquire crowd\n"] * MANY + ["acquire market/%d\n" % (i // 2) for i in range(MANY)]
        for i in range(0, len(requests), AT_ONCE):
            connection.sendall("".join(requests[i : i + AT_ONCE]).encode())
            answers = b""
            while answers.count(b"\n") < AT_ONCE:
                answers += connection.recv(65536)
            if answers.count(b"ok ") + answers.count(b"waiting ") != AT_ONCE:
                raise Trouble("a request is refused: %s" % answers[:200])

    @contextlib.contextmanager
    def looker(self, request):
        """A process on the second CPU that asks LOOKS times, then ends; the block gets a function that
        says whether it is still at it. None: it asks nothing, and ends after as many pings."""
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

    def delays(self, request):
        """(how long berthd has worked, how long it was by the clock) until each ping was answered, in
        nanoseconds, while somebody makes the request; and how many answers there were. The work is
        berthd's time on a processor, so that other programs on the machine do not count."""
        samples = []
        with self.berthd(pinned=True) as server, self.connect(self.socket) as crowd:
            self.fill(crowd)
            mine = os.sched_getaffinity(0)
            with self.connect(self.socket) as connection, open(
                "/proc/%d/task/%d/schedstat" % ((server.process.pid,) * 2), "rb", buffering=0
            ) as schedule:

                def worked():
                    return int(os.pread(schedule.fileno(), 64, 0).split()[0])

                def ping():
                    before, start = worked(), time.monotonic_ns()
                    connection.sendall(b"ping\n")
                    connection.recv(64)
                    end = time.monotonic_ns()
                    samples.append((worked() - before, end - start))

                with self.looker(request) as is_at_it:
                    # berthd's processor: whenever this runs, berthd does not, and its time is exact.
                    os.sched_setaffinity(0, {min(mine)})
                    try:
                        while is_at_it() or len(samples) < 1000:
                            ping()
                    finally:
                        os.sched_setaffinity(0, mine)
        return samples, LOOKS

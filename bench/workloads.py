"""The work that bench/instructions gives berthd. A workload is a generator: it prepares, yields,
does what is counted, and returns how often it did it. Requests, names and keys are always the
same; only ids and process ids differ."""

import itertools
import os
import subprocess

WAITERS = 1000
HOLDERS = 500
IN_FLIGHT = 16

# The tables' sizes are powers of two: these limits are far from where a table grows.
CONFIGURATION = """
[daemon]
socket = {socket}
max-clients-per-user = 1000000
max-waiters-per-user = 1000000
max-leases-per-user = 1000000
max-requests-per-second-per-user = unbounded
history = {history}
[semaphore slots]
limit = 1000
[semaphore shown]
limit = 1000
[lock queue]
max-waiters = 1000000
[lock job]
"""


class Client:
    """A connection; each request's answer is read before the next one is sent."""

    def __init__(self, connection):
        self.connection = connection
        self.lines = connection.makefile("rb")

    def send(self, *requests):
        self.connection.sendall("".join(request + "\n" for request in requests).encode())

    def read(self, expected):
        line = self.lines.readline().decode()
        assert line.startswith(expected), (expected, line)
        return line

    def ask(self, request, expected):
        self.send(request)
        return self.read(expected)

    def close(self):
        self.lines.close()
        self.connection.close()


keys = itertools.count(1)


def acquire(name, pid):
    """As berth run sends it."""
    return "acquire %s:1 program=job once=%016x pid=%d" % (name, next(keys), pid)



def pair(connect):
    """an acquire and its release, one at a time"""
    client = Client(connect())

    def once():
        granted = client.ask(acquire("slots", os.getpid()), "ok ")
        client.ask("release " + granted.split()[1], "ok\n")

    once()
    yield
    for _ in range(300):
        once()
    return 300


def flight(connect):
    """the same, 16 of each at once"""
    client = Client(connect())

    def once():
        client.send(*[acquire("slots", os.getpid()) for _ in range(IN_FLIGHT)])
        leases = [client.read("ok ").split()[1] for _ in range(IN_FLIGHT)]
        client.send(*["release " + lease for lease in leases])
        for _ in leases:
            client.read("ok\n")

    once()
    yield
    for _ in range(20):
        once()
    return 20 * IN_FLIGHT


def handover(connect):
    """a release, the grant to the first of 1000 that wait, and a new request behind them"""
    client = Client(connect())

    def wait():
        return client.ask(acquire("queue", os.getpid()), "waiting ").split()[1]

    holder = client.ask(acquire("queue", os.getpid()), "ok ").split()[1]
    leases = [wait() for _ in range(WAITERS)]
    yield
    for _ in range(200):
        client.send("release " + holder)
        client.read("ok\n")
        holder = leases.pop(0)
        client.read("* granted %s " % holder)
        leases.append(wait())
    return 200


def job(connect):
    """what berthd does for a berth run: a connection, and a lease bound to another process"""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:

        def once():
            client = Client(connect())
            granted = client.ask(acquire("job", process.pid), "ok ")
            client.ask("release " + granted.split()[1], "ok\n")
            client.close()

        once()
        yield
        for _ in range(100):
            once()
        return 100


def status(connect):
    """a status of a resource with 500 holders, counted for each holder"""
    client = Client(connect())
    for _ in range(HOLDERS):
        client.ask(acquire("shown", os.getpid()), "ok ")

    def once():
        client.send("status shown")
        while client.lines.readline() != b"end\n":
            pass

    once()
    yield
    for _ in range(5):
        once()
    return 5 * HOLDERS


# By the size of the history. With one, berthd looks up processes of leases that last, some time
# later and perhaps in another workload: not where leases last.
BY_HISTORY = {"2M": [pair, flight, job], "0": [handover, status]}
WORKLOADS = [workload for some in BY_HISTORY.values() for workload in some]

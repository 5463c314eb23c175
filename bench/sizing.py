"""What a fleet costs its Redis: simulated daemons, each with its own connections, and what a
session, a lease and a waiter need there. For information, and for the tables of doc/servers.md."""

import functools
import os
import socket
import subprocess

from fleet_processes import DB, PREFIX
from processes import DEADLINE, Trouble

HERE = os.path.dirname(os.path.abspath(__file__))
KEY_WORDS = (
    "db sessions session leases owned held users queue aside rest identities definitions changes"
    " events dirty freed news undone kept keeping elsewhere gone history"
).split()
KEYS = ["{%s}:%s" % (PREFIX, word) for word in KEY_WORDS]
DEFINITION = (
    '{"kind":"semaphore","limit":100000,"select":"lru","cooldown":0,"max-waiters":1000000,'
    '"max-units-per-user":0,"shared":false,"items":[]}'
)
NOTHING = "#!lua name=nothing\nredis.register_function('nothing', function() return 0 end)"
COUNTED = 100  # calls of each kind
HISTORY = 10_000  # as in berth.conf
ENDING = "how=released waited=0 held=60000 exit=0"
INFO = "pid=12345 uid=1000 program=nightly-etl host=worker-0123"


def assembled(what):
    """As src/redis/scripts/assemble makes it: "library", or its "name"."""
    tool = os.path.join(HERE, os.pardir, "src", "redis", "scripts", "assemble")
    return subprocess.run([tool, what], stdout=subprocess.PIPE, check=True).stdout.decode().strip()


def command(*words):
    """In RESP, as Redis reads it."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = str(word).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


def lease(lease_id, count=1, name="crowd"):
    """acquire.lua's arguments for one lease."""
    return [lease_id, 0, 0, 0, 1000, 1000, "", INFO, "", 1, name, name, count, 10**6]


class Simulation:
    """Calls the scripts for any number of sessions."""

    def __init__(self, server):
        self.server = server
        self.client = server.client
        self.library = self.client.execute_command("FUNCTION", "LOAD", "REPLACE", assembled("library"))

    def words(self, script, session, incarnation, *words):
        head = ["FCALL", self.library + "_" + script, len(KEYS), *KEYS, "2-2", "0-0"]
        return [*head, "%016x" % session, incarnation, *words]

    def call(self, script, session, incarnation, *words):
        answer = self.client.execute_command(*self.words(script, session, incarnation, *words))
        if answer[0] != "ok":
            raise Trouble("%s is answered by %s" % (script, answer))
        return answer

    def join(self, session):
        host = "worker-%04d" % session
        self.call("hello", session, 1, "begin", 3_600_000, 0, host, 0, 0, 3_600_000, "", "", HISTORY)
        self.call("hello", session, 1, "end", "")

    def open(self):
        """Makes a first session and the definition, and ends the grace."""
        self.join(1)
        self.call("hello", 1, 1, "define", "crowd", 0, DEFINITION)
        self.client.hset(DB, "grace", 1)
        self.call("renew", 1, 1, 0)

    def acquire(self, ids):
        """One call for each lease, as for jobs that come one by one."""
        for each in ids:
            self.call("acquire", 1, 1, *lease(each))


class Daemons:
    """Connections of simulated daemons; each sends the same and reads one answer. A context."""

    def __init__(self, server, n):
        self.connections = []
        for _ in range(n):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(server.socket)
            connection.settimeout(DEADLINE)
            self.connections.append(connection)
        self.n_sent = self.n_received = self.n = 0

    def send(self, connection, request):
        connection.sendall(request)
        answer = connection.recv(65536)
        if answer[:1] == b"-" or not answer.endswith(b"\r\n"):
            raise Trouble("%s is answered by %s" % (request, answer))
        self.n += 1
        self.n_sent += len(request)
        self.n_received += len(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for connection in self.connections:
            connection.close()


def cost_of(server, daemons, requests, rounds):
    """Microseconds of Redis' CPU for each daemon (system calls and all), and bytes there and back."""
    before = server.cpu_seconds()
    for _ in range(rounds):
        for connection, request in zip(daemons.connections, requests):
            daemons.send(connection, request)
    used = (server.cpu_seconds() - before) / daemons.n
    return used * 1e6, daemons.n_sent / daemons.n, daemons.n_received / daemons.n


def renewals(bench, n, rounds):
    with bench.redis() as server:
        simulation = Simulation(server)
        simulation.open()
        for session in range(2, n + 1):
            simulation.join(session)
        requests = [command(*simulation.words("renew", i, 1, 0)) for i in range(1, n + 1)]
        with Daemons(server, n) as daemons:
            renewal = cost_of(server, daemons, requests, rounds)
            inside = simulation.server.calls("fcall")[1]
        with Daemons(server, n) as daemons:
            ping = cost_of(server, daemons, [command("PING")] * n, rounds)
    return (
        "%.0f µs of Redis' CPU (%.0f in the script), %.0f + %.0f B; a heartbeat %.0f µs"
        % (renewal[0], inside, renewal[1], renewal[2], ping[0])
    )


def renewals_100(bench):
    """A renewal by each of 100 simulated daemons, with their own connections: Redis' CPU for all it
    does, bytes there and back; and a heartbeat of the connection for messages."""
    return renewals(bench, 100, 50)


def renewals_1000(bench):
    """The same with 1000."""
    return renewals(bench, 1000, 5)


def renewals_5000(bench):
    """The same with 5000, or as many as open files allow."""
    return renewals(bench, min(5000, bench.many // 2), 2)


def with_scripts(bench, measure):
    with bench.redis() as server:
        simulation = Simulation(server)
        simulation.open()
        return measure(server, simulation)


def script_cost(server, simulation, calls):
    server.client.config_resetstat()
    calls(simulation)
    return server.calls("fcall")[1]


def definition_of_pool(n):
    items = ",".join('"item%d"' % i for i in range(n))
    return DEFINITION.replace('"items":[]', '"items":[%s]' % items).replace("semaphore", "pool")


@functools.cache
def inside(bench):
    """{what: Redis' instructions}, one call at a time, 300 leases held."""
    costs = {}
    with bench.counted_redis() as server:
        simulation = Simulation(server)
        simulation.open()
        simulation.acquire("held%d" % i for i in range(300))
        for n in (50, 5000):
            simulation.call("hello", 1, 1, "define", "p%d" % n, 0, definition_of_pool(n))
        for name in ("crowd", "p50", "p5000"):
            def acquire(i, name=name):
                simulation.call("acquire", 1, 1, *lease("%s.%d" % (name, i), 1, name))

            def release(i, name=name):
                simulation.call("release", 1, 1, "%s.%d %s" % (name, i, ENDING))

            acquire(COUNTED), release(COUNTED)  # the first one makes what later ones find
            n = COUNTED if name == "crowd" else 25  # at most half of a pool
            costs["acquire " + name] = server.instructions(acquire, n)
            costs["release " + name] = server.instructions(release, n)
        costs["renew"] = server.instructions(lambda _: simulation.call("renew", 1, 1, 0), COUNTED)
        simulation.client.execute_command("FUNCTION", "LOAD", NOTHING)
        costs["nothing"] = server.instructions(
            lambda _: simulation.client.execute_command("FCALL", "nothing", 0), COUNTED)
    return costs


def calls(bench):
    """Microseconds inside Redis for an acquire and a release with one lease in a call, and for each
    lease with 32 (acquire) and 100 (release) in a call."""

    def measure(server, simulation):
        def acquire_many(simulation):
            for at in range(0, 3200, 32):
                what = []
                for i in range(at, at + 32):
                    what += lease("m%d" % i)
                simulation.call("acquire", 1, 1, *what)

        def release_many(simulation):
            for at in range(0, 3200, 100):
                simulation.call("release", 1, 1, *("m%d %s" % (i, ENDING) for i in range(at, at + 100)))

        def release_each(simulation):
            for i in range(2000):
                simulation.call("release", 1, 1, "%s %s" % (i, ENDING))

        acquire = script_cost(server, simulation, lambda s: s.acquire(range(2000)))
        release = script_cost(server, simulation, release_each)
        many = script_cost(server, simulation, acquire_many) / 32
        released = script_cost(server, simulation, release_many) / 100
        form = "acquire %.0f µs, release %.0f µs; several in a call: %.0f and %.0f µs"
        return form % (acquire, release, many, released)

    return with_scripts(bench, measure)


def listing(bench):
    """Microseconds inside Redis for each lease that a daemon lists in its hello, 100 in a call."""

    def measure(server, simulation):
        simulation.acquire(range(5000))
        held = simulation.client.execute_command("ZRANGE", "{%s}:held" % PREFIX, 0, -2)  # without "~"
        units = {}
        for member in held:
            _, unit, key = member.split(" ")
            units[key.split("/")[1]] = int(unit)
        rows = []
        for i in range(5000):
            claim = ("crowd", "crowd", 1, 100000, 0, i + 1, units[str(i)])
            rows.append((i, "held", 0, i + 1, 1000, 1000, "", INFO, 1, *claim, 0))

        def list_all(simulation):
            for at in range(0, 5000, 100):
                flat = [word for row in rows[at : at + 100] for word in row]
                simulation.call("hello", 1, 1, "lease", *flat)

        return "%.0f µs" % (script_cost(server, simulation, list_all) / 100)

    return with_scripts(bench, measure)


def memory(bench):
    """Bytes of Redis' memory for each session, lease and waiter."""

    def measure(server, simulation):
        marks = [server.memory()]
        for session in range(2, 2002):
            simulation.join(session)
        marks.append(server.memory())
        simulation.acquire(range(10_000))
        marks.append(server.memory())
        simulation.call("acquire", 1, 1, *lease("the rest", 90_000))
        before = server.memory()
        simulation.acquire(range(20_000, 30_000))
        waiting = server.memory() - before
        session, held = (marks[1] - marks[0]) / 2000, (marks[2] - marks[1]) / 10_000
        return "a session %.0f B, a lease %.0f B, a waiter %.0f B" % (session, held, waiting / 1e4)

    return with_scripts(bench, measure)


INFORMATION = (
    (renewals_100, "a renewal, 100 simulated daemons"),
    (renewals_1000, "a renewal, 1000 simulated daemons"),
    (renewals_5000, "a renewal, 5000 simulated daemons"),
    (calls, "inside Redis"),
    (listing, "inside Redis, a lease listed in a hello"),
    (memory, "memory of Redis"),
)

"""The processes of a measurement in fleet scope: a private Redis, hosts (each a berthd with its own
files), a way between them that counts, and a look at what Redis is asked."""

import collections
import contextlib
import os
import re
import select
import shutil
import socket
import subprocess
import threading

import redis

from processes import (
    DEADLINE, Bench, Chain, Server, Trouble, pin_to, read_before_deadline, wait_until)
from redis_program import REDIS_SERVER

PREFIX = "bench"
SESSIONS = "{%s}:sessions" % PREFIX
SESSION = "{%s}:session" % PREFIX
QUEUE = "{%s}:queue" % PREFIX
DB = "{%s}:db" % PREFIX

CONFIGURATION = """
[daemon]
socket = {socket}
max-clients-per-user = 1000000
max-waiters-per-user = 1000000
max-leases-per-user = 1000000
[redis]
url = {url}
ttl = {ttl}s
prefix = {prefix}
[lock job]
scope = fleet
[semaphore slots]
scope = fleet
limit = 1000
max-waiters = 100000
[semaphore crowd]
scope = fleet
limit = 100000
[semaphore many/*]
scope = fleet
limit = 100
"""


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Redis:
    """A Redis that keeps nothing on disk of itself; `under`: the command that runs it. A context."""

    def __init__(self, directory, cpu=None, under=(), path=None, options=()):
        self.socket = path or os.path.join(directory, "redis.sock")
        self.port = free_port()
        command = [REDIS_SERVER, "--save", "", "--appendonly", "no", "--maxclients", "20064", *options]
        command += ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", directory]
        self.process = subprocess.Popen(
            [*pin_to(cpu), *under, *command] + ["--unixsocket", self.socket],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        said = b""
        while b"Ready to accept connections" not in said or not os.path.exists(self.socket):
            more = read_before_deadline(self.process.stdout.fileno())
            said += more
            if not more:
                raise Trouble("%s: %s" % (REDIS_SERVER, said.decode(errors="replace")))
        self.client = redis.Redis(
            unix_socket_path=self.socket, decode_responses=True, socket_timeout=DEADLINE
        )

    @property
    def url(self):
        return "unix://" + self.socket

    @property
    def tcp_url(self):
        return "redis://127.0.0.1:%d" % self.port

    def cpu_seconds(self):
        info = self.client.info("cpu")
        return info["used_cpu_sys"] + info["used_cpu_user"]

    def memory(self):
        return self.client.info("memory")["used_memory"]

    def calls(self, command):
        """How many calls there were, and microseconds for each."""
        stats = self.client.info("commandstats").get("cmdstat_" + command)
        return (stats["calls"], stats["usec_per_call"]) if stats else (0, 0.0)

    def wait_for_hosts(self, n):
        """Waits until so many daemons have said hello; then ends the grace of the new database by
        hand: no lease can have been held before."""

        def is_listed():
            sessions = self.client.hgetall(SESSION)
            listed = [v for k, v in sessions.items() if ":" not in k and k != "~" and v.split(" ")[3] == "0"]
            return len(listed) >= n

        wait_until(is_listed)
        self.client.hset(DB, "grace", 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()
        self.process.terminate()
        try:
            self.process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


class CountedRedis(Redis):
    """A Redis under callgrind, which counts its instructions: whatever else the machine does, they are the
    same. A context."""

    def __init__(self, directory):
        self.parts = os.path.join(directory, "part")
        messages = "--log-file=" + os.path.join(directory, "messages")
        super().__init__(directory, under=(
            "valgrind", messages, "--tool=callgrind", "--callgrind-out-file=" + self.parts))
        self.client.config_set("hz", 1)  # else what it does by the clock counts on a slow machine
        self.n_parts = 0

    def end_part(self):
        """The instructions since the last part ended."""
        subprocess.run(["callgrind_control", "--dump", str(self.process.pid)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=DEADLINE)
        self.n_parts += 1
        path = "%s.%d" % (self.parts, self.n_parts)
        wait_until(lambda: os.path.exists(path))
        with open(path, encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("summary:"))

    def instructions(self, work, n):
        """For each of n calls of work(i)."""
        self.end_part()
        for i in range(n):
            work(i)
        return self.end_part() / n


class Monitor:
    """What Redis is asked, line by line. A context."""

    LINE = re.compile(r'^\+?[0-9.]+ \[\d+ (\S+)\] "([^"]*)"(.*)$')
    Command = collections.namedtuple("Command", "source word rest")

    def __init__(self, server):
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.settimeout(DEADLINE)
        self.connection.connect(server.socket)
        self.connection.sendall(b"MONITOR\r\n")
        self.file = self.connection.makefile("r", encoding="ascii", errors="replace")
        if self.file.readline() != "+OK\n":
            raise Trouble("MONITOR is not answered")

    def __iter__(self):
        for line in self.file:
            found = self.LINE.match(line.rstrip("\r\n"))
            if not found:
                raise Trouble("MONITOR says %s" % line)
            yield self.Command(found.group(1), found.group(2).lower(), found.group(3))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.connection.close()


class Way:
    """A Unix socket that leads to Redis and counts bytes. A context.

    Renewals come at regular times: `renewals` has, for each, how many bytes had passed on its
    connection before it, in both directions."""

    def __init__(self, directory, server, mark):
        """`mark` identifies a renewal."""
        self.socket = os.path.join(directory, "way.sock")
        self.server = server
        self.mark = mark
        self.renewals = []
        self.renewed = threading.Condition()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.socket)
        self.listener.listen(16)
        self.is_open = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return "unix://" + self.socket

    def run(self):
        peers, sent = {}, {}
        while self.is_open:
            for ready in select.select([self.listener, *peers], [], [], 0.2)[0]:
                if ready is self.listener:
                    client, _ = self.listener.accept()
                    upstream = socket.socket(socket.AF_UNIX)
                    upstream.connect(self.server.socket)
                    peers[client], peers[upstream] = upstream, client
                    sent[client] = sent[upstream] = [0]
                elif ready in peers:
                    self.pass_on(ready, peers, sent)
        for connection in peers:
            connection.close()

    def pass_on(self, source, peers, sent):
        data = b""
        with contextlib.suppress(OSError):
            data = source.recv(1 << 20)
            peers[source].sendall(data)
        if not data:
            peers.pop(peers.pop(source)).close()
            source.close()
            return
        if self.mark in data:
            with self.renewed:
                self.renewals.append(sent[source][0])
                self.renewed.notify_all()
        sent[source][0] += len(data)

    def wait_for_renewals(self, n):
        """Counts from now on: bytes of each of the n periods between the next n + 1 renewals."""
        with self.renewed:
            first = len(self.renewals)
            enough = self.renewed.wait_for(lambda: len(self.renewals) > first + n, DEADLINE)
            if not enough:
                raise Trouble("berthd does not renew")
            counts = self.renewals[first : first + n + 1]
        return [after - before for before, after in zip(counts, counts[1:])]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_open = False
        self.thread.join()
        self.listener.close()


class Client:
    """A connection to a berthd that asks for many leases. A context."""

    def __init__(self, path):
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.settimeout(DEADLINE)
        self.connection.connect(path)
        self.file = self.connection.makefile("rb")

    def acquire(self, names, word):
        """Asks for all, 100 at a time, until each is `* granted` or `* waiting`."""
        leases = []
        for at in range(0, len(names), 100):
            some = names[at : at + 100]
            self.connection.sendall(b"".join(b"acquire %s\n" % name.encode() for name in some))
            n = 0
            while n < len(some):
                words = self.file.readline().split()
                if words[:1] == [b"error"] or words[:2] == [b"*", b"denied"] or not words:
                    raise Trouble("acquire is answered by %s" % words)
                if words[:2] == [b"*", word]:
                    leases.append(words[2])
                    n += 1
        return leases

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.connection.close()


class FleetChain(Chain):
    """Jobs that take over from each other, on one host and the other in turns."""

    def __init__(self, commands, has_waiter):
        super().__init__(commands[0], has_waiter)
        self.commands = commands

    def start(self):
        self.command = self.commands[0]
        self.commands = [*self.commands[1:], self.commands[0]]
        return super().start()


class FleetBench(Bench):
    """What is measured, and a private directory for it."""

    def redis(self, cpu=None):
        return Redis(self.directory, cpu)

    def counted_redis(self):
        return CountedRedis(self.directory)

    def host(self, name, url, ttl=30, cpu=None):
        """A berthd that keeps its leases in that Redis. A context."""
        directory = os.path.join(self.directory, name)
        shutil.rmtree(directory, ignore_errors=True)
        os.mkdir(directory)
        path = os.path.join(directory, "b")
        with open(path + ".conf", "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(socket=path, url=url, ttl=ttl, prefix=PREFIX))
        server = Server(
            pin_to(cpu) + [self.program("berthd"), "-c", path + ".conf", "--ready-fd"],
            STATE_DIRECTORY=os.path.join(directory, "state"),
        )
        server.socket = path
        return server

    def job(self, host, *command):
        return [self.program("berth"), "run", "-S", host.socket, "job", "--", *command]

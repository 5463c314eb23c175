"""The processes of a crowd: simulated daemons in one process, and a Redis of their own that ends and comes back
behind one Unix socket. And how busy that Redis was."""

import contextlib
import os
import resource
import shutil
import subprocess
import threading
import time

import fleet_processes
from processes import DEADLINE, MANY, Bench, Trouble, read_before_deadline, wait_until

PREFIX = "crowd"
DB = "{%s}:db" % PREFIX
TTL = 30  # seconds
SPARE_FILES = 100  # of Redis, besides two connections of each session
SAMPLE = 0.02  # seconds
BUSY = 0.95  # of a sample: Redis had no time left
SLOW = 1000  # µs: shorter calls are not in the SLOWLOG


class Server(fleet_processes.Redis):
    """What it was asked to keep is in its directory."""

    def __init__(self, directory, socket_path, *options):
        os.makedirs(directory, exist_ok=True)
        super().__init__(directory, path=socket_path, options=(
            "--slowlog-log-slower-than", str(SLOW), "--slowlog-max-len", "10000",
            "--tcp-backlog", "4096", "--repl-diskless-sync-delay", "0", *options))

    def look(self):
        """Seconds of its main thread's CPU, scripts' calls, µs in them."""
        info = self.client.info("cpu")
        rows = self.client.info("commandstats")
        scripts = [rows[key] for key in rows if key[8:] in ("evalsha", "eval", "fcall", "fcall_ro")]
        return (
            info["used_cpu_sys_main_thread"] + info["used_cpu_user_main_thread"],
            sum(row["calls"] for row in scripts),
            sum(row["usec"] for row in scripts),
        )

    def longest_call(self):
        """µs; 0: none was slow."""
        rows = self.client.slowlog_get(10000)
        return max((row["duration"] for row in rows), default=0)

    def peak(self):
        """Bytes of memory."""
        return self.client.info("memory")["used_memory_peak"]

    def kill(self):
        self.client.close()
        self.process.kill()
        self.process.communicate()


class Watch:
    """How long a process had more to do than it could. Its CPU may be wanted by others as well: a time
    in which it waits for a CPU counts as one in which it has work. A context."""

    def __init__(self, pid):
        self.path = "/proc/%d/schedstat" % pid
        self.seconds = 0.0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def wanted(self):
        """Seconds that it has run or waited for a CPU."""
        with open(self.path, encoding="ascii") as file:
            run, waited, _ = file.read().split()
        return (int(run) + int(waited)) / 1e9

    def run(self):
        with contextlib.suppress(OSError):  # it has ended
            then, before = time.monotonic(), self.wanted()
            while not self.is_over.wait(SAMPLE):
                now, wanted = time.monotonic(), self.wanted()
                if wanted - before >= BUSY * (now - then):
                    self.seconds += now - then
                then, before = now, wanted

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()


class Sessions:
    """bench/sessions. A context."""

    def __init__(self, program, address, n, leases, ttl):
        self.n = n
        self.process = subprocess.Popen(
            [program, address, str(n), str(leases), str(int(ttl * 1000)), PREFIX],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
        )

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")

    def answer(self):
        line = b""
        while not line.endswith(b"\n"):
            more = read_before_deadline(self.process.stdout.fileno())
            if not more:
                raise Trouble("bench/sessions has ended: %s" % self.process.wait(DEADLINE))
            line += more
        return line.decode().rstrip("\n")

    def wait_for(self, state):
        self.say("await %s" % state)
        try:
            self.answer()
        except Trouble as trouble:
            if self.process.poll() is not None:
                raise
            self.say("look")
            raise Trouble("not %s: %s; %s" % (state, trouble, self.answer())) from None

    def look(self):
        self.say("look")
        line, why = self.answer().split(" why=", 1)
        values = {key: int(value) for key, value in (word.split("=") for word in line.split())}
        return {**values, "why": why}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(DEADLINE)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


class Scene:
    """What one scene has come to."""

    def __init__(self, seconds, busy, cpu, calls, in_calls, longest, peak, sums):
        self.seconds = seconds  # until all sessions were up
        self.busy = busy  # seconds in which Redis had more to do than it could
        self.cpu = cpu  # seconds of Redis' main thread
        self.calls, self.in_calls = calls, in_calls  # and seconds in them
        self.longest = longest  # µs, of a call
        self.peak = peak  # bytes of Redis' memory
        self.sums = sums  # of the sessions

    def __str__(self):
        return (
            "%.1f s; Redis busy for %.1f s, %.2f s of CPU, %.2f of them in %d calls; longest %.1f ms; %.0f MB; %d tries failed; "
            "%d jobs stopped, %d lost" % (
                self.seconds, self.busy, self.cpu, self.in_calls, self.calls, self.longest / 1000,
                self.peak / 1e6, self.sums["tries"], self.sums["stopped"], self.sums["lost"])
        )


class Crowd:
    """So many sessions with a lease each, and their Redis. A context."""

    def __init__(self, program, directory, n, ttl=TTL):
        self.n, self.ttl = n, ttl
        self.socket = os.path.join(directory, "redis.sock")
        self.data = os.path.join(directory, "redis")
        shutil.rmtree(self.data, ignore_errors=True)
        self.stack = contextlib.ExitStack()
        self.server = Server(self.data, self.socket)
        self.stack.callback(lambda: self.server.kill())  # that of then
        self.empty = self.server.client.info("memory")["used_memory"]
        self.sessions = self.stack.enter_context(Sessions(program, self.socket, n, 1, ttl))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    # ---- what jobs allow

    @property
    def patience(self):
        """Seconds from a good renewal until the first job is asked to end (doc/fleet.md, Times)."""
        kill_after = self.ttl / 4
        return 0.84 * self.ttl - 0.25 - kill_after - max(1, kill_after / 3)

    # ---- the scenes

    def until(self, state, begin):
        """Does `begin`, and waits."""
        self.sessions.say("reset")
        self.sessions.look()
        started = time.monotonic()
        begin()
        before = self.server.look()
        with Watch(self.server.process.pid) as watch:
            self.sessions.wait_for(state)
            seconds = time.monotonic() - started
        now = self.server.look()
        cpu, calls, in_calls = (b - a for a, b in zip(before, now))
        longest, peak = self.server.longest_call(), self.server.peak()
        return Scene(seconds, watch.seconds, cpu, calls, in_calls / 1e6, longest, peak, self.sessions.look())

    def connect(self, within=0):
        """To a Redis that knows nobody; all within so many seconds."""
        scene = self.until("up", lambda: self.sessions.say("connect %d" % (within * 1000)))
        self.end_grace()
        self.sessions.say("acquire %d" % self.n)  # a thousand a second: no part of what is measured
        self.sessions.wait_for("held")
        return scene

    def end_grace(self):
        """By hand: what jobs held is listed, and no other can have been held."""
        self.server.client.hset(DB, "grace", 1)

    def memory(self):
        """Bytes of Redis for each session: all; its connections; the rest."""
        info = self.server.client.info("memory")
        total, clients = info["used_memory"] - self.empty, info["mem_clients_normal"]
        return total / self.n, clients / self.n, (total - clients) / self.n

    def idle(self, periods=3):
        """Renewals and heartbeats alone."""
        self.server.client.slowlog_reset()
        return self.until(int(periods * self.n), lambda: None)

    def restart(self, with_data=True):
        if with_data:
            self.server.client.save()
        scene = self.until("up", lambda: self.replace_server(with_data))
        self.end_grace()
        return scene

    def replace_server(self, with_data):
        self.server.kill()
        if not with_data:
            shutil.rmtree(self.data)
        self.server = Server(self.data, self.socket)

    def restart_empty(self):
        return self.restart(with_data=False)

    def failover(self):
        """The server dies; a replica is promoted, and has its address from then on."""
        beside = self.socket + ".replica"
        replica = Server(self.data + ".replica", beside, "--replicaof", "127.0.0.1 %d" % self.server.port)

        def promote():
            self.server.kill()
            replica.client.replicaof("NO", "ONE")
            os.rename(beside, self.socket)
            self.server = replica

        try:
            wait_until(lambda: replica.client.info("replication")["master_link_status"] == "up")
        except BaseException:
            replica.kill()
            raise
        scene = self.until("up", promote)
        self.end_grace()
        return scene


class CrowdBench(Bench):
    """What is measured, and a private directory for it."""

    def __init__(self, build, directory):
        super().__init__(build, directory)
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if files != resource.RLIM_INFINITY:
            self.many = min(MANY, (files - SPARE_FILES) // 2)
        self.measured = {}  # by size: scenes by name, memory, patience
        self.shown = {}  # by size: names of the scenes that are figures already

    def size(self, n):
        return min(n, self.many)

    def measure(self, n):
        program = self.program("bench/sessions")
        with Crowd(program, self.directory, self.size(n)) as crowd:
            scenes = {"connect": crowd.connect(), "idle": crowd.idle(), "memory": crowd.memory()}
            for name in ("restart", "restart_empty", "failover"):
                crowd.idle(1)  # their last renewals are up to a period ago, as at any moment
                scenes[name] = getattr(crowd, name)()
            scenes["patience"] = crowd.patience
        self.measured[n] = scenes

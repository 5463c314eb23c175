"""For the tests of a fleet: private Redis servers whose clock can be stepped, a proxy that
loses chosen requests and answers, and hosts: each a berthd with its own socket, files and rights.

Everything lives below the test's directory; every wait has a deadline; only processes started
here get signals."""

import contextlib
import mmap
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest

redis = pytest.importorskip("redis", reason="needs python3-redis")

from redis.backoff import NoBackoff  # noqa: E402
from redis.retry import Retry  # noqa: E402

from conftest import BUILD, Berthd, Program  # noqa: E402
from daemon_help import SOURCE  # noqa: E402
from gate import with_shim  # noqa: E402
from lines import DEADLINE, until  # noqa: E402
from lost_help import stop_process  # noqa: E402

sys.path.append(str(SOURCE / "scripts"))
from redis_program import REDIS_SERVER, there_is_a_redis  # noqa: E402

needs_redis = pytest.mark.skipif(not there_is_a_redis(), reason=f"needs {REDIS_SERVER}")

SHIM = BUILD / "tests/process/clock_shim.so"


reserved = []


def free_port():
    """On the loopback. It stays bound here, so that nobody else is given it, neither now nor while its
    server is restarted; a server that sets SO_REUSEADDR, as Redis does, may listen on it all the same."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", 0))
    reserved.append(sock)
    return sock.getsockname()[1]


def documented_rights():
    """What doc/fleet.md gives Berth's user, as ACL SETUSER takes it."""
    line = re.search(r"^user berth on >SECRET (.*)$", (SOURCE / "doc/fleet.md").read_text(), re.M)
    return line.group(1).split()


class Clock:
    """The clocks of processes started with .environ: their time of day can be stepped; all of them are fast by `rate`
    (negative: slow)."""
    fields = struct.Struct("qqqq")  # as in clock_shim.c

    def __init__(self, path, rate=0.0):
        self.path = path
        since = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        self.path.write_bytes(self.fields.pack(0, 0, round(rate * 1e6), since))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), self.fields.size)
        self.environ = {"LD_PRELOAD": str(SHIM), "BERTH_CLOCK_FILE": str(path)}

    def shown(self):
        """The offset, and the time that is shown instead of the real one."""
        return self.fields.unpack(self.map)[:2]

    def show(self, offset, instead):
        self.map[:] = self.fields.pack(offset, instead, *self.fields.unpack(self.map)[2:])

    def step(self, seconds):
        """Steps forwards, or backwards."""
        offset, instead = self.shown()
        self.show(round(offset + seconds * 1e6), instead)

    def stand_at(self, milliseconds):
        """Stops the clock; steps still move it."""
        offset, _ = self.shown()
        self.show(offset, milliseconds * 1000)


def client_of(path, **options):
    """A client, on a Unix socket, that sends what it is asked to send, once, and nothing else."""
    if redis.VERSION >= (5,):
        options = {"lib_name": None, "lib_version": None, **options}
    return redis.Redis(
        unix_socket_path=str(path), retry=Retry(NoBackoff(), 0), **{"socket_timeout": DEADLINE, **options})


class RedisServer:
    """A private Redis ($BERTH_REDIS_SERVER), on a Unix socket and, with `port`, on the loopback too.

    It keeps nothing over a restart unless `dump` is set: then save() writes an RDB, and start()
    reads the one that is there. The constructor starts it, and returns when it is ready."""

    def __init__(self, directory, name="redis", port=False, clock=None, options=(), replica_of=None,
                 sentinel_of=None, start=True, before=(), bind="127.0.0.1"):
        self.directory = pathlib.Path(directory) / name
        self.directory.mkdir()
        self.socket = self.directory / "r"
        self.log = self.directory / "log"
        self.dump = self.directory / "dump.rdb"
        self.port = free_port() if port or replica_of or sentinel_of else 0
        self.clock = clock
        self.options = list(options)
        self.before = list(before)  # words of the command line before the program
        self.bind = bind
        self.replica_of, self.sentinel_of = replica_of, sentinel_of
        self.process = None
        self.config = None
        if sentinel_of:
            self.config = self.directory / "sentinel.conf"
            self.config.write_text(
                f"sentinel monitor {sentinel_of.master} 127.0.0.1 {sentinel_of.port} {sentinel_of.quorum}\n"
                f"sentinel down-after-milliseconds {sentinel_of.master} {sentinel_of.down_after}\n"
                f"sentinel failover-timeout {sentinel_of.master} 4000\n")
        if start:
            self.start()

    @property
    def url(self):
        """As [redis] url gives it."""
        return f"unix://{self.socket}"

    @property
    def tcp_url(self):
        return f"redis://{self.bind}:{self.port}"

    def command_line(self):
        words = [*self.before, REDIS_SERVER]
        if self.config:
            words += [self.config, "--sentinel"]
        else:
            words += ["--save", "", "--appendonly", "no", "--enable-debug-command", "local"]
        words += ["--bind", self.bind, "--port", self.port, "--unixsocket", self.socket,
                  "--dir", self.directory, "--loglevel", "verbose" if self.sentinel_of else "notice",
                  "--daemonize", "no"]
        if self.replica_of:
            words += ["--replicaof", "127.0.0.1", self.replica_of.port, "--repl-diskless-sync-delay", 0]
        return [str(word) for word in [*words, *self.options]]

    def start(self):
        """Starts with the RDB that is there, or else empty. Returns when the server answers, with
        its data read."""
        self.socket.unlink(missing_ok=True)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command_line(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.directory, env={**os.environ, **(self.clock.environ if self.clock else {})})
        pidfd = os.pidfd_open(self.process.pid)
        try:
            self.wait_until_ready(pidfd)
        finally:
            os.close(pidfd)
        return self

    def wait_until_ready(self, pidfd):
        end = time.monotonic() + DEADLINE
        with contextlib.closing(self.client()) as client:
            while True:
                with contextlib.suppress(redis.RedisError, OSError):
                    if client.ping():
                        return
                ended = select.select([pidfd], [], [], 0.005)[0]
                if ended or time.monotonic() > end:
                    self.kill()
                    pytest.fail(f"{REDIS_SERVER} did not start:\n{self.log.read_text()}")

    def client(self, **options):
        """A client with decode_responses and its own connection."""
        return client_of(self.socket, **{"decode_responses": True, **options})

    def do(self, *words):
        """One command on its own connection."""
        with contextlib.closing(self.client()) as client:
            return client.execute_command(*words)

    def members(self, word):
        """Of that key of the database, or its fields: all but the one that keeps it alive."""
        key = f"{{berth}}:{word}"
        words = {"hash": ("HKEYS", key), "zset": ("ZRANGE", key, 0, -1)}.get(self.do("TYPE", key))
        found = self.do(*words) if words else []
        return [member for member in found if member != "~"]

    def info(self, section):
        with contextlib.closing(self.client()) as client:
            return client.info(section)

    @property
    def shown_version(self):
        """As berthd says it."""
        info = self.info("server")
        return f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}"

    @property
    def run_id(self):
        return self.info("server")["run_id"]

    def save(self, path=None):
        """The present data as an RDB; also copied to `path`."""
        self.do("SAVE")
        if path:
            shutil.copy(self.dump, path)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """SIGSTOP: the server is there, and answers nothing. cont() goes on."""
        stop_process(self.process)

    def cont(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)

    def restart(self, rdb=None):
        """SIGKILL, and a new start: empty, or with that RDB."""
        self.kill()
        self.dump.unlink(missing_ok=True)
        if rdb:
            shutil.copy(rdb, self.dump)
        self.start()

    # ---- replicas and Sentinel: polled, as they report nothing by themselves

    def ask_until(self, section, is_so, timeout=DEADLINE):
        """Repeats INFO until is_so(); returns that."""
        def found():
            info = self.info(section)
            return info if is_so(info) else None

        return until(found, lambda: self.info(section), timeout)

    def wait_for_replica_link(self):
        self.ask_until("replication", lambda info: info.get("master_link_status") == "up")

    def wait_for_sentinel_to_know(self, replicas):
        self.ask_until("sentinel", lambda info: info["master0"]["slaves"] >= replicas)

    def wait_for_master(self, port):
        """For a Sentinel: waits until `server` is its master, and says so itself."""
        return self.ask_until(
            "sentinel", lambda info: info["master0"]["address"].endswith(f":{port}")
            and info["master0"]["status"] == "ok")


class Monitored:
    """What a Sentinel is told to watch."""

    def __init__(self, port, master="mymaster", quorum=1, down_after=1000):
        self.port, self.master, self.quorum, self.down_after = port, master, quorum, down_after


class Monitor:
    """MONITOR, from its creation on: lines of words. A context."""

    def __init__(self, server):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(str(server.socket))
        self.socket.sendall(b"MONITOR\r\n")
        self.buffer = b""
        assert self.line(DEADLINE) == "+OK"

    def line(self, timeout):
        """The next line, or None after so many seconds."""
        end = time.monotonic() + timeout
        while b"\r\n" not in self.buffer:
            if not select.select([self.socket], [], [], max(end - time.monotonic(), 0))[0]:
                return None
            data = self.socket.recv(65536)
            assert data, "MONITOR has ended"
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line.decode(errors="replace")

    def command(self, timeout):
        """(who: "lua" or where the client is, [words]) of the next command, or None."""
        line = self.line(timeout)
        if line is None:
            return None
        who, words = re.match(r"\+\S+ \[\d+ (.*?)\] (.*)", line).groups()
        return who, [re.sub(r"\\([\"\\])", r"\1", word)
                     for word in re.findall(r'"((?:[^"\\]|\\.)*)"', words)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class Way:
    """Between one host and its Redis: a Unix socket that passes everything on, until told
    otherwise. Its own thread does the passing.

    lose_replies(): from then on replies are swallowed; see the methods."""

    def __init__(self, path, server_socket):
        self.path = path
        self.to = server_socket
        self.listener = self.listen()
        self.lock = threading.Lock()
        self.pairs = {}  # socket: (its other end, True if it is the host's end)
        self.held = {}  # socket to write to: [(when, bytes)]
        self.losing = False  # replies are swallowed
        self.cut = False  # nothing passes either way, nothing is refused
        self.refusing = False  # new connections are closed at once
        self.delay = 0.0  # seconds, of replies
        self.ended = False
        self.wake, self.waker = os.pipe()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"unix://{self.path}"

    def listen(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen(64)
        return listener

    def connect(self):
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(str(self.to))
        except OSError:
            server.close()
            raise
        return server

    # ---- faults

    def lose_replies(self, lose=True):
        """Redis does what it is asked, and its replies are lost."""
        self.losing = lose
        self.kick()

    def cut_off(self, cut=True):
        """Nothing arrives on either side; what is sent meanwhile arrives after heal()."""
        self.cut = cut
        self.kick()

    def refuse(self, refuse=True):
        self.refusing = refuse
        if refuse:
            self.reset()

    def reply_after(self, seconds):
        self.delay = seconds
        self.kick()

    def reset(self):
        """All connections break."""
        with self.lock:
            for sock in list(self.pairs):
                self.close_pair(sock)
        self.kick()

    def heal(self):
        self.losing = self.cut = self.refusing = False
        self.delay = 0.0
        self.kick()

    def close(self):
        self.ended = True
        self.kick()
        self.thread.join(DEADLINE)
        for sock in list(self.pairs):
            self.close_pair(sock)
        self.listener.close()
        os.close(self.wake)
        os.close(self.waker)

    # ---- passing on

    def kick(self):
        os.write(self.waker, b"x")

    def close_pair(self, sock):
        other, _ = self.pairs.pop(sock, (None, None))
        self.pairs.pop(other, None)
        for one in (sock, other):
            if one:
                self.held.pop(one, None)
                one.close()

    def accept(self):
        host, _ = self.listener.accept()
        try:
            assert not self.refusing
            server = self.connect()
        except (OSError, AssertionError):
            host.close()
            return
        for sock in (host, server):
            sock.setblocking(False)
        self.pairs[host] = server, True
        self.pairs[server] = host, False

    def pass_on(self, sock):
        other, is_hosts = self.pairs[sock]
        try:
            data = sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        data = data and self.meddled_with(data, other)
        if not data:
            self.close_pair(sock)
        elif is_hosts:
            self.held.setdefault(other, []).append((0.0, data))
        elif not self.losing:
            self.held.setdefault(other, []).append((time.monotonic() + self.delay, data))

    def meddled_with(self, data, other):
        """What is to arrive at the other end instead; nothing: the connection ends."""
        return data

    def write(self, sock):
        """Writes what is due."""
        queue = self.held.get(sock, [])
        while queue and queue[0][0] <= time.monotonic():
            when, data = queue.pop(0)
            try:
                n = sock.send(data)
            except BlockingIOError:
                n = 0
            except OSError:
                self.close_pair(sock)
                return
            if n < len(data):
                queue.insert(0, (when, data[n:]))
                return

    def run(self):
        while not self.ended:
            with self.lock:
                readers = [] if self.cut else list(self.pairs)
                now = time.monotonic()
                heads = {} if self.cut else {sock: queue[0][0] for sock, queue in self.held.items() if queue}
            late = [when - now for when in heads.values() if when > now]
            writers = [sock for sock, when in heads.items() if when <= now]
            try:
                ready, writable, _ = select.select(
                    [self.wake, self.listener, *readers], writers, [], min(late, default=None))
            except (OSError, ValueError):  # reset() closed one meanwhile
                continue
            if self.wake in ready:
                os.read(self.wake, 4096)
            with self.lock:
                if self.listener in ready:
                    self.accept()
                for sock in ready:
                    if sock in self.pairs:
                        self.pass_on(sock)
                for sock in list(self.held) if not self.cut else ():
                    if sock in self.pairs:
                        self.write(sock)


def redis_section(url, ttl="6s", name="", **more):
    lines = [f"[redis {name}]" if name else "[redis]", f"url = {url}", f"ttl = {ttl}"]
    lines += [f"{key.replace('_', '-')} = {value}" for key, value in more.items()]
    return "\n".join(lines) + "\n"


class Host(Berthd):
    """One berthd with its `berth` and `berthctl`, in its own directory. Several of them are several
    hosts, though they share a kernel."""

    def __init__(self, directory, name, text, args=(), before=(), clock=None):
        self.name = name
        self.directory = pathlib.Path(directory) / name
        self.directory.mkdir()
        self.berth = Program("berth", self.directory)
        self.berthctl = Program("berthctl", self.directory)
        if clock:
            words = with_shim("clock_shim.so", BERTH_CLOCK_FILE=clock.path)
            before = [*words, *before]
            self.berth.environ.update(word.split("=", 1) for word in words[1:])
        super().__init__(self.directory, text, args, before)

    def restart(self, how="kill"):
        getattr(self, how)()
        self.start()

    def end(self):
        """At the end of the test: the daemon must stop well, whatever became of its jobs."""
        self.stop()
        for client in self.clients:
            client.close()
        self.berth.end()
        self.berthctl.end()


@pytest.fixture
def clock(directory):
    return Clock(directory / "clock")


@pytest.fixture
def redis_server(directory, clock):
    """An empty one, with a clock that can be stepped."""
    server = RedisServer(directory, clock=clock)
    yield server
    with contextlib.suppress(ProcessLookupError):
        server.cont()
    server.kill()


@pytest.fixture
def servers(directory):
    """servers(name, ...): a RedisServer, or of another `kind`. All are killed when the test is over."""
    made = []

    def make(*args, kind=RedisServer, **options):
        made.append(kind(directory, *args, **options))
        return made[-1]

    yield make
    for server in made:
        server.kill()


@pytest.fixture
def ways(directory):
    """ways(server): a Way to it."""
    made = []

    def make(server):
        made.append(Way(directory / f"w{len(made)}", server.socket))
        return made[-1]

    yield make
    for way in made:
        way.close()


@pytest.fixture
def hosts(directory, sanitizer_reports):
    """hosts(resources' text, n, [redis] text or a function of the number): a list of n Hosts."""
    made = []

    def make(text, n=1, section=""):
        for _ in range(n):
            number = len(made)
            made.append(Host(directory, f"h{number}",
                             (section(number) if callable(section) else section) + text))
        return made[-n:]

    yield make
    for host in made:
        host.end()


def end_grace(server):
    """For the database, which is new."""
    until(lambda: server.do("HEXISTS", "{berth}:db", "grace"), "no daemon has come")
    server.do("HSET", "{berth}:db", "grace", "1")

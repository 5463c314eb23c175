"""Whatever a client sends: one clear error for each line, other clients notice nothing, nothing
leaks."""

import contextlib
import resource
import signal
import socket
import subprocess

import pytest

from daemon_help import (
    SANITIZED, held, is_quiet, open_files, refused, resident, status, stopped)
from lines import DEADLINE, Client

CONFIGURATION = """
[lock a]
[semaphore b]
limit = 5
[pool p]
items = x y z
[semaphore t/*]
limit = 2
max-instances = 50
"""

WORDS = [b"acquire", b"release", b"cancel", b"status", b"hello", b"limit", b"pause", b"reserve", b"add",
    b"remove", b"reset", b"resume", b"a", b"b:2", b"p", b"t/1", b"t/2", b"b:0", b"b:99999999999", b"x",
    b"holder=h", b"item=x", b"item=0", b"wait=0", b"wait=1ms", b"wait=", b"priority=-5", b"reason=%41%",
    b"reason=%ff%01", b"program=x", b"pid=1", b"parent=1", b"lease=1", b"lease=zz", b"1", b"3", b"%00", b"%",
    b"=", b"a=b", b"\xff", b"\0", b"", b"wait=1", b"proto=1"]


class Bystander:
    """Another client on another connection, and the daemon's use of resources before."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.client = daemon.client()
        self.works()
        self.files, self.memory = open_files(daemon), resident(daemon)

    def works(self):
        lease = held(self.client, "acquire mine wait=0")
        assert self.client.request(f"release {lease}") == "ok"

    def finds_all_as_it_was(self):
        """Once berthd has seen the connections end."""
        while open_files(self.daemon) > self.files:
            self.works()
        after = status(self.client)
        assert (after.held, after.waiting) == (0, 0)
        if not SANITIZED:
            assert resident(self.daemon) - self.memory < 4_000_000


@pytest.fixture
def daemon(berthd):
    return berthd(CONFIGURATION + "[lock mine]\n")


@pytest.fixture
def bystander(daemon):
    bystander = Bystander(daemon)
    yield bystander
    for client in daemon.clients[1:]:
        client.close()
    bystander.finds_all_as_it_was()


def throw(client, data):
    """Sends what it can, reading all the while; returns what came. Then half-closes."""
    client.socket.settimeout(0.001)
    answers = b""
    while data:
        with contextlib.suppress(TimeoutError):
            data = data[client.socket.send(data):]
        with contextlib.suppress(TimeoutError):
            answers += client.socket.recv(1 << 20)
    client.socket.shutdown(socket.SHUT_WR)
    client.socket.settimeout(DEADLINE)
    while more := client.socket.recv(1 << 20):
        answers += more
    return answers


def test_random_bytes(daemon, bystander, chance):
    """One error for each line."""
    data = chance.randbytes(1_000_000)
    answers = throw(daemon.client(), data).splitlines()
    bystander.works()
    too_long = sum(1 for line in data.split(b"\n")[:-1] if len(line) > 4095)
    assert len(answers) == data.count(b"\n") + (len(data.split(b"\n")[-1]) > 4095)
    assert all(line.startswith(b"error ") for line in answers)
    assert sum(line.startswith(b"error too-long ") for line in answers) >= too_long


def test_random_requests(daemon, bystander, chance):
    """The right words in the wrong places: one answer each, and no more."""
    lines = [b" ".join(chance.choices(WORDS, k=chance.randint(1, 5))) for _ in range(12_000)]
    answers = throw(daemon.client(), b"\n".join(lines) + b"\n").decode().splitlines()
    bystander.client.send("reset a\nreset b\nreset p\n" + "".join(f"reset t/{i}\n" for i in (1, 2)))
    assert [bystander.client.line() for _ in range(5)] == ["ok"] * 5
    bystander.works()
    inside, count = False, 0
    for line in answers:
        word = line.split(" ")[0]
        if inside:
            assert word in ("resource", "holder", "waiter", "template", "end"), line
            inside = word != "end"
        elif word != "*":
            assert word in ("ok", "error", "waiting"), line
            count += 1
            inside = line.startswith("ok draining=")
    assert count == len(lines)


ERRORS = [
    (b"x" * (1 << 20) + b"\n", b"too-long"),
    (b"\0" * 100 + b"\n", b"malformed"),
    (b"\0" * (1 << 20) + b"\n", b"too-long"),
    (b"acquire " + b"a " * 2000 + b"\n", b"malformed"),
    (b"acquire " + b"a=" * 2000 + b"\n", b"unknown-key"),
    (b"acquire a reason=" + b"%41" * 1300 + b"\n", b"bad-value"),
    (b"acquire a " + b"%" * 4000 + b"\n", b"malformed"),
    (b"x" * 4095 + b"\n", b"unknown-command"),
    (b"\r\n", b"malformed"),
    (b"GET / HTTP/1.1\r\n", b"malformed"),
    ("acquire \u00fcber\n".encode(), b"malformed"),
]


def test_one_clear_error(daemon, bystander):
    client = daemon.client()
    for data, expected in ERRORS * 20:
        client.send(data)
        line = client.line().encode()
        assert line.startswith(b"error " + expected + b" ") and len(line) < 4096, data[:40]
        assert is_quiet(client)
    bystander.works()


def test_a_line_that_never_ends(daemon, bystander):
    """Many such clients cost only a line each."""
    for data in b"x" * (1 << 20), b"acquire a", b"acquire a wait=1h reason=" + b"x" * 4000, b"\xff", b"":
        clients = [daemon.client() for _ in range(100)]
        for client in clients:
            client.send(data)
        bystander.works()
        if not SANITIZED:
            assert resident(daemon) - bystander.memory < 100 * 20_000, data[:40]
        with stopped(daemon):
            for client in clients:
                client.close()
        bystander.works()


def test_ten_thousand_connections(daemon, bystander):
    for i in range(10_000):
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as sock:
            sock.connect(str(daemon.socket))
            if i % 4 == 1:
                sock.send(b"acquire b\nacquire b\nacquire")
            if i % 4 == 2:
                sock.send(b"status\n")
    bystander.works()


def test_thousands_of_requests_pipelined_and_read_late(daemon, bystander):
    client = daemon.client()
    client.send("acquire b:6\n" * 10_000)
    bystander.works()
    for _ in range(10_000):
        assert client.line().startswith("error impossible ")


def test_thousands_of_waiters_cancelled_at_once(berthd):
    """By another client, by their own, by an operator, and by the clock."""
    daemon = berthd("max-waiters-per-user = 10000\nmax-leases-per-user = 20000\n"
        "history = 0\n" # it would grow to its size meanwhile
        "[lock a]\nmax-waiters = 10000\n[lock mine]\n")
    bystander = Bystander(daemon)
    holder, crowd, other = daemon.client(), daemon.client(), daemon.client()
    held(holder, "acquire a")
    n = 2000
    for how in ("another", "own", "clock"):
        wait = " wait=300ms" if how == "clock" else ""
        crowd.send(f"acquire a{wait}\n" * n)
        leases = [crowd.line().split()[1] for _ in range(n)]
        if how == "another":
            other.send("".join(f"cancel {lease}\n" for lease in leases))
            assert all(other.line() == "ok" for _ in range(n))
        elif how == "own":
            crowd.send("".join(f"release {lease}\n" for lease in leases))
            assert all(crowd.line() == "ok" for _ in range(n))
        bystander.works()
        if how != "own":
            code = "cancelled" if how == "another" else "timeout"
            denied = [crowd.line().split()[:4] for _ in range(n)]
            assert denied == [["*", "denied", lease, code] for lease in leases]
    crowd.send("acquire a\n" * n)
    for _ in range(n):
        assert crowd.line().startswith("waiting ")
    daemon.configure("[lock mine]\n")
    assert other.request("reload").startswith("ok")
    assert all(crowd.line().split()[3] == "unknown" for _ in range(n))
    for client in (holder, crowd, other):
        client.close()
    bystander.finds_all_as_it_was()


def test_instances_without_end(daemon, bystander):
    client = daemon.client()
    for i in range(2000):
        lease = held(client, f"acquire t/{i}")
        assert client.request(f"release {lease}") == "ok"
    for i in range(50):
        held(client, f"acquire t/{i}")
    assert refused(client, "acquire t/50") == "quota"
    assert len(status(client).resources) == 4 + 50
    bystander.works()


def test_a_client_that_is_stopped_hurts_nobody(daemon, bystander):
    """It cannot read its events."""
    client, other = daemon.client(), daemon.client()
    held(client, "acquire a")
    client.send("acquire a\n" * 500)
    for _ in range(50):
        bystander.works()
    client.close()
    held(other, "acquire a")


# ---- few descriptors


def limit_files(daemon, soft, hard=None):
    """berthd uses the hard limit when it reads its configuration."""
    pid = daemon.process.pid
    hard = hard or resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("files", [32, 40, 200])
def test_more_connections_than_files(berthd, files):
    """Some files are always left for a reload, and for a word to a client that is refused."""
    daemon = berthd("[lock a]\n[lock mine]\n")
    first = Bystander(daemon)
    limit_files(daemon, files, files)
    assert first.client.request("reload") == "ok"
    clients = []
    while len(clients) < files:
        clients.append(Client(daemon.socket))
        with contextlib.suppress(BrokenPipeError):
            clients[-1].send("ping\n")
    answers = [client.line() for client in clients]
    served = answers.count("ok")
    assert min(files // 4, 8) - 1 <= served < files - 10
    assert all(answer == "ok" or answer.startswith("error busy ") for answer in answers)
    first.works()
    held(clients[0], "acquire a")
    assert first.client.request("reload") == "ok"
    for client in clients:
        client.close()
    first.finds_all_as_it_was()
    held(daemon.client(), "acquire a")


@pytest.mark.parametrize("files", [32, 200])
def test_a_job_is_stopped_when_all_places_are_taken(berthd, files):
    """A signal to it and a look at it take a file or two, which connections leave."""
    daemon = berthd("[lock a]\nkill-after = 100ms\n")
    operator = daemon.client()
    limit_files(daemon, files, files)
    assert operator.request("reload") == "ok"
    with subprocess.Popen(["sleep", "infinity"]) as job:
        try:
            lease = held(daemon.client(), f"acquire a pid={job.pid}")
            assert operator.request("acquire a").startswith("waiting ")
            others = [Client(daemon.socket) for _ in range(files)]
            for client in others:
                with contextlib.suppress(BrokenPipeError):
                    client.send("ping\n")
            assert any(client.line().startswith("error busy ") for client in others)
            assert operator.request(f"revoke {lease}").startswith("ok")
            assert job.wait(DEADLINE) == -signal.SIGKILL
        finally:
            job.kill()
    assert operator.line().startswith("* granted ")


def test_no_files_left_at_all(berthd):
    """The limit sinks below what is open: new connections wait, old ones live on, and later all is
    as before. libuv's own accept loop never came back."""
    daemon = berthd("[lock a]\n[lock mine]\n")
    first = Bystander(daemon)
    limit_files(daemon, 5)
    late = [daemon.client() for _ in range(30)]
    for client in late:
        client.send("ping\n")
        first.works()
    limit_files(daemon, 200)
    for client in late:
        assert client.line() == "ok"
    held(late[0], "acquire a")
    for client in late:
        client.close()
    first.finds_all_as_it_was()

"""A client that asks much takes nothing away from others: each turn of the loop is short."""

import contextlib
import fcntl
import itertools
import os
import re
import signal
import socket
import struct
import termios
import time

import pytest

from daemon_help import (
    NOBODY, SANITIZED, become, children, connect_as, event, held, in_child, is_quiet, must_end_well, needs_root,
    open_files, resident, status, stopped, waits)
from lines import DEADLINE, LineSocket
from test_run_signals import wait_for_state


def keeps_working(client, name, times):
    """Another client, which notices nothing. Before there were shares, this took as long as the
    others went on."""
    for _ in range(times):
        assert client.request("ping") == "ok"
        lease = held(client, f"acquire {name}")
        assert client.request(f"release {lease}") == "ok"


def connected(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(DEADLINE)
    sock.connect(str(path))
    return sock


@needs_root
def test_connecting_without_end(berthd):
    daemon = berthd("[lock a]\n")
    path = str(daemon.socket)
    at_it, notify = os.pipe()

    def flood(k):
        become(NOBODY - k)
        for n in itertools.count():
            if n == 1000:
                os.write(notify, b"x")
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(path)
            sock.close()

    client = daemon.client()
    keeps_working(client, "a", 1)
    with children(3, flood):
        for _ in range(3):
            assert os.read(at_it, 1)
        keeps_working(client, "a", 50)
    os.close(at_it)
    os.close(notify)
    late = socket.socket(socket.AF_UNIX)
    late.connect(path)  # without a timeout, so it waits while thousands of dead ones are before it
    keeps_working(LineSocket(late), "a", 1)
    late.close()


@pytest.mark.parametrize("request_line", ["status", "acquire b wait=0"])
def test_asking_without_end(berthd, request_line):
    """With a peer that reads all answers as fast as they come."""
    locks = "".join(f"[lock r{i}]\n" for i in range(2000))
    daemon = berthd("[lock a]\n[semaphore b]\nlimit = 1\n" + locks)
    lines = (request_line + "\n").encode() * 5000

    def flood(_):
        sock = connected(daemon.socket)
        sock.setblocking(False)
        sent = 0
        while True:
            with contextlib.suppress(BlockingIOError):
                assert sock.recv(1 << 20)
            with contextlib.suppress(BlockingIOError):
                sent = (sent + sock.send(lines[sent:])) % len(lines)

    client = daemon.client()
    keeps_working(client, "a", 1)
    with children(2, flood):
        keeps_working(client, "a", 30)


def test_expensive_requests_are_shared_out_over_turns(berthd):
    """Not all requests of one connection come before what another asks in the same turn."""
    daemon = berthd("[semaphore s]\nlimit = 16384\n[semaphore crowd]\nlimit = 1000\n")
    many, other = daemon.client(), daemon.client()
    n = 40  # each takes milliseconds, for 16384 units
    with stopped(daemon):
        many.send("acquire crowd\nacquire s:16384 holder=h\nrelease s holder=h\n" * n)
        other.send("acquire crowd\n")
    (token,) = tokens(other, 1)
    before = sum(one < token for one in tokens(many, n))
    assert before < n  # how many depends on how fast this host is


def n_turns(client):
    """How many stretches of work berthd has counted."""
    (line,) = [line for line in client.lines("metrics") if line.startswith("histogram berth_turn_seconds ")]
    return int(line.rsplit(":", 1)[1])


def test_what_waits_for_a_slow_reader_is_work(berthd):
    """What is sent when the socket takes more is counted, and put off when the turn is long."""
    daemon = berthd("".join(f"[lock r{i}]\n" for i in range(2000)))
    other, late = daemon.client(), daemon.client()
    n, n_ends, rest = 100, 0, b""
    before = n_turns(other)
    late.send("status\n" * n)
    while n_ends < n:
        rest = rest[-4:] + late.socket.recv(1 << 16)
        n_ends += rest.count(b"\nend\n")
    assert n_turns(other) - before > 10  # of 1 ms at most; not counted, they were 2


def test_status_costs_no_memory(berthd):
    """However long it is, however often it is requested, and although nobody reads it."""
    daemon = berthd("[lock a]\n[semaphore many]\nlimit = 1000\n")
    client = daemon.client()
    text = "%01" * 200
    held(client, "acquire a")
    for i in range(700):
        client.send(f"acquire a reason={text}\nacquire many reason={text}\n")
        assert client.line().startswith("waiting ")
        assert client.line().startswith("ok ")
    before = resident(daemon)
    askers = [daemon.client() for _ in range(40)]
    for asker in askers:
        asker.send("status" + " a many" * 8 + "\n")
    for asker in askers:
        assert asker.socket.recv(1, socket.MSG_PEEK), "the answer has begun"
    assert client.request("ping") == "ok"
    if not SANITIZED:
        assert resident(daemon) - before < len(askers) * 150_000
    for asker in askers:
        asker.close()
    assert len(status(client, "a").waiters("a")) == 700


@needs_root
def test_a_place_is_free_as_soon_as_its_connection_has_ended(berthd):
    """Even for a connection that comes in the same turn of the loop, of which berthd has heard before
    it hears of the end."""
    daemon = berthd("max-clients-per-user = 2\nmax-clients = 3\n[lock a]\n")
    clients = [connect_as(daemon, NOBODY), connect_as(daemon, NOBODY)]
    assert [client.request("ping") for client in clients] == ["ok", "ok"]  # berthd has accepted both
    for _ in range(20):
        wait_for_state(daemon.process.pid, "S")  # in the midst of work, the stopped time would be that user's
        with stopped(daemon):
            first = daemon.client()
            clients.pop(0).close()
            clients.append(connect_as(daemon, NOBODY))
        assert clients[-1].request("ping") == "ok"
        first.close()


# ---- users


SOMEBODY = 4711


def tokens(client, n):
    """The tokens of `n` acquires, in the order of their grants; drops other answers."""
    found = []
    while len(found) < n:
        match = re.match(r"ok \S+ slot=crowd,(\d+),", client.line())
        if match:
            found.append(int(match[1]))
    return found


def answered(client):
    """How many lines it has not read yet."""
    try:
        return client.socket.recv(1 << 16, socket.MSG_DONTWAIT | socket.MSG_PEEK).count(b"\n")
    except BlockingIOError:
        return 0


@needs_root
def test_users_take_turns_not_connections(berthd):
    """Tokens show the order in which berthd has carried out what was sent while it was stopped."""
    daemon = berthd("max-requests-per-second-per-user = unbounded\n[semaphore crowd]\nlimit = 10000\n"
                    "[semaphore large]\nlimit = 100000\n")
    one, many = connect_as(daemon, SOMEBODY), [connect_as(daemon, NOBODY) for _ in range(8)]
    n = 40
    lines = [f"acquire large:8192 holder={i}\nrelease large holder={i}\nacquire crowd\n" * n for i in range(9)]
    with stopped(daemon):
        for client, requests in zip([*many, one], lines):
            client.send(requests)
    last = max(tokens(one, n))
    before = sum(token < last for client in many for token in tokens(client, n))
    assert before < 3 * n  # of 8 n; n if all turns were equally long


@needs_root
def test_only_users_over_the_rate_are_slowed_down(berthd):
    daemon = berthd("max-requests-per-second-per-user = 100\n[lock a]\n[lock b]\n")
    fast, other, operator = (
        connect_as(daemon, NOBODY), connect_as(daemon, SOMEBODY), daemon.client())
    n = 300
    started = time.monotonic()
    fast.send("ping\n" * n)
    for _ in range(50):
        assert operator.request("ping") == "ok"  # root may be as fast as it likes
    keeps_working(other, "a", 1)
    assert answered(fast) < n
    for _ in range(n):
        assert fast.line() == "ok"  # slowed down, not refused
    assert time.monotonic() - started > (n - 10) / 100  # all but what one may ask for at once
    held(fast, "acquire b")


@needs_root
def test_connections_of_a_slow_user_take_turns(berthd):
    daemon = berthd("max-requests-per-second-per-user = 500\n[semaphore crowd]\nlimit = 1000\n")
    clients = [connect_as(daemon, NOBODY) for _ in range(3)]
    n = 60
    with stopped(daemon):
        for client in clients:
            client.send("acquire crowd\n" * n)
    of_each = [tokens(client, n) for client in clients]
    first_to_end = min(max(found) for found in of_each)
    for found in of_each:  # 26 may go at once, the others in turns
        assert sum(token <= first_to_end for token in found) > n // 3


@needs_root
def test_new_connections_of_a_slow_user_are_served(berthd):
    daemon = berthd("max-requests-per-second-per-user = 100\n[lock a]\n")
    busy = connect_as(daemon, NOBODY)
    busy.send("ping\n" * 1000)
    for _ in range(10):
        assert is_quiet(connect_as(daemon, NOBODY))
    busy.close()


def is_unread(client):
    """Whether something that it has sent has not been read."""
    return struct.unpack("i", fcntl.ioctl(client.socket, termios.TIOCOUTQ, b"0000"))[0] > 0


@needs_root
def test_malformed_lines_count(berthd):
    daemon = berthd("max-requests-per-second-per-user = 5\n[lock a]\n")
    operator, client = daemon.client(), connect_as(daemon, NOBODY)
    client.send("%%\n" * 100)
    for _ in range(20):
        assert is_quiet(operator)
    assert answered(client) < 100


@needs_root
def test_half_a_line_of_a_slow_user(berthd):
    """It waits for its turn to be read, and then there is nothing to carry out."""
    daemon = berthd("max-requests-per-second-per-user = 100\n[lock a]\n")
    operator, busy = daemon.client(), connect_as(daemon, NOBODY)
    clients = [connect_as(daemon, NOBODY) for _ in range(3)]
    busy.send("ping\n" * 1000)
    end = time.monotonic() + DEADLINE
    for part in ("p", "in", "g\n"):
        for client in clients:
            client.send(part)
        end = time.monotonic() + DEADLINE
        while any(is_unread(client) for client in clients):
            assert is_quiet(operator) and time.monotonic() < end
    for client in clients:
        assert client.line() == "ok"
    busy.close()


@needs_root
@pytest.mark.parametrize("unread, end", [(0, "close"), (1, "kill"), (1000, "close")])
def test_a_slow_user_dies(berthd, unread, end):
    """berthd does not read from it, and still sees its end: its turn would come in 40 s."""
    daemon = berthd("max-requests-per-second-per-user = 1\n[lock a]\n")
    operator, other = daemon.client(), connect_as(daemon, SOMEBODY)
    ready, notify = os.pipe()
    go_on, say = os.pipe()

    def hold():
        become(NOBODY)
        client = daemon.client()
        held(client, "acquire a")
        os.write(notify, b"x")
        os.read(go_on, 1)
        client.send("ping\n" * unread)
        os.write(notify, b"x")
        os.read(go_on, 1)
        client.close()

    pid = in_child(hold)
    assert os.read(ready, 1)
    for _ in range(40):
        connect_as(daemon, NOBODY).send("ping\n")
    assert is_quiet(operator)
    os.write(say, b"x")
    assert os.read(ready, 1)
    waiting = waits(other, "acquire a")
    files = open_files(daemon)
    if end == "kill":
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    else:
        os.write(say, b"x")
        must_end_well(pid)
    assert event(other)[:2] == ("granted", waiting)
    end_of_wait = time.monotonic() + DEADLINE
    while open_files(daemon) >= files:
        assert is_quiet(operator) and time.monotonic() < end_of_wait
    for fd in (ready, notify, go_on, say):
        os.close(fd)


@needs_root
def test_the_dead_are_not_answered(berthd):
    """Answering what berthd has read from the first would take two minutes. What lasts is done."""
    daemon = berthd("max-requests-per-second-per-user = 20\n[lock a]\n[lock b]\n")
    operator, other = daemon.client(), connect_as(daemon, SOMEBODY)
    held(other, "acquire b")
    files = open_files(daemon)
    clients = [connect_as(daemon, NOBODY) for _ in range(3)]
    lines = "ping\nstatus\n%%\nacquire b\nacquire b once=x\ncancel once=x\n" * 400
    for client in clients:
        client.send(lines + "acquire a ttl=1h\n")
        while client is clients[0] and is_unread(client):
            assert is_quiet(operator)
    for client in clients:
        client.close()
    end = time.monotonic() + DEADLINE
    while open_files(daemon) > files:
        assert is_quiet(operator) and time.monotonic() < end
    assert [line.split()[0] for line in operator.lines("status a")[1:-1]] == ["resource", "holder"]


@needs_root
def test_the_rate_is_changed_by_reload(berthd):
    text = "max-requests-per-second-per-user = {}\n[lock a]\n"
    daemon = berthd(text.format(1))
    operator, client = daemon.client(), connect_as(daemon, NOBODY)
    client.send("ping\n" * 200)
    assert client.line() == "ok"
    daemon.configure(text.format("unbounded"))
    assert operator.request("reload") == "ok"
    for _ in range(199):
        assert client.line() == "ok"  # not in 199 s
    daemon.configure(text.format(1))
    assert operator.request("reload") == "ok"
    client.send("ping\n" * 100)
    for _ in range(20):
        assert is_quiet(operator)
    assert answered(client) < 100

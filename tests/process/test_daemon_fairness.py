"""Who asks much takes nothing away from the others: each turn of the loop is short."""

import contextlib
import itertools
import os
import socket

import pytest

from daemon_help import (
    NOBODY, SANITIZED, become, children, connect_as, held, needs_root, resident, status, stopped)
from lines import DEADLINE, LineSocket


def keeps_working(client, name, times):
    """Another client, who notices nothing. Before there were shares, this took as long as the
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
    at_it, tell = os.pipe()

    def flood(k):
        become(NOBODY - k)
        for n in itertools.count():
            if n == 1000:
                os.write(tell, b"x")
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
    os.close(tell)
    late = socket.socket(socket.AF_UNIX)
    late.connect(path)  # without a timeout, so it waits while thousands of dead ones are before it
    keeps_working(LineSocket(late), "a", 1)
    late.close()


@pytest.mark.parametrize("request_line", ["ping", "status", "acquire b wait=0"])
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
    """All that one connection has sent does not come before what another asks in the same turn."""
    items = [f"i{i:04}" for i in range(10000)]
    daemon = berthd("[pool p]\nitems = " + "\n    ".join(
        " ".join(items[i:i + 100]) for i in range(0, len(items), 100)) + "\n")
    many, other = daemon.client(), daemon.client()
    n = 2500
    with stopped(daemon):
        many.send(f"release p item={items[-1]}\n" * n)
        other.send("ping\n")
    assert other.line() == "ok"
    answered = len(many.socket.recv(n * 3, socket.MSG_DONTWAIT | socket.MSG_PEEK)) // 3
    assert 0 < answered < n  # how many depends on how fast this host is
    for _ in range(n):
        assert many.line() == "ok"


def test_status_costs_no_memory(berthd):
    """However long it is, however often it is asked for, and nobody reads it."""
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
    assert client.request("ping") == "ok"
    if not SANITIZED:
        assert resident(daemon) - before < len(askers) * 150_000
    for asker in askers:
        asker.close()
    assert len(status(client, "a").waiters("a")) == 700


@needs_root
def test_a_place_is_free_as_soon_as_its_connection_has_ended(berthd):
    """Also for a connection that is made before the loop's turn has ended."""
    daemon = berthd("max-clients-per-user = 2\nmax-clients = 3\n[lock a]\n")
    clients = [connect_as(daemon, NOBODY), connect_as(daemon, NOBODY)]
    for _ in range(200):
        clients.pop(0).close()
        clients.append(connect_as(daemon, NOBODY))
        assert clients[-1].request("ping") == "ok"

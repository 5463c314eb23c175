"""Clients that do not read what they are sent, or read slowly."""

import select
import time

from daemon_help import SANITIZED, Status, held, resident, status, waits

LOCKS = 2000
CONFIG = "[lock a]\n" + "".join(f"[lock r{i}]\n" for i in range(LOCKS))


def has_hung_up(client):
    """Looks without reading: what it was sent stays there."""
    poll = select.poll()
    poll.register(client.socket, 0)
    return bool(poll.poll(0))


def read_slowly(client, seconds, until=lambda: False):
    """100 KB each second: berthd is always behind."""
    received = b""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not until():
        select.select([], [], [], 0.5)
        data = client.socket.recv(50_000)
        assert data, "dropped"
        received += data
    return received


def test_a_client_that_reads_nothing_is_dropped_and_a_slow_one_is_not(daemon):
    """Takes more than ten seconds, because berthd waits so long."""
    mute, slow, other = daemon.client(), daemon.client(), daemon.client()
    held(mute, "acquire a")
    waiter = waits(other, "acquire a")
    before = resident(daemon)
    began = time.monotonic()
    mute.send("status\n" * 10_000)
    slow.send("ping\n" * 95_000 + "status\n" * 20 + "version\n")
    received = read_slowly(slow, 20, until=lambda: has_hung_up(mute))
    assert time.monotonic() - began > 9
    assert other.line().startswith(f"* granted {waiter} ")
    if not SANITIZED:
        assert resident(daemon) - before < 2_000_000

    slow.buffer += received
    assert all(slow.line() == "ok" for _ in range(95_000))
    for _ in range(20):
        assert len(Status(list(iter(slow.line, "end")) + ["end"]).resources) == LOCKS + 1
    assert slow.line().startswith("ok version=")
    assert status(slow).held == 1


def test_what_the_socket_does_not_take_at_once_comes_later(berthd):
    """`before`: how many small answers fill the socket first, so that for some of these numbers the
    kernel takes only a part of what berthd sends at once."""
    daemon = berthd("[lock a]\n")
    other = daemon.client()
    hello = other.request("hello")
    for before in 0, 25, 50, 75:
        slow = daemon.client()
        for _ in range(before):
            slow.send("ping\n")
            assert other.request("ping") == "ok"
        slow.send("hello\n" * 16_000)
        assert other.request("ping") == "ok"
        assert all(slow.line() == "ok" for _ in range(before)), before
        assert all(slow.line() == hello for _ in range(16_000)), before

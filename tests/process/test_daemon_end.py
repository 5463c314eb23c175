"""A lease lasts as long as its connection: not one turn of the loop longer, and exactly the next
waiter gets its units."""

import os
import re
import signal
import socket


from daemon_help import Status, event, half_close, held, in_child, is_quiet, keys, status, stopped, waits
from lines import Client, LineSocket

CONFIG = "[lock a]\n"


def close(client):
    client.close()


def half_close_after_a_request(client):
    """The end itself is found one turn later."""
    client.send("ping\nhalf a li")
    client.socket.shutdown(socket.SHUT_WR)


def close_after_a_request(client):
    client.send("ping\nacquire a")
    client.close()


def close_with_unread_data(client):
    """The kernel reports ECONNRESET instead of an end."""
    client.close()


ENDS = [close, half_close, half_close_after_a_request, close_after_a_request, close_with_unread_data]


def prepare(end, holder):
    if end is close_with_unread_data:
        holder.send("ping\nversion\n")
        holder.socket.recv(1, socket.MSG_PEEK)


def test_gone_within_one_turn(daemon):
    """berthd finds the end and a later question in the same turn: the answer comes after the end."""
    asker = daemon.client()
    for end in ENDS * 20:
        print(end.__name__)
        holder, waiter = daemon.client(), daemon.client()
        held(holder, "acquire a")
        waiting = waits(waiter, "acquire a")
        waits(holder, "acquire a")
        prepare(end, holder)
        with stopped(daemon):
            end(holder)
            asker.send("ping\n" if end is half_close_after_a_request else "status\n")
        if end is half_close_after_a_request:
            assert asker.line() == "ok"
            asker.send("status\n")
        lines = [asker.line()]
        while lines[-1] != "end":
            lines.append(asker.line())
        now = Status(lines)
        assert (now.held, now.waiting, now.holders("a")) == (1, 0, [waiting])
        assert event(waiter)[:2] == ("granted", waiting)
        assert waiter.request(f"release {waiting}") == "ok"
        holder.close()
        waiter.close()


def test_gone_when_the_process_is_killed(berthd):
    daemon = berthd("[lock a]\n[semaphore b]\nlimit = 3\n")
    ready, notify = os.pipe()

    def job():
        client = Client(daemon.socket)
        held(client, "acquire a b:3")
        os.write(notify, b"x")
        signal.pause()

    for _ in range(5):
        pid = in_child(job)
        assert os.read(ready, 1) == b"x"
        asker, waiter = daemon.client(), daemon.client()
        waiting = waits(waiter, "acquire b:2 a")
        with stopped(daemon):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            asker.send("status\n")
        head = asker.line()
        assert keys(re.sub(r" now=\d+", "", head).split()) == {"draining": "0", "held": "1", "waiting": "0"}
        assert event(waiter)[:2] == ("granted", waiting)
        asker.close()
        waiter.close()
    os.close(ready)
    os.close(notify)


def test_not_before_the_last_one_closes_it(daemon):
    """A child that inherited the connection keeps the lease."""
    client, other = daemon.client(), daemon.client()
    held(client, "acquire a")
    copy = LineSocket(client.socket.dup())
    client.close()
    assert status(other).held == 1
    assert is_quiet(copy)
    copy.close()
    while status(other).held:
        pass


def test_exactly_the_next_waiter_is_granted(daemon):
    holder = daemon.client()
    held(holder, "acquire a")
    waiters = [daemon.client() for _ in range(10 * len(ENDS))]
    leases = [waits(waiter, "acquire a") for waiter in waiters]
    for i, (waiter, end) in enumerate(zip(waiters, ENDS * 10)):
        prepare(end, holder)
        end(holder)
        kind, lease, units = event(waiter)
        assert (kind, lease) == ("granted", leases[i]) and units.startswith("slot=a,"), end
        assert all(is_quiet(other) for other in waiters[i + 1:]), end
        holder = waiter


def test_the_dead_are_not_granted_anything(daemon):
    """A connection leaves the queues before it gives back: it does not get its own units again."""
    greedy, waiter = daemon.client(), daemon.client()
    held(greedy, "acquire a")
    for _ in range(50):
        waits(greedy, "acquire a")
    waiting = waits(waiter, "acquire a")
    greedy.close()
    assert event(waiter)[:2] == ("granted", waiting)
    assert status(waiter).held == 1


def test_thousands_of_waiters_go_at_once(berthd):
    daemon = berthd("max-waiters-per-user = 100000\nmax-leases-per-user = 100000\n"
        "[lock a]\nmax-waiters = 100000\n[lock b]\nmax-waiters = 100000\n")
    holder, crowd, last = daemon.client(), daemon.client(), daemon.client()
    held(holder, "acquire a")
    n = 5000
    crowd.send("acquire a\n" * n + "acquire a b\n" * n)
    for _ in range(2 * n):
        assert crowd.line().startswith("waiting ")
    waiting = waits(last, "acquire a", 2 * n + 1)
    with stopped(daemon):
        crowd.close()
        holder.close()
        last.send("ping\n")
    answers = {last.line().split()[0] for _ in range(2)}
    assert answers == {"ok", "*"}
    now = status(last)
    assert (now.held, now.waiting, now.holders("a")) == (1, 0, [waiting])

"""An acquire that is repeated with its `once`: one answer for the whole life of its lease, whatever
has become of the first connection."""

import os
import socket

from daemon_help import event, held, is_quiet, lease_of, refused, status, waits


TO_ITS_PROCESS = f"pid={os.getpid()}"
CONFIG = "grace = 1h\n[semaphore s]\nlimit = 2\n[lock d]\n"


def test_of_a_holder_whose_connection_lives(daemon):
    """The later connection has the lease, and the first may close whenever it likes."""
    for binding in "", TO_ITS_PROCESS, "ttl=1h":
        first, second = daemon.client(), daemon.client()
        request = f"acquire s once=w {binding}".rstrip()
        answer = first.request(request)
        assert second.request(request) == answer
        assert first.request(request).startswith("error held "), binding
        first.close()
        assert status(second).holders("s") == [lease_of(answer)], binding
        assert second.request(f"release {lease_of(answer)}") == "ok"
        another = held(second, request)
        assert another != lease_of(answer), binding
        assert second.request(f"release {another}") == "ok"


def test_of_a_connection_that_is_half_closed(daemon):
    """Its waiting leases are over; those that a process keeps are not."""
    blocker, first = daemon.client(), daemon.client()
    held(blocker, "acquire d")
    kept = held(first, f"acquire s once=a {TO_ITS_PROCESS}")
    waiter = waits(first, "acquire d once=b")
    first.socket.shutdown(socket.SHUT_WR)
    assert first.ended()
    second = daemon.client()
    assert held(second, f"acquire s once=a {TO_ITS_PROCESS}") == kept
    assert waits(second, "acquire d once=b") != waiter


def test_an_earlier_connection_does_not_get_it(daemon):
    """Its line may be read last, and it may be gone by then."""
    first, second = daemon.client(), daemon.client()
    assert first.request("ping") == "ok"
    lease = held(second, "acquire s once=w")
    assert refused(first, "acquire s once=w") == "held"
    first.close()
    assert status(second).holders("s") == [lease]


def test_something_else_by_the_same_word(client):
    """A request for other things does not get what the first one got."""
    lease = held(client, "acquire s:2 once=w")
    for other in "d once=w", "s once=w", "s:3 once=w", "s:2 d once=w":
        assert refused(client, f"acquire {other}") == "bad-value", other
        assert status(client).holders("s") == [lease], other


def test_only_the_present_client_is_asked_to_stop(daemon):
    first, second = daemon.client(), daemon.client()
    lease = held(first, f"acquire s once=w {TO_ITS_PROCESS}")
    assert held(second, f"acquire s once=w {TO_ITS_PROCESS}") == lease
    assert daemon.client().request(f"drop {lease}") == "ok"
    assert event(second)[:2] == ("lost", lease)
    assert is_quiet(first) and is_quiet(second)

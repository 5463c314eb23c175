"""doc/protocol.md 1 to 3: lines, the conversation and its end, what other connections are told.
test_daemon_requests.py, and the files that it names, have the single requests."""

import re
import socket
from urllib.parse import quote, unquote


from daemon_help import code, event, half_close, held, is_quiet, keys, refused, status, waits

CONFIG = """
[semaphore s]
limit = 2
[semaphore shut]
limit = 0
[lock l]
[pool p]
items = a b c
select = first
"""


# ---- lines


def test_length_of_a_line(client):
    """One error each, and the connection lives on."""
    for length, why in ((4095, "unknown-command"), (4096, "too-long"), (65536, "too-long"), (300000, "too-long")):
        client.send("x" * length + "\nping\n")
        assert code(client.line()) == why, length
        assert client.line() == "ok"
        assert is_quiet(client)


def test_values_are_percent_encoded(client):
    """Whatever a client says is shown as it was, and never as anything else."""
    text = "".join(chr(i) for i in range(1, 128)) + "\u00e9"
    wire = quote(text, safe="")
    held(client, f"acquire %6c holder={wire[:120]} reason={wire} program=a%20b%0aend")
    lines = client.lines("status l")
    assert len(lines) == 4 and lines[3] == "end"
    shown = keys(lines[2].split(" "))
    assert unquote(shown["reason"]) == text
    assert unquote(shown["program"]) == "a b\nend"
    assert re.fullmatch("[ -~]*", lines[2])


def test_a_partial_last_line_is_not_carried_out(daemon, client):
    client.send("ping\nacquire l")
    half_close(client)
    assert client.line() == "ok"
    assert client.line() == ""
    other = daemon.client()
    assert status(other, "l").resources["l"]["in_use"] == "0"
    held(other, "acquire l wait=0")


# ---- conversation


def test_answers_come_in_the_order_of_the_requests(client):
    client.send("acquire s\nping\nacquire nope\nacquire s\nacquire s\nversion\n"
                "status l\nlimit shut 0\nhello\nnonsense\nping\n")
    got = [client.line() for _ in range(13)]
    words = [" ".join(line.split()[:2 if line.startswith(("error", "resource")) else 1])
             for line in got]
    assert words == ["ok", "ok", "error unknown", "ok", "waiting", "ok", "ok", "resource l", "end",
                     "ok", "ok", "error unknown-command", "ok"]
    assert is_quiet(client)


# ---- the end


def test_leases_end_with_their_connection(daemon):
    for way in "close", "half-close", "shutdown":
        client, other, third = (daemon.client() for _ in range(3))
        held(client, "acquire l s:2 p:3")
        waits(client, "acquire l")
        waiting = waits(other, "acquire l s:2 p:3", 2)
        if way == "close":
            client.close()
        else:
            client.socket.shutdown(socket.SHUT_WR if way == "half-close" else socket.SHUT_RDWR)
        assert event(other)[:2] == ("granted", waiting), way
        shown = status(third, "l", "s", "p")
        assert shown.held == 1 and shown.waiting == 0, way
        if way == "half-close":
            assert client.line() == "", "nothing is said about what one has given up oneself"
        assert other.request(f"release {waiting}") == "ok"


def test_full_house(berthd):
    daemon = berthd("max-clients = 2\n")
    first, second, third = (daemon.client() for _ in range(3))
    assert is_quiet(first) and is_quiet(second)
    assert refused(third, "acquire a") == "busy"
    assert third.line() == ""
    half_close(first)
    assert first.line() == ""
    fourth = daemon.client()
    assert is_quiet(fourth)


# ---- acquire, release, cancel


def test_impossible_counts(client):
    for count in (0, 3, 2**31, 2**32, 2**32 + 1, 2**64 - 1):
        assert refused(client, f"acquire s:{count}") == "impossible", count
        assert refused(client, f"acquire l s:{count} wait=0") == "impossible", count
    shown = status(client)
    assert shown.held == 0 and shown.waiting == 0


BY_ANY_CONNECTION = ["release {}", "cancel {}", "release l holder=me"]


def test_release_from_another_connection(daemon, client):
    other, third = daemon.client(), daemon.client()
    for line in *BY_ANY_CONNECTION, "release l item=0", "release p item=b":
        lease = held(client, "acquire l s p:3 holder=me")
        waiting = waits(third, "acquire p:2 l")
        assert other.request(line.format(lease)) == "ok", line
        assert event(client) == ("lost", lease, "released"), line
        assert event(third)[:2] == ("granted", waiting), line
        assert is_quiet(client) and is_quiet(other)
        assert third.request(f"release {waiting}") == "ok"


def test_cancel_from_another_connection(daemon, client):
    other = daemon.client()
    kept = held(other, "acquire l")
    for line in BY_ANY_CONNECTION:
        lease = waits(client, "acquire l s:2 holder=me")
        assert other.request(line.format(lease)) == "ok", line
        assert event(client) == ("denied", lease, "cancelled"), line
        shown = status(other, "l", "s")
        assert shown.waiting == 0 and shown.holders("l") == [kept], line
        assert is_quiet(client) and is_quiet(other)


def test_ones_own_request_causes_no_event(client):
    for line in BY_ANY_CONNECTION:
        lease = held(client, "acquire l holder=me")
        assert client.request(line.format(lease)) == "ok", line
        blocker = held(client, "acquire l")
        lease = waits(client, "acquire l holder=me")
        assert client.request(line.format(lease)) == "ok", line
        assert is_quiet(client), line
        assert status(client, "l").holders("l") == [blocker], line
        assert client.request(f"release {blocker}") == "ok"

"""doc/protocol.md 1 to 3: lines, the conversation and its end, what other connections are told.
test_daemon_requests.py, and the files that it names, have the single requests."""

import re
import socket
from urllib.parse import quote, unquote

import pytest

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


@pytest.mark.parametrize("length, why", [
    (4095, "unknown-command"), (4096, "too-long"), (65536, "too-long"), (300000, "too-long")])
def test_length_of_a_line(client, length, why):
    """One error each, and the connection lives on."""
    client.send("x" * length + "\nping\n")
    assert code(client.line()) == why
    assert client.line() == "ok"
    assert is_quiet(client)


def test_lines_in_pieces_and_pieces_with_lines(client):
    for byte in "ping\nstatus l\n":
        client.send(byte)
    assert client.line() == "ok"
    assert client.line().startswith("ok draining=")
    while client.line() != "end":
        pass
    client.send("ping\nx" * 300 + "\n")
    assert client.line() == "ok"
    for _ in range(299):
        assert code(client.line()) == "unknown-command", "xping"
    assert code(client.line()) == "unknown-command", "x"
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


def test_one_answer_each_however_many(client):
    client.send("ping\nx\n" * 20000)
    for _ in range(20000):
        assert client.line() == "ok"
        assert code(client.line()) == "unknown-command"
    assert is_quiet(client)


def test_no_event_inside_a_status_answer(berthd):
    """Another client's release grants while the answer is far from written: the event comes after
    it."""
    daemon = berthd("[lock l]\n" + "".join(f"[lock resource/{i}]\n" for i in range(8000)))
    holder, reader = daemon.client(), daemon.client()
    lease = held(holder, "acquire l")
    waiting = waits(reader, "acquire l")
    reader.send("status\nping\n")
    assert reader.line().startswith("ok draining=0 held=1 waiting=1")
    assert holder.request(f"release {lease}") == "ok"
    assert status(holder, "l").holders("l") == [waiting]
    lines = [reader.line()]
    while lines[-1] != "end":
        lines.append(reader.line())
    assert len(b"".join(line.encode() for line in lines)) > 500_000
    assert len([line for line in lines if line.startswith("resource ")]) == 8001
    assert not [line for line in lines if line.startswith("*")]
    rest = sorted([reader.line(), reader.line()])
    assert rest[0].startswith(f"* granted {waiting} slot=l,")
    assert rest[1] == "ok"
    assert is_quiet(reader)


# ---- the end


@pytest.mark.parametrize("way", ["close", "half-close", "shutdown"])
def test_leases_end_with_their_connection(daemon, client, way):
    held(client, "acquire l s:2 p:3")
    waits(client, "acquire l")
    other, third = daemon.client(), daemon.client()
    waiting = waits(other, "acquire l s:2 p:3", 2)
    if way == "close":
        client.close()
    else:
        client.socket.shutdown(socket.SHUT_WR if way == "half-close" else socket.SHUT_RDWR)
    assert event(other)[:2] == ("granted", waiting)
    shown = status(third, "l", "s", "p")
    assert shown.held == 1 and shown.waiting == 0
    if way == "half-close":
        assert client.line() == "", "nothing is said about what one has given up oneself"


def test_after_a_half_close_answers_are_delivered(daemon, client):
    other = daemon.client()
    held(client, "acquire l")
    waiting = waits(other, "acquire l")
    client.send("ping\nacquire p:3\nacquire p\nstatus p\nversion\n" + "ping\n" * 1000)
    half_close(client)
    assert client.line() == "ok"
    assert client.line().startswith("ok ") and client.line().startswith("waiting ")
    while client.line() != "end":
        pass
    assert client.line().startswith("ok version=")
    assert [client.line() for _ in range(1000)] == ["ok"] * 1000
    assert client.line() == ""
    assert event(other)[:2] == ("granted", waiting)
    assert status(other, "p").resources["p"]["in_use"] == "0"


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


def test_how_a_wait_ends(daemon, client):
    others = [daemon.client() for _ in range(5)]
    pool, semaphore = held(client, "acquire p:3"), held(client, "acquire s:2")
    granted = waits(others[0], "acquire p", 1)
    late = waits(others[1], "acquire p wait=10ms", 2)
    cancelled = waits(others[2], "acquire p")
    gone = waits(others[3], "acquire l s")
    small = waits(others[4], "acquire s:2")
    assert event(others[1]) == ("denied", late, "timeout")
    assert client.request(f"cancel {cancelled}") == "ok"
    assert event(others[2]) == ("denied", cancelled, "cancelled")
    daemon.configure(CONFIG.replace("[lock l]\n", "").replace("s]\nlimit = 2", "s]\nlimit = 1"))
    assert client.request("reload") == "ok"
    assert event(others[3]) == ("denied", gone, "unknown")
    assert event(others[4]) == ("denied", small, "impossible")
    client.request(f"release {pool}")
    assert event(others[0])[:2] == ("granted", granted)
    client.request(f"release {semaphore}")
    assert all(is_quiet(each) for each in [client, *others])


@pytest.mark.parametrize("line", ["release {}", "cancel {}", "release l holder=me",
                                  "release l item=0", "release p item=b"])
def test_release_from_another_connection(daemon, client, line):
    other, third = daemon.client(), daemon.client()
    lease = held(client, "acquire l s p:3 holder=me")
    waiting = waits(third, "acquire p:2 l")
    assert other.request(line.format(lease)) == "ok"
    assert event(client) == ("lost", lease, "released")
    assert event(third)[:2] == ("granted", waiting)
    assert is_quiet(client) and is_quiet(other)


@pytest.mark.parametrize("line", ["release {}", "cancel {}", "release l holder=me"])
def test_cancel_from_another_connection(daemon, client, line):
    other = daemon.client()
    kept = held(other, "acquire l")
    lease = waits(client, "acquire l s:2 holder=me")
    assert other.request(line.format(lease)) == "ok"
    assert event(client) == ("denied", lease, "cancelled")
    shown = status(other, "l", "s")
    assert shown.waiting == 0 and shown.holders("l") == [kept]
    assert is_quiet(client) and is_quiet(other)


@pytest.mark.parametrize("line", ["release {}", "cancel {}", "release l holder=me"])
def test_ones_own_request_causes_no_event(daemon, client, line):
    lease = held(client, "acquire l holder=me")
    assert client.request(line.format(lease)) == "ok"
    blocker = held(client, "acquire l")
    lease = waits(client, "acquire l holder=me")
    assert client.request(line.format(lease)) == "ok"
    assert is_quiet(client)
    assert status(client, "l").holders("l") == [blocker]

"""acquire, release and cancel: every answer, and what other clients are told."""

import os
import re


from daemon_help import (
    NOBODY, connect_as, event, held, is_quiet, lease_of, refused, status, status_lines, waits)
from lost_help import asked_until, restart

CONFIG = """
[lock a]
[lock deploy]
[semaphore b]
limit = 8
max-priority = 5
[semaphore big]
limit = 100000
[semaphore few]
limit = 4
max-units-per-user = 2
[semaphore closed]
limit = 0
[semaphore short]
limit = 1
max-waiters = 2
[pool gpus]
items = g0 g1 g2
select = first
[semaphore market/*]
limit = 2
max-instances = 3
"""


def units(answer):
    """{name: (slot or item, token, [units])} of a grant."""
    result = {}
    for word in answer.split()[2:]:
        kind, value = word.split("=", 1)
        if kind in ("slot", "item"):
            name, token, *which = value.split(",")
            result[name] = (kind, int(token), which)
    return result


# ---- acquire


def test_granted(client):
    for request_line, kind, which in (
            ("a", "slot", ["0"]), ("b", "slot", ["0"]), ("b:1", "slot", ["0"]), ("b:3", "slot", ["0-2"]),
            ("gpus", "item", ["g0"]), ("gpus:3", "item", ["g0", "g1", "g2"]), ("market/x", "slot", ["0"]),
            ("big:500", "slot", ["0-499"])):
        answer = client.request(f"acquire {request_line}")
        assert re.fullmatch(r"ok [0-9a-z]+ (slot|item)=\S+", answer)
        (name, (got_kind, token, got)), = units(answer).items()
        assert (name, got_kind, got) == (request_line.split(":")[0], kind, which)
        assert 0 < token < 1 << 63
        assert client.request(f"release {lease_of(answer)}") == "ok"


def test_tokens_and_leases_grow_over_a_restart(daemon):
    before = daemon.client().request("acquire a")
    for _ in range(3):
        daemon.client().request(f"release {lease_of(before)}")
        restart(daemon, "kill")
        after = daemon.client().request("acquire a")
        assert units(after)["a"][1] > units(before)["a"][1]
        assert lease_of(after) != lease_of(before)
        before = after


REFUSED = [
    ("acquire none", "unknown"), ("acquire market", "unknown"), ("acquire market/x/y", "unknown"),
    ("acquire a none", "unknown"),
    ("acquire a:0", "impossible"), ("acquire a:2", "impossible"), ("acquire b:9", "impossible"),
    ("acquire few:3", "impossible"), ("acquire gpus:4", "impossible"),
    ("acquire market/x:3", "impossible"), ("acquire b:4294967295", "impossible"),
    ("acquire b:4294967296", "impossible"), ("acquire b:18446744073709551615", "impossible"),
    ("acquire closed:4294967295", "impossible"), ("acquire big:100000", "impossible"),
    ("acquire a b:9 gpus", "impossible"),
    ("acquire b priority=6", "forbidden"), ("acquire a priority=1", "forbidden"),
    ("acquire a a", "malformed"), ("acquire b:2 a b:1", "malformed"),
    ("acquire " + " ".join("abcdefghijklmnopq"), "malformed"),
    ("acquire a:", "bad-value"), ("acquire a:-1", "bad-value"), ("acquire a:+1", "bad-value"),
    ("acquire a:01", "bad-value"), ("acquire a:1x", "bad-value"), ("acquire a:1:1", "bad-value"),
    ("acquire a:18446744073709551616", "bad-value"), ("acquire :1", "bad-value"),
    ("acquire -a", "bad-value"), ("acquire a/../b", "bad-value"), ("acquire a//b", "bad-value"),
    ("acquire a/", "bad-value"), ("acquire .", "bad-value"), ("acquire " + "x" * 129, "bad-value"),
    ("acquire market/*", "bad-value"), ("acquire a%20b", "bad-value"), ("acquire %FF", "bad-value"),
    ("acquire a wait=-1", "bad-value"), ("acquire a wait=1w", "bad-value"),
    ("acquire a wait=3651d", "bad-value"), ("acquire a wait=1e3", "bad-value"),
    ("acquire a priority=1001", "bad-value"), ("acquire a priority=+1", "bad-value"),
    ("acquire a priority=-1001", "bad-value"), ("acquire a priority=--1", "bad-value"),
    ("acquire a pid=0", "bad-value"), ("acquire a pid=-1", "bad-value"),
    ("acquire a pid=2147483648", "bad-value"), ("acquire a pid=self", "bad-value"),
    ("acquire a parent=A", "bad-value"), ("acquire a parent=-", "bad-value"),
    ("release none holder=me", "unknown"), ("release none item=x", "unknown"),
    ("release gpus item=g3", "unknown"), ("release b item=8", "unknown"),
    ("release b item=x", "unknown"), ("release b item=1000001", "unknown"),
    ("release market/x/y item=0", "unknown"),
    ("release b holder=me item=0", "malformed"),
    ("release b item=a%20b", "bad-value"), ("release -b item=0", "bad-value"),
    ("release A-", "bad-value"), ("release abcdefghijklmn", "bad-value"),
    ("cancel A-", "bad-value"), ("release 00", "bad-value"),
]


def test_refused(client):
    for line, expected in REFUSED:
        assert refused(client, line) == expected, line
    assert is_quiet(client)
    after = status(client)
    assert after.held == after.waiting == 0 and "market/x" not in after.resources


# What comes before, and then.
REFUSED_NOW = [
    (["acquire a"], "acquire a wait=0", "would-wait"),
    (["acquire a"], "acquire b a wait=0", "would-wait"),
    (["acquire b:7"], "acquire b:2 wait=0", "would-wait"),
    (["acquire b:7", "acquire b:2"], "acquire b wait=0", "would-wait"),  # somebody is before it
    (["pause b"], "acquire b wait=0", "paused"),
    (["acquire a", "pause b"], "acquire a b wait=0", "paused"),
    ([], "acquire closed wait=0", "closed"),
    (["limit b 0"], "acquire b wait=0s", "closed"),
    (["drain"], "acquire a wait=0", "draining"),
    (["pause a", "drain"], "acquire a wait=0", "paused"),
    (["acquire few:2"], "acquire few wait=0", "quota"),
    (["acquire a holder=me"], "acquire a holder=me", "held"),
    (["acquire a", "acquire a holder=me"], "acquire a holder=me wait=0", "held"),
    (["acquire b holder=me"], "acquire a b holder=me", "held"),
    (["acquire short", "acquire short", "acquire short"], "acquire short", "queue-full"),
    (["acquire market/x", "acquire market/y", "acquire market/z"], "acquire market/w", "quota"),
]


def test_refused_now(daemon, client):
    for before, line, expected in REFUSED_NOW:
        other = daemon.client()
        for request_line in before:
            assert not other.request(request_line).startswith("error")
        then = status_lines(other)[0]
        assert refused(other, line) == expected, (before, line)
        assert status_lines(other)[0] == then
        other.close()
        for undo in ("undrain", "reset a", "reset b"):
            assert client.request(undo) == "ok"
        asked_until(daemon, lambda now: now.held == now.waiting == 0)


def test_refusals_name_their_subject(client):
    held(client, "acquire a program=make reason=big%20build")
    answer = client.request("acquire b a wait=0")
    assert answer.startswith("error would-wait a:%20")
    assert "make" in answer and "big%20build" in answer


# ---- release


def test_release(client):
    """By lease, by identity, by item, and of what nobody has."""
    lease = held(client, "acquire a b:2 gpus")
    assert client.request(f"release {lease}") == "ok"
    assert status(client).held == 0
    assert client.request(f"release {lease}") == client.request("release 1") == "ok"
    held(client, "acquire b:2 holder=me")
    held(client, "acquire b holder=you")
    assert client.request("release b holder=me") == "ok"
    assert refused(client, "release b holder=me") == "not-holder"
    assert client.request("release b holder=you") == "ok"
    assert client.request("release b holder=me") == "ok"  # nobody holds it
    held(client, "acquire a")
    waits(client, "acquire a holder=me")
    assert client.request("release a holder=me") == "ok"
    assert status(client).waiting == 0
    held(client, "acquire gpus:2")
    held(client, "acquire b:3")
    assert client.request("release gpus item=g1") == "ok"  # a lease is given back whole
    assert status(client).resources["gpus"]["in_use"] == "0"
    for line in "gpus item=g1", "b item=2", "b item=7", "a item=0", "market/x item=0", "market/x holder=me":
        assert client.request(f"release {line}") == "ok", line
    shown = status(client)
    assert shown.held == 0 and "market/x" not in shown.resources


def test_an_identity_that_nobody_has(daemon, client):
    """The nearest of the user's own is named."""
    held(client, "acquire b holder=nightly")
    answer = client.request("release b holder=nightyl")
    assert answer == "error not-holder b:%20not%20held%20under%20this%20identity;%20did%20you%20mean%20nightly?"
    assert "mean" not in client.request("release b holder=other")
    answer = client.request("renew b holder=nightyl")
    assert answer == "error lost b:%20the%20lease%20has%20ended;%20did%20you%20mean%20nightly?"
    assert "mean" not in client.request("renew b holder=other")
    if os.getuid() == 0:
        assert refused(connect_as(daemon, NOBODY), "release b holder=nightyl") == "not-holder"
        answer = connect_as(daemon, NOBODY).request("release b holder=nightyl")
        assert "nightly" not in answer


# ---- how waiting ends


def test_granted_later(daemon, client):
    """With the same units and tokens as in an answer."""
    holder = daemon.client()
    lease = held(holder, "acquire gpus:2 a b:8")
    waiting = waits(client, "acquire gpus:3 b:2 a", 1)
    assert holder.request(f"release {lease}") == "ok"
    line = client.line()
    assert line.startswith(f"* granted {waiting} ")
    granted = units(line[2:])
    assert list(granted) == ["gpus", "b", "a"]
    assert granted["gpus"][2] == ["g0", "g1", "g2"] and granted["b"][2] == ["0-1"]
    shown = status(client).resources
    assert shown["b"]["holders"][0]["token"] == str(granted["b"][1])


def test_denied_when_the_time_is_over(client):
    held(client, "acquire a")
    for wait in "1ms", "0.05", "50ms", "0.0001s":
        lease = waits(client, f"acquire a wait={wait}")
        assert event(client) == ("denied", lease, "timeout"), wait
        assert status(client).waiting == 0
        assert client.request(f"release {lease}") == "ok"


def test_a_long_cooldown_keeps_nobody_from_stopping(berthd):
    client = berthd("[semaphore a]\nlimit = 2\ncooldown = 1d\n[semaphore x/*]\nlimit=1\ncooldown=1d\n"
        ).client()
    for name in ("a", "x/y"):
        assert client.request(f"release {held(client, f'acquire {name}')}") == "ok"
    assert status(client).resources["x/y"]["cooling"] == "1"

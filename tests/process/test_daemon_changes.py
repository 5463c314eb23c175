"""Changes while others hold and wait: by an operator at runtime, by a reload.
test_daemon_operator.py has each answer to an operator's requests."""

import re
from urllib.parse import unquote

import pytest

from daemon_help import (
    NOBODY, code, connect_as, event, held, is_quiet, needs_root, refused, status, waits)

CONFIG = """
[semaphore s]
limit = 3
[lock l]
[pool p]
items = a b c
select = first
[semaphore t/*]
limit = 1
"""


@pytest.fixture
def client(daemon):
    return daemon.client()


def test_a_waiter_that_is_passed_over_is_marked(berthd):
    daemon = berthd("[semaphore s]\nlimit = 3\nmax-units-per-user = 1\n[lock shut]\nlimit = 0\n"
                    "[lock l]\n")
    client = daemon.client()
    held(client, "acquire s")
    waits(client, "acquire s")
    waits(client, "acquire l shut")
    shown = status(client).resources
    assert shown["s"]["waiters"][0]["blocked"] == "quota"
    assert shown["l"]["waiters"][0]["blocked"] == "other"


# ---- changes


CHANGES = [
    # request, answer, keys of the resource's status line afterwards
    ("limit s 5", "ok", {"limit": "5", "free": "5", "changed": "limit"}),
    ("limit s 0", "ok", {"limit": "0", "free": "0"}),
    ("limit l 0", "ok", {"limit": "0"}),
    ("limit l 2", "kind", {"limit": "1"}),
    ("limit p 2", "kind", {"limit": "3"}),
    ("limit nope 1", "unknown", None),
    ("limit s -1", "bad-value", {"limit": "3"}),
    ("limit s 1000001", "bad-value", {"limit": "3"}),
    ("limit s 1000000", "ok", {"limit": "1000000"}),
    ("limit s", "malformed", {"limit": "3"}),
    ("limit s 1 2", "malformed", {"limit": "3"}),
    ("add p d", "ok was=absent", {"items": "a,b,c,d", "limit": "4", "changed": "items"}),
    ("add p a", "ok was=present", {"items": "a,b,c"}),
    ("add s 1", "kind", {"limit": "3"}),
    ("add nope a", "unknown", None),
    ("add p %20", "bad-value", {"items": "a,b,c"}),
    ("remove p b", "ok", {"items": "a,c", "limit": "2", "changed": "items"}),
    ("remove p z", "unknown", {"items": "a,b,c"}),
    ("remove nope a", "unknown", None),
    ("remove s 0", "kind", {"limit": "3"}),
    ("reserve p b reason=broken%20fan", "ok", {"reserved": "b", "reserve": "b,broken%20fan"}),
    ("reserve p b", "ok", {"reserved": "b", "free": "2"}),
    ("reserve s 1", "ok", {"reserved": "1", "free": "2"}),
    ("reserve p z", "unknown", {"free": "3"}),
    ("reserve nope a", "unknown", None),
    ("pause s reason=not%20now", "ok", {"paused": "1", "pause_reason": "not%20now", "free": "0"}),
    ("pause s", "ok", {"paused": "1"}),
    ("pause nope", "unknown", None),
    ("resume s", "ok", {"free": "3"}),
    ("resume nope", "unknown", None),
    ("reset s", "ok", {"limit": "3"}),
    ("reset nope", "unknown", None),
    ("pause", "malformed", None),
    ("pause -", "bad-value", None),
]


@pytest.mark.parametrize("line, answer, after", CHANGES, ids=[change[0] for change in CHANGES])
def test_changes(client, line, answer, after):
    got = client.request(line)
    assert (got if got.startswith("ok") else code(got)) == answer
    if after:
        name = line.split()[1]
        shown = status(client, name).resources[name]
        assert {key: shown.get(key) for key in after} == after
        before = {"s": {"limit": "3", "free": "3"}, "l": {"limit": "1", "free": "1"},
                  "p": {"items": "a,b,c", "limit": "3", "free": "3"}}[name]
        assert client.request(f"reset {name}") == "ok"
        shown = status(client, name).resources[name]
        assert {key: shown.get(key) for key in before} == before
        assert not {"paused", "changed", "reserved", "reserve", "draining"} & set(shown)


def test_changes_wake_and_hold_back(daemon, client):
    """Each wakes those that get something, and nobody else."""
    others = [daemon.client() for _ in range(3)]
    taken = held(client, "acquire s:3 p:3")
    leases = [waits(other, "acquire s") for other in others]
    assert client.request("limit s 4") == "ok"
    assert event(others[0])[:2] == ("granted", leases[0])
    assert client.request("pause s") == "ok"
    assert client.request("limit s 6") == "ok"
    assert is_quiet(others[1]) and is_quiet(others[2])
    assert client.request("resume s") == "ok"
    assert event(others[1])[:2] == ("granted", leases[1])
    assert event(others[2])[:2] == ("granted", leases[2])
    assert client.request("limit s 1") == "ok"
    shown = status(client, "s").resources["s"]
    assert (shown["limit"], shown["in_use"], shown["free"]) == ("1", "6", "0")

    waiting = waits(others[0], "acquire p")
    assert client.request("remove p a") == "ok"
    shown = status(client, "p").resources["p"]
    assert (shown["draining"], shown["limit"], shown["in_use"], shown["free"]) == ("a", "2", "3", "0")
    assert client.request("reserve p b") == "ok"
    assert is_quiet(others[0])
    assert client.request("add p d") == "ok was=absent"
    assert re.fullmatch(rf"\* granted {waiting} item=p,\d+,d", others[0].line()), (
        "all three that were taken before are held still, and keep nobody from the new one")
    waits(others[1], "acquire p:2")
    assert client.request(f"release {taken}") == "ok"
    assert is_quiet(others[1]), "one is reserved still"
    assert client.request("add p b") == "ok was=reserved"
    assert re.fullmatch(r"\* granted \w+ item=p,\d+,\w,\w", others[1].line())


def test_a_holder_that_dies_ends_a_drain(daemon, client):
    other = daemon.client()
    held(other, "acquire l")
    assert client.request("drain wait=1") == "ok held=1"
    other.close()
    assert client.line() == "* drained"


# ---- reload


def test_reload(daemon, client):
    daemon.configure(CONFIG.replace("limit = 3", "limit = 4"))
    assert client.request("reload") == "ok"
    assert status(client, "s").resources["s"]["limit"] == "4"
    daemon.configure("[lock l]\nlimit = 7\n[semaphore s]\nlimits = 3\n")
    answer = client.request("reload")
    assert code(answer) == "config"
    errors = unquote(answer.split(" ")[2]).splitlines()
    assert len(errors) >= 2
    assert all(str(daemon.config) in line for line in errors)
    assert status(client, "s").resources["s"]["limit"] == "4"
    assert set(status(client).resources) == {"s", "l", "p"}


def test_a_reload_that_is_refused_changes_nothing(daemon, client):
    """The file itself is right, but what is held cannot become something else."""
    lease = held(client, "acquire l")
    daemon.configure("[semaphore s]\nlimit = 9\n[pool l]\nitems = a b\n")
    assert refused(client, "reload") == "config"
    shown = status(client).resources
    assert set(shown) == {"s", "l", "p"} and shown["s"]["limit"] == "3"
    assert shown["l"]["kind"] == "lock"
    assert client.request(f"release {lease}") == "ok"
    assert client.request("reload") == "ok"
    assert status(client).resources["l"]["kind"] == "pool"


@needs_root
def test_a_reload_that_is_refused_leaves_the_bounds(daemon, client):
    """As an ordinary user sees it: operators get a connection whatever max-clients is."""
    held(client, "acquire l")
    daemon.configure("max-clients = 1\n[pool l]\nitems = a b\n")
    assert refused(client, "reload") == "config"
    assert is_quiet(connect_as(daemon, NOBODY))


def test_the_errors_of_a_reload_fit_on_a_line(daemon, client):
    daemon.configure("".join(f"[semaphore s{i}]\nnonsense{i} = 1\n" for i in range(500)))
    client.send("reload\n")
    answer = client.line()
    assert code(answer) == "config"
    assert len(answer) < 4096
    assert is_quiet(client)


def test_what_is_removed_while_held_only_drains(daemon, client):
    lease = held(client, "acquire l")
    daemon.configure(CONFIG.replace("[lock l]", ""))
    assert client.request("reload") == "ok"
    shown = status(client).resources
    assert shown["l"]["removed"] == "1"
    assert refused(client, "acquire l") == "unknown"
    assert client.request(f"release {lease}") == "ok"
    assert "l" not in status(client).resources

"""`wait`: a client hears when nothing is held of what it names."""

import os

import pytest

from daemon_help import held, held_with_proof, is_quiet, refused, status, waits
from lines import until
from lost_help import lose_the_journal

CONFIG = """
[semaphore s]
limit = 3
[lock a]
[lock b]
[lock market/*]
"""


def test_until_the_last_unit_is_back(daemon):
    holder, other, looker = (daemon.client() for _ in range(3))
    first, second = held(holder, "acquire s"), held(holder, "acquire s:2")
    next_one = waits(other, "acquire s:2")
    assert looker.request("wait s") == "ok held=1"
    assert holder.request(f"release {second}") == "ok"
    assert other.line().startswith(f"* granted {next_one} ")
    assert holder.request(f"release {first}") == "ok"
    assert is_quiet(looker)  # the one who waited has it
    assert other.request(f"release {next_one}") == "ok"
    assert looker.line() == "* idle"
    held(holder, "acquire s")
    assert is_quiet(looker)  # it was told once


def test_what_is_idle_already(client):
    for name in "a", "market/never", "s":
        assert client.request(f"wait {name}") == "ok held=0", name
        assert client.line() == "* idle", name


def test_several(daemon):
    """All of them at one moment."""
    holder, looker = daemon.client(), daemon.client()
    a, b, market = (held(holder, f"acquire {name}") for name in ("a", "b", "market/x"))
    assert looker.request("wait a b s market/x") == "ok held=3"
    assert holder.request(f"release {a}") == "ok"
    assert holder.request(f"release {market}") == "ok"
    again = held(holder, "acquire a")
    assert holder.request(f"release {b}") == "ok"
    assert is_quiet(looker)
    assert holder.request(f"release {again}") == "ok"
    assert looker.line() == "* idle"


def test_each_name_of_a_lease(daemon):
    holder, looker = daemon.client(), daemon.client()
    for name in "a", "b":
        lease = held(holder, "acquire a b")
        assert looker.request(f"wait {name}") == "ok held=1", name
        assert holder.request(f"release {lease}") == "ok"
        assert looker.line() == "* idle", name


@pytest.mark.parametrize("comes_back", [True, False])
def test_leases_that_may_come_back(berthd, comes_back):
    """The journal is lost: what berthd does not know of may still run."""
    daemon = berthd("grace = 2s\n[lock a]\n")
    lease, proof = held_with_proof(daemon.client(), f"acquire a pid={os.getpid()}")
    lose_the_journal(daemon)
    told = {"wait a": "* idle", f"wait lease={lease}": "* idle", "drain wait=1": "* drained"}
    lookers, holder = {request: daemon.client() for request in told}, daemon.client()
    assert [looker.request(request) for request, looker in lookers.items()] == ["ok held=0"] * 3
    assert all(map(is_quiet, lookers.values()))
    if comes_back:
        line = f"reclaim {lease} a:1:0 pid={os.getpid()} {proof}"
        assert holder.request(line).startswith(f"ok {lease} ")
        until(lambda: not status(holder).grace)
        assert all(map(is_quiet, lookers.values()))
        assert holder.request(f"release {lease}") == "ok"
    assert {request: looker.line() for request, looker in lookers.items()} == told


def test_a_lease(daemon):
    holder, waiter, looker = (daemon.client() for _ in range(3))
    lease = held(holder, "acquire a b")
    waiting = waits(waiter, "acquire a")
    assert looker.request(f"wait lease={lease}") == "ok held=1"
    assert holder.request(f"release {lease}") == "ok"
    assert looker.line() == "* idle"  # though the next one has it
    other = waits(daemon.client(), "acquire a")
    assert looker.request(f"wait lease={other}") == "ok held=1"
    assert looker.request(f"revoke {other}") == "ok"
    assert looker.line() == "* idle"
    assert looker.request(f"wait lease={lease}") == "ok held=0"
    assert looker.line() == "* idle"
    assert waiting


def test_a_later_wait_takes_the_place_of_an_earlier_one(daemon):
    holder, looker = daemon.client(), daemon.client()
    a, b = held(holder, "acquire a"), held(holder, "acquire b")
    assert looker.request("wait a") == "ok held=1"
    assert looker.request("wait b") == "ok held=1"
    assert holder.request(f"release {a}") == "ok"
    assert is_quiet(looker)
    assert holder.request(f"release {b}") == "ok"
    assert looker.line() == "* idle"


def test_who_has_gone_waits_no_more(daemon):
    holder = daemon.client()
    lease = held(holder, "acquire a")
    for how in ("wait a", f"wait lease={lease}"):
        looker = daemon.client()
        assert looker.request(how) == "ok held=1"
        looker.close()
    assert holder.request(f"release {lease}") == "ok"
    assert is_quiet(holder)


def test_what_it_refuses(client):
    for line, code in {
        "wait": "malformed", "wait a lease=1": "malformed", "wait lease=-": "bad-value", "wait nix": "unknown",
        "wait market/*": "bad-value", "wait a nix": "unknown",
    }.items():
        assert refused(client, line) == code, line
    assert is_quiet(client)

"""Newest only: `acquire … replace=`, `berth run --replace`, in host scope."""

import json
import os
import threading

import pytest

from conftest import error_of
from daemon_help import (code, connect_as, does, event, held, is_quiet, needs_root, NOBODY, refused,
                         status, waits)
from history_help import last
from library_help import berth as library
from library_help import client as library_client  # noqa: F401
from lines import DEADLINE, until
from lost_help import asked_until, lose_the_journal, restart, sleeper

CONFIG = """grace = 2s
[lock d]
kill-after = 100ms
[semaphore s]
limit = 2
[lock shared]
identity = shared
"""
NEW = "acquire d holder=x replace=waiting"
RUNNING = "acquire d holder=x replace=running"


def line(client, name):
    return status(client, name).waiters(name)


def test_the_newest_takes_the_place(daemon):
    clients = [daemon.client() for _ in range(5)]
    lease = held(clients[0], "acquire d")
    first = waits(clients[1], "acquire d holder=x", position=1)
    other = waits(clients[2], "acquire d", position=2)
    second = waits(clients[3], NEW, position=1)
    assert event(clients[1]) == ("denied", first, "replaced")
    assert last(clients[0]).lease == first
    last(clients[0]).has(how="replaced", code=None, why=f"lease {second} replaces it", by=None)
    third = waits(clients[4], NEW, position=1)
    assert event(clients[3]) == ("denied", second, "replaced")
    assert line(clients[0], "d") == [third, other]
    metrics = "\n".join(clients[0].lines("metrics"))
    assert "figure berth_denied_total resource=d reason=replaced value=2" in metrics
    does(clients[0], f"release {lease}")
    assert event(clients[4])[:2] == ("granted", third) and is_quiet(clients[2])
    does(clients[4], f"release {third}")
    assert event(clients[2])[:2] == ("granted", other)


def test_refused(daemon):
    """A request that is refused has ended nobody."""
    client, waiter = daemon.client(), daemon.client()
    held(client, "acquire d")
    lease = waits(waiter, "acquire d holder=x")
    for request, why in (("acquire d replace=waiting", "bad-value"), ("acquire d holder=x replace=nothing", "bad-value"),
                         ("acquire d holder=x replace=", "bad-value"), (f"{NEW} wait=0", "would-wait"),
                         (f"{NEW} priority=9", "forbidden"), ("acquire d s:3 holder=x replace=waiting", "impossible")):
        assert refused(client, request) == why, request
    assert is_quiet(waiter) and line(client, "d") == [lease]
    other = waits(client, NEW)
    assert event(waiter)[:2] == ("denied", lease)
    assert refused(waiter, "acquire d holder=x") == "held" and line(client, "d") == [other]


def test_it_waits_for_its_identity(daemon):
    """It delays nobody meanwhile, and says for whom it waits."""
    clients = [daemon.client() for _ in range(4)]
    lease, other = held(clients[0], "acquire s holder=x"), held(clients[1], "acquire s")
    waiter = waits(clients[2], "acquire s holder=x replace=waiting")
    behind = waits(clients[3], "acquire s")
    row, = (row for row in status(clients[0], "s").resources["s"]["waiters"] if row["lease"] == waiter)
    assert (row["blocked"], row["blocker"]) == ("identity", "s")
    because = "\n".join(clients[0].lines(f"why {waiter}"))
    assert f"because lease%20{lease},%20which%20has%20its%20identity,%20runs" in because
    does(clients[1], f"release {other}")
    assert event(clients[3])[:2] == ("granted", behind)
    does(clients[0], f"release {lease}")
    assert event(clients[2])[:2] == ("granted", waiter)
    assert refused(clients[0], "acquire s holder=x") == "held"


def test_running(daemon):
    """The job is stopped, once; the next one waits for its end."""
    clients = [daemon.client() for _ in range(3)]
    with sleeper() as pid:
        lease = held(clients[0], f"acquire d holder=x pid={pid}")
        assert refused(clients[1], f"{RUNNING} wait=0") == "would-wait" and is_quiet(clients[0])
        waiter = waits(clients[1], NEW)
        assert is_quiet(clients[0])
        first = waits(clients[1], RUNNING)
        assert event(clients[1]) == ("denied", waiter, "replaced")
        said = clients[0].line().split()
        assert said[1:4] == ["revoked", lease, "revoked"] and f"lease%20{first}%20replaces%20it" in said[4]
        second = waits(clients[2], RUNNING)
        assert event(clients[1]) == ("denied", first, "replaced") and is_quiet(clients[0])
        does(clients[0], f"release {lease} signal=15")
    assert event(clients[2])[:2] == ("granted", second)
    last(clients[2]).has(how="revoked", by=str(os.geteuid()), why=f"lease {first} replaces it", signal="15")
    assert f"revoke {lease} (d, held by pid {pid} of uid {os.geteuid()}): asked by" in daemon.log.read_text()


@needs_root
def test_other_users(daemon):
    """Also where identities are shared, nobody ends another user's request or job."""
    own, waiter, other = daemon.client(), daemon.client(), connect_as(daemon, NOBODY)
    with sleeper() as pid:
        lease = held(own, f"acquire shared holder=x pid={pid}")
        waiting = waits(waiter, "acquire shared holder=x replace=waiting")
        theirs = waits(other, "acquire shared holder=x replace=running")
        assert is_quiet(own) and is_quiet(waiter) and line(own, "shared") == [waiting, theirs]
        does(own, f"release {lease}")
    assert event(waiter)[:2] == ("granted", waiting) and is_quiet(other)
    does(waiter, f"release {waiting}")
    assert event(other)[:2] == ("granted", theirs)


# ---- over the ends of berthd

def test_over_a_restart(daemon):
    """The place lasts, and whoever was replaced meanwhile hears of it."""
    clients = [daemon.client() for _ in range(3)]
    with sleeper() as pid:
        held(clients[0], f"acquire d pid={pid}")
        first, other = waits(clients[1], "acquire d holder=x"), waits(clients[2], "acquire d")
        restart(daemon, "kill")
        client, late = daemon.client(), daemon.client()
        second = waits(client, NEW)
        assert line(client, "d") == [second, other]
        assert refused(late, f"reclaim {first} d:1 holder=x") == "replaced"
        restart(daemon, "kill")
        client = daemon.client()
        assert line(client, "d") == [second, other]
        answer = client.request(f"reclaim {second} d:1 holder=x replace=waiting")
        assert answer.startswith(f"waiting {second} position=1")
    assert event(client)[:2] == ("granted", second)


@pytest.mark.parametrize("newest_is_first", (True, False))
def test_over_a_lost_journal(daemon, newest_is_first):
    """Whichever comes back first. The place is lost with the journal."""
    clients = [daemon.client() for _ in range(4)]
    with sleeper() as pid:
        asks = [f"d:1 pid={pid}", f"d:1 pid={pid} holder=x", f"d:1 pid={pid}", f"d:1 pid={pid} holder=x replace=waiting"]
        answers = [client.request(f"acquire {ask}").split() for client, ask in zip(clients, asks)]
        lease, first, other, second = (answer[1] for answer in answers)
        lose_the_journal(daemon)
        clients = [daemon.client() for _ in range(4)]

        def again(number):
            ask = asks[number].replace("d:1", "d:1:0") if number == 0 else asks[number]
            proof, = (word for word in answers[number] if word.startswith("proof="))
            return clients[number].request(f"reclaim {answers[number][1]} {ask} {proof}")

        assert again(0).startswith(f"ok {lease}") and again(2).startswith(f"waiting {other}")
        if newest_is_first:
            assert again(3).startswith(f"waiting {second}")
        assert code(again(1)) == ("replaced" if newest_is_first else "lost")  # as the history knows
        assert newest_is_first or again(3).startswith(f"waiting {second}")
        assert line(clients[0], "d") == [other, second]


def test_the_running_one_is_stopped_later(daemon):
    """As the newer one comes back again: when it first waited, nobody was there to be stopped."""
    with sleeper() as pid:
        holds = f"d:1 pid={pid} holder=x"
        asks = [holds, f"{holds} replace=running"]
        clients = [daemon.client() for _ in asks]
        answers = [client.request(f"acquire {ask}").split() for client, ask in zip(clients, asks)]
        lose_the_journal(daemon)

        def again(client, number, ask):
            proof, = (word for word in answers[number] if word.startswith("proof="))
            return client.request(f"reclaim {answers[number][1]} {ask} {proof}")

        client, holder = daemon.client(), daemon.client()
        assert again(client, 1, asks[1]).startswith("waiting")
        assert again(holder, 0, holds.replace("d:1", "d:1:0")).startswith("ok")
        assert is_quiet(holder)
        restart(daemon, "kill")
        client, holder = daemon.client(), daemon.client()
        assert again(holder, 0, holds.replace("d:1", "d:1:0")).startswith("ok")
        assert again(client, 1, asks[1]).startswith("waiting")
        assert event(holder)[:2] == ("revoked", answers[0][1])


# ---- the clients

def test_by_berth(daemon, berth, berthctl, directory):
    client = daemon.client()
    run = ("run", "--holder", "ci", "d", "--replace")
    first = berth.start("run", "--holder", "ci", "d", "--", "sleep", "1000")
    asked_until(daemon, lambda now: now.held == 1)
    second = berth.start(*run, "--", "true")
    waiting = asked_until(daemon, lambda now: now.waiting == 1).waiters("d")
    third = berth.start(*run, "--", "true")
    assert second.wait(DEADLINE) == 75
    err = second.stderr.read().decode()
    assert "a newer request has taken its place: lease" in err and err.endswith("replaces it (replaced)\n")
    now = asked_until(daemon, lambda now: now.waiters("d") != waiting)
    shown = json.loads(berthctl("status", "--json").stdout)
    waiter, = next(one for one in shown["resources"] if one["name"] == "d")["waiters"]
    assert (waiter["lease"], waiter["blocked"], waiter["blocker"]) == (now.waiters("d")[0], "identity", "d")
    assert "identity" in berthctl("status", "d").stdout
    done = berth("run", "--holder", "ci", "--replace=running", "d", "--", "echo", "newest")
    assert (done.returncode, done.stdout) == (0, "newest\n")
    assert third.wait(DEADLINE) == 75 and first.wait(DEADLINE) == 124
    assert "replaces it (revoked)" in first.stderr.read().decode()
    until(lambda: status(client).held == 0)


def test_by_berth_over_a_restart(berth, fake):
    """It has been replaced while berthd was away: it does not ask again, as the newest."""
    process = berth.start("run", "--holder", "x", "--replace", "r", "--", "true")
    peer, words = fake.asked()
    assert words[:2] == ["acquire", "r:1"] and {"holder=x", "replace=waiting"} < set(words)
    peer.send("waiting 1 position=1\n")
    peer, words = fake.asked_again(peer)
    assert words[:3] == ["reclaim", "1", "r:1"] and {"holder=x", "replace=waiting"} < set(words)
    peer.send("error replaced replaced\n")
    assert error_of(process, 75).endswith("berth: replaced (replaced)\n")


def test_usage(berth):
    for words, why in ((("--replace", "d"), "--replace needs --holder ID"),
                       (("--holder", "x", "--replace=all", "d"), "--replace=all: not one of waiting, running")):
        done = berth("run", *words, "--", "true")
        assert (done.returncode, done.stderr) == (64, f"berth: {why}\n")


def test_by_the_library(daemon, library_client):  # noqa: F811
    client, waiter = daemon.client(), daemon.client()
    held(client, "acquire d")
    first = waits(waiter, "acquire d holder=x")
    with pytest.raises(library.Timeout):
        library_client.acquire("d", wait=0.2, holder="x", replace="waiting")
    assert event(waiter) == ("denied", first, "replaced")
    errors = []

    def wait():
        with pytest.raises(library.NotFree) as error:
            library_client.acquire("d", holder="x", replace="waiting")
        errors.append(error.value.code)

    thread = threading.Thread(target=wait)
    thread.start()
    asked_until(daemon, lambda now: now.waiting == 1)
    waits(waiter, NEW)
    thread.join(DEADLINE)
    assert errors == ["replaced"]

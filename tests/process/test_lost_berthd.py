"""berthd is killed or stopped, and started again: no job notices, no place is lost."""

import os
import select
import signal

import pytest

from daemon_help import held, is_quiet, keys, refused, status, stopped
from journal_file import EXTENT, extents, found, records
from lost_help import (  # fixtures among them
    WAITS, Crowd, all_back, all_free, asked_until, job, restart, scaled, sleeper, witness)

CROWD = 200
RESTARTS = 100
# A unit is given back, and a new job comes, at every CHANGEth restart.
CHANGE = 4


def waiting_pids(now):
    return [int(waiter["pid"]) for waiter in now.resources["s"]["waiters"]]


def test_restarts_under_a_crowd(berth, berthd, witness, chance, directory):
    limit, restarts = scaled(CROWD), scaled(RESTARTS)
    daemon = berthd(f"grace = 20s\n[semaphore s]\nlimit = {limit}\n")
    crowd = Crowd(berth, witness, directory / "said")
    for number in range(limit):
        crowd.start(number)
    witness.wait_for_starts(limit)
    for number in range(limit, 2 * limit):
        crowd.start(number)
    before = asked_until(daemon, lambda now: (now.held, now.waiting) == (limit, limit))
    queue = waiting_pids(before)
    number = 2 * limit
    for i in range(restarts):
        restart(daemon, chance.choice(["kill", "stop"]))
        witness.read(chance.uniform(0, 0.02))
        if i % CHANGE == 0:
            witness.let_go(chance.choice(sorted(witness.running)))
            crowd.start(number)
            number += 1
    asked_until(daemon, all_back(limit, limit))
    witness.check(limit)
    witness.let_all_go()
    crowd.must_end_well()
    asked_until(daemon, all_free)
    witness.check(limit)
    assert len(witness.pids) == number == len(witness.ended)
    served = [witness.pids[job] for job in witness.in_order_of_grant()]
    assert served[limit:2 * limit] == queue


# What a restart may change, because no client is back yet.
OF_THE_MOMENT = {"away"}


def comparable(now):
    def lasting(one):
        return {key: value for key, value in one.items() if key not in OF_THE_MOMENT}
    return {name: {key: [lasting(one) for one in value] if isinstance(value, list) else value
                   for key, value in resource.items()}
            for name, resource in now.resources.items()}


def test_all_is_as_it_was(berthd):
    """All that is known about leases and waiters, more than once."""
    daemon = berthd("""
[semaphore s]
limit = 5
max-priority = 9
max-hold = 1h
[pool gpus]
items = a b c
max-priority = 9
[lock l]
max-priority = 9
[semaphore t/*]
limit = 2
""")
    client = daemon.client()
    client.send(
        f"acquire s:2 gpus:2 holder=me%20too reason=why%20not program=p%25 pid={os.getpid()}\n"
        "acquire t/x ttl=1h holder=x\n"
        "acquire l\n"
        "acquire l s:3 gpus priority=3 wait=1h reason=later\n"
        "acquire l priority=0 program=nobody\n")
    assert [client.line().split(" ")[0] for _ in range(6)] == [
        "ok", "*", "ok", "ok", "waiting", "waiting"]
    before = status(client)
    assert (before.held, before.waiting) == (3, 2)
    for how in ("kill", "stop", "kill"):
        restart(daemon, how)
        assert comparable(status(daemon.client())) == comparable(before)


def test_what_is_answered_is_written_down(berthd):
    """berthd dies the moment the first of many hears that it has a lease: every client with an
    answer still has its lease."""
    n = 100
    daemon = berthd(f"grace = 1h\nmax-clients-per-user = 10000\n[semaphore s]\nlimit = {n}\n")
    for _ in range(5):
        clients = [daemon.client() for _ in range(2 * n)]
        assert all(is_quiet(client) for client in clients)
        with stopped(daemon):
            for client in clients:
                client.send(f"acquire s pid={os.getpid()}\n")
        first = select.poll()
        for client in clients:
            first.register(client.socket, select.POLLIN)
        first.poll()
        daemon.kill()
        answers = [client.line().split(" ") for client in clients]
        for client in clients:
            client.close()
        daemon.start()
        now = status(daemon.client())
        assert {lease for word, lease, *_ in filter(any, answers) if word == "ok"} <= set(
            now.holders("s"))
        assert {lease for word, lease, *_ in filter(any, answers) if word == "waiting"} <= set(
            now.waiters("s"))
        client = daemon.client()
        for lease in now.holders("s") + now.waiters("s"):
            assert client.request(f"release {lease}") == "ok"


def test_places_are_for_connections_again(berthd):
    """berthd watches the processes of a restart until their clients are back, and then has as many
    places as before."""
    places = 12
    daemon = berthd(f"max-clients = {places}\n[semaphore s]\nlimit = {places}\n")
    leases = [held(daemon.client(), f"acquire s pid={os.getpid()}") for _ in range(places // 2)]
    restart(daemon, "kill")
    for lease in leases:
        assert daemon.client().request(f"reclaim {lease} s pid={os.getpid()}").startswith("ok ")
    for _ in range(places - len(leases)):
        held(daemon.client(), "acquire s")  # a place kept for operators is not for this


def test_repeated_with_once(berthd):
    """A client that has not seen the answer asks again, and gets what it had: held or waiting."""
    daemon = berthd("grace = 1h\n[semaphore s]\nlimit = 2\n")
    requests = [f"acquire s once={word} pid={os.getpid()}" for word in ("a", "b", "c", "d")]
    leases = [daemon.client().request(request).split(" ")[:2] for request in requests]
    assert [word for word, _ in leases] == ["ok", "ok", "waiting", "waiting"]
    for how in "kill", "stop":
        restart(daemon, how)
        clients = [daemon.client() for _ in requests]
        again = [client.request(request).split(" ")[:2]
                 for client, request in reversed(list(zip(clients, requests)))]
        assert again == leases[::-1]
    assert clients[1].request(f"release {leases[1][1]}") == "ok"
    assert clients[2].line().startswith(f"* granted {leases[2][1]} ")


def test_the_file_was_changed_meanwhile(berthd, job):
    """Fewer units, and resources that are gone: holders keep what they have, and nobody else gets
    what is no longer there."""
    daemon = berthd("""
[semaphore s]
limit = 3
[pool p]
items = x y
[lock a]
[semaphore t/*]
limit = 2
""")
    jobs = [job(what, script=WAITS) for what in ("s:2", "p:2", "a", "t/x:2")]
    daemon.stop()
    daemon.configure("[semaphore s]\nlimit = 1\n[pool p]\nitems = y\n")
    daemon.start()
    now = asked_until(daemon, all_back(4, 0))
    assert (now.resources["s"]["in_use"], now.resources["s"]["limit"]) == ("2", "1")
    assert now.resources["p"]["draining"] == "x" and now.resources["a"]["removed"] == "1"
    assert refused(daemon.client(), "acquire a") == "unknown"
    for one in jobs:
        one.answer()
        assert one.wait() == (0, "")
    asked_until(daemon, all_free)


# ---- units at rest


def ended(daemon):
    """How many leases are over, in the history and in this berthd's figures."""
    client = daemon.client()
    return (sum(line.startswith("ended ") for line in client.lines("history")),
            sum(int(keys(line.split())["value"]) for line in client.lines("metrics")
                if line.startswith("figure berth_ended_total ")))


def test_an_end_is_seen_once(berthd):
    """Jobs end while berthd is down, and their units rest: however often it is started then."""
    daemon = berthd("[semaphore s]\nlimit = 3\ncooldown = 1h\n")
    with sleeper() as one, sleeper() as other:
        for pid in (one, other):
            held(daemon.client(), f"acquire s pid={pid}")
        daemon.kill()
    daemon.start()
    assert ended(daemon) == (2, 2)
    rests = records(daemon.journal)
    for how in ("kill", "stop", "kill"):
        restart(daemon, how)
        assert ended(daemon) == (2, 0)
        assert status(daemon.client()).resources["s"]["cooling"] == "2"
        assert records(daemon.journal) == rests


def test_a_rest_keeps_its_end(berthd):
    """... over starts with another cooldown in the file, as over a reload: of a lease that was released,
    and of one that ended while berthd was down."""
    daemon = berthd("[semaphore s]\nlimit = 3\ncooldown = 1h\n")
    with sleeper() as pid:
        client = daemon.client()
        held(client, f"acquire s pid={pid}")
        assert client.request(f"release {held(client, 'acquire s')}") == "ok"
        daemon.kill()
    daemon.start()
    for cooldown in ("0", "1ms", "2h"):
        daemon.configure(f"[semaphore s]\nlimit = 3\ncooldown = {cooldown}\n")
        restart(daemon, "kill")
        assert status(daemon.client()).resources["s"]["cooling"] == "2", cooldown


def spare(daemon):
    """How many bytes the record of the newest lease, which is being stopped, has left in its place."""
    content = daemon.journal.read_bytes()
    sizes = {slot: size for _, slot, size in extents(content)}
    record, slot = max((text, slot) for _, slot, text in found(content) if text.startswith("held id="))
    assert " stopping=revoked" in record
    return sizes[slot] - EXTENT.size - len(record)


def test_units_rest_whatever_room_a_reason_leaves(berthd):
    """... in the record of a lease that an operator revokes."""
    daemon = berthd("[semaphore s]\nlimit = 2\ncooldown = 1h\n")
    client = daemon.client()
    reason = "x"
    for _ in range(2):
        with sleeper(lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)) as pid:
            lease = held(client, f"acquire s pid={pid} reason={40 * 'y'}")
            assert client.request(f"revoke {lease} reason={reason}") == "ok"
            room = spare(daemon)
            reason += room // 3 * "%20" + room % 3 * "x"  # for the next one: with it, the record would just fit
        assert client.line().startswith(f"* revoked {lease} ") and client.line().startswith(f"* lost {lease} ")
    restart(daemon, "kill")
    assert status(daemon.client()).resources["s"]["cooling"] == "2"


@pytest.mark.parametrize("how", [None, "kill"])
def test_a_rest_is_forgotten_when_it_is_over(berthd, how):
    """... with its record, also if it has outlived a berthd."""
    daemon = berthd("[lock a]\ncooldown = 1s\n")
    client = daemon.client()
    assert client.request(f"release {held(client, 'acquire a')}") == "ok"
    assert records(daemon.journal)
    if how:
        restart(daemon, how)
    asked_until(daemon, all_free)
    assert not records(daemon.journal)

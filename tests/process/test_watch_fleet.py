"""`watch` in fleet scope: this host's leases at once, those of others as their database lists them."""

import random
import signal
import time

import pytest

from fleet_help import DEADLINE, Monitor, clock, hosts, needs_redis, redis_section, redis_server, ways  # noqa: F401
from fleet_ops_help import client_of, fleet, gets, pair, queues, up  # noqa: F401
from lost_help import asked_until, stop_process
from watch_help import Copy, told_by_status

pytestmark = needs_redis

# What only a listing says of a lease of the asking host's, or only its status does.
OF_LISTING = ("host", "blocked", "blocker", "kept")


def here(words):
    return {key: value for key, value in words.items() if key not in OF_LISTING}


def comparable(shown):
    host, resources, templates, leases, queues = shown
    leases = {key: (kind, words if "/" in key[0] else here(words)) for key, (kind, words) in leases.items()}
    return host, resources, templates, leases, queues


def catches_up(copy, client):
    """In each part: the figures of the host, resources, templates, leases, queues."""
    end = time.monotonic() + DEADLINE
    while (shown := comparable(copy.shown())) != (told := comparable(told_by_status(client))):
        if time.monotonic() > end:
            for ours, theirs in zip(shown, told):
                assert ours == theirs
        copy.take()


def of_others(copy):
    return {key: kind for key, (kind, _) in copy.leases.items() if "/" in key[0]}


# ---- the leases of other hosts ----

def test_a_lease_of_another_host_comes_and_goes(pair):
    a, b = pair
    copy = Copy(client_of(a))
    assert copy.resources["etl"]["in_use"] == "0" and copy.snapshots == 1
    one, two = client_of(b), client_of(b, 1001)
    first = gets(one, "acquire etl:2 holder=a%20b reason=why%20not")
    copy.take_until(of_others)
    (key, name), = of_others(copy)
    kind, words = copy.leases[key, name]
    assert (kind, name, key[16:]) == ("holder", "etl", f"/{first}")
    assert words.items() >= {"holder": "a%20b", "reason": "why%20not", "uid": "0", "units": "0-1"}.items()
    assert copy.resources["etl"]["in_use"] == "2" and copy.resources["etl"]["free"] == "0"

    second = queues(two, "acquire etl priority=-3")
    copy.take_until(lambda now: len(of_others(now)) == 2)
    waiter, = (words for kind, words in copy.leases.values() if kind == "waiter")
    assert waiter.items() >= {"wants": "1", "priority": "-3", "uid": "1001"}.items() and int(waiter["ticket"]) > 0

    one.request(f"release {first}")
    copy.take_until(lambda now: list(of_others(now).values()) == ["holder"])
    assert next(iter(of_others(copy)))[0].endswith(f"/{second}")
    two.close()
    copy.take_until(lambda now: not of_others(now))
    catches_up(copy, client_of(a))
    assert copy.snapshots == 1


def test_the_first_snapshot_has_them(pair):
    """Also of an instance that only the other host uses."""
    a, b = pair
    other = client_of(b)
    gets(other, "acquire etl market/x")
    copy = Copy(client_of(a))
    assert len(of_others(copy)) == 2 and copy.batches == copy.snapshots == 1
    assert copy.resources["market/x"]["template"] == "market/*"
    assert copy.templates["market/*"]["instances"] == "1"
    assert Copy(client_of(a)).shown() == copy.shown()


def test_an_instance_of_another_host_comes_and_goes(pair):
    a, b = pair
    copy = Copy(client_of(a))
    client = client_of(b)
    lease = gets(client, "acquire market/y")
    copy.take_until(lambda now: of_others(now))
    assert copy.resources["market/y"]["in_use"] == "1"
    copy.take_until(lambda now: now.templates["market/*"]["instances"] == "1")
    client.request(f"release {lease}")
    copy.take_until(lambda now: "market/y" not in now.resources and not of_others(now))
    copy.take_until(lambda now: now.templates["market/*"]["instances"] == "0")


def test_own_leases_are_told_at_once_and_once(pair):
    """Also while the database is asked for nothing; its listing does not tell them again."""
    a, b = pair
    copy = Copy(client_of(a))
    client = client_of(a)
    lease = gets(client, "acquire etl reason=mine")
    copy.take_until(lambda now: now.leases.get((lease, "etl"), ("",))[0] == "holder")
    assert copy.resources["etl"].items() >= {"in_use": "1", "free": "1"}.items()
    other = client_of(b)
    gets(other, "acquire etl reason=theirs")
    said = copy.take_until(of_others)
    assert not [line for line in said if line.startswith(("holder " + lease, "gone"))]
    assert [key for key in copy.leases if "/" not in key[0]] == [(lease, "etl")]
    assert copy.resources["etl"].items() >= {"in_use": "2", "free": "0"}.items()
    client.request(f"release {lease}")
    copy.take_until(lambda now: (lease, "etl") not in now.leases)
    assert copy.resources["etl"]["in_use"] == "1"
    catches_up(copy, client_of(a))


def test_what_the_viewer_may_not_see_is_hidden(redis_server, hosts):
    text = "[semaphore etl]\nlimit = 4\nscope = fleet\nshow-commands = owner\n"
    a, b = fleet(redis_server, hosts, text=text)
    other = client_of(b, 1001)
    gets(other, "acquire etl reason=secret")
    mine, others, root = (Copy(client_of(a, uid)) for uid in (1001, 1002, None))
    for copy, is_hidden in ((mine, False), (others, True), (root, False)):
        copy.take_until(of_others)
        words = copy.leases[next(iter(of_others(copy)))][1]
        assert ("hidden" in words, "reason" in words) == (is_hidden, not is_hidden)


# ---- the database goes and comes back ----

def test_a_database_that_goes_and_comes_back(redis_server, hosts, ways):
    """No lease of another host is told as gone and as granted again."""
    way = ways(redis_server)
    a, = hosts("[semaphore etl]\nlimit = 4\nscope = fleet\n", 1, redis_section(way.url))
    b, = hosts("[semaphore etl]\nlimit = 4\nscope = fleet\n", 1, redis_section(redis_server.url))
    up(redis_server, a, b)
    first, second = client_of(b), client_of(a)
    gets(first, "acquire etl")
    own = gets(second, "acquire etl")
    copy = Copy(client_of(a))
    leases = dict(copy.leases)
    assert len(leases) == 2 and copy.databases["default"]["state"] == "up"
    way.refuse()
    way.reset()
    copy.take_until(lambda now: now.databases["default"]["state"] == "down")
    copy.take_until(lambda now: now.resources["etl"].get("database_state") == "down")
    assert copy.leases == leases and copy.resources["etl"]["in_use"] == "2"
    way.heal()
    said = copy.take_until(lambda now: now.databases["default"]["state"] == "up"
                 and "database_state" not in now.resources["etl"])
    third = client_of(b)
    more = gets(third, "acquire etl")
    said += copy.take_until(lambda now: len(now.leases) == 3)
    assert [line.split(" ")[1].split("/")[-1] for line in said
            if line.startswith(("gone", "holder", "removed", "snapshot")) and own not in line] == [more]
    catches_up(copy, client_of(a))
    assert copy.snapshots == 1


@pytest.mark.parametrize("how", ["restart", "flush"])
def test_a_redis_that_comes_back_empty(redis_server, hosts, how):
    """In the grace, hosts put back what they have: until that is over, the last listing stays, also if
    the question what has changed is the first to find it empty. (The ttl is long enough for b not to
    end its lease meanwhile.)"""
    a, b = fleet(redis_server, hosts, ttl="20s")
    first = client_of(b)
    gets(first, "acquire etl")
    copy = Copy(client_of(a))
    leases = dict(copy.leases)
    copy.take()
    copy.take_until(lambda now: any(line.startswith("database") for line in now.said))  # a renewal: the next is far
    stop_process(b.process)
    if how == "restart":
        redis_server.restart()
    else:
        redis_server.do("FLUSHALL")
    said = copy.take_until(lambda now: any("grace_until=" in line for line in now.said))
    for _ in range(2):  # renewals: in that time it would ask again what has changed
        said += copy.take().said
        said += copy.take_until(lambda now: any(line.startswith("database") for line in now.said))
    b.process.send_signal(signal.SIGCONT)
    asked_until(b, lambda now: len(redis_server.members("leases")) == 1, "etl")
    for host in (a, b):
        asked_until(host, lambda now: all(one["state"] == "up" for one in now.databases.values()), "etl")
    assert redis_server.do("HDEL", "{berth}:db", "grace")
    other = client_of(b)
    second = gets(other, "acquire etl")
    said += copy.take_until(lambda now: len(now.leases) == 2)
    gone = [line for line in said if line.startswith(("gone", "removed"))]
    assert not gone and leases.keys() <= copy.leases.keys()
    assert any(key.endswith(f"/{second}") for key, _ in copy.leases)


# ---- what it costs ----

def questions(monitor, n):
    """The marks of the next n times that a host asks what has changed."""
    marks = []
    end = time.monotonic() + DEADLINE
    while len(marks) < n:
        assert time.monotonic() < end, marks
        _, words = monitor.command(DEADLINE)
        if words[0] == "FCALL" and "?" in words:
            marks.append(words[-1])
    return marks


def test_an_unchanged_database_lists_nothing_again(pair, redis_server):
    """And is asked nothing when nobody follows."""
    a, b = pair
    client = client_of(a)
    copy = Copy(client)
    with Monitor(redis_server) as monitor:
        first, second = questions(monitor, 2)
        assert first == second != "-"
        client.close()
        asked_until(a, lambda now: True, "etl")
        last = Copy(client_of(b))
        assert questions(monitor, 3) == ["-", first, first]  # those of b alone
    assert copy.snapshots == last.snapshots == 1


# ---- in the end all agree ----

def one_step(chance, hosts, clients):
    """A client asks, or goes, and what it has with it."""
    if clients and chance.random() < 0.4:
        clients.pop(chance.randrange(len(clients))).close()
        return
    names = [chance.choice(("etl", "gpus", "door", "market/x", "market/y", "here"))]
    if chance.random() < 0.2:
        names = chance.sample(["etl", "gpus", "market/x"], 2)
    client = client_of(chance.choice(hosts), chance.choice((None, 1001)))
    client.request("acquire " + " ".join(names) + chance.choice(("", " wait=0", " priority=-1")))
    clients.append(client)


def test_the_copy_agrees_with_status(pair, seed):
    chance = random.Random(seed)
    watching = [Copy(client_of(host)) for host in pair]
    clients = []
    for _ in range(5):
        for _ in range(chance.randrange(1, 30)):
            one_step(chance, pair, clients)
        for host, copy in zip(pair, watching):
            catches_up(copy, client_of(host))
    assert all(copy.snapshots == 1 for copy in watching)

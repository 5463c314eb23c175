"""The guarantees 1 to 4 on one host, over real connections."""

import os
import socket

from daemon_help import (
    Status, event, held, in_child, is_quiet, lease_of, must_end_well, refused, status, waits)
from lines import Client

CONFIG = "[lock l]\n"


def units_of(words):
    """{(name, unit)} of the words of UNITS."""
    found = set()
    for word in words:
        key, value = word.split("=", 1)
        name, _, *units = value.split(",")
        for unit in units:
            first, _, last = unit.partition("-") if key == "slot" else (unit, "", "")
            if last:
                found |= {(name, str(slot)) for slot in range(int(first), int(last) + 1)}
            else:
                found.add((name, first))
    return found


def end(client):
    """Ends the connection and waits until berthd has seen that: a plain close may come after later
    requests of others."""
    client.socket.shutdown(socket.SHUT_WR)
    assert client.ended()
    client.close()


# ---- in order


def test_one_after_the_other(daemon):
    """Each end wakes the next waiter, and nobody else."""
    watcher = daemon.client()
    clients = [daemon.client() for _ in range(18)]
    leases = [held(clients[0], "acquire l")]
    leases += [waits(client, "acquire l", i + 1) for i, client in enumerate(clients[1:])]
    for i, (client, how) in enumerate(zip(clients, ("release", "close", "half-close") * 6)):
        print(how)
        shown = status(watcher, "l")
        assert shown.holders("l") == [leases[i]]
        assert shown.waiters("l") == leases[i + 1:]
        assert all(is_quiet(each) for each in clients[i:])
        if how == "release":
            assert client.request(f"release {leases[i]}") == "ok"
        elif how == "close":
            client.close()
        else:
            client.socket.shutdown(socket.SHUT_WR)
        if i + 1 < len(clients):
            assert event(clients[i + 1])[:2] == ("granted", leases[i + 1])


def test_an_end_of_a_waiter_wakes_nobody(daemon):
    clients = [daemon.client() for _ in range(5)]
    held(clients[0], "acquire l")
    leases = [waits(client, "acquire l", i + 1) for i, client in enumerate(clients[1:])]
    end(clients[2])
    assert clients[3].request(f"release {leases[2]}") == "ok"
    assert all(is_quiet(clients[i]) for i in (0, 1, 3, 4))
    assert status(clients[0], "l").waiters("l") == [leases[0], leases[3]]


def test_a_unit_each(berthd):
    """Five units given back at once wake five waiters, in order, with a unit each."""
    daemon = berthd("[semaphore s]\nlimit = 5\n")
    holder = daemon.client()
    lease = held(holder, "acquire s:5")
    clients = [daemon.client() for _ in range(8)]
    leases = [waits(client, "acquire s", i + 1) for i, client in enumerate(clients)]
    assert holder.request(f"release {lease}") == "ok"
    units = set()
    for client, lease in zip(clients[:5], leases):
        words = client.line().split()
        assert words[:3] == ["*", "granted", lease]
        units |= units_of(words[3:])
    assert len(units) == 5
    assert all(is_quiet(client) for client in clients[5:])
    assert status(holder, "s").waiters("s") == leases[5:]


def test_priorities(berthd):
    daemon = berthd("[lock l]\nmax-priority = 10\n")
    holder = daemon.client()
    last = held(holder, "acquire l")
    asked = [0, 5, -7, 10, 5, 0, 10]
    clients = [daemon.client() for _ in asked]
    leases = {}
    for i, (client, priority) in enumerate(zip(clients, asked)):
        leases[i] = waits(client, f"acquire l priority={priority}")
    order = [3, 6, 1, 4, 0, 5, 2]
    assert status(holder, "l").waiters("l") == [leases[i] for i in order]
    for i in order:
        assert holder.request(f"release {last}") == "ok"
        last = leases[i]
        assert event(clients[i])[:2] == ("granted", last)
        for client in clients:
            assert is_quiet(client)
        holder = clients[i]


def test_a_smaller_request_does_not_overtake(berthd):
    daemon = berthd("[semaphore s]\nlimit = 3\n")
    holder, large, small = (daemon.client() for _ in range(3))
    lease = held(holder, "acquire s:2")
    first = waits(large, "acquire s:2", 1)
    second = waits(small, "acquire s", 2)
    assert refused(holder, "acquire s wait=0") == "would-wait"
    assert holder.request(f"release {lease}") == "ok"
    assert event(large)[:2] == ("granted", first)
    assert event(small)[:2] == ("granted", second)


def test_first_fit_overtakes_within_bounds(berthd):
    daemon = berthd("[semaphore s]\nlimit = 3\norder = first-fit\nmax-overtakes = 4\n")
    holder, large, small = (daemon.client() for _ in range(3))
    kept = held(holder, "acquire s:2")
    first = waits(large, "acquire s:3", 1)
    for _ in range(4):
        assert small.request(f"release {held(small, 'acquire s')}") == "ok"
    second = waits(small, "acquire s", 2)
    assert is_quiet(large)
    assert holder.request(f"release {kept}") == "ok"
    assert event(large)[:2] == ("granted", first)
    assert is_quiet(small)
    large.close()
    assert event(small)[:2] == ("granted", second)


# ---- never over the limit


def test_a_unit_is_never_granted_twice(berthd, chance):
    """What clients saw, not what `status` says: many of them, at random, over several resources."""
    limits = {"s": 3, "l": 1, "p": 2}
    daemon = berthd("[semaphore s]\nlimit = 3\n[lock l]\n[pool p]\nitems = a b\n")
    clients = [daemon.client() for _ in range(20)]
    in_use = {}  # unit -> who
    of = {}  # who -> its lease and units
    waiting = {}  # lease -> who

    def take(i, lease, words):
        units = units_of(words)
        assert units and not units & in_use.keys(), "granted twice"
        in_use.update(dict.fromkeys(units, i))
        of[i] = lease, units
        for name, limit in limits.items():
            assert len([unit for unit in in_use if unit[0] == name]) <= limit

    def hear():
        """The waiters that have been granted something by the last step."""
        assert is_quiet(clients[0])
        for lease in status(clients[0]).resources.values():
            for holder in lease["holders"]:
                if holder["lease"] in waiting:
                    i = waiting.pop(holder["lease"])
                    words = clients[i].line().split()
                    assert words[:3] == ["*", "granted", holder["lease"]]
                    take(i, words[2], words[3:])

    for _ in range(1500):
        i = chance.randrange(1, len(clients))
        if i in of:
            lease, units = of.pop(i)
            for unit in units:
                del in_use[unit]
            if chance.random() < 0.2:
                end(clients[i])
                clients[i] = daemon.client()
            else:
                assert clients[i].request(f"release {lease}") == "ok"
            hear()
        elif i not in waiting.values():
            names = chance.sample(sorted(limits), chance.randint(1, 3))
            wants = " ".join(f"{name}:{chance.randint(1, limits[name])}" for name in names)
            words = clients[i].request(f"acquire {wants}").split()
            if words[0] == "ok":
                take(i, words[1], words[2:])
            else:
                assert words[0] == "waiting"
                waiting[words[1]] = i
        else:
            assert is_quiet(clients[i])
    assert status(clients[0]).held == len(of)
    assert status(clients[0]).waiting == len(waiting)


def test_processes_that_fight(daemon, directory):
    """Real concurrency: a process inside notes that in a file that only one may have open."""
    inside = directory / "inside"

    def work():
        client = Client(daemon.socket)
        for _ in range(100):
            words = client.request("acquire l").split()
            if words[0] == "waiting":
                assert client.line().startswith(f"* granted {words[1]} ")
            os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
            os.unlink(inside)
            assert client.request(f"release {words[1]}") == "ok"

    pids = [in_child(work) for _ in range(6)]
    for pid in pids:
        must_end_well(pid)
    assert status(daemon.client()).held == 0


def test_a_lowered_limit(berthd):
    """Takes nothing away, and grants nothing until it fits."""
    daemon = berthd("[semaphore s]\nlimit = 3\n")
    root, other = daemon.client(), daemon.client()
    leases = [held(root, "acquire s") for _ in range(3)]
    waiting = waits(other, "acquire s")
    assert root.request("limit s 1") == "ok"
    for lease in leases[:2]:
        assert root.request(f"release {lease}") == "ok"
        assert is_quiet(other)
    assert root.request(f"release {leases[2]}") == "ok"
    assert event(other)[:2] == ("granted", waiting)
    assert is_quiet(root)


# ---- all or nothing


def test_all_or_nothing(berthd):
    daemon = berthd("[lock a]\n[lock b]\n[lock c]\n")
    one, two, three = (daemon.client() for _ in range(3))
    lease = held(one, "acquire a")
    both = waits(two, "acquire b a")
    shown = status(one)
    assert shown.resources["b"]["in_use"] == "0"
    assert shown.waiters("a") == shown.waiters("b") == [both]
    held(three, "acquire c wait=0")
    other = held(three, "acquire b wait=0")  # a waiter for a alone delays nobody there
    assert three.request(f"release {other}") == "ok"
    assert refused(three, "acquire a wait=0") == "would-wait"
    last = waits(three, "acquire a")
    assert one.request(f"release {lease}") == "ok"
    assert event(two)[:2] == ("granted", both)
    assert is_quiet(three)
    two.close()
    assert event(three)[:2] == ("granted", last)


def test_no_deadlock(berthd):
    """In whatever order they name what they want."""
    daemon = berthd("[lock a]\n[lock b]\n[lock c]\n")

    def work(k):
        client = Client(daemon.socket)
        names = ["a", "b", "c"][k % 3:] + ["a", "b", "c"][:k % 3]
        for i in range(60):
            words = client.request("acquire " + " ".join(names[:2 + i % 2])).split()
            if words[0] == "waiting":
                assert client.line().startswith(f"* granted {words[1]} ")
            assert client.request(f"release {words[1]}") == "ok"

    for pid in [in_child(lambda k=k: work(k)) for k in range(6)]:
        must_end_well(pid)
    assert status(daemon.client()).held == 0


# ---- refused at once, and in time


def test_a_deadline_lets_the_next_one_go(berthd):
    daemon = berthd("[semaphore s]\nlimit = 2\n")
    holder, client = daemon.client(), daemon.client()
    held(holder, "acquire s")
    client.send("acquire s:2 wait=50ms\nacquire s\n")
    late, waiting = lease_of(client.line()), lease_of(client.line())
    assert event(client) == ("denied", late, "timeout")
    assert event(client)[:2] == ("granted", waiting)


# ---- cooldown


def test_cooldown(berthd):
    daemon = berthd("[lock l]\ncooldown = 100ms\n")
    client, other = daemon.client(), daemon.client()
    lease = held(client, "acquire l")
    first, second = waits(other, "acquire l"), waits(client, "acquire l", 2)
    client.send(f"release {lease}\nstatus l\n")  # in one turn, or the rest might be over
    assert client.line() == "ok"
    lines = [client.line()]
    while lines[-1] != "end":
        lines.append(client.line())
    shown = Status(lines).resources["l"]
    assert (shown["in_use"], shown["free"], shown["cooling"]) == ("0", "0", "1")
    assert event(other)[:2] == ("granted", first)
    assert is_quiet(client)
    other.close()
    assert event(client)[:2] == ("granted", second)


# ---- never leaked

"""What one user may have: beyond that, requests are refused, and no other user notices."""

import contextlib

import pytest

from daemon_help import (
    NOBODY, connect_as, event, held, is_quiet, lease_of, needs_root, open_files, refused, status, waits)
from lines import Client, until

SOMEBODY = 4711


def busy(client, request=None):
    """Refused in the one and only line of the connection."""
    with contextlib.suppress(BrokenPipeError):
        client.send(f"{request}\n" if request else "")
    line = client.line()
    return line.startswith("error busy ") and client.line() == ""


def eventually_back_to(daemon, client, files):
    while open_files(daemon) != files:
        assert is_quiet(client)


@needs_root
def test_connections_of_one_user(berthd):
    daemon = berthd("max-clients-per-user = 3\n[lock a]\n")
    operator = daemon.client()
    assert is_quiet(operator)
    files = open_files(daemon)
    clients = [connect_as(daemon, NOBODY) for _ in range(3)]
    for client in clients:
        assert is_quiet(client)
    for _ in range(5):
        assert busy(connect_as(daemon, NOBODY))
    assert is_quiet(connect_as(daemon, SOMEBODY)) and is_quiet(operator)
    assert all(is_quiet(client) for client in clients)
    clients.pop().close()
    replacement = connect_as(daemon, NOBODY)
    assert is_quiet(replacement)
    for client in daemon.clients[1:]:
        client.close()
    eventually_back_to(daemon, operator, files)


def test_connections_of_all(berthd):
    daemon = berthd("max-clients = 5\n[lock a]\n")
    clients = [daemon.client() for _ in range(5)]
    assert all(is_quiet(client) for client in clients)
    held(clients[0], "acquire a")
    waiting = waits(clients[1], "acquire a")
    for _ in range(5):
        late = Client(daemon.socket)
        assert busy(late, "acquire a")
        late.close()
    assert all(is_quiet(client) for client in clients)
    clients[0].close()
    assert event(clients[1])[:2] == ("granted", waiting)
    assert is_quiet(daemon.client())


def house(berthd, full, user):
    """A berthd with no place for `user`, who is an admin, if only for operators' requests."""
    rest = f"admin-users = {user}\n[lock a]\n[semaphore s]\nlimit = 3\n"
    daemon = berthd(("max-clients = 2\n" if full == "house" else "max-clients-per-user = 2\n") + rest)
    clients = [connect_as(daemon, user) for _ in range(2)]
    assert all(is_quiet(client) for client in clients)
    return daemon


@needs_root
@pytest.mark.parametrize("full, user", [("house", 0), ("house", NOBODY), ("user", NOBODY)])
def test_operators_always_get_a_connection(berthd, full, user):
    daemon = house(berthd, full, user)
    lease = held(daemon.clients[0], "acquire a")
    for _ in range(3):  # what is kept for operators is free again
        assert busy(connect_as(daemon, user), "acquire s")
        assert busy(connect_as(daemon, user), "reclaim 5 s:1")
        operator = connect_as(daemon, user)
        for request in ("ping", "limit s 5", "reset s", "drain", "undrain", "reload"):
            assert operator.request(request).startswith("ok"), request
        assert status(operator).holders("a") == [lease]
        operator.close()
    assert connect_as(daemon, user).request(f"revoke {lease}") == "ok"


@needs_root
def test_what_is_kept_for_operators_is_for_nobody_else(berthd):
    daemon = house(berthd, "house", 0)
    assert busy(connect_as(daemon, NOBODY), "ping")
    kept = [connect_as(daemon, 0) for _ in range(8)]
    assert all(is_quiet(operator) for operator in kept)
    assert busy(connect_as(daemon, 0), "ping")
    kept.pop().close()
    until(lambda: connect_as(daemon, 0).request("ping") == "ok")  # its user may be over the rate


@needs_root
def test_waiters_of_one_user(berthd):
    daemon = berthd("max-waiters-per-user = 3\n[lock a]\n[lock b]\n")
    client, other = connect_as(daemon, NOBODY), connect_as(daemon, SOMEBODY)
    held(other, "acquire a b")
    mine = [waits(client, f"acquire {name}") for name in ("a", "b", "a b")]
    second = connect_as(daemon, NOBODY)
    for line in ("acquire a", "acquire b wait=1s", "acquire a b"):
        assert refused(second, line) == "quota"
    assert refused(second, "acquire a wait=0") == "would-wait"
    theirs = waits(other, "acquire b", 3)
    assert client.request(f"cancel {mine[0]}") == "ok"
    waits(second, "acquire a")
    other.close()
    assert event(client)[0] == "granted"
    assert theirs not in status(second).waiters("b")


@needs_root
def test_leases_of_one_user(berthd):
    """Held and waiting."""
    daemon = berthd("max-leases-per-user = 3\n[semaphore s]\nlimit = 4\n")
    client, other = connect_as(daemon, NOBODY), connect_as(daemon, SOMEBODY)
    first = held(client, "acquire s:2")
    held(client, "acquire s")
    waits(client, "acquire s:2")
    for line in ("acquire s", "acquire s wait=0"):
        assert refused(connect_as(daemon, NOBODY), line) == "quota"
    waits(other, "acquire s")
    assert client.request(f"release {first}") == "ok"
    assert event(client)[0] == "granted"
    assert waits(client, "acquire s")
    assert refused(client, "acquire s") == "quota"


@needs_root
def test_instances_of_one_user(berthd):
    daemon = berthd("max-instances-per-user = 2\n[semaphore x/*]\nlimit = 2\nmax-instances = 3\n")
    client, other = connect_as(daemon, NOBODY), connect_as(daemon, SOMEBODY)
    leases = [held(client, "acquire x/1"), held(client, "acquire x/2")]
    assert refused(client, "acquire x/3") == "quota"
    held(client, "acquire x/1")
    held(other, "acquire x/2")  # charged to the first user, who made it
    third = held(other, "acquire x/3")
    assert refused(other, "acquire x/4") == "quota"  # of the template
    assert client.request(f"release {leases[1]}") == "ok"
    assert "x/2" in status(client).resources
    assert other.request(f"release {third}") == "ok"
    held(client, "acquire x/4")  # x/2 is charged to the other one, who is left


@needs_root
def test_a_waiter_does_not_keep_an_instance_at_anothers_expense(berthd):
    daemon = berthd("max-instances-per-user = 1\n[lock x/*]\n")
    client, other = connect_as(daemon, NOBODY), connect_as(daemon, SOMEBODY)
    lease = held(client, "acquire x/1")
    waits(other, "acquire x/1")
    assert client.request(f"release {lease}") == "ok"
    assert event(other)[0] == "granted"
    held(client, "acquire x/2")
    assert refused(other, "acquire x/3") == "quota"


ADMIN_OF_X = f"max-instances-per-user = 2\n[lock x/*]\nadmin-users = {NOBODY}\n"


@needs_root
def test_an_admin_of_a_template_pays_for_instances(berthd):
    """Over a restart too. The daemon's admins pay for none."""
    daemon = berthd(ADMIN_OF_X)
    admin, root = connect_as(daemon, NOBODY), daemon.client()
    assert [admin.request(f"pause x/{i}") for i in (1, 2)] == ["ok", "ok"]
    assert refused(admin, "pause x/3") == refused(admin, "acquire x/3 wait=0") == "quota"
    assert [root.request(f"pause x/{i}") for i in (3, 4, 5)] == ["ok"] * 3
    daemon.stop()
    daemon.start()
    admin = connect_as(daemon, NOBODY)
    assert refused(admin, "limit x/6 0") == "quota"
    assert admin.request("reset x/1") == "ok"
    assert admin.request("pause x/6") == "ok"
    assert refused(admin, "pause x/7") == "quota"


@needs_root
def test_an_admin_of_a_template_pays_for_others_instances(berthd):
    daemon = berthd(ADMIN_OF_X)
    admin, other = connect_as(daemon, NOBODY), connect_as(daemon, SOMEBODY)
    held(other, "acquire x/1")
    held(other, "acquire x/2")
    assert [admin.request(f"pause x/{i}") for i in (1, 2)] == ["ok", "ok"]
    held(other, "acquire x/3")
    assert refused(admin, "pause x/3") == "quota"
    assert admin.request("reset x/1") == "ok"  # whose holder pays for it again
    assert admin.request("pause x/3") == "ok"


@needs_root
def test_units_of_one_user(berthd):
    """A user at the bound keeps places, and delays nobody."""
    daemon = berthd("[semaphore s]\nlimit = 4\nmax-units-per-user = 2\n")
    client, other = connect_as(daemon, NOBODY), connect_as(daemon, SOMEBODY)
    assert refused(client, "acquire s:3") == "impossible"
    first = held(client, "acquire s")
    held(client, "acquire s")
    waiting = waits(client, "acquire s:1", 1)
    assert refused(client, "acquire s wait=0") == "quota"
    assert status(client).resources["s"]["waiters"][0]["blocked"] == "quota"
    held(other, "acquire s:2 wait=0")
    second = waits(other, "acquire s", 2)
    other.send("ping\n")
    assert client.request(f"release {first}") == "ok"
    assert event(client)[:2] == ("granted", waiting)
    assert other.line() == "ok"
    assert is_quiet(other)
    client.close()
    assert status(other).waiters("s") == [second]


def test_refusals_and_ends_cost_nothing(berthd):
    """Whatever was charged on the way is given back: the bounds stay the bounds."""
    daemon = berthd("max-waiters-per-user = 2\nmax-leases-per-user = 3\nmax-instances-per-user = 1\n"
        "[lock a]\nmax-waiters = 1\n[semaphore b]\nlimit = 8\n[semaphore x/*]\nlimit = 1\n")
    client = daemon.client()
    lease = held(client, "acquire a holder=h")
    for line in ["acquire a wait=1h", "acquire a wait=1ms", "acquire a wait=0", "acquire a b:9", "acquire x/1 b:9",
                 "acquire x/1 none", "acquire x/1 a wait=0", "acquire a holder=h"] * 20:
        answer = client.request(line)
        if answer.startswith("waiting") and "1ms" in line:
            assert event(client) == ("denied", lease_of(answer), "timeout")
        elif answer.startswith("waiting"):
            assert client.request(f"cancel {lease_of(answer)}") == "ok"
        else:
            assert answer.startswith("error ")
    assert client.request(f"release {lease}") == "ok"
    held(client, "acquire x/2")
    held(client, "acquire a")
    waits(client, "acquire x/2")
    assert refused(client, "acquire b") == "quota"


# ---- what is said ----

BOUNDS = [
    ("max-leases-per-user = 1", ["l"], "s", "s: one user may have 1 lease, held and waiting (max-leases-per-user)"),
    ("max-waiters-per-user = 0", ["l"], "l", "l: one user may have 0 waiting requests (max-waiters-per-user)"),
    ("max-instances-per-user = 1", ["t/a"], "t/b",
     "t/b: one user may have 1 instance of templates (max-instances-per-user)"),
    ("", ["one/a"], "one/b", "one/b: there is already 1 instance of one/*, the most allowed (max-instances)"),
    ("", ["t/a", "t/b"], "t/c", "t/c: there are already 2 instances of t/*, the most allowed (max-instances)"),
    ("", ["single"], "single wait=0", "single: one user may have 1 unit of this resource (max-units-per-user)"),
    ("", ["few:2"], "few wait=0", "few: one user may have 2 units of this resource (max-units-per-user)"),
]


def test_the_bound_is_named(berthd):
    rest = ("\n[lock l]\n[semaphore s]\nlimit = 5\n[semaphore t/*]\nlimit = 1\nmax-instances = 2\n"
            "[semaphore few]\nlimit = 5\nmax-units-per-user = 2\n[lock one/*]\nmax-instances = 1\n"
            "[semaphore single]\nlimit = 5\nmax-units-per-user = 1\n")
    daemon = berthd(rest)
    client = daemon.client()
    for bound, before, asks, says in BOUNDS:
        daemon.configure(bound + rest)
        assert client.request("reload") == "ok"
        leases = [held(client, f"acquire {name}") for name in before]
        assert client.request(f"acquire {asks}") == f"error quota {says.replace(' ', '%20')}"
        for lease in leases:
            assert client.request(f"release {lease}") == "ok"

"""An operator moves a waiting request: `move LEASE first|last`, in both scopes."""

import os

from daemon_help import connect_as, does, event, held, is_quiet, keys, needs_root, refused, status, waits
from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import client_of, fleet, gets, pair, queues, up  # noqa: F401
from lines import until
from lost_help import asked_until

OWNER, ADMIN = 2001, 2002
CONFIG = f"""[lock l]
max-priority = 9
admin-users = {ADMIN}
[semaphore s]
limit = 2
"""


def line(client, name):
    return status(client, name).waiters(name)


# ---- host scope ----

def test_first_and_last(daemon):
    operator, holder = daemon.client(), daemon.client()
    held(holder, f"acquire l pid={os.getpid()}")
    clients = [daemon.client() for _ in range(4)]
    a, b, c, d = (waits(client, f"acquire l priority={priority}")
                  for client, priority in zip(clients, (0, 0, 9, 0)))
    assert line(operator, "l") == [c, a, b, d]
    does(operator, f"move {d} first reason=it%20is%20urgent", f"move {a} last")
    assert line(operator, "l") == [d, c, b, a]
    assert operator.lines(f"why {d}")[0].split()[-1] == "position=1"
    does(operator, f"move {c} last")  # of its priority
    assert line(operator, "l") == [d, c, b, a] and all(map(is_quiet, clients))
    assert f"move {d} (l, wanted by pid {os.getpid()} of uid {os.getuid()}): asked by" in daemon.log.read_text()
    daemon.kill()
    daemon.start()
    operator = daemon.client()
    assert line(operator, "l") == [d, c, b, a]
    client = daemon.client()
    assert client.request(f"reclaim {b} l:1").startswith(f"waiting {b}")
    assert line(operator, "l") == [d, c, b, a]


def test_what_fits_goes_at_once(daemon):
    clients = [daemon.client() for _ in range(3)]
    held(clients[0], "acquire s")
    large, small = waits(clients[1], "acquire s:2"), waits(clients[2], "acquire s")
    does(daemon.client(), f"move {small} first")
    assert event(clients[2])[:2] == ("granted", small) and line(clients[0], "s") == [large]


def test_refused(daemon, berthctl):
    client = daemon.client()
    lease = held(client, "acquire l")
    waiter = waits(daemon.client(), "acquire l")
    assert refused(client, f"move {lease} first") == "kind"
    assert f"{lease}:%20it%20is%20held%20already" in client.request(f"move {lease} last")
    assert refused(client, f"move {waiter} up") == "bad-value"
    assert refused(client, f"move {waiter}") == "malformed"
    assert refused(client, "move 1 first") == "lost"
    assert refused(client, "move l first") == "bad-value"
    assert refused(client, "move 0123456789abcdef/1 first") == "lost"
    said = berthctl("move", lease, "first")
    assert (said.returncode, said.stdout) == (78, "") and f"{lease}: it is held already" in said.stderr
    said = berthctl("move", waiter, "first", "--reason", "urgent")
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
    assert berthctl("move", waiter).returncode == 64


@needs_root
def test_only_operators(daemon):
    """Of all its resources."""
    held(daemon.client(), "acquire l s:2")
    owner = connect_as(daemon, OWNER)
    lease, other = waits(owner, "acquire l"), waits(connect_as(daemon, OWNER), "acquire l s")
    admin = connect_as(daemon, ADMIN)
    assert refused(owner, f"move {lease} first") == "forbidden"
    does(admin, f"move {lease} last")
    assert refused(admin, f"move {other} first") == "forbidden"
    does(daemon.client(), f"move {other} first")


# ---- fleet scope ----

def key_of(host, lease, name="etl"):
    return next(one for one in line(client_of(host), name) if one.split("/")[-1] == lease)


def ids(host, name="etl"):
    return [one.split("/")[-1] for one in line(client_of(host), name)]


@needs_redis
def test_from_any_host(pair):
    """And the clients hear of their new places."""
    a, b = pair
    gets(client_of(a), "acquire etl:2")
    clients = [client_of(host) for host in (a, b, a)]
    one, two, three = (queues(client, "acquire etl") for client in clients)
    assert ids(a) == ids(b) == [one, two, three]
    does(client_of(a), f"move {key_of(a, two)} first", f"move {one} last")
    assert event(clients[1]) == ("waiting", two, "position=1")
    assert event(clients[0]) == ("waiting", one, "position=3")
    assert ids(a) == ids(b) == [two, three, one]
    assert "position=3" in client_of(b).lines(f"why {key_of(b, one)}")[0]
    assert "asked by" in next(text for text in a.log.read_text().splitlines() if f"move {one} (etl, wanted" in text)
    lease = gets(client_of(a), "acquire door")
    key = status(client_of(b), "door").resources["door"]["holders"][0]["lease"]
    assert refused(client_of(b), f"move {key} first") == "kind" == refused(client_of(a), f"move {lease} first")
    assert f"{key}:%20it%20is%20held" in client_of(b).request(f"move {key} first")
    session = key.split("/")[0]
    assert refused(client_of(b), f"move {session}/1 first") == "lost" == refused(client_of(a), f"move {session}/1 first")


@needs_redis
def test_what_its_database_does_not_have(pair):
    a, b = pair
    gets(client_of(b), "acquire etl:2")
    owner = client_of(a)
    lease = queues(owner, "acquire etl")
    does(owner, f"away {lease}")
    until(lambda: not ids(b))
    for request in f"move {lease} first", f"move {lease} last":
        answer = client_of(a).request(request)
        assert answer.startswith(f"error kind {lease}:%20its%20database%20does%20not%20have%20it%20at"), answer
    does(owner, f"back {lease}")
    until(lambda: ids(b) == [lease])
    does(client_of(a), f"move {lease} first")


@needs_redis
def test_over_a_restart_and_a_loss(redis_server, pair):
    a, b = pair
    gets(client_of(b), "acquire etl:2")
    clients = [client_of(host) for host in (a, b, a)]
    one, two, three = (queues(client, "acquire etl") for client in clients)
    does(client_of(b), f"move {key_of(b, three)} first", f"move {two} first", f"move {two} last")
    assert ids(b) == [three, one, two]
    assert event(clients[2]) == ("waiting", three, "position=1")
    a.kill()
    a.start()
    asked_until(a, lambda now: now.databases["default"]["state"] == "up")
    assert ids(b) == [three, one, two]
    redis_server.do("FLUSHALL")
    until(lambda: ids(b) == [three, one, two] == ids(a))

"""`history` and `stats` of leases in fleet scope: each host has its own, with the units that the database
has given."""

import json

import pytest

from daemon_help import event, status
from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import client_of, fleet, gets, gets_in_time, queues
from history_help import history, is_over, last
from lines import until
from lost_help import asked_until

pytestmark = needs_redis

RESOURCES = """
[semaphore etl]
scope = fleet
limit = 4
kill-after = 500ms
[pool gpus]
scope = fleet
items = g0 g1 g2
select = first
[lock door]
scope = fleet
"""


@pytest.fixture
def pair(redis_server, hosts):
    return fleet(redis_server, hosts, text=RESOURCES)


def ended(host, name=""):
    return history(client_of(host), f"history {name}".rstrip())


def stats(host, name):
    whole = json.loads(host.berthctl("stats", name, "--json").stdout)
    one, = (row for row in whole["resources"] if row["name"] == name)
    return one


def test_a_lease_that_was_granted(pair):
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire etl:2 gpus:2 program=p reason=why")
    assert client.request(f"release {lease} exit=3") == "ok"
    entry, = ended(a)
    assert entry.lease == lease
    entry.has(units="etl:0-1;gpus:g0,g1", how="released", exit="3", program="p", reason="why", by=None)
    assert int(entry["waited"]) < 20000 and ended(b) == []
    # One that another host made wait: its times are of the wait and of the hold; the units are those of the grant.
    holder, waiter = client_of(a), client_of(b)
    first, second = gets(holder, "acquire gpus"), gets(holder, "acquire gpus")
    lease = queues(waiter, "acquire gpus:2")
    asked_until(b, lambda now: now.age(now.resources["gpus"]["waiters"][0]) >= 50)
    assert holder.request(f"release {first}") == "ok"
    assert event(waiter)[:2] == ("granted", lease)
    assert waiter.request(f"release {lease}") == "ok"
    assert holder.request(f"release {second}") == "ok"
    assert [entry["units"] for entry in ended(a)[1:]] == ["gpus:g0", "gpus:g1"]
    entry, = ended(b)
    entry.has(units="gpus:g0,g2", how="released")
    whole = int(ended(a)[-1]["held"])
    assert int(entry["waited"]) >= 50 and int(entry["waited"]) + int(entry["held"]) <= whole + 2


def test_a_lease_that_an_outage_ends(redis_server, pair):
    a, b = pair
    client, waiter = client_of(a), client_of(b)
    lease = gets(client, "acquire etl:3")
    waiting = queues(waiter, "acquire etl:2 wait=300ms")
    redis_server.stop()
    assert event(waiter)[:3] == ("denied", waiting, "timeout")
    is_over(client_of(a), lease)
    redis_server.cont()
    last(client_of(a)).has(units="etl:0-2", how="deadline", by=None)
    last(client_of(b)).has(units="etl=2", how="timeout")


def test_stats(pair):
    """On each host they are those of all, ended and running."""
    a, b = pair
    client, waiter = client_of(a), client_of(b)
    lease = gets(client, "acquire etl:3")
    waiting = queues(waiter, "acquire etl:2 wait=300ms")
    assert event(waiter)[:3] == ("denied", waiting, "timeout")
    assert client.request(f"release {lease}") == "ok"
    gets_in_time(waiter, "acquire etl:2")
    shown = [stats(host, "etl") for host in pair]
    now = status(a.client(), "etl")
    age = now.age(now.resources["etl"]["holders"][0])
    for of_etl in shown:
        held = of_etl["held_ms"]["longest"]
        assert (of_etl["leases"], of_etl["refused"]) == (1, 1) and held >= 300 <= of_etl["waited_ms"]["longest"]
        assert 3 * held <= of_etl["unit_ms"] <= 3 * held + 2 * age


def test_what_a_daemon_refuses(redis_server, pair):
    """A NUL in an entry that somebody wrote."""
    a, _ = pair
    client = client_of(a)
    lease = gets(client, "acquire etl")
    assert client.request(f"release {lease}") == "ok"
    with redis_server.client(decode_responses=False) as redis:
        entry = until(lambda: redis.xrevrange("{berth}:history", count=1)[0][1].get(b"e"))
        redis.xadd("{berth}:history", {"e": entry.replace(b"\t", b"\0\t", 1)})
    assert client_of(a).lines("history database=default")[1].startswith(f"ended {lease} ")
    assert "malformed" not in a.log.read_text()

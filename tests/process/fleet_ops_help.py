"""For the tests of what operators see and do in fleet scope."""

import time

import pytest

from daemon_help import connect_as, event
from fleet_help import redis_section
from lines import DEADLINE
from lost_help import asked_until

RESOURCES = """
[semaphore etl]
scope = fleet
limit = 2
[pool gpus]
scope = fleet
items = g0 g1 g2
select = first
[lock door]
scope = fleet
identity = shared
[semaphore market/*]
scope = fleet
limit = 2
[lock here]
"""


def up(server, *hosts):
    """Waits until all have their sessions; cuts the grace of the new database short."""
    for host in hosts:
        asked_until(host, lambda now: {one["state"] for one in now.databases.values()} == {"up"})
    server.do("HDEL", "{berth}:db", "grace")
    return hosts


def fleet(server, hosts, n=2, text=RESOURCES, **options):
    return up(server, *hosts(text, n, redis_section(server.url, **options)))


@pytest.fixture
def pair(redis_server, hosts):
    return fleet(redis_server, hosts)


def without_deadlines(client):
    """Without the events that come with every renewal; these put no deadline off."""
    next_line = client.line

    def line(timeout=DEADLINE):
        end = time.monotonic() + timeout
        while (answer := next_line(max(end - time.monotonic(), 0))).startswith("* deadline "):
            pass
        return answer

    client.line = line
    return client


def client_of(host, uid=None):
    return without_deadlines(host.client() if uid is None else connect_as(host, uid))


def asks(client, request):
    """The lease, and the line that tells its fate: granted, waiting, ..."""
    answer = client.request(request)
    while answer.startswith("pending ") or answer.endswith(" position=0"):
        answer = client.line().removeprefix("* ")
    return answer.split()[1], answer


def gets(client, request):
    lease, answer = asks(client, request)
    assert answer.split()[0] in ("ok", "granted"), answer
    return lease


def gets_in_time(client, request):
    """What another host has given back is free once the database knows."""
    lease, answer = asks(client, request)
    if answer.startswith("waiting "):
        assert event(client)[:2] == ("granted", lease)
    return lease


def queues(client, request):
    lease, answer = asks(client, request)
    assert answer.split()[0] == "waiting", answer
    return lease



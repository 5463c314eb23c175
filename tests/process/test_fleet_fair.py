"""`order = fair` over hosts: users, or the words that requests give (share=), take turns, whichever host they are on.
Which of those whose turns are equal comes first is the database's business."""

import pytest

from daemon_help import event, needs_root, shown
from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import client_of, fleet, gets, queues
from lost_help import asked_until

pytestmark = needs_redis

CONFIG = """
[lock words]
scope = fleet
order = fair
fair-by = share
[lock users]
scope = fleet
order = fair
"""


@pytest.fixture
def pair(redis_server, hosts):
    return fleet(redis_server, hosts, text=CONFIG)


def go_in_turn(name, looks, owners, held, rounds):
    """Each gives back what it has, then the next one gets it: first all of the first round, and so on. `owners`: the
    client of each lease."""
    for expected in rounds:
        left = set(expected)
        while left:
            first = shown(looks, name)["waiters"][0]["lease"].split("/")[-1]
            assert first in left, (first, left)
            assert owners[held].request(f"release {held}") == "ok"
            while event(owners[first])[:2] != ("granted", first):
                pass
            held = first
            left.remove(first)
    assert owners[held].request(f"release {held}") == "ok"


def test_words_take_turns(pair):
    one, two, looks = client_of(pair[0]), client_of(pair[1]), client_of(pair[1])
    held = gets(one, "acquire words share=x")
    x = [queues(one, "acquire words share=x") for _ in range(3)]
    y = [queues(two, "acquire words share=y") for _ in range(2)]
    z = queues(two, "acquire words share=z")
    owners = {lease: two for lease in (*y, z)} | {lease: one for lease in (held, *x)}
    go_in_turn("words", looks, owners, held, [(x[0], y[0], z), (x[1], y[1]), (x[2],)])


@needs_root
def test_users_take_turns_also_when_the_data_are_lost(redis_server, pair):
    one, two, looks = client_of(pair[0], 1001), client_of(pair[1], 1002), client_of(pair[0])
    held = gets(one, "acquire users")
    a = [queues(one, "acquire users") for _ in range(3)]
    b = [queues(two, "acquire users")]
    redis_server.do("FLUSHALL")
    for host in pair:
        asked_until(host, lambda now: {row["state"] for row in now.databases.values()} == {"up"})
    asked_until(pair[0], lambda now: len(redis_server.do("HKEYS", "{berth}:leases")) == 6)
    redis_server.do("HDEL", "{berth}:db", "grace")
    b.append(queues(two, "acquire users"))
    a.append(queues(one, "acquire users"))
    owners = {lease: one for lease in (held, *a)} | {lease: two for lease in b}
    go_in_turn("users", looks, owners, held, [(a[0], b[0]), (a[1], b[1]), (a[2],), (a[3],)])

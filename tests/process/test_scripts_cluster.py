"""Data in a cluster, where each key has a member that keeps it alive: data that come into one, and that leave
one."""

import pytest

from fleet_help import clock, needs_redis, redis_server  # fixtures among them
from scripts_help import World, breaks_off, definition, ok

pytestmark = needs_redis

KEEP = "~"
BY_TIME = ("sessions", "rest", "keeping", "freed", "undone")
HASHES = ("session", "leases", "definitions", "changes")


@pytest.fixture
def world(redis_server, clock):
    return World(redis_server, clock)


def is_kept(world, word):
    """Whether that key has it; None: it never has."""
    client, key = world.database.client, world.database.key[word]
    if word == "db":
        return None
    elif word in HASHES:
        return client.hexists(key, KEEP)
    elif word == "dirty":
        return bool(client.sismember(key, KEEP))
    return client.zscore(key, KEEP) == (float("inf") if word in BY_TIME else 0)


def kept(world):
    return {is_kept(world, word) for word in world.database.key} - {None}


def looks_as_in_a_cluster(world):
    """The data came from there, but this server has the clock and the ids that they know."""
    client = world.database.client
    for word, key in world.database.key.items():
        if word in HASHES:
            client.hset(key, KEEP, "")
        elif word == "dirty":
            client.sadd(key, KEEP)
        elif word != "db":
            client.zadd(key, {KEEP: float("inf") if word in BY_TIME else 0})
    client.hset(world.database.key["db"], "cluster", "1")
    world.database.was_edited()
    assert kept(world) == {True}


def test_where_scripts_may_not_use_info_the_caller_says_it(world):
    """A caller that does not, as an earlier berthd, changes nothing."""
    client = world.database.client
    a = world.member({"a": definition()})
    client.execute_command("ACL", "SETUSER", "default", "-info")
    ok(a.begin())
    assert kept(world) == {False}
    for _ in range(2):
        ok(a.begin(where="cluster"))
        ok(a.begin())
        assert kept(world) == {True} and client.exists(*world.database.keys) == len(world.database.keys)
    client.execute_command("ACL", "SETUSER", "default", "+info")
    ok(a.begin(where="cluster"))
    assert kept(world) == {False}, "the server knows better"


def test_what_is_missing_before_is_empty(world):
    """No word about the id is not the word that there was another place."""
    client, key = world.database.client, world.database.key["db"]
    a = world.member(hello=False)
    ok(a.begin(where="cluster"))
    assert client.hget(key, "first") == "new"


def test_data_that_leave_a_cluster_are_whole_wherever_the_call_is_broken_off(world):
    """They are not torn, as they would be in a cluster: nothing has to be listed again. The next hello goes on."""
    for after in range(100):
        world.database.client.flushall()
        world.members.clear()
        a, b = world.several(2, {"a": definition()})
        a.acquire("1", "a")
        looks_as_in_a_cluster(world)
        try:
            a.begin(before=breaks_off(after))
        except Exception as error:  # of whatever kind the client makes it
            assert "broken off" in str(error)
            ok(b.renew())  # others go on meanwhile
            assert b.acquire("1", "a").position == 1, after
            ok(b.release("1"))
        else:
            break
        assert ok(a.begin()).grace == 0, after
        assert world.data().holding() == {a.key("1")}, after
        assert kept(world) == {False}, after
        assert not world.database.client.hexists(world.database.key["db"], "cluster")
    else:
        raise AssertionError("it does not end")
    assert after > 20

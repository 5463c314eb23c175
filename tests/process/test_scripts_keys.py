"""Each key has a member that keeps it alive, so a key that is missing is missing data: evicted, deleted, or left behind
by a slot of a cluster that moved."""

import pytest

from fleet_help import needs_redis
from scripts_help import WORDS, Claim, breaks_off, definition, list_row, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis


def is_in_cluster(world):
    return world.database.client.hget(world.database.key["db"], "cluster") == "1"


def are_all_there(world):
    return world.database.client.exists(*world.database.keys) == len(WORDS)


def vanishes(world, word):
    world.database.client.delete(world.database.key[word])


def at_work(world):
    """A member that holds, one that waits, and what they list of that."""
    a, b = world.several(2, {"a": definition()})
    token = a.acquire("1", "a").claims[0].token
    ticket = b.acquire("1", "a").ticket
    return a, b, [
        (a, list_row("1", "held", [Claim("a", 1, token, ("0",))])),
        (b, list_row("1", "waiting", [Claim("a", 1, 0, ())], ticket=ticket))]


def put_back(world, listed):
    for one, row in listed:
        one.hello({"a": definition()}, [row])
    (a, _), (b, _) = listed
    assert a.acquire("2", "a", nowait=True).code == "grace"
    world.check()
    world.end_grace(a, b)
    data = world.check()
    assert data.holding() == {a.key("1")} and data.waiting() == {b.key("1")}
    ok(a.release("1"))
    assert list(b.granted()) == ["1"]


@pytest.mark.parametrize("word", [word for word in WORDS if word not in ("gone", "history")])
def test_a_key_that_is_missing_is_missing_data(world, word):
    """Whatever call comes first: each member lists what it has, in a grace."""
    a, b, listed = at_work(world)
    vanishes(world, word)
    calls = [b.renew, lambda: b.acquire("2", "a", nowait=True), lambda: a.release("1"), lambda: a.call("snapshot", ""),
             lambda: a.admin("pause", "a")]
    for call in calls:
        assert call().word == "hello"
    put_back(world, listed)


def test_what_is_left_is_not_kept(world):
    a, b, _ = at_work(world)
    vanishes(world, "db")
    ok(b.begin())
    assert world.data().leases == {} and world.database.leftovers() == {}


def test_a_database_that_is_begun_again_is_whole_wherever_the_call_is_broken_off(world):
    for after in range(100):
        world.database.client.flushall()
        world.members.clear()
        a, b, listed = at_work(world)
        vanishes(world, "owned")
        try:
            b.begin(before=breaks_off(after))
        except Exception as error:  # of whatever kind the client makes it
            assert "broken off" in str(error)
        else:
            break
        assert a.renew().word == "hello", after
        put_back(world, listed)
        assert are_all_there(world)
    else:
        raise AssertionError("it does not end")
    assert after > len(WORDS)


def test_no_key_ceases_to_exist(world):
    a, b = world.several(2, {"a": definition(), "p": definition("pool", items=["x"], cooldown=1000)})
    for name in ("a", "p"):
        assert a.acquire(name, name).word == "granted" and b.acquire(name, name).word == "waiting"
        ok(b.release(name))
        ok(a.release(name))
    world.pass_time(2000, a, b)
    assert world.database.leftovers() == {} and are_all_there(world)


def test_where_scripts_may_not_use_info_the_caller_says_that_it_is_a_cluster(world):
    client = world.database.client
    a = world.member({"a": definition()})
    assert not is_in_cluster(world)
    client.execute_command("ACL", "SETUSER", "default", "-info")
    for _ in range(2):
        ok(a.begin(where="cluster"))
        ok(a.begin())
        assert is_in_cluster(world)
    client.execute_command("ACL", "SETUSER", "default", "+info")
    ok(a.begin(where="cluster"))
    assert not is_in_cluster(world), "the server knows better"

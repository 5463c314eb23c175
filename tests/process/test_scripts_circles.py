"""Nested requests that wait for each other (doc/ordering.md): the daemon of the last one in the order of the queues is
told to deny it. The scripts on a real Redis."""

import pytest

from fleet_help import needs_redis
from scripts_help import Claim, definition, list_row, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis


def two(world, limit=2):
    """Each has one unit of `s`."""
    a, b = world.several(2, {"s": definition(limit=limit)})
    for one in (a, b):
        assert one.acquire("holds", "s").word == "granted"
    return a, b


def circles(member):
    return [event.split(" ")[1:] for event in member.new_events() if event.startswith("circle ")]


def nested(world):
    return world.database.client.hget(world.database.key["db"], "nested")


def test_on_two_hosts(world):
    a, b = two(world)
    assert a.acquire("inner", "s", above="holds").word == "waiting"
    assert nested(world) == a.key("inner")
    assert b.acquire("inner", "s", above="holds").word == "waiting"
    assert circles(b) == [["inner", "s"]] and circles(a) == []
    ok(b.release("inner"))
    ok(b.release("holds"))
    assert list(a.granted()) == ["inner"]
    assert nested(world) is None


def test_of_three_over_two_resources(world):
    a, b = world.several(2, {name: definition() for name in "xyz"})
    for one, lease in ((a, "x"), (a, "y"), (b, "z")):
        one.acquire(lease, lease)
    a.acquire("1", "y", above="x")
    a.acquire("2", "z", above="y")
    assert circles(a) == []
    b.acquire("3", "x", above="z")
    assert circles(b) == [["3", "x"]] and circles(a) == []


def test_the_lowest_priority(world):
    a, b = two(world)
    a.acquire("inner", "s", above="holds")
    b.acquire("inner", "s", above="holds", priority=1)
    assert circles(a) == [["inner", "s"]] and circles(b) == []


def test_who_waits_for_a_circle_is_in_none(world):
    a, b = world.several(2, {name: definition() for name in "xyz"})
    for one, lease in ((a, "x"), (a, "y"), (b, "z")):
        one.acquire(lease, lease)
    a.acquire("1", "y", above="x", priority=1)
    b.acquire("waits", "x", above="z")
    a.acquire("2", "x", above="y", priority=1)
    assert circles(a) == [["2", "x"]] and circles(b) == []


def test_until_there_is_none(world):
    a, b = two(world, limit=3)
    a.acquire("third", "s")
    a.acquire("1", "s", above="holds")
    b.acquire("2", "s", above="holds")
    assert circles(a) == circles(b) == []
    a.acquire("3", ("s", 2), above="third", priority=1)
    assert sorted(circles(a) + circles(b)) == [["1", "s"], ["2", "s"]]


def test_somebody_outside_has_enough(world):
    a, b = two(world, limit=3)
    a.acquire("outside", "s")
    a.acquire("inner", "s", above="holds")
    b.acquire("inner", "s", above="holds")
    assert circles(a) == circles(b) == []
    ok(a.release("outside"))
    assert list(a.granted()) == ["inner"]
    ok(a.release("inner"))
    assert list(b.granted()) == ["inner"]


def test_in_a_quota(world):
    a, b = world.several(2, {"q": definition(limit=9, user=2)})
    for one in (a, b):
        one.acquire("holds", "q", uid=7)
    a.acquire("inner", "q", above="holds", uid=7)
    b.acquire("inner", "q", above="holds", uid=7)
    assert circles(b) == [["inner", "q"]] and circles(a) == []


@pytest.mark.parametrize("nowait", [False, True])
def test_its_own_ancestors_leave_no_room(world, nowait):
    """In a limit or in a quota, whoever else gives something back; in a limit, also another user's."""
    a, b = world.several(2, {"s": definition(limit=3), "q": definition(limit=9, user=2)})
    a.acquire("outer", ("s", 2), ("q", 2), uid=7)
    a.acquire("holds", "q", above="outer", uid=8)
    b.acquire("outside", "s")
    for uid in (7, 8):
        reply = a.acquire("inner", ("s", 2), above="holds,outer", uid=uid, nowait=nowait)
        assert (reply.word, reply.rest) == ("refused", ["ancestor", "s"])
    reply = a.acquire("inner", "q", above="outer", uid=7, nowait=nowait)
    assert (reply.word, reply.rest) == ("refused", ["ancestor", "q"])
    assert a.acquire("other", "q", above="holds,outer", uid=8).word == "granted"
    assert a.acquire("waits", "s", above="holds,outer", uid=7).word == "waiting"
    assert circles(a) == [] and nested(world) == a.key("waits")


@pytest.mark.parametrize("has", ["a unit", "all"])
def test_for_all_of_it(world, has):
    """Of `s` one has a unit and the other wants all, or the other way round."""
    a, b = world.several(2, {"s": definition(limit=5), "x": definition()})
    holds, wants = ("", " all=s") if has == "a unit" else (" all=s", "")
    a.acquire("holds", "s", info="pid=1" + holds)
    b.acquire("holds", "x")
    b.acquire("inner", "s", above="holds", info="pid=1" + wants)
    assert circles(b) == []
    a.acquire("inner", "x", above="holds")
    assert circles(a) == [["inner", "x"]] and circles(b) == []
    ok(a.release("inner"))
    ok(a.release("holds"))
    assert list(b.granted()) == ["inner"]


def test_another_users_lease_is_no_parent(world):
    a, b = two(world)
    a.acquire("inner", "s", above="holds")
    b.acquire("inner", "s", above="holds", uid=7)
    assert circles(a) == circles(b) == []


# ---- others in the way

def test_behind_one_who_wants_all(world):
    """It waits for the lease under which the nested request runs, which waits behind it."""
    a, b = two(world)
    b.acquire("all", ("s", 2))
    a.acquire("inner", "s", above="holds")
    assert circles(a) == [["inner", "s"]] and circles(b) == []


@pytest.mark.parametrize("moved", [False, True])
def test_one_who_comes_later(world, moved):
    a, b = two(world)
    a.acquire("inner", "s", above="holds")
    b.acquire("all", ("s", 2), priority=0 if moved else 1)
    if moved:
        assert circles(a) == []
        ok(b.admin("move", b.key("all"), "first", "why"))
    assert circles(a) == [["inner", "s"]]


def test_a_lower_limit_is_no_circle(world):
    """Until the operator raises it again."""
    a, b = two(world, limit=4)
    ok(a.admin("limit", "s", "2"))
    a.acquire("inner", "s", above="holds")
    b.acquire("inner", "s", above="holds")
    assert circles(a) == circles(b) == []
    ok(a.admin("limit", "s", "3"))
    assert list(a.granted()) == ["inner"]


def test_a_higher_limit_that_ends(world):
    a, b = two(world)
    ok(a.admin("limit", "s", "3"))
    a.acquire("outside", "s")
    a.acquire("inner", "s", above="holds")
    b.acquire("inner", "s", above="holds")
    assert circles(a) == circles(b) == []
    ok(a.admin("reset", "s"))
    assert circles(b) == [["inner", "s"]]


# ---- what comes back

def test_after_a_loss(world):
    """The requests come back before the leases under which they run: the circle is found when the grace is over."""
    a, b = world.several(2, {"s": definition(limit=2)})
    held = [one.acquire("holds", "s").claims for one in (a, b)]
    world.database.client.delete(*world.database.keys)
    for one in (a, b):
        ok(one.begin())
        one.define({"s": definition(limit=2)})
    for one, claims in zip((a, b), held):
        one.lists(list_row("inner", "waiting", [Claim("s", 1, 0, ())], ticket=9, above="holds"),
                  list_row("holds", "held", claims))
        one.end()
    world.end_grace(a, b)
    assert sorted(circles(a) + circles(b)) == [["inner", "s"]]

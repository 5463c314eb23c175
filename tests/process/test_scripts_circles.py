"""Nested requests that wait for each other (doc/ordering.md): the daemon of the last one in the order of the queues is
told to deny it. The scripts on a real Redis."""

import pytest

from fleet_help import needs_redis
from scripts_help import Claim, definition, list_row, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis


def under(name, lease, count=1, units=0):
    """A claim of a request that runs under that lease of its own host, which has so many units of it."""
    return name, count, None, f"{units}:{lease}"


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
    assert a.acquire("inner", under("s", "holds", units=1)).word == "waiting"
    assert nested(world) == a.key("inner")
    assert b.acquire("inner", under("s", "holds", units=1)).word == "waiting"
    assert circles(b) == [["inner", "s"]] and circles(a) == []
    ok(b.release("inner"))
    ok(b.release("holds"))
    assert list(a.granted()) == ["inner"]
    assert nested(world) is None


def test_of_three_over_two_resources(world):
    a, b = world.several(2, {name: definition() for name in "xyz"})
    for one, lease in ((a, "x"), (a, "y"), (b, "z")):
        one.acquire(lease, lease)
    a.acquire("1", under("y", "x"))
    a.acquire("2", under("z", "y"))
    assert circles(a) == []
    b.acquire("3", under("x", "z"))
    assert circles(b) == [["3", "x"]] and circles(a) == []


def test_the_lowest_priority(world):
    a, b = two(world)
    a.acquire("inner", under("s", "holds"))
    b.acquire("inner", under("s", "holds"), priority=1)
    assert circles(a) == [["inner", "s"]] and circles(b) == []


def test_who_waits_for_a_circle_is_in_none(world):
    a, b = world.several(2, {name: definition() for name in "xyz"})
    for one, lease in ((a, "x"), (a, "y"), (b, "z")):
        one.acquire(lease, lease)
    a.acquire("1", under("y", "x"), priority=1)
    b.acquire("waits", under("x", "z"))
    a.acquire("2", under("x", "y"), priority=1)
    assert circles(a) == [["2", "x"]] and circles(b) == []


def test_until_there_is_none(world):
    a, b = two(world, limit=3)
    a.acquire("third", "s")
    a.acquire("1", under("s", "holds"))
    b.acquire("2", under("s", "holds"))
    assert circles(a) == circles(b) == []
    a.acquire("3", under("s", "third", count=2), priority=1)
    assert sorted(circles(a) + circles(b)) == [["1", "s"], ["2", "s"]]


def test_somebody_outside_has_enough(world):
    a, b = two(world, limit=3)
    a.acquire("outside", "s")
    a.acquire("inner", under("s", "holds"))
    b.acquire("inner", under("s", "holds"))
    assert circles(a) == circles(b) == []
    ok(a.release("outside"))
    assert list(a.granted()) == ["inner"]
    ok(a.release("inner"))
    assert list(b.granted()) == ["inner"]


def test_in_a_quota(world):
    a, b = world.several(2, {"q": definition(limit=9, user=2)})
    for one in (a, b):
        one.acquire("holds", "q", uid=7)
    a.acquire("inner", under("q", "holds"), uid=7)
    b.acquire("inner", under("q", "holds"), uid=7)
    assert circles(b) == [["inner", "q"]] and circles(a) == []


def test_another_users_lease_is_no_parent(world):
    a, b = two(world)
    a.acquire("inner", under("s", "holds"))
    b.acquire("inner", under("s", "holds"), uid=7)
    assert circles(a) == circles(b) == []


# ---- others in the way

def test_behind_one_who_wants_all(world):
    """It waits for the lease under which the nested request runs, which waits behind it."""
    a, b = two(world)
    b.acquire("all", ("s", 2))
    a.acquire("inner", under("s", "holds"))
    assert circles(a) == [["inner", "s"]] and circles(b) == []


@pytest.mark.parametrize("moved", [False, True])
def test_one_who_comes_later(world, moved):
    a, b = two(world)
    a.acquire("inner", under("s", "holds"))
    b.acquire("all", ("s", 2), priority=0 if moved else 1)
    if moved:
        assert circles(a) == []
        ok(b.admin("move", b.key("all"), "first", "why"))
    assert circles(a) == [["inner", "s"]]


def test_a_lower_limit_is_no_circle(world):
    """Until the operator raises it again."""
    a, b = two(world, limit=4)
    ok(a.admin("limit", "s", "2"))
    a.acquire("inner", under("s", "holds"))
    b.acquire("inner", under("s", "holds"))
    assert circles(a) == circles(b) == []
    ok(a.admin("limit", "s", "3"))
    assert list(a.granted()) == ["inner"]


def test_a_higher_limit_that_ends(world):
    a, b = two(world)
    ok(a.admin("limit", "s", "3"))
    a.acquire("outside", "s")
    a.acquire("inner", under("s", "holds"))
    b.acquire("inner", under("s", "holds"))
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
        one.lists(list_row("inner", "waiting", [Claim("s", 1, 0, ())], ticket=9, ancestral="1:holds"),
                  list_row("holds", "held", claims))
        one.end()
    world.end_grace(a, b)
    assert sorted(circles(a) + circles(b)) == [["inner", "s"]]

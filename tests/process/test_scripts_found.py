"""The first grace of a database, and `found`, which ends it unless a daemon gives a sign that other data
were there before."""

import pytest

from fleet_help import needs_redis
from scripts_help import Claim, breaks_off, definition, list_row, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

T, LAG = 30000, 11000
GRACE = T + LAG
HELD = [Claim("a", 1, 7, ("0",))]
WAITS = [Claim("a", 1, 0, ())]


def field(world, name):
    return world.database.client.hget(world.database.key["db"], name)


def number(world, name):
    return int(field(world, name) or 0)


def found(one, **how):
    return one.admin("found", "", **how)


def test_it_ends_the_grace_at_once(world):
    a = world.member({"a": definition()})
    assert a.may_found == [1]
    assert a.acquire("1", "a").word == "waiting"
    b = world.member()
    assert ok(found(b)).grace == 0
    assert list(a.granted()) == ["1"]
    assert ok(b.renew()).grace == 0 and b.acquire("1", "a").word == "waiting"
    world.pass_time(2 * GRACE, a, b)
    assert number(world, "epoch") == 1 and world.member().may_found == []
    world.check()


def test_the_others_are_told(world):
    a, b = world.member(), world.member()
    channel = world.database.client.pubsub()
    channel.subscribe("{berth}:all")
    assert channel.get_message(timeout=5)["type"] == "subscribe"
    ok(found(a))
    assert channel.get_message(timeout=5)["data"] == "hello 2"
    assert ok(b.renew()).grace == 0


def has_had_answers_here(world):
    one = world.member(hello=False)
    one.sequence = 5
    one.hello()
    return "not-new", "known host2"


def holds(world):
    assert world.member(hello=False).lists_one({"a": definition()}, "1", "held", HELD) == "held"
    return "in-use", "listed host2"


def has_held(world):
    why = holds(world)
    ok(world.members[-1].release("1"))
    return why


def waits(world):
    assert world.member(hello=False).lists_one({"a": definition()}, "1", "waiting", WAITS, ticket=3) == "waiting"
    return "in-use", "listed host2"


def is_listing(world):
    ok(world.member(hello=False).begin())
    return "grace", "listing host2"


def is_in_a_later_grace(world):
    world.becomes_another_server()
    for one in world.members:
        one.hello()
    return "not-new", "later"


def is_over(world):
    world.end_grace(*world.members)
    return "not-new", "over"


REFUSED = [has_had_answers_here, holds, has_held, waits, is_listing, is_in_a_later_grace, is_over]


@pytest.mark.parametrize("sign", REFUSED)
def test_it_is_refused_if(world, sign):
    a = world.member()
    why = sign(world)
    before = number(world, "grace")
    assert tuple(found(a).rest) == why
    assert number(world, "grace") == before
    assert a.admin("found", "").word == "refused"


def test_what_was_asked_for_in_this_grace_is_no_sign(world):
    """Not even if its daemon lists it again, or has not heard the answer."""
    a = world.member({"a": definition()})
    place = a.acquire("1", "a")
    assert a.lists_one(None, "1", "waiting", WAITS, ticket=place.ticket) == "waiting"
    assert a.lists_one(None, "1", "waiting", WAITS, ticket=place.ticket) == "waiting"
    assert a.lists_one(None, "2", "asked", WAITS) == "lost"
    ok(found(a))


def test_it_can_be_repeated_wherever_it_was_broken_off(world):
    for after in range(100):
        world.database.client.flushall()
        world.members.clear()
        a = world.member({"a": definition()})
        a.acquire("1", "a")
        try:
            found(a, before=breaks_off(after))
        except Exception as error:  # of whatever kind the client makes it
            assert "broken off" in str(error)
        else:
            break
        if field(world, "grace") and after % 2:  # a sign that comes in between counts
            why = has_had_answers_here(world)
            assert tuple(found(a).rest) == why, after
            continue
        if field(world, "grace"):
            ok(found(a))
        assert list(a.granted()) == ["1"], after
    else:
        raise AssertionError("it does not end")
    assert after > 2


# ---- who comes later


def founded(world):
    """After a part of its first grace."""
    a = world.member({"a": definition(), "b": definition()})
    world.pass_time(5000, a)
    ok(found(a))
    return a


def comes_back(one, *leases):
    """Its first hello brings the grace: it has to begin again."""
    ok(one.begin())
    one.lists(*leases)
    assert one.call("hello", "end", "").word == "hello"
    return one.hello(leases=leases)


def test_a_host_with_a_lease_begins_a_whole_grace(world):
    """Its job is known again, though not in a place that another job has got meanwhile."""
    a = founded(world)
    mine = a.acquire("1", "a")
    world.pass_time(1000, a)
    b = world.member(hello=False)
    listed = comes_back(b, list_row("1", "held", HELD), list_row("2", "held", [Claim("b", 1, 8, ("0",))]))
    assert listed["1"][0] == "lost" and listed["2"][0] == "held"
    assert number(world, "grace") - world.database.clock() == GRACE and number(world, "epoch") == 2
    assert a.renew().word == "hello"
    assert a.lists_one(None, "1", "held", mine.claims) == "held"
    assert a.acquire("2", "b", nowait=True).code == "grace"
    world.end_grace(a, b)
    assert a.acquire("3", "b").word == "waiting"
    world.check()


@pytest.mark.parametrize("ms, begins", [(GRACE - 6000, True), (GRACE - 5000, False)], ids=["in time", "later"])
def test_it_does_so_for_as_long_as_the_first_grace_would_have_lasted(world, ms, begins):
    a = founded(world)
    world.pass_time(ms, a)
    b = world.member(hello=False)
    ok(b.begin())
    word, = (word for word, *_ in b.lists(list_row("1", "held", HELD)).values())
    assert (word, number(world, "epoch")) == (("held", 2) if begins else ("lost", 1))


def test_others_do_not_make_that_grace_longer(world):
    a = founded(world)
    comes_back(world.member(hello=False), list_row("1", "held", HELD))
    grace = number(world, "grace")
    a.hello()
    world.pass_time(5000, a)
    c = world.member(hello=False)
    assert c.hello(leases=[list_row("1", "held", [Claim("b", 1, 8, ("0",))])])["1"][0] == "held"
    assert number(world, "grace") == grace


def test_a_host_without_a_lease_begins_none(world):
    """Though it has had answers here: it may be a copy of another machine."""
    a = founded(world)
    has_had_answers_here(world)
    assert number(world, "epoch") == 1 and ok(a.renew()).grace == 0


def test_how_long_hosts_have_been_there_is_shown_in_the_first_grace(world):
    a = world.member()
    world.pass_time(3000, a)
    b = world.member()
    world.pass_time(2000, a, b)

    def since():
        return [row[10:] for row in a.snapshot() if row[0] == "session"]
    assert since() == [["5000"], ["2000"]]
    ok(found(a))
    assert since() == [[], []]

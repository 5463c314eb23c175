"""Which data these are: the id of a database, its first grace, and `found`, which ends that grace
unless there is any sign that other data were there before."""

import pytest

from fleet_help import clock, needs_redis, redis_server  # fixtures among them  # noqa: F401
from scripts_help import Claim, World, breaks_off, definition, list_row, ok

pytestmark = needs_redis

T, LAG = 30000, 11000
GRACE = T + LAG
OTHER = "0123456789abcdef" * 2  # an id that these data do not have
HELD = [Claim("a", 1, 7, ("0",))]
WAITS = [Claim("a", 1, 0, ())]


@pytest.fixture
def world(redis_server, clock):  # noqa: F811
    return World(redis_server, clock)


def field(world, name):
    return world.database.client.hget(world.database.key["db"], name)


def number(world, name):
    return int(field(world, name) or 0)


def news_of_id(one):
    return [what for _, what, _, _ in one.follow()[2] if what.startswith("i ")]


def found(one, **how):
    return one.admin("found", "", **how)


# ---- the id


def test_data_get_an_id_when_the_first_grace_ends(world):
    a = world.member()
    assert a.may_found == [1] and not field(world, "id") and not news_of_id(a)
    world.end_grace(a)
    the_id = field(world, "id")
    assert len(the_id) == 32 and news_of_id(a) == [f"i {the_id}"]
    assert not field(world, "first")
    b = world.member()
    assert b.may_found == [] and news_of_id(b) == [f"i {the_id}"]
    world.becomes_another_server()
    a.hello()
    world.end_grace(a)
    assert field(world, "id") == the_id and news_of_id(a) == [f"i {the_id}"]


def test_no_two_databases_have_one_id(world):
    ids = set()
    for _ in range(3):
        a = world.member()
        world.end_grace(a)
        ids.add(field(world, "id"))
        world.database.client.flushall()
        world.tick(1)
    assert len(ids) == 3


def test_data_of_an_earlier_berthd_get_one_at_the_first_hello(world):
    a, = world.several(1, {"a": definition()})
    client, key = world.database.client, world.database.key
    client.hdel(key["db"], "id")
    client.zrem(key["news"], *news_of_id(a))
    epoch = number(world, "epoch")
    a.hello()
    assert field(world, "id") and news_of_id(a) == ["i " + field(world, "id")]
    assert number(world, "epoch") == epoch and not field(world, "grace")


def test_who_knows_an_id_gives_it_back_to_data_that_were_lost(world):
    a, b = world.several(2, {"a": definition()})
    the_id = field(world, "id")
    world.database.client.flushall()
    world.tick(1)
    a.hello(knows=the_id)
    grace = number(world, "grace")
    assert field(world, "id") == the_id and news_of_id(a) == [f"i {the_id}"]
    world.tick(1000)
    b.hello(knows=the_id)
    assert number(world, "grace") == grace and number(world, "epoch") == 1
    assert found(a).rest == ["not-new", f"known {a.host}"]


# ---- found


def test_it_ends_the_grace_at_once(world):
    a = world.member({"a": definition()})
    assert a.acquire("1", "a").word == "waiting"
    b = world.member()
    assert ok(found(b)).grace == 0
    assert list(a.granted()) == ["1"]
    assert ok(b.renew()).grace == 0 and b.acquire("1", "a").word == "waiting"
    the_id = field(world, "id")
    assert len(the_id) == 32 and news_of_id(a) == [f"i {the_id}"]
    world.pass_time(2 * GRACE, a, b)
    assert field(world, "id") == the_id and number(world, "epoch") == 1
    world.check()


def test_the_others_are_told(world):
    a, b = world.member(), world.member()
    channel = world.database.client.pubsub()
    channel.subscribe("{berth}:all")
    assert channel.get_message(timeout=5)["type"] == "subscribe"
    ok(found(a))
    assert channel.get_message(timeout=5)["data"].startswith("news ")
    assert ok(b.renew()).grace == 0


def knows_another(world):
    world.member(hello=False).hello(knows=OTHER)
    return "not-new", "known host2"


def knew_it_elsewhere(world):
    world.member(hello=False).hello(knows="moved")
    return "not-new", "moved host2"


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


def is_of_an_earlier_berthd(world):
    one = world.member()
    world.database.client.hdel(world.database.key["session"], f"f:{one.session}")
    return "not-new", "earlier host2"


def was_begun_by_an_earlier_berthd(world):
    world.database.client.hdel(world.database.key["db"], "first")
    return "not-new", "begun"


def is_in_a_later_grace(world):
    world.becomes_another_server()
    for one in world.members:
        one.hello()
    return "not-new", "later"


def is_over(world):
    world.end_grace(*world.members)
    return "not-new", "over"


REFUSED = [knows_another, knew_it_elsewhere, has_had_answers_here, holds, has_held, waits, is_listing,
           is_of_an_earlier_berthd, was_begun_by_an_earlier_berthd, is_in_a_later_grace, is_over]


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


def test_what_keeps_a_key_of_a_cluster_alive_is_no_session(world):
    a = world.member()
    world.database.client.zadd(world.database.key["sessions"], {"~": float("inf")})
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
            world.member(hello=False).hello(knows=OTHER)
            assert found(a).rest == ["not-new", "known host2"], after
            continue
        if field(world, "grace"):
            ok(found(a))
        assert list(a.granted()) == ["1"], after
        assert news_of_id(a) == ["i " + field(world, "id")]
    else:
        raise AssertionError("it does not end")
    assert after > 3


# ---- who comes later


def founded(world):
    """After a part of its first grace."""
    a = world.member({"a": definition(), "b": definition()})
    world.pass_time(5000, a)
    ok(found(a))
    return a


def test_who_knows_another_id_forces_the_grace(world):
    """Its job is known again, though not in a place that another job has got meanwhile."""
    a = founded(world)
    mine = a.acquire("1", "a")
    world.pass_time(1000, a)
    b = world.member(hello=False)
    listed = b.hello(knows=OTHER, leases=[
        list_row("1", "held", HELD), list_row("2", "held", [Claim("b", 1, 8, ("0",))])])
    assert listed["1"][0] == "lost" and listed["2"][0] == "held"
    assert number(world, "grace") - world.database.clock() == GRACE and number(world, "epoch") == 2
    assert a.renew().word == "hello"
    assert a.lists_one(None, "1", "held", mine.claims) == "held"
    assert a.acquire("2", "b", nowait=True).code == "grace"
    world.end_grace(a, b)
    assert a.acquire("3", "b").word == "waiting"
    world.check()


def test_a_grace_that_was_forced_is_a_whole_one(world):
    """Its sessions need not list everything again."""
    a = founded(world)
    b = world.member(hello=False)
    b.hello(knows=OTHER)
    a.hello()
    world.pass_time(20000, a, b)
    c = world.member(hello=False)
    c.hello(knows=OTHER)
    assert number(world, "grace") - world.database.clock() == GRACE
    assert ok(a.renew()).grace == GRACE


def test_who_knows_the_id_forces_nothing(world):
    a = founded(world)
    b = world.member(hello=False)
    b.hello(knows=field(world, "id"))
    assert not field(world, "grace") and number(world, "epoch") == 1
    assert ok(a.renew()).grace == 0


def knows_no_id(one):
    one.sequence = 5
    one.hello()


LATER_SIGNS = {
    "moved": lambda one: one.hello(knows="moved"),
    "answers": knows_no_id,
    "held": lambda one: one.lists_one(None, "1", "held", HELD),
}


@pytest.mark.parametrize("sign", LATER_SIGNS)
def test_what_would_have_refused_it_forces_the_grace_for_as_long(world, sign):
    a = founded(world)
    world.pass_time(GRACE - 6000, a)
    early = world.member(hello=False)
    try:
        LATER_SIGNS[sign](early)
    except AssertionError:  # it has to begin again
        assert sign == "held"
    assert field(world, "grace") and number(world, "epoch") == 2
    assert a.renew().word == "hello"
    if sign == "held":
        assert early.lists_one(None, "1", "held", HELD) == "held"


@pytest.mark.parametrize("sign", LATER_SIGNS)
def test_but_no_longer(world, sign):
    a = founded(world)
    world.pass_time(GRACE - 5000, a)
    LATER_SIGNS[sign](world.member(hello=False))
    assert not field(world, "grace") and number(world, "epoch") == 1


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

"""Daemons of several versions in one database: the data take the next layout once all know it, and an
operator says so."""

import pytest

from fleet_help import clock, needs_redis, redis_server  # fixtures among them
from scripts_help import World, breaks_off, definition, ok, redis

pytestmark = needs_redis


@pytest.fixture
def world(redis_server, clock):
    return World(redis_server, clock)


def upgraded(world, *members):
    """They know layout 3 as well, from their next hello on."""
    world.database.layouts = "2-3"
    for one in members:
        one.hello()
    world.database.layouts = "2-2"


def layout(world):
    return world.database.client.hmget(world.database.key["db"], "layout", "convert")


def test_no_newer_layout(world):
    a, = world.several(1, {"a": definition()})
    assert ok(a.admin("upgrade", "", "")).rest == [""]
    assert layout(world) == ["2", None]


def test_an_upgrade_waits_for_all_hosts(world):
    a, b, c = world.several(3, {"a": definition()})
    upgraded(world, a)
    for one in (a, b):  # asked by whomever
        refused = one.admin("upgrade", "", "")
        assert (refused.word, refused.rest) == ("refused", ["older", f"3 2 {b.host} {c.host}"])
    upgraded(world, b)
    assert a.admin("upgrade", "", "").rest == ["older", f"3 1 {c.host}"]
    assert layout(world) == ["2", None]
    world.pass_time(31000, a, b)  # c is gone
    assert ok(a.admin("upgrade", "", "")).rest == ["convert"]
    assert layout(world) == ["3", "1"]


def test_scripts_of_the_layout_before_touch_nothing_more(world):
    a, b = world.several(2, {"a": definition()})
    a.acquire("1", "a")
    upgraded(world, a, b)
    ok(a.admin("upgrade", "", ""))
    world.database.layouts = "2-3"
    before = world.database.data()
    for reply in (a.renew(), b.begin(), a.release("1"), b.acquire("1", "a"), a.admin("upgrade", "", "convert")):
        assert (reply.word, reply.rest) == ("layout", ["3"])
    assert world.database.data() == before


def test_an_upgrade_is_not_finished_in_a_grace(world):
    """Hosts that cannot read the new layout may not have reported yet."""
    a, b = world.several(2, {"a": definition()})
    world.database.client.flushall()
    upgraded(world, a)
    assert a.admin("upgrade", "", "").rest[0] == "grace"
    assert layout(world) == ["2", None]


def test_the_names_of_many_hosts_are_cut(world):
    members = world.several(30, {"a": definition()})
    upgraded(world, members[0])
    _, detail = members[0].admin("upgrade", "", "").rest
    assert detail.startswith("3 29 host") and len(detail) < 160


def test_an_upgrade_may_be_broken_off_anywhere(world):
    for after in range(20):
        a, b = world.several(2, {"a": definition()})
        a.acquire("1", "a")
        upgraded(world, a, b)
        try:
            reply = a.admin("upgrade", "", "", before=breaks_off(after))
        except redis.RedisError:
            reply = None
        assert layout(world) in (["2", None], ["3", "1"])
        if reply:
            assert ok(reply).rest == ["convert"]
            return
        assert ok(a.admin("upgrade", "", "")).rest == ["convert"]
        world.database.client.flushall()
    pytest.fail("it never ended")

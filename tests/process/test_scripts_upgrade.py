"""Daemons of several versions in one database: the data take the next layout once all know it, and an
operator says so."""


import pytest

from fleet_help import needs_redis, servers  # a fixture among them  # noqa: F401
from lines import until
from scripts_help import World, breaks_off, definition, next_scripts, ok, redis
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis


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


# ---- the scripts of the next layout (tests/next-format)

DEFINITIONS = {"a": definition(limit=90), "q": definition(limit=9, user=2), "p": definition("pool", 0, ["x"])}
# How many records are of layout 2, and of layout 3.
KINDS = """
local old, new = 0, 0
for _, record in ipairs(redis.call('HVALS', KEYS[1])) do
    local is_new = record ~= '' and type(cmsgpack.unpack(record)[1]) == 'number'
    old, new = old + (record ~= '' and not is_new and 1 or 0), new + (is_new and 1 or 0)
end
return {old, new}
"""


def kinds(world):
    return world.database.client.eval(KINDS, 1, world.database.key["leases"])


def finished(world, n=70):
    """Two members with leases of layout 2, at the end of the upgrade: in the hands of the next scripts."""
    world.database.layouts = "2-3"
    a, b = world.several(2, DEFINITIONS)
    for i in range(n):
        assert a.acquire(str(i), "a").word == "granted"
    a.acquire("q", ("q", 2), uid=1)
    b.acquire("aside", "q", uid=1)
    a.acquire("p", "p")
    b.acquire("waits", "p")
    assert kinds(world) == [n + 4, 0]
    ok(a.admin("upgrade", "", ""))
    world.database.use(next_scripts())
    return a, b


def in_conversion(world):
    return layout(world)[1] is not None


def test_each_call_converts_some(world):
    a, b = finished(world)
    left = [kinds(world)[0]]
    while in_conversion(world):
        ok(b.renew())
        left.append(kinds(world)[0])
        assert left[-2] - left[-1] <= 30 and len(left) < 8, left
    assert kinds(world) == [0, 74]
    world.data().check()
    assert ok(a.admin("upgrade", "", "")).rest == [""]


def test_the_operators_request_goes_on_until_all_is_converted(world):
    a, _ = finished(world)
    replies = [ok(a.admin("upgrade", "", "convert")).rest[0]]
    while replies[-1]:
        replies.append(ok(a.admin("upgrade", "", replies[-1])).rest[0])
        assert len(replies) < 8
    assert kinds(world) == [0, 74] and not in_conversion(world) and len(replies) > 2


def test_leases_end_and_begin_meanwhile(world):
    a, b = finished(world)
    ok(a.release("3", "p", "q"))
    assert in_conversion(world) and 0 < kinds(world)[0]
    assert b.granted().keys() == {"aside", "waits"}
    assert b.acquire("new", "a").word == "granted"
    for _ in range(8):
        ok(b.renew())
    assert kinds(world) == [0, 72] and not in_conversion(world)
    world.data().check()


def test_a_conversion_may_be_broken_off_anywhere(world):
    """The next call goes on."""
    for after in range(40):
        a, b = finished(world, 20)
        held = world.data().holding()
        try:
            whole = b.renew(before=breaks_off(after)).word == "ok"
        except redis.RedisError:
            whole = False
        for _ in range(8):
            ok(a.renew())
        assert not in_conversion(world) and kinds(world) == [0, 24] and world.data().holding() == held
        world.data().check(was_broken=True)
        if whole:
            assert after > 5
            return
        world.database.client.flushall()
        world = World(world.server, world.clock)
    pytest.fail("it never ended")


@pytest.fixture
def cluster_of_one(servers, clock):
    server = servers("one", port=True, clock=clock, options=("--cluster-enabled", "yes"))
    client = server.client()
    client.execute_command("CLUSTER", "ADDSLOTS", *range(16384))
    until(lambda: client.execute_command("CLUSTER INFO")["cluster_state"] == "ok")
    return server


def test_in_a_cluster(cluster_of_one, clock):
    """Each key has a member that belongs to nobody."""
    world = World(cluster_of_one, clock)
    a, b = world.several(2, {"a": definition()})
    assert a.admin("upgrade", "", "").rest == [""]
    upgraded(world, a)
    assert a.admin("upgrade", "", "").rest == ["older", f"3 1 {b.host}"]
    world.database.client.flushall()
    world = World(cluster_of_one, clock)
    a, b = finished(world)
    for _ in range(8):
        ok(b.renew())
    assert kinds(world) == [0, 74] and not in_conversion(world)


def test_a_key_at_its_default_is_the_same_as_none(world):
    """The next version has a key more, whose default is "red"."""
    a, b = world.several(2, {"a": definition(limit=2)})
    world.database.use(next_scripts())
    world.database.client.hset(world.database.key["db"], "layout", "3")
    red, blue = (definition(limit=2)[:-1] + f',"colour":"{colour}"}}' for colour in ("red", "blue"))
    assert a.define({"a": red})["a"][0] == "same"
    assert a.define({"a": blue})["a"][0] == "differs"
    assert a.define({"a": red}, 1)["a"][0] == "stored"
    assert b.define({"a": definition(limit=2)}, 1)["a"][0] == "same"

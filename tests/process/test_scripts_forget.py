"""`forget` takes a definition out of a database with all that is kept under its name, when nobody
uses it; by the scripts alone, on a real Redis."""

import pytest

from fleet_help import needs_redis
from scripts_help import World, breaks_off, definition, ok, redis
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

DAY = 86400 * 1000
DEFINITIONS = {
    "a": definition(limit=3, cooldown=5000), "b": definition(),
    "p": definition("pool", 0, ("x", "y", "z"), select="lru"),
    "t/*": definition("pool", 0, ("x", "y"), select="lru", user=2, cooldown=5000),
    "t/own": definition("pool", 0, ("x", "y"), select="lru", cooldown=5000),
    "t/deep/*": definition(limit=2),
}


def of_t(number):
    return f"t/{number}", 1, None, "t/*"


@pytest.fixture
def pair(world):
    return world.several(2, DEFINITIONS)


def names_in(world, word):
    """The names in a key's members or fields."""
    raw = world.data().raw[word]
    return {(member if isinstance(raw, dict) else member[0]).split(" ")[0] for member in raw}


def in_force(world):
    return {name for name, text in world.data().raw["changes"].items() if not text.endswith(" {}")}


def news_of(member, since=0):
    return [what for _, what, *_ in member.follow(since)[2]]


def used_once(member, *claims):
    for claim in claims:
        assert member.acquire("77", claim).word == "granted"
        ok(member.release("77"))


KEPT = ("held", "users", "queue", "aside", "rest", "identities", "freed", "definitions")


def test_nothing_of_the_name_is_left(world, pair):
    a, b = pair
    used_once(a, "a", "p", "b")
    for name in ("a", "p", "b"):
        ok(a.admin("pause", name, "", "why"))
    known, _, _ = b.follow()
    for name in ("a", "p"):
        ok(a.forget(name))
        for word in KEPT:
            assert name not in names_in(world, word), word
    assert in_force(world) == {"b"} and "b" in names_in(world, "definitions")
    assert news_of(b, known) == ["c a", "d a", "c p", "d p"]
    assert a.acquire("1", "a").code == "unknown"
    assert b.define({"a": DEFINITIONS["a"]})["a"][0] == "stored"
    assert a.acquire("1", "a").word == "granted"
    world.check()


def test_one_message_reaches_all_hosts(world, pair):
    a, b = pair
    with world.database.client.pubsub() as channel:
        channel.subscribe("{berth}:all")
        assert channel.get_message(timeout=10)["type"] == "subscribe"
        ok(a.forget("b"))
        word, number, _ = channel.get_message(timeout=10)["data"].split(" ")
    assert (word, int(number)) == ("news", b.follow()[0])


def test_what_is_in_use_stays(world, pair):
    a, b = pair

    def refused(name):
        before = world.data().raw
        reply = a.forget(name)
        assert reply.word == "refused"
        now = world.data().raw
        for word in KEPT:
            assert now[word] == before[word], word
        return reply.rest

    assert b.acquire("1", ("a", 2)).word == "granted"
    assert refused("a") == ["in-use", "a 2"]
    assert b.acquire("2", ("a", 2)).word == "waiting"
    assert refused("a") == ["in-use", "a 3"]
    ok(b.release("1", "2"))
    ok(b.admin("pause", "a", "", ""))
    assert b.acquire("3", "a").word == "waiting"
    assert refused("a") == ["in-use", "a 1"]
    assert b.acquire("4", of_t(1)).word == "granted"
    assert refused("t/*") == ["in-use", "t/1 1"]
    big = {"big": definition(limit=2000, cooldown=5000)}
    b.define(big)
    used_once(b, ("big", 1500))
    assert b.acquire("5", ("big", 70)).word == "granted"
    assert refused("big") == ["in-use", "big 70"], "slots by blocks; those at rest are nobody's"
    assert refused("none") == ["unknown", "none"]
    assert refused("t/1") == ["unknown", "t/1"], "its template is what is defined"


def test_a_waiter_at_another_queue_keeps_the_definition_in_use(world, pair):
    a, b = pair
    ok(a.admin("pause", "b", "", ""))
    assert b.acquire("1", "a", "b").word == "waiting"
    assert "a" not in names_in(world, "queue") | names_in(world, "aside"), "it stands aside at b"
    assert a.forget("a").rest == ["in-use", "a 1"]
    ok(b.release("1"))
    ok(a.forget("a"))


def test_a_grace_is_no_time_for_it(world):
    a = world.member(DEFINITIONS)
    assert a.forget("a").rest == ["grace", "a"]
    world.end_grace(a)
    ok(a.forget("a"))


def test_of_a_template_its_instances_go(world, pair):
    """Except instances with their own definitions, and deeper names, which are another template's."""
    a, b = pair
    used_once(a, of_t(1), of_t(2), "t/own", ("t/deep/1", 1, None, "t/deep/*"))
    for name in ("t/1", "t/2", "t/own", "t/deep/1"):
        ok(a.admin("pause", name, "", ""))
    own, deep = b.acquire("1", "t/own"), b.acquire("2", ("t/deep/1", 1, None, "t/deep/*"))
    assert own.word == deep.word == "waiting"
    ok(a.admin("resume", "t/own"))
    before = {word: names_in(world, word) for word in KEPT}
    ok(a.forget("t/*"))
    for word in KEPT:
        assert names_in(world, word) == before[word] - {"t/1", "t/2", "t/*"}, word
    assert {"t/own", "t/deep/1"} <= names_in(world, "rest") | names_in(world, "queue")
    assert in_force(world) == {"t/deep/1"}
    assert a.acquire("3", of_t(1)).code == "unknown"
    ok(b.release("1", "2"))
    ok(a.forget("t/deep/*"))
    world.check()


def test_a_call_does_a_bounded_part(world, pair):
    """Of many instances, changes and waiters."""
    a, b = pair
    world.database.client.zadd(world.database.key["freed"], {"t/own x": 5000})
    for i in range(400):
        world.database.client.zadd(world.database.key["freed"], {f"t/i{i} x": 2 * i, f"t/i{i} y": 2 * i + 1})
        if i % 4 == 0:
            ok(a.admin("pause", f"t/i{i}", "", "why"))
        b.acquire(str(i), "b")
    world.end_grace(a, b)
    n_calls, cursor = 0, ""
    while n_calls == 0 or cursor:
        reply = None

        def call():
            nonlocal reply
            reply = ok(a.admin("forget", "t/*", cursor))

        assert world.n_commands(call) < 500
        cursor, n_calls = reply.rest[0], n_calls + 1
        assert ("t/*" in names_in(world, "definitions")) == (cursor != ""), "it goes last"
    assert 10 < n_calls < 200
    assert names_in(world, "freed") == {"t/own"} and in_force(world) == set()
    ok(b.release(*(str(i) for i in range(100))))


def begin_to_forget(world, member, host):
    """Up to the point where it has removed some of `freed`: more than one call. Returns the next
    cursor."""
    for i in range(900):
        world.database.client.zadd(world.database.key["freed"], {f"t/i{i} x": i})
    for i in (1, 2):
        used_once(host, of_t(i))
    world.pass_time(6000, member, host)
    cursor = ""
    while "t/i0" in names_in(world, "freed"):
        cursor = ok(member.admin("forget", "t/*", cursor)).rest[0]
    assert "t/i899" in names_in(world, "freed")
    return cursor


def test_a_request_meanwhile_loses_nothing(world, pair):
    """Between two calls a host that still has the definition acquires."""
    a, b = pair
    cursor = begin_to_forget(world, a, b)
    assert b.acquire("1", of_t(1)).word == "granted"
    ok(a.admin("pause", "t/1", "", "why"))
    before = world.data().raw
    reply = a.admin("forget", "t/*", cursor)
    assert reply.word == "refused" and reply.rest == ["in-use", "t/1 1"]
    after = world.data().raw
    for word in KEPT + ("changes",):
        assert after[word] == before[word], word
    world.check()
    ok(b.release("1"))
    ok(a.forget("t/*"))
    world.check()


def test_a_unit_used_meanwhile_rests(world, pair):
    """It is nobody's: it ends, and nothing is left."""
    a, b = pair
    cursor = begin_to_forget(world, a, b)
    used_once(b, of_t(1))
    assert "t/1" in names_in(world, "rest")
    while cursor:
        cursor = ok(a.admin("forget", "t/*", cursor)).rest[0]
    for word in KEPT:
        assert not {"t/1", "t/*"} & names_in(world, word), word
    world.check()


def test_an_old_host_brings_no_change_back(world, pair):
    a, b = pair
    ok(a.admin("pause", "a", "", ""))
    old = next(row for row in b.follow()[2] if row[1] == "c a")
    ok(a.forget("a"))
    assert b.send_changes(("a", old[2], old[3]))[1][0][2] == "{}"
    world.tick(30 * DAY + 1)
    world.pass_time(1, a)
    newest, floor, rows = a.follow()
    assert "a" not in world.data().raw["changes"] and floor > old[2]
    assert not {"c a", "d a"} & {what for _, what, *_ in rows}, "nothing is kept for ever"
    assert world.data().raw["undone"] == []
    b.hello({name: text for name, text in DEFINITIONS.items()})
    b.send_changes(("a", old[2], old[3]), floor=0)
    assert in_force(world) == set(), "below the floor it was taken back"


def test_one_that_came_back_stays_in_the_news(world, pair):
    a, b = pair
    ok(a.forget("a"))
    b.define({"a": DEFINITIONS["a"]})
    world.tick(30 * DAY + 1)
    world.pass_time(1, a)
    assert "d a" in news_of(a) and "a" in names_in(world, "definitions")


def what_is_kept(world):
    raw = world.data().raw
    return {word: {member if isinstance(raw[word], dict) else member[0] for member in raw[word]}
            for word in KEPT} | {"changes": in_force(world)}


@pytest.mark.parametrize("name", ["a", "p", "t/*"])
def test_broken_off_anywhere(redis_server, clock, name):
    """It is safe, and done when repeated, as if nothing had happened."""
    whole, after, was_broken = None, None, True
    while was_broken:
        world = World(redis_server, clock, f"b{after}")
        a, b = world.several(2, DEFINITIONS)
        used_once(a, "a", "p", of_t(1), of_t(2), "t/own")
        for one in ("a", "p", "t/1", "t/2", "t/own"):
            ok(a.admin("limit" if one == "a" else "pause", one, "1", ""))
        was_broken = after is None
        try:
            reply = a.forget(name, before=breaks_off(after) if after is not None else None)
        except redis.ResponseError as error:
            assert "broken off" in str(error)
            was_broken = True
            reply = a.forget(name)
            assert reply.word == "ok" or reply.rest == ["unknown", name], "it was done but for the message"
        world.pass_time(6000, a, b)
        world.check()
        whole = whole or what_is_kept(world)
        assert what_is_kept(world) == whole, f"broken off after {after} writes"
        assert name in {what[2:] for what in news_of(b) if what[0] == "d"}
        b.define(DEFINITIONS)
        assert b.acquire("1", of_t(1) if name == "t/*" else name).word == "granted"
        world.check()
        world.database.client.delete(*world.database.keys)
        after = 0 if after is None else after + 1
        assert after < 200
    assert after > 8


def test_what_was_kept_goes_too(world, pair):
    """As a broken-off script has left it."""
    a, b = pair
    order = "00:50000 0000000000000001 0000000000000001/1"
    world.database.client.zadd(world.database.key["kept"], {f"a {order}": 0, f"a u7 {order}": 0, f"b {order}": 0})
    assert ok(a.forget("a"))
    assert [member for member, _ in world.data().raw["kept"]] == [f"b {order}"]

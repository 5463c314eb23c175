"""The Lua scripts on a real Redis: every call and every answer. Time passes only when a test says
so."""

import pytest

from fleet_help import needs_redis, servers  # a fixture among them  # noqa: F401
from scripts_help import Claim, World, breaks_off, claim_words, definition, list_row, ok, redis
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

T = 30000
WALL = "1800000000000"  # at which the clock of these tests stands


def granted(reply, *units):
    assert reply.word == "granted", reply
    if units:
        assert reply.units == units
    return reply


def waits(reply, position):
    assert reply.position == position
    return reply


def refused(reply, code, name=None):
    assert reply.code == code, reply
    if name:
        assert reply.rest[1] == name


# ---- begin, and who may call at all


def test_a_new_database_is_in_grace_for_a_ttl_and_the_lag(world):
    a = world.member(hello=False)
    reply = ok(a.begin())
    assert reply.grace == T + 11000
    assert (a.incarnation, a.stored_ttl, a.is_new) == (1, T, True)
    a.define({"a": definition()})
    a.end()
    waits(a.acquire("1", "a"), 1)
    refused(a.acquire("2", "a", nowait=True), "grace")
    world.pass_time(T + 10000, a)
    assert a.granted() == {}
    world.pass_time(1000, a)
    assert list(a.granted()) == ["1"]


def test_a_hello_says_how_many_there_are(world):
    a, b, _ = world.several(3, {"a": definition()})
    for member in (a, b):
        assert ok(member.begin()).rest[-1] == 3
        member.end()
    d = world.member(hello=False)
    assert ok(d.begin()).rest[-1] == 4


def test_each_begin_is_the_next_incarnation(world):
    a, = world.several(1, {"a": definition()})
    granted(a.acquire("1", "a"))
    old = a.incarnation
    ok(a.begin())
    assert a.incarnation == old + 1 and not a.is_new
    a.incarnation = old
    for reply in (a.renew(), a.release("1"), a.acquire("2", "a"), a.call("snapshot", ""),
                  a.admin("pause", "a", "", ""), a.call("hello", "end", "")):
        assert reply.word == "stale"
    assert world.data().holding() == {a.key("1")}


def test_an_unknown_session_must_send_hello(world):
    a, b = world.several(2, {"a": definition()})
    granted(a.acquire("1", "a"))
    waits(b.acquire("1", "a"), 1)
    world.pass_time(T + 1000, b)
    assert list(b.granted()) == ["1"]
    for reply in (a.renew(), a.release("1"), a.acquire("2", "a")):
        assert reply.word == "hello"
    assert world.data().holding() == {b.key("1")}
    old = a.incarnation
    ok(a.begin())
    assert a.is_new and a.incarnation > old
    assert a.lists(list_row("1", "held", [Claim("a", 1, 1, ("0",))])) == {"1": ("lost", 0, [])}


def test_another_layout_is_not_touched(world):
    a, = world.several(1, {"a": definition()})
    world.database.client.hset(world.database.key["db"], "layout", "3")
    world.database.was_edited()
    before = world.database.data()
    for reply in (a.renew(), a.begin(), a.acquire("1", "a"), a.release("1"), a.admin("pause", "a", "", "")):
        assert (reply.word, reply.rest) == ("layout", ["3"])
    after = world.database.data()
    assert before == after


def test_the_ttl_is_the_databases_while_others_live(world):
    a = world.member({"a": definition()})
    b = world.member(hello=False, ttl=60000)
    world.end_grace(a)
    ok(b.begin())
    assert b.stored_ttl == T
    b.stored_ttl = 60000
    world.pass_time(T + 1000, b)  # a is gone after it
    ok(b.begin())
    assert b.stored_ttl == 60000
    ok(a.begin())
    assert a.stored_ttl == 60000


@pytest.mark.parametrize("knows", ["file", "agreed"])
def test_in_a_grace_the_longest_ttl_wins(world, knows):
    """Somebody may have leases that are good for this long."""
    a = world.member({"a": definition()})
    b = world.member(hello=False, ttl=60000 if knows == "file" else 6000)
    b.stored_ttl = 60000
    reply = ok(b.begin())
    assert b.stored_ttl == 60000
    assert reply.grace == 60000 + 11000
    assert ok(a.renew()).grace == 60000 + 11000


# ---- definitions


def test_definitions(world):
    a, b = world.member(), world.member()
    two, three = definition(limit=2), definition(limit=3)
    other = definition(limit=2, cooldown=5)
    assert a.define({"a": two})["a"] == ("stored", two)
    assert b.define({"a": two})["a"] == ("same", two)
    assert b.define({"a": three})["a"] == ("limit", two)
    assert b.define({"a": other})["a"] == ("differs", two)
    assert b.define({"a": other}, generation=1)["a"] == ("stored", other)
    assert a.define({"a": two})["a"] == ("newer", other)


def test_the_smaller_limit_holds(world):
    a, b = world.several(2, {"a": definition(limit=3)})
    granted(a.acquire("1", ("a", 1, 2)), "0")
    granted(a.acquire("2", ("a", 1, 2)), "1")
    refused(a.acquire("3", ("a", 1, 2), nowait=True), "would-wait")
    granted(b.acquire("1", ("a", 1, 5)), "2")
    refused(b.acquire("2", ("a", 1, 5), nowait=True), "would-wait")


def test_an_exact_definition_governs_for_all(world):
    """Also for a daemon whose file has only the template, and its limit."""
    a, b = world.member(), world.member()
    b.define({"t/*": definition(limit=5), "p/*": definition("pool", 0, ("x", "y"))})
    a.define({"t/1": definition(limit=1), "t/2": definition(limit=9), "p/1": definition(limit=1)})
    world.end_grace(a, b)
    granted(b.acquire("1", ("t/1", 1, 5, "t/*")), "0")
    refused(b.acquire("2", ("t/1", 1, 5, "t/*"), nowait=True), "would-wait")
    refused(b.acquire("2", ("t/1", 2, 5, "t/*")), "impossible", "t/1")
    granted(b.acquire("3", ("t/2", 7, 5, "t/*")))
    refused(b.acquire("4", ("p/1", 1, 2, "p/*")), "differs", "p/1")
    granted(b.acquire("5", ("p/2", 1, 2, "p/*")), "x")
    granted(a.acquire("1", "p/1"), "0")
    assert a.define({"p/2": definition()})["p/2"] == ("differs", definition("pool", 0, ("x", "y")))
    ok(b.release("5"))
    assert a.define({"p/2": definition()})["p/2"][0] == "stored"
    world.check()


def test_when_an_item_was_used_is_forgotten_in_time(world):
    rests = definition("pool", 0, ("x", "y"), select="lru", cooldown=1000)
    a, = world.several(1, {"t/*": rests, "p": definition("pool", 0, ("x", "y"), select="lru")})
    granted(a.acquire("1", ("t/1", 1, 2, "t/*")), "x")
    ok(a.release("1"))
    world.pass_time(2000, a)
    world.must_be_empty()
    key = world.database.key["freed"]
    world.database.client.zadd(key, {f"old {i}": -1 for i in range(20000)})
    granted(a.acquire("2", "p"), "x")
    ok(a.release("2"))
    assert world.database.client.zcard(key) <= 20000
    granted(a.acquire("3", "p"), "y")


# ---- acquire, release


def n_freed(world, *members):
    """How many items' last use is remembered, some calls later."""
    for one in members * 3:
        ok(one.renew())
    return len(world.data().raw["freed"])


def pool(items, **options):
    return definition("pool", 0, items, select="lru", **options)


def test_when_an_item_was_used_is_forgotten_with_the_item(world):
    a, = world.several(1, {"p": pool("xyz"), "t/*": pool("xyz")})
    for name, of in (("p", "p"), ("t/1", "t/*")):
        granted(a.acquire(name, (name, 3, None, None, of)))
    ok(a.release("p"))
    assert n_freed(world, a) == 3
    ok(a.admin("remove", "p", "x"))
    assert n_freed(world, a) == 2
    granted(a.acquire("1", "p"))
    ok(a.admin("remove", "p", "y"))
    ok(a.release("1"))  # it was in use as it was removed
    assert n_freed(world, a) == 1
    ok(a.admin("reset", "p"))
    a.define({"p": pool("xy")}, generation=1)
    assert n_freed(world, a) == 2  # since when these two are back
    a.define({"t/*": pool("y")}, generation=1)
    ok(a.release("t/1"))
    assert n_freed(world, a) == 2


def test_all_that_was_removed_is_forgotten_in_parts(world):
    items = [f"i{i:03}" for i in range(200)]
    a, = world.several(1, {"p": pool(items)})
    granted(a.acquire("1", ("p", 200)))
    ok(a.release("1"))
    a.define({"p": pool(items[:100])}, generation=1)
    assert len(world.data().raw["freed"]) >= 100
    for _ in range(5):
        n_freed(world, a)
    assert {member for member, _ in world.data().raw["freed"]} == {f"p {item}" for item in items[:100]}
    assert "sweep" not in world.data().raw["db"]


def test_slots_are_the_lowest(world):
    a, b = world.several(2, {"a": definition(limit=3)})
    granted(a.acquire("1", "a"), "0")
    granted(b.acquire("1", ("a", 2)), "1", "2")
    ok(a.release("1"))
    granted(b.acquire("2", "a"), "0")
    world.check()
    ok(b.release("1", "2", "never-was"))
    world.must_be_empty()


def test_asked_again_it_is_the_same_answer(world):
    a, = world.several(1, {"a": definition(limit=2), "b": definition()})
    first = granted(a.acquire("1", "a", "b"))
    again = granted(a.acquire("1", "a", "b"))
    assert first.rest == again.rest
    waiting = waits(a.acquire("2", "b"), 1)
    assert waits(a.acquire("2", "b"), 1).rest == waiting.rest
    ok(a.release("1"))
    ok(a.release("1"))
    assert granted(a.acquire("2", "b")).ticket == waiting.ticket
    assert world.data().holding() == {a.key("2")}
    ok(a.release("2"))
    world.must_be_empty()


def test_order_over_hosts_and_priority(world):
    a, b, c = world.several(3, {"a": definition()})
    granted(a.acquire("1", "a"))
    waits(b.acquire("1", "a"), 1)
    waits(c.acquire("1", "a"), 2)
    waits(a.acquire("2", "a", priority=5), 1)
    waits(b.acquire("2", "a", priority=-5), 4)
    waits(c.acquire("2", "a", priority=5), 2)
    order, holder = [], (a, "1")
    for _ in range(5):
        ok(holder[0].release(holder[1]))
        news = [(member, lease) for member in (a, b, c) for lease in member.granted()]
        holder, = news
        order.append((holder[0].session[-1] + holder[1]))
        world.check()
    assert order == ["12", "32", "21", "31", "22"]


def test_nobody_overtakes(world):
    a, b = world.several(2, {"a": definition(limit=3)})
    granted(a.acquire("1", ("a", 2)))
    waits(b.acquire("1", ("a", 2)), 1)
    waits(a.acquire("2", "a"), 2)
    refused(a.acquire("3", "a", nowait=True), "would-wait")
    ok(a.release("1"))
    assert set(b.granted()) == {"1"} and set(a.granted()) == {"2"}
    world.check()


def test_a_ticket_that_is_kept(world):
    """A place that a waiter had elsewhere."""
    a, b = world.several(2, {"a": definition()})
    granted(a.acquire("1", "a"))
    old = waits(a.acquire("2", "a"), 1).ticket
    waits(b.acquire("1", "a"), 2)
    ok(a.release("2"))
    assert waits(a.acquire("3", "a", ticket=old), 1).ticket == old


def test_several_resources_all_or_nothing(world):
    a, b, c = world.several(3, {"a": definition(), "b": definition()})
    granted(a.acquire("1", "a"))
    waits(b.acquire("1", "b", "a"), 1)
    granted(c.acquire("1", "b"))  # b is free: nobody waits for that
    waits(a.acquire("2", "b", "a"), 2)
    ok(a.release("1"))
    assert not b.granted() and not a.granted()
    ok(c.release("1"))
    claims = b.granted()["1"]
    assert [claim.name for claim in claims] == ["b", "a"]
    assert not a.granted()
    world.check()
    ok(b.release("1"))
    assert set(a.granted()) == {"2"}
    ok(a.release("2"))
    world.must_be_empty()


def test_tokens_and_tickets_grow(world):
    a, = world.several(1, {"a": definition(limit=4)})
    replies = [granted(a.acquire(str(i), "a")) for i in range(4)]
    tokens = [reply.claims[0].token for reply in replies]
    tickets = [reply.ticket for reply in replies]
    assert tokens == sorted(set(tokens)) and tickets == sorted(set(tickets))
    ok(a.begin(token=tokens[-1] + 1000, ticket=tickets[-1] + 1000))
    a.lists(*(list_row(str(i), "held", reply.claims) for i, reply in enumerate(replies)))
    a.end()
    ok(a.release("0"))
    reply = granted(a.acquire("9", "a"))
    assert reply.claims[0].token > tokens[-1] + 1000 and reply.ticket > tickets[-1] + 1000


@pytest.mark.parametrize("big", [2**52 - 10**6])
def test_numbers_are_exact(world, big):
    a, = world.several(1, {"a": definition(limit=4)})
    ok(a.begin(token=big, ticket=big))
    a.end()
    seen = [granted(a.acquire(str(i), "a")) for i in range(3)]
    tokens = [reply.claims[0].token for reply in seen]
    assert all(token > big for token in tokens) and len(set(tokens)) == 3
    data = world.check()
    assert {lease["claims"][0].token for lease in data.leases.values()} == set(tokens)


# ---- refusals


def test_what_can_never_be(world):
    a, = world.several(1, {"a": definition(limit=2), "q": definition(limit=4, user=2), "p":
                           definition("pool", 0, ("x", "y"))})
    refused(a.acquire("1", ("a", 3)), "impossible", "a")
    refused(a.acquire("1", "a", ("q", 3)), "impossible", "q")
    refused(a.acquire("1", ("p", 3)), "impossible", "p")
    refused(a.acquire("1", "nowhere"), "unknown", "nowhere")
    granted(a.acquire("2", ("a", 2)))
    refused(a.acquire("3", "a", above="2"), "ancestor", "a")
    ok(a.release("2"))
    world.must_be_empty()


def test_the_queue_is_full(world):
    a, b = world.several(2, {"a": definition(max_waiters=2)})
    granted(a.acquire("1", "a"))
    waits(a.acquire("2", "a"), 1)
    waits(b.acquire("1", "a"), 2)
    refused(b.acquire("2", "a"), "queue-full", "a")
    ok(a.release("2"))
    waits(b.acquire("3", "a"), 2)


def test_closed(world):
    a, = world.several(1, {"a": definition(limit=0)})
    refused(a.acquire("1", "a", nowait=True), "closed", "a")
    waits(a.acquire("2", "a"), 1)
    ok(a.admin("limit", "a", "1"))
    assert set(a.granted()) == {"2"}


# ---- identities


def test_one_identity_holds_once(world):
    a, b = world.several(2, {"a": definition(limit=5), "s": definition(limit=5, shared=True)})
    granted(a.acquire("1", "a", holder="x"))
    refused(b.acquire("1", "a", holder="x"), "held", "a")
    granted(b.acquire("2", "a", holder="x", uid=7))  # another's
    granted(b.acquire("3", "a", holder="y"))
    granted(a.acquire("4", "s", holder="x", shared="*"))
    refused(b.acquire("4", "s", holder="x", uid=7, shared="*"), "held", "s")
    ok(a.release("1"))
    granted(b.acquire("5", "a", holder="x"))
    for member in (a, b):
        ok(member.release(*"12345"))
    world.must_be_empty()


@pytest.mark.parametrize("was_shared", [False, True])
def test_an_identity_survives_a_change_of_its_scope(world, was_shared):
    a, b = world.several(2, {"a": definition(limit=5, shared=was_shared)})
    granted(a.acquire("1", "a", holder="x", shared="*" if was_shared else None))
    b.define({"a": definition(limit=5, shared=not was_shared)}, generation=1)
    refused(b.acquire("1", "a", holder="x"), "held", "a")
    other = b.acquire("2", "a", holder="x", uid=7)
    if was_shared:
        granted(other)
    else:
        refused(other, "held", "a")
    ok(a.release("1"))
    granted(b.acquire("3", "a", holder="x"))
    ok(b.release("2", "3"))
    world.must_be_empty()


def test_a_waiter_has_its_identity_too(world):
    a, b = world.several(2, {"a": definition()})
    granted(a.acquire("1", "a"))
    waits(a.acquire("2", "a", holder="x"), 1)
    refused(b.acquire("1", "a", holder="x"), "held")
    ok(a.release("2"))
    waits(b.acquire("1", "a", holder="x"), 1)
    ok(a.release("1"))
    ok(b.release("1"))
    world.must_be_empty()


def test_a_holder_keeps_its_identity_when_the_data_are_lost(world):
    """It is listed late in the grace; a waiter on another host has taken its identity meanwhile."""
    files = {"a": definition(limit=2)}
    a, b = world.several(2, files)
    held = a.acquire("1", "a", holder="x")
    world.database.client.flushall()
    b.hello(files)
    waits(b.acquire("1", "a", holder="x"), 1)
    waits(b.acquire("2", "a", holder="y"), 2)
    assert a.lists_one(files, "1", "held", held.claims, holder="x") == "held"
    assert b.new_events() == ["lost 1"]
    world.end_grace(a, b)
    refused(b.acquire("1", "a", holder="x"), "held", "a")
    assert set(b.granted()) == {"2"}
    ok(a.release("1"))
    ok(b.release("2"))
    world.must_be_empty()


def test_the_later_holder_keeps_an_identity(world):
    """Older data gave it to a second lease before anybody noticed."""
    files = {"a": definition(limit=2)}
    a, b = world.several(2, files)
    first = a.acquire("1", "a", holder="x")
    ok(a.release("1"))
    second = b.acquire("1", "a", holder="x")
    world.database.client.flushall()
    a.hello(files, [list_row("1", "held", first.claims, holder="x")])
    assert b.lists_one(files, "1", "held", second.claims, holder="x") == "held"
    assert a.new_events() == ["lost 1"]
    assert a.lists_one(files, "1", "held", first.claims, holder="x") == "lost"
    assert world.data().holding() == {b.key("1")}
    world.check()


def test_the_earlier_waiter_keeps_an_identity(world):
    files = {"a": definition()}
    a, b = world.several(2, files)
    held = a.acquire("1", "a")
    first = a.acquire("2", "a", holder="x")
    world.tick(1)  # what is asked for later gets a larger ticket
    world.database.client.flushall()
    b.hello(files)
    later = b.acquire("1", "a", holder="x")
    waits(later, 1)
    listed = [list_row("1", "held", held.claims),
              list_row("2", "waiting", [Claim("a", 1, 0, ())], ticket=first.ticket, holder="x")]
    assert a.hello(files, listed)["2"][0] == "waiting"
    assert b.new_events() == ["lost 1"]
    again = [list_row("1", "waiting", [Claim("a", 1, 0, ())], ticket=later.ticket, holder="x")]
    assert b.hello(files, again)["1"][0] == "lost"
    world.end_grace(a, b)
    ok(a.release("1", "2"))
    world.must_be_empty()


def test_an_identity_lets_go(world):
    a, b = world.several(2, {"a": definition(limit=2)})
    granted(a.acquire("1", "a", holder="x"))
    refused(b.admin("release", "a", "1000", "", "y"), "not-holder")
    ok(b.admin("release", "a", "1000", "", "x"))
    assert a.new_events() == ["release 1 |"]
    ok(a.release("1"))
    ok(b.admin("release", "a", "1000", "", "x"))


# ---- quotas


def test_units_of_a_user(world):
    a, b = world.several(2, {"a": definition(limit=4, user=2)})
    granted(a.acquire("1", "a", uid=1))
    granted(b.acquire("1", "a", uid=1))
    refused(a.acquire("2", "a", uid=1, nowait=True), "quota")
    assert a.acquire("3", "a", uid=1).word == "waiting"
    granted(b.acquire("2", ("a", 2), uid=2))  # not held up by it
    assert b.acquire("3", ("a", 2), uid=1).word == "waiting"
    world.check()
    ok(b.release("1"))
    assert set(a.granted()) == {"3"}
    world.check()
    ok(a.release("1", "3"))
    assert set(b.granted()) == {"3"}
    ok(b.release("2", "3"))
    world.must_be_empty()


# ---- pools


def test_items(world):
    a, b = world.several(2, {"p": definition("pool", 0, ("x", "y", "z"))})
    granted(a.acquire("1", ("p", 2)), "x", "y")
    granted(b.acquire("1", "p"), "z")
    waits(a.acquire("2", "p"), 1)
    ok(b.release("1"))
    assert a.granted()["2"][0].units == ("z",)
    world.check()
    ok(a.release("1", "2"))
    world.must_be_empty()


def test_the_least_recently_used(world):
    a, = world.several(1, {"p": definition("pool", 0, ("x", "y", "z"), select="lru")})
    granted(a.acquire("1", "p"), "x")
    ok(a.release("1"))
    granted(a.acquire("2", "p"), "y")
    granted(a.acquire("3", "p"), "z")
    granted(a.acquire("4", "p"), "x")
    ok(a.release("3"))
    ok(a.release("2"))
    granted(a.acquire("5", ("p", 2)), "z", "y")


def test_at_random_each_comes_once(world):
    a, = world.several(1, {"p": definition("pool", 0, tuple("abcdefgh"), select="random")})
    seen = set()
    for i in range(8):
        seen.update(granted(a.acquire(str(i), "p")).units)
        world.tick(7)
    assert seen == set("abcdefgh")


# ---- cooldown


def test_a_unit_rests(world):
    a, b = world.several(2, {"a": definition(cooldown=3000), "p": definition("pool", 0, ("x", "y"), cooldown=500)})
    granted(a.acquire("1", "a"))
    granted(a.acquire("2", "p"), "x")
    waits(b.acquire("1", "a"), 1)
    ok(a.release("1", "2"))
    granted(a.acquire("3", "p"), "y")
    assert ok(b.renew()).due in (500, 501)
    world.check()
    world.tick(2999)
    assert not b.granted()
    world.tick(1)
    ok(a.renew())
    assert set(b.granted()) == {"1"}
    granted(a.acquire("4", "p"), "x")
    ok(b.release("1"))
    ok(a.release("3", "4"))
    world.tick(5000)
    ok(a.renew())
    world.must_be_empty()


@pytest.mark.parametrize("after", [None, 0, 3, 6, 9])
def test_units_freed_by_time_go_to_waiters_first(world, after):
    a, b = world.several(2, {"a": definition(limit=2, cooldown=3000)})
    granted(a.acquire("1", ("a", 2)))
    waits(b.acquire("1", "a"), 1)
    ok(a.release("1"))
    world.tick(3000)
    if after is not None:
        with pytest.raises(redis.ResponseError, match="broken off"):
            a.acquire("2", "a", nowait=True, before=breaks_off(after))
    granted(a.acquire("2", "a", nowait=True), "1")
    assert b.granted()["1"][0].units == ("0",)
    refused(a.acquire("3", "a", nowait=True), "would-wait")


# ---- operators


def test_pause(world):
    a, b = world.several(2, {"a": definition(limit=2), "b": definition(limit=2)})
    granted(a.acquire("1", "a"))
    ok(b.admin("pause", "a", "", "why"))
    refused(a.acquire("2", "a", nowait=True), "paused", "a")
    waits(a.acquire("3", "a"), 1)
    assert b.acquire("3", "a", "b").word == "waiting"
    granted(b.acquire("4", ("b", 2)))  # not held up by the waiter for both
    world.check()
    ok(a.release("1"))
    assert not a.granted()
    ok(b.release("4"))
    ok(b.admin("resume", "a"))
    assert set(a.granted()) == {"3"}
    assert set(b.granted()) == {"3"}
    world.check()


def test_limits(world):
    a, b = world.several(2, {"a": definition(limit=2), "p": definition("pool", 0, "x"), "l": definition("lock")})
    granted(a.acquire("1", ("a", 2)))
    waits(b.acquire("1", "a"), 1)
    ok(b.admin("limit", "a", "3"))
    assert b.granted()["1"][0].units == ("2",)
    ok(b.admin("limit", "a", "1"))
    data = world.check()
    assert data.in_use("a") == 3
    waits(b.acquire("2", "a"), 1)
    ok(a.release("1"))
    assert not b.granted()
    ok(b.release("1"))
    assert b.granted()["2"][0].units == ("0",)
    refused(b.admin("limit", "p", "3"), "kind")
    refused(b.admin("limit", "l", "2"), "kind")
    refused(b.admin("limit", "nowhere", "2"), "unknown")
    ok(b.admin("reset", "a"))
    granted(b.acquire("3", "a"), "1")


def test_reserved_units(world):
    a, b = world.several(2, {"a": definition(limit=3), "p": definition("pool", 0, ("x", "y"))})
    ok(a.admin("reserve", "a", "1", "for tests"))
    granted(a.acquire("1", ("a", 2)), "0", "2")
    refused(a.acquire("2", "a", nowait=True), "would-wait")
    waits(b.acquire("2", "a"), 1)
    assert ok(a.admin("add", "a", "1")).rest == ["", "reserved"]
    assert b.granted()["2"][0].units == ("1",)
    ok(a.admin("reserve", "p", "x", ""))
    granted(a.acquire("3", "p"), "y")
    refused(a.admin("reserve", "p", "z", ""), "unknown")
    refused(a.admin("reserve", "a", "3", ""), "unknown")
    rows = {row[1]: row for row in a.snapshot() if row[0] == "resource"}
    assert (rows["p"][4], rows["p"][5]) == ("1", "0")
    assert rows["p"][13] == "x,"


def test_items_come_and_go(world):
    a, b = world.several(2, {"p": definition("pool", 0, ("x", "y")), "a": definition()})
    granted(a.acquire("1", ("p", 2)))
    waits(b.acquire("1", "p"), 1)
    for was in ("absent", "present"):
        assert ok(a.admin("add", "p", "z")).rest == ["", was]
    assert b.granted()["1"][0].units == ("z",)
    ok(a.admin("remove", "p", "x"))
    waits(b.acquire("2", "p"), 1)
    ok(a.release("1"))
    assert b.granted()["2"][0].units == ("y",)
    refused(a.acquire("3", "p", nowait=True), "would-wait")
    refused(a.admin("remove", "p", "x"), "unknown")
    refused(a.admin("add", "a", "7"), "kind")
    refused(a.admin("remove", "a", "0"), "kind")
    ok(a.admin("reset", "p"))
    granted(a.acquire("3", "p"), "x")  # z is held, though no longer in service: that costs no other item
    waits(a.acquire("4", "p"), 1)
    ok(b.release("1"))
    assert "4" not in a.granted()
    world.check()


def test_a_removed_held_item_costs_itself_alone(world):
    a, = world.several(1, {"p": definition("pool", 0, ("w", "x", "y", "z"))})
    granted(a.acquire("1", "p"), "w")
    ok(a.admin("remove", "p", "w"))
    rows = {row[1]: row for row in a.snapshot() if row[0] == "resource"}
    assert rows["p"][3:6] == ["3", "1", "3"]
    granted(a.acquire("2", ("p", 3)), "x", "y", "z")
    waits(a.acquire("3", "p"), 1)
    assert ok(a.admin("add", "p", "w")).rest == ["", "draining"]  # it has its holder
    assert "3" not in a.granted()
    ok(a.release("1"))
    assert a.granted()["3"][0].units == ("w",)
    world.check()


def test_an_item_of_an_older_file_costs_itself_alone(world):
    a, = world.several(1, {"p": definition("pool", 0, ("x", "y"))})
    granted(a.acquire("1", "p"), "x")
    a.define({"p": definition("pool", 0, ("y", "z"))}, generation=1)
    granted(a.acquire("2", ("p", 2)), "y", "z")
    waits(a.acquire("3", "p"), 1)
    ok(a.release("1"))
    assert "3" not in a.granted()
    world.check()


def test_revoke_and_drop_reach_the_lease_s_daemon(world):
    a, b = world.several(2, {"a": definition()})
    granted(a.acquire("1", "a"))
    ok(b.admin("revoke", a.key("1")))
    ok(b.admin("drop", a.key("1")))
    assert a.new_events() == ["revoke 1 |", "drop 1 |"]
    refused(b.admin("revoke", a.key("2")), "unknown")


# ---- renew and events


def test_events_come_until_they_are_acknowledged(world):
    a, b = world.several(2, {"a": definition(limit=300)})
    granted(a.acquire("all", ("a", 300)))
    for i in range(250):
        b.acquire(str(i), "a")
    ok(a.release("all"))
    first = ok(b.call("renew", b.acknowledged))
    again = ok(b.call("renew", b.acknowledged))
    assert first.rest == again.rest and first.rest[0] & 1
    grants = []
    while len(grants) < 250:
        before = len(b.events)
        reply = ok(b.renew())
        assert len(b.events) - before <= 100
        grants += [event.split(" ")[1] for event in b.events[before:] if event.startswith("granted")]
    assert grants == [str(i) for i in range(250)]
    ok(b.renew())
    assert not world.database.data()["events"]
    assert reply.rest[0] in (2, 3)


def test_events_are_published_once_and_only_to_their_session(world):
    a, b = world.several(2, {"a": definition()})
    granted(a.acquire("1", "a"))
    b.acquire("1", "a")
    with world.server.client().pubsub() as listener:
        listener.psubscribe("*")
        assert listener.get_message(timeout=5)["type"] == "psubscribe"
        ok(a.release("1"))
        message = listener.get_message(timeout=5)
        assert message["channel"] == f"{{berth}}:s:{b.session}"
        number, text = message["data"].split(" ", 1)
        assert len(number) == 12 and text.startswith("granted 1 ")
        assert listener.get_message(timeout=0) is None
        assert text in b.new_events()


# ---- time


def test_due_says_when_a_host_must_call(world):
    a, b, c = world.several(3, {"a": definition()})
    granted(a.acquire("1", "a"))
    assert ok(a.renew()).due == -1  # nobody waits
    reply = waits(b.acquire("1", "a"), 1)
    assert 0 < reply.due <= T + 1
    world.pass_time(10000, b, c)
    assert 0 < ok(b.renew()).due <= T - 10000 + 1
    world.pass_time(20001, b)
    assert set(b.granted()) == {"1"}


def test_a_dead_host_is_forgotten(world):
    a, b = world.several(2, {"a": definition(limit=3), "t/*": definition(), "q": definition(limit=3, user=2)})
    for i in range(3):
        granted(a.acquire(str(i), "a", "q", holder=f"h{i}", uid=i))
    granted(a.acquire("t", ("t/x", 1, None, "t/*")))
    for i in range(10, 14):
        a.acquire(str(i), "a", holder=f"h{i}")
    world.pass_time(T + 1000, b)
    ok(b.renew())
    world.must_be_empty()
    left = {name.split(":")[-1] for name in world.database.data()["session"]}
    assert left == {b.session, b.host}


@pytest.mark.parametrize("step", [3, -3, 26, -26, 120, -120, 3600, -3600])
def test_a_step_of_the_clock_expires_nobody(world, clock, step):
    a, b = world.several(2, {"a": definition()})
    granted(a.acquire("1", "a"))
    waits(b.acquire("1", "a"), 1)
    for _ in range(2):  # renewals each T/6, as daemons do
        world.tick(T // 6)
        ok(a.renew())
        ok(b.renew())
    clock.step(step)
    ok(b.renew())
    assert not b.granted()
    for _ in range(6):
        world.tick(T // 6)
        ok(a.renew())
        ok(b.renew())
    assert not b.granted()
    world.pass_time(T + 1000, b)  # and afterwards it still works
    assert set(b.granted()) == {"1"}


@pytest.mark.parametrize("steps", [[26] * 12, [3, -3] * 6, [-3, -3, 26] * 4, [2] * 12])
def test_steps_of_the_clock_do_not_add_up(world, clock, steps):
    """In a ttl after `a` was cut off, with as many steps as calls."""
    a, b, c = world.several(3, {"a": definition()})
    granted(a.acquire("1", "a"))
    waits(b.acquire("1", "a"), 1)
    ends_at = world.now + T
    for step in steps:
        for one in b, c:
            clock.step(step)
            ok(one.renew())
        world.tick(T // 13)
    slack = 7 * T // 1000 + 250
    world.tick(ends_at - slack - 1 - world.now)
    clock.step(26)
    for one in b, c, b, c:
        clock.step(26)
        assert not one.granted()
    for _ in range(5):
        world.tick(slack)
        ok(b.renew())
    assert set(b.granted()) == {"1"}


def test_a_new_session_moves_the_clock_by_little(world, clock):
    """Nothing says how much time its daemon has seen pass."""
    a, = world.several(1, {"a": definition()})
    before = world.database.clock()
    clock.step(26)
    world.member()
    assert world.database.clock() - before == 7 * T // 1000 + 250
    ok(a.renew())
    assert world.database.clock() - before == 7 * T // 1000 + 250


def test_late_calls_allow_no_more_later(world, clock):
    a, = world.several(1, {"a": definition()})
    database, slack = world.database, 7 * T // 1000 + 250
    before, there = database.clock(), database.boottime
    for _ in range(3):
        database.boottime = lambda: there() - T // 12
        ok(a.renew())
        database.boottime = there
        clock.step(26)
        ok(a.renew())
    assert database.clock() - before == slack


def test_a_clock_that_stood_still(world):
    """A machine was paused, and its clock with it."""
    a, b = world.several(2, {"a": definition()})
    before, there = world.database.clock(), world.database.boottime
    world.database.boottime = lambda: there() - T // 2
    for _ in range(10):
        world.tick(1000)
        ok(a.renew())
    assert world.database.clock() - before > 10000 - T // 6 - 1000


def test_an_acquire_whose_answer_was_lost(world):
    """Its daemon lists it as `asked`: its result stays; a request that never came is not made here,
    as it may have to be refused."""
    a, b = world.several(2, {"a": definition(), "b": definition()})
    granted(b.acquire("1", "a"))
    ticket = waits(a.acquire("1", "a"), 1).ticket
    units = granted(a.acquire("2", "b"))
    waits(b.acquire("2", "a"), 2)
    asked = [list_row(lease, "asked", [Claim(name, 1, 0, ())]) for lease, name in (("1", "a"), ("2", "b"), ("3", "a"))]
    assert a.hello(None, asked) == {
        "1": ("waiting", ticket, 1), "2": ("held", units.ticket, units.claims), "3": ("lost", 0, [])}
    data = world.check()
    assert data.queued["a"] == [a.key("1"), b.key("2")]
    assert a.key("2") in data.holding()
    world.database.client.flushall()
    assert a.hello({"a": definition(), "b": definition()}, asked[:2]) == {"1": ("lost", 0, []), "2": ("lost", 0, [])}
    assert not world.check().leases


def test_an_acquire_whose_answer_was_lost_before_a_grace(world, directory):
    """The old data have granted it units that others may have by now: it waits, in its old place."""
    a, = world.several(1, {"a": definition()})
    ticket = granted(a.acquire("1", "a")).ticket
    later = waits(a.acquire("2", "a"), 1).ticket
    world.server.save(directory / "old.rdb")
    world.server.restart(directory / "old.rdb")
    listed = a.hello(None, [list_row(lease, "asked", [Claim("a", 1, 0, ())]) for lease in "12"])
    assert listed == {"1": ("waiting", ticket, 1), "2": ("waiting", later, 2)}
    world.end_grace(a)
    assert world.check().holding() == {a.key("1")}


# ---- grace: Redis forgets


def test_nothing_is_granted_until_all_are_back(world):
    a, b = world.several(2, {"a": definition(limit=2)})
    first = granted(a.acquire("1", "a"))
    second = granted(b.acquire("1", "a"))
    third = waits(a.acquire("2", "a"), 1).ticket
    world.database.client.flushall()
    for reply in (a.renew(), b.acquire("3", "a"), b.release("1")):
        assert reply.word == "hello"
    listed = b.hello({"a": definition(limit=2)}, [list_row("1", "held", second.claims, ticket=second.ticket)])
    assert listed["1"] == ("held", second.ticket, second.claims)
    assert b.acquire("9", "a").word == "waiting"
    listed = a.hello({"a": definition(limit=2)}, [
        list_row("1", "held", first.claims, ticket=first.ticket),
        list_row("2", "waiting", [Claim("a", 1, 0, ())], ticket=third)])
    assert listed["1"] == ("held", first.ticket, first.claims)
    assert listed["2"] == ("waiting", third, 1)
    world.end_grace(a, b)
    data = world.check()
    assert data.holding() == {a.key("1"), b.key("1")}
    assert data.queued["a"] == [a.key("2"), b.key("9")]
    ok(b.release("1"))
    assert set(a.granted()) == {"2"}


@pytest.mark.parametrize("how", ["restart", "snapshot"])
def test_old_data_come_back(world, directory, how):
    """What was released since is there again, what was granted since is not: the holders' lists put
    it right, and the larger token wins."""
    a, b = world.several(2, {"a": definition(limit=3)})
    old = granted(a.acquire("1", ("a", 2)), "0", "1")
    kept = granted(b.acquire("0", "a"), "2")
    world.server.save(directory / "old.rdb")
    ok(a.release("1"))
    new = granted(b.acquire("1", "a"), "0")
    world.server.restart(directory / "old.rdb")
    client, db = world.database.client, world.database.key["db"]
    if how == "snapshot":  # of the server's machine: it is the same as before
        client.hset(db, "replid", client.info("replication")["master_replid"])
    assert a.renew().word == "hello"
    assert b.renew().word == "hello"
    listed = b.hello(None, [list_row("0", "held", kept.claims, ticket=kept.ticket),
                            list_row("1", "held", new.claims, ticket=new.ticket)])
    assert listed == {"0": ("held", kept.ticket, kept.claims), "1": ("held", new.ticket, new.claims)}
    a.hello(None)
    world.end_grace(a, b)
    data = world.check()
    assert data.holding() == {b.key("0"), b.key("1")}
    assert data.in_use("a") == 2
    later = granted(a.acquire("2", "a"), "1")
    assert later.claims[0].token > new.claims[0].token > old.claims[0].token


def test_old_data_do_not_let_a_waiter_go(world, directory):
    """They have granted it units that others may have by now: its job knows nothing, and begins
    when the grace is over."""
    a, b = world.several(2, {"a": definition()})
    first = granted(b.acquire("1", "a"))
    ticket = waits(a.acquire("1", "a"), 1).ticket
    ok(b.release("1"))
    world.server.save(directory / "old.rdb")
    ok(a.release("1"))
    later = granted(b.acquire("2", "a"))
    world.server.restart(directory / "old.rdb")
    listed = a.hello(None, [list_row("1", "waiting", [Claim("a", 1, 0, ())], ticket=ticket)])
    assert listed == {"1": ("waiting", ticket, 1)}
    assert b.lists_one(None, "2", "held", later.claims, ticket=later.ticket) == "held"
    world.end_grace(a, b)
    assert world.check().holding() == {b.key("2")}
    ok(b.release("2"))
    claim, = a.granted()["1"]
    assert claim.token > later.claims[0].token > first.claims[0].token


def test_a_grant_from_before_a_grace_goes_only_to_its_owner(world):
    """Even if its daemon begins in the grace, and lists its leases after it: others may have had
    the unit with a larger token, which old data do not know."""
    a, b = world.several(2, {"a": definition()})
    first = granted(a.acquire("1", "a"))
    ticket = waits(b.acquire("1", "a"), 1).ticket
    ok(a.release("1"))
    world.becomes_another_server()
    assert a.renew().word == "hello"
    a.hello()
    ok(b.begin(token=first.claims[0].token + 1000))
    while ok(a.renew()).grace:
        world.tick(4000)
        b.renew()
    listed = b.lists(list_row("1", "waiting", [Claim("a", 1, 0, ())], ticket=ticket))
    assert listed["1"][:2] == ("waiting", ticket)
    b.end()
    claim, = b.granted()["1"]
    assert claim.token > first.claims[0].token + 1000


@pytest.mark.parametrize("first", ["old", "new"])
def test_of_two_holders_of_a_unit_the_later_keeps_it(world, first):
    a, b = world.several(2, {"a": definition(limit=3)})
    old, new = Claim("a", 1, 10, ("1",)), Claim("a", 1, 20, ("1",))
    world.database.client.flushall()
    rows = {"old": (a, "1", old), "new": (b, "1", new)}
    for which in (first, {"old": "new", "new": "old"}[first]):
        member, lease, claim = rows[which]
        ok(member.begin())
        member.define({"a": definition(limit=3)})
        word, *_ = member.lists(list_row(lease, "held", [claim]))[lease]
        assert word == ("lost" if which == "old" and first == "new" else "held")
        member.end()
    world.end_grace(a, b)
    assert world.check().holding() == {b.key("1")}
    assert ("lost 1" in a.events) == (first == "old")
    assert granted(a.acquire("9", "a")).claims[0].token > 20


def test_a_unit_that_is_won_is_not_at_rest(world):
    a, b = world.several(2, {"c": definition(cooldown=2000)})
    world.database.client.flushall()
    for member, token in ((a, 10), (b, 20)):
        ok(member.begin())
        member.define({"c": definition(cooldown=2000)})
        assert member.lists(list_row("1", "held", [Claim("c", 1, token, ("0",))]))["1"][0] == "held"
        member.end()
    assert world.check().held["c", "0000000"] == [b.key("1")]


def test_a_unit_rests_on_if_it_is_won_in_vain(world):
    """A lease that wins one unit and not the other takes none; and waiters hear of what is free."""
    text = {"c": definition(limit=2, cooldown=5000)}
    a, b = world.several(2, text)
    granted(a.acquire("1", ("c", 2)))
    waits(b.acquire("1", "c"), 1)
    ok(a.release("1"))
    world.becomes_another_server()
    assert a.renew().word == "hello"
    newer, both = Claim("c", 1, 4 * 10**15, ("1",)), Claim("c", 2, 3 * 10**15, ("0", "1"))
    assert a.lists_one(text, "2", "held", [newer]) == "held"
    listed = b.hello(text, [list_row("1", "waiting", [Claim("c", 1, 0, ())], ticket=4),
                            list_row("9", "held", [both])])
    assert (listed["1"][0], listed["9"][0]) == ("waiting", "lost")
    world.end_grace(a, b)
    world.pass_time(6000, a, b)
    assert b.granted().keys() == {"1"}
    world.check()


def test_a_lost_lease_takes_no_unit(world):
    text = {"a": definition(limit=2)}
    a, b = world.several(2, text)
    world.database.client.flushall()
    for one in (a, b):
        ok(one.begin())
        one.define(text)
    older, newer = Claim("a", 1, 10, ("0",)), Claim("a", 1, 30, ("1",))
    assert [word for word, *_ in a.lists(list_row("1", "held", [older]),
                                         list_row("2", "held", [newer])).values()] == ["held"] * 2
    assert b.lists(list_row("1", "held", [Claim("a", 2, 20, ("0", "1"))]))["1"][0] == "lost"
    assert world.check().holding() == {a.key("1"), a.key("2")}


def test_a_waiter_takes_its_definition_along(world):
    """Its daemon's file has the name itself by now, and its own limit for it."""
    a, b = world.several(2, {"t/*": definition(limit=2)})
    for lease in "12":
        granted(a.acquire(lease, ("t/x", 1, None, "t/*")))
    ticket = waits(b.acquire("1", ("t/x", 1, 2, "t/*")), 1).ticket
    text = {"t/x": definition(limit=2), "t/*": definition(limit=2)}
    row = list_row("1", "waiting", [Claim("t/x", 1, 0, ())], ticket=ticket, limit=1)
    assert b.hello(text, [row])["1"][0] == "waiting"
    ok(a.release("1"))
    assert not b.granted()
    ok(a.release("2"))
    assert b.granted().keys() == {"1"}


def test_an_absent_holder_is_gone_at_the_end_of_the_grace(world, directory):
    a, b = world.several(2, {"a": definition()})
    granted(a.acquire("1", "a"))
    waits(b.acquire("1", "a"), 1)
    world.server.save(directory / "old.rdb")
    world.server.restart(directory / "old.rdb")
    assert b.renew().word == "hello"
    b.hello(None, [list_row("1", "waiting", [Claim("a", 1, 0, ())], ticket=2)])
    world.pass_time(T + 10000, b)
    assert world.data().holding() == {a.key("1")} and not b.granted()
    world.pass_time(2000, b)
    assert set(b.granted()) == {"1"}


def test_what_is_not_listed_is_dropped(world):
    a, b = world.several(2, {"a": definition(limit=450)})
    replies = [granted(a.acquire(str(i), "a")) for i in range(450)]
    waits(b.acquire("1", "a"), 1)
    ok(a.begin())
    assert a.renew().word == "ok"  # lives on meanwhile
    assert a.lists(*(list_row(str(i), "held", replies[i].claims) for i in range(1, 100)))["5"][0] == "held"
    assert not b.granted()
    a.end()
    assert set(b.granted()) == {"1"}
    assert len(world.check().holding()) == 100


def test_leases_that_are_lost_while_a_listing_ends(world):
    """Another host lists units with larger tokens between two pages; what is not listed is dropped all the same."""
    a, b = world.several(2, {"a": definition(limit=450)})
    leases = [f"{i:03}" for i in range(150)]
    claims = {lease: granted(a.acquire(lease, "a")).claims for lease in leases}
    world.server.restart()
    assert a.renew().word == "hello"
    for one in (a, b):
        ok(one.begin())
    listed = [list_row(lease, "held", claims[lease]) for lease in leases]
    a.lists(*listed[:75])
    a.lists(*listed[75:])
    ok(a.begin())  # once more, with one lease less
    del listed[100]
    a.lists(*listed[:75])
    a.lists(*listed[75:])
    cursor = ok(a.call("hello", "end", "")).rest[0]
    assert cursor
    later = [claim._replace(token=claim.token + 1000) for claim in claims["007"]]
    assert b.lists(list_row("1", "held", later))["1"][0] == "held"
    while cursor:
        cursor = ok(a.call("hello", "end", cursor)).rest[0]
    assert {key for key in world.data().holding() if key.startswith(a.session)} == {
        a.key(lease) for lease in leases if lease not in ("007", "100")}


def test_a_grace_during_a_grace_starts_over(world):
    a, b = world.several(2, {"a": definition()})
    world.database.client.flushall()
    a.hello({"a": definition()})
    world.pass_time(20000, a)
    world.server.restart()
    assert a.renew().word == "hello"
    assert ok(a.begin()).grace == T + 11000


def test_waiting_and_holding_again_after_the_loss_of_a_session_alone(world):
    """A session that expired while nothing else did: held leases are lost, waiters queue again."""
    a, b = world.several(2, {"a": definition(limit=2)})
    held = granted(a.acquire("1", ("a", 2)))
    ticket = waits(a.acquire("2", "a"), 1).ticket
    world.pass_time(T + 1000, b)
    assert a.renew().word == "hello"
    listed = a.hello(None, [list_row("1", "held", held.claims),
                            list_row("2", "waiting", [Claim("a", 1, 0, ())], ticket=ticket)])
    assert listed["1"] == ("lost", 0, [])
    assert listed["2"][:2] == ("waiting", ticket) or listed["2"][0] == "held"
    assert set(a.granted()) | {lease for lease, row in listed.items() if row[0] == "held"} == {"2"}


# ---- Redis has its own troubles


def test_full_memory(world):
    a, b = world.several(2, {"a": definition(limit=2)})
    granted(a.acquire("1", "a"))
    granted(a.acquire("2", "a"))
    waits(b.acquire("1", "a"), 1)
    client = world.database.client
    before = client.zrange(world.database.key["held"], 0, -1)
    client.config_set("maxmemory", "1mb")
    with pytest.raises(Exception, match="OOM|used memory"):
        a.acquire("3", "a")
    assert client.zrange(world.database.key["held"], 0, -1) == before
    assert client.hlen(world.database.key["leases"]) == 4  # with what keeps it alive
    world.tick(1000)
    ok(a.renew())
    ok(a.release("1"))
    assert set(b.granted()) == {"1"}
    world.tick(1000)
    ok(b.renew())
    client.config_set("maxmemory", "0")
    ok(a.release("2"))
    ok(b.release("1"))
    ok(b.renew())
    world.must_be_empty()


def test_a_forgotten_library(world):
    a, = world.several(1, {"a": definition()})
    world.database.client.execute_command("FUNCTION", "FLUSH")
    granted(a.acquire("1", "a"))
    world.database.client.execute_command("FUNCTION", "FLUSH")
    ok(a.release("1"))


# ---- size


def test_the_end_of_a_large_host_is_done_in_parts(world):
    a, b = world.several(2, {"a": definition(limit=10000)})
    for first in range(0, 10000, 25):
        ok(a.call("acquire", *(word for i in range(first, first + 25) for word in (
            f"{i:x}", 0, 0, 0, 1000, 1000, "", "pid=1", "", 1, *claim_words("a")))))
    assert world.data().in_use("a") == 10000
    world.pass_time(T - 1000, b)
    client = world.database.client
    client.config_set("slowlog-log-slower-than", 0)
    client.config_set("slowlog-max-len", 10000)
    client.slowlog_reset()
    calls = 0
    world.tick(2000)
    while world.database.client.zcard(world.database.key["held"]) > 1:
        ok(b.renew())
        calls += 1
        assert calls < 1000
    slowest = max(entry["duration"] for entry in client.slowlog_get(10000))
    assert calls > 10000 // 65  # leases of dead sessions, in one call
    print(f"{calls} calls, the slowest {slowest} us")
    assert slowest < 50000  # microseconds; 3000 where nothing else runs
    world.must_be_empty()


def test_idle_instances_leave_nothing(world):
    a, = world.several(1, {"t/*": definition(limit=5, user=3), "p/*": definition("pool", 0, ("x", "y"), select="lru")})
    n = 500
    for i in range(n):
        for of in ("t/*", "p/*"):
            a.acquire(f"{of[0]}{i}", (f"{of[:-1]}{i}", 1, None, None, of), holder=f"h{i}")
        if i % 50 == 49:
            ok(a.release(*(f"{kind}{k}" for kind in "tp" for k in range(i - 49, i + 1))))
    world.must_be_empty()
    assert len(world.database.data()["session"]) <= 3 and len(world.database.data()["definitions"]) == 2


# ---- snapshots


def test_the_version_of_a_host(world):
    """Each host's, as it said hello."""
    a, b = world.member(), world.member()
    ok(a.begin(version="1.2~x y"))

    def shown():
        return {row[1]: (row[2], row[5]) for row in b.snapshot() if row[0] == "session"}
    assert shown()[a.session] == ("host1", "1.2~x y") and shown()[b.session] == ("host2", "")
    ok(a.renew())
    assert shown()[a.session] == ("host1", "1.2~x y")
    ok(a.begin())
    assert shown()[a.session] == ("host1", "")


def test_snapshot(world):
    a, b = world.several(2, {"a": definition(limit=2, cooldown=9000), "p": definition("pool", 0, ("x", "y")),
                             "t/*": definition()})
    first = granted(a.acquire("1", ("a", 2), holder="me", info="pid=5", uid=3, priority=4))
    second = waits(b.acquire("1", "a", uid=4, info="pid=6"), 1)
    granted(b.acquire("2", ("t/x", 1, None, "t/*")))
    ok(a.admin("pause", "p", "", "a%20b"))
    rows = b.snapshot()
    resources = {row[1]: row[2:] for row in rows if row[0] == "resource"}
    assert resources["a"] == ["semaphore", "2", "2", "0", "1", "0", "0", "", "a", "", "", "", "0", "0", "", ""]
    assert resources["p"] == ["pool", "2", "0", "0", "0", "0", "1", f"{WALL}\t\thost1\ta%20b", "p", "", "x,y", "",
                              "0", "0", "", ""]
    assert resources["t/x"][:4] == ["semaphore", "1", "1", "0"] and resources["t/x"][8] == "t/*"
    assert set(resources) == {"a", "p", "t/x"}
    token = str(first.claims[0].token)
    assert ["holder", "a", a.key("1"), str(first.ticket), "4", "3", "me", "pid=5", "2", token, "0-1", "host1", "0"] in rows
    assert ["waiter", "a", b.key("1"), str(second.ticket), "0", "4", "", "pid=6", "1", "1", "host2", "0", "", ""] in rows
    sessions = {row[1]: row[2:] for row in rows if row[0] == "session"}
    assert sessions[a.session][0] == "host1" and 0 < int(sessions[a.session][1]) <= T
    assert [row for row in b.snapshot("t/x") if row[0] == "resource"] == [
        ["resource", "t/x", *resources["t/x"]]]
    ok(a.release("1"))
    rows = b.snapshot("a")
    assert rows[0][3:9] == ["2", "0", "0", "1", "2", "0"]


def held_for(member, lease="1"):
    """As the database says it, in ms."""
    row, = (row for row in member.snapshot() if row[0] == "holder" and row[2] == member.key(lease))
    return int(row[12])


def test_a_wait_is_no_part_of_how_long_a_lease_is_held(world):
    a, b = world.several(2, {"a": definition()})
    granted(a.acquire("1", "a"))
    waits(b.acquire("1", "a"), 1)
    world.pass_time(7000, a, b)
    assert held_for(a) == 7000
    ok(a.release("1"))
    world.pass_time(2500, a, b)
    assert held_for(b) == 2500


def test_how_long_a_lease_is_held_outlasts_a_hello(world):
    """The session clock may have stood, and the daemon may have lost its journal: the longer span
    counts."""
    a, b = world.several(2, {"a": definition(limit=2)})
    first = granted(a.acquire("1", "a"))
    world.pass_time(5000, a, b)
    for said, shown in ((3000, 5000), (8000, 8000), (0, 8000)):
        assert a.lists_one(None, "1", "held", first.claims, held_for=said) == "held"
        assert held_for(a) == shown
    granted(b.acquire("1", "a"))
    assert (held_for(a), held_for(b)) == (8000, 0)


def test_how_long_a_lease_is_held_outlasts_the_data(world):
    a, b = world.several(2, {"a": definition(limit=2)})
    first = granted(a.acquire("1", "a"))
    ticket = waits(b.acquire("1", ("a", 2)), 1).ticket
    world.database.client.flushall()
    assert a.lists_one({"a": definition(limit=2)}, "1", "held", first.claims, held_for=60000) == "held"
    b.hello(None, [list_row("1", "waiting", [Claim("a", 2, 0, ())], ticket=ticket, held_for=60000)])
    assert held_for(a) == 60000
    world.end_grace(a, b)
    ok(a.release("1"))
    assert held_for(b) == 0


def test_who_has_paused(world):
    """An instance with its template."""
    a, = world.several(1, {"t/*": definition(), "l": definition()})

    def pausers():
        return {row[1]: (row[8], row[9].split("\t")[1] if row[9] else "")
                for row in a.snapshot("t/x", "t/y", "l") if row[0] == "resource"}

    ok(a.admin("pause", "t/*", "", "", "0 1000"))
    ok(a.admin("pause", "t/x", "", "", "7"))
    ok(a.admin("pause", "l", "", "why", "9"))
    assert pausers() == {"t/x": ("1", "7"), "t/y": ("1", "0 1000"), "l": ("1", "9")}
    ok(a.admin("resume", "t/x"))
    ok(a.admin("pause", "l", "", "", "8"))
    assert pausers() == {"t/x": ("0", ""), "t/y": ("1", "0 1000"), "l": ("1", "9")}


def test_who_has_changed_what(world):
    """When, who, on which host, why, and what the file says; as long as the change is in force."""
    a, b = world.several(2, {"t/*": definition(limit=4), "l": definition(limit=2), "p": pool(["x", "y"])})

    def said():
        return {row[1]: (row[11], row[16].split("\t")) for row in a.snapshot("t/x", "l", "p") if row[0] == "resource"}

    now = WALL
    ok(b.admin("limit", "l", "1", "too%20slow", "0 1000"))
    ok(b.admin("limit", "t/*", "3", "", "7"))
    ok(a.admin("remove", "p", "x", "fan", "9"))
    assert said() == {"l": ("limit", [now, "0 1000", "host2", "too%20slow", "2"]),
                      "t/x": ("limit", [now, "7", "host2", "", "4"]), "p": ("items", [now, "9", "host1", "fan"])}
    ok(a.admin("limit", "t/x", "2", "own", "8"))
    ok(a.admin("limit", "l", "2"))
    ok(a.admin("add", "p", "x"))
    assert said() == {"l": ("", [""]), "t/x": ("limit", [now, "8", "host1", "own", "4"]), "p": ("", [""])}
    assert {row[1]: row[3] for row in a.follow()[2] if row[1].startswith("c ")}.items() >= {
        "c l": "{}", "c p": "{}"}.items()
    database = world.database  # an older berthd does not say who has changed the template
    version = database.client.hget(database.key["changes"], "t/*").split(" ")[0]
    database.client.hset(database.key["changes"], "t/*",
                         version + ' {"limit":3,"limit-base":4,"limit-generation":"1"}')
    database.was_edited()
    ok(a.admin("reset", "t/x"))
    assert said()["t/x"] == ("limit", ["", "", "", "", "4"])


def test_what_is_said_again(world):
    """Who has changed it, and when, stays; why is what was said last."""
    a, b = world.several(2, {"l": definition(limit=4)})

    def said():
        row, = [row for row in a.snapshot("l") if row[0] == "resource"]
        return ["\t".join(row[i].split("\t")[1:4]) for i in (9, 16)]

    for host, limit, why, uid, paused, limited in (
            (a, "2", "one", "7", "7\thost1\tone", "7\thost1\tone"), (b, "2", "two", "8", "7\thost1\ttwo", "7\thost1\ttwo"),
            (b, "1", "two", "8", "7\thost1\ttwo", "8\thost2\ttwo")):
        ok(host.admin("pause", "l", "", why, uid))
        ok(host.admin("limit", "l", limit, why, uid))
        assert said() == [paused, limited]
    ok(b.admin("resume", "l"))
    ok(b.admin("pause", "l", "", "", "8"))
    assert said()[0] == "8\thost2\t"


def test_a_snapshot_goes_by_bytes(servers, clock, monkeypatch):
    """However the server's locale sorts names."""
    monkeypatch.setenv("BERTH_COLLATE", "yes")
    server = servers(clock=clock)
    names = [f"{first}{middle}{i}" for i in range(20) for first in "aBcD" for middle in ("-", ".", "", "_")]
    world = World(server, clock)
    a, = world.several(1, {name: definition() for name in names})
    assert not world.database.client.eval("return 'B' < 'a'", 0)
    shown = [row[1] for row in a.snapshot() if row[0] == "resource"]
    assert shown == sorted(names)
    for name in names[::2]:
        granted(a.acquire(name, name))
    shown = [row[1] for row in a.snapshot() if row[0] == "resource"]
    assert shown == sorted(names)


def test_a_large_snapshot_comes_in_pages(world):
    a, = world.several(1, {"t/*": definition()})
    for i in range(500):
        a.acquire(str(i), (f"t/{i}", 1, None, "t/*"))
    rows = a.snapshot()
    names = [row[1] for row in rows if row[0] == "resource"]
    assert len(names) == len(set(names)) == 500
    assert len([row for row in rows if row[0] == "holder"]) == 500


def test_the_resources_of_a_lease(world):
    """All that it holds or waits for, over several pages, and of a lease that has ended nothing but sessions."""
    a, b = world.several(2, {"a": definition(limit=200), "b": definition(), "c": definition()})
    for i in range(160):
        granted(b.acquire(str(i), "a"))
    granted(a.acquire("1", "b", ("a", 2)))
    waits(a.acquire("2", "c", "b"), 1)

    def shown(key):
        return [row[1:3] for row in b.snapshot("@", key) if row[0] in ("resource", "waiter")]

    assert shown(a.key("1")) == [["b", "semaphore"], ["b", a.key("2")], ["a", "semaphore"]]
    assert shown(a.key("2")) == [
        ["c", "semaphore"], ["c", a.key("2")], ["b", "semaphore"], ["b", a.key("2")]]
    assert len([row for row in b.snapshot("@", a.key("1")) if row[0] == "holder" and row[1] == "a"]) == 161
    ok(a.release("1"))
    for key in (a.key("1"), "0123456789abcdef/1", "?"):
        assert {row[0] for row in b.snapshot("@", key)} == {"session"}


def test_sums_alone(world):
    """Of each definition that is there or in use; cooling units are neither held nor free."""
    a, b = world.several(2, {"a": definition(limit=3, cooldown=9000), "p": definition("pool", 0, ("x", "y")),
                             "t/*": definition(limit=2), "z": definition()})
    granted(a.acquire("1", "a"))
    granted(b.acquire("1", ("a", 2)))
    waits(b.acquire("2", "a"), 1)
    granted(a.acquire("3", "p"))
    ok(a.admin("pause", "z", "", ""))
    for i in range(120):
        granted((a, b)[i % 2].acquire(f"i{i}", (f"t/{i}", 1, None, "t/*")))
    ok(a.admin("pause", "t/5", "", ""))
    ok(a.release("1"))
    rows = b.snapshot("*")
    assert {row[0] for row in rows} == {"sum", "sessions", "load"}
    assert [row for row in rows if row[0] == "sessions"] == [["sessions", "2", "0"]]
    sums = {}
    for _, name, *numbers in (row for row in rows if row[0] == "sum"):
        sums[name] = [x + int(y) for x, y in zip(sums.get(name, [0] * 4), numbers)]
    assert sums == {"a": [3, 2, 0, 1], "p": [2, 1, 1, 0], "t/*": [240, 120, 119, 0], "z": [1, 0, 0, 0]}
    assert len(rows) < 10


def test_a_pool_has_at_most_5000_items(world):
    a, = world.several(1, {"p": definition("pool", 0, [f"i{i}" for i in range(4999)])})
    ok(a.admin("add", "p", "x"))
    refused(a.admin("add", "p", "y"), "impossible")
    ok(a.admin("remove", "p", "i7"))
    ok(a.admin("add", "p", "y"))
    refused(a.admin("add", "p", "i7"), "impossible")
    ok(a.admin("add", "p", "y"))


def test_an_item_that_was_reserved_is_no_slot(world):
    a, = world.several(1, {"x": definition("pool", 0, ("A", "B"))})
    ok(a.admin("reserve", "x", "A"))
    a.define({"x": definition(limit=1)}, generation=1)
    granted(a.acquire("1", "x"), "0")
    waits(a.acquire("2", "x"), 1)
    ok(a.renew())


def test_a_lock_has_one_holder_whatever_the_limit_was_of_the_semaphore(world):
    a, = world.several(1, {"x": definition(limit=1)})
    ok(a.admin("limit", "x", "3"))
    a.define({"x": definition("lock", 1)}, generation=1)
    granted(a.acquire("1", "x"))
    waits(a.acquire("2", "x"), 1)

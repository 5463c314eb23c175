"""Requests that take the place of older ones of their identity (doc/ordering.md): the scripts on a real Redis."""

import pytest

from fleet_help import needs_redis
from scripts_help import Claim, definition, list_row, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

NAMES = {name: definition() for name in "abc"} | {"w": definition(limit=3)}


def info(word="waiting", at=None):
    return f"pid=1{'' if at is None else f' at={at}'} replace={word}"


def pushes(member, lease, *claims, word="waiting", at=None, **options):
    """A request of the identity `i` that takes the place of older ones."""
    return member.acquire(lease, *claims, holder=options.pop("holder", "i"), info=info(word, at), **options)


def told(member, *words):
    """The events of these words that have just come, each as a list of words."""
    return [event.split(" ") for event in member.new_events() if event.split(" ")[0] in words]


def replaced(member):
    return [words[1] for words in told(member, "replaced")]


@pytest.fixture
def two(world):
    """The first one's `x` holds `a` and `c`, with no identity."""
    a, b = world.several(2, NAMES)
    a.acquire("x", "a", "c")
    return a, b


def test_takes_the_place(world, two):
    a, b = two
    first = pushes(a, "1", "a")
    b.acquire("behind", "a")
    reply = pushes(b, "2", "a")
    assert (reply.word, reply.ticket, reply.position) == ("waiting", first.ticket, 1)
    assert told(a, "replaced") == [["replaced", "1", b.key("2")]] and replaced(b) == []
    assert world.check().leases[a.key("1")]["state"] == "R"
    ok(a.release("1"))
    assert pushes(a, "3", "a").ticket == first.ticket
    assert replaced(b) == ["2"]
    ok(a.release("x"))
    assert list(a.granted()) == ["3"] and list(b.granted()) == []


def test_the_replaced_one_asks_again(world, two):
    a, b = two
    pushes(a, "1", "a")
    reply = pushes(b, "2", "a")
    for _ in range(2):
        again = pushes(a, "1", "a")
        assert (again.word, again.rest) == ("refused", ["replaced", b.key("2")])
        assert pushes(b, "2", "a").rest == reply.rest
    assert replaced(a) == ["1"]
    assert a.lists_one(None, "1", "waiting", [Claim("a", 1, 0, ())], holder="i", info=info()) == "lost"
    again = pushes(a, "1", "a", ticket=reply.ticket)
    assert (again.word, again.rest) == ("refused", ["replaced", b.key("2")])


def test_a_plain_request_gives_its_place_up(world, two):
    a, b = two
    plain = a.acquire("1", "a", holder="i")
    assert pushes(b, "2", "a").ticket == plain.ticket
    assert replaced(a) == ["1"]


def test_a_plain_request_is_held_off(world, two):
    a, b = two
    pushes(a, "1", "a")
    reply = b.acquire("2", "a", holder="i")
    assert (reply.word, reply.rest) == ("refused", ["held", "a"])
    assert replaced(a) == []


@pytest.mark.parametrize("other", ["another user", "another identity", "other names", "fewer names"])
def test_others_stay(world, two, other):
    a, b = two
    names = {"other names": "ab", "fewer names": "a"}.get(other, "ac")
    pushes(a, "1", *names, uid=7 if other == "another user" else 1000,
           holder="j" if other == "another identity" else "i")
    assert pushes(b, "2", "a", "c").word == "waiting"
    assert replaced(a) == []
    assert world.check().waiting() == {a.key("1"), b.key("2")}


def test_other_counts_and_another_order_are_the_same(world):
    a, b = world.several(2, NAMES)
    a.acquire("x", ("w", 3), "a")
    pushes(a, "1", ("w", 3), "a")
    assert pushes(b, "2", "a", "w").word == "waiting"
    assert replaced(a) == ["1"]


def test_whatever_the_levels(world):
    """A reload has given them to the newer one only, or taken them."""
    a, b = world.several(2, NAMES)
    a.acquire("x", ("w", 3), "b")
    reply = a.acquire("1", "w", holder="i", info=info())
    for i, level in enumerate(["a", "b", None]):
        levels = () if level is None else (level,)
        again = b.acquire(str(i + 2), "w", *levels, holder="i",
                          info=info() + "".join(f" levels={name}" for name in levels))
        assert (again.word, again.ticket) == ("waiting", reply.ticket)
    assert replaced(a) == ["1"] and replaced(b) == ["2", "3"]
    ok(a.release("x"))
    assert list(b.granted()) == ["4"]


def test_not_for_an_identity_at_a_level(world):
    a, b = world.several(2, NAMES)
    a.acquire("x", "w", holder="i")
    assert b.acquire("1", "a", "w", holder="i", info=info() + " levels=w").word == "granted"


def test_many_wait_for_one_identity(world):
    """As many as one call looks at: who has it is among them."""
    names = {f"n{i}": definition() for i in range(51)} | {"w": definition(limit=3)}
    a, b = world.several(2, names)
    b.acquire("z", "w", holder="i")
    replies = [pushes(a, str(i), "w", f"n{i}") for i in range(51)]
    assert [reply.word for reply in replies[:49]] == ["waiting"] * 49
    assert [reply.rest[:2] for reply in replies[49:]] == [["queue-full", "w"]] * 2
    assert pushes(b, "again", "w", "n0").word == "waiting"
    assert replaced(a) == ["0"]


def test_its_own_priority(world, two):
    a, b = two
    first = pushes(a, "1", "a", priority=5)
    b.acquire("middle", "a", priority=3)
    reply = pushes(b, "2", "a", priority=1)
    assert (reply.ticket, reply.position) == (first.ticket, 2)


def test_the_place_that_an_operator_gave(world, two):
    a, b = two
    b.acquire("before", "a", priority=9)
    pushes(a, "1", "a")
    ok(a.admin("move", a.key("1"), "first"))
    reply = pushes(b, "2", "a")
    assert reply.position == 1
    assert pushes(a, "3", "a").position == 1


def test_what_was_kept_is_kept_for_it(world, two):
    a, b = two
    a.acquire("y", "b")
    pushes(a, "1", "a", "b")
    ok(a.release("x"))
    assert world.check().kept == {("a", a.key("1")): 1}
    world.tick(6000)
    pushes(b, "2", "a", "b")
    assert world.check().kept == {("a", b.key("2")): 1}
    world.pass_time(5000, a, b)  # the patience of both together has ended
    assert world.check().kept == {}


def test_a_stream_waits_like_one(world):
    """Each of many has a newer one behind it; nobody who came later goes before the last, and it goes before them."""
    a, b = world.several(2, NAMES)
    for lease in ("x", "y", "z"):
        a.acquire(lease, "w")
    a.acquire("s", ("w", 2), "a")
    b.acquire("before", "w")
    stream = [pushes((a, b)[i % 2], str(i), ("w", 2), "b") for i in range(20)]
    b.acquire("behind", "w")
    assert {(reply.word, reply.ticket) for reply in stream} == {("waiting", stream[0].ticket)}
    order = []
    for lease in ("x", "y", "z"):
        ok(a.release(lease))
        pushes(a, lease + "1", ("w", 2), "b")
        order += [*a.granted(), *b.granted()]
    assert order == ["s", "before"]
    ok(a.release("s"))
    assert (list(a.granted()), list(b.granted())) == (["z1"], [])
    ok(b.release("before"))
    assert list(b.granted()) == ["behind"]


def test_at_once(world):
    a, b = world.several(2, NAMES)
    assert pushes(a, "1", "a", "b").word == "granted"
    assert pushes(b, "2", "c").word == "granted"


def test_grants_an_older_ones_smaller_heir_at_once(world):
    """The older one stands aside, as it wants more than its user may have."""
    a, b = world.several(2, {"q": definition(limit=9, user=2)})
    a.acquire("x", "q", uid=7)
    first = pushes(a, "1", ("q", 2), uid=7)
    reply = pushes(b, "2", "q", uid=7, nowait=True)
    assert (reply.word, reply.ticket) == ("granted", first.ticket)
    assert replaced(a) == ["1"]


# ---- a holder

def test_waits_for_the_holder(world):
    a, b = world.several(2, NAMES)
    pushes(a, "holds", "w")
    assert pushes(b, "1", "w").word == "waiting"
    assert world.check().aside[b.key("1")][0].startswith("w i ")
    assert a.acquire("other", ("w", 2)).word == "granted"  # it delays nobody
    assert pushes(b, "2", "w").word == "waiting"
    assert replaced(b) == ["1"] and told(a, "replaced", "withdraw") == []
    ok(a.release("holds"))
    assert list(b.granted()) == ["2"]


def test_back_at_its_rank(world):
    a, b = world.several(2, NAMES)
    a.acquire("x", "w", "a")
    pushes(a, "holds", ("w", 2))
    pushes(b, "1", ("w", 2))
    b.acquire("later", ("w", 2))
    ok(a.release("holds"))
    assert list(b.granted()) == ["1"]


def test_waits_for_a_holder_of_other_names(world):
    a, b = world.several(2, NAMES)
    pushes(a, "1", "w", "a")
    pushes(b, "2", "w", "b")
    assert world.check().aside[b.key("2")]
    ok(a.release("1"))
    assert list(b.granted()) == ["2"]


def test_of_two_that_wait_one_is_granted(world, two):
    a, b = two
    pushes(a, "1", "a", "w")
    pushes(b, "2", "c", "w")
    ok(a.release("x"))
    assert (list(a.granted()), list(b.granted())) == (["1"], [])
    assert world.check().aside[b.key("2")]
    ok(a.release("1"))
    assert list(b.granted()) == ["2"]


def test_waits_for_a_plain_waiter_of_other_names(world, two):
    a, b = two
    a.acquire("1", "a", "w", holder="i")
    assert pushes(b, "2", "w").word == "waiting"
    assert world.check().aside[b.key("2")]
    ok(a.release("1"))
    assert list(b.granted()) == ["2"]


def test_of_another_user_where_identities_are_shared(world):
    a, b = world.several(2, {"s": definition(limit=2, shared=True)})
    pushes(a, "1", "s", uid=7, shared="*")
    pushes(b, "2", "s", shared="*", word="running")
    assert told(a, "withdraw") == []
    ok(a.release("1"))
    assert list(b.granted()) == ["2"]


def test_without_waiting(world, two):
    """It ends nobody."""
    a, b = two
    pushes(a, "1", "a")
    pushes(a, "holds", "w")
    for name in "aw":
        reply = pushes(b, "2", name, nowait=True, word="running")
        assert (reply.word, reply.rest) == ("refused", ["would-wait", name])
    assert told(a, "replaced", "withdraw") == []


def test_a_refused_one_ends_nobody(world):
    definitions = {"w": definition(limit=3, max_waiters=2), "p": definition(limit=3, max_waiters=1)}
    a, b = world.several(2, definitions)
    a.acquire("x", ("w", 3), ("p", 3))
    pushes(a, "1", "w")
    a.acquire("2", "w")
    pushes(a, "3", "w", "p", holder="j")  # too many
    reply = pushes(b, "4", ("w", 4))
    assert (reply.word, reply.rest) == ("refused", ["impossible", "w"])
    assert replaced(a) == []
    assert pushes(b, "5", "w").word == "waiting"  # in the place of one
    assert replaced(a) == ["1"]


# ---- the running one

def test_stops_the_holder_once(world):
    a, b = world.several(2, NAMES)
    pushes(a, "holds", "w")
    pushes(b, "1", "w", word="running")
    pushes(b, "2", "w", word="running")
    assert told(a, "withdraw") == [["withdraw", "holds", f"1000|lease%20{b.key('1')}%20replaces%20it"]]
    assert replaced(b) == ["1"]
    ok(a.release("holds"))
    assert list(b.granted()) == ["2"]


def test_stops_a_plain_holder_behind_others(world):
    a, b = world.several(2, NAMES)
    a.acquire("holds", ("w", 2), holder="i")
    a.acquire("before", ("w", 2))
    pushes(b, "1", ("w", 2), word="running")
    assert [words[1] for words in told(a, "withdraw")] == ["holds"]


def test_does_not_stop_others(world):
    a, b = world.several(2, NAMES)
    pushes(a, "1", "w", "a")
    pushes(a, "2", "w", holder="j")
    pushes(b, "3", "w", word="running")
    assert told(a, "withdraw") == []


def test_stops_one_that_is_granted_while_it_waits(world, two):
    """After lost data: both come back, and the holder later."""
    a, b = world.several(2, NAMES)
    grant = pushes(a, "holds", "w", at=1)
    waits = pushes(b, "1", "w", word="running", at=2)
    world.database.client.flushall()
    for one in (b, a):
        ok(one.begin())
        one.define(NAMES)
    one = list_row("1", "waiting", [Claim("w", 1, 0, ())], holder="i", info=info("running", 2), ticket=waits.ticket)
    assert b.lists(one)["1"][0] == "waiting"
    assert a.lists(list_row("holds", "held", grant.claims, holder="i", info=info(at=1), ticket=grant.ticket))["holds"][0] == "held"
    for one in (a, b):
        one.end()
    told(a, "")
    world.end_grace(a, b)
    b.renew()
    assert [words[1] for words in told(a, "withdraw")] == ["holds"]


# ---- nested requests

def test_its_own_ancestor_has_the_identity(world):
    a, _ = world.several(2, NAMES)
    pushes(a, "holds", "w")
    for word in ("waiting", "running"):
        reply = pushes(a, "1", "w", above="holds", word=word)
        assert (reply.word, reply.rest) == ("refused", ["ancestor", "w"])
    assert told(a, "withdraw") == []


@pytest.mark.parametrize("word", ["waiting", "running"])
def test_a_circle_by_an_identity(world, word):
    """It waits for a holder whose own request waits for what is held above it; one that is being stopped gives it back."""
    a, b = world.several(2, NAMES)
    a.acquire("outer", "a")
    pushes(b, "holds", "w")
    pushes(a, "1", "w", above="outer", word=word)
    b.acquire("inner", "a", above="holds")
    assert told(b, "circle") == ([["circle", "inner", "a"]] if word == "waiting" else [])
    assert told(a, "circle") == []


@pytest.mark.parametrize("above", ["outer", "other"])
def test_a_circle_by_the_identity_of_a_waiter(world, above):
    """That waits for what is held above the request, or above another one."""
    a, b = world.several(2, NAMES)
    a.acquire("outer", "a")
    a.acquire("other", "b")
    b.acquire("plain", "a", "w", holder="i")
    reply = pushes(a, "1", "w", above=above)
    if above == "outer":
        assert (reply.word, reply.rest) == ("refused", ["ancestor", "w"])
        return
    assert reply.word == "waiting"
    a.acquire("2", "b", above="outer")
    assert sorted(told(a, "circle") + told(b, "circle")) == [["circle", "2", "b"]]


# ---- those that come back

def listed(member, lease, at, ticket=0, state="waiting", claims=(Claim("w", 1, 0, ()),), word="waiting"):
    return member.lists(list_row(lease, state, list(claims), holder="i", info=info(word, at), ticket=ticket))[lease][0]


@pytest.fixture
def lost(world):
    """The data are lost: `1` of the first one was replaced by `2` of the second one, and its daemon has not heard."""
    a, b = world.several(2, NAMES)
    a.acquire("x", ("w", 3))
    ticket = pushes(a, "1", "w", at=1).ticket
    pushes(b, "2", "w", at=2)
    world.database.client.flushall()
    for one in (a, b):
        ok(one.begin())
        one.define(NAMES)
    return a, b, ticket


@pytest.mark.parametrize("first", ["the older", "the newer"])
def test_the_older_one_comes_back(world, lost, first):
    a, b, ticket = lost
    for member, lease, at in ((a, "1", 1), (b, "2", 2)) if first == "the older" else ((b, "2", 2), (a, "1", 1)):
        expected = "lost" if first == "the newer" and member == a else "waiting"
        assert listed(member, lease, at, ticket) == expected
    for one in (a, b):
        one.end()
    again = pushes(a, "1", "w", at=1, ticket=ticket)
    assert (again.word, again.rest) == ("refused", ["replaced", b.key("2")])
    assert replaced(b) == []


def test_a_plain_one_comes_back_whose_hosts_clock_is_ahead(world, two):
    a, b = two
    a.acquire("1", "a", holder="i", info="pid=1 at=9")
    ticket = pushes(b, "2", "a", at=2).ticket
    world.database.client.flushall()
    for one in (a, b):
        ok(one.begin())
        one.define(NAMES)
    plain = list_row("1", "waiting", [Claim("a", 1, 0, ())], holder="i", info="pid=1 at=9", ticket=ticket)
    assert a.lists(plain)["1"][0] == "waiting"
    assert listed(b, "2", 2, ticket, claims=(Claim("a", 1, 0, ()),)) == "waiting"
    for one in (a, b):
        one.end()
    assert replaced(a) == ["1"]


def test_the_older_one_comes_back_to_the_holder(world, lost):
    a, b, ticket = lost
    assert listed(b, "2", 2, ticket, "held", (Claim("w", 1, ticket + 9, ("0",)),)) == "held"
    assert listed(a, "1", 1, ticket) == "lost"


def test_one_that_was_away(world, two):
    """Its daemon has given it back for a while."""
    a, b = two
    ticket = pushes(a, "1", "a").ticket
    ok(a.release("1"))
    assert pushes(b, "2", "a").ticket > ticket
    again = pushes(a, "1", "a", ticket=ticket)
    assert (again.word, again.rest) == ("refused", ["replaced", b.key("2")])
    again = a.acquire("3", "a", holder="i", ticket=ticket)
    assert (again.word, again.rest) == ("refused", ["replaced", b.key("2")])
    assert replaced(b) == []


def test_the_newer_one_was_away(world, two):
    a, b = two
    ticket = pushes(b, "2", "a").ticket
    ok(b.release("2"))
    older = a.acquire("1", "a", holder="i", ticket=ticket - 1)
    assert older.word == "waiting"
    assert pushes(b, "2", "a", ticket=ticket).ticket == ticket - 1
    assert replaced(a) == ["1"]


# ---- who else asks

def test_release_by_the_identity_ends_the_holder_alone(world):
    a, b = world.several(2, NAMES)
    a.acquire("x", ("w", 2))
    pushes(b, "holds", "w")
    pushes(a, "1", "w")
    ok(a.admin("release", "w", "1000", "", "i", "1000"))
    assert [words[1] for words in told(b, "release")] == ["holds"]
    ok(b.release("holds"))
    ok(a.renew())
    pushes(a, "2", ("w", 3))
    ok(a.release("1"))


def test_snapshot_says_who_has_it(world):
    a, b = world.several(2, NAMES)
    pushes(a, "holds", "w", "a")
    pushes(b, "1", "b", "w")
    rows = [row for row in a.snapshot("w", "b") if row[0] == "waiter"]
    assert [row[-4:] for row in rows] == [["identity", "w", a.key("holds"), "H"]] * 2

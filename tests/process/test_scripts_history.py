"""What a database remembers of leases and waits that are over, and of what operators did: written by whichever call
ends them, or does it, for people's eyes alone."""

import contextlib

import pytest

from fleet_help import needs_redis
from scripts_help import Claim, breaks_off, definition, list_row, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

T = 30000
DEFINITIONS = {"a": definition(limit=2), "b": definition(limit=2), "m": definition(limit=1000)}
INFO = "pid=7 program=p at=1"
KEY = "{berth}:history"


def page(member, of="10000000 ago", *before):
    """The head's fields, and the rows of the entries: (ID, KEY, HOST, ENDING, STATE, UID, HOLDER, INFO, CLAIMS), or
    ("missed", ID, N, FROM)."""
    (word, now, first, following, missed), *rows = member.snapshot("!", of, *before)
    assert word == "page"
    return (int(now), first, following, missed), [tuple(row[row[0] == "past":]) for row in rows]


def ends(member):
    """{key: ENDING, as a dict}; those that are there twice are the same."""
    return {row[1]: dict(word.split("=") for word in row[3].split(" ")) for row in page(member)[1] if len(row) > 4}


def begin(world):
    a, b = world.several(2, DEFINITIONS)
    a.acquire("1", "a", "b", uid=5, holder="h", info=INFO)
    a.acquire("2", "a")
    a.acquire("3", ("a", 2))
    return a, b


def release(member, lease, ending="how=released held=5 waited=1 exit=3"):
    ok(member.release(f"{lease} {ending}"))


def test_a_release_says_how(world):
    a, b = begin(world)
    release(a, "1")
    ok(a.release("2"))  # the daemon gives it back, and goes on with it
    release(a, "3", "how=cancelled waited=1")
    (now, first, following, missed), rows = page(b)
    assert now == world.now and following == missed == "" and first
    held, waited = rows
    assert held[1:-1] == (a.key("1"), a.host, "how=released held=5 waited=1 exit=3", "H", "5", "h", INFO)
    assert [part.split(" ")[0] for part in held[-1].split("|")] == ["a", "b"] and held[-1].endswith(" 0")
    assert waited[1] == a.key("3") and waited[4] == "H", "it was granted just before"
    assert int(held[0].split("-")[0]) == world.now
    release(a, "1")
    assert len(page(b)[1]) == 2, "it is over already"


def test_a_release_that_comes_late(world):
    a, b = begin(world)
    release(a, "1", "1500 how=released held=5 waited=1")
    release(a, "2", "how=released held=5 waited=1")
    assert [one.get("ended") for one in ends(b).values()] == [str(world.now - 1500), None]


def test_several_in_one_call(world):
    a, b = begin(world)
    ok(a.release("1 how=released held=1", "2", "3 how=cancelled", "9 how=released"))
    assert {key: one["how"] for key, one in ends(b).items()} == {a.key("1"): "released", a.key("3"): "cancelled"}


def test_a_long_word_is_cut(world):
    a, b = begin(world)
    release(a, "1", "how=released why=" + "x" * 300)
    assert len(page(b)[1][0][3]) == 276


def test_thousands_of_units_are_not_kept(world):
    """An entry has its bounds, as the database counts entries alone."""
    items = [f"a-long-name-of-an-item-{i}" for i in range(300)]
    a, b = world.several(2, {"p": definition("pool", items=items), "m": definition(limit=1000)})
    for lease, n in (("1", 20), ("2", 300)):
        assert a.acquire(lease, ("p", n), ("m", 7), info=INFO).word == "granted"
        release(a, lease)
    few, many = (row[-1].split("|") for row in page(b)[1])
    assert len(few[0].split(",")) == 20 and [part.split(" ")[3] for part in many] == ["-", "-"]
    assert [part.split(" ")[1] for part in many] == ["300", "7"] and page(b)[1][1][7] == INFO
    with contextlib.closing(world.server.client(decode_responses=False)) as raw:
        (_, fields), = raw.xrevrange(KEY, count=1)
    assert len(fields[b"e"]) < 500


@pytest.mark.parametrize("late", [0, 4000])
def test_a_dead_hosts_leases_end_with_its_session(world, late):
    """Whenever that is noticed."""
    a, b = begin(world)
    since = world.now
    ok(a.renew())
    world.pass_time(T - 1000, b)
    world.tick(1001 + late)
    ok(b.renew())
    expected = {"ended": str(since + T), "held": str(T)}
    assert ends(b) == {a.key("1"): {"how": "deadline", **expected}, a.key("2"): {"how": "deadline", **expected}}, (
        "a waiter may ask again")
    assert {row[2] for row in page(b)[1]} == {a.host}


def lose(world, *members):
    world.database.client.delete(*[key for key in world.database.keys if key != KEY])
    for one in members:
        ok(one.begin())
    members[0].define(DEFINITIONS)


def test_who_loses_its_unit_to_a_larger_token(world):
    a, b = begin(world)
    release(a, "1")
    lose(world, a, b)
    assert list(ends(b)) == [a.key("1")], "the history goes on"
    a.lists(list_row("5", "held", [Claim("a", 1, 10, ("1",))], ticket=5, held_for=0))
    a.lists(list_row("5", "held", [Claim("a", 1, 10, ("0",))], ticket=5, held_for=0))  # moves it
    world.tick(3000)
    b.lists(list_row("6", "held", [Claim("a", 1, 20, ("0",))], ticket=6))
    assert ends(b)[a.key("5")] == {"how": "lost", "ended": str(world.now), "held": "3000"} and len(ends(b)) == 2


def test_new_data_say_what_their_history_lacks(world):
    """What ended since its newest entry, or was counted, is in no record any more; a new history lacks nothing."""
    a, b = begin(world)
    release(a, "1")
    (newest, *_), = page(b)[1]
    world.tick(3000)
    lose(world, a, b)
    release(a, "2")
    (*_, missed), rows = page(b)
    assert missed == "" and [row[2:] for row in rows[1:]] == [("0", newest.split("-")[0])], "once"
    world.database.client.delete(KEY)
    lose(world, a, b)
    assert page(b)[1] == []


def test_an_identity_that_is_lost_is_no_end_of_a_waiter(world):
    a, b = world.several(2, DEFINITIONS)
    lose(world, a, b)
    a.lists(list_row("1", "waiting", [Claim("a", 1, 0, ())], ticket=5, holder="h"))
    b.lists(list_row("2", "held", [Claim("a", 1, 10, ("0",))], ticket=6, holder="h", uid=1000))
    assert ends(b) == {}
    a.lists(list_row("3", "held", [Claim("a", 1, 20, ("1",))], ticket=7, holder="h", uid=1000))
    assert {key: one["how"] for key, one in ends(b).items()} == {b.key("2"): "lost"}


def test_what_is_not_listed(world):
    """A holder has ended; a waiter may ask again."""
    a, b = begin(world)
    ok(a.begin())
    a.end()
    assert {key: one["how"] for key, one in ends(b).items()} == {a.key("1"): "gone", a.key("2"): "gone"}


def test_what_is_listed_goes_on(world):
    a, b = begin(world)
    first = a.acquire("1", "a", "b", uid=5, holder="h", info=INFO)
    world.becomes_another_server()
    assert b.renew().word == "hello"
    ok(a.begin())
    a.lists(list_row("1", "held", first.claims, ticket=first.ticket, uid=5, holder="h"))
    a.lists(list_row("1", "waiting", [Claim("a", 1, 0, ()), Claim("b", 1, 0, ())],
                     ticket=first.ticket, uid=5, holder="h"))
    assert ends(a) == {}
    (word, _, n, since), = page(a)[1]
    assert (word, n) == ("missed", "0") and int(since) <= world.now


# ---- what operators did


def deeds(member):
    """(KEY, HOST, WORDS as a dict, CLAIMS) of each, the oldest first."""
    rows = [row[1:] for row in member.snapshot("!", "10000000 ago") if row[0] == "did"]
    return [(key, host, dict(word.split("=") for word in words.split(" ")), claims.split("|")[0])
            for _, key, host, words, *_, claims in rows]


def test_each_change_has_an_entry(world):
    a, b = world.several(2, {**DEFINITIONS, "p": definition("pool", items=["x", "y"]), "t/*": definition()})
    for words in (("limit", "a", "5", "too%20slow", "7 8"), ("remove", "p", "x", "", "7"), ("add", "p", "x", "", "7"),
                  ("pause", "t/*", "", "", "7"), ("reset", "a", "", "", "7"), ("reset", "p", "", "", "7")):
        ok(b.admin(*words))
    for refused in ("limit", "p", "3", "", "7"), ("pause", "none", "", "", "7"), ("found", "", "", "", "7"):
        assert a.admin(*refused).word == "refused"
    by = {"from": b.session, "by": "7"}
    assert deeds(a) == [("", b.host, {**words, **by}, f"{name} 1 0 -") for name, words in (
        ("a", {"how": "limit", "word": "5", "was": "2", "why": "too%20slow", "by_login": "8"}),
        ("p", {"how": "remove", "word": "x"}), ("p", {"how": "add", "word": "x", "was": "absent"}),
        ("t/*", {"how": "pause"}), ("a", {"how": "reset", "word": "2", "was": "5"}), ("p", {"how": "reset"}))]


def test_what_is_done_to_a_lease_has_an_entry(world):
    """But not what its owner gives back."""
    a, b = begin(world)
    a.acquire("4", "b", uid=5, holder="i")
    ok(b.admin("move", a.key("3"), "last", "", "0"))
    ok(b.admin("revoke", a.key("1"), "", "late", "0"))
    ok(b.admin("drop", a.key("2"), "", "", "0"))
    for by in "5", "6":
        ok(b.admin("drop", a.key("1"), "release", "", by))
        ok(b.admin("release", "b", "*", "", "i", by))
    assert [(key, words["how"], words.get("word"), words["by"], claims.split(" ")[0])
            for key, _, words, claims in deeds(a)] == [
        (a.key("3"), "move", "last", "0", "a"), (a.key("1"), "revoke", None, "0", "a"),
        (a.key("2"), "drop", None, "0", "a"), (a.key("1"), "release", None, "6", "a"),
        (a.key("4"), "release", None, "6", "b")]


def test_what_is_done_to_all_data_has_one_entry(world):
    a, b = world.several(2, {f"t/{i}": definition() for i in range(150)} | {"t/*": definition()})
    for i in range(150):
        ok(a.admin("pause", f"t/{i}", "", ""))
    reply = ok(b.admin("forget", "t/*", "", "old", "7"))
    while reply.rest[0]:
        reply = ok(b.admin("forget", "t/*", reply.rest[0], "old", "7"))
    key, host, words, claims = deeds(a)[-1]
    assert (key, host, claims) == ("", b.host, "t/* 1 0 -") and len(deeds(a)) == 151
    assert words == {"how": "forget", "from": b.session, "by": "7", "why": "old"}


def test_a_host_that_wants_none_has_none(world):
    a, = world.several(1, DEFINITIONS)
    assert agreed(world, a, 0) is None
    ok(a.admin("pause", "a", "", "", "7"))
    assert deeds(a) == []


def test_wherever_the_call_is_broken_off(world):
    for after in range(100):
        world.database.client.flushall()
        world.members.clear()
        a, b = begin(world)
        try:
            a.call("release", "1 how=released", "2 how=released", before=breaks_off(after))
        except Exception as error:  # of whatever kind the client makes it
            assert "broken off" in str(error)
        else:
            break
        ok(a.release("1 how=released", "2 how=released"))
        assert set(ends(b)) == {a.key("1"), a.key("2")}, after
        assert len(page(b)[1]) <= 4
        world.check()
    assert after > 5


def agreed(world, member, history):
    """How many are kept, as Redis has it, once the member has begun and wants that many."""
    member.history = history
    ok(member.begin())
    return world.database.client.hget(world.database.key["db"], "history")


def test_the_most_that_any_host_wants_are_kept(world):
    """Until one comes that is alone."""
    a, b = begin(world)
    client = world.database.client
    release(a, "1")
    assert [agreed(world, b, length) for length in (20, 0, None)] == ["10000"] * 3
    assert agreed(world, b, 20000) == "20000" == agreed(world, a, 10000)
    assert set(ends(b)) == {a.key("1")}
    world.pass_time(T + 1000, b)
    assert agreed(world, b, 20) == "20"
    for i in range(300):
        b.acquire(str(i + 10), "m")
        release(b, str(i + 10))
    assert 20 <= client.xlen(KEY) <= 120
    assert agreed(world, b, 0) is None
    assert client.exists(KEY) == 1 and client.xlen(KEY) == 0 and page(b) == ((world.now, "", "", ""), [])
    b.acquire("4", "m")
    release(b, "4")
    assert client.xlen(KEY) == 0
    assert agreed(world, a, 1000) == "1000" and page(a)[0][1] != "" and page(a)[1] == [], "from now on"
    assert agreed(world, b, None) == "1000", "who may not, does not decide"


def test_pages(world):
    a, b = begin(world)
    start = world.now
    for i in range(450):
        a.acquire(str(i + 10), "m")
        world.tick(1)
        release(a, str(i + 10))
    seen, following = [], "10000000 ago"
    while following:
        (_, first, following, _), rows = page(b, following)
        assert len(rows) <= 200 and int(first.split("-")[0]) <= start
        seen += [row[1] for row in rows]
    assert seen == [a.key(str(i + 10)) for i in range(450)]
    assert [row[1] for row in page(b, "10 ago")[1]] == seen[-11:]
    reverse, before = [], "+"
    while before:
        (_, _, before, _), rows = page(b, "299 ago", before)
        reverse += [row[1] for row in rows]
    assert reverse == seen[:-301:-1]


def is_lost(world):
    world.database.client.delete(KEY)


def is_of_another_type(world):
    world.database.client.delete(KEY)
    world.database.client.set(KEY, "x")


def is_nonsense(world):
    for value in ("", "x", "k\th\te\tnonsense", "a\tb\tc\t\x81", "\t\t\t"):
        world.database.client.xadd(KEY, {"e": value})
    world.database.client.xadd(KEY, {"m": "x"})
    world.database.client.xadd(KEY, {"what": "x", "e": "y"})


def is_from_the_future(world):
    world.database.client.xadd(KEY, {"s": ""}, id="18446744073709551615-18446744073709551615")


def is_without_rights(world):
    world.database.client.execute_command("ACL", "SETUSER", "default", "-xadd", "-xrange", "-xrevrange")


FAULTS = [is_lost, is_of_another_type, is_nonsense, is_from_the_future, is_without_rights]


@pytest.mark.parametrize("way", ["library", "script"])
@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_hinders_the_release(world, fault, way):
    world.database.ways = (way,)
    a, b = begin(world)
    fault(world)
    release(a, "1")
    world.pass_time(T + 1000, b)
    assert world.data().leases == {}
    ok(a.begin())
    assert ok(b.call("snapshot", "", "!", "9 ago")) and b.acquire("1", ("a", 2)).word == "granted"
    if fault in (is_lost, is_nonsense):
        assert set(ends(b)) == {a.key("1"), a.key("2")}
    if fault is is_without_rights:
        assert b.snapshot("!", "9 ago") == []
    world.check()


@pytest.mark.parametrize("fault", [is_of_another_type, is_without_rights])
def test_what_is_not_written_is_counted(world, fault):
    a, b = begin(world)
    fault(world)
    release(a, "1")
    world.tick(10)
    release(a, "2")
    missed = f"2 {world.now - 10}"
    assert world.database.client.hget(world.database.key["db"], "missed") == missed
    world.database.client.execute_command("ACL", "SETUSER", "default", "+@all")
    world.database.client.delete(KEY)
    release(a, "3")
    (*_, left), rows = page(b)
    assert left == "" and list(ends(b)) == [a.key("3")] and rows[0][2:] == tuple(missed.split(" "))


@pytest.mark.parametrize("way", ["library", "script"])
def test_at_maxmemory_ends_are_counted(world, way):
    world.database.ways = (way,)
    a, b = begin(world)
    release(a, "3", "how=cancelled")
    world.tick(1001)
    world.database.client.execute_command("CONFIG", "SET", "maxmemory", "1")
    full = world.now
    release(a, "1")
    world.tick(10)
    release(a, "2")
    assert list(ends(b)) == [a.key("3")] and page(b)[0][3] == f"2 {full}"
    assert world.database.client.hkeys(world.database.key["leases"]) == ["~"]
    world.database.client.execute_command("CONFIG", "SET", "maxmemory", "0")
    world.tick(1001)
    a.acquire("4", "a")
    release(a, "4")
    (*_, missed), rows = page(b)
    assert missed == "" and list(ends(b)) == [a.key("3"), a.key("4")]
    assert [row for row in rows if row[0] == "missed"] == [("missed", rows[1][1], "2", str(full))]

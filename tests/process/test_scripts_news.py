"""What is stored for all, as a log that daemons follow: definitions, operators' changes, and that
undone changes do not come back. On a real Redis, by the scripts alone."""

import contextlib
import json

import pytest

from fleet_help import needs_redis
from scripts_help import breaks_off, definition, ok, redis
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

DAY = 86400 * 1000
WALL = "1800000000000"  # at which the clock of these tests stands
PAUSED = '{"paused":true}'


def changes_in(rows):
    return {what[2:]: (version, text) for _, what, version, text in rows if what.startswith("c ")}


@contextlib.contextmanager
def heard(world):
    """What all daemons are told meanwhile."""
    with contextlib.closing(world.database.client.pubsub()) as channel:
        channel.subscribe("{berth}:all")
        assert channel.get_message(timeout=10)["type"] == "subscribe"
        messages = []
        yield messages
        world.database.client.publish("{berth}:all", "over")
        while (message := channel.get_message(timeout=10)) and message["data"] != "over":
            messages.append(message["data"])


# ---- following


def test_a_page_has_what_is_newer(world):
    a, b = world.several(2, {"a": definition(), "t/*": definition()})
    newest, floor, rows = a.follow()
    assert [what for _, what, *_ in rows] == ["d a", "d t/*"]
    assert floor == 0 and newest == rows[-1][0]
    ok(a.admin("limit", "a", "0"))
    ok(a.admin("pause", "t/x", "", "why", "0 7"))
    b.define({"a": definition(limit=2)}, generation=1)
    later, _, rows = b.follow(newest)
    assert [what for _, what, *_ in rows] == ["c t/x", "c a", "d a"]  # another limit ends the change
    assert json.loads(rows[0][3]) == {
        "paused": "0 7", "said": {"paused": [WALL, "0 7", "host1", "why"]}} and rows[1][3] == "{}"
    assert rows[0][2] < rows[1][2] < later
    assert b.follow(later) == (later, 0, [])


def test_many_come_in_pages(world):
    a, = world.several(1, {"t/*": definition()})
    for i in range(150):
        ok(a.admin("pause", f"t/{i}", "", "x" * (20000 if i < 10 else 1)))
    newest, _, rows = a.follow()
    assert len(changes_in(rows)) == 150 and rows[-1][0] == newest
    assert [number for number, *_ in rows] == sorted(number for number, *_ in rows)
    reply = ok(a.call("hello", "news", 0))
    assert sum(map(len, reply.rest)) < 3 * 20000 + 65536
    reply = ok(a.call("hello", "news", rows[20][0]))
    assert len(reply.rows(4, 2)) == 100


def test_a_renewal_says_whether_there_is_more(world):
    a, b = world.several(2, {"a": definition()})
    newest, _, _ = a.follow()
    assert ok(a.call("renew", 0, newest)).rest[0] == 0
    ok(b.admin("pause", "a", "", ""))
    assert ok(a.call("renew", 0, newest)).rest[0] == 2
    newest, _, _ = a.follow(newest)
    assert ok(a.call("renew", 0, newest)).rest[0] == 0


def test_one_message_for_all(world):
    """It says over how many ms to spread the fetching: one for each daemon."""
    a, *_ = world.several(5, {})
    with heard(world) as messages:
        a.define({f"r{i}": definition() for i in range(30)})
        ok(a.admin("pause", "r1", "", ""))
        a.define({f"r{i}": definition() for i in range(30)})
        world.members[1].define({f"r{i}": definition() for i in range(30)})
    words = [message.split(" ") for message in messages]
    assert [(word, spread) for word, _, spread in words] == [("news", "5")] * 2
    assert int(words[1][1]) == a.follow()[0] > int(words[0][1])
    assert world.data().raw["events"] == []


@pytest.mark.parametrize("what", ["define", "pause", "change"])
def test_the_cost_does_not_grow_with_the_daemons(world, what):
    a, *_ = world.several(3, {"a": definition(), "t/*": definition()})
    generation = 0

    def call():
        nonlocal generation
        generation += 1
        if what == "define":
            a.define({f"r{i}": definition() for i in range(20)}, generation)
        elif what == "pause":
            ok(a.admin("pause", "a", "", ""))
        else:
            a.send_changes(*((f"t/{i}", 4 * 10**15 + generation, PAUSED) for i in range(20)))

    call()
    few = world.n_commands(call)
    for number in range(40):
        world.member({"a": definition()})
    assert world.n_commands(call) == few


# ---- a database that has lost them


def test_the_newest_of_what_anybody_knows_holds(world):
    text = {"a": definition(limit=2)}
    a, b = world.several(2, text)
    ok(a.admin("limit", "a", "1"))
    first = changes_in(a.follow()[2])["a"]
    ok(b.admin("pause", "a", "", "x"))
    second = changes_in(b.follow()[2])["a"]
    assert second[0] > first[0]
    world.database.client.flushall()
    ok(a.begin())
    a.define(text)
    assert a.send_changes(("a", *first)) == (0, [])
    known, _, rows = a.follow()
    assert changes_in(rows)["a"] == first
    ok(b.begin())
    assert b.send_changes(("a", *second)) == (0, [])
    assert changes_in(a.follow(known)[2])["a"] == second
    assert a.send_changes(("a", *first)) == (0, [("a", *second)])
    ok(a.admin("resume", "a"))
    assert changes_in(a.follow()[2])["a"][0] > second[0]


def undone_long_ago(world, member, name):
    """Paused, and undone so long ago that it is not remembered: the pause as it was, and the floor."""
    ok(member.admin("pause", name, "", ""))
    old = changes_in(member.follow()[2])[name]
    ok(member.admin("resume", name))
    assert changes_in(member.follow()[2])[name][1] == "{}"
    world.tick(30 * DAY + 1)
    world.pass_time(1, *world.members)
    _, floor, rows = member.follow()
    assert name not in changes_in(rows) and old[0] < floor
    assert world.data().raw["undone"] == []
    return old, floor


def test_what_was_taken_back_does_not_come_again(world):
    a, b = world.several(2, {"a": definition(), "b": definition()})
    ok(b.admin("pause", "b", "", ""))
    old, floor = undone_long_ago(world, a, "a")
    assert b.send_changes(("a", *old)) == (floor, [("a", old[0], "{}")])
    assert list(changes_in(b.follow()[2])) == ["b"]
    assert a.acquire("1", "a").word == "granted"


def test_the_floor_comes_back(world):
    text = {"a": definition(), "b": definition()}
    a, b, c = world.several(3, text)
    ok(b.admin("pause", "b", "", ""))
    old, floor = undone_long_ago(world, a, "a")
    known = changes_in(a.follow()[2])
    world.database.client.flushall()
    ok(c.begin())
    c.define(text)
    assert c.send_changes(("a", *old)) == (0, [])  # it was away for a month, and comes first
    ok(a.begin())
    newest, _, rows = a.follow()
    assert changes_in(rows) == {"a": old}
    got, rows = a.send_changes(("a", floor, "{}"), ("b", *known["b"]), floor=floor, up_to=newest)
    assert (got, rows) == (0, [])  # not before it has told all, and has heard what others have told
    assert a.send_changes(floor=floor, up_to=newest)[0] == 0
    newest, _, _ = a.follow(newest)
    assert a.send_changes(floor=floor, up_to=newest) == (floor, [])
    now = changes_in(c.follow()[2])
    assert now == {"a": (floor, "{}"), "b": known["b"]}
    assert c.send_changes(("a", *old)) == (floor, [("a", floor, "{}")])


@pytest.mark.parametrize("changed", ["t/1", "t/*"])
def test_a_smaller_limit_ends_only_with_a_newer_file(world, changed):
    """Where files differ, the data that are lost may come back with another host's limit."""
    four, three = {"t/*": definition(limit=4)}, {"t/*": definition(limit=3)}
    a, b = world.member(four), world.member(three)
    world.end_grace(a, b)
    ok(a.admin("limit", changed, "2"))
    known = changes_in(b.follow()[2])[changed]
    world.database.client.flushall()
    ok(b.begin())
    b.send_changes((changed, *known))
    assert b.define(three)["t/*"][0] == "stored"
    b.end()
    world.end_grace(b)
    assert b.acquire("1", ("t/1", 2, 3, "t/*")).word == "granted"
    assert b.acquire("2", ("t/1", 1, 3, "t/*")).word == "waiting"
    assert b.define(three, generation=1)["t/*"][0] == "stored"
    assert set(b.granted()) == {"2"}


def test_a_new_limit_ends_the_changes_of_its_instances(world):
    """Not of a name below the template that has its own definition, nor what is no change of the limit."""
    own = {"t/own": definition(limit=4)}
    a, = world.several(1, {"t/*": definition(limit=4), "tt/*": definition(limit=4), **own})
    for name in "t/1", "t/2", "t/own", "t/*", "tt/1":
        ok(a.admin("limit", name, "2"))
    ok(a.admin("pause", "t/2", "", "", "0"))
    before = changes_in(a.follow()[2])
    assert a.define({"t/*": definition(limit=4, max_waiters=5)}, generation=1)["t/*"][0] == "stored"
    assert changes_in(a.follow()[2]) == before
    assert a.define({"t/*": definition(limit=5)}, generation=2)["t/*"][0] == "stored"
    after = changes_in(a.follow()[2])
    assert after["t/1"][1] == after["t/*"][1] == "{}"
    assert json.loads(after["t/2"][1]) == {"paused": "0", "said": {"paused": [WALL, "0", "host1", ""]}}
    assert {name for name in before if after[name] == before[name]} == {"t/own", "tt/1"}


def test_what_is_changed_is_above_the_floor(world):
    """Even if a script is broken off as it raises that number."""
    floor = 4 * 10**15
    after, was_broken = 0, True
    while was_broken:
        world.database.client.flushall()
        a = world.member({"a": definition()})
        newest, _, _ = a.follow()
        try:
            ok(a.call("hello", "change", floor, newest, before=breaks_off(after)))
            was_broken = False
        except redis.ResponseError as error:
            assert "broken off" in str(error)
        now = world.data().raw["db"]
        assert int(now.get("floor", 0)) <= int(now["number"]), after
        after += 1
    assert int(now["floor"]) == floor


def test_so_many_are_remembered(world):
    """Of undone changes; those in force stay."""
    a, = world.several(1, {"t/*": definition()})
    ok(a.admin("pause", "t/x", "", ""))
    for i in range(0, 1010):
        a.send_changes((f"t/{i}", 4 * 10**15 + i, "{}"))
        if i % 10 == 0:
            ok(a.admin("reset", "t/y"))
    newest, floor, rows = a.follow()
    now = changes_in(rows)
    assert 990 < len(world.data().raw["undone"]) <= 1000
    assert "t/x" in now and "t/1009" in now and "t/0" not in now
    assert floor > 0


def test_no_more_than_every_host_keeps_of_one_name(world):
    """The bytes of a change: it is refused, and all is as before."""
    items = [f"item-{i:05}" for i in range(4800)]
    a, = world.several(1, {"p": definition("pool", 0, items), "t/*": definition()})
    ok(a.admin("remove", "p", items[0]))
    newest, _, rows = a.follow()
    for i in range(1, 4800):
        reply = a.admin("remove", "p", items[i])
        if reply.word == "refused":
            break
    assert reply.rest == ["too-much", "p"]
    _, text = changes_in(a.follow()[2])["p"]
    assert 65536 - 20 < len(text) <= 65536
    assert len(a.acquire("all", ("p", 4800 - i)).units) == 4800 - i
    ok(a.admin("reset", "p"))
    ok(a.admin("remove", "p", items[0]))


def test_how_many_slots_are_reserved(world):
    a, = world.several(1, {"a": definition(limit=1000), "p": definition("pool", 0, map(str, range(100)))})
    for slot in range(64):
        ok(a.admin("reserve", "a", str(slot), "x"))
    assert a.admin("reserve", "a", "64", "x").code == "too-much"
    ok(a.admin("reserve", "a", "0", "another reason"))
    assert a.acquire("1", ("a", 2)).units == ("64", "65")
    for item in range(100):
        ok(a.admin("reserve", "p", str(item), "x"))


def test_no_more_than_every_host_keeps_of_all_names(world):
    a, = world.several(1, {"t/*": definition(), "a": definition(), "b": definition()})
    for at in range(0, 9000, 100):
        a.send_changes(*((f"t/{i}", 4 * 10**15 + i, PAUSED) for i in range(at, at + 100)))
    reply = a.admin("pause", "a", "", "")
    assert (reply.word, *reply.rest) == ("refused", "too-much", "a")
    assert a.acquire("1", "a").word == "granted"
    ok(a.admin("limit", "t/8", "0"))  # is among them
    ok(a.admin("reset", "t/7"))
    ok(a.admin("pause", "a", "", ""))
    assert a.admin("pause", "b", "", "").code == "too-much"

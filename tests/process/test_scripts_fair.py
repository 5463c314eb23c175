"""`order = fair`: a request that comes while others wait has a rank for a ticket, so that users, or the words that
requests give, take turns (doc/ordering.md)."""

import collections
import re

from fleet_help import needs_redis
from scripts_help import Claim, definition, list_row, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

A, B, C = 1001, 1002, 1003


def order(world, name="a"):
    return [key.split("/")[1] for key in world.check().queued[name]]


def turns(world):
    """What the database has of them."""
    data = world.check()
    if not data.waiting():
        assert not [field for field in data.raw["db"] if field.startswith(("fair ", "word "))]
        assert not [member for member, _ in data.raw["identities"] if "  " in member]
    return {field: int(value) for field, value in data.raw["db"].items() if field.startswith("fair ")}


def members(world):
    """But those for the words of users."""
    return [member for member, _ in world.check().raw["identities"] if re.search("  [0-9]+ [us]", member)]


def granted(*of):
    return [lease for one in of for lease in one.granted()]


def begin(world, n=1, **more):
    """The first one holds "0", all of `a`."""
    made = world.several(n, {"a": definition(limit=2, fair="user"), **more})
    made[0].acquire("0", ("a", 2), uid=A)
    return made if n > 1 else made[0]


def test_users_take_turns(world):
    a = begin(world)
    for i in range(1, 5):
        a.acquire(f"a{i}", "a", uid=A)
    for i in range(1, 4):
        a.acquire(f"b{i}", "a", uid=B)
    a.acquire("c1", "a", uid=C)
    assert order(world) == ["a1", "b1", "c1", "a2", "b2", "a3", "b3", "a4"]
    ok(a.release("0"))
    assert granted(a) == ["a1", "b1"]
    a.acquire("c2", "a", uid=C)
    a.acquire("b4", "a", uid=B)
    assert order(world) == ["c1", "a2", "b2", "c2", "a3", "b3", "a4", "b4"]


def test_a_request_for_more_counts_for_more(world):
    a = begin(world)
    a.acquire("a1", ("a", 2), uid=A)
    a.acquire("a2", ("a", 2), uid=A)
    for i in range(1, 5):
        a.acquire(f"b{i}", "a", uid=B)
    assert order(world) == ["b1", "a1", "b2", "b3", "a2", "b4"]


def test_all_counts_for_the_limit(world):
    a = begin(world)
    a.acquire("a1", "a", uid=A, info="pid=1 all=a")
    a.acquire("a2", "a", uid=A)
    for i in range(1, 4):
        a.acquire(f"b{i}", "a", uid=B)
    assert order(world) == ["b1", "a1", "b2", "a2", "b3"]


def test_words_take_turns_whoever_the_user(world):
    a, = world.several(1, {"a": definition(fair="share")})
    a.acquire("0", "a")
    for lease, uid, word in (("x1", A, "x"), ("x2", B, "x"), ("x3", A, "x"), ("y1", A, "y"), ("u1", A, ""),
                             ("u2", A, ""), ("v1", B, "")):
        a.acquire(lease, "a", uid=uid, info=f"pid=1 share={word} at=1" if word else "pid=1")
    assert order(world) == ["u1", "v1", "x1", "y1", "u2", "x2", "x3"]


def test_without_anybody_who_waits_nothing_is_written(world):
    a, = world.several(1, {"a": definition(fair="user"), "b": definition()})
    assert a.acquire("0", "a").word == "granted"
    assert a.acquire("1", "b").word == "granted" and a.acquire("2", "b").word == "waiting"
    assert not members(world) and not turns(world) and "fairs" not in world.check().raw["db"]


def test_what_is_left_goes_with_the_last_one(world):
    a, b = begin(world, 2)
    b.acquire("1", "a", uid=B)
    b.acquire("2", ("a", 2), uid=B)
    b.acquire("3", "a", uid=B, priority=3)
    assert len(members(world)) == 3 and not turns(world)
    ok(a.release("0"))
    assert granted(b) == ["3", "1"]  # nobody else waited where the first of these did
    assert list(turns(world)) == ["fair a  50000"]
    assert len(members(world)) == 1
    ok(b.release("2"))
    assert not members(world) and not turns(world)


def test_who_asks_first_while_a_quota_lets_none_of_the_others_go(world):
    a, = world.several(1, {"a": definition(fair="user", user=1)})
    a.acquire("a0", "a", uid=A)
    for i in range(1, 4):
        a.acquire(f"a{i}", "a", uid=A)
    for i in range(1, 3):
        a.acquire(f"b{i}", "a", uid=B)
    ok(a.release("a0"))
    assert granted(a) == ["a1"]
    ok(a.release("a1"))
    assert granted(a) == ["b1"]


def test_what_a_broken_off_call_has_left_of_a_flow_takes_its_word_along(world):
    a = begin(world)
    for lease, word in ("1", "x"), ("2", "y"):
        a.acquire(lease, "a", uid=A, info=f"pid=1 share={word}")
    world.database.client.zadd(world.database.key["identities"], {f"a  50000 u{A} {5:016} s/gone": 0})
    world.database.was_edited()
    ok(a.release("0"))
    assert granted(a) == ["1", "2"] and f"word a  50000 u{A}" in world.data().raw["db"]
    assert a.acquire("3", "a", uid=A, nowait=True).word == "refused"  # finds what is left
    assert not members(world) and not turns(world)


def test_a_turn_that_is_over_does_not_come_back(world):
    """Who asks again each time gets no more than one who asked for many at once."""
    a, = world.several(1, {"a": definition(fair="user")})
    a.acquire("a0", "a", uid=A)
    for i in range(1, 7):
        a.acquire(f"a{i}", "a", uid=A)
    a.acquire("b1", "a", uid=B)
    went, lease = "", "a0"
    while "a6" not in went:
        ok(a.release(lease))
        lease, = granted(a)
        went += lease
        if lease[0] == "b":
            a.acquire(f"b{int(lease[1]) + 1}", "a", uid=B)
    assert went == "a1b1a2b2a3b3a4b4a5b5a6"


def test_who_asks_for_little_again_and_again_has_no_more_turns(world):
    a, = world.several(1, {"a": definition(limit=4, fair="user")})
    a.acquire("c", ("a", 3), uid=C)
    a.acquire("b0", "a", uid=B)
    a.acquire("a1", ("a", 4), uid=A)
    for i in range(1, 4):
        a.acquire(f"b{i}", "a", uid=B)
        assert order(world) == [f"b{i}", "a1"]
        ok(a.release(f"b{i - 1}"))
        assert granted(a) == [f"b{i}"]
    a.acquire("b4", "a", uid=B)
    a.acquire("b5", "a", uid=B)
    assert order(world) == ["a1", "b4", "b5"]


def test_who_goes_at_once_has_had_a_turn(world):
    """While somebody waits for more than is free, others before it go at once by their ranks: each time later."""
    a, b = world.several(2, {"a": definition(limit=4, fair="user")})
    a.acquire("0", ("a", 2), uid=A)
    a.acquire("1", ("a", 4), uid=A)
    went = []
    for i in range(8):
        reply = b.acquire(f"b{i}", "a", uid=B)
        went.append(reply.word)
        if reply.word == "granted":
            ok(b.release(f"b{i}"))
    assert went == ["granted"] * 3 + ["waiting"] * 5
    assert b.acquire("c", "a", uid=C, nowait=True).code == "would-wait"


def test_who_comes_back_from_aside_has_saved_nothing(world):
    a, = world.several(1, {"a": definition(fair="user"), "p": definition(limit=9)})
    ok(a.admin("pause", "p", "", "why"))
    a.acquire("0", "a", uid=C)
    for i in range(1, 4):
        a.acquire(f"a{i}", "a", "p", uid=A)
    for i in range(1, 9):
        a.acquire(f"b{i}", "a", uid=B)
    ok(a.release("0", *(f"b{i}" for i in range(1, 8))))
    assert granted(a) == ["b8"]
    a.acquire("b9", "a", uid=B)
    ok(a.admin("resume", "p"))
    a.acquire("c1", "a", uid=C)
    a.acquire("c2", "a", uid=C)  # not before those that have waited
    assert order(world) == ["a1", "a2", "c1", "a3", "b9", "c2"]


def test_each_priority_has_its_own_turns(world):
    a = begin(world)
    for i in range(1, 4):
        a.acquire(f"a{i}", "a", uid=A)
        a.acquire(f"p{i}", "a", uid=A, priority=1)
    a.acquire("q1", "a", uid=B, priority=1)
    ok(a.release("0"))
    assert granted(a) == ["p1", "q1"]
    ok(a.release("p1", "q1"))
    assert granted(a) == ["p2", "p3"]
    a.acquire("b1", "a", uid=B)
    assert order(world) == ["a1", "b1", "a2", "a3"]


def test_much_that_waits_with_a_small_priority_delays_nothing_urgent(world):
    a = begin(world, c=definition(limit=900, fair="user"))
    a.acquire("c0", ("c", 900), uid=C)
    for i in range(1, 4):
        a.acquire(f"a{i}", ("c", 900), uid=A)
    for i in range(1, 4):
        a.acquire(f"q{i}", "c", uid=B, priority=1)
    a.acquire("p1", "c", uid=A, priority=1)
    assert order(world, "c") == ["p1", "q1", "q2", "q3", "a1", "a2", "a3"]


def test_later_tickets_are_above_all_granted_ranks(world):
    a = begin(world, b=definition(), **{"c": definition(limit=1000, fair="user")})
    a.acquire("c0", ("c", 1000), uid=B)
    a.acquire("b0", "b", uid=B)
    for i in range(1, 4):
        a.acquire(f"c{i}", ("c", 900), uid=A)
    a.acquire("c4", ("c", 900), "b", uid=A)
    ok(a.release("c0", "c1", "c2"))
    a.acquire("b1", "b", uid=B)
    leases = world.check().leases
    ticket = {lease: leases[a.key(lease)]["ticket"] for lease in ("c3", "c4", "b1")}
    assert granted(a) == ["c3"] and turns(world) == {"fair c  50000": ticket["c3"]}
    assert ticket["c3"] < ticket["b1"] < ticket["c4"] == ticket["c3"] + 900


def test_several_resources_have_the_rank_of_the_first_fair_one(world):
    a = begin(world, b=definition(), z=definition(fair="user"))
    a.acquire("b0", "b", uid=A)
    a.acquire("z0", "z", uid=A)
    for i in range(1, 4):
        a.acquire(f"a{i}", "a", uid=A)
    a.acquire("m", "z", "a", "b", uid=B)
    assert [member.split(" ")[0] for member in members(world)] == ["a"] * 4
    leases = world.check().leases
    ticket = {lease: leases[a.key(lease)]["ticket"] for lease in ("a1", "a2", "m")}
    assert ticket["a1"] <= ticket["m"] < ticket["a2"]
    ok(a.release("b0", "z0"))
    ok(a.release("0"))
    assert granted(a) == ["a1", "m"] and list(turns(world)) == ["fair a  50000"]


def test_move(world):
    a = begin(world)
    for i in range(1, 4):
        a.acquire(f"a{i}", "a", uid=A)
    for i in range(1, 3):
        a.acquire(f"b{i}", "a", uid=B)
    ok(a.admin("move", a.key("a3"), "first"))
    assert order(world) == ["a3", "a1", "b1", "a2", "b2"] and len(members(world)) == 4
    ok(a.admin("move", a.key("a1"), "last"))
    assert order(world) == ["a3", "b1", "a2", "b2", "a1"] and len(members(world)) == 5 - 1
    ok(a.admin("move", a.key("a3"), "last"))
    assert order(world)[-1] == "a3" and len(members(world)) == 5
    ok(a.release("0"))
    assert granted(a) == ["b1", "a2"]


def test_a_move_is_behind_its_own_rank(world):
    a = begin(world)
    for lease, uid in ("a1", A), ("b1", B), ("a2", A), ("a3", A):
        a.acquire(lease, "a", uid=uid)
    for expected in ["a1", "a2", "b1", "a3"], ["a1", "a2", "a3", "b1"]:
        ok(a.admin("move", a.key("b1"), "last"))
        assert order(world) == expected and len(members(world)) == 4
    ok(a.release("0"))
    assert granted(a) == ["a1", "a2"]


def test_files_that_differ(world):
    a, b = world.several(2, {"a": definition(fair="user")})
    for fair, verdict in (("user", "same"), ("share", "differs"), (None, "differs")):
        assert b.define({"a": definition(fair=fair)})["a"][0] == verdict
    assert b.define({"a": definition()}, generation=2)["a"][0] == "stored"
    assert a.define({"a": definition(fair="user")})["a"][0] == "newer"


def test_a_grant_before_all_moves_no_turn(world):
    a = begin(world)
    for i in range(1, 4):
        a.acquire(f"a{i}", "a", uid=A)
    ok(a.admin("move", a.key("a3"), "first"))
    ok(a.release("0"))
    assert granted(a) == ["a3", "a1"]
    a.acquire("b1", "a", uid=B)
    assert all(ticket < 2 ** 52 for ticket in turns(world).values()) and order(world) in (["a2", "b1"], ["b1", "a2"])


def test_a_database_that_has_lost_it_goes_on(world):
    a = begin(world)
    for i in range(1, 4):
        a.acquire(f"a{i}", "a", uid=A)
    a.acquire("b1", "a", uid=B)
    leases = world.check().leases
    ticket = {lease: leases[a.key(lease)]["ticket"] for lease in ("a1", "a2", "a3", "b1")}
    world.database.client.delete(*world.database.keys)
    ok(a.begin())
    a.define({"a": definition(limit=2, fair="user")})
    for lease, uid in (("a3", A), ("b1", B), ("a2", A), ("a1", A)):
        a.lists(list_row(lease, "waiting", [Claim("a", 1, 0, ())], ticket=ticket[lease], uid=uid))
    a.acquire("a4", "a", uid=A)
    a.acquire("b2", "a", uid=B)
    a.acquire("c1", "a", uid=C)
    assert order(world) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


def test_a_reload_gives_turns_to_those_who_wait(world):
    a, = world.several(1, {"a": definition()})
    a.acquire("0", "a")

    def reload(generation, fair, leases):
        known = world.check().leases
        ok(a.begin())
        a.define({"a": definition(fair=fair)}, generation=generation)
        a.lists(list_row("0", "held", known[a.key("0")]["claims"]),
                *(list_row(lease, "waiting", [Claim("a", 1, 0, ())], ticket=known[a.key(lease)]["ticket"],
                           uid={"a": A, "b": B}[lease[0]]) for lease in leases))
        a.end()

    for i in range(1, 4):
        a.acquire(f"a{i}", "a", uid=A)
    reload(2, "user", ["a1", "a2", "a3"])
    a.acquire("b1", "a", uid=B)
    a.acquire("a4", "a", uid=A)
    assert order(world) == ["a1", "b1", "a2", "a3", "a4"]
    reload(3, None, ["a1", "a2", "a3", "a4", "b1"])
    a.acquire("c1", "a", uid=C)
    assert order(world)[-1] == "c1"
    ok(a.release("0", "a1", "a2", "a3", "a4", "b1", "c1"))
    assert not members(world) and not turns(world)


def test_a_user_s_words_take_turns(world):
    """In the order of their bytes; those of one word in the order in which they came; others see the same turns."""
    a, b = world.several(2, {"a": definition(fair="user")})
    a.acquire("0", "a", uid=A, info="pid=1 share=x")
    for lease, uid, word in (("x1", A, "x"), ("x2", A, "x"), ("x3", A, "x"), ("b1", B, "x"), ("y1", A, "y"),
                             ("b2", B, "x"), ("y2", A, "y"), ("z1", A, "z"), ("u1", A, ""), ("b3", B, "y"),
                             ("x4", A, "x")):
        one = b if lease in ("x2", "y1", "z1") else a
        one.acquire(lease, "a", uid=uid, info=f"pid=1 share={word}" if word else "pid=1")
    held, went = a.key("0"), []
    while len(went) < 11:
        session, lease = held.split("/")
        ok({a.session: a, b.session: b}[session].release(lease))
        held, = world.check().holding()
        went.append(held.split("/")[1])
    assert "".join(lease[0] for lease in went).replace("b", "") == "xyzuxyxx"
    assert [lease for lease in went if lease[0] == "x"] == ["x1", "x2", "x3", "x4"]
    assert [lease for lease in went if lease[0] == "y"] == ["y1", "y2"]
    assert [[lease[0] == "b" for lease in went[i:i + 2]].count(True) for i in (0, 2, 4)] == [1, 1, 1], went
    for one in (a, b):
        one.renew()
        told = {event.split(" ")[1] for event in one.events if event.startswith("granted")}
        assert told == {lease for lease in went if (one is b) == (lease in ("x2", "y1", "z1"))}
    ok({a.session: a, b.session: b}[held.split("/")[0]].release(went[-1]))
    assert not turns(world)


def test_a_word_s_turn_is_only_for_what_wants_as_much(world):
    a, = world.several(1, {"a": definition(limit=2, fair="user"), "b": definition()})
    a.acquire("0", ("a", 2), uid=A, info="pid=1 share=x")
    for lease, claims, word, priority in (("1", ["a"], "x", 0), ("2", ["a"], "x", 0), ("3", [("a", 2)], "y", 0),
                                          ("4", ["a", "b"], "y", 0), ("5", ["a"], "y", -1),
                                          ("6", ["a"], "y", 0)):
        a.acquire(lease, *claims, uid=A, priority=priority, info=f"pid=1 share={word}")
    ok(a.release("0"))
    assert granted(a) == ["1", "6"]
    events = [event for event in a.events if event.startswith("moved ")]
    data = world.check()
    assert [event.split(" ")[1] for event in events] == ["2"] and order(world)[-2:] == ["2", "5"]
    assert int(events[0].split(" ")[2]) == data.leases[a.key("2")]["ticket"] > data.leases[a.key("6")]["ticket"]


def test_before_the_first_grant_no_word_is_in_turn(world):
    a = begin(world)
    for lease in ("y1", "x1", "y2"):
        a.acquire(lease, "a", uid=A, info=f"pid=1 share={lease[0]}")
    ok(a.release("0"))
    assert granted(a) == ["y1", "x1"]


def test_tickets_that_are_equal_are_not_swapped(world):
    a = begin(world)
    world.becomes_another_server()
    ok(a.begin())
    for lease, ticket, word in (("5", 6, "x"), ("6", 7, "x"), ("7", 7, "y")):
        a.lists(list_row(lease, "waiting", [Claim("a", 1, 0, ())], ticket=ticket, uid=A, info=f"pid=1 share={word}"))
    a.end()
    world.end_grace(a)
    assert granted(a) == ["5", "6"] and order(world) == ["7"]


def test_a_moved_request_is_the_last_of_its_word(world):
    a, = world.several(1, {"a": definition(fair="user")})
    a.acquire("0", "a", uid=A, info="pid=1 share=x")
    for lease in ("x1", "x2", "x3", "y1", "y2", "y3"):
        a.acquire(lease, "a", uid=A, info=f"pid=1 share={lease[0]}")
    ok(a.release("0"))
    ok(a.release("x1"))
    assert granted(a) == ["x1", "y1"]
    ok(a.admin("move", a.key("x2"), "last"))
    went = []
    for lease in ("y1", "x3", "y2", "x2"):
        ok(a.release(lease))
        went += granted(a)
    assert went == ["x3", "y2", "x2", "y3"]


def test_who_always_waits_gets_an_equal_part(world, chance):
    """Of k users that always have requests there, each as many as it likes: none is ahead of another by more than one
    of the largest grants. Others come and go."""
    largest, limit = 3, 7
    a, b = world.several(2, {"a": definition(limit=limit, fair="user")})
    hosts, users = {a.session: a, b.session: b}, [A, B, C]
    a.acquire("0", ("a", limit), uid=1)
    had, waits, number = collections.Counter(), {}, 0
    sums = []

    def ask(uid):
        nonlocal number
        number += 1
        count = chance.randint(1, largest)
        host = chance.choice([a, b])
        if host.acquire(str(number), ("a", count), uid=uid).word == "waiting":
            waits[host.key(str(number))] = (uid, count)
        elif uid in users:
            had[uid] += count
            held.append(host.key(str(number)))
        else:
            held.append(host.key(str(number)))

    held = []
    for uid in users:
        for _ in range(chance.randint(1, 12)):
            ask(uid)
    ok(a.release("0"))
    for _ in range(250):
        for host in (a, b):
            for lease in host.granted():
                uid, count = waits.pop(host.key(lease))
                had[uid] += count if uid in users else 0
                held.append(host.key(lease))
        for uid in users:
            n = sum(1 for of, _ in waits.values() if of == uid)
            for _ in range(1 if n == 0 else chance.choice([0, 0, 0, 1, 2]) if n < 15 else 0):
                ask(uid)
        if chance.random() < 0.2:
            ask(chance.randint(2000, 2005))
        sums.append(max(had.values()) - min(had[uid] for uid in users))
        assert sums[-1] <= 2 * largest, (had, waits)
        if held:
            session, lease = held.pop(chance.randrange(len(held))).split("/")
            ok(hosts[session].release(lease))
    assert sum(had.values()) > 200


def test_nobody_starves(world, chance):
    """Ever new users, some of them with a request for something else as well that has an order of its own: whoever
    waits is served after a bounded number of grants, there and here."""
    a, b = world.several(2, {"a": definition(limit=6, fair="user"), "b": definition(limit=3),
                             "z": definition(limit=3, fair="share")})
    kinds = [("a",), ("b",), ("z",), ("a", "b"), ("b", "z"), ("a", "z")]
    hosts, held, since, n_granted, largest = {a.session: a, b.session: b}, [], {}, 0, 0

    def ask(number):
        host, names = chance.choice([a, b]), chance.choice(kinds)
        count = {"a": chance.choice([1, 1, 2, 6]), "b": chance.choice([1, 1, 3]), "z": 1}
        reply = host.acquire(str(number), *((name, count[name]) for name in names),
                             uid=chance.choice([A, A, A, B, 5000 + number]), priority=0,
                             info=f"pid=1 share={chance.choice('vwxyz')}")
        if reply.word == "waiting":
            since[host.key(str(number))] = n_granted
        else:
            held.append(host.key(str(number)))

    for number in range(700):
        if len(since) < 25:
            ask(number)
        for host in (a, b):
            for lease in host.granted():
                n_granted += 1
                largest = max(largest, n_granted - since.pop(host.key(lease)))
                held.append(host.key(lease))
        while held and (len(since) > 20 or chance.random() < 0.5):
            session, lease = held.pop(chance.randrange(len(held))).split("/")
            ok(hosts[session].release(lease))
            if len(held) < 3:
                break
        world.tick(1500)
        for host in (a, b):
            ok(host.renew())
    assert n_granted > 200 and largest < 150
    assert all(n_granted - at < 150 for at in since.values())

"""Requests for several resources: where each stands, what is kept for it, and for how long
(doc/ordering.md). The scripts on a real Redis; time passes only when a test says so."""

import pytest

from fleet_help import needs_redis
from scripts_help import Claim, definition, list_row, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

T = 30000
KEEP = 4000


def two(world, **more):
    """Two daemons; `db` has 4, `licence` one."""
    return world.several(2, {"db": definition(limit=4, keep=KEEP), "licence": definition(keep=60000), **more})


def one_for_both(world, **more):
    """Each of the two has all of one, and "several" waits for both."""
    a, b = two(world, **more)
    a.acquire("held", "licence")
    a.acquire("all", ("db", 4))
    a.acquire("several", ("db", 3), "licence", uid=7)
    return a, b


def keeper(world, **more):
    """A licence is kept for it while it waits for db."""
    a, b = one_for_both(world, **more)
    ok(a.release("held"))
    assert kept(world, "licence") == {"several": 1}
    return a, b


def kept(world, name):
    """By the id of each lease for which some of it is kept."""
    return {key.split("/")[1]: n for (of, key), n in world.check().kept.items() if of == name}


def stands(world, lease):
    """The queue; or, if aside, for what and why."""
    data = world.check()
    key, = [key for key in data.waiting() if key.endswith(f"/{lease}")]
    return data.queues[key] or [" ".join(member.split(" ")[:2]) for member in data.aside[key]]


def word(member, *args, **options):
    return member.acquire(*args, **options).word


# ---- what stays free

def test_what_a_waiter_has_enough_of_goes_to_others(world):
    a, b = two(world)
    a.acquire("held", "licence")
    assert a.acquire("several", ("db", 4), "licence").position == 1
    assert stands(world, "several") == ["licence"]
    for i in range(4):
        assert b.acquire(str(i), "db").word == "granted"
    assert b.acquire("4", "db").position == 2


def test_it_stands_for_the_largest_part_of_what_it_lacks(world):
    a, b = two(world, big=definition(limit=10))
    a.acquire("all", ("db", 4), "licence", ("big", 10))
    a.acquire("first", ("db", 1), ("big", 4))
    a.acquire("second", "db", "licence", ("big", 9))
    a.acquire("third", ("db", 2), ("big", 5))
    assert [stands(world, name) for name in ("first", "second", "third")] == [["big"], ["licence"], ["big"]]


def test_what_has_come_is_kept_while_it_stands_for_the_next(world):
    a, b = one_for_both(world)
    assert stands(world, "several") == ["licence"]
    ok(a.release("held"))
    assert stands(world, "several") == ["db"] and kept(world, "licence") == {"several": 1}
    assert word(b, "later", "licence") == "waiting"
    assert b.acquire("no", "licence", nowait=True).code == "would-wait"
    ok(a.release("all"))
    assert list(a.granted()) == ["several"]
    assert kept(world, "licence") == {} and not b.granted()
    ok(a.release("several"))
    assert list(b.granted()) == ["later"]
    ok(b.release("later"))
    world.must_be_empty()


# ---- in order

def test_an_older_or_more_important_one_takes_what_is_kept(world):
    a, b = keeper(world)
    assert word(b, "boss", "licence", priority=5) == "granted"
    assert stands(world, "several") == ["licence"] and kept(world, "licence") == {}
    ok(a.release("all"))
    assert not a.granted()
    ok(b.release("boss"))
    assert list(a.granted()) == ["several"]


def test_a_waiter_from_another_queue_takes_no_kept_unit(world):
    a, b = one_for_both(world, another=definition())
    b.acquire("taken", "another")
    b.acquire("later", "another", "licence")
    ok(a.release("held"))
    assert stands(world, "later") == ["another"] and kept(world, "licence") == {"several": 1}
    ok(b.release("taken"))
    assert stands(world, "later") == ["licence"] and kept(world, "another") == {"later": 1}
    ok(a.release("all"))
    assert list(a.granted()) == ["several"] and not b.granted()
    ok(a.release("several"))
    assert list(b.granted()) == ["later"]


def test_two_keepers_do_not_wait_for_each_other(world):
    a, b = two(world, x=definition(), y=definition())
    a.acquire("x", "x")
    a.acquire("y", "y")
    a.acquire("first", "x", "y")
    b.acquire("second", "y", "x")
    ok(a.release("x", "y"))
    assert list(a.granted()) == ["first"]
    ok(a.release("first"))
    assert list(b.granted()) == ["second"]


# ---- for bounded time

def test_patience_ends(world):
    a, b = keeper(world)
    assert word(b, "later", "licence") == "waiting"
    world.pass_time(KEEP - 1000, a, b)
    assert kept(world, "licence") == {"several": 1} and not b.granted()
    world.pass_time(1000, a, b)
    assert kept(world, "licence") == {} and stands(world, "several") == ["db"]
    assert list(b.granted()) == ["later"]


def test_it_begins_with_what_it_was_missing(world):
    a, b = keeper(world)
    world.pass_time(KEEP, a, b)
    b.acquire("held", "licence")
    ok(a.release("all"))
    assert stands(world, "several") == ["licence"] and kept(world, "db") == {"several": 3}
    assert word(b, "1", "db") == "granted" and word(b, "2", "db") == "waiting"
    world.pass_time(2 * KEEP - 1000, a, b)
    assert kept(world, "db") == {"several": 3}
    world.pass_time(1000, a, b)
    assert kept(world, "db") == {} and list(b.granted()) == ["2"]
    ok(b.release("held"))
    assert stands(world, "several") == ["db"] or list(a.granted()) == ["several"]


def test_the_keeper_s_daemon_is_called_in_time(world):
    a, b = two(world)
    a.acquire("held", "licence")
    b.acquire("all", ("db", 4))
    b.acquire("several", ("db", 3), "licence")
    assert 0 < ok(a.release("held")).due <= KEEP + 1  # the one that has brought that about
    assert 0 < ok(b.renew()).due <= KEEP + 1  # the keeper's own
    c = world.member(hello=True)
    assert ok(c.renew()).due == -1
    world.tick(3000)
    assert ok(b.renew()).due <= KEEP - 3000 + 1
    world.tick(1000)
    ok(a.renew())
    assert kept(world, "licence") == {}


def saturated(world, order):
    """Two ask for `db` again and again, and one for `licence`; another wants both."""
    a, b = world.several(2, {"db": definition(limit=2, keep=KEEP), "licence": definition(keep=KEEP)})
    n = 0

    def again(name):
        nonlocal n
        n += 1
        b.acquire(f"{name}{n}", name)

    for name in ("db", "db", "licence"):
        again(name)
    a.acquire("both", ("db", 2), "licence")
    for i in range(120):
        again(order[i % len(order)])
        data = world.check()
        held = sorted(key.split("/")[1] for key in data.holding())
        if "both" in held:
            return i
        ok(b.release(held[i % len(held)]))
        world.pass_time(700, a, b)
    raise AssertionError("it starves")


@pytest.mark.parametrize("order", [("db", "db", "licence"), ("licence", "db"), ("db",) * 7 + ("licence",)])
def test_nobody_starves(world, order):
    assert saturated(world, order) < 100


def attacked(world, mine, wanted):
    """A user fills their own resource and asks for that and for what others need: when others get
    that."""
    a, b = world.several(2, {"etl": definition(keep=KEEP), "market/*": definition(limit=2, keep=KEEP)})
    of_mine = (mine, 1, None, "market/*")
    a.acquire("fills", (mine, 2, None, "market/*"), uid=7)
    b.acquire("0", wanted)
    a.acquire("attack", wanted, of_mine, uid=7)
    granted = []
    for i in range(1, 60):
        b.acquire(str(i), wanted)
        held = [key.split("/")[1] for key in world.check().holding() if "fills" not in key]
        if held:
            ok(b.release(*held))
            granted.append(i)
        world.pass_time(500, a, b)
    return granted


@pytest.mark.parametrize("mine", ["market/a", "market/z"])  # the name is smaller, or larger, than etl
def test_an_impossible_request_stops_no_other(world, mine):
    granted = attacked(world, mine, "etl")
    assert len(granted) > 40
    assert max(b - a for a, b in zip(granted, granted[1:])) * 500 <= KEEP + 1000


# ---- a lease aside keeps nothing

@pytest.mark.parametrize("change, back", [
    (("pause", "db", "", "why"), ("resume", "db")), (("pause", "licence", "", "why"), ("resume", "licence")),
    (("limit", "db", "2"), ("reset", "db")), (("limit", "db", "0"), ("limit", "db", "3"))])
def test_a_waiter_set_aside_keeps_nothing(world, change, back):
    a, b = keeper(world)
    ok(b.admin(*change))
    assert kept(world, "licence") == {} and stands(world, "several") == [f"{change[1]} b"]
    if change[1] == "db":
        assert word(b, "later", "licence") == "granted"
        ok(b.release("later"))
    ok(b.admin(*back))
    ok(a.release("all"))
    assert list(a.granted()) == ["several"]


def test_a_request_above_the_limit_holds_up_no_other(world):
    a, b = two(world)
    a.acquire("all", ("db", 4))
    a.acquire("large", ("db", 4))
    a.acquire("small", "db")
    ok(b.admin("limit", "db", "2"))
    ok(a.release("all"))
    assert list(a.granted()) == ["small"]
    ok(b.admin("reset", "db"))
    ok(a.release("small"))
    assert list(a.granted()) == ["large"]


def test_what_is_kept_counts_in_the_quota(world):
    a, b = world.several(2, {"q": definition(limit=9, user=2), "db": definition(limit=4, keep=KEEP)})
    a.acquire("q", ("q", 2), uid=7)
    a.acquire("all", ("db", 4))
    a.acquire("several", ("q", 1), ("db", 4), uid=7)
    ok(a.release("q"))
    assert stands(world, "several") == ["db"]
    a.acquire("held", ("q", 8))
    a.acquire("more", ("q", 2), ("db", 4), uid=7, priority=-1)
    ok(a.release("held"))
    assert word(b, "q", ("q", 2), uid=7) == "granted"  # nothing of q is kept: it was not missing
    ok(b.release("q"))


def test_a_quota_s_own_later_request_waits_for_what_is_kept(world):
    a, b = world.several(2, {"q": definition(limit=2, user=2), "db": definition(limit=4, keep=KEEP)})
    a.acquire("q", ("q", 2), uid=8)
    a.acquire("all", ("db", 4))
    a.acquire("several", ("q", 2), ("db", 3), uid=7)
    assert stands(world, "several") == ["q"]
    ok(a.release("q"))
    assert kept(world, "q") == {"several": 2}
    ok(b.admin("limit", "q", "9"))
    assert b.acquire("no", "q", uid=7, nowait=True).code == "quota"
    assert word(b, "later", "q", uid=7) == "waiting"
    assert stands(world, "later") == ["q u7:0000001"]
    assert word(b, "other", "q", uid=8) == "granted"
    world.pass_time(KEEP, a, b)
    assert list(b.granted()) == ["later"]


# ---- nested

def test_a_nested_request_waits_for_patience_at_most(world):
    """A keeper has a licence kept while it waits for db, which a job holds that asks for a licence."""
    a, b = keeper(world)
    assert word(a, "inner", "licence", above="all") == "waiting"
    world.pass_time(KEEP, a, b)
    assert list(a.granted()) == ["inner"] and stands(world, "several") == ["db"]


# ---- what comes back

def test_after_a_loss_each_chooses_its_place_again(world):
    a, b = two(world)
    db = a.acquire("all", ("db", 4))
    licence = a.acquire("held", "licence")
    a.acquire("several", ("db", 3), "licence")
    world.database.client.delete(*world.database.keys)
    texts = {"db": definition(limit=4, keep=KEEP), "licence": definition(keep=KEEP)}
    for one in (a, b):
        ok(one.begin())
    a.define(texts)
    waiting = list_row("several", "waiting", [Claim("db", 3, 0, ()), Claim("licence", 1, 0, ())], ticket=9)
    a.lists(waiting, list_row("held", "held", licence.claims), list_row("all", "held", db.claims))
    for one in (a, b):
        one.end()
    world.end_grace(a, b)
    assert stands(world, "several") == ["licence"] and kept(world, "db") == {}
    ok(a.release("held"))
    assert kept(world, "licence") == {"several": 1}
    ok(a.release("all"))
    assert list(a.granted()) == ["several"]


# ---- what is shown

def rows(world, member, kind, name):
    return [row for row in member.snapshot() if row[0] == kind and row[1] == name]


def test_the_snapshot_says_what_is_kept_and_what_is_missing(world):
    a, b = keeper(world)
    b.acquire("later", "licence", priority=-1)
    several, later = rows(world, a, "waiter", "licence")
    assert (several[2], several[9], several[11:]) == (a.key("several"), "1", ["1", "other", "db"])
    assert (later[2], later[9], later[11:]) == (b.key("later"), "2", ["0", "", ""])
    assert rows(world, a, "waiter", "db")[0][11:] == ["0", "", ""]
    resource, = rows(world, a, "resource", "licence")
    assert resource[14:16] == ["1", "1"] and resource[6] == "2"
    assert rows(world, a, "resource", "db")[0][14:16] == ["0", "0"]
    ok(b.admin("pause", "db", "", "why"))
    assert {tuple(row[11:]) for name in ("db", "licence") for row in rows(world, a, "waiter", name)
            if row[2] == a.key("several")} == {("0", "other", "db")}


# ---- what lies too scattered

def scattered(world, **more):
    """All of 1000 in single leases, every second of which has ended."""
    a, b = world.several(2, {"big": definition(limit=1000), "s": definition(keep=KEEP), **more})
    for i in range(1000):
        a.acquire(f"h{i}", "big")
    return a, b


def release_every_second(a, first):
    for i in range(0, 1000, 100):
        ok(a.release(*[f"h{k}" for k in range(i + first, i + 100, 2)]))


def test_a_waiter_for_scattered_slots_stops_no_call(world):
    a, b = scattered(world)
    assert word(b, "wide", ("big", 460)) == "waiting"
    release_every_second(a, 0)
    ok(b.renew())
    assert word(a, "other", "s") == "granted"
    assert stands(world, "wide") == ["big"]
    release_every_second(a, 1)
    assert list(b.granted()) == ["wide"]


def test_a_waiter_with_scattered_slots_stays_in_their_queue(world):
    a, b = scattered(world)
    release_every_second(a, 0)
    b.acquire("holds", "s")
    b.acquire("several", ("big", 300), "s")
    assert stands(world, "several") == ["s"]
    b.acquire("later", "s")
    ok(b.release("holds"))
    assert stands(world, "several") == ["big"] and kept(world, "s") == {"several": 1}
    world.pass_time(KEEP, a, b)
    assert list(b.granted()) == ["later"]
    ok(b.release("later"))
    release_every_second(a, 1)
    assert list(b.granted()) == ["several"]


def test_what_is_kept_and_too_scattered_is_not_kept(world):
    a, b = scattered(world)
    b.acquire("holds", "s")
    b.acquire("several", ("big", 300), "s")
    b.acquire("waits", "s", priority=-1)
    assert stands(world, "several") == ["s"]
    ok(b.release("holds"))
    assert kept(world, "s") == {"several": 1} and stands(world, "several") == ["big"]
    world.pass_time(KEEP, a, b)
    release_every_second(a, 0)
    assert kept(world, "big") == {"several": 300} and stands(world, "several") == ["s"]
    ok(b.release("waits"))
    assert kept(world, "big") == {} and stands(world, "several") == ["big"]
    release_every_second(a, 1)
    assert list(b.granted()) == ["waits", "several"]


# ---- a quota has room for others

def with_quota(world, user, limit_of_c=1):
    return world.several(2, {"q": definition(limit=20, user=user, keep=60000),
                             "c": definition(limit=limit_of_c, keep=60000)})


def fill(member, *counts):
    """By one user each: f0, f1..."""
    for i, count in enumerate(counts):
        assert member.acquire(f"f{i}", ("q", count), uid=100 + i).word == "granted"


def test_a_request_that_fits_beside_kept_units_comes_back(world):
    a, b = with_quota(world, 4)
    fill(b, 4, 4, 4, 4, 2)
    a.acquire("old", ("q", 2), uid=7)
    a.acquire("keeper", ("q", 2), "c", uid=7)
    b.acquire("holds", "c")
    ok(b.release("f4"))
    assert kept(world, "q") == {"keeper": 2}
    assert word(a, "three", ("q", 3), uid=7) == "waiting"
    assert word(a, "two", ("q", 2), uid=7) == "waiting"
    ok(b.release("f0", "f1"))
    ok(a.release("old"))
    assert list(a.granted()) == ["two"]
    assert stands(world, "three") == ["q u7:0000003"]


@pytest.mark.parametrize("limit_of_c", [1, 40])  # it begins with c, or with q
def test_standing_in_another_queue_takes_no_quota(world, limit_of_c):
    a, b = with_quota(world, 2, limit_of_c)
    b.acquire("holds", ("c", limit_of_c))
    a.acquire("old", ("q", 2), uid=7)
    a.acquire("several", ("q", 2), "c", uid=7)
    a.acquire("single", ("q", 2), uid=7)
    ok(a.release("old"))
    assert stands(world, "several") == ["c"]
    assert list(a.granted()) == ["single"]


@pytest.mark.parametrize("paused_before", [True, False])
def test_going_aside_in_another_queue_takes_no_quota(world, paused_before):
    a, b = with_quota(world, 2)
    fill(b, *[2] * 9)
    a.acquire("old", ("q", 2), uid=7)
    a.acquire("several", ("q", 2), "c", uid=7)
    a.acquire("single", ("q", 2), uid=7)
    b.acquire("other", ("q", 2), uid=9, priority=5)
    if paused_before:
        ok(b.admin("pause", "c", "", "why"))
    ok(a.release("old"))
    if not paused_before:
        assert stands(world, "several") == ["q"]
        ok(b.admin("pause", "c", "", "why"))
    assert stands(world, "several") == ["c b"]
    ok(b.release("other"))
    assert list(a.granted()) == ["single"]


def test_falling_back_takes_no_quota(world):
    """It stood for q, and falls back to what it had kept."""
    a, b = with_quota(world, 2)
    fill(b, *[2] * 10)
    b.acquire("holds", "c")
    a.acquire("several", ("q", 2), "c", uid=7)
    ok(b.release("holds"))
    assert stands(world, "several") == ["q"] and kept(world, "c") == {"several": 1}
    a.acquire("single", ("q", 2), uid=7, priority=-1)
    b.acquire("boss", "c", priority=5)
    assert stands(world, "several") == ["c"]
    ok(b.release("f0"))
    assert list(a.granted()) == ["single"]


def test_a_smaller_request_goes_when_the_larger_one_fits_no_more(world):
    a, b = with_quota(world, 4)
    fill(b, 4, 4, 4, 4)
    a.acquire("old", ("q", 4), uid=7)
    a.acquire("three", ("q", 3), uid=7)
    a.acquire("two", ("q", 2), uid=7)
    ok(b.admin("limit", "q", "18"))
    ok(a.release("old"))
    assert stands(world, "three") == ["q"] and stands(world, "two") == ["q u7:0000002"]
    assert word(a, "boss", ("q", 2), uid=7, priority=5) == "granted"
    assert stands(world, "three") == ["q u7:0000003"] and stands(world, "two") == ["q"]


def test_a_waiter_set_aside_for_a_keeper_is_woken_once(world):
    """It is among its user's requests that may fit."""
    a, b = with_quota(world, 4, 40)
    fill(b, 4, 4, 4, 4, 4)
    b.acquire("holds", ("c", 40))
    a.acquire("keeper", ("q", 2), "c", uid=7)
    a.acquire("three", ("q", 3), "c", uid=7)
    assert stands(world, "keeper") == stands(world, "three") == ["q"]
    ok(b.release("f0"))
    assert kept(world, "q") == {"keeper": 2} and stands(world, "three") == ["q u7:0000003"]


# ---- bounds

def test_no_patience_is_longer_than_a_daemon_believes(world):
    a, b = world.several(2, {"a": definition(keep=86400000), "c": definition(keep=86400000)})
    a.acquire("holds-a", "a")
    b.acquire("keeper", "a", "c")
    a.acquire("holds-c", "c")
    world.database.client.eval(PATIENT, 1, world.database.key["leases"], b.key("keeper"))
    assert 0 < ok(a.release("holds-a")).due <= 86400000
    assert kept(world, "a") == {"keeper": 1}
    assert 0 < ok(b.renew()).due <= 86400000


PATIENT = """
local record = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1]))
record[10].let_go = 14
redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack(record))
"""


# ---- while a walk is under way

def test_a_walk_takes_nothing_from_keepers(world):
    a, b = world.several(2, {"A": definition(limit=4, keep=60000), "B": definition(limit=4, keep=60000),
                             "C": definition(keep=60000)})
    a.acquire("holds-A", ("A", 4))
    b.acquire("keeper", ("A", 2), ("B", 3), "C", uid=7)
    a.acquire("holds-C", "C")
    a.acquire("holds-B", ("B", 4))
    ok(a.release("holds-A"))
    ok(b.admin("limit", "A", "3"))
    for i in range(80):
        b.acquire(f"w{i}", ("A", 4), priority=-1)
    assert kept(world, "A") == {"keeper": 2} and stands(world, "keeper") == ["C"]
    b.admin("limit", "A", "5")
    ok(a.release("holds-C"))
    for _ in range(20):
        ok(a.renew())
    assert kept(world, "A") == {"keeper": 2} and kept(world, "C") == {"keeper": 1}


def test_a_definition_of_an_older_berthd_is_the_same(world):
    """It has no `keep`."""
    a, b = two(world)
    text = definition(limit=4)
    older = text.replace('"keep":10000,', "")
    assert older != text
    world.database.client.hset(world.database.key["definitions"], "db", f"0 {older}")
    world.database.was_edited()
    assert a.define({"db": text})["db"] == ("same", older)
    assert a.define({"db": definition(limit=4, keep=KEEP)})["db"] == ("differs", older)
    assert word(b, "1", ("db", 4)) == "granted"

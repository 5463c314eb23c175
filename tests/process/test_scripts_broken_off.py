"""Redis does not roll back: a script that is broken off after any of its writes leaves nothing
unsafe, and repeating the call brings about what one whole call would have."""

import contextlib
import re

import pytest

from fleet_help import needs_redis
from scripts_help import Claim, World, breaks_off, definition, list_row, ok, redis
from scripts_help import clock, redis_server  # fixtures

pytestmark = needs_redis

T = 30000

DEFINITIONS = {
    "a": definition(limit=2), "b": definition(limit=2), "c": definition(limit=1, cooldown=2000),
    "q": definition(limit=4, user=2), "p": definition("pool", 0, ("x", "y", "z"), select="lru"),
    "t/*": definition(limit=1), "r": definition(limit=9, rate=(1, 2000), burst=2, fair="user"),
    "m": definition(limit=2000, user=1900), "n": definition(limit=200, cooldown=2000),
    "f": definition(limit=2, fair="user"),
}
LIMITS = {"a": 2, "b": 2, "c": 1, "q": 4, "p": 3, "t/1": 1, "r": 9, "m": 2000, "n": 200, "f": 2}


def t(number):
    return f"t/{number}", 1, None, "t/*"


# Each prepares a world of two and returns the call that is broken off, which takes `before`.


def an_acquire(world, a, b):
    return lambda **how: a.acquire("1", ("a", 2), "b", "p", "q", holder="h", **how)


def an_acquire_that_waits(world, a, b):
    b.acquire("1", ("a", 2))
    return lambda **how: a.acquire("1", "a", "b", holder="h", **how)


def an_acquire_aside(world, a, b):
    b.acquire("1", ("q", 2), uid=1)
    return lambda **how: a.acquire("1", "q", uid=1, holder="h", **how)


def an_acquire_behind_another(world, a, b):
    b.acquire("1", ("b", 2))
    b.acquire("2", "b")
    return lambda **how: a.acquire("1", "b", **how)


def an_acquire_of_an_instance(world, a, b):
    return lambda **how: a.acquire("1", t(1), **how)


def an_acquire_of_many(world, a, b):
    b.acquire("1", ("m", 7))
    return lambda **how: a.acquire("1", ("m", 1200), ("n", 100), **how)


def some_take_turns(world, a, b):
    a.acquire("0", ("f", 2), uid=1)
    for i in range(1, 4):
        a.acquire(str(i), "f", uid=1)
    b.acquire("0", "f", "b", uid=2)


def an_acquire_with_a_rank(world, a, b):
    some_take_turns(world, a, b)
    return lambda **how: b.acquire("1", "f", uid=2, holder="h", **how)


def an_acquire_with_a_rank_that_goes_at_once(world, a, b):
    a.acquire("0", "f", uid=1)
    a.acquire("1", ("f", 2), uid=1)
    a.acquire("2", ("f", 2), uid=1)
    return lambda **how: b.acquire("1", "f", uid=2, **how)


def a_release_that_moves_a_turn_on(world, a, b):
    some_take_turns(world, a, b)
    return lambda **how: a.release("0", **how)


def a_grant_of_the_last_one_in_turn(world, a, b):
    some_take_turns(world, a, b)
    ok(a.release("2", "3"))
    return lambda **how: a.release("0", **how)


def a_release_that_lets_another_word_go(world, a, b):
    some_take_turns(world, a, b)
    a.acquire("4", "f", uid=1, info="pid=1 share=y")
    b.acquire("1", "f", uid=1, info="pid=1 share=x")
    ok(a.release("0", "1"))
    return lambda **how: a.release("2", **how)


def a_move_to_another_turn(world, a, b):
    some_take_turns(world, a, b)
    return lambda **how: b.admin("move", a.key("1"), "last", **how)


def a_listing_of_turns(world, a, b):
    some_take_turns(world, a, b)
    ticket = world.data().leases[b.key("0")]["ticket"]
    lose(world, a, b)
    return lambda **how: b.call("hello", "lease", *list_row("0", "waiting", [
        Claim("f", 1, 0, ()), Claim("b", 1, 0, ())], ticket=ticket, uid=2), **how)


def a_release_of_many(world, a, b):
    b.acquire("1", ("m", 7))
    a.acquire("1", ("m", 1200), ("n", 100))
    b.acquire("2", ("n", 150))
    b.acquire("3", ("m", 1300))
    return lambda **how: a.release("1", **how)


def a_release(world, a, b):
    a.acquire("1", ("a", 2), "p", "q", holder="h")
    return lambda **how: a.release("1", **how)


def a_release_that_grants(world, a, b):
    a.acquire("1", ("a", 2), ("b", 2), holder="h")
    b.acquire("1", "a")
    b.acquire("2", "a", "b", holder="i")
    b.acquire("3", ("b", 2))
    b.acquire("4", "b")
    return lambda **how: a.release("1", **how)


def a_release_of_a_waiter(world, a, b):
    b.acquire("1", ("a", 2))
    a.acquire("1", ("a", 2), "b", holder="h")
    b.acquire("2", "b", "a")
    b.acquire("3", "b")
    return lambda **how: a.release("1", **how)


def a_release_into_rest(world, a, b):
    a.acquire("1", "c")
    b.acquire("1", "c")
    return lambda **how: a.release("1", **how)


def a_release_that_frees_a_quota(world, a, b):
    a.acquire("1", "q", "p", uid=1)
    b.acquire("1", "q", uid=1)
    b.acquire("2", "q", uid=1)
    b.acquire("3", "q", "p", uid=1)
    return lambda **how: a.release("1", **how)


def a_release_that_calls_one_for_several_back(world, a, b):
    a.acquire("1", ("q", 2), uid=1)
    a.acquire("2", ("a", 2))
    b.acquire("2", "a")
    b.acquire("1", "a", ("q", 2), "b", uid=1)
    return lambda **how: a.release("1", **how)


def several_releases(world, a, b):
    for i in range(2):
        a.acquire(str(i), "a", "p")
    b.acquire("1", ("a", 2))
    a.acquire("9", "a")
    return lambda **how: a.release("0", "1", "9", **how)


def the_end_of_a_rest(world, a, b):
    a.acquire("1", "c")
    b.acquire("1", "c")
    ok(a.release("1"))
    world.tick(2000)
    return lambda **how: a.renew(**how)


def has_its_burst(world):
    world.database.client.hset(world.database.key["db"], "since", 0)
    world.database.was_edited()
    world.full_at = world.now


def an_acquire_with_a_rate(world, a, b):
    has_its_burst(world)
    return lambda **how: a.acquire("1", ("r", 2), "a", holder="h", **how)


def an_acquire_that_waits_for_a_rate(world, a, b):
    has_its_burst(world)
    b.acquire("1", "r")
    return lambda **how: a.acquire("1", ("r", 2), "a", **how)


def the_next_instant_of_a_rate(world, a, b):
    has_its_burst(world)
    b.acquire("1", ("r", 2))
    a.acquire("1", "r")
    b.acquire("2", "r", "a")
    world.tick(2000)
    return lambda **how: a.renew(**how)


def the_end_of_a_session(world, a, b):
    for i in range(3):
        a.acquire(str(i), "q", "p", uid=i, holder=f"h{i}")
    a.acquire("3", ("a", 2))
    a.acquire("4", "a")
    a.acquire("5", "p")
    b.acquire("1", ("p", 2))
    b.acquire("2", ("a", 2), "p")
    world.pass_time(T - 1000, b)
    world.tick(1001)
    return lambda **how: b.renew(**how)


def a_pause(world, a, b):
    a.acquire("1", ("a", 2))
    a.acquire("2", "a", "b")
    b.acquire("1", ("b", 2))
    return lambda **how: b.admin("pause", "a", "", "why", **how)


def a_resume(world, a, b):
    ok(b.admin("pause", "a", "", "why"))
    a.acquire("1", "a", "b")
    a.acquire("2", "a")
    b.acquire("1", "b", "a")
    return lambda **how: b.admin("resume", "a", **how)


def a_larger_limit(world, a, b):
    a.acquire("1", ("a", 2))
    a.acquire("2", "a")
    b.acquire("1", "a")
    return lambda **how: b.admin("limit", "a", "4", **how)


def a_definition(world, a, b):
    a.acquire("1", ("a", 2))
    a.acquire("2", "a")
    text = definition(limit=3)
    return lambda **how: b.call("hello", "define", "a", 7, text, **how)


def an_event(world, a, b):
    a.acquire("1", ("a", 2))
    return lambda **how: b.admin("revoke", a.key("1"), **how)


def an_acknowledgement(world, a, b):
    a.acquire("1", ("a", 2))
    b.acquire("1", "a")
    b.acquire("2", "a")
    ok(a.release("1"))
    ok(b.renew())
    return lambda **how: b.renew(**how)


def a_begin(world, a, b):
    a.acquire("1", "a")
    return lambda **how: a.begin(**how)


def the_end_of_a_listing(world, a, b):
    a.acquire("1", ("a", 2), "p", holder="h")
    a.acquire("2", "p")
    b.acquire("1", "a")
    ok(a.begin())
    return lambda **how: a.call("hello", "end", "", **how)


def a_listing_after_a_loss(world, a, b):
    first = a.acquire("1", ("a", 2), "p", "q", holder="h")
    second = b.acquire("1", "a")
    lose(world, a, b)
    row = list_row("1", "held", first.claims, ticket=first.ticket, holder="h")
    other = list_row("9", "waiting", [Claim("b", 1, 0, ())], ticket=second.ticket)
    return lambda **how: a.call("hello", "lease", *row, *other, **how)


def a_listing_that_wins(world, a, b):
    lose(world, a, b)
    old, new = Claim("a", 1, 10, ("1",)), Claim("a", 1, 20, ("1",))
    a.lists(list_row("1", "held", [old], holder="h", ticket=5))
    row = list_row("1", "held", [new, Claim("b", 1, 21, ("0",))], ticket=6)
    return lambda **how: b.call("hello", "lease", *row, **how)


def a_listing_that_wins_many(world, a, b):
    lose(world, a, b)
    old = Claim("n", 100, 10, tuple(map(str, range(100))))
    new = Claim("n", 40, 20, tuple(map(str, range(62, 102))))
    a.lists(list_row("1", "held", [old], ticket=5))
    row = list_row("1", "held", [new], ticket=6)
    return lambda **how: b.call("hello", "lease", *row, **how)


def a_listing_that_wins_what_rests(world, a, b):
    lose(world, a, b)
    a.lists(list_row("1", "held", [Claim("c", 1, 10, ("0",))], ticket=5))
    row = list_row("1", "held", [Claim("c", 1, 20, ("0",))], ticket=6)
    return lambda **how: b.call("hello", "lease", *row, **how)


def an_acquire_of_all(world, a, b):
    return lambda **how: a.acquire("1", "a", "p", "b", holder="h", info="pid=1 all=a,p", **how)


def a_grant_of_all(world, a, b):
    a.acquire("1", "a")
    b.acquire("1", "a", "p", info="pid=1 all=a")
    b.acquire("2", "a")
    return lambda **how: a.release("1", **how)


def all_is_kept(world, a, b):
    a.acquire("1", "c")
    a.acquire("2", "b")
    b.acquire("1", "b", "c", info="pid=1 all=b")
    b.acquire("2", "b")
    return lambda **how: a.release("2", **how)


def a_listing_of_all_that_wins(world, a, b):
    lose(world, a, b)
    a.lists(list_row("1", "held", [Claim("a", 1, 10, ("1",))], ticket=5),
            list_row("2", "held", [Claim("a", 1, 11, ("0",))], ticket=6))
    row = list_row("1", "held", [Claim("a", 1, 20, ("0",))], ticket=7, info="pid=1 all=a")
    return lambda **how: b.call("hello", "lease", *row, **how)


def the_end_of_a_grace(world, a, b):
    a.acquire("1", ("a", 2))
    b.acquire("1", "a")
    b.acquire("2", "b")
    world.becomes_another_server()
    assert b.renew().word == "hello"
    rows = [list_row("1", "waiting", [Claim("a", 1, 0, ())], ticket=4),
            list_row("2", "waiting", [Claim("b", 1, 0, ())], ticket=5)]
    ok(b.begin())
    b.lists(*rows)
    b.end()
    world.pass_time(T + 11000 - 1000, b)
    world.tick(1000)
    return lambda **how: b.renew(**how)


def the_beginning_of_a_grace(world, a, b):
    a.acquire("1", ("a", 2))
    b.acquire("1", "a")
    world.becomes_another_server()
    return lambda **how: b.renew(**how)


def lose(world, *members):
    world.database.client.delete(*world.database.keys)
    for one in members:
        ok(one.begin())
    members[0].define(DEFINITIONS)


def a_keeper(world, a, b):
    """b's 2 waits for all of `b`, and for `a`; its 3 is behind it there."""
    a.acquire("1", ("a", 2))
    a.acquire("2", ("b", 2))
    b.acquire("2", "a", ("b", 2), "q", uid=1)
    b.acquire("3", ("b", 2))


def a_waiter_begins_to_keep(world, a, b):
    a_keeper(world, a, b)
    return lambda **how: a.release("2", **how)


def a_keeper_loses_it(world, a, b):
    a_keeper(world, a, b)
    ok(a.release("2"))
    return lambda **how: a.acquire("3", ("b", 2), priority=5, **how)


def the_end_of_patience(world, a, b):
    a_keeper(world, a, b)
    ok(a.release("2"))
    world.pass_time(8000, a, b)
    world.tick(2001)
    return lambda **how: a.renew(**how)


def a_nested_request_that_waits(world, a, b):
    a.acquire("1", ("a", 2))
    b.acquire("1", "b")
    return lambda **how: b.acquire("2", "a", above="1", **how)


def a_nested_request_that_is_granted(world, a, b):
    a_nested_request_that_waits(world, a, b)(before=None)
    return lambda **how: a.release("1", **how)


def a_circle(world, a, b):
    for one in (a, b):
        one.acquire("1", "a")
    a.acquire("2", "a", above="1")
    return lambda **how: b.acquire("2", "a", above="1", **how)


def a_circle_in_a_quota(world, a, b):
    for one in (a, b):
        one.acquire("1", "q")
    a.acquire("2", "q", above="1")
    return lambda **how: b.acquire("2", "q", above="1", **how)


def a_reset_that_makes_a_circle(world, a, b):
    ok(a.admin("limit", "a", "3"))
    for one in (a, b):
        one.acquire("1", "a")
    a.acquire("3", "a")
    for one in (a, b):
        one.acquire("2", "a", above="1")
    return lambda **how: a.admin("reset", "a", **how)


def a_keeper_is_put_aside(world, a, b):
    a_keeper(world, a, b)
    ok(a.release("2"))
    return lambda **how: a.admin("pause", "q", "", "why", **how)


def a_keeper_goes(world, a, b):
    a_keeper(world, a, b)
    ok(a.release("2"))
    return lambda **how: a.release("1", **how)


def a_waiter_changes_queues(world, a, b):
    a_keeper(world, a, b)
    ok(a.release("2"))
    ok(a.admin("pause", "b", "", "why"))
    a.acquire("2", ("b", 2), priority=5)
    return lambda **how: a.admin("resume", "b", **how)


def a_keeper_with_a_quota(world, a, b):
    """b's 2 has some of q kept, which leaves its 3 no room in the quota, and waits for `n`."""
    for i in range(2):
        a.acquire(str(i), ("q", 2), uid=i + 5)
    a.acquire("2", ("n", 200))
    b.acquire("2", ("q", 2), "n", uid=1)
    ok(a.release("0"))
    b.acquire("3", "q", uid=1)


def the_end_of_patience_with_a_quota(world, a, b):
    a_keeper_with_a_quota(world, a, b)
    ok(a.release("1"))
    world.pass_time(9000, a, b)
    world.tick(1001)
    return lambda **how: a.renew(**how)


def a_keeper_with_a_quota_loses_it(world, a, b):
    a_keeper_with_a_quota(world, a, b)
    return lambda **how: a.acquire("3", ("q", 2), priority=5, uid=7, **how)


def a_keeper_with_a_quota_is_put_aside(world, a, b):
    a_keeper_with_a_quota(world, a, b)
    ok(a.release("1"))
    return lambda **how: a.admin("pause", "n", "", "why", **how)


def a_keeper_with_a_quota_falls(world, a, b):
    """It loses what was kept for it before."""
    a.acquire("1", ("a", 2))
    b.acquire("2", ("a", 2), ("q", 2), "n", uid=1)
    a.acquire("2", ("q", 2), uid=5)
    a.acquire("4", ("q", 2), uid=6)
    a.acquire("3", ("n", 200))
    ok(a.release("1"))
    ok(a.release("2"))
    b.acquire("3", "q", uid=1)
    ok(a.release("4"))
    return lambda **how: a.acquire("5", "a", priority=5, **how)


def takes_the_place(member, lease, *claims, word="waiting", **how):
    return member.acquire(lease, *claims, holder="i", info=f"pid=1 replace={word}", **how)


def a_place_is_taken(world, a, b):
    b.acquire("1", ("a", 2))
    b.acquire("2", ("b", 2))
    takes_the_place(b, "3", "b", "a")
    b.acquire("4", "a", "b")
    ok(b.release("1"))
    return lambda **how: takes_the_place(a, "1", "a", ("b", 2), **how)


def a_plain_ones_place_is_taken(world, a, b):
    b.acquire("1", ("b", 2))
    b.acquire("2", "b", holder="i")
    b.acquire("3", "b")
    return lambda **how: takes_the_place(a, "1", "b", **how)


def a_place_is_taken_by_a_grant(world, a, b):
    b.acquire("1", "q", uid=1)
    takes_the_place(b, "2", ("q", 2), uid=1)
    return lambda **how: takes_the_place(a, "1", "q", uid=1, nowait=True, **how)


def a_place_where_all_ways_meet(world, a, b):
    """`r` has a rate, is fair, and a level of `a` and of `b`."""
    has_its_burst(world)
    b.acquire("1", ("r", 2), uid=1)
    for i in range(2, 5):
        b.acquire(str(i), "r", uid=1, info=f"pid=1 share=w{i}")
    b.acquire("5", "a", "b", "r", holder="i", info="pid=1 levels=r share=x replace=waiting")
    a.acquire("2", "r", "b", info="pid=1 levels=r")
    return lambda **how: a.acquire("1", "b", ("a", 2), ("r", 2), holder="i",
                                   info="pid=1 at=1 levels=r share=y replace=running", **how)


def an_instant_where_all_ways_meet(world, a, b):
    a_place_where_all_ways_meet(world, a, b)()
    ok(b.release("1", "2", "3", "4"))
    world.tick(4000)
    return lambda **how: a.renew(**how)


def a_place_behind_the_holder(world, a, b):
    takes_the_place(b, "1", "a", "b")
    takes_the_place(b, "2", "a", "b", word="running")
    return lambda **how: takes_the_place(a, "1", "a", "b", word="running", **how)


def a_holder_makes_room(world, a, b):
    takes_the_place(a, "1", "a", "b")
    takes_the_place(b, "2", "b", "a")
    takes_the_place(b, "3", "a")
    return lambda **how: a.release("1", **how)


def a_listing_that_replaces(world, a, b):
    takes_the_place(b, "1", "a", "b")
    takes_the_place(b, "2", "a", "b")
    world.database.client.flushall()
    for one in (b, a):
        ok(one.begin())
        one.define(DEFINITIONS)
    rows = [list_row(str(i), "waiting", [Claim("a", 1, 0, ()), Claim("b", 1, 0, ())], ticket=7 + i, holder="i",
                     info="pid=1 replace=running") for i in range(3)]
    b.call("hello", "lease", *rows[1])
    b.end()
    return lambda **how: a.call("hello", "lease", *rows[2], *rows[0], **how)


def a_keeper_leaves(world, a, b):
    a_keeper(world, a, b)
    ok(a.release("2"))
    return lambda **how: b.release("2", **how)


def a_move(world, a, b):
    a.acquire("1", ("a", 2))
    b.acquire("1", "a", priority=5)
    b.acquire("2", ("a", 2), "b")
    b.acquire("3", "a")
    return lambda **how: a.admin("move", b.key("3"), "first", "why", **how)


def a_move_of_one_aside(world, a, b):
    a.acquire("1", ("q", 2), uid=1)
    b.acquire("1", "q", uid=1)
    b.acquire("2", "q", "b", uid=1)
    return lambda **how: a.admin("move", b.key("2"), "first", **how)


def a_move_of_a_keeper(world, a, b):
    a_keeper(world, a, b)
    ok(a.release("2"))
    return lambda **how: a.admin("move", b.key("2"), "last", **how)


def a_move_of_a_keeper_with_a_quota(world, a, b):
    a_keeper_with_a_quota(world, a, b)
    return lambda **how: a.admin("move", b.key("2"), "last", **how)


QUOTA_SCENES = [a_move_of_a_keeper_with_a_quota, the_end_of_patience_with_a_quota, a_keeper_with_a_quota_loses_it,
                a_keeper_with_a_quota_is_put_aside, a_keeper_with_a_quota_falls]
SCENES = [a_waiter_begins_to_keep, a_keeper_loses_it, the_end_of_patience,
          a_nested_request_that_waits, a_nested_request_that_is_granted, a_circle, a_circle_in_a_quota,
          a_reset_that_makes_a_circle,
          a_keeper_is_put_aside, a_keeper_goes, a_keeper_leaves, a_waiter_changes_queues,
          an_acquire, an_acquire_of_many, a_release_of_many, a_listing_that_wins_many, an_acquire_that_waits,
          an_acquire_aside, an_acquire_of_an_instance, a_release,
          a_release_that_grants, a_release_of_a_waiter, a_release_into_rest,
          a_release_that_frees_a_quota, a_release_that_calls_one_for_several_back, several_releases, the_end_of_a_rest, the_end_of_a_session,
          a_move, a_move_of_one_aside, a_move_of_a_keeper, a_pause, a_resume, a_larger_limit, a_definition, an_event, an_acknowledgement, a_begin,
          the_end_of_a_listing, a_listing_after_a_loss, a_listing_that_wins, a_listing_that_wins_what_rests,
          the_end_of_a_grace, the_beginning_of_a_grace,
          a_place_where_all_ways_meet, a_place_is_taken, a_plain_ones_place_is_taken,
          a_place_is_taken_by_a_grant, a_place_behind_the_holder,
          a_holder_makes_room, a_listing_that_replaces,
          an_acquire_with_a_rank, an_acquire_with_a_rank_that_goes_at_once, a_release_that_moves_a_turn_on,
          a_grant_of_the_last_one_in_turn, a_release_that_lets_another_word_go, a_move_to_another_turn, a_listing_of_turns,
          an_acquire_of_all, a_grant_of_all, all_is_kept, a_listing_of_all_that_wins]


def digest(data):
    """All but the numbers, and which of a pool's items: the order of their use may be lost."""
    return {
        "held": {key: [(claim.name, len(claim.units) if claim.name == "p" else claim.units)
                       for claim in lease["claims"]]
                 for key, lease in data.leases.items() if lease["state"] == "H"},
        "queued": {name: keys for name, keys in data.queued.items() if keys},
        "aside": {key: [member.split(" ")[:2] for member in members]
                  for key, members in data.aside.items() if members},
        "rest": sorted(where for where, keys in data.held.items() if keys == ["-"]),
        "identities": [re.sub(r"(  .*) \d+ ", r"\1 ", member) for member, _ in data.raw["identities"]],
        "users": [member for member, _ in data.raw["users"]],
        "kept": dict(data.kept),
        "elsewhere": {key: sorted(names) for key, names in data.elsewhere.items() if names},
    }


def is_safe(data, limits):
    for (name, unit), keys in data.held.items():
        assert len([key for key in keys if key != "-"]) <= 1, f"{name} {unit} is held by {keys}"
    for name, limit in limits.items():
        assert sum(1 for of, _ in data.held if of == name) <= limit


def notified(members):
    """The grants that the daemons have heard of, by event or published: events are kept."""
    return {(member.session, event.split(" ")[1]) for member in members for event in member.events
            if event.startswith("granted")}


def empty(world, *members):
    """Whatever has become of it all, everything ends."""
    for one in members:
        if one.renew().word == "hello":
            one.hello(DEFINITIONS)
    world.end_grace(*members)
    for one in members:
        ok(one.release(*(str(i) for i in range(10))))
    world.tick(3000)
    if any(member.endswith(" *") for member, _ in world.data().raw["rest"]):
        world.pass_time(64000, *members)  # what a rate has let go is forgotten once in a minute
    world.must_be_empty()


@contextlib.contextmanager
def undone(world, *members):
    """What happens there has not happened: neither to the data nor to what the members have heard."""
    now, data = world.now, world.copy()
    knew = [{**vars(one), "events": [*one.events]} for one in members]
    yield
    world.tick(now - world.now)
    world.put_back(data)
    for one, known in zip(members, knew):
        vars(one).update(known)


def breaks(server, clock, prepare, definitions=DEFINITIONS, all_end=True):
    """For each number of writes after which a call can be broken off: that number, a world of two that
    is prepared, the same each time; what prepare() returned; and what does so with the call it is
    given, and says whether it was. At the end with one that is whole. `all_end`: then everything ends
    each time, rather than in the whole one alone."""
    world = World(server, clock)
    a, b = world.several(2, definitions)
    prepared = prepare(world, a, b)
    after, was_broken = 0, True
    while was_broken:

        def broken_off(call):
            nonlocal was_broken
            try:
                call(before=breaks_off(after))
                was_broken = False
            except redis.ResponseError as error:
                assert "broken off" in str(error)
            return was_broken

        with undone(world, a, b):
            yield after, world, a, b, prepared, broken_off
            if all_end or not was_broken:
                empty(world, a, b)
        after += 1
    assert after > 1


def result_of(world, a, b, was_broken):
    """The digest of what has become of it, when all have heard."""
    for one in (a, b, a, b):
        one.renew()
    for one in (a, b):  # a daemon gives back the leases that it hears it has lost
        for event in one.events:
            if event.startswith(("lost ", "replaced ")):
                ok(one.release(event.split(" ")[1]))
    data = world.data()
    data.check(was_broken=was_broken)
    told = {(one.session, event) for one in (a, b) for event in one.events
            if event.startswith(("circle ", "replaced ", "withdraw "))}
    return {**digest(data), "told": told}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_broken_off_anywhere(redis_server, clock, scene):
    """Repeated, it is as if it had been whole; if nobody repeats it, as its daemon has died, nothing is left."""
    changed = {a_larger_limit: 4, a_definition: 4, a_reset_that_makes_a_circle: 3}
    limits = {**LIMITS, "a": changed.get(scene, LIMITS["a"])}
    results = []
    for _, world, a, b, call, broken_off in breaks(redis_server, clock, scene, all_end=False):
        was_broken = broken_off(call)
        if was_broken:
            is_safe(world.data(), limits)
            with undone(world, a, b):
                empty(world, a, b)
            call()
        results.append(result_of(world, a, b, was_broken))
    for after, result in enumerate(results):
        assert result == results[-1], f"broken off after {after} writes"


@pytest.mark.parametrize("scene", [an_acquire_with_a_rate, an_acquire_that_waits_for_a_rate,
                                   the_next_instant_of_a_rate, an_instant_where_all_ways_meet],
                         ids=lambda scene: scene.__name__)
def test_a_rate_is_never_exceeded(redis_server, clock, scene):
    """What a call that was broken off would have granted may have gone; then it goes a little later."""
    for after, world, a, b, call, broken_off in breaks(redis_server, clock, scene):
        if broken_off(call):
            is_safe(world.data(), LIMITS)
            with undone(world, a, b):
                empty(world, a, b)
            call()
        for _ in range(20):
            assert world.data().in_use("r") <= 2 + (world.now - world.full_at) // 2000
            world.tick(500)
            for one in (a, b):
                ok(one.renew())
        assert not world.check().waiting(), f"broken off after {after} writes"


GRANTING = [a_keeper_goes, a_release_that_grants, the_end_of_a_rest, a_resume, a_larger_limit,
            a_release_that_frees_a_quota]


@pytest.mark.parametrize("scene", GRANTING, ids=lambda scene: scene.__name__)
def test_every_grant_is_announced(redis_server, clock, scene):
    for after, world, a, b, call, broken_off in breaks(redis_server, clock, scene, all_end=False):
        held_before = world.data().holding()
        broken_off(call)
        for _ in range(2):  # nobody repeats it: others call
            b.renew()
            a.renew()
        granted = {tuple(key.split("/")) for key in world.data().holding() - held_before}
        assert granted <= notified((a, b)), f"broken off after {after} writes"


@pytest.mark.parametrize("scene", QUOTA_SCENES, ids=lambda scene: scene.__name__)
def test_room_in_the_quota_wakes_a_waiter(redis_server, clock, scene):
    for after, world, a, b, call, broken_off in breaks(redis_server, clock, scene):
        assert world.data().aside[b.key("3")]
        if broken_off(call):
            with undone(world, a, b):
                empty(world, a, b)
            call()
        for _ in range(2):
            b.renew()
            a.renew()
        assert not world.data().aside[b.key("3")], f"broken off after {after} writes"


def the_end_of_its_patience(world, a, b):
    world.pass_time(7000, a, b)


def a_pause_of_what_it_has(world, a, b):
    ok(a.admin("pause", "a", "", "why"))


@pytest.mark.parametrize("ends", [the_end_of_its_patience, a_pause_of_what_it_has], ids=lambda ends: ends.__name__)
def test_what_a_fall_left_is_kept_no_longer_than_the_rest(redis_server, clock, ends):
    def a_fall(world, a, b):
        for i, name in enumerate("abcd"):
            a.acquire(str(i), (name, 2))
        b.acquire("1", ("a", 2), ("b", 2), "c", "d")
        ok(a.release("0"))
        world.tick(4000)
        b.acquire("2", "c", "d")  # some of c is kept for it, too
        ok(a.release("1"))
        ok(a.release("2"))
        assert {name for name, key in world.data().kept if key == b.key("1")} == {*"abc"}
        return lambda **how: a.acquire("4", ("b", 2), priority=5, **how)

    definitions = {name: definition(limit=2) for name in "abcd"}
    for after, world, a, b, call, broken_off in breaks(redis_server, clock, a_fall, definitions):
        if broken_off(call):
            call()
        ends(world, a, b)
        assert {key for _, key in world.data().kept} == {b.key("2")}, f"broken off after {after} writes"
        world.check()


@pytest.mark.parametrize("scene", [an_acquire_that_waits, an_acquire_aside, an_acquire_behind_another],
                         ids=lambda scene: scene.__name__)
def test_its_own_traces_refuse_nobody(redis_server, clock, scene):
    definitions = {name: definition(limit=2, user=2, max_waiters=2 if name == "b" else 1) for name in "abq"}
    for after, world, a, b, call, broken_off in breaks(redis_server, clock, scene, definitions):
        if broken_off(call):
            assert call().word == "waiting", f"broken off after {after} writes"
        raw = world.check().raw
        assert sum(a.key("1") in member for word in ("queue", "aside") for member, _ in raw[word]) == 1


def test_a_listing_broken_off_leaves_no_second_place(redis_server, clock):
    def a_listing(_, a, b):
        b.acquire("1", ("a", 2))
        b.acquire("2", "a")
        row = list_row("1", "waiting", [Claim("a", 1, 0, ())])
        return lambda **how: a.call("hello", "lease", *row, **how)

    for after, world, a, b, call, broken_off in breaks(redis_server, clock, a_listing):
        if broken_off(call):
            call()
        queue = [member for member, _ in world.check().raw["queue"] if a.key("1") in member]
        assert len(queue) == 1, f"broken off after {after} writes"


def test_a_grant_taken_back_frees_items_that_were_counted_before(redis_server, clock):
    """Too many for one command to take."""
    definitions = {"p": definition("pool", 0, [f"i{i}" for i in range(600)]), "a": definition(limit=20)}

    def a_release(_, a, b):
        a.acquire("0", ("p", 600))
        a.acquire("1", ("a", 20))
        b.acquire("1", ("p", 600))
        return lambda **how: a.release("0", **how)

    for after, world, a, b, call, broken_off in breaks(redis_server, clock, a_release, definitions):
        broken_off(call)
        a.lists(list_row("2", "waiting", [Claim("a", 1, 0, ()), Claim("p", 50, 0, ())], priority=5))
        a.release("0")
        b.renew()
        data = world.data()
        was_first = ("p", a.key("2")) in data.kept  # the one that was listed
        assert was_first or b.key("1") in data.holding(), f"broken off after {after} writes"


# A call serves 50 of those whose turn it is, at random: 1 in 8000 is ours.
CROWD = """
for first = 1, 400000, 4000 do
    local names = {}
    for i = 1, 4000 do
        names[i] = 'z' .. first + i
    end
    redis.call(ARGV[1], KEYS[1], unpack(names))
end
"""


def breaks_a_grant_off(world, member, lease, call):
    """The lease's record says that it is held, and nothing else does; its resource's turn does not
    come before turns_come()."""
    before, client = world.copy(), world.database.client
    for writes in range(1, 40):
        with contextlib.suppress(redis.exceptions.ResponseError):
            call(before=breaks_off(writes))
        data = world.data()
        if data.leases[member.key(lease)]["state"] == "H" and [member.key(lease)] not in data.held.values():
            client.eval(CROWD, 1, world.database.key["dirty"], "SADD")
            world.database.was_edited()
            return
        world.put_back(before)
    raise AssertionError("no such grant")


def turns_come(world, member):
    client, dirty = world.database.client, world.database.key["dirty"]
    client.eval(CROWD, 1, dirty, "SREM")
    while client.smembers(dirty) - {"~"}:
        ok(member.renew())


@pytest.mark.parametrize("wants", [("q",), ("q", "a")], ids="-".join)
def test_repeating_an_interrupted_grant_keeps_the_place(redis_server, clock, wants):
    world = World(redis_server, clock)
    a, b = world.several(2, {"q": definition(limit=2, max_waiters=2), "a": definition()})
    a.acquire("0", ("q", 2))
    ticket = a.acquire("1", *wants).ticket
    b.acquire("2", ("q", 2))
    breaks_a_grant_off(world, a, "1", lambda **how: a.release("0", **how))
    again = a.acquire("1", *wants)
    assert (again.word, again.ticket, again.position) == ("waiting", ticket, 1)
    assert a.granted().keys() == {"1"}
    turns_come(world, a)
    assert world.check().queued == {"q": [b.key("2")]}
    empty(world, a, b)


def test_a_grant_that_is_taken_back_leaves_the_users_other_lease_in_the_quota(redis_server, clock):
    """Members of `users` do not say whose lease they belong to."""
    world = World(redis_server, clock)
    a, b = world.several(2, {"q": definition(limit=2, user=1)})
    a.acquire("first", "q", uid=9)
    a.acquire("second", "q", uid=8)
    a.acquire("broken", "q", uid=7)
    breaks_a_grant_off(world, a, "broken", lambda **how: a.release("first", **how))
    assert b.acquire("other", "q", uid=7, priority=5).word == "granted"
    turns_come(world, a)
    ok(a.release("second"))
    assert [member for member, _ in world.data().raw["users"]] == ["q 7 0000000"]
    world.check()


def test_a_circle_is_announced(redis_server, clock):
    for after, world, a, b, call, broken_off in breaks(
            redis_server, clock, a_reset_that_makes_a_circle, all_end=False):
        broken_off(call)
        for _ in range(2):  # nobody repeats it: others call
            a.renew()
            b.renew()
        is_reset = world.database.client.hget(world.database.key["changes"], "a").endswith("{}")
        told = [event for event in b.events if event.startswith("circle ")]
        assert bool(told) == is_reset, f"broken off after {after} writes"

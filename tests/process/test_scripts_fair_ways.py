"""`order = fair` with other ways to ask: the newest of an identity, levels, a rate (doc/ordering.md)."""

from fleet_help import needs_redis
from scripts_help import Claim, definition, list_row, ok
from scripts_help import clock, redis_server, world  # fixtures
from test_scripts_fair import A, B, begin, granted, members, order

pytestmark = needs_redis


def pushes(member, lease, *claims, uid=A, word="", at=1, **options):
    """It takes the place of older ones of the identity `i`."""
    share = f" share={word}" if word else ""
    return member.acquire(lease, *claims, uid=uid, holder="i", info=f"pid=1 at={at} replace=waiting{share}", **options)


def test_the_newest_has_the_rank_of_the_older_one(world):
    a = begin(world)
    rank = pushes(a, "a1", "a").ticket
    for lease, uid in ("a2", A), ("a3", A), ("b1", B):
        a.acquire(lease, "a", uid=uid)
    assert pushes(a, "a4", "a").ticket == rank
    assert order(world) == ["a4", "b1", "a2", "a3"] and len(members(world)) == 4


def test_the_newest_costs_what_it_wants(world):
    a = begin(world)
    small = pushes(a, "a1", "a").ticket
    for i in range(1, 4):
        a.acquire(f"b{i}", "a", uid=B)
    large = pushes(a, "a2", ("a", 2), at=2).ticket
    assert large == small + 1 and order(world) == ["b1", "a2", "b2", "b3"]
    assert pushes(a, "a3", "a", at=3).ticket == small


def test_nobody_uses_up_the_tickets(world):
    """In their upper half each request costs 1."""
    a = begin(world)
    half = 2 ** 51 + 10
    assert a.acquire("1", "a", uid=A, ticket=half).ticket == half
    assert a.acquire("2", ("a", 2), uid=A).ticket == half + 1
    assert a.acquire("3", ("a", 2), uid=B).ticket == half
    assert pushes(a, "4", "a", uid=B).ticket == half + 1
    assert pushes(a, "5", ("a", 2), uid=B, at=2).ticket == half + 1


def test_the_newest_has_no_rank_of_another_priority(world):
    a = begin(world)
    low = pushes(a, "a1", "a", priority=-1).ticket
    for i in range(1, 4):
        a.acquire(f"b{i}", "a", uid=B)
    assert pushes(a, "z1", "a", at=2).ticket > low
    assert order(world) == ["b1", "z1", "b2", "b3"]


def test_the_newest_keeps_a_better_rank_of_its_own(world):
    a, = world.several(1, {"a": definition(fair="share")})
    a.acquire("0", "a")
    for i in range(1, 4):
        a.acquire(f"x{i}", "a", info="pid=1 share=x")
    last = pushes(a, "x4", "a", word="x").ticket
    assert pushes(a, "y1", "a", word="y", at=2).ticket < last
    a.acquire("y2", "a", info="pid=1 share=y")
    assert order(world) == ["x1", "y1", "x2", "y2", "x3"]


def test_the_newest_has_the_older_one_s_turn_among_words(world):
    a = begin(world)
    a.acquire("x1", ("a", 2), uid=A, info="pid=1 share=x")
    pushes(a, "x2", ("a", 2), word="x")
    for lease in "x3", "y1":
        a.acquire(lease, ("a", 2), uid=A, info=f"pid=1 share={lease[0]}")
    for lease, expected in ("0", "x1"), ("x1", "y1"):
        ok(a.release(lease))
        assert granted(a) == [expected]
    assert order(world) == ["x3", "x2"]
    pushes(a, "x4", ("a", 2), word="x", at=2)
    ok(a.release("y1"))
    assert granted(a) == ["x4"]


def test_the_older_one_comes_back_with_a_larger_rank(world):
    a, b = begin(world, 2)
    world.database.client.flushall()
    for one in (a, b):
        ok(one.begin())
        one.define({"a": definition(limit=2, fair="user")})

    def lists(member, lease, at, ticket):
        row = list_row(lease, "waiting", [Claim("a", 1, 0, ())], uid=A, holder="i", ticket=ticket,
                       info=f"pid=1 at={at} replace=waiting")
        return member.lists(row)[lease][0]

    assert lists(b, "2", 2, 40) == "waiting"
    assert lists(a, "1", 1, 50) == "lost"
    for one in (a, b):
        one.end()
    assert order(world) == ["2"]


def test_a_rank_that_comes_back_is_below_later_numbers(world):
    a = begin(world, c=definition())
    a.acquire("c", "c")
    assert a.acquire("1", "a", uid=A, ticket=7000).ticket == 7000
    assert a.acquire("2", "c", uid=B).ticket > 7000


def test_a_level_gives_the_rank_and_counts_what_is_taken(world):
    a, = world.several(1, {"a": definition(limit=9), "t": definition(limit=4, fair="user")})
    a.acquire("0", ("t", 4), uid=A)
    for i in range(1, 3):
        a.acquire(f"a{i}", "a", ("t", 2), uid=A, info="pid=1 levels=t")
    for i in range(1, 4):
        a.acquire(f"b{i}", "t", uid=B)
    assert order(world, "t") == ["b1", "a1", "b2", "b3", "a2"]


def test_what_a_rate_lets_go_has_the_one_in_turn(world):
    a, = world.several(1, {"a": definition(limit=9, fair="user", rate=(1, 2000))})
    world.tick(2000)
    a.acquire("0", "a", uid=A)
    for lease, uid, word in ("x1", A, "x"), ("x2", A, "x"), ("y1", A, "y"), ("z1", B, "b"):
        a.acquire(lease, "a", uid=uid, info=f"pid=1 share={word}")
    went = []
    for _ in range(4):
        world.tick(2000)
        ok(a.renew())
        went += granted(a)
    assert went == ["x1", "z1", "y1", "x2"]

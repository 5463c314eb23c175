"""A listing says as of which mark it is; a caller that has that mark hears whether anything has
changed since (doc/redis.md, snapshot)."""

import random

from fleet_help import needs_redis
from scripts_help import definition, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

AGES = {"holder": {12}, "waiter": {9}, "session": {3}}  # the fields that differ from listing to listing


def listing(one, mark="-"):
    """The mark of now and the rows without ages and places; None in place of rows if it is `mark`."""
    rows, cursor = [], ""
    while True:
        cursor, *page = ok(one.call("snapshot", cursor, "?", mark)).rest
        rows += page
        if cursor == "":
            break
    if rows[0] == ["unchanged"]:
        assert len(rows) == 1
        return mark, None
    assert {row[1] for row in rows if row[0] == "mark"} == {rows[0][1]}
    return rows[0][1], sorted([field for i, field in enumerate(row) if i not in AGES.get(row[0], ())]
                              for row in rows if row[0] not in ("session", "mark"))


def test_marks(world):
    a, b = world.several(2, {"a": definition(), "b": definition(limit=4, cooldown=1000)})
    mark, rows = listing(a)
    assert listing(a, mark) == (mark, None)
    for n in range(3):
        a.renew(), b.renew()
    assert listing(b, mark) == (mark, None)

    steps = (
        lambda: b.acquire("1", "a"), lambda: b.acquire("2", "a"), lambda: b.release("1"),
        lambda: a.call("admin", "pause", "a", "", "why"), lambda: a.call("admin", "resume", "a"),
        lambda: a.acquire("1", "b", nowait=True), lambda: a.release("1"),
        lambda: a.acquire("3", ("b", 2), ("a", 1)), lambda: a.call("admin", "limit", "b", "2"),
    )
    for step in steps:
        ok_or_granted(step())
        new_mark, new_rows = listing(a, mark)
        assert new_rows is not None and new_mark != mark and new_rows != rows
        mark, rows = new_mark, new_rows
        assert listing(a, mark) == (mark, None)


def ok_or_granted(reply):
    assert reply.word in ("ok", "granted", "waiting"), reply


def one_step(chance, members, leases):
    one = chance.choice(members)
    mine = leases.setdefault(one.session, [])
    what = chance.randrange(10)
    if what < 5:
        name = str(chance.randrange(10 ** 9))
        names = chance.sample("abc", chance.choice((1, 1, 2, 3)))
        one.acquire(name, *((x, chance.randint(1, 2)) for x in names), nowait=chance.random() < 0.2,
                    uid=chance.choice((1000, 1001)))
        mine.append(name)
    elif what < 8 and mine:
        one.release(mine.pop(chance.randrange(len(mine))))
    elif what == 8:
        one.call("admin", chance.choice(("pause", "resume")), chance.choice("abc"), "", "")
    else:
        one.renew()


def test_no_change_is_missed(world, seed):
    chance = random.Random(seed)
    members = world.several(3, {"a": definition(limit=2, user=2), "b": definition(limit=3, keep=50),
                                "c": definition(limit=2, cooldown=20)})
    leases = {}
    mark, rows = listing(members[0])
    n_unchanged = 0
    for i in range(400):
        one_step(chance, members, leases)
        world.tick(chance.choice((0, 1, 10, 100)))
        _, now = listing(members[0])
        new_mark, said = listing(members[0], mark)
        if said is None:
            assert now == rows, i
            n_unchanged += 1
        else:
            mark, rows = new_mark, said
            assert now == rows
    assert n_unchanged > 10


def test_a_waiter_that_stands_elsewhere_is_a_change(world):
    """It lacks something else than before: no number is drawn, and no lease comes or goes."""
    a, = world.several(1, {"a": definition(), "b": definition()})
    a.acquire("1", "a", uid=1)
    a.acquire("2", "b", uid=2)
    a.acquire("3", "a", "b", uid=3)
    assert a.database.client.hget(a.database.key["db"], "moves") == "1"
    mark, rows = listing(a)
    ok(a.release("1"))  # one less, but 3 also goes on to b
    assert a.database.client.hget(a.database.key["db"], "moves") == "2"
    new_mark, new_rows = listing(a, mark)
    assert new_mark.split("-")[0] == mark.split("-")[0]
    assert new_mark.split("-")[1] != mark.split("-")[1] and new_rows != rows

"""How fast units are granted (`rate`, `burst`). The scripts on a real Redis; time passes only when a test says so."""

import fractions
import random

import pytest

from fleet_help import needs_redis
from scripts_help import Claim, World, definition, list_row, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

T = 30000
MINUTE = 60000


def two(world, definitions, n=2):
    """Daemons, long after the first grace: all of `burst` may go."""
    members = world.several(n, definitions)
    forget_grace(world)
    return members


def forget_grace(world):
    world.database.client.hset(world.database.key["db"], "since", 0)
    world.database.was_edited()


def word(member, *args, **options):
    return member.acquire(*args, **options).word


def full_in(member, name):
    """By the snapshot; None: it has no rate."""
    row, = [row for row in member.snapshot(name) if row[0] == "resource"]
    return int(row[18]) if len(row) > 18 else None


def fields(world):
    return {field: value for field, value in world.data().raw["db"].items() if field.startswith("rate ")}


def test_first_its_burst_then_one_for_each_step(world):
    a, b = two(world, {"a": definition(limit=100, rate=(4, 10000), burst=3)})
    assert [word(a, str(i), "a") for i in range(3)] == ["granted"] * 3
    ok(a.release("0", "1", "2"))  # that gives nothing back
    assert word(a, "now", "a", nowait=True) == "refused"
    assert a.acquire("now", "a", nowait=True).code == "would-wait"
    waiting = b.acquire("1", "a")
    assert (waiting.word, waiting.due) == ("waiting", 2501)
    assert a.acquire("3", "a").due == -1  # b calls
    world.tick(2499)
    ok(a.renew())
    assert not b.granted()
    world.tick(1)
    assert ok(a.renew()).due == 2501  # whoever's call it was calls again, though the next one is its own or not
    assert set(b.granted()) == {"1"}
    world.check()
    world.tick(2500)
    assert set(a.granted()) == {"3"}
    assert full_in(a, "a") == 7500
    world.pass_time(7499, a)
    assert full_in(a, "a") == 1
    world.tick(1)
    assert full_in(a, "a") == 0
    assert word(a, "4", ("a", 3)) == "granted"


def test_a_request_for_several_units_takes_as_many_steps(world):
    a, b = two(world, {"a": definition(limit=100, rate=(1, 1000), burst=5)})
    assert a.acquire("much", ("a", 6)).code == "impossible"
    assert word(a, "1", ("a", 3)) == "granted"
    assert a.acquire("2", ("a", 5)).due == 3001
    assert word(b, "1", "a") == "waiting"  # nobody passes it
    world.tick(3000)
    assert ok(a.renew()).due == 1001
    assert a.events[-1].startswith("granted 2 ")
    world.tick(1000)
    assert set(b.granted()) == {"1"}


def test_all_is_one_unit(world):
    a, = two(world, {"a": definition(limit=5, rate=(1, 1000), burst=2)}, 1)
    assert word(a, "1", "a", info="pid=1 all=a") == "granted"
    ok(a.release("1"))
    assert word(a, "2", "a", info="pid=1 all=a") == "granted"
    ok(a.release("2"))
    assert word(a, "3", "a", info="pid=1 all=a") == "waiting"
    world.tick(1000)
    assert set(a.granted()) == {"3"}


@pytest.mark.parametrize("rate, burst", [((7, 1000), 3), ((1, 700), 1), ((1000, 333), 40)], ids=str)
def test_never_more_than_promised(redis_server, clock, rate, burst):
    """Beside an exact count, in fractions; as a library and as a script."""
    world = World(redis_server, clock, ways=("library", "library", "script"))
    chance = random.Random(str(rate))
    a, b = two(world, {"a": definition(limit=10000, rate=rate, burst=burst)})
    units, window = rate
    step = fractions.Fraction(window, units)
    full, grants, lease, waiting = fractions.Fraction(0), [], 0, []
    for _ in range(300):
        now = fractions.Fraction(world.now)
        if chance.random() < 0.5:
            world.tick(chance.choice((0, 1, 1, 5, round(step) + 1, 100, 400)))
            now = fractions.Fraction(world.now)
            ok(a.renew())
        elif not waiting:
            lease, n = lease + 1, chance.randint(1, min(burst, 4))
            waiting.append((lease, n))
            chance.choice((a, b)).acquire(str(lease), ("a", n))
        if waiting:
            one, n = waiting[0]
            may_go = max(full, now) + n * step <= now + burst * step
            is_held = {a.key(one), b.key(one)} & world.data().holding()
            assert bool(is_held) == may_go
            if may_go:
                full = max(full, now) + n * step
                grants += [now] * n
                waiting.clear()
    for i, first in enumerate(grants):
        assert sum(1 for at in grants[i:] if at < first + window) <= burst + units
    assert len(grants) > 20


def test_the_first_waiter_is_served_in_time_whoever_called_last(world):
    """The daemon whose call has found out when somebody may go calls then: also of several resources, and without a
    waiter of its own."""
    definitions = {name: definition(limit=9, rate=(1, step)) for name, step in (("a", 1000), ("b", 1700), ("c", 2300))}
    x, y, z = two(world, definitions, 3)
    for name in definitions:
        for i in range(4):
            (y, z)[i % 2].acquire(f"{name}{i}", name)
    due = {}  # when each daemon calls

    def call(member, what):
        reply = ok(what())
        due[member] = None if reply.due == -1 else world.now + reply.due
        return reply

    for member in (y, z, x):
        call(member, member.renew)
    begun = world.now
    while any(due.values()) and world.now < begun + 20000:
        at, member = min((at, number) for number, (one, at) in enumerate(due.items()) if at)
        world.tick(max(at - world.now, 0))
        one = list(due)[member]
        call(one, one.renew)
    taken = world.now - begun
    assert not world.data().waiting()
    assert taken <= 3 * 2300 + 20


def test_nothing_else_is_kept_before_the_instant(world):
    """What has a rate comes first on the road, also after patience has ended."""
    a, b = two(world, {"a": definition(limit=9, rate=(1, 5000)), "b": definition(limit=2, keep=2000)})
    assert word(a, "1", "a") == "granted"
    assert word(a, "both", "a", ("b", 2)) == "waiting"
    assert word(b, "b", ("b", 2)) == "granted"  # not kept
    assert world.check().queued == {"a": [a.key("both")]}
    world.tick(5000)
    ok(a.renew())
    data = world.check()
    assert data.queued == {"b": [a.key("both")]} and data.kept == {("a", a.key("both")): 1}
    world.tick(2000)
    ok(a.renew())  # its patience is over
    assert word(b, "a", "a") == "granted"
    assert not world.check().kept
    ok(b.release("b"))
    data = world.check()
    assert data.queued == {"a": [a.key("both")]} and not data.kept
    assert word(b, "b2", ("b", 2)) == "granted"
    ok(b.release("b2"))
    world.tick(5000)
    assert set(a.granted()) == {"both"}
    world.check()


def test_what_is_kept_for_an_older_one_is_not_lent(world):
    a, b = two(world, {"a": definition(limit=9, rate=(1, 5000), burst=2), "b": definition()})
    word(b, "b", "b")
    assert word(a, "both", "a", "b") == "waiting"
    assert word(a, "1", "a") == "granted"  # of two; one goes, as it stands for b
    world.tick(1)
    assert word(a, "2", "a") == "granted"
    assert word(a, "3", "a") == "waiting"
    ok(b.release("b"))
    assert not b.granted() and "both" not in a.granted()
    assert a.acquire("4", "b").word == "granted"
    ok(a.release("4"))
    world.tick(5000)
    assert set(a.granted()) >= {"both"}


def test_a_grace_uses_up_the_burst(world):
    text = {"a": definition(limit=9, rate=(1, 20000), burst=3)}
    a, b = two(world, text)
    units = {str(i): a.acquire(str(i), "a").units for i in range(2)}
    tokens = {key.split("/")[1]: lease["claims"][0].token for key, lease in world.data().leases.items()}
    world.database.client.flushall()
    listed = a.hello(text, [list_row(one, "held", [Claim("a", 1, tokens[one], units[one])]) for one in units])
    assert {one: row[0] for one, row in listed.items()} == {"0": "held", "1": "held"}
    b.hello(text)
    since = int(world.data().raw["db"]["since"])
    world.end_grace(a, b)
    n = (world.now - since) // 20000  # have come since
    assert 0 < n < 3
    got = [word(b, f"n{i}", "a") for i in range(3)]
    assert got == ["granted"] * n + ["waiting"] * (3 - n)


@pytest.mark.parametrize("is_other", [True, False])
def test_a_grace_of_a_server_with_its_data(world, is_other):
    """It may lack its last grants: it is another server, or somebody knows of a later call."""
    a, = two(world, {"a": definition(limit=9, rate=(1, MINUTE), burst=3)}, 1)
    assert full_in(a, "a") == 0
    if is_other:
        world.becomes_another_server()
    else:
        a.sequence += 100
    assert a.renew().word == "hello"
    a.hello()
    since = int(world.data().raw["db"]["since"])
    world.end_grace(a)
    assert full_in(a, "a") == 3 * MINUTE - (world.now - since)


def test_a_new_fleet_begins_with_its_burst(world):
    a = world.member({"a": definition(limit=9, rate=(1, 20000), burst=3)})
    assert ok(a.admin("found", "", "")).rest == [""]
    assert [word(a, str(i), "a") for i in range(4)] == ["granted"] * 3 + ["waiting"]


@pytest.mark.parametrize("rate, burst, left, soon", [
    ((1, 1000), 4, 1, 1000),  # the same units have gone, by the new steps
    ((1, 60000), 4, 1, 60000),
    ((1, 1000), 2, 0, 1000),  # no more than all
    ((1, 10000), 8, 5, 9000),  # the same rate
], ids=str)
def test_another_rate(world, rate, burst, left, soon):
    a, b = two(world, {"a": definition(limit=90, rate=(1, 10000), burst=4)})
    for i in range(3):
        assert word(a, str(i), "a") == "granted"
    world.tick(1000)
    assert b.define({"a": definition(limit=90, rate=rate, burst=burst)})["a"][0] == "differs"
    assert b.define({"a": definition(limit=90, rate=rate, burst=burst)}, 1)["a"][0] == "stored"
    for i in range(left):
        assert word(b, str(i), "a") == "granted"
    assert b.acquire("next", "a").due == min(soon + 1, 29001)  # the latter when the first session ends
    world.check()


def test_a_smaller_burst_sets_a_large_request_aside(world):
    a, b = two(world, {"a": definition(limit=9, rate=(1, 1000), burst=3)})
    assert word(a, "0", ("a", 3)) == "granted"
    assert word(a, "3", ("a", 3)) == "waiting" and word(b, "1", "a") == "waiting"
    b.define({"a": definition(limit=9, rate=(1, 1000), burst=2)}, 1)
    assert [member.split(" ")[1] for member in world.check().aside[a.key("3")]] == ["b"]
    world.tick(1000)
    assert set(b.granted()) == {"1"}
    b.define({"a": definition(limit=9)}, 2)  # without a rate
    assert set(a.granted()) == {"3"}


def test_nothing_stays_of_an_idle_instance(world):
    a, = two(world, {"t/*": definition(rate=(1, 7000))}, 1)
    for i in range(70):
        assert word(a, str(i), (f"t/{i}", 1, None, "t/*")) == "granted"
        ok(a.release(str(i)))
    assert len(fields(world)) == 70 and a.renew().due == -1
    world.pass_time(7000 + MINUTE, a)
    assert not fields(world)
    world.must_be_empty()


def test_a_rate_that_is_used_all_the_time_keeps_its_field(world):
    a, = two(world, {"a": definition(limit=9, rate=(1, 50000), burst=3)}, 1)
    for i in range(3):
        assert word(a, str(i), "a") == "granted"
    world.pass_time(MINUTE, a)
    assert full_in(a, "a") == 90000 and fields(world)
    world.pass_time(90000 + MINUTE, a)
    assert full_in(a, "a") == 0 and not fields(world)


def test_forgotten_and_defined_again(world):
    text = {"a": definition(limit=9, rate=(1, 50000))}
    a, = two(world, text, 1)
    assert word(a, "0", "a") == "granted"
    ok(a.release("0"))
    ok(a.forget("a"))
    a.define(text)
    assert word(a, "1", "a", nowait=True) == "refused"  # the name's rate goes on
    ok(a.forget("a"))
    world.pass_time(50000 + MINUTE, a)
    assert not fields(world)


def test_without_a_rate_nothing_is_said(world):
    a, = world.several(1, {"a": definition()})
    assert full_in(a, "a") is None
    assert a.define({"a": definition(rate=(1, 1000))}) == {"a": ("differs", definition())}

"""What a script does in one call is bounded by counts, however much is held and waited for; the
next calls do the rest."""

import pytest

from fleet_help import needs_redis
from scripts_help import World, definition, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

FEW, MANY = 320, 400  # more than one call looks at


def settles(world, one):
    """As many calls as there is work for."""
    for _ in range(200):
        if ok(one.renew()).due != 0:
            ok(one.renew())  # nobody waits any more, and it may not have seen that yet
            return
    raise AssertionError("there is always something left")


def n_waiting(world):
    return len(world.data().waiting())


def instances(world, a, n):
    """Each has a holder, and a waiter behind it."""
    for i in range(n):
        for lease in ("held", "waits"):
            a.acquire(f"{lease}{i}", (f"t/{i}", 1, None, "t/*"))
    return lambda: a.define({"t/*": definition(limit=2)}, generation=1)


def requests_aside(world, a, n):
    """Each waits for two, one of which is paused."""
    ok(a.admin("pause", "a", "", ""))
    for i in range(n):
        a.acquire(str(i), ("a", 1), ("b", 1))
    return lambda: ok(a.admin("resume", "a"))


def requests_to_put_aside(world, a, n):
    """Each waits for two, one of which is paused then."""
    a.acquire("all", ("a", 1000))
    for i in range(n):
        a.acquire(str(i), ("a", 1), ("b", 1))
    return lambda: ok(a.admin("pause", "a", "", ""))


def requests_of_a_user(world, a, n):
    """Each wants two, and one is free for the user now."""
    a.acquire("1", "q", uid=7)
    a.acquire("2", "q", uid=7)
    for i in range(n):
        a.acquire(f"two{i}", ("q", 2), uid=7)
    return lambda: ok(a.release("1"))


SCENES = [instances, requests_aside, requests_to_put_aside, requests_of_a_user]


def play(world, scene, n):
    a, = world.several(1, {"t/*": definition(), "a": definition(limit=1000), "b": definition(limit=1000),
                           "q": definition(limit=10, user=2)})
    world.database.load()
    return a, scene(world, a, n)


@pytest.mark.parametrize("scene", SCENES)
def test_a_call_costs_the_same_for_few_and_many(world, scene):
    _, call = play(world, scene, FEW)
    few = world.n_commands(call)
    world.database.client.flushall()
    world.members.clear()
    _, call = play(world, scene, MANY)
    assert world.n_commands(call) == few


def test_the_rest_is_done_by_the_next_calls(world):
    a, call = play(world, instances, MANY)
    call()
    assert n_waiting(world) > 0
    settles(world, a)
    assert n_waiting(world) == 0
    world.check()


@pytest.mark.parametrize("n", range(22, 31))
def test_a_walk_that_gets_no_further_goes_on(world, n):
    """One of these numbers of instances leaves a call no work to spend on the second template."""
    a, = world.several(1, {"t/*": definition(), "u/*": definition()})
    instances(world, a, n)
    for lease in ("held", "waits"):
        a.acquire(lease, ("u/0", 1, None, "u/*"))
    client, key = world.database.client, world.database.key
    client.zremrangebylex(key["held"], "[u/0 ", "(u/0!")  # freed, and an earlier call had got this far:
    client.sadd(key["dirty"], "u/* !")
    client.hset(key["db"], "walk u/*", "1u/")
    world.database.was_edited()
    a.define({"t/*": definition(limit=2)}, generation=1)
    settles(world, a)
    assert n_waiting(world) == 0


def test_all_come_back_from_aside(world):
    a, call = play(world, requests_aside, MANY)
    call()
    settles(world, a)
    assert n_waiting(world) == 0
    world.check()


def test_all_are_put_aside(world):
    """Waiters for only the other one are not held up."""
    a, call = play(world, requests_to_put_aside, MANY)
    call()
    settles(world, a)
    assert a.acquire("last", ("b", 1000)).word == "granted"
    assert len(world.data().aside) == MANY
    world.check()


def test_a_user_is_served_in_order_as_far_as_it_fits(world):
    a, = world.several(1, {"q": definition(limit=10, user=4)})
    a.acquire("all", ("q", 4), uid=7)
    for i, count in enumerate([3, 2, 4, 1, 1]):
        a.acquire(str(i), ("q", count), uid=7)
    ok(a.release("all"))
    assert set(a.granted()) == {"0", "3"}
    ok(a.release("0"))
    assert set(a.granted()) == {"1", "4"}
    ok(a.release("1", "3"))
    assert not a.granted()
    ok(a.release("4"))
    assert set(a.granted()) == {"2"}
    world.check()


def units_of_users(world, n, name="q", definition_name="q"):
    """Each of so many users is at the quota, and asks for one more: the last user first."""
    a, = world.several(1, {definition_name: definition(limit=n + 5, user=1)})
    for what in ("held", "more"):
        for uid in range(n, 0, -1):
            a.acquire(f"{what}{uid}", (name, 1, None, None, definition_name), uid=uid)
    return a


@pytest.mark.parametrize("name", ["q", "t/x"])
def test_a_larger_quota_is_shared_out_in_order(world, name):
    """They come back from aside in the order of their numbers, over several calls."""
    of = name.replace("x", "*")
    a = units_of_users(world, 70, name, of)
    a.define({of: definition(limit=75, user=2)}, generation=1)
    assert a.acquire("late", (name, 1, None, None, of), uid=71).word == "waiting"
    settles(world, a)
    assert set(a.granted()) == {f"more{uid}" for uid in range(66, 71)}
    world.check()


def test_a_walk_over_a_template_holds_up_nobody_for_ever(world):
    """A lease stands aside at each of its instances, before and after it."""
    a, = world.several(1, {"t/*": definition(limit=3, user=2)})
    for i in range(100):
        for lease, count in (("held", 2), ("next", 1), ("last", 2)):
            a.acquire(f"{lease}{i}", (f"t/{i}", count, None, "t/*"))
    a.define({"t/*": definition(limit=3, user=3)}, generation=1)
    settles(world, a)
    assert a.granted().keys() == {f"next{i}" for i in range(100)}
    world.check()


def n_commands_of_letting_go(redis_server, clock, n_aside):
    """For a waiter that has only r kept, while so many of its user's stand aside at q, behind what
    is kept there for another one of that user."""
    texts = {"q": definition(limit=100, user=100, keep=10 ** 6), "r": definition(limit=2),
             "s": definition(limit=4, keep=10 ** 6)}
    world = World(redis_server, clock, f"w{n_aside}")
    a, b = world.several(2, texts)
    a.acquire("q", ("q", 100), uid=9)
    a.acquire("r", ("r", 2), uid=9)
    a.acquire("s", ("s", 4), uid=9)
    b.acquire("first", ("q", 50), "s", uid=1)
    ok(a.release("q"))
    for i in range(n_aside):
        b.acquire(f"aside{i}", ("q", 51 + i), uid=1)
    a.acquire("q", ("q", 45), uid=9)
    b.acquire("second", ("r", 2), ("q", 20), uid=1)
    ok(a.release("r"))
    data = world.data()
    assert data.kept == {("q", b.key("first")): 50, ("r", b.key("second")): 2}
    assert len(data.aside) == n_aside
    world.pass_time(9000, a, b)
    world.tick(1001)
    n_commands = world.n_commands(a.renew)
    assert world.check().kept == {("q", b.key("first")): 50}
    return n_commands


def test_letting_go_wakes_only_queues_with_kept_units(redis_server, clock):
    assert n_commands_of_letting_go(redis_server, clock, 25) == n_commands_of_letting_go(redis_server, clock, 0)

"""An operator moves a waiter (`admin move`): its ticket says so, also to a database that has lost its data."""

from fleet_help import needs_redis
from scripts_help import Claim, definition, list_row, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

FIRST = 2 ** 52  # tickets above are of those that stand before all


def order(world, name="a"):
    return [key.split("/")[1] for key in world.check().queued[name]]


def waiting(world, **more):
    """a has all; "1" to "4" of b wait, the last ones with another priority."""
    a, b = world.several(2, {"a": definition(limit=2), "b": definition(), **more})
    a.acquire("0", ("a", 2))
    for lease, priority in (("1", 0), ("2", 0), ("3", 7), ("4", -7)):
        b.acquire(lease, "a", priority=priority)
    assert order(world) == ["3", "1", "2", "4"]
    return a, b


def events(member, word):
    member.renew()
    return [event.split(" ")[1:] for event in member.events if event.startswith(word + " ")]


def test_first_and_last(world):
    a, b = waiting(world)
    for lease, where, expected in (("4", "first", "4312"), ("2", "first", "2431"), ("2", "last", "4312"),
                                   ("4", "last", "3124"), ("1", "last", "3214"), ("4", "first", "4321")):
        ok(a.admin("move", b.key(lease), where, "why"))
        assert order(world) == list(expected), (lease, where)
    assert a.acquire("5", "a", priority=1000).position == 2
    moved = events(b, "moved")
    assert [(lease, place) for lease, _, place in moved] == [
        ("4", "1"), ("2", "1"), ("2", "4"), ("4", "4"), ("1", "3"), ("4", "1")]
    assert [int(ticket) > FIRST for _, ticket, _ in moved] == [True, True, False, False, False, True]
    ok(a.release("0"))
    assert [lease for lease, *_ in events(b, "granted")] == ["4"] and order(world) == ["3", "2", "1"]


def test_what_cannot_be_moved(world):
    a, b = waiting(world)
    reply = b.admin("move", a.key("0"), "first")
    assert (reply.code, reply.rest[1]) == ("kind", a.key("0"))
    assert b.admin("move", a.key("9"), "first").code == "unknown"
    assert order(world) == ["3", "1", "2", "4"]


def test_what_fits_goes_at_once(world):
    a, b = world.several(2, {"a": definition(limit=2)})
    a.acquire("0", "a")
    b.acquire("1", ("a", 2))
    b.acquire("2", "a")
    ok(a.admin("move", b.key("1"), "last"))
    assert [lease for lease, *_ in events(b, "granted")] == ["2"]


def test_in_all_its_queues_and_nothing_stays_kept(world):
    a, b = waiting(world)
    a.acquire("9", "b")
    b.acquire("5", "a", "b")
    b.acquire("6", "b")
    ok(a.admin("move", b.key("5"), "first"))
    ok(a.release("9"))
    data = world.check()
    assert data.kept == {("b", b.key("5")): 1} and data.queues[b.key("5")] == ["a"] and order(world)[0] == "5"
    ok(a.admin("move", b.key("5"), "last"))
    assert [lease for lease, *_ in events(b, "granted")] == ["6"]
    assert not world.check().kept and order(world, "b") == ["5"]
    ok(b.release("6"))
    assert world.check().kept and order(world) == ["3", "1", "2", "5", "4"]


def test_a_database_that_has_lost_it_puts_it_back_there(world):
    a, b = waiting(world)
    ok(a.admin("move", b.key("4"), "first"))
    ok(a.admin("move", b.key("1"), "last"))
    leases = world.check().leases
    ticket = {lease: leases[b.key(lease)]["ticket"] for lease in "1234"}
    world.database.client.delete(*world.database.keys)
    ok(b.begin())
    b.define({"a": definition(limit=2)})
    for lease, priority in (("1", 0), ("2", 0), ("3", 7), ("4", -7)):
        b.lists(list_row(lease, "waiting", [Claim("a", 1, 0, ())], ticket=ticket[lease], priority=priority))
    assert order(world) == ["4", "3", "2", "1"]
    ok(b.admin("move", b.key("2"), "first"))
    assert order(world) == ["2", "4", "3", "1"]

"""Hosts that are gone stay listed for an hour: written by the call that drops a dead session, for operators' eyes
alone. Whatever becomes of that key, what the host held is freed."""

import contextlib

import pytest

from fleet_help import needs_redis
from scripts_help import Member, definition, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

T, HOUR = 30000, 3600000
DEFINITIONS = {"a": definition(limit=2), "b": definition(limit=2), "m": definition(limit=1000), "t/*": definition()}


def gone(member):
    """{host: (session, ago, freed ago, held, names)}, in the order of the rows."""
    return {host: (session, int(ago), int(freed), int(n), names.split(",") if names else [])
            for word, session, host, ago, freed, n, names in
            (row for row in member.snapshot() if row[0] == "gone")}


def n_gone(member):
    (_, _, n), = [row for row in member.snapshot("*") if row[0] == "sessions"]
    return int(n)


def dies(world, *alive):
    """Whoever is not alive."""
    world.pass_time(T + 1000, *alive)


def begin(world):
    a, b = world.several(2, DEFINITIONS)
    a.acquire("1", "a", "b")
    a.acquire("2", "a")
    assert a.acquire("3", ("a", 2)).word == "waiting"
    return a, b


def test_what_a_dead_host_held(world):
    a, b = begin(world)
    assert gone(b) == {} and n_gone(b) == 0
    dies(world, b)
    session, ago, freed, held, names = gone(b)[a.host]
    assert (session, held, names) == (a.session, 2, ["a", "b"]) and n_gone(b) == 1
    assert T <= ago <= T + 2000 and freed <= 1000
    world.pass_time(60000, b)
    assert gone(b)[a.host][1:3] == (ago + 60000, freed + 60000)
    world.check()
    assert world.data().leases == {} and b.acquire("1", ("a", 2)).word == "granted"
    world.pass_time(HOUR - 62000, b)
    assert list(gone(b)) == [a.host] and n_gone(b) == 1
    world.pass_time(3000, b)
    assert gone(b) == {} and n_gone(b) == 0


def test_one_that_comes_back_is_listed_no_more(world):
    """The daemon is heard from again; or, after a reboot, one with another name, on the same host."""
    a, b, c = world.several(3, DEFINITIONS)
    a.acquire("1", "a")
    dies(world, b)
    assert list(gone(b)) == [a.host, c.host]
    ok(a.begin())
    assert list(gone(b)) == [c.host] and n_gone(b) == 1
    rebooted = Member(world.database, 77)
    rebooted.host = c.host
    ok(rebooted.begin())
    assert gone(b) == {}
    dies(world, b)
    assert list(gone(b)) == [a.host, c.host] and gone(b)[c.host][0] == rebooted.session


def test_one_that_reboots_in_time_is_not_gone(world):
    """Its session of before ends when its ttl is over, and frees what it held."""
    a, b = begin(world)
    world.pass_time(T // 2, b)
    rebooted = Member(world.database, 77)
    rebooted.host = a.host
    ok(rebooted.begin())
    dies(world, b, rebooted)
    assert gone(b) == {} and world.data().leases == {}
    dies(world, b)
    assert gone(b)[a.host][0] == rebooted.session
    world.pass_time(HOUR, b)
    assert not [field for field in world.database.data()["session"] if field == f"h:{a.host}"], "nothing stays of it"


def test_another_daemon_of_the_host_hides_nothing(world):
    """It was there before."""
    a, b, c = world.several(3, DEFINITIONS)
    b.host = a.host
    ok(b.begin())
    a.acquire("1", "a")
    world.pass_time(1000, a, b, c)
    dies(world, b, c)
    assert gone(c)[a.host][:1] + gone(c)[a.host][3:] == (a.session, 1, ["a"])


def test_one_that_left_is_not_gone(world):
    a, b = begin(world)
    before = world.database.client.zscore(world.database.key["sessions"], a.session)
    ok(a.call("hello", "leave"))
    assert world.database.client.zscore(world.database.key["sessions"], a.session) == before, "it lives no longer"
    assert len(world.data().leases) == 3, "and its leases no shorter"
    dies(world, b)
    assert gone(b) == {} and world.data().leases == {}
    ok(a.begin())  # another one follows it, and dies
    a.end()
    dies(world, b)
    assert list(gone(b)) == [a.host]


def test_one_that_left_and_was_followed_at_once_can_be_gone(world):
    a, b = begin(world)
    ok(a.call("hello", "leave"))
    ok(a.begin())
    dies(world, b)
    assert list(gone(b)) == [a.host]


def test_more_than_one_call_can_drop(world):
    a, b = world.several(2, DEFINITIONS)
    for i in range(150):
        a.acquire(str(i), "m", *(["a"] if i < 2 else []))
    for i in range(150, 160):
        a.acquire(str(i), (f"t/{i}", 1, None, "t/*"))
    world.pass_time(T - 1000, b)
    world.tick(1001)
    ok(b.renew())
    assert gone(b) == {} and 0 < len(world.data().leases) < 160, "not over yet"
    dies(world, b)
    _, _, _, held, names = gone(b)[a.host]
    assert held == 160 and len(names) == 9 and names[-1] == "..." and {"m", "a"} < set(names), names
    assert not world.database.client.hexists(world.database.key["session"], f"g:{a.session}")


def test_the_newest_hundred(world):
    b, = world.several(1, DEFINITIONS)
    others = [world.member(hello=False) for _ in range(105)]
    for one in others[:5]:
        ok(one.begin())
    dies(world, b)
    for one in others[5:]:
        ok(one.begin())
    dies(world, b)
    dies(world, b)
    assert set(gone(b)) == {one.host for one in others[5:]} and n_gone(b) == 100


@contextlib.contextmanager
def heard(world):
    """What is published to all; complete when it is left."""
    with world.database.client.pubsub(ignore_subscribe_messages=True) as subscription:
        subscription.subscribe("{berth}:all")
        subscription.get_message(timeout=5)
        texts = []
        yield texts
        world.database.client.publish("{berth}:all", "end")
        while (message := subscription.get_message(timeout=5))["data"] != "end":
            texts.append(message["data"])


def test_the_others_are_told_once(world):
    a, b = begin(world)
    with heard(world) as texts:
        dies(world, b)
        world.pass_time(60000, b)
    assert [text for text in texts if text.startswith("gone")] == [f"gone 1\t{a.session} 2 a,b {a.host}"]


def test_many_in_one_message(world):
    b, *others = world.several(20, DEFINITIONS)
    with heard(world) as texts:
        world.pass_time(T - 1000, b)
        world.tick(1001)
        ok(b.renew())
    text, = [text for text in texts if text.startswith("gone")]
    n, *entries = text.split("\t")
    assert n == "gone 19" and len(entries) == 8 and set(entries) < {f"{one.session} 0  {one.host}" for one in others}


def gone_key(world):
    return world.database.key["gone"]


def is_lost(world):
    world.database.client.delete(gone_key(world))


def is_of_another_type(world):
    world.database.client.delete(gone_key(world))
    world.database.client.set(gone_key(world), "x")


def is_nonsense(world):
    world.database.client.zadd(gone_key(world), {"x": 1e15, "1 2 3": 1e15, "": 1e15})


def is_too_long(world):
    """More members than Lua can hand to one command."""
    score = world.database.clock()
    world.database.client.zadd(gone_key(world), {f"x{i}": score for i in range(20000)})


def has_other_words(world):
    """A later berthd's, of each session."""
    database = world.database
    for name in database.data()["session"]:
        database.client.hset(database.key["session"], "g:" + name.split(":")[-1], "word")


def is_full(world):
    world.database.client.execute_command("CONFIG", "SET", "maxmemory", "1")


@pytest.mark.parametrize("way", ["library", "script"])
@pytest.mark.parametrize("fault", [is_lost, is_of_another_type, is_nonsense, is_too_long, has_other_words, is_full])
def test_nothing_hinders_the_release(world, fault, way):
    world.database.ways = (way,)
    a, b = begin(world)
    fault(world)
    dies(world, b)
    assert world.database.client.hkeys(world.database.key["leases"]) == ["~"]
    assert list(gone(b)) == ([] if fault is is_of_another_type else [a.host])
    world.database.client.execute_command("CONFIG", "SET", "maxmemory", "0")
    assert b.acquire("1", ("a", 2), ("b", 2)).word == "granted"
    ok(a.begin())
    assert b.admin("pause", "a", "", "why").word == "ok" and gone(b) == {}
    assert n_gone(b) == 0


def test_the_key_of_a_database_that_an_earlier_berthd_has_made(world):
    a, b = begin(world)
    is_lost(world)
    ok(b.renew())
    assert world.database.client.exists(gone_key(world)) == 0
    ok(b.begin())
    assert world.database.client.zrange(gone_key(world), 0, -1) == ["~"], "no key of a cluster may be missing for long"

"""Work beside what a caller wants: a call does a bounded part, says that work is left, and is made
again at once. Which daemon calls at all, when something is due."""

import pytest

from fleet_help import needs_redis
from scripts_help import claim_words, definition, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

T = 30000


def acquire_all(member, names):
    """Each is a lease of its own, numbered from 0; the words of the answer."""
    words = []
    for at in range(0, len(names), 32):
        asked = [word for i, name in enumerate(names[at:at + 32], at)
                 for word in (i, 0, 0, 0, 1000, 1000, "", "pid=1", "", 1, *claim_words(name))]
        words += [row[0] for row in ok(member.call("acquire", *asked)).rows(3)]
    return words


def renew_until_done(member, max_calls):
    """No time passes. Returns how many calls that took."""
    for n in range(1, max_calls + 1):
        reply = ok(member.renew())
        if reply.due != 0:
            return n
    raise AssertionError(f"work is left after {max_calls} calls")


def test_a_dead_host_is_forgotten_whether_or_not_anybody_waits(world):
    a, b = world.several(2, {"a": definition(limit=600)})
    acquire_all(a, ["a"] * 600)
    world.pass_time(T - 1000, b)
    world.tick(1001)
    assert 9 <= renew_until_done(b, 14)
    assert not world.check().leases


@pytest.mark.parametrize("n_leases, n_calls", [(0, 1), (63, 1), (64, 2)])
def test_a_dead_host_goes_with_the_last_of_its_leases(world, n_leases, n_calls):
    a, b = world.several(2, {"a": definition(limit=600)})
    acquire_all(a, ["a"] * n_leases)
    world.pass_time(T - 1000, b)
    world.tick(1001)
    for _ in range(n_calls):
        assert len(world.database.data()["sessions"]) == 2
        ok(b.renew())
    assert len(world.database.data()["sessions"]) == 1


def test_after_a_grace_all_queues_move_at_once(world):
    names = [(f"t/{i}", 1, None, "t/*") for i in range(500)]
    a, b = world.several(2, {"t/*": definition(), "a": definition(limit=300)})
    world.database.client.flushall()
    for one in (a, b):
        one.hello({"t/*": definition(), "a": definition(limit=300)})
    assert acquire_all(a, [*names, *["a"] * 300]) == ["waiting"] * 800
    assert b.acquire("0", "a").word == "waiting"
    while ok(b.renew()).grace > 4000:
        world.tick(4000)
        ok(a.renew())
    world.tick(4000)
    assert renew_until_done(b, 60) <= 32
    assert len(world.check().holding()) == 800  # one waits: all 300 of "a" are taken


def test_a_larger_failover_lag_extends_a_running_grace(world):
    a = world.member(lag=1000)
    assert ok(a.renew()).grace == T + 1000
    world.tick(2000)
    ok(a.renew())
    b = world.member(hello=False, lag=21000)
    b.stored_ttl = 0
    ok(b.begin())
    assert ok(b.renew()).grace == T + 21000 - 2000
    c = world.member(lag=1000)
    assert ok(c.renew()).grace == T + 21000 - 2000


def test_only_the_daemon_of_the_first_waiter_is_called(world):
    a, b, c = world.several(3, {"a": definition(), "b": definition(cooldown=2000)})
    a.acquire("1", "a")
    assert b.acquire("1", "a").due > 0
    assert c.acquire("1", "a").due == -1
    assert ok(a.renew()).due == -1
    ok(b.release("1"))
    assert ok(c.renew()).due > 0
    a.acquire("2", "b")
    assert b.acquire("2", "b").due == -1
    ok(a.release("2"))  # it rests: its first waiter is called
    assert ok(b.renew()).due == 2001
    assert ok(c.renew()).due == -1


def test_only_the_daemon_of_the_first_waiter_is_called_when_a_grace_ends(world):
    a, b = world.several(2, {"a": definition()})
    world.database.client.flushall()
    for one in (a, b):
        one.hello({"a": definition()})
    assert a.acquire("1", "a").due == T + 11000
    assert b.acquire("1", "a").due == -1


def test_a_ttl_that_was_promised_to_nobody_makes_no_grace_longer(world):
    a, b = world.several(2, {"a": definition()})
    world.becomes_another_server()
    c = world.member(hello=False, ttl=3600_000)
    c.stored_ttl = 0
    assert ok(c.begin()).grace == T + 11000
    assert c.stored_ttl == T
    b.stored_ttl = 60000  # the ttl of newer data, which are lost
    assert ok(b.begin()).grace == 60000 + 11000
    assert b.stored_ttl == T
    assert ok(a.begin()).grace == 60000 + 11000


def test_a_grace_lasts_as_long_as_the_longest_promise(world):
    """The ttl has fallen, but its daemon may not have heard that."""
    a = world.member({"a": definition()}, ttl=60000)
    world.end_grace(a)
    ok(a.renew())
    a.ttl = T
    ok(a.begin())
    assert a.stored_ttl == T
    world.becomes_another_server()
    b = world.member(hello=False)
    b.stored_ttl = 0
    assert ok(b.begin()).grace == 60000 + 11000
    a.stored_ttl = 60000
    assert ok(a.begin()).grace == 60000 + 11000


def test_a_failover_lag_falls_again(world):
    a, b = world.several(2, {"a": definition()})
    b.lag = 3600_000
    ok(b.begin())
    world.becomes_another_server()
    ok(a.begin())
    assert ok(a.renew()).grace == T + 3600_000  # that of a host that may be cut off
    world.pass_time(T + 3600_000, a, b)
    b.lag = 11000
    ok(b.begin())
    world.becomes_another_server()
    assert ok(a.begin()).grace == T + 11000


def test_a_grace_of_thousands_of_hosts_begins_with_few_calls(world):
    n, a, key = 2500, world.member(lag=1000), world.database.key
    client = world.database.client
    world.end_grace(a)
    record, until = client.hget(key["session"], a.session), client.zscore(key["sessions"], a.session)
    last = record.replace(" 1000\t", " 21000\t")
    others = {f"{i:016x}": record for i in range(1000, n)} | {"f" * 16: last}
    assert last != record
    client.hset(key["session"], mapping=others)
    client.zadd(key["sessions"], {name: until for name in others})
    world.becomes_another_server()
    client.config_resetstat()
    assert ok(a.begin()).grace == T + 21000
    assert sum(row["calls"] for row in client.info("commandstats").values()) < 60

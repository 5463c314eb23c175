"""Older data come back on the same server, under the same ids: a snapshot of its machine, DEBUG
RELOAD. A caller that has had an answer or an event that they do not know begins a grace, before
anything is done."""

import pytest

from fleet_help import needs_redis, servers  # a fixture among them  # noqa: F401
from lines import until
from scripts_help import World, definition, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

T = 30000


def number(world, field):
    return int(world.database.client.hget(world.database.key["db"], field) or 0)


CALLS = {
    "acquire": lambda one: one.acquire("9", "a"),
    "release": lambda one: one.release("9"),
    "renew": lambda one: one.renew(),
    "admin": lambda one: one.admin("pause", "a", "", "why"),
    "snapshot": lambda one: one.call("snapshot", ""),
    "begin": lambda one: one.begin(),
    "define": lambda one: one.call("hello", "define", "a", 7, definition(limit=7)),
}


@pytest.mark.parametrize("call", CALLS)
def test_each_call_notices(world, call):
    a, b = world.several(2, {"a": definition()})
    old = world.copy()
    first = a.acquire("1", "a")
    epoch, reached = number(world, "epoch"), number(world, "sequence")
    world.put_back(old)
    reply = CALLS[call](a)
    assert reply.word == ("ok" if call == "begin" else "hello"), reply
    assert number(world, "epoch") == epoch + 1 and number(world, "grace") > 0
    assert number(world, "sequence") > reached
    assert not world.data().holding() and not world.data().raw["changes"]
    assert b.acquire("1", "a").word == "hello"
    b.hello()
    assert b.acquire("1", "a", nowait=True).code == "grace"
    assert a.lists_one(None, "1", "held", first.claims) == "held"


def test_others_have_taken_the_database_further(world):
    """What the caller itself was answered counts: others raise the sequence as well."""
    a, b = world.several(2, {"a": definition(limit=9)})
    old = world.copy()
    granted = a.acquire("1", "a")
    world.put_back(old)
    b.sequence = 0  # it saw nothing newer
    for i in range(9):
        b.acquire(str(i), "a")
    assert number(world, "sequence") > a.sequence
    assert a.acquire("2", "a").word == "hello"
    assert a.lists_one(None, "1", "held", granted.claims) in ("held", "lost")


@pytest.mark.parametrize("call", ["begin", "release"])
def test_an_event_is_as_good_as_an_answer(world, call):
    a, b = world.several(2, {"a": definition()})
    ok(b.release("0"))
    b.acquire("1", "a")
    a.acquire("1", "a")
    old = world.copy()
    ok(b.release("1"))
    a.newest_event += 1  # published: that it is granted
    world.put_back(old)
    epoch = number(world, "epoch")
    CALLS[call](a)
    assert number(world, "epoch") == epoch + 1


def test_one_grace_for_all_hosts_that_are_ahead(world):
    """Nobody is ahead of the daemon that has noticed: not those that saw more, not what is under
    way."""
    members = world.several(5, {"a": definition()})
    old = world.copy()
    for one in members:
        ok(one.renew())
    for i in range(9):
        members[-1].acquire(str(i), "a")
    members[-1].newest_event = 3
    world.put_back(old)
    epoch = number(world, "epoch")
    for one in members[:2] + members[-1:]:
        assert one.renew().word == "hello"
        assert one.release("1").word == "hello"
    for one in members:
        one.hello()
        ok(one.renew())
    assert number(world, "epoch") == epoch + 1


def test_older_data_of_the_same_grace(world):
    """Its leases after the copy are missing, though it has said hello in this grace."""
    a, b = world.several(2, {"a": definition(limit=2)})
    world.database.client.flushall()
    for one in (a, b):
        one.hello({"a": definition(limit=2)})
    old = world.copy()
    world.end_grace(a, b)
    claims = a.acquire("1", "a").claims
    world.put_back(old)
    epoch = number(world, "epoch")
    assert a.renew().word == "hello"
    assert number(world, "epoch") == epoch + 1
    assert a.lists_one(None, "1", "held", claims) == "held"


def test_numbers_of_events_go_on(world):
    """Numbers that a daemon has had are not given to other events."""
    a, b = world.several(2, {"a": definition()})
    old = world.copy()
    a.newest_event = a.acknowledged = 40
    world.put_back(old)
    a.hello()
    b.hello()
    world.end_grace(a, b)
    assert a.acquire("1", "a").word == "granted"
    ok(b.admin("revoke", a.key("1")))
    assert int(ok(a.renew()).rest[1]) > 40


def test_an_event_of_a_session_that_has_ended_is_none_of_the_next(world):
    """It was published, and comes late: the daemon was stopped until others had the unit."""
    a, b = world.several(2, {"a": definition()})
    b.acquire("1", "a")
    a.acquire("1", "a")
    ok(b.release("1"))
    late = int(dict(world.database.client.hgetall(world.database.key["session"]))[f"n:{a.session}"])
    world.pass_time(T + 12000, b)
    assert b.acquire("2", "a").word == "granted"
    a.hello()
    a.acquire("2", "a")
    ok(b.release("2"))
    assert int(ok(a.renew()).rest[1]) > late + 1  # that it is granted


@pytest.mark.parametrize("reached", [(2**52 + 1, 0), (2**53, 2**53), (0, 10**12)])
def test_what_no_database_has_reached_is_not_believed(world, reached):
    a, = world.several(1, {"a": definition()})
    before = number(world, "sequence")
    a.sequence, a.newest_event = reached
    ok(a.renew())
    assert number(world, "sequence") == before + 1 and not number(world, "grace")
    ok(a.begin(token=2**53, ticket=2**53))
    assert number(world, "number") < 2**52


def test_what_is_late_is_no_sign_of_older_data(world):
    """An earlier call from a connection that was given up; the lost answer of a begin."""
    a, = world.several(1, {"a": definition()})
    a.newest_event = 5
    epoch = number(world, "epoch") + 1  # the five events are news
    assert a.renew().word == "hello" and number(world, "epoch") == epoch
    a.hello()
    world.pass_time(T + 12000)  # it is dead: its number of events is gone
    a.begin()  # its answer is lost
    a.incarnation += 1
    a.hello()
    late = world.database.call("renew", a.session, a.incarnation - 1, 5, reached=(a.sequence - 2, 5))
    assert late.word == "stale"
    assert number(world, "epoch") == epoch
    a.incarnation -= 1
    ok(a.begin())  # it does not know how far it was: it is told, and begins again
    assert number(world, "epoch") == epoch


def test_a_replica_is_not_written_to(world):
    a, = world.several(1, {"a": definition()})
    client = world.database.client
    client.config_set("replica-read-only", "no")
    client.replicaof("127.0.0.1", 1)
    for call in CALLS.values():
        with pytest.raises(Exception, match="not the master|READONLY"):
            call(a)
    client.replicaof("NO", "ONE")
    assert a.renew().word == "hello"  # it is another server now: others may have written elsewhere


@pytest.fixture
def two_servers(servers, clock):
    """The second one is the first one's replica, once it is started."""
    at_once = ("--repl-diskless-sync-delay", "0")  # the clock stands still
    first = servers("first", port=True, clock=clock, options=at_once)
    return first, servers("second", clock=clock, replica_of=first, start=False)


def await_replica(server):
    """WAIT is about what its own connection has written."""
    client = server.client()
    client.set("written", 1)
    assert client.wait(1, 10000) == 1


def replication_id(server):
    return server.client().info("replication")["master_replid"]


def test_a_replica_that_comes_or_goes_is_no_other_server(two_servers, clock):
    """The master takes a new id for its first replica, and when the last one has been away for
    long."""
    first, second = two_servers
    world = World(first, clock)
    a, = world.several(1, {"a": definition()})
    granted = a.acquire("1", "a")
    epoch = number(world, "epoch")
    ids = [replication_id(first)]
    first.client().config_set("repl-backlog-ttl", 1)
    second.start()
    second.wait_for_replica_link()
    ids.append(replication_id(first))
    assert ok(a.renew()).grace == 0
    second.kill()
    first.ask_until("replication", lambda info: info["connected_slaves"] == 0)
    world.tick(3000)
    until(lambda: replication_id(first) != ids[-1])
    assert len({*ids, replication_id(first)}) == 3
    assert ok(a.renew()).grace == 0
    assert number(world, "epoch") == epoch
    assert a.acquire("1", "a").claims == granted.claims


def test_a_former_replica_is_another_server(two_servers, clock):
    """It has lost what the other one did not have, though nobody has called that one."""
    first, second = two_servers
    second.start()
    second.wait_for_replica_link()
    world = World(first, clock)
    a, = world.several(1, {"a": definition()})
    epoch = number(world, "epoch")
    await_replica(first)
    second.client().replicaof("NO", "ONE")
    first.client().replicaof("127.0.0.1", second.port)
    first.wait_for_replica_link()
    first.client().replicaof("NO", "ONE")
    assert a.renew().word == "hello"
    assert number(world, "epoch") == epoch + 1


def test_each_server_that_takes_over_is_another_one(directory, servers, clock):
    """The way there, a proxy for instance, may not tell: only the calls go there. Each has all that
    the caller has ever seen."""
    first = servers("first", port=True, clock=clock)
    second = servers("second", clock=clock, replica_of=first)
    second.wait_for_replica_link()
    world = World(first, clock)
    a = world.member({"a": definition()})

    def must_begin_a_grace(server):
        epoch = number(world, "epoch")
        world.database.client = server.client()
        assert number(world, "epoch") == epoch
        assert a.renew().word == "hello"
        assert number(world, "epoch") == epoch + 1
        a.hello()

    def promote(server, old):
        await_replica(old)
        server.client().replicaof("NO", "ONE")
        must_begin_a_grace(server)

    promote(second, first)
    first.client().replicaof("127.0.0.1", second.port)  # and back again: the first one never ended
    first.wait_for_replica_link()
    promote(first, second)
    second.client().replicaof("127.0.0.1", first.port)
    second.wait_for_replica_link()
    await_replica(first)
    second.save(directory / "old.rdb")
    second.restart(directory / "old.rdb")  # a replica, which takes the master's id from there
    second.wait_for_replica_link()
    promote(second, first)
    second.save(directory / "old.rdb")
    second.replica_of = None
    second.restart(directory / "old.rdb")
    must_begin_a_grace(second)

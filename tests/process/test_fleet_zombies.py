"""Requests that Redis carries out when nobody wants their outcome any more: nothing remains."""

import pytest

from fleet_help import clock, hosts, needs_redis, redis_server, ways  # fixtures
from lines import until
from lost_help import witness  # a fixture
from test_fleet_restart import Fleet

pytestmark = needs_redis


@pytest.fixture
def fleet(redis_server, hosts, witness, ways):
    fleet = Fleet(redis_server, hosts, witness, ways, 2, ttl=12)  # a call has a second
    fleet.must_work()
    return fleet


def test_asked_and_gone(fleet):
    """The request is in Redis' socket when the client goes away; once, the connection to Redis is given up then."""
    for is_reset in False, True:
        fleet.server.stop()
        client = fleet.hosts[0].client()
        assert client.request("acquire s").startswith("pending ")
        client.close()
        if is_reset:
            fleet.ways[0].reset()
        fleet.server.cont()
        fleet.must_work()


def test_granted_and_gone(fleet):
    """The grant is on its way to a waiter that goes away. An acquire that was carried out, and whose answer was
    lost, is not carried out twice."""
    number = fleet.runs(0)
    client = fleet.hosts[1].client()
    client.send("acquire s\n")
    until(lambda: fleet.n_waiting() == 1)
    fleet.ways[1].reply_after(0.3)
    fleet.witness.let_go(number)
    until(lambda: fleet.n_waiting() == 0)
    client.close()
    assert fleet.wrappers[number].wait(30) == 0
    fleet.ways[1].heal()
    fleet.must_work()

    fleet.ways[0].lose_replies()
    number = fleet.start(0)
    until(lambda: fleet.data().in_use("s") == 1)
    fleet.ways[0].reset()
    fleet.ways[0].heal()
    fleet.witness.wait_until(lambda: number in fleet.witness.pids)
    assert len(fleet.data().leases) == 1
    fleet.witness.let_go(number)
    assert fleet.wrappers[number].wait(30) == 0
    fleet.must_work()

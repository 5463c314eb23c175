"""The helpers themselves: a clock that is stepped, data that come back, replies that are lost.
test_fleet_tls.py has a Sentinel that promotes a replica."""

import pathlib

import pytest

from fleet_help import (  # fixtures among them
    REDIS_SERVER, Monitor, client_of, clock, needs_redis, redis, redis_server, ways)
from lines import until

pytestmark = needs_redis


def test_a_server(redis_server, clock, directory):
    """It is the one that is asked for, its clock is stepped, and it comes back empty or with what was saved."""
    assert pathlib.Path(redis_server.info("server")["executable"]).name == pathlib.Path(REDIS_SERVER).name
    before = redis_server.client().time()[0]
    clock.step(120)
    assert 120 <= redis_server.client().time()[0] - before < 125
    clock.step(-3600)
    assert -3480 <= redis_server.client().time()[0] - before < -3470

    client = redis_server.client()
    client.set("a", 1)
    redis_server.save(directory / "old")
    client.set("a", 2)
    run_id = redis_server.run_id
    redis_server.restart(directory / "old")
    assert client.get("a") == "1" and redis_server.run_id != run_id
    redis_server.restart()
    assert client.get("a") is None


def test_what_is_lost_on_the_way(redis_server, ways):
    way = ways(redis_server)
    client = client_of(way.path)
    hasty = client_of(way.path, socket_timeout=0.2)
    client.set("a", 1)
    way.lose_replies()
    with pytest.raises(redis.TimeoutError):
        hasty.set("a", 2)
    until(lambda: redis_server.client().get("a") == "2")
    way.heal()
    assert client.get("a") == b"2"
    way.refuse()
    with pytest.raises(redis.ConnectionError):
        client.get("a")
    way.heal()
    assert client.get("a") == b"2"
    way.cut_off()
    with pytest.raises(redis.TimeoutError):
        hasty.set("a", 3)
    assert redis_server.client().get("a") == "2"
    with Monitor(redis_server) as monitor:
        redis_server.client().set("a", "x y")  # Valkey 8.1 does not mark the quotes in a word
        who, words = monitor.command(5)
        assert words == ["SET", "a", "x y"]

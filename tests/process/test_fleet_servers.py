"""The helpers themselves: a clock that is stepped, data that come back, replies that are lost."""

import contextlib
import pathlib

import pytest

from fleet_help import (  # fixtures among them
    REDIS_SERVER, Monitor, Monitored, RedisServer, client_of, clock, needs_redis, redis, redis_server, ways)
from lines import until

pytestmark = needs_redis


def test_it_is_the_server_that_is_asked_for(redis_server):
    assert pathlib.Path(redis_server.info("server")["executable"]).name == pathlib.Path(REDIS_SERVER).name


def test_the_clock_is_stepped(redis_server, clock):
    before = redis_server.client().time()[0]
    clock.step(120)
    assert 120 <= redis_server.client().time()[0] - before < 125
    clock.step(-3600)
    assert -3480 <= redis_server.client().time()[0] - before < -3470


def test_it_comes_back_empty_or_with_what_was_saved(redis_server, directory):
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


def test_what_clients_send_is_seen(redis_server):
    with Monitor(redis_server) as monitor:
        redis_server.client().set("a", "x y")  # Valkey 8.1 does not mark the quotes in a word
        who, words = monitor.command(5)
        assert words == ["SET", "a", "x y"]


def test_a_sentinel_promotes_the_replica(directory):
    with contextlib.ExitStack() as stack:
        def server(*args, **options):
            server = RedisServer(directory, *args, **options)
            stack.callback(server.kill)
            return server

        first = server("first", port=True)
        second = server("second", replica_of=first)
        sentinel = server("sentinel", sentinel_of=Monitored(first.port))
        first.client().set("a", 1)
        second.wait_for_replica_link()
        sentinel.wait_for_sentinel_to_know(1)
        first.kill()
        assert sentinel.wait_for_master(second.port)
        assert second.client().get("a") == "1"

"""Operators' changes survive hosts that come and go, and a Redis that forgets; undone changes do
not come back."""

import time

import pytest

from fleet_help import clock, hosts, needs_redis, redis_server  # fixtures among them
from fleet_ops_help import asks, client_of, fleet, up
from lines import DEADLINE, look_again

pytestmark = needs_redis

MONTH = 31 * 86400


@pytest.fixture
def pair(redis_server, hosts):
    return fleet(redis_server, hosts)


def does(host, line):
    assert client_of(host).request(line) == "ok", line


def keeps(host, text, is_there=True):
    """On its disk."""
    end = time.monotonic() + DEADLINE
    while (text.encode() in b"".join(path.read_bytes() for path in host.state.glob("*.state"))) != is_there:
        assert time.monotonic() < end, (host.name, text)
        look_again()


def forgets_all(server, *hosts):
    """Redis is restarted empty, and these hosts are all there are."""
    server.restart()
    up(server, *hosts)


def becomes(host, request):
    return asks(client_of(host), request)[1].split()[0]


def test_a_pause_reaches_hosts_that_connect_later(redis_server, pair):
    a, b = pair
    b.stop()
    does(a, "pause etl")
    b.start()
    up(redis_server, b)
    a.stop()
    forgets_all(redis_server, b)
    assert becomes(b, "acquire etl") == "waiting"
    assert becomes(b, "acquire door") in ("ok", "granted")


def test_a_pause_reaches_connected_hosts(redis_server, pair):
    a, b = pair
    does(a, "pause etl")
    keeps(b, "default etl ")
    a.kill()
    forgets_all(redis_server, b)
    assert becomes(b, "acquire etl") == "waiting"


def test_a_pause_comes_back_with_the_only_host_that_knows_it(redis_server, pair):
    a, b = pair
    b.stop()
    does(a, "pause etl")
    keeps(a, "default etl ")
    a.stop()
    redis_server.restart()
    b.start()
    up(redis_server, b)
    a.start()
    up(redis_server, a)
    assert becomes(b, "acquire etl") == "waiting"


def test_what_was_taken_back_long_ago_stays_so(redis_server, pair):
    """Even with a host that was away all the time, and comes first when Redis has forgotten."""
    a, b = pair
    does(a, "pause etl reason=gone")
    does(a, "pause door")
    keeps(b, '"gone"')
    b.stop()
    does(a, "resume etl")
    redis_server.clock.step(MONTH)
    does(a, "resume gpus")
    keeps(a, "fleet default floor ")
    keeps(a, '"gone"', False)
    a.stop()
    redis_server.restart()
    b.start()
    up(redis_server, b)
    assert becomes(b, "acquire etl") == "waiting"  # it knows no better
    a.start()
    up(redis_server, a)
    keeps(b, '"gone"', False)
    assert becomes(a, "acquire etl") in ("ok", "granted")
    assert becomes(b, "acquire door") == "waiting"

"""One rate for all hosts: units are granted no faster than that, and in time, whoever asks."""

import time

from daemon_help import event
from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import asks, client_of, fleet, gets, queues

pytestmark = needs_redis

CONFIG = """
[semaphore api]
scope = fleet
limit = 50
rate = 5/2s
burst = 2
[semaphore slow/*]
scope = fleet
limit = 5
rate = 1/1d
burst = 2
"""
STEP = 0.4  # s, of api


def test_one_rate_for_all_hosts(redis_server, hosts):  # noqa: F811
    """A waiter is served when its instant comes, and not at the next renewal: that is in 10 minutes."""
    pair = fleet(redis_server, hosts, text=CONFIG, ttl="1h")
    one, two = map(client_of, pair)
    begun = time.monotonic()
    waiting = [(client, asks(client, "acquire api")) for client in (one, two) * 5]
    for client, (lease, answer) in waiting:
        if answer.startswith("waiting "):
            assert event(client)[:2] == ("granted", lease)
    assert time.monotonic() - begun > 8 * STEP - 0.1  # a burst of 2 at most, then one in each step


def test_it_lasts_over_restarts(redis_server, hosts):  # noqa: F811
    pair = fleet(redis_server, hosts, text=CONFIG)
    redis_server.do("HSET", "{berth}:db", "since", "0")  # long ago
    redis_server.do("HDEL", "{berth}:db", "memory")
    one, two = map(client_of, pair)
    gets(one, "acquire slow/a")
    for host in pair:
        host.kill()
        host.start()
    one, two = map(client_of, pair)
    gets(two, "acquire slow/a")
    lease, answer = asks(one, "acquire slow/a wait=0")
    answer = one.line() if answer.startswith("waiting ") else f"* {answer}"
    assert answer.startswith(f"* denied {lease} would-wait"), answer
    gets(one, "acquire slow/b")
    queues(one, "acquire slow/a")

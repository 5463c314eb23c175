"""Newest only over hosts that share a Redis: `acquire … replace=`, `berth run --replace`."""

import os

import pytest

from daemon_help import does, event, is_quiet, needs_root, shown
from ends_help import end_of
from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import asks, client_of, fleet, gets, queues, up
from history_help import last
from lines import DEADLINE
from lost_help import asked_until, sleeper
from test_rights_signal import OWNER, as_root, becomes_root, job  # noqa: F401

pytestmark = needs_redis

CONFIG = """
[lock d]
scope = fleet
kill-after = 100ms
[semaphore s]
scope = fleet
limit = 2
"""
NEW = "acquire d holder=x replace=waiting"
RUNNING = "acquire d holder=x replace=running"


@pytest.fixture
def pair(redis_server, hosts):
    return fleet(redis_server, hosts, text=CONFIG)


def rows(client, name="d"):
    return shown(client, name).get("waiters", [])


def waiting(client, name="d"):
    """The leases that wait there, in order, whichever host they are of."""
    return [row["lease"].split("/")[-1] for row in rows(client, name)]


def is_replaced(client, lease):
    assert event(client) == ("denied", lease, "replaced")


def test_takes_the_place_of_another_hosts_request(pair):
    one, two, third, holder = (client_of(pair[i]) for i in (0, 1, 0, 0))
    holds = gets(holder, "acquire d")
    first = queues(one, NEW)
    other = queues(third, "acquire d")
    second = queues(two, NEW)
    is_replaced(one, first)
    assert waiting(one) == waiting(two) == [second, other]
    why = f"lease {rows(one)[0]['lease']} replaces it"
    last(client_of(pair[0])).has(how="replaced", by=None, why=why)
    end_of(pair[1], first).has(how="replaced", by=None, why=why)
    does(holder, f"release {holds}")
    assert event(two)[:2] == ("granted", second) and is_quiet(third)
    does(two, f"release {second}")
    assert event(third)[:2] == ("granted", other)


def test_a_plain_request_is_refused(pair):
    one, two = map(client_of, pair)
    gets(one, "acquire d")
    lease = queues(one, NEW)
    for request, expected in (("acquire d holder=x", "held"), (f"{NEW} wait=0", "would-wait")):
        _, answer = asks(two, request)
        assert answer.split()[2] == expected, answer
    assert waiting(two) == [lease] and is_quiet(one)


def test_waits_for_its_identity(pair):
    one, two, behind, other = (client_of(pair[i]) for i in (0, 1, 0, 0))
    holds, makes_room = gets(one, "acquire s holder=x"), gets(other, "acquire s")
    waiter = queues(two, "acquire s holder=x replace=waiting")
    later = queues(behind, "acquire s")
    for client in (one, two):
        row, = (row for row in rows(client, "s") if row["lease"].endswith(waiter))
        assert (row["blocked"], row["blocker"]) == ("identity", "s")
    why = "\n".join(two.lines(f"why {waiter}"))
    assert f"/{holds},%20which%20has%20its%20identity,%20runs" in why and "when%20it%20will%20start%20is%20unknown" in why
    does(other, f"release {makes_room}")
    assert event(behind)[:2] == ("granted", later)
    does(one, f"release {holds}")
    assert event(two)[:2] == ("granted", waiter)


def test_stops_the_job_on_another_host(pair):
    one, two = map(client_of, pair)
    with sleeper() as pid:
        holds = gets(one, f"acquire d holder=x pid={pid}")
        first = queues(two, RUNNING)
        said = one.line().split()
        key = rows(one)[0]["lease"]
        assert said[1:4] == ["revoked", holds, "revoked"] and f"lease%20{key}%20replaces%20it" in said[4]
        second = queues(two, RUNNING)
        is_replaced(two, first)
        assert is_quiet(one)
        does(one, f"release {holds} signal=15")
    assert event(two)[:2] == ("granted", second)
    last(client_of(pair[0])).has(how="revoked", by=str(os.geteuid()), why=f"lease {key} replaces it", signal="15")


@needs_root
def test_does_not_stop_what_its_user_may_not_signal(pair, job):  # noqa: F811
    one, two = (client_of(host, OWNER) for host in pair)
    holds = gets(one, f"acquire d holder=x pid={job.pid}")
    becomes_root(job)
    waiter = queues(two, RUNNING)
    gets(one, "acquire s")  # its host has heard of that by now
    assert is_quiet(one)
    does(one, f"release {holds}")
    assert event(two)[:2] == ("granted", waiter)


def test_a_daemon_hears_of_it_when_it_is_back(pair):
    """The replaced request is in its journal."""
    one, two, holder = client_of(pair[0]), client_of(pair[1]), client_of(pair[1])
    holds = gets(holder, "acquire d")
    with sleeper() as pid:
        first = queues(one, f"{NEW} pid={pid}")
        pair[0].kill()
        second = queues(two, NEW)
        pair[0].start()
        client = client_of(pair[0])
        answer = client.request(f"reclaim {first} d:1 holder=x replace=waiting pid={pid}")
        if not answer.startswith("error replaced"):
            is_replaced(client, first)
        asked_until(pair[0], lambda now: now.waiting == 0)
        assert waiting(two) == [second]
        does(holder, f"release {holds}")
        assert event(two)[:2] == ("granted", second)


@pytest.mark.parametrize("returns", ["empty", "with its data"])
def test_the_place_outlives_the_redis(redis_server, pair, returns):
    one, two, third, holder = (client_of(pair[i]) for i in (0, 1, 0, 0))
    holds = gets(holder, "acquire d")
    first = queues(one, NEW)
    other = queues(third, "acquire d")
    second = queues(two, NEW)
    is_replaced(one, first)
    if returns == "empty":
        redis_server.do("FLUSHALL")
    else:
        redis_server.save()
        redis_server.restart()
    up(redis_server, *pair)
    newest = queues(one, NEW)
    is_replaced(two, second)
    assert waiting(two) == [newest, other]
    does(holder, f"release {holds}")
    assert event(one)[:2] == ("granted", newest)


def test_by_berth(pair):
    run = ("run", "--holder", "ci", "d", "--replace")
    first = pair[0].berth.start("run", "--holder", "ci", "d", "--", "sleep", "1000")
    asked_until(pair[1], lambda now: len(now.resources["d"]["holders"]) == 1, "d")
    second = pair[1].berth.start(*run, "--", "true")
    asked_until(pair[0], lambda now: len(now.resources["d"]["waiters"]) == 1, "d")
    done = pair[0].berth("run", "--holder", "ci", "--replace=running", "d", "--", "echo", "newest")
    assert (done.returncode, done.stdout) == (0, "newest\n")
    assert second.wait(DEADLINE) == 75 and first.wait(DEADLINE) == 124
    assert "replaces it (replaced)" in second.stderr.read().decode()
    assert "replaces it (revoked)" in first.stderr.read().decode()

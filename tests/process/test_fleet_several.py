"""Requests for several resources over two hosts: what is kept for them, and how status shows it."""

import pytest

from daemon_help import event, shown
from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import asks, client_of, fleet, gets, queues

pytestmark = needs_redis

CONFIG = """
[semaphore etl]
scope = fleet
limit = 9
[semaphore db]
scope = fleet
limit = 4
keep = 1h
[lock licence]
scope = fleet
keep = 2s
"""


@pytest.fixture
def pair(redis_server, hosts):
    return fleet(redis_server, hosts, text=CONFIG)


def keeper(pair):
    """One host's request has the licence that it waited for, and waits for db."""
    one, two = map(client_of, pair)
    first = gets(one, "acquire licence")
    holds = gets(one, "acquire db:4")
    queues(two, "acquire db:2 licence")
    assert one.request(f"release {first}") == "ok"
    return one, two, holds


def test_what_it_has_waited_for_is_kept_for_a_while(pair):
    """A refusal names the resource of both that an operator of the other host has closed."""
    one, two = map(client_of, pair)
    assert two.request("limit licence 0") == "ok"
    for request in ("acquire etl licence wait=0", "acquire licence:1 etl wait=0"):
        lease = one.request(request).split(" ")[1]
        assert one.line() == f"* denied {lease} closed licence:%20its%20limit%20is%200"
    assert two.request("reset licence") == "ok"
    one, two, _ = keeper(pair)
    resource = shown(one, "licence")
    assert (resource["free"], resource["kept"], resource["kept_for"]) == ("1", "1", "1")
    waiter = resource["waiters"][0]
    assert (waiter["blocked"], waiter["blocker"], waiter["kept"]) == ("other", "db", "1")
    behind = client_of(pair[0])
    next_one = queues(behind, "acquire licence")
    assert event(behind)[:2] == ("granted", next_one)  # the shorter of both, 2 s
    assert "kept" not in shown(two, "licence")
    assert shown(two, "licence")["waiters"][0]["blocker"] == "db"


def test_two_that_ask_again(pair):
    """Each job on its host has half of it: the last one is told that it would wait for ever."""
    one, two = map(client_of, pair)
    first, second = gets(one, "acquire db:2"), gets(two, "acquire db:2")
    waiting = queues(one, f"acquire db parent={first}")
    inner, answer = asks(two, f"acquire db parent={second}")
    line = two.line() if answer.startswith("waiting ") else f"* {answer}"
    assert line.startswith(f"* denied {inner} circle db:%20"), (answer, line)
    assert two.request(f"release {second}") == "ok"
    assert event(one)[:2] == ("granted", waiting)


def test_a_place_is_kept_over_a_restart(pair):
    """The waiter's daemon comes back: it lists what it has, and nothing has moved."""
    one, two, holds = keeper(pair)
    before = shown(one, "licence")
    pair[1].stop()
    pair[1].start()
    assert shown(one, "licence")["kept_for"] == before["kept_for"] == "1"

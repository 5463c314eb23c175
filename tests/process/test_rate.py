"""A rate (`rate`, `burst`): how many units begin to be held in any span of time, in host scope."""

import time

import pytest

from daemon_help import event, held, refused, shown, status, waits
from lost_help import lose_the_journal, restart
from test_metrics import answer, value

CONFIG = """grace = 100ms
[semaphore api]
limit = 100
rate = 2/1s
burst = 2
[semaphore slow]
limit = 100
rate = 1/2s
nested = share
[semaphore hour]
limit = 100
rate = 1/1h
burst = 2
[semaphore other]
limit = 100
rate = 1/1h
[lock free]
[semaphore cust/*]
limit = 100
rate = 1/500ms
"""
MARGIN = 0.2  # seconds: an event takes time to arrive, so one may be late; a unit too many is worth 0.5


@pytest.fixture
def daemon(berthd):
    return berthd(CONFIG)


def granted(client, lease):
    """When it is granted."""
    assert event(client)[:2] == ("granted", lease)
    return time.monotonic()


def test_any_span_of_time(daemon):
    """... has at most the burst and what the rate allows in it, in the order of the queue."""
    client = daemon.client()
    leases = [waits(client, "acquire api") for _ in range(8)]
    times = [granted(client, lease) for lease in leases]
    for i, first in enumerate(times):
        for k in range(i + 1, len(times)):
            assert k - i + 1 <= 2 + (times[k] - first + MARGIN) * 2, times
    assert len(shown(client, "api")["holders"]) == 8


def test_each_instance_has_its_own(daemon):
    """... and is forgotten when nothing is owed there."""
    client = daemon.client()
    one, other = waits(client, "acquire cust/a"), waits(client, "acquire cust/b")
    assert {event(client)[1], event(client)[1]} == {one, other}
    for lease in (one, other):
        assert client.request(f"release {lease}") == "ok"
    again = waits(client, "acquire cust/a")  # what is owed has not been forgotten
    granted(client, again)


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_over_a_restart(daemon, how):
    """What has gone counts on, also if it is over."""
    client = daemon.client()
    lease = waits(client, "acquire slow")
    first = granted(client, lease)
    assert client.request(f"release {lease}") == "ok"
    restart(daemon, how)
    client = daemon.client()
    second = granted(client, waits(client, "acquire slow"))
    assert second - first >= 2 - MARGIN


def test_a_share_owes_nothing(daemon):
    """What has gone counts on when first a share, then who got the units has ended."""
    client = daemon.client()
    lease = waits(client, "acquire slow")
    first = granted(client, lease)
    share = held(client, f"acquire slow parent={lease}")
    restart(daemon, "kill")
    client = daemon.client()
    for one in (share, lease):
        assert client.request(f"release {one}") == "ok"
    restart(daemon, "kill")
    client = daemon.client()
    assert granted(client, waits(client, "acquire slow")) - first >= 2 - MARGIN


def test_a_restart_says_what_a_reload_has_said(daemon):
    """... of a slower rate: what has gone costs more time, also if the lease is over."""
    client = daemon.client()
    lease = waits(client, "acquire slow")
    granted(client, lease)
    assert client.request(f"release {lease}") == "ok"
    lease = held(client, "acquire cust/a")
    first = time.monotonic()
    assert client.request(f"release {lease}") == "ok"
    daemon.configure(CONFIG.replace("1/500ms", "1/2s"))
    assert client.request("reload").startswith("ok")
    held(client, "acquire api:2")
    granted(client, waits(client, "acquire api:2"))  # the record's first time is over then
    restart(daemon, "kill")
    client = daemon.client()
    assert granted(client, waits(client, "acquire cust/a")) - first >= 2 - MARGIN


def test_over_a_lost_journal(daemon):
    """Nobody knows what has gone before: nothing goes for a step."""
    client = daemon.client()
    lease = waits(client, "acquire api")
    granted(client, lease)
    lose_the_journal(daemon)
    began = time.monotonic()
    client = daemon.client()
    while (answer := client.request("acquire slow")).startswith("error"):
        assert refused(client, "acquire slow") == "grace", answer
    assert granted(client, answer.split()[1]) - began >= 1.5


def test_it_says_when(daemon, berthctl):
    """`why`, a refusal, status."""
    client, other = daemon.client(), daemon.client()
    request = waits(client, "acquire hour")
    lines = client.lines(f"why lease={request}")
    assert any("lets%20it%20go%20at%20" in line for line in lines), lines
    assert "the%20rate%201/1h%20lets%20the%20next%20unit%20go" in client.request("acquire hour wait=0")
    assert "the%20rate%201/1h%20lets%20it%20go" in other.request("acquire other wait=0")
    assert refused(client, "acquire hour wait=0") == "would-wait"
    assert refused(client, "acquire hour:3") == "impossible"
    resource = shown(client, "hour")
    assert (resource["rate"], resource["burst"]) == ("1/1h", "2")
    assert "  rate 1/1h, burst 2; the next unit goes in " in berthctl("-S", str(daemon.socket), "status").stdout
    now = status(client).now
    assert 0 < int(resource["next"]) - now <= 3600000
    assert "next" not in shown(client, "free") and "rate" not in shown(client, "free")


def test_a_metric_of_what_is_free(daemon):
    """None, while the rate lets none go."""
    client = daemon.client()
    free = {name: value(answer(client), "free", name) for name in ("hour", "free")}
    assert free == {"hour": 0, "free": 1}


def test_nothing_else_is_kept_meanwhile(daemon):
    """A request that waits for its instant delays nobody elsewhere."""
    client, other = daemon.client(), daemon.client()
    waits(client, "acquire hour free")
    for _ in range(3):
        assert other.request(f"release {held(other, 'acquire free')}") == "ok"


def test_a_reload(daemon):
    """Another rate helps those who wait; a smaller burst ends those who want more."""
    client = daemon.client()
    one, two = waits(client, "acquire hour"), waits(client, "acquire hour:2")
    daemon.configure(CONFIG.replace("1/1h\nburst = 2", "1/100ms"))
    assert daemon.client().request("reload").startswith("ok")
    assert {event(client)[:2], event(client)[:2]} == {("granted", one), ("denied", two)}

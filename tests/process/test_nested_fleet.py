"""Shares of fleet scope: a database knows only the lease whose units they use."""

import time

import pytest

from daemon_help import event, held, held_with_proof, refused, shown
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from fleet_ops_help import client_of, fleet, gets, queues, up
from lines import until
from lost_help import sleeper

pytestmark = needs_redis

CONFIG = """
[lock db]
scope = fleet
nested = share
kill-after = 0
"""


@pytest.fixture
def pair(redis_server, hosts):
    return fleet(redis_server, hosts, text=CONFIG)


def test_the_database_hears_nothing_of_it(pair, redis_server):
    """It is given while the database cannot be reached, too; its client hears the deadline."""
    one, other = map(client_of, pair)
    parent = gets(one, "acquire db")
    before = int(redis_server.info("stats")["total_commands_processed"])
    inner = pair[0].client()
    lease = held(inner, f"acquire db parent={parent}")
    assert inner.line().startswith(f"* deadline {lease} ")
    assert int(redis_server.info("stats")["total_commands_processed"]) - before < 20
    assert [(h["lease"].rpartition("/")[2], h.get("shares")) for h in shown(one, "db")["holders"]] == [
        (lease, parent), (parent, None)]
    waiting = queues(other, "acquire db")
    assert one.request(f"release {parent}") == "ok"
    line = inner.line()
    while line.startswith("* deadline "):
        line = inner.line()
    assert line.split()[:3] == ["*", "revoked", lease]
    assert shown(other, "db")["in_use"] == "1"
    assert inner.request(f"release {lease}") == "ok"
    assert event(other)[:2] == ("granted", waiting)


def test_under_one_that_ends(pair):
    """Its units come back without the request's end: this waits, and is not refused."""
    one, inner = client_of(pair[0]), client_of(pair[0])
    parent = gets(one, "acquire db")
    lease = held(inner, f"acquire db parent={parent}")
    assert one.request(f"release {parent}") == "ok"
    assert event(inner)[:2] == ("revoked", lease)
    waiting = queues(one, f"acquire db parent={parent} nested=count")
    assert inner.request(f"release {lease}") == "ok"
    assert event(one)[:2] == ("granted", waiting)


def test_over_a_restart(pair):
    one, other = map(client_of, pair)
    parent = gets(one, "acquire db ttl=1h")
    inner = client_of(pair[0])
    lease = held(inner, f"acquire db parent={parent} ttl=1h")
    pair[0].restart()
    again = client_of(pair[0])
    found = {h["lease"].rpartition("/")[2]: h.get("shares") for h in shown(again, "db")["holders"]}
    assert found == {parent: None, lease: parent}
    assert again.request(f"release {lease}") == "ok"
    waiting = queues(other, "acquire db")
    assert again.request(f"release {parent}") == "ok"
    assert event(other)[:2] == ("granted", waiting)


def test_a_lost_journal(redis_server, hosts):
    """The job above dies meanwhile: no host gets its unit before the job of the share can be gone."""
    section = "grace = 2s\n" + redis_section(redis_server.url)
    one, other = up(redis_server, *hosts(CONFIG, 2, section))
    with sleeper() as inner:
        client = client_of(one)
        with sleeper() as outer:
            parent = gets(client, f"acquire db pid={outer}")
            lease, proof = held_with_proof(client, f"acquire db pid={inner} parent={parent}")
            one.kill()
        one.journal.unlink()
        one.start()
        again, elsewhere = client_of(one), client_of(other)
        waiting = queues(elsewhere, "acquire db")
        reclaim = f"reclaim {lease} db:1:0 pid={inner} {proof}"
        assert refused(again, reclaim) == "grace"
        until(lambda: refused(again, reclaim) == "lost")
        began = time.monotonic()
        assert event(elsewhere)[:2] == ("granted", waiting)
        assert time.monotonic() - began >= 1

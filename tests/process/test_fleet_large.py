"""A database with very many leases: all are shown, or the answer says that they are too many."""

import functools
import time

from fleet_help import clock, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from fleet_ops_help import client_of
from lines import DEADLINE
from lost_help import asked_until, scaled
from scripts_help import Database, Member, definition, ok
from watch_help import Copy

pytestmark = needs_redis

AT_ONCE = 32
FILE = "[semaphore m/*]\nlimit = 5\nscope = fleet\nmax-instances = 100000\n"
GRANT_MS = 1000


def fill(server, n, info):
    """A daemon of another host's leases, five on each instance."""
    database = Database(server)
    member = Member(database, 1, ttl=600_000, lag=0)
    member.hello({"m/*": definition(limit=5)})
    database.client.hset(database.key["db"], "grace", 1)
    ok(member.renew())
    for first in range(0, n, AT_ONCE):
        rows = []
        for i in range(first, min(first + AT_ONCE, n)):
            rows += [f"h{i:06d}", 0, 0, 0, GRANT_MS, GRANT_MS, "", info, "", 1, f"m/{i // 5:05d}", "m/*", 1, 1000000]
        ok(member.call("acquire", *rows))
    return member


def host_beside(server, hosts, n, info):
    fill(server, n, info)
    host, = hosts(FILE, 1, redis_section(server.url, "600s"))
    asked_until(host, lambda now: now.databases["default"]["state"] == "up" and "grace_until" not in now.databases["default"])
    return host


def test_very_many_leases_are_shown(redis_server, hosts):
    """By status only if the machine lists them within 4 s; those who follow have no such limit."""
    n = scaled(15_000)
    host = host_beside(redis_server, hosts, n, "pid=12345 program=python3 reason=" + "x" * 100)
    result = host.berthctl("status", "m/*")
    assert result.returncode == (69 if "database no-answer" in result.stdout else 0)
    copy = Copy(client_of(host))
    copy.client.line = functools.partial(copy.client.line, 6 * DEADLINE)  # on a busy machine, one listing takes long
    while len(copy.leases) < n:
        copy.take()


def test_what_is_too_large_is_said(redis_server, hosts):
    """And it is asked for with pauses that count what it costs."""
    host = host_beside(redis_server, hosts, 700, "pid=1 reason=" + "x" * 60_000)
    result = host.berthctl("status")
    assert result.returncode == 69 and ("database too-large" in result.stdout or "database no-answer" in result.stdout)
    end = time.monotonic() + DEADLINE
    while (named := host.berthctl("status", "m/00001")).returncode == 69:  # the listing may still be under way
        assert "database no-answer" in named.stdout and time.monotonic() < end
    assert named.returncode == 0 and "too-large" not in named.stdout
    copy = Copy(client_of(host))
    while copy.templates["m/*"].get("database_state") != "too-large":
        copy.take()

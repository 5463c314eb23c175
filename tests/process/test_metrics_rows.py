"""Each row of base/metrics.def: its figure moves when what it counts happens, by as much, and only
then. Where a step names no figure, that figure must not have moved."""

import contextlib
import os
import re
import socket
import time

from daemon_help import (
    become, connect_as, event, held, in_child, must_end_well, needs_root, NOBODY, SOURCE, waits)
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server, ways  # noqa: F401
from fleet_ops_help import client_of, gets, up
from lines import until
from lost_help import after_restart, asked_until, sleeper
from test_metrics import answer, buckets, count, value

# Where each row is checked: by the steps of a test, which require all others to stand still, or by
# a test of its own, if the figure is about time.
STEPS, REFUSED, FLEET = "test_step_by_step", "test_refused_connections", "test_of_a_fleet"
ROWS = {
    "granted_total": STEPS, "denied_total": STEPS, "ended_total": STEPS, "limit": STEPS, "held": STEPS,
    "waiting": STEPS, "free": STEPS, "instances": STEPS, "requests_total": STEPS,
    "requests_refused_total": STEPS, "connections_total": STEPS, "connections": STEPS, "draining": STEPS,
    "followers": STEPS, "history_overwritten_total": "test_history_lasts.py",
    "reclaimed_total": "test_reclaimed", "connections_refused_total": REFUSED,
    "unit_seconds_total": "test_times_of_a_lease", "wait_seconds": "test_times_of_a_lease",
    "hold_seconds": "test_times_of_a_lease", "oldest_wait_seconds": "test_times_of_a_lease",
    "oldest_hold_seconds": "test_times_of_a_lease",
    "turn_seconds": "test_turns", "journal_bytes": "test_journal", "uptime_seconds": "test_uptime_and_grace",
    "grace_seconds": "test_uptime_and_grace",
    "database_state": "test_a_database_that_goes", "database_good_seconds": "test_a_database_that_goes",
    "database_sessions_total": "test_a_database_that_goes", "database_differing": "test_fleet_status.py",
    "database_grace_seconds": "test_a_database_that_goes", "database_renewal_seconds": "test_renewals",
    "fleet_limit": FLEET, "fleet_held": FLEET, "fleet_free": FLEET, "fleet_waiting": FLEET, "fleet_hosts": FLEET,
    "fleet_busy_ratio": "test_fleet_operators.py", "fleet_hosts_gone": "test_fleet_gone.py",
    "fleet_up": "test_fleet_status.py",  # berthctl's own
}
OF_TIME = {"unit_seconds_total", "oldest_wait_seconds", "oldest_hold_seconds", "turn_seconds", "journal_bytes",
           "uptime_seconds", "grace_seconds", "database_good_seconds", "database_grace_seconds",
           "database_renewal_seconds"}

CONFIG = """grace = 60s
[lock deploy]
[semaphore pair]
limit = 2
max-units-per-user = 2
[semaphore market/*]
limit = 3
"""


def test_each_row_is_checked():
    names = re.findall(r'"berth_(\w+)"', (SOURCE / "src/base/metrics.def").read_text())
    assert set(names) == ROWS.keys()
    assert all(test in globals() or (SOURCE / "tests/process" / test).exists() for test in ROWS.values())


# ---- what moves

def number(row):
    return float(row["value"]) if "value" in row else int(row["le"].rsplit(":", 1)[1])


def changes(before, after):
    """{"NAME LABEL...": by how much} of what stands still while nothing happens."""
    moved = {}
    for (name, labels), row in after.items():
        by = number(row) - (number(before[name, labels]) if (name, labels) in before else 0)
        name = name.removeprefix("berth_")
        if by and name not in OF_TIME:
            moved[" ".join([name, *labels])] = by
    return moved


class Watcher:
    def __init__(self, client):
        self.client = client
        self.seen = answer(client)

    @contextlib.contextmanager
    def sees(self, *expected):
        """"FIGURE LABEL... [+N | -N]"; by 1 without a number."""
        yield
        now = answer(self.client)
        moved = changes(self.seen, now)
        assert moved.pop("requests_total metrics") >= 1
        assert moved == {text: int(by or 1) for text, by in
                         (re.fullmatch(r"(.*?)(?: ([-+]\d+))?", text).groups() for text in expected)}
        self.seen = now

    def waits_until(self, name, is_value):
        until(lambda: value(answer(self.client), name) == is_value)


def test_step_by_step(daemon):
    client, other = daemon.client(), daemon.client()
    watcher = Watcher(daemon.client())
    with watcher.sees():
        pass
    with watcher.sees("requests_total acquire", "granted_total deploy at-once", "wait_seconds deploy", "held deploy",
                      "free deploy -1"):
        lease = held(client, "acquire deploy")
    with watcher.sees("requests_total acquire", "waiting deploy"):
        waiting = waits(other, "acquire deploy")
    with watcher.sees("requests_total acquire", "denied_total deploy would-wait", "requests_refused_total would-wait"):
        client.request("acquire deploy wait=0")
    with watcher.sees("requests_total acquire", "denied_total deploy timeout"):
        waits(client, "acquire deploy wait=1ms")
        assert event(client)[0] == "denied"
    with watcher.sees("requests_total release", "ended_total deploy released", "hold_seconds deploy",
                      "granted_total deploy waited", "wait_seconds deploy", "waiting deploy -1"):
        client.request(f"release {lease}")
        assert event(other)[0] == "granted"
    with watcher.sees("requests_total acquire", "waiting deploy"):
        last = waits(client, "acquire deploy")
    with watcher.sees("requests_total cancel", "denied_total deploy cancelled", "waiting deploy -1"):
        client.request(f"cancel {last}")
    with watcher.sees("requests_total drop", "ended_total deploy dropped", "hold_seconds deploy", "held deploy -1",
                      "free deploy"):
        client.request(f"drop {waiting}")
        assert event(other)[0] == "lost"


def test_operators_step_by_step(daemon, client):
    watcher = Watcher(daemon.client())
    with watcher.sees("requests_total acquire", "granted_total market/* at-once +2", "wait_seconds market/* +2",
                      "held market/* +3", "instances market/* +2"):
        held(client, "acquire market/a:2 market/b")
    with watcher.sees("requests_total limit", "limit pair +3", "free pair +3"):
        client.request("limit pair 5")
    with watcher.sees("requests_total pause", "free pair -5"):
        client.request("pause pair")
    with watcher.sees("requests_total acquire", "denied_total pair paused", "requests_refused_total paused"):
        client.request("acquire pair wait=0")
    with watcher.sees("requests_total resume", "free pair +5"):
        client.request("resume pair")
    with watcher.sees("requests_total drain", "draining"):
        client.request("drain")
    with watcher.sees("requests_total undrain", "draining -1"):
        client.request("undrain")
    with watcher.sees("requests_total acquire", "granted_total deploy at-once", "wait_seconds deploy", "held deploy",
                      "free deploy -1"):
        lease = held(client, "acquire deploy")
    with watcher.sees("requests_total revoke", "requests_total release", "ended_total deploy revoked",
                      "hold_seconds deploy", "held deploy -1", "free deploy"):
        client.request(f"revoke {lease}")
        assert event(client)[0] == "revoked"
        client.request(f"release {lease}")
    with watcher.sees("requests_total acquire", "granted_total deploy at-once", "wait_seconds deploy",
                      "ended_total deploy expired", "hold_seconds deploy"):
        held(client, "acquire deploy ttl=1ms")
        assert event(client)[0] == "expired"
    with watcher.sees("requests_total ping", "requests_refused_total unknown-command",
                      "requests_refused_total malformed"):
        client.request("ping")
        client.request("nonsense")
        client.request("acquire")
    with watcher.sees("requests_refused_total too-long"):
        client.request("x" * 5000)
    with watcher.sees("connections_total", "connections", "requests_total ping"):
        one = daemon.client()
        one.request("ping")
    with watcher.sees("followers", "requests_total watch", "requests_refused_total state"):
        one.request("watch")
        while one.line() != "end":
            pass
        assert one.request("ping").startswith("error state ")
    with watcher.sees("connections -1", "followers -1"):
        one.close()
        watcher.waits_until("connections", 2)


def connect_often(daemon, n):
    become(NOBODY)
    for _ in range(n):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(daemon.socket))
        last, sock = sock, None
    assert last.recv(100).startswith(b"error busy")


@needs_root
def test_refused_connections(berthd):
    daemon = berthd("max-clients-per-user = 2\nmax-clients = 4\n" + CONFIG)
    watcher = Watcher(daemon.client())
    with watcher.sees("connections_total +2", "connections +2", "connections_refused_total user",
                      "requests_total ping +2"):
        for _ in range(2):
            connect_as(daemon, NOBODY).request("ping")
        connect_as(daemon, NOBODY).line()
    with watcher.sees("connections_total", "connections", "connections_refused_total full", "requests_total ping"):
        connect_as(daemon, NOBODY + 1).request("ping")
        connect_as(daemon, NOBODY + 1).line()
    with watcher.sees("connections_total", "connections", "requests_total ping"):
        operator = daemon.client()
        operator.request("ping")
    with watcher.sees("connections -1", "requests_total acquire", "requests_refused_total busy"):
        operator.request("acquire deploy")
        watcher.waits_until("connections", 4)
    daemon.stop()
    daemon.configure("max-requests-per-second-per-user = 1\n" + CONFIG)
    daemon.start()
    watcher = Watcher(daemon.client())
    must_end_well(in_child(lambda: connect_often(daemon, 2100)))
    now = changes(watcher.seen, answer(watcher.client))
    assert now["connections_refused_total rate"] > 0
    assert now["connections_refused_total rate"] + now["connections_total"] == 2100
    assert "connections_refused_total user" not in now and "connections_refused_total full" not in now


def test_reclaimed(daemon):
    with sleeper() as pid:
        lease = held(daemon.client(), f"acquire pair:2 pid={pid}")
        client = after_restart(daemon, "kill")
        watcher = Watcher(daemon.client())
        with watcher.sees("requests_total reclaim", "reclaimed_total pair"):
            assert client.request(f"reclaim {lease} pair:2").startswith("ok ")


# ---- times

def total(rows, name, *labels):
    row = rows[f"berth_{name}", labels]
    return float(row.get("value", row.get("sum")))


def test_times_of_a_lease(daemon):
    """As long as it was, by the test's own clock: not shorter, and not longer."""
    client, other, watcher = daemon.client(), daemon.client(), daemon.client()
    began = time.monotonic()
    lease = held(client, "acquire pair:2")
    granted = time.monotonic()
    waiting = waits(other, "acquire pair")
    asked = time.monotonic()
    while time.monotonic() - asked < 0.05:
        rows = answer(watcher)
    looked = time.monotonic()
    rows = answer(watcher)
    answered = time.monotonic()
    most, least = answered - began, looked - granted
    assert least <= total(rows, "oldest_hold_seconds", "pair") <= most
    assert 2 * least <= total(rows, "unit_seconds_total", "pair") <= 2 * most
    assert looked - asked <= total(rows, "oldest_wait_seconds", "pair") <= answered - granted
    client.request(f"release {lease}")
    assert event(other)[0] == "granted"
    over = time.monotonic()
    rows = answer(watcher)
    assert total(rows, "oldest_wait_seconds", "pair") == 0
    assert total(rows, "oldest_hold_seconds", "pair") <= time.monotonic() - answered
    assert least <= total(rows, "hold_seconds", "pair") <= over - began
    assert looked - asked <= total(rows, "wait_seconds", "pair") <= over - granted
    other.request(f"release {waiting}")
    assert total(answer(watcher), "oldest_hold_seconds", "pair") == 0


def cpu_seconds(daemon):
    """Of berthd's loop."""
    with open(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def test_turns(daemon, client):
    """They last as long as berthd works, about: what the kernel does between them is not theirs."""
    before, cpu, began = answer(client), cpu_seconds(daemon), time.monotonic()
    while (used := cpu_seconds(daemon) - cpu) < 0.2:
        client.send("status\n" * 50)
        for _ in range(50):
            client.rest_of_lines()
    now = answer(client)
    elapsed = time.monotonic() - began
    lasted = total(now, "turn_seconds") - total(before, "turn_seconds")
    assert used / 4 < lasted < elapsed
    turns = count(now, "turn_seconds") - count(before, "turn_seconds")
    assert turns > 10
    assert count(answer(client), "turn_seconds") - count(now, "turn_seconds") <= 4


def test_journal(berthd, directory):
    daemon = berthd(CONFIG.replace("limit = 2", "limit = 5000").replace("max-units", ";max-units"))
    client = daemon.client()
    first = value(answer(client), "journal_bytes")
    assert first == os.stat(directory / "s.journal").st_size
    for _ in range(2000):
        client.send("acquire pair\n")
    for _ in range(2000):
        assert client.line().startswith("ok ")
    now = value(answer(client), "journal_bytes")
    assert now == os.stat(directory / "s.journal").st_size > first


def test_uptime_and_grace(berthd):
    began = time.monotonic()
    daemon = berthd(CONFIG)
    client = daemon.client()
    ready = time.monotonic()
    held(client, "acquire deploy")
    looked = time.monotonic()
    rows = answer(client)
    assert looked - ready <= value(rows, "uptime_seconds") <= time.monotonic() - began
    assert value(rows, "grace_seconds") == 0
    daemon.kill()
    began = time.monotonic()
    daemon.start()
    rows = answer(daemon.client())
    elapsed = time.monotonic() - began
    assert 0 < value(rows, "uptime_seconds") <= elapsed
    assert 60 - elapsed <= value(rows, "grace_seconds") <= 60


# ---- fleets

RESOURCES = """
[semaphore etl]
scope = fleet
limit = 3
[semaphore market/*]
scope = fleet
limit = 2
"""


def states(rows):
    return {labels[1]: int(row["value"]) for (name, labels), row in rows.items() if name == "berth_database_state"}


@needs_redis
def test_a_database_that_goes(redis_server, hosts):
    a, = hosts(RESOURCES, 1, redis_section(redis_server.url))
    asked_until(a, lambda now: now.databases["default"]["state"] == "up", "etl")
    client = client_of(a)
    assert 6 < value(answer(client), "database_grace_seconds", "default") <= 6 + 13
    up(redis_server, a)
    asked_until(a, lambda now: "grace_until" not in now.databases["default"], "etl")
    rows = answer(client)
    assert value(rows, "database_grace_seconds", "default") == 0
    assert states(rows) == {"down": 0, "listing": 0, "up": 1, "replaced": 0}
    assert 0.5 * 6 < value(rows, "database_good_seconds", "default") <= 0.84 * 6
    assert value(rows, "database_sessions_total", "default") == 1
    redis_server.do("CLIENT", "KILL", "TYPE", "normal")
    until(lambda: value(answer(client), "database_sessions_total", "default") == 2)
    redis_server.kill()
    asked_until(a, lambda now: now.databases["default"]["state"] == "down", "etl")
    rows = answer(client)
    assert states(rows) == {"down": 1, "listing": 0, "up": 0, "replaced": 0}
    until(lambda: value(answer(client), "database_good_seconds", "default") == 0)
    assert value(answer(client), "database_sessions_total", "default") == 2


@needs_redis
def test_renewals(redis_server, hosts, ways):
    """Each counts once, as long as its answer takes."""
    way = ways(redis_server)
    a, = up(redis_server, *hosts(RESOURCES, 1, redis_section(way.url)))
    client = client_of(a)
    key = "database_renewal_seconds"
    first = answer(client)
    way.reply_after(0.2)
    began = time.monotonic()
    until(lambda: count(answer(client), key, "default") >= count(first, key, "default") + 3)
    rows = answer(client)
    n = count(rows, key, "default") - count(first, key, "default")
    lasted, elapsed = total(rows, key, "default") - total(first, key, "default"), time.monotonic() - began
    assert (n - 1) * 0.2 <= lasted < elapsed
    assert n <= elapsed / 1 + 2  # every ttl / 6
    bounds, before = buckets(rows, key, "default"), buckets(first, key, "default")
    assert list(bounds)[0] == "0.0005" and list(bounds)[-2:] == ["10", "+Inf"]
    assert bounds["0.1"] - before["0.1"] <= 1 and bounds["1"] - before["1"] == n


@needs_redis
def test_of_a_fleet(redis_server, hosts):
    a, b = up(redis_server, *hosts(RESOURCES, 2, redis_section(redis_server.url)))
    one, two, watcher = client_of(a), client_of(b), client_of(b)

    def looks():
        """A look is at most a second old."""
        head, *lines, end = watcher.lines("metrics database=default")
        assert head == "ok" and end == "end"
        found = {}
        for line in lines:
            _, name, *words = line.split(" ")
            *labels, number = [word.split("=", 1)[1] for word in words]
            if name != "berth_fleet_busy_ratio":
                found[" ".join([name.removeprefix("berth_fleet_"), *labels])] = int(number)
        return found

    def require(hosts=2, gone=0, **expected):
        wanted = {"hosts default": hosts, "hosts_gone default": gone}
        for resource in ("etl", "market"):
            for name, of_it in zip(("limit", "held", "free", "waiting"), expected[resource]):
                wanted[f"{name} {resource.replace('market', 'market/*')} default"] = of_it
        until(lambda: looks() == wanted, lambda: (looks(), wanted))

    require(etl=(3, 0, 3, 0), market=(0, 0, 0, 0))
    own = Watcher(client_of(a))
    with own.sees("requests_total acquire", "granted_total etl at-once", "wait_seconds etl", "held etl +2"):
        lease = gets(one, "acquire etl:2")
    require(etl=(3, 2, 1, 0), market=(0, 0, 0, 0))
    gets(two, "acquire market/x market/y:2")
    require(etl=(3, 2, 1, 0), market=(4, 3, 1, 0))
    two.send("acquire etl:2\n")
    require(etl=(3, 2, 1, 1), market=(4, 3, 1, 0))
    with own.sees("requests_total release", "ended_total etl released", "hold_seconds etl", "held etl -2"):
        one.request(f"release {lease}")
    require(etl=(3, 2, 1, 0), market=(4, 3, 1, 0))
    host, = hosts(RESOURCES, 1, redis_section(redis_server.url))
    require(hosts=3, etl=(3, 2, 1, 0), market=(4, 3, 1, 0))
    host.kill()  # its session ends after a ttl
    require(gone=1, etl=(3, 2, 1, 0), market=(4, 3, 1, 0))

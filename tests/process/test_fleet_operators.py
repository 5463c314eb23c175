"""What operators do to resources and leases of a whole fleet: from any host, seen on all."""

import json
import os
import re
import socket
import time

import pytest

from daemon_help import code, does, event, is_quiet, keys, needs_root, refused, status
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from fleet_ops_help import RESOURCES, client_of, fleet, gets, pair, queues, up  # noqa: F401
from history_help import is_over, last
from lines import DEADLINE, until
from lost_help import asked_until

pytestmark = needs_redis


def shown(host, name):
    return status(client_of(host), name).resources[name]


# ---- resources ----

def test_pause_and_resume(pair):
    a, b = pair
    does(client_of(a), "pause etl reason=new%20disks%25%7c%09")
    assert shown(b, "etl")["pause_reason"] == "new%20disks%25|%09"
    assert shown(b, "etl")["paused_by"] == str(os.getuid())
    client = client_of(b)
    waiter = queues(client, "acquire etl")
    assert shown(a, "etl")["paused"] == "1"
    does(client_of(a), "resume etl")
    assert event(client)[:2] == ("granted", waiter)
    assert "paused" not in shown(b, "etl")


def test_items(pair):
    """And an instance that another host made."""
    a, b = pair
    does(client_of(a), "remove gpus g0", "add gpus new", "reserve gpus g1 reason=fan%20noise",
         "reserve gpus g2")
    now = shown(b, "gpus")
    assert now["items"].split(",") == ["g1", "g2", "new"]
    assert sorted(now["reserved"].split(",")) == ["g1", "g2"]
    assert now["reserve"] == "g1,fan%20noise"
    client = client_of(b)
    lease = gets(client, "acquire gpus")
    assert shown(a, "gpus")["holders"][0]["units"] == "new"
    does(client_of(b), "add gpus g1", "reset gpus")
    now = shown(a, "gpus")
    assert (now["items"].split(","), now["limit"]) == (["g0", "g1", "g2"], "3")
    does(client, f"release {lease}")
    gets(client_of(a), "acquire market/alice")
    does(client_of(b), "limit market/alice 1")
    assert shown(a, "market/alice")["limit"] == "1"
    assert shown(a, "market/bob")["limit"] == "2"


REFUSED = [
    ("limit gpus 1", "kind"), ("limit door 2", "kind"), ("add etl 1", "kind"), ("remove etl 1", "kind"),
    ("remove gpus none", "unknown"), ("reserve gpus none", "unknown"), ("reserve etl 2", "unknown"),
    ("pause none", "unknown"), ("limit etl x", "bad-value"), ("add gpus a%20b", "bad-value"),
]


def test_refused(pair):
    a, _ = pair
    client, other = client_of(a), client_of(a, 1000)
    for line, expected in REFUSED:
        assert refused(client, line) == expected, line
    assert "a%20pool's%20is%20its%20items" in client.request("limit gpus 1")
    assert refused(other, "pause etl") == "forbidden"
    assert is_quiet(client) and is_quiet(other)
    assert not any("changed" in shown(a, name) for name in ("gpus", "door", "etl"))


# ---- the connection meanwhile ----

def test_answers_stay_in_order(pair):
    """And all come to one that is half closed."""
    a, b = pair
    client = client_of(a)
    client.send("ping\npause etl reason=x\nstatus etl\nresume etl\nping\nversion\n")
    assert [client.line(), client.line()] == ["ok", "ok"]
    lines = [client.line() for _ in range(4)]
    assert (lines[0].split()[0], keys(lines[2].split())["paused"], lines[3]) == ("ok", "1", "end")
    assert [client.line(), client.line()] == ["ok", "ok"]
    assert client.line().startswith("ok version=")
    client.send("pause etl\nping\n")
    client.socket.shutdown(socket.SHUT_WR)
    assert [client.line(), client.line(), client.line()] == ["ok", "ok", ""]
    assert shown(b, "etl")["paused"] == "1"


def test_each_is_asked_for_at_once(redis_server, hosts):
    """Not only when something else wakes berthd: the next renewal is 20 s away, and nothing is
    stored."""
    a, = fleet(redis_server, hosts, 1, ttl="120s")
    client = client_of(a)
    end = time.monotonic() + min(DEADLINE, 15)
    client.send("release etl holder=nobody\n" * 40)
    assert [client.line(end - time.monotonic()) for _ in range(40)] == ["ok"] * 40


def test_half_closed_its_leases_end_at_once(redis_server, pair):
    """Nor do events wait for the database, or anybody else; and berthd stops."""
    a, _ = pair
    client, next_one, last = client_of(a), client_of(a), client_of(a)
    client.request("acquire here")
    lease, waiter = (one.request("acquire here").split()[1] for one in (next_one, last))
    redis_server.stop()
    client.send("pause etl\n")
    client.socket.shutdown(socket.SHUT_WR)
    assert event(next_one)[:2] == ("granted", lease)
    last.send("pause etl\nping\n")
    does(next_one, f"release {lease}")
    assert event(last)[:2] == ("granted", waiter)
    redis_server.cont()
    assert [client.line(), client.line()] == ["ok", ""]
    assert [last.line(), last.line()] == ["ok", "ok"]
    parked = [client_of(a) for _ in range(20)]
    redis_server.stop()
    for i, client in enumerate(parked):
        client.send(["pause etl\nping\n", "status\nping\n", "release etl holder=x\n"][i % 3])
    assert is_quiet(client_of(a))
    for client in parked[:8]:
        client.close()
    assert is_quiet(client_of(a))
    a.stop()
    redis_server.cont()
    assert all(client.ended() for client in parked[8:])


def test_no_answer_in_time(redis_server, hosts):
    """And none from a database that is down."""
    a, = fleet(redis_server, hosts, 1, ttl="120s")
    client = client_of(a)
    redis_server.stop()
    begun = time.monotonic()
    client.send("pause etl\nping\n")
    assert code(client.line()) == "down"
    assert 3 < time.monotonic() - begun < 9  # the connection is given up after 10
    assert client.line() == "ok"
    assert re.search(r"pause etl: asked by .*: its outcome is unknown$", a.log.read_text(), re.M)
    redis_server.cont()
    asked_until(a, lambda now: now.resources["etl"].get("paused") == "1", "etl")  # later, then
    redis_server.kill()
    asked_until(a, lambda now: now.databases["default"]["state"] == "down", "etl")
    for line in ("pause etl", "release etl holder=x", "release etl item=0", "revoke 0123456789abcdef/1"):
        answer = client.request(line)
        assert code(answer) == "down" and "database%20default:%20" in answer
    process = a.berthctl("pause", "etl")
    assert process.returncode == 69 and "database default: " in process.stderr


# ---- leases of other hosts ----

def key_of(host, name="etl"):
    """Of its first holder or waiter there, as that host sees it."""
    now = shown(host, name)
    return [one["lease"] for one in now["holders"] + now["waiters"]][0]


KEYS = [
    ("0123456789abcdef/1", "lost"), ("0123456789abcdef/", "bad-value"), ("0123456789abcdeg/1", "bad-value"),
    ("0123456789abcde/1", "bad-value"), ("/1", "bad-value"), ("0123456789abcdef/1/2", "bad-value"),
    ("0123456789ABCDEF/1", "bad-value"), ("0123456789abcdef/%20", "bad-value"),
]


def test_admins_of_the_daemon_alone(pair):
    """They revoke a lease of another host; all may give up their own by its whole name."""
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire etl")
    key = key_of(b)
    assert refused(client_of(b, 1000), f"revoke {key}") == "forbidden"
    assert shown(b, "etl")["in_use"] == "1"
    session, id = key.split("/")
    assert (len(session), id, key_of(a)) == (16, lease, lease)
    assert b.berthctl("revoke", key).returncode == 0
    assert event(client) == ("revoked", lease, "revoked")
    does(client, f"release {lease}")
    asked_until(b, lambda now: now.resources["etl"]["in_use"] == "0", "etl")
    for key, expected in [(key, "lost"), *KEYS]:
        for verb in ("revoke", "drop"):
            assert refused(client_of(b), f"{verb} {key}") == expected, (verb, key)
    lease = gets(client, "acquire etl")
    does(client_of(a), f"drop {key_of(b)}")
    assert event(client) == ("lost", lease, "dropped")


@pytest.mark.parametrize("verb, how, told", [
    ("revoke", "revoked", "revoked {} revoked"), ("drop", "dropped", "lost {} dropped")], ids=["revoke", "drop"])
def test_the_reason_reaches_another_host(pair, verb, how, told):
    """Those who hold, and those who wait, the history and the log; and no later one."""
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire door")
    waiting = queues(client, "acquire door")
    keys_of_b = {key.split("/")[1]: key for key in (
        one["lease"] for one in shown(b, "door")["holders"] + shown(b, "door")["waiters"])}
    reason = "reason=disk%20full%0A%25"
    does(client_of(b), f"{verb} {keys_of_b[waiting]} {reason}")
    line = client.line()
    assert line.startswith(f"* denied {waiting} ") and line.endswith(":%20disk%20full%0A%25"), line
    does(client_of(b), f"{verb} {keys_of_b[lease]} {reason}")
    line = client.line()
    assert line.startswith(f"* {told.format(lease)} ") and line.endswith(":%20disk%20full%0A%25"), line
    client.request(f"release {lease}")
    last(client).has(how=how, why="disk full\n%", by=str(os.geteuid()))
    said = (rf" by pid {os.getpid()} of uid {os.geteuid()}\): asked by uid {os.geteuid()}(?: \(login uid \d+\))? "
            r"on another host: disk full\\x0a%")
    assert re.search(rf"{verb} {lease} \(door, held{said}$", a.log.read_text(), re.M)
    lease = gets(client, "acquire etl")
    does(client_of(b), f"{verb} {key_of(b)}")
    assert "disk" not in client.line()


@needs_root
def test_who_has_taken_leases_from_another_host(pair):
    """One after the other, each its own; an owner's release names nobody, and a repeat of a revoke replaces
    neither who nor why, though the log has both."""
    a, b = pair
    watcher, operator, waiting = client_of(a), client_of(b), client_of(a, 1001)
    first = gets(client_of(a), "acquire door holder=x")
    second = queues(waiting, "acquire door holder=y")
    does(operator, f"revoke {shown(b, 'door')['waiters'][0]['lease']} reason=no")
    assert event(waiting)[:2] == ("denied", second)
    last(watcher).has(how="cancelled", by="0", why="no")
    does(operator, "release door holder=x")
    is_over(watcher, first)
    last(watcher).has(how="released", by=None, why=None)
    third = gets(waiting, "acquire door holder=z")
    does(operator, "release door holder=z")
    is_over(watcher, third)
    last(watcher).has(how="released", uid="1001", by="0", why=None)
    fourth = gets(watcher, "acquire door")
    key = key_of(b, "door")
    for reason in ("first", "second"):
        does(operator, f"revoke {key} reason={reason}")
    assert watcher.line().endswith(":%20first")
    until(lambda: re.search(r"revoke .* on another host: second$", a.log.read_text(), re.M))
    watcher.request(f"release {fourth}")
    last(watcher).has(how="revoked", why="first")


def test_several_databases_are_asked_in_turn(redis_server, hosts):
    text = RESOURCES.replace("[lock door]", "[lock door]\nredis = two")

    def section(_):
        return (redis_section(redis_server.url, prefix="berth")
                + redis_section(redis_server.url, name="two", prefix="other"))

    a, b = up(redis_server, *hosts(text, 2, section))
    redis_server.do("HDEL", "{other}:db", "grace")
    client = client_of(a)
    lease = gets(client, "acquire door")
    assert shown(b, "door")["database"] == "two"
    does(client_of(b), f"drop {key_of(b, 'door')}")
    assert event(client) == ("lost", lease, "dropped")
    assert refused(client_of(b), "drop 0123456789abcdef/1") == "lost"


def test_release_by_name(redis_server, pair):
    """By an identity, also a shared one, and by an item."""
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire etl holder=job%20one%7c%25")
    assert refused(client_of(b), "release etl holder=another") == "not-holder"
    assert refused(client_of(b, 1000), "release etl holder=job%20one%7c%25") == "not-holder"
    does(client_of(b), "release etl holder=job%20one%7c%25")
    assert event(client) == ("lost", lease, "released")
    asked_until(b, lambda now: now.resources["etl"]["in_use"] == "0", "etl")
    does(client_of(b), "release etl holder=job%20one%7c%25", "release market/x holder=y")
    gets(client, "acquire etl holder=x")
    redis_server.stop()
    does(client, "release etl holder=x")  # here, which needs no database
    redis_server.cont()

    client = client_of(a, 1001)
    lease = gets(client, "acquire door holder=x")
    assert refused(client_of(b, 1000), "release door holder=x") == "forbidden"
    assert refused(client_of(b, 1000), "release door holder=y") == "not-holder"
    does(client_of(b, 1001), "release door holder=x")
    assert event(client) == ("lost", lease, "released")

    lease = gets(client, "acquire gpus:2")
    assert refused(client_of(b, 1000), "release gpus item=g1") == "forbidden"
    assert refused(client_of(b), "release gpus item=g7") == "unknown"
    does(client_of(b), "release gpus item=g2")
    answer = client_of(b, 1001).request("release gpus item=g1")
    assert re.fullmatch(r"ok was=pid%20\d+%20on%20\S+%20\(uid%201001\)", answer)
    does(client_of(b, 1001), "release gpus item=g1")  # it is free
    assert event(client) == ("lost", lease, "dropped")
    assert refused(client_of(b), "release etl item=2") == "unknown"
    does(client_of(b), "release etl item=1")


def test_hosts(redis_server, hosts):
    """Which hosts there are, when each was heard, and what it has."""
    a, b = fleet(redis_server, hosts)
    client, other = client_of(a), client_of(b)
    gets(client, "acquire etl:2")
    gets(other, "acquire door")
    queues(client, "acquire door")
    lines = a.client().lines("hosts")
    assert lines[0].startswith("ok now=") and lines[-1] == "end" and lines[1].startswith("database default state=up ")
    found = [keys(line.split()) for line in lines[2:-1]]
    assert sorted((host["held"], host["waiting"]) for host in found) == [("1", "0"), ("1", "1")]
    assert all(int(lines[0].removeprefix("ok now=")) - int(host["heard_at"]) < 6000 and host["database"] == "default" for host in found)
    assert sorted((host["waiting"], host.get("own")) for host in found) == [("0", "0"), ("1", "1")]
    title, *rows = b.berthctl("hosts").stdout.splitlines()
    assert sorted((row.split()[-4], " (this host) " in row) for row in rows[:2]) == [("0", True), ("1", False)]
    assert rows[2:4] == ["database default up", f"  server: {redis_server.shown_version} at {redis_server.socket}"]
    del rows[2:]
    assert title.split() == ["HOST", "DATABASE", "HEARD", "HELD", "WAIT", "VERSION", "LAYOUTS", "SESSION"]
    version = keys(a.client().request("version").split())["version"]
    assert {tuple(row.split()[-3:]) for row in rows} == {(version, "2", host["session"]) for host in found}
    answer = json.loads(b.berthctl("hosts", "--json").stdout)
    assert (answer["version"], [row["name"] for row in answer["databases"]]) == (1, ["default"])
    assert [(row["held"], row["waiting"], row["version"]) for row in sorted(
        answer["hosts"], key=lambda row: row["waiting"])] == [(1, 0, version), (1, 1, version)]
    assert {row["session"] for row in answer["hosts"]} == {host["session"] for host in found}
    assert answer["databases"][0]["layout"] == 2
    assert {(row["layout_from"], row["layout_to"]) for row in answer["hosts"]} == {(2, 2)}
    redis_server.kill()
    asked_until(a, lambda now: now.databases["default"]["state"] == "down")
    assert "database default down: " in a.berthctl("hosts").stdout


def test_whose_file_has_other_times(redis_server, hosts):
    a, b, c = fleet(redis_server, hosts, 3, ttl="30s", failover_lag="13s")
    shown = a.berthctl("hosts").stdout
    assert "files of hosts differ" not in shown
    sessions = {row["session"] for row in json.loads(a.berthctl("hosts", "--json").stdout)["hosts"]}
    c.kill()
    c.configure(redis_section(redis_server.url, "60s", failover_lag="20s") + RESOURCES)
    c.start()
    asked_until(c, lambda now: now.databases["default"]["state"] == "up")
    rows = json.loads(a.berthctl("hosts", "--json").stdout)["hosts"]
    assert {row["session"] for row in rows} == sessions
    assert sorted((row["ttl_ms"], row["failover_lag_ms"]) for row in rows) == [(30000, 13000)] * 2 + [(60000, 20000)]
    (name,) = {row["host"] for row in rows}  # all run on one machine
    assert (f"  warning: the files of hosts differ: {name} (ttl = 60000ms), {name} (failover-lag = 20000ms)\n"
            in a.berthctl("hosts").stdout)


def test_how_busy_a_database_is(redis_server, hosts):
    """As soon as renewals have told how many calls there are; and in all, once it was asked twice."""
    a, b = fleet(redis_server, hosts)
    client = a.client()

    def found_when_complete():
        found = keys(client.lines("hosts")[1].split())
        return found if "cpu_us_per_s" in found else None

    found = until(found_when_complete)
    assert found["sessions"] == "2" and int(found["calls_per_1000_s"]) > 0, found
    assert 0 < int(found["busy_us_per_s"]) < 1_000_000 and int(found["cpu_us_per_s"]) < 1_000_000, found
    shown = a.berthctl("hosts").stdout
    assert re.search(r"^  busy: \d+(\.\d)? % with Berth, \d+\.\d calls a second; \d+(\.\d)? % in total$", shown, re.M), shown
    database, = json.loads(a.berthctl("hosts", "--json").stdout)["databases"]
    assert database["sessions"] == 2 and database["calls_per_1000_s"] > 0, database
    assert 0 < database["busy_us_per_s"] < 1_000_000 > database["cpu_us_per_s"], database
    assert re.search(r'^berth_fleet_busy_ratio{database="default"} 0\.\d+$', a.berthctl("metrics").stdout, re.M)
    assert "busy" not in keys(a.client().lines("status")[1].split())

"""What status shows of a fleet: all leases, on every host; and what it costs."""

import json
import os
import platform
import re
import sys
import time

import pytest

from conftest import read_line
from daemon_help import Status, is_quiet, status
from fleet_help import (  # noqa: F401
    DEADLINE, Monitor, clock, hosts, needs_redis, redis_section, redis_server, ways)
from fleet_ops_help import RESOURCES, client_of, fleet, gets, pair, queues, up  # noqa: F401
from lines import until
from lost_help import asked_until

pytestmark = needs_redis


def shown(host, *names):
    return status(client_of(host), *names)


# ---- what is shown ----

def test_host_scope_leases_belong_to_this_host(redis_server, hosts):
    """Each has its own, perhaps by the same name: the database does not know it."""
    of_both = "[semaphore etl]\nlimit = 2\nscope = fleet\n"
    section = redis_section(redis_server.url)
    a, = hosts("[semaphore here]\nlimit = 4\n[lock deploy]\n" + of_both, 1, section)
    b, = hosts("[semaphore here]\nlimit = 8\n[pool deploy]\nitems = a b\nscope = fleet\n" + of_both, 1, section)
    up(redis_server, a, b)
    for name in ("deploy", "here", "etl"):
        gets(client_of(a), f"acquire {name}")
        gets(client_of(b), f"acquire {name}")
    for host in (a, b):
        assert shown(host).databases["default"]["differing"] == "0"
    assert sorted(redis_server.members("definitions")) == ["deploy", "etl"]


def test_everybody_on_every_host(pair):
    a, b = pair
    one, two = client_of(a), client_of(b, 1001)
    first = gets(one, f"acquire etl gpus:2 holder=a%20b reason=why%20not program=prog pid={os.getpid()}")
    second = gets(two, "acquire etl")
    third = queues(two, "acquire etl:2 priority=0 reason=later")
    of_a, of_b = shown(a), shown(b)
    for now in (of_a, of_b):
        etl = now.resources["etl"]
        assert etl.items() >= {
            "kind": "semaphore", "scope": "fleet", "database": "default", "limit": "2", "in_use": "2",
            "free": "0", "waiting": "1"}.items()
        assert "database_state" not in etl
        assert now.databases["default"].items() >= {"state": "up", "ttl": "6000", "differing": "0"}.items()
        assert now.resources["gpus"]["holders"][0]["units"] == "g0,g1"
        assert now.resources["here"]["scope"] == "host" and "database" not in now.resources["here"]
    foreign, own = of_b.resources["etl"]["holders"]
    assert re.fullmatch(f"[0-9a-f]{{16}}/{first}", foreign["lease"])
    assert foreign.items() >= {
        "holder": "a%20b", "reason": "why%20not", "program": "prog", "uid": "0",
        "pid": str(os.getpid()), "units": "0"}.items()
    assert "bound" not in foreign and of_b.age(foreign) < 20000 and foreign["host"]
    assert own.items() >= {"lease": second, "bound": "connection", "units": "1", "uid": "1001"}.items()
    assert of_a.resources["etl"]["holders"][0]["lease"] == first
    assert of_a.resources["etl"]["holders"][0]["bound"] == "process"
    assert of_a.resources["etl"]["holders"][0]["token"] == foreign["token"]
    waiter, = of_a.resources["etl"]["waiters"]
    assert waiter["lease"].endswith("/" + third)
    assert waiter.items() >= {"position": "1", "wants": "2", "reason": "later", "uid": "1001"}.items()
    assert of_b.waiters("etl") == [third]
    assert (of_a.held, of_a.waiting, of_b.held, of_b.waiting) == (1, 0, 1, 1)


def test_how_long_another_host_holds_a_lease(pair):
    """Its wait is no part of it. The waiting line of `berth run` names that host."""
    a, b = pair
    client = client_of(a)
    first = gets(client, "acquire door")
    waiter = client_of(b)
    lease = queues(waiter, "acquire door program=etl")

    def age(now, of):
        one, = now.resources["door"][of]
        return now.age(one)

    asked_until(a, lambda now: age(now, "waiters") >= 3000)
    begin = time.monotonic()
    assert client.request(f"release {first}") == "ok"
    assert waiter.line().startswith("* granted")
    shows, = re.findall(r"for (\d+)s", a.berthctl("why", "door").stdout)
    held_for = age(status(a.client()), "holders")
    passed = time.monotonic() - begin
    assert held_for <= passed * 1000 + 1 and int(shows) <= passed
    key = shown(a, "door").resources["door"]["holders"][0]["lease"]
    assert re.match(f"lease {lease} of pid .* has held slot 0 of door for ", b.berthctl("why", key).stdout)
    line = read_line(a.berth.start("run", "door", "--", "true").stderr)
    assert re.fullmatch(r"berth: waiting for door: held by pid \d+ on \S+ \(etl, root\) for \d+s; "
                        r"place 1 in the queue", line)


def test_the_latest_end_on_another_host(redis_server, hosts):
    """By max-hold of its own file, also of what has waited; a ttl is renewed there, and does not count."""
    a, b = fleet(redis_server, hosts)
    a.configure(a.config.read_text().partition("\n")[2].partition("\n")[2].replace(
        "[semaphore etl]", "[semaphore etl]\nmax-hold = 1h"))
    assert client_of(a).request("reload") == "ok"
    gets(client_of(a), "acquire etl:2 ttl=60s")
    gets(client_of(a), "acquire door ttl=60s")
    queues(client_of(a), "acquire etl")
    etl, door = (shown(b, name).resources[name] for name in ("etl", "door"))
    holder, = etl["holders"]
    assert int(holder["until"]) - int(holder["since"]) == 3600000
    assert "until" not in door["holders"][0] and "until" not in etl["waiters"][0]
    assert re.search(r"LEFT.*\n.* (59m\d\ds|1h00m) ", b.berthctl("status", "etl").stdout)


def test_instances_of_other_hosts(pair):
    a, b = pair
    client = client_of(a)
    gets(client, "acquire market/alice")
    now = shown(b)
    assert list(now.resources) == ["etl", "gpus", "door", "here", "market/alice"]
    assert now.resources["market/alice"].items() >= {"template": "market/*", "in_use": "1"}.items()
    assert shown(b, "market/alice").resources["market/alice"]["in_use"] == "1"
    assert now.templates["market/*"] == {
        "kind": "semaphore", "scope": "fleet", "database": "default", "limit": "2", "instances": "1"}
    matching = shown(b, "market/*", "do*")
    assert (list(matching.resources), list(matching.templates)) == (["door", "market/alice"], ["market/*"])
    assert not shown(b, "market/b*").resources
    assert shown(b, "market/bob").resources["market/bob"].items() >= {
        "limit": "2", "free": "2", "scope": "fleet"}.items()
    client.close()
    asked_until(b, lambda now: "market/alice" not in now.resources)


def test_of_a_lease(pair):
    a, b = pair
    holders = [gets(client_of(a), "acquire etl") for _ in range(2)]
    ahead, client = client_of(a), client_of(b)
    queues(ahead, "acquire etl")
    lease = queues(client, "acquire etl")
    now = status(client, f"lease={lease}")
    assert [one["lease"].split("/")[1] for one in now.resources["etl"]["holders"]] == holders
    assert now.waiters("etl") == [lease]
    assert now.resources["etl"]["waiters"][0]["position"] == "2"
    assert now.resources["etl"]["waiting"] == "2"
    ahead.close()
    until(lambda: status(client, f"lease={lease}").resources["etl"]["waiters"][0]["position"] == "1")


def test_units_are_ranges(redis_server, hosts):
    """And of a waiter, few holders are shown."""
    a, b = fleet(redis_server, hosts, 2, RESOURCES.replace("limit = 2", "limit = 420"))
    client = client_of(a)
    one = gets(client, "acquire etl")
    gets(client, "acquire etl:400")
    client.request(f"release {one}")
    gets(client, "acquire etl:2")
    assert [holder["units"] for holder in shown(b, "etl").resources["etl"]["holders"]] == [
        "0,401", "1-400"]
    for _ in range(18):
        gets(client, "acquire etl")
    lease = queues(client, "acquire etl:3")
    queues(client, "acquire etl:2")
    now = status(client, f"lease={lease}")
    assert (len(now.holders("etl")), now.waiters("etl")) == (8, [lease])
    assert len(shown(a, "etl").holders("etl")) == 20


# ---- when a database gives no answer ----

def test_down(redis_server, pair):
    a, b = pair
    client = client_of(a)
    held = gets(client, "acquire etl")
    gets(client_of(b), "acquire etl")
    waits = queues(client, "acquire etl")
    redis_server.kill()
    now = asked_until(a, lambda now: now.databases["default"]["state"] == "down")
    assert now.databases["default"]["why"]
    etl = now.resources["etl"]
    assert etl.items() >= {
        "database": "default", "database_state": "down", "scope": "fleet", "in_use": "1", "free": "0",
        "waiting": "1"}.items()
    assert (now.holders("etl"), now.waiters("etl")) == ([held], [waits])
    assert now.resources["gpus"]["free"] == "0"
    assert now.resources["here"]["free"] == "1"
    assert status(client, f"lease={waits}").waiters("etl") == [waits]
    text = a.berthctl("status").stdout
    assert "database down" in text and "why: " in text


def test_which_number_the_database_has(redis_server, hosts):
    a, = hosts(RESOURCES, 1, redis_section(redis_server.url + "?db=3"))
    asked_until(a, lambda now: now.databases["default"].get("server") == f"{redis_server.socket}?db=3")
    assert a.berthctl("status").stdout.count(f" {redis_server.socket}?db=3\n") == 1
    assert f" at {redis_server.socket}?db=3\n" in a.berthctl("hosts").stdout


def test_never_connected(directory, hosts):
    a, = hosts(RESOURCES, 1, redis_section(f"unix://{directory}/nothing"))
    now = asked_until(a, lambda now: now.databases["default"]["state"] == "down")
    assert now.resources["etl"]["database_state"] == "down"
    assert "server" not in now.databases["default"]


# In a process that has run it, socket(AF_INET) fails with EAFNOSUPPORT, as under the unit's
# RestrictAddressFamilies=AF_UNIX.
WITHOUT_TCP = """
import ctypes, os, struct, sys
code = [(0x20, 0, 0, 0), (0x15, 0, 3, 41), (0x20, 0, 0, 16), (0x15, 0, 1, 2), (6, 0, 0, 0x50000 + 97), (6, 0, 0, 0x7fff0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
filter = struct.pack("HxxxxxxP", len(code), ctypes.addressof(program))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filter, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter has this machine's numbers")
def test_a_unit_without_tcp(berthd):
    daemon = berthd("".join(
        f"{redis_section(f'redis://{server}:1', name=server)}\n[lock {server}]\nscope = fleet\nredis = {server}\n"
        for server in ("127.0.0.1", "localhost")), before=[sys.executable, "-c", WITHOUT_TCP])
    now = asked_until(daemon, lambda now: sum("why" in one for one in now.databases.values()) == 2)
    for server, one in now.databases.items():
        assert one["why"].endswith(
            "%20(berthd's%20unit%20forbids%20TCP:%20install%20the%20drop-in%20tcp.conf,%20see%20berthd(8))"), server


def test_differing_definitions(redis_server, hosts):
    a, = fleet(redis_server, hosts, 1)
    b, = hosts(RESOURCES.replace("items = g0 g1 g2", "items = g0 g1"), 1, redis_section(redis_server.url))
    asked_until(b, lambda now: now.databases["default"]["differing"] == "1" and
                now.databases["default"]["state"] == "up")
    assert "differing: 1 definition" in b.berthctl("status").stdout
    assert "differing:" not in a.berthctl("status").stdout
    for host, n in (a, 0), (b, 1):
        assert f'berth_database_differing{{database="default"}} {n}' in figures_of(host)


# ---- what another host may have written ----

# INFO of a record: only berthd understands it.
REWRITE = """
local record = cmsgpack.unpack(redis.call('HGET', ARGV[1], ARGV[2]))
assert(string.find(record[8], 'pid='))
record[8] = ARGV[3] .. ' pid='
return redis.call('HSET', ARGV[1], ARGV[2], cmsgpack.pack(record))
"""


def test_hostile_leases(redis_server, pair):
    a, b = pair
    gets(client_of(a), "acquire etl holder=x")
    client = client_of(b)
    key, = redis_server.members("leases")
    for nasty in ("pid=-1 uid=0 program=%1b[2J reason=%0Aend", "pid=1 reason=" + "x" * 5000, "", "=", "pid",
                  "pid=99999999999 at=-5 program=%zz reason=%", "\x1b[2J\r\nend\r\n", "\xff end"):
        redis_server.do("EVAL", REWRITE, 0, "{berth}:leases", key, nasty)
        lines = client.lines("status etl")
        assert [line.split()[0] for line in lines] == ["ok", "database", "resource", "holder", "end"]
        assert all(re.fullmatch(r"[!-~ ]{1,4095}", line) for line in lines)
        for command in (["status"], ["status", "--json"]):
            text = b.berthctl(*command)
            assert text.returncode == 0 and not re.search(r"[^\n -~]", text.stdout)
    assert is_quiet(client)


# ---- berthctl, berth ----

def test_berthctl(pair):
    a, b = pair
    gets(client_of(a), "acquire etl program=x%1b[2J")
    text = b.berthctl("status").stdout
    assert re.search(r"^NAME +KIND +SCOPE +LIMIT", text, re.M)
    assert re.search(r"^etl +semaphore +fleet +2 +1 +1 +0$", text, re.M)
    assert re.search(r"^here +lock +host", text, re.M)
    assert re.search(r"^DATABASE +STATE +TTL.* SERVER$", text, re.M)
    assert re.search(r"^default +up +6s", text, re.M)
    assert "\x1b" not in text and "x\\x1b[2J" in text
    whole = json.loads(b.berthctl("status", "--json").stdout)
    database, = whole["databases"]
    assert (database["name"], database["state"], database["ttl_ms"]) == ("default", "up", 6000)
    etl, *_ = whole["resources"]
    assert (etl["scope"], etl["database"], etl["database_state"]) == ("fleet", "default", None)
    assert etl["holders"][0]["host"] and "/" in etl["holders"][0]["lease"]


# ---- what it costs ----

def calls(host):
    return int(shown(host, "etl").databases["default"]["calls"])


def test_many_ask_the_database_once(redis_server, pair):
    """While one request is being answered, all others wait for one more: each sees what was done before it."""
    a, b = pair
    clients = [client_of(a) for _ in range(60)]
    before = calls(a)
    redis_server.stop()
    for client in clients:
        client.send("status etl\n")
    assert is_quiet(client_of(a))  # all are parked
    redis_server.cont()
    for client in clients:
        client.rest_of_lines()
    assert calls(a) - before < 10  # renewals among them
    changes = client_of(b)
    for i in range(30):
        for client in clients[:20]:
            client.send("status etl\n")
        assert changes.request(f"limit etl {i % 3}") == "ok"
        assert shown(a, "etl").resources["etl"]["limit"] == str(i % 3)
        for client in clients[:20]:
            client.rest_of_lines()


def test_the_first_of_many_goes(redis_server, hosts):
    """The database was asked on its behalf."""
    a, = fleet(redis_server, hosts, 1, ttl="120s")  # with a short one berthd soon gives up
    clients = [client_of(a) for _ in range(3)]
    redis_server.stop()
    clients[0].send("ping\n")  # the answer is not read: then it is no half-close
    for client in clients:
        client.send("status etl\n")
        assert is_quiet(client_of(a))
    clients[0].close()
    assert is_quiet(client_of(a))
    redis_server.cont()
    for client in clients[1:]:
        line = client.line()
        assert line.startswith("ok ")
        while line != "end":
            assert "database_state" not in line
            line = client.line()


def test_a_status_shares_no_answer_from_before_it(redis_server, hosts, ways):
    """Another client asks while the database's answer is on its way."""
    way = ways(redis_server)
    a, b = up(redis_server, *hosts(
        RESOURCES, 2, lambda number: redis_section((redis_server, way)[number == 0].url)))
    early, late, changes = client_of(a), client_of(a), client_of(b)
    way.reply_after(1)
    with Monitor(redis_server) as monitor:
        early.send("status etl\n")
        while "etl" not in monitor.command(DEADLINE)[1]:
            pass
    assert changes.request("limit etl 1") == "ok"
    late.send("status etl\n")
    assert Status(early.rest_of_lines()).resources["etl"]["limit"] == "2"
    way.heal()
    assert Status(late.rest_of_lines()).resources["etl"]["limit"] == "1"


def test_slow_readers_share_the_memory(redis_server, hosts):
    """Answers that nobody reads keep what the database has said; one user can have only few of
    them."""
    a, = fleet(redis_server, hosts, 1, RESOURCES.replace("limit = 2", "limit = 4000"))
    # more than sockets and berthd take of an answer that nobody reads, by far
    holders = [client_of(a) for _ in range(15)]
    for client in holders:
        for _ in range(100):
            client.send(f"acquire etl reason={'x' * 250}\n")
        for _ in range(100):
            line = ""
            while not line.startswith("* granted "):
                line = client.line()
    assert len(shown(a, "etl").holders("etl")) == 1500
    readers = []
    for _ in range(9):  # berthd keeps 8, and gives up those who read nothing for 10 s
        readers.append(client_of(a))
        readers[-1].send("status etl\n")
        assert readers[-1].line().startswith("ok ")
    now = shown(a, "etl").resources["etl"]
    assert now["database_state"] == "busy" and len(now["holders"]) == 1500  # all are this host's
    for reader in readers:
        reader.close()
    assert "database_state" not in shown(a, "etl").resources["etl"]


def test_metrics_of_the_fleet(pair, berthctl):
    """Under names of their own: those of a host are its own."""
    a, b = pair
    first, second = client_of(a), client_of(b)
    gets(first, "acquire etl market/alice")
    gets(second, "acquire etl market/bob:2")
    done = berthctl("metrics", "-S", str(b.socket))
    assert (done.returncode, done.stderr) == (0, "")
    lines = set(done.stdout.splitlines())
    assert {'berth_held{resource="etl"} 1', 'berth_held{resource="market/*"} 2',
            'berth_fleet_held{resource="etl",database="default"} 2',
            'berth_fleet_held{resource="market/*",database="default"} 3',
            'berth_fleet_limit{resource="market/*",database="default"} 4',
            'berth_fleet_waiting{resource="etl",database="default"} 0',
            'berth_database_state{database="default",state="up"} 1'} <= lines
    assert not any(line.startswith(('berth_limit{resource="etl"', 'berth_fleet_held{resource="here"')) for line in lines)
    assert {'berth_fleet_up{database="default"} 1', 'berth_fleet_hosts{database="default"} 2',
            'berth_database_sessions_total{database="default"} 1'} <= lines
    assert any(re.match(r"berth_database_renewal_seconds_count.* [0-9]+", line) for line in lines)


def figures_of(host):
    done = host.berthctl("metrics")
    assert (done.returncode, done.stderr) == (0, "")
    return set(done.stdout.splitlines())


def require_own_figures_alone(host):
    lines = figures_of(host)
    assert {'berth_held{resource="etl"} 1', 'berth_fleet_up{database="default"} 0'} <= lines
    assert len([line for line in lines if line.startswith("berth_fleet_")]) == 1


def test_metrics_without_the_database(redis_server, hosts):
    """A host's own figures come all the same, and its status: while the database is silent, and while it is away."""
    a, = fleet(redis_server, hosts, 1, ttl="120s")
    client = client_of(a)
    gets(client, "acquire etl")
    redis_server.stop()
    begun = time.monotonic()
    require_own_figures_alone(a)
    assert 3 < time.monotonic() - begun < 12  # a renewal comes after 20
    begun = time.monotonic()
    now = status(client)
    assert 3 < time.monotonic() - begun < 12
    assert now.resources["etl"].items() >= {"database_state": "no-answer", "in_use": "1"}.items()
    redis_server.cont()
    assert "database_state" not in shown(a).resources["etl"]
    assert asked_until(a, lambda now: now.databases["default"]["state"] == "up", "etl")
    assert 'berth_fleet_up{database="default"} 1' in figures_of(a)
    redis_server.kill()
    asked_until(a, lambda now: now.databases["default"]["state"] == "down", "etl")
    require_own_figures_alone(a)
    refused = client.request("metrics database=default")
    assert refused.startswith("error down the%20database%20`default`")
    assert client.request("metrics database=x").startswith("error unknown ")


def test_metrics_are_sums_that_are_asked_for_once(redis_server, hosts):
    """However many leases there are, and however many scrape."""
    a, = fleet(redis_server, hosts, 1, RESOURCES.replace("limit = 2", "limit = 400")
               + "".join(f"[lock l{n}]\nscope = fleet\n" for n in range(20)))
    client = client_of(a)
    for _ in range(400):
        gets(client, "acquire etl")
    with Monitor(redis_server) as monitor:
        begun = time.monotonic()
        readers = [client_of(a) for _ in range(20)]
        for reader in readers:
            reader.send("metrics database=default\nmetrics from=1000 database=default\n")
        for reader in readers:
            first = reader.rest_of_lines()
            assert re.fullmatch(r"ok next=\d+", first[0]) and reader.rest_of_lines() == ["ok", "end"]
            assert "figure berth_fleet_held resource=etl database=default value=400" in first
        seconds = time.monotonic() - begun
        calls = []
        while (command := monitor.command(0.2)) is not None:
            if command[1][0].lower() == "fcall" and command[1][-1] == "*":
                calls.append(command)
    assert 1 <= len(calls) <= 2 + seconds  # sums are good for a second
    assert sum('berth_fleet_held{resource="l' in line for line in figures_of(a)) == 20

"""`berthctl status`: which resources and leases it shows, in which order, and on which terminal."""

import json
import os
import re
import subprocess
import sys

import pytest

from ctl_help import on_terminal, served
from daemon_help import connect_as, held, needs_root, status, waits
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from fleet_ops_help import RESOURCES
from hostile import MARK, require_harmless, texts
from lost_help import asked_until, lose_the_journal, restart

CONFIG = """[semaphore etl]
limit = 2
[lock deploy]
[lock idle]
[semaphore market/*]
limit = 5
[lock customer/*]
"""
ANNA = 60001  # no account exists for it


@pytest.fixture
def ok(berthctl):
    def run(*args):
        done = berthctl(*args)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout
    return run


@pytest.fixture
def names(ok):
    """The first words of the lines of resources and templates; and the summary."""
    def run(*args):
        lines = ok("status", *args).splitlines()
        summary = lines.pop() if "" in lines else None
        return [line.split()[0] for line in lines[1:] if line and line[0] != " "], summary
    return run


def test_instances_stand_below_their_templates(client, names, ok):
    assert ok("status", "--busy").splitlines()[1:] == ["no matching resource is held or waited for"]
    for name in ("market/m10", "customer/z", "market/m9", "customer/a", "etl deploy"):
        held(client, f"acquire {name}")
    waits(client, "acquire customer/z")
    assert names() == (
        ["etl", "deploy", "idle", "market/*", "market/m9", "market/m10", "customer/*", "customer/a", "customer/z"],
        "7 resources, 2 templates; 5 held, 1 waiting")
    assert names("--busy") == (
        ["etl", "deploy", "market/*", "market/m9", "market/m10", "customer/*", "customer/a", "customer/z"],
        "6 of 7 resources, 2 templates; 5 held, 1 waiting")
    assert names("customer/*", "--busy") == (
        ["customer/*", "customer/a", "customer/z"], "2 resources, 1 template; 2 held, 1 waiting")
    assert names("--sort", "wait")[0][:3] == ["customer/z", "etl", "deploy"]
    assert names("etl") == (["etl"], None)


@needs_root
def test_the_leases_of_a_user(daemon, berthctl, names):
    held(connect_as(daemon, ANNA), "acquire etl")
    held(daemon.client(), "acquire etl customer/r")
    waits(connect_as(daemon, ANNA), "acquire customer/r")
    assert names("--user", str(ANNA)) == (
        ["etl", "customer/*", "customer/r"], "2 of 4 resources, 1 template; 1 held, 1 waiting")
    assert names("--user", "root", "etl") == (["etl"], None)
    shown = json.loads(berthctl("status", "--json", "--user", str(ANNA)).stdout)["resources"]
    assert [(row["name"], [lease["uid"] for lease in row["holders"] + row["waiters"]]) for row in shown] == [
        ("etl", [ANNA]), ("customer/r", [ANNA])]
    assert names("--user", "4294967294")[0] == ["no"]


WRONG_USAGE = [
    (["--user", "no such user"], "no such user: no such user"),
    (["--user", "-1"], "no such user: -1"),
    (["--user", "4294967295"], "no such user: 4294967295"),
    (["--sort", "colour"],
     "not a column to sort by (name, kind, limit, used, free, wait, age): colour"),
    (["--busy=yes"], "no such option: --busy=yes; did you mean --busy?"),
]


def test_wrong_usage(berthctl):
    for args, hint in WRONG_USAGE:
        done = berthctl("status", *args)
        assert (done.returncode, done.stdout, done.stderr) == (64, "", f"berthctl: {hint} (see berthctl --help)\n")


# ---- the program of a process ----

@pytest.fixture
def named():
    """Processes that have chosen their own names."""
    started = []

    def start(name, **options):
        script = ("import os, sys\nopen('/proc/self/comm', 'wb').write(os.fsencode(sys.argv[1]))\n"
                  "print(flush=True)\nsys.stdin.read()")
        process = subprocess.Popen(
            [sys.executable, "-c", script, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        started.append(process)
        process.stdout.readline()
        return process.pid

    yield start
    for process in started:
        process.communicate()


def programs(berthctl, name, **options):
    """What stands under PROGRAM, or None."""
    lines = berthctl("status", name, **options).stdout.splitlines()
    titles, *rows = [line for line in lines if line.startswith("  ")]
    at = titles.find("PROGRAM")
    return [row[at:].split("  ")[0].strip() if at >= 0 else None for row in rows]


def test_a_client_that_names_no_program(client, berthctl, named):
    held(client, f"acquire etl program=said pid={named('found')}")
    held(client, f"acquire etl pid={named('found')}")
    waits(client, f"acquire etl pid={named('waits')}")
    assert programs(berthctl, "etl") == ["said", "[found]", "[waits]"]
    leases = json.loads(berthctl("status", "etl", "--json").stdout)["resources"][0]["holders"]
    assert [lease["program"] for lease in leases] == ["said", None]  # what clients say, and nothing else


@needs_root
def test_programs_of_others(berthd, berthctl, named):
    """Hidden programs stay hidden; and a process of another user is not the lease's."""
    daemon = berthd("[lock shut]\nshow-commands = owner\n[lock open]\n")
    held(daemon.client(), f"acquire shut open pid={named('secret')}")
    assert programs(berthctl, "shut") == programs(berthctl, "open") == ["[secret]"]
    for name in "shut", "open":
        (holder,) = status(connect_as(daemon, ANNA), name).resources[name]["holders"]
        assert holder["hidden"] == "1" and holder["pid"]
        assert programs(berthctl, name, preexec_fn=lambda: os.setuid(ANNA)) == [None]
    assert "hidden" not in status(daemon.client(), "shut").resources["shut"]["holders"][0]
    daemon.client().request("drop " + holder["lease"])
    lease = held(daemon.client(), f"acquire open pid={named('theirs', user=ANNA)}")
    assert programs(berthctl, "open") == [None], lease


def test_names_of_processes_are_harmless(daemon, berthctl, named):
    client, names = daemon.client(), list(texts(15).values())
    for i, name in enumerate(names):
        held(client, f"acquire customer/{i} pid={named(name)}")
    for locale in ("C", "C.UTF-8"):
        shown = require_harmless(berthctl("status", env={"LC_ALL": locale}).stdout, unicode=locale != "C")
        assert shown.count("[" + MARK) == len(names), locale


# ---- what could be granted now ----

def granting(client):
    return "granting=0" not in client.lines("status")[0].split()


def figures(ok, name="etl"):
    """FREE of the table; `free` and `grantable` of the JSON."""
    (line,) = [line for line in ok("status").splitlines() if line.startswith(name + " ")]
    (row,) = json.loads(ok("status", name, "--json"))["resources"]
    return int(line.split()[4]), row["free"], row["grantable"]


def test_what_a_drain_or_a_pause_leaves(daemon, client, ok):
    """And what is kept for a waiter."""
    held(client, "acquire etl")
    assert figures(ok) == (1, 1, 1) and granting(client)
    ok("pause", "etl")
    assert figures(ok) == (0, 0, 0)
    ok("resume", "etl")
    ok("drain")
    assert figures(ok) == (0, 1, 0) and not granting(client)
    lines = ok("status").splitlines()
    assert re.fullmatch(r"draining: this host grants nothing; 1 lease held; since [\d:]{8} by \S+", lines[0])
    assert lines[-1] == "3 resources, 2 templates; 1 held, 0 waiting; draining"
    ok("undrain")
    assert figures(ok) == (1, 1, 1) and granting(client)
    lease = held(client, "acquire etl")
    waits(daemon.client(), "acquire etl deploy")  # its first queue is that of etl
    held(daemon.client(), "acquire deploy")
    assert client.request(f"release {lease}") == "ok"
    shown = status(client, "etl").resources["etl"]
    assert (shown["free"], shown["kept"]) == ("1", "1")
    assert figures(ok)[0] == 0


def test_what_a_grace_leaves(daemon, ok):
    """After a restart free units are granted as before; after the loss of the journal none is."""
    held(daemon.client(), "acquire etl")
    restart(daemon, "kill")
    assert figures(ok) == (1, 1, 1) and granting(daemon.client())
    assert ok("status").splitlines()[-1].endswith("; grace")
    lose_the_journal(daemon)
    assert figures(ok) == (0, 2, 0) and not granting(daemon.client())
    assert daemon.client().request("acquire etl wait=0").startswith("error grace")


@needs_redis
def test_what_a_database_s_grace_leaves(redis_server, hosts):  # noqa: F811
    (a,) = hosts(RESOURCES, 1, redis_section(redis_server.url))
    asked_until(a, lambda now: all(one["state"] == "up" for one in now.databases.values()), "etl")

    def shown():
        whole = json.loads(a.berthctl("status", "etl", "--json").stdout)
        return whole["databases"][0]["grace_until"] is not None, whole["resources"][0]["grantable"]

    assert shown() == (True, 0)
    redis_server.do("HDEL", "{berth}:db", "grace")
    assert shown() == (False, 2)


# ---- terminals ----

def test_colours(daemon, berthctl):
    berthctl.environ.pop("NO_COLOR", None)
    berthctl.environ.pop("TERM", None)
    assert berthctl("pause", "etl").returncode == 0
    for env, is_coloured in (({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": ""}, True),
                             ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({}, False)):
        shown = "\n".join(on_terminal(berthctl, "status", columns=100, env=env))
        assert ("\x1b[33mpaused\x1b[0m" in shown) == is_coloured == ("\x1b" in shown), env
        piped = berthctl("status", env=env).stdout
        assert "\x1b" not in piped and re.sub("\x1b\\[[0-9]+m", "", shown) == piped.rstrip("\n")


def test_narrow_terminals(daemon, berthctl):
    """Many instances, of which some have long names: lines fit, and a pipe gets all of it."""
    client, long = daemon.client(), "x" * 100
    for i in range(100):
        held(client, f"acquire market/{long}{i} reason=quotes holder=job-{i}")
        held(client, f"acquire customer/{i} program=feed")
    for columns in (10, 30, 50, 80):
        lines = on_terminal(berthctl, "status", columns=columns, env={"TERM": "dumb", "LC_ALL": "C"})
        assert max(len(line) for line in lines if "more" not in line and "resources," not in line) <= columns
        ends = [line.split()[0] for line in lines if line.startswith("mark")]
        assert len(ends) == 101
        assert lines[-1] == "203 resources, 2 templates; 200 held, 0 waiting"
        assert columns < 30 or [name[-3:] for name in ends[1:]] == [f"xx{i}"[-3:] for i in range(100)]
    piped = berthctl("status").stdout
    assert all(f"market/{long}{i} " in piped and f"job-{i} " in piped for i in range(100))


BUSY = [
    ("", []),
    (" calls_per_1000_s=2000 busy_us_per_s=381", ["busy: 0.0 % with Berth, 2.0 calls a second"]),
    (" calls_per_1000_s=412000 busy_us_per_s=61234 cpu_us_per_s=300500", ["busy: 6.1 % with Berth, 412.0 calls a second; 30 % in total"]),
    (" calls_per_1000_s=9000000 busy_us_per_s=499999", ["busy: 50 % with Berth, 9000.0 calls a second"]),
    (" calls_per_1000_s=9000000 busy_us_per_s=500000 cpu_us_per_s=512000", [
        "busy: 50 % with Berth, 9000.0 calls a second; 51 % in total",
        "warning: the database is 50 % busy with Berth: see servers.md, Large fleets"]),
    (" answer_last_us=90", ["answers: 0.09 ms the last"]),
    (" answers=7 answer_last_us=9999 answer_median_us=310 answer_p99_us=500000", [
        "answers: 10.00 ms the last, 0.31 ms median, 500 ms p99 of 7 in the last minute"]),
    (" answers=1 answer_last_us=12345 answer_median_us=1000000 answer_p99_us=1540000 slow=1", [
        "answers: 12 ms the last, 1.0 s median, 1.5 s p99 of 1 in the last minute",
        "warning: Redis, or the way to it, is slow: see fleet.md, When something is wrong"]),
    (" sessions=10000", []),
    (" sessions=10001", ["warning: 10001 hosts may come back too late for their jobs after a restart of Redis: "
                         "see servers.md, Large fleets"]),
]


def test_hosts_says_who_is_gone(berthctl, fake):
    """Of each database; words of strangers are escaped."""
    def gone(name, database, more):
        return f"gone {name} session=0123456789abcdef database={database} heard_at=-243000 freed_at=-213000 {more}\n"

    up = "state=up ttl=30000 incarnation=1 differing=0 calls=9"
    answer = (f"ok now=0\ndatabase main {up}\n" + gone("batch3", "main", "held=1 resources=db")
              + gone("bat%1b", "main", "held=9 resources=db,x%1by,...") + gone("batch5", "side", "held=0")
              + f"database side {up}\nend\n")
    _, status, out, _ = served(berthctl, fake, "hosts", answer=answer)
    assert status == 0 and out.splitlines() == [
        "database main up", "  batch3: gone 4m03s ago, held 1 (db), freed 3m33s ago",
        "  bat\\x1b: gone 4m03s ago, held 9 (db, x%1by, ...), freed 3m33s ago",
        "database side up", "  batch5: gone 4m03s ago, held 0"], out
    _, _, out, _ = served(berthctl, fake, "hosts", "--json", answer=answer)
    first, *_ = json.loads(out)["gone"]
    assert first == {"host": "batch3", "session": "0123456789abcdef", "database": "main", "heard_at": -243000,
                     "freed_at": -213000, "held": 1, "resources": ["db"]}


def test_hosts_says_when_a_database_is_too_small(berthctl, fake):
    for busy, notes in BUSY:
        line = f"database main state=up ttl=30000 incarnation=1 differing=0 calls=9{busy}"
        _, status, out, _ = served(berthctl, fake, "hosts", answer=f"ok\n{line}\nend\n")
        assert (status, out.splitlines()) == (0, ["database main up", *(f"  {note}" for note in notes)])


def test_hosts_says_how_long_a_database_has_not_answered(berthctl, fake):
    line = "database main state=down ttl=30000 incarnation=1 differing=0 calls=9 why=gone answered_at=-9000"
    for key, note in ("", []), (" answer_last_us=13400", ["  answers: none for 9s (the last took 13 ms)"]):
        _, status, out, _ = served(berthctl, fake, "hosts", answer=f"ok now=0\n{line}{key}\nend\n")
        assert (status, out.splitlines()) == (0, ["database main down: gone", *note])


def test_hosts_on_a_terminal(berthctl, fake):
    """A session's name is whole, whatever else there is room for."""
    session = "0123456789abcdef"
    own, other = "runner-1.building-7.example.com", "r" + "x" * 70
    answer = "ok now=90000\ndatabase main state=up ttl=30000 incarnation=1 differing=0 calls=9\n" + "".join(
        f"host {name} session={session} own={own_host} database=main heard_at=88000 held=12 waiting=3 version=0.1.0 "
        "layout_from=2 layout_to=2 ttl=30000 failover_lag=13000\n" for name, own_host in ((own, 1), (other, 0))) + "end\n"
    for columns in (80, 100, 200):
        titles, *rows = on_terminal(berthctl, "hosts", columns=columns, fake=fake, answer=answer)[:3]
        assert all(len(row) <= columns and row.endswith(f"  {session}") for row in rows), rows
        assert titles.endswith("  SESSION") and ("VERSION" in titles) == (columns > 80)
    assert rows[0].startswith(f"{own} (this host)  ") and rows[1].startswith(f"{other}  ")

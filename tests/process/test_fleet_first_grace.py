"""The first grace of a database: what it shows, and `berthctl found`, which ends it. The scripts'
part is in test_scripts_found.py."""

import json
import os
import pty
import re
import select
import subprocess

from conftest import read_line
from daemon_help import refused, status
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server, ways  # noqa: F401
from fleet_ops_help import client_of, gets, queues
from history_help import done
from lines import DEADLINE, until
from lost_help import asked_until

pytestmark = needs_redis

RESOURCE = "\n[lock etl]\nscope = fleet\nkill-after = 500ms\n"


def section(url, ttl="20s"):
    return redis_section(url, ttl, failover_lag="20s")


def is_up(host):
    asked_until(host, lambda now: all(one["state"] == "up" for one in now.databases.values()), "etl")
    return host


def database(host):
    return status(client_of(host), "etl").databases["default"]


def is_in_grace(server):
    return server.do("HEXISTS", "{berth}:db", "grace") == 1


def found(host, *words):
    return host.berthctl("found", "default", *words)


def on_terminal(host, *words, answer):
    """What berthctl says on a terminal on which somebody types the answer; and its exit status."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [host.berthctl.path, *words], stdin=terminal, stdout=terminal, stderr=terminal, env=host.berthctl.environ)
    os.close(terminal)
    said, is_typed = b"", False
    try:
        while select.select([controller], [], [], DEADLINE)[0]:
            try:
                more = os.read(controller, 4096)
            except OSError:
                break
            said += more
            if b"[y/N]" in said and not is_typed:
                is_typed = os.write(controller, answer.encode()) > 0
    finally:
        os.close(controller)
        exit_status = process.wait(DEADLINE)
    return said.decode(), exit_status


def test_what_is_said_before_an_operator_knows_better(redis_server, hosts):
    host, = hosts(RESOURCE, 1, section(redis_server.url))
    is_up(host)
    shown = host.berthctl("status").stdout
    assert re.search(r"^  new: until \S+ it grants nothing, because .*: berthctl found default$", shown, re.M), shown
    assert database(host)["new"] == "1"
    assert json.loads(host.berthctl("status", "--json").stdout)["databases"][0]["new"] is True
    why = host.berthctl("why", "etl").stdout
    assert re.search(r"its database is new, and grants nothing for another \d+s, .*: berthctl found default\)", why)
    refusal = host.berth("run", "-n", "etl", "--", "true")
    assert refusal.returncode == 75 and "(if it never held anything: berthctl found default)" in refusal.stderr
    assert "if it never held anything: berthctl found default" in host.log.read_text()
    waiting = host.berth.start("run", "etl", "--", "true", bufsize=0)
    assert "is new, and grants nothing for another" in read_line(waiting.stderr)
    assert found(host, "--yes").returncode == 0
    assert waiting.wait(DEADLINE) == 0
    assert "new" not in database(host) and "new:" not in host.berthctl("status").stdout


def test_an_operator_is_asked(redis_server, hosts):
    a, b = hosts(RESOURCE, 2, section(redis_server.url))
    is_up(a), is_up(b)
    nobody = found(a)
    assert nobody.returncode == 64 and "--yes" in nobody.stderr and is_in_grace(redis_server)
    for answer in ("\n", "n\n", "yesterday\n"):
        said, exit_status = on_terminal(a, "found", "default", answer=answer)
        assert exit_status == 75 and "nothing was done" in said, said
    hosts_shown = re.findall(r"^  (\S+) +(\d+)s +0 +0 +(\S+)\r$", said, re.M)
    assert len(hosts_shown) == 2, said
    assert is_in_grace(redis_server)
    said, exit_status = on_terminal(a, "found", "default", answer="y\n")
    assert exit_status == 0 and not is_in_grace(redis_server)
    later, exit_status = on_terminal(a, "found", "default", answer="y\n")
    assert exit_status == 75 and "its first grace has already ended" in later and "[y/N]" not in later


# ---- what outlives what


def test_a_host_that_had_other_data_here_refuses(redis_server, hosts):
    """It knows from its journal, or from its state directory."""
    host, = hosts(RESOURCE, 1, section(redis_server.url))
    is_up(host)
    assert found(host, "--yes").returncode == 0
    until(lambda: any("default @ " in path.read_text() for path in host.state.glob("*.state")), "it is not stored")
    for lost in "data", "data and journal":
        host.kill()
        if lost != "data":
            host.journal.unlink()
        redis_server.restart()
        host.start()
        is_up(host)
        refusal = found(host, "--yes")
        assert refusal.returncode == 75 and "has seen other data here" in refusal.stderr, lost
        assert "new" not in database(host)


def test_an_emptied_database_is_founded_while_a_host_with_a_job_is_away(redis_server, hosts, ways):
    """The operator is wrong. The host comes back before its deadline: its lock is another's by then, but its
    other job goes on, and nothing is granted until all have had the time to come back."""
    text = RESOURCE + "[semaphore two]\nscope = fleet\nlimit = 2\nkill-after = 500ms\n"
    way = ways(redis_server)
    away, = hosts(text, 1, section(way.url))
    is_up(away)
    assert found(away, "--yes").returncode == 0
    mine = client_of(away)
    etl, two = gets(mine, "acquire etl"), gets(mine, "acquire two")
    way.refuse()
    redis_server.do("FLUSHALL")
    here, = hosts(text, 1, section(redis_server.url))
    is_up(here)
    assert found(here, "--yes").returncode == 0
    other = client_of(here)
    gets(other, "acquire etl")
    way.heal()
    asked_until(away, lambda now: now.databases["default"].get("grace_until"), "etl")
    lost = mine.line()
    assert lost.startswith(f"* expired {etl} lost "), lost
    queues(other, "acquire two")
    kept = status(mine, "two").resources["two"]["holders"]
    assert [one["lease"] for one in kept] == [two]


# ---- refusals


def test_refusals_on_the_wire(redis_server, hosts):
    a, = hosts(RESOURCE, 1, section(redis_server.url))
    is_up(a)
    client = client_of(a)
    assert refused(client, "found database=other") == "unknown"
    assert refused(client, "found default") == "malformed"
    redis_server.do("HSET", "{berth}:db", "first", "listed some host")
    assert client.request("found").startswith("error in-use database%20default:%20host%20some%20host%20has%20listed")
    redis_server.do("HSET", "{berth}:db", "first", "new")
    assert client.request("found reason=new") == "ok" and refused(client, "found") == "not-new"
    assert [deed.said() for deed in done(client, "history database=default")] == [
        ("found", dict(target="default", reason="new"))]
    assert re.findall(r"found: asked by .*?(: refused|: new)?$", a.log.read_text(), re.M) == [": refused", ": new", ": refused"]
    redis_server.kill()
    asked_until(a, lambda now: now.databases["default"]["state"] == "down", "etl")
    until(lambda: refused(client, "found") == "down", "it is not given up")
    b, = hosts("[lock here]\n", 1)
    assert refused(client_of(b), "found") == "unknown"

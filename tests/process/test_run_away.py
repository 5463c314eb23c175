"""A wrapper that waits is stopped (^Z): others go first, and it keeps its place."""

import signal
import subprocess

import pytest

from conftest import read_line
from daemon_help import code, event, held, is_quiet, status, waits
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from fleet_ops_help import asks, client_of, gets, up
from lines import DEADLINE
from lost_help import after_restart, asked_until, restart
from test_run_signals import stopped

CONFIG = """
[lock x]
[lock y]
[semaphore s]
limit = 2
max-units-per-user = 1
"""


def starts_waiting(berth, *names, word="mine"):
    process = berth.start("run", "-v", *names, "--", "echo", word, process_group=0)
    assert read_line(process.stderr).startswith("berth: queued, place ")
    return process


def stops(process):
    process.send_signal(signal.SIGTSTP)
    assert stopped(process.pid)


def goes_on(process, word="mine"):
    process.send_signal(signal.SIGCONT)
    assert read_line(process.stdout) == word
    assert process.wait(DEADLINE) == 0


def waiters(client, name):
    return status(client, name).resources[name]["waiters"]


def test_others_go_before_it_meanwhile(berth, daemon):
    client, other = daemon.client(), daemon.client()
    lease = held(client, "acquire x")
    away = starts_waiting(berth, "x")
    second = waits(other, "acquire x")
    stops(away)
    first, _ = waiters(client, "x")
    assert (first["blocked"], first["position"]) == ("away", "1")
    assert client.request(f"release {lease}") == "ok"
    assert event(other)[:2] == ("granted", second)
    third = waits(client, "acquire x")
    away.send_signal(signal.SIGCONT)
    asked_until(daemon, lambda now: "blocked" not in now.resources["x"]["waiters"][0])
    assert other.request(f"release {second}") == "ok"
    goes_on(away)  # before the third, which came later
    assert event(client)[:2] == ("granted", third)


def test_stopped_again_and_again(berth, daemon, client):
    lease = held(client, "acquire x")
    away = starts_waiting(berth, "x")
    for _ in range(3):
        stops(away)
        assert waiters(client, "x")[0]["blocked"] == "away"
        away.send_signal(signal.SIGCONT)
        asked_until(daemon, lambda now: "blocked" not in now.resources["x"]["waiters"][0])
    stops(away)
    assert client.request(f"release {lease}") == "ok"
    now = status(client, "x")
    assert (now.resources["x"]["free"], now.held, now.waiting) == ("1", 0, 1)
    goes_on(away)


def test_what_it_stands_for(berth, daemon):
    """For several resources, and in its user's quota: nothing is kept, and a later one goes."""
    client, other = daemon.client(), daemon.client()
    for names in ["x", "y"], ["s"]:
        lease = held(client, f"acquire {names[0]}")
        away = starts_waiting(berth, *names)
        later = waits(other, "acquire " + " ".join(names))
        stops(away)
        assert client.request(f"release {lease}") == "ok"
        assert event(other)[:2] == ("granted", later), names
        assert other.request(f"release {later}") == "ok"
        goes_on(away)


def test_why_says_so(berth, berthctl, daemon, client):
    held(client, "acquire x")
    away = starts_waiting(berth, "x")
    stops(away)
    said = berthctl("why", str(away.pid)).stdout
    assert "its client is stopped (away): others go before it until it goes on" in said
    assert " away" in berthctl("status", "x").stdout
    away.send_signal(signal.SIGCONT)
    asked_until(daemon, lambda now: "blocked" not in now.resources["x"]["waiters"][0])
    assert "(away)" not in berthctl("why", str(away.pid)).stdout


def test_berthd_is_restarted_meanwhile(berth, berthd):
    """The place stays as long as the process that waits, also beyond the grace."""
    daemon = berthd("grace = 1ms\n" + CONFIG)
    lease = held(daemon.client(), "acquire x")
    away = starts_waiting(berth, "x")
    place = waiters(daemon.client(), "x")[0]["lease"]
    stops(away)
    client = after_restart(daemon, "kill")
    now = asked_until(daemon, lambda now: now.held == 0)
    waiter, = now.resources["x"]["waiters"]
    assert (waiter["lease"], waiter["blocked"], lease) == (place, "away", lease)
    second = held(client, "acquire x")
    third = waits(client, "acquire x")
    away.send_signal(signal.SIGCONT)
    asked_until(daemon, lambda now: "blocked" not in now.resources["x"]["waiters"][0])
    assert client.request(f"release {second}") == "ok"
    goes_on(away)
    assert event(client)[:2] == ("granted", third)


def test_it_dies_meanwhile(berth, berthd):
    daemon = berthd("grace = 1ms\n" + CONFIG)
    away = [None, None]
    held(daemon.client(), "acquire x")
    for i in range(2):
        away[i] = starts_waiting(berth, "x")
        stops(away[i])
    away[0].kill()
    asked_until(daemon, lambda now: now.waiting == 1)
    restart(daemon, "kill")
    away[1].kill()
    asked_until(daemon, lambda now: now.waiting == 0)


def test_who_may_say_so(daemon):
    client, other = daemon.client(), daemon.client()
    lease = held(client, "acquire x")
    waiting = waits(client, "acquire x")
    for word in ("away", "back"):
        assert code(client.request(f"{word} {lease}")) == "kind"
        assert code(other.request(f"{word} {waiting}")) == "kind"
        assert code(client.request(f"{word} zz")) == "lost"
    assert client.request(f"back {waiting}") == "ok"
    for _ in range(2):
        assert client.request(f"away {waiting}") == "ok"
    assert client.request(f"release {lease}") == "ok"
    assert is_quiet(client)
    assert client.request(f"back {waiting}") == "ok"
    assert event(client)[:2] == ("granted", waiting)


def test_a_nested_one(daemon):
    """What is kept for another one is not taken for a request that would not use it."""
    client, other = daemon.client(), daemon.client()
    parent = held(client, "acquire y")
    blocker = held(client, "acquire x")
    nested = waits(client, f"acquire x parent={parent}")
    assert client.request(f"away {nested}") == "ok"
    keeper = waits(other, "acquire x y")
    assert client.request(f"release {blocker}") == "ok"
    assert waiters(client, "x")[1].get("kept") == "1"
    assert client.request(f"back {nested}") == "ok"
    assert event(client)[:2] == ("granted", nested)
    assert client.request(f"release {nested}") == "ok"
    assert client.request(f"release {parent}") == "ok"
    assert event(other)[:2] == ("granted", keeper)


def not_started(now):
    return any(holder.get("unread") == "1" for holder in now.resources["x"]["holders"])


def stops_unasked(process):
    process.send_signal(signal.SIGSTOP)
    assert stopped(process.pid)


def granted_while_stopped(host, berth, berthctl, client, lease):
    """It waits behind that lease, which ends. Only a grant that is not read is said so."""
    process = berth.start("run", "-v", "x", "--", "sh", "-c", "echo runs; read line",
                          stdin=subprocess.PIPE, process_group=0)
    assert read_line(process.stderr).startswith("berth: queued")
    stops_unasked(process)
    assert client.request(f"release {lease}") == "ok"
    asked_until(host, not_started, "x")
    assert " not started" in berthctl("status", "x").stdout
    said = berthctl("why", str(process.pid)).stdout
    assert "its job has not started: its client, perhaps stopped, has not read the grant" in said
    process.send_signal(signal.SIGCONT)
    assert read_line(process.stdout) == "runs"
    assert not not_started(status(host.client(), "x"))
    stops_unasked(process)  # now its job runs
    return process


def must_end(process):
    process.send_signal(signal.SIGCONT)
    process.stdin.close()
    process.stdin = None
    assert process.wait(DEADLINE) == 1


def test_stopped_without_a_warning(berth, berthctl, daemon, client):
    process = granted_while_stopped(daemon, berth, berthctl, client, held(client, "acquire x"))
    asked_until(daemon, lambda now: now.age(now.resources["x"]["holders"][0]) > 1000, "x")
    assert not not_started(status(client, "x"))
    must_end(process)


# ---- fleet scope

@needs_redis
def test_stopped_without_a_warning_in_a_fleet(redis_server, hosts):
    """Renewals, which its client does not read either, are not taken for the grant."""
    host, = up(redis_server, *hosts("[lock x]\nscope = fleet\n[lock y]\nscope = fleet\n", 1,
                                    redis_section(redis_server.url)))
    client = client_of(host)
    process = granted_while_stopped(host, host.berth, host.berthctl, client, gets(client, "acquire x"))
    renewals = host.client()
    answer, _ = asks(renewals, "acquire y")
    for _ in range(2):
        assert renewals.line().startswith(f"* deadline {answer} ")
    assert not not_started(status(renewals, "x"))
    must_end(process)


@needs_redis
@pytest.mark.parametrize("restarted", [False, True])
def test_on_another_host(redis_server, hosts, restarted):
    one, two = up(redis_server,
                  *hosts("[lock x]\nscope = fleet\n", 2, redis_section(redis_server.url)))
    client = client_of(two)
    lease = gets(client, "acquire x")
    away = starts_waiting(one.berth, "x")
    stops(away)
    second, answer = asks(client, "acquire x")
    assert "waiting" in answer
    if restarted:
        one.restart()
        asked_until(one, lambda now: all(base["state"] == "up" for base in now.databases.values()), "x")
    assert client.request(f"release {lease}") == "ok"
    assert event(client)[:2] == ("granted", second)
    third, _ = asks(client, "acquire x")
    away.send_signal(signal.SIGCONT)
    asked_until(two, lambda now: len(now.resources["x"]["waiters"]) == 2, "x")
    assert client.request(f"release {second}") == "ok"
    goes_on(away)  # before the third: it has its ticket yet
    assert event(client)[:2] == ("granted", third)

"""Leases that are bound to time or to another process: berth acquire, renew, release."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from daemon_help import held, status
from lines import DEADLINE
from lost_help import WAITS, all_free, asked_until, restart, scaled, sleeper

CONFIG = "[lock a]\n[semaphore s]\nlimit = 2\n"


def variables(done):
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def test_refreshed_in_time(berth, daemon):
    """Each renewal restarts the ttl, over restarts too."""
    lease = variables(berth("acquire", "--ttl", "2s", "a", "--holder", "me"))["BERTH_LEASE"]
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        assert berth("renew", "a", "--holder", "me").returncode == 0
        restart(daemon, "kill")
        assert berth("renew", lease).returncode == 0
        assert berth("run", "-n", "a", "--", "true").returncode == 75
    assert berth("release", "a", "--holder", "me").returncode == 0
    asked_until(daemon, all_free)


def test_refreshed_too_late(berth, daemon):
    """The next waiter has it, and a late renewal is told so."""
    lease = variables(berth("acquire", "--ttl", "0.2s", "a"))["BERTH_LEASE"]
    waiter = berth.start("run", "a", "--", "sh", "-c", WAITS, stdin=subprocess.PIPE)
    assert waiter.stdout.readline().startswith(b"runs ")
    done = berth("renew", lease)
    assert done.returncode == 1 and "(lost)" in done.stderr
    assert berth("release", lease).returncode == 0
    assert status(daemon.client()).held == 1
    waiter.communicate(b"\n", timeout=DEADLINE)
    assert waiter.returncode == 0


def test_time_goes_on_while_berthd_is_down(berth, daemon):
    lease = variables(berth("acquire", "--ttl", "0.2s", "a"))["BERTH_LEASE"]
    long = variables(berth("acquire", "--ttl", "1h", "s"))["BERTH_LEASE"]
    begun = time.monotonic()
    daemon.kill()
    while time.monotonic() < begun + 0.2:
        berth("renew", long)  # nobody there; takes its time
    daemon.start()
    assert berth("renew", lease).returncode == 1
    assert berth("renew", long).returncode == 0


def test_max_hold_is_that_of_the_grant(berth, berthd):
    """A restart with another one, or none, changes that of no lease."""
    text = "[lock {}]\nmax-hold = 30s\n[lock {}]\n"
    daemon = berthd(text.format("a", "b"))
    leases = {name: variables(berth("acquire", "--ttl", "20s", name))["BERTH_LEASE"] for name in "ab"}
    daemon.stop()
    daemon.configure(text.format("b", "a"))
    for how in ("start", "stop", "start"):
        getattr(daemon, how)()
    left = {name: int(daemon.client().request(f"renew {lease} ttl=1h").rpartition("left=")[2])
            for name, lease in leases.items()}
    assert left["a"] <= 30_000 and left["b"] == 3_600_000


def test_the_wrong_identity(berth, daemon):
    assert berth("acquire", "--ttl", "1h", "a", "--holder", "me").returncode == 0
    assert berth("release", "a", "--holder", "you").returncode == 77
    assert berth("renew", "a", "--holder", "you").returncode == 1
    assert berth("acquire", "-n", "--ttl", "1h", "a", "--holder", "me").returncode == 75
    assert berth("acquire", "-n", "--ttl", "1h", "a", "--holder", "you").returncode == 75
    assert status(daemon.client()).held == 1
    assert berth("release", "a", "--holder", "me").returncode == 0
    assert berth("renew", "a", "--holder", "me").returncode == 1


def test_bound_to_a_process(berth, daemon):
    """It lives on after `berth acquire` has ended, and over restarts, until the process ends."""
    with sleeper() as pid:
        done = berth("acquire", "--json", "--pid", str(pid), "a")
        assert done.returncode == 0 and json.loads(done.stdout)
        restart(daemon, "kill")
        assert berth("run", "-n", "a", "--", "true").returncode == 75
    asked_until(daemon, all_free)


def test_a_shell_s_own(berth, daemon, directory):
    shell = subprocess.Popen(
        ["sh", "-ec", f'eval "$({berth.path} acquire --pid $$ s)"; echo $BERTH_NAME $BERTH_COUNT; read line'],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=berth.environ)
    assert shell.stdout.readline() == b"s 1\n"
    assert status(daemon.client()).resources["s"]["holders"][0]["pid"] == str(shell.pid)
    shell.send_signal(signal.SIGKILL)
    shell.communicate(timeout=DEADLINE)
    asked_until(daemon, all_free)


@pytest.mark.parametrize("bound", ["--ttl=1h", f"--pid={os.getpid()}"], ids=["ttl", "pid"])
def test_giving_up_leaves_nothing(berth, berthd, bound):
    """A signal while the lease is granted, whichever is first: berth prints the lease, or there is
    none."""
    daemon = berthd("[lock a]\n")
    client = daemon.client()
    for _ in range(scaled(30)):
        lease = held(client, "acquire a")
        process = berth.start("acquire", bound, "a", text=True)
        asked_until(daemon, lambda now: now.waiting == 1)
        client.send(f"release {lease}\n")
        process.send_signal(signal.SIGTERM)
        assert client.line() == "ok"
        out, _ = process.communicate(timeout=DEADLINE)
        if out:
            given = re.search("^BERTH_LEASE=(.*)$", out, re.M).group(1)
            assert client.request(f"release {given}") == "ok"
        asked_until(daemon, all_free)

"""Leases that are bound to time or to another process: berth acquire, renew, release."""

import os
import re
import signal
import subprocess


from daemon_help import event, held, status
from lines import DEADLINE
from lost_help import WAITS, all_free, asked_until, restart, scaled

CONFIG = "[lock a]\n[semaphore s]\nlimit = 2\n"


def variables(done):
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def test_refreshed_in_time(berth, daemon):
    """Each renewal restarts the ttl, over restarts too."""
    lease = variables(berth("acquire", "--ttl", "4s", "a", "--holder", "me"))["BERTH_LEASE"]
    for _ in range(3):
        assert berth("renew", "a", "--holder", "me").returncode == 0
        restart(daemon, "kill")
        assert berth("renew", lease).returncode == 0
        client = daemon.client()
        held(client, "acquire s ttl=1600ms")
        assert event(client)[0] == "expired"  # so much of the ttl has passed
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


def test_giving_up_leaves_nothing(berth, daemon, client):
    """A signal while the lease is granted, whichever is first: berth prints the lease, or there is
    none."""
    for bound in ["--ttl=1h", f"--pid={os.getpid()}"] * scaled(30):
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

"""Jobs whose time is over, or whose lease is revoked: the wrapper and berthd can both stop them,
and each does when the other cannot."""

import os
import signal
import subprocess
import time

import pytest

from conftest import read_line
from daemon_help import held, keys, status, stopped
from lost_help import (
    STAYS, STUBBORN, WAITS, all_free, asked_until, job, restart, stop_process)

MAX_HOLD, KILL_AFTER = 1.0, 0.3
LATE = 3  # how much later this process may notice, on a busy machine
CONFIG = f"""
[lock a]
max-hold = {MAX_HOLD}s
kill-after = {KILL_AFTER}s
[lock b]
kill-after = {KILL_AFTER}s
"""

# Says how often it is asked to end.
COUNTS = "trap 'echo asked' TERM; echo runs $$; while :; do read line; done"

SCRIPTS = (STAYS, STUBBORN)


def operator(daemon, verb, name="b"):
    """... what holds it."""
    client = daemon.client()
    return client.request(f"{verb} {status(client).holders(name)[0]}")


def test_the_wrapper_stops_it_while_berthd_hangs(daemon, job):
    """The deadline was told with the grant; the job is gone before it comes."""
    for script in SCRIPTS:
        one = job("a", script=script)
        begun = time.clock_gettime(time.CLOCK_BOOTTIME)
        with stopped(daemon):
            one.end()
            assert time.clock_gettime(time.CLOCK_BOOTTIME) < begun + MAX_HOLD + KILL_AFTER + LATE, script
            code, said = one.wait()
            assert code == 124, script
            assert said.startswith("berth: stopping the job: ") and said.endswith("(deadline)\n")
            assert said.count("\n") == 1
        asked_until(daemon, all_free)


def test_the_client_gets_its_deadline(client):
    """The event has max-hold from now on, and when to begin so that the job is gone by then."""
    begun = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    lease = held(client, f"acquire a pid={os.getpid()}")
    star, kind, whose, until, *rest = client.line().split(" ")
    after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    assert (star, kind, whose) == ("*", "deadline", lease)
    stop = int(keys(rest)["stop"])
    assert begun <= stop - MAX_HOLD * 1e9 <= after
    assert int(until) - stop >= KILL_AFTER * 1e9
    assert client.request(f"release {lease}") == "ok"


# ---- another time namespace: its CLOCK_BOOTTIME is another's


def in_time(offset):
    return ["unshare", "--time", "--boottime", str(offset)]


AHEAD = 100_000
BACK = 10 - int(time.clock_gettime(time.CLOCK_BOOTTIME))
OTHER_TIME = pytest.mark.parametrize("offset", [AHEAD, BACK], ids=["ahead", "back"])
needs_time = pytest.mark.skipif(
    subprocess.run([*in_time(AHEAD), "true"], stderr=subprocess.DEVNULL).returncode != 0,
    reason="may make no time namespace")


@needs_time
@OTHER_TIME
def test_a_wrapper_in_another_time_namespace(berth, daemon, offset):
    """Its job runs until the deadline, and no longer, though berthd hangs."""
    begun = time.monotonic()
    wrapper = subprocess.Popen(
        [*in_time(offset), berth.path, "run", "a", "--", "sh", "-c", "echo runs; exec sleep 1000"],
        env=berth.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert read_line(wrapper.stdout) == "runs"
        with stopped(daemon):
            assert "deadline" in read_line(wrapper.stderr)
            assert wrapper.wait(LATE) == 124
        assert time.monotonic() - begun >= MAX_HOLD
    finally:
        wrapper.kill()
        wrapper.communicate()


@needs_time
@OTHER_TIME
def test_a_berthd_in_another_time_namespace(berthd, job, offset):
    daemon = berthd(CONFIG, before=in_time(offset))
    one = job("a")
    code, said = one.wait()
    assert code == 124 and "max-hold" in said
    client = daemon.client()
    begun = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    lease = held(client, f"acquire a pid={os.getpid()}")
    stop = int(keys(client.line().split(" ")[4:])["stop"])
    assert begun <= stop - MAX_HOLD * 1e9 <= time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    assert client.request(f"release {lease}") == "ok"


def test_berthd_stops_it_when_the_wrapper_is_dead(daemon, job):
    for script in SCRIPTS:
        one = job("a", script=script)
        one.kill_wrapper()
        one.end()
        asked_until(daemon, all_free)


def test_berthd_stops_it_when_the_wrapper_hangs(daemon, job):
    one = job("a", script=STUBBORN)
    stop_process(one.wrapper)
    one.end()
    asked_until(daemon, all_free)


def test_the_deadline_passes_while_berthd_is_down(daemon, job):
    """The wrapper is dead; the new berthd finds the deadline by itself."""
    one = job("a", script=STUBBORN)
    one.kill_wrapper()
    restart(daemon, "kill")
    one.end()
    asked_until(daemon, all_free)


def test_revoked_with_a_wrapper(daemon, job):
    for script in SCRIPTS:
        one = job("b", script=script)
        assert operator(daemon, "revoke") == "ok"
        one.end()
        code, said = one.wait()
        assert code == 124 and "revoked" in said and said.count("\n") == 1, script
        asked_until(daemon, all_free)


def test_revoked_without_a_wrapper(daemon, job):
    for script in SCRIPTS:
        one = job("b", script=script)
        one.kill_wrapper()
        assert operator(daemon, "revoke") == "ok"
        one.end()
        asked_until(daemon, all_free)


def test_still_held_until_it_is_gone(berthd, job):
    """Nobody else gets the unit while the job that must stop still runs; berthd may be killed
    meanwhile, and still stops it."""
    daemon = berthd("[lock b]\nkill-after = 0.8s\n")
    one = job("b", script=STUBBORN)
    one.kill_wrapper()
    assert operator(daemon, "revoke") == "ok"
    restart(daemon, "kill")
    now = status(daemon.client())
    assert now.held == 1 and one.is_alive()
    assert now.resources["b"]["holders"][0]["stopping"] == "revoked"
    one.end()
    asked_until(daemon, all_free)


def test_a_restart_does_not_ask_again(berthd, job):
    """... a job that was told to end: it hears the signal once, then SIGKILL when its time is over."""
    daemon = berthd("[lock wrapped]\nkill-after = 8s\n[lock bare]\nkill-after = 8s\n")
    jobs = {"wrapped": job("wrapped", script=COUNTS), "bare": job("-F", "bare", script=COUNTS)}
    for name, one in jobs.items():
        assert operator(daemon, "revoke", name) == "ok"
        assert read_line(one.wrapper.stdout) == "asked", name
    for how in ("stop", "kill", "stop"):
        restart(daemon, how)
        asked_until(daemon, lambda now: "away" not in now.resources["wrapped"]["holders"][0])
    for name, one in jobs.items():
        one.end()
        assert one.wrapper.stdout.read() == b"", name
    asked_until(daemon, all_free)


def test_dropped(daemon, job):
    """The unit is free: the job runs on."""
    one = job("b", script=f"{WAITS}; exit 7")
    assert operator(daemon, "drop") == "ok"
    asked_until(daemon, all_free)
    one.answer()
    code, said = one.wait()
    assert code == 7 and said.startswith("berth: lost the lease: ")
    assert said.endswith("(dropped); the job runs on\n")


def test_without_a_wrapper_of_its_own(daemon, job):
    """berth run -F: only berthd can stop it."""
    one = job("-F", "b", script=WAITS)
    assert one.pids == [one.wrapper.pid]
    assert operator(daemon, "revoke") == "ok"
    assert one.wait()[0] == -signal.SIGTERM
    asked_until(daemon, all_free)


def test_only_notified(berthd, job):
    """on-lost = warn: its unit is free, and it runs on."""
    daemon = berthd("[lock a]\nmax-hold = 0.2s\non-lost = warn\n")
    one = job("a", script=f"{WAITS}; exit 7")
    asked_until(daemon, all_free)
    one.answer()
    code, said = one.wait()
    assert code == 7 and "max-hold" in said


def test_only_asked(berthd, job):
    """on-lost = term: no SIGKILL, and its unit is free after kill-after, whatever it does."""
    daemon = berthd("[lock a]\nmax-hold = 1s\nkill-after = 0.2s\non-lost = term\n")
    one = job("a", script="trap 'echo asked' TERM; echo runs $$; read line; read line; exit 7")
    one.kill_wrapper()
    assert read_line(one.wrapper.stdout) == "asked"
    asked_until(daemon, all_free)
    assert one.is_alive()

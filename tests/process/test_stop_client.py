"""berth run stops its job when the lease is gone: when, how, its message, its exit status."""

import contextlib
import os
import signal
import sys
import time

import pytest

from conftest import error_of, read_line
from fake_berthd import boottime

REPORT = [sys.executable, os.path.join(os.path.dirname(__file__), "report_signals.py")]
# Ignores what it can; prints when it is ready.
STUBBORN = ["sh", "-c", "trap '' TERM INT; echo ready; while :; do sleep 1000; done"]


def start(berth, fake, command, *args, terms=""):
    process = berth.start("run", *args, "r", "--", *command)
    peer = fake.grant(f"ok 1 slot=r,5,0 {terms}".strip())
    assert read_line(process.stdout) == "ready"
    return process, peer


def group_is_left(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


# ---- why ----

@pytest.mark.parametrize("event, why", [
    ("* revoked 1 revoked", "revoked by an operator (revoked)"),
    ("* revoked 1 revoked by%20root%1b", "by root\\x1b (revoked)"),
    ("* expired 1 max-hold", "held for max-hold, the longest that the resource allows (max-hold)"),
    ("* expired 1 expired", "its ttl ran out (expired)"),
    ("* lost 1 expired", "lost the lease: its ttl ran out (expired)"),
    ("* lost 1 novelty", "lost the lease: (novelty)"),
])
def test_events_that_stop_the_job(berth, fake, event, why):
    process, peer = start(berth, fake, REPORT)
    peer.send(event + "\n")
    assert error_of(process, 124) == f"berth: stopping the job: {why}\n"
    assert process.stdout.read() in (b"SIGTERM\n", b"SIGCONT\nSIGTERM\n")
    assert peer.line() == ("release 1 exit=7" if not event.startswith("* lost") else "")


def test_events_of_other_leases(berth, fake):
    process, peer = start(berth, fake, REPORT)
    for event in ("revoked 2 revoked", "lost 2 lost", "expired 2 max-hold", "deadline 2 1 stop=1",
                  "revoked", "lost", "deadline 1", "deadline 1 soon stop=1"):
        peer.send(f"* {event}\n")
    peer.send("* lost 1 released\n")
    assert read_line(process.stderr).endswith("(released); the job runs on")
    process.send_signal(signal.SIGTERM)
    assert error_of(process, 7) == ""


@pytest.mark.parametrize("code, quiet", [("released", []), ("dropped", ["-q"]), ("revoked", []), ("max-hold", ["-q"])])
def test_freed_on_purpose(berth, fake, code, quiet):
    """By release, drop, or under on-lost = warn: the job runs on, and nothing is released."""
    process, peer = start(berth, fake, REPORT, *quiet)
    peer.send(f"* lost 1 {code} x\n")
    if not quiet:
        assert read_line(process.stderr) == f"berth: lost the lease: x ({code}); the job runs on"
    assert peer.ended()
    process.send_signal(signal.SIGTERM)
    assert error_of(process, 7) == ""
    assert process.stdout.read() == b"SIGTERM\n"


def test_a_job_that_has_ended_before_has_its_own_status(berth, fake):
    process = berth.start("run", "r", "--", "sh", "-c", "exit 5")
    peer = fake.grant()
    assert peer.line() == "release 1 exit=5"
    with contextlib.suppress(BrokenPipeError):
        peer.send("* revoked 1 revoked\n")
    assert error_of(process, 5) == ""


# ---- when ----

def test_the_deadline_of_a_silent_berthd(berth, fake):
    """Stopped, hung, or gone: berth does not wait for a word."""
    process, peer = start(berth, fake, REPORT)
    begun = time.monotonic()
    peer.send(f"* deadline 1 {boottime(20)} stop={boottime(0.3)}\n")
    assert error_of(process, 124) == (
        "berth: stopping the job: its lease has run out: r (deadline)\n")
    assert 0.2 < time.monotonic() - begun < 5
    assert peer.line() == "release 1 exit=7"


def test_the_deadline_stays_while_berthd_is_down(berth, fake):
    process, peer = start(berth, fake, REPORT)
    peer.send(f"* deadline 1 {boottime(20)} stop={boottime(0.5)}\n")
    fake.gone()
    assert "(deadline)" in error_of(process, 124)


def test_the_deadline_stays_after_a_reclaim(berth, fake):
    process, peer = start(berth, fake, REPORT)
    peer.send(f"* deadline 1 {boottime(20)} stop={boottime(0.5)}\n")
    peer.close()
    fake.grant("ok 1 slot=r,6,0")
    assert "(deadline)" in error_of(process, 124)


def test_a_deadline_without_its_stop(berth, fake):
    process, peer = start(berth, fake, REPORT)
    peer.send(f"* deadline 1 {boottime(0.2)}\n")
    assert "(deadline)" in error_of(process, 124)


def test_the_kill_comes_before_the_deadline(berth, fake):
    """Whatever kill-after says."""
    process, peer = start(berth, fake, STUBBORN)
    begun = time.monotonic()
    peer.send(f"* deadline 1 {boottime(0.5)} stop={boottime(0.2)}\n")
    error_of(process, 124)
    assert 0.4 < time.monotonic() - begun < 5


# ---- how ----

def test_killed_after_a_time(berth, fake):
    process, peer = start(berth, fake, STUBBORN, terms="kill_after=500ms on_lost=kill")
    begun = time.monotonic()
    peer.send("* revoked 1 revoked\n")
    assert "(revoked)" in error_of(process, 124)
    assert 0.45 < time.monotonic() - begun < 5
    assert peer.line() == "release 1 signal=9"


def test_the_signal_asked_for(berth, fake):
    process, peer = start(berth, fake, REPORT, "-s", "USR1")
    peer.send("* revoked 1 revoked\n")
    assert {read_line(process.stdout), read_line(process.stdout)} == {"SIGUSR1", "SIGCONT"}
    process.send_signal(signal.SIGTERM)  # is passed on as before
    assert "(revoked)" in error_of(process, 124)
    assert process.stdout.read() == b"SIGTERM\n"


def test_a_stopped_job(berth, fake):
    process, peer = start(berth, fake, ["sh", "-c", "echo ready; kill -STOP $$; sleep 1000"])
    peer.send("* revoked 1 revoked\n")
    assert "(revoked)" in error_of(process, 124)


def test_the_whole_group(berth, fake):
    """The main process ends at once, another one ignores the signal: it is killed too, and only
    then is the lease released."""
    process, peer = start(berth, fake, [
        "sh", "-c", "(trap '' TERM; echo ready; exec sleep 1000) & wait"],
        terms="kill_after=600ms on_lost=kill")
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
        group = int(children.read())
    assert group_is_left(group)
    begun = time.monotonic()
    peer.send("* revoked 1 revoked\n")
    assert peer.line() == "release 1 signal=15"
    assert time.monotonic() - begun > 0.5
    assert not group_is_left(group)  # not even as a zombie
    error_of(process, 124)


def test_the_group_is_not_waited_for_when_it_has_gone(berth, fake):
    process, peer = start(berth, fake, ["sh", "-c", "sleep 1000 & echo ready; wait"])
    peer.send("* revoked 1 revoked\n")
    begun = time.monotonic()
    error_of(process, 124)
    assert time.monotonic() - begun < 8  # kill-after is 10 s


def test_term_does_not_kill(berth, fake):
    """But waits for the main process."""
    process, peer = start(berth, fake, [
        "sh", "-c", "trap 'echo asked' TERM; (trap '' TERM; sleep 2) & echo ready;"
        "while :; do sleep 0.1; done"], terms="kill_after=100ms on_lost=term")
    peer.send("* revoked 1 revoked\n")
    assert read_line(process.stdout) == "asked"
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
        job = int(children.read())
    os.kill(job, signal.SIGKILL)
    assert "(revoked)" in error_of(process, 124)
    assert peer.line() == "release 1 signal=9"


def test_warn_only_warns(berth, fake):
    process, peer = start(berth, fake, REPORT, terms="kill_after=100ms on_lost=warn")
    peer.send(f"* deadline 1 {boottime(0.2)} stop={boottime(0.1)}\n")
    assert read_line(process.stderr) == (
        "berth: its lease has run out: r (deadline); the job runs on")
    process.send_signal(signal.SIGTERM)
    assert error_of(process, 7) == ""
    assert process.stdout.read() == b"SIGTERM\n"
    assert peer.line() == "release 1 exit=7"


def test_signals_are_passed_on_while_it_is_stopped(berth, fake):
    process, peer = start(berth, fake, [
        "sh", "-c", "trap 'echo asked' TERM; trap 'echo bye; exit' INT; echo ready;"
        "while :; do sleep 0.05; done"])
    peer.send("* revoked 1 revoked\n")
    assert read_line(process.stdout) == "asked"
    process.send_signal(signal.SIGINT)
    assert "(revoked)" in error_of(process, 124)
    assert process.stdout.read() == b"bye\n"


def test_the_connection_is_lost_meanwhile(berth, fake):
    """The lease is held until the job is gone, and given back over the new connection."""
    process, peer = start(berth, fake, STUBBORN, terms="kill_after=1s on_lost=kill")
    peer.send("* revoked 1 revoked\n")
    assert read_line(process.stderr).endswith("(revoked)")
    peer.close()
    peer = fake.grant("ok 1 slot=r,6,0")
    peer.send("* revoked 1 revoked\n")
    assert error_of(process, 124) == ""
    assert peer.line() == "release 1 signal=9"


def test_lost_meanwhile(berth, fake):
    process, peer = start(berth, fake, STUBBORN, terms="kill_after=300ms on_lost=kill")
    peer.send("* revoked 1 revoked\n* lost 1 dropped\n")
    assert error_of(process, 124).count("\n") == 1
    assert peer.ended()

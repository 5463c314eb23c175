"""berth and a fleet's resources: berthd must ask a database, which may be away, and the lease is
good until a deadline that moves."""

import os
import signal
import time

import pytest

from conftest import error_of, read_line
from fake_berthd import FakeBerthd, boottime
from lines import DEADLINE

DOWN = "its database cannot be reached (down)"
KEEP_ALIVE = "berth: stopping the job: berthd has not renewed its lease on r in time (deadline)\n"
# Only SIGKILL ends it; prints when it is ready.
STUBBORN = ["sh", "-c", "trap '' TERM INT HUP; echo ready; while :; do sleep 1000; done"]
QUICK = "kill_after=300ms on_lost=kill"

MARGIN = 3.0  # between the SIGKILL and the end of the lease; a busy machine needs some of it


def deadline(stop):
    """The line, and the instant on time.monotonic() by which the job must be dead."""
    good_until = stop + 0.3 + MARGIN  # QUICK
    dead_by = time.monotonic() + good_until
    return f"* deadline 1 {boottime(good_until)} stop={boottime(stop)}", dead_by


def start(berth, fake, command=STUBBORN, *args, terms=QUICK):
    process = berth.start("run", *args, "r", "--", *command)
    peer, _ = fake.pending(f"* granted 1 slot=r,5,0 {terms}")
    assert read_line(process.stdout) == "ready"
    return process, peer


# ---- pending ----

def test_granted(berth, fake):
    process = berth.start("run", "r", "--", "sh", "-c", "echo $BERTH_LEASE $BERTH_TOKEN $BERTH_SLOT")
    peer, _ = fake.pending("* granted 1 slot=r,5,2")
    assert peer.line() == "release 1 exit=0"
    assert process.stdout.read() == b"1 5 2\n"
    assert error_of(process, 0) == ""


def test_a_signal_while_it_is_pending(berth, fake, directory):
    process = berth.start("run", "r", "--", "touch", "ran")
    peer, _ = fake.pending()
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE) == -signal.SIGTERM
    assert peer.ended()
    assert not (directory / "ran").exists()


@pytest.mark.parametrize("option, status, said", [
    ("fail", 69, ""), ("run", 0, "; running without a lease")])
def test_no_answer_from_the_database(berth, fake, option, status, said):
    begun = time.monotonic()
    process = berth.start(
        "run", "--if-down", option, "--down-after", "1.5s", "r", "--", "true")
    peer, words = fake.pending()
    assert error_of(process, status) == f"berth: no answer from the database of r{said}\n"
    assert 1.4 < time.monotonic() - begun < 4.5  # --down-after would be 5
    once = [word for word in words if word.startswith("once=")][0]
    assert peer.line() == ("" if option == "fail" else f"cancel {once}")


# ---- down ----

def test_down_wait_up(berth, fake):
    process = berth.start("run", "--if-down", "wait", "r", "--", "echo", "ran")
    begun = time.monotonic()
    onces = set()
    while time.monotonic() - begun < 1.2:
        _, words = fake.pending("* denied 1 down")
        onces.add(words[-2])
    assert len(onces) == len([peer for peer in fake.peers]) >= 4
    peer, _ = fake.pending("* waiting 2 position=1", "* granted 2 slot=r,1,0", lease="2")
    assert peer.line() == "release 2 exit=0"
    assert process.stdout.read() == b"ran\n"
    assert error_of(process, 0) in ("", f"berth: r: {DOWN}; trying again\n")


@pytest.mark.parametrize("option", ["fail", "wait", "run"])
def test_an_accepted_waiter_asks_again(berth, fake, option):
    """Whatever --if-down says."""
    process = berth.start("run", "--if-down", option, "r", "--", "echo", "ran")
    peer, words = fake.pending("* waiting 1 position=2")
    peer.send("* denied 1 down\n")
    _, again = fake.pending("* denied 2 down", lease="2")
    assert again[:2] == words[:2] == ["acquire", "r:1"] and again[-2] != words[-2]
    fake.asked()[0].send("error down\n")
    begun = time.monotonic()
    peer, _ = fake.pending("* granted 3 slot=r,1,0", lease="3")
    assert time.monotonic() - begun < 4.5  # --down-after is 5
    assert peer.line() == "release 3 exit=0"
    assert process.stdout.read() == b"ran\n"
    assert error_of(process, 0) == ""


# ---- acquire, renew, release, in place ----

def test_acquire(berth, fake):
    process = berth.start("acquire", "--ttl", "1m", "r")
    peer, words = fake.pending("* granted 1 slot=r,5,2")
    assert "ttl=60000ms" in words
    assert b"BERTH_LEASE=1\n" in process.communicate(timeout=DEADLINE)[0]
    assert process.returncode == 0
    assert peer.line() == ""


@pytest.mark.parametrize("how", ["error down", "pending 1\n* denied 1 down"])
def test_acquire_down(berth, fake, how):
    process = berth.start("acquire", "--pid", str(os.getpid()), "r")
    fake.asked()[0].send(how + "\n")
    assert error_of(process, 69).endswith(f"{DOWN}\n")
    assert process.stdout.read() == b""


def test_an_acquire_that_is_given_up(berth, fake):
    """It would outlive its connection if it were granted now."""
    process = berth.start("acquire", "--ttl", "1m", "--down-after", "1.5s", "r")
    peer, words = fake.pending()
    assert error_of(process, 69) == "berth: no answer from the database of r\n"
    assert peer.line() == "cancel " + [word for word in words if word.startswith("once=")][0]


@pytest.mark.parametrize("command", [["renew", "1"], ["release", "1"]])
def test_other_requests_while_it_is_down(berth, fake, command):
    process = berth.start(*command)
    fake.asked()[0].send("error down\n")
    assert error_of(process, 69) == f"berth: {DOWN}\n"


def test_in_place(berth, fake):
    process = berth.start("run", "-F", "r", "--", "sh", "-c", "echo $$ $BERTH_SLOT")
    _, words = fake.pending("* granted 1 slot=r,5,2", deadline(20)[0])
    assert f"pid={process.pid}" in words
    assert process.communicate(timeout=DEADLINE)[0].decode() == f"{process.pid} 2\n"


# ---- the deadline ----

def test_the_deadline_of_a_stopped_berthd(berth, directory):
    """berthd is stopped with SIGSTOP as soon as it has granted: the job is dead in time."""
    fake = FakeBerthd(directory / "s")
    line, dead_by = deadline(2.0)
    reports, to_test = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            fake.pending(f"* granted 1 slot=r,5,0 {QUICK}", line)
            os.write(to_test, b"granted\n")
            signal.pause()
        finally:
            os._exit(1)
    try:
        process = berth.start("run", "r", "--", *STUBBORN)
        assert read_line(reports) == "granted"
        os.kill(pid, signal.SIGSTOP)
        assert read_line(process.stdout) == "ready"
        assert error_of(process, 124) == KEEP_ALIVE
        now = time.monotonic()
        assert dead_by - MARGIN - 0.05 < now < dead_by
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reports), os.close(to_test)
        fake.close()


def test_a_lease_that_is_over_before_the_job_begins(berth, fake, directory):
    """The machine slept while the lease was granted: another job may have the units by now."""
    process = berth.start("run", "-s", "WINCH", "r", "--", "touch", "ran")  # would survive WINCH
    late = f"* deadline 1 {boottime(60)} stop={boottime(-1)}"
    peer, _ = fake.pending("* granted 1 slot=r,5,0", late)
    assert peer.line() == "release 1"
    assert error_of(process, 124) == KEEP_ALIVE
    assert not (directory / "ran").exists()


def test_a_wrapper_that_was_stopped(berth, fake):
    """As after a suspend: no time is left for asking."""
    process, peer = start(berth, fake, terms="kill_after=20s on_lost=kill")
    os.kill(process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    peer.send(deadline(-0.3 - MARGIN)[0] + "\n")
    os.kill(process.pid, signal.SIGCONT)
    begun = time.monotonic()
    assert error_of(process, 124) == KEEP_ALIVE
    assert time.monotonic() - begun < 10

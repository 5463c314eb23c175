"""berth and a fleet's resources: berthd must ask a database, which may be away, and the lease is
good until a deadline that moves."""

import contextlib
import os
import signal
import subprocess
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


def runs_for(process, seconds):
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(seconds)


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


def test_a_place_in_the_queue(berth, fake):
    process = berth.start("run", "-v", "r", "--", "true")
    peer, _ = fake.pending("* waiting 1 position=3")
    assert read_line(process.stderr) == "berth: queued, place 3"
    assert peer.line() == "why lease=1"
    peer.send("ok is=waiting lease=1 position=2\n"
              "brief r:%204%20of%204%20held;%20place%202%20in%20the%20queue\nend\n")
    assert read_line(process.stderr) == (
        "berth: waiting for r: 4 of 4 held; place 2 in the queue")
    peer.send("* granted 1 slot=r,5,0\n")
    assert process.wait(DEADLINE) == 0


@pytest.mark.parametrize("options, status", [(["-n"], 75), (["-n", "-E", "9"], 9)])
def test_nothing_free(berth, fake, options, status):
    process = berth.start("run", *options, "r", "--", "true")
    _, words = fake.pending("* denied 1 would-wait")
    assert "wait=0ms" in words
    assert error_of(process, status) == "berth: r: not free now (would-wait)\n"


def test_a_signal_while_it_is_pending(berth, fake, directory):
    process = berth.start("run", "r", "--", "touch", "ran")
    peer, _ = fake.pending()
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE) == -signal.SIGTERM
    assert peer.ended()
    assert not (directory / "ran").exists()


def test_the_connection_is_lost_while_it_is_pending(berth, fake):
    process = berth.start("run", "r", "--", "true")
    peer, words = fake.asked()
    peer.send("pending 1 proof=abc\n")
    peer.close()
    peer, again = fake.asked()
    assert again[:3] == ["reclaim", "1", "r:1"] and "proof=abc" in again
    peer.send("error lost\n")
    assert peer.line().startswith("acquire r:1 ")
    peer.send("pending 2\n* granted 2 slot=r,5,0\n")
    assert error_of(process, 0) == ""


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

@pytest.mark.parametrize("how", ["error down", "pending 1\n* denied 1 down"])
@pytest.mark.parametrize("option, status, said", [
    ([], 69, ""), (["-q", "-E", "9"], 69, ""), (["--if-down", "run"], 5, "; running without a lease")])
def test_down(berth, fake, how, option, status, said):
    process = berth.start("run", *option, "r", "--", "sh", "-c", "exit 5")
    begun = time.monotonic()
    peer, _ = fake.asked()
    peer.send(how + "\n")
    about = "r: " if how[0] == "p" else ""
    assert error_of(process, status) == f"berth: {about}{DOWN}{said}\n"
    assert time.monotonic() - begun < 4  # at once, not after --down-after


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


def test_down_until_the_wait_ends(berth, fake):
    begun = time.monotonic()
    process = berth.start("run", "--if-down", "wait", "-w", "1.5s", "r", "--", "true")
    fake.listener.settimeout(0.05)
    while process.poll() is None:
        with contextlib.suppress(TimeoutError):
            fake.asked()[0].send("error down\n")
        assert time.monotonic() - begun < DEADLINE
    assert 1.5 <= time.monotonic() - begun
    assert error_of(process, 75).splitlines()[-1] == (
        f"berth: timed out waiting for r (timeout): {DOWN}")


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


def test_an_accepted_waiter_says_what_has_become_of_it(berth, fake):
    process = berth.start("run", "r", "--", "true")
    fake.pending("* waiting 1 position=2", "* denied 1 down")
    begun = time.monotonic()
    while time.monotonic() - begun < 1.5:
        fake.asked()[0].send("error down\n")
    assert read_line(process.stderr) == (
        f"berth: lost the place in the queue ({DOWN}); trying again")
    fake.pending("* granted 3 slot=r,1,0", lease="3")
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


def test_acquire_down_wait_up(berth, fake):
    process = berth.start("acquire", "--if-down", "wait", "--ttl", "1m", "r")
    fake.asked()[0].send("error down\n")
    fake.pending("* denied 1 down")
    fake.pending("* granted 2 slot=r,5,0", lease="2")
    assert b"BERTH_LEASE=2\n" in process.communicate(timeout=DEADLINE)[0]


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


def test_the_deadline_of_a_dead_berthd(berth, fake):
    process, peer = start(berth, fake)
    line, dead_by = deadline(0.8)
    peer.send(line + "\n")
    fake.gone()
    assert error_of(process, 124) == KEEP_ALIVE
    assert dead_by - MARGIN - 0.05 < time.monotonic() < dead_by


def test_the_deadline_of_one_that_does_not_know_yet(berth, fake):
    """A new berthd must ask its database: until then the old deadline applies."""
    process, peer = start(berth, fake)
    line, dead_by = deadline(2.0)
    peer.send(line + "\n")
    peer.close()
    peer, words = fake.pending()
    assert words[:3] == ["reclaim", "1", "r:1:0"]
    assert error_of(process, 124) == KEEP_ALIVE
    assert time.monotonic() < dead_by
    assert peer.line() == "release 1 signal=9"


def test_had_back_in_time(berth, fake):
    process = berth.start("run", "r", "--", "sh", "-c", "echo ready; read line; exit 6", stdin=-1)
    peer, _ = fake.pending(f"* granted 1 slot=r,5,0 {QUICK}")
    assert read_line(process.stdout) == "ready"
    peer.send(deadline(2.0)[0] + "\n")
    peer.close()
    peer, _ = fake.pending("* granted 1 slot=r,5,0", deadline(60)[0])
    runs_for(process, 2.2)
    process.stdin.close()
    process.stdin = None
    assert error_of(process, 6) == ""
    assert peer.line() == "release 1 exit=6"


def test_each_renewal_moves_it(berth, fake):
    process, peer = start(berth, fake)
    begun = time.monotonic()
    for _ in range(4):
        line, dead_by = deadline(1.5)
        peer.send(line + "\n")
        runs_for(process, 0.5)  # a period of the daemon's
    assert error_of(process, 124) == KEEP_ALIVE
    assert begun + 2.9 < time.monotonic() < dead_by


def test_the_whole_group_is_dead(berth, fake):
    """Including a process that ignores the signal and is not the main process."""
    process, peer = start(berth, fake, [
        "sh", "-c", "(trap '' TERM; echo ready; exec sleep 1000) & wait"])
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
        group = int(children.read())
    line, dead_by = deadline(0.3)
    peer.send(line + "\n")
    assert peer.line() == "release 1 signal=15"
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)
    assert time.monotonic() < dead_by
    assert error_of(process, 124) == KEEP_ALIVE


@pytest.mark.parametrize("event, why", [
    ("deadline", "it could not be renewed in its database in time (deadline)"),
    ("lost gone", "gone (lost)")])
def test_an_event_before_the_deadline(berth, fake, event, why):
    process, peer = start(berth, fake)
    peer.send(f"* expired 1 {event}\n")
    assert peer.line() == "release 1 signal=9"
    assert error_of(process, 124) == f"berth: stopping the job: {why}\n"


def test_warn(berth, fake):
    process = berth.start("run", "r", "--", "sh", "-c", "echo ready; read line; exit 6", stdin=subprocess.PIPE)
    peer, _ = fake.pending("* granted 1 slot=r,5,0 kill_after=300ms on_lost=warn")
    assert read_line(process.stdout) == "ready"
    peer.send(deadline(0.1)[0] + "\n")
    assert read_line(process.stderr) == "berth: berthd has not renewed its lease on r in time (deadline); the job runs on"
    process.stdin.close()
    process.stdin = None
    assert error_of(process, 6) == ""


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

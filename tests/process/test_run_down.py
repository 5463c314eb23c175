"""berth run: no daemon, one that does not answer, and one that goes away."""

import contextlib
import os
import re
import socket
import subprocess
import time

import pytest

from conftest import error_of, Program, read_line
from fake_berthd import FakeBerthd
from lines import DEADLINE
from lost_help import scaled


NO_SOCKET = ("No such file or directory"
             " (is -S or BERTH_SOCKET right? Else start it: berthd -c FILE)")


# ---- nobody there ----

def test_nobody_listens(berth, directory):
    begun = time.monotonic()
    done = berth("run", "--down-after", "60s", "r", "--", "touch", "ran")
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr == f"berth: cannot connect to {directory}/s: {NO_SOCKET}\n"
    assert not (directory / "ran").exists()
    assert time.monotonic() - begun < 20  # at once, not after --down-after


def test_a_stale_socket(berth, directory):
    FakeBerthd(directory / "s").close()
    done = berth("run", "r", "--", "true")
    assert (done.returncode, done.stderr) == (
        69, f"berth: cannot connect to {directory}/s: Connection refused"
        " (no berthd is listening there; start it: berthd -c FILE)\n")


def test_it_is_no_case_for_the_conflict_status(berth):
    assert berth("run", "-E", "0", "r", "--", "true").returncode == 69


def test_run_all_the_same(berth, directory):
    done = berth("run", "--if-down", "run", "r", "--", "sh", "-c", "env | grep ^BERTH_; exit 3",
                 env={"BERTH_LEASE": "1", "BERTH_SLOT": "1"})
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (f"berth: cannot connect to {directory}/s: {NO_SOCKET}; "
                           "running without a lease\n")


def test_wait_until_it_is_there(berth, directory):
    begun = time.monotonic()
    process = berth.start("run", "--if-down", "wait", "r", "--", "echo", "ran")
    assert read_line(process.stderr).startswith("berth: waiting for berthd (cannot connect to ")
    assert time.monotonic() - begun > 0.9  # a daemon that comes a little later is not worth a message
    fake = FakeBerthd(directory / "s")
    peer = fake.grant()
    out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out, err) == (0, b"ran\n", b"")
    assert peer.line() == "release 1 exit=0"
    fake.close()


def test_wait_no_longer_than_asked(berth, directory):
    begun = time.monotonic()
    process = berth.start("run", "--if-down", "wait", "-w", "1.2s", "r", "--", "true")
    error = error_of(process, 69)  # an outage, not a conflict
    assert 1.1 < time.monotonic() - begun < 5
    assert error.splitlines()[-1] == (
        f"berth: cannot connect to {directory}/s: {NO_SOCKET}")


# ---- which socket ----

def test_the_user_s_socket(berth, directory):
    (directory / "berth").mkdir()
    fake = FakeBerthd(directory / "berth" / "berth.sock")
    process = berth.start("run", "-S", "user", "r", "--", "sh", "-c", "echo $BERTH_SOCKET",
                          env={"XDG_RUNTIME_DIR": str(directory)})
    fake.grant()
    assert process.communicate(timeout=DEADLINE)[0].decode() == f"{fake.path}\n"
    fake.close()


def test_the_user_s_socket_without_xdg(berth):
    program = Program("berth", berth.directory)
    program.environ.pop("XDG_RUNTIME_DIR", None)
    done = program("run", "-S", "user", "r", "--", "true")
    assert f"/run/user/{os.getuid()}/berth/berth.sock" in done.stderr


def test_the_default_socket(berth, directory):
    if os.path.exists("/run/berth"):
        pytest.skip("this machine has a berthd of its own")
    (directory / "berth").mkdir()
    program = Program("berth", directory)
    del program.environ["BERTH_SOCKET"]
    program.environ["XDG_RUNTIME_DIR"] = str(directory)
    plain = "berth: cannot connect to /run/berth/berth.sock: No such file or directory"
    done = program("run", "r", "--", "true")
    assert (done.returncode, done.stderr) == (69, plain + " (start it: systemctl start berthd)\n")
    done = program("run", "-S", "user", "r", "--", "true")
    assert done.stderr.endswith(" (start it: systemctl --user start berthd)\n")
    fake = FakeBerthd(directory / "berth" / "berth.sock")
    done = program("run", "r", "--", "true")
    assert (done.returncode, done.stderr) == (
        69, f"{plain} (but {fake.path} exists: -S user)\n")
    fake.close()


def test_the_option_beats_the_environment(berth, directory):
    done = berth("run", "-S", "/nowhere/s", "r", "--", "true")
    assert "cannot connect to /nowhere/s" in done.stderr


def serve_as(uid, path):
    """A server whose credentials are another user's: listen() fixes them."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    os.chmod(path, 0o666)
    pid = os.fork()
    if pid == 0:
        os.setuid(uid)
        listener.listen()
        os._exit(0)
    os.waitpid(pid, 0)
    return listener


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
@pytest.mark.parametrize("options, status", [([], 69), (["--if-down", "run"], 0)])
def test_another_users_server_is_refused(berth, directory, options, status):
    listener = serve_as(65534, directory / "s")
    done = berth("run", *options, "r", "--", "true")
    assert done.returncode == status
    assert done.stderr.startswith(
        f"berth: the server at {directory}/s runs neither as root, nor as berth, nor as you")
    listener.close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_a_user_trusts_root_and_himself(berth, fake, directory):
    os.chmod(fake.path, 0o666)
    process = berth.start("run", "r", "--", "true", user=65534)
    fake.grant()
    assert process.wait(DEADLINE) == 0
    fake.gone()
    with serve_as(65534, directory / "s") as listener:
        listener.settimeout(DEADLINE)
        process = berth.start("run", "r", "--", "true", user=65534)
        with listener.accept()[0] as peer:
            assert peer.recv(100).startswith(b"acquire ")
            peer.send(b"ok 1 slot=r,1,0\n")
            assert process.wait(DEADLINE) == 0


# ---- there, but without an answer ----

@pytest.mark.parametrize("option, status", [("fail", 69), ("run", 0)])
def test_no_answer(berth, fake, option, status):
    begun = time.monotonic()
    process = berth.start(
        "run", "--if-down", option, "--down-after", "0.3s", "r", "--", "true")
    peer, _ = fake.asked()
    error = error_of(process, status)
    assert 0.25 < time.monotonic() - begun < 4.5  # --down-after would be 5
    assert error.startswith("berth: berthd does not answer")
    assert peer.ended()


def test_no_answer_and_patience(berth, fake):
    process = berth.start("run", "--if-down", "wait", "--down-after", "1s", "r", "--", "true")
    first, _ = fake.asked()
    assert read_line(process.stderr) == "berth: waiting for berthd (berthd does not answer)"
    assert first.ended()
    fake.grant()
    assert process.wait(DEADLINE) == 0


@pytest.mark.parametrize("code", ["busy", "no-memory"])
@pytest.mark.parametrize("option, status", [("fail", 69), ("run", 5), ("wait", 5)])
def test_busy_is_down(berth, fake, code, option, status):
    process = berth.start("run", "--if-down", option, "r", "--", "sh", "-c", "exit 5")
    peer = fake.tells(f"error {code} too%20much")
    peer.close()
    if option == "wait":
        fake.grant()
        assert error_of(process, status) == ""  # it was not worth a message
    else:
        assert f"too much ({code})" in error_of(process, status)


def test_an_early_end_is_tried_again(berth, fake):
    """berthd may be in the middle of a restart, or out of descriptors."""
    process = berth.start("run", "r", "--", "true")
    for _ in range(3):
        fake.asked()[0].close()
    fake.grant()
    assert error_of(process, 0) == ""


def test_an_early_end_and_no_successor(berth, fake, directory):
    process = berth.start("run", "r", "--", "true")
    fake.asked()
    fake.gone()
    again = FakeBerthd(directory / "s")
    again.grant()
    assert error_of(process, 0) == ""
    again.close()


def test_early_ends_until_it_counts_as_down(berth, fake):
    process = berth.start("run", "--down-after", "0.5s", "r", "--", "true")
    fake.listener.settimeout(0.05)
    begun = time.monotonic()
    while process.poll() is None:
        with contextlib.suppress(TimeoutError):
            fake.asked()[0].close()
        assert time.monotonic() - begun < 4.5  # --down-after would be 5
    assert error_of(process, 69) == "berth: berthd closed the connection\n"


def test_busy_before_it_has_asked(berth, fake):
    """berthd does not wait for a request: many tries, to hit that moment."""
    for _ in range(scaled(10)):
        processes = [berth.start("run", "r", "--", "true") for _ in range(5)]
        for _ in processes:
            peer = fake.accept()
            peer.send("error busy x\n")
            peer.close()
        for process in processes:
            assert error_of(process, 69) == "berth: x (busy)\n"


def test_a_full_backlog_is_tried_again(berth, directory):
    """It is there, so it does not count as down at once."""
    fake = FakeBerthd(directory / "s", backlog=0)
    filler = socket.socket(socket.AF_UNIX)
    filler.connect(str(fake.path))  # backlog 0 takes one
    begun = time.monotonic()
    process = berth.start("run", "--down-after", "0.5s", "r", "--", "true")
    assert "Resource temporarily unavailable" in error_of(process, 69)
    assert time.monotonic() - begun > 0.4
    filler.close()
    fake.close()


def test_a_short_wait_is_no_outage(berth, fake):
    """The answer may take longer than the requested wait."""
    process = berth.start("run", "-w", "1ms", "r", "--", "true")
    fake.tells("waiting 1 position=1")
    assert error_of(process, 75) == "berth: timed out waiting for r (timeout)\n"


def test_n_concerns_only_the_resource(berth, fake):
    """Not about berthd, which may just be restarting: it has as long as for everybody."""
    process = berth.start("run", "-n", "r", "--", "echo", "ran")
    peer, _ = fake.asked()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.5)
    peer.send("ok 1 slot=r,1,0\n")
    assert process.communicate(timeout=DEADLINE) == (b"ran\n", b"")


# ---- gone while in the queue ----

@pytest.mark.parametrize("option", ["fail", "run", "wait"])
def test_a_waiter_asks_again(berth, fake, directory, option):
    """Whatever --if-down says: it was accepted."""
    process = berth.start("run", "--if-down", option, "r", "--", "echo", "ran")
    fake.queue()
    begun = time.monotonic()
    fake.gone()
    assert read_line(process.stderr).startswith("berth: lost berthd while waiting; trying again (")
    assert time.monotonic() - begun > 0.9  # a restart is not worth a message
    again = FakeBerthd(directory / "s")
    peer = again.queue("waiting 1 position=1")
    assert peer.line() == "why lease=1"
    peer.send("ok is=waiting lease=1 position=1\nbrief r;%20place%201%20in%20the%20queue\nend\n")
    assert read_line(process.stderr) == "berth: waiting for r; place 1 in the queue"  # it is over
    peer.send("* granted 1 slot=r,1,0\n")
    out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out) == (0, b"ran\n")
    assert re.fullmatch(rb"berth: got r after \d+s\n", err)
    assert peer.line() == "release 1 exit=0"
    again.close()


def test_a_waiter_that_asks_again_gets_busy(berth, fake):
    process = berth.start("run", "-q", "r", "--", "true")
    fake.queue().close()
    fake.tells("error busy x")
    fake.grant()
    assert error_of(process, 0) == ""


def test_a_waiter_is_refused_when_it_asks_again(berth, fake):
    process = berth.start("run", "-q", "r", "--", "true")
    fake.queue().close()
    fake.tells("error unknown gone")
    assert error_of(process, 78) == "berth: gone (unknown)\n"


def test_the_time_limit_goes_on(berth, fake):
    """From the start of berth, over all connections."""
    begun = time.monotonic()
    process = berth.start("run", "-q", "-w", "2s", "r", "--", "true")
    waits = []
    for _ in range(3):
        peer, words = fake.asked()
        waits += [int(word[5:-2]) for word in words if word.startswith("wait=")]
        peer.send("waiting 1 position=1\n")
        peer.close()
    fake.gone()
    assert 2000 >= waits[0] > waits[1] > waits[2]
    error_of(process, 75)
    assert time.monotonic() - begun > 1.8


def test_a_waiter_whose_daemon_stays_silent(berth, fake):
    """Accepted once, then connected to something that does not answer: on to the next try."""
    process = berth.start("run", "-q", "--down-after", "1.5s", "r", "--", "true")
    fake.queue().close()
    silent, _ = fake.asked()
    assert silent.ended()
    fake.grant()
    assert error_of(process, 0) == ""



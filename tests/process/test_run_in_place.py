"""berth run --no-fork: berth becomes the job, and only berthd watches it."""

import os
import re
import signal
import sys

import pytest

from conftest import read_line
from lines import DEADLINE

REPORT = [sys.executable, os.path.join(os.path.dirname(__file__), "report_signals.py")]


def ended(process):
    out, err = process.communicate(timeout=DEADLINE)
    return process.returncode, out.decode(), err.decode()


def test_the_process_is_the_same(berth, fake):
    process = berth.start("run", "-F", "r", "--", "sh", "-c", "echo $$ $BERTH_SLOT; exit 6")
    peer, words = fake.asked()
    assert f"pid={process.pid}" in words
    peer.send("ok 1 slot=r,5,3\n")
    assert ended(process) == (6, f"{process.pid} 3\n", "")


def test_the_connection_ends_as_the_job_begins(berth, fake):
    """And with it all that the client does: berthd watches the process."""
    process = berth.start("run", "-F", "r", "--", "sh", "-c", "echo ready; read line", stdin=-1)
    peer = fake.grant()
    assert read_line(process.stdout) == "ready"
    assert peer.line() == ""
    process.stdin.close()
    process.stdin = None
    assert process.wait(DEADLINE) == 1


def test_no_process_group_of_its_own(berth, fake):
    """Nobody is left to hand the terminal over."""
    process = berth.start("run", "-F", "r", "--", sys.executable, "-c",
                          "import os; print(os.getpgrp())")
    fake.grant()
    assert ended(process) == (0, f"{os.getpgrp()}\n", "")


def test_variables_and_descriptors(berth, fake):
    process = berth.start("run", "-F", "--export", "X", "r:2", "--", "sh", "-c",
                          "env | grep -e ^BERTH -e ^X= | LC_ALL=C sort; ls /proc/self/fd",
                          env={"BERTH_LEASE": "9", "BERTH_OLD": "x"})
    peer, words = fake.asked()
    assert "parent=9" in words
    peer.send("ok 1 slot=r,5,0-1\n")
    status, out, err = ended(process)
    assert (status, err) == (0, "")
    out = re.sub("^BERTH_WAITED_MS=[0-9]+\n", "", out, flags=re.M)
    assert out.splitlines() == [
        "BERTH_COUNT=2", "BERTH_LEASE=1", "BERTH_NAME=r", "BERTH_SLOT=0 1",
        f"BERTH_SOCKET={fake.path}", "BERTH_TOKEN=5", "X=0,1", "0", "1", "2", "3"]


STATE = """
import signal, re
status = open("/proc/self/status").read()
print(*(int(re.search(name + r":\\s*(\\w+)", status)[1], 16) for name in ("SigBlk", "SigIgn")))
"""


def signal_state(mask, ignored):
    def prepare():
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
    return prepare


@pytest.mark.parametrize("mask, ignored", [
    ([signal.SIGUSR1, signal.SIGCHLD], []), ([], [signal.SIGCHLD, signal.SIGHUP])])
def test_signals_are_as_they_were(berth, fake, mask, ignored):
    process = berth.start("run", "-F", "r", "--", sys.executable, "-S", "-c", STATE,
                          preexec_fn=signal_state(mask, ignored))
    fake.grant()
    with_berth = ended(process)
    berth.path, path = sys.executable, berth.path
    without = ended(berth.start("-S", "-c", STATE, preexec_fn=signal_state(mask, ignored)))
    berth.path = path
    assert with_berth == without


def test_signals_reach_the_job_directly(berth, fake):
    process = berth.start("run", "-F", "r", "--", *REPORT)
    fake.grant()
    assert read_line(process.stdout) == "ready"
    process.send_signal(signal.SIGUSR1)
    assert read_line(process.stdout) == "SIGUSR1"
    process.send_signal(signal.SIGTERM)
    assert ended(process) == (7, "SIGTERM\n", "")


def test_signals_end_the_wait(berth, fake):
    process = berth.start("run", "-F", "r", "--", "true")
    peer = fake.queue()
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE) == -signal.SIGTERM
    assert peer.line() == ""


@pytest.mark.parametrize("command, status, text", [
    ("./missing", 127, "./missing: No such file or directory"),
    ("/etc/passwd", 126, "/etc/passwd: Permission denied"),
])
def test_what_cannot_be_executed(berth, command, status, text):
    process = berth.start("run", "-F", "r", "--", command)
    assert ended(process) == (status, "", f"berth: {text}\n")


def test_what_cannot_be_executed_after_all(berth, fake, directory):
    (directory / "script").write_text("#!/nowhere/sh\n")
    (directory / "script").chmod(0o700)
    process = berth.start("run", "-F", "r", "--", "./script")
    peer = fake.grant()
    assert ended(process) == (127, "", "berth: ./script: No such file or directory\n")
    assert peer.ended()


def test_a_process_that_berthd_cannot_see(berth, fake, directory):
    process = berth.start("run", "-F", "r", "--", "touch", "ran")
    peer = fake.tells("ok 1 slot=r,5,0 bound=connection")
    status, _, err = ended(process)
    assert status == 69
    assert err.startswith("berth: berthd cannot see this process")
    assert not (directory / "ran").exists()
    assert peer.ended()


def test_without_a_lease(berth):
    done = berth("run", "-F", "--if-down", "run", "r", "--", "sh", "-c",
                 "env | grep ^BERTH_; echo $$; exit 3", env={"BERTH_LEASE": "1"})
    assert done.returncode == 3
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr.endswith("; running without a lease\n")


def test_refused(berth, fake, directory):
    process = berth.start("run", "-n", "-F", "r", "--", "touch", "ran")
    fake.tells("error would-wait")
    assert ended(process)[0] == 75
    assert not (directory / "ran").exists()


def test_in_the_queue(berth, fake):
    """With children that it has from before it was berth: they do not matter."""
    process = berth.start("run", "-v", "-F", "r", "--", "echo", "ran")
    peer = fake.queue()
    assert read_line(process.stderr) == "berth: queued, place 1"
    peer.send("* granted 1 slot=r,5,0\n")
    assert ended(process) == (0, "ran\n", "berth: granted r slot 0 (token 5), lease 1\n")

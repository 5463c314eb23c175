"""berth run: every exit status, against a server that says what is needed."""

import os
import signal
import subprocess

import pytest

from conftest import BUILD
from lines import DEADLINE


def status_of(process):
    return process.wait(DEADLINE)


def test_a_status_of_the_job(berth, fake):
    for status in (0, 1, 2, *range(124, 130), 254, 255):
        process = berth.start("run", "r", "--", "sh", "-c", f"exit {status}")
        peer = fake.grant()
        assert process.wait(DEADLINE) == status
        assert peer.line() == f"release 1 exit={status}"
        peer.close()


def test_a_signal_that_ends_the_job_ends_berth(berth, fake):
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV,
                   signal.SIGPIPE, signal.SIGALRM, signal.SIGTERM, signal.SIGSYS, signal.SIGRTMIN, signal.SIGRTMAX):
        process = berth.start("run", "r", "--", "sh", "-c", f"kill -{number:d} $$")
        peer = fake.grant()
        assert status_of(process) == -number
        assert peer.line() == f"release 1 signal={number:d}"


def test_berth_leaves_no_core(berth, fake, directory):
    process = berth.start(
        "run", "r", "--", "sh", "-c", "ulimit -c 0; kill -ABRT $$",
        preexec_fn=lambda: __import__("resource").setrlimit(
            __import__("resource").RLIMIT_CORE, (-1, -1)) if os.getuid() == 0 else None)
    fake.grant()
    pid = process.pid
    _, status = os.waitpid(pid, 0)
    process.returncode = -os.WTERMSIG(status)
    assert os.WTERMSIG(status) == signal.SIGABRT
    assert not os.WCOREDUMP(status)


REFUSALS = [
    ("malformed", 64), ("too-long", 64), ("unknown-command", 64), ("unknown-key", 64),
    ("bad-value", 64), ("busy", 69), ("no-memory", 69), ("would-wait", 75), ("paused", 75),
    ("closed", 75), ("draining", 75), ("held", 75), ("ancestor", 75), ("circle", 75),
    ("queue-full", 75), ("quota", 75), ("cancelled", 75), ("forbidden", 77), ("not-holder", 77),
    ("unknown", 78), ("impossible", 78), ("mixed", 78), ("too-much", 78), ("kind", 78), ("config", 78),
    ("from-the-future", 69),
]


ONE_OF_EACH = dict(reversed([(status, code) for code, status in REFUSALS]))


def test_a_refusal(berth, fake, directory):
    for code, status in REFUSALS:
        process = berth.start("run", "r", "--", "touch", "ran")
        fake.tells(f"error {code} because%20of%1B%5Bthat")
        assert status_of(process) == status, code
        assert process.stderr.read() == f"berth: because of\\x1b[that ({code})\n".encode()
        assert not (directory / "ran").exists()


def test_a_denial_in_the_queue(berth, fake, directory):
    for status, code in (ONE_OF_EACH | {69: "from-the-future"}).items():  # "busy" is no end: berth asks again
        process = berth.start("run", "r", "--", "touch", "ran")
        peer = fake.queue("waiting 3k position=4")
        peer.send(f"* denied 3k {code} reasons\n")
        assert status_of(process) == status, code
        assert not (directory / "ran").exists()


def test_another_status_for_not_acquired(berth, fake):
    for status, code in ONE_OF_EACH.items():
        process = berth.start("run", "-E", "0", "r", "--", "true")
        fake.tells(f"error {code}")
        assert status_of(process) == (0 if status == 75 else status), code


@pytest.mark.parametrize("code, silent", [("would-wait", True), ("held", True), ("unknown", False),
                                          ("forbidden", False), ("busy", False)])
def test_quiet_hides_only_busy(berth, fake, code, silent):
    process = berth.start("run", "-q", "r", "--", "true")
    fake.tells(f"error {code} text")
    status_of(process)
    assert (process.stderr.read() == b"") == silent


def test_the_job_s_own_75_is_not_replaced(berth, fake):
    process = berth.start("run", "-E", "3", "r", "--", "sh", "-c", "exit 75")
    fake.grant()
    assert status_of(process) == 75


def test_not_found_and_not_executable(berth, directory):
    (directory / "text").write_text("no program")
    for command, status in (("no-such-program", 127), ("./no-such-program", 127),
                            ("./text", 126), (".", 126)):
        process = berth.start("run", "-S", "/nowhere", "r", "--", command)  # before any wait
        assert status_of(process) == status
        assert process.stderr.read().startswith(f"berth: {command}: ".encode())


def test_executable_where_execvp_looks(berth, fake, directory):
    """Not in the first directory that has such a file; and an empty part is the working directory."""
    for n, mode in ((1, 0o600), (2, 0o700)):
        (directory / f"bin{n}").mkdir()
        (directory / f"bin{n}" / "job").write_text("#!/bin/sh\nexit 9\n")
        (directory / f"bin{n}" / "job").chmod(mode)
    (directory / "here").write_text("#!/bin/sh\nexit 8\n")
    (directory / "here").chmod(0o700)
    for path, command, status in (("bin1:bin2", "job", 9), ("bin1:", "here", 8), (":bin1", "here", 8)):
        process = berth.start("run", "r", "--", command, env={"PATH": path})
        fake.grant()
        assert status_of(process) == status
    for path, command, status in (("bin1", "job", 126), ("bin1:bin2", "here", 127)):
        assert status_of(berth.start("run", "r", "--", command, env={"PATH": path})) == status


def test_not_executable_after_all(berth, fake, directory):
    """What looks like a program may fail to be one, or go while berth waits."""
    (directory / "script").write_text("#!/nowhere/sh\n")
    (directory / "script").chmod(0o700)
    process = berth.start("run", "r", "--", "./script")
    peer = fake.grant()
    assert status_of(process) == 127
    assert process.stderr.read() == b"berth: ./script: No such file or directory\n"
    assert peer.line() == "release 1 exit=127"


@pytest.mark.parametrize("command, hint", [
    (["echo a; echo b"], True), (["ls | wc"], True), (["ls ~ "], True), (["echo a; echo b", "c"], False), (["nope"], False)])
def test_a_line_for_the_shell(berth, command, hint):
    process = berth.start("run", "r", "--", *command)
    assert status_of(process) == 127
    shown = f"berth: {command[0]}: No such file or directory"
    assert process.stderr.read().decode() == shown + ("; to run a shell command line: -- sh -c '...'\n" if hint else "\n")


def test_wait_of_nothing_is_nonblock(berth, fake):
    for args in (["-w", "0"], ["-n"], ["--nonblock"], ["--timeout=0s"]):
        process = berth.start("run", *args, "r", "--", "true")
        peer, words = fake.asked()
        assert "wait=0ms" in words
        peer.send("error would-wait x\n")
        assert status_of(process) == 75


def test_pid_1_reaps_orphans(directory, fake):
    """Nobody else would, and each holds a pid."""
    unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("not allowed to make a PID namespace")
    process = subprocess.Popen(
        [*unshare, BUILD / "berth", "run", "-S", directory / "s", "r", "--", "sh", "-c",
         "orphan=$(sh -c 'sleep 1000 >/dev/null & echo $!'); kill $orphan; while [ -e /proc/$orphan ]; do :; done; exit 7"])
    try:
        fake.grant()
        assert process.wait(DEADLINE) == 7
    finally:
        process.kill()
        process.wait()


def test_pid_1_exits_with_what_the_shell_would_show(directory, fake):
    """PID 1 of a container cannot die by a signal that it does not handle."""
    unshare = ["unshare", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("not allowed to make a PID namespace")
    process = subprocess.Popen(
        [*unshare, BUILD / "berth", "run", "-S", directory / "s", "r", "--", "sh", "-c",
         "kill -TERM $$"])
    fake.grant()
    assert process.wait(DEADLINE) == 128 + signal.SIGTERM

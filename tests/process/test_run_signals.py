"""berth run: signals to the wrapper, in the job and while waiting."""

import os
import pathlib
import select
import signal
import sys
import time

import pytest

from conftest import read_line
from lines import DEADLINE, until

REPORT = [sys.executable, "-S", str(pathlib.Path(__file__).with_name("report_signals.py"))]

ENDING = [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM]
FORWARDED = [signal.SIGWINCH, signal.SIGCONT, *ENDING]


def started(berth, fake, *command, **options):
    process = berth.start("run", "r", "--", *command, **options)
    peer = fake.grant()
    return process, peer


def of_job(berth, fake, *command, answer="waiting 1 position=1", **options):
    """The process, its connection, and the pid of its job."""
    process = berth.start("run", "r", "--", *command, **options)
    peer, words = fake.asked()
    peer.send(answer + "\n")
    return process, peer, int([word for word in words if word.startswith("pid=")][0][4:])


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def stopped(pid):
    """Waits until the process has stopped; False if it ended instead."""
    end = time.monotonic() + DEADLINE
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    try:
        found, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
        while not found:
            assert signal.sigtimedwait([signal.SIGCHLD], max(end - time.monotonic(), 0))
            found, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return os.WIFSTOPPED(status)


def test_forwarded_to_the_job(berth, fake):
    process, peer = started(berth, fake, *REPORT)
    assert read_line(process.stdout) == "ready"
    for number in FORWARDED:
        process.send_signal(number)
        assert read_line(process.stdout) == number.name
    assert process.wait(DEADLINE) == 7
    assert peer.line() == "release 1 exit=7"


def test_forwarded_to_the_whole_group(berth, fake):
    process, _ = started(
        berth, fake, "sh", "-c", "trap '' TERM; \"$@\" & wait", "sh", *REPORT)
    assert read_line(process.stdout) == "ready"
    process.send_signal(signal.SIGTERM)
    assert read_line(process.stdout) == "SIGTERM"
    assert process.wait(DEADLINE) == 0


@pytest.mark.parametrize("number", ENDING)
def test_the_default_action_in_the_job(berth, fake, number):
    process, peer = started(berth, fake, "sh", "-c", "echo ready; exec sleep 1000")
    assert read_line(process.stdout) == "ready"
    process.send_signal(number)
    assert process.wait(DEADLINE) == -number
    assert peer.line() == f"release 1 signal={number:d}"


@pytest.mark.parametrize("number", ENDING)
def test_while_waiting_it_leaves_the_queue(berth, fake, directory, number):
    process, peer, child = of_job(berth, fake, "touch", "ran")
    process.send_signal(number)
    assert process.wait(DEADLINE) == -number
    assert is_gone(child)
    assert peer.line() == ""
    assert not (directory / "ran").exists()


def test_before_any_answer(berth, fake, directory):
    process = berth.start("run", "r", "--", "touch", "ran")
    fake.asked()
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE) == -signal.SIGTERM
    assert not (directory / "ran").exists()


def test_while_trying_to_connect(berth, directory):
    process = berth.start("run", "--if-down", "wait", "r", "--", "touch", "ran")
    assert read_line(process.stderr).startswith("berth: waiting for berthd (cannot connect to ")
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE) == -signal.SIGTERM
    assert not (directory / "ran").exists()


@pytest.mark.parametrize("number", [signal.SIGWINCH, signal.SIGCONT])
def test_what_does_not_end_the_wait(berth, fake, number):
    process = berth.start("run", "-v", "r", "--", "true")
    peer = fake.queue()
    assert read_line(process.stderr) == "berth: queued, place 1"
    process.send_signal(number)
    peer.send("* granted 1 slot=r,1,0\n")
    assert process.wait(DEADLINE) == 0


def test_a_signal_beats_a_grant(berth, fake, directory):
    """Both are there before berth looks: it was stopped."""
    process = berth.start("run", "r", "--", "touch", "ran", process_group=0)
    peer, _ = fake.asked()
    process.send_signal(signal.SIGSTOP)
    assert stopped(process.pid)
    process.send_signal(signal.SIGTERM)
    peer.send("ok 1 slot=r,1,0\n")
    process.send_signal(signal.SIGCONT)
    assert process.wait(DEADLINE) == -signal.SIGTERM
    assert peer.line() == ""  # else there would have been a job, and its lease would be released
    assert not (directory / "ran").exists()


def test_the_child_is_killed_while_waiting(berth, fake):
    process = berth.start("run", "-v", "r", "--", "true")
    peer, words = fake.asked()
    peer.send("waiting 1 position=1\n")
    child = int([word for word in words if word.startswith("pid=")][0][4:])
    assert read_line(process.stderr) == "berth: queued, place 1"
    os.kill(child, signal.SIGKILL)
    assert process.wait(DEADLINE) == -signal.SIGKILL
    assert read_line(process.stderr) == "berth: the job was killed before it began: Killed"
    assert peer.line() == ""


def test_the_child_goes_with_a_killed_wrapper(berth, fake, directory):
    process, peer, child = of_job(berth, fake, "touch", "ran")
    pidfd = os.pidfd_open(child)
    process.kill()
    process.wait(DEADLINE)
    assert peer.line() == ""
    assert select.select([pidfd], [], [], DEADLINE)[0]
    os.close(pidfd)
    assert not (directory / "ran").exists()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_what_was_ignored_at_start_stays_ignored(berth, fake, number):
    """As under nohup, and as under a shell that starts a job in the background."""
    process = berth.start(
        "run", "-v", "r", "--", *REPORT[:1], "-S", "-c",
        "import os, signal\n"
        f"assert signal.getsignal({int(number)}) == signal.SIG_IGN\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
        "os.write(1, b'ready\\n')\n"
        "signal.sigwait([signal.SIGUSR1])\n"
        "os._exit(9)",
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    peer = fake.queue()
    assert read_line(process.stderr) == "berth: queued, place 1"
    process.send_signal(number)
    peer.send("* granted 1 slot=r,1,0\n")
    assert read_line(process.stdout) == "ready"
    process.send_signal(number)
    process.send_signal(signal.SIGUSR1)
    assert process.wait(DEADLINE) == 9


def test_sigchld_ignored_at_start(berth, fake):
    process = berth.start("run", "r", "--", "sh", "-c", "exit 5",
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    fake.grant()
    assert process.wait(DEADLINE) == 5


@pytest.mark.parametrize("has_place", [True, False])
def test_a_stop_while_waiting_stops_berth(berth, fake, has_place):
    """It steps aside from its place, once it has one."""
    process = berth.start("run", "-v", "r", "--", "true", process_group=0)
    peer, _ = fake.asked()
    if not has_place:
        process.send_signal(signal.SIGTSTP)
    peer.send("waiting 1 position=1\n")
    assert read_line(process.stderr) == "berth: queued, place 1"
    if has_place:
        process.send_signal(signal.SIGTSTP)
    assert peer.line() == "away 1"
    peer.send("ok\n")
    assert stopped(process.pid)
    process.send_signal(signal.SIGCONT)
    assert peer.line() == "back 1"
    peer.send("ok\n* granted 1 slot=r,1,0\n")
    assert process.wait(DEADLINE) == 0


def test_a_stop_while_nobody_answers(berth, fake):
    """berthd has a second; then the user's wish counts."""
    process = berth.start("run", "-v", "r", "--", "true", process_group=0)
    peer = fake.queue()
    assert read_line(process.stderr) == "berth: queued, place 1"
    process.send_signal(signal.SIGTSTP)
    assert stopped(process.pid)
    process.send_signal(signal.SIGCONT)
    assert [peer.line(), peer.line()] == ["away 1", "back 1"]
    peer.send("ok\nok\n* granted 1 slot=r,1,0\n")
    assert process.wait(DEADLINE) == 0


def test_a_stop_that_the_grant_forestalls(berth, fake):
    """The job begins, and is stopped like any other."""
    process = berth.start("run", "r", "--", *REPORT, process_group=0)
    peer = fake.queue()
    process.send_signal(signal.SIGTSTP)
    assert peer.line() == "away 1"
    peer.send("* granted 1 slot=r,1,0\nerror kind it%20is%20held\n")
    assert stopped(process.pid)
    process.send_signal(signal.SIGCONT)
    ready = {read_line(process.stdout)}
    if ready == {"SIGCONT"}:
        ready.add(read_line(process.stdout))
    assert "ready" in ready
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE) == 7


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]


def wait_for_state(pid, states):
    """For a process that is not our child there is no event to wait for."""
    until(lambda: state_of(pid) in states)


def test_a_stop_stops_the_job_and_berth(berth, fake):
    """Without a terminal: as a supervisor pauses what it started."""
    process, peer, job = of_job(berth, fake, *REPORT, process_group=0, answer="ok 1 slot=r,1,0")
    assert read_line(process.stdout) == "ready"
    for _ in range(2):
        process.send_signal(signal.SIGTSTP)
        assert stopped(process.pid)
        assert state_of(job) == "T"
        process.send_signal(signal.SIGCONT)
        assert read_line(process.stdout) == "SIGCONT"
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE) == 7


def test_a_job_stopped_directly_is_continued_directly(berth, fake):
    """Without a terminal berth does not stop with the job: nobody would wake it."""
    process, peer, job = of_job(berth, fake, *REPORT, start_new_session=True, answer="ok 1 slot=r,1,0")
    assert read_line(process.stdout) == "ready"
    os.kill(job, signal.SIGSTOP)
    wait_for_state(job, "T")
    os.kill(job, signal.SIGCONT)
    assert read_line(process.stdout) == "SIGCONT"
    os.kill(job, signal.SIGTERM)
    assert process.wait(DEADLINE) == 7


def test_descendants_are_left_alone(berth, fake):
    process, peer = started(
        berth, fake, "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!; exit 4")
    pid = int(read_line(process.stdout))
    assert process.wait(DEADLINE) == 4
    assert peer.line() == "release 1 exit=4"
    assert state_of(pid) in "SRD"
    os.kill(pid, signal.SIGKILL)

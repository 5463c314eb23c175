"""berth run on a terminal: who is in the foreground, ^C, ^Z, fg, bg."""

import fcntl
import os
import pathlib
import pty
import signal
import subprocess
import sys
import termios

import pytest

from conftest import read_line
from lines import until
from terminal_help import INTERRUPT, QUIT, SUSPEND, Shell

HERE = pathlib.Path(__file__).parent
REPORT = [sys.executable, "-S", str(HERE / "report_signals.py")]
VFORK = [sys.executable, "-S", str(HERE / "vfork_job.py")]


@pytest.fixture
def shell(berth):
    shell = Shell(berth)
    yield shell
    shell.end()


def granted(fake):
    """Grants the next request; returns the connection and the job's pid."""
    peer, words = fake.asked()
    peer.send("ok 1 slot=r,1,0\n")
    return peer, int([word for word in words if word.startswith("pid=")][0][4:])


def ready(shell, fake):
    """Grants the next request, and waits until the job is ready; returns its pid."""
    _, job = granted(fake)
    assert shell.line() == "ready"
    return job


def suspend(shell):
    shell.press(SUSPEND)
    assert shell.do("wait") == ["stopped", signal.SIGTSTP]


def ends_at_sigterm(shell, pid):
    """The job is REPORT; the signal goes to it, or to its wrapper."""
    os.kill(pid, signal.SIGTERM)
    assert shell.line() == "SIGTERM"
    assert shell.do("wait") == ["exited", 7]


def gets_a_line(shell):
    shell.press(b"text\n")
    assert shell.line() == "got text"
    assert shell.do("wait") == ["exited", 0]


def wait_until_stopped(pid):
    until(lambda: pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] == "T")


def test_the_job_is_in_the_foreground(shell, fake):
    wrapper = shell.start("run", "r", "--", "sh", "-c", "read line; echo got $line")
    peer, words = fake.asked()
    assert shell.do("foreground") == wrapper  # while it waits
    peer.send("ok 1 slot=r,1,0\n")
    gets_a_line(shell)
    assert peer.line() == "release 1 exit=0"


def test_it_is_in_the_foreground_before_it_runs(shell, fake):
    """stty stops in the background, and nobody would see that."""
    shell.start("run", "r", "--", "sh", "-c", "ps -o stat= -p $$ | grep -o +; stty -echo")
    granted(fake)
    assert shell.line() == "+"
    assert shell.do("wait") == ["exited", 0]


def test_the_terminal_is_taken_back(shell, fake):
    shell.start("run", "r", "--", "sh", "-c", "echo ready; read line")
    job = ready(shell, fake)
    assert shell.do("foreground") == job
    # A script goes on in the wrapper's group after the job: it must be able to read.
    second = ["sh", "-c", '"$@"; read line; echo script read $line', "sh"]
    shell.press(b"x\n")
    assert shell.do("wait") == ["exited", 0]
    shell.do("start", *second, shell.berth.path, "run", "r", "--", "true")
    granted(fake)
    shell.press(b"more\n")
    assert shell.line() == "script read more"
    assert shell.do("wait") == ["exited", 0]


@pytest.mark.parametrize("key, number", [(INTERRUPT, signal.SIGINT), (QUIT, signal.SIGQUIT)])
def test_a_key_ends_the_job(shell, fake, key, number):
    shell.start("run", "r", "--", "sh", "-c", "ulimit -c 0; echo ready; exec sleep 1000")
    peer, _ = granted(fake)
    assert shell.line() == "ready"
    shell.press(key)
    assert shell.do("wait") == ["killed", number]
    assert peer.line() == f"release 1 signal={number:d}"


def test_a_job_may_survive_the_interrupt(shell, fake):
    shell.start("run", "r", "--", *REPORT)
    job = ready(shell, fake)
    shell.press(INTERRUPT)
    assert shell.line() == "SIGINT"  # once: the wrapper's group has not got it
    ends_at_sigterm(shell, job)


def test_an_interrupt_while_waiting(shell, fake):
    shell.start("run", "-v", "r", "--", "true")
    peer = fake.queue()
    assert shell.line() == "berth: queued, place 1"
    shell.press(INTERRUPT)
    assert shell.do("wait") == ["killed", signal.SIGINT]
    assert peer.line() == ""


def test_an_interrupt_ends_the_script_too(shell, fake):
    """As if the job were in the script's own process group: the script ends too."""
    shell.do("start", "sh", "-c", 'for i in 1 2; do "$@"; done; echo goes on', "sh",
             shell.berth.path, "run", "r", "--", "sh", "-c", "echo ready; exec sleep 1000")
    ready(shell, fake)
    shell.press(INTERRUPT)
    assert shell.do("wait") == ["killed", signal.SIGINT]


def test_suspend_and_foreground(shell, fake):
    wrapper = shell.start("run", "r", "--", *REPORT)
    job = ready(shell, fake)
    for _ in range(2):
        assert shell.do("foreground") == job
        suspend(shell)
        assert pathlib.Path(f"/proc/{job}/stat").read_text().split()[2] == "T"
        shell.do("fg")
        assert shell.line() == "SIGCONT"
    assert shell.do("foreground") == job
    ends_at_sigterm(shell, wrapper)


def test_suspend_and_background(shell, fake):
    wrapper = shell.start("run", "r", "--", *REPORT)
    ready(shell, fake)
    suspend(shell)
    shell.do("bg")
    assert shell.line() == "SIGCONT"
    assert shell.do("foreground") == shell.process.pid
    ends_at_sigterm(shell, wrapper)


def test_suspend_stops_the_script_too(shell, fake):
    """Otherwise the shell would never learn that there is a job to bring to the foreground."""
    shell.do("start", "sh", "-c", '"$@"; echo script goes on', "sh",
             shell.berth.path, "run", "r", "--", *REPORT)
    job = ready(shell, fake)
    suspend(shell)
    shell.do("fg")
    assert shell.line() == "SIGCONT"
    os.kill(job, signal.SIGTERM)
    assert shell.line() == "SIGTERM"
    assert shell.line() == "script goes on"
    assert shell.do("wait") == ["exited", 0]


def suspended_in_vfork(shell, fake):
    """As the input of a pipeline, berth has the terminal and gets ^Z. A job in vfork() cannot stop
    while its child is stopped: nobody would ever see that it has."""
    shell.do("start", "sh", "-c", 'exec "$@" </dev/null', "sh",
             shell.berth.path, "run", "r", "--", *VFORK)
    job = ready(shell, fake)
    suspend(shell)
    return job


def test_suspend_while_the_job_cannot_stop(shell, fake):
    job = suspended_in_vfork(shell, fake)
    shell.do("fg")
    os.killpg(job, signal.SIGTERM)
    assert shell.do("wait") == ["killed", signal.SIGTERM]


def test_a_job_that_stops_late(shell, fake):
    """What berth learns about that after it has been continued stops nobody again."""
    job = suspended_in_vfork(shell, fake)
    child = int(pathlib.Path(f"/proc/{job}/task/{job}/children").read_text())
    os.kill(child, signal.SIGKILL)
    wait_until_stopped(job)
    shell.do("fg")
    assert shell.do("wait") == ["exited", 0]
    os.killpg(job, signal.SIGKILL)


def test_a_job_may_survive_a_suspend(shell, fake):
    wrapper = shell.start("run", "r", "--", *REPORT, "SIGTSTP", how="start-background")
    ready(shell, fake)
    os.kill(wrapper, signal.SIGTSTP)
    assert shell.line() == "SIGTSTP"
    assert shell.line() == "SIGALRM"  # berth has waited long enough for a stop
    ends_at_sigterm(shell, wrapper)


def test_suspend_while_waiting(shell, fake):
    shell.start("run", "-v", "r", "--", "sh", "-c", "read line; echo got $line")
    peer = fake.queue()
    assert shell.line() == "berth: queued, place 1"
    suspend(shell)
    shell.do("fg")
    peer.send("* granted 1 slot=r,1,0\n")
    assert shell.line() == "berth: granted r slot 0 (token 1), lease 1"
    gets_a_line(shell)


def test_granted_in_the_background(shell, fake):
    """Takes no terminal away from the shell; reading stops it; fg gives it the terminal."""
    shell.start("run", "r", "--", "sh", "-c", "echo ready; read line; echo got $line",
                how="start-background")
    ready(shell, fake)
    assert shell.do("foreground") == shell.process.pid
    assert shell.do("wait") == ["stopped", signal.SIGTTIN]
    shell.do("fg")
    gets_a_line(shell)


def test_the_terminal_on_demand(shell, fake):
    """As a pager in a pipeline: stdin is something else, and the job opens the terminal itself."""
    shell.do("start", "sh", "-c", 'echo data | "$@"', "sh", shell.berth.path, "run", "r", "--",
             "sh", "-c", "echo ready; read line </dev/tty; echo got $line")
    ready(shell, fake)
    gets_a_line(shell)


def test_parallel_jobs_leave_the_terminal_alone(shell, fake):
    """As under xargs, whose jobs have no stdin: ^C must reach xargs and all of them."""
    leader = shell.do(
        "start", "sh", "-c", 'printf "1\\n2\\n" | xargs -P 2 -n 1 "$@"', "sh", shell.berth.path,
        "run", "r", "--", "sh", "-c", "echo ready; exec sleep 1000")
    peers = [granted(fake)[0], granted(fake)[0]]
    assert [shell.line(), shell.line()] == ["ready", "ready"]
    assert shell.do("foreground") == leader
    shell.press(INTERRUPT)
    assert shell.do("wait") == ["killed", signal.SIGINT]
    for peer in peers:
        assert peer.line() == "release 1 signal=2"


def test_nested(shell, fake):
    shell.start("run", "r", "--", shell.berth.path, "run", "r", "--", *REPORT)
    granted(fake)
    job = ready(shell, fake)
    assert shell.do("foreground") == job
    suspend(shell)
    shell.do("fg")
    assert shell.line() == "SIGCONT"
    assert shell.do("foreground") == job
    shell.press(INTERRUPT)
    assert shell.line() == "SIGINT"
    ends_at_sigterm(shell, job)


def test_suspend_where_nobody_could_continue(berth, fake):
    """As `ssh -t host berth run ...`: the wrapper leads the session, so the kernel would drop the
    stop of a job that had no wrapper."""
    terminal, inside = pty.openpty()
    process = subprocess.Popen(
        [berth.path, "run", "r", "--", *REPORT], stdin=inside, stdout=inside, stderr=inside,
        env=berth.environ, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(inside)
    granted(fake)
    assert read_line(terminal).strip() == "ready"
    os.write(terminal, SUSPEND)
    assert read_line(terminal).strip().removeprefix("^Z") == "SIGCONT"
    process.send_signal(signal.SIGTERM)
    assert read_line(terminal).strip() == "SIGTERM"
    assert process.wait() == 7
    os.close(terminal)

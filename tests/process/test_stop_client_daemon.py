"""berth run and berthd together: jobs stopped because their lease is gone, and jobs that are not."""

import os
import re
import signal
import subprocess
import sys

import pytest

from conftest import error_of, read_line
from daemon_help import status
from lines import DEADLINE
from lost_help import asked_until, main_is_gone

CONFIG = """
[lock deploy]
kill-after = 300ms
[lock patient]
kill-after = 20s
[lock free]
on-lost = warn
[lock short]
max-hold = 2s ; within which Python starts
kill-after = 500ms
[lock short-free]
max-hold = 300ms
on-lost = warn
"""

REPORT = [sys.executable, os.path.join(os.path.dirname(__file__), "report_signals.py")]
STUBBORN = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1000; done"]


def start(berth, name, command, *args):
    process = berth.start("run", *args, name, "--", *command, env={"PATH": os.environ["PATH"]})
    assert read_line(process.stdout) == "ready"
    return process


def holder_of(daemon, name):
    return [line.split(" ")[1] for line in daemon.client().lines(f"status {name}")
            if line.startswith("holder ")]


def is_free(berth, name):
    return berth("run", "-n", name, "--", "true").returncode == 0


@pytest.mark.parametrize("job", [REPORT, STUBBORN])
def test_revoked(berth, daemon, job):
    """The units are free only when the job is gone."""
    process = start(berth, "deploy", job)
    waiter = berth.start("run", "deploy", "--", "sh", "-c", f"kill -0 {process.pid} && echo on")
    [lease] = holder_of(daemon, "deploy")
    assert daemon.client().request(f"revoke {lease}") == "ok"
    error = error_of(process, 124)
    assert error.startswith("berth: stopping the job: ") and error.endswith("(revoked)\n")
    assert error.count("\n") == 1
    assert waiter.wait(DEADLINE) in (0, 1)


def test_held_for_too_long(berth, daemon):
    process = start(berth, "short", STUBBORN)
    error = error_of(process, 124)
    assert re.fullmatch(r"berth: stopping the job: short: held for \d+m?s, as long as max-hold allows \(max-hold\)\n",
                        error), error
    assert re.search(r"lease \w+ \(short, process \d+\) reached max-hold: it was held for \d+m?s$",
                     daemon.log.read_text(), re.M)
    assert is_free(berth, "short")


def test_revoked_while_it_is_stopped(berth, daemon):
    """berthd has killed the job by the time berth is continued and hears why."""
    process = berth.start(  # a shell that forks just then could not be stopped by the signal
        "run", "deploy", "--", "sh", "-c", "trap '' TERM; echo ready; read line",
        stdin=subprocess.PIPE, process_group=0)
    assert read_line(process.stdout) == "ready"
    process.send_signal(signal.SIGTSTP)
    assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
    client = daemon.client()
    lease, = status(client).holders("deploy")
    assert client.request(f"revoke {lease}") == "ok"
    asked_until(daemon, lambda now: now.held == 0)
    process.send_signal(signal.SIGCONT)
    assert process.wait(DEADLINE) == 124
    assert "revoked" in process.stderr.read().decode()


def test_held_for_too_long_while_berthd_is_stopped(berth, daemon):
    """The wrapper knows the deadline, and needs nobody."""
    process = start(berth, "short", STUBBORN)
    daemon.signal(signal.SIGSTOP)
    try:
        assert process.wait(DEADLINE) == 124
    finally:
        daemon.signal(signal.SIGCONT)
    assert process.stderr.read().decode().endswith("(deadline)\n")
    assert is_free(berth, "short")


@pytest.mark.parametrize("name, code", [("free", "revoked"), ("short-free", "max-hold")])
def test_only_warned(berth, daemon, name, code):
    process = start(berth, name, REPORT)
    if code == "revoked":
        [lease] = holder_of(daemon, name)
        assert daemon.client().request(f"revoke {lease}") == "ok"
    line = read_line(process.stderr)
    assert line.startswith("berth: ") and line.endswith(f"({code}); the job runs on")
    assert is_free(berth, name) or code == "max-hold"
    process.send_signal(signal.SIGTERM)
    assert error_of(process, 7) == ""


def test_dropped(berth, daemon):
    process = start(berth, "deploy", REPORT)
    [lease] = holder_of(daemon, "deploy")
    assert daemon.client().request(f"drop {lease}") == "ok"
    line = read_line(process.stderr)
    assert line.startswith("berth: lost the lease: ")
    assert line.endswith("(dropped); the job runs on")
    assert is_free(berth, "deploy")
    process.send_signal(signal.SIGTERM)
    assert error_of(process, 7) == ""


def test_dropped_while_the_wrapper_is_stopped(berth, daemon):
    """Nobody could tell it: the reclaim is refused."""
    process = start(berth, "deploy", REPORT)
    process.send_signal(signal.SIGSTOP)
    daemon.kill()
    daemon.start()
    lease = [line.split(" ")[1] for line in daemon.client().lines("status deploy")
             if line.startswith("holder ")][0]
    assert daemon.client().request(f"drop {lease}") == "ok"
    process.send_signal(signal.SIGCONT)
    error = error_of(process, 124)
    assert error.startswith("berth: stopping the job: lost the lease: ")
    assert error.endswith("(lost)\n")


def test_revoked_while_the_wrapper_is_stopped(berth, daemon):
    """The wrapper is told when it is back; unless the job has already obeyed the signal that berthd
    sends itself to a lease without a client, and has ended with its own status."""
    process = start(berth, "patient", REPORT)
    process.send_signal(signal.SIGSTOP)
    daemon.kill()
    daemon.start()
    [lease] = holder_of(daemon, "patient")
    assert daemon.client().request(f"revoke {lease}") == "ok"
    process.send_signal(signal.SIGCONT)
    assert process.wait(DEADLINE) in (7, 124)
    assert is_free(berth, "patient")


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_a_tree_over_a_restart(berth, daemon, directory, way):
    """The main process is gone, so only the wrapper keeps the lease."""
    os.mkfifo(directory / "fifo")
    process = berth.start(
        "run", "--tree", "deploy", "--", "sh", "-c",
        f"setsid sh -c 'read x <{directory}/fifo' & echo ready; exit 6")
    assert read_line(process.stdout) == "ready"
    asked_until(daemon, lambda now: main_is_gone(now, "deploy", process.pid))
    getattr(daemon, way)()
    daemon.start()
    assert berth("run", "-n", "deploy", "--", "true").returncode == 75
    assert process.poll() is None
    with open(directory / "fifo", "w"):
        pass
    assert error_of(process, 6) == ""
    assert is_free(berth, "deploy")


def test_the_job_outlives_its_killed_wrapper(berth, berthd, directory):
    """And keeps the lease."""
    berthd(CONFIG)
    process = berth.start("run", "deploy", "--", "sh", "-c", "echo ready; read line",
                          stdin=subprocess.PIPE)
    assert read_line(process.stdout) == "ready"
    process.kill()
    process.wait(DEADLINE)
    assert not is_free(berth, "deploy")
    process.stdin.close()
    process.stdin = None
    assert berth("run", "-w", str(DEADLINE), "deploy", "--", "true").returncode == 0

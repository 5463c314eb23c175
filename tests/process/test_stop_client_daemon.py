"""berth run and berthd together: jobs stopped because their lease is gone, and jobs that are not."""

import os
import re
import signal
import subprocess
import sys


from conftest import error_of, read_line
from daemon_help import status
from lines import DEADLINE
from lost_help import asked_until, restart

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

"""

REPORT = [sys.executable, os.path.join(os.path.dirname(__file__), "report_signals.py")]
STUBBORN = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1000; done"]


def start(berth, name, command, *args):
    process = berth.start("run", *args, name, "--", *command, env={"PATH": os.environ["PATH"]})
    assert read_line(process.stdout) == "ready"
    return process


def holder_of(daemon, name):
    lease, = status(daemon.client()).holders(name)
    return lease


def is_free(berth, name):
    return berth("run", "-n", name, "--", "true").returncode == 0


def test_revoked(berth, daemon):
    """The units are free only when the job is gone."""
    process = start(berth, "deploy", STUBBORN)
    waiter = berth.start("run", "deploy", "--", "sh", "-c", f"kill -0 {process.pid} && echo on")
    assert daemon.client().request(f"revoke {holder_of(daemon, 'deploy')}") == "ok"
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
    assert daemon.client().request(f"revoke {holder_of(daemon, 'deploy')}") == "ok"
    asked_until(daemon, lambda now: now.held == 0)
    process.send_signal(signal.SIGCONT)
    assert process.wait(DEADLINE) == 124
    assert "revoked" in process.stderr.read().decode()


def test_only_warned(berth, daemon):
    process = start(berth, "free", REPORT)
    assert daemon.client().request(f"revoke {holder_of(daemon, 'free')}") == "ok"
    line = read_line(process.stderr)
    assert line.startswith("berth: ") and line.endswith("(revoked); the job runs on")
    assert is_free(berth, "free")
    process.send_signal(signal.SIGTERM)
    assert error_of(process, 7) == ""


def test_dropped_while_the_wrapper_is_stopped(berth, daemon):
    """Nobody could tell it: the reclaim is refused."""
    process = start(berth, "deploy", REPORT)
    process.send_signal(signal.SIGSTOP)
    restart(daemon, "kill")
    assert daemon.client().request(f"drop {holder_of(daemon, 'deploy')}") == "ok"
    process.send_signal(signal.SIGCONT)
    error = error_of(process, 124)
    assert error.startswith("berth: stopping the job: lost the lease: ")
    assert error.endswith("(lost)\n")


def test_revoked_while_the_wrapper_is_stopped(berth, daemon):
    """The wrapper is told when it is back; unless the job has already obeyed the signal that berthd
    sends itself to a lease without a client, and has ended with its own status."""
    process = start(berth, "patient", REPORT)
    process.send_signal(signal.SIGSTOP)
    restart(daemon, "kill")
    assert daemon.client().request(f"revoke {holder_of(daemon, 'patient')}") == "ok"
    process.send_signal(signal.SIGCONT)
    assert process.wait(DEADLINE) in (7, 124)
    assert is_free(berth, "patient")

"""berth run: the line that it rewrites on a terminal while it waits. (When, and what it says: tests/unit/test_wait_report.c.)"""

import os
import re
import select
import signal
import time

import pytest

from lines import DEADLINE
from terminal_help import INTERRUPT, SUSPEND, Shell

TOLD = r"berth: waiting for r; place 2 in the queue\n"
LIVE = r"\rberth: waited \d+s; place 2 in the queue\x1b\[K"
GONE = r"\r\x1b\[K"


@pytest.fixture
def shell(berth):
    berth.environ["TERM"] = "xterm"
    shell = Shell(berth)
    yield shell
    shell.end()


def shown(shell, end):
    """What the terminal shows, up to and with what the pattern `end` says."""
    text, until = "", time.monotonic() + DEADLINE
    while not re.search(end, text):
        readable, _, _ = select.select([shell.terminal], [], [], max(until - time.monotonic(), 0))
        assert readable, f"nothing came; so far: {text!r}"
        text += os.read(shell.terminal, 1).decode()
    return text


def waits(shell, fake, how="start"):
    """A berth run that has told that it waits; returns its connection."""
    shell.start("run", "r", "--", "sh", "-c", "echo my turn", how=how)
    peer = fake.queue("waiting 1 position=2")
    assert peer.line() == "why lease=1"
    peer.send("ok is=waiting lease=1 position=2\nbrief r;%20place%202%20in%20the%20queue\nend\n")
    assert re.fullmatch(TOLD, shown(shell, r"\n"))
    return peer


def test_the_job_finds_an_empty_line(shell, fake):
    peer = waits(shell, fake)
    assert re.fullmatch(LIVE * 2, shown(shell, LIVE * 2))  # a second later, the time has moved
    peer.send("* granted 1 slot=r,1,0\n")
    assert re.fullmatch(f"({LIVE})*{GONE}berth: got r after \\d+s\nmy turn\n", shown(shell, "turn\n"))
    assert shell.do("wait") == ["exited", 0]


def test_the_shell_finds_an_empty_line(shell, fake):
    waits(shell, fake)
    shown(shell, LIVE)
    shell.press(INTERRUPT)
    assert re.fullmatch(f"({LIVE})*{GONE}", shown(shell, GONE))
    assert shell.do("wait") == ["killed", signal.SIGINT]


def test_suspended_and_continued(shell, fake):
    peer = waits(shell, fake)
    shown(shell, LIVE)
    shell.press(SUSPEND)
    assert peer.line() == "away 1"
    peer.send("ok\n")
    assert shell.do("wait") == ["stopped", signal.SIGTSTP]
    assert re.fullmatch(f"({LIVE})*{GONE}", shown(shell, GONE))
    shell.do("fg")
    assert peer.line() == "back 1"
    peer.send("ok\n")
    assert re.fullmatch(LIVE, shown(shell, LIVE))
    peer.send("* granted 1 slot=r,1,0\n")
    shown(shell, "my turn\n")
    assert shell.do("wait") == ["exited", 0]


def test_in_the_background(shell, fake):
    """Nothing is written over what the user types into the shell."""
    peer = waits(shell, fake, "start-background")
    peer.send("* granted 1 slot=r,1,0\n")
    assert re.fullmatch("berth: got r after \\d+s\nmy turn\n", shown(shell, "turn\n"))
    assert shell.do("wait") == ["exited", 0]


def test_a_command_that_cannot_be_executed(shell, fake, directory):
    """The job's process says so, and the wrapper has erased the line before."""
    (directory / "script").write_text("#!/nowhere/sh\n")
    (directory / "script").chmod(0o700)
    shell.start("run", "r", "--", "./script")
    peer = fake.queue("waiting 1 position=2")
    assert peer.line() == "why lease=1"
    peer.send("ok is=waiting lease=1 position=2\nbrief r;%20place%202%20in%20the%20queue\nend\n")
    shown(shell, LIVE)
    peer.send("* granted 1 slot=r,1,0\n")
    assert re.fullmatch(f"({LIVE})*{GONE}berth: got r after \\d+s\nberth: ./script: .*\n",
                        shown(shell, r"script: .*\n"))
    assert shell.do("wait") == ["exited", 127]


def test_in_a_group_that_another_leads(shell, fake):
    """Below an xargs or a make, many would rewrite one line."""
    shell.do("start", "/bin/sh", "-c", '"$0" run r -- true; echo done', shell.berth.path)
    peer = fake.queue("waiting 1 position=2")
    assert peer.line() == "why lease=1"
    peer.send("ok is=waiting lease=1 position=2\nbrief r;%20place%202%20in%20the%20queue\nend\n")
    assert re.fullmatch(TOLD, shown(shell, r"\n"))
    peer.send("* granted 1 slot=r,1,0\n")
    assert re.fullmatch("berth: got r after \\d+s\ndone\n", shown(shell, "done\n"))
    assert shell.do("wait") == ["exited", 0]

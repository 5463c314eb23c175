"""Clients of Berth in the conversations of tests/conformance: the library for Python, with threads and in asyncio, and
one of a few lines in Perl; or the driver that $BERTH_DRIVER names."""

import os
import re
import select
import shlex
import socket
import subprocess
import sys
import time

import pytest

from documents import SOURCE
from fake_berthd import FakeBerthd, boottime
from lines import DEADLINE, LineSocket
from lost_help import lose_the_journal, restart

FOLDER = SOURCE / "tests/conformance"
PYTHON = [sys.executable, str(FOLDER / "driver.py")]
DRIVERS = {"python": PYTHON, "aio": [*PYTHON, "aio"], "perl": ["perl", str(FOLDER / "driver.pl")]}
if "BERTH_DRIVER" in os.environ:
    DRIVERS = {"given": shlex.split(os.environ["BERTH_DRIVER"])}
CAN = {"cancel", "lost", "deadline", "proof", "several"}
QUIET = 0.3  # seconds


class Conversation:
    def __init__(self, path):
        head, self.configuration, body = re.fullmatch(
            r"(# [^\n]*\nneeds:[^\n]*\non: [^\n]*\n)((?:.+\n)*)\n(.*)", path.read_text(), re.S).groups()
        self.needs = set(re.search(r"^needs:(.*)$", head, re.M)[1].split())
        self.on = re.search(r"^on: (.*)$", head, re.M)[1]
        assert self.on in ("fake", "berthd")
        self.steps = [line.partition(" ")[::2] for line in body.splitlines()]
        assert self.needs <= CAN


CONVERSATIONS = {path.stem: Conversation(path) for path in sorted(FOLDER.glob("*.txt"))}


class Match:
    """Words against a pattern; what is bound stays bound."""

    def __init__(self):
        self.bound = {}

    def word(self, pattern, word):
        before, is_name, name = pattern.partition("$")
        if not is_name:
            return re.fullmatch(re.escape(pattern).replace(r"\*", r".*"), word) is not None
        return word.startswith(before) and self.bound.setdefault(name, word[len(before):]) == word[len(before):]

    def in_order(self, pattern, words):
        is_open = pattern[-1] == "…"
        pattern = pattern[:-1] if is_open else pattern
        return (len(words) >= len(pattern) if is_open else len(words) == len(pattern)) and all(
            map(self.word, pattern, words))

    def request(self, pattern, words):
        """The first word, a lease's id behind it, and the other ones anywhere."""
        is_open = pattern[-1] == "…"
        pattern = [one for one in pattern if one != "…"]
        return (pattern[0] == words[0] and (is_open or len(words) == len(pattern))
                and all(any(self.word(one, word) for word in words[1:]) for one in pattern[1:]))

    def filled(self, line):
        line = re.sub(r"@([\d.]+)", lambda at: str(boottime(float(at[1]))), line)
        return re.sub(r"\$(\w+)", lambda name: self.bound[name[1]], line)


class Driver:
    def __init__(self, command, path):
        here, there = socket.socketpair()
        self.stdin, stdin = socket.socketpair()
        environ = {**os.environ, "BERTH_SOCKET": str(path), "PYTHONPATH": str(SOURCE / "python")}
        environ.pop("BERTH_LEASE", None)
        self.process = subprocess.Popen(command, stdin=stdin, stdout=there, stderr=subprocess.PIPE, env=environ)
        stdin.close()
        there.close()
        self.lines = LineSocket(here)
        word, self.name, *can = self.lines.line().split()
        assert word == "driver" and CAN.issuperset(can)
        self.can = set(can)

    def close(self):
        self.stdin.close()
        try:
            _, err = self.process.communicate(timeout=DEADLINE)
        finally:
            self.process.kill()
            self.lines.close()
        warned = [line for line in err.decode().splitlines() if not line.startswith(("lost the lease", "lease "))]
        assert not warned, err.decode()


class Stage:
    """Where a conversation is held, step by step."""

    def __init__(self, path, make_daemon, driver, conversation):
        self.match = Match()
        self.path = path
        self.peer = None
        self.fake = self.daemon = None
        if conversation.on == "fake":
            self.fake = FakeBerthd(path)
        else:
            self.daemon = make_daemon(conversation.configuration)
            self.other = self.daemon.client()
        self.driver = driver

    def says(self, patterns):
        """The driver says these, in any order."""
        left = [pattern.split() for pattern in patterns]
        while left:
            words = self.driver.lines.line().split()
            found = [pattern for pattern in left if self.match.in_order(pattern, words)]
            assert found, (words, left)
            left.remove(found[0])

    def hears(self, pattern):
        if self.peer is None:
            self.peer = self.fake.accept()
        words = self.peer.line().split()
        assert words and self.match.request(pattern.split(), words), (words, pattern)

    def is_quiet(self):
        sockets = [self.driver.lines.socket, *([self.peer.socket] if self.peer else [])]
        assert not self.driver.lines.buffer and not (self.peer and self.peer.buffer)
        ready, _, _ = select.select(sockets, [], [], QUIET)
        assert not ready, ready[0].recv(4096)

    def close_peer(self):
        if self.peer:
            self.peer.close()
            self.peer = None

    def step(self, verb, rest):
        if verb == ">":
            self.driver.stdin.sendall(rest.encode() + b"\n")
        elif verb == "?":
            self.hears(rest)
        elif verb == "!":
            self.peer.send(self.match.filled(rest) + "\n")
        elif verb == "!-":
            self.peer.send(self.match.filled(rest))
        elif verb == "close":
            self.close_peer()
        elif verb == "down":
            self.fake.gone()
            self.close_peer()
        elif verb == "up":
            self.fake = FakeBerthd(self.path)
        elif verb == "nothing":
            self.is_quiet()
        elif verb in ("restart", "lose"):
            self.other.close()
            if verb == "lose":
                lose_the_journal(self.daemon)
            else:
                restart(self.daemon, "kill")
            self.other = self.daemon.client()
        elif verb == "revoke":
            operator = self.daemon.client()
            assert operator.request(self.match.filled(f"revoke {rest}")) == "ok"
            operator.close()
        elif verb == "other":
            self.other.send(self.match.filled(rest) + "\n")
        elif verb == "other<":
            words = self.other.line().split()
            assert self.match.in_order(rest.split(), words), (words, rest)
        else:
            raise AssertionError(f"no step: {verb}")

    def run(self, steps):
        together = []
        for verb, rest in [*steps, ("", "")]:
            if together and verb != "<|":
                self.says(together)
                together = []
            if verb == "<|":
                together.append(rest)
            elif verb == "<":
                self.says([rest])
            elif verb:
                self.step(verb, rest)

    def close(self):
        self.close_peer()
        if self.fake:
            self.fake.close()


@pytest.mark.parametrize("name", sorted(CONVERSATIONS))
@pytest.mark.parametrize("driver", sorted(DRIVERS))
def test_conversation(driver, name, directory, berthd):
    conversation = CONVERSATIONS[name]
    driver = Driver(DRIVERS[driver], directory / "s")
    stage = None
    try:
        if not conversation.needs <= driver.can:
            pytest.skip(f"{driver.name} need not {', '.join(sorted(conversation.needs - driver.can))}")
        stage = Stage(directory / "s", berthd, driver, conversation)
        stage.run(conversation.steps)
    finally:
        if stage:
            stage.close()
        driver.close()

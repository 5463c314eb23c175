"""The clients of doc/protocol.md, taken from the page as printed there."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

from conftest import read_line
from daemon_help import event, held, status, stopped, waits
from lines import DEADLINE
from lost_help import asked_until, lose_the_journal, restart, sleeper

SOURCE = pathlib.Path(os.environ.get("BERTH_SOURCE_DIR", "."))
INTERPRETERS = {"python": ["/usr/bin/python3", "-c"], "perl": ["perl", "-e"], "bash": ["bash", "-c"]}
MAX_LINES = {"python": 50, "perl": 20, "bash": 20}

page = (SOURCE / "doc/protocol.md").read_text()
clients = dict(re.findall(r"^```(python|perl|bash)\n(.*?)^```$", page, re.M | re.S))

CONFIG = "grace = 200ms\n[semaphore place]\nlimit = 1\n"
WAITS = ("sh", "-c", "echo runs; read line")


@pytest.fixture
def start(directory):
    """start("perl", arguments…) starts the client that the page has in this language."""
    started = []

    def start(language, *args):
        text = clients[language]
        assert text.count("\n") <= MAX_LINES[language]
        name = ["client"] if language == "bash" else []  # $0 of bash -c
        started.append(subprocess.Popen(
            [*INTERPRETERS[language], text, *name, *args], bufsize=0,
            env={**os.environ, "BERTH_SOCKET": str(directory / "s")},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


@pytest.fixture(params=sorted(INTERPRETERS))
def client(request, start):
    return lambda *args: start(request.param, *args)


def end(process):
    """What it says to the end, and its status."""
    out, err = process.communicate(timeout=DEADLINE)
    return out.decode(), err.decode(), process.returncode


def holder(now):
    one, = now.resources["place"]["holders"]
    return one


def test_every_client_is_there():
    assert clients.keys() == INTERPRETERS.keys()


def test_runs_at_once_and_gives_back(daemon, client):
    out, err, code = end(client("place", "sh", "-c", "echo ran; exit 3"))
    assert (out, code) == ("ran\n", 3), err
    other = daemon.client()
    other.send("acquire place wait=30\n")
    assert other.line().split()[0] in ("ok", "waiting")


def test_waits_for_its_turn(daemon, client):
    first = daemon.client()
    lease = held(first, "acquire place")
    process = client("place", "echo", "ran")
    asked_until(daemon, lambda now: now.waiting == 1)
    assert first.request(f"release {lease}") == "ok"
    assert end(process)[0] == "ran\n"


def test_a_refusal_ends_it(daemon, client):
    out, err, code = end(client("nowhere", "echo", "ran"))
    assert out == "" and code != 0
    assert "unknown" in err


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_it_holds_its_place_over_a_restart(daemon, client, how):
    process = client("place", *WAITS)
    assert read_line(process.stdout) == "runs"
    restart(daemon, how)
    # The grace is over when this wait is, and leases without a process have ended.
    other = daemon.client()
    lease = waits(other, "acquire place wait=1")
    assert event(other) == ("denied", lease, "timeout")
    lease = waits(other, "acquire place")
    process.stdin.write(b"\n")
    assert event(other)[:2] == ("granted", lease)
    assert end(process)[2] == 0


def test_a_waiter_keeps_its_place_over_a_restart(berthd, client):
    daemon = berthd("[semaphore place]\nlimit = 1\n")
    with sleeper() as pid:
        held(daemon.client(), f"acquire place pid={pid}")
        process = client("place", *WAITS)
        first, = asked_until(daemon, lambda now: now.waiting == 1).waiters("place")
        restart(daemon, "kill")
        waits(daemon.client(), "acquire place", position=2)
        asked_until(daemon, lambda now: not any(
            "away" in waiter for waiter in now.resources["place"]["waiters"]))
    assert read_line(process.stdout) == "runs"
    assert holder(status(daemon.client()))["lease"] == first


def test_it_lasts_as_long_as_the_command(daemon, client):
    """However the program around it ends."""
    process = client("place", "sh", "-c", "echo runs; exec cat")
    assert read_line(process.stdout) == "runs"
    one = holder(status(daemon.client()))
    assert one["bound"] == "process"
    if int(one["pid"]) != process.pid:
        process.kill()
        process.wait()
        asked_until(daemon, lambda now: holder(now).get("away") == "1")
    os.kill(int(one["pid"]), signal.SIGKILL)
    asked_until(daemon, lambda now: now.held == 0)


def test_it_stops_at_a_revoke(daemon, client):
    process = client("place", "sh", "-c", "trap 'echo told; exit 5' TERM; echo runs; while :; do read line; done")
    assert read_line(process.stdout) == "runs"
    operator = daemon.client()
    lease = holder(status(operator))["lease"]
    other = daemon.client()
    waits(other, "acquire place")
    assert operator.request(f"revoke {lease}") == "ok"
    assert read_line(process.stdout) == "told"
    assert event(other)[0] == "granted"
    assert end(process)[2] == 5


def test_the_one_in_python_proves_its_lease(berthd, start):
    daemon = berthd("grace = 2s\n[semaphore place]\nlimit = 1\n")
    process = start("python", "place", *WAITS)
    assert read_line(process.stdout) == "runs"
    lease = holder(status(daemon.client()))["lease"]
    lose_the_journal(daemon)
    now = asked_until(daemon, lambda now: now.held == 1)
    assert now.holders("place") == [lease]
    process.stdin.write(b"\n")
    assert end(process)[2] == 0
    asked_until(daemon, lambda now: now.held == 0)


def test_the_one_in_python_stops_while_berthd_hangs(berthd, start):
    daemon = berthd("[semaphore place]\nlimit = 1\nmax-hold = 1s\n")
    process = start("python", "place", "sh", "-c", "trap 'echo told; exit 5' TERM; echo runs; while :; do read line; done")
    assert read_line(process.stdout) == "runs"
    with stopped(daemon):
        assert read_line(process.stdout) == "told"
        assert end(process)[2] == 5

"""The clients of doc/protocol.md, taken from the page as printed there."""

import os
import pathlib
import re
import subprocess
import time

import pytest

from lines import DEADLINE

SOURCE = pathlib.Path(os.environ.get("BERTH_SOURCE_DIR", "."))
INTERPRETERS = {"python": ["/usr/bin/python3", "-c"], "perl": ["perl", "-e"], "bash": ["bash", "-c"]}
MAX_LINES = 20

page = (SOURCE / "doc/protocol.md").read_text()
clients = dict(re.findall(r"^```(python|perl|bash)\n(.*?)^```$", page, re.M | re.S))

CONFIGURATION = "[semaphore place]\nlimit = 1\n"


@pytest.fixture(params=sorted(INTERPRETERS))
def client(request, directory):
    text = clients[request.param]
    assert text.count("\n") <= MAX_LINES
    name = ["client"] if request.param == "bash" else []  # $0 of bash -c

    def start(*args):
        return subprocess.Popen(
            [*INTERPRETERS[request.param], text, *name, *args], text=True,
            env={**os.environ, "BERTH_SOCKET": str(directory / "s")},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    return start


def test_every_client_is_there():
    assert clients.keys() == INTERPRETERS.keys()


def test_runs_at_once_and_gives_back(berthd, client):
    daemon = berthd(CONFIGURATION)
    process = client("place", "sh", "-c", "echo ran; exit 3")
    out, err = process.communicate(timeout=DEADLINE)
    assert (out, process.returncode) == ("ran\n", 3), err
    other = daemon.client()
    other.send("acquire place wait=30\n")
    assert other.line().split()[0] in ("ok", "waiting")


def test_waits_for_its_turn(berthd, client):
    daemon = berthd(CONFIGURATION)
    holder = daemon.client()
    holder.send("acquire place\n")
    lease = holder.line().split()[1]
    process = client("place", "echo", "ran")
    end = time.monotonic() + DEADLINE
    while "waiter " not in status(holder):
        assert process.poll() is None and time.monotonic() < end
    holder.send(f"release {lease}\n")
    assert holder.line() == "ok"
    assert process.communicate(timeout=DEADLINE)[0] == "ran\n"


def test_a_refusal_ends_it(berthd, client):
    berthd(CONFIGURATION)
    process = client("nowhere", "echo", "ran")
    out, err = process.communicate(timeout=DEADLINE)
    assert out == "" and process.returncode != 0
    assert "unknown" in err


def status(connection):
    connection.send("status\n")
    lines = []
    while not lines or lines[-1] != "end":
        lines.append(connection.line())
    return "\n".join(lines)

"""berth run: what it says while it waits."""

import re
import time

import pytest

from conftest import read_line
from lines import DEADLINE

ANSWERS = {
    "a line": ([
        "ok is=waiting lease=3k position=2 novelty=1",
        "brief r:%20held%20by%20pid%20812%20(make);%20place%202%20in%20the%20queue novelty=2",
        "novelty x=y",
        "because this%20one%20is%20not%20shown",
        "end"], "r: held by pid 812 (make); place 2 in the queue"),
    "what strangers say": ([
        "ok is=waiting lease=3k",
        "brief r:%20held%20by%20%1B%5B2Jme%0A%25y",
        "end"], "r: held by \\x1b[2Jme\\x0a%y"),
    "nonsense": ([
        "ok", "brief", "stops", "because", "brief %zz", "ok position=-1",
        "brief " + "n" * 3000, "end"], "n" * 1023),
}


@pytest.mark.parametrize("lines, said", ANSWERS.values(), ids=ANSWERS.keys())
def test_after_a_second(berth, fake, lines, said):
    process = berth.start("run", "r", "--", "true")
    queued = time.monotonic()
    peer = fake.queue("waiting 3k position=2")
    assert peer.line() == "why lease=3k"
    assert 0.9 < time.monotonic() - queued < 5
    peer.send("\n".join(lines) + "\n")
    assert read_line(process.stderr) == f"berth: waiting for {said}"
    peer.send("* granted 3k slot=r,1,0\n")
    assert process.wait(DEADLINE) == 0
    assert re.fullmatch(rb"berth: got r after \d+s\n", process.stderr.read())

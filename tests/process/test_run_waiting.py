"""berth run: what it says while it waits."""

import re
import time

import pytest

from conftest import read_line
from lines import DEADLINE

STATUS = {
    "a lock": ([
        "ok draining=0 held=1 waiting=3",
        "resource r kind=lock scope=host limit=1 in_use=1 free=0 waiting=3",
        "holder 1 units=0 token=1 pid=812 uid=1000 age=192999 program=make",
        "waiter 3k position=2 wants=1 pid=5 uid=0 age=1000 priority=0",
        "end"], "r: held by pid 812 (make, uid 1000) for 3m12s; place 2 in the queue"),
    "a semaphore": ([
        "ok draining=0 held=1 waiting=3",
        "resource r kind=semaphore scope=host limit=4 in_use=3 free=1 waiting=3 novelty=1",
        "holder 1 units=0-1 token=1 pid=812 uid=1000 age=999 holder=%1B%5B2Jme program=a%20b",
        "holder 2 units=3 token=1 pid=813 uid=1000 age=5",
        "waiter 3k position=1 wants=2 pid=5 uid=0 age=1000 priority=0",
        "novelty x=y",
        "end"], "r: 3 of 4 held by \\x1b[2Jme, pid 812 (a b, uid 1000) for 0s, and others, 2 wanted; "
                "place 1 in the queue"),
    "cooling and reserved": ([
        "ok draining=0 held=0 waiting=2",
        "resource r kind=semaphore scope=host limit=9 in_use=1 free=0 waiting=1 cooling=3 reserved=2,4-6,8,...",
        "holder 1 units=0 token=1 pid=812 uid=1000 age=90061000",
        "waiter 3k position=1 wants=1 pid=5 uid=0 age=1000 priority=0",
        "resource s kind=lock scope=host limit=1 in_use=0 free=0 waiting=1 cooling=1",
        "waiter 3k position=1 wants=1 pid=5 uid=0 age=1000 priority=0",
        "end"], "r: 1 of 9 held by pid 812 (uid 1000) for 1d01h, 3 cooling down, 6 reserved; "
                "s: 1 cooling down; place 1 in the queue"),
    "reserved items": ([
        "ok draining=0 held=0 waiting=1",
        "resource r kind=pool scope=host limit=9 in_use=0 free=0 waiting=1 reserved=3-7,8",
        "waiter 3k position=1 wants=1 pid=5 uid=0 age=1000 priority=0",
        "end"], "r: 0 of 9 held, 2 reserved; place 1 in the queue"),
    "a limit that was lowered": ([
        "ok draining=0 held=0 waiting=1",
        "resource r kind=semaphore scope=host limit=1 in_use=0 free=1 waiting=1 changed=limit",
        "waiter 3k position=1 wants=2 pid=5 uid=0 age=1000 priority=0 blocked=other blocker=r",
        "end"], "r: 0 of 1 held, 2 wanted; place 1 in the queue"),
    "paused without a reason": ([
        "ok draining=0 held=0 waiting=1",
        "resource r kind=lock scope=host limit=1 in_use=0 free=0 waiting=1 paused=1",
        "waiter 3k position=1 wants=1 pid=5 uid=0 age=1000 priority=0 blocked=other blocker=r",
        "end"], "r: paused; place 1 in the queue"),
    "one of two": ([
        "ok draining=0 held=0 waiting=1",
        "resource r kind=lock scope=host limit=1 in_use=0 free=1 waiting=1",
        "waiter 3k position=1 wants=1 pid=5 uid=0 age=1000 priority=0 blocked=other blocker=s",
        "resource s kind=lock scope=host limit=0 in_use=0 free=0 waiting=1",
        "waiter 3k position=1 wants=1 pid=5 uid=0 age=1000 priority=0 blocked=other blocker=s",
        "end"], "r; s: closed (its limit is 0); place 1 in the queue; lacks s"),
    "several, paused and closed": ([
        "ok draining=0 held=1 waiting=3",
        "resource r kind=pool scope=host limit=2 in_use=0 free=2 waiting=1 paused=1 reason=x%25y",
        "waiter 3k position=1 wants=1 pid=5 uid=0 age=1000 priority=0",
        "resource s/t kind=pool scope=host limit=0 in_use=0 free=0 waiting=1",
        "waiter 3k position=7 wants=1 pid=5 uid=0 age=1000 priority=0",
        "resource u kind=lock scope=host limit=1 in_use=0 free=1 waiting=1",
        "waiter zz position=9 wants=1 pid=5 uid=0 age=1000 priority=0",
        "end"], "r: paused (x%y); s/t: closed (its limit is 0); u; place 7 in the queue"),
    "nonsense": ([
        "ok", "resource", "holder", "waiter", "holder 1 age=x pid= uid", "waiter 3k position=-1",
        "resource " + "n" * 3000 + " limit=18446744073709551616",
        "holder 1 age=99999999999999 program=" + "p" * 3000, "end"],
        "n" * 128 + ": closed (its limit is 0)"),
}


@pytest.mark.parametrize("lines, said", STATUS.values(), ids=STATUS.keys())
def test_after_a_second(berth, fake, lines, said):
    process = berth.start("run", "r", "--", "true")
    peer = fake.queue("waiting 3k position=2")
    queued = time.monotonic()
    assert peer.line() == "status lease=3k"
    assert 0.9 < time.monotonic() - queued < 5
    peer.send("\n".join(lines) + "\n")
    assert read_line(process.stderr) == f"berth: waiting for {said}"
    peer.send("* granted 3k slot=r,1,0\n")
    assert process.wait(DEADLINE) == 0
    assert re.fullmatch(rb"berth: got r after \d+s\n", process.stderr.read())


def test_quiet(berth, fake):
    process = berth.start("run", "-q", "-w", "1.3", "r", "--", "true")
    peer = fake.queue()
    assert peer.line() == ""  # it times out without having asked who holds it
    assert process.wait(DEADLINE) == 75
    assert process.stderr.read() == b""


def test_granted_while_it_asks(berth, fake):
    process = berth.start("run", "r", "--", "true")
    peer = fake.queue("waiting 3k position=2")
    assert peer.line() == "status lease=3k"
    peer.send("* granted 3k slot=r,1,0\nok draining=0 held=1 waiting=0\nend\n")
    assert process.wait(DEADLINE) == 0
    assert process.stderr.read() == b""


def test_a_refused_status_is_not_spoken_of(berth, fake):
    process = berth.start("run", "r", "--", "true")
    peer = fake.queue("waiting 3k position=2")
    assert peer.line() == "status lease=3k"
    peer.send("error unknown x\n* granted 3k slot=r,1,0\n")
    assert process.wait(DEADLINE) == 0
    assert process.stderr.read() == b""

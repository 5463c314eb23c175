"""berth run: the connection is lost and comes back; the job and the place in the queue stay."""

import signal
import time

import pytest

from conftest import error_of, read_line
from fake_berthd import FakeBerthd
from lines import DEADLINE

JOB = ["sh", "-c", "echo ready $$; read line; exit 6"]


def running(berth, fake, *args, answer="ok 1 slot=r,5,0"):
    """A job that runs until end(): the process, its connection, the words of the request, its pid."""
    process = berth.start("run", *(args or ["r"]), "--", *JOB, stdin=-1)
    peer, words = fake.asked()
    peer.send(answer + "\n")
    word, pid = read_line(process.stdout).split()
    assert word == "ready"
    return process, peer, words, int(pid)


def end(process):
    process.stdin.close()
    process.stdin = None
    return error_of(process, 6)


def keys_of(words):
    return [word for word in words if "=" in word and not word.startswith("wait=")]


# ---- while the job runs ----

def test_reclaimed(berth, fake):
    """The job notices nothing, there is no message, and the reclaim names what was granted."""
    process, peer, words, pid = running(
        berth, fake, "-p", "1", "--holder", "me", "--reason", "so", "-k", "1", "r:3", "gpus",
        answer="ok 1k slot=r,5,0,2-3 item=gpus,7,gpu1")
    peer, again = fake.asked_again(peer)
    assert again[:4] == ["reclaim", "1k", "r:3:0,2-3", "gpus:1:gpu1"]
    assert again[4:] == keys_of(words)
    assert f"pid={pid}" in again
    peer.send("ok 1k slot=r,8,0,2-3 item=gpus,9,gpu1\n")
    assert end(process) == ""
    assert peer.line() == "release 1k exit=6"


def test_reclaimed_again_and_again(berth, fake):
    process, peer, _, _ = running(berth, fake)
    for _ in range(5):
        peer, words = fake.asked_again(peer)
        assert words[:3] == ["reclaim", "1", "r:1:0"]
        peer.send("ok 1 slot=r,5,0\n")
    assert end(process) == ""
    assert peer.line() == "release 1 exit=6"


def test_while_nobody_listens(berth, fake, directory):
    process, _, _, _ = running(berth, fake, "-v", "r")
    assert read_line(process.stderr).startswith("berth: granted r slot 0")
    fake.gone()
    assert read_line(process.stderr) == "berth: lost the connection to berthd; reconnecting while the job runs on"
    again = FakeBerthd(directory / "s")
    peer, words = again.asked()
    assert words[0] == "reclaim"
    peer.send("ok 1 slot=r,5,0\n")
    assert read_line(process.stderr) == "berth: reconnected to berthd; the lease is kept"
    assert end(process) == ""
    again.close()


def test_for_as_long_as_the_job_runs(berth, fake):
    """The back-off grows, but never beyond a second."""
    process, peer, _, _ = running(berth, fake)
    peer.close()
    gaps = []
    for _ in range(8):
        begun = time.monotonic()
        peer, words = fake.asked()
        gaps.append(time.monotonic() - begun)
        peer.send("error busy x\n")
        peer.close()
    assert gaps[0] < gaps[-1] > 0.45
    assert min(gaps[-3:]) < 1.3  # any one may be longer where the machine is busy
    fake.tells("ok 1 slot=r,5,0")
    assert end(process) == ""


@pytest.mark.parametrize("answer", [
    "error busy x", "error held x", "error no-space x", "error no-memory x", "error grace x",
    "error novelty x", "what?", "x" * 5000, ""])
def test_what_may_pass_is_tried_again(berth, fake, answer):
    process, peer, _, _ = running(berth, fake)
    peer, _ = fake.asked_again(peer)
    if answer:
        peer.send(answer + "\n")
        if answer.startswith("x"):
            peer.close()  # too long is skipped, as everywhere
    else:
        peer.close()
    peer, words = fake.asked()
    assert words[:3] == ["reclaim", "1", "r:1:0"]
    peer.send("ok 1 slot=r,5,0\n")
    assert end(process) == ""
    assert peer.line() == "release 1 exit=6"


@pytest.mark.parametrize("answer, why", [
    ("error lost it%20is%20over", "it is over (lost)"),
    ("error forbidden no", "no (forbidden)"),
    ("error unknown gone", "gone (unknown)"),
    ("waiting 1 position=1", "berthd has no record of it"),
    ("ok 1 slot=r,5,1", "berthd returned different units"),
    ("ok 2 slot=r,5,0", "berthd returned different units"),
    ("ok 1", "berthd returned different units"),
])
def test_refused(berth, fake, answer, why):
    process, peer, _, _ = running(berth, fake)
    peer, _ = fake.asked_again(peer)
    peer.send(answer + "\n")
    assert error_of(process, 124) == f"berth: stopping the job: lost the lease: {why}\n"
    assert peer.ended()


def test_refused_but_only_warned(berth, fake):
    process, peer, _, _ = running(berth, fake, answer="ok 1 slot=r,5,0 on_lost=warn")
    peer, _ = fake.asked_again(peer)
    peer.send("error lost\n")
    assert read_line(process.stderr) == (
        "berth: lost the lease: the lease has ended (lost); the job runs on")
    assert peer.ended()
    assert end(process) == ""


def test_the_job_ends_while_berthd_is_down(berth, fake, directory):
    """One try to give the lease back; berthd sees by itself that the process is gone."""
    process, _, _, _ = running(berth, fake)
    fake.gone()
    assert end(process) == ""


def test_the_job_ends_before_the_reclaim_is_answered(berth, fake):
    process, peer, _, _ = running(berth, fake)
    peer, words = fake.asked_again(peer)
    assert words[0] == "reclaim"
    assert end(process) == ""
    assert peer.line() == "release 1 exit=6"


def test_what_people_read_is_left_out_of_a_long_reclaim(berth, fake):
    """If that does not suffice, keys too, as the lease's id is worth more."""
    items = ",".join(f"{i:02}" + "x" * 62 for i in range(50))
    process, peer, words, _ = running(
        berth, fake, "--reason", "\x01" * 256, "--holder", "\x01" * 128, "g:50",
        answer=f"ok 1 item=g,1,{items}")
    assert len(" ".join(words)) < 4096
    peer, words = fake.asked_again(peer)
    assert words[:3] == ["reclaim", "1", f"g:50:{items}"]
    assert [word.split("=")[0] for word in words[3:]] == ["holder", "once", "pid"]
    peer.send(f"ok 1 item=g,1,{items}\n")
    assert end(process) == ""


def test_a_reclaim_that_cannot_have_its_units(berth, fake):
    """16 longest names with their units and tokens would not fit. If berthd knows the lease, its id
    is enough."""
    names = [f"{i:x}" + "n" * 127 for i in range(16)]
    slots = "100001-900000," + ",".join(str(i) for i in range(900002, 900032, 2))
    answer = "ok 1 " + " ".join(f"slot={name},1,{slots}" for name in names)
    assert 4080 < len(answer) < 4096
    process, peer, _, _ = running(
        berth, fake, "--holder", "\x01" * 128, *[f"{name}:800015" for name in names],
        answer=answer)
    peer, words = fake.asked_again(peer)
    assert words[:3] == ["reclaim", "1", f"{names[0]}:800015"]
    peer.send(answer + "\n")
    assert end(process) == ""
    assert peer.line() == "release 1 exit=6"


# ---- in the queue ----

def queued(berth, fake, *args):
    process = berth.start("run", *args, "--", "echo", "ran")
    peer, words = fake.asked()
    peer.send("waiting 1k position=3\n")
    return process, peer, words


def test_a_place_in_the_queue(berth, fake):
    process, peer, words = queued(berth, fake, "-w", "1h", "--holder", "me", "r:2")
    peer, again = fake.asked_again(peer)
    assert again[:3] == ["reclaim", "1k", "r:2"]
    waits = [int(line[3][5:-2]) for line in ([""] + words, again)
             if line[3].startswith("wait=")]
    assert 3500_000 < waits[1] < waits[0] <= 3600_000
    assert keys_of(again) == keys_of(words)
    peer.send("waiting 1k position=3\n* granted 1k slot=r,5,0-1\n")
    assert error_of(process, 0) == ""
    assert peer.line() == "release 1k exit=0"


def test_granted_in_the_meantime(berth, fake):
    process, peer, _ = queued(berth, fake, "r")
    peer, _ = fake.asked_again(peer)
    peer.send("ok 1k slot=r,5,0\n")
    assert process.communicate(timeout=DEADLINE) == (b"ran\n", b"")
    assert peer.line() == "release 1k exit=0"


def test_a_lost_place_is_requested_again(berth, fake):
    """On the same connection, as another request."""
    process, peer, words = queued(berth, fake, "r")
    peer, _ = fake.asked_again(peer)
    peer.send("error lost\n")
    again = peer.line().split(" ")
    assert again[:2] == words[:2] == ["acquire", "r:1"]
    assert [word for word in again if word.startswith("once=")] != (
        [word for word in words if word.startswith("once=")])
    peer.send("ok 2 slot=r,5,0\n")
    assert error_of(process, 0) == ""
    assert peer.line() == "release 2 exit=0"


@pytest.mark.parametrize("answer", ["error held x", "error busy x", "error no-space x",
                                    "error grace x", ""])
def test_a_place_that_is_not_given_back_yet(berth, fake, answer):
    process, peer, _ = queued(berth, fake, "r")
    peer, _ = fake.asked_again(peer)
    if answer:
        peer.send(answer + "\n")
    else:
        peer.close()
    peer, words = fake.asked()
    assert words[:3] == ["reclaim", "1k", "r:1"]
    peer.send("ok 1k slot=r,5,0\n")
    assert error_of(process, 0) == ""


@pytest.mark.parametrize("answer, status", [
    ("error unknown gone", 78), ("error forbidden no", 77), ("error cancelled no", 75)])
def test_a_place_that_is_refused(berth, fake, answer, status):
    process, peer, _ = queued(berth, fake, "r")
    peer, _ = fake.asked_again(peer)
    peer.send(answer + "\n")
    code = answer.split(" ")[1]
    assert error_of(process, status).endswith(f"({code})\n")


def test_an_acquire_without_an_answer_is_repeated_as_it_was(berth, fake):
    """berthd knows it by its `once`, and does not grant twice."""
    process = berth.start("run", "r", "--", "true")
    peer, words = fake.asked()
    peer, again = fake.asked_again(peer)
    assert again == words
    peer.send("ok 1 slot=r,5,0\n")
    assert error_of(process, 0) == ""


def test_no_two_have_the_same_once(berth, fake):
    found = set()
    for _ in range(3):
        process = berth.start("run", "r", "--", "true")
        peer, words = fake.asked()
        peer.send("error would-wait\n")
        process.wait(DEADLINE)
        found |= {word for word in words if word.startswith("once=")}
    assert len(found) == 3


def test_signals_still_end_a_wait_while_berthd_is_down(berth, fake):
    process, _, _ = queued(berth, fake, "r")
    fake.gone()
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE) == -signal.SIGTERM

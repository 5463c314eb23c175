"""berth run --tree: the job lasts until all of its descendants are gone."""

import os
import signal
import subprocess
import time

import pytest

from conftest import error_of, read_line
from lines import DEADLINE, until

# Descendants that no process above waits for: {} runs in its own session, and so in its own group.
APART = "setsid sh -c '{}' </dev/null >out 2>&1 & "
READY = "echo ready; "


def start(berth, fake, script, *args, terms=""):
    process = berth.start("run", "--tree", *args, "r", "--", "sh", "-c", script)
    peer, words = fake.asked()
    peer.send(f"ok 1 slot=r,5,0 {terms}".strip() + "\n")
    assert read_line(process.stdout) == "ready"
    return process, peer, words


def wait_for_main(words):
    """Until it has ended, and the wrapper has seen that."""
    pid, = (word.removeprefix("pid=") for word in words if word.startswith("pid="))
    until(lambda: not os.path.exists(f"/proc/{pid}"))


@pytest.fixture
def fifo(directory):
    """Opening it for writing lets a descendant go that reads it."""
    os.mkfifo(directory / "fifo")
    return directory / "fifo"


def let_go(fifo):
    with open(fifo, "w"):
        pass


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # the latter where it ends between open and read
        return False


def pid_in(path):
    until(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def test_until_all_are_gone(berth, fake, fifo):
    """The status is the main process's; berthd knows from the beginning who keeps the lease."""
    process, peer, words = start(berth, fake, APART.format("read x <fifo") + READY + "exit 6")
    assert f"pid={process.pid}" not in words and f"wrapper={process.pid}" in words
    wait_for_main(words)
    assert process.poll() is None
    let_go(fifo)
    assert peer.line() == "release 1 exit=6"
    assert error_of(process, 6) == ""


def test_nobody_else(berth, fake):
    process, peer, _ = start(berth, fake, READY + "exit 6")
    assert peer.line() == "release 1 exit=6"
    assert error_of(process, 6) == ""


def test_a_signal_ends_the_main_process(berth, fake, fifo):
    process, peer, _ = start(berth, fake, APART.format("read x <fifo") + READY + "kill -9 $$")
    let_go(fifo)
    assert process.wait(DEADLINE) == -signal.SIGKILL


def test_without_tree_nobody_waits(berth, fake, fifo):
    process = berth.start("run", "r", "--", "sh", "-c", APART.format("read x <fifo") + "exit 6")
    peer = fake.grant()
    assert peer.line() == "release 1 exit=6"
    assert error_of(process, 6) == ""
    let_go(fifo)


def test_reclaimed_for_the_wrapper(berth, fake, fifo):
    """A main process that is gone keeps no lease that berthd has forgotten."""
    process, peer, words = start(berth, fake, APART.format("read x <fifo") + READY + "exit 6")
    wait_for_main(words)
    peer, again = fake.asked_again(peer)
    assert again[:3] == ["reclaim", "1", "r:1:0"]
    assert f"pid={process.pid}" in again and not any(word.startswith("wrapper=") for word in again)
    peer.send("ok 1 slot=r,5,0\n")
    let_go(fifo)
    assert peer.line() == "release 1 exit=6"
    assert error_of(process, 6) == ""


def test_the_main_process_ends_while_berthd_is_down(berth, fake, fifo, directory):
    process, peer, words = start(
        berth, fake, APART.format("read x <fifo") + READY + "while [ ! -e go ]; do sleep .01; done")
    peer, _ = fake.asked_again(peer)
    (directory / "go").touch()
    wait_for_main(words)
    peer.send("ok 1 slot=r,5,0\n")
    let_go(fifo)
    assert error_of(process, 0) == ""


def test_a_stop_reaches_all(berth, fake, directory):
    """Including a stubborn orphan that has left the group."""
    stubborn = 'trap \"\" TERM; echo $$ >pid; while :; do sleep 1000; done'
    process, peer, _ = start(
        berth, fake, APART.format(stubborn) + "while [ ! -s pid ]; do sleep .01; done;" + READY +
        "wait", terms="kill_after=500ms on_lost=kill")
    pid = pid_in(directory / "pid")
    begun = time.monotonic()
    peer.send("* revoked 1 revoked\n")
    assert peer.line() == "release 1 signal=15"
    assert time.monotonic() - begun > 0.4
    assert not is_alive(pid)
    assert "(revoked)" in error_of(process, 124)


def test_a_stop_asks_those_apart_once(berth, fake, directory):
    """They get their signal when they have lost their parents, as the others got it."""
    polite = 'trap "echo asked" TERM; echo $$ >pid; while [ ! -e go ]; do sleep .01; done'
    process, peer, _ = start(
        berth, fake, APART.format(polite) + "while [ ! -s pid ]; do sleep .01; done;" + READY +
        "wait")
    peer.send("* revoked 1 revoked\n")
    until(lambda: (directory / "out").read_text() == "asked\n")
    (directory / "go").touch()
    assert peer.line() == "release 1 signal=15"
    assert "(revoked)" in error_of(process, 124)
    assert (directory / "out").read_text() == "asked\n"


def test_a_chain_of_sessions(berth, fake, directory):
    """Each in its own session, each the parent of the next, each ignoring SIGTERM."""
    script = directory / "chain"
    script.write_text(
        "trap '' TERM\n[ $1 = 0 ] && { echo $$ >pid; exec sleep 1000; }\n"
        "setsid sh chain $(($1 - 1)) & wait\n")
    process, peer, _ = start(
        berth, fake, "setsid sh chain 5 & while [ ! -s pid ]; do sleep .01; done;" + READY + "wait",
        terms="kill_after=100ms on_lost=kill")
    last = pid_in(directory / "pid")
    peer.send("* revoked 1 revoked\n")
    assert "(revoked)" in error_of(process, 124)
    assert not is_alive(last)


def test_signals_are_passed_on_to_what_is_left(berth, fake, directory):
    """Otherwise nobody could end it."""
    process, _, words = start(
        berth, fake, APART.format("echo $$ >pid; exec sleep 1000") + READY + "exit 6")
    wait_for_main(words)
    pid_in(directory / "pid")
    process.send_signal(signal.SIGTERM)
    assert error_of(process, 6) == ""


def test_children_from_before_are_strangers(berth, fake, directory):
    """Children of the program that executed berth: neither waited for nor stopped."""
    script = ("sleep 1000 & echo $! >stranger; exec " + berth.path +
              " run --tree r -- sh -c 'setsid sh -c \"echo $$ >pid; exec sleep 1000\" & "
              "while [ ! -s pid ]; do sleep .01; done; echo $$; exit 6'")
    berth.path, path = "/bin/sh", berth.path
    process = berth.start("-c", script)
    berth.path = path
    peer = fake.grant()
    wait_for_main([f"pid={read_line(process.stdout)}"])
    stranger = pid_in(directory / "stranger")
    try:
        peer.send("* revoked 1 revoked\n")
        assert peer.line() == "release 1 exit=6"
        assert process.wait(DEADLINE) == 124
        assert is_alive(stranger)
    finally:
        os.kill(stranger, signal.SIGKILL)


def test_many_descendants(berth, fake):
    """More than the list holds at first."""
    process, peer, _ = start(
        berth, fake, "for i in $(seq 100); do setsid sleep 1000 & done; " + READY + "exit 0")
    until(lambda: len(subprocess.run(
        ["ps", "--ppid", str(process.pid), "-o", "comm="], capture_output=True, text=True,
        timeout=DEADLINE).stdout.split()) == 100)
    peer.send("* revoked 1 revoked\n")
    assert "(revoked)" in error_of(process, 124)

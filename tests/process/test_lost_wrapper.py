"""Wrappers are killed: the lease is the job's, and ends with it."""

import os
import signal
import time

import pytest

from conftest import read_line
from daemon_help import status
from lines import DEADLINE
from lost_help import (  # fixtures among them
    WAITS, Crowd, all_free, asked_until, job, main_is_gone, restart, scaled, stop_process, witness)

LIMIT = 8

CONFIG = "[lock a]\n"


def test_the_job_keeps_its_lease(berth, daemon, job):
    """Nobody gets the unit while the job runs; the next waiter gets it the moment the job ends."""
    first = job("a", script=WAITS)
    first.kill_wrapper()
    waiter = berth.start("run", "a", "--", "echo", "next")
    now = asked_until(daemon, lambda now: now.waiting == 1 and
                      now.resources["a"]["holders"][0].get("away") == "1")
    holder = now.resources["a"]["holders"][0]
    assert (holder["pid"], holder["bound"]) == (str(first.pids[0]), "process")
    first.answer()
    assert read_line(waiter.stdout) == "next"
    assert waiter.wait(DEADLINE) == 0
    asked_until(daemon, all_free)


def test_over_a_restart_too(daemon, job):
    first = job("a", script=WAITS)
    first.kill_wrapper()
    for how in ("kill", "stop", "kill"):
        restart(daemon, how)
        assert status(daemon.client()).held == 1
    first.answer()
    asked_until(daemon, all_free)


def test_no_wrapper_at_all(berthd, job):
    """berth run -F: nobody reclaims it after a restart, and nobody needs to."""
    daemon = berthd("grace = 0\n[lock a]\n")
    only = job("-F", "a", script=WAITS)
    for how in ("kill", "stop"):
        restart(daemon, how)
        assert status(daemon.client()).held == 1
    only.answer()
    assert only.wait() == (0, "")
    asked_until(daemon, all_free)


def test_the_job_ends_while_berthd_is_down(daemon, job):
    first = job("a", script=WAITS)
    first.kill_wrapper()
    daemon.kill()
    first.answer()
    first.end()
    daemon.start()
    asked_until(daemon, all_free)


def test_what_a_job_leaves_behind(daemon, job):
    """A lease lasts as long as the job's main process; with --tree as long as its descendants."""
    leaves = "cat /dev/fd/$LEASH & echo runs $!; exit 6"
    left = job("a", script=leaves)
    assert left.wait() == (6, "")
    assert left.is_alive()
    assert status(daemon.client()).held == 0
    tree = job("--tree", "a", script=leaves)
    asked_until(daemon, lambda now: main_is_gone(now, "a", tree.wrapper.pid))
    restart(daemon, "kill")
    assert status(daemon.client()).held == 1
    assert main_is_gone(status(daemon.client()), "a", tree.wrapper.pid)
    assert f"by%20pid%20{tree.wrapper.pid}%20" in daemon.client().request("acquire a wait=0")
    os.kill(tree.pids[0], signal.SIGKILL)
    assert tree.wait() == (6, "")
    asked_until(daemon, all_free)


def kill_one(chance, alive, newest):
    """The one that has just begun, or any other, whatever it is doing."""
    victim = newest if chance.random() < 0.5 else chance.choice(alive)
    alive.remove(victim)
    victim.kill()
    victim.wait()


def test_wrappers_killed_at_any_moment(berth, berthd, witness, chance, directory):
    """... and berthd now and then as well: never more jobs than the limit, and nothing is lost."""
    daemon = berthd(f"[semaphore s]\nlimit = {LIMIT}\n")
    crowd = Crowd(berth, witness, directory / "said")
    kills = scaled(200)
    alive = [crowd.start(number) for number in range(2 * LIMIT)]
    for number in range(2 * LIMIT, 2 * LIMIT + kills):
        alive.append(crowd.start(number))
        witness.read(chance.uniform(0, 0.008))
        if chance.random() < 0.1:
            restart(daemon, chance.choice(["kill", "stop"]))
        kill_one(chance, alive, alive[-1])
        witness.read()
        if len(witness.running) == LIMIT or chance.random() < 0.2:
            witness.let_go(chance.choice(sorted(witness.running or [number])))
    witness.check(LIMIT)
    witness.let_all_go()
    assert [wrapper.wait(DEADLINE) for wrapper in alive] == [0] * len(alive)
    asked_until(daemon, all_free)
    witness.check(LIMIT)
    assert not witness.running
    assert crowd.said() == ""


def one_that_hangs(berth, daemon, witness, directory):
    """The crowd: the first holds the unit, and the second waits and is stopped."""
    crowd = Crowd(berth, witness, directory / "said")
    crowd.start(0)
    witness.wait_for_starts(1)
    crowd.start(1)
    asked_until(daemon, lambda now: now.waiting == 1)
    stop_process(crowd.wrappers[1])
    return crowd


@pytest.mark.parametrize("end", [signal.SIGCONT, signal.SIGKILL])
def test_granted_while_it_hangs(berth, berthd, witness, directory, end):
    """It has the lease, and its job does not run before the wrapper lets it; if the wrapper dies,
    never."""
    daemon = berthd("[semaphore s]\nlimit = 1\n")
    crowd = one_that_hangs(berth, daemon, witness, directory)
    witness.let_all_go()
    crowd.wrappers[0].wait(DEADLINE)
    asked_until(daemon, lambda now: (now.held, now.waiting) == (1, 0))
    crowd.wrappers[1].send_signal(end)
    asked_until(daemon, all_free)
    assert crowd.wrappers[1].wait(DEADLINE) == (0 if end == signal.SIGCONT else -signal.SIGKILL)
    witness.check(1)
    assert sorted(witness.ended) == ([0, 1] if end == signal.SIGCONT else [0])


def test_a_waiter_is_stopped_over_a_restart(berth, berthd, witness, directory):
    """It is too late for its old place, and queues again."""
    daemon = berthd("grace = 0.2s\n[semaphore s]\nlimit = 1\n")
    crowd = one_that_hangs(berth, daemon, witness, directory)
    restart(daemon, "kill")
    asked_until(daemon, lambda now: now.waiting == 0)
    crowd.start(2)
    asked_until(daemon, lambda now: now.waiting == 1)
    crowd.wrappers[1].send_signal(signal.SIGCONT)
    asked_until(daemon, lambda now: now.waiting == 2)
    witness.let_all_go()
    crowd.must_end_well()
    witness.check(1)
    assert witness.in_order_of_grant() == [0, 2, 1]


def test_a_wrapper_is_stopped_over_a_restart(berth, berthd, witness, directory):
    """Its job keeps the lease for as long as it runs, grace or not."""
    daemon = berthd("grace = 0.1s\n[semaphore s]\nlimit = 1\n")
    crowd = Crowd(berth, witness, directory / "said")
    crowd.start(0)
    witness.wait_for_starts(1)
    stop_process(crowd.wrappers[0])
    begun = time.monotonic()
    restart(daemon, "kill")
    crowd.start(1)
    asked_until(daemon, lambda now: now.waiting == 1 and time.monotonic() > begun + 0.3)
    assert len(witness.pids) == 1
    crowd.wrappers[0].send_signal(signal.SIGCONT)
    witness.let_all_go()
    crowd.must_end_well()
    witness.check(1)

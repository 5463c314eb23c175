"""The library for Python in many processes and tasks, whatever becomes of berthd: the kernel says how many run at
once."""

import asyncio
import concurrent.futures
import multiprocessing
import os
import signal
import threading

import pytest

from daemon_help import held, in_child, shown, status
from library_help import aio, berth, one_of_a_loop, one_of_a_pool, section, slots_of, use  # noqa: F401
from lines import DEADLINE, until
from lost_help import all_free, asked_until, lose_the_journal, restart, scaled, witness  # noqa: F401

CONFIG = "grace = 1s\n[semaphore s]\nlimit = 3\nkill-after = 5s\n[lock k]\n"
RESTARTS = 20
BODY = 0.05  # seconds; less than a restart takes


def length(number):
    """Some outlast the grace: they would be forgotten."""
    return 2.5 if number % 9 == 0 else BODY

pytestmark = pytest.mark.usefixtures("use")


def pool_of_eight(directory, end, lost):
    """Eight processes that take numbers until the event says so."""
    def work(k):
        number = k
        while not end.is_set():
            number += 8
            if one_of_a_pool(directory, number, length(number)):
                with lost.get_lock():
                    lost.value += 1

    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=work, args=(k,)) for k in range(8)]
    for process in processes:
        process.start()
    return processes


def fifty_tasks(directory, end, lost):
    """One process with a loop."""
    async def work(k):
        number = k
        while not end.is_set():
            number += 50
            if await one_of_a_loop(directory, number, length(number)):
                with lost.get_lock():
                    lost.value += 1

    async def main():
        await asyncio.gather(*map(work, range(50)))

    process = multiprocessing.get_context("fork").Process(target=lambda: asyncio.run(main()))
    process.start()
    return [process]


@pytest.mark.parametrize("crowd", [pool_of_eight, fifty_tasks])
def test_never_over_the_limit(daemon, witness, crowd):
    context = multiprocessing.get_context("fork")
    end, lost = context.Event(), context.Value("i", 0)
    processes = crowd(witness.directory, end, lost)
    try:
        for n in range(RESTARTS):
            witness.wait_for_starts(len(witness.pids) + 6)
            if n == RESTARTS // 2:
                lose_the_journal(daemon)
            else:
                restart(daemon, "kill" if n % 2 else "stop")
        witness.wait_for_starts(len(witness.pids) + 6)
        client = daemon.client()
        before = lost.value
        while lost.value == before:
            for lease in status(client).holders("s")[:1]:
                client.request(f"revoke {lease}")
            witness.read(BODY)
        witness.wait_for_starts(len(witness.pids) + 6)
    finally:
        end.set()
        for process in processes:
            until(lambda: witness.read(0.01) or not process.is_alive())
        for process in processes:
            process.join(DEADLINE)
    assert [process.exitcode for process in processes] == [0] * len(processes)
    witness.check(limit=3)
    assert not witness.running
    tokens = [token for token, _ in witness.grants]
    assert len(set(tokens)) == len(tokens)
    asked_until(daemon, all_free)


def test_a_pool_and_its_executors(daemon, witness):
    with concurrent.futures.ThreadPoolExecutor(8) as threads, \
            concurrent.futures.ProcessPoolExecutor(4, multiprocessing.get_context("spawn")) as processes:
        futures = [berth.Executor(threads, "s", wait=60).submit(os.getpid) for _ in range(40)]
        futures += [berth.Executor(processes, "s", wait=60).submit(os.getpid) for _ in range(20)]
        pids = {future.result(DEADLINE) for future in futures}
        assert list(berth.Executor(threads, "k").map(abs, [-1, -2])) == [1, 2]
    assert os.getpid() in pids and len(pids) > 1
    assert status(daemon.client()).held == 0


def test_spawned(daemon):
    with berth.acquire("s"), multiprocessing.get_context("spawn").Pool(2) as pool:
        answers = pool.map(slots_of, ["s"] * 4)
    assert all(pid != os.getpid() and len(slots) == 1 for pid, slots in answers)


def test_workers_of_a_master(daemon):
    """As a server forks its workers before requests come: the master has a lease, and each worker its own."""
    serve, call = os.pipe()

    def worker():
        os.close(call)
        while os.read(serve, 1):
            with berth.acquire("s", wait=60) as lease:
                os.write(told_of[1], f"{os.getpid()} {lease.id}\n".encode())
                signal.pause()

    told_of = os.pipe()
    with berth.acquire("k") as own:
        workers = {in_child(worker) for _ in range(3)}
        os.write(call, b"xx")
        told = os.fdopen(told_of[0])
        first, second = (told.readline().split() for _ in range(2))
        assert {first[1], second[1]} == {one["lease"] for one in shown(daemon.client(), "s")["holders"]}
        # A worker is killed, another is forked in its place: the lease ends with the one that had it.
        os.kill(int(first[0]), signal.SIGKILL)
        os.waitpid(int(first[0]), 0)
        workers.remove(int(first[0]))
        workers.add(in_child(worker))
        asked_until(daemon, lambda now: now.holders("s") == [second[1]])
        os.write(call, b"x")
        third = told.readline().split()
        assert int(third[0]) in workers
        assert shown(daemon.client(), "k")["holders"][0]["lease"] == own.id
        own.check()
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        asked_until(daemon, lambda now: now.held == 1)
    told.close()
    for fd in (serve, call, told_of[1]):
        os.close(fd)


def test_threads_over_restarts(daemon, witness):
    """Sixteen threads of one process share a connection, which ends again and again."""
    end = threading.Event()

    def work(k):
        number = k
        while not end.is_set():
            number += 16
            with berth.acquire("s", wait=60) as lease, section(witness.directory, number, lease):
                end.wait(BODY / 2)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for thread in threads:
        thread.start()
    try:
        for n in range(scaled(8)):
            witness.wait_for_starts(len(witness.pids) + 10)
            restart(daemon, "kill" if n % 2 else "stop")
    finally:
        end.set()
        for thread in threads:
            thread.join(DEADLINE)
    witness.check(limit=3)
    asked_until(daemon, all_free)

"""The library for Python in asyncio."""

import asyncio
import contextlib

import pytest

from daemon_help import held, shown, status
from library_help import aio, berth, connections, script, use  # noqa: F401
from lines import DEADLINE
from lost_help import asked_until

CONFIG = "grace = 2s\n[semaphore s]\nlimit = 3\n[lock k]\n"

pytestmark = pytest.mark.usefixtures("use")


def run(main):
    async def in_time():
        return await asyncio.wait_for(main(), DEADLINE)
    return asyncio.run(in_time())


@pytest.fixture
def holder(daemon):
    raw = daemon.client()
    raw.lease = held(raw, "acquire k")
    return raw


def test_what_is_granted(daemon):
    async def main():
        async with aio.acquire("s:2", wait=DEADLINE) as lease:
            assert shown(daemon.client(), "s")["holders"][0]["lease"] == lease.id
            assert lease.lost is None and len(lease.slots) == 2
            assert await aio.try_acquire("s:2") is None
        lease = await aio.acquire("k")
        async with lease:
            assert await aio.try_acquire("k") is None
        await lease.release()
        with pytest.raises(berth.Lost):
            lease.check()
    run(main)
    assert status(daemon.client()).held == 0


def test_errors(holder):
    async def main():
        with pytest.raises(TimeoutError):
            await aio.acquire("k", wait=0.1)
        with pytest.raises(berth.NotFree):
            await aio.acquire("k", wait=0)
        with pytest.raises(berth.Refused):
            await aio.acquire("nowhere")
        with pytest.raises(berth.Down):
            await aio.Client("/nowhere/s", patience=0.1).acquire("k")
    run(main)


def test_cancelled_while_it_waits(holder, daemon):
    async def main():
        task = asyncio.create_task(aio.Client().acquire("k").__aenter__())
        while status(daemon.client()).waiting == 0:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while status(daemon.client()).waiting:
            await asyncio.sleep(0.01)
    run(main)


def test_cancelled_at_any_moment(daemon):
    """Nothing is held when all is over, however the cancellation and the grant race."""
    async def main():
        async def one():
            async with aio.acquire("s"):
                await asyncio.sleep(0.001)
        for n in range(300):
            task = asyncio.create_task(one())
            for _ in range(n % 7):
                await asyncio.sleep(0)
            if n % 3:
                await asyncio.sleep(0.0002 * (n % 5))
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        async with aio.acquire("s:3", wait=DEADLINE):
            pass
    run(main)
    assert status(daemon.client()).held == 0


def revoke(daemon, lease):
    assert daemon.client().request(f"revoke {lease.id}") == "ok"


def test_the_body_is_cancelled_on_loss(daemon):
    async def main():
        begun = asyncio.get_running_loop().time()
        with pytest.raises(berth.Lost) as error:
            async with aio.acquire("k", cancel_on_loss=True) as lease:
                revoke(daemon, lease)
                await asyncio.sleep(60)
        assert asyncio.get_running_loop().time() - begun < DEADLINE / 2
        assert error.value.code == "revoked"
        assert isinstance(error.value.__cause__, asyncio.CancelledError)
        await asyncio.sleep(0)  # the task itself goes on
    run(main)
    assert status(daemon.client()).held == 0


def test_unless_it_asks_for_that_it_goes_on(daemon):
    async def main():
        async with aio.acquire("k") as lease:
            told = []
            lease.on_lost(told.append)
            revoke(daemon, lease)
            loss = await lease.wait_lost()
            await asyncio.sleep(0)
            assert told == [loss] and loss.code == "revoked"
            assert status(daemon.client()).held == 1
    run(main)


def test_somebody_else_cancels_it_as_well(daemon):
    async def main():
        async def body():
            async with aio.acquire("k", cancel_on_loss=True) as lease:
                lease.on_lost(lambda _: task.cancel())
                revoke(daemon, lease)
                await asyncio.sleep(60)
        task = asyncio.create_task(body())
        with pytest.raises((asyncio.CancelledError, berth.Lost)):
            await task
    run(main)


def test_a_closed_client(daemon):
    async def main():
        client = aio.Client()
        lease = await client.acquire("k")
        await client.close()
        with pytest.raises(berth.BerthError):
            lease.check()
        with pytest.raises(berth.BerthError):
            await client.acquire("k")
    run(main)
    assert status(daemon.client()).held == 0


def test_the_body_ends_by_itself(daemon):
    async def main():
        with pytest.raises(ZeroDivisionError):
            async with aio.acquire("k", cancel_on_loss=True):
                1 / 0
    run(main)
    assert status(daemon.client()).held == 0


def test_a_limiter_and_a_decorator(daemon):
    async def main():
        running, most = 0, 0
        limiter = aio.Limiter("s")

        async def work():
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            running -= 1

        async def with_block():
            async with limiter as lease:
                assert lease.lost is None
                await work()

        await asyncio.gather(*(limiter.run(work) for _ in range(10)), *(with_block() for _ in range(10)),
                             *(berth.limited("s")(work)() for _ in range(10)))
        assert (running, most) == (0, 3)
        async with limiter:
            with pytest.raises(RuntimeError):
                async with limiter:
                    pass
    run(main)
    assert status(daemon.client()).held == 0


def test_a_thousand_tasks_share_one_connection(berthd):
    daemon = berthd("max-waiters-per-user = 2000\n[semaphore s]\nlimit = 3\nmax-waiters = 2000\n")
    before = connections(daemon)

    async def main():
        async def one():
            async with aio.acquire("s") as lease:
                assert connections(daemon) == before + 1
                return lease.token
        tokens = await asyncio.gather(*(one() for _ in range(1000)))
        assert len(set(tokens)) == 1000
    run(main)
    assert status(daemon.client()).held == 0


def test_another_loop(daemon):
    async def main():
        async with client.acquire("s"):
            pass

    async def with_shared():
        async with aio.acquire("s"):
            pass
    client = aio.Client()
    asyncio.run(main())
    with pytest.raises(RuntimeError):
        asyncio.run(main())
    asyncio.run(with_shared())
    asyncio.run(with_shared())


def test_the_end_of_the_loop(daemon, directory):
    """The connection is closed with it, and no thread was ever there."""
    code, out, err = script(directory, """
import asyncio, threading
from berth import aio
async def main():
    async with aio.acquire("s", wait=30) as lease:
        print(lease.slots, threading.active_count())
    async def waits():
        async with aio.acquire("k"): await asyncio.sleep(60)
    tasks = [asyncio.create_task(waits()) for _ in range(2)]
    await asyncio.sleep(0.1)
asyncio.run(main())
""", "-W", "error")
    assert (code, out, err) == (0, "(0,) 1\n", "")
    asked_until(daemon, lambda now: (now.held, now.waiting) == (0, 0))


def test_a_forked_child(daemon, directory):
    """The parent's loop goes on, and its descriptors are still watched."""
    code, out, err = script(directory, """
import asyncio, os, berth
from berth import aio
async def main():
    async with aio.acquire("s") as lease:
        pid = os.fork()
        if pid == 0:
            try:
                lease.check()
            except berth.Forked:
                os._exit(0)
            os._exit(1)
        print(os.waitpid(pid, 0)[1])
        async with aio.acquire("s", wait=5):
            print("goes on")
asyncio.run(main())
""")
    assert (code, out) == (0, "0\ngoes on\n"), err

"""The library for Python and a fleet's resources: a lease is good until a deadline that moves."""

import asyncio
import time

import pytest

from fleet_help import hosts, needs_redis, redis_section, redis_server, clock  # noqa: F401
from library_help import aio, berth
from lines import DEADLINE, until
from scripts_help import past_the_first_grace

pytestmark = needs_redis

TTL = 6
TEXT = "[semaphore r]\nscope = fleet\nlimit = 1\nkill-after = 500ms\n"


@pytest.fixture
def two(redis_server, clock, hosts):
    past_the_first_grace(redis_server, clock, TTL, 1)
    return hosts(TEXT, 2, redis_section(redis_server.url, f"{TTL}s", failover_lag="1s"))


def acquired(host, client):
    until(lambda: (lease := client.try_acquire("r")) and (lease.release() or True))
    return client.acquire("r", wait=DEADLINE)


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def test_told_before_another_host_has_it(two, redis_server):
    """The database hangs: the lease is lost at `stop_by`, and another host has its unit after `gone_by`."""
    here, there = (berth.Client(str(host.socket)) for host in two)
    lease = acquired(two[0], here)
    assert lease.stop_by < lease.gone_by
    first = lease.stop_by
    until(lambda: lease.stop_by > first)  # renewed
    redis_server.kill()
    loss = lease.wait_lost(DEADLINE)
    assert loss.code == "deadline"
    assert loss.stop_by <= now() < loss.gone_by
    lease.release()
    with pytest.raises(berth.Down):
        there.acquire("r", wait=0.5)
    here.close()
    there.close()


def test_tasks_of_two_hosts(two):
    """One unit for both: the kernel need not be asked, as only one counts at a time."""
    inside = 0

    async def work(client):
        nonlocal inside
        for _ in range(10):
            async with client.acquire("r", wait=DEADLINE, cancel_on_loss=True):
                inside += 1
                assert inside == 1
                await asyncio.sleep(0.005)
                inside -= 1

    async def main():
        clients = [aio.Client(str(host.socket)) for host in two]
        await asyncio.gather(*(work(client) for client in clients for _ in range(3)))
        for client in clients:
            await client.close()

    with berth.Client(str(two[0].socket)) as client:
        acquired(two[0], client).release()
    asyncio.run(main())

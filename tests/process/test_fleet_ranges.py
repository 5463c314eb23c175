"""Leases of many slots that a database gives out: requests, answers and status have ranges."""

import os
import re

import pytest

from daemon_help import status
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from lost_help import sleeper
from test_fleet_requests import end_grace, held, listed, until

pytestmark = needs_redis

RESOURCES = """[semaphore mem]
limit = 100000
scope = fleet
kill-after = 1s
[semaphore small]
limit = 1200
scope = fleet
kill-after = 1s
"""


@pytest.fixture
def host(redis_server, hosts):
    (made,) = hosts(RESOURCES, 1, redis_section(redis_server.url, failover_lag="0"))
    end_grace(redis_server)
    return made


def slots(line):
    assert len(line) < 4096
    return re.search(r" slot=[^,]+,\d+,(\S+)", line)[1].split(",")


def test_many_slots_outlive_daemon_and_database(redis_server, host):
    """Both know them, each from the other."""
    with sleeper() as child:
        first, client = host.client(), host.client()
        held(first, "mem")
        lease, _, line = held(client, f"mem:5000 pid={child}")
        assert slots(line) == ["1-5000"]
        host.kill()
        redis_server.do("FLUSHALL")
        host.start()
        until(lambda: len(listed(redis_server)) == 2)  # what is listed only after the grace is lost
        end_grace(redis_server)
        last = host.client()
        assert slots(held(last, "mem:2")[2]) == ["5001-5002"]
        shown = status(host.client(), "mem").resources["mem"]
        assert {holder["units"] for holder in shown["holders"]} == {"0", "1-5000", "5001-5002"}
        assert host.client().request(f"release {lease}") == "ok"
        assert slots(held(host.client(), "mem:2")[2]) == ["1-2"]


def test_one_slot_of_many_is_released_by_its_number(host, berth):
    lease, _, _ = held(host.client(), f"mem:5000 pid={os.getpid()}")
    assert berth("release", "-S", host.socket, "mem", "--item", "5000").returncode == 0
    assert status(host.client(), "mem").holders("mem") == [lease]
    assert berth("release", "-S", host.socket, "mem", "--item", "4321").returncode == 0
    assert status(host.client(), "mem").holders("mem") == []

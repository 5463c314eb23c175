"""Thousands of requests at once, on each host: they wait for each other, and nothing else does."""

import concurrent.futures
import threading

from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import up
from lines import until
from test_fleet_found import section

pytestmark = needs_redis

N, REQUESTS, RESOURCES = 6, 700, 16
BOUNDS = "".join(f"{key} = {value}\n" for key, value in (
    ("max-waiters-per-user", 100000), ("max-leases-per-user", 100000),
    ("max-requests-per-second-per-user", "unbounded")))


def ask_for_much(client):
    """Sends everything, and reads until the database has answered each request."""
    request = "acquire " + " ".join(f"s{i}" for i in range(RESOURCES)) + "\n"
    threading.Thread(target=client.send, args=(request * REQUESTS,), daemon=True).start()
    n = 0
    while n < REQUESTS:
        n += client.line().startswith("* waiting ")


def test_a_burst_stops_no_job(redis_server, hosts):  # noqa: F811
    """The link of no host breaks, and each host's job goes on."""
    fleet = up(redis_server, *hosts(
        "".join(f"[semaphore s{i}]\nlimit = 1\nscope = fleet\nmax-waiters = 100000\n" for i in range(RESOURCES))
        + "[lock job/*]\nscope = fleet\nkill-after = 500ms\n", N, BOUNDS + section(redis_server, ttl="15s")))
    jobs = [host.berth.start("run", f"job/{i}", "--", "sh", "-c", "echo runs; exec sleep 600")
            for i, host in enumerate(fleet)]
    for job in jobs:
        assert job.stdout.readline() == b"runs\n"
    blocker = fleet[0].client()
    blocker.send("acquire " + " ".join(f"s{i}" for i in range(RESOURCES)) + "\n")
    until(lambda: blocker.line().startswith("* granted "), "granted")
    with concurrent.futures.ThreadPoolExecutor(N) as pool:
        list(pool.map(ask_for_much, [host.client() for host in fleet]))
    for host, job in zip(fleet, jobs):
        assert "no answer" not in host.log.read_text()
        assert job.poll() is None

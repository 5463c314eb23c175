"""What the scripts promise, seen with real daemons, real jobs and a real Redis."""

import subprocess

import pytest

from daemon_help import event
from fleet_help import (  # fixtures among them
    Monitored, clock, hosts, needs_redis, redis_section, redis_server, servers)
from fleet_ops_help import client_of, gets, queues, up
from lines import DEADLINE
from lost_help import asked_until, witness  # fixtures among them

pytestmark = needs_redis

TWO = "[semaphore s]\nscope = fleet\nlimit = 2\nkill-after = 500ms\nkeep = 1h\n[lock t]\nscope = fleet\nkeep = 1h\n"


class Jobs:
    """Witnesses below `berth run`, on any host."""

    def __init__(self, witness):
        self.witness, self.wrappers = witness, []

    def start(self, host, *names):
        number = len(self.wrappers)
        self.wrappers.append(host.berth.start(
            "run", "-q", "--if-down", "wait", *names, "--", *self.witness.job(number), stdout=subprocess.DEVNULL))
        return number

    def runs(self, host, *names):
        number = self.start(host, *names)
        self.have_started(number)
        return number

    def waits(self, host, name, *more):
        """On one host after another only."""
        resource = name.partition(":")[0]
        n = len(asked_until(host, lambda now: True, resource).resources[resource]["waiters"])
        number = self.start(host, name, *more)
        asked_until(host, lambda now: len(now.resources[resource]["waiters"]) > n, resource)
        return number

    def have_started(self, *numbers):
        self.witness.wait_until(lambda: self.witness.pids.keys() >= set(numbers))

    def end(self, *numbers):
        for number in numbers:
            self.witness.let_go(number)
            assert self.wrappers[number].wait(DEADLINE) == 0, self.wrappers[number].stderr.read()


def fleet(server, hosts, n, text=TWO, url=None, **options):
    return up(server, *hosts(text, n, redis_section(url or server.url, **options)))


def calls_go_on(server, n):
    """Waits for more than n calls from now on."""
    calls = server.info("commandstats")["cmdstat_fcall"]["calls"]
    server.ask_until("commandstats", lambda info: info["cmdstat_fcall"]["calls"] > calls + n)


@pytest.fixture
def jobs(witness):
    yield Jobs(witness)
    witness.let_all_go()


def test_hosts_that_disagree_about_a_limit(redis_server, hosts, jobs):
    (wide,) = fleet(redis_server, hosts, 1, "[semaphore s]\nscope = fleet\nlimit = 3\n")
    (narrow,) = fleet(redis_server, hosts, 1, "[semaphore s]\nscope = fleet\nlimit = 1\n")
    first = jobs.runs(wide, "s")
    assert narrow.berth("run", "-n", "s", "--", "true").returncode == 75
    second = jobs.runs(wide, "s")
    waiter = jobs.waits(narrow, "s")
    jobs.end(first)
    assert narrow.berth("run", "-n", "s", "--", "true").returncode == 75
    assert waiter not in jobs.witness.pids  # one is held, and the limit on its host is 1
    jobs.end(second)
    jobs.have_started(waiter)
    jobs.end(waiter)
    assert jobs.witness.max_others == 1


def test_a_host_dies_with_all_that_runs_on_it(redis_server, hosts, jobs):
    one, two = fleet(redis_server, hosts, 2)
    dead = [jobs.runs(one, "s") for _ in range(2)]
    waiters = [jobs.waits(two, "s") for _ in range(2)]
    one.process.kill()
    one.process.wait()
    for number in dead:
        jobs.wrappers[number].kill()
        subprocess.run(["kill", "-9", str(jobs.witness.pids[number])], check=True)
    jobs.have_started(*waiters)
    jobs.end(*waiters)
    assert jobs.witness.max_others == 1


def test_small_requests_without_end_starve_no_large_one(redis_server, hosts, jobs):
    """Each end is followed by a new request on the other host; after the two ends that it needs, the large
    one runs."""
    one, two = fleet(redis_server, hosts, 2)
    small = [jobs.runs(one, "s"), jobs.runs(two, "s")]
    large = jobs.waits(two, "s:2")
    behind = [jobs.waits(one, "s"), jobs.waits(two, "s")]
    jobs.end(small[0])
    behind.append(jobs.waits(one, "s"))
    jobs.end(small[1])
    jobs.have_started(large)
    assert jobs.witness.pids.keys() == {*small, large}
    jobs.end(large)
    for number in behind:
        jobs.have_started(number)
        jobs.end(number)


def test_an_older_request_on_another_host_gets_what_is_kept(redis_server, hosts):
    one, two = map(client_of, fleet(redis_server, hosts, 2))
    t, s = gets(one, "acquire t"), gets(one, "acquire s:2")
    older = queues(two, "acquire t")
    younger = queues(one, "acquire s:2 t")
    assert one.request(f"release {s}") == "ok"
    third = queues(two, "acquire s:2")  # both units are kept for the younger one, which waits for t
    assert one.request(f"release {t}") == "ok"
    assert event(two)[:2] == ("granted", older)
    assert two.request(f"release {older}") == "ok"
    assert event(one)[:2] == ("granted", younger)
    assert one.request(f"release {younger}") == "ok"
    assert event(two)[:2] == ("granted", third)


def test_memory_is_full(redis_server, hosts, jobs):
    (host,) = fleet(redis_server, hosts, 1)
    job = jobs.runs(host, "s")
    redis_server.do("CONFIG", "SET", "maxmemory", 1)
    assert host.berth("run", "s", "--", "true").returncode == 69
    calls_go_on(redis_server, 12)  # two deadlines
    jobs.end(job)
    redis_server.do("CONFIG", "SET", "maxmemory", 0)
    assert host.berth("run", "-w", "20s", "s:2", "--", "true").returncode == 0


def test_the_clock_of_redis_is_set(redis_server, clock, hosts, jobs):
    one, two = fleet(redis_server, hosts, 2)
    held = [jobs.runs(one, "s"), jobs.runs(two, "s")]
    waiter = jobs.waits(two, "s")
    for seconds in (3600, -7200):
        clock.step(seconds)
        calls_go_on(redis_server, 24)
        jobs.witness.check(2)
    jobs.end(held[0])
    jobs.have_started(waiter)
    jobs.end(held[1], waiter)
    assert jobs.witness.max_others == 1


def test_a_replica_that_missed_writes_is_promoted(servers, hosts, jobs):
    """The job whose lease it never heard of keeps it: nobody else gets its unit."""
    master = servers("first", port=True)
    replica = servers("second", replica_of=master)
    sentinel = servers("sentinel", sentinel_of=Monitored(master.port))
    replica.wait_for_replica_link()
    sentinel.wait_for_sentinel_to_know(1)
    url = f"sentinel://127.0.0.1:{sentinel.port}/mymaster"
    one, two = fleet(master, hosts, 2, url=url, ttl="15s", failover_lag="1s")
    known = jobs.runs(one, "s")
    master.do("WAIT", 1, 5000)
    replica.stop()
    master.do("SET", "junk", "x" * (24 << 20))  # more than the kernel's buffers hold: what follows is lost
    missed = jobs.runs(two, "s")
    master.kill()
    replica.cont()
    sentinel.wait_for_master(replica.port)
    waiter = jobs.start(one, "s")
    asked_until(one, lambda now: len(now.resources["s"]["holders"]) == 2 and now.resources["s"]["waiters"], "s")
    jobs.witness.check(2)
    jobs.end(known)
    jobs.have_started(waiter)
    assert jobs.witness.is_alive(missed)
    jobs.end(missed, waiter)
    assert jobs.witness.max_others == 1

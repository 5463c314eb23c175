"""The figures of fleet scope: what each one measures, and the bound that it must not exceed. The first
lines of a function's text are what `bench/fleet --help` shows."""

import contextlib
import os
import statistics
import subprocess
import sys
import time

import sizing
from figures import Result, compare, microseconds, milliseconds
from fleet_processes import PREFIX, QUEUE, Client, FleetChain, Monitor, Way
from processes import DEADLINE, Chain, Trouble

HERE = os.path.dirname(os.path.abspath(__file__))
MANY_LEASES = 10_000
MANY_RESOURCES = 1000
TTL = 30  # seconds, of a host unless told otherwise
BETWEEN_RENEWALS = {"ping", "function"}  # heartbeats; the latter once an hour


def pairs(bench, depth, rounds, of_a_round, apart):
    """Nanoseconds a pair through berthd, through the bare client, and of two calls that do nothing; Redis on
    its own CPU if they are `apart`, else everything on one."""
    with bench.redis(cpu=-1 if apart else 0) as server:
        with bench.host("a", server.url, cpu=0) as host:
            server.wait_for_hosts(1)
            return bench.samples(
                "fleet_pair",
                *(host.socket, server.socket, PREFIX, "slots", depth, rounds, of_a_round),
                pinned=True,
            )


def throughput(bench):
    """An acquire and its release through one berthd with 64 sent at once, beside a bare client that
    sends the same two scripts to the same Redis, one lease in each call, 64 calls at once: 60
    blocks of 1024 in turns. (1.25 x the time is 0.8 x the pairs per second.)"""
    return compare(microseconds, *pairs(bench, 64, 60, 1024, apart=True)[:2])


def flight(bench):
    """The same through one berthd, beside two bare calls of a function that does nothing, 64 at once: 60 blocks
    of 1024 in turns."""
    ours, _, nothing = pairs(bench, 64, 60, 1024, apart=True)
    return compare(microseconds, ours, nothing)


def inside(bench, *words):
    """Redis' instructions for these calls, in thousands, beside those for a call that does nothing."""
    costs = sizing.inside(bench)
    ours = sum(costs[word] for word in words) / 1e3
    return Result("%.0f k" % ours, "%.0f k" % (costs["nothing"] / 1e3), ours)


def inside_acquire(bench):
    """Redis' instructions for an acquire, one lease in a call: the mean of 100 calls; beside those for a call of
    a function that does nothing."""
    return inside(bench, "acquire crowd")


def inside_release(bench):
    """The same of a release."""
    return inside(bench, "release crowd")


def inside_renew(bench):
    """The same of a renewal."""
    return inside(bench, "renew")


def inside_pool(bench):
    """An acquire and its release of an item of a pool of 5000, beside a pool of 50, in instructions."""
    many, few = (inside(bench, "acquire " + pool, "release " + pool) for pool in ("p5000", "p50"))
    return Result(many.berth, few.berth, many.value / few.value)


def together(bench):
    """Pairs with 64 at once through four berthds on one Redis, all at the same time, beside one berthd alone:
    microseconds a pair, over all of them; the best of five."""

    def measure(n):
        with bench.redis() as server, contextlib.ExitStack() as stack:
            hosts = [stack.enter_context(bench.host("abcd"[i], server.url)) for i in range(n)]
            server.wait_for_hosts(n)
            rounds, of_a_round = 20 // n, 4096
            words = [PREFIX, "slots", "64", str(rounds - 1), str(of_a_round)]  # and one to warm up
            program = bench.program("bench/fleet_pair")
            began = time.monotonic_ns()
            clients = [subprocess.Popen([program, host.socket, "-", *words], stdout=subprocess.PIPE) for host in hosts]
            if any(client.communicate(timeout=DEADLINE) and client.returncode for client in clients):
                raise Trouble("fleet_pair failed")
            return (time.monotonic_ns() - began) / (n * rounds * of_a_round)

    samples = [(measure(4), measure(1)) for _ in range(5)]
    four, one = (min(side) for side in zip(*samples))
    return Result(microseconds(four), microseconds(one), four / one)


def single(bench):
    """The same, one request at a time, beside a bare pair of FCALL; everything on one CPU: 60
    blocks of 256 in turns."""
    return compare(microseconds, *pairs(bench, 1, 60, 256, apart=False)[:2])


def recipe_pair(server, callers, pairs):
    """Nanoseconds a pair, over all callers together."""
    done = subprocess.run(
        [sys.executable, "-B", os.path.join(HERE, "recipe.py"), server.socket]
        + ["1000", str(callers), str(pairs)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE,
        check=False,
    )
    if done.returncode != 0:
        raise Trouble("recipe.py: %s" % done.stderr.decode())
    return int(done.stdout)


def beside_recipe(bench, at_once, pairs, recipe_pairs):
    """Nanoseconds a pair: blocks in turns on one Redis, nothing pinned."""
    ours, theirs = [], []
    with bench.redis() as server, bench.host("a", server.url) as host:
        server.wait_for_hosts(1)
        for _ in range(10):
            wanted = (host.socket, server.socket, PREFIX, "slots", at_once, 3, pairs)
            ours.append(statistics.median(bench.samples("fleet_pair", *wanted)[0]))
            theirs.append(recipe_pair(server, at_once, recipe_pairs))
    return ours, theirs


def recipe(bench):
    """An acquire and its release through berthd, 16 at once, beside the books' fair semaphore in
    Python (recipe.py) with 16 callers, on the same Redis: 10 blocks in turns. (0.2 x the time is 5
    x as fast.)"""
    return compare(microseconds, *beside_recipe(bench, 16, 1024, 20))


# ---- hand-over ----


def has_waiter(server):
    return lambda: server.client.zcard(QUEUE) == 2  # with what keeps it alive


def handover_samples(bench):
    job = bench.program("bench/stamp")
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(bench.redis())
        hosts = [stack.enter_context(bench.host(name, server.tcp_url, ttl=6)) for name in "ab"]
        stack.enter_context(bench.berthd())
        server.wait_for_hosts(len(hosts))
        connection = stack.enter_context(bench.connect(bench.socket))
        fleet = [bench.job(host, job) for host in hosts]
        ours = stack.enter_context(FleetChain(fleet, has_waiter(server)))
        host = stack.enter_context(
            Chain(bench.berth_run(job), bench.berth_has_waiter(connection))
        )
        samples = [(ours.hand_over(), host.hand_over()) for _ in range(200)]
        with Client(hosts[0].socket) as client:
            client.acquire(["job"], b"waiting")
            commands_of_renewals(server, renew_mark(server), 6)  # of both; one job holds, one waits
        return zip(*samples)


def handover(bench):
    """From one job's last act on one host to the first act of the next on the other host, whose
    `berth run` waits for it, Redis over the loopback's TCP, beside the same in host scope: 200 of
    each in 10 blocks in turns. Then MONITOR must show nothing but renewals and heartbeats while
    one job holds and one waits."""
    return compare(milliseconds, *handover_samples(bench), block=20)


# ---- what it costs while nothing changes ----


def renew_mark(server):
    """What identifies a call of renew.lua: its function, which Redis has from berthd."""
    library = sizing.assembled("name")
    if not server.client.execute_command("FUNCTION", "LIST", "LIBRARYNAME", library):
        raise Trouble("berthd has other scripts than src/redis/scripts")
    return library + "_renew"


def names_of(leases, resources):
    if resources == 1:
        return ["crowd"] * leases
    return ["many/r%d" % (i % resources) for i in range(leases)]


def commands_of_renewals(server, mark, n):
    """For each of n renewals, all commands that Redis carries out from it to the next one, inside
    scripts as well; anything but renewals, heartbeats and what is asked once an hour is an error."""
    counts = []
    with Monitor(server) as monitor:
        for command in monitor:
            is_renewal = command.word == "fcall" and mark in command.rest
            if is_renewal:
                if len(counts) == n:
                    return counts
                counts.append(0)
            elif command.source != "lua" and command.word not in BETWEEN_RENEWALS:
                raise Trouble("Redis is idle, and asked %s%s" % (command.word, command.rest))
            if counts and command.word not in BETWEEN_RENEWALS:
                counts[-1] += 1
    raise Trouble("MONITOR has ended")


def renewal_of(bench, leases, resources, n=3):
    """Commands and bytes of a renewal while these leases are held; the same each time, or an error."""
    with bench.redis() as server:
        mark_file = Way(bench.directory, server, mark=b"\0")
        with mark_file as way, bench.host("a", way.url, ttl=6) as host:
            server.wait_for_hosts(1)
            mark = renew_mark(server)
            way.mark = mark.encode()
            with Client(host.socket) as client:
                client.acquire(names_of(leases, resources), b"granted")
                way.wait_for_renewals(1)
                commands = commands_of_renewals(server, mark, n)
                sizes = way.wait_for_renewals(n)
    if len(set(commands)) > 1 or len(set(sizes)) > 1:
        raise Trouble("renewals differ: %s commands, %s bytes" % (commands, sizes))
    return commands[0], sizes[0]


def renewal(bench):
    """Commands inside Redis and bytes on the wire for a renewal with 10 000 leases on 1000
    resources, and with 10 000 on one, beside one lease; MONITOR shows that there is nothing but
    renewals and heartbeats. The figure is the worst ratio."""
    one = renewal_of(bench, 1, 1)
    with_many = [renewal_of(bench, MANY_LEASES, n) for n in (1, MANY_RESOURCES)]
    worst = max(a / b for many in with_many for a, b in zip(many, one))
    form = "%d, %d B"
    return Result(form % with_many[-1], form % one, worst)


def cpu_percent(server, way, periods):
    """Of one CPU, over that many renewal periods; they must be T/6, not shorter."""
    way.wait_for_renewals(0)
    began, before = time.monotonic(), server.cpu_seconds()
    way.wait_for_renewals(periods)
    took, used = time.monotonic() - began, server.cpu_seconds() - before
    if took < 0.9 * periods * TTL / 6:
        raise Trouble("%d renewals within %.1f s" % (periods, took))
    return used / took * 100


def idle_cpu(bench):
    """CPU of Redis while a daemon with 1000 leases and 1000 waiters does nothing, beside one with
    nothing, each over 3 renewals (15 s)."""
    with bench.redis() as server, Way(bench.directory, server, mark=b"\0") as way:
        with bench.host("a", way.url) as host, Client(host.socket) as client:
            server.wait_for_hosts(1)
            way.mark = renew_mark(server).encode()
            nothing = cpu_percent(server, way, 3)
            client.acquire(["slots"] * 1000, b"granted")
            client.acquire(["slots"] * 1000, b"waiting")
            if server.client.zcard(QUEUE) != 1001:
                raise Trouble("not all wait")
            busy = cpu_percent(server, way, 3)
    return "%.2f %% (nothing: %.2f %%)" % (busy, nothing)


FIGURES = (
    # function, the two sides, bound, format of value and bound
    (throughput, "acquire + release, 64 at once / bare client", 1.25, "%.2f x"),
    (flight, "the same / two empty calls", 13.0, "%.2f x"),
    (together, "the same through four berthds / through one", 1.0, "%.2f x"),
    (single, "acquire + release, one at a time / bare", 2.0, "%.2f x"),
    (inside_acquire, "instructions: one acquire / an empty call", 480, "%.0f k"),
    (inside_release, "instructions: one release / an empty call", 380, "%.0f k"),
    (inside_renew, "instructions: one renewal / an empty call", 280, "%.0f k"),
    (inside_pool, "instructions: a pool of 5000 / of 50", 1.15, "%.2f x"),
    (recipe, "16 at once / the fair semaphore in Python", 0.2, "%.3f x"),
    (handover, "job to job, between hosts / on one", 2.0, "%.2f x"),
    (renewal, "a renewal with 10 000 leases / with 1", 1.0, "%.2f x"),
)


# ---- for information ----


def recipe_alone(bench):
    """The same with one caller each, which nothing disturbs: nothing pinned, all on one Redis."""
    ours, theirs = (statistics.median(s) for s in beside_recipe(bench, 1, 256, 200))
    return "%.0f µs (Python: %.0f µs)" % (ours / 1e3, theirs / 1e3)


INFORMATION = (
    (idle_cpu, "Redis CPU, 1000 leases + 1000 wait, idle"),
    (recipe_alone, "one pair, and one of the fair semaphore"),
    *sizing.INFORMATION,
)

"""A fleet's berthd is killed, stopped and started again: the same session goes on, nothing is lost,
nothing is granted twice, and all waiters keep their places."""

import contextlib
import itertools
import os
import subprocess
import time

import pytest

from daemon_help import Status
from fleet_help import (  # fixtures among them
    clock, hosts, needs_redis, redis_section, redis_server, ways)
from lines import DEADLINE, Client, until
from lost_help import witness  # fixtures among them
from scripts_help import Data, Database, Member, ok, past_the_first_grace

pytestmark = needs_redis

LOCK = "[lock s]\nscope = fleet\nkill-after = 500ms\n"


class Fleet:
    """Hosts, their Redis, and jobs whose order is known."""

    def __init__(self, redis_server, hosts, witness, ways, n=3, text=LOCK, ttl=6):
        self.server, self.witness = redis_server, witness
        self.database = Database(redis_server)
        past_the_first_grace(redis_server, redis_server.clock, ttl, 1)
        self.ways = [ways(redis_server) for _ in range(n)]
        self.hosts = hosts(text, n, lambda number: redis_section(
            self.ways[number].url, f"{ttl}s", failover_lag="1s"))
        self.wrappers = []

    def start(self, host, *options):
        number = len(self.wrappers)
        self.wrappers.append(self.hosts[host].berth.start(
            "run", "-q", "--if-down", "wait", *options, "s", "--", *self.witness.job(number),
            stdout=subprocess.DEVNULL))
        return number

    def runs(self, host):
        """A job that has started; the first start takes a grace."""
        number = self.start(host)
        self.witness.wait_until(lambda: number in self.witness.pids)
        return number

    def waits(self, host):
        """A job that has its place in line, as its berthd knows."""
        number = self.start(host)
        self.witness.read()
        n = len(self.wrappers) - len(self.witness.pids)  # what Redis says about others may change in a hello

        def is_known():
            if self.n_waiting() != n:
                return False
            resource = Status(client.lines("status s")).resources["s"]
            return "database_state" not in resource and len(resource["waiters"]) == n

        with contextlib.closing(Client(self.hosts[host].socket)) as client:
            until(is_known)  # Redis has answered that after the acquire, or after a hello that lists it
        return number

    def n_waiting(self):
        return len(self.data().waiting())

    def data(self):
        return Data(self.database)

    def sessions(self):
        """{session: incarnation}"""
        return {name: int(text.split(" ")[1]) for name, text in
                self.database.data()["session"].items() if ":" not in name}

    def listed_sessions(self):
        """The same for those whose hello is over."""
        return {name: int(text.split(" ")[1]) for name, text in
                self.database.data()["session"].items() if ":" not in name and text.split(" ")[3] == "0"}

    def must_work(self):
        """All units are free, for anybody, and at once: no session has to expire first."""
        alive = self.sessions()
        for host in self.hosts:
            done = host.berth("run", "--if-down", "wait", "s", "--", "true")
            assert done.returncode == 0, done
        until(lambda: not self.database.leftovers())
        assert alive.keys() <= self.sessions().keys()

    def go_in_turn(self, between=lambda number: None):
        """Lets each job go as it starts: all of them, in the order in which they asked."""
        for n in range(len(self.wrappers)):
            self.witness.wait_until(lambda: len(self.witness.pids) > n)
            between(n)
            self.witness.let_go(n)
        for number, wrapper in enumerate(self.wrappers):
            assert wrapper.wait(DEADLINE) == 0, (number, wrapper.stderr.read())
        assert self.witness.in_order_of_grant() == list(range(len(self.wrappers)))
        self.witness.check(1)

    def end_in_turn(self, between=lambda number: None):
        """The same, until a renewal has acknowledged all events."""
        self.go_in_turn(between)
        until(lambda: not self.database.leftovers())


@pytest.fixture
def fleet(redis_server, hosts, witness, ways):
    return Fleet(redis_server, hosts, witness, ways)


def test_a_restart_is_not_an_event(fleet):
    """After a kill or a stop, on one host after the other."""
    ways = itertools.cycle(["kill", "stop"])
    fleet.runs(0)
    for host in (1, 0, 2, 1, 0):
        fleet.waits(host)
    before, held = fleet.sessions(), fleet.data().leases
    for host in fleet.hosts:
        host.restart(next(ways))
    until(lambda: all(fleet.sessions()[name] > number for name, number in before.items()))
    assert fleet.sessions().keys() == before.keys()
    assert fleet.data().leases == held
    fleet.end_in_turn(lambda number: fleet.hosts[number % 3].restart(next(ways)))


def test_a_job_ends_while_its_host_is_down(fleet):
    """Its job ends, its waiter is granted: it deals with both when it is back."""
    fleet.runs(0)
    fleet.waits(1)
    fleet.waits(0)
    restarted = fleet.hosts[0]
    restarted.kill()
    fleet.witness.let_go(0)
    until(lambda: 0 in (fleet.witness.read(), fleet.witness.ended)[1])
    restarted.start()
    fleet.witness.wait_until(lambda: 1 in fleet.witness.pids)
    restarted.kill()
    fleet.witness.let_go(1)
    until(lambda: fleet.data().in_use("s") == 1 and not fleet.n_waiting())
    restarted.start()
    fleet.end_in_turn()


def test_a_grant_is_not_lost_with_the_daemon(fleet, chance):
    """It is killed at any moment of a hand-over."""
    fleet.runs(0)
    for n in range(12):
        fleet.waits(1 + n % 2)

    def killed(number):
        host = fleet.hosts[1 + number % 2]
        fleet.witness.let_go(number)
        end = time.monotonic() + chance.choice([0, 0.0005, 0.001, 0.002, 0.005])
        while time.monotonic() < end:
            pass
        host.restart("kill")

    fleet.end_in_turn(killed)


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_place_is_not_lost_with_its_answer(redis_server, hosts, witness, ways, how):
    """Redis has put it in line; its berthd ends before it gets the answer. Another one comes later."""
    fleet = Fleet(redis_server, hosts, witness, ways, ttl=120)  # berthd waits 10 s for an answer
    fleet.runs(0)
    fleet.waits(1)
    fleet.ways[1].lose_replies()
    fleet.start(1)
    until(lambda: fleet.n_waiting() == 2)
    fleet.waits(2)
    before = fleet.listed_sessions()
    getattr(fleet.hosts[1], how)()
    fleet.ways[1].heal()
    fleet.hosts[1].start()
    until(lambda: sum(fleet.listed_sessions().values()) > sum(before.values()))
    fleet.go_in_turn()


def test_a_queued_waiter_gets_its_place_after_a_lost_answer(fleet):
    """A job that hears nothing takes the database for dead, and gives up."""
    fleet.runs(0)
    fleet.waits(1)
    with contextlib.closing(Client(fleet.hosts[1].socket)) as client:
        fleet.ways[1].lose_replies()
        word, lease = client.request("acquire s").split(" ")[:2]
        assert word == "pending"
        until(lambda: fleet.n_waiting() == 2)
        fleet.ways[1].reset()
        fleet.ways[1].heal()
        assert client.line() == f"* waiting {lease} position=2"
    fleet.end_in_turn()


def test_a_request_that_must_not_wait_outlives_its_daemon(fleet):
    """berthd is killed, then stopped, while Redis owes the answer."""
    fleet.runs(0)
    host = fleet.hosts[1]
    fleet.ways[1].lose_replies()
    with contextlib.closing(Client(host.socket)) as client:
        word, lease = client.request(f"acquire s wait=0 pid={os.getpid()}").split(" ")[:2]
        assert word == "pending"
        host.restart("kill")
        host.restart("stop")
    with contextlib.closing(Client(host.socket)) as client:
        assert Status(client.lines("status s")).waiters("s") == [lease]
        fleet.ways[1].reset()
        fleet.ways[1].heal()
        assert client.request(f"reclaim {lease} s pid={os.getpid()}").startswith("pending ")
        assert client.line().startswith(f"* denied {lease} would-wait")
    fleet.end_in_turn()


def test_a_host_is_down_for_too_long(fleet):
    """The wrapper stops its job before the next one starts elsewhere."""
    fleet.runs(0)
    fleet.waits(1)
    fleet.hosts[0].kill()
    assert fleet.wrappers[0].wait(DEADLINE) == 124
    fleet.witness.wait_until(lambda: 1 in fleet.witness.pids)
    assert fleet.witness.max_others == 0
    fleet.hosts[0].start()
    number = fleet.waits(0)
    fleet.witness.let_go(1)
    fleet.witness.wait_until(lambda: number in fleet.witness.pids)
    fleet.witness.let_go(number)
    assert [fleet.wrappers[n].wait(DEADLINE) for n in (1, number)] == [0, 0]


def test_in_order_whatever_breaks(fleet, chance):
    """Redis loses no data, and no daemon is away for longer than a deadline."""
    server = fleet.server

    def fault():
        way = chance.choice(fleet.ways)
        kind = chance.choice(["kill", "stop", "reset", "clients", "scripts", "lose", "delay", "clock"])
        if kind in ("kill", "stop"):
            chance.choice(fleet.hosts).restart(kind)
        elif kind == "reset":
            way.reset()
        elif kind == "clients":
            server.do("CLIENT", "KILL", "TYPE", chance.choice(["normal", "pubsub"]))
        elif kind == "scripts":
            server.do("FUNCTION", "FLUSH")
            server.do("SCRIPT", "FLUSH")
        elif kind == "lose":
            way.lose_replies()
            way.reset()
            way.heal()
        elif kind == "delay":
            way.reply_after(chance.choice([0.0, 0.01, 0.1]))
        elif kind == "clock" and not faults.count("clock"):
            server.clock.step(chance.choice([3, 26, -26, -120]))
        faults.append(kind)

    faults = []
    fleet.runs(0)
    for n in range(10):
        fleet.waits(n % 3)
        fault()

    def between(number):
        fault()
        if number < 10:
            fleet.waits(chance.randrange(3))

    for n in range(21):
        fleet.witness.wait_until(lambda: len(fleet.witness.pids) > n)
        print(n, faults[-1], fleet.witness.in_order_of_grant()[-1])
        assert fleet.witness.in_order_of_grant() == list(range(n + 1))
        between(n)
        fleet.witness.let_go(n)
    fleet.end_in_turn()


def test_a_copied_machine(redis_server, hosts):  # noqa: F811
    """The copy goes on with the session. The other one's job is stopped; then it has a new name, and is of use again."""
    past_the_first_grace(redis_server, redis_server.clock, 6, 0)
    host, = hosts("[semaphore s]\nlimit = 2\nscope = fleet\nkill-after = 500ms\n", 1,
                  redis_section(redis_server.url, "6s", failover_lag="0"))
    database = Database(redis_server)
    job = host.berth.start("run", "--if-down", "wait", "s", "--", "sh", "-c", "echo runs; exec sleep 600")
    assert job.stdout.readline() == b"runs\n"
    (key,) = {*database.client.hkeys(database.key["leases"])} - {"~"}
    copy = Member(database, 1, ttl=6000, lag=0)
    copy.session, copy.incarnation = key.split("/")[0], 1000
    ok(copy.begin())
    with contextlib.closing(Client(host.socket)) as client:
        for state in ("replaced", "up"):
            until(lambda: f" state={state} " in "\n".join(client.lines("status")) or not ok(copy.renew()), state)
            if state == "replaced":
                assert job.poll() is None
    job.wait(DEADLINE)  # its end may be seen later than the new name
    done = host.berth("run", "s", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (0, "ran\n"), done
    ok(copy.renew())
    assert len({*database.client.zrange(database.key["sessions"], 0, -1)} - {"~"}) == 2

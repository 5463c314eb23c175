"""A fleet whose database is a slot of a real Redis Cluster: the slot moves there and back, its move gets stuck,
its owner dies. Jobs run on, and no limit is exceeded."""

import contextlib
import subprocess
import time

import pytest

from cluster_help import Cluster
from daemon_help import Status
from fleet_help import hosts, needs_redis, redis_section  # noqa: F401
from lines import DEADLINE, Client, look_again
from lost_help import witness  # noqa: F401

pytestmark = needs_redis


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """For tests that leave all nodes alive."""
    cluster = Cluster(tmp_path_factory.mktemp("c"), replicas=0)
    yield cluster
    cluster.close()


class Fleet:
    """Two hosts with one lock; the slot of their database is at the first master when it begins."""

    def __init__(self, cluster, hosts, witness, prefix, ttl):
        self.cluster, self.witness = cluster, witness
        self.prefix = cluster.prefix_of(cluster.masters[0], prefix)
        self.slot = cluster.slot(self.prefix)
        self.hosts = hosts("[lock a]\nscope = fleet\nkill-after = 500ms\n", 2, redis_section(
            cluster.url, f"{ttl}s", cluster="yes", prefix=self.prefix, failover_lag="1s"))
        self.until(lambda: all(self.database(n)["state"] == "up" for n in range(2)))
        self.wrappers = []

    def database(self, host):
        with contextlib.closing(Client(self.hosts[host].socket)) as client:
            return Status(client.lines("status")).databases["default"]

    def until(self, is_so):
        end = time.monotonic() + DEADLINE
        while not is_so():
            assert time.monotonic() < end, [self.database(n) for n in range(2)]
            look_again()

    def end_grace(self, node):
        """As if the time had passed: both hosts have listed what they have."""
        self.until(lambda: all(self.database(n)["state"] == "up" for n in range(2)))
        node.do("HSET", f"{{{self.prefix}}}:db", "grace", 1)

    def grace(self, node):
        return node.do("HGET", f"{{{self.prefix}}}:db", "grace")

    def start(self, host):
        number = len(self.wrappers)
        self.wrappers.append(self.hosts[host].berth.start(
            "run", "-q", "--if-down", "wait", "a", "--", *self.witness.job(number), stdout=subprocess.DEVNULL))
        return number

    def runs(self, host):
        number = self.start(host)
        self.witness.wait_until(lambda: number in self.witness.pids)
        return number

    def go_in_turn(self):
        for n in range(len(self.wrappers)):
            self.witness.wait_until(lambda: n in self.witness.pids)
            self.witness.let_go(n)
        for wrapper in self.wrappers:
            assert wrapper.wait(DEADLINE) == 0, wrapper.stderr.read()
        assert self.witness.in_order_of_grant() == list(range(len(self.wrappers)))
        self.witness.check(1)

    def server_is(self, node):
        return all(self.database(n).get("server") == node.address and self.database(n)["state"] == "up"
                   for n in range(2))


@pytest.fixture
def fleets(hosts, witness):
    def make(cluster, prefix, ttl=12):
        return Fleet(cluster, hosts, witness, prefix, ttl)

    yield make
    witness.let_all_go()


def test_the_slot_moves_there_and_back(shared, fleets):
    fleet = fleets(shared, "there")
    first, second, _ = shared.masters
    fleet.end_grace(first)
    fleet.runs(0)
    fleet.start(1)
    shared.move(fleet.slot, first, second)
    fleet.until(lambda: fleet.server_is(second))
    assert fleet.grace(second)
    fleet.end_grace(second)
    shared.move(fleet.slot, second, first)
    fleet.until(lambda: fleet.server_is(first))
    assert fleet.grace(first)
    fleet.start(0)
    fleet.end_grace(first)
    fleet.go_in_turn()

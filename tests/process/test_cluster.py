"""A fleet whose database is a slot of a real Redis Cluster: the slot moves there and back, its move gets stuck,
its owner dies. Jobs run on, and no limit is exceeded."""

import contextlib
import subprocess
import time

import pytest

from cluster_help import N_KEYS, Cluster
from conftest import read_line
from daemon_help import Status
from fleet_help import documented_rights, free_port, hosts, needs_redis, redis_section  # noqa: F401
from lines import DEADLINE, Client, until
from lost_help import witness  # noqa: F401
from test_managed import connect_check

pytestmark = needs_redis


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """For tests that leave all nodes alive."""
    cluster = Cluster(tmp_path_factory.mktemp("c"), replicas=0)
    yield cluster
    cluster.close()


class Fleet:
    """Two hosts with one lock; the slot of their database is at the first master when it begins."""

    def __init__(self, cluster, hosts, witness, prefix, ttl, user="", **more):
        self.cluster, self.witness = cluster, witness
        self.prefix = cluster.prefix_of(cluster.masters[0], prefix)
        self.slot = cluster.slot(self.prefix)
        self.hosts = hosts("[lock a]\nscope = fleet\nkill-after = 500ms\n", 2, redis_section(
            cluster.url.replace("//", f"//{user}"), f"{ttl}s", cluster="yes", prefix=self.prefix, failover_lag="1s",
            **more))
        self.until(lambda: all(self.database(n)["state"] == "up" for n in range(2)))
        self.wrappers = []

    def database(self, host):
        with contextlib.closing(Client(self.hosts[host].socket)) as client:
            return Status(client.lines("status")).databases["default"]

    def good_for(self, host):
        """Milliseconds."""
        with contextlib.closing(Client(self.hosts[host].socket)) as client:
            now = Status(client.lines("status"))
        return int(now.databases["default"]["good_until"]) - now.now

    def until(self, is_so):
        until(is_so, lambda: [self.database(n).get("why") for n in range(2)])

    def end_grace(self, node):
        """As if the time had passed: both hosts have listed what they have."""
        self.until(lambda: all(self.database(n)["state"] == "up" for n in range(2)))
        node.do_asking("HSET", f"{{{self.prefix}}}:db", "grace", 1)

    def grace(self, node):
        return node.do_asking("HGET", f"{{{self.prefix}}}:db", "grace")

    def start(self, host, says="-q"):
        number = len(self.wrappers)
        self.wrappers.append(self.hosts[host].berth.start(
            "run", says, "--if-down", "wait", "a", "--", *self.witness.job(number), stdout=subprocess.DEVNULL))
        return number

    def waits(self, host):
        """It has its place in line, and has been told: else its host asks again after an outage, behind others."""
        stderr = self.wrappers[self.start(host, "-v")].stderr
        while "queued, place" not in (line := read_line(stderr)):
            assert line, "it has ended"
        self.until(lambda: self.n_waiting() == len(self.wrappers) - 1)

    def n_waiting(self):
        with contextlib.closing(Client(self.hosts[0].socket)) as client:
            resource = Status(client.lines("status a")).resources["a"]
        return len(resource["waiters"]) if "database_state" not in resource else 0

    def runs(self, host):
        number = self.start(host)
        self.witness.wait_until(lambda: number in self.witness.pids)
        return number

    def begins(self, node):
        """Out of the grace: one job runs, and the other host's waits."""
        self.end_grace(node)
        self.runs(0)
        self.waits(1)

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
    def make(cluster, prefix, ttl=12, **more):
        return Fleet(cluster, hosts, witness, prefix, ttl, **more)

    yield make
    witness.let_all_go()


def test_the_slot_moves_there_and_back(shared, fleets):
    fleet = fleets(shared, "there")
    first, second, _ = shared.masters
    fleet.begins(first)
    shared.move(fleet.slot, first, second)
    fleet.until(lambda: fleet.server_is(second))
    assert fleet.grace(second)
    fleet.end_grace(second)
    shared.move(fleet.slot, second, first)
    fleet.until(lambda: fleet.server_is(first))
    assert fleet.grace(first)
    fleet.waits(0)
    fleet.end_grace(first)
    fleet.go_in_turn()


def test_what_has_ended_is_remembered(shared, fleets):
    """Also where the keys have moved; and its key is one of those that must be there."""
    fleet = fleets(shared, "past")
    fleet.begins(shared.masters[0])
    first, second = shared.masters[:2]
    key = f"{{{fleet.prefix}}}:history"
    fleet.go_in_turn()

    def ended():
        with contextlib.closing(Client(fleet.hosts[1].socket)) as client:
            head, *lines, end = client.lines("history database=default")
        assert head.startswith("ok ") and end == "end"
        return [line.split(" ")[1].split("/")[-1] for line in lines]

    before = until(ended)
    shared.move(fleet.slot, first, second)
    fleet.until(lambda: fleet.server_is(second))
    assert second.do("EXISTS", key) == 1
    assert until(ended)[:len(before)] == before


def test_it_needs_to_be_asked_for(shared, hosts):
    host, = hosts("[lock a]\nscope = fleet\n", 1, redis_section(f"redis://{shared.masters[0].address}"))
    with contextlib.closing(Client(host.socket)) as client:
        why = until(lambda: Status(client.lines("status")).databases["default"].get("why"))
    assert "it%20is%20a%20node%20of%20a%20Redis%20Cluster:%20set%20cluster%20=%20yes" in why


def allow_blind(cluster, prefix):
    """A user who may do everything but INFO."""
    rights = [word.replace("{berth}", f"{{{prefix}}}") for word in documented_rights() if word != "+info"]
    for node in cluster.masters:
        node.do("ACL", "SETUSER", "blind", "reset", "on", ">s3cret", *rights,
                "+cluster|slots", "+exists", "+asking", "+ssubscribe", "+spublish")


def test_a_check(shared, directory):
    """Without a daemon; with all rights, and without INFO."""
    prefix = shared.prefix_of(shared.masters[1], "check")
    allow_blind(shared, prefix)
    status, lines, _ = connect_check(directory, redis_section(shared.url, cluster="yes", prefix=prefix))
    assert status == 0 and f"at {shared.masters[1].address}, all that Berth needs" in lines[1], lines
    gone = f"redis://127.0.0.1:{free_port()}"
    some_gone = redis_section(shared.url.replace("redis://", f"{gone},"), cluster="yes", prefix=prefix)
    assert connect_check(directory, some_gone)[0] == 0, "any node will do"
    status, lines, _ = connect_check(directory, redis_section(gone, cluster="yes", prefix=prefix))
    assert status == 69 and lines[1].startswith("default: not reached: ")
    status, lines, _ = connect_check(directory, redis_section(shared.url.partition(",")[0], prefix=prefix))
    assert status == 78 and "set cluster = yes" in lines[1]
    blind = redis_section(shared.url.replace("//", "//blind:s3cret@"), cluster="yes", prefix=prefix,
                          acknowledge="no-info eviction")
    status, lines, _ = connect_check(directory, blind)
    assert status == 0 and f"at {shared.masters[1].address}, all that Berth needs; without info," in lines[1], lines


@pytest.mark.parametrize("user", ["", "blind:s3cret@"], ids=["all", "no-info"])
def test_messages_come_at_once(shared, fleets, user):
    """A release on one host starts the job of another, long before its next renewal. No key ever ceases to exist."""
    prefix = "blind" if user else "told"
    allow_blind(shared, shared.prefix_of(shared.masters[0], prefix))
    fleet = fleets(shared, prefix, ttl=120, user=user, acknowledge="no-info eviction")
    fleet.end_grace(shared.masters[0])
    fleet.runs(0)
    for n in range(1, 5):
        fleet.waits(n % 2)
    began = time.monotonic()
    fleet.go_in_turn()
    assert time.monotonic() - began < 60
    assert len(shared.keys(fleet.slot, shared.masters[0])) == N_KEYS


@pytest.mark.parametrize("at", ["begun", "moved"])
def test_a_move_that_stays_unfinished_with_all_keys_at_one_node(shared, fleets, at):
    """No key is ever missing, so the node that has them all carries every call out, though keys become empty."""
    fleet = fleets(shared, at)
    first, second, _ = shared.masters
    fleet.end_grace(first)
    fleet.runs(0)
    shared.begin_move(fleet.slot, first, second)
    server = first
    if at == "moved":
        assert len(shared.move_keys(fleet.slot, first, second)) == N_KEYS
        fleet.until(lambda: fleet.server_is(second))
        server = second
        fleet.end_grace(second)
    for n in range(1, 4):
        fleet.waits(n % 2)
    fleet.go_in_turn()
    assert len(shared.keys(fleet.slot, server)) == N_KEYS
    assert fleet.server_is(server)
    shared.move_keys(fleet.slot, first, second)
    shared.end_move(fleet.slot, first, second)
    fleet.until(lambda: fleet.server_is(second))
    shared.move(fleet.slot, second, first)


def test_a_move_that_is_stuck_half_way(shared, fleets):
    """Neither node can be asked. Jobs run on over several renewals, and operators are told since when."""
    fleet = fleets(shared, "half", ttl=15)
    first, second, _ = shared.masters
    fleet.begins(first)
    shared.begin_move(fleet.slot, first, second)
    shared.move_keys(fleet.slot, first, second, 10)
    said = f"its slot {fleet.slot} has been moving since 20"
    fleet.until(lambda: all(said in fleet.database(n).get("why", "").replace("%20", " ") for n in range(2)))
    assert said in fleet.hosts[0].berthctl("hosts").stdout
    good = fleet.good_for(0)
    fleet.until(lambda: fleet.good_for(0) < good - 5000)  # two renewals are missing
    assert fleet.witness.running == {0}
    shared.move_keys(fleet.slot, first, second)
    fleet.until(lambda: fleet.server_is(second))
    shared.end_move(fleet.slot, first, second)
    fleet.end_grace(second)
    fleet.go_in_turn()
    shared.move(fleet.slot, second, first)


@pytest.mark.parametrize("n", [1, 6, 20])
def test_a_move_that_is_given_up_half_way(shared, fleets, n):
    """The node goes on with what it has: whichever keys are missing, no place is given away twice. It counts as a
    server that has lost its data."""
    fleet = fleets(shared, f"torn{n}", ttl=30)
    first, second, _ = shared.masters
    fleet.begins(first)
    shared.begin_move(fleet.slot, first, second)
    shared.move_keys(fleet.slot, first, second, n)
    for node in (first, second):
        node.do("CLUSTER", "SETSLOT", fleet.slot, "STABLE")
    fleet.until(lambda: len(shared.keys(fleet.slot, first)) == N_KEYS and fleet.server_is(first))
    assert fleet.grace(first)
    fleet.until(lambda: fleet.n_waiting() == 1)
    fleet.end_grace(first)
    fleet.waits(0)
    fleet.go_in_turn()


def test_most_masters_are_away(shared, fleets):
    """CLUSTERDOWN: as if the server were away; it comes back as the same server, without a grace."""
    fleet = fleets(shared, "down", ttl=30)
    first, *others = shared.masters
    fleet.begins(first)
    fleet.until(lambda: not fleet.grace(first))
    for node in others:
        node.stop()
    fleet.until(lambda: all("CLUSTERDOWN" in fleet.database(n).get("why", "") for n in range(2)))
    for node in others:
        node.cont()
    fleet.until(lambda: fleet.server_is(first))
    assert not fleet.grace(first)
    fleet.go_in_turn()


def test_the_owner_dies(directory, fleets):
    cluster = Cluster(directory)
    try:
        fleet = fleets(cluster, "dies", ttl=30)
        first, replica = cluster.masters[0], cluster.replicas[0]
        fleet.begins(first)
        first.kill()
        until(replica.is_master, "the replica takes over")
        fleet.until(lambda: fleet.server_is(replica))
        assert fleet.grace(replica)
        fleet.waits(0)
        fleet.end_grace(replica)
        fleet.go_in_turn()
    finally:
        cluster.close()

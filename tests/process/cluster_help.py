"""For the tests of a Redis Cluster: private nodes on the loopback, made a cluster by hand, which is
faster than redis-cli, and slots that are moved from node to node, step by step."""

import contextlib

import pytest

from fleet_help import RedisServer, free_port
from lines import until

N_SLOTS = 16384
N_KEYS = 23  # of a database
NODE_TIMEOUT = 1000  # ms: a master that is silent for so long is replaced


class Node(RedisServer):
    """A node of a cluster. It keeps what it knows of the cluster over a restart, and no data."""

    def __init__(self, directory, name, options=(), clock=None):
        self.bus = free_port()
        super().__init__(directory, name, port=True, clock=clock, options=[
            "--cluster-enabled", "yes", "--cluster-port", self.bus, "--cluster-node-timeout", NODE_TIMEOUT,
            "--cluster-require-full-coverage", "no", "--cluster-replica-validity-factor", 0,
            "--repl-diskless-sync-delay", 0, *options])

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def id(self):
        return self.do("CLUSTER", "MYID")

    def cluster_info(self, word):
        answer = self.do("CLUSTER", "INFO")
        return dict(line.split(":", 1) for line in answer.split("\r\n") if ":" in line)[word]

    def do_asking(self, *words):
        """One command about keys that may be here ahead of their slot."""
        with contextlib.closing(self.client(single_connection_client=True)) as client:
            client.execute_command("ASKING")
            return client.execute_command(*words)

    def is_master(self):
        return self.info("replication")["role"] == "master"


class Cluster:
    """Three masters, each with a third of the slots, and replicas of the first `replicas` of them."""

    def __init__(self, directory, replicas=1, options=(), node=Node):
        self.masters = [node(directory, f"m{i}", options) for i in range(3)]
        self.replicas = [node(directory, f"r{i}", options) for i in range(replicas)]
        self.nodes = [*self.masters, *self.replicas]
        for i, node in enumerate(self.masters):
            node.do("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
            node.do("CLUSTER", "ADDSLOTSRANGE", *self.share(i))
        first, *others = self.nodes
        for node in others:
            node.do("CLUSTER", "MEET", "127.0.0.1", first.port, first.bus)
        for node in self.nodes:
            until(lambda: len(self.known_to(node)) == len(self.nodes), f"{node.address} knows all")
        for master, replica in zip(self.masters, self.replicas):
            replica.do("CLUSTER", "REPLICATE", master.id)
        for node in self.nodes:
            until(lambda: node.cluster_info("cluster_state") == "ok", f"{node.address} is ok")
        for replica in self.replicas:
            replica.wait_for_replica_link()

    @staticmethod
    def share(i):
        return i * N_SLOTS // 3, (i + 1) * N_SLOTS // 3 - 1

    @staticmethod
    def known_to(node):
        """Without those that are still being met."""
        return [line for line in node.do("CLUSTER", "NODES").splitlines() if "handshake" not in line]

    @property
    def url(self):
        return "redis://" + ",".join(node.address for node in self.nodes)

    def slot(self, prefix):
        return self.masters[0].do("CLUSTER", "KEYSLOT", f"{{{prefix}}}")

    def prefix_of(self, master, word="p"):
        """A prefix whose slot that master had at the beginning."""
        first, last = self.share(self.masters.index(master))
        return next(f"{word}{i}" for i in range(100) if first <= self.slot(f"{word}{i}") <= last)

    def each(self, *words):
        for node in self.nodes:
            with contextlib.suppress(Exception):
                node.do(*words)

    # ---- a slot that moves

    def keys(self, slot, node):
        return node.do("CLUSTER", "GETKEYSINSLOT", slot, 1000)

    def begin_move(self, slot, source, target):
        target.do("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
        source.do("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id)

    def move_keys(self, slot, source, target, n=None):
        """Of them all, or of the first n."""
        keys = sorted(self.keys(slot, source))[:n]
        if keys:
            source.do("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
        return keys

    def end_move(self, slot, source, target):
        for node in [target, source, *(node for node in self.masters if node.is_master())]:
            node.do("CLUSTER", "SETSLOT", slot, "NODE", target.id)

    def move(self, slot, source, target):
        self.begin_move(slot, source, target)
        self.move_keys(slot, source, target)
        self.end_move(slot, source, target)

    def close(self):
        for node in self.nodes:
            with contextlib.suppress(ProcessLookupError):
                node.cont()
            node.kill()


@pytest.fixture
def cluster(directory):
    cluster = Cluster(directory)
    yield cluster
    cluster.close()

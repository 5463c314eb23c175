"""Random faults upon a fleet whose database is a slot of a Redis Cluster that moves, and whose masters die."""

import contextlib
import time

from cluster_help import Cluster
from fleet_help import redis
from fleet_torture import Torture
from scripts_help import Database


class ClusterTorture(Torture):
    """Three masters, each with a replica. The slot goes from master to master, sometimes in steps with long
    pauses, sometimes back again half-way; its owner is killed, or stopped until a replica has taken over."""

    OF_HOSTS = {"daemon_fault": 3, "wrapper_killed": 3, "wrapper_stopped": 2, "job_fault": 3,
                "host_leaves": 1, "operator_acts": 2, "generation_raised": 0.5}
    FORGETS = {"redis_flushed": 1, "slot_moves": 3}
    OF_REDIS = {"slot_moves": 6, "slot_moves_slowly": 4, "owner_killed": 2, "owner_stopped": 1, "forgotten_while_away": 3,
                "away_for_long": 2, "redis_flushed": 1, "redis_scripts_flushed": 1, "redis_clients_killed": 2}
    PREFIX = "berth"

    def make_redis(self):
        self.cluster = Cluster(self.directory, replicas=3)
        self.servers = self.cluster.nodes
        self.slot = self.cluster.slot(self.PREFIX)
        self.is_busy = False
        self.find_owner()

    def make_file(self, n, generation=0):
        return self.file_of(self.cluster.url, generation, cluster="yes", failover_lag="2s")

    def find_owner(self):
        """The master that has the slot; None: there is none at present."""
        for node in self.cluster.nodes:
            with contextlib.suppress(redis.RedisError, OSError):
                if node.process.poll() is None and node.is_master() and self.has_slot(node):
                    self.redis = node
                    self.database = Database(node)
                    return node
        return None

    def has_slot(self, node):
        for first, last, master, *_ in node.do("CLUSTER", "SLOTS"):
            if first <= self.slot <= last:
                return master[1] == node.port
        return False

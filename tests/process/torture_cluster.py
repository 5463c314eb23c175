"""Random faults upon a fleet whose database is a slot of a Redis Cluster: the slot moves, its master dies."""

import contextlib
import time

from cluster_help import Cluster
from fleet_help import redis
from fleet_torture import Torture
from scripts_help import Database


class ClusterTorture(Torture):
    """Three masters, each with a replica. The slot goes from master to master, at once or key by key with pauses
    between. Its master is killed, or stopped until a replica has taken over."""

    OF_HOSTS = {"daemon_fault": 3, "wrapper_killed": 3, "wrapper_stopped": 2, "job_fault": 3,
                "host_leaves": 1, "operator_acts": 2, "generation_raised": 0.5, "burst_comes": 1}
    FORGETS = {"redis_flushed": 1, "key_vanishes": 1, "slot_moves": 3}
    OF_REDIS = {"slot_moves": 5, "slot_moves_slowly": 4, "owner_killed": 2, "owner_stopped": 1,
                "forgotten_while_away": 2, "away_for_long": 2, "redis_flushed": 1, "key_vanishes": 2, "redis_scripts_flushed": 1,
                "redis_clients_killed": 2}
    MUST_END = (*Torture.MUST_END, "move_goes_on", "owner_is_other", "replica_is_back")

    def make_redis(self):
        self.cluster = Cluster(self.directory, replicas=3)
        self.servers = self.cluster.nodes
        self.slot = self.cluster.slot("berth")
        self.is_busy = False  # one fault of the cluster at a time
        self.steps = None  # of a move
        self.find_owner()

    def begin_database(self):
        """It begins with a grace: the clock of nodes cannot be stepped, as they measure each other by it."""

    def make_way(self, n):
        """None: berthd finds the servers itself."""

    def url_of(self, n):
        return f"{self.cluster.url}\ncluster = yes"

    # ---- who has the slot

    def masters(self):
        """Those that answer."""
        found = []
        for node in self.cluster.nodes:
            with contextlib.suppress(redis.RedisError, OSError):
                if node.process.poll() is None and node is not self.stopped and node.is_master():
                    found.append(node)
        return found

    stopped = None

    def find_owner(self):
        """None: there is none at present."""
        for node in self.masters():
            with contextlib.suppress(redis.RedisError, OSError):
                if any(first <= self.slot <= last and master[1] == node.port
                       for first, last, master, *_ in node.do("CLUSTER", "SLOTS")):
                    self.redis = node
                    self.database = Database(node)
                    return node
        return None

    def redis_do(self, *words):
        self.find_owner()
        return super().redis_do(*words)

    def redis_flushed(self):
        """Not while keys are at two nodes: half of them would stay."""
        return None if self.is_busy else super().redis_flushed()

    # ---- the slot moves

    def begin_move(self, pauses):
        source = None if self.is_busy else self.find_owner()
        targets = [node for node in self.masters() if node is not source]
        if not source or not targets:
            return False
        self.is_busy = True
        self.steps = self.moving(source, self.chance.choice(targets), pauses)
        self.move_goes_on()
        return True

    def slot_moves(self):
        if self.begin_move([0]):
            return "the slot moves"

    def slot_moves_slowly(self):
        if self.begin_move([0, 0.05, 0.3, 1]):
            return "the slot moves slowly"

    def moving(self, source, target, pauses):
        """After each step, for how long nothing is done."""
        self.cluster.begin_move(self.slot, source, target)
        while self.cluster.keys(self.slot, source):
            yield self.chance.choice(pauses)
            self.cluster.move_keys(self.slot, source, target, self.chance.choice([1, 3, 10, None]))
        yield self.chance.choice(pauses)
        self.cluster.end_move(self.slot, source, target)

    def move_goes_on(self):
        for pause in self.steps:
            if pause:
                self.after(pause, self.move_goes_on)
                return
        self.is_busy = False

    # ---- its master is away

    def begin_takeover(self, owner):
        """A replica has to be there, and to follow."""
        if self.is_busy or not owner:
            return False
        with contextlib.suppress(redis.RedisError, OSError):
            self.is_busy = owner.info("replication").get("slave0", {}).get("state") == "online"
        if self.is_busy:
            self.after(1, self.owner_is_other, owner, time.monotonic() + 30)
        return self.is_busy

    def owner_killed(self):
        owner = self.find_owner()
        if self.begin_takeover(owner):
            owner.kill()
            return "the slot's master is killed"

    def owner_stopped(self):
        owner = self.find_owner()
        if self.begin_takeover(owner):
            self.stopped = owner
            owner.stop()
            return "the slot's master is stopped until a replica has taken over"

    def owner_is_other(self, old, until):
        """Then the old one comes back, as a replica."""
        if not self.find_owner() and time.monotonic() < until:
            self.after(0.2, self.owner_is_other, old, until)
            return
        self.stopped = None
        if old.process.poll() is None:
            old.cont()
        else:
            old.start()
        self.after(0.5, self.replica_is_back, old, time.monotonic() + 30)

    def replica_is_back(self, node, until):
        with contextlib.suppress(redis.RedisError, OSError):
            if node.info("replication").get("master_link_status") == "up" or time.monotonic() > until:
                self.is_busy = False
                return
        self.after(0.5, self.replica_is_back, node, until)

    def wait_until_idle(self):
        self.find_owner()
        super().wait_until_idle()

"""Random faults upon a fleet whose Redis fails over."""

import contextlib
import signal
import time

from fleet_help import Monitored, RedisServer, redis
from fleet_torture import Torture
from scripts_help import Database


class SentinelTorture(Torture):
    """A master, a replica and a Sentinel. The master dies while the replica lags behind; Sentinel
    promotes the replica, and the master comes back as its replica. Then the other way round."""

    OF_HOSTS = {"daemon_fault": 3, "wrapper_killed": 3, "wrapper_stopped": 2, "job_fault": 3,
                "host_leaves": 1, "operator_acts": 2, "generation_raised": 0.5, "burst_comes": 1}
    FORGETS = {"replica_promoted": 2, "redis_flushed": 1, "key_vanishes": 1, "clock_stepped": 2}
    OF_REDIS = {"replica_promoted": 3, "forgotten_while_away": 3, "away_for_long": 2, "redis_flushed": 1, "key_vanishes": 2, "redis_scripts_flushed": 1,
                "redis_clients_killed": 2, "clock_stepped": 2}

    # More than the kernel's buffers hold: what is written after it does not leave the master.
    JUNK = "x" * (24 << 20)

    def make_redis(self):
        first = RedisServer(self.directory, "first", port=True, clock=self.clock)
        second = RedisServer(self.directory, "second", clock=self.clock, replica_of=first)
        self.sentinel = RedisServer(
            self.directory, "sentinel", clock=None, sentinel_of=Monitored(first.port, down_after=3000))
        self.servers = [first, second, self.sentinel]
        second.wait_for_replica_link()
        self.sentinel.wait_for_sentinel_to_know(1)
        self.redis, self.replica = first, second
        self.is_promoting = False

    def make_way(self, n):
        """None: berthd finds the servers itself."""

    def url_of(self, n):
        return f"sentinel://127.0.0.1:{self.sentinel.port}/mymaster"

    def replica_promoted(self):
        """What happens from now on until the master dies is lost."""
        if not self.is_promoting and self.is_master(self.redis) and self.follows(self.replica):
            self.is_promoting = True
            self.replica.signal(signal.SIGSTOP)
            self.redis_do("SET", "junk", self.JUNK)
            self.redis_do("DEL", "junk")
            self.after(self.chance.choice([0.1, 0.5, 1, 2]), self.master_dies)
            return "a lagging replica is promoted"

    def master_dies(self):
        self.redis.kill()
        self.replica.cont()
        self.after(1, self.master_is_other, time.monotonic() + 20)

    def master_is_other(self, until):
        """Sentinel has taken its time; then the dead one comes back as replica. After a clock step
        Sentinel may reject the replica: then the dead one comes back as it was, empty."""
        if not self.is_master(self.replica):
            if time.monotonic() < until:
                self.after(0.2, self.master_is_other, until)
                return
            self.redis.replica_of = None
            self.redis.start()
            self.is_promoting = False
            self.say("no replica was good enough")
            return
        self.redis, self.replica = self.replica, self.redis
        self.database = Database(self.redis)
        self.replica.replica_of = self.redis
        self.replica.dump.unlink(missing_ok=True)
        self.replica.start()
        self.is_promoting = False
        self.say("it is the master now")

    def follows(self, server):
        with contextlib.suppress(redis.RedisError, OSError):
            return server.info("replication").get("master_link_status") == "up"

    def is_master(self, server):
        with contextlib.suppress(redis.RedisError, OSError):
            return server.info("replication")["role"] == "master"

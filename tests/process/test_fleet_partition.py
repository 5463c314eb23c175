"""A host is cut off from Redis: its jobs are dead before their units are granted to others, with
either of their two killers gone. Reconnected, it works again."""

import contextlib
import os
import select
import signal

import pytest

from fleet_help import Clock, Host, RedisServer, needs_redis, redis_section
from fleet_nets import Nets, needs_nets
from lines import DEADLINE
from lost_help import stop_process, witness  # a fixture among them
from scripts_help import Database, past_the_first_grace

pytestmark = [needs_redis, needs_nets]

TTL = 6

TEXT = """[semaphore s]
scope = fleet
limit = 2
kill-after = 500ms
[lock here]
"""

# The witness job, which ignores all signals but KILL.
DEAF = ["sh", "-c", "trap '' TERM INT HUP; exec \"$@\"", "-"]


class Fleet:
    """Three hosts, each with its own network."""

    def __init__(self, directory, nets, stack):
        self.nets = nets
        clock = Clock(directory / "clock")
        self.redis = RedisServer(directory, port=True, clock=clock, before=nets.inside(nets.middle),
                                 bind=nets.server, options=["--protected-mode", "no"])
        stack.callback(self.redis.kill)
        past_the_first_grace(self.redis, clock, TTL, 1)
        self.database = Database(self.redis)
        self.hosts = []
        for number, pid in enumerate(nets.hosts):
            self.hosts.append(Host(
                directory, f"h{number}",
                redis_section(self.redis.tcp_url, f"{TTL}s", failover_lag="1s") + TEXT,
                before=nets.inside(pid)))
            stack.callback(self.hosts[-1].end)

    def start(self, witness, host, number, deaf=False):
        return self.hosts[host].berth.start(
            "run", "-q", "--if-down", "wait", "s", "--", *(DEAF if deaf else []), *witness.job(number))


@pytest.fixture
def fleet(directory, witness):
    with contextlib.ExitStack() as stack:
        nets = stack.enter_context(Nets(3))
        yield Fleet(directory, nets, stack)
        witness.let_all_go()


def has_ended(pidfd):
    return bool(select.select([pidfd], [], [], 0)[0])


@pytest.mark.parametrize("way, killers", [
    ("cable", "both"), ("replies", "wrapper"), ("cable", "berthd"), ("replies", "both")])
def test_cut_off(fleet, witness, way, killers):
    first = [fleet.start(witness, 0, number, deaf=number == 1) for number in (0, 1)]
    witness.wait_for_starts(2)
    jobs = [os.pidfd_open(witness.pids[number]) for number in (0, 1)]
    others = [fleet.start(witness, host, number) for host, number in ((1, 2), (2, 3))]
    cut, heal = {"cable": (fleet.nets.pull, fleet.nets.plug),
                 "replies": (fleet.nets.swallow_replies, fleet.nets.spit)}[way]
    cut(0)
    if killers == "wrapper":
        stop_process(fleet.hosts[0].process)
    elif killers == "berthd":
        for wrapper in first:
            wrapper.kill()

    witness.wait_for_starts(3)
    assert all(map(has_ended, jobs))
    witness.wait_for_starts(4)
    witness.read()
    assert not witness.wrong
    assert witness.max_others == 1  # of two; a job is alive until the kernel says otherwise
    if killers != "berthd":
        assert [wrapper.wait(DEADLINE) for wrapper in first] == [124, 124]
    for fd in jobs:
        os.close(fd)

    fleet.hosts[0].signal(signal.SIGCONT)
    here = fleet.hosts[0].berth("run", "here", "--", "true")  # the host's own
    assert here.returncode == 0, here
    down = fleet.hosts[0].berth("run", "s", "--", "true")
    assert down.returncode == 69, down
    heal(0)
    again = fleet.start(witness, 0, 4)
    for number in (2, 3):
        witness.let_go(number)
    witness.wait_for_starts(5)
    witness.let_go(4)
    assert [wrapper.wait(DEADLINE) for wrapper in (*others, again)] == [0, 0, 0]


def test_a_short_cut_is_nothing(fleet, witness):
    """Shorter than the deadline: no job notices."""
    first = fleet.start(witness, 0, 0)
    second = fleet.start(witness, 0, 1)
    witness.wait_for_starts(2)
    fleet.nets.pull(0)
    other = fleet.start(witness, 1, 2)
    assert select.select([witness.log], [], [], 1.5)[0] == []  # nothing happens
    fleet.nets.plug(0)
    witness.let_go(0)
    witness.wait_for_starts(3)
    witness.check(2)
    witness.let_go(1)
    witness.let_go(2)
    assert [wrapper.wait(DEADLINE) for wrapper in (first, second, other)] == [0, 0, 0]

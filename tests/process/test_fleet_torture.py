"""A short form of tests/fleet-torture, and what it relies on."""

import contextlib
import os
import subprocess
import sys

import pytest

from conftest import end_all_in
from daemon_help import SOURCE
from fleet_help import Clock, Host, RedisServer, Way, needs_redis, redis_section
from fleet_torture import Torture
from lines import DEADLINE
from lost_help import witness  # a fixture
from scripts_help import past_the_first_grace

SECONDS = float(os.environ.get("BERTH_TORTURE_SECONDS", 12))


def tortured(directory, chance, seconds, **how):
    torture = Torture(directory, chance, say=print)
    try:
        torture.run(seconds, **how)
        print(torture.summary())
        assert torture.verdict() == []
    finally:
        torture.close()


@needs_redis
def test_nothing_goes_wrong(directory, chance):
    tortured(directory, chance, SECONDS)


# By its own clock it sleeps for 220 ms; it says how long that was, and by the real time.
SLEEPER = """
import ctypes, os, struct, time
libc = ctypes.CDLL(None, use_errno=True)
timer = libc.timerfd_create(time.CLOCK_BOOTTIME, 0)
before = time.time_ns()
began, after = time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.time_ns()
seconds, rest = divmod(began + 220_000_000, 1_000_000_000)
assert libc.timerfd_settime(timer, 1, struct.pack("qqqq", 0, 0, seconds, rest), None) == 0
os.read(timer, 8)
end = time.time_ns()
print(time.clock_gettime_ns(time.CLOCK_BOOTTIME) - began, end - after, time.time_ns() - before)
"""


@pytest.mark.parametrize("rate", [-1 / 12, 1 / 12], ids=["slow", "fast"])
def test_a_clock_has_its_rate(directory, rate):
    clock = Clock(directory / "clock", rate)
    said = subprocess.run([sys.executable, "-c", SLEEPER], env={**os.environ, **clock.environ}, timeout=DEADLINE,
                          check=True, stdout=subprocess.PIPE).stdout
    shown, at_least, at_most = map(int, said.split())
    assert shown >= 219_000_000
    assert at_least - 1_000_000 <= shown / (1 + rate) <= at_most + 1_000_000  # the real one may be slewed


LOCK = "[lock s]\nscope = fleet\nkill-after = 500ms\n"


@needs_redis
@pytest.mark.parametrize("rate, seen", [(1 / 12, []), (0.4, ["taken"])], ids=["as promised", "beyond"])
def test_a_slow_host_is_cut_off(directory, witness, rate, seen):
    """All other clocks are fast. What only SIGKILL ends is gone before its place is given to others; at rates beyond
    those of doc/timing.md it is not, so clocks that differ too much would be seen here."""
    fast, slow = Clock(directory / "fast", rate), Clock(directory / "slow", -rate)
    with contextlib.ExitStack() as stack:
        server = RedisServer(directory, clock=fast)
        stack.callback(server.kill)
        past_the_first_grace(server, fast, 6, 1)
        way = Way(directory / "way", server.socket)
        stack.callback(way.close)
        for number, (url, clock) in enumerate([(way.url, slow), (server.url, fast)]):
            host = Host(directory, f"h{number}", redis_section(url, failover_lag="1s") + LOCK, clock=clock)
            stack.callback(host.end)
            host.berth.start("run", "-q", "--if-down", "wait", "s", "--", "sh", "-c", "trap '' TERM; exec \"$@\"", "-",
                             *witness.job(number), stdout=subprocess.DEVNULL)
            if number == 0:
                witness.wait_for_starts(1)
        way.cut_off()
        witness.wait_until(lambda: len(witness.pids) + len(witness.wrong) == 2)
        assert [line.split()[0] for line in witness.wrong] == seen
        witness.let_all_go()


def test_a_build_without_its_helpers(directory):
    ended = subprocess.run([SOURCE / "tests/fleet-torture"], env={**os.environ, "BERTH_BUILD_DIR": str(directory)},
                           timeout=DEADLINE, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1
    assert f"{directory} lacks berthd, " in ended.stderr and "witness_job" in ended.stderr


def test_what_a_test_leaves_behind_ends(directory):
    job = subprocess.Popen(["sleep", "1000"], cwd=directory)
    end_all_in(directory)
    assert job.wait(DEADLINE) < 0

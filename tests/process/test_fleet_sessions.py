"""bench/crowd in small: its simulated daemons, and the scenes that it measures."""

import sys

from conftest import BUILD
from daemon_help import SOURCE
from fleet_help import needs_redis

sys.path.insert(0, str(SOURCE / "bench"))
import crowd_processes  # noqa: E402

pytestmark = needs_redis


N = 50


def test_a_crowd_comes_back_in_time(tmp_path):
    with crowd_processes.Crowd(str(BUILD / "bench/sessions"), str(tmp_path), N) as crowd:
        crowd.connect()
        idle = crowd.idle(periods=0.2)
        assert (idle.sums["tries"], idle.sums["hellos"], idle.sums["held"]) == (0, 0, N), idle
        for scene in (crowd.restart, crowd.restart_empty, crowd.failover):
            sums = scene().sums
            assert (sums["up"], sums["held"], sums["hellos"]) == (N, N, N), sums
            assert (sums["stopped"], sums["lost"]) == (0, 0), sums
            assert 0 < sums["least"] <= crowd.patience * 1000 and sums["tries"] >= N, sums

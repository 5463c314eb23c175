"""Restart is not an event: whatever ends the daemon, no place is lost or given twice."""


import pytest

from conftest import Job, leases
from crowd import Crowd
from machine import STARTED


@pytest.fixture
def fifty(machine):
    jobs = [Job(machine, "fifty", user=user) for user in 25 * ["alice", "bob"]]
    for job in jobs:
        job.begins()
    yield jobs
    assert [job.end() for job in jobs] == 50 * [0]


def ends_and_is_back(machine, fifty, end):
    held = leases(machine, "fifty")
    assert len(held) == 50
    pid, cursor = machine.main_pid(), machine.cursor()
    end(pid)
    machine.wait_for_entry(cursor, UNIT="berthd.service", MESSAGE_ID=STARTED)
    assert machine.main_pid() != pid
    assert leases(machine, "fifty") == held
    assert all(job.lives() for job in fifty)
    return machine.messages(cursor, UNIT="berthd.service")


def test_the_watchdog_restarts_a_daemon_that_hangs(machine, fifty):
    messages = ends_and_is_back(machine, fifty, lambda pid: machine.kill("STOP", pid))
    assert any("Watchdog timeout" in message for message in messages)


def test_a_killed_daemon_is_back(machine, fifty):
    ends_and_is_back(machine, fifty, lambda pid: machine.kill("KILL", pid))


def test_restart_with_50_leases(machine, fifty):
    ends_and_is_back(machine, fifty, lambda pid: machine.systemctl("restart", "berthd.service"))


def test_restart_under_load(machine):
    crowd = Crowd(machine)
    for _ in range(4):
        machine.systemctl("restart", "berthd.service")
        crowd.goes_on()
    crowd.ends_well()


def test_stop_and_start_under_load(machine):
    crowd = Crowd(machine)
    for _ in range(4):
        machine.systemctl("stop", "berthd.service")
        machine.systemctl("start", "berthd.service")
        crowd.goes_on()
    crowd.ends_well()

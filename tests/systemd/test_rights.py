"""Who may do what, and what the daemon's one right is for."""

import pytest

from conftest import Job, leases, status


@pytest.mark.parametrize("verb", [
    ["pause", "ship"], ["limit", "fifty", "1"], ["drain"], ["reload"], ["reset", "ship"]])
def test_an_ordinary_user_is_refused(machine, verb):
    assert machine.try_("berthctl", *verb, user="alice").returncode == 77


@pytest.mark.parametrize("verb", ["revoke", "drop"])
def test_another_s_lease(machine, verb):
    job = Job(machine, "ship", user="bob").begins()
    assert machine.try_("berthctl", verb, job.lease, user="alice").returncode == 77
    assert leases(machine, "ship") == {job.lease: job.pid}
    assert job.end() == 0


def test_root_is_not_refused(machine):
    machine.run("berthctl", "pause", "ship")
    assert machine.try_("berth", "run", "-n", "ship", "--", "true", user="alice").returncode == 75
    machine.run("berthctl", "resume", "ship")
    assert machine.run("berth", "run", "-n", "ship", "--", "echo", "done", user="alice") == "done\n"


def without_wrapper(machine, name, *options):
    """A job of bob's, whose wrapper was killed."""
    job = Job(machine, name, *options, user="bob").begins()
    machine.kill("KILL", job.wrapper())
    job.process.wait(30)
    return job


def is_stopped(machine, job, name):
    machine.wait(lambda: not job.lives(), "the job is dead")
    machine.wait(lambda: status(machine, name)["in_use"] == 0, "its place is free")


def test_a_revoked_job_of_another_user_is_killed(machine):
    job = without_wrapper(machine, "brief-kill")
    assert leases(machine, "brief-kill") == {job.lease: job.pid}
    assert job.lives()
    machine.run("berthctl", "revoke", job.lease)
    is_stopped(machine, job, "brief-kill")


def test_a_job_of_another_user_that_has_had_its_time_is_killed(machine):
    is_stopped(machine, without_wrapper(machine, "brief-hold"), "brief-hold")


def test_where_processes_are_hidden(machine):
    """From ordinary users, by the host's /proc: berthd must not take their processes for dead."""
    machine.run("mount", "-o", "remount,hidepid=invisible", "/proc")
    machine.systemctl("restart", "berthd.service")
    job = without_wrapper(machine, "brief-kill")
    assert leases(machine, "brief-kill") == {job.lease: job.pid}
    machine.run("berthctl", "revoke", job.lease)
    is_stopped(machine, job, "brief-kill")
    machine.run("mount", "-o", "remount,hidepid=off", "/proc")

"""A bad file is reported, and changes nothing."""

import pytest

from conftest import CONFIGURATION, Job, leases

FILE = "/etc/berth/conf.d/test.conf"
BAD = CONFIGURATION + "\n[semaphore more]\nlimit = lots\n"


def messages(machine, cursor):
    return "\n".join(machine.messages(cursor, _SYSTEMD_UNIT="berthd.service"))


def test_reload(machine):
    machine.write(FILE, CONFIGURATION + "\n[lock more]\n")
    machine.systemctl("reload", "berthd.service")
    assert machine.run("berth", "run", "more", "--", "echo", "done", user="alice") == "done\n"


def test_a_bad_file(machine):
    job = Job(machine, "ship", user="alice").begins()
    pid, cursor = machine.main_pid(), machine.cursor()
    machine.write(FILE, BAD)
    assert machine.try_("systemctl", "reload", "berthd.service").returncode != 0
    assert f"{FILE}:{BAD.count(chr(10))}: [semaphore more] limit" in messages(machine, cursor)
    assert machine.main_pid() == pid
    assert machine.systemctl("is-active", "berthd.service") == "active\n"
    assert leases(machine, "ship") == {job.lease: job.pid}
    assert machine.run("berth", "run", "fifty", "--", "echo", "done", user="bob") == "done\n"
    assert machine.try_("berth", "run", "more", "--", "true").returncode == 78
    assert job.end() == 0


@pytest.fixture
def with_a_bad_file(machine):
    machine.systemctl("stop", "berthd.service")
    machine.write(FILE, BAD)
    yield
    machine.systemctl("reset-failed")


def test_a_start_with_a_bad_file(machine, with_a_bad_file):
    cursor = machine.cursor()
    assert machine.try_("systemctl", "start", "berthd.service").returncode != 0
    assert "[semaphore more] limit" in messages(machine, cursor)
    assert machine.property("berthd.service", "ExecMainStatus") == "78"
    assert machine.property("berthd.service", "NRestarts") == "0"
    assert machine.property("berthd.service", "ActiveState") == "failed"


def test_clients_are_refused_rather_than_left_waiting(machine, with_a_bad_file):
    """All is well again with a good file and `systemctl start berthd`."""
    client = machine.try_("berth", "run", "--down-after", "1s", "ship", "--", "true", user="alice")
    assert client.returncode == 69
    machine.wait(lambda: machine.property("berthd.socket", "ActiveState") == "failed", "the socket is closed")
    assert machine.try_("berth", "run", "ship", "--", "true", user="alice").returncode == 69
    machine.write(FILE, CONFIGURATION)
    machine.systemctl("reset-failed", "berthd.service")
    machine.systemctl("start", "berthd.service")
    assert machine.systemctl("is-active", "berthd.socket") == "active\n"
    assert machine.run("berth", "run", "ship", "--", "echo", "done", user="alice") == "done\n"

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
    """The first client has berthd started, and berth-history is one. The journal's cursor before that."""
    machine.write(FILE, BAD)
    cursor = machine.cursor()
    machine.systemctl("stop", "berthd.service")
    yield cursor
    machine.write(FILE, CONFIGURATION)
    machine.wait(lambda: machine.property("berthd.service", "ActiveState") == "active", "it is up again")


def test_a_start_with_a_bad_file(machine, with_a_bad_file):
    assert machine.try_("systemctl", "start", "berthd.service").returncode != 0
    assert "[semaphore more] limit" in messages(machine, with_a_bad_file)
    machine.wait(lambda: any("status=78/CONFIG" in said for said in
                             machine.messages(with_a_bad_file, UNIT="berthd.service")), "it has given up")
    assert machine.property("berthd.service", "NRestarts") == "0"


def test_a_mended_file_serves_who_waits(machine, with_a_bad_file):
    """No limit of the manager has closed the socket, and berthd is up without another command."""
    impatient = machine.try_("berth", "run", "--down-after", "1s", "ship", "--", "true", user="alice")
    assert impatient.returncode == 69
    waiting = Job(machine, "ship", "--down-after", "60s", user="alice")
    cursor = machine.cursor()
    for _ in range(2):
        machine.wait(lambda: "[semaphore more] limit" in messages(machine, cursor), "berthd has tried again")
        cursor = machine.cursor()
    machine.write(FILE, CONFIGURATION)
    assert waiting.begins().end() == 0
    units = ("berthd.socket", "berthd.service")
    machine.wait(lambda: machine.try_("systemctl", "is-active", *units).stdout == "active\n" * 2, "both are up")

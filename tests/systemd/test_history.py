"""berth-history: it runs with berthd, as a user of its own, and keeps what has ended over restarts."""

import re
import socket

import pytest

from conftest import Job
from machine import DEADLINE
from test_units import MAX_EXPOSED, comments, security

SERVICE, SOCKET = "berth-history.service", "/run/berth/berth-history.sock"
UNITS = (SERVICE, "berth-history.socket", "berth-history@two.service", "berth-history@two.socket")


def kept(machine, name, path=SOCKET):
    """The leases of that resource that are kept, as it tells root."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(DEADLINE)
        peer.connect(str(machine.outside(path)))
        peer.sendall(f"history {name}\n".encode())
        lines = iter(peer.makefile().readline, "end\n")
        return [line.split(" ")[1] for line in lines if line.startswith("ended ")]


def test_exposure(machine):
    overall, exposed = security(machine, SERVICE)
    assert exposed and overall <= MAX_EXPOSED
    explained = comments(machine, SERVICE)
    for setting in exposed:
        for word in re.split("=/|=~|=", setting):
            assert word in explained, setting


@pytest.mark.parametrize("unit", UNITS)
def test_verify_is_silent(machine, unit):
    done = machine.try_("systemd-analyze", "verify", "--man=no", unit)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_it_runs_with_berthd_as_nobody_else(machine):
    machine.systemctl("start", "berthd.service")
    machine.wait(lambda: machine.try_("systemctl", "is-active", SERVICE).stdout == "active\n", "it runs")
    assert machine.run("stat", "-c", "%U %a", SOCKET) in ("root 666\n", "berth 666\n")
    assert machine.run("stat", "-c", "%U %a", "/var/lib/berth-history") == "berth-history 700\n"
    status = machine.read(f"/proc/{machine.main_pid(SERVICE)}/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert int(fields["CapPrm"], 16) == int(fields["CapBnd"], 16) == 0
    assert machine.run("id", "-u", "berth-history").strip() == fields["Uid"].split()[0]


def test_what_ends_over_restarts(machine):
    job = Job(machine, "ship", user="alice").begins()
    assert job.end() == 0
    machine.wait(lambda: job.lease in kept(machine, "ship"), "it is kept")
    machine.systemctl("stop", SERVICE)
    other = Job(machine, "ship", user="alice").begins()
    assert other.end() == 0
    machine.systemctl("restart", "berthd.service")
    machine.wait(lambda: kept(machine, "ship")[-2:] == [job.lease, other.lease], "what ended without it, too")
    machine.run("systemctl", "kill", "--signal=KILL", "berthd.service", SERVICE)
    machine.wait(lambda: kept(machine, "ship")[-2:] == [job.lease, other.lease], "nothing is lost")


def test_of_an_instance(machine):
    machine.write("/etc/berth/berthd@two.conf", "[lock ship]\n")
    machine.systemctl("enable", "--quiet", "--now", "berthd@two.socket")
    try:
        job = Job(machine, "ship", "-S", "/run/berthd@two/berth.sock", user="alice").begins()
        assert job.end() == 0
        machine.wait(lambda: kept(machine, "ship", "/run/berthd@two/berth-history.sock") == [job.lease], "it is kept")
        assert job.lease not in kept(machine, "ship")
    finally:
        machine.systemctl("disable", "--quiet", "--now", "berthd@two.socket")
        machine.systemctl("stop", "berthd@two.service", "berth-history@two.socket", "berth-history@two.service")
        machine.outside("/etc/berth/berthd@two.conf").unlink()


def test_an_upgrade_restarts_it(machine):
    machine.systemctl("start", SERVICE)
    before = machine.main_pid(SERVICE)
    machine.run("dpkg-reconfigure", "berth")
    machine.wait(lambda: machine.main_pid(SERVICE) not in (0, before), "the new one runs")

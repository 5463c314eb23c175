"""The life of the package on its own machine: a reboot, an upgrade, removal, purge. In this order."""

import shutil
import subprocess

import pytest

from conftest import CONFIGURATION, Job, add_users, install, leases
from crowd import Crowd
from machine import PACKAGE, WORK, Machine

# The service's own /proc has the boot id of the machine that we run on.
BOOT_ID = "[Service]\nBindReadOnlyPaths=/boot_id:/proc/sys/kernel/random/boot_id\n"
TWO = "/run/berthd@two/berth.sock"


@pytest.fixture(scope="module")
def fresh():
    machine = Machine(WORK / "fresh")
    try:
        machine.boot()
        add_users(machine)
        install(machine)
        machine.write("/etc/berth/conf.d/test.conf", CONFIGURATION)
        machine.systemctl("reload", "berthd.service")
        yield machine
    finally:
        machine.off()
        shutil.rmtree(machine.root)


def newer_package(version):
    """The same package, of another version."""
    unpacked, package = WORK / "newer", WORK / "newer.deb"
    subprocess.run(["dpkg-deb", "-R", PACKAGE, unpacked], check=True)
    control = unpacked / "DEBIAN/control"
    control.write_text("".join(
        f"Version: {version}\n" if line.startswith("Version: ") else line
        for line in control.read_text().splitlines(keepends=True)))
    subprocess.run(["dpkg-deb", "-Znone", "-b", unpacked, package], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(unpacked)
    return package


def token(machine):
    return int(machine.run("berth", "run", "ship", "--", "sh", "-c", "echo $BERTH_TOKEN", user="alice"))


def test_a_reboot(fresh):
    Job(fresh, "ship", user="alice").begins()
    before = int(fresh.run("berth", "run", "fifty", "--", "sh", "-c", "echo $BERTH_TOKEN"))
    fresh.write("/etc/systemd/system/berthd.service.d/boot_id.conf", BOOT_ID)
    fresh.off()
    fresh.boot()
    assert fresh.systemctl("is-active", "berthd.service", "berthd.socket") == "active\nactive\n"
    assert fresh.run("berth", "run", "-n", "fifty", "--", "echo", "at once", user="alice") == "at once\n"
    assert fresh.run("berth", "run", "-n", "ship", "--", "echo", "at once", user="alice") == "at once\n"
    assert int(fresh.run("berth", "run", "fifty", "--", "sh", "-c", "echo $BERTH_TOKEN")) > before


def test_an_upgrade_with_jobs_running(fresh):
    fresh.write("/etc/berth/berthd@two.conf", "[lock ship]\n")
    fresh.systemctl("start", "berthd@two.socket")
    jobs = [Job(fresh, "ship", user="alice").begins(),
            Job(fresh, "ship", "-S", TWO, user="bob").begins()]
    held = leases(fresh, "ship")
    waits = Job(fresh, "ship", user="bob")
    crowd = Crowd(fresh)
    daemons = {unit: fresh.main_pid(unit) for unit in ("berthd.service", "berthd@two.service")}
    socket = fresh.property("berthd.socket", "InvocationID")
    install(fresh, newer_package("99"))
    assert fresh.run("dpkg-query", "-W", "-f", "${Version}", "berth") == "99"
    for unit, pid in daemons.items():
        assert fresh.main_pid(unit) != pid
    assert fresh.property("berthd.socket", "InvocationID") == socket
    assert leases(fresh, "ship") == held
    crowd.ends_well()
    assert [job.end() for job in jobs] == [0, 0]
    assert waits.begins().end() == 0


def test_an_upgrade_with_a_bad_file(fresh):
    """The running daemon is kept: the new one would not start."""
    job = Job(fresh, "ship", user="alice").begins()
    daemon = fresh.main_pid("berthd.service")
    fresh.write("/etc/berth/conf.d/bad.conf", "[lock\n")
    try:
        install(fresh, newer_package("100"))
        assert fresh.run("dpkg-query", "-W", "-f", "${Version} ${db:Status-Status}", "berth") == "100 installed"
        assert fresh.main_pid("berthd.service") == daemon
        assert fresh.run("berth", "run", "-n", "fifty", "--", "echo", "served", user="bob") == "served\n"
    finally:
        fresh.outside("/etc/berth/conf.d/bad.conf").unlink()
    fresh.systemctl("daemon-reload")
    fresh.systemctl("restart", "berthd.service")
    assert leases(fresh, "ship") == {job.lease: job.pid}
    assert job.end() == 0


def test_removal(fresh):
    job = Job(fresh, "ship", user="alice").begins()
    before = job.token
    fresh.run("dpkg", "--remove", "berth")
    for unit in ("berthd.service", "berthd.socket", "berthd@two.service", "berthd@two.socket",
                 "berth-history.service", "berth-history.socket", "berth-history@two.service"):
        assert fresh.try_("systemctl", "is-active", unit).stdout == "inactive\n"
    assert fresh.outside("/etc/berth/berth.conf").exists()
    assert fresh.outside("/var/lib/berth").exists()
    assert job.lives()
    install(fresh)
    assert leases(fresh, "ship") == {job.lease: job.pid}
    assert job.end() == 0
    assert token(fresh) > before


def test_purge(fresh):
    job = Job(fresh, "ship", user="alice").begins()
    fresh.run("dpkg", "--purge", "berth")
    for path in ("/etc/berth", "/var/lib/berth", "/var/lib/berth-history", "/run/berth", "/usr/sbin/berthd",
                 "/lib/systemd/system/berthd.service",
                 "/etc/systemd/system/multi-user.target.wants/berthd.service"):
        assert not fresh.outside(path).exists(), path
    assert fresh.try_("systemctl", "is-active", "berthd.service", "berthd.socket").stdout == "inactive\ninactive\n"
    assert "berth" not in fresh.systemctl("--failed", "--plain", "--no-legend")
    assert fresh.try_("id", "berth").returncode == 0  # as Debian does
    assert job.lives()
    assert job.end() == 0

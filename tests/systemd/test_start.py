"""What an installation gives: a service that runs, with one right and no more."""

import re
import resource
import stat

from conftest import Job

CAP_KILL = 1 << 5


def owner_and_mode(machine, path):
    status = machine.outside(path).lstat()
    user = machine.run("id", "-nu", status.st_uid).strip()
    return user, stat.filemode(status.st_mode)


def process_status(machine):
    lines = machine.read(f"/proc/{machine.main_pid()}/status").splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def test_the_package_has_started_it(machine):
    for unit in ("berthd.service", "berthd.socket"):
        assert machine.systemctl("is-enabled", unit) == "enabled\n"
        assert machine.systemctl("is-active", unit) == "active\n"
    assert machine.run("berth", "run", "ship", "--", "id", "-un", user="alice") == "alice\n"


def test_its_files(machine):
    assert owner_and_mode(machine, "/run/berth") == ("berth", "drwxr-xr-x")
    assert owner_and_mode(machine, "/run/berth/berth.sock")[1] == "srw-rw-rw-"
    assert owner_and_mode(machine, "/var/lib/berth") == ("berth", "drwx------")


def test_it_has_no_right_but_to_kill(machine):
    status = process_status(machine)
    user = machine.run("id", "-u", "berth").strip()
    assert set(status["Uid"].split()) == {user}
    for which in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[which], 16) == CAP_KILL, which
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"


def test_open_files(machine):
    """As many as the unit wants, or as this host allows."""
    max_files = min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    limit, = re.findall(r"^Max open files +(\d+) +(\d+)", machine.read(f"/proc/{machine.main_pid()}/limits"), re.M)
    assert limit == (str(max_files), str(max_files))


def test_it_sees_no_network(machine):
    pid = machine.main_pid()
    assert machine.outside(f"/proc/{pid}/ns/net").readlink() != machine.outside("/proc/1/ns/net").readlink()


def test_status_text(machine):
    Job(machine, "ship").begins()
    waits = Job(machine, "ship")
    machine.wait(lambda: "1 wait" in machine.property("berthd.service", "StatusText"), "a waiter in the status text")
    assert "1 lease" in machine.property("berthd.service", "StatusText")

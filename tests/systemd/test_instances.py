"""Further daemons: berthd@NAME of the host, and a user's own."""

import pytest

from conftest import Job

SOCKET = "/run/berthd@two/berth.sock"
RUN = ["berth", "run", "-S", SOCKET]


@pytest.fixture
def two(machine):
    machine.write("/etc/berth/berthd@two.conf", "[lock ship]\n\n[lock other]\n")
    machine.systemctl("enable", "--quiet", "--now", "berthd@two.socket")
    yield
    machine.systemctl("disable", "--quiet", "--now", "berthd@two.socket")
    machine.systemctl("stop", "berthd@two.service")
    machine.outside("/etc/berth/berthd@two.conf").unlink()


def test_an_instance(machine, two):
    Job(machine, "ship", user="alice").begins()
    assert machine.run(*RUN, "ship", "--", "echo", "done", user="alice") == "done\n"
    assert machine.run("stat", "-c", "%U %a", "/var/lib/berthd@two", "/run/berthd@two") == "berth 700\nberth 755\n"
    assert machine.main_pid("berthd@two.service") != machine.main_pid()
    machine.write("/etc/berth/berthd@two.conf", "[lock ship\n")
    assert machine.try_("systemctl", "reload", "berthd@two.service").returncode != 0
    assert machine.run(*RUN, "other", "--", "echo", "done", user="alice") == "done\n"
    machine.write("/etc/berth/berthd@two.conf", "[lock third]\n")
    machine.systemctl("reload", "berthd@two.service")
    assert machine.run(*RUN, "third", "--", "echo", "done", user="alice") == "done\n"


def test_an_instance_is_restarted_with_its_leases(machine, two):
    job = Job(machine, "ship", "-S", SOCKET, user="alice").begins()
    machine.systemctl("restart", "berthd@two.service")
    assert machine.try_(*RUN, "-n", "ship", "--", "true", user="bob").returncode == 75
    assert job.end() == 0


@pytest.fixture
def session(machine):
    """A systemd of alice's own: env for what speaks with it."""
    machine.write("/home/alice/.config/berth/berth.conf", "[lock mine]\n")
    machine.run("chown", "-R", "alice:alice", "/home/alice")
    machine.systemctl("start", "user@2001.service")
    yield {"XDG_RUNTIME_DIR": "/run/user/2001", "HOME": "/home/alice"}
    machine.systemctl("stop", "user@2001.service")
    machine.run("rm", "-r", "/home/alice/.local/state/berth")  # the journal is gone: else there would be a grace


def test_a_user_s_own(machine, session):
    as_alice = {"user": "alice", "env": session}
    machine.run("systemctl", "--user", "enable", "--quiet", "--now", "berthd.socket", **as_alice)
    assert machine.try_("systemctl", "--user", "is-active", "berthd.service", **as_alice).stdout == "inactive\n"
    assert machine.run("berth", "run", "-S", "user", "mine", "--", "echo", "done", **as_alice) == "done\n"
    assert machine.run("systemctl", "--user", "is-active", "berthd.service", **as_alice) == "active\n"
    machine.run("systemctl", "--user", "restart", "berthd.service", **as_alice)
    machine.run("systemctl", "--user", "reload", "berthd.service", **as_alice)
    assert machine.run("berth", "run", "-S", "user", "mine", "--", "echo", "done", **as_alice) == "done\n"
    assert machine.outside("/home/alice/.local/state/berth").is_dir()
    assert machine.try_("berth", "run", "mine", "--", "true", user="alice").returncode == 78

"""The socket is systemd's: clients come before the daemon does."""

import pytest

from conftest import DEADLINE, Job


def connections(machine):
    """To the host's socket, accepted or not; without the listening one."""
    return machine.read("/proc/1/net/unix").count("/run/berth/berth.sock\n") - 1


def test_a_client_starts_it(machine):
    machine.systemctl("stop", "berthd.service")
    assert machine.try_("systemctl", "is-active", "berthd.service").stdout == "inactive\n"
    assert machine.run("berth", "run", "ship", "--", "echo", "done", user="alice") == "done\n"
    assert machine.systemctl("is-active", "berthd.service") == "active\n"


def test_clients_queue_while_it_is_restarted(machine, drop_in):
    machine.run("mkfifo", "-m", "666", "/run/gate")
    drop_in("berthd.service", "[Service]\nExecStartPre=/bin/sh -c 'read _ </run/gate'\n")
    machine.systemctl("restart", "--no-block", "berthd.service")
    machine.wait(lambda: machine.property("berthd.service", "ActiveState") == "activating", "it is away")
    before = connections(machine)
    clients = [machine.start("berth", "run", "fifty", "--", "true", user="alice") for _ in range(20)]
    machine.wait(lambda: connections(machine) >= before + 20, "20 clients in the queue")
    machine.write("/run/gate", "\n", mode=0o666)
    assert [client.wait(DEADLINE) for client in clients] == 20 * [0]
    machine.outside("/run/gate").unlink()


def test_the_name_stays_when_the_socket_is_stopped(machine):
    """For containers that mount it, and clients: refused at once, rather than not found."""
    machine.systemctl("stop", "berthd.socket", "berthd.service")
    assert machine.run("stat", "-c", "%F", "/run/berth/berth.sock") == "socket\n"
    refused = machine.try_("berth", "run", "--down-after", "0", "ship", "--", "true", user="alice")
    assert refused.returncode == 69
    machine.systemctl("start", "berthd.socket", "berthd.service")


@pytest.fixture
def without_socket(machine):
    machine.systemctl("mask", "--runtime", "--now", "berthd.socket")
    yield
    machine.systemctl("stop", "berthd.service")
    machine.systemctl("unmask", "--runtime", "berthd.socket")
    machine.systemctl("start", "berthd.socket")


def test_without_the_socket_unit_it_makes_its_own(machine, without_socket):
    job = Job(machine, "ship", user="alice").begins()
    machine.systemctl("restart", "berthd.service")
    assert machine.run("stat", "-c", "%U %a", "/run/berth/berth.sock") == "berth 666\n"
    assert machine.run("berth", "run", "fifty", "--", "echo", "done", user="bob") == "done\n"
    assert job.end() == 0


def test_the_file_s_socket_is_ignored_and_logged(machine, main_file):
    main_file("[daemon]\nsocket-mode = 0600\n")
    cursor = machine.cursor()
    machine.systemctl("restart", "berthd.service")
    messages = machine.messages(cursor, _SYSTEMD_UNIT="berthd.service")
    assert [message for message in messages if "socket-mode" in message], messages
    assert machine.run("stat", "-c", "%a", "/run/berth/berth.sock") == "666\n"

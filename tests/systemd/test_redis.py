"""A fleet's Redis, from within what the unit closes: a password by credential; TCP by a drop-in."""

import os
import signal
import subprocess

import pytest

from conftest import CONFIGURATION
from machine import DEADLINE, WORK

PASSWORD = "far-from-guessable"
FLEET = """
[redis]
url = {url}
ttl = 6s
failover-lag = 0
password-file = credential:redis

[semaphore wide]
limit = 2
scope = fleet
"""
JOB = ["berth", "run", "--down-after", "2s", "wide", "--", "echo", "done"]


class Redis:
    """Of this machine, on the network of the other one, or with a socket there."""

    def __init__(self, machine, *options):
        self.process = subprocess.Popen(
            ["nsenter", "-t", str(machine.pid), "--net", "redis-server", "-", "--save", "", "--appendonly", "no",
             "--dir", WORK, "--requirepass", PASSWORD, "--daemonize", "no", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        lines = iter(self.process.stdout.readline, "")
        assert any("Ready to accept connections" in line or "now ready to accept" in line for line in lines)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def redis(machine):
    started = []
    yield lambda *options: started.append(Redis(machine, *options))
    for server in started:
        server.end()


@pytest.fixture
def fleet(machine, main_file):
    """fleet(URL, password=…): berthd with that Redis."""
    def configure(url, password=PASSWORD):
        if password:
            machine.write("/etc/berth/redis.password", password + "\n", mode=0o600)
        machine.write("/etc/berth/conf.d/fleet.conf", "")
        main_file("[daemon]\n")
        machine.write("/etc/berth/conf.d/test.conf", CONFIGURATION + FLEET.format(url=url))
        machine.systemctl("restart", "berthd.service")

    yield configure
    machine.outside("/etc/berth/redis.password").unlink(missing_ok=True)
    machine.write("/etc/berth/conf.d/test.conf", CONFIGURATION)


def socket_of(machine):
    folder = machine.outside("/run/redis")
    folder.mkdir(exist_ok=True)
    return ["--port", "0", "--unixsocket", str(folder / "redis.sock"), "--unixsocketperm", "777"]


def test_the_password_is_a_credential(machine, redis, fleet):
    redis(*socket_of(machine))
    fleet("unix:///run/redis/redis.sock")
    assert machine.run(*JOB, user="alice") == "done\n"


def test_a_wrong_password(machine, redis, fleet):
    redis(*socket_of(machine))
    fleet("unix:///run/redis/redis.sock", password="wrong")
    assert machine.try_(*JOB, user="alice").returncode == 69


def test_no_password_file(machine, redis, fleet):
    """The daemon runs, and what it has no password for cannot be reached."""
    redis(*socket_of(machine))
    fleet("unix:///run/redis/redis.sock", password=None)
    assert machine.run("berth", "run", "ship", "--", "echo", "done", user="alice") == "done\n"
    assert machine.try_(*JOB, user="alice").returncode == 69


def test_tcp_is_closed(machine, redis, fleet):
    redis("--bind", "127.0.0.1", "--port", "6379")
    fleet("redis://127.0.0.1:6379")
    assert machine.try_(*JOB, user="alice").returncode == 69


def test_the_drop_in_opens_tcp(machine, redis, fleet, drop_in):
    redis("--bind", "127.0.0.1", "--port", "6379")
    machine.write("/etc/hosts", "127.0.0.1 localhost redis.example.org\n")
    drop_in("berthd.service", machine.read("/usr/share/doc/berth/examples/systemd/tcp.conf"))
    fleet("redis://redis.example.org:6379")
    assert machine.run(*JOB, user="alice") == "done\n"
    assert machine.try_("systemd-analyze", "verify", "--man=no", "berthd.service").stderr == ""

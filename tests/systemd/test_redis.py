"""A fleet's Redis, from within the unit's restrictions: a password by credential; TCP by a drop-in."""

import subprocess

import pytest

from conftest import CONFIGURATION
from machine import WORK
from redis_program import REDIS_SERVER

LOCAL = "unix:///run/redis/redis.sock"
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


@pytest.fixture(scope="module")
def redis(installed):
    """On this machine, but in the other one's network, and with a socket there."""
    folder = installed.outside("/run/redis")
    folder.mkdir(exist_ok=True)
    process = subprocess.Popen(
        ["nsenter", "-t", str(installed.pid), "--net", REDIS_SERVER, "--bind", "127.0.0.1", "--port", "6379",
         "--unixsocket", folder / "redis.sock", "--unixsocketperm", "777", "--requirepass", PASSWORD,
         "--save", "", "--appendonly", "no", "--dir", WORK],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert any("The server is now ready to accept connections at" in line for line in process.stdout)
    yield
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture
def fleet(machine, main_file):
    """fleet(URL, password=…): berthd with that Redis."""
    def configure(url, password=PASSWORD):
        if password:
            machine.write("/etc/berth/redis.password", password + "\n", mode=0o600)
        main_file("[daemon]\n")
        machine.write("/etc/berth/conf.d/test.conf", CONFIGURATION + FLEET.format(url=url))
        machine.systemctl("restart", "berthd.service")

    yield configure
    machine.outside("/etc/berth/redis.password").unlink(missing_ok=True)
    machine.write("/etc/berth/conf.d/test.conf", CONFIGURATION)


def test_the_password_is_a_credential(machine, redis, fleet):
    fleet(LOCAL)
    assert machine.run(*JOB, user="alice") == "done\n"


def test_a_wrong_password(machine, redis, fleet):
    fleet(LOCAL, password="wrong")
    assert machine.try_(*JOB, user="alice").returncode == 69


def test_no_password_file(machine, redis, fleet):
    """The daemon runs; a database without its password cannot be reached."""
    fleet(LOCAL, password=None)
    assert machine.run("berth", "run", "ship", "--", "echo", "done", user="alice") == "done\n"
    assert machine.try_(*JOB, user="alice").returncode == 69


def test_tcp_is_closed(machine, redis, fleet):
    fleet("redis://127.0.0.1:6379")
    assert machine.try_(*JOB, user="alice").returncode == 69


def test_the_drop_in_opens_tcp(machine, redis, fleet, drop_in):
    machine.write("/etc/hosts", "127.0.0.1 localhost redis.example.org\n")
    drop_in("berthd.service", machine.read("/usr/share/doc/berth/examples/systemd/tcp.conf"))
    fleet("redis://redis.example.org:6379")
    assert machine.run(*JOB, user="alice") == "done\n"
    assert machine.try_("systemd-analyze", "verify", "--man=no", "berthd.service").stderr == ""

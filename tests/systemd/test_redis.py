"""A fleet's Redis, from within the unit's restrictions: a password by credential; TCP by a drop-in."""

import subprocess

import pytest

from certificates import Authority
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
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def redis(installed, authority):
    """On this machine, but in the other one's network, and with a socket there. Its other port speaks TLS."""
    own = authority.issue("redis", names="DNS:redis.example.org")
    folder = installed.outside("/run/redis")
    folder.mkdir(exist_ok=True)
    process = subprocess.Popen(
        ["nsenter", "-t", str(installed.pid), "--net", REDIS_SERVER, "--bind", "127.0.0.1", "--port", "6379",
         "--unixsocket", folder / "redis.sock", "--unixsocketperm", "777", "--requirepass", PASSWORD,
         "--tls-port", "6380", "--tls-cert-file", own.crt, "--tls-key-file", own.key, "--tls-ca-cert-file", authority.crt,
         "--save", "", "--appendonly", "no", "--dir", WORK],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert any("eady to accept connections" in line for line in process.stdout)  # all its sockets are open by then
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


def test_tls_with_a_key_that_only_root_can_read(machine, redis, fleet, drop_in, authority):
    machine.write("/etc/hosts", "127.0.0.1 localhost redis.example.org\n")
    own = authority.issue("own", names="DNS:host")
    machine.write("/etc/berth/redis-ca.pem", authority.crt.read_text())
    machine.write("/etc/berth/redis-cert.pem", own.crt.read_text())
    machine.write("/etc/berth/redis.key", own.key.read_text(), mode=0o600)
    drop_in("berthd.service", machine.read("/usr/share/doc/berth/examples/systemd/tcp.conf") +
            "LoadCredential=redis.key:/etc/berth/redis.key\n")
    fleet("rediss://redis.example.org:6380\nca-file = /etc/berth/redis-ca.pem\n"
          "cert-file = /etc/berth/redis-cert.pem\nkey-file = credential:redis.key")
    assert machine.run(*JOB, user="alice") == "done\n"
    machine.run("berthctl", "reload")
    assert machine.run(*JOB, user="alice") == "done\n"

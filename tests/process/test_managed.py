"""Servers that somebody else manages: commands that are not allowed, or not there. What Berth can do without it
does without, and says so; a fault must be acknowledged; what it needs it names."""

import json
import subprocess

import pytest

from conftest import BUILD
from fake_redis import array, bulk
from fleet_help import (  # fixtures among them
    Monitored, documented_rights, hosts, needs_redis, redis_section, servers)  # noqa: F401
from fleet_ops_help import RESOURCES, client_of, gets, gets_in_time, up
from lines import DEADLINE, until
from test_link import OWN, fake, probe, renews  # a fixture among them  # noqa: F401
from tls_help import TlsServer, authority, needs_tls  # a fixture among them  # noqa: F401

NO_INFO = b"-ERR unknown command 'INFO'\r\n"


class Managed:
    """A server, and a user with what doc/fleet.md says but for some of it."""

    def __init__(self, server, **rights):
        self.server = server
        self.allow(**rights)

    def allow(self, without=(), more=(), user="berth"):
        rights = [word for word in documented_rights() if word not in without]
        self.server.do("ACL", "SETUSER", user, "reset", "on", ">s3cret", *rights, *more)

    def options(self, *more):
        return f"unix={self.server.socket}", "user=berth", "password=s3cret", "client-name=berthd:web1", *more


@pytest.fixture
def managed(servers):
    def start(*options, **rights):
        return Managed(servers(options=options), **rights)

    return start


def names(server):
    return [client["name"] for client in server.client().client_list()]


@needs_redis
def test_the_documented_rights_are_enough(managed, probe):
    there = managed()
    link = probe(*there.options())
    link.expect("ready", there.server.run_id)
    assert link.line() == "lacks config-get"
    assert names(there.server).count("berthd:web1") == 2
    assert link.close() == []


@needs_redis
def test_each_right_is_needed(managed, probe):
    """Or else it is one that Berth can do without. What is missing is named."""
    there = managed()
    instead = [["+fcall"], ["+function|load"], ["+evalsha"], ["+script|load"], ["+client|setname"], ["+select"],
               ["+function|list"], ["+function|delete"], ["+xadd"], ["+xrange"],
               ["+xrevrange"]]
    for right in documented_rights():
        if right == "-@all" or [right] in instead:
            continue
        there.allow(without=[right])
        link = probe(*there.options())
        line = link.expect("down", 1)
        assert right in line or right[1:].upper() in line, (right, line)
        link.close()
    there.allow(without=["+fcall", "+evalsha"])
    link = probe(*there.options())
    assert "EVALSHA: NOPERM" in link.expect("down", 1)


@needs_redis
def test_a_right_that_is_taken_away(managed, probe):
    """The next connection tries again what is allowed, and names it."""
    there = managed()
    link = probe(*there.options())
    link.expect("ready")
    link.line()
    there.server.do("ACL", "SETUSER", "berth", "-exists")
    link.do("call renew 7 2-2 0-0 0123456789abcdef 1 0")
    said = link.expect("down", 0)
    assert "can't run this command" in said or "no permissions to run the 'exists' command" in said
    assert link.expect("down", 1).endswith("scripts need what is not allowed here: +exists")
    there.server.do("ACL", "SETUSER", "berth", "+exists")
    while not link.line().startswith("ready"):
        pass


@needs_redis
def test_what_can_be_done_without(managed, probe):
    there = managed()
    for without, lacks in ((["+fcall"], "functions"), (["+function|load"], "function-load"),
                           (["+xadd"], "script-history"), (["+xrange"], "script-history"),
                           (["+xrevrange"], "script-history"),
                           (["+client|setname"], "client-setname"), (["+evalsha", "+script|load"], None)):
        there.allow(without=without)
        link = probe(*there.options())
        link.expect("ready")
        assert set(link.line().split(" ")[1].split(",")) == {"config-get", *filter(None, [lacks])}, without
        renews(link, 7)
        link.close()


@needs_redis
@pytest.mark.parametrize("how", ["user", "renamed"])
def test_no_info(managed, probe, how):
    """Refused, until the operator says that it is known; then the two connections are compared by a message."""
    options = ["--rename-command", "INFO", ""] if how == "renamed" else []
    there = managed(*options, without=["+info"], more=["+config|get"])
    link = probe(*there.options())
    line = link.expect("down", 1)
    assert "INFO in scripts is not allowed" in line and line.endswith("(or acknowledge = no-info)")
    assert "eviction" not in line, "CONFIG GET says that"
    link.close()
    there.allow(without=["+info"])
    link = probe(*there.options("acknowledge=no-info"))
    assert link.expect("down", 1).endswith("(or acknowledge = eviction)")
    link.close()
    link = probe(*there.options("acknowledge=no-info", "acknowledge=eviction"))
    line = link.expect("ready", "", there.server.socket)
    assert "(acknowledged: no-info)" in line and "(acknowledged: eviction)" in line
    assert link.line() == "lacks info,config-get,script-info"
    renews(link, 7)
    there.server.client().publish(OWN, "000000000001 lost 5")
    link.expect("message", "000000000001")
    link.close()


@needs_redis
def test_eviction_that_cannot_be_turned_off(managed, probe):
    there = managed("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    link = probe(*there.options())
    assert "maxmemory-policy is allkeys-lru" in link.expect("down", 1)
    link.close()
    link = probe(*there.options("acknowledge=eviction"))
    assert "allkeys-lru" in link.expect("ready")


@needs_redis
def test_saving_that_may_stop_writes_is_shown(managed, probe):
    there = managed("--save", "3600 1", more=["+config|get"])
    link = probe(*there.options())
    assert link.expect("ready").endswith("set stop-writes-on-bgsave-error no")


def without_info(peer, *, n):
    """Answers n commands of a server that does not know INFO."""
    for _ in range(n):
        words = peer.command()
        if words[0] == "INFO":
            peer.send(NO_INFO)
        elif words[0] == "EVAL":
            peer.send(array("ERR no INFO", "", ""))
        elif words[0] == "CONFIG":
            peer.send(array(words[2], {"maxmemory-policy": "noeviction"}.get(words[2], "0")))
        elif words[0] == "FCALL":
            peer.send(bulk(words[1].removesuffix("_about")))
        elif words[0] == "HELLO":
            peer.send(array("version", "7.2.4", "role", "master"))
        else:
            assert words[0] == "SUBSCRIBE"
            peer.send(b"*3\r\n" + bulk("subscribe") + bulk(words[1]) + b":1\r\n")


def test_two_servers_that_do_not_say_who_they_are(fake, probe):
    """A message that is published on one connection must arrive on the other."""
    link = probe(fake.where, "acknowledge=no-info", "timeout=1000")
    for is_same in (False, True):
        commands = fake.accept()
        without_info(commands, n=7 + 1)
        messages = fake.accept()
        without_info(messages, n=2)
        words = commands.command()
        assert words[:2] == ["PUBLISH", OWN] and words[2].startswith("proof ")
        messages.send(array("message", OWN, "000000000001 another"))
        commands.send(b":1\r\n")
        if is_same:
            messages.send(array("message", OWN, words[2]))
            link.expect("ready")
        else:
            assert "reach different servers" in link.expect("down", 0)
    assert link.line() == "lacks info,script-info"


# ---- a daemon there


def section(there, user="berth", **more):
    return redis_section(f"unix://{user}:s3cret@{there.server.socket}", **more)


def epoch(there):
    """How many graces there have been."""
    return int(there.server.do("HGET", "{berth}:db", "epoch"))


@needs_redis
def test_hosts_shows_what_is_lacking(managed, hosts):
    there = managed()
    (a,) = up(there.server, *hosts(RESOURCES, 1, section(there)))
    shown = a.berthctl("hosts").stdout.splitlines()
    assert shown[2] == "database default up" and shown[4:5] == ["  lacks: config-get"]
    (database,) = json.loads(a.berthctl("hosts", "--json").stdout)["databases"]
    assert (database["lacks"], database["warning"]) == (["config-get"], None)
    assert len([name for name in names(there.server) if name.startswith("berthd:")]) == 2


BLIND = {"user": "blind", "acknowledge": "no-info eviction"}


@needs_redis
def test_hosts_with_and_without_info_agree(managed, hosts):
    """What one host cannot see is not news for another one."""
    there = managed()
    there.allow(["+info", "+fcall"], user="blind")
    (a,), (b,) = hosts(RESOURCES, 1, section(there)), hosts(RESOURCES, 1, section(there, **BLIND))
    up(there.server, a, b)
    before = epoch(there)
    clients = client_of(a), client_of(b)
    for _ in range(3):
        for client in clients:
            lease = gets_in_time(client, "acquire etl:2")
            assert client.request(f"release {lease}") == "ok"
    assert epoch(there) == before
    assert "INFO in scripts is not allowed" in b.berthctl("hosts").stdout


@needs_redis
def test_without_info_old_data_are_noticed_by_what_a_host_knows(managed, hosts, directory):
    there = managed(without=["+info"], user="blind")
    (a,) = up(there.server, *hosts(RESOURCES, 1, section(there, **BLIND)))
    client = client_of(a)
    gets(client, "acquire etl")
    there.server.save(directory / "old")
    gets(client, "acquire door")
    before = epoch(there)
    there.server.restart(directory / "old")
    there.allow(["+info"], user="blind")
    until(lambda: epoch(there) != before)
    assert there.server.members("leases")


# ---- berthd --check --connect


def connect_check(directory, *sections):
    """(exit status, lines of stdout, stderr)"""
    path = directory / "checked.conf"
    path.write_text("".join(sections))
    done = subprocess.run([BUILD / "berthd", "-c", path, "--check", "--connect"], stdin=subprocess.DEVNULL,
                          text=True, capture_output=True, timeout=DEADLINE)
    return done.returncode, done.stdout.splitlines(), done.stderr


@needs_redis
def test_a_check_says_what_is_missing(managed, directory):
    there = managed()
    good = f"default: ok: {there.server.shown_version} at {there.server.socket}, all that Berth needs; without config-get"
    assert connect_check(directory, section(there)) == (0, ["OK: 0 resources, 1 database", good], "")
    there.allow(without=["+zadd", "+hset"])
    status, lines, _ = connect_check(directory, section(there))
    assert (status, lines[1]) == (
        78, f"default: refused: {there.server.socket}: scripts need what is not allowed here: +hset +zadd")
    there.allow(without=["+info"])
    status, lines, _ = connect_check(directory, section(there, acknowledge="no-info"))
    assert status == 78 and "acknowledge = eviction" in lines[1]
    status, lines, _ = connect_check(directory, section(there, acknowledge="eviction no-info"))
    assert status == 0 and "without info, config-get, script-info; warning: INFO in scripts is not allowed" in lines[1]
    assert there.server.client().keys("*") == [], "it touches no data"


@needs_redis
def test_a_check_of_a_server_that_refuses_writes(managed, directory):
    """Each acquire would fail there, so it is no server that can be used."""
    there = managed()
    where = f"default: not writable: {there.server.shown_version} at {there.server.socket}: "
    for key, value, usual, why in (("maxmemory", 1, 0, "it is at its maxmemory, and new requests would fail"),
                                   ("min-replicas-to-write", 1, 0, "it has too few replicas, and refuses all writes")):
        there.server.do("CONFIG", "SET", key, value)
        assert connect_check(directory, section(there))[:2] == (
            69, ["OK: 0 resources, 1 database", where + why + "; without config-get"])
        there.server.do("CONFIG", "SET", key, usual)
    assert connect_check(directory, section(there))[0] == 0
    there.server.do("CONFIG", "SET", "maxmemory", 1)
    there.allow(without=["+info"])
    status, lines, _ = connect_check(directory, section(there, acknowledge="eviction no-info"))
    assert status == 69 and "it is at its maxmemory" in lines[1]
    assert there.server.client().keys("*") == [], "it touches no data"


@needs_redis
def test_a_check_of_several(managed, directory):
    """One line for each, in the order of the file; a refusal counts more than silence."""
    there = managed()
    wrong = redis_section(f"unix://berth:wrong@{there.server.socket}", name="b")
    dead = redis_section(f"unix://{directory}/none", name="a")
    status, lines, _ = connect_check(directory, dead, wrong, section(there))
    assert status == 78 and lines[0] == "OK: 0 resources, 3 databases"
    assert lines[1].startswith("a: not reached: ") and lines[1].endswith("cannot connect: no such file or directory")
    assert lines[2].startswith("b: refused: ") and "AUTH: WRONGPASS: user or password not accepted" in lines[2]
    assert lines[3].startswith("default: ok: ")
    assert connect_check(directory, dead, section(there))[0] == 69
    assert connect_check(directory, "[lock a]\n") == (0, ["OK: 1 resource"], "")
    assert connect_check(directory, "[lock a]\nx = y\n")[0] == 78


@needs_redis
@pytest.mark.parametrize("key", ["password-file", "sentinel-password-file", pytest.param("ca-file", marks=needs_tls)])
def test_a_check_without_a_file(directory, key):
    """That is no outage: nothing else will come of it until the file is there."""
    url = {"password-file": f"unix://{directory}/none", "ca-file": "rediss://127.0.0.1:1",
           "sentinel-password-file": "sentinel://127.0.0.1:1"}[key]
    missing = directory / "missing"
    status, lines, _ = connect_check(directory, redis_section(url, "30s", **{key: missing}))
    what = "password file" if key.endswith("password-file") else key
    assert (status, lines[1]) == (78, f"default: not tried: {what} {missing}: No such file or directory")
    missing.write_text("\n")
    status, lines, _ = connect_check(directory, redis_section(url, "30s", **{key: missing}))
    assert status == 78 and f"{missing}: has no " in lines[1]


@needs_redis
@needs_tls
def test_a_check_over_tls(directory, servers, authority):
    server = servers(authority, authority.issue("redis"), kind=TlsServer)
    status, lines, _ = connect_check(directory, redis_section(server.tcp_url, ca_file=authority.crt))
    assert status == 0 and f"at 127.0.0.1:{server.port}, all that Berth needs" in lines[1]
    status, lines, _ = connect_check(directory, redis_section(server.tcp_url))
    assert status in (69, 78) and "certificate" in lines[1], lines


@needs_redis
def test_a_check_by_sentinel(directory, servers):
    server = servers("master", port=True)
    sentinel = servers("sentinel", sentinel_of=Monitored(server.port))
    where = f"sentinel://127.0.0.1:{sentinel.port}"
    status, lines, _ = connect_check(directory, redis_section(where, "30s"))
    assert status == 0 and f"at 127.0.0.1:{server.port}, " in lines[1]
    assert "; warning: it may fail over, but has no min-replicas-to-write" in lines[1]
    status, lines, _ = connect_check(directory, redis_section(where + "/another", "30s"))
    assert status == 69 and "it does not know this master" in lines[1]
    status, lines, _ = connect_check(directory, redis_section(f"sentinel://127.0.0.1:{server.port}", "30s"))
    assert status == 69 and "it is not a Sentinel" in lines[1]


def test_a_check_of_silence(fake, directory):
    """It ends, though nobody answers."""
    status, lines, _ = connect_check(directory, redis_section(f"unix://{directory}/f"))
    assert status == 69 and lines[1].endswith("no answer in time")


def test_connect_needs_check(directory):
    done = subprocess.run([BUILD / "berthd", "--connect"], capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 64 and "--connect needs --check" in done.stderr

"""The way to Redis: whatever is at the other end, each call is answered once or given up by name,
and the link comes back."""

import os
import select
import signal
import socket
import subprocess

import pytest

from conftest import BUILD, read_line
from fake_redis import FakeRedis, answer, array
from fleet_help import (  # fixtures among them
    Monitored, clock, documented_rights, needs_redis, redis, redis_server, servers)  # noqa: F401
from gate import with_shim
from lines import DEADLINE, until
from scripts_help import assembled

OWN = "{berth}:s:0123456789abcdef"
ALL = "{berth}:all"


class Probe:
    def __init__(self, *options, prefix=(), env=None):
        self.process = subprocess.Popen(
            [*prefix, BUILD / "tests/process/link_probe", *options], bufsize=0, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env={**os.environ, **(env or {})})

    def line(self, timeout=DEADLINE):
        return read_line(self.process.stdout, timeout)

    def expect(self, *words):
        """The next line, which begins with these."""
        line = self.line()
        assert line.split(" ")[:len(words)] == list(map(str, words)), line
        return line

    def do(self, *lines):
        self.process.stdin.write("".join(line + "\n" for line in lines).encode())

    def is_quiet(self, seconds):
        return not select.select([self.process.stdout], [], [], seconds)[0]

    def close(self):
        """Everything is closed, nothing is left; returns what it said last."""
        self.process.stdin.close()
        lines = []
        while not lines or lines[-1]:
            lines.append(self.line())
        assert self.process.wait(DEADLINE) == 0
        assert lines[-2] == "closed"
        return lines[:-2]


@pytest.fixture
def probe(directory, sanitizer_reports):
    probes = []

    def start(*options, **more):
        probes.append(Probe(*options, **more))
        return probes[-1]

    yield start
    for probe in probes:
        if probe.process.poll() is None:
            probe.close()
        probe.process.stdout.close()


@pytest.fixture
def link(redis_server, probe):
    """That is ready, to a real server."""
    link = probe(f"unix={redis_server.socket}")
    link.expect("ready")
    return link


@pytest.fixture
def fake(directory):
    server = FakeRedis(directory / "f")
    yield server
    server.close()


@pytest.fixture
def fake_tcp():
    server = FakeRedis()
    yield server
    server.close()


def both_ready(server, link):
    """Both connections come, and have good answers; the link is up. The one for commands, and the other."""
    peers = server.both()
    link.expect("ready")
    return peers


def renews(link, tag):
    link.do(f"call renew {tag} 2-2 0-0 0123456789abcdef 1 0")
    link.expect("reply", tag, "[$hello,$missing]")


# ---- a real one

@needs_redis
def test_calls_and_messages(redis_server, probe):
    link = probe(f"unix={redis_server.socket}")
    link.expect("ready", redis_server.run_id, redis_server.socket, "")
    renews(link, 7)
    redis_server.client().publish(OWN, "000000000001 lost 5")
    link.expect("message", "000000000001", "lost", 5)
    redis_server.client().publish(ALL, "hello")
    link.expect("message", "hello")
    redis_server.client().publish("{berth}:s:another", "no")
    assert link.close() == []


def resolves(name):
    try:
        return bool(socket.getaddrinfo(name, None))
    except OSError:
        return False


@needs_redis
@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("localhost", marks=pytest.mark.skipif(
    not resolves("localhost"), reason="this host does not know localhost"))])
def test_tcp(servers, probe, host):
    server = servers(port=True)
    link = probe(f"host={host}:{server.port}")
    assert link.expect("ready", server.run_id).split()[2] == f"{host}:{server.port}"
    for client in server.client().client_list():
        assert client["addr"].startswith("127.0.0.1:") or client["addr"].endswith(":0")
    link.close()


@needs_redis
def test_scripts_that_the_server_has_forgotten(redis_server, link):
    redis_server.do("FUNCTION", "FLUSH")
    redis_server.do("CONFIG", "RESETSTAT")
    link.do(*(f"call renew {tag} 2-2 0-0 0123456789abcdef 1 0" for tag in range(1, 9)))
    replies = sorted(link.line() for _ in range(8))
    assert replies == [f"reply {tag} [$hello,$missing]" for tag in range(1, 9)]
    renews(link, 9)
    counts = redis_server.info("commandstats")
    assert counts["cmdstat_function|load"]["calls"] == 1
    assert counts["cmdstat_fcall"]["calls"] == 8 + 8 + 1


@needs_redis
def test_libraries_of_versions_that_are_gone(redis_server, clock, probe):
    """Nobody has called them for an hour."""
    name, text = assembled("name"), assembled("library")
    gone, used = "berth_L2_00000000000000aa", "berth_L2_00000000000000bb"
    for other in (gone, used):
        redis_server.do("FUNCTION", "LOAD", text.replace(name, other))
        assert redis_server.do("FCALL", f"{other}_idle", 0) == 0
    redis_server.do("FUNCTION", "LOAD", "#!lua name=berth_Local\nredis.register_function('x', function() end)")
    clock.step(3600)
    with pytest.raises(redis.ResponseError):
        redis_server.do("FCALL", f"{used}_renew", 0)
    link = probe(f"unix={redis_server.socket}", "timeout=100")
    link.expect("ready")

    def libraries():
        return {library[1] for library in redis_server.do("FUNCTION", "LIST")}

    until(lambda: libraries() != {name, gone, used, "berth_Local"})
    assert libraries() == {name, used, "berth_Local"}
    assert redis_server.do("FCALL", f"{used}_idle", 0) < 3600
    assert link.close() == []


@needs_redis
@pytest.mark.parametrize("rights, lacks, ways", [
    (("+@all", "-fcall"), ["functions"], ("evalsha", "script|load")),
    (("+@all", "-function|load"), ["function-load"], ("evalsha", "script|load")),
    (("+@all",), [], ("fcall", "function|load")),
], ids="_".join)
def test_a_server_that_allows_no_functions(redis_server, probe, rights, lacks, ways):
    """The same as a script."""
    redis_server.do("ACL", "SETUSER", "host", "on", ">x", "~*", "&*", *rights)
    link = probe(f"unix={redis_server.socket}", "user=host", "password=x")
    link.expect("ready")
    for word in lacks:
        link.expect("lacks", word)
    for tag, flush in enumerate(("SCRIPT", "FUNCTION", "SCRIPT")):
        redis_server.do(flush, "FLUSH")
        renews(link, tag)
    counts = redis_server.info("commandstats")
    assert all(counts[f"cmdstat_{way}"]["calls"] >= 2 for way in ways)


@needs_redis
def test_a_library_of_that_name_that_is_not_ours(redis_server, probe):
    """Before a link comes, or while it is there: the next one gets the same from a script."""
    library = f"#!lua name={assembled('name')}\nredis.register_function('other', function() return 1 end)"
    for is_there_before in (True, False):
        if is_there_before:
            redis_server.do("FUNCTION", "LOAD", library)
        link = probe(f"unix={redis_server.socket}")
        link.expect("ready")
        if not is_there_before:
            redis_server.do("FUNCTION", "FLUSH")
            redis_server.do("FUNCTION", "LOAD", library)
            link.do("call renew 1 2-2 0-0 0123456789abcdef 1 0")
            assert "Function not found" in link.expect("down", 0)
            link.expect("ready")
        link.expect("lacks", "functions")
        renews(link, 2)
        redis_server.do("FUNCTION", "FLUSH")


@needs_redis
def test_a_server_at_maxmemory_that_lacks_the_library(redis_server, probe):
    """It takes no more functions, and still a script."""
    redis_server.do("CONFIG", "SET", "maxmemory", "1mb")
    link = probe(f"unix={redis_server.socket}")
    link.expect("ready")
    renews(link, 1)


@needs_redis
def test_a_connection_to_a_server_that_has_the_library_costs_little(redis_server, link, probe):
    before = redis_server.info("stats")
    second = probe(f"unix={redis_server.socket}")
    second.expect("ready")
    after = redis_server.info("stats")
    assert after["total_net_input_bytes"] - before["total_net_input_bytes"] < 2000


@needs_redis
@pytest.mark.parametrize("kind", ["normal", "pubsub"])
def test_either_connection_takes_the_other_along(redis_server, link, kind):
    redis_server.do("CLIENT", "KILL", "TYPE", kind)
    assert "closed by the server" in link.expect("down", 0)
    link.expect("ready")
    assert link.close() == []
    redis_server.ask_until("clients", lambda info: info["connected_clients"] == 1)


@needs_redis
def test_a_reset_that_is_asked_for(link):
    link.do("call renew 1 2-2 0-0 0123456789abcdef 1 0", "reset", "call renew 2 2-2 0-0 y 1 0")
    assert link.expect("down", 0).endswith("asked for")
    link.expect("ready")


@needs_redis
def test_users_and_passwords(redis_server, probe, directory):
    where, secret = f"unix={redis_server.socket}", "s3cret/%"
    client = redis_server.client()
    client.execute_command("ACL", "SETUSER", "host", "on", f">{secret}",
                           *(word for word in documented_rights() if word != "+select"))
    file = directory / "password"
    file.write_text(secret + "\n")
    link = probe(where, "user=host", f"password-file={file}")
    link.expect("ready")
    link.close()
    link = probe(where, "user=host", "password-file=credential:redis-password", "timeout=100",
                 env={"CREDENTIALS_DIRECTORY": str(directory)})
    assert link.line() == (f"down 0 {redis_server.socket}: password file credential:redis-password: "
                           "No such file or directory (LoadCredential= of the unit names the file; it was read at the start)")
    file.rename(directory / "redis-password")
    while not (line := link.line()).startswith("ready"):
        assert "No such file" in line
    link.close()
    for options, why in (
            (["user=host", "password=wrong"], "AUTH: WRONGPASS: user or password not accepted"),
            (["password=" + secret], "AUTH: ERR: user or password not accepted"),
            (["user=host", "password=" + secret, "db=1"], "SELECT: NOPERM "),
    ):
        link = probe(where, *options)
        line = link.expect("down", 1)
        assert why in line and secret not in line and "wrong" not in line
        link.close()
    client.config_set("requirepass", secret)
    link = probe(where)
    assert "INFO: NOAUTH" in link.expect("down", 0)


def test_a_password_that_is_repeated_by_the_server(fake, probe):
    link = probe(fake.where, "user=me", "password=s3cret")
    peer = fake.accept()
    assert peer.command() == ["AUTH", "me", "s3cret"]
    peer.send(b"-ERR unknown command 'AUTH', with args beginning with: 'me' 's3cret'\r\n")
    assert "s3cret" not in link.expect("down", 1)


def test_a_stranger_that_sends_much(fake, probe):
    """Until it is known who answers, answers are short. Then they may be long."""
    link = probe(fake.where, "timeout=1000")
    peer = fake.accept()
    peer.command()
    peer.send(b"$60000000\r\n" + bytes(1024 * 1024))
    assert "far too long" in link.expect("down", 0)
    assert peer.ended()
    commands, messages = fake.both()
    while link.line().startswith("down"):
        pass
    assert messages.command() == ["PING"]
    messages.send(array("pong", "x" * 3_000_000))
    messages.send(array("message", OWN, "000000000001 lost 5"))
    link.expect("message", "000000000001")
    assert commands.command()[:2] == ["FUNCTION", "LIST"]
    commands.send(array())
    link.do("call renew 7 x")
    commands.command()
    commands.send(b"*70000\r\n" + b"$-1\r\n" * 70000)
    assert len(link.expect("reply", 7)) > 70000


@needs_redis
def test_a_database_that_is_not_there(redis_server, probe):
    link = probe(f"unix={redis_server.socket}", "db=99")
    assert link.expect("down", 1).endswith("SELECT: ERR DB index is out of range")


@needs_redis
def test_too_many_clients(redis_server, probe):
    redis_server.do("CONFIG", "SET", "maxclients", 2)
    with redis_server.client() as first:
        first.ping()
        link = probe(f"unix={redis_server.socket}")
        assert "max number of clients" in link.expect("down", 0)
        first.config_set("maxclients", 100)
    while link.line().startswith("down"):
        pass


@needs_redis
def test_a_server_that_forgets_leases_is_refused(redis_server, probe):
    client = redis_server.client()
    client.config_set("maxmemory-policy", "allkeys-lru")
    link = probe(f"unix={redis_server.socket}")
    link.expect("ready")
    client.config_set("maxmemory", "100mb")
    link.do("reset")
    link.expect("down", 0)
    assert "maxmemory-policy is allkeys-lru" in link.expect("down", 1)
    client.config_set("maxmemory-policy", "volatile-lru")
    while link.line().startswith("down"):
        pass


# ---- what does not become ready

def test_nobody_is_there(directory, probe):
    link = probe(f"unix={directory}/f")
    assert link.line() == f"down 0 {directory}/f: cannot connect: no such file or directory"
    link.expect("down", 0)
    server = FakeRedis(directory / "f")
    server.both()
    while (line := link.line()).startswith("down"):
        assert "connect" in line
    assert line.startswith("ready")
    server.close()


def test_a_port_that_is_closed(probe):
    server = FakeRedis()
    server.close()
    link = probe(server.where)
    assert link.line() == f"down 0 127.0.0.1:{server.port}: cannot connect: connection refused"


def test_a_path_that_is_too_long(directory, probe):
    link = probe(f"unix={directory}/{'x' * 120}")
    assert link.expect("down", 0).endswith("cannot connect: name too long")


def test_a_name_that_is_none(probe):
    link = probe("host=no..name:6379")
    assert "cannot look the name up: " in link.expect("down", 0)


def test_a_host_that_drops_what_it_is_sent(probe):
    server = FakeRedis(backlog=0)
    waiting = [socket.socket() for _ in range(2)]  # the queue of a listener that accepts nobody
    for sock in waiting:
        sock.setblocking(False)
        sock.connect_ex(("127.0.0.1", server.port))
    link = probe(server.where, "timeout=100")
    assert link.expect("down", 0).endswith("cannot connect: timed out")
    link.close()
    for sock in waiting:
        sock.close()
    server.close()


def test_silence_instead_of_an_answer(fake, probe):
    link = probe(fake.where, "timeout=500")
    first = fake.accept()
    assert link.expect("down", 0).endswith("no answer in time")
    assert first.ended()
    fake.commands()
    fake.accept()
    assert link.expect("down", 0).endswith("no answer in time")
    both_ready(fake, link)


def test_half_of_what_makes_it_ready(fake_tcp, probe):
    link = probe(fake_tcp.where)
    peer = fake_tcp.accept()
    while (words := peer.command())[0] != "FCALL":
        peer.send(answer(words))
    peer.send(answer(words)[:20])
    peer.reset()
    assert "connection lost: " in link.expect("down", 0)
    both_ready(fake_tcp, link)


@pytest.mark.parametrize("changes, why", [
    ({"role": "slave"}, "it is a replica, not the master"),
    ({"role": "active-replica"}, 'its role is "active-replica", not master'),
    ({"redis_version": "6.2.14"}, "its version is 6.2.14; Redis 7 or later is needed"),
    ({"redis_mode": "cluster"}, "it is a node of a Redis Cluster: set cluster = yes"),
])
def test_a_server_that_must_not_be_used(fake, probe, changes, why):
    link = probe(fake.where)
    fake.accept().ready(("INFO", 1), **changes)
    assert link.expect("down", 1).endswith(why)
    both_ready(fake, link)


def test_a_warning(fake, probe):
    link = probe(fake.where)
    fake.both(connected_slaves=1)
    assert "min-replicas-to-write" in link.expect("ready")


def test_data_that_are_still_being_read(fake, probe):
    link = probe(fake.where)
    peer = fake.accept()
    peer.command()
    peer.send(b"-LOADING Redis is loading the dataset in memory\r\n")
    assert "INFO: LOADING" in link.expect("down", 0)
    both_ready(fake, link)


def test_two_servers_behind_one_name(fake, probe):
    link = probe(fake.where)
    fake.commands()
    fake.messages_before = fake.accept()
    fake.messages_before.ready(("INFO", 1), run_id="b" * 40)
    assert link.expect("down", 0).endswith("the two connections reach different servers")
    both_ready(fake, link)


def test_a_channel_that_is_not_permitted(fake, probe):
    link = probe(fake.where)
    fake.commands()
    peer = fake.accept()
    peer.ready(("INFO", 1))
    peer.send(b"-NOPERM this user has no permissions to access one of the channels\r\n")
    assert "SUBSCRIBE: NOPERM" in link.expect("down", 1)


def test_words_of_the_server_are_one_line(fake, probe):
    link = probe(fake.where)
    peer = fake.accept()
    peer.send(b"-LOADING \x1b[31mred\nline\xff" + b"x" * 5000 + b"\r\n")
    line = link.expect("down", 0)
    assert line.isprintable() and line.isascii() and len(line) < 300


# ---- what comes when it is up

def dribble(peer, n):
    """Answers so many commands well, byte by byte."""
    for _ in range(n):
        for byte in answer(peer.command()):
            peer.send(bytes([byte]))


def test_everything_in_pieces(fake, probe):
    link = probe(fake.where)
    commands = fake.accept()
    dribble(commands, 5)
    dribble(fake.accept(), 3)
    link.expect("ready")
    link.do("call release 1 x")
    assert commands.command()[0] == "FCALL"
    for byte in b"*3\r\n:-5\r\n$-1\r\n*2\r\n$0\r\n\r\n+a\r\n":
        commands.send(bytes([byte]))
    link.expect("reply", 1, "[-5,_,[$,+a]]")


def arguments(words):
    """The arguments of a script's call, behind its keys."""
    return words[3 + int(words[2]):]


def test_what_is_sent(fake, probe):
    link = probe(fake.where)
    commands, messages = fake.both()
    assert [words[:1] for words in commands.seen] == [
        ["INFO"], ["CONFIG"], ["CONFIG"], ["EVAL"], ["FCALL"]]
    assert [words[1:] for words in messages.seen] == [[], [OWN], [ALL]]
    link.expect("ready")
    link.do("call acquire 1 a  b")
    words = commands.command()
    assert words[:2] == ["FCALL", assembled("name") + "_acquire"]
    assert words[3:5] == ["{berth}:db", "{berth}:sessions"] and "{berth}:freed" in words
    assert arguments(words) == ["a", "", "b"]


def test_more_than_the_kernel_takes(fake, probe):
    link = probe(fake.where)
    commands, _ = both_ready(fake, link)
    link.do(*(f"call renew {tag} {'x' * 4000}" for tag in range(300)))
    link.do("call renew 300 end")
    for tag in range(300):
        assert arguments(commands.command()) == ["x" * 4000]
    assert arguments(commands.command()) == ["end"]
    commands.send(b"".join(b":%d\r\n" % tag for tag in range(301)))
    for tag in range(301):
        assert link.line() == f"reply {tag} {tag}"


def test_calls_that_nobody_answers_are_forgotten(fake_tcp, probe):
    link = probe(fake_tcp.where)
    commands, _ = both_ready(fake_tcp, link)
    link.do("call renew 1 a", "call renew 2 b", "call renew 3 c")
    for _ in range(3):
        commands.command()
    commands.send(b":1\r\n$5\r\nhal")
    link.expect("reply", 1, 1)
    commands.reset()
    link.expect("down", 0)
    commands, _ = both_ready(fake_tcp, link)
    link.do("call renew 4 d")
    assert arguments(commands.command()) == ["d"]
    commands.send(b":4\r\n")
    link.expect("reply", 4, 4)
    assert link.close() == []


NONSENSE = [  # test_resp.c has the others
    b":1\r\n",
    b"*3000000\r\n",
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    array("message", OWN, "x"),
]


@pytest.mark.parametrize("nonsense", NONSENSE, ids=lambda data: repr(data[:20]))
@pytest.mark.parametrize("where", [0, 1], ids=["commands", "messages"])
def test_what_nobody_asked_for(fake, probe, nonsense, where):
    if where == 1 and nonsense == NONSENSE[-1]:
        nonsense = array("message", "{berth}:s:another", "x")
    link = probe(fake.where)
    peers = both_ready(fake, link)
    peers[where].send(nonsense)
    link.expect("down", 0)
    assert all(peer.ended() for peer in peers)
    both_ready(fake, link)
    assert link.close() == []


def test_a_heartbeat(fake, probe):
    link = probe(fake.where, "timeout=500")
    _, messages = both_ready(fake, link)
    for _ in range(2):
        assert messages.command() == ["PING"]
        messages.send(array("pong", ""))
    assert messages.command() == ["PING"]
    assert "PING" in link.expect("down", 0)
    _, messages = both_ready(fake, link)
    messages.send(array("pong", ""))
    assert "not subscribed to" in link.expect("down", 0)


def test_messages_before_the_answer_to_a_heartbeat(fake, probe):
    link = probe(fake.where, "timeout=500")
    _, messages = both_ready(fake, link)
    assert messages.command() == ["PING"]
    for _ in range(3):
        assert link.is_quiet(0.3)
        messages.send(array("message", OWN, "x"))
        link.expect("message")
    assert "PING" in link.expect("down", 0)


def test_an_answer_that_came_while_we_were_stopped(fake, probe):
    link = probe(fake.where, "timeout=500")
    _, messages = both_ready(fake, link)
    assert messages.command() == ["PING"]
    link.do("stop")  # not while it waits for events: it would take them before its timers
    os.waitid(os.P_PID, link.process.pid, os.WSTOPPED | os.WNOWAIT)
    messages.send(array("pong", ""))
    assert select.select([link.process.stdout], [], [], 0.7)[0] == []  # its time is over, not ours
    link.process.send_signal(signal.SIGCONT)
    assert messages.command() == ["PING"]
    messages.send(array("pong", ""))
    assert messages.command() == ["PING"]


def test_the_second_address_of_a_name(probe):
    """Nobody listens at the first one."""
    server = FakeRedis()
    link = probe(f"host=two.example.org:{server.port}", prefix=with_shim("names_shim.so"))
    both_ready(server, link)
    server.close()


# ---- Sentinel

@pytest.fixture
def sentinels():
    servers = [FakeRedis(), FakeRedis()]
    yield servers
    for server in servers:
        server.close()


def set_answer(sentinel, where, password=None):
    peer = sentinel.accept()
    if password:
        assert peer.command() == ["AUTH", password]
        peer.send(b"+OK\r\n")
    assert peer.command() == ["SENTINEL", "get-master-addr-by-name", "mymaster"]
    peer.send(array("127.0.0.1", where.port) if where else b"*-1\r\n")
    assert peer.ended()


def test_a_sentinel_that_is_dead_or_does_not_know(fake_tcp, probe, sentinels):
    dead = FakeRedis()
    dead.close()
    first, second = sentinels
    link = probe(dead.where, first.where, second.where, "master=mymaster")
    set_answer(first, None)
    set_answer(second, fake_tcp)
    fake_tcp.both()
    line = link.expect("ready")
    assert f"127.0.0.1:{fake_tcp.port}" in line and "min-replicas-to-write" in line
    link.do("reset")
    link.expect("down", 0)
    set_answer(second, fake_tcp)  # the one that knew is asked first
    both_ready(fake_tcp, link)


def test_no_sentinel_knows(probe, sentinels):
    dead = FakeRedis()
    dead.close()
    link = probe(dead.where, sentinels[0].where, "master=mymaster", "timeout=2000")
    set_answer(sentinels[0], None)
    assert link.line() == (
        f"down 0 Sentinel, master mymaster: 127.0.0.1:{dead.port}: cannot connect: connection refused; "
        f"127.0.0.1:{sentinels[0].port}: it does not know this master")
    peer = sentinels[0].accept()
    line = link.expect("down", 0)
    assert peer.ended() and "no answer in time" in line
    peer = sentinels[0].accept()
    peer.send(b"-ERR something\r\n")
    assert "ERR something" in link.expect("down", 0)


def test_a_sentinel_that_names_yesterdays_master(fake_tcp, probe, sentinels):
    old, (stale, fresh) = FakeRedis(), sentinels
    link = probe(stale.where, fresh.where, "master=mymaster")
    set_answer(stale, old)
    old.accept().ready(("INFO", 1), role="slave")
    link.expect("down", 1)
    set_answer(fresh, fake_tcp)
    both_ready(fake_tcp, link)
    assert not select.select([stale.socket], [], [], 0)[0], "it was not asked again"
    link.close()
    old.close()


def test_a_password_for_the_sentinels(fake_tcp, probe, sentinels, directory):
    (directory / "p").write_text("s3cret\n")
    link = probe(sentinels[0].where, sentinels[1].where, "master=mymaster",
                 f"sentinel-password-file={directory}/p", "password=other")
    peer = sentinels[0].accept()
    peer.command()
    peer.send(b"-ERR AUTH s3cret what?\r\n")
    set_answer(sentinels[1], fake_tcp, "s3cret")
    commands, _ = fake_tcp.both()
    assert commands.seen[0] == ["AUTH", "other"]
    link.expect("ready")


@needs_redis
def test_a_failover(directory, servers, probe):
    first = servers("first", port=True)
    second = servers("second", replica_of=first)
    sentinel = servers("sentinel", sentinel_of=Monitored(first.port))
    run_ids = first.run_id, second.run_id
    second.wait_for_replica_link()
    sentinel.wait_for_sentinel_to_know(1)
    sentinel.do("ACL", "SETUSER", "berth", "on", ">s3cret", "-@all", "+sentinel|get-master-addr-by-name")
    sentinel.do("ACL", "SETUSER", "default", "resetpass", ">other")
    (directory / "p").write_text("s3cret\n")
    link = probe(f"host=127.0.0.1:{sentinel.port}", "master=mymaster", "timeout=1000", "sentinel-user=berth",
                 f"sentinel-password-file={directory}/p")
    link.expect("ready", run_ids[0])
    first.kill()
    link.expect("down", 0)
    while (line := link.line()).startswith("down"):
        pass
    assert line.startswith(f"ready {run_ids[1]} 127.0.0.1:{second.port} ")
    link.close()


def test_a_sentinel_that_says_nonsense(probe, sentinels):
    link = probe(sentinels[0].where, "master=mymaster")
    for nonsense in (array("127.0.0.1"), array("", "1"), array("h", "0"), array("h", "65536"), b":1\r\n"):
        peer = sentinels[0].accept()
        peer.command()
        peer.send(nonsense)
        assert "unexpected reply: is this a Sentinel?" in link.expect("down", 0)


# ---- the end

def test_it_is_closed_at_any_time(directory, probe, fake, fake_tcp):
    probe(fake_tcp.where).close()
    probe(fake_tcp.where, "master=mymaster").close()
    probe("host=localhost:1").close()
    link = probe(f"unix={directory}/none")
    link.expect("down", 0)
    link.close()
    link = probe(fake.where)
    fake.commands()
    link.close()
    fake.accept()
    link = probe(fake.where)
    commands, _ = both_ready(fake, link)
    link.do("call renew 1 a", "close", "call renew 2 b")
    assert link.line() == "closed"
    assert link.process.wait(DEADLINE) == 0
    assert commands.ended()

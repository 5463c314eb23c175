"""berthctl forget: a definition that is in no file any more leaves the fleet, from any host."""


import pytest

from daemon_help import code, refused, status
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from fleet_ops_help import RESOURCES, client_of, fleet, gets, queues, up
from history_help import done as deeds
from lines import until
from lost_help import asked_until

pytestmark = needs_redis

OLD = """
[lock old]
scope = fleet
[semaphore shop/*]
scope = fleet
limit = 2
"""


@pytest.fixture
def pair(redis_server, hosts):
    return fleet(redis_server, hosts, text=RESOURCES + OLD)


def takes_out(redis_server, *members, text=RESOURCES):
    for host in members:
        host.configure(redis_section(redis_server.url) + text)
        assert client_of(host).request("reload").startswith("ok")


def stored(redis_server):
    return redis_server.members("definitions")


def test_the_file_still_defines_it(redis_server, pair):
    """And then it no longer does: the definition goes for all."""
    a, b = pair
    for name in ("old", "shop/*", "etl"):
        done = a.berthctl("forget", name, "--database", "default")
        assert done.returncode == 78
        assert "the file of this host still defines it" in done.stderr
    assert refused(client_of(a), "forget old") == "defined"
    assert "old" in stored(redis_server)
    assert refused(client_of(a), "forget shop/x") == "unknown", "what is defined is its template"
    does = [client_of(a).request(line) for line in ("pause old reason=x", "pause shop/x")]
    assert does == ["ok", "ok"]
    takes_out(redis_server, a, b)
    assert {"old", "shop/*"} < set(stored(redis_server)), "they stay until they are forgotten"
    for name in ("old", "shop/*"):
        done = b.berthctl("forget", name)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [deed.said() for deed in deeds(client_of(b), "history database=default")][-2:] == [
        ("forget", dict(resource=name, target="default")) for name in ("old", "shop/*")]
    assert not {"old", "shop/*"} & set(stored(redis_server))
    for host in (a, b):
        assert refused(client_of(host), "acquire old") == "unknown"
    done = a.berthctl("forget", "old")
    assert done.returncode == 78 and done.stderr.endswith("(unknown)\n")
    takes_out(redis_server, a, text=RESOURCES + OLD)
    gets(client_of(a), "acquire old shop/x")


def test_a_host_that_still_has_it_brings_it_back(redis_server, pair):
    """And what is in use there stays."""
    a, b = pair
    assert client_of(a).request("pause old") == "ok"
    client = client_of(b)
    lease = gets(client, "acquire shop/x:2")
    waiter = queues(client, "acquire shop/x")
    takes_out(redis_server, a)
    done = a.berthctl("forget", "shop/*")
    assert done.returncode == 75
    assert done.stderr == "berthctl: forget: shop/x: in use: 3 held or waited for (in-use)\n"
    assert client.request(f"release {waiter}") == client.request(f"release {lease}") == "ok"
    assert client_of(a).request("forget old") == "ok"
    until(lambda: "old" in stored(redis_server))
    assert "paused" not in status(client_of(b), "old").resources["old"], "but not what operators have changed"
    gets(client_of(b), "acquire old")


def test_a_name_in_the_hosts_own_file_is_never_refused(redis_server, hosts):
    """Also before the host has brought it back, or between that and the next forget."""
    a, b = fleet(redis_server, hosts, text=RESOURCES + OLD, ttl="120s")
    takes_out(redis_server, a)
    operator, client = client_of(a), client_of(b)
    for _ in range(50):
        operator.send("forget old\nforget old\n")
        lease = gets(client, "acquire old")
        assert client.request(f"release {lease}") == "ok"
        for _ in range(2):
            answer = operator.line()
            assert answer == "ok" or code(answer) in ("in-use", "unknown")


def test_which_database(redis_server, hosts):
    two = redis_section(redis_server.url, name="two", prefix="other")
    here = "[lock old]\n"

    def text(of):
        return of.replace("[lock old]", "[lock old]\nredis = two")

    a, = up(redis_server, *hosts(text(RESOURCES + OLD), 1, lambda _: redis_section(redis_server.url) + two))
    redis_server.do("HDEL", "{other}:db", "grace")
    client = client_of(a)
    assert refused(client, "forget old") == "defined", "there"
    assert refused(client, "forget old database=default") == "unknown", "not there"
    assert code(answer := client.request("forget gone")) == "bad-value" and "default,%20two" in answer
    assert code(answer := client.request("forget gone database=none")) == "unknown" and "default,%20two" in answer
    a.configure(redis_section(redis_server.url) + two + RESOURCES + here)
    assert client.request("reload") == "ok"
    assert code(client.request("forget old")) == "bad-value"
    assert client.request("forget old database=two") == "ok", "the file has another one, of this host alone"


def test_without_a_fleet(berthd):
    daemon = berthd("[lock l]\n")
    assert refused(daemon.client(), "forget l") == "unknown"
    assert refused(daemon.client(), "forget l/*/x") == "bad-value"


def test_in_a_grace(redis_server, pair):
    """Or while its database is down."""
    a, b = pair
    takes_out(redis_server, a, b)
    clock = int(redis_server.do("HGET", "{berth}:db", "clock"))
    redis_server.do("HSET", "{berth}:db", "grace", clock + 60000)
    assert code(answer := client_of(a).request("forget old")) == "grace"
    assert "may%20not%20have%20reported%20yet" in answer
    redis_server.kill()
    asked_until(a, lambda now: now.databases["default"]["state"] == "down", "etl")
    assert refused(client_of(a), "forget old") == "down"

"""The way to a Redis Cluster, without a daemon: which node is asked, where redirections lead, that none leads
round for ever, and that calls wait while the keys are at two nodes."""

import contextlib

import pytest

from cluster_help import N_KEYS
from fake_redis import FakeRedis, answer, array, bulk
from fleet_help import needs_redis, servers  # a fixture among them  # noqa: F401
from test_link import arguments, probe  # noqa: F401

SLOT = 10131  # of {berth}
AT_TWO_NODES = b"-TRYAGAIN Multiple keys request during rehashing of slot\r\n"


def slots(*nodes, slot=SLOT):
    """The reply to CLUSTER SLOTS: the first one is the owner."""
    rows = b"".join(b"*4\r\n" + bulk(host) + b":%d\r\n" % port + bulk("id") + b"*0\r\n" for host, port in nodes)
    return b"*1\r\n*%d\r\n:0\r\n:16383\r\n" % (2 + len(nodes)) + rows


class Node(FakeRedis):
    """A node that the test plays. It has the slot unless `exists` says otherwise."""

    def __init__(self):
        super().__init__()
        self.address = f"127.0.0.1:{self.port}"
        self.slots = slots(("127.0.0.1", self.port))
        self.exists = b":0\r\n"

    def answer(self, words):
        if words[:2] == ["CLUSTER", "SLOTS"]:
            return self.slots
        if words[0] == "EXISTS":
            return self.exists
        if words[0] == "SSUBSCRIBE":
            return b"".join(b"*3\r\n" + bulk("ssubscribe") + bulk(word) + b":1\r\n" for word in words[1:])
        return answer(words, redis_mode="cluster", cluster_enabled=1)

    def serve(self, until):
        """A connection, until it has answered a command with that first word so often."""
        word, n = until
        peer = self.accept()
        peer.seen = []
        while n:
            words = peer.command()
            assert words is not None, peer.seen
            peer.seen.append(words)
            peer.send(self.answer(words))
            n -= words[0] == word
        return peer

    def ready(self):
        """Both connections."""
        return self.serve(("FCALL", 1)), self.serve(("SUBSCRIBE", 2))

    def asked(self):
        """A connection that is sent away."""
        return self.serve(("EXISTS", 1))


def sent_away(word, node):
    return f"-{word} {SLOT} {node.address}\r\n".encode()


@pytest.fixture
def nodes():
    nodes = [Node() for _ in range(3)]
    yield nodes
    for node in nodes:
        node.close()


def hosts(*nodes):
    return [f"host={node.address}" for node in nodes]


def start(probe, *nodes, options=()):
    return probe(*hosts(*nodes), "cluster=yes", *options)


def connect(probe, node, options=()):
    """A link to that node, which has the slot, and its two connections."""
    link = start(probe, node, options=options)
    commands, messages = node.ready()
    link.expect("ready")
    return link, commands, messages


def test_the_owner_is_found(nodes, probe):
    a, b, _ = nodes
    a.exists = sent_away("MOVED", b)
    link = start(probe, a, options=["user=me", "password=secret"])
    seed = a.asked()
    assert seed.seen[0] == ["AUTH", "me", "secret"]
    assert seed.seen[1] == ["CLUSTER", "SLOTS"]
    assert len(seed.seen[2]) == 1 + N_KEYS and set(seed.seen[2][1:]) > {"{berth}:db", "{berth}:queue"}
    commands, messages = b.ready()
    assert link.expect("ready").split()[2] == b.address
    assert seed.ended()
    assert [words[0] for words in commands.seen][:4] == ["AUTH", "CLUSTER", "EXISTS", "INFO"]
    assert [words[0] for words in messages.seen] == [
        "AUTH", "INFO", "SSUBSCRIBE", "SUBSCRIBE", "SUBSCRIBE"]
    link.do("call renew 1 a")
    assert arguments(commands.command()) == ["a"]
    commands.send(b":1\r\n")
    link.expect("reply", 1, 1)
    for word in ("smessage", "message"):
        messages.send(array(word, "{berth}:all", word))
        link.expect("message", word)
    assert link.close() == []


def test_each_node_is_asked_before_a_pause_is_due(nodes, probe):
    a, b, c = nodes
    a.close()
    b.exists = b"-CLUSTERDOWN The cluster is down\r\n"
    link = start(probe, a, b, c)
    assert "refused" in link.expect("down", 0)
    b.asked()
    assert "CLUSTERDOWN" in link.expect("down", 0)
    c.ready()
    link.expect("ready")


def test_a_node_that_another_one_has_named(nodes, probe):
    """When all nodes of the url are gone."""
    a, b, c = nodes
    a.slots = slots(("127.0.0.1", b.port), ("127.0.0.1", c.port))
    a.exists = sent_away("MOVED", b)
    link = start(probe, a)
    a.asked()
    b.slots = b"-NOPERM this user has no permissions to run the 'cluster|slots' command\r\n"
    commands, _ = b.ready()
    link.expect("ready")
    link.expect("lacks", "cluster-slots")
    a.close()
    b.close()
    commands.close()
    link.expect("down")
    c.ready()
    while (line := link.line()).startswith("down"):
        assert "refused" in line or "lost" in line, line
    assert line.split()[2] == c.address


def test_a_call_that_is_sent_away(nodes, probe):
    a, b, _ = nodes
    link, commands, _ = connect(probe, a)
    link.do("call renew 1 a", "call renew 2 b")
    commands.command(), commands.command()
    commands.send(sent_away("MOVED", b))
    assert link.expect("down", 0).endswith(f"MOVED {SLOT} {b.address}: its keys are at that node now")
    assert commands.ended()
    b.ready()
    assert link.expect("ready").split()[2] == b.address


def test_keys_that_move_ahead_of_their_slot(nodes, probe):
    """ASKING before each call, until the slot is there as well."""
    a, b, _ = nodes
    a.exists = sent_away("ASK", b)
    link = start(probe, a, options=["timeout=500"])
    a.asked()
    commands, messages = b.ready()
    assert [words[0] for words in commands.seen][:3] == ["CLUSTER", "ASKING", "EXISTS"]
    assert [words[0] for words in messages.seen] == [
        "INFO", "ASKING", "SSUBSCRIBE", "SUBSCRIBE", "SUBSCRIBE"]
    link.expect("ready")
    for n, reply in enumerate((sent_away("MOVED", a), b":1\r\n")):
        link.do(f"call renew {n} x")
        assert commands.command() == ["ASKING"]
        commands.send(b"+OK\r\n")
        assert arguments(commands.command()) == ["x"]
        commands.send(b":7\r\n")
        link.expect("reply", n, 7)
        assert messages.command() == ["PING"]
        messages.send(array("pong", ""))
        assert commands.command() == ["EXISTS", "{berth}:db"]  # without ASKING: is the slot here?
        commands.send(reply)
        if n == 0:
            assert commands.command()[:2] == ["FUNCTION", "LIST"]
            commands.send(array())
    link.do("call renew 2 y")
    assert arguments(commands.command()) == ["y"]


def test_calls_wait_while_the_keys_are_at_two_nodes(nodes, probe):
    a, _, _ = nodes
    link, commands, _ = connect(probe, a)
    link.do("call renew 1 a", "call renew 2 b")
    for _ in range(3):
        assert [arguments(commands.command()) for _ in range(2)] == [["a"], ["b"]]
        commands.send(AT_TWO_NODES * 2)
    assert [arguments(commands.command()) for _ in range(2)] == [["a"], ["b"]]
    commands.send(b":1\r\n:2\r\n")
    link.expect("reply", 1, 1)
    link.expect("reply", 2, 2)
    assert link.close() == []


def test_keys_that_stay_at_two_nodes(nodes, probe):
    """The link says so, and since when: that stays the same."""
    a, _, _ = nodes
    link, commands, _ = connect(probe, a, options=["timeout=400"])
    link.do("call renew 1 a")
    with contextlib.suppress(OSError):
        while commands.command():
            commands.send(AT_TWO_NODES)
    first = link.expect("down", 0)
    assert f"its slot {SLOT} has been moving since 20" in first and "TRYAGAIN" in first
    a.exists = AT_TWO_NODES
    for _ in range(2):
        a.asked()
        assert link.line() == first
    a.exists = b":0\r\n"
    commands, _ = a.ready()
    link.expect("ready")
    link.do("call renew 2 b")
    for reply in (AT_TWO_NODES, b":2\r\n"):  # a new connection has all patience
        assert arguments(commands.command()) == ["b"]
        commands.send(reply)
    link.expect("reply", 2, 2)


def test_a_slot_that_leaves_under_the_channels(nodes, probe):
    a, b, _ = nodes
    link, _, messages = connect(probe, a)
    a.exists = sent_away("MOVED", b)
    messages.send(b"*3\r\n" + bulk("sunsubscribe") + bulk("{berth}:all") + b":1\r\n")
    assert link.expect("down", 0).endswith("its slot has left this node")
    a.asked()
    b.ready()
    link.expect("ready")


@pytest.mark.parametrize("itself", [False, True], ids=["each-other", "itself"])
def test_redirections_that_lead_round(nodes, probe, itself):
    a, b, _ = nodes
    a.exists = sent_away("MOVED", a if itself else b)
    b.exists = sent_away("MOVED", a)
    b.slots = a.slots
    link = start(probe, a)
    for i in range(6):
        (b if i % 2 and not itself else a).asked()
    assert "redirections lead to no node that serves it" in link.expect("down", 0)
    a.exists = b":0\r\n"
    a.ready()
    link.expect("ready")


@pytest.mark.parametrize("reply", [
    f"-MOVED {SLOT + 1} 127.0.0.1:1", f"-MOVED {SLOT} ?:1", f"-ASK {SLOT} ?:1", "-ERR no", "*0"])
def test_what_makes_no_sense(nodes, probe, reply):
    """test_cluster.c has all redirections that make none."""
    a, b, _ = nodes
    a.exists = reply.encode() + b"\r\n"
    link = start(probe, a, b)
    a.asked()
    line = link.expect("down")
    assert a.address in line and line.isascii() and line.isprintable()
    b.ready()
    link.expect("ready")


@pytest.mark.parametrize("reply", [b":1\r\n", b"*0\r\n", b"-ERR unknown command\r\n"])
def test_a_map_that_makes_no_sense_is_not_needed(nodes, probe, reply):
    a, _, _ = nodes
    a.slots = reply
    connect(probe, a)


def test_places_that_a_node_does_not_know(nodes, probe):
    """An empty host is the one that was asked; where the name is missing, the map has an address."""
    a, b, c = nodes
    a.exists = f"-MOVED {SLOT} :{b.port}\r\n".encode()
    row = b"*4\r\n" + bulk("?") + b":%d\r\n" % c.port + bulk("id") + array("ip", "127.0.0.1")
    b.slots = b"*1\r\n*3\r\n:0\r\n:16383\r\n" + row
    b.exists = f"-MOVED {SLOT} ?:{c.port}\r\n".encode()
    link = start(probe, a)
    a.asked()
    b.asked()
    c.ready()
    assert link.expect("ready").split()[2] == c.address


# ---- real ones


@needs_redis
def test_a_server_that_is_no_node(servers, probe):
    server = servers(port=True)
    link = probe(f"host=127.0.0.1:{server.port}", "cluster=yes")
    assert "it is not a node of a Redis Cluster, but cluster = yes" in link.expect("down", 1)

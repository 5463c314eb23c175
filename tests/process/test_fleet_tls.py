"""A fleet whose Redis speaks TLS: jobs, certificates that are renewed, a failover."""

import subprocess
import urllib.parse

import pytest

from cluster_help import Cluster, Node
from fleet_help import Monitored, clock, hosts, needs_redis, redis_section, servers  # noqa: F401
from fleet_ops_help import up
from lines import DEADLINE, until
from lost_help import asked_until
from tls_help import Authority, TlsServer, authority, needs_tls, speaking_tls  # noqa: F401

pytestmark = [needs_redis, needs_tls]

RESOURCES = "[semaphore s]\nscope = fleet\nlimit = 2\n"


@pytest.fixture
def server(servers, authority):
    return servers(authority, authority.issue("redis"), kind=TlsServer)


def section(server, **more):
    """With a ttl that a job outlives while its Redis is restarted, also on a busy machine."""
    return redis_section(server.tcp_url, "30s", failover_lag="0", **{"ca_file": server.authority.crt, **more})


def says(host, *words):
    """Waits until its log has a line with all of these words."""
    def lines():
        return [line for line in host.log.read_text().splitlines() if all(word in line for word in words)]
    return until(lines, f"no line with {words} in {host.log}")


def down(host, why):
    """Waits until its status gives this reason."""
    asked_until(host, lambda now: why in urllib.parse.unquote(now.databases["default"].get("why", "")), "s")


def test_jobs(server, hosts):
    a, b = up(server, *hosts(RESOURCES, 2, section(server)))
    assert f"connected to {server.shown_version} at 127.0.0.1:{server.port}" in a.log.read_text()
    for host in (a, b):
        done = host.berth("run", "s", "--", "echo", "done")
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    held = a.berth.start("run", "s:2", "--", "cat", stdin=subprocess.PIPE)
    until(lambda: b.berth("run", "-n", "s", "--", "true").returncode == 75, "it is not held")
    waiting = b.berth.start("run", "s", "--", "true")
    asked_until(b, lambda now: now.resources["s"]["waiting"] == "1", "s")
    held.communicate(b"", timeout=DEADLINE)
    assert waiting.wait(DEADLINE) == 0


def test_a_server_that_cannot_be_trusted_is_said_once_and_shown(server, hosts, directory):
    """It comes back with another certificate while jobs hold; and is there again with the right one."""
    host, = up(server, *hosts(RESOURCES, 1, section(server)))
    good = server.certificate
    server.certificate = Authority(directory / "certificates", "stranger").issue("redis2")
    server.restart()
    why = 'certificate verify failed: unable to get local issuer certificate (subject "CN = redis2", issuer "CN = Authority stranger")'
    down(host, why)
    assert len(says(host, "cannot be reached", why)) == 1
    assert why in host.berthctl("hosts").stdout
    refused = host.berth("run", "-n", "s", "--", "true")
    assert refused.returncode == 69 and why in refused.stderr
    server.certificate = good
    server.restart()
    up(server, host)
    assert len(says(host, "cannot be reached", why)) == 1


def test_certificates_are_read_again_at_a_reload(server, hosts, directory):
    """A new authority, and a server that has a certificate of it: no job notices."""
    ca, key, own = (directory / name for name in ("ca", "key", "own"))
    server.wants_certificates = True
    server.restart()
    ca.write_bytes(server.authority.crt.read_bytes())
    first = server.authority.issue("first")
    own.write_bytes(first.crt.read_bytes())
    key.write_bytes(first.key.read_bytes())
    host, = up(server, *hosts(RESOURCES, 1, section(server, ca_file=ca, cert_file=own, key_file=key)))
    job = host.berth.start("run", "s", "--", "cat", stdin=subprocess.PIPE)
    asked_until(host, lambda now: now.resources["s"]["in_use"] == "1", "s")
    other = Authority(directory / "certificates", "other")
    second = other.issue("second")

    # Half of a renewal: refused, and the certificates in use stay.
    own.write_bytes(second.crt.read_bytes())
    refused = host.berthctl("reload")
    assert refused.returncode == 78
    assert f"[redis]: key-file {key}: is not the key of the certificate in cert-file" in refused.stderr
    says(host, "not reloaded: nothing has changed")
    server.do("CLIENT", "KILL", "TYPE", "normal")
    says(host, "connection lost")
    up(server, host)

    key.write_bytes(second.key.read_bytes())
    ca.write_bytes(other.crt.read_bytes())
    clients = server.info("stats")["total_connections_received"]
    assert host.berthctl("reload").returncode == 0
    says(host, "certificates were read again")
    assert host.berth("run", "s", "--", "true").returncode == 0
    assert server.info("stats")["total_connections_received"] == clients + 1  # the question: connections stay
    server.authority, server.certificate = other, other.issue("redis2")
    server.restart()
    up(server, host)
    job.communicate(b"", timeout=DEADLINE)
    assert job.returncode == 0


def test_keys_change_at_a_reload(server, hosts, directory):
    """Paths and the name, too."""
    host, = up(server, *hosts(RESOURCES, 1, section(server)))
    host.configure(section(server, ca_file=directory / "none") + RESOURCES)
    refused = host.berthctl("reload")
    assert refused.returncode == 78 and f"ca-file {directory}/none: No such file" in refused.stderr
    host.configure(section(server, server_name="redis.example.org") + RESOURCES)
    assert host.berthctl("reload").returncode == 0
    server.do("CLIENT", "KILL", "TYPE", "normal")
    down(host, "not for redis.example.org")
    host.configure(section(server) + RESOURCES)
    assert host.berthctl("reload").returncode == 0
    up(server, host)


def test_a_cluster(directory, authority, hosts):
    """Its nodes speak TLS alone, also among each other. The slot is at the last one that is asked."""
    certificate = authority.issue("node")

    class TlsNode(Node):
        def command_line(self):
            return [*speaking_tls(super().command_line(), self.port, authority, certificate, False), "--tls-cluster", "yes"]

    cluster = Cluster(directory, replicas=0, node=TlsNode)
    try:
        owner = cluster.masters[2]
        url = cluster.url.replace("redis://", "rediss://")
        prefix = cluster.prefix_of(owner)
        host, = hosts(RESOURCES, 1, redis_section(url, failover_lag="0", ca_file=authority.crt, cluster="yes", prefix=prefix))
        asked_until(host, lambda now: now.databases["default"]["state"] == "up", "s")
        owner.do("HDEL", f"{{{prefix}}}:db", "grace")
        assert host.berth("run", "s", "--", "true").returncode == 0
        assert f"at 127.0.0.1:{owner.port}" in says(host, ": connected to ")[-1]
    finally:
        for node in cluster.nodes:
            node.kill()


def test_a_failover_by_sentinel(servers, authority, hosts):
    """Sentinels and servers speak TLS alone, also among each other."""
    def start(name, **more):
        return servers(authority, authority.issue(name), name, True, kind=TlsServer, **more)

    first = start("first")
    second = start("second", replica_of=first)
    sentinel = start("sentinel", sentinel_of=Monitored(first.port))
    second.wait_for_replica_link()
    sentinel.wait_for_sentinel_to_know(1)
    own = authority.issue("own")
    host, = up(first, *hosts(RESOURCES, 1, redis_section(
        f"sentinels://127.0.0.1:{sentinel.port}/mymaster", "30s", failover_lag="0", ca_file=authority.crt,
        cert_file=own.crt, key_file=own.key)))
    job = host.berth.start("run", "s", "--", "cat", stdin=subprocess.PIPE)
    asked_until(host, lambda now: now.resources["s"]["in_use"] == "1", "s")
    first.kill()
    sentinel.wait_for_master(second.port)
    up(second, host)
    job.communicate(b"", timeout=DEADLINE)
    assert job.returncode == 0
    assert f"at 127.0.0.1:{second.port}" in says(host, "connected to ")[-1]

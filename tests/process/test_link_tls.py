"""The way to Redis through TLS: who is believed, and what is said of who is not."""

import itertools
import os
import socket
import ssl

import pytest

from fake_redis import Peer, info
from fleet_help import Monitored, needs_redis, servers  # noqa: F401
from lines import DEADLINE
from test_link import dribble, fake_tcp, probe, renews  # noqa: F401  (fixtures)
from tls_help import Authority, TlsServer, authority, needs_tls, openssl  # noqa: F401

pytestmark = [needs_redis, needs_tls]

UNTRUSTED = "cannot connect: certificate verify failed: "


@pytest.fixture
def server(servers, authority):
    """server(certificate's words …): a Redis that has it."""
    numbers = itertools.count()

    def make(name="redis", wants_certificates=False, options=(), by=None, **words):
        certificate = (by or authority).issue(name, **words)
        return servers(authority, certificate, f"r{next(numbers)}", wants_certificates, options, kind=TlsServer)

    return make


def where(server, *more):
    return [f"host=127.0.0.1:{server.port}", "tls=yes", f"ca-file={server.authority.crt}", *more]


def test_calls_and_messages(server, probe):
    redis = server()
    link = probe(*where(redis))
    link.expect("ready", redis.run_id, f"127.0.0.1:{redis.port}", "")
    renews(link, 7)
    redis.client().publish("{berth}:all", "hello")
    link.expect("message", "hello")
    link.do("call renew 8 " + "x" * 100_000, "reset")
    link.expect("down", 0)
    link.expect("ready")
    assert link.close() == []
    redis.ask_until("clients", lambda info: info["connected_clients"] == 1)


def test_either_connection_takes_the_other_along(server, probe):
    redis = server()
    link = probe(*where(redis))
    for kind in ("normal", "pubsub"):
        link.expect("ready")
        redis.do("CLIENT", "KILL", "TYPE", kind)
        assert "connection lost: closed by the server" in link.expect("down", 0)
    link.expect("ready")


def test_a_sentinel(server, servers, probe, authority):
    redis = server()
    sentinel = servers(authority, authority.issue("sentinel"), "sentinel", kind=TlsServer,
                       sentinel_of=Monitored(redis.port))
    link = probe(*where(sentinel, "master=mymaster"))
    link.expect("ready", redis.run_id, f"127.0.0.1:{redis.port}")
    link.close()
    line = probe(*where(sentinel, "master=mymaster", "server-name=elsewhere")).expect("down", 0)
    assert "Sentinel, master mymaster: 127.0.0.1:" in line and "the certificate is for 127.0.0.1, not for elsewhere" in line


# ---- whom we believe


def refusal(redis, link):
    """What is said of the server."""
    before = f"down 0 127.0.0.1:{redis.port}: {UNTRUSTED}"
    line = link.line()
    assert line.startswith(before), line
    return line[len(before):]


def test_an_issuer_that_is_not_trusted(server, probe, directory):
    redis = server()
    other = Authority(directory / "certificates", "other")
    link = probe(*where(redis, f"ca-file={other.crt}"))
    assert refusal(redis, link) == (
        'self-signed certificate in certificate chain (subject "CN = Authority ca", issuer "CN = Authority ca");'
        ' is its issuer in ca-file?')
    redis = server(by=other)  # sends the wrong chain
    assert refusal(redis, probe(*where(redis))) == (
        'unable to get local issuer certificate (subject "CN = redis", issuer "CN = Authority other");'
        ' is its issuer in ca-file?')


def test_nothing_is_trusted_that_the_system_does_not_trust(server, probe):
    redis = server()
    link = probe(f"host=127.0.0.1:{redis.port}", "tls=yes")
    assert "(subject " in refusal(redis, link)
    link.close()
    link = probe(f"host=127.0.0.1:{redis.port}", "tls=yes", env={"SSL_CERT_FILE": str(redis.authority.crt)})
    link.expect("ready")


def test_a_file_of_its_own_is_all_that_is_trusted(server, probe, directory):
    redis = server()
    other = Authority(directory / "certificates", "other")
    link = probe(*where(redis, f"ca-file={other.crt}"), env={"SSL_CERT_FILE": str(redis.authority.crt)})
    assert "(subject " in refusal(redis, link)


def test_a_certificate_for_another_host(server, probe):
    redis = server(names="DNS:redis.example.org,DNS:r2.example.org,IP:127.0.0.2,DNS:more")
    hosts = "redis.example.org, r2.example.org, 127.0.0.2, ..."
    link = probe(*where(redis))
    assert refusal(redis, link) == f"the certificate is for {hosts}, not for 127.0.0.1"
    link = probe(*where(redis, "server-name=other.example.org"))
    assert refusal(redis, link) == f"the certificate is for {hosts}, not for other.example.org"
    link = probe(*where(redis, "server-name=127.0.0.1"))
    assert refusal(redis, link) == f"the certificate is for {hosts}, not for 127.0.0.1"
    for name in ("R2.example.org", "127.0.0.2", "redis.example.org."):
        probe(*where(redis, f"server-name={name}")).expect("ready")


def test_both_connections_ask_for_the_name_in_the_url(server, probe):
    redis = server(names="DNS:localhost")
    probe(f"host=localhost:{redis.port}", "tls=yes", f"ca-file={redis.authority.crt}").expect("ready")


def test_a_certificate_without_names(server, probe):
    redis = server(name="example.org", names=None)
    assert refusal(redis, probe(*where(redis))) == "the certificate is for CN = example.org, not for 127.0.0.1"


def test_a_certificate_whose_time_is_not_now(server, probe):
    redis = server(days=("20200101", "20200201"))
    assert refusal(redis, probe(*where(redis))) == (
        'certificate has expired: Feb  1 00:00:00 2020 GMT (subject "CN = redis", issuer "CN = Authority ca")')
    redis = server(days=("21200101", "21200201"), name="future")
    assert refusal(redis, probe(*where(redis))) == (
        'certificate is not yet valid: Jan  1 00:00:00 2120 GMT (subject "CN = future", issuer "CN = Authority ca")')


def test_a_certificate_that_is_not_for_servers(server, probe):
    redis = server(usage="clientAuth")
    assert "purpose" in refusal(redis, probe(*where(redis)))


# ---- who believes us


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_a_server_that_wants_a_certificate(server, probe, directory, version):
    redis = server(wants_certificates=True, options=["--tls-protocols", f"TLSv{version}"])
    own = redis.authority.issue("own", names="DNS:host")
    link = probe(*where(redis, f"cert-file={own.crt}", f"key-file={own.key}"))
    link.expect("ready")
    link = probe(*where(redis))
    assert "a client certificate" in link.expect("down", 0)
    stranger = Authority(directory / "certificates", "stranger").issue("s", names="DNS:host")
    link = probe(*where(redis, f"cert-file={stranger.crt}", f"key-file={stranger.key}"))
    assert link.expect("down", 0).endswith("TLS: the server rejects our certificate (cert-file): it does not trust its issuer")


def test_files_that_cannot_be_used(server, probe, directory):
    redis = server()
    own, other = (redis.authority.issue(name) for name in ("own", "other"))
    (directory / "empty").touch()
    head, body = own.crt.read_text().split("\n", 1)
    (directory / "damaged").write_text(head + "\nx" + body[1:])
    openssl("pkcs8", "-topk8", "-v2", "aes-128-cbc", "-passout", "pass:hush", "-in", own.key, "-out", directory / "encrypted")
    for options, why in (
            ([f"ca-file={directory}/none"], f"ca-file {directory}/none: No such file or directory"),
            ([f"ca-file={directory}"], f"ca-file {directory}: is not a file"),
            ([f"ca-file={directory}/empty"], f"ca-file {directory}/empty: is empty"),
            ([f"ca-file={own.key}"], f"ca-file {own.key}: has no certificate (PEM)"),
            ([f"ca-file={directory}/damaged"], f"ca-file {directory}/damaged: has a damaged certificate"),
            (["ca-file=credential:ca"], "ca-file credential:ca: CREDENTIALS_DIRECTORY is not set "
             "(LoadCredential= of the unit names the file; it was read at the start)"),
            ([f"cert-file={own.crt}", f"key-file={other.key}"],
             f"key-file {other.key}: is not the key of the certificate in cert-file"),
            ([f"cert-file={own.crt}", f"key-file={directory}/encrypted"],
             f"key-file {directory}/encrypted: is encrypted, and berthd knows no passphrase"),
            ([f"cert-file={own.crt}", f"key-file={own.crt}"], f"key-file {own.crt}: has no private key (PEM)"),
    ):
        link = probe(*where(redis, *options))
        assert link.line() == f"down 0 TLS: {why}"
        link.close()


def test_a_file_that_comes_later_is_found(server, probe, directory):
    redis = server()
    link = probe(*where(redis, f"ca-file={directory}/ca"))
    assert "No such file" in link.expect("down", 0)
    redis.authority.crt.rename(directory / "ca")
    while not (line := link.line()).startswith("ready"):
        assert "No such file" in line


def test_credentials(server, probe):
    redis = server(wants_certificates=True)
    redis.authority.issue("own")
    link = probe(*where(redis, "ca-file=credential:ca.crt", "cert-file=credential:own.crt", "key-file=credential:own.key"),
                 env={"CREDENTIALS_DIRECTORY": str(redis.authority.directory)})
    link.expect("ready")


# ---- versions, and who does not speak it


def test_versions(server, probe):
    old, new = (server(name=name, options=["--tls-protocols", f"TLSv{version}"])
                for name, version in (("old", "1.2"), ("new", "1.3")))
    for redis, least, is_good in ((old, "1.2", True), (old, "1.3", False), (new, "1.2", True), (new, "1.3", True)):
        link = probe(*where(redis, f"tls-min-version={least}"))
        if is_good:
            link.expect("ready")
        else:
            assert link.expect("down", 0).endswith(
                "cannot connect: TLS: the server and tls-min-version have no version of TLS in common")


def test_tls_to_a_plain_server(servers, probe, authority):
    redis = servers(port=True)
    redis.authority = authority
    line = probe(*where(redis, "timeout=300")).expect("down", 0)
    assert "timed out in the TLS handshake (does the server speak TLS" in line or "is not TLS; is that port one for redis://?" in line


def test_a_plain_server_that_answers(fake_tcp, probe):
    link = probe(fake_tcp.where, "tls=yes")
    peer = fake_tcp.accept()
    assert peer.socket.recv(3) == b"\x16\x03\x01"
    peer.send(b"-ERR unknown command\r\n")
    assert link.expect("down", 0).endswith("TLS: what the server sends is not TLS; is that port one for redis://?")
    peer = fake_tcp.accept()
    peer.socket.recv(65536)
    peer.close()
    assert link.expect("down", 0).endswith("cannot connect: closed by the server in the TLS handshake")


def test_plain_to_a_tls_server(server, probe):
    redis = server()
    link = probe(f"host=127.0.0.1:{redis.port}")
    assert link.expect("down", 0).endswith(" before sending anything (if it expects TLS, use rediss://)")


def test_silence_in_the_handshake(fake_tcp, probe):
    """It counts within the time for connecting."""
    link = probe(fake_tcp.where, "tls=yes", "timeout=100")
    peer = fake_tcp.accept()
    assert "timed out in the TLS handshake" in link.expect("down", 0)
    peer.socket.recv(65536)
    assert peer.socket.recv(1) == b""


# ---- the end of a session


def talk_tls(fake, certificate):
    """The other side of the next connection, which the test plays."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.crt, certificate.key)
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    sock, _ = fake.socket.accept()
    sock.settimeout(DEADLINE)
    peer = Peer(context.wrap_socket(sock, server_side=True, suppress_ragged_eofs=False))
    fake.peers.append(peer)
    return peer


def test_a_connection_ends_its_session(fake_tcp, probe, authority):
    link = probe(fake_tcp.where, "tls=yes", f"ca-file={authority.crt}")
    peer = talk_tls(fake_tcp, authority.issue("redis"))
    assert peer.command() == ["INFO"]
    link.close()
    while peer.command() is not None:  # else: an end in violation of the protocol
        pass


def test_a_connection_that_breaks_off_is_lost(fake_tcp, probe, authority):
    """In the middle of an answer, with and without the end of the session before."""
    link = probe(fake_tcp.where, "tls=yes", f"ca-file={authority.crt}")
    certificate = authority.issue("redis")
    for ends_well in (True, False):
        peer = talk_tls(fake_tcp, certificate)
        peer.command()
        peer.send(info()[:100])
        if ends_well:
            peer.socket.unwrap().close()
        peer.close()
        assert link.expect("down", 0).endswith("connection lost: closed by the server")


def test_records_as_they_come(fake_tcp, probe, authority):
    """Answers of which each byte is a record, and a record that is damaged on its way."""
    link = probe(fake_tcp.where, "tls=yes", f"ca-file={authority.crt}")
    certificate = authority.issue("redis")
    commands = talk_tls(fake_tcp, certificate)
    dribble(commands, 5)
    dribble(talk_tls(fake_tcp, certificate), 3)
    link.expect("ready")
    plain = socket.socket(fileno=os.dup(commands.socket.fileno()))
    plain.sendall(b"\x17\x03\x03\x00\x20" + b"x" * 32)
    assert link.expect("down", 0).endswith("connection lost: TLS: a record was damaged on the way")
    plain.close()

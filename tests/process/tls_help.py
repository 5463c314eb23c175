"""For the tests of TLS: Redis servers that take connections by TLS alone. Everything lives below the test's
directory."""

import shutil

import pytest

from certificates import Authority, openssl  # for the tests, too  # noqa: F401
from conftest import BUILD
from fleet_help import RedisServer

needs_tls = pytest.mark.skipif(
    shutil.which("openssl") is None or b"ca-file" not in (BUILD / "berthd").read_bytes() or
    b"SSL_CTX_new" not in (BUILD / "berthd").read_bytes(), reason="needs openssl, and a berthd that has it")


def speaking_tls(words, port, authority, certificate, wants_certificates):
    """A server's command line, so that its port speaks TLS alone."""
    words = list(words)
    words[words.index("--port") + 1] = "0"
    return [*words, "--tls-port", str(port), "--tls-cert-file", str(certificate.crt), "--tls-key-file", str(certificate.key),
            "--tls-ca-cert-file", str(authority.crt), "--tls-auth-clients", "yes" if wants_certificates else "no",
            "--tls-replication", "yes"]


class TlsServer(RedisServer):
    """A redis-server whose port speaks TLS alone; the tests themselves use its Unix socket."""

    def __init__(self, directory, authority, certificate, name="redis", wants_certificates=False, options=(), **more):
        self.authority, self.certificate, self.wants_certificates = authority, certificate, wants_certificates
        super().__init__(directory, name, port=True, options=options, **more)

    @property
    def tcp_url(self):
        return f"rediss://{self.bind}:{self.port}"

    def command_line(self):
        return speaking_tls(super().command_line(), self.port, self.authority, self.certificate, self.wants_certificates)


@pytest.fixture
def authority(directory):
    (directory / "certificates").mkdir()
    return Authority(directory / "certificates")

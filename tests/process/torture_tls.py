"""Random faults upon a fleet whose Redis speaks TLS: records are cut and damaged on their way, and certificates
change at both ends."""

import contextlib
import socket

from fleet_help import Way
from fleet_torture import Torture
from tls_help import Authority, TlsServer


class TlsWay(Way):
    """Between one host and the port of its Redis. What it passes on, it cannot read."""

    def __init__(self, port, chance):
        self.chance = chance
        self.damages = self.breaks = False
        super().__init__(None, port)

    @property
    def url(self):
        return f"rediss://127.0.0.1:{self.listener.getsockname()[1]}"

    def listen(self):
        return socket.create_server(("127.0.0.1", 0), backlog=64)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.to))

    def damage(self):
        """One bit of what passes next."""
        self.damages = True

    def break_in_record(self):
        """Of what passes next, a part arrives, and then the end."""
        self.breaks = True

    def heal(self):
        self.damages = self.breaks = False
        super().heal()

    def meddled_with(self, data, other):
        at = self.chance.randrange(len(data))
        if self.damages:
            self.damages = False
            return data[:at] + bytes([data[at] ^ 1 << self.chance.randrange(8)]) + data[at + 1:]
        if self.breaks:
            self.breaks = False
            with contextlib.suppress(OSError):
                other.send(data[:at])
            return b""
        return data


class TlsTorture(Torture):
    """Each host has a certificate of its own, in a file with its key, and the Redis wants it."""

    OF_HOSTS = {**Torture.OF_HOSTS, "way_fault": 6, "certificate_renewed": 2}
    OF_REDIS = {**Torture.OF_REDIS, "redis_is_not_trusted": 3}

    def make_redis(self):
        certificates = self.directory / "certificates"
        certificates.mkdir()
        self.authority = Authority(certificates)
        self.good = self.authority.issue("redis")
        self.bad = Authority(certificates, "others").issue("stranger")
        self.redis = TlsServer(self.directory, self.authority, self.good, wants_certificates=True, clock=self.clock)
        self.servers = [self.redis]
        self.is_distrusted = False

    def make_way(self, n):
        """And the keys that go with it."""
        self.ways.append(TlsWay(self.redis.port, self.chance))
        self.new_certificate(n)

    def url_of(self, n):
        pem = self.pem_of(n)
        return f"{self.ways[n].url}\nca-file = {self.authority.crt}\ncert-file = {pem}\nkey-file = {pem}"

    # ---- certificates

    def pem_of(self, n):
        return self.directory / f"own{n}.pem"

    def new_certificate(self, n):
        """At once whole: a reload may read it at any time."""
        made = self.authority.issue(f"host{n}", names=f"DNS:host{n}")
        beside = self.directory / "new.pem"
        beside.write_bytes(made.crt.read_bytes() + made.key.read_bytes())
        beside.rename(self.pem_of(n))

    def certificate_renewed(self):
        n = self.chance.randrange(len(self.hosts))
        self.new_certificate(n)
        if self.is_up[n] and self.is_there[n]:
            self.hosts[n].berthctl.start("reload")
        return "certificate renewed"

    def redis_is_not_trusted(self):
        """For a while new connections meet a stranger."""
        if self.is_distrusted:
            return None
        self.is_distrusted = True
        self.redis.certificate = self.bad
        restarts = self.chance.randrange(3) == 0
        if restarts:
            self.redis_restarted()
        else:
            self.show_certificate()
            self.redis_clients_killed()
        self.after(self.chance.choice([0.2, 1, 3, 7]), self.redis_is_trusted)
        return "redis restarted with a stranger's certificate" if restarts else "redis shows a stranger's certificate"

    def redis_is_trusted(self):
        self.redis.certificate = self.good
        self.redis.cont()
        self.is_distrusted = not self.show_certificate()
        if self.is_distrusted:
            self.after(0.2, self.redis_is_trusted)

    def show_certificate(self):
        shown = self.redis.certificate
        return self.redis_do("CONFIG", "SET", "tls-cert-file", str(shown.crt), "tls-key-file", str(shown.key))

    # ---- the way there

    def way_fault(self):
        if self.chance.randrange(2):
            return super().way_fault()
        way = self.chance.choice(self.ways)
        fault = self.chance.choice(["damage", "break_in_record"])
        getattr(way, fault)()
        way.kick()
        return f"way: {fault}"

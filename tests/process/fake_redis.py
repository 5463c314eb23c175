"""A Redis that the test itself plays: it reads commands and writes what the test tells it to."""

import contextlib
import socket
import struct

from lines import DEADLINE

INFO = {
    "redis_version": "7.0.15",
    "redis_mode": "standalone",
    "run_id": "a" * 40,
    "maxmemory": "0",
    "maxmemory_policy": "noeviction",
    "role": "master",
    "connected_slaves": "0",
}


def bulk(text):
    data = text if isinstance(text, bytes) else str(text).encode()
    return b"$%d\r\n%s\r\n" % (len(data), data)


def array(*texts):
    return b"*%d\r\n" % len(texts) + b"".join(map(bulk, texts))


def info(**changes):
    text = "# Server\r\n" + "".join(f"{key}:{value}\r\n" for key, value in {**INFO, **changes}.items())
    return bulk(text)


def answer(words, **changes):
    """What a good server answers to a command that makes a connection ready."""
    if words[0] == "INFO":
        return info(**changes)
    if words[0] == "EVAL":  # what the scripts may do: everything
        return array("", "", "")
    if words[0] == "CONFIG":
        return array()
    if words[0] == "FCALL":
        return bulk(words[1].removesuffix("_about"))
    if words[0] == "SUBSCRIBE":
        return b"*3\r\n" + bulk("subscribe") + bulk(words[1]) + b":1\r\n"
    return b"+OK\r\n"


class Peer:
    """One connection. Every step has a deadline."""

    def __init__(self, sock):
        self.socket = sock
        self.socket.settimeout(DEADLINE)
        self.file = sock.makefile("rb")

    def command(self):
        """The next command as a list of words; None at the end of the connection."""
        try:
            head = self.file.readline()
        except ConnectionResetError:
            head = b""
        if not head:
            return None
        assert head[:1] == b"*", head
        words = []
        for _ in range(int(head[1:])):
            size = self.file.readline()
            assert size[:1] == b"$", size
            words.append(self.file.read(int(size[1:]) + 2)[:-2].decode())
        return words

    def send(self, data):
        self.socket.sendall(data)

    def ready(self, until, **changes):
        """Answers well until it has answered commands with these first words."""
        word, n = until
        seen = []
        while n:
            words = self.command()
            assert words is not None, seen
            seen.append(words)
            self.send(answer(words, **changes))
            n -= words[0] == word
        return seen

    def ended(self):
        while self.command() is not None:
            pass
        return True

    def reset(self):
        """An end that the other side sees as an error (over TCP)."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()


class FakeRedis:
    def __init__(self, path=None, backlog=16):
        """Listens on that Unix socket, or else on a port of the loopback."""
        self.socket = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self.socket.bind(str(path) if path else ("127.0.0.1", 0))
        self.socket.listen(backlog)
        self.socket.settimeout(DEADLINE)
        self.port = None if path else self.socket.getsockname()[1]
        self.where = f"unix={path}" if path else f"host=127.0.0.1:{self.port}"
        self.peers = []

    def accept(self):
        peer = Peer(self.socket.accept()[0])
        self.peers.append(peer)
        return peer

    def commands(self, **changes):
        """The connection for commands, made ready."""
        peer = self.accept()
        peer.seen = peer.ready(("FCALL", 1), **changes)
        return peer

    def messages(self, **changes):
        peer = self.accept()
        peer.seen = peer.ready(("SUBSCRIBE", 2), **changes)
        return peer

    def both(self, **changes):
        return self.commands(**changes), self.messages(**changes)

    def close(self):
        self.socket.close()
        for peer in self.peers:
            with contextlib.suppress(OSError):
                peer.close()

"""A server that says what the test tells it to: for what the real berthd never does, and for
looking at what berth sends, byte by byte.

The test itself plays the server: accept() a connection, read its lines, answer."""

import os
import socket

from lines import DEADLINE, LineSocket


class FakeBerthd:
    def __init__(self, path, backlog=16):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.settimeout(DEADLINE)
        self.listener.bind(str(path))
        self.listener.listen(backlog)
        self.path = path
        self.peers = []

    def accept(self):
        sock, _ = self.listener.accept()
        self.peers.append(LineSocket(sock))
        return self.peers[-1]

    def asked(self):
        """Accepts and reads the first request: the connection and its words."""
        peer = self.accept()
        return peer, peer.line().split(" ")

    def grant(self, answer="ok 1 slot=r,1,0"):
        """Accepts, and grants at once: the connection."""
        peer, _ = self.asked()
        peer.send(answer + "\n")
        return peer

    def queue(self, answer="waiting 1 position=1"):
        peer, _ = self.asked()
        peer.send(answer + "\n")
        return peer

    def gone(self):
        """As when the daemon stops: nobody listens, and all connections end."""
        self.listener.close()
        os.unlink(self.path)
        for peer in self.peers:
            peer.close()

    def close(self):
        self.listener.close()
        for peer in self.peers:
            peer.close()

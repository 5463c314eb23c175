"""A server that says what the test tells it to: for what the real berthd never does, and to look at
what berth sends, byte by byte.

The test itself plays the server: it accepts a connection, reads lines, answers."""

import os
import socket
import time

from lines import DEADLINE, LineSocket


def boottime(seconds):
    """An instant that far from now, as deadlines give it."""
    return int((time.clock_gettime(time.CLOCK_BOOTTIME) + seconds) * 1e9)


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
        """Accepts and reads the first request; returns the connection and the request's words."""
        peer = self.accept()
        return peer, peer.line().split(" ")

    def tells(self, *lines):
        """Accepts, and answers the first request with these lines; returns the connection."""
        peer, _ = self.asked()
        peer.send("".join(line + "\n" for line in lines))
        return peer

    def grant(self, answer="ok 1 slot=r,1,0"):
        return self.tells(answer)

    def queue(self, answer="waiting 1 position=1"):
        return self.tells(answer)

    def asked_again(self, peer):
        """The connection is lost: the next one, and the words of its first request."""
        peer.close()
        return self.asked()

    def pending(self, *events, lease="1"):
        """As for a fleet's resource: the database is asked first."""
        peer, words = self.asked()
        peer.send("".join(line + "\n" for line in (f"pending {lease}", *events)))
        return peer, words

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

"""Connections that speak lines, with a deadline for every step."""

import os
import socket
import struct
import time

# Seconds after which an event counts as missing. Generous: only failures wait.
DEADLINE = float(os.environ.get("BERTH_DEADLINE", 30))


def look_again():
    """Pauses before the next look at something without a descriptor: its owner may want the
    processor."""
    time.sleep(0.001)


def until(is_so, what=None, timeout=DEADLINE):
    """Looks again and again at what nobody reports; returns what it is then. `what`, a text or a
    function that makes it, is said if it never is. The pauses grow: each look may cost both sides much."""
    begun = time.monotonic()
    while not (value := is_so()):
        passed = time.monotonic() - begun
        assert passed < timeout, what() if callable(what) else what
        time.sleep(min(0.001 + passed / 10, 0.03))
    return value


class LineSocket:
    """One end of a connection that speaks lines; every step has a deadline."""

    def __init__(self, sock):
        self.socket = sock
        self.socket.settimeout(DEADLINE)
        self.ends = 0  # how often the end was read
        self.buffer = bytearray()  # bytes taken from its front cost no copy of the rest

    def send(self, text):
        """Sends text or bytes as they are: mind the newline."""
        self.socket.sendall(text if isinstance(text, bytes) else text.encode())

    def line(self, timeout=DEADLINE):
        """The next line without its newline; "" at the end of the connection."""
        end = time.monotonic() + timeout
        while (newline := self.buffer.find(b"\n")) < 0:
            self.socket.settimeout(max(end - time.monotonic(), 0.001))
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                assert not self.buffer, f"half a line before the end: {self.buffer!r}"
                self.ends += 1
                assert self.ends < 100, "read on and on behind the end"
                return ""
            self.buffer += data
        line = self.buffer[:newline].decode()
        del self.buffer[:newline + 1]
        return line

    def request(self, line):
        """Sends one line and returns the next one."""
        self.send(line + "\n")
        return self.line()

    def lines(self, line):
        """The lines of an answer up to "end"; or the one line of an error."""
        self.send(line + "\n")
        return self.rest_of_lines()

    def rest_of_lines(self):
        answer = [self.line()]
        while answer[-1] != "end" and not answer[0].startswith("error"):
            assert answer[-1], "the connection has ended in an answer"
            answer.append(self.line())
        return answer

    def ended(self):
        """Waits for the other end to close; drops what it sent before."""
        while self.line():
            pass
        return True

    def close(self):
        self.socket.close()


class Client(LineSocket):
    """A raw client of the protocol."""

    def __init__(self, path):
        sock = socket.socket(socket.AF_UNIX)
        # Not settimeout(), which would not wait while the queue of connections is full.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(DEADLINE), 0))
        sock.connect(str(path))
        super().__init__(sock)

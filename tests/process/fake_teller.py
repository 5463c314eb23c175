"""A server that answers each request by a table, as often as it is asked, while the test does something else: what
berth-history, or a berthd of a later or an earlier time, would tell."""

import contextlib
import socket
import threading

from lines import LineSocket

KEEP = "keep"  # the connection stays open, and nothing is said


class FakeTeller:
    """`answers`: for the first word of a request, the lines; KEEP; or a function of its words that returns them."""

    def __init__(self, path, answers):
        self.answers = answers
        self.requests = []  # the words of each
        self.sockets = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(64)
        self.path = path
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self.listener.accept()
                self.sockets.append(sock)
                threading.Thread(target=self.converse, args=(sock,), daemon=True).start()

    def converse(self, sock):
        peer = LineSocket(sock)
        with contextlib.suppress(OSError, AssertionError, TimeoutError):
            while line := peer.line(timeout=3600):
                words = line.split(" ")
                self.requests.append(words)
                answer = self.answers.get(words[0], ["error bad-request"])
                lines = answer(words) if callable(answer) else answer
                if lines is None:
                    sock.close()
                    return
                if lines != KEEP:
                    peer.send("".join(line + "\n" for line in lines))

    def asked(self, word="history"):
        """The keys and arguments of each such request."""
        return [words[1:] for words in self.requests if words[0] == word]

    def close(self):
        """As when it ends: nobody listens, and all connections end."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with contextlib.suppress(OSError):
            self.path.unlink()
        for sock in self.sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

"""A real berth-web of a test's own, and HTTP without a library that would repair what is sent."""

import fcntl
import http.client
import json
import os
import socket
import subprocess
import sys
import time

import pytest

from conftest import BUILD
from lines import DEADLINE, until
from manager_help import ABOVE, EXEC
from programs import serving, stop_well

needs_web = pytest.mark.skipif(not (BUILD / "berth-web").exists(), reason="built without berth-web")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        assert self.headers["Content-Type"] == "application/json", (self.status, self.body)
        return json.loads(self.body.decode("ascii"))


class Web:
    """berth-web for the berthd of `directory`; `where` is what it has said that it serves."""

    def __init__(self, directory, text="", listen="127.0.0.1:0", inherited=None, environ=(), before=(),
                 socket_of=None):
        self.directory = directory
        self.config = directory / "berth-web.conf"
        self.log = directory / "berth-web.log"
        self.listen, self.inherited, self.environ = listen, inherited, dict(environ)
        self.before = before  # words of the command line before the program
        self.config.write_text(f"[web]\nsocket = {socket_of or directory / 's'}\n{text}")
        self.process = None

    def command(self):
        return [*self.before, BUILD / "berth-web", "-c", self.config, *(["-l", self.listen] if self.listen else [])]

    def start(self):
        command, environ, fds = self.command(), self.environ, []
        if self.inherited:
            fds = [fcntl.fcntl(self.inherited.fileno(), fcntl.F_DUPFD_CLOEXEC, ABOVE)]
            command = [sys.executable, "-c", EXEC, str(fds[0]), "", *command]
            environ = {**environ, "LISTEN_FDS": "1"}
        self.process, self.where = serving(command, self.log, self.directory, fds, environ)
        for each in fds:
            os.close(each)
        assert self.where, f"berth-web did not start:\n{self.log.read_text()}"
        return self

    def fails(self):
        """Starts one that ends by itself: its status and its log."""
        done = subprocess.run([*self.command(), "--ready-fd", "2"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=DEADLINE, env=dict(os.environ, **self.environ))
        return done.returncode, done.stdout + done.stderr

    @property
    def port(self):
        return int(self.where.rstrip("/").rpartition(":")[2])

    def connection(self):
        if self.where.startswith("/"):
            return UnixConnection(self.where)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)

    def ask(self, path, method="GET", **headers):
        connection = self.connection()
        connection.request(method, path, headers=headers)
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def raw(self, data):
        """All that comes back until the end."""
        with socket.create_connection(("127.0.0.1", self.port), DEADLINE) as sock:
            sock.sendall(data)
            answer = b""
            while data := sock.recv(65536):
                answer += data
        return answer

    def status(self, after=None):
        answer = self.ask("/status.json" + (f"?after={after}" if after else ""))
        assert answer.status == 200, answer.body
        return answer.json

    def history(self, query="from=0"):
        answer = self.ask("/history.json?" + query)
        assert answer.status == 200, answer.body
        return answer.json

    def follow(self, is_there, changes=None):
        """Long polls until is_there(answer): that answer. `changes`: the first of them."""
        changes = changes or self.status()
        end = time.monotonic() + DEADLINE
        while not is_there(changes):
            assert time.monotonic() < end, changes
            changes = self.status(changes["serial"])
        return changes

    def until(self, look, wanted):
        """Looks until it sees this."""
        until(lambda: look() == wanted, lambda: (look(), self.log.read_text()))

    def ready(self):
        """It has all that berthd shows."""
        self.until(lambda: self.ask("/healthz").text, "ok\n")
        return self

    def stop(self):
        if self.process:
            stop_well(self.process, self.log)


def resource_of(answer, name):
    found = [each for each in answer["resources"] if each["name"] == name]
    return found[0] if found else None

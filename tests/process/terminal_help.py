"""For the tests of berth run on a terminal: a shell with job control on one of its own."""

import fcntl
import json
import os
import pathlib
import pty
import socket
import subprocess
import sys
import termios

from conftest import read_line
from lines import LineSocket

SHELL = [sys.executable, "-S", str(pathlib.Path(__file__).parent / "mini_shell.py")]

INTERRUPT, QUIT, SUSPEND = b"\x03", b"\x1c", b"\x1a"


class Shell:
    """The mini shell on its own terminal; `terminal` is what the user sits at."""

    def __init__(self, berth, leads_group=True):
        self.berth = berth
        self.terminal, inside = pty.openpty()
        attributes = termios.tcgetattr(inside)
        attributes[1] &= ~termios.OPOST
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(inside, termios.TCSANOW, attributes)
        ours, theirs = socket.socketpair()
        self.channel = LineSocket(ours)
        self.process = subprocess.Popen(
            [*SHELL, str(theirs.fileno())], stdin=inside, stdout=inside, stderr=inside,
            env=berth.environ, cwd=berth.directory, pass_fds=[theirs.fileno()],
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        theirs.close()
        os.close(inside)

    def do(self, *request):
        return json.loads(self.channel.request(json.dumps(request)))

    def start(self, *args, how="start"):
        """berth run; returns its pid."""
        return self.do(how, self.berth.path, *args)

    def press(self, keys):
        os.write(self.terminal, keys)

    def line(self):
        return read_line(self.terminal)

    def end(self):
        self.channel.close()
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)

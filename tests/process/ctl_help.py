"""For the tests of berthctl: against a server that the test plays, and on a terminal."""

import fcntl
import os
import pty
import struct
import termios

from lines import DEADLINE


def served(berthctl, fake, *args, answer, **options):
    """Runs it against the fake, which gives that answer and closes: the request, the exit status,
    stdout and stderr."""
    process = berthctl.start(*args, text=True, **options)
    peer = fake.accept()
    line = peer.line()
    peer.send(answer)
    peer.close()
    out, err = process.communicate(timeout=DEADLINE)
    return line, process.returncode, out, err


def on_terminal(berthctl, *args, columns, env=None, fake=None, answer=None):
    """Its output on a terminal of so many columns, as lines. With `fake`, that gives the answer."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = berthctl.start(*args, stdout=its, env=env)
    os.close(its)
    if fake:
        peer = fake.accept()
        peer.line()
        peer.send(answer)
    output = b""
    try:
        while chunk := os.read(ours, 65536):
            output += chunk
    except OSError:  # EIO: the other end is closed
        pass
    os.close(ours)
    assert process.wait(DEADLINE) == 0
    return output.decode().replace("\r", "").splitlines()

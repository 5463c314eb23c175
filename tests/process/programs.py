"""Programs that tests start: until they serve, what they print, and their end."""

import os
import select
import signal
import subprocess
import time

from lines import DEADLINE


def serving(command, log, state, pass_fds=(), environ=()):
    """Starts a berthd or berth-web, and waits until it serves: the process, and what it says then. "" if it
    does not; then it is over. `state` is its directory."""
    ready, theirs = os.pipe()
    with open(log, "ab") as output:
        process = subprocess.Popen(
            [*command, "--ready-fd", str(theirs)], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            pass_fds=[theirs, *pass_fds], env={**os.environ, **dict(environ), "STATE_DIRECTORY": str(state)})
    os.close(theirs)
    readable, _, _ = select.select([ready], [], [], DEADLINE)
    said = os.read(ready, 4096).decode().strip() if readable else ""
    os.close(ready)
    if not said:
        process.kill()
        process.wait()
    return process, said


def stop_well(process, log):
    """As an operator does. It must end well, unless somebody has seen it end before."""
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        assert process.returncode == 0, log.read_text()


def end_all(processes):
    """At once, and their pipes."""
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()


def read_line(stream, timeout=DEADLINE):
    """One line from an unbuffered stream or a descriptor, "" at its end."""
    fd = stream if isinstance(stream, int) else stream.fileno()
    end = time.monotonic() + timeout
    line = b""
    while not line.endswith(b"\n"):
        readable, _, _ = select.select([fd], [], [], max(end - time.monotonic(), 0))
        assert readable, f"nothing came; so far: {line!r}"
        byte = os.read(fd, 1)
        if not byte:
            break
        line += byte
    return line.decode().rstrip("\n")

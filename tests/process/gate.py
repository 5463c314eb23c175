"""Gates: a program that a shim (names_shim.c, disk_shim.c) has been loaded into waits at one for as long
as a test likes."""

import contextlib
import os
import time

from conftest import BUILD
from daemon_help import SANITIZED
from lines import DEADLINE, look_again


class Gate:
    """While it is shut, who comes waits there."""

    def __init__(self, path):
        self.path = path

    def shut(self):
        os.mkfifo(self.path)

    def wait_for_somebody(self):
        """At the gate: the descriptor that keeps him there."""
        end = time.monotonic() + DEADLINE
        while True:
            with contextlib.suppress(OSError):  # nobody reads yet
                return os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            assert time.monotonic() < end
            look_again()

    def open(self, after=0):
        """For whoever waits there, and all others; the first has waited for so many seconds then."""
        first = self.wait_for_somebody()
        time.sleep(after)
        self.path.unlink()
        os.close(first)


def with_shim(name, **variables):
    """The words of a command line that start a program with it."""
    words = ["env", f"LD_PRELOAD={BUILD / 'tests/process' / name}"]
    words += [f"{variable}={value}" for variable, value in variables.items()]
    if SANITIZED:
        words.append(f"ASAN_OPTIONS={os.environ['ASAN_OPTIONS']}:verify_asan_link_order=0")
    return words

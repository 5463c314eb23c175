"""Gates: a program loaded with a shim (names_shim.c, disk_shim.c) waits at a gate for as long as a
test likes."""

import contextlib
import os
import time

from conftest import BUILD
from lines import DEADLINE, look_again


class Gate:
    """While the gate is shut, a program that comes to it waits."""

    def __init__(self, path):
        self.path = path

    def shut(self):
        os.mkfifo(self.path)

    def wait_for_somebody(self):
        """Waits for one to come; returns the descriptor that keeps it there."""
        end = time.monotonic() + DEADLINE
        while True:
            with contextlib.suppress(OSError):  # nobody reads yet
                return os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            assert time.monotonic() < end
            look_again()

    def open(self, after=0):
        """Opens for the one that waits there, and all others; the first has then waited for so many
        seconds."""
        first = self.wait_for_somebody()
        time.sleep(after)
        self.path.unlink()
        os.close(first)


def with_shim(name, **variables):
    """The words that start a program with the shim."""
    words = ["env", f"LD_PRELOAD={BUILD / 'tests/process' / name}"]
    words += [f"{variable}={value}" for variable, value in variables.items()]
    return words

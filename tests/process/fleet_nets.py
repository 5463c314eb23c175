"""Hosts with their own networks: each has a network namespace, joined by a cable to the one where
Redis is. Cables can be cut, one way or both. Needs the right to make namespaces."""

import contextlib
import shutil
import subprocess

import pytest

from lost_help import call, libc, sleeper, works

CLONE_NEWNET = 0x40000000


def own_net():
    call(libc.unshare, CLONE_NEWNET)


def can_make_cables():
    if shutil.which("ip") is None or shutil.which("nsenter") is None:
        return False

    def probe():
        own_net()
        subprocess.run(["ip", "link", "add", "cable0", "type", "veth", "peer", "name", "cable1"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    return works(probe)


needs_nets = pytest.mark.skipif(
    not can_make_cables(), reason="may not make network namespaces and cables (veth) in them")


class Nets:
    """A namespace in the middle, .server is its address; hosts 0 ... n - 1 around it. A context."""

    server = "10.77.0.1"

    def __init__(self, n):
        self.stack = contextlib.ExitStack()
        self.n = n

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.middle = stack.enter_context(sleeper(own_net))
            self.hosts = [stack.enter_context(sleeper(own_net)) for _ in range(self.n)]
            self.ip(self.middle, "link set lo up")
            self.ip(self.middle, f"addr add {self.server}/32 dev lo")
            for number, pid in enumerate(self.hosts):
                self.join(number, pid)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def ip(self, pid, words):
        subprocess.run([*self.inside(pid), "ip", *words.split()], check=True)

    def inside(self, pid):
        """The words that start a command there."""
        return ["nsenter", "-t", str(pid), "-n", "--"]

    def join(self, number, pid):
        here, there = f"10.77.{number + 1}.1", f"10.77.{number + 1}.2"
        self.ip(self.middle, f"link add cable{number} type veth peer name cable netns {pid}")
        self.ip(self.middle, f"addr add {here}/24 dev cable{number}")
        self.ip(self.middle, f"link set cable{number} up")
        self.ip(pid, "link set lo up")
        self.ip(pid, f"addr add {there}/24 dev cable")
        self.ip(pid, "link set cable up")
        self.ip(pid, f"route add {self.server}/32 via {here}")

    # ---- faults

    def pull(self, number):
        """Pulls the cable at the far end: both directions are silent."""
        self.ip(self.middle, f"link set cable{number} down")

    def plug(self, number):
        self.ip(self.middle, f"link set cable{number} up")

    def swallow_replies(self, number):
        """What the host sends arrives; what it is answered does not."""
        self.ip(self.middle, f"route add blackhole 10.77.{number + 1}.2/32")

    def spit(self, number):
        self.ip(self.middle, f"route del blackhole 10.77.{number + 1}.2/32")

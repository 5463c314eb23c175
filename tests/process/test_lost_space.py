"""No space where berthd writes: the clients concerned are told, nothing is granted that would be
forgotten, and what is held stays held. On private file systems of a few hundred KiB."""

import contextlib
import os

import pytest

from conftest import Berthd
from daemon_help import held, is_quiet, refused, status, waits
from lost_help import MS_RDONLY, after_restart, asked_until, mount, needs_mounts, restart, with_own_mounts

pytestmark = needs_mounts


class Full:
    """A directory whose file system can be filled up, and emptied again."""

    def __init__(self, path, size):
        self.path = path
        path.mkdir(exist_ok=True)
        mount("tmpfs", path, "tmpfs", options=f"size={size}")

    def fill(self):
        with open(self.path / "filler", "ab", buffering=0) as file:
            for size in (4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def empty(self):
        (self.path / "filler").unlink()


CONFIGURATION = """grace = 2s
max-leases-per-user = 100000
max-waiters-per-user = 100000
[semaphore s]
limit = 10000
[lock l]
"""

# A lease that takes much room.
LARGE = f"acquire s reason={'r' * 256} pid={os.getpid()} holder="


def in_small_directories(directory, work):
    """work(daemon, the runtime directory, the state directory), both small."""
    def child():
        runtime, state = Full(directory / "run", "300k"), Full(directory / "state", "300k")
        os.environ["RUNTIME_DIRECTORY"] = str(runtime.path)
        daemon = Berthd(directory, CONFIGURATION)
        work(daemon, runtime, state)
        daemon.stop()
    with_own_mounts(child)


def fill_up(client):
    """Asks until there is no space; returns the granted leases."""
    leases = []
    while True:
        answer = client.request(f"{LARGE}{len(leases):0128}")
        if not answer.startswith("ok "):
            assert answer.startswith("error no-space "), answer
            return leases
        leases.append(answer.split(" ")[1])
        assert len(leases) < 5000


def test_the_runtime_directory_is_full(directory):
    def work(daemon, runtime, _):
        client, other = daemon.client(), daemon.client()
        first = held(other, f"acquire l pid={os.getpid()}")
        waiting = client.request("acquire l").split(" ")[1]
        leases = [held(other, f"{LARGE}first")]
        runtime.fill()
        leases += fill_up(client)
        assert len(leases) > 1
        assert refused(other, f"{LARGE}other") == "no-space"
        now = status(other)
        assert sorted(now.holders("s")) == sorted(leases) and now.holders("l") == [first]
        assert is_quiet(client) and is_quiet(other)
        client = after_restart(daemon, "kill")
        now = status(client)
        assert sorted(now.holders("s")) == sorted(leases)
        assert (now.holders("l"), now.waiters("l")) == ([first], [waiting])
        # A lease that is over leaves its place in the journal to another.
        assert client.request(f"release {leases[0]}") == "ok"
        held(client, f"{LARGE}second")
        assert refused(client, f"{LARGE}third") == "no-space"
        runtime.empty()
        held(client, f"{LARGE}third")
    in_small_directories(directory, work)


def test_full_at_the_start(directory):
    """There is no journal yet, and none can be made: berthd serves, and grants nothing until it
    can."""
    def work(daemon, runtime, _):
        daemon.stop()
        for path in runtime.path.iterdir():
            path.unlink()
        runtime.fill()
        daemon.start()
        client = daemon.client()
        assert refused(client, "acquire l wait=0") in ("no-space", "grace")
        assert is_quiet(client)
        runtime.empty()
        asked_until(daemon, lambda now: now.grace is None)
        assert client.request("acquire l").startswith("ok ")
    in_small_directories(directory, work)


def test_holders_are_written_down_when_there_is_space_again(directory):
    """The journal is damaged, and at the start there is no space for another."""
    def work(daemon, runtime, _):
        lease = held(daemon.client(), f"acquire l pid={os.getpid()}")
        held(daemon.client(), "acquire s holder=damaged")
        daemon.kill()
        path = runtime.path / daemon.journal.name
        path.write_bytes(path.read_bytes().replace(b"damaged", b"DAMAGED"))
        runtime.fill()
        daemon.start()
        assert status(daemon.client()).holders("l") == [lease]
        assert refused(daemon.client(), "acquire s wait=0") in ("no-space", "grace")
        runtime.empty()
        client = daemon.client()
        waiting = waits(client, "acquire s")  # for the end of the grace, which begins with the journal
        assert client.line().startswith(f"* granted {waiting} ")
        restart(daemon, "kill")
        assert status(daemon.client()).holders("l") == [lease]
    in_small_directories(directory, work)


def test_the_state_directory_is_full(directory):
    """Leases need nothing there; operators' changes are refused, and not made."""
    def work(daemon, _, state):
        client = daemon.client()
        assert client.request("limit s 9") == "ok"
        state.fill()
        lease = held(client, f"acquire l pid={os.getpid()}")
        for request in ("limit s 5", "pause l reason=" + "x" * 200, "reserve s 1", "drain"):
            assert refused(client, request) == "no-space"
        now = status(client)
        assert now.resources["s"]["limit"] == "9" and "paused" not in now.resources["l"]
        assert not now.draining and "reserved" not in now.resources["s"]
        client = after_restart(daemon, "kill")
        now = status(client)
        assert now.resources["s"]["limit"] == "9" and now.holders("l") == [lease]
        state.empty()
        assert client.request("limit s 5") == "ok"
        restart(daemon, "kill")
        assert status(daemon.client()).resources["s"]["limit"] == "5"
    in_small_directories(directory, work)


@pytest.mark.parametrize("what", ["full", "read-only"])
def test_no_state_at_the_start(directory, what):
    """Leases are granted, with numbers from the clock; operators' changes are refused."""
    def work(daemon, _, state):
        before = status(daemon.client())
        daemon.stop()
        for path in state.path.iterdir():
            path.unlink()
        if what == "full":
            state.fill()
        else:
            mount("tmpfs", state.path, "tmpfs", flags=MS_RDONLY)
        daemon.start()
        client = daemon.client()
        held(client, "acquire l wait=0")
        assert refused(client, "limit s 5") == refused(client, "drain") == "no-space"
        now = status(client)
        assert now.resources["s"] == before.resources["s"] and not now.draining
        if what == "full":
            state.empty()
            assert client.request("limit s 5") == "ok"
    in_small_directories(directory, work)

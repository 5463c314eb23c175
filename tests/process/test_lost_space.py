"""No space where berthd writes: whoever is concerned is told, nothing is granted that would be
forgotten, and what is held stays held. On file systems of a few hundred KiB of our own."""

import contextlib
import os

import pytest

from conftest import Berthd
from daemon_help import held, is_quiet, refused, status
from lost_help import all_free, asked_until, mount, needs_mounts, with_own_mounts

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


CONFIGURATION = """max-leases-per-user = 100000
max-waiters-per-user = 100000
[semaphore s]
limit = 10000
max-waiters = 100000
[lock l]
"""


def in_small_directories(directory, work):
    """work(daemon, the runtime directory, the state directory), which are small."""
    def child():
        runtime, state = Full(directory / "run", "300k"), Full(directory / "state", "300k")
        os.environ["RUNTIME_DIRECTORY"] = str(runtime.path)
        daemon = Berthd(directory, CONFIGURATION)
        work(daemon, runtime, state)
        daemon.stop()
    with_own_mounts(child)


def fill_up(client):
    """Asks until there is no space: the leases that were granted. (Long identities: few fit.)"""
    leases = []
    while True:
        answer = client.request(
            f"acquire s holder={len(leases):0128} reason={'r' * 256} pid={os.getpid()}")
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
        runtime.fill()
        leases = fill_up(client)
        assert refused(other, f"acquire s holder={'x' * 128} reason={'r' * 256}") == "no-space"
        now = status(other)
        assert sorted(now.holders("s")) == sorted(leases) and now.holders("l") == [first]
        assert is_quiet(client) and is_quiet(other)
        daemon.kill()
        daemon.start()
        client = daemon.client()
        now = status(client)
        assert sorted(now.holders("s")) == sorted(leases)
        assert (now.holders("l"), now.waiters("l")) == ([first], [waiting])
        # One that is over leaves its place in the journal to another.
        assert client.request(f"release {leases[0]}") == "ok"
        held(client, f"acquire s holder={'y' * 128} reason={'r' * 256} pid={os.getpid()}")
        assert refused(client, f"acquire s holder={'z' * 128} reason={'r' * 256}") == "no-space"
        runtime.empty()
        held(client, f"acquire s holder={'z' * 128} reason={'r' * 256} pid={os.getpid()}")
    in_small_directories(directory, work)


def test_full_at_the_start(directory):
    """There is no journal yet, and none can be made: it serves, and grants nothing until it can."""
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
        asked_until(daemon, lambda now: not now.grace)
        assert client.request("acquire l").startswith("ok ")
    in_small_directories(directory, work)


def test_the_state_directory_is_full(directory):
    """Leases need nothing there; what operators change is refused, and was not made."""
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
        daemon.kill()
        daemon.start()
        client = daemon.client()
        now = status(client)
        assert now.resources["s"]["limit"] == "9" and now.holders("l") == [lease]
        state.empty()
        assert client.request("limit s 5") == "ok"
        daemon.kill()
        daemon.start()
        assert status(daemon.client()).resources["s"]["limit"] == "5"
    in_small_directories(directory, work)


def test_the_state_directory_is_full_at_the_start(directory):
    """No numbers can be reserved, so nothing is granted until they can."""
    def work(daemon, _, state):
        daemon.stop()
        for path in state.path.iterdir():
            path.unlink()
        state.fill()
        daemon.start()
        client = daemon.client()
        assert refused(client, "acquire l wait=0") == "no-space"
        assert is_quiet(client)
        state.empty()
        held(client, "acquire l")
    in_small_directories(directory, work)


@pytest.mark.parametrize("which", ["run", "state"])
def test_read_only(directory, which):
    """Not even a directory to write to: as when it is full."""
    def work(daemon, runtime, state):
        daemon.stop()
        path = {"run": runtime, "state": state}[which].path
        for file in path.iterdir():
            file.unlink()
        mount("tmpfs", path, "tmpfs", flags=1)  # MS_RDONLY
        daemon.start()
        client = daemon.client()
        assert refused(client, "acquire l wait=0") in ("no-space", "grace")
        assert is_quiet(client)
    in_small_directories(directory, work)

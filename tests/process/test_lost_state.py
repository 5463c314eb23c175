"""The file in the state directory cannot be read, or is damaged."""

import contextlib
import signal
import time

import pytest

from daemon_help import held, refused, status
from lines import DEADLINE, look_again
from lost_help import asked_until

CONFIGURATION = """[semaphore s]
limit = 4
[lock l]
"""


def state_file(daemon):
    path, = daemon.state.glob("*.state")
    return path


@contextlib.contextmanager
def unreadable(daemon):
    """Also for root: a directory is in its place."""
    path = state_file(daemon)
    aside = path.with_name("aside")
    path.rename(aside)
    path.mkdir()
    yield path
    assert set(daemon.state.iterdir()) == {path, aside}, "something was written"
    path.rmdir()
    aside.rename(path)


def begins_again(daemon):
    """The first `status` afterwards; it may be asked for in the middle."""
    end = time.monotonic() + DEADLINE
    while True:
        with contextlib.suppress(OSError, AssertionError, IndexError):
            now = status(daemon.client())
            if not now.closed:
                return now
        assert time.monotonic() < end
        look_again()


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_nothing_is_granted_until_it_can_be_read(berthd, berth, how):
    daemon = berthd(CONFIGURATION)
    client = daemon.client()
    assert client.request("pause l reason=migration") == "ok"
    job = berth.start("run", "s", "--", "sleep", "1000")
    asked_until(daemon, lambda now: now.held == 1)
    getattr(daemon, how)()
    with unreadable(daemon):
        daemon.start()
        now = asked_until(daemon, lambda now: not now.resources["s"]["holders"][0].get("away"))
        assert now.closed.endswith("Invalid%20argument")
        waiter = berth.start("run", "s", "--", "true")
        asked_until(daemon, lambda now: now.waiting == 1)
        client = daemon.client()
        for request in ("limit s 7", "pause s", "drain"):
            assert refused(client, request) == "no-space"
        assert refused(client, "acquire s wait=0") == "grace"
        assert status(client).resources["s"]["limit"] == "4"
    now = begins_again(daemon)
    assert now.resources["l"]["reason"] == "migration" and now.held >= 1
    assert waiter.wait(DEADLINE) == 0
    assert daemon.client().request("limit s 7") == "ok"
    assert job.poll() is None
    job.send_signal(signal.SIGTERM)
    assert job.wait(DEADLINE) == -signal.SIGTERM


def test_a_job_proves_its_lease_once_the_secret_is_known(berthd, berth):
    """The journal is lost as well."""
    daemon = berthd("grace = 5s\n" + CONFIGURATION)
    job = berth.start("run", "l", "--", "sleep", "1000")
    asked_until(daemon, lambda now: now.held == 1)
    daemon.kill()
    daemon.journal.unlink()
    with unreadable(daemon):
        daemon.start()
        waiter = berth.start("run", "l", "--", "true")
        now = asked_until(daemon, lambda now: now.waiting == 1)
        assert now.held == 0 and job.poll() is None
    begins_again(daemon)
    asked_until(daemon, lambda now: now.held == 1)
    assert job.poll() is None and waiter.poll() is None
    job.send_signal(signal.SIGTERM)
    assert job.wait(DEADLINE) == -signal.SIGTERM
    assert waiter.wait(DEADLINE) == 0


def test_it_is_read_when_it_is_missing_after_all(berthd):
    daemon = berthd(CONFIGURATION)
    daemon.stop()
    path = state_file(daemon)
    path.unlink()
    path.mkdir()
    daemon.start()
    assert status(daemon.client()).closed
    path.rmdir()
    begins_again(daemon)
    held(daemon.client(), "acquire s")


def test_a_damaged_file_is_kept(berthd):
    daemon = berthd(CONFIGURATION)
    assert daemon.client().request("limit s 7") == "ok"
    daemon.stop()
    path = state_file(daemon)
    damaged = path.read_bytes().replace(b"limit s 7", b"limit s 8")
    path.write_bytes(damaged)
    daemon.start()
    assert status(daemon.client()).resources["s"]["limit"] == "4"
    assert path.with_name(path.name + ".damaged").read_bytes() == damaged

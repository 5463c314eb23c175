"""The file in the state directory cannot be read, or is damaged."""

import contextlib
import errno
import re
import signal
import time

import pytest

from daemon_help import event, held, refused, status
from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import client_of, fleet, queues
from gate import with_shim
from lines import DEADLINE, look_again
from lost_help import asked_until

CONFIG = """grace = 2s
[semaphore s]
limit = 4
[lock l]
"""


def state_file(daemon):
    path, = daemon.state.glob("*.state")
    return path


@contextlib.contextmanager
def refused_to_open(daemon):
    """As if berthd had no right to read it; root always has."""
    gate = daemon.disk / "open"
    gate.write_text(str(errno.EACCES))
    before = set(daemon.state.iterdir())
    yield
    assert set(daemon.state.iterdir()) == before, "something was written"
    gate.unlink()


@contextlib.contextmanager
def unreadable(daemon):
    """Also for root: a directory is in its place."""
    path = state_file(daemon)
    aside = path.with_name("aside")
    path.rename(aside)
    path.mkdir()
    before = set(daemon.state.iterdir())
    yield path
    assert set(daemon.state.iterdir()) == before, "something was written"
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


@pytest.mark.parametrize("how, hidden, why", [
    ("stop", unreadable, "Invalid%20argument"), ("kill", refused_to_open, "Permission%20denied")],
    ids=["stop", "kill"])
def test_nothing_is_granted_until_it_can_be_read(berthd, berth, directory, how, hidden, why):
    disk = directory / "disk"
    disk.mkdir()
    daemon = berthd(CONFIG, before=with_shim("disk_shim.so", BERTH_DISK=disk))
    daemon.disk = disk
    client = daemon.client()
    assert client.request("pause l reason=migration") == "ok"
    job = berth.start("run", "s", "--", "sleep", "1000")
    asked_until(daemon, lambda now: now.held == 1)
    getattr(daemon, how)()
    with hidden(daemon):
        daemon.start()
        now = asked_until(daemon, lambda now: not now.resources["s"]["holders"][0].get("away"))
        assert now.closed.endswith(why)
        waiter = berth.start("run", "s", "--", "true")
        asked_until(daemon, lambda now: now.waiting == 1)
        client = daemon.client()
        for request in ("limit s 7", "pause s", "drain"):
            assert refused(client, request) == "no-space"
        assert refused(client, "acquire s wait=0") == "grace"
        assert status(client).resources["s"]["limit"] == "4"
    now = begins_again(daemon)
    assert now.resources["l"]["pause_reason"] == "migration" and now.held >= 1
    assert waiter.wait(DEADLINE) == 0
    assert daemon.client().request("limit s 7") == "ok"
    assert job.poll() is None
    job.send_signal(signal.SIGTERM)
    assert job.wait(DEADLINE) == -signal.SIGTERM


def test_a_job_proves_its_lease_once_the_secret_is_known(daemon, berth):
    """The journal is lost as well."""
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


def test_it_is_read_when_it_is_missing_after_all(daemon):
    daemon.stop()
    path = state_file(daemon)
    path.unlink()
    path.mkdir()
    daemon.start()
    assert status(daemon.client()).closed
    path.rmdir()
    begins_again(daemon)
    held(daemon.client(), "acquire s")


def test_a_damaged_file_is_kept(daemon):
    """And earlier ones as well."""
    path = state_file(daemon)
    kept = []
    for number in (1, 2):
        assert daemon.client().request("limit s 7") == "ok"
        daemon.stop()
        kept.append(path.read_bytes().replace(b"limit s 7", b"limit s %d" % (7 + number)))
        path.write_bytes(kept[-1])
        daemon.start()
        assert status(daemon.client()).resources["s"]["limit"] == "4"
        assert f"kept as {path}.damaged-{number}\n" in daemon.log.read_text()
        copies = [path.with_name(f"{path.name}.damaged-{i + 1}") for i in range(number)]
        assert [copy.read_bytes() for copy in copies] == kept


def test_a_damaged_file_that_cannot_be_kept(daemon):
    daemon.stop()
    path = state_file(daemon)
    path.write_bytes(path.read_bytes()[:-1])
    for number in range(1, 10):
        path.with_name(f"{path.name}.damaged-{number}").write_text("earlier")
    daemon.start()
    assert "runtime changes are lost; it is not kept: File exists\n" in daemon.log.read_text()
    assert path.with_name(f"{path.name}.damaged-9").read_text() == "earlier"


@needs_redis
def test_a_fleet_goes_on_meanwhile(redis_server, hosts):
    """What ends is given back at once, though this host grants nothing."""
    one, two = fleet(redis_server, hosts, text="[lock etl]\nscope = fleet\n")
    job = one.berth.start("run", "etl", "--", "sleep", "1000")
    asked_until(one, lambda now: now.held == 1)
    client = client_of(two)
    queues(client, "acquire etl")
    one.kill()
    with unreadable(one):
        one.start()
        asked_until(one, lambda now: not now.resources["etl"]["holders"][0].get("away"))
        job.send_signal(signal.SIGTERM)
        assert job.wait(DEADLINE) == -signal.SIGTERM
        while event(client)[0] != "granted":
            pass
        assert status(one.client()).closed
    begins_again(one)


def test_it_begins_again_with_the_configuration_in_force(daemon):
    daemon.stop()
    with unreadable(daemon):
        daemon.start()
        daemon.configure("[lock l]\nlimit = banana\n")
    assert begins_again(daemon).resources["s"]["limit"] == "4"
    assert refused(daemon.client(), "reload") == "config"


def test_numbers_that_began_at_the_clock_do_not_count(daemon):
    """The state file has higher ones, and the journal is of a run that could not read it."""
    daemon.stop()
    path = state_file(daemon)
    path.write_text(re.sub(r"^numbers \d+$", f"numbers {2**51}", path.read_text(), flags=re.M))
    daemon.start()
    assert int(held_token(daemon)) >= 2**51
    daemon.kill()
    daemon.journal.unlink()
    with unreadable(daemon):
        daemon.start()
        client = daemon.client()
        assert client.request("acquire s").startswith("waiting ")
    begins_again(daemon)
    asked_until(daemon, lambda now: now.grace is None)
    assert int(held_token(daemon)) > 2**51


def held_token(daemon):
    """Of a new grant."""
    return re.search(r" slot=s,(\d+),", daemon.client().request("acquire s")).group(1)

"""What berth-history does when its files, or its directory, are touched or cannot be used for a while."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

from keeper_help import ended, keeper, needs_history  # a fixture among them
from lines import DEADLINE, until

pytestmark = needs_history

CONFIG = f"history-user = {os.geteuid()}\nhistory = 64K\n[semaphore s]\nlimit = 4\n[lock t/*]\n"
DAY = 86400


def test_it_needs_no_shared_memory(keeper, daemon, client):
    """Who cuts that would end it."""
    kept = keeper()
    leases = [ended(client)]
    assert kept.past().leases == leases
    kept.stop()
    kept.start()
    leases.append(ended(client))
    assert kept.past().leases == leases
    assert not list(kept.days.glob("*-shm"))


def test_an_old_day_that_cannot_be_read_is_said_once(keeper, daemon, client):
    kept = keeper()
    leases = [ended(client)]
    assert kept.past().leases == leases
    kept.stop()
    yesterday = kept.days / time.strftime("%Y-%m-%d.db", time.gmtime(time.time() - DAY))
    yesterday.mkdir()
    kept.start()
    for _ in range(5):
        leases.append(ended(client))
        past = kept.past()
        assert past.leases == leases and past.why == ["damaged"]
    log = kept.log.read_text()
    assert log.count("cannot be read") == 1 and "waits in the ring" not in log


def test_a_directory_that_somebody_removes(keeper, daemon, client):
    kept = keeper()
    leases = [ended(client)]
    assert kept.past().leases == leases
    shutil.rmtree(kept.days)
    last = ended(client)
    until(lambda: kept.past().leases == [last])
    assert kept.days.stat().st_mode & 0o777 == 0o700


def test_a_day_that_cannot_be_opened_at_the_start(keeper, daemon, client):
    """Until it can, nothing says up to where the ring has been read."""
    kept = keeper()
    leases = [ended(client) for _ in range(3)]
    assert kept.past().leases == leases
    kept.stop()
    day = kept.days / kept.files()[-1]
    away = day.with_suffix(".away")
    day.rename(away)
    day.mkdir()
    kept.start()
    until(lambda: "waits in the ring" in kept.log.read_text())
    assert kept.past().leases == []
    day.rmdir()
    away.rename(day)
    leases.append(ended(client))
    until(lambda: kept.past().leases[-1:] == leases[-1:])
    past = kept.past()
    assert past.leases == leases and past.gaps == []


def test_a_day_that_somebody_removes_is_a_gap(keeper, daemon, client):
    kept = keeper()
    ended(client)
    assert kept.past().gaps == []
    kept.stop()
    today = kept.days / kept.files()[-1]
    yesterday = time.strftime("%Y-%m-%d.db", time.gmtime(time.time() - DAY))
    shutil.copy(today, kept.days / yesterday)
    kept.start()
    second = ended(client)
    until(lambda: second in kept.past().leases)
    today.unlink()
    third = ended(client)
    past = until(lambda: (found := kept.past()).leases[-1:] == [third] and found)
    gap, = past.gaps
    assert gap["why"] == "removed" and second not in past.leases


def test_a_time_without_a_ring_is_a_gap(keeper, daemon, client):
    kept = keeper()
    first = ended(client)
    assert kept.past().leases == [first]
    daemon.stop()
    daemon.configure(CONFIG.replace("64K", "0"))
    daemon.start()
    ended(daemon.client())
    until(lambda: "there is no history that others can read" in kept.log.read_text())
    daemon.stop()
    daemon.configure(CONFIG)
    daemon.start()
    last = ended(daemon.client())
    past = until(lambda: (found := kept.past()).leases == [first, last] and found)
    assert past.why == ["no-history"]


# ---- a disk that hangs

class Disk:
    """A file system of its own, which can be frozen: who writes there waits, and cannot be killed meanwhile."""

    def __init__(self, place):
        self.place = place

    def freeze(self):
        subprocess.run(["fsfreeze", "--freeze", self.place], check=True)

    def thaw(self):
        subprocess.run(["fsfreeze", "--unfreeze", self.place], check=True)


THAWS = """cat
fsfreeze --unfreeze "$0" 2>/dev/null
exec umount --lazy "$0"
"""


@contextlib.contextmanager
def own_disk(place, image):
    """Whatever becomes of this process, it is thawed and gone in the end."""
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    for command in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, place]):
        try:
            subprocess.run(command, check=True, capture_output=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no file system of its own: {error}")
    guard = subprocess.Popen(["sh", "-c", THAWS, place], stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield Disk(place)
    finally:
        guard.stdin.close()
        assert guard.wait(DEADLINE) == 0


def hangs(kept):
    """Whether it is in a call of the kernel that no signal ends."""
    stat = pathlib.Path(f"/proc/{kept.process.pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "D"


def test_a_disk_that_hangs(keeper, daemon, client, berthctl, directory):
    """It stops berth-history alone: what the ring keeps meanwhile is written later, also after SIGKILL; the rest is a
    gap."""
    def seconds_of(n):
        begun = time.monotonic()
        leases.extend(ended(client) for _ in range(n))
        return time.monotonic() - begun

    kept = keeper()
    kept.stop()
    with own_disk(kept.days, directory / "image") as disk:
        kept.start()
        leases = []
        before = seconds_of(100)
        assert kept.past().leases == leases
        disk.freeze()
        assert seconds_of(1) < 0.5
        until(lambda: hangs(kept))
        assert seconds_of(100) < 5 * before + 0.5
        for kills in False, True:
            if kills:
                kept.process.kill()
            begun = time.monotonic()
            done = berthctl("history", "--json")
            assert 2 <= time.monotonic() - begun < 10
            assert done.stderr.startswith("berthctl: berth-history does not answer (it takes too long): "
                                          "this is from berthd's memory, complete from ")
            assert done.returncode == 0 and [one["lease"] for one in json.loads(done.stdout)["leases"]] == leases
            assert kept.process.poll() is None and hangs(kept)
        disk.thaw()
        kept.process.wait(DEADLINE)
        kept.start()
        past = kept.past()
        assert past.leases == leases and past.gaps == []
        disk.freeze()
        seconds_of(1)
        until(lambda: hangs(kept))
        seconds_of(600)
        disk.thaw()
        past = until(lambda: (found := kept.past()).leases[-1:] == leases[-1:] and found)
        assert past.why == ["overwritten"] and int(past.gaps[0]["n"]) == len(leases) - len(past.leases) > 0
        assert past.leases == [lease for lease in leases if lease in past.leases]
        kept.stop()

"""What berth-history does when its files, or its directory, are touched or cannot be used for a while."""

import os
import shutil
import time

from keeper_help import ended, keeper, needs_history  # a fixture among them
from lines import until

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

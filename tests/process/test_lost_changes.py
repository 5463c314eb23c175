"""What operators have changed, and the numbers that only grow: over restarts, reboots, and the loss
of whatever berthd has written down."""

import itertools
import os
import re
import shutil
import time

import pytest

from conftest import Berthd
from daemon_help import held, refused, status
from lost_help import BOOTS, after_restart, asked_until, needs_mounts, reboot, restart, set_boot_id, with_own_mounts

CONFIG = """grace = 0.05s
[semaphore s]
limit = 4
[semaphore t]
limit = 2
[pool p]
items = x y z
[lock l]
"""

CHANGES = [
    "limit s 7", "limit t 0", "pause l reason=broken%20disk", "remove p x", "add p new",
    "reserve p y reason=for%20me", "reserve s 2", "drain"]


def what_was_changed(daemon):
    now = status(daemon.client())
    return now.draining, {
        name: {key: resource.get(key) for key in (
            "limit", "free", "paused", "paused_by", "reason", "items", "reserved", "reserve", "changed")}
        for name, resource in now.resources.items()}


def change_all(daemon):
    client = daemon.client()
    for request in CHANGES:
        assert client.request(request).startswith("ok"), request
    return what_was_changed(daemon)


def test_changes_survive(daemon):
    changed = change_all(daemon)
    assert changed[0] and changed[1]["s"]["limit"] == "7" and changed[1]["l"]["paused"] == "1"
    assert changed[1]["l"]["paused_by"] == str(os.getuid())
    for how, is_lost in itertools.product(("kill", "stop"), (False, True)):
        getattr(daemon, how)()
        if is_lost:
            daemon.journal.unlink()
        daemon.start()
        assert what_was_changed(daemon) == changed, (how, is_lost)
        assert refused(daemon.client(), "acquire s wait=0") in ("draining", "grace")


def test_changes_to_all_instances_survive(berthd):
    daemon = berthd("[semaphore m/*]\nlimit = 3\n")
    client = daemon.client()
    for request in ("limit m/* 1", "pause m/* reason=broken%20disk", "resume m/a", "limit m/b 2"):
        assert client.request(request) == "ok"
    for _ in range(2):
        client = after_restart(daemon, "kill")
        shown = status(client)
        assert shown.templates["m/*"].items() >= {
            "limit": "1", "paused": "1", "pause_reason": "broken%20disk", "changed": "limit"}.items()
        assert shown.resources["m/b"].items() >= {"limit": "2", "paused": "1"}.items()
        assert refused(client, "acquire m/new wait=0") == "paused"
        lease = held(client, "acquire m/a")
        assert refused(client, "acquire m/a wait=0") == "would-wait"
        assert client.request(f"release {lease}") == "ok"
    assert client.request("reset m/*") == "ok"
    client = after_restart(daemon, "kill")
    assert status(client).templates["m/*"].get("paused") is None
    held(client, "acquire m/new:3 wait=0")


def test_what_was_undone_stays_undone(daemon):
    before = what_was_changed(daemon)
    change_all(daemon)
    client = daemon.client()
    for request in ("undrain", "reset s", "reset t", "reset p", "resume l"):
        assert client.request(request).startswith("ok")
    restart(daemon, "kill")
    assert what_was_changed(daemon) == before


def test_until_the_file_says_otherwise(daemon):
    """A change lasts as long as the file's value that it replaced; the others stay."""
    change_all(daemon)
    daemon.kill()
    daemon.configure(CONFIG.replace("limit = 4", "limit = 5"))
    daemon.start()
    now = what_was_changed(daemon)[1]
    assert (now["s"]["limit"], now["t"]["limit"], now["l"]["paused"]) == ("5", "0", "1")


def test_what_the_file_has_ended_does_not_come_back(daemon):
    """Neither with the old file, nor with a holder."""
    before = what_was_changed(daemon)
    change_all(daemon)
    assert daemon.client().request("undrain") == "ok"
    for configuration in CONFIG.replace("limit = 4", "limit = 5"), "[lock other]\n", CONFIG:
        daemon.kill()
        daemon.configure(configuration)
        daemon.start()
    assert what_was_changed(daemon) == before


def test_changes_outlast_a_file_that_is_refused(daemon):
    """berthd must not start with it: the next one starts with the old file."""
    held(daemon.client(), f"acquire s pid={os.getpid()}")
    change_all(daemon)
    changed = what_was_changed(daemon)
    daemon.kill()
    daemon.configure("[pool s]\nitems = a b\n")
    with pytest.raises(pytest.fail.Exception, match="its kind cannot change"):
        daemon.start()
    daemon.configure(CONFIG)
    daemon.start()
    assert what_was_changed(daemon) == changed


# ---- a reboot

@needs_mounts
@pytest.mark.parametrize("journal_is_left", [False, True], ids=["tmpfs", "disk"])
def test_a_reboot(directory, journal_is_left):
    """Changes and numbers are kept; leases are over, and there is no grace."""
    def work():
        set_boot_id(directory, BOOTS[0])
        daemon = Berthd(directory, CONFIG.replace("0.05s", "1h"))
        client = daemon.client()
        held(client, f"acquire t pid={os.getpid()}")
        held(client, "acquire t ttl=1h")
        highest = token(client)
        changed = change_all(daemon)
        for boot_id in BOOTS[1:]:
            reboot(directory, daemon, boot_id, journal_is_left)
            client = daemon.client()
            assert what_was_changed(daemon)[0] == changed[0]
            assert status(client).held == 0 and status(client).grace is None
            assert client.request("undrain") == "ok"
            now = token(client)
            assert now > highest
            highest = now
            assert client.request("drain").startswith("ok")
        daemon.stop()
    with_own_mounts(work)


# ---- tokens

def token(client, name="s"):
    """Of a lease that is given back at once."""
    answer = client.request(f"acquire {name}")
    if answer.startswith("waiting"):
        answer = client.line().removeprefix("* granted").replace("granted", "")
        lease, units = answer.split()[:2]
    else:
        assert answer.startswith("ok "), answer
        lease, units = answer.split()[1:3]
    assert client.request(f"release {lease}") == "ok"
    return int(units.split(",")[1])


def nothing(daemon):
    pass


def journal(daemon):
    daemon.journal.unlink()


def state(daemon):
    shutil.rmtree(daemon.state)


def both(daemon):
    journal(daemon)
    state(daemon)


def damaged_state(daemon):
    for path in daemon.state.iterdir():
        path.write_bytes(b"\xff" + path.read_bytes()[1:])


def state_of_an_hour_ago(daemon):
    """As a backup would bring it back: its numbers have been given out since."""
    saved = daemon.state.with_name("saved")
    if saved.exists():
        shutil.rmtree(daemon.state)
        shutil.copytree(saved, daemon.state)
    else:
        shutil.copytree(daemon.state, saved)


def test_tokens_only_grow(daemon):
    highest, ids = 0, set()
    state_of_an_hour_ago(daemon)  # the backup
    losses = (nothing, state, journal, both, damaged_state, state_of_an_hour_ago)
    for lose, how in [*itertools.product(losses, ("stop", "kill")), (nothing, "stop")]:
        client = daemon.client()
        for _ in range(10):
            now = token(client)
            assert now > highest
            highest = now
        lease = held(client, "acquire l")
        assert lease not in ids
        ids.add(lease)
        print(how, lose.__name__)
        getattr(daemon, how)()
        lose(daemon)
        daemon.start()
        asked_until(daemon, lambda now: now.grace is None and now.held == 0)


def test_numbers_do_not_run_ahead_of_the_clock(daemon):
    """If the state is lost, numbers begin at the clock: none above that may have been given out. What a killed
    berthd had reserved is skipped if its journal is lost."""
    losses = (nothing, nothing, journal, nothing, nothing)
    for how, lose in zip(("stop", "kill", "kill", "kill", "stop"), losses):
        now = token(daemon.client())
        clock = time.clock_gettime_ns(time.CLOCK_REALTIME) // 1000
        assert now <= clock
        getattr(daemon, how)()
        lose(daemon)
        daemon.start()
        asked_until(daemon, lambda now: now.grace is None)


def test_a_killed_daemon_leaves_few_numbers_unused(daemon):
    """The state directory's mark is far ahead; the journal says where the run has ended."""
    daemon.stop()
    ahead(daemon, 10**15)
    daemon.start()
    highest = token(daemon.client())
    for _ in range(3):
        client = daemon.client()
        for _ in range(3):
            now = token(client)
            assert highest < now < highest + 5000
            highest = now
        restart(daemon, "kill")


def ahead(daemon, microseconds):
    """The clock is as far behind the numbers that were given out. Returns the first number."""
    future = microseconds + time.clock_gettime_ns(time.CLOCK_REALTIME) // 1000
    for path in daemon.state.iterdir():
        path.write_text(re.sub(r"^numbers \d+$", f"numbers {future}", path.read_text(), flags=re.M))
    return future


def test_the_clock_was_set_back(daemon):
    """The numbers in the state directory are higher than the clock's: they count."""
    daemon.stop()
    highest = ahead(daemon, 10**15) - 1
    for how in ("stop", "kill", "stop"):
        daemon.start()
        asked_until(daemon, lambda now: now.grace is None)
        now = token(daemon.client())
        assert now > highest
        highest = now
        getattr(daemon, how)()
        daemon.journal.unlink()


def test_the_state_is_lost_and_the_clock_was_set_back(daemon):
    """The journal has higher numbers: they count, though another state file has made them."""
    daemon.stop()
    ahead(daemon, 10**15)
    daemon.start()
    highest = token(daemon.client())
    for _ in range(2):
        daemon.kill()
        state(daemon)
        daemon.start()
        asked_until(daemon, lambda now: now.grace is None)
        now = token(daemon.client())
        assert now > highest
        highest = now

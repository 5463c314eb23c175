"""The disk of the state file gives no answer, or fails: only a client that has changed something
waits, and the log and the next start agree with the answer."""

import errno
import itertools
import os
import re
import select
import shutil
import signal
import socket
import threading
import time

import pytest

from conftest import Berthd
from daemon_help import code, held, is_quiet, refused, status, status_lines, stopped, waits
from fleet_help import clock, needs_redis, redis_section, redis_server  # noqa: F401
from fleet_ops_help import client_of, gets, up
from gate import Gate, with_shim
from history_help import history
from journal_file import erase_numbers, records
from lines import until
from lost_help import asked_until, sleeper

CONFIGURATION = """grace = 0.05s
[lock a]
[lock b]
[semaphore s]
limit = 4
"""

WRITE, RENAME, BEHIND, ROOM = "fsync", "rename", "fsync-directory", "posix_fallocate"


class Shut:
    """A shut gate of the disk, for the time of a block."""

    def __init__(self, path):
        self.gate, self.at_gate, self.error = Gate(path), None, 0

    def wait(self):
        """Waits until an operation has come."""
        if self.at_gate is None:
            self.at_gate = self.gate.wait_for_somebody()

    def holds_up(self, daemon, line):
        """An operator whose request has come to the gate."""
        operator = asks(daemon, line)
        self.wait()
        return operator

    def let_one_go(self, error=0):
        """Lets one operation go, and no other. With an error it fails."""
        self.wait()
        self.gate.path.unlink()
        self.gate.shut()
        self.open(error)

    def open(self, error=0):
        if error:
            os.write(self.at_gate, str(error).encode())
        os.close(self.at_gate)
        self.at_gate = None

    def fails(self, error):
        """When the block ends."""
        self.error = error

    def __enter__(self):
        self.gate.shut()
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.wait()
        self.gate.path.unlink()
        if self.at_gate is not None:
            self.open(self.error)


class Disk:
    def __init__(self, path):
        path.mkdir()
        self.path = path

    def shut(self, operation):
        return Shut(self.path / operation)


@pytest.fixture
def disk(directory):
    return Disk(directory / "disk")


@pytest.fixture
def daemon(directory, disk, sanitizer_reports):
    daemon = Berthd(directory, CONFIGURATION, before=with_shim("disk_shim.so", BERTH_DISK=disk.path))
    yield daemon
    for client in daemon.clients:
        client.close()
    daemon.stop()


def said(daemon):
    return daemon.log.read_text()


def has_answer(client):
    return bool(select.select([client.socket], [], [], 0)[0])


def asks(daemon, line):
    """An operator who has sent the request, which berthd has read."""
    client = daemon.client()
    client.send(f"{line}\n")
    assert is_quiet(daemon.client())
    return client


def shown(daemon, name):
    return status(daemon.client(), name).resources[name]


def paused(daemon, name):
    return "paused" in shown(daemon, name)


def stored(daemon):
    path, = daemon.state.glob("*.state")
    return path.read_text()


def logged(daemon, request):
    """What the log says about the result, each time."""
    return re.findall(rf"{re.escape(request)}: asked by uid \d+, pid \d+(.*)$", said(daemon), re.M)


def restart(daemon):
    daemon.kill()
    daemon.start()


# ---- uninvolved clients ----


def test_everybody_else_goes_on_while_the_disk_does_not_answer(daemon, disk):
    client, waiter = daemon.client(), daemon.client()
    for where in ROOM, WRITE, BEHIND:
        print(where)
        lease = held(client, "acquire b ttl=1h")
        waiting = waits(waiter, "acquire b")
        with disk.shut(where) as gate:
            operator = gate.holds_up(daemon, "pause a")
            assert client.request(f"renew {lease} ttl=1h").startswith("ok")
            assert client.request(f"release {lease}") == "ok"
            assert waiter.line().startswith(f"* granted {waiting} ")
            slots = held(client, "acquire s:3")
            assert shown(daemon, "s")["in_use"] == "3"
            assert not has_answer(operator)
        assert operator.line() == "ok"
        assert refused(client, "acquire a wait=0") == "paused"
        for undo in f"release {waiting}", f"release {slots}", "resume a":
            assert waiter.request(undo) == "ok"
        assert client.line().startswith(f"* lost {slots} ")


# ---- what is answered is stored ----


def test_a_change_is_answered_when_it_is_stored(daemon, disk):
    for where in WRITE, RENAME, BEHIND:
        with disk.shut(where) as gate:
            operator = gate.holds_up(daemon, "pause a")
            assert paused(daemon, "a")  # it is in force
            assert not has_answer(operator) and not logged(daemon, "pause a")
            assert ("pause a" in stored(daemon)) == (where == BEHIND)
        assert operator.line() == "ok"
        assert "pause a" in stored(daemon) and logged(daemon, "pause a") == [""]
        restart(daemon)
        assert paused(daemon, "a")
        assert daemon.client().request("resume a") == "ok"
        daemon.log.write_text("")


def test_a_reload_is_answered_when_what_it_ends_is_stored(daemon, disk):
    assert daemon.client().request("limit s 9") == "ok"
    daemon.configure(CONFIGURATION.replace("limit = 4", "limit = 5"))
    with disk.shut(WRITE) as gate:
        operator = daemon.client()
        operator.send("reload\n")
        gate.wait()
        assert shown(daemon, "s")["limit"] == "5"  # it is in force
        assert not has_answer(operator) and "limit s" in stored(daemon)
    assert operator.line() == "ok"
    assert "limit s" not in stored(daemon)

def test_killed_while_it_is_stored(daemon, disk):
    for where, is_there in (WRITE, False), (BEHIND, True):
        with disk.shut(where) as gate:
            gate.holds_up(daemon, "pause a")
            daemon.kill()
        daemon.start()
        assert paused(daemon, "a") == is_there, where
        assert daemon.client().request("pause b") == "ok"  # over what was left there
        restart(daemon)
        assert paused(daemon, "a") == is_there and paused(daemon, "b"), where


def test_the_later_change_is_the_one_that_lasts(daemon, disk):
    """Two operators change the same thing while a third's change is being stored."""
    with disk.shut(WRITE) as gate:
        first = gate.holds_up(daemon, "limit s 1")
        second, third = asks(daemon, "limit s 2"), asks(daemon, "limit s 3")
        assert shown(daemon, "s")["limit"] == "1"
        gate.let_one_go()
        assert first.line() == "ok"
        gate.wait()  # both in one
        assert shown(daemon, "s")["limit"] == "3"
        assert not has_answer(second) and not has_answer(third)
    assert second.line() == third.line() == "ok"
    assert is_quiet(second) and is_quiet(third)
    restart(daemon)
    assert shown(daemon, "s")["limit"] == "3"


def test_what_comes_behind_waits(daemon, disk):
    """One answer for each request, in order; what the change brings about follows its answer."""
    holder, client = daemon.client(), daemon.client()
    lease = held(holder, "acquire s:4")
    waiting = waits(client, "acquire s")
    with disk.shut(WRITE) as gate:
        client.send("limit s 5\nstatus s\npause b\nping\n")
        gate.wait()
        assert shown(daemon, "s")["in_use"] == "5"
        assert not has_answer(client)
    assert client.line() == "ok"
    assert client.line().startswith(f"* granted {waiting} ")
    assert client.rest_of_lines()[1].startswith("resource s ")
    assert client.line() == client.line() == "ok"
    assert holder.request(f"release {lease}") == "ok"


def test_a_drain_is_answered_when_it_is_stored(daemon, disk):
    lease = held(daemon.client(), "acquire a ttl=1h")
    with disk.shut(WRITE) as gate:
        operator = gate.holds_up(daemon, "drain wait=1")
        assert status(daemon.client()).draining == 1
        assert daemon.client().request(f"release {lease}") == "ok"
        assert not has_answer(operator)
    assert operator.line() == "ok held=0"
    assert operator.line() == "* drained"
    with disk.shut(WRITE) as gate:
        other = gate.holds_up(daemon, "undrain")
        assert not has_answer(other)
    assert other.line() == "ok"
    restart(daemon)
    assert status(daemon.client()).draining == 0


def test_a_drain_that_is_over_before_it_is_stored(daemon, disk):
    held(daemon.client(), "acquire a ttl=1h")
    with disk.shut(WRITE) as gate:
        first = gate.holds_up(daemon, "drain wait=1")
        second = asks(daemon, "undrain")
        gate.let_one_go()
        assert first.line() == "ok held=1"
        gate.wait()
        assert first.line() == "* undrained"
        third = asks(daemon, "drain wait=1")
        gate.let_one_go()
        assert second.line() == "ok"
    assert third.line() == "ok held=1"
    assert is_quiet(first) and is_quiet(third)


# ---- what could not be stored ----


def test_an_unstored_change_is_reported_as_in_force(daemon, disk):
    before = status_lines(daemon.client())
    for request_line, where in (("pause a", WRITE), ("limit s 7", RENAME), ("reserve s 1", WRITE), ("drain", RENAME),
                                ("drain wait=1", WRITE)):
        print(request_line, where)
        with disk.shut(where) as gate:
            operator = asks(daemon, request_line)
            gate.fails(errno.EIO)
        answer = operator.line()
        assert code(answer) == "no-space" and "in%20force,%20but%20it%20could%20not%20be%20stored" in answer
        assert is_quiet(operator)
        assert status_lines(daemon.client()) != before
        assert logged(daemon, request_line.split(" wait")[0]) == [": in force, but not stored"]
        assert "cannot be written: Input/output error" in said(daemon)
        restart(daemon)
        assert status_lines(daemon.client()) == before
        daemon.log.write_text("")
    assert daemon.client().request("drain").startswith("ok")


def test_an_undrain_that_is_not_stored(daemon, disk):
    assert daemon.client().request("drain") == "ok held=0"
    with disk.shut(WRITE) as gate:
        operator = asks(daemon, "undrain")
        gate.fails(errno.EIO)
    assert code(operator.line()) == "no-space"
    assert status(daemon.client()).draining == 0
    assert logged(daemon, "undrain") == [": in force, but not stored"]
    restart(daemon)
    assert status(daemon.client()).draining == 1


def test_what_was_not_stored_is_stored_with_the_next_change(daemon, disk):
    with disk.shut(WRITE) as gate:
        operator = asks(daemon, "pause a")
        gate.fails(errno.ENOSPC)
    assert code(operator.line()) == "no-space"
    assert daemon.client().request("pause b") == "ok"
    restart(daemon)
    assert paused(daemon, "a") and paused(daemon, "b")


def test_in_place_but_perhaps_not_for_ever(daemon, disk):
    """Only the directory could not be synced: a restart finds the change, a power failure may not."""
    with disk.shut(BEHIND) as gate:
        operator = asks(daemon, "pause a")
        gate.fails(errno.EIO)
    answer = operator.line()
    assert code(answer) == "no-space" and "power%20failure" in answer
    assert logged(daemon, "pause a") == [": in force, but a power failure may undo it"]
    assert "runtime changes could not be stored" not in said(daemon)
    restart(daemon)
    assert paused(daemon, "a")


def test_without_room_nothing_is_changed(daemon, disk):
    with disk.shut(ROOM) as gate:
        first, second = gate.holds_up(daemon, "pause a"), asks(daemon, "drain")
        gate.fails(errno.ENOSPC)
    assert "not%20changed" in first.line()
    assert second.line() == "ok held=0"  # there was room for that one
    assert not paused(daemon, "a")
    assert logged(daemon, "pause a") == [": refused"]


# ---- a disk that does not answer ----


def test_an_operator_learns_that_nothing_has_changed(daemon, disk):
    """berthctl waits for 5 s."""
    with disk.shut(ROOM) as gate:
        operator = gate.holds_up(daemon, "pause a")
        answer = operator.line()
        assert code(answer) == "no-space" and "not%20changed" in answer
        assert is_quiet(operator)
        assert logged(daemon, "pause a") == [": refused"]
    assert operator.request("pause b") == "ok"
    assert paused(daemon, "b") and not paused(daemon, "a")


@pytest.mark.parametrize("error, outcome", [(0, ""), (errno.EIO, ": in force, but not stored")])
def test_an_operator_learns_that_a_change_is_not_stored_yet(daemon, disk, error, outcome):
    with disk.shut(WRITE) as gate:
        operator = gate.holds_up(daemon, "pause a")
        answer = operator.line()
        assert code(answer) == "no-space" and "in%20force,%20but%20not%20stored%20yet" in answer
        assert paused(daemon, "a") and not logged(daemon, "pause a")
        gate.fails(error)
    until(lambda: logged(daemon, "pause a") == [outcome])
    assert is_quiet(operator)
    restart(daemon)
    assert paused(daemon, "a") == (not error)


def test_patience_is_for_both(daemon, disk):
    """Room comes late, and then storing fails: the answer still comes before berthctl gives up."""
    began = time.monotonic()
    with disk.shut(WRITE) as write:
        with disk.shut(ROOM) as room:
            operator = asks(daemon, "pause a")
            room.wait()
            assert not select.select([operator.socket], [], [], 2)[0]
        write.wait()
        assert "in%20force" in operator.line()
        assert time.monotonic() - began < 6  # 4 s in all; if each had 4 s, the second would begin after 2


# ---- clients that go away ----


# What it has sent before. If it has not read the answers, the kernel reports an error rather than an end.
READ, UNREAD = "", "ping\n"


def forget(daemon):
    """All is as it was, and the log is empty."""
    client = daemon.client()
    for undo in "reset a", "reset b", "reset s":
        assert client.request(undo) == "ok"
    daemon.log.write_text("")


def test_hanging_up_does_not_undo_a_request(daemon, disk):
    for where, before in itertools.product((ROOM, WRITE), (READ, UNREAD)):
        print(where, repr(before))
        with disk.shut(where) as gate:
            operator = gate.holds_up(daemon, before + "pause a")
            operator.close()
            assert is_quiet(daemon.client())
        until(lambda: logged(daemon, "pause a") == [""])
        assert paused(daemon, "a") and "pause a" in stored(daemon)
        forget(daemon)


def test_hanging_up_does_not_undo_the_requests_behind(daemon, disk):
    """But half a line is no request. Nobody reads the answers to the rest."""
    outcomes = [(ROOM, 0, ""), (ROOM, errno.ENOSPC, ": refused"), (WRITE, 0, ""),
                (WRITE, errno.EIO, ": in force, but not stored")]
    for (where, error, outcome), before in itertools.product(outcomes, (READ, UNREAD)):
        print(where, error, repr(before))
        with disk.shut(where) as gate:
            operator = daemon.client()
            operator.send(before + "pause a\nstatus\npause b\nstatus\nlimit s 3\nlimit s 2")
            gate.wait()
            operator.close()
            assert is_quiet(daemon.client())
            gate.fails(error)
        until(lambda: logged(daemon, "limit s 3") == [""])
        assert logged(daemon, "pause a") == [outcome] and logged(daemon, "pause b") == [""]
        assert "pause b" in stored(daemon) and "limit s 3" in stored(daemon)
        assert paused(daemon, "b") and shown(daemon, "s")["limit"] == "3"
        forget(daemon)


def test_hanging_up_frees_at_once_whatever_is_being_stored(daemon, disk):
    """berthd finds the end together with the requests. The last one keeps it from reading on."""
    asker = daemon.client()
    for before in READ, UNREAD:
        operator = daemon.client()
        held(operator, "acquire b")
        operator.send(before)
        if before:
            operator.socket.recv(1, socket.MSG_PEEK)
        with disk.shut(WRITE) as gate:
            with stopped(daemon):
                operator.send("pause a\nping\n")
                operator.close()
            gate.wait()
            assert asker.request("ping") == "ok"  # the turn in which the end is found is over
            assert status(asker, "b").resources["b"]["free"] == "1", before
        forget(daemon)


def test_a_half_closed_client_is_answered(daemon, disk):
    for where in ROOM, WRITE:
        with disk.shut(where) as gate:
            operator = gate.holds_up(daemon, "pause a")
            operator.socket.shutdown(socket.SHUT_WR)
            assert is_quiet(daemon.client())
        assert (operator.line(), operator.line()) == ("ok", ""), where
        assert paused(daemon, "a")
        forget(daemon)


# ---- the end ----


def test_the_end_waits_for_what_is_being_stored(daemon, disk):
    with disk.shut(WRITE) as gate:
        operator = gate.holds_up(daemon, "pause a")
        late = asks(daemon, "pause b")
        daemon.signal(signal.SIGTERM)
        assert operator.line() == late.line() == ""
        assert daemon.process.poll() is None
    daemon.stop()
    assert logged(daemon, "pause a") == [""] and logged(daemon, "pause b") == [": refused, berthd ends"]
    daemon.start()
    assert paused(daemon, "a") and not paused(daemon, "b")


def test_the_end_stores_what_is_not_stored_yet(daemon, disk):
    """The change was made while another was being stored, and its storing had not begun when the
    end came."""
    assert daemon.client().request("limit s 9") == "ok"
    with disk.shut(WRITE) as gate:
        gate.holds_up(daemon, "pause a")
        daemon.configure(CONFIGURATION.replace("limit = 4", "limit = 5"))
        daemon.client().send("reload\n")
        until(lambda: ": reloaded" in said(daemon), "it is in force")
        daemon.signal(signal.SIGTERM)
        gate.fails(errno.EIO)
    daemon.stop()
    assert logged(daemon, "pause a") == [": in force, but not stored"]
    assert "pause a" in stored(daemon)  # it was, after all
    assert "limit s" not in stored(daemon)


def test_the_end_does_not_wait_for_ever(daemon, disk):
    with disk.shut(WRITE) as gate:
        gate.holds_up(daemon, "pause a")
        daemon.stop()
    assert logged(daemon, "pause a") == [": in force, and perhaps stored"]
    assert "exiting without waiting for the disk, which does not respond" in said(daemon)
    daemon.start()
    assert daemon.client().request("pause b") == "ok"


# ---- reloads ----


def test_a_reload_does_not_wait(daemon, disk):
    """And a client that comes after it finds the new definitions."""
    with disk.shut(WRITE) as gate:
        first = gate.holds_up(daemon, "pause a")
        gone, kept = asks(daemon, "pause b"), asks(daemon, "limit s 2")
        daemon.configure("[lock a]\n[semaphore s]\nlimit = 9\n")
        assert daemon.client().request("reload").startswith("ok")
        assert "reloaded" in said(daemon)
    assert first.line() == "ok"
    assert code(gone.line()) == "unknown"
    assert kept.line() == "ok"
    restart(daemon)
    assert paused(daemon, "a") and shown(daemon, "s")["limit"] == "2"


def test_a_reload_that_could_not_store_what_has_changed_says_so(daemon, disk):
    assert daemon.client().request("limit s 9") == "ok"
    with disk.shut(WRITE) as gate:
        daemon.configure(CONFIGURATION.replace("limit = 4", "limit = 5"))
        operator = daemon.client()
        operator.send("reload\n")
        gate.fails(errno.EIO)
    assert code(operator.line()) == "no-space"
    assert "runtime changes could not be stored" in said(daemon)
    assert daemon.client().request("reload") == "ok"  # now they are
    assert "limit s" not in stored(daemon)


# ---- numbers ----


def passes(gates):
    """A thread that lets one operation go at each gate, in turn: a start stores its numbers on the
    way."""
    def work():
        for gate in gates:
            gate.let_one_go()
    thread = threading.Thread(target=work)
    thread.start()
    return thread


NUMBERS_AHEAD = 2**20 # that a start stores


def set_numbers(daemon, number):
    path, = daemon.state.glob("*.state")
    path.write_text(re.sub(r"^numbers \d+$", f"numbers {number}", path.read_text(), flags=re.M))


def used_up(daemon, write, behind, left=None):
    """Started so that it wants numbers at once: those of a lease in the journal are far above what is
    stored, or about `left` below it. More are being stored now, and the disk gives no answer."""
    daemon.stop()
    future = 10**12 + time.clock_gettime_ns(time.CLOCK_REALTIME) // 1000
    set_numbers(daemon, future + (NUMBERS_AHEAD if left else 0))
    daemon.start()
    asked_until(daemon, lambda now: now.grace is None)
    lease = held(daemon.client(), "acquire a ttl=1h")
    daemon.kill()
    erase_numbers(daemon.journal)
    if left:
        set_numbers(daemon, future + left)
    else:
        shutil.rmtree(daemon.state)
    write.gate.shut()
    behind.gate.shut()
    passing = passes([write, behind])
    daemon.start()
    passing.join()
    asked_until(daemon, lambda now: now.grace is None)
    write.wait()
    return lease


def test_a_request_waits_until_its_numbers_are_stored(daemon, disk):
    write, behind = disk.shut(WRITE), disk.shut(BEHIND)
    lease = used_up(daemon, write, behind)
    behind.gate.path.unlink()
    client, other = daemon.client(), daemon.client()
    client.send("acquire b\nping\n")
    other.send("acquire s wait=0\n")
    assert daemon.client().request(f"release {lease}") == "ok"
    assert status(daemon.client()).held == 0
    assert not has_answer(client) and not has_answer(other)
    write.__exit__(None)
    assert client.line().startswith("ok ") and client.line() == "ok"
    token = int(other.line().split(",")[1])
    assert token < int(re.search(r"^numbers (\d+)$", stored(daemon), re.M)[1])
    assert status(daemon.client()).held == 2


def test_numbers_are_left_for_waiters(daemon, disk):
    """They are granted while the disk gives no answer, with tokens below what is stored."""
    write, behind = disk.shut(WRITE), disk.shut(BEHIND)
    lease = used_up(daemon, write, behind, left=400)
    waiters = []
    while not waiters or waiters[-1].line().startswith("waiting "):
        assert len(waiters) < 400
        waiters.append(daemon.client())
        waiters[-1].send("acquire a b\n")
        assert is_quiet(daemon.client())
        if not has_answer(waiters[-1]):
            break
    waiters.pop()
    assert len(waiters) > 5
    stored_numbers = int(re.search(r"^numbers (\d+)$", stored(daemon), re.M)[1])
    assert daemon.client().request(f"release {lease}") == "ok"
    for waiter in waiters:
        tokens = [int(word.split(",")[1]) for word in waiter.line().split() if word.startswith("slot=")]
        assert len(tokens) == 2 and max(tokens) < stored_numbers
        waiter.close()
    behind.gate.path.unlink()


def test_without_numbers_nothing_is_granted(daemon, disk):
    write, behind = disk.shut(WRITE), disk.shut(BEHIND)
    used_up(daemon, write, behind)
    behind.gate.path.unlink()
    client = daemon.client()
    client.send("acquire b\n")
    assert is_quiet(daemon.client())
    write.fails(errno.EIO)
    write.__exit__(None)
    assert code(client.line()) == "no-space"
    assert "cannot be written: Input/output error" in said(daemon)
    # After a while they are stored again.
    until(lambda: client.request("acquire b wait=0").startswith("ok "))


def test_a_long_wait_for_numbers_is_refused(daemon, disk):
    write, behind = disk.shut(WRITE), disk.shut(BEHIND)
    used_up(daemon, write, behind)
    behind.gate.path.unlink()
    client = daemon.client()
    assert refused(client, "acquire b") == "no-space"
    assert is_quiet(client)
    write.__exit__(None)
    until(lambda: client.request("acquire b wait=0").startswith("ok "))


# ---- the fleet ----


@needs_redis
def test_the_fleet_does_not_wait(directory, disk, redis_server, sanitizer_reports):
    """A change to the fleet belongs to its database; this host's disk has a copy."""
    text = redis_section(redis_server.url) + "[semaphore etl]\nlimit = 2\nscope = fleet\n[lock here]\n"
    daemon = Berthd(directory, text, before=with_shim("disk_shim.so", BERTH_DISK=disk.path))
    up(redis_server, daemon)
    client = client_of(daemon)
    gets(client, "acquire etl")
    for change in ("pause here", "resume here"):  # stored together with what the start has left to store
        assert daemon.client().request(change) == "ok"
    with disk.shut(WRITE) as gate:
        assert daemon.client().request("limit etl 5") == "ok"
        gate.wait()
        gets(client, "acquire etl")
        gets(client, "acquire etl")
        held(client, "acquire here")
        gate.fails(errno.EIO)
    until(lambda: "operators' changes of the fleet could not be stored" in said(daemon))
    client.close()
    daemon.stop()


# ---- the journal


def pool(length):
    return "[pool p]\nitems = " + " ".join(f"i{k}-".ljust(length, "x") for k in range(40)) + "\n"


def copies(daemon, lease):
    return sum(f" id={lease} " in record for record in records(daemon.journal))


def kill_while_a_record_moves(daemon, disk, pid):
    """The names have become longer than there was room for: both records are there. The lease, which
    is bound to that process."""
    (disk.path / "mmap").write_text(str(errno.ENODEV))  # records are written by calls
    daemon.configure(pool(4))
    restart(daemon)
    held(daemon.client(), "acquire p")
    lease = waits(daemon.client(), f"acquire p:40 pid={pid}")
    daemon.configure(pool(60))
    with disk.shut("pwrite") as gate:
        daemon.client().send("reload\n")
        gate.wait()
        while copies(daemon, lease) < 2:
            assert copies(daemon, lease) == 1
            gate.let_one_go()
            gate.wait()
        daemon.kill()
    return lease


def test_killed_while_a_record_moves(daemon, disk):
    lease = kill_while_a_record_moves(daemon, disk, os.getpid())
    daemon.start()
    now = status(daemon.client())
    assert now.holders("p").count(lease) == 1 and now.waiting == 0 and copies(daemon, lease) == 1
    assert history(daemon.client()) == [] and lease not in said(daemon)


def test_a_job_ends_after_that(daemon, disk):
    """Its end is counted once."""
    with sleeper() as pid:
        lease = kill_while_a_record_moves(daemon, disk, pid)
    daemon.start()
    assert [entry.lease for entry in history(daemon.client())].count(lease) == 1
    assert copies(daemon, lease) == 0

"""The library for Python: blocking calls, and the ten rules of doc/libraries.md."""

import ctypes
import logging
import os
import pickle
import select
import signal
import threading
import time

import pytest

from daemon_help import event, held, in_child, must_end_well, shown, status, waits
from fake_berthd import boottime
from library_help import berth, client, connections, given_back, granted, script, use  # noqa: F401
from lines import DEADLINE, until
from lost_help import asked_until, restart

CONFIG = "grace = 2s\n[semaphore s]\nlimit = 3\n[lock k]\n[pool gpus]\nitems = a b\n[semaphore shut]\nlimit = 0\n"
KEEPER = "berth keeper"


@pytest.fixture
def holder(daemon):
    """A raw client that has the lock k."""
    raw = daemon.client()
    raw.lease = held(raw, "acquire k")
    return raw


def keepers():
    return [thread for thread in threading.enumerate() if thread.name == KEEPER]


# ---- what a lease is

def test_what_is_granted(daemon, client):
    with client.acquire("s:2", "gpus", wait=DEADLINE, reason="a test of 100 %") as lease:
        one, = shown(daemon.client(), "s")["holders"]
        assert one["lease"] == lease.id
        assert one["reason"] == "a%20test%20of%20100%20%25"
        assert len(lease.slots) == 2 and lease.items == ("a",)
        assert lease.token == lease["s"].token == int(one["token"])
        assert lease["gpus"].items == ("a",)
        assert lease.lost is None and not lease.away
        assert lease.stop_by is None and lease.gone_by is None
        lease.check()
    assert status(daemon.client()).held == 0
    with pytest.raises(berth.Lost):
        lease.check()


def test_module(daemon, use):
    with berth.acquire("k") as lease:
        assert berth.try_acquire("k") is None
        assert shown(daemon.client(), "k")["holders"][0]["lease"] == lease.id
    with berth.try_acquire("k") as lease:
        assert lease is not None

    @berth.limited("k")
    def alone():
        return shown(daemon.client(), "k")["in_use"]

    assert alone() == "1"
    assert shown(daemon.client(), "k")["in_use"] == "0"


def test_under_a_job(daemon, directory):
    """Its request names the lease that it runs under, as that of `berth run` does."""
    raw = daemon.client()
    lease = held(raw, "acquire k")
    code, out, err = script(directory, f"import os; os.environ['BERTH_LEASE'] = '{lease}'\nimport berth\n"
                            "try: berth.acquire('k', wait=30)\nexcept berth.NotFree as error: print(error.code)")
    assert (code, out) == (0, "ancestor\n"), err


def test_it_shares_what_the_job_has(daemon, directory):
    raw = daemon.client()
    lease = held(raw, "acquire k")
    code, out, err = script(directory, f"import os; os.environ['BERTH_LEASE'] = '{lease}'\nimport berth\n"
                            "with berth.acquire('k', nested='share') as lease: print(lease.slots)")
    assert (code, out) == (0, "(0,)\n"), err


def test_it_says_whose_turn_it_takes(daemon, client):
    with client.acquire("k", share="team"):
        assert any(line.startswith("holder ") and " share=team " in line for line in daemon.client().lines("status k"))


# ---- (a) the lease is the object

def test_a_lease_does_not_change(daemon, client):
    lease = client.acquire("s")
    for name in ("token", "id", "units", "other"):
        with pytest.raises(AttributeError):
            setattr(lease, name, 1)
    with pytest.raises(TypeError):
        pickle.dumps(lease)
    lease.release()


def test_no_counts(daemon, client):
    """Each acquire is another lease, also of one thread; a lease is given back once."""
    with client.acquire("s") as first:
        with client.acquire("s") as second:
            assert first.id != second.id
            assert status(daemon.client()).held == 2
        assert status(daemon.client()).held == 1
        first.release()
        first.release()
        with pytest.raises(berth.Lost), first:
            pass


# ---- (b) what it is bound to

def test_bound(daemon, client):
    with client.acquire("s") as lease:
        assert shown(daemon.client(), "s")["holders"][0]["bound"] == lease.bound
        assert lease.bound == "program"
    with client.acquire("s", strict=True) as lease:
        one, = shown(daemon.client(), "s")["holders"]
        assert (one["bound"], one["pid"]) == ("process", str(os.getpid()))
        assert lease.bound == "process"
        pid = in_child(signal.pause)
        lease.bind(pid)
        one, = shown(daemon.client(), "s")["holders"]
        assert (one["bound"], one["pid"]) == ("process", str(pid))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_moved_to_another_process(daemon, client, directory):
    with client.acquire("s:2") as lease:
        ticket = lease.hand_over()
        with pytest.raises(berth.Lost):
            lease.check()
        lease.release()
    assert shown(daemon.client(), "s")["holders"][0]["pid"] == str(os.getpid())

    def child():
        with berth.Client(str(directory / "s")) as own, own.take_over(ticket) as mine:
            assert (mine.id, mine.slots, mine.token) == (lease.id, lease.slots, lease.token)
            until(lambda: mine.away)
            until(lambda: not mine.away)
            mine.check()

    pid = in_child(child)
    asked_until(daemon, lambda now: [one["pid"] for one in now.resources["s"]["holders"]] == [str(pid)])
    restart(daemon, "kill")
    must_end_well(pid)
    assert status(daemon.client()).held == 0
    with pytest.raises(berth.Lost):
        client.take_over(ticket)


# ---- (c) a forked child

def fails_in_child(client, lease):
    for call in (lambda: client.acquire("s"), lambda: client.try_acquire("s"), lambda: lease.lost, lease.check,
                 lease.release, lease.fileno, lambda: lease.wait_lost(0), lambda: lease.on_lost(print),
                 lambda: client.begin("s"), client.dispatch):
        with pytest.raises(berth.Forked):
            call()
    client.close()


@pytest.mark.parametrize("fork", ["python", "c"])
def test_a_forked_child(daemon, directory, fork):
    client = berth.Client(str(directory / "s"))
    lease = client.acquire("s")
    other = client.acquire("k")
    raw = daemon.client()

    def child():
        fails_in_child(client, lease)
        with berth.Client(str(directory / "s")) as own, own.acquire("s") as mine:
            assert mine.id != lease.id

    if fork == "python":
        must_end_well(in_child(child))
    else:
        pid = ctypes.CDLL(None).fork()  # no hook of Python's is called
        if pid == 0:
            try:
                child()
                os._exit(0)
            finally:
                os._exit(1)
        must_end_well(pid)
    lease.check()
    assert {one["lease"] for one in shown(raw, "s")["holders"]} == {lease.id}
    other.release()
    assert shown(raw, "k")["in_use"] == "0"
    client.close()


def test_a_child_leaves_the_block(daemon, client):
    with client.acquire("s") as lease:
        pid = os.fork()
        if pid == 0:
            try:
                lease.__exit__(None, None, None)
                os._exit(0)
            finally:
                os._exit(1)
        must_end_well(pid)
        assert status(daemon.client()).held == 1


def test_the_parent_ends_before_its_child(daemon, directory):
    """A child that has inherited the connection, and keeps it, as no hook of Python's is called, does not keep the
    lease."""
    code, out, err = script(directory, """
import berth, ctypes, os, time
lease = berth.acquire("k")
if ctypes.CDLL(None).fork() == 0:
    os.closerange(0, 3)
    time.sleep(60)
os._exit(0)
""")
    assert code == 0, err
    asked_until(daemon, lambda now: now.held == 0)


# ---- (d) giving up

class Alarm(Exception):
    pass


def alarm(seconds):
    def ring(*_):
        raise Alarm
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def test_interrupted(holder, daemon, client):
    alarm(0.2)
    with pytest.raises(Alarm):
        client.acquire("k")
    asked_until(daemon, lambda now: now.waiting == 0)
    assert holder.request(f"release {holder.lease}") == "ok"
    with client.acquire("k", wait=DEADLINE):  # gets the answer to its own request
        pass


def test_a_grant_that_races_it(fake, directory):
    client = berth.Client(str(directory / "s"))
    alarm(0.2)
    with pytest.raises(Alarm):
        client.acquire("k")
    peer, words = fake.asked()
    once, = [word for word in words if word.startswith("once=")]
    assert peer.line() == f"cancel {once}"
    peer.send("ok L1 slot=k,5,0\nok\n")
    done = []
    thread = threading.Thread(target=lambda: done.append(client.acquire("k")))
    thread.start()
    assert peer.line().startswith("acquire k:1 ")
    peer.send("ok L2 slot=k,6,0\n")
    thread.join(DEADLINE)
    assert done[0].id == "L2"
    peer.close()
    client._link.claims.clear()
    done[0]._claim.state = "ended"
    client.close()


# ---- (e) lost, early

def test_told_before_it_is_gone(fake, client):
    stop, gone = boottime(0.5), boottime(20)
    lease, peer = granted(fake, client, f"* deadline 1 {gone} stop={stop}")
    told = []
    lease.on_lost(told.append)
    assert (lease.stop_by, lease.gone_by) == (stop / 1e9, gone / 1e9)
    assert not select.select([lease], [], [], 0)[0]
    assert lease.lost is None
    loss = lease.wait_lost(DEADLINE)
    assert (loss.code, loss.stop_by, loss.gone_by) == ("deadline", stop / 1e9, gone / 1e9)
    until(lambda: told == [loss])
    assert select.select([lease], [], [], DEADLINE)[0]
    with pytest.raises(berth.Lost) as error:
        lease.check()
    assert error.value.code == "deadline"
    given_back(lease, peer)


def test_told_by_a_thread_that_begins_then(fake, directory):
    client = berth.Client(str(directory / "s"), keep=False)
    lease, peer = granted(fake, client)
    assert not keepers()
    told = threading.Event()
    lease.on_lost(lambda loss: told.set())
    peer.send("* revoked 1 revoked by%20alice gone=1\n")
    assert told.wait(DEADLINE)
    assert (lease.lost.code, lease.lost.text) == ("revoked", "by alice")
    again = []
    lease.on_lost(again.append)
    assert again == [lease.lost]
    given_back(lease, peer)
    client.close()


def test_a_callback_that_fails(fake, client, caplog):
    lease, peer = granted(fake, client)
    told = []
    lease.on_lost(lambda loss: 1 / 0)
    lease.on_lost(told.append)
    gone = boottime(5)
    peer.send(f"* deadline 1 {gone} stop={boottime(0)}\n* revoked 1 revoked by%20alice\n")
    until(lambda: told)
    assert (told[0].code, told[0].gone_by) == ("revoked", gone / 1e9)
    assert "ZeroDivisionError" in caplog.text
    given_back(lease, peer)


def test_a_callback_that_calls(daemon, client):
    """From the thread that reads for all others: it releases, and acquires."""
    done = []

    def told(loss):
        lease.release()
        with client.acquire("k", wait=DEADLINE) as other:
            done.append(other.id)

    with client.acquire("k") as lease:
        lease.on_lost(told)
        begun = time.monotonic()
        assert daemon.client().request(f"revoke {lease.id}") == "ok"
        until(lambda: done)
        assert time.monotonic() - begun < DEADLINE / 4
        with pytest.raises(berth.Lost):
            lease.check()


def test_a_late_renewal_is_a_warning(fake, client, caplog):
    lease, peer = granted(fake, client)
    with caplog.at_level(logging.WARNING, "berth"):
        peer.send(f"* deadline 1 {boottime(-1)} stop={boottime(-2)}\n* deadline 1 {boottime(20)} stop={boottime(10)}\n")
        until(lambda: (lease.stop_by or 0) > boottime(5) / 1e9)
    assert "renewed late" in caplog.text
    assert lease.lost is None
    given_back(lease, peer)


def test_away_is_not_lost(daemon, client):
    with client.acquire("s") as lease:
        daemon.kill()
        until(lambda: lease.away)
        assert lease.lost is None
        daemon.start()
        until(lambda: not lease.away)
        lease.check()


def test_the_longest_time(berthd, directory):
    daemon = berthd("[lock k]\nmax-hold = 1s\n")
    with berth.Client(str(directory / "s")) as client, client.acquire("k") as lease:
        until(lambda: lease.stop_by)
        assert lease.stop_by <= lease.gone_by
        loss = lease.wait_lost(DEADLINE)
        assert loss.code in ("max-hold", "deadline")
    assert status(daemon.client()).held == 0


def test_revoked(daemon, client):
    with client.acquire("s") as lease:
        assert daemon.client().request(f"revoke {lease.id}") == "ok"
        loss = lease.wait_lost(DEADLINE)
        assert loss.code == "revoked"
        assert loss.stop_by <= boottime(0) / 1e9 < loss.gone_by
        assert status(daemon.client()).held == 1
    assert status(daemon.client()).held == 0


# ---- (f) one time for each call

def test_three_errors(holder, daemon, client, directory):
    with pytest.raises(berth.NotFree) as error:
        client.acquire("k", wait=0)
    assert error.value.code == "would-wait"
    with pytest.raises(TimeoutError) as error:
        client.acquire("k", wait=0.1)
    assert isinstance(error.value, berth.Timeout)
    with pytest.raises(berth.Down), berth.Client(str(directory / "none"), patience=0.2) as nobody:
        nobody.acquire("k")
    with pytest.raises(berth.NotFree) as error:
        client.acquire("shut", wait=0)
    assert error.value.code == "closed"
    with pytest.raises(berth.Refused) as error:
        client.acquire("nowhere")
    assert error.value.code == "unknown"
    with pytest.raises(ValueError):
        client.acquire("k wait=0")
    with pytest.raises(TypeError):
        client.acquire("k", wiat=0)


def test_one_time_over_restarts(holder, daemon, client):
    begun = time.monotonic()
    thread = threading.Timer(0.3, restart, (daemon, "kill"))
    thread.start()
    with pytest.raises(berth.Timeout):
        client.acquire("k", wait=1.5)
    assert 1.5 <= time.monotonic() - begun < 1.5 + 5
    thread.join()


def test_silence_is_down(fake, directory):
    client = berth.Client(str(directory / "s"), patience=0.3)
    begun = time.monotonic()
    with pytest.raises(berth.Down):
        client.acquire("k", wait=DEADLINE)
    assert time.monotonic() - begun < 5
    fake.asked()
    fake.close()
    client._link.claims.clear()
    client.close()


# ---- (g) no signals

def test_no_signals(daemon, directory):
    code, out, err = script(directory, """
import berth, signal
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
before = [signal.getsignal(number) for number in signal.valid_signals()]
client = berth.Client(patience=0.5)
lease = client.acquire("k")
print("held", flush=True)
assert before == [signal.getsignal(number) for number in signal.valid_signals()]
client._link._socket.shutdown(2)  # as when berthd goes away: what is sent now raises SIGPIPE elsewhere
client._link.out += b"ping\\n"
client._link.flush()
lease.release()
client.close()
print("lives")
""")
    assert (code, out) == (0, "held\nlives\n"), err


# ---- (h) any loop

def test_a_loop_of_one_s_own(holder, daemon, directory):
    client = berth.Client(str(directory / "s"), keep=False)
    pending = client.begin("k")
    assert pending.lease() is None
    released = False
    while (lease := pending.lease()) is None:
        poll = select.poll()
        poll.register(client.fileno(), client.events())
        timeout = client.timeout()
        poll.poll(None if timeout is None else timeout * 1000)
        client.dispatch()
        if not released:
            released = holder.request(f"release {holder.lease}") == "ok"
    assert shown(daemon.client(), "k")["holders"][0]["lease"] == lease.id
    assert not keepers()
    lease.release()
    given_up = client.begin("k")
    given_up.cancel()
    asked_until(daemon, lambda now: (now.held, now.waiting) == (0, 0))
    client.close()


# ---- (i) reconnects inside, visible outside: tests/conformance, and test_library_crowd.py

def test_a_place_is_kept(holder, daemon, client):
    result = []
    thread = threading.Thread(target=lambda: result.append(client.acquire("k")))
    thread.start()
    first, = asked_until(daemon, lambda now: now.waiting == 1).waiters("k")
    restart(daemon, "kill")
    waits(daemon.client(), "acquire k", position=2)
    thread.join(DEADLINE)
    assert result[0].id == first
    result[0].release()


# ---- (j) threads

def test_no_thread_until_one_is_needed(daemon, directory):
    before = set(threading.enumerate())
    with berth.Client(str(directory / "s"), keep=False) as client:
        with client.acquire("s"), client.acquire("s"):
            assert client.try_acquire("k:1") is not None
            assert set(threading.enumerate()) == before
        for claim in list(client._link.claims.values()):
            client._give_back(claim)
    with berth.Client(str(directory / "s")) as client:
        assert set(threading.enumerate()) == before
        with client.acquire("s"):
            assert len(keepers()) == 1
        until(lambda: not keepers())


def test_no_thread_over_a_fork(daemon, directory):
    code, out, err = script(directory, """
import os, threading
os.register_at_fork(before=lambda: print(threading.active_count(), flush=True))  # the first one is called last
import berth
with berth.acquire("s"):
    print(threading.active_count(), flush=True)
    if os.fork() == 0:
        os._exit(0)
    print(threading.active_count(), flush=True)
""")
    assert (code, out) == (0, "2\n1\n2\n"), err


def test_the_end_of_the_process(daemon, directory):
    """No thread is left, nothing hangs, and a lease that was dropped is held until then."""
    code, out, err = script(directory, """
import atexit, threading
atexit.register(lambda: print([thread.name for thread in threading.enumerate()]))  # the first one is called last
import berth, subprocess, warnings
lease = berth.acquire("k")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    del lease
print([str(one.category.__name__) for one in caught])
print(berth.try_acquire("k"))
""")
    assert (code, out) == (0, "['ResourceWarning']\nNone\n['MainThread']\n"), err
    assert "Traceback" not in err and "unclosed" not in err
    asked_until(daemon, lambda now: now.held == 0)


# ---- many

def test_a_thousand_threads_share_one_connection(berthd, directory):
    daemon = berthd("max-waiters-per-user = 2000\n[semaphore s]\nlimit = 3\nmax-waiters = 2000\n")
    raw = daemon.client()
    assert raw.request("ping") == "ok"
    before = connections(daemon)
    seen = []

    def work():
        with client.acquire("s", wait=60) as lease:
            seen.append(lease.token)

    with berth.Client(str(directory / "s")) as client:
        threads = [threading.Thread(target=work) for _ in range(1000)]
        with client.acquire("s:3"):
            for thread in threads:
                thread.start()
            asked_until(daemon, lambda now: now.waiting == 1000)
            assert connections(daemon) - before in (1, 2)  # and the one that asks
        for thread in threads:
            thread.join(DEADLINE)
    assert len(set(seen)) == 1000
    assert status(raw).held == 0


def test_a_waiter_hands_over(holder, daemon, directory):
    """The one that reads for all of them gives up: another one does."""
    client = berth.Client(str(directory / "s"), keep=False)
    results = []

    def wait(seconds):
        try:
            results.append(client.acquire("k", wait=seconds))
        except berth.Timeout:
            results.append(None)

    threads = [threading.Thread(target=wait, args=(seconds,)) for seconds in (0.3, 60, 0.6)]
    for thread in threads:
        thread.start()
    threads[0].join(DEADLINE)
    threads[2].join(DEADLINE)
    assert results == [None, None]
    assert holder.request(f"release {holder.lease}") == "ok"
    threads[1].join(DEADLINE)
    results[2].release()
    client.close()

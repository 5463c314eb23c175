"""The library for Python: what the ten rules of doc/libraries.md say of ends, clocks and loops."""

import os
import select
import signal
import threading

import pytest

from daemon_help import held, in_child, status
from fake_berthd import boottime
from fleet_help import Clock
from library_help import berth, client, given_back, granted, script  # noqa: F401
from lines import DEADLINE, until
from lost_help import asked_until, restart

from berth import _core, _link
from berth._wire import Request

CONFIG = "grace = 2s\n[semaphore s]\nlimit = 3\n[lock k]\n"


# ---- (a) the lease is the object

def test_given_back_by_another_thread(daemon, client):
    lease = client.acquire("k")
    assert client.try_acquire("k") is None
    thread = threading.Thread(target=lease.release)
    thread.start()
    thread.join(DEADLINE)
    assert status(daemon.client()).held == 0
    client.acquire("k", wait=0).release()


# ---- (b) what it is bound to

def test_strict_is_stopped(daemon, directory):
    """As a job is, in the end by SIGKILL."""
    def child():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with berth.Client(str(directory / "s")) as own, own.acquire("k", strict=True, kill_after="100ms"):
            while True:
                signal.pause()

    pid = in_child(child)
    pidfd = os.pidfd_open(pid)
    lease, = asked_until(daemon, lambda now: now.held == 1).holders("k")
    assert daemon.client().request(f"revoke {lease}") == "ok"
    is_stopped = bool(select.select([pidfd], [], [], DEADLINE)[0])
    os.close(pidfd)
    if not is_stopped:
        os.kill(pid, signal.SIGKILL)
    how = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert is_stopped and how == -signal.SIGKILL
    asked_until(daemon, lambda now: now.held == 0)


# ---- (d) giving up

def test_a_grant_that_comes_too_late(fake, client):
    """berthd was silent until then."""
    result = []

    def ask():
        with pytest.raises(berth.Timeout) as error:
            client.acquire("r", wait=0.1)
        result.append(error.value.code)

    thread = threading.Thread(target=ask)
    thread.start()
    peer, words = fake.asked()
    peer.send("waiting 1 position=1\n")
    assert peer.line() == "release 1"
    peer.send("* granted 1 slot=r,5,0\nok\n")
    thread.join(DEADLINE)
    assert result == ["timeout"]
    until(lambda: not client._link.claims)


# ---- (e) a loss is told early

def test_what_is_lost_stays_lost(fake, client):
    """Whatever berthd says from then on."""
    lease, peer = granted(fake, client, f"* deadline 1 {boottime(20)} stop={boottime(0.1)}")
    told = []
    lease.on_lost(told.append)
    loss = lease.wait_lost(DEADLINE)
    peer.send(f"* deadline 1 {boottime(40)} stop={boottime(30)}\n")
    until(lambda: lease.stop_by > loss.stop_by)
    peer.close()
    peer, words = fake.asked()
    assert words[:2] == ["reclaim", "1"]
    peer.send("ok 1 slot=r,5,0\n* revoked 1 revoked by%20alice\n")
    until(lambda: not lease.away)
    assert lease.lost is loss and loss.code == "deadline"
    with pytest.raises(berth.Lost):
        lease.check()
    given_back(lease, peer)
    assert told == [loss]


# ---- (f) one time a call

@pytest.mark.parametrize("days", [365, -365])
def test_a_clock_that_somebody_sets(daemon, directory, days):
    """It neither shortens a wait nor makes it longer, of which the next berthd hears from us."""
    holder = daemon.client()
    held(holder, "acquire k")
    clock = Clock(directory / "clock")
    result = []
    thread = threading.Thread(target=lambda: result.append(script(directory, """
import berth, time
begun = time.monotonic()
try:
    berth.acquire("k", wait=1.5)
except TimeoutError:
    print(1.5 <= time.monotonic() - begun < 1.5 + 5)
""", **clock.environ)))
    thread.start()
    asked_until(daemon, lambda now: now.waiting == 1)
    clock.step(days * 86400)
    restart(daemon, "kill")
    thread.join(DEADLINE)
    assert result == [(0, "True\n", "")]


# ---- (g) a library is a guest

def test_it_prints_nothing(daemon, directory):
    """Of what goes well, and of errors that are raised; the rest goes to a logger, which is the program's."""
    text = """
import berth, logging, os
logging.getLogger("berth").addHandler(logging.NullHandler())
with berth.acquire("k") as lease:
    assert berth.try_acquire("k") is None
    for wait in 0, 0.1:
        try:
            berth.acquire("k", wait=wait)
        except berth.BerthError:
            pass
    if os.fork() == 0:
        try:
            lease.check()
        except berth.Forked:
            os._exit(0)
    assert os.wait()[1] == 0
    lease.on_lost(lambda loss: 1 / 0)
    with berth.acquire("s"):
        lease.wait_lost()
try:
    berth.Client("/nowhere/s", patience=0.1).acquire("k")
except berth.Down:
    pass
"""
    result = []
    thread = threading.Thread(target=lambda: result.append(script(directory, text, "-W", "error")))
    thread.start()
    lease, = asked_until(daemon, lambda now: now.held == 2).holders("k")
    assert daemon.client().request(f"revoke {lease}") == "ok"
    thread.join(DEADLINE)
    assert result == [(0, "", "")]


# ---- (h) any loop

def test_lines_without_io():
    """In pieces, and nothing but the lines: no descriptor is there."""
    assert not {"socket", "select", "threading", "asyncio"} & vars(_core).keys()
    core = _core.Core(patience=5.0)
    claim = _core.Claim(Request.of(("db:2",), False, (), ""), None)
    core.add(claim)
    assert not core.out
    core.connected()
    words = core.out.decode().split()
    assert words[:2] == ["acquire", "db:2"] and f"once={claim.once}" in words and core.out.endswith(b"\n")
    core.out.clear()
    for piece in (b"waiting L1 pos", b"ition=2\n* granted L1 slot", b"=db,7,0", b"-1\n"):
        assert not claim.is_decided()
        core.receive(piece)
    assert (claim.state, claim.lease, claim.units[0].slots) == (_core.HELD, "L1", (0, 1))
    core.give_back(claim)
    assert core.out == b"release L1\n" and not claim.is_ended()
    core.receive(b"ok\n")
    assert claim.is_ended() and not core.claims


def test_the_timeout_of_a_loop(fake, directory):
    """berthd is silent: what is due is due by timeout() alone."""
    client = berth.Client(str(directory / "s"), keep=False)
    pending = client.begin("r", wait=0.3)
    client.dispatch()
    peer, _ = fake.asked()
    peer.send("waiting 1 position=1\n")
    begun = boottime(0)
    with pytest.raises(berth.Timeout):
        while pending.lease() is None:
            poll = select.poll()
            poll.register(client.fileno(), client.events())
            poll.poll(min(client.timeout(), DEADLINE) * 1000)
            client.dispatch()
            assert boottime(0) - begun < DEADLINE * 1e9
    assert peer.line() == "release 1"
    peer.send("ok\n")
    client.close()


# ---- (i) reconnects

def test_pauses_grow(directory, monkeypatch):
    """Each is drawn from the upper half."""
    now = 1000.0
    monkeypatch.setattr(_link, "clock", lambda: now)
    monkeypatch.setattr(_core, "clock", lambda: now)
    link = _link.Link(str(directory / "nobody"), patience=1e6)
    link.add(_core.Claim(Request.of(("k",), False, (), ""), None))
    for longest in 0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0:
        pause = link.timeout()
        assert longest / 2 <= pause <= longest * 1.001
        now += pause + 0.001
        link.dispatch()

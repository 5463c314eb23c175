"""The journal is gone, cut, overwritten or of another version: living wrappers bring everything
back, and until they have had the time, nothing new is granted."""

import os

import pytest

from conftest import Berthd
from daemon_help import held, held_with_proof, refused, status
from lost_help import (  # fixtures among them
    WAITS, Crowd, all_back, all_free, asked_until, job, lose_the_journal, restart, scaled)
from witness import Witness

ROUNDS = 3
LIMIT, WAITING = 6, 4

# Longer than clients may take to come back: 1 s.
GRACE = "grace = 2s\n"


def delete(path, chance):
    path.unlink()


def fill(path, chance):
    path.write_bytes(chance.randbytes(path.stat().st_size))


def scribble(path, chance):
    """Somewhere among the records."""
    content = bytearray(path.read_bytes())
    at = chance.randrange(len(content))
    content[at:at + 64] = chance.randbytes(len(content[at:at + 64]))
    path.write_bytes(content)


def cut(path, chance):
    """To any length; half of the cuts are among the first records."""
    size = path.stat().st_size
    os.truncate(path, chance.randrange(min(size, 8192) if chance.random() < 0.5 else size))


DAMAGE = [delete, fill, scribble] + [cut] * 6


class Place:
    """A berthd with its own directory, wrappers, and witness."""

    def __init__(self, directory, berth):
        self.directory = directory
        directory.mkdir()
        self.daemon = Berthd(directory, f"{GRACE}[semaphore s]\nlimit = {LIMIT}\n")
        self.witness = Witness(directory)
        self.crowd = Crowd(berth, self.witness, directory / "said")

    def start(self, number):
        self.crowd.start(number, "-S", str(self.daemon.socket))

    def queue(self):
        return [int(waiter["pid"]) for waiter in status(self.daemon.client(), "s").resources["s"]["waiters"]]

    def end(self):
        self.witness.let_all_go()
        self.crowd.must_end_well()
        self.witness.check(LIMIT)
        self.daemon.stop()
        for client in self.daemon.clients:
            client.close()
        self.witness.close()


def test_the_journal_is_damaged(berth, directory, chance):
    """Three berthds for each 9 kinds of damage, all at a time. All waiters are served in turn."""
    damage = chance.sample(DAMAGE, len(DAMAGE)) * scaled(4)
    places = [Place(directory / str(i), berth) for i in range(len(damage) // ROUNDS)]
    for place in places:
        for number in range(LIMIT):
            place.start(number)
    for place in places:
        place.witness.wait_for_starts(LIMIT)
        for number in range(LIMIT, LIMIT + WAITING):
            place.start(number)
    queues = []
    for place in places:
        asked_until(place.daemon, lambda now: (now.held, now.waiting) == (LIMIT, WAITING))
        queues.append(place.queue())
    for _ in range(ROUNDS):
        for place in places:
            place.daemon.kill() if chance.random() < 0.5 else place.daemon.stop()
            kind = damage.pop()
            print(place.directory.name, kind.__name__)
            kind(place.daemon.journal, chance)
            place.daemon.start()
        for place in places:
            asked_until(place.daemon, all_back(LIMIT, WAITING))
            place.witness.check(LIMIT)
    for place, queue in zip(places, queues):
        assert len(place.witness.pids) == LIMIT
        place.witness.let_all_go()
    for place, queue in zip(places, queues):
        place.witness.wait_until(lambda: len(place.witness.ended) == LIMIT + WAITING)
        asked_until(place.daemon, all_free)
        served = [place.witness.pids[job] for job in place.witness.in_order_of_grant()]
        assert served[LIMIT:] == queue
        place.end()


def delete_and_damage_state(path, chance):
    """It is not the first start ever, though nothing can be read."""
    path.unlink()
    for state in (path.parent / "state").iterdir():
        state.write_bytes(b"damaged")


def test_the_limit_was_lowered(berthd, job, chance):
    """All jobs keep what they have; nobody else gets it."""
    daemon = berthd(f"{GRACE}[semaphore s]\nlimit = 2\n[pool p]\nitems = a b c d-with-the-longest-name\n")
    jobs = [job(what, script=WAITS) for what in ("s", "s", "p:4")]
    for line in ("limit s 1", "remove p d-with-the-longest-name"):
        assert daemon.client().request(line) == "ok"
    daemon.kill()
    delete(daemon.journal, chance)
    daemon.start()
    now = asked_until(daemon, lambda now: all_back(3, 0)(now) and now.grace is None)
    assert (now.resources["s"]["in_use"], now.resources["s"]["limit"]) == ("2", "1")
    assert now.resources["p"]["draining"] == "d-with-the-longest-name"
    assert refused(daemon.client(), "acquire s wait=0") == "would-wait"
    for one in jobs:
        one.answer()
        assert one.wait() == (0, "")


def test_two_losses_in_a_row(berthd, job, chance):
    """The first loses the secret of proofs, too: the wrapper has got a new proof."""
    daemon = berthd(f"{GRACE}[lock a]\n")
    one = job("a", script=WAITS)
    for damage in (delete_and_damage_state, delete):
        daemon.kill()
        damage(daemon.journal, chance)
        daemon.start()
        asked_until(daemon, all_back(1, 0))
    one.answer()
    assert one.wait() == (0, "")


@pytest.mark.parametrize("damage, said", [
    (delete, "the journal was lost or damaged"),
    (fill, "journal: not a journal, or damaged: replaced by a new one"),
    (delete_and_damage_state, "state: damaged: runtime changes are lost"),
], ids=["gone", "damaged", "all damaged"])
def test_nothing_is_granted_in_the_grace(berthd, chance, damage, said):
    """Not even what seems to be free: its holder may be about to come back."""
    daemon = berthd("grace = 1h\n[lock a]\n[lock b]\n[lock c]\n")
    first = daemon.client()
    lease, proof = held_with_proof(first, f"acquire a pid={os.getpid()}")
    daemon.kill()
    damage(daemon.journal, chance)
    daemon.start()
    assert said in daemon.log.read_text()
    client, late = daemon.client(), daemon.client()
    assert refused(client, "acquire a wait=0") == "grace"
    assert refused(client, "acquire b wait=0") == "grace"
    assert client.request("acquire a").startswith("waiting ")
    assert client.request("acquire b").startswith("waiting ")
    assert 0 < status(client).grace <= 3600000
    line = f"reclaim {lease} a:1:0 pid={os.getpid()} {proof}"
    assert late.request(line).startswith(f"ok {lease} slot=a,")
    assert status(client).holders("a") == [lease]


def test_the_grace_ends(berthd, chance):
    """... by itself: then the waiters are served, in order."""
    daemon = berthd("grace = 2s\n[lock a]\n[lock b]\n")
    held(daemon.client(), "acquire a")
    lose_the_journal(daemon)
    clients = [daemon.client() for _ in range(3)]
    leases = [client.request("acquire a b").split()[1] for client in clients]
    for client, lease in zip(clients, leases):
        assert client.line().startswith(f"* granted {lease} slot=a,")
        client.close()


def test_the_grace_ends_early(berthd):
    """The journal is whole: when all lease holders are back, nobody else needs to wait."""
    daemon = berthd("grace = 1h\n[semaphore s]\nlimit = 2\n")
    client = daemon.client()
    leases = [held(client, "acquire s"), held(client, "acquire s")]
    restart(daemon, "kill")
    client, other = daemon.client(), daemon.client()
    other.send("acquire s\n")
    waiting = other.line().split()[1]
    assert client.request(f"reclaim {leases[0]} s:1:0").startswith("ok ")
    assert client.request(f"reclaim {leases[1]} s:1:1").startswith("ok ")
    assert client.request(f"release {leases[0]}") == "ok"
    assert other.line().startswith(f"* granted {waiting} ")


def test_an_absent_client_loses_its_lease(berthd):
    """A lease that is bound to a connection, and a waiter: kept for the grace, no longer."""
    daemon = berthd("grace = 2s\n[lock a]\n")
    client = daemon.client()
    lease = held(client, "acquire a")
    waiting = client.request("acquire a").split()[1]
    restart(daemon, "kill")
    now = status(daemon.client())
    assert (now.holders("a"), now.waiters("a")) == ([lease], [waiting])
    asked_until(daemon, all_free)
    late = daemon.client()
    assert refused(late, f"reclaim {lease} a:1:0") == "lost"
    assert refused(late, f"reclaim {waiting} a:1") == "lost"


def test_an_absent_waiter_is_not_overtaken(berthd):
    """Later requests wait until it is back or the grace is over."""
    daemon = berthd("grace = 1h\n[lock a]\n")
    client, waiter = daemon.client(), daemon.client()
    lease = held(client, "acquire a")
    waiting = waiter.request("acquire a").split()[1]
    restart(daemon, "stop")
    client, waiter, other = daemon.client(), daemon.client(), daemon.client()
    assert client.request(f"reclaim {lease} a:1:0").startswith("ok ")
    assert refused(other, "acquire a wait=0") == "would-wait"
    late = other.request("acquire a").split()[1]
    assert client.request(f"release {lease}") == "ok"
    now = status(client)
    assert (now.holders("a"), now.waiters("a")) == ([], [waiting, late])
    answer = waiter.request(f"reclaim {waiting} a:1")
    if answer.startswith("waiting"):
        answer = waiter.line()
    assert waiting in answer and "slot=a," in answer
    assert waiter.request(f"release {waiting}") == "ok"
    assert other.line().startswith(f"* granted {late} ")

"""`watch`: a snapshot, then what changes, in order and at once; who sees what; slow readers."""

import socket
from copy import deepcopy

from daemon_help import (
    code, connect_as, event, held, is_quiet, needs_root, refused, resident, SANITIZED, status, stopped, waits)
from lost_help import asked_until, sleeper
from watch_help import Copy, told_by_status

CONFIG = """grace = 60s
max-requests-per-second-per-user = 1000000
[lock deploy]
[semaphore pair]
limit = 2
[semaphore few]
limit = 4
max-units-per-user = 2
max-priority = 9
[semaphore rests]
limit = 1
cooldown = 1ms
[pool gpus]
items = a b c
[semaphore market/*]
limit = 3
"""


def copy_of(daemon, request="watch"):
    return Copy(daemon.client(), request)


# ---- what is told

def test_a_snapshot_first(daemon, client):
    held(client, "acquire deploy market/x")
    waits(client, "acquire deploy pair reason=later")
    client.request("pause gpus reason=broken")
    copy = copy_of(daemon)
    assert copy.shown() == told_by_status(client)
    assert copy.said[0] == "snapshot" and copy.snapshots == 1
    assert list(copy.resources) == [line.split(" ")[1] for line in client.lines("status")
                                    if line.startswith("resource ")]


def test_an_empty_file(berthd):
    copy = copy_of(berthd(""))
    assert copy.said == ["snapshot", "end"]


# Each is told at once; `{lease}` is the one that holds deploy, `{waiter}` waits for it.
CHANGES = [
    "acquire pair", "acquire market/x:2 market/y", "acquire deploy", "acquire deploy pair wait=1h reason=r%20s",
    "acquire pair ttl=1h", "release {lease}", "cancel {waiter}", "revoke {waiter}", "drop {lease}", "drop {timed}",
    "revoke {lease}", "renew {timed} ttl=2h", "bind {lease} pid={pid}",
    "limit pair 7", "limit market/* 1", "limit deploy 0", "pause deploy", "pause pair reason=x", "pause market/*",
    "pause market/new", "add gpus d", "remove gpus a", "reserve gpus b reason=hot", "reserve pair 1",
    "drain", "acquire rests wait=0",
]


def test_each_change_is_told(daemon):
    operator = daemon.client()
    for change in CHANGES:
        client, other = daemon.client(), daemon.client()
        with sleeper() as pid:
            words = {
                "lease": held(client, "acquire deploy"), "waiter": waits(client, "acquire deploy"),
                "timed": held(client, "acquire pair ttl=1h"), "pid": pid}
            copy = copy_of(daemon)
            before = deepcopy(copy.shown())
            assert not other.request(change.format(**words)).startswith("error"), change
            copy.take()
            assert copy.snapshots == 1, change
            copy.catches_up(operator)
            assert copy.shown() != before or "renew" in change or "rests" in change
        for one in client, other, copy.client:
            one.close()
        for undo in (*(f"drop {lease}" for lease, _ in copy.leases), "undrain", "reset pair", "reset market/*",
                     "reset market/new", "reset deploy", "reset gpus"):
            operator.request(undo)
        asked_until(daemon, lambda now: now.held == now.waiting == 0)


def test_undone_changes(daemon, client):
    waiting = daemon.client()
    copy = copy_of(daemon)
    for one, another in (("pause pair", "resume pair"), ("pause market/*", "resume market/*"),
                         ("drain", "undrain"), ("limit pair 1", "reset pair"), ("reserve gpus a", "add gpus a"),
                         ("limit pair 0", "limit pair 2"), ("remove gpus a", "add gpus a")):
        client.request(one)
        waits(waiting, "acquire pair:2 gpus:3 market/x") if one != "drain" else waits(waiting, "acquire deploy")
        copy.catches_up(client)
        client.request(another)
        assert event(waiting)[0] == "granted"
        copy.catches_up(client)
        waiting.close()
        waiting = daemon.client()
        copy.catches_up(client)
    assert copy.snapshots == 1


def test_another_reason_to_wait(daemon, client):
    held(client, "acquire few:2")
    lease = waits(client, "acquire few pair")
    copy = copy_of(daemon)
    assert copy.leases[lease, "few"][1]["blocked"] == "quota"
    for change, why, blocker in (("pause few", "other", "few"), ("pause pair", "other", "few"),
                                 ("resume few", "other", "pair"), ("resume pair", "quota", None)):
        client.request(change)
        copy.catches_up(client)
        words = copy.leases[lease, "few"][1]
        assert (words["blocked"], words.get("blocker")) == (why, blocker), change


def test_clients_that_go_and_come_back(daemon, client):
    copy = copy_of(daemon)
    with sleeper() as pid:
        first = daemon.client()
        lease = held(first, f"acquire deploy pid={pid}")
        copy.catches_up(client)
        first.close()
        copy.take()
        assert copy.leases[lease, "deploy"][1]["away"] == "1"
        copy.catches_up(client)
        assert daemon.client().request(f"reclaim {lease} deploy:1").startswith("ok ")
        copy.take()
        assert "away" not in copy.leases[lease, "deploy"][1]
        copy.catches_up(client)


def test_the_order_of_a_queue(daemon, client):
    held(client, "acquire few:2")
    copy = copy_of(daemon)
    leases = [waits(client, f"acquire few:2 priority={priority}") for priority in (0, 5, 0, 9, 5, -3)]
    copy.catches_up(client)
    assert copy.queue("few") == [leases[i] for i in (3, 1, 4, 0, 2, 5)] == status(client, "few").waiters("few")


def test_a_waiter_says_only_its_own_change(daemon):
    """The first of a long queue goes: no other waiter's line comes again."""
    client, queue = daemon.client(), daemon.client()
    lease = held(client, "acquire deploy")
    waiters = [waits(queue, "acquire deploy") for _ in range(50)]
    copy = copy_of(daemon)
    client.request(f"release {lease}")
    copy.catches_up(client)
    assert not [line for line in copy.said if line.startswith("waiter ")]
    assert [line.split(" ")[1] for line in copy.said if line.startswith("holder ")] == waiters[:1]


def test_changes_of_one_turn_are_one_batch(daemon, client):
    """A turn may end before the last request: what takes long goes on in the next one."""
    copy, n_batches = copy_of(daemon), 0
    with stopped(daemon):
        client.send("acquire pair\n" * 2 + "acquire gpus\n" * 3)
    assert [client.line().split(" ")[0] for _ in range(5)] == ["ok"] * 5
    while len(copy.leases) < 5:
        copy.take()
        n_batches += 1
    assert n_batches < 5 and copy.shown() == told_by_status(client)


def test_a_lease_that_comes_and_goes_at_once(daemon, client):
    copy = copy_of(daemon, "watch ended=1")
    for _ in range(10):
        client.request("acquire market/x")
        client.request("release market/x")  # of which it is no lock
        client.close()
        client = daemon.client()
        copy.catches_up(client)
    assert copy.leases == {} and "market/x" not in copy.resources


# ---- leases that are over

def test_ended_leases(daemon, client):
    held(client, "acquire pair ttl=1ms")
    assert event(client)[0] == "expired"
    copy = copy_of(daemon, "watch ended=1")
    assert copy.over == []
    lease = held(client, "acquire deploy program=make")
    late = waits(client, "acquire deploy wait=1ms")
    assert event(client)[0] == "denied"
    client.request(f"release {lease} exit=3")
    while len(copy.over) < 2:
        copy.take()
    lines = client.lines("history")
    assert [line for line in copy.said if line.startswith("ended ")][-1] == lines[-2]
    assert [entry for entry, _ in copy.over] == [late, lease]
    assert copy.over[0][1]["how"] == "timeout" and copy.over[1][1]["exit"] == "3"
    assert copy.missed == 0


def test_no_ended_lines_unless_asked_for(daemon, client):
    copies = copy_of(daemon, "watch"), copy_of(daemon, "watch ended=0")
    client.request(f"release {held(client, 'acquire deploy')}")
    held(client, "acquire pair")
    for copy in copies:
        copy.catches_up(client)
        assert copy.over == []


# ---- the connection

def test_refused_requests(client):
    for request in ("watch ended=2", "watch ended=", "watch ended=yes"):
        assert refused(client, request) == "bad-value"
    assert refused(client, "watch deploy") == "malformed"
    assert refused(client, "watch wait=1") == "unknown-key"
    assert is_quiet(client)


def test_nothing_else_on_a_connection_that_follows(daemon):
    copy = copy_of(daemon)
    for request in ("ping", "watch", "acquire deploy", "nonsense", "x" * 5000):
        assert refused(copy.client, request) in ("state", "too-long")
    client = daemon.client()
    held(client, "acquire deploy")
    copy.take()
    assert copy.shown() == told_by_status(client)


def test_requests_sent_before_and_with_it(daemon):
    """Answers and events stand before its first line, or between two batches."""
    other = daemon.client()
    lease = held(other, "acquire deploy")
    client = daemon.client()
    client.send("ping\nacquire deploy\nwatch\nping\n")
    assert client.line() == "ok"
    waiting = client.line().split(" ")[1]
    lines = client.rest_of_lines()
    assert lines[0].startswith("ok draining=") and lines[-1] == "end"
    assert code(client.line()) == "state"
    other.request(f"release {lease}")
    seen = [client.line() for _ in range(6)]
    assert seen.count("end") == 1 and len([line for line in seen if line.startswith("* granted " + waiting)]) == 1
    assert "end" in (seen[-1], seen[-2])


def test_a_half_close_ends_it(daemon):
    copy = copy_of(daemon)
    copy.client.socket.shutdown(socket.SHUT_WR)
    assert copy.client.ended()
    copy = copy_of(daemon)
    copy.client.close()
    held(daemon.client(), "acquire deploy")
    assert daemon.client().request("ping") == "ok"


def test_a_reload(daemon, client):
    """Everything may be different: a fresh snapshot, in the new order."""
    held(client, "acquire pair")
    held(client, "acquire gpus")
    copy = copy_of(daemon)
    daemon.configure("[semaphore new/*]\nlimit = 1\n[semaphore first]\nlimit = 1\n[semaphore pair]\nlimit = 9\n")
    assert client.request("reload").startswith("ok")
    copy.take()
    assert copy.said[0] == "snapshot"
    copy.catches_up(client)
    assert list(copy.resources)[:2] == ["first", "pair"]
    assert copy.resources["gpus"]["removed"] == "1"
    client.close()
    copy.catches_up(daemon.client())
    assert set(copy.resources) == {"first", "pair"}


def test_a_restart(daemon):
    with sleeper() as pid:
        lease = held(daemon.client(), f"acquire deploy pid={pid}")
        waits(daemon.client(), "acquire deploy")
        copy = copy_of(daemon)
        daemon.stop()
        while line := copy.client.line():
            assert not line.startswith("gone " + lease)
        daemon.start()
        copy = copy_of(daemon)
        assert copy.leases[lease, "deploy"][0] == "holder" and copy.host["waiting"] == "1"
        copy.catches_up(daemon.client())
        daemon.kill()
        assert copy.client.ended()
        daemon.start()
        copy_of(daemon).catches_up(daemon.client())


# ---- who sees what

ANNA, BERT, DORA, EMIL = 60001, 60002, 60004, 60005
SHOWN = f"""admin-users = {DORA}
view-users = {EMIL}
[semaphore open]
limit = 2
[semaphore shut]
limit = 2
show-commands = owner
"""


@needs_root
def test_each_viewer_sees_what_status_shows(berthd):
    daemon = berthd(SHOWN)
    copies = {uid: Copy(connect_as(daemon, uid), "watch ended=1") for uid in (ANNA, BERT, DORA, EMIL)}
    anna = connect_as(daemon, ANNA)
    leases = [held(anna, "acquire shut program=theirs"), held(anna, "acquire open program=theirs"),
              held(anna, "acquire shut open program=theirs"), waits(anna, "acquire shut program=theirs")]
    for uid, copy in copies.items():
        copy.catches_up(connect_as(daemon, uid))
        shows = {lease for (lease, _), (_, words) in copy.leases.items() if words.get("program") == "theirs"}
        assert shows == (set(leases) if uid != BERT else {leases[1]}), uid
    for lease in leases:
        anna.request(f"release {lease}")
    for uid, copy in copies.items():
        copy.catches_up(connect_as(daemon, uid))
        while len(copy.over) < 4:
            copy.take()
        shows = {lease for lease, words in copy.over if words.get("program") == "theirs"}
        assert shows == (set(leases) if uid != BERT else {leases[1]}), uid


@needs_root
def test_a_reload_hides(berthd):
    daemon = berthd(SHOWN)
    anna = connect_as(daemon, ANNA)
    lease = held(anna, "acquire open program=theirs")
    copy = Copy(connect_as(daemon, BERT))
    assert copy.leases[lease, "open"][1]["program"] == "theirs"
    daemon.configure(SHOWN.replace("[semaphore open]\n", "[semaphore open]\nshow-commands = owner\n"))
    assert daemon.client().request("reload").startswith("ok")
    copy.take()
    assert copy.leases[lease, "open"][1]["hidden"] == "1"


# ---- slow readers

def acquire_and_release(client, n):
    """So many leases, one after the other, as fast as the daemon takes the lines."""
    chunk = 200
    for _ in range(n // chunk):
        client.send("acquire deploy holder=me\nrelease deploy holder=me\n" * chunk)
        for _ in range(2 * chunk):
            assert client.line().startswith("ok")


def test_a_slow_reader_gets_a_fresh_snapshot(berthd):
    """It does not read; nothing waits for it but what it cannot take at once. What it missed of the
    ended leases is said, as the history has forgotten them."""
    daemon = berthd("history = 64K\n" + CONFIG)
    client = daemon.client()
    quick, slow = copy_of(daemon, "watch ended=1"), copy_of(daemon, "watch ended=1")
    last = held(client, "acquire pair reason=stays")
    for n in range(1, 91):
        acquire_and_release(client, 200)
        while len(quick.over) < 200 * n:
            quick.take()
    assert quick.snapshots == 1 and quick.missed == 0
    while slow.over[-1:] != quick.over[-1:] or slow.snapshots < 2:  # the batch under way may end first
        slow.take()
    slow.catches_up(client)
    assert slow.snapshots == 2 and slow.missed >= 1
    assert slow.leases[last, "pair"][0] == "holder"
    assert len(slow.over) < len(quick.over)


def test_followers_that_do_not_read(berthd):
    """What berthd keeps for them is bounded, and others are served. All that they have not heard would be 20 MB:
    the one who reads gets a batch of each change."""
    daemon = berthd(CONFIG)
    client = daemon.client()
    reader, idle = copy_of(daemon), [copy_of(daemon) for _ in range(20)]
    n = 60

    def changes(rounds):
        for _ in range(rounds):
            crowd = daemon.client()
            crowd.send("acquire pair\n" * n)
            reader.take_until(lambda copy: len(copy.leases) == n)
            crowd.close()
            reader.take_until(lambda copy: not copy.leases)

    changes(20)
    before = resident(daemon)
    changes(80)
    assert SANITIZED or resident(daemon) - before < 4 << 20
    held(client, "acquire pair")
    for copy in idle:
        copy.catches_up(client)


# ---- at random

NAMES = ("deploy", "pair", "few", "rests", "gpus", "market/x", "market/y")


class Crowd:
    """Clients that do anything."""

    def __init__(self, daemon, chance, pid):
        self.daemon, self.chance, self.pid = daemon, chance, pid
        self.operator = daemon.client()
        self.clients = [daemon.client() for _ in range(4)]
        self.leases = []

    def acquires(self):
        names = self.chance.sample(NAMES, self.chance.choice((1, 1, 1, 2, 3)))
        wants = " ".join(f"{name}:{self.chance.choice((1, 1, 1, 2))}" for name in names if name != "deploy") or "deploy"
        keys = self.chance.choice(("", "", " wait=0", " wait=5ms", " ttl=20ms", " ttl=1h", f" pid={self.pid}",
                                   " priority=-5", " reason=a%20b", " on_lost=warn"))
        client = self.chance.choice(self.clients)
        client.send(f"acquire {wants}{keys}\nping\n")
        while (line := client.line()) != "ok":
            word, lease, *_ = line.split(" ")
            if word in ("ok", "waiting"):
                self.leases.append(lease)

    def does_something_to_a_lease(self):
        lease = self.chance.choice(self.leases or ["1"])
        self.operator.request(self.chance.choice((
            f"release {lease}", f"release {lease}", f"release {lease}", f"cancel {lease}", f"revoke {lease}",
            f"drop {lease}", f"renew {lease}", f"bind {lease} pid={self.pid}")))

    def operates(self):
        name, pool = self.chance.choice((*NAMES, "market/*")), "gpus"
        self.operator.request(self.chance.choice((
            f"pause {name} reason=r", f"resume {name}", f"limit {name} {self.chance.randint(0, 4)}", f"reset {name}",
            f"add {pool} {self.chance.choice('abcd')}", f"remove {pool} {self.chance.choice('abcd')}",
            f"reserve {pool} {self.chance.choice('abcd')} reason=hot", "reserve pair 1", "drain", "undrain",
            "undrain", f"resume {name}", f"reset {name}")))

    def comes_and_goes(self):
        place = self.chance.randrange(len(self.clients))
        self.clients[place].close()
        self.clients[place] = self.daemon.client()

    def step(self):
        self.chance.choice((self.acquires,) * 6 + (self.does_something_to_a_lease,) * 4 +
                           (self.operates,) * 2 + (self.comes_and_goes,))()


def test_a_copy_is_what_status_says_at_random(berthd, chance):
    daemon = berthd(CONFIG.replace("[semaphore pair]", "[semaphore pair]\norder = first-fit"))
    with sleeper() as pid:
        crowd = Crowd(daemon, chance, pid)
        copy, late = copy_of(daemon, "watch ended=1"), copy_of(daemon)
        for step in range(400):
            crowd.step()
            copy.catches_up(crowd.operator)
            if step % 50 == 49:
                late.catches_up(crowd.operator)
                assert Copy(daemon.client()).catches_up(crowd.operator).batches <= 3
        assert copy.snapshots == 1 and copy.missed == 0
        assert len({lease for lease, _ in copy.over}) == len(copy.over)

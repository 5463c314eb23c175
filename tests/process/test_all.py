"""All of a resource for one (`NAME:all`), and a lock that can be shared (`shared`), in both scopes."""

import json

import pytest

from daemon_help import event, held, held_with_proof, is_quiet, refused, shown, waits
from fleet_help import end_grace, hosts, needs_redis  # noqa: F401
from fleet_ops_help import client_of, fleet, gets, gets_in_time, queues
from library_help import berth as library, client  # noqa: F401
from lost_help import WAITS, all_back, asked_until, job, restart, sleeper  # noqa: F401
from scripts_help import Claim, definition, list_row, ok
from scripts_help import clock, redis_server, world  # noqa: F401

CONFIG = """grace = 2s
[lock x]
shared = 100
[lock plain]
[semaphore s]
limit = 4
[semaphore quota]
limit = 4
max-units-per-user = 4
[semaphore rests]
limit = 2
cooldown = 300ms
[pool p]
items = a b c
"""
FLEET = """
[lock x]
scope = fleet
shared = 100
[semaphore s]
scope = fleet
limit = 4
[semaphore quota]
scope = fleet
limit = 4
max-units-per-user = 4
[semaphore rests]
scope = fleet
limit = 2
cooldown = 300ms
[pool p]
scope = fleet
items = a b c
"""


@pytest.fixture
def daemon(berthd):
    return berthd(CONFIG)


def release(client, lease):
    assert client.request(f"release {lease}") == "ok"


def granted(client, lease):
    assert event(client)[:2] == ("granted", lease)


# ---- one host

def test_alone_or_with_others(daemon):
    """Shares go together, all goes alone, in the order of the queue; and not while units rest."""
    one, two, three, four = (daemon.client() for _ in range(4))
    shares = [held(client, "acquire x:shared") for client in (one, two)]
    alone = waits(three, "acquire x", 1)
    later = waits(four, "acquire x:shared", 2)
    release(one, shares[0])
    assert is_quiet(three) and is_quiet(four)
    release(two, shares[1])
    granted(three, alone)
    assert is_quiet(four)
    resource = shown(one, "x")
    assert (resource["limit"], resource["in_use"], resource["free"]) == ("100", "1", "0")
    assert [holder.get("all") for holder in resource["holders"]] == ["1"]
    release(three, alone)
    granted(four, later)
    assert "all" not in shown(one, "x")["holders"][0]
    for name in ("s", "p"):
        unit = held(one, f"acquire {name}")
        all_of_it = waits(two, f"acquire {name}:all", 1)
        release(one, unit)
        granted(two, all_of_it)
        assert refused(three, f"acquire {name} wait=0") == "would-wait"
        release(two, all_of_it)
    rests = held(one, "acquire rests")
    release(one, rests)
    assert refused(two, "acquire rests:all wait=0") == "would-wait"
    granted(two, waits(two, "acquire rests:all"))


def test_whatever_the_limit_becomes(daemon):
    client, other = daemon.client(), daemon.client()
    for name in ("s", "p"):
        reserved = "3" if name == "s" else "c"
        assert client.request(f"reserve {name} {reserved}") == "ok"
        lease = held(client, f"acquire {name}:all")
        for change in (["limit s 2", "limit s 400"] if name == "s" else ["add p d", "remove p a"]):
            assert client.request(change).startswith("ok")
            assert shown(other, name)["free"] == "0"
            assert refused(other, f"acquire {name} wait=0") == "would-wait"
        daemon.configure(CONFIG.replace("limit = 4", "limit = 7"))
        assert client.request("reload").startswith("ok")
        assert refused(other, f"acquire {name} wait=0") == "would-wait"
        release(client, lease)
        held(other, f"acquire {name}:2")


def test_small_requests_without_end_do_not_starve_it(daemon):
    """It waits for two resources: all of one is kept for it, then nobody passes it at the other."""
    wants, small = daemon.client(), [daemon.client() for _ in range(5)]
    share, unit = held(small[0], "acquire x:shared"), held(small[1], "acquire s")
    lease = waits(wants, "acquire x:all s:all", 1)
    other_share = held(small[2], "acquire x:shared")  # it needs s first
    behind = waits(small[3], "acquire s", 2)
    release(small[1], unit)
    assert is_quiet(small[3]) and shown(wants, "s")["kept"] == shown(wants, "s")["free"] == "4"
    last = waits(small[4], "acquire x:shared", 2)
    release(small[0], share)
    release(small[2], other_share)
    granted(wants, lease)
    assert is_quiet(small[3]) and is_quiet(small[4])
    release(wants, lease)
    granted(small[3], behind)
    granted(small[4], last)


def test_what_is_refused(daemon):
    client = daemon.client()
    for request, code in (("quota:all", "impossible"), ("x:2", "impossible"), ("x:shared:1", "bad-value"),
                          ("plain:all", None), ("plain:shared", None), ("s:shared", None)):
        if code:
            assert refused(client, f"acquire {request} wait=0") == code
        else:
            release(client, held(client, f"acquire {request} wait=0"))
    for above, below in (("s", "s:all"), ("s:all", "s"), ("x:shared", "x"), ("x", "x:shared"), ("p:all", "p:all")):
        parent = held(client, f"acquire {above}")
        assert refused(client, f"acquire {below} parent={parent}") == "ancestor"
        release(client, parent)


def test_shares_of_one_who_has_all(daemon):
    """Each job under the lease may use it; under a share of the lock, no job gets the lock alone."""
    client, other = daemon.client(), daemon.client()
    for above, shares in (("s:all", ("s:all", "s")), ("x", ("x", "x:shared"))):
        parent = held(client, f"acquire {above}")
        below = [held(client, f"acquire {name} parent={parent} nested=share") for name in shares]
        assert refused(other, f"acquire {above} wait=0") == "would-wait"
        for lease in below + [parent]:
            release(client, lease)
    parent = held(client, "acquire x:shared")
    refusal = client.request(f"acquire x parent={parent} nested=share")
    assert refusal.startswith("error impossible ") and "only%20a%20part" in refusal.replace(" ", "%20")


def test_over_a_restart_and_a_lost_journal(daemon, job):
    """The wrapper proves that it has all; a share proves no more than a share."""
    alone = job("s:all", script=WAITS)
    share = job("--shared", "x", script=WAITS)
    lock = job("plain", script=WAITS)
    for lose in (False, True):
        if lose:
            daemon.kill()
            daemon.journal.unlink()
            daemon.start()
        else:
            restart(daemon, "kill")
        asked_until(daemon, lambda now: all_back(3, 0)(now) and now.grace is None)
        client = daemon.client()
        assert shown(client, "s")["holders"][0]["all"] == "1"
        assert refused(client, "acquire s wait=0") == "would-wait"
        assert refused(client, "acquire x wait=0") == "would-wait"
        release(client, held(client, "acquire x:shared wait=0"))
    for one in (alone, share, lock):
        one.answer()
        assert one.wait() == (0, "")


def test_a_proof_is_of_what_was_held(daemon):
    """With it, a share does not become all, nor all a share."""
    with sleeper() as pid:
        client = daemon.client()
        share, its_proof = held_with_proof(client, f"acquire x:shared pid={pid}")
        alone, other_proof = held_with_proof(client, f"acquire s:all pid={pid}")
        daemon.kill()
        daemon.journal.unlink()
        daemon.start()
        client = daemon.client()
        assert refused(client, f"reclaim {share} x:all:0 pid={pid} {its_proof}") == "lost"
        assert refused(client, f"reclaim {alone} s:1:0 pid={pid} {other_proof}") == "lost"
        assert client.request(f"reclaim {share} x:shared:0 pid={pid} {its_proof}").startswith("ok ")
        assert client.request(f"reclaim {alone} s:all:0 pid={pid} {other_proof}").startswith("ok ")


def test_the_wrapper_and_what_is_shown(daemon, berth, berthctl):
    holder, waiter = daemon.client(), daemon.client()
    held(holder, "acquire x reason=backup")
    waits(waiter, "acquire x:all")
    socket = ("-S", str(daemon.socket))
    refusal = berth("run", *socket, "-n", "--shared", "x", "--", "true")
    assert refusal.returncode == 75 and "x: all of it held by pid" in refusal.stderr
    why = berthctl(*socket, "why", "x:all").stdout
    assert "a request for x:all would wait, at place 2" in why and "all of x is held" in why
    assert "has held all of x for" in why and "wants all of it" in why
    table = berthctl(*socket, "status", "x").stdout
    assert "slot 0 (all)" in table and "wants all" in table
    resource, = json.loads(berthctl(*socket, "status", "--json", "x").stdout)["resources"]
    assert [one["all"] for one in resource["holders"] + resource["waiters"]] == [True, True]
    quota = berth("run", *socket, "quota:all", "--", "true")
    assert quota.returncode == 78 and "all of it wanted, and one user may have 4" in quota.stderr


def test_what_refusals_say(daemon, berth, berthctl):
    """A share that is refused because of who waits; a limit that the lock cannot have."""
    socket = ("-S", str(daemon.socket))
    held(daemon.client(), "acquire x:shared")
    waits(daemon.client(), "acquire x", 1)
    refusal = berth("run", *socket, "-n", "--shared", "x", "--", "true")
    assert refusal.returncode == 75 and "x: 1 of 100 held by pid" in refusal.stderr
    assert "; 1 waiting (would-wait)" in refusal.stderr
    assert berthctl(*socket, "limit", "x", "101").stderr.startswith(
        "berthctl: limit: x: a lock's limit is at most 1, or what shared says;")
    assert berthctl(*socket, "limit", "x", "99").returncode == 0


def test_the_library(daemon, client):
    """It takes its lease back as what it was."""
    with client.acquire("x:shared"), client.acquire("s:all") as lease:
        assert lease.slots == (0,) and len(shown(daemon.client(), "x")["holders"]) == 1
        restart(daemon, "kill")
        asked_until(daemon, all_back(2, 0))
        assert refused(daemon.client(), "acquire s wait=0") == "would-wait"
        assert daemon.client().request("acquire x:shared wait=0").startswith("ok ")
        with pytest.raises(library.NotFree):
            client.acquire("x", wait=0)
    with pytest.raises(ValueError):
        client.acquire("x:both")


# ---- a fleet

def granted_at_last(client, lease):
    """A client of a fleet may hear of its place before."""
    while (found := event(client))[0] == "waiting":
        pass
    assert found[:2] == ("granted", lease)


@needs_redis
def test_over_hosts(redis_server, hosts):
    pair = fleet(redis_server, hosts, text=FLEET)
    one, two = map(client_of, pair)
    look = client_of(pair[1])  # hears of no places
    share = gets(one, "acquire x:shared")
    other_share = gets(two, "acquire x:shared")
    alone = queues(one, "acquire x")
    later = queues(two, "acquire x:shared")
    release(one, share)
    assert {holder.get("all") for holder in shown(look, "x")["holders"]} == {None}
    release(two, other_share)
    granted_at_last(one, alone)
    resource = shown(look, "x")
    assert (resource["in_use"], resource["free"]) == ("1", "0")
    assert resource["holders"][0]["all"] == "1" and "all" not in resource["waiters"][0]
    assert one.request("limit x 50") == "ok" and len(shown(look, "x")["waiters"]) == 1
    release(one, alone)
    granted_at_last(two, later)
    lease = gets(one, "acquire p:all s:all")
    assert one.request("limit s 40") == "ok" and one.request("add p d").startswith("ok")
    for name in ("s", "p"):
        waiting, answer = two.request(f"acquire {name} wait=0").split()[1], two.line()
        assert answer.startswith(f"* denied {waiting} would-wait"), answer
    for request, code in (("s parent=" + lease, "ancestor"), ("quota:all", "impossible")):
        assert code in " ".join((one.request(f"acquire {request}"), one.line() if code == "ancestor" else ""))
    release(one, lease)
    gets_in_time(two, "acquire s:2 p:2")


@needs_redis
def test_why_all_is_not_free(redis_server, hosts, berthctl):
    """Beside units that will not be free again: one is reserved, one out of service."""
    host, = fleet(redis_server, hosts, n=1, text=FLEET)
    client = client_of(host)
    gets(client, "acquire s")
    gets(client, "acquire p")
    item = shown(client, "p")["holders"][0]["units"]
    assert client.request("reserve s 0") == "ok" and client.request(f"remove p {item}") == "ok"
    for name in ("s", "p"):
        said = berthctl("-S", str(host.socket), "why", f"{name}:all").stdout
        assert f"a request for {name}:all would wait" in said, said


@needs_redis
def test_over_a_database_that_has_lost_its_data(redis_server, hosts):
    pair = fleet(redis_server, hosts, text=FLEET)
    one, two = map(client_of, pair)
    look = client_of(pair[1])  # hears of no places
    with sleeper() as pid:
        gets(one, f"acquire s:all pid={pid}")
        waiting = queues(two, "acquire s")
        pair[0].restart()
        redis_server.do("FLUSHALL")
        asked_until(pair[1], lambda now: (now.resources["s"]["in_use"], now.resources["s"]["waiting"]) == ("1", "1"))
        end_grace(redis_server)
        asked_until(pair[1], lambda now: "grace_until" not in now.databases["default"])
        assert shown(look, "s")["free"] == "0"
        assert shown(look, "s")["holders"][0]["all"] == "1"
        assert shown(look, "s")["waiters"][0]["lease"].endswith(waiting)


# ---- the scripts

ALL = "pid=1 all=a"


@needs_redis
def test_one_that_has_all_comes_back_alone(world):
    """Of two that list what only one of them can have, the later grant has it."""
    a, b = world.several(2, {"a": definition(limit=9)})
    for first_info, later_info in ((ALL, "pid=1"), ("pid=1", ALL)):
        first, later = ((Claim("a", 1, world.database.client.hincrby(world.database.key["db"], "number", 1), (unit,)),)
                        for unit in "37")
        world.database.client.flushall()
        listed = a.hello({"a": definition(limit=9)}, [list_row("1", "held", first, info=first_info)])
        assert listed["1"][0] == "held"
        listed = b.hello({"a": definition(limit=9)}, [list_row("1", "held", later, info=later_info)])
        assert listed["1"][0] == "held"
        world.end_grace(a, b)
        assert world.check().holding() == {b.key("1")}
        ok(b.release("1"))


@needs_redis
def test_units_that_rest(world):
    a, = world.several(1, {"a": definition(limit=9, cooldown=1000)})
    a.acquire("1", "a")
    ok(a.release("1"))
    assert a.acquire("2", "a", info=ALL).word == "waiting"
    world.pass_time(1001)
    assert list(a.granted()) == ["2"]
    assert a.acquire("3", "a", nowait=True).code == "would-wait"

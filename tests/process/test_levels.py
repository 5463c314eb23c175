"""Levels (`also`): who takes units of a resource takes those of its levels, named or not; in both scopes."""

import json
import os
import shutil

import pytest

from daemon_help import connect_as, event, held, held_with_proof, is_quiet, needs_root, refused, shown, status, waits
from fleet_help import clock, end_grace, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from fleet_ops_help import asks, client_of, fleet, gets, gets_in_time, queues, up
from library_help import client  # noqa: F401
from lost_help import WAITS, all_back, asked_until, job, restart, sleeper  # noqa: F401

CONFIG = """grace = 2s
[semaphore customer/*]
limit = 3
also = total:2
[semaphore total]
limit = 6
also = desk
nested = share
[pool desk]
items = a b c d e f g h
select = first
[semaphore closed]
limit = 9
also = secret
[lock secret]
allow-users = daemon
max-priority = 5
programs = no
[semaphore open]
limit = 9
also = kept
max-priority = 5
admin-users = 1001
[semaphore kept]
limit = 1
allow-users = daemon
admin-users = 1002
"""
FLEET = """
[semaphore customer/*]
scope = fleet
limit = 3
also = total:2
[semaphore total]
scope = fleet
limit = 6
also = desk
[pool desk]
scope = fleet
items = a b c d e f g h
select = first
"""


@pytest.fixture
def daemon(berthd):
    return berthd(CONFIG)


def release(client, lease):
    assert client.request(f"release {lease}") == "ok"


def used(client, *names):
    return [shown(client, name)["in_use"] for name in names]


def units(answer):
    return [word for word in answer.split() if word.startswith(("slot=", "item="))]


# ---- one host

def test_whatever_the_client_names(daemon):
    """Each customer has units of its own, all together those of `total`; nothing else is told."""
    one, two, three = (daemon.client() for _ in range(3))
    answer = one.request("acquire customer/ada:2")
    assert [word.split(",")[0] for word in units(answer)] == ["slot=customer/ada"]
    assert used(one, "customer/ada", "total", "desk") == ["2", "4", "4"]
    held(two, "acquire customer/bob")
    waiting = waits(three, "acquire customer/eve", 1)
    assert refused(one, "acquire total wait=0") == "would-wait"
    assert [refused(one, f"acquire customer/ada:{n}") for n in (4, 0, 2**32)] == ["impossible"] * 3
    assert daemon.client().request("why customer/ada:0").startswith("ok is=refused code=impossible")
    many = " ".join(f"customer/{i}" for i in range(15))
    for request in (f"acquire {many}", f"why {many}"):
        assert one.request(request).startswith("error impossible desk:%20one%20level%20too%20many;")
    refusal = one.request("acquire customer/ada customer/bob:9 wait=0")
    assert refusal.startswith("error impossible customer/bob")
    assert is_quiet(three)
    release(one, answer.split()[1])
    assert event(three)[:2] == ("granted", waiting)
    assert used(one, "total", "desk") == ["4", "4"]


def test_the_larger_count(daemon):
    """Of what is named and is a level as well: the client has all of them."""
    client = daemon.client()
    request = f"acquire total customer/ada:2 customer/bob pid={os.getpid()} once=w"
    answer = client.request(request)
    assert daemon.client().request(request).split()[:2] == answer.split()[:2]
    assert [word.split(",", 2)[2] for word in units(answer)] == ["0-3", "0-1", "0"]
    assert used(client, "total", "desk") == ["4", "4"]


@needs_root
def test_nobody_needs_a_right_to_use_a_level(daemon):
    client = connect_as(daemon, 1000)
    assert refused(client, "acquire secret") == "forbidden"
    with sleeper() as pid:
        admin = daemon.client()
        assert refused(admin, "acquire closed bind=peer") == "jobs-only"
        assert refused(admin, f"acquire closed pid={pid} priority=6") == "forbidden"
        lease = held(admin, f"acquire closed pid={pid}")
        assert used(admin, "secret") == ["1"]
        release(admin, lease)


@needs_root
def test_rights_are_those_of_names(daemon):
    """Over a reload and a restart, too; and who administers a level alone ends no leases of others."""
    client, other = connect_as(daemon, 1000), connect_as(daemon, 1000)
    lease, waiting = held(client, "acquire open ttl=1h"), waits(other, "acquire open")
    assert refused(client, "acquire kept") == "forbidden"
    assert refused(client, "acquire open priority=1") == "forbidden"  # the level's max-priority holds
    daemon.configure(CONFIG.replace("limit = 9", "limit = 8"))
    assert daemon.client().request("reload").startswith("ok")
    restart(daemon, "kill")
    other = connect_as(daemon, 1000)
    assert other.request(f"reclaim {waiting} open:1").startswith(f"waiting {waiting} ")
    assert refused(connect_as(daemon, 1002), f"revoke {lease}") == "forbidden"
    assert connect_as(daemon, 1001).request(f"revoke {lease}").startswith("ok")
    assert event(other)[:2] == ("granted", waiting)


def test_nested_requests(daemon):
    """A share takes nothing of the levels; `total` shares what the lease above has of it."""
    client = daemon.client()
    parent = held(client, "acquire customer/ada:2")
    below = held(client, f"acquire customer/ada parent={parent} nested=share")
    other = held(client, f"acquire customer/bob parent={parent}")
    assert used(client, "customer/ada", "customer/bob", "total", "desk") == ["2", "1", "4", "4"]
    assert refused(client, f"acquire customer/bob:3 parent={parent} wait=0") == "impossible"
    for lease in (below, other, parent):
        release(client, lease)
    assert used(client, "total", "desk") == ["0", "0"]


def test_a_share_of_a_level_comes_back(daemon):
    """Its proof names the lease, as of what it has named; without that it is not back."""
    with sleeper() as pid:
        client = daemon.client()
        parent, its_proof = held_with_proof(client, f"acquire customer/ada pid={pid}")
        below, proof = held_with_proof(client, f"acquire customer/bob parent={parent} pid={pid}")
        assert proof.endswith(f";total,s{parent},0-1")
        for lose in (False, True):
            daemon.kill()
            if lose:
                daemon.journal.unlink()
            daemon.start()
            client = daemon.client()
            reclaim = f"reclaim {below} customer/bob:1:0 parent={parent} pid={pid} {proof}"
            assert not lose or refused(client, reclaim) == "grace"
            assert client.request(f"reclaim {parent} customer/ada:1:0 pid={pid} {its_proof}").startswith("ok ")
            assert client.request(reclaim).startswith("ok ")
            assert used(client, "customer/bob", "total", "desk") == ["1", "2", "2"]
            holders = shown(client, "total")["holders"]
            assert [one.get("shares") for one in holders] == [None, parent]


def test_identities_are_of_names(daemon):
    client = daemon.client()
    held(client, "acquire customer/ada holder=x")
    held(client, "acquire customer/bob holder=x")
    assert refused(client, "acquire customer/bob holder=x") == "held"
    held(client, "acquire total holder=x")


def test_a_reload_and_a_restart(daemon):
    """Who has or waits keeps its levels; who comes then has the new ones."""
    client, other = daemon.client(), daemon.client()
    with sleeper() as pid:
        lease = held(client, f"acquire customer/ada:3 pid={pid}")
        waiting = waits(other, f"acquire customer/bob pid={pid}")
        daemon.configure(CONFIG.replace("also = total:2", "also = desk"))
        assert client.request("reload").startswith("ok")
        assert (used(client, "total"), shown(client, "total")["waiting"]) == (["6"], "1")
        held(client, f"acquire customer/eve pid={pid}")
        for _ in range(2):
            assert used(client, "customer/ada", "customer/eve", "total", "desk") == ["3", "1", "6", "7"]
            restart(daemon, "kill")
            client = daemon.client()
        assert client.request(f"reclaim {waiting} customer/bob:1 pid={pid}").startswith("waiting ")
        release(daemon.client(), lease)
        assert event(client)[:2] == ("granted", waiting)
        daemon.configure(CONFIG.replace("also = total:2", "also = totl"))
        refusal = client.request("reload")
        assert refusal.startswith("error ") and "did%20you%20mean%20total" in refusal


def test_over_a_restart_and_a_lost_journal(daemon, job):
    """The wrapper's proof has what its lease holds of levels."""
    here = daemon.client()
    jobs = [job("customer/ada", script=WAITS), job("total", "customer/bob", script=WAITS)]
    below = shown(here, "total")["holders"]
    tokens = {name: [one["token"] for one in shown(here, name)["holders"]] for name in ("total", "desk")}
    for lose in (False, True):
        daemon.kill()
        if lose:
            daemon.journal.unlink()
        daemon.start()
        asked_until(daemon, lambda now: all_back(2, 0)(now) and now.grace is None)
        client = daemon.client()
        assert used(client, "customer/ada", "customer/bob", "total", "desk") == ["1", "1", "4", "4"]
        assert [one["units"] for one in shown(client, "total")["holders"]] == [one["units"] for one in below]
        assert tokens == {name: [one["token"] for one in shown(client, name)["holders"]] for name in tokens}
        assert refused(client, "acquire total:3 wait=0") == "would-wait"
    for one in jobs:
        one.answer()
        assert one.wait() == (0, "")


def test_a_proof_is_of_its_levels(daemon):
    """Without them, or with others, a lost lease does not come back."""
    with sleeper() as pid:
        client = daemon.client()
        lease, proof = held_with_proof(client, f"acquire customer/ada pid={pid}")
        answer = client.request(f"acquire total customer/bob:3 pid={pid}")
        waiting, its_proof = answer.split()[1], answer.split()[-1]
        daemon.kill()
        daemon.journal.unlink()
        daemon.start()
        client = daemon.client()
        reclaim = f"reclaim {lease} customer/ada:1:0 pid={pid}"
        for wrong in (proof.split(";")[0], proof.replace(",0-1;", ",0;"), proof.replace("*a,b", "*a,c"), ""):
            assert refused(client, f"{reclaim} {wrong}".rstrip()) == "lost"
        assert client.request(f"{reclaim} {proof}").startswith("ok ")
        answer = client.request(f"reclaim {waiting} total:1 customer/bob:3 pid={pid} {its_proof}")
        assert answer.startswith(f"waiting {waiting} "), answer
        assert used(client, "total", "desk") == ["2", "2"]
        assert shown(client, "desk")["waiters"][0]["wants"] == "6"


def test_a_lost_secret(daemon):
    """Nothing shows that a proof is ours: of its levels those count that a request would take."""
    with sleeper() as pid:
        client = daemon.client()
        lease, proof = held_with_proof(client, f"acquire customer/ada pid={pid}")
        others = [held(client, f"acquire customer/{name} pid={pid}") for name in ("bob", "eve")]
        daemon.kill()
        daemon.journal.write_bytes(b"x" * daemon.journal.stat().st_size)
        shutil.rmtree(daemon.state)
        daemon.start()
        client = daemon.client()
        twice = proof + ";" + proof.split(";")[1]
        wrong = ((others[0], "bob", proof.replace("*a,b", "*a,a")), (others[1], "eve", proof.replace(",0-1;", ",0-;")))
        for other, name, its_proof in wrong:
            assert client.request(f"reclaim {other} customer/{name}:1:0 pid={pid} {its_proof}").startswith("ok ")
            release(client, other)
            assert used(client, "total", "desk") == ["0", "0"]
        assert client.request(f"reclaim {lease} customer/ada:1:0 pid={pid} {twice};closed,7,0").startswith("ok ")
        assert used(client, "customer/ada", "total", "desk", "closed") == ["1", "2", "2", "0"]


def test_what_is_said(daemon, berth, berthctl):
    """Why, status, a refusal and the history name the level."""
    socket = ("-S", str(daemon.socket))
    client = daemon.client()
    lease = held(client, "acquire customer/ada:3")
    waiting = waits(daemon.client(), "acquire customer/bob", 1)
    refusal = berth("run", *socket, "-n", "customer/eve", "--", "true")
    assert refusal.returncode == 75 and "total: 6 of 6 held by pid" in refusal.stderr
    why = berthctl(*socket, "why", "customer/eve").stdout
    assert "a request for customer/eve (also total:2 desk:2) would wait, at place 2" in why
    assert "6 of 6 units of total are held" in why
    assert "6 of 6 units of total are held" in berthctl(*socket, "why", waiting).stdout
    said = json.loads(berthctl(*socket, "status", "--json", "customer/bob").stdout)["resources"][0]["waiters"][0]
    assert (said["blocked"], said["blocker"]) == ("other", "total")
    release(client, lease)
    assert "customer/ada, total, desk" in berthctl(*socket, "history").stdout
    env = berth("run", *socket, "customer/eve", "--", "env").stdout
    assert "BERTH_NAME=customer/eve\n" in env and "total" not in env and "desk" not in env


def test_a_resource_names_its_levels(daemon, berthctl):
    """In status, its JSON and the notes; a template, and its instances."""
    client = daemon.client()
    held(client, "acquire customer/ada")
    seen = status(client)
    for line in (seen.resources["customer/ada"], seen.templates["customer/*"]):
        assert line["also"] == "total:2"
    assert (seen.resources["total"]["also"], "also" in seen.resources["desk"]) == ("desk", False)
    said = json.loads(berthctl("-S", str(daemon.socket), "status", "--json").stdout)
    assert [one["also"] for one in said["templates"]] == [["total:2"]]
    assert {one["name"]: one["also"] for one in said["resources"]} == {
        "customer/ada": ["total:2"], "total": ["desk"], "desk": [], "closed": ["secret"], "secret": [],
        "open": ["kept"], "kept": []}
    assert "  also takes: total:2\n" in berthctl("-S", str(daemon.socket), "status", "customer/ada").stdout


def test_a_line_without_room_leaves_levels_out(berthd):
    """Rather than why its items are reserved."""
    names = [f"{i:x}" + 127 * "x" for i in range(15)]
    items = [f"{i:02}" + 62 * "i" for i in range(12)]
    daemon = berthd("".join(f"[lock {name}]\n" for name in names) + "[pool wide]\nitems = " + " ".join(items) +
                    "\nalso = " + "\n  ".join(names) + "\n")
    client = daemon.client()
    assert shown(client, "wide")["also"] == ",".join(names)
    for item in items:
        assert client.request(f"reserve wide {item} reason={'%20' * 250}x").startswith("ok")
    assert client.request(f"pause wide reason={'%20' * 250}x").startswith("ok")
    line = shown(client, "wide")
    assert "also" not in line and line["paused"] == "1" and line["pause_reason"].endswith("x")


def test_the_library(daemon, client):
    with client.acquire("total", "customer/ada:2") as lease:
        assert [len(one.slots) for one in lease.units] == [4, 2]
        restart(daemon, "kill")
        asked_until(daemon, all_back(1, 0))
        assert used(daemon.client(), "total", "desk") == ["4", "4"]


# ---- a fleet

@needs_redis
def test_over_hosts(redis_server, hosts):
    pair = fleet(redis_server, hosts, text=FLEET)
    one, two = map(client_of, pair)
    look = client_of(pair[1])
    lease = gets(one, "acquire customer/ada:2 holder=x")
    gets(two, "acquire customer/bob holder=x")
    assert used(look, "customer/ada", "customer/bob", "total", "desk") == ["2", "1", "6", "6"]
    assert (shown(look, "customer/ada")["also"], shown(look, "total")["also"]) == ("total:2", "desk")
    assert status(look).templates["customer/*"]["also"] == "total:2"
    waiting = queues(two, "acquire customer/bob")
    assert "would-wait" in asks(one, "acquire total wait=0")[1]
    assert "held" in asks(one, "acquire customer/ada holder=x")[1]
    release(one, lease)
    while (found := event(two))[0] == "waiting":
        pass
    assert found[:2] == ("granted", waiting)
    assert used(look, "customer/bob", "total", "desk") == ["2", "4", "4"]


@needs_redis
@needs_root
def test_who_may_release_from_another_host(redis_server, hosts):
    """Not who administers a level alone."""
    text = FLEET.replace("[semaphore total]\n", "[semaphore total]\nadmin-users = 1002\n")
    pair = fleet(redis_server, hosts, text=text)
    for uid, answer in ((1002, "error forbidden "), (1000, "ok"), (0, "ok")):
        client = client_of(pair[0], 1000)
        lease = gets(client, "acquire customer/ada")
        released = connect_as(pair[1], uid).request("release total item=0")
        assert released.startswith(answer), (uid, released)
        if uid == 1002:
            release(client, lease)
        asked_until(pair[1], lambda now: now.resources["total"]["in_use"] == "0")


@needs_redis
def test_over_a_database_that_has_lost_its_data(redis_server, hosts):
    pair = fleet(redis_server, hosts, text=FLEET)
    one, two = map(client_of, pair)
    with sleeper() as pid:
        gets(one, f"acquire customer/ada:3 pid={pid}")
        waiting = queues(two, f"acquire customer/bob pid={pid}")
        pair[0].restart()
        redis_server.do("FLUSHALL")
        asked_until(pair[1], lambda now: (now.resources["total"]["in_use"], now.resources["total"]["waiting"])
                    == ("6", "1"))
        end_grace(redis_server)
        asked_until(pair[1], lambda now: "grace_until" not in now.databases["default"])
        look = client_of(pair[1])
        assert used(look, "customer/ada", "total", "desk") == ["3", "6", "6"]
        assert shown(look, "total")["waiters"][0]["lease"].endswith(waiting)


@needs_redis
def test_a_lost_journal_in_a_fleet(redis_server, hosts):
    """The proof has the units, the database their tokens."""
    host, = fleet(redis_server, hosts, n=1, text=FLEET)
    client = client_of(host)
    with sleeper() as pid:
        answer = asks(client, f"acquire customer/ada pid={pid}")[1]
        lease, proof = answer.split()[1], next(word for word in answer.split() if word.startswith("proof="))
        token = shown(client, "total")["holders"][0]["token"]
        host.kill()
        host.journal.unlink()
        host.start()
        client = client_of(host)
        answer = client.request(f"reclaim {lease} customer/ada:1:0 pid={pid} {proof}")
        assert answer.startswith("ok "), answer
        asked_until(host, lambda now: now.resources["total"]["holders"][0].get("token") == token)
        assert used(client, "customer/ada", "total", "desk") == ["1", "2", "2"]
        release(client, lease)
        asked_until(host, lambda now: now.resources["total"]["in_use"] == "0")


@needs_redis
def test_files_that_differ(redis_server, hosts):
    section = redis_section(redis_server.url)
    a, = up(redis_server, *hosts(FLEET, 1, section))
    b, = up(redis_server, *hosts(FLEET.replace("total:2", "total"), 1, section))
    gets(client_of(a), "acquire customer/ada")
    assert "differs" in asks(client_of(b), "acquire customer/ada")[1]
    gets(client_of(b), "acquire total")

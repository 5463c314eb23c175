"""`history database=D`: what has ended of late on all hosts, as their database remembers it."""

import contextlib
import os
import re
import signal
import subprocess
import time

import pytest

from daemon_help import event, needs_root, status
from ends_help import end_of, ends
from fleet_help import clock, documented_rights, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from fleet_ops_help import RESOURCES, client_of, fleet, gets, gets_in_time, queues, up
from history_help import history
from lines import until
from lost_help import asked_until

pytestmark = needs_redis

HIDDEN = RESOURCES + """
[semaphore secret]
scope = fleet
limit = 2
show-commands = owner
"""


def name_of(host):
    return re.search(r"^(\S+) ", host.berthctl("hosts").stdout.split("\n")[1])[1]


@pytest.fixture
def pair(redis_server, hosts):  # noqa: F811
    return fleet(redis_server, hosts)


def test_a_release_is_seen_on_all_hosts(pair):
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire etl:2 gpus:1 program=p%20q reason=why holder=h")
    asked_until(a, lambda now: now.age(now.resources["etl"]["holders"][0]) >= 50)
    assert client.request(f"release {lease} exit=3") == "ok"
    there, here = end_of(b, lease), end_of(a, lease)
    assert re.fullmatch("[0-9a-f]{16}/" + lease, there.lease) and here.lease == lease
    for entry in (there, here):
        entry.has(units="etl:0-1;gpus:g0", how="released", exit="3", program="p q", reason="why", holder="h",
                  database="default", by=None, signal=None, code=None, id=None)
        assert 50 <= int(entry["held"]) < 20000 and 0 <= int(entry["waited"]) < 20000
    assert there["host"] and here.get("host") is None
    head = ends(b).head
    assert head["whose"] == "database" and head["database"] == "default" and "more" not in head
    assert int(head["since"]) <= int(there["ended"]) <= int(head["now"])
    assert abs(int(head["now"]) - time.time() * 1000) < 5000


def test_waits_that_end(pair):
    a, b = pair
    holder, client = client_of(a), client_of(b)
    gets(holder, "acquire etl:2")
    queued = queues(client, "acquire etl:2 wait=300ms")
    assert event(client)[:2] == ("denied", queued)
    entry = end_of(a, queued)
    entry.has(units="etl=2", how="timeout", held=None, code=None)
    assert 300 <= int(entry["waited"]) < 20000
    queued = queues(client, "acquire etl:1")
    assert client.request(f"cancel {queued}").startswith("ok")
    end_of(a, queued).has(units="etl=1", how="cancelled", held=None)
    assert len(ends(a).entries) == 2 == len(ends(a, "etl").entries)
    # One that was not to wait is none.
    assert client.request("acquire etl wait=0").startswith(("error would-wait", "pending"))
    assert len(ends(a).entries) == 2


def test_a_revoke_from_another_host(pair):
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire door")
    key = until(lambda: re.search(r"holder ([0-9a-f]{16}/\S+)", "\n".join(client_of(b).lines("status door"))))[1]
    assert b.berthctl("revoke", key, "--reason", "it hangs: 100 %").returncode == 0
    assert event(client)[:2] == ("revoked", lease)
    assert client.request(f"release {lease} signal=15") == "ok"
    for host in (a, b):
        end_of(host, lease).has(how="revoked", by="0", why="it hangs: 100 %", signal="15", units="door:0")


def test_a_host_that_dies(redis_server, hosts):  # noqa: F811
    """Its leases end when its session does, whenever that is noticed."""
    a, b = fleet(redis_server, hosts)
    holder, client = client_of(a), client_of(b)
    kept = gets(holder, "acquire etl")
    lease = gets(client, "acquire etl")
    waits = queues(client, "acquire etl")
    name = name_of(b)
    b.kill()
    entry = end_of(a, lease)
    entry.has(units="etl:1", how="deadline", exit=None, host=name)
    assert 5000 < int(entry["held"]) < 30000
    assert [one.lease[17:] for one in ends(a).entries] == [lease], (kept, waits)


def test_which_are_asked_for(pair):
    a, b = pair
    client = client_of(a)
    leases = []
    for name in ("etl", "door", "market/x"):
        leases.append(gets(client, f"acquire {name}"))
        assert client.request(f"release {leases[-1]}") == "ok"
        end_of(b, leases[-1])
    assert [one.lease[17:] for one in ends(b).entries] == leases
    assert [one.lease[17:] for one in ends(b, "door 'x'".split()[0]).entries] == [leases[1]]
    key = ends(b, "door").entries[0].lease
    assert [one.lease for one in ends(b, f"lease={key}").entries] == [key]
    assert [one.lease for one in ends(a, f"lease={leases[1]}").entries] == [leases[1]]
    assert ends(b, f"lease={leases[1]}").entries == [], "it is no lease of this host"
    assert ends(b, "user=4711").entries == [] and len(ends(b, "user=0").entries) == 3
    assert ends(b, "since=0").entries == [] and len(ends(b, "since=60000").entries) == 3
    assert ends(b, "until=60000").entries == [] and len(ends(b, "until=0").entries) == 3
    two = ends(b, "limit=2")
    assert [one.lease[17:] for one in two.entries] == leases[1:] and two.head["more"] == "1"
    assert "more" not in ends(b, "limit=3").head and len(ends(b, "limit=3").entries) == 3
    for wrong in ("since=x", "until=x", "user=x", "lease=/", "limit=x", "after=1"):
        assert client_of(b).request(f"history database=default {wrong}").startswith("error bad-value")
    assert client_of(b).request("history database=nowhere").startswith("error unknown")
    assert client_of(b).request("history database=default nothing").startswith("error unknown")


def write_again(redis_server, ending):  # noqa: F811
    """The only entry, with other words about its end."""
    with contextlib.closing(redis_server.client(decode_responses=False)) as raw:
        (_, fields), = [entry for entry in raw.xrange("{berth}:history") if b"e" in entry[1]]
        key, host, _, record = fields[b"e"].split(b"\t", 3)
        raw.delete("{berth}:history")
        raw.xadd("{berth}:history", {"e": b"\t".join((key, host, ending.encode(), record))})


def ago(year):
    return int((time.time() - (year - 1970) * 365.25 * 86400) * 1000)


def test_what_has_ended_before_this_host_booted(pair, redis_server):  # noqa: F811
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire etl")
    assert client.request(f"release {lease}") == "ok"
    end_of(b, lease)
    write_again(redis_server, "how=released waited=1 held=5 ended=1000000000000")
    for words, n in (("", 1), (f"since={ago(1999)}", 1), (f"since={ago(2004)}", 0), (f"until={ago(2004)}", 1),
                     (f"until={ago(1999)}", 0), ("limit=9", 1), (f"limit=9 since={ago(1999)}", 1)):
        assert len(ends(b, words).entries) == n, words
    assert abs(int(ends(b).entries[0]["ended"]) - 10**12) < 1000


def test_many_pages_and_those_behind_one(pair):
    a, b = pair
    client = client_of(a)
    for _ in range(450):
        lease = gets(client, "acquire etl")
        assert client.request(f"release {lease}") == "ok"
    end_of(b, lease)
    all_of_them = ends(b, "after=0-0").entries
    assert len(all_of_them) == 450 == len(ends(b).entries) == len({one.lease for one in all_of_them})
    assert ends(b, f"after={all_of_them[-1]['id']}").entries == []
    assert [one.lease for one in ends(b, f"after={all_of_them[300]['id']}").entries] == [
        one.lease for one in all_of_them[301:]]
    newest = ends(b, "limit=10")
    assert [one.lease for one in newest.entries] == [one.lease for one in all_of_them[-10:]]
    assert newest.head["more"] == "1"


def test_none_is_kept(redis_server, hosts):  # noqa: F811
    a, b = fleet(redis_server, hosts, history=0)
    client = client_of(a)
    lease = gets(client, "acquire etl")
    assert client.request(f"release {lease}") == "ok"
    until(lambda: redis_server.members("leases") == [])
    answer = ends(b)
    assert answer.entries == [] and "since" not in answer.head
    assert redis_server.do("EXISTS", "{berth}:history") == 1 and redis_server.do("XLEN", "{berth}:history") == 0


def test_the_length_is_the_last_ones(redis_server, hosts):  # noqa: F811
    a, = fleet(redis_server, hosts, 1, history=100)
    client = client_of(a)
    for _ in range(400):
        lease = gets(client, "acquire etl")
        assert client.request(f"release {lease}") == "ok"
    until(lambda: redis_server.members("leases") == [])
    answer = ends(a)
    assert 100 <= len(answer.entries) <= 250
    assert int(answer.head["since"]) == int(answer.entries[0]["ended"]), "what was before is not there any more"


def test_without_the_rights(redis_server, hosts):  # noqa: F811
    rights = [word for word in documented_rights() if word not in ("+xadd", "+xrange", "+xrevrange")]
    redis_server.do("ACL", "SETUSER", "berth", "reset", "on", ">s3cret", *rights)
    url = redis_server.url.replace("unix://", "unix://berth:s3cret@")
    a, b = up(redis_server, *hosts(RESOURCES, 2, redis_section(url)))
    client = client_of(a)
    lease = gets(client, "acquire etl")
    assert client.request(f"release {lease}") == "ok"
    until(lambda: redis_server.members("leases") == [])
    assert client_of(b).request("history database=default").startswith("error down database%20default")
    for host in (a, b):
        text = "its user needs +xadd, +xrange and +xrevrange to keep leases that are over there"
        assert host.log.read_text().count(text) == 1
    assert [one for one in redis_server.do("ACL", "LOG") if "xadd" in str(one)] == []


def test_one_host_is_without_the_rights(redis_server, hosts):  # noqa: F811
    """The others hear that something is missing."""
    redis_server.do("ACL", "SETUSER", "berth", "reset", "on", ">s3cret",
                    *[word for word in documented_rights() if word != "+xadd"])
    urls = [redis_server.url.replace("unix://", "unix://berth:s3cret@"), redis_server.url]
    a, b = up(redis_server, *hosts(RESOURCES, 2, lambda number: redis_section(urls[number])))
    client = client_of(a)
    lease = gets(client, "acquire etl")
    assert client.request(f"release {lease}") == "ok"
    until(lambda: redis_server.members("leases") == [])
    gap, = [line for line in client_of(b).lines("history database=default") if line.startswith("gap ")]
    assert " why=unwritten n=1" in gap


def test_at_maxmemory(redis_server, hosts):  # noqa: F811
    """A release goes on, and its entry is left out, and counted."""
    a, b = fleet(redis_server, hosts)
    client = client_of(a)
    first, second, third, fourth = (gets(client, f"acquire {name}") for name in ("etl", "door", "gpus", "market/x"))
    assert client.request(f"release {first}") == "ok"
    end_of(b, first)
    redis_server.do("CONFIG", "SET", "maxmemory", "1")
    redis_server.clock.step(1.1)  # for so long the scripts believe what they have seen
    for lease in (second, third):
        assert client.request(f"release {lease}") == "ok"
    until(lambda: len(redis_server.members("leases")) == 1)
    answer = ends(b)
    assert [one.lease[17:] for one in answer.entries] == [first]
    gap, = answer.gaps
    assert gap["n"] == "2" and gap["why"] == "unwritten" and int(gap["from"]) <= int(gap["until"])
    redis_server.do("CONFIG", "SET", "maxmemory", "0")
    redis_server.clock.step(1.1)
    assert client.request(f"release {fourth}") == "ok"
    end_of(b, fourth)
    answer = ends(b)
    assert [one.lease[17:] for one in answer.entries] == [first, fourth]
    gap, = answer.gaps
    assert gap["n"] == "2" and int(gap["until"]) <= int(answer.entries[-1]["ended"])


@needs_root
def test_what_a_resource_hides(redis_server, hosts):  # noqa: F811
    """Others see who, when and how: where its host hid it, and where this one does."""
    open_here = HIDDEN.replace("show-commands = owner\n", "")
    anna, bert = 4001, 4002
    a, = fleet(redis_server, hosts, 1, HIDDEN)
    b, = fleet(redis_server, hosts, 1, open_here)
    for host in (a, b):
        client = client_of(host, anna)
        lease = gets(client, "acquire secret program=s1 reason=s2 holder=s3")
        assert client.request(f"release {lease} exit=1") == "ok"
        shown_here = "s1" if host is b else None
        for viewer in (a, b):
            seen = shown_here if viewer is b else None
            assert client_of(viewer, bert) and end_of(viewer, lease)["program"] == "s1", "root sees all"
            for uid, program in ((anna, "s1"), (bert, seen)):
                entry, = (one for one in ends(viewer, uid=uid).entries if one.lease.endswith(lease))
                entry.has(uid=str(anna), how="released", exit="1", program=program)


def test_older_data(pair, redis_server):  # noqa: F811
    """What ended after a snapshot that has come back is not there any more: a gap."""
    a, b = pair
    client = client_of(a)
    first = gets(client, "acquire etl")
    assert client.request(f"release {first}") == "ok"
    end_of(b, first)
    redis_server.save(redis_server.directory / "old")
    second = gets(client, "acquire etl")
    assert client.request(f"release {second}") == "ok"
    lost = int(end_of(b, second)["ended"])
    redis_server.restart(redis_server.directory / "old")
    until(lambda: client_of(b).request("history database=default").startswith("ok "))
    answer = ends(b)
    assert [one.lease[17:] for one in answer.entries] == [first]
    gap, = answer.gaps
    assert gap["why"] == "lost" and "n" not in gap
    assert int(answer.entries[0]["ended"]) <= int(gap["from"]) < lost < int(gap["until"])


def test_redis_is_down(pair, redis_server):  # noqa: F811
    a, _ = pair
    redis_server.kill()
    answer = until(lambda: client_of(a).request("history database=default"))
    assert answer.startswith("error down database%20default"), answer


def test_data_that_are_lost(pair, redis_server):  # noqa: F811
    """It is no evidence, and its loss no reason for a grace."""
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire etl")
    redis_server.do("DEL", "{berth}:history")
    assert client.request(f"release {lease}") == "ok"
    end_of(b, lease)
    assert {one["state"] for one in status(client_of(a)).databases.values()} == {"up"}
    assert len(redis_server.members("leases")) == 0 and redis_server.do("HEXISTS", "{berth}:db", "grace") == 0
    redis_server.do("SET", "{berth}:history", "x")
    lease = gets(client, "acquire etl")
    assert client.request(f"release {lease}") == "ok"
    until(lambda: redis_server.members("leases") == [])
    redis_server.do("DEL", "{berth}:history")
    last = gets(client, "acquire etl")
    assert client.request(f"release {last}") == "ok"
    end_of(b, last)
    gap, = ends(b).gaps
    assert gap["n"] == "1" and gap["why"] == "unwritten"


def test_an_end_that_redis_hears_of_later(pair, redis_server):  # noqa: F811
    """As soon as it is back, with all that its host knows."""
    a, b = pair
    client, other = client_of(a), client_of(b)
    lease = gets(client, "acquire etl program=p")
    gets(other, "acquire etl")
    queued = queues(client, "acquire etl")
    redis_server.stop()
    for host in (a, b):
        asked_until(host, lambda now: now.databases["default"]["state"] == "down")
    assert client.request(f"release {lease} exit=5") == "ok"
    assert client.request(f"cancel {queued}").startswith("ok")
    ended = time.time()
    until(lambda: time.time() > ended + 1.5)
    redis_server.cont()
    until(lambda: client_of(b).request("history database=default").startswith("ok "))
    entry = end_of(b, lease).has(how="released", exit="5", units="etl:0")
    assert abs(int(entry["ended"]) / 1000 - ended) < 1
    end_of(b, queued).has(how="cancelled", units="etl=1", held=None)


def test_a_host_that_is_back_too_late(redis_server, hosts):  # noqa: F811
    """Its own history says, too, that its lease ended at its deadline; and nobody shows two jobs in one unit."""
    a, b = fleet(redis_server, hosts)
    process = subprocess.Popen(["sleep", "600"])
    try:
        lease = gets(client_of(b), f"acquire door pid={process.pid}")
        good_until = asked_until(b, lambda now: now.databases["default"].get("good_until")).databases["default"]
        wall = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        b.kill()
        latest = int(good_until["good_until"]) / 1000 + 1.2 + wall  # it may have been renewed since
    finally:
        process.kill()
        process.wait()
    after = gets_in_time(client_of(a), "acquire door")
    granted = time.time()
    assert after and latest < granted
    b.start()
    entry = end_of_own(b, lease)
    assert int(entry["ended"]) / 1000 <= latest, entry
    assert entry["unseen"] == "1" and int(entry["ended"]) / 1000 < granted
    end_of(a, lease).has(how="deadline", units="door:0")


def end_of_own(host, lease):
    """In the host's own history."""
    entry, = until(lambda: history(client_of(host), f"history lease={lease}"))
    return entry


def test_a_waiter_whose_host_is_back(redis_server, hosts):  # noqa: F811
    """Its end is the one that it comes to, not that of the session under which it waited before."""
    a, b = fleet(redis_server, hosts)
    holder, client = client_of(a), client_of(b)
    lease = gets(holder, "acquire etl:2")
    sign = gets(client, "acquire door")
    waits = queues(client, "acquire etl:1 reason=waits")
    os.kill(b.process.pid, signal.SIGSTOP)
    try:
        end_of(a, sign).has(how="deadline")
    finally:
        os.kill(b.process.pid, signal.SIGCONT)
    assert holder.request(f"release {lease}") == "ok"
    while event(client)[:2] != ("granted", waits):
        pass
    assert client.request(f"release {waits} exit=3") == "ok"
    end_of(a, waits).has(how="released", exit="3", reason="waits")


def test_a_daemon_that_hung_past_the_deadline(redis_server, hosts):  # noqa: F811
    a, b = fleet(redis_server, hosts, text=RESOURCES + "[lock warned]\nscope = fleet\non-lost = warn\n")
    client = client_of(b)
    lease = gets(client, "acquire warned")
    os.kill(b.process.pid, signal.SIGSTOP)
    try:
        gets_in_time(client_of(a), "acquire warned")
        granted = time.time()
        until(lambda: time.time() > granted + 0.5)  # an end at that time is another one
    finally:
        os.kill(b.process.pid, signal.SIGCONT)
    entry = end_of_own(b, lease).has(how="deadline", unseen=None)
    assert int(entry["ended"]) / 1000 < granted, (entry, granted)


def test_what_a_repeated_call_has_written_twice(pair, redis_server):  # noqa: F811
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire etl")
    assert client.request(f"release {lease}") == "ok"
    end_of(b, lease)
    with contextlib.closing(redis_server.client(decode_responses=False)) as raw:
        (_, fields), = [entry for entry in raw.xrange("{berth}:history") if b"e" in entry[1]]
        raw.xadd("{berth}:history", fields)
    assert [one.lease[17:] for one in ends(b).entries] == [lease]
    assert "more" not in ends(b, "limit=1").head

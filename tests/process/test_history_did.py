"""What operators did is in the history: who, when, what it was before, and why."""

import os
import signal
import time

from daemon_help import connect_as, does, held, needs_root, refused, shown, status, waits
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server, ways  # noqa: F401
from fleet_ops_help import RESOURCES, client_of, gets, pair, queues, up  # noqa: F401
from history_help import done, lines_of
from lines import until
from test_rights_shown import ANNA, BERT, CLEO, CONFIG as HIDING, DORA, EMIL

CONFIG = """
[lock a]
[semaphore b]
limit = 4
[pool gpus]
items = g0 g1
[semaphore market/*]
limit = 2
"""

DEEDS = [
    ("limit b 2 reason=too%20slow", "limit", dict(resource="b", old="4", new="2", reason="too slow")),
    ("limit b 3", "limit", dict(resource="b", old="2", new="3")),
    ("limit market/* 1", "limit", dict(resource="market/*", old="2", new="1")),
    ("limit market/new 5", "limit", dict(resource="market/new", old="1", new="5")),
    ("remove gpus g0 reason=fan", "remove", dict(resource="gpus", target="g0", new="removed", reason="fan")),
    ("add gpus g0 reason=x", "add",
     dict(resource="gpus", target="g0", old="absent", new="present", reason="x")),
    ("reserve b 1 reason=%25", "reserve", dict(resource="b", target="1", new="reserved", reason="%")),
    ("pause a reason=m", "pause", dict(resource="a", new="paused", reason="m")),
    ("resume a reason=n", "resume", dict(resource="a", new="granting", reason="n")),
    ("reset b reason=o", "reset", dict(resource="b", old="3", new="4", reason="o")),
    ("reset b", "reset", dict(resource="b")),
    ("undrain reason=p", "undrain", dict(new="granting", reason="p")),
]


def test_each_is_an_entry(client):
    before = time.time() * 1000
    does(client, *[line for line, *_ in DEEDS])
    entries = done(client)
    assert [entry.said() for entry in entries] == [tuple(said) for _, *said in DEEDS]
    for entry in entries:
        assert entry["uid"] == str(os.getuid()) and before - 1 <= int(entry["at"]) <= time.time() * 1000 + 1


def test_a_drain(client):
    assert client.request("drain reason=disks") == "ok held=0"
    assert [entry.said() for entry in done(client)] == [("drain", dict(new="draining", reason="disks"))]


def test_what_is_refused_is_none(client):
    for line in ("limit b x", "limit gpus 3", "limit market/none 3000000", "remove gpus g9", "pause none", "found",
                 "drain wait=2"):
        refused(client, line)
    assert done(client) == []


def test_in_order_among_the_leases(client):
    for _ in range(2):
        lease = held(client, "acquire a")
        does(client, f"release {lease}", "pause b", "resume b")
    words = [line.split()[0] for line in lines_of(client)]
    assert words == ["ended", "did", "did"] * 2


def test_taken_away(daemon, client):
    holder = daemon.client()
    revoked, dropped = held(holder, "acquire a"), held(holder, "acquire b")
    does(client, f"revoke {revoked} reason=late", f"drop {dropped}")
    assert [entry.said() for entry in done(client)] == [
        ("revoke", dict(resource="a", target=revoked, reason="late")),
        ("drop", dict(resource="b", target=dropped))]


@needs_root
def test_what_users_do_to_their_own_is_none(berthd):
    daemon = berthd(HIDING)
    owner, operator = connect_as(daemon, ANNA), connect_as(daemon, CLEO)
    for request in "revoke", "drop":
        does(owner, f"{request} {held(connect_as(daemon, ANNA), 'acquire shut')} reason=mine")
    assert done(owner) == []
    lease = held(connect_as(daemon, ANNA), "acquire shut")
    does(operator, f"revoke {lease}", f"drop {held(connect_as(daemon, CLEO), 'acquire t/x')}")
    assert [(entry.verb, entry["uid"]) for entry in done(owner)] == [("revoke", str(CLEO)), ("drop", str(CLEO))]


def test_a_move(daemon, client):
    held(daemon.client(), "acquire a")
    waiter = waits(daemon.client(), "acquire a")
    does(client, f"move {waiter} first reason=urgent")
    refused(client, f"move {waiter} up")
    assert [entry.said() for entry in done(client)] == [
        ("move", dict(resource="a", target=waiter, new="first", reason="urgent"))]


def test_what_changes_nothing_replaces_nobody(client):
    does(client, "remove gpus g0 reason=fan", "reserve gpus g1 reason=mine", "add gpus g1 reason=no", "add gpus g1")
    assert shown(client, "gpus")["change_reason"] == "fan"
    held(client, "acquire gpus")
    does(client, "remove gpus g1 reason=both", "remove gpus g1 reason=no")
    assert shown(client, "gpus")["change_reason"] == "both"


def test_filters(daemon, client):
    lease = held(daemon.client(), "acquire a")
    does(client, "pause a", "pause b", "undrain", f"drop {lease}")

    def verbs(request):
        return [(entry.verb, entry.get("resource")) for entry in done(client, request)]

    assert verbs("history") == [("pause", "a"), ("pause", "b"), ("undrain", None), ("drop", "a")]
    assert verbs("history a") == [("pause", "a"), ("drop", "a")]
    assert verbs("history *") == [("pause", "a"), ("pause", "b"), ("drop", "a")]
    assert verbs(f"history lease={lease}") == [("drop", "a")]
    assert len(verbs(f"history user={os.getuid()}")) == 4
    assert verbs("history user=4711") == []
    until(lambda: verbs("history since=1") == [])


def test_a_reload_that_changes_definitions(daemon, client):
    daemon.configure(CONFIG)
    does(client, "reload")
    daemon.configure(CONFIG.replace("limit = 4", "limit = 5") + "[lock new]\n")
    does(client, "reload")
    daemon.configure(CONFIG)
    daemon.signal(signal.SIGHUP)
    until(lambda: len(done(client)) == 2)
    asked, by_signal = done(client)
    assert asked.said() == ("reload", dict(new="2 definitions")) and asked["uid"] == str(os.getuid())
    assert by_signal.said() == ("reload", dict(new="2 definitions", reason="SIGHUP"))


def test_a_reload_that_ends_what_operators_changed(daemon, client):
    """It is in the history of each resource; what stays in force is not."""
    daemon.configure(CONFIG + "[semaphore gone]\nlimit = 3\n[lock paused]\n[lock kept]\n")
    does(client, "reload", "limit b 2", "limit market/* 1", "limit market/x 7", "remove gpus g0", "pause b",
         "limit gone 1", "pause paused", "limit kept 0", "pause a")
    n_before = len(done(client))
    daemon.configure("[lock a]\n[semaphore b]\nlimit = 6\n[pool gpus]\nitems = g0 g1 g2\n"
                     "[semaphore market/*]\nlimit = 1\n[lock kept]\nmax-hold = 1h\n")
    assert client.request("reload").startswith("ok")
    whole, *undone = done(client)[n_before:]
    assert whole.said() == ("reload", dict(new="6 definitions"))
    assert {entry["resource"]: entry.said() for entry in undone} == {
        "b": ("reload", dict(resource="b", old="2", new="6")),
        "market/*": ("reload", dict(resource="market/*")),
        "market/x": ("reload", dict(resource="market/x", old="7", new="1")),
        "gpus": ("reload", dict(resource="gpus", old="1", new="3")),
        "gone": ("reload", dict(resource="gone", old="1")),
        "paused": ("reload", dict(resource="paused"))}
    assert {entry["uid"] for entry in undone} == {str(os.getuid())} and len(undone) == 6
    assert [entry.verb for entry in done(client, "history b")] == ["limit", "pause", "reload"]
    assert [entry.verb for entry in done(client, "history kept")] == ["limit"]


def test_a_reload_that_ends_very_many_changes(daemon, client):
    names = [f"s{i}" for i in range(120)]
    daemon.configure("".join(f"[semaphore {name}]\nlimit = 3\n" for name in names))
    does(client, "reload", *[f"limit {name} 4" for name in names])
    daemon.configure("".join(f"[semaphore {name}]\nlimit = 6\n" for name in names))
    does(client, "reload")
    undone = [entry.said()[1] for entry in done(client) if entry.verb == "reload" and "resource" in entry]
    assert undone == [dict(resource=name, old="4", new="6") for name in names[:100]]


def test_outlives_a_kill(daemon):
    does(daemon.client(), "limit b 1 reason=slow")
    before = lines_of(daemon.client())
    daemon.kill()
    daemon.start()
    client = daemon.client()
    assert lines_of(client) == before
    does(client, "reset b")
    assert [entry.verb for entry in done(client)] == ["limit", "reset"]


@needs_root
def test_who_sees_the_reason(berthd):
    """Who did what everybody sees; what is said of a lease, those who see what each of its resources hides, then or
    now, also when these are in the file no more; what is said of a resource, everybody, as in `status`."""
    daemon = berthd(HIDING)
    operator, holder = daemon.client(), daemon.client()
    one, both, last = (held(holder, f"acquire {words}") for words in ("shut", "open shut", "open"))
    does(operator, f"revoke {one} reason=one", f"drop {both} reason=both", f"drop {last} reason=last",
         "pause shut reason=paused")
    assert [entry.verb for entry in done(operator, "history shut")] == ["revoke", "drop", "pause"]

    def reasons(uid):
        entries = done(connect_as(daemon, uid))
        assert [(entry.verb, entry["uid"]) for entry in entries] == [
            (verb, "0") for verb in ("revoke", "drop", "drop", "pause")]
        return [entry["reason"] for entry in entries if "reason" in entry]

    everything = ["one", "both", "last", "paused"]
    assert reasons(ANNA) == reasons(BERT) == ["last", "paused"]
    assert reasons(CLEO) == reasons(EMIL) == everything
    daemon.configure(f"admin-users = {DORA}\nview-users = {EMIL}\n[semaphore open]\nlimit = 2\nshow-commands = owner\n")
    holder.close()
    assert operator.request("reload").startswith("ok")
    until(lambda: "shut" not in status(operator).resources)
    daemon.kill()
    daemon.start()
    entries = {uid: [entry.get("reason") for entry in done(connect_as(daemon, uid))][:4] for uid in (CLEO, EMIL)}
    assert entries == {CLEO: [None, None, None, "paused"], EMIL: everything}


# ---- of fleet scope: the database of the resources has it, for all hosts

OF_ALL = "history database=default"


@needs_root
@needs_redis
def test_what_is_said_of_another_hosts_lease(redis_server, hosts):  # noqa: F811
    """As of one of this host."""
    section = f"view-users = {EMIL}\n" + redis_section(redis_server.url)
    text = "[lock door]\nscope = fleet\n[lock shut]\nscope = fleet\nshow-commands = owner\n"
    a, b = up(redis_server, *hosts(text, 2, section))
    keys = []
    for words in "door", "shut door", "door":
        gets(client_of(a), f"acquire {words}")
        keys.append(shown(client_of(b), "door")["holders"][0]["lease"])
        does(client_of(b), f"drop {keys[-1]} reason={len(keys)}")
        until(lambda: not shown(client_of(b), "door")["holders"])
    does(client_of(b), "pause shut reason=paused")
    for host, its in (a, [key.partition("/")[2] for key in keys]), (b, keys):
        for uid, second in (ANNA, None), (EMIL, "2"):
            *drops, pause = done(connect_as(host, uid), OF_ALL)
            assert [(entry.verb, entry["target"], entry.get("reason")) for entry in drops] == [
                ("drop", its[0], "1"), ("drop", its[1], second), ("drop", its[2], "3")]
            assert drops[1]["resource"] == "shut" and pause["reason"] == "paused"
            assert [entry["target"] for entry in done(connect_as(host, uid), f"{OF_ALL} lease={keys[1]}")] == its[1:2]
    assert len(done(client_of(a), f"{OF_ALL} door")) == 3 and len(done(client_of(a), f"{OF_ALL} shut")) == 2
    assert done(client_of(a)) == done(client_of(b)) == []


@needs_redis
def test_what_was_not_answered_in_time(redis_server, hosts, ways):  # noqa: F811
    """It is there once, as it was carried out."""
    way = ways(redis_server)
    host, = up(redis_server, *hosts(RESOURCES, 1, redis_section(way.url)))
    does(client_of(host), "limit etl 4", "resume gpus")
    way.reply_after(0.3)
    for request in "limit etl 1 reason=slow", "reset etl", "pause gpus":
        client = client_of(host)
        client.send(request + "\n")
        client.close()
    way.heal()
    until(lambda: len(done(client_of(host), OF_ALL)) == 5)
    assert [entry.said() for entry in done(client_of(host), OF_ALL)[2:]] == [
        ("limit", dict(resource="etl", old="4", new="1", reason="slow")),
        ("reset", dict(resource="etl", old="1", new="2")), ("pause", dict(resource="gpus", new="paused"))]


@needs_root
@needs_redis
def test_a_release_of_another_hosts_lease(redis_server, pair):  # noqa: F811
    """By an operator; what users give back themselves is none, nor what nobody has."""
    a, b = pair
    operator, keys = client_of(b), []
    for mine in connect_as(a, ANNA), client_of(a):
        gets(mine, "acquire door")
        keys = until(lambda: [one["lease"] for one in shown(operator, "door")["holders"]]) + keys
        assert operator.request("release door item=0").startswith("ok was=")
        until(lambda: not shown(operator, "door")["holders"])
    does(operator, "release door item=0", "release door holder=nobody")
    assert [entry.said() for entry in done(operator, OF_ALL)] == [
        ("release", dict(resource="door", target=keys[1]))]


@needs_redis
def test_a_move_in_a_fleet(redis_server, pair):  # noqa: F811
    a, b = pair
    gets(client_of(a), "acquire door")
    lease = queues(client_of(a), "acquire door")
    key, = [one for one in status(client_of(b), "door").waiters("door") if one.endswith("/" + lease)]
    does(client_of(a), f"move {lease} first reason=now", f"move {key} last")
    does(client_of(b), f"move {key} first reason=there")
    assert refused(client_of(b), f"move {key[:-1]}99 first") == "lost"
    host = os.uname().nodename
    assert [entry.said() for entry in done(client_of(a), f"{OF_ALL} door")] == [
        ("move", dict(resource="door", target=lease, new="first", reason="now")),
        ("move", dict(resource="door", target=lease, new="last")),
        ("move", dict(resource="door", target=lease, new="first", host=host, reason="there"))]
    assert [(entry["target"], entry.get("host")) for entry in done(client_of(b), OF_ALL)] == [
        (key, host), (key, host), (key, None)]


@needs_redis
def test_in_a_fleet(redis_server, pair):  # noqa: F811
    """All hosts see the entry, others with where it was done, also one that was away; and all know who has
    changed what is in force, where and why, also once they have been restarted."""
    a, b = pair
    began = time.time() * 1000
    does(client_of(a), "limit etl 1 reason=too%20slow", "limit market/* 5", "pause gpus reason=fan")
    lease = gets(client_of(b), "acquire etl")
    key, = [holder["lease"] for holder in shown(client_of(a), "etl")["holders"]]
    does(client_of(a), f"drop {key} reason=now")
    expected = [
        ("limit", dict(resource="etl", old="2", new="1", reason="too slow")),
        ("limit", dict(resource="market/*", old="2", new="5")),
        ("pause", dict(resource="gpus", new="paused", reason="fan")),
        ("drop", dict(resource="etl", target=key, reason="now"))]
    host = os.uname().nodename
    assert [entry.said() for entry in done(client_of(a), OF_ALL)] == expected
    expected[-1][1]["target"] = lease
    assert key.endswith("/" + lease)
    assert [entry.said() for entry in done(client_of(b), OF_ALL)] == [
        (verb, {**words, "host": host}) for verb, words in expected]
    b.kill()
    does(client_of(a), "limit etl 2", "limit etl 1 reason=too%20slow")
    a.kill()
    for one in pair:
        one.start()
    up(redis_server, *pair)
    assert [entry["new"] for entry in done(client_of(b), f"{OF_ALL} etl")[-2:]] == ["2", "1"]
    assert done(client_of(a)) == done(client_of(b)) == []
    now = status(client_of(b))
    etl, gpus = now.resources["etl"], now.resources["gpus"]
    assert etl.items() >= dict(limit="1", file_limit="2", changed="limit", changed_by=str(os.getuid()),
                               changed_host=host, change_reason="too%20slow").items()
    assert now.templates["market/*"].items() >= dict(limit="5", file_limit="2", changed_host=host).items()
    assert gpus.items() >= dict(paused="1", paused_by=str(os.getuid()), paused_host=host, pause_reason="fan").items()
    for at in etl["changed_at"], gpus["paused_at"]:
        assert began - 1000 <= int(at) <= time.time() * 1000 + 1000
    does(client_of(b), "reset etl")
    assert not any(key.startswith("change") for key in shown(client_of(a), "etl"))
    expected = dict(resource="etl", old="1", new="2")
    assert done(client_of(b), OF_ALL)[-1].said() == ("reset", expected)
    assert done(client_of(a), OF_ALL)[-1].said() == ("reset", {**expected, "host": host})
    does(client_of(b), "reset gpus")
    assert done(client_of(b), OF_ALL)[-1].said() == ("reset", dict(resource="gpus"))

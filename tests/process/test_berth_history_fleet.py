"""berth-history with `databases = yes`: what all hosts of a fleet have done, kept for longer than the database
remembers it."""

import contextlib
import json
import os
import re

import pytest

from daemon_help import connect_as, needs_root, shown
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from fleet_ops_help import client_of, gets, gets_in_time, up
from keeper_help import Keeper, Past, needs_history, wall_now
from lines import Client, until
from test_incident import named
from web_help import Web, needs_web

pytestmark = [needs_redis, needs_history]

ANNA, BERT = 60001, 60002
OWN = f"history-user = {os.geteuid()}\n"
RESOURCES = """
[semaphore etl]
scope = fleet
limit = 2
[pool gpus]
scope = fleet
items = g0 g1 g2
select = first
[lock shut]
scope = fleet
show-commands = owner
"""
ASKED = "history database=default"


@pytest.fixture
def kept(redis_server, hosts):  # noqa: F811
    """kept(): two hosts, and a berth-history beside the first."""
    made = []

    def make(**options):
        pair = hosts(RESOURCES, 2, OWN + redis_section(redis_server.url, **options))
        named(pair[1], "beta")
        up(redis_server, *pair)
        made.append(Keeper(pair[0].directory, "databases = yes\n"))
        return (*pair, made[0])

    yield make
    for keeper in made:
        keeper.stop()


def used(host, request="acquire etl", **keys):
    """A lease that is over."""
    client = client_of(host)
    words = [request, *(f"{key}={value}" for key, value in keys.items())]
    lease = gets_in_time(client, " ".join(words))
    assert client.request(f"release {lease} exit=0") == "ok"
    return lease


def copied(keeper, lease, request=ASKED):
    """The answer once it has that lease."""
    def found():
        with contextlib.closing(Client(keeper.socket)) as client:
            if client.request(request).startswith("error unknown"):
                return None  # it has copied nothing yet
        past = keeper.past(request)
        return past if lease in names(past) else None
    return until(found, f"no {lease} has come")


def names(past):
    return [lease.rpartition("/")[2] for lease in past.leases]


def test_what_other_hosts_have_done(kept):
    """As berthd tells it, but with neither ids nor what hides."""
    a, b, keeper = kept()
    there = used(b, "acquire etl:2 gpus:2", program="p%20q", reason="why")
    until(lambda: list((keeper.days / "of-default").glob("*.db")), "it copies nothing unless it is asked")
    copied(keeper, there)
    here = used(a, "acquire gpus")
    past = copied(keeper, here)
    assert names(past) == [there, here] and not past.gaps
    assert past.head["whose"] == "database" and past.head["database"] == "default"
    assert abs(int(past.head["now"]) - wall_now()) < 5000
    told = Past(client_of(a), ASKED)
    assert int(past.head["since"]) - int(told.head["since"]) in range(-5000, 5001)
    for ours, theirs in zip(past.entries, told.entries):
        assert abs(int(ours.pop("ended")) - int(theirs.pop("ended"))) <= 5000
        assert ours.lease == theirs.lease and ours == theirs
    assert re.fullmatch("[0-9a-f]{16}/" + there, past.leases[0])
    past.entries[0].has(units="etl:0-1;gpus:g0,g1", exit="0", program="p q", reason="why", id=None, hiding=None, claims=None)
    # The filters.
    assert names(keeper.past(f"{ASKED} etl")) == [there] and names(keeper.past(f"{ASKED} limit=1")) == [here]
    assert names(keeper.past(f"{ASKED} lease={past.leases[0]}")) == [there]
    assert keeper.past(f"{ASKED} lease={there}").leases == [] and names(keeper.past(f"{ASKED} lease={here}")) == [here]
    # What is asked without it is of this host alone.
    assert keeper.past().leases == [here] and keeper.past().head["whose"] == "host"
    assert keeper.client().request(f"{ASKED[:-1]}x").startswith("error unknown")
    until(lambda: keeper.client().request("hello").endswith(" databases=default"))
    figures = {line.split()[1]: line for line in keeper.client().lines("stats database=default")[1:-1]}
    assert " leases=2 " in figures["gpus"] and " leases=1 " in figures["etl"] and " leases=2 " in figures["*"]


def test_what_operators_did(kept):
    """As berthd tells it, also of a lease of another host, and to whom it hides."""
    a, b, keeper = kept()
    gets(client_of(b), "acquire shut")
    key, = [holder["lease"] for holder in shown(client_of(a), "shut")["holders"]]
    operator = client_of(a)
    for request in "limit etl 1 reason=too%20slow", f"drop {key} reason=why", "pause gpus", "pause shut reason=plain":
        assert operator.request(request) == "ok"
    lease = used(b)
    copied(keeper, lease)
    for asked in ("", " shut", " gpus", " no*", f" lease={key}", f" lease={'f' * 16}/{key[17:]}", " user=0", " user=4711",
                  " limit=3", " until=60000"):
        ours, theirs = keeper.past(ASKED + asked), Past(client_of(a), ASKED + asked)
        assert [line.split(" ")[0] for line in ours.lines] == [line.split(" ")[0] for line in theirs.lines], asked
        for mine, its in zip(ours.done, theirs.done, strict=True):
            assert abs(int(mine.pop("at")) - int(its.pop("at"))) <= 5000 and mine == its and mine.verb == its.verb, asked
    assert [deed.verb for deed in keeper.past(ASKED).done] == ["limit", "drop", "pause", "pause"]
    with contextlib.closing(as_user(keeper, BERT)) as asker:
        assert [deed.get("reason") for deed in Past(asker, ASKED).done] == ["too slow", None, None, "plain"]
    assert keeper.past().done == []
    keeper.kill()
    keeper.start()
    assert len(keeper.past(ASKED).done) == 4


def test_it_goes_on_where_it_was(kept):
    """Without a repeat or a loss."""
    a, b, keeper = kept()
    leases = [used(b) for _ in range(5)]
    copied(keeper, leases[-1])
    for end in keeper.kill, keeper.stop:
        end()
        leases += [used(b), used(a)]
        keeper.start()
        past = copied(keeper, leases[-1])
        assert sorted(names(past)) == sorted(leases) and not past.gaps
    assert len(keeper.past(ASKED).leases) == len(leases)


def test_what_the_database_has_forgotten(kept, redis_server):  # noqa: F811
    """It shows as a gap, before what came then; what was copied stays."""
    a, b, keeper = kept(history=10)
    first = used(b)
    copied(keeper, first)
    keeper.kill()
    leases = [used(b) for _ in range(5)]
    n = 2 + len(leases)  # the first entry says that the history begins
    until(lambda: redis_server.do("XLEN", "{berth}:history") == n, "the ends do not come")
    redis_server.do("XTRIM", "{berth}:history", "MAXLEN", 2)
    keeper.start()
    past = copied(keeper, leases[-1])
    assert names(past) == [first, *leases[-2:]] and past.why == ["overwritten"]
    assert past.lines[1].startswith("gap ")
    gap, = past.gaps
    assert [gap["from"], gap["until"]] == [past.entries[0]["ended"], past.entries[1]["ended"]]
    assert keeper.past(ASKED).why == ["overwritten"]  # once


def test_a_history_that_is_gone(kept, redis_server):  # noqa: F811
    """What ended before may be lost, also as long as nothing new shows it."""
    a, b, keeper = kept()
    first = used(b)
    copied(keeper, first)
    keeper.kill()
    used(b)
    until(lambda: redis_server.do("XLEN", "{berth}:history") == 3, "the ends do not come")
    redis_server.do("DEL", "{berth}:history")
    keeper.start()
    past = keeper.past(ASKED)
    assert names(past) == [first] and past.why == ["down"]
    last = used(a)
    past = copied(keeper, last)
    assert names(past) == [first, last] and past.why == ["overwritten"]


def test_what_the_database_had_no_room_for(kept, redis_server):  # noqa: F811
    """Its gaps are copied, each once, also where one is its newest entry."""
    a, b, keeper = kept()
    for n in 1, 2:
        lease = used(b)
        copied(keeper, lease)
        redis_server.do("XADD", "{berth}:history", "*", "m", f"{n} {wall_now() - 10}")
        told = Past(client_of(a), ASKED)
        past = until(lambda: [past for past in [keeper.past(ASKED)] if len(past.gaps) == n])[0]
        assert past.why == told.why and past.gaps[-1]["n"] == str(n) and "id" not in past.gaps[-1]
        keeper.kill()
        keeper.start()
        assert len(keeper.past(ASKED).gaps) == n and [line.split()[0] for line in keeper.past(ASKED).lines] == [
            line.split()[0] for line in told.lines]


@needs_root
def test_what_is_hidden_stays_hidden(kept):
    """Of a lease on a resource that hides it, from everybody but its owner and those who see all."""
    a, b, keeper = kept()
    client = client_of(b, ANNA)
    for name in "shut", "etl":
        lease = gets(client, f"acquire {name} program=secret reason=why")
        assert client.request(f"release {lease}") == "ok"
    copied(keeper, lease)
    for uid, sees in ((ANNA, [True, True]), (BERT, [False, True]), (0, [True, True])):
        with contextlib.closing(as_user(keeper, uid)) as asker:
            assert ["program" in entry for entry in Past(asker, ASKED).entries] == sees, uid
    # Nor does berthd show it to who asks as berth-history does.
    asker = connect_as(a, BERT)
    assert asker.request(f"{ASKED} after=0-0").startswith("error forbidden")
    assert ["program" in entry for entry in Past(asker, ASKED).entries] == [False, True]


def as_user(place, uid):
    return connect_as(place, uid) if uid else Client(place.socket)


def test_figures_of_a_fleet(kept):
    """Those of a database that has been copied for as long as is asked for, and of one that has not."""
    a, b, keeper = kept()
    copied(keeper, used(b))
    begin = int(copied(keeper, used(a)).head["since"])
    for since in [], ["--since", "3s"]:
        until(lambda words=since: not words or wall_now() > begin + 4000)
        lease = used(b)
        copied(keeper, lease)
        n = len(keeper.past(ASKED).leases)
        done = a.berthctl("stats", "etl", "--json", *since)
        one, = json.loads(done.stdout)["resources"]
        assert one["leases"] == n if not since else 1 <= one["leases"] <= n, done.stderr


@needs_web
def test_a_fleet_without_its_redis(kept, redis_server):  # noqa: F811
    """Its past is shown, and from when on nothing more is known."""
    a, b, keeper = kept()
    there = used(b, "acquire etl:2")
    copied(keeper, there)
    here = used(a)
    copied(keeper, here)
    redis_server.stop()
    past = keeper.past(ASKED)
    assert names(past) == [there, here] and past.why == ["down"]
    done = a.berthctl("history", "etl", "--json")
    assert done.stderr == "" and '"why":"down"' in done.stdout.replace(" ", "")
    answer = json.loads(done.stdout)
    assert {lease["lease"].rpartition("/")[2] for lease in answer["leases"]} == {there, here}
    assert len(answer["leases"]) == 2
    figures = json.loads(a.berthctl("stats", "etl", "--json").stdout)
    one, = figures["resources"]
    assert one["leases"] == 2
    web = Web(a.directory).start().ready()
    try:  # which knows of berth-history once berthd has said so
        shown = until(lambda: [said for said in [web.history("from=0")] if said["whose"] == "database"])[0]
        assert {lease["lease"].rpartition("/")[2] for lease in shown["leases"]} == {there, here}
    finally:
        web.stop()
    redis_server.cont()
    until(lambda: not keeper.past(ASKED).gaps)

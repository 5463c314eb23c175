"""berth-history's figures are those of its entries, and are for everybody."""

import collections
import json
import os
import time

import pytest

from daemon_help import code, connect_as, event, held, keys, needs_root, stopped
from history_help import Entry
from keeper_help import Keeper, ended, needs_history
from lines import until
from test_rights_shown import ANNA, BERT

pytestmark = needs_history

CONFIG = """history-user = %d
history = 16M
[semaphore s]
limit = 9
[lock deploy]
[lock t/*]
max-instances = 10000
""" % os.geteuid()
MAX_SUMS = 4096
SPANS = "wait_sum", "wait_longest", "hold_sum", "hold_longest"


@pytest.fixture
def kept(directory, daemon):
    keeper = Keeper(directory)
    yield keeper
    for client in keeper.clients:
        client.close()
    keeper.stop()


def stats(client, request="stats"):
    """The head, what is said of each (name, uid, database), and the gaps."""
    head, *lines, end = client.lines(request)
    assert head.startswith("ok now=") and " whose=host" in head and end == "end"
    figures = collections.defaultdict(collections.Counter)
    for line in lines:
        kind, name, *words = line.split(" ")
        if kind == "figures":
            said = keys(words)
            row = figures[name, int(said["uid"]), said.get("database")]
            for key in SPANS + ("leases", "refused", "unit_time"):
                row[key] += int(said.get(key, 0))
            for key in "waits", "holds":
                row[key] += sum(int(pair.split(":")[1]) for pair in said.get(key, "").split(",") if pair)
    assert all(line.startswith(("figures ", "gap ")) for line in lines)
    return keys(head.split(" ")[1:]), figures, [keys(line.split(" ")[1:]) for line in lines if line.startswith("gap ")]


def expected(entries, wants):
    """The same of those entries."""
    figures = collections.defaultdict(collections.Counter)
    for entry in entries:
        waited, was_held = int(entry["waited"]), "held" in entry
        hold = int(entry.get("held", 0))
        names = [(unit.replace("=", ":").split(":")[0], unit) for unit in entry["units"].split(";")]
        names = [each for each in names if wants(each[0])]
        units = sum(1 + unit.count(",") if "-" not in unit else 2 for _, unit in names)
        for name, n in [(name, 2 if "-" in unit or "," in unit else 1) for name, unit in names] + [("*", units)]:
            row = figures[name, int(entry["uid"]), None]
            row["waits"] += 1
            row["holds"] += was_held
            row["leases"] += was_held
            row["refused"] += not was_held
            row["unit_time"] += n * hold
            row["wait_sum"] += waited
            row["hold_sum"] += hold
            row["wait_longest"] = max(row["wait_longest"], waited)
            row["hold_longest"] = max(row["hold_longest"], hold)
    return figures


def same(ours, theirs):
    assert {key: +row for key, row in ours.items()} == {key: +row for key, row in theirs.items()}


def test_they_are_those_of_its_entries(kept, daemon, client):
    other = daemon.client()
    lease = held(client, "acquire deploy")
    assert other.request("acquire deploy wait=30ms").startswith("waiting ") and event(other)[0] == "denied"
    assert client.request(f"release {lease}") == "ok"
    for names in "s", "s:2", "s:2 deploy", "t/1 s", "t/1", "t/2":
        ended(client, names)
    assert client.request("pause s reason=x").startswith("ok")
    asker = kept.client()
    for asked, wants in (("", lambda name: True), (" s", lambda name: name == "s"),
                         (" t/*", lambda name: name.startswith("t/")), (" none", lambda name: False)):
        past = kept.past(f"history{asked}")
        head, figures, gaps = stats(asker, f"stats{asked}")
        same(figures, expected(past.entries, wants))
        assert gaps == [] and head["since"] == past.head["since"] and bool(figures) == (asked != " none")
    assert figures == {}
    assert stats(asker, "stats since=0")[1] == stats(asker, "stats until=3600000")[1] == {}
    assert len(stats(asker, "stats until=0 since=3600000")[1]) == 5
    for request in "stats limit=1", "stats since=x":
        assert code(asker.request(request)) == "bad-value"
    assert code(asker.request("stats a=b")) == "unknown-key"
    assert code(asker.request("statsx")) == code(daemon.client().request("stats")) == "unknown-command"


def test_the_time_in_the_span(kept, daemon, client):
    """A lease that was held for an hour, of which a minute is asked for; one of a database is counted apart."""
    ended(client, "s:2")
    last = int(kept.past().entries[0]["ended"])
    kept.kill()
    with kept.database() as database:
        database.execute("UPDATE ended SET granted = ended - 3600000, asked = ended - 3600007 WHERE kind = 1")
        database.execute("UPDATE ended SET ended = ? - 7200000 WHERE kind = 3", [last])
        database.execute("INSERT INTO ended SELECT number + 1, kind, ended, asked, uid, lease, hiding, claims, granted,"
                         " 'd', how, host, ring, serial, failed FROM ended WHERE kind = 1")
    kept.start()
    head, figures, _ = stats(kept.client(), "stats since=60000 s")
    for database in None, "d":
        row = figures["s", os.geteuid(), database]
        assert row == figures["*", os.geteuid(), database]
        assert 0 <= row["unit_time"] - 2 * (last - (int(head["now"]) - 60000)) < 1000  # asked some ms before
        assert (row["leases"], row["hold_sum"], row["wait_sum"]) == (1, 3600000, 7)
    head, figures, _ = stats(kept.client(), "stats since=7100000 until=3000000")
    asked_for = int(head["now"]) - 3000000 - (last - 3600000)
    assert 0 <= 2 * asked_for - figures["s", os.geteuid(), None]["unit_time"] < 1000


@pytest.mark.parametrize("change", ["granted = ended + 1", "asked = granted + 1"])
def test_what_nobody_has_written(kept, daemon, client, change):
    """Its times would spoil all figures."""
    for _ in range(5):
        ended(client)
    assert len(kept.past().leases) == 5
    kept.kill()
    with kept.database() as database:
        database.execute(f"UPDATE ended SET {change} WHERE number = 3")
    kept.start()
    _, figures, gaps = stats(kept.client())
    assert figures["s", os.geteuid(), None]["leases"] == 4
    assert figures["s", os.geteuid(), None]["wait_sum"] < 60000
    assert [(gap["why"], gap["n"]) for gap in gaps] == [("damaged", "1")]


def test_gaps(kept, daemon, client):
    ended(client)
    assert kept.past().leases
    kept.stop()
    daemon.kill()
    daemon.socket.with_name("s.history").unlink()
    daemon.start()
    ended(daemon.client())
    kept.start()
    _, figures, gaps = until(lambda: (found := stats(kept.client()))[2] and found)
    assert [gap["why"] for gap in gaps] == ["not-running"] == kept.past().why
    assert figures["s", os.geteuid(), None]["leases"] == 2


@needs_root
def test_they_are_for_everybody(kept, daemon):
    """As the entries without their details."""
    for uid in ANNA, 0:
        ended(connect_as(daemon, uid) if uid else daemon.client(), "deploy", reason="secret")
    shown = [stats(connect_as(kept, uid) if uid else kept.client())[1] for uid in (ANNA, BERT, 0)]
    assert shown[0] == shown[1] == shown[2] and {("deploy", ANNA, None), ("*", 0, None)} < set(shown[0])
    with stopped(daemon):  # which need not say what they see
        begun = time.monotonic()
        assert stats(connect_as(kept, BERT))[1] == shown[0]
        assert time.monotonic() - begun < 1


def test_many_instances(kept, daemon, client):
    """Whoever names them cannot make it remember all."""
    n = 4500
    for first in range(0, n, 100):
        client.send("".join(f"acquire t/{i}\n" for i in range(first, first + 100)))
        leases = [client.line().split(" ")[1] for _ in range(100)]
        client.send("".join(f"release {lease}\n" for lease in leases))
        assert all(client.line() == "ok" for _ in range(100))
    assert len(kept.past("history limit=9").leases) == 9
    _, figures, gaps = stats(kept.client())
    assert figures["t/*", os.geteuid(), None]["leases"] == n - MAX_SUMS + 1  # and `*`
    assert len(figures) == MAX_SUMS + 1 and gaps == []
    assert sum(row["leases"] for (name, *_), row in figures.items() if name != "*") == n
    assert figures["*", os.geteuid(), None]["leases"] == n


def test_berthctl_shows_the_same(kept, daemon, client, berthctl):
    """As of the entries of berthd, if berth-history is not there."""
    for names in "s", "s:2 deploy", "t/1":
        ended(client, names)
    assert client.request("limit s 3 reason=x").startswith("ok")
    held(client, "acquire deploy")

    def shown(*args):
        done = berthctl(*args, "--json")
        assert done.returncode == 0 and done.stderr == ""
        return json.loads(done.stdout)

    def figures():
        whole = shown("stats")
        rows = [*whole["resources"], *whole["users"], *(row for each in whole["resources"] for row in each["users"])]
        keys_compared = "name", "uid", "leases", "refused", "waited_ms", "held_ms"
        return [{key: row.get(key) for key in keys_compared} for row in rows]

    ours, past = figures(), shown("history")
    kept.stop()
    assert ours == figures() and len(ours) == 7
    theirs = shown("history")
    assert [each["lease"] for each in past["leases"]] == [each["lease"] for each in theirs["leases"]]
    assert [each["verb"] for each in past["actions"]] == [each["verb"] for each in theirs["actions"]] == ["limit"]

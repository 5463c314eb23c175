"""An incident: of three hosts that share a database one has died, another's way to Redis is slow, a limit was changed,
jobs were killed. Ten questions, asked on a host that holds nothing: each has one command, and is on the page."""

import json
import os
import re
import time

import pytest

from daemon_help import event, needs_root
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server, ways  # noqa: F401
from fleet_ops_help import client_of, gets, gets_in_time, queues, up
from keeper_help import Keeper, needs_history
from lines import until
from web_help import Web, needs_web, resource_of

pytestmark = [needs_redis, needs_root, needs_history, needs_web]

RESOURCES = """
[semaphore db]
scope = fleet
limit = 3
max-hold = 1h
[semaphore mail]
scope = fleet
limit = 1
kill-after = 200ms
"""
NAMED = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"']


def named(host, name):
    """Restarts it under that host's name."""
    host.stop()
    host.before = [*NAMED, name]
    host.start()
    return host


@pytest.fixture
def incident(redis_server, hosts, ways, directory):  # noqa: F811
    made = Incident(redis_server, hosts, ways)
    yield made
    made.end()


class Incident:
    """What has happened when the questions are asked; `asked` is the host where they are."""

    def __init__(self, server, hosts, ways):  # noqa: F811
        self.way = ways(server)
        own = f"history-user = {os.geteuid()}\n"
        urls = [server.url, self.way.url, server.url]
        started = [hosts(RESOURCES, 1, own + redis_section(url))[0] for url in urls]
        self.holder, self.asked, self.dead = started
        named(self.holder, "alpha")
        named(self.dead, "gamma")
        up(server, *started)
        self.keeper = Keeper(self.asked.directory)
        self.web = Web(self.asked.directory).start().ready()

    def end(self):
        self.web.stop()
        for client in self.keeper.clients:
            client.close()
        self.keeper.stop()

    def happens(self):
        holder, asked = client_of(self.holder), client_of(self.asked)
        self.night = round(time.time() * 1000)
        short = gets(holder, "acquire mail program=nightly")
        impatient = queues(asked, "acquire mail wait=300ms program=impatient")
        assert event(asked)[:3] == ("denied", impatient, "timeout")
        assert holder.request(f"release {short} exit=0") == "ok"
        self.lost = gets(client_of(self.dead), "acquire db program=etl")
        self.lease = gets(holder, "acquire db:2 program=report")
        self.killed = gets_in_time(holder, "acquire mail program=leaky")
        self.waiter = queues(asked, "acquire db program=mine")
        self.changed = round(time.time() * 1000)
        assert self.holder.berthctl("limit", "db", "2", "--reason", "too slow").returncode == 0
        assert self.holder.berthctl("revoke", self.killed, "--reason", "leaks memory").returncode == 0
        self.dead.kill()
        until(lambda: "gone" in self.asked.berthctl("hosts").stdout)
        self.way.reply_after(0.3)

    def ask(self, *words):
        done = self.asked.berthctl(*map(str, words))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def db(self):
        return resource_of(self.web.status(), "db")

    def json(self, *words):
        return json.loads(self.ask(*words, "--json"))


def find(pattern, text):
    found = re.search(pattern, text, re.M)
    assert found, (pattern, text)
    return found


def rows_of(text, word):
    return [line for line in text.splitlines() if re.search(rf"\b{word}\b", line)]


def test_ten_questions(incident):
    """By commands."""
    incident.happens()
    why = incident.ask("why", incident.waiter)
    # 1 who blocks, and 2 since when
    find(r"^  pid \d+ on alpha \(report, root\) has held 2 units of db for \d+s", why)
    holder, = incident.json("status", "db")["resources"][0]["holders"]
    assert (holder["host"], holder["program"], holder["lease"].partition("/")[2]) == ("alpha", "report", incident.lease)
    # 3 when will mine start
    find(r"when it will start is unknown: .*, after (59m\d+s|1h0m\d+s) at the latest: max-hold$", why)
    # 4 the top user
    user, = incident.json("stats", "db")["users"]
    assert (user["user"], user["leases"], user["waiting"]) == ("root", 1, 1)
    # 5 what happened then
    since, until_ = (time.strftime("%H:%M:%S", time.localtime(at / 1000)) for at in (incident.night, incident.changed + 1000))
    shown = incident.ask("history", "mail", "--since", since, "--until", until_)
    assert [row.split()[-1] for row in rows_of(shown, "mail")][1:2] == ["alpha"], shown
    find(r"^complete from [\d:]+ on: (this host, and|this host; from [\d:]+ on:) database default$", shown)
    # 6 did the limit help: who has set it, when, from what, why; and the figures from then on
    find(r"limit db 3 -> 2 by root.*too slow", incident.ask("history", "db"))
    find(r"limit of db, 3 in the file, was set to 2 \(\S+ ago by root on alpha: too slow\)", why)
    after = incident.json("stats", "db", "--since", time.strftime("%H:%M:%S", time.localtime(incident.changed / 1000)))
    assert after["from_at_ms"] >= incident.changed // 1000 * 1000
    # 7 is Redis slow, 8 which host is gone
    hosts_ = incident.ask("hosts")
    find(r"^  answers: [1-9]\d\d ms the last, ", hosts_)
    find(r"^  warning: Redis, or the way to it, is slow", hosts_)
    find(r"^  gamma: gone \d+s ago, held 1 \(db\), freed \d+s ago$", hosts_)
    # 9 which jobs were killed, and why
    failed = incident.json("history", "--failed")["leases"]
    assert [(lease["program"], lease["how"], lease["why"], lease["host"]) for lease in failed] == [
        ("impatient", "timeout", None, None), ("leaky", "revoked", "leaks memory", "alpha"),
        ("etl", "deadline", None, "gamma")]
    # 10 the 95th percentile of each
    waits = {row["name"]: row["waited_ms"]["p95"] for row in incident.json("stats")["resources"]}
    assert waits["mail"] >= 300 and waits["db"] >= 6000


def test_ten_questions_of_the_page(incident):
    """What it is made of has all answers."""
    incident.happens()
    incident.web.status()
    status = incident.web.follow(
        lambda answer: answer["hosts"] and answer["gone"] and answer["databases"][0]["slow"], incident.web.status())
    assert [(one["host"], one["held"], one["resources"]) for one in status["gone"]] == [("gamma", 1, ["db"])]
    incident.web.until(lambda: [(one["host"], one["program"]) for one in incident.db()["holders"]], [("alpha", "report")])
    db = incident.db()
    assert (db["limit"], db["file_limit"], db["changed_by_user"], db["changed_host"], db["change_reason"]) == (
        2, 3, "root", "alpha", "too slow")
    past = incident.web.history()
    assert past["failed"] == [] and past["whose"] == "database"
    ends = {lease["program"]: (lease["how"], lease["why"], lease["host"], lease["waited_ms"]) for lease in past["leases"]}
    assert ends.keys() == {"nightly", "impatient", "leaky", "etl"}
    assert ends["leaky"][:3] == ("revoked", "leaks memory", "alpha") and ends["etl"][0] == "deadline"
    assert ends["impatient"][3] >= 300
    limit, = [action for action in past["actions"] if action["verb"] == "limit"]
    assert (limit["resource"], limit["old"], limit["new"], limit["reason"]) == ("db", "3", "2", "too slow")
    assert abs(limit["at_ms"] - incident.changed) < 5000

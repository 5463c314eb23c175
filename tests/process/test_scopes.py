"""The same requests, at random, about resources of host scope and about their twins of fleet scope: the
answers, the events and what `status` shows are the same."""

import re
import time

import pytest

from daemon_help import keys
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server  # fixtures among them
from fleet_ops_help import client_of, up
from lines import DEADLINE, look_again

pytestmark = needs_redis

RESOURCES = """
[semaphore X-few]
limit = 3
max-priority = 5
SCOPE
[semaphore X-many]
limit = 12
SCOPE
[semaphore X-fair]
limit = 4
max-units-per-user = 2
max-waiters = 2
SCOPE
[lock X-door]
identity = shared
SCOPE
[pool X-first]
items = d c b a
select = first
SCOPE
[pool X-lru]
items = d c b a
SCOPE
[semaphore X-all/*]
limit = 2
SCOPE
[pool X-desk/*]
items = b a
SCOPE
"""
NAMES = ["few", "many", "fair", "door", "first", "lru", "all/x", "all/y", "desk/x"]
TEMPLATES = ["all/*", "desk/*"]
# Of a status line: its own in each scope, or the time, or what the host of a lease alone knows.
OWN = {"blocker", "scope", "database", "host", "token", "since", "bound", "away", "until", "stopping", "pid",
       "paused_at", "paused_host", "changed_at", "changed_host"}
# Of a request that is wrong in two ways: what is impossible, a database says last.
OTHER_REFUSALS = [("error impossible", "error forbidden"), ("error impossible", "error held")]


def config():
    text = ""
    for prefix, scope in (("h", ""), ("f", "scope = fleet\n")):
        text += RESOURCES.replace("X-", prefix + "-").replace("SCOPE\n", scope)
    return text


class Side:
    """The resources of one scope, and the clients of two users."""

    def __init__(self, host, prefix, uids):
        self.prefix = prefix + "-"
        self.clients = [client_of(host, uid) for uid in uids]
        self.leases, self.numbers = [], {}
        self.events = [[] for _ in self.clients]

    def plain(self, line):
        """Without what differs between the scopes for good reason."""
        line = " ".join(self.numbers.get(word, word) for word in line.split(" "))
        line = re.sub(r"((?:slot|item)=[^ ,]+),\d+,", r"\1,", line.replace(self.prefix, ""))
        return re.sub(r" (proof=\S+|position=\d+|bound=\w+)", "", line)

    def note(self, i, line):
        kind, lease, *words = line.removeprefix("* ").split(" ")
        if kind != "waiting":
            self.events[i].append([kind, lease, *(words[:1] if kind in ("denied", "lost") else words)])

    def reply(self, i):
        while (line := self.clients[i].line()).startswith("* "):
            self.note(i, line)
        return line

    def ask(self, i, request):
        request = re.sub(r"#(\d+)", lambda match: self.leases[int(match[1])], request)
        self.clients[i].send(re.sub(r"@", self.prefix, request) + "\n")
        answer = self.reply(i)
        if request.startswith("acquire"):
            return self.fate(i, answer)
        return self.plain(self.brief(answer))

    @staticmethod
    def brief(answer):
        return " ".join(answer.split(" ")[:2]) if answer.startswith("error") else answer

    def fate(self, i, answer):
        if not answer.startswith("error"):
            lease = answer.split()[1]
            self.numbers.setdefault(lease, f"#{len(self.leases)}")
            self.leases.append(lease)
        else:
            self.leases.append("none")
        if answer.startswith("pending "):
            line = self.clients[i].line()
            while line.split()[2] != lease or line.endswith(" position=0"):
                self.note(i, line)
                line = self.clients[i].line()
            answer = re.sub(r"^denied \S+", "error", line.removeprefix("* "))
            answer = re.sub("^granted", "ok", answer)
        if answer.startswith("error"):
            self.leases[-1] = "none"
        return self.plain(self.brief(answer))

    def status(self):
        """Lines by name, in no order but that of the leases of a resource."""
        self.clients[0].send("status\n")
        self.reply(0)
        found, name = {}, None
        while (line := self.clients[0].line()) != "end":
            kind, word, *words = line.split(" ")
            if kind in ("resource", "template"):
                name = word
                found.setdefault(name, [])
            if kind != "database" and name.startswith(self.prefix):
                rows = sorted(word for word in words if word.split("=")[0] not in OWN)
                found[name].append(self.plain(" ".join([kind, word, *rows])) + (
                    f" position={keys(words)['position']}" if kind == "waiter" else ""))
        for rows in found.values():
            holders = sorted(row for row in rows if row.startswith("holder "))  # a database lists them by their units
            waiters = [row for row in rows if row.startswith("waiter ")]
            if any(" blocked=" in row for row in waiters):  # a database puts these behind the others
                waiters = sorted(re.sub(" position=.*", "", row) for row in waiters)
            rows[1:] = holders + waiters
        return {self.plain(name): rows for name, rows in found.items() if name.startswith(self.prefix)}

    def told(self, counts=None):
        """The events of each client; as many as that, or those that there are."""
        for i, client in enumerate(self.clients):
            client.send("ping\n")
            assert self.reply(i) == "ok"
            while counts and len(self.events[i]) < counts[i]:
                self.note(i, client.line())
        told = [[self.plain(" ".join(event)) for event in events] for events in self.events]
        self.events = [[] for _ in self.clients]
        return told


class Sequence:
    def __init__(self, chance, sides):
        self.chance, self.sides, self.n_leases, self.log = chance, sides, 0, []

    def name(self):
        return "@" + self.chance.choice(NAMES)

    def item(self):
        return self.chance.choice(["a", "b", "c", "e", "0", "1", "2", "5"])

    def lease(self):
        live = [i for i, lease in enumerate(self.sides[0].leases) if lease != "none"]
        return f"#{self.chance.choice(live[-12:])}" if live else "0"

    def request(self):
        chance = self.chance
        kind = chance.choices(list(REQUESTS), list(REQUESTS.values()))[0]
        if kind == "acquire":
            names = chance.sample(NAMES, 2 if chance.random() < 0.15 else 1)
            request = "acquire " + " ".join("@" + name + chance.choice(["", "", ":2", ":3"]) for name in names)
            request += chance.choice(["", "", "", " wait=0", " holder=x", " holder=y"])
            return request + chance.choice(["", "", "", " priority=1", " priority=-1"])
        if kind in ("release", "drop"):
            return f"{kind} {self.lease()}"
        if kind in ("pause", "resume", "reset", "limit"):
            name = "@" + chance.choice(NAMES + TEMPLATES)
            return f"{kind} {name}" + (f" {chance.randrange(5)}" if kind == "limit" else "") + (
                chance.choice(["", " reason=r"]) if kind == "pause" else "")
        if kind == "release item":
            return f"release {self.name()} item={self.item()}"
        if kind == "release holder":
            return f"release {self.name()} holder={chance.choice('xy')}"
        return f"{kind} {self.name()} {self.item()}" + (chance.choice(["", " reason=s"]) if kind == "reserve" else "")

    def do(self, request, i=0):
        """Of user i: in both scopes."""
        self.log.append(f"{i} {request}")
        here, there = self.sides
        answers = tuple(side.ask(i, request) for side in self.sides)
        told = [here.told()]
        shown = [side.status() for side in self.sides]
        told.append(there.told([len(events) for events in told[0]]))
        end = time.monotonic() + DEADLINE
        while shown[1] != shown[0] and time.monotonic() < end:
            shown[1] = there.status()
            look_again()
        self.log.append(f"   -> {answers} {told}")
        said = "\n".join(self.log[-60:])
        assert answers[0] == answers[1] or answers in OTHER_REFUSALS, said
        assert told[0] == told[1], said
        for name in {*shown[0], *shown[1]}:
            here, there = (rows.get(name) for rows in shown)
            assert here == there, f"{said}\n{name}\n  host  {here}\n  fleet {there}"


REQUESTS = {"acquire": 40, "release": 20, "drop": 3, "pause": 4, "resume": 4, "reset": 3, "limit": 6, "add": 6,
            "remove": 5, "reserve": 5, "release item": 2, "release holder": 1}


TWINS = {
    "the file's own limit": ["limit @few 2", "limit @few 3", "limit @door 1", "limit @few 0", "limit @few 3"],
    "the file's own limit of an instance": [
        "limit @all/* 1", "limit @all/x 2", "limit @all/y 3", "limit @all/* 2", "limit @all/* 1", "reset @all/*"],
    "reserved slots": ["reserve @many 10", "reserve @many 2 reason=r", "reserve @many 9"],
    "reserved items": ["add @first e", "reserve @first e", "reserve @first a", "reserve @first d reason=r"],
    "an exempt instance": ["pause @all/*", "resume @all/x", "acquire @all/x", "release #0", "resume @all/*"],
    "free for longest": ["acquire @lru", "reserve @lru c", "add @lru c", "release #0", "add @lru e", "acquire @lru:5"],
    "an item that is back": ["remove @lru d", "add @lru d", "acquire @lru", "reset @lru"],
    "all items back": ["reserve @lru d", "reserve @lru b", "reset @lru", "acquire @lru:4"],
    "free for longest, of an instance": [
        "acquire @desk/x", "acquire @desk/x:2", "release #0", "release #1", "pause @desk/x", "acquire @desk/x:2",
        "release #2", "resume @desk/x", "acquire @desk/x"],
    "reserved, then removed": ["reserve @first d", "remove @first d", "add @first d", "acquire @first"],
    "removed while held": ["acquire @first:2", "remove @first d", "acquire @first:2", "release #0", "acquire @first"],
    "paused and closed": ["pause @few", "acquire @few", "limit @few 0", "resume @few", "acquire @few", "reset @few"],
    "items of an idle instance": ["add @desk/x a", "release @desk/x item=a", "release @desk/x item=c",
                                  "release @all/x item=1", "release @all/x item=2"],
}


@pytest.fixture
def sequence(redis_server, hosts, chance):
    host, = up(redis_server, *hosts(config(), 1, redis_section(redis_server.url)))
    return Sequence(chance, [Side(host, prefix, (None, 1001)) for prefix in "hf"])


def test_both_scopes_do_the_same(sequence):
    for what, requests in TWINS.items():
        sequence.log.append(what)
        for request in requests:
            sequence.do(request)
        for i in range(len(sequence.sides[0].leases)):
            sequence.do(f"drop #{i}")
        for name in NAMES + TEMPLATES:
            sequence.do(f"reset @{name}")
        for side in sequence.sides:
            side.leases = []


@pytest.mark.parametrize("number", range(4))
def test_both_scopes_do_the_same_at_random(sequence, number):
    sequence.chance.seed(f"{sequence.chance.random()} {number}")
    for _ in range(150):
        request = sequence.request()
        sequence.do(request, sequence.chance.randrange(2) if request.startswith("acquire") else 0)

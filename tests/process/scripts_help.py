"""For the tests of the Lua scripts themselves: the calls as a daemon makes them (doc/redis.md has
their arguments and answers), and what must always be true of the data."""

import collections
import functools
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import pytest

from daemon_help import SOURCE
from fleet_help import Clock, RedisServer, redis
from workers import at_end

WORDS = ("db sessions session leases owned held users queue aside rest identities definitions changes "
         "events dirty freed news undone kept keeping elsewhere gone history").split()
# What may remain when nobody holds or waits for anything.
STAY = {"db", "sessions", "session", "definitions", "changes", "news", "undone", "gone", "history"}

# Commands that change data: the fault "broken off after k writes" counts these.
WRITES = ("HSET HINCRBY HDEL HSETNX ZADD ZREM ZREMRANGEBYSCORE ZREMRANGEBYLEX ZINCRBY SADD SREM SPOP DEL "
          "PUBLISH SET UNLINK XADD").split()

SCRIPTS = SOURCE / "src/redis/scripts"

# Takes the place of `redis`: a call is broken off, with an error, after `most` writes; a script's first one, which
# changes nothing, is none. It has one local variable, as Lua allows 200.
BREAKS = """
local redis = (function()
    local most, written, writes = %(most)s, 0, {%(writes)s}
    %(extra)s
    return {
        call = function(command, ...)
            if writes[string.upper(command)] and select(2, ...) ~= '' then
                if written == most then
                    error('broken off')
                end
                written = written + 1
            end
            return redis.call(command, ...)
        end,
        pcall = function(...) return redis.pcall(...) end,
        error_reply = function(text) return redis.error_reply(text) end,
        register_function = function(row) return redis.register_function(row) end,
    }
end)()
"""

# Of a library: how many for the next call.
SETS_MOST = """
redis.register_function({function_name = LIBRARY .. '_breaks_off', callback = function(_, arguments)
    most, written = tonumber(arguments[1]), 0
end})
"""


def breaking(most, extra=""):
    writes = ", ".join(f"{word} = true" for word in WRITES)
    return (BREAKS % {"most": most, "writes": writes, "extra": extra}).replace("\n", " ")


def breaks_off(after):
    """For `before` of a call: it is broken off after so many writes."""
    return after


# The packed records, each as {KEY, STATE, TICKET, STATION, {NAME, COUNT, TOKEN, UNIT...}...}.
LEASES = """
local rows = {}
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
    if fields[i] == '~' then
        fields[i + 1] = cmsgpack.pack({'~', 0, 0, 0, 0, 0, 0, 0, {}})
    end
    local record = cmsgpack.unpack(fields[i + 1])
    if type(record[1]) == 'number' then -- of tests/next-format
        table.remove(record, 1)
    end
    local road = record[10]
    local station = road and record[1] == 'W' and record[9][road.station]
    local row = {fields[i], record[1], string.format('%.0f', record[4]), station and station[1] or '-'}
    for _, claim in ipairs(record[9]) do
        local words = {claim[1], tostring(claim[2]), string.format('%.0f', claim[3])}
        for _, unit in ipairs(claim[6]) do
            words[#words + 1] = unit
        end
        row[#row + 1] = words
    end
    rows[#rows + 1] = row
end
return rows
"""


@functools.cache
def next_scripts():
    """Of layout 3, made of those here."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-next-", dir="/tmp"))
    at_end(shutil.rmtree, directory)
    subprocess.run([SOURCE / "tests/next-format/make", directory], check=True)
    return directory


@functools.cache
def assembled(what, scripts=SCRIPTS):
    """What Redis gets: "library" or "script"; or the library's "name"."""
    text = subprocess.run([scripts / "assemble", what], stdout=subprocess.PIPE, check=True).stdout
    return text.decode().strip() if what == "name" else text.decode()


def breaking_library(scripts):
    """Its name, and its text."""
    name = "broken_" + assembled("name", scripts)
    head, of_name, rest = assembled("library", scripts).replace(assembled("name", scripts), name).split("\n", 2)
    return name, "\n".join([head, of_name + breaking("2 ^ 53", SETS_MOST), rest])


def definition(kind="semaphore", limit=1, items=(), select="first", cooldown=0, max_waiters=1000,
               user=0, shared=False, keep=10000, rate=None, burst=1, fair=None):
    """As berthd writes it. `rate`: so many units in so many ms. `fair`: "user" or "share"."""
    rated = {"rate": rate[0], "window": rate[1], "burst": burst} if rate else {}
    turns = {"fair": fair} if fair else {}
    return json.dumps({
        "kind": kind, "limit": limit, "select": select, "cooldown": cooldown, "keep": keep,
        "max-waiters": max_waiters, "max-units-per-user": user, "shared": shared,
        "items": list(items), **rated, **turns}, separators=(",", ":"))


def slots_of(units):
    """Each unit by itself: items as they are, "3-5" as three."""
    return tuple(one for unit in units for one in (
        map(str, range(int(unit.split("-")[0]), int(unit.split("-")[1]) + 1))
        if re.fullmatch(r"\d+-\d+", unit) else (unit,)))


BLOCKS = {"<": 32, "=": 1024}


def units_of_word(word):
    """The units of a member of `held`, each by itself, slots in 7 digits."""
    size = BLOCKS.get(word[0], 1)
    return (word,) if size == 1 else tuple(f"{int(word[1:]) + i:07}" for i in range(size))


def units_text(units):
    """As berthd writes them: consecutive slots are a range."""
    if not units or not all(unit.isdigit() for unit in units):
        return ",".join(units) or "-"
    runs = []
    for slot in map(int, units):
        if runs and runs[-1][1] + 1 == slot:
            runs[-1][1] = slot
        else:
            runs.append([slot, slot])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


class Claim(collections.namedtuple("Claim", "name count token units")):
    """units: a tuple of slots' or items' names; () while it waits."""


def parse_claims(text):
    claims = []
    for part in text.split("|"):
        name, count, token, units = part.split(" ")
        claims.append(Claim(name, int(count), int(token), () if units == "-" else slots_of(units.split(","))))
    return claims


class Reply:
    """.word, .due and .grace (ms), .rest: the script's own. For an acquire of one lease, .word is
    that lease's."""

    def __init__(self, reply, script):
        self.word, *rest = reply
        self.due = self.grace = self.sequence = None
        if self.word not in ("hello", "stale", "layout"):
            self.due, self.grace, self.sequence, *rest = rest
        if script == "acquire" and self.word == "ok" and len(rest) == 3:
            self.word, *rest = rest
        self.rest = rest

    def __repr__(self):
        return f"{self.word} due={self.due} grace={self.grace} {self.rest}"

    @property
    def claims(self):
        assert self.word == "granted", self
        return parse_claims(self.rest[1])

    @property
    def units(self):
        """Of the one requested resource."""
        claim, = self.claims
        return claim.units

    @property
    def code(self):
        assert self.word == "refused", self
        return self.rest[0]

    @property
    def position(self):
        assert self.word == "waiting", self
        return self.rest[1]

    @property
    def ticket(self):
        return int(self.rest[0])

    def rows(self, n, skip=0):
        """.rest in rows of n."""
        rest = self.rest[skip:]
        assert len(rest) % n == 0, self
        return [tuple(rest[i:i + n]) for i in range(0, len(rest), n)]


def without_keep(content):
    """Without what keeps each key alive."""
    if isinstance(content, dict):
        return {field: value for field, value in content.items() if field != "~"}
    return type(content)(row for row in content if row != "~" and row[0] != "~")


class Database:
    """The scripts on one server: as a library, or as a script, or each in turns."""

    def __init__(self, server, prefix="berth", ways=("library",)):
        self.server = server
        self.client = server.client()
        self.prefix = prefix
        self.keys = [f"{{{prefix}}}:{word}" for word in WORDS]
        self.key = dict(zip(WORDS, self.keys))
        self.layouts = "2-2"
        self.scripts = SCRIPTS
        self.library, self.ways = None, ways
        self.breaks = False  # the last call was, or may have been, broken off
        self.boottime = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000000  # ms, of all callers

    def load(self):
        if not self.library:
            self.library = self.load_library(
                assembled("name", self.scripts), assembled("library", self.scripts))

    def use(self, scripts):
        """Those of another layout, from the next call on."""
        self.scripts, self.library = scripts, None

    def load_library(self, name, text):
        try:
            self.client.execute_command("FUNCTION", "LOAD", text)
        except redis.exceptions.ResponseError as error:
            assert "already exists" in str(error)
        return name

    def break_off(self, after):
        """The next call, after so many writes; None: no more. All others are of the same library."""
        if not self.library or not self.library.startswith("broken_"):
            self.library = self.load_library(*breaking_library(self.scripts))
        self.client.execute_command("FCALL", self.library + "_breaks_off", 0, 2**53 if after is None else after)
        self.breaks = after is not None

    def call(self, name, session, incarnation, *args, reached=(0, 0), before=None):
        """`reached`: what the caller has had, the numbers of a call and of an event; `before`: breaks_off()."""
        argv = [self.layouts, f"{reached[0]}-{reached[1]}-{self.boottime()}", session, incarnation, *args]
        self.ways = self.ways[1:] + self.ways[:1]
        if self.ways[-1] == "script":
            return Reply(self.run_script(name, argv, before), name)
        if before is not None or self.breaks:
            self.break_off(before)
        self.load()
        return Reply(self.run(name, argv), name)

    def run_script(self, name, argv, before):
        text = assembled("script") if before is None else breaking(before) + assembled("script")
        return self.client.eval(text, len(WORDS), *self.keys, *argv, name)

    def run(self, name, argv):
        try:
            return self.client.execute_command(
                "FCALL", f"{self.library}_{name}", len(WORDS), *self.keys, *argv)
        except redis.exceptions.ResponseError as error:
            if str(error) != "Function not found":
                raise
            self.library = None
            self.load()
            return self.run(name, argv)

    def was_edited(self):
        """The test has written to the data itself: the library must not go by what it remembers."""
        self.client.hdel(self.key["db"], "memory")

    # ---- what is there

    def data(self):
        """{word: what that key has}"""
        with self.client.pipeline(transaction=True) as pipe:
            for word in WORDS:
                if word == "leases":
                    pipe.eval(LEASES, 1, self.key[word])
                elif word in ("db", "session", "definitions", "changes"):
                    pipe.hgetall(self.key[word])
                elif word == "history":  # see past()
                    pipe.eval("return {}", 0)
                elif word == "dirty":
                    pipe.smembers(self.key[word])
                else:
                    pipe.zrange(self.key[word], 0, -1, withscores=True)
            return {word: without_keep(content) for word, content in zip(WORDS, pipe.execute())}

    def clock(self):
        return int(self.client.hget(self.key["db"], "clock"))

    def leftovers(self):
        """What must be gone when all is idle: every key, except when items of a pool that is no
        instance were last used."""
        data = {word: content for word, content in self.data().items() if word not in STAY}
        data["freed"] = [member for member, _ in data["freed"] if "/" in member.split(" ")[0]]
        return {word: content for word, content in data.items() if content}


class Data:
    """A database's data at one moment, parsed."""

    def __init__(self, database):
        self.raw = raw = database.data()
        self.leases = {key: self.lease(*record) for key, *record in raw["leases"]}
        self.held = {}  # (name, unit): key
        for member, _ in raw["held"]:
            name, word, key = member.split(" ")
            for unit in units_of_word(word):
                self.held.setdefault((name, unit), []).append(key)
        self.queued = collections.defaultdict(list)  # name: keys, in order
        self.queues = collections.defaultdict(list)  # key: names
        for member, _ in raw["queue"]:
            name, priority, ticket, key = member.split(" ")
            if not self.is_stale(key, ticket) and self.leases[key]["station"] in ("-", name):
                self.queued[name].append(key)
                self.queues[key].append(name)
        self.kept = collections.Counter()  # (name, key): units
        for member, _ in raw["kept"]:
            what, order = member.split(":", 1)
            *name, power = what.split(" ")
            if len(name) == 1:
                self.kept[name[0], order.split(" ")[-1]] += 2 ** int(power)
        self.elsewhere = collections.defaultdict(set)  # key: names
        for member, _ in raw["elsewhere"]:
            self.elsewhere[member.split(" ")[-1]].add(member.split(" ")[0])
        self.aside = collections.defaultdict(list)  # key: members
        for member, _ in raw["aside"]:
            *_, ticket, key = member.split(" ")
            if not self.is_stale(key, ticket):
                self.aside[key].append(member)

    def is_stale(self, key, ticket):
        """Whether a broken-off script has left the member; whoever finds it removes it."""
        return key not in self.leases or self.leases[key]["ticket"] != int(ticket)

    @staticmethod
    def lease(state, ticket, station, *claims):
        return {"state": state, "ticket": int(ticket), "station": station, "claims": [
            Claim(name, int(count), int(token), slots_of(units)) for name, count, token, *units in claims]}

    def holding(self):
        return {key for key, lease in self.leases.items() if lease["state"] == "H"}

    def waiting(self):
        return {key for key, lease in self.leases.items() if lease["state"] == "W"}

    def in_use(self, name):
        return sum(1 for (of, _), keys in self.held.items() if of == name and keys != ["-"])

    def check(self, settled=True, was_broken=False):
        """Checks what is always true between calls. `settled`: nothing was broken off just before;
        `was_broken`: a call was, and was repeated."""
        for where, keys in self.held.items():
            assert len(keys) == 1, f"{where} is held by {keys}"
        expected = {}
        for key, lease in self.leases.items():
            for claim in lease["claims"]:
                if lease["state"] == "H":
                    assert len(set(claim.units)) == claim.count, (key, lease)
                    for unit in claim.units:
                        expected[claim.name, unit.zfill(7) if unit.isdigit() else unit] = [key]
                else:
                    assert claim.units == (), (key, lease)
            names = [claim.name for claim in lease["claims"]]
            if lease["state"] == "W":
                assert len(self.queues[key]) + len(self.aside[key]) == 1, (
                    key, lease, self.queues[key], self.aside[key])
                elsewhere = set(names) - {*self.queues[key], *(one.split(" ")[0] for one in self.aside[key])}
                assert not settled or self.elsewhere[key] == elsewhere, (key, lease, self.elsewhere[key])
            else:
                assert not self.queues[key] and not self.aside[key], (key, lease)
        for name, key in self.kept:
            assert not settled or key in self.leases and key in dict(self.raw["keeping"]), (name, key)
            assert not settled or self.raw["db"]["keeps"]
        assert not settled or {key for key in self.elsewhere} <= self.waiting()
        actual = {where: keys for where, keys in self.held.items() if keys != ["-"]}
        assert actual == expected
        assert set(self.queues) | set(self.aside) <= set(self.leases)
        owned = {member for member, _ in self.raw["owned"]}
        # An acquire that was broken off, and refused when repeated, is owned until the next hello.
        # Its identity is nobody's: a request for it looks whether the lease exists.
        assert owned == set(self.leases) if settled else owned >= set(self.leases)
        assert not settled or {member.split(" ")[-1] for member, _ in self.raw["identities"]} <= set(self.leases)
        resting = {" ".join(where) for where, keys in self.held.items() if keys == ["-"]}
        ends = {f"{name} {unit}" for name, word in (member.split(" ") for member, _ in self.raw["rest"])
                for unit in units_of_word(word) if word != "*"}  # that one is of a rate
        assert resting <= ends if was_broken else resting == ends  # one too many ends nothing
        assert not settled or not self.raw["dirty"] or "grace" in self.raw["db"], self.raw["dirty"]
        walked = {field.split(" ")[1] for field in self.raw["db"] if field.startswith("walk ")}
        assert {f"{name} !" for name in walked} <= set(self.raw["dirty"]), walked


class Member:
    """A daemon, as the database sees it."""

    def __init__(self, database, number, ttl=30000, lag=11000, history=10000):
        self.database = database
        self.session = f"{number:016x}"
        self.host = f"host{number}"
        self.ttl, self.lag, self.history = ttl, lag, history
        self.stored_ttl = ttl  # as last known
        self.incarnation = 0
        self.events = []  # texts, all that have come
        self.seen = 0  # how many of these new_events() has returned
        self.acknowledged = 0
        self.is_new = None
        self.sequence = 0  # of its last call that was answered
        self.newest_event = 0

    def call(self, script, *args, before=None):
        reply = self.database.call(script, self.session, self.incarnation, *args,
                                   reached=(self.sequence, self.newest_event), before=before)
        self.sequence = max(self.sequence, int(reply.sequence or 0))
        return reply

    def key(self, lease):
        return f"{self.session}/{lease}"

    # ---- hello

    def begin(self, token=0, ticket=0, before=None, version=None, where=None):
        """The next incarnation; once more if the database knows a later one. `where`: "cluster"."""
        self.incarnation += 1
        who = [version, where, self.history]
        while who and who[-1] is None:
            who.pop()
        reply = self.call("hello", "begin", self.ttl, self.lag, self.host, token, ticket,
                          self.stored_ttl, *("" if word is None else word for word in who), before=before)
        if reply.word == "ok":
            incarnation, ttl, newest, is_new, _ = reply.rest
            if int(incarnation) != self.incarnation:
                self.incarnation = int(incarnation)
                return self.begin(token, ticket, version=version, where=where)
            self.stored_ttl, self.is_new = int(ttl), int(is_new) == 1
        return reply

    def follow(self, since=0):
        """What is newer: the newest number, the floor, and (number, what, version, JSON) of each."""
        rows = []
        while True:
            reply = ok(self.call("hello", "news", since))
            newest, floor = map(int, reply.rest[:2])
            page = [(int(number), what, int(version), text) for number, what, version, text in reply.rows(4, 2)]
            rows += page
            if not page or page[-1][0] >= newest:
                return newest, floor, rows
            since = page[-1][0]

    def send_changes(self, *changes, floor=0, up_to=0):
        """(NAME, VERSION, JSON)... -> the floor, and those that are newer in the database."""
        reply = ok(self.call("hello", "change", floor, up_to, *(word for row in changes for word in row)))
        return int(reply.rest[0]), [(name, int(version), text) for name, version, text in reply.rows(3, 1)]

    def define(self, definitions, generation=0):
        """{name: JSON} -> {name: (verdict, JSON)}"""
        words = [word for name, text in definitions.items() for word in (name, generation, text)]
        reply = self.call("hello", "define", *words)
        return {name: (verdict, text) for name, verdict, text in ok(reply).rows(3)}

    def lists(self, *leases):
        """Rows of list_row(): -> {id: (word, ticket, claims)}; of one that waits, {id: (word, ticket, position)}"""
        reply = self.call("hello", "lease", *(word for row in leases for word in row))

        def more(word, text):
            return {"held": parse_claims, "waiting": int, "lost": {"-": []}.get}[word](text)
        return {one: (word, int(ticket), more(word, text)) for one, word, ticket, text in ok(reply).rows(4)}

    def end(self):
        cursor = ""
        while True:
            reply = ok(self.call("hello", "end", cursor))
            cursor, *self.may_found = reply.rest
            if cursor == "":
                return reply

    def hello(self, definitions=None, leases=()):
        """All phases; returns what became of `leases`, see lists()."""
        ok(self.begin())
        if definitions:
            self.define(definitions)
        listed = self.lists(*leases) if leases else {}
        self.end()
        return listed

    def lists_one(self, definitions, *row, **options):
        """All phases, with one lease, as list_row() takes it; returns what became of it: "held"..."""
        return self.hello(definitions, [list_row(*row, **options)])[row[0]][0]

    # ---- the rest

    def acquire(self, lease, *claims, nowait=False, priority=0, ticket=0, uid=1000, shared=None,
                holder="", info="pid=1", above="", before=None):
        """claims: "NAME", or (NAME, COUNT), or (NAME, COUNT, LIMIT, DEFINITION). `above`: leases with commas between."""
        words = [word for claim in claims for word in claim_words(claim)]
        return self.call("acquire", lease, int(nowait), priority, ticket, uid,
                         uid if shared is None else shared, holder, info, above, len(claims), *words,
                         before=before)

    def release(self, *leases, before=None):
        return self.call("release", *leases, before=before)

    def renew(self, before=None):
        """Takes the events in; acknowledges them the next time."""
        reply = self.call("renew", self.acknowledged, before=before)
        if reply.word == "ok":
            more, *events = reply.rest
            for number, text in zip(events[::2], events[1::2]):
                if int(number) > self.acknowledged:
                    self.acknowledged = self.newest_event = int(number)
                    self.events.append(text)
        return reply

    def admin(self, *words, before=None):
        return self.call("admin", *words, before=before)

    def forget(self, name, before=None):
        """Calls until it is done; returns the last reply. `before`: of the first call."""
        reply = self.admin("forget", name, "", before=before)
        while reply.word == "ok" and reply.rest[0]:
            reply = self.admin("forget", name, reply.rest[0])
        return reply

    def new_events(self):
        """The events since the last call of this, after one more renewal."""
        ok(self.renew())
        new = self.events[self.seen:]
        self.seen = len(self.events)
        return new

    def granted(self):
        """{id: claims} of the grants that have just come."""
        events = [event.split(" ", 3) for event in self.new_events()]
        return {words[1]: parse_claims(words[3]) for words in events if words[0] == "granted"}

    def vanish(self):
        """Its session, which has nothing, never was."""
        self.database.client.hdel(self.database.key["session"], self.session)
        self.database.client.zrem(self.database.key["sessions"], self.session)
        self.database.was_edited()

    def snapshot(self, *names):
        rows, cursor = [], ""
        while True:
            reply = ok(self.call("snapshot", cursor, *names))
            cursor, *more = reply.rest
            rows += more
            if cursor == "":
                return rows


def past_the_first_grace(server, clock, ttl, lag):
    """An empty database as if it had been in use for a while: its first grace is over. In seconds,
    as the daemons will say."""
    at = 0
    database = Database(server)
    database.boottime = lambda: round(at * 1000)
    one = Member(database, 0xfffe, round(ttl * 1000), round(lag * 1000))
    ok(one.begin())
    one.end()
    while ok(one.renew()).grace:
        clock.step(0.16 * ttl)
        at += 0.16 * ttl
    one.vanish()


def claim_words(claim):
    name, count, limit, of = (*((claim,) if isinstance(claim, str) else claim), *(None,) * 4)[:4]
    return name, of or name, count or 1, 1000000 if limit is None else limit


def ok(reply):
    assert reply.word == "ok", reply
    return reply


def list_row(lease, state, claims, priority=0, ticket=0, uid=1000, shared=None, holder="", info="pid=1",
             limit=1000000, held_for=0, above=""):
    """As `hello lease` takes it: `claims` of Claim; `held_for` in ms."""
    words = [word for claim in claims
             for word in (claim.name, claim.name, claim.count, limit, claim.token, units_text(claim.units))]
    return (lease, state, priority, ticket, uid, uid if shared is None else shared, holder, info, above, len(claims),
            *words, held_for)


class World:
    """A server whose time stands still until pass_time(), and its members."""

    START = 1_800_000_000_000  # ms since 1970

    def __init__(self, server, clock, prefix="berth", ways=("library",)):
        self.server, self.clock = server, clock
        _, stands_at = clock.shown()
        self.now = stands_at // 1000 or self.START
        clock.stand_at(self.now)
        self.database = Database(server, prefix, ways)
        self.database.boottime = lambda: clock.shown()[1] // 1000
        self.members = []

    def member(self, definitions=None, hello=True, **options):
        one = Member(self.database, len(self.members) + 1, **options)
        self.members.append(one)
        if hello:
            one.hello(definitions)
        return one

    def several(self, n, definitions, **options):
        """n members, after the database's first grace."""
        made = [self.member(definitions, **options) for _ in range(n)]
        self.database.client.hset(self.database.key["db"], "grace", 1)
        self.database.was_edited()
        for one in made:
            assert ok(one.renew()).grace == 0
        return made

    def tick(self, ms):
        self.now += ms
        self.clock.stand_at(self.now)

    def pass_time(self, ms, *alive):
        """In steps that the session clock follows; living members renew, or else a stranger does."""
        stranger = None if alive else Member(self.database, 0xffff)
        if stranger:
            stranger.begin()
        step = 1000
        while ms > 0:
            self.tick(min(ms, step))
            ms -= step
            for one in alive or [stranger]:
                one.renew()
        if stranger:
            stranger.vanish()

    def end_grace(self, *alive):
        for _ in range(100):
            if ok(alive[0].renew()).grace == 0:
                return
            self.tick(4000)
            for one in alive:
                ok(one.renew())
        raise AssertionError("the grace does not end")

    def becomes_another_server(self):
        """As if another server had written the data."""
        self.database.client.hset(self.database.key["db"], mapping={"replid": "another", "run": "another"})
        self.database.was_edited()

    def copy(self):
        """All that is there; put_back() makes it the present again, on the same server."""
        client = self.database.client
        return {key: client.execute_command("DUMP", key, NEVER_DECODE=[]) for key in self.database.keys
                if client.exists(key)}

    def put_back(self, copy):
        with self.database.client.pipeline(transaction=False) as pipe:
            pipe.delete(*self.database.keys)
            for key, content in copy.items():
                pipe.restore(key, 0, content)
            pipe.execute()

    def data(self):
        return Data(self.database)

    def n_commands(self, function):
        """How many commands Redis has executed for it, including those in scripts."""
        def count():
            return sum(row["calls"] for row in self.database.client.info("commandstats").values())
        before = count()
        function()
        return count() - before - 1  # INFO

    def check(self):
        data = self.data()
        data.check()
        return data

    def must_be_empty(self, but=()):
        for one in self.members * 2:  # the second time it acknowledges
            one.renew()
        leftovers = self.database.leftovers()
        assert leftovers.keys() <= set(but), leftovers


@functools.cache
def common_server():
    """One for all tests of scripts, in each worker: to start it takes longer than most of them."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-scripts-", dir="/tmp"))
    at_end(shutil.rmtree, directory)
    server = RedisServer(directory, clock=Clock(directory / "clock"))
    at_end(server.kill)
    return server


@pytest.fixture
def redis_server():
    """An empty one, whatever a test before has left, also of its clock."""
    if common_server().process.poll() is not None:
        common_server.cache_clear()  # a test has ended it
    server = common_server()
    server.clock.show(0, 0)
    for command in ("FLUSHALL", "FUNCTION FLUSH", "CONFIG SET maxmemory 0", "ACL SETUSER default +@all"):
        server.do(*command.split(" "))
    return server


@pytest.fixture
def clock(redis_server):
    return redis_server.clock


@pytest.fixture
def world(redis_server, clock):
    return World(redis_server, clock)

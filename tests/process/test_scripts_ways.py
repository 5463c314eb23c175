"""A library's call sees nothing of another call but what it may remember: whatever comes, its answers and
the data are those of a script, which begins from nothing each time. Also where both come in turns, as with
hosts of several versions, where calls are broken off, and where sessions end or other data come back."""

import contextlib
import re

from fleet_help import needs_redis
from scripts_help import World, assembled, breaks_off, claim_words, definition, list_row, ok, redis
from scripts_help import clock, redis_server  # fixtures

pytestmark = needs_redis

T = 30000
WAYS = {"library": ("library",), "script": ("script",), "turns": ("library", "library", "script")}
DEFINITIONS = {
    "a": definition(limit=3), "b": definition(limit=40, cooldown=3000), "q": definition(limit=9, user=4),
    "m": definition(limit=3000), "p": definition("pool", 0, [f"i{i}" for i in range(150)]),
    "l": definition("pool", 0, [f"i{i}" for i in range(8)], select="lru"),
    "r": definition("pool", 0, [f"i{i}" for i in range(4)], select="lru", cooldown=3000),
    "f": definition(limit=5, fair="user"), "s": definition(fair="share"), "t/*": definition(limit=1), "u/*": definition("pool", 0, ["x", "y"], select="lru"),
}
NAMES = ["a", "b", "q", "m", "p", "l", "r", "f", "s", "t/1", "t/2", "u/1"]


def is_load(row):
    """What Redis has counted, of all worlds."""
    return isinstance(row, list) and row[0] == "load"


class Same:
    """The same calls in several worlds, each with a member of the same name."""

    def __init__(self, server, clock, chance):
        self.chance = chance
        self.worlds, self.members = [], []
        for prefix, ways in WAYS.items():
            clock.stand_at(World.START)
            self.worlds.append(World(server, clock, prefix, ways))
            self.members.append(self.worlds[-1].several(3, DEFINITIONS))
        self.leases = [[], [], []]  # of each member
        self.number = 0
        self.infos = {}  # of leases
        self.now = self.worlds[0].now
        self.keep_a_copy()

    def do(self, i, call, before=None):
        replies = []
        for members in self.members:
            try:
                reply = vars(call(members[i], before=before))
                reply["rest"] = [row for row in reply["rest"] if not is_load(row)]
                replies.append(reply)
            except redis.ResponseError as error:
                assert "broken off" in str(error)
                replies.append("broken off")
        assert all(reply == replies[0] for reply in replies), replies
        if replies[0] != "broken off" and replies[0]["word"] == "hello":
            self.hello(i)

    def hello(self, i):
        """A member lists most of its leases; sometimes its begin is broken off first."""
        kept = [lease for lease in self.leases[i] if self.chance.random() < 0.8]
        breaks = self.chance.choice([None] * 4 + [breaks_off(self.chance.randrange(30))])
        said = []
        for world, members in zip(self.worlds, self.members):
            one = members[i]
            if breaks is not None:
                with contextlib.suppress(redis.ResponseError):
                    one.begin(before=breaks)
            ok(one.begin())
            known = world.data().leases
            rows = [list_row(lease, "held" if known[key]["state"] == "H" else "waiting", known[key]["claims"],
                             ticket=known[key]["ticket"], uid=1, info=self.infos.get(lease, "pid=1"))
                    for lease, key in sorted((lease, one.key(lease)) for lease in kept) if key in known]
            said.append((one.lists(*rows) if rows else None, vars(one.end())))
        assert all(one == said[0] for one in said), said

    def check(self):
        data = [world.database.data() for world in self.worlds]
        for one in data:
            one["db"].pop("memory", None)
        for word, content in data[0].items():
            assert all(one[word] == content for one in data), (word, [one[word] for one in data])

    def tick(self, ms):
        self.now += ms
        for world in self.worlds:
            world.now = self.now
            world.clock.stand_at(self.now)

    # ---- what members do

    def claim(self):
        name = self.chance.choice(NAMES)
        of = name.split("/")[0] + "/*" if "/" in name else name
        count = {"m": self.chance.choice([1, 1, 3, 40, 700]), "p": self.chance.choice([1, 1, 2, 70])}
        return name, count.get(name, self.chance.choice([1, 1, 2])), None, None, of

    def acquire(self, i):
        names, claims = set(), []
        for _ in range(self.chance.choice([1, 1, 1, 2, 3])):
            claim = self.claim()
            if claim[0] not in names:
                claims.append(claim)
            names.add(claim[0])
        self.number += 1
        lease = str(self.number)
        self.leases[i].append(lease)
        how = {"nowait": self.chance.random() < 0.3, "priority": self.chance.choice([0, 0, 0, 1]),
               "uid": self.chance.choice([1, 2]), "holder": self.chance.choice(["", "", "", "h"])}
        alls = [name for name, count, *_ in claims if count == 1 and name != "q" and self.chance.random() < 0.1]
        info = "pid=1" + self.chance.choice(["", " share=x", " share=y"])
        self.infos[lease] = how["info"] = f"{info} all={','.join(alls)}" if alls else info
        return lambda one, **more: one.acquire(lease, *claims, **how, **more)

    def acquire_several(self, i):
        """In one call; some for the second time."""
        words = []
        for _ in range(self.chance.randrange(2, 7)):
            claims = {claim[0]: claim for claim in (self.claim() for _ in range(self.chance.choice([1, 1, 2])))}
            self.number += 1
            lease = str(self.number)
            if self.leases[i] and self.chance.random() < 0.15:
                lease = self.chance.choice(self.leases[i])
            else:
                self.leases[i].append(lease)
            uid = self.chance.choice([1, 2])
            ticket = self.chance.choice([0] * 12 + [2 * 10 ** 15 + self.number])
            words += [lease, self.chance.choice([0, 0, 1]), self.chance.choice([0, 0, 1]), ticket, uid, uid,
                      self.chance.choice(["", "", "h"]), "pid=1", "", len(claims)]
            words += [word for claim in claims.values() for word in claim_words(claim)]
        return lambda one, **more: one.call("acquire", *words, **more)

    def release_twice(self, i):
        n = min(len(self.leases[i]), 6)
        gone = [self.leases[i].pop(self.chance.randrange(len(self.leases[i]))) for _ in range(n)]
        return lambda one, **more: one.release(*gone, *gone[:2], "never", **more)

    def release(self, i):
        n = min(len(self.leases[i]), self.chance.choice([1, 1, 2, 5]))
        gone = [self.leases[i].pop(self.chance.randrange(len(self.leases[i]))) for _ in range(n)]
        return lambda one, **more: one.release(*gone, **more)

    def renew(self, i):
        return lambda one, **more: one.renew(**more)

    def operate(self, i):
        words = self.chance.choice([
            ("pause", "a", "", "why"), ("resume", "a"), ("limit", "b", "5"), ("reset", "b"), ("limit", "m", "50"),
            ("reset", "m"), ("remove", "l", "i3"), ("add", "l", "i3"), ("reserve", "p", "i1", "why"), ("add", "p", "new"),
            ("reset", "p"), ("reserve", "m", "7", "why"), ("limit", "t/*", "2"), ("reset", "t/*"),
        ])
        return lambda one, **more: one.admin(*words, **more)

    def define(self, i):
        text = definition(limit=self.chance.choice([2, 3, 4]))
        self.number += 1
        generation = self.number
        return lambda one, **more: one.call("hello", "define", "a", generation, text, **more)

    def look(self, i):
        return lambda one, **more: one.call("snapshot", "", **more)

    def step(self):
        i = self.chance.randrange(3)
        kinds = [self.acquire] * 6 + [self.acquire_several] * 4 + [self.release] * 6 + [self.release_twice] * 2
        kinds += [self.renew] * 2 + [self.look, self.operate, self.define]
        call = self.chance.choice(kinds)(i)
        if self.chance.random() < 0.1:
            self.do(i, call, breaks_off(self.chance.randrange(25)))
        self.do(i, call)
        if self.chance.random() < 0.3:
            self.tick(self.chance.choice([1, 500, 3000]))
        if self.chance.random() < 0.03:
            self.chance.choice([self.let_one_die, self.keep_a_copy, self.put_back, self.change_servers,
                                lambda: self.hello(i)])()

    # ---- what befalls the databases

    def let_one_die(self):
        for _ in range(12):
            self.tick(4000)
            self.do(self.chance.choice([0, 1]), self.renew(0))

    def keep_a_copy(self):
        self.copies = [world.copy() for world in self.worlds]

    def put_back(self):
        self.tick(1)
        for world, copy in zip(self.worlds, self.copies):
            world.put_back(copy)

    def change_servers(self):
        for world in self.worlds:
            world.becomes_another_server()


def test_a_library_answers_as_a_script(redis_server, clock, chance):
    same = Same(redis_server, clock, chance)
    for i in range(300):
        same.step()
        if i % 5 == 0:
            same.check()
    same.check()


def test_another_call_in_between_is_noticed(redis_server, clock):
    """Its writes are not those that are remembered."""
    world = World(redis_server, clock)
    a, b = world.several(2, {"p": definition("pool", 0, ["x", "y", "z"]), "s": definition(limit=3)})
    assert a.acquire("1", "p", "s").word == "granted"
    world.database.ways = ("script",)
    assert [claim.units for claim in b.acquire("2", "p", "s").claims] == [("y",), ("1",)]
    assert b.release("2").word == "ok" and a.release("1").word == "ok"
    assert [claim.units for claim in b.acquire("3", "p", "s").claims] == [("x",), ("0",)]
    world.database.ways = ("library",)
    assert [claim.units for claim in a.acquire("4", "p", "s").claims] == [("y",), ("1",)]
    world.check()


def test_old_data_are_not_what_is_remembered(redis_server, clock):
    """Though the calls of an earlier berthd have brought them to the same number, the caller notices."""
    world = World(redis_server, clock)
    a, b = world.several(2, {"s": definition(limit=1)})
    a.renew()
    copy = world.copy()
    world.tick(100)
    assert a.acquire("1", "s").word == "granted"
    world.tick(100)
    ok(a.release("1"))
    world.put_back(copy)
    world.tick(100)
    world.database.ways = ("script",)
    assert b.acquire("2", "s").word == "granted"
    world.tick(100)
    ok(b.renew())
    world.database.ways = ("library",)
    assert a.acquire("3", "s").word == "hello"
    assert int(world.database.data()["db"].get("grace", 0)) > 0
    world.check()


def test_databases_of_one_name_are_not_confused(redis_server, clock):
    """In several numbers of one Redis, at the same moments."""
    worlds = [World(redis_server, clock), World(redis_server, clock)]
    worlds[1].database.client = redis_server.client(db=1)
    members = [world.several(1, {"p": definition("pool", 0, items)}) for world, items in zip(worlds, (["x"], ["y", "z"]))]
    for lease in ("1", "2"):
        for (one,), item in zip(members, ("x", "y")):
            assert one.acquire(lease, "p").units == (item,)
            one.release(lease)


@needs_redis
def test_what_is_free_is_found_without_looking_at_all(redis_server, clock):
    """A pool of 5000 items costs what one of 50 costs, and slots are not searched for."""
    world = World(redis_server, clock)
    items = [f"i{i}" for i in range(5000)]
    a, = world.several(1, {"p": definition("pool", 0, items), "l": definition("pool", 0, items, select="lru"),
                           "r": definition("pool", 0, items, select="random"), "s": definition(limit=100000)})
    names = "plrs"
    for i in range(8):
        for name in names:
            a.acquire(f"{name}{i}", name)
    ok(a.release("s2", "s5", "p1", "l3", "r7"))
    client = world.database.client
    client.config_resetstat()
    for name in names:
        assert a.acquire(f"{name}9", name).word == "granted"
        ok(a.release(f"{name}9", f"{name}4"))
    stats = client.info("commandstats")
    for command in ("zrangebylex", "zlexcount", "zmscore", "hmget"):
        assert stats.get(f"cmdstat_{command}", {"calls": 0})["calls"] <= (12 if command == "hmget" else 0), command
    assert stats["cmdstat_hget"]["calls"] == len(names)  # a lease; those of a release come together
    world.check()


@needs_redis
def test_what_is_noted_again_forgets_nothing(redis_server, clock):
    """Items that have rested come in another order: what is free of their pool is looked for again."""
    world = World(redis_server, clock)
    items = [f"i{i}" for i in range(5000)]
    a, = world.several(1, {"p": definition("pool", 0, items, select="lru", cooldown=1000),
                           "q": definition("pool", 0, ["x", "y"])})
    client = world.database.client
    for i in range(15):
        for name in "pq":
            assert a.acquire(name, name).word == "granted"
            ok(a.release(name))
        world.tick(1500)
        if i == 1:
            client.config_resetstat()
    assert client.info("commandstats")["cmdstat_zrangebylex"]["calls"] == 13


def test_what_only_one_call_knows_is_forgotten():
    """The next call may have the same table `db`: what read_database() does not set, forget_call() forgets."""
    text = assembled("library")

    def names(begin, end):
        return set(re.findall(r"\bdb\.(\w+)", text[text.index(begin):text.index(end)]))

    reset = names("function set_sequence", "function publish") | names("function forget_call", "function memory.forget")
    assert names("", "local names = {'hello'") <= reset

"""Random calls of several daemons, and after each one the data are compared with a model; some are
broken off and repeated. BERTH_SEED replays a run, BERTH_STEPS makes it longer."""

import json
import os
import random

import pytest

from cluster_help import N_KEYS, N_SLOTS, Node
from fleet_help import clock, needs_redis, redis_server  # fixtures among them
from scripts_help import World, breaks_off, claim_words, definition, list_row, ok, redis
from scripts_model import Changes, Lease, Model, Resource

pytestmark = needs_redis

STEPS = int(os.environ.get("BERTH_STEPS", 700))

TTL = 20000


TEMPLATE, INSTANCES = "t/*", ("t/x", "t/y")


def defined_as(name):
    return TEMPLATE if name in INSTANCES else name


def definitions(resources):
    return {defined_as(name): definition(one.kind, one.limit, one.items, cooldown=one.cooldown, user=one.user,
                             max_waiters=one.max_waiters, keep=one.keep)
            for name, one in resources.items()}


def new_resources():
    of_all = Changes()
    return {
        "a": Resource(limit=3), "b": Resource(limit=2, keep=3000),
        "c": Resource(limit=2, cooldown=1500, keep=5000),
        "q": Resource(limit=4, user=2), "m": Resource(limit=1, max_waiters=2),
        "p": Resource("pool", 0, ("x", "y", "z")), "z": Resource(limit=0),
        "w": Resource(limit=3000, user=2500),
        **{name: Resource(limit=2, of_all=of_all) for name in INSTANCES},
    }


def above_text(lease):
    return "0" + (":" + ",".join(key.split("/")[1] for key in lease.above) if lease.above else "")


def asked(lease, nowait):
    """For one lease, in a call of acquire."""
    session, number = lease.key.split("/")
    return (number, int(nowait), lease.priority, 0, lease.uid, lease.uid, lease.holder, "pid=1",
            len(lease.claims), *(word for name, count, askers in lease.claims
                                 for word in claim_words((name, count, askers, above_text(lease), defined_as(name)))))


class Game:
    def __init__(self, world, chance, broken_off):
        self.world, self.chance = world, chance
        self.broken_off = broken_off  # how many calls of a thousand
        self.model = Model(new_resources(), TTL)
        self.texts = definitions(self.model.resources)
        self.members = world.several(4, self.texts, ttl=TTL)
        for one in self.members:
            one.new_events()
        self.number = 0
        self.tickets = [0]
        self.n_forgotten = 0
        self.heard = []  # KEYs of grants, in the order in which daemons heard of them
        self.listed = set()
        self.refresh()
        for one in self.members:
            self.model.expiry[one.session] = self.session_expiry(one)

    def session_expiry(self, member):
        return int(self.world.database.client.zscore(self.world.database.key["sessions"], member.session))

    def refresh(self):
        self.data = self.world.data()
        self.look = {key: {claim.name: claim.units for claim in lease["claims"]}
                     for key, lease in self.data.leases.items() if lease["state"] == "H"}

    # ---- one call

    def call(self, function, may_break=True):
        """The reply, or None if the caller must say hello; time has passed in the model."""
        if self.chance.randrange(1000) < self.broken_off:
            breaks = breaks_off(self.chance.randrange(25))
            try:
                if may_break:
                    function(before=breaks)
            except redis.ResponseError as error:
                assert "broken off" in str(error)
        reply = function()
        if reply.due == 0 and not self.broken_off:
            self.finish_work()
        self.refresh()
        self.model.pass_time(int(self.data.raw["db"]["clock"]))
        return reply

    def finish_work(self):
        """A call does a bounded part; the next ones do the rest, whosever they are."""
        for member in self.members:
            while member.call("snapshot", "", "nothing").due == 0:
                pass

    def check(self):
        self.data.check(settled=not self.broken_off)
        model = {lease.key: lease.units for lease in self.model.leases.values() if lease.is_held}
        assert model == self.look
        waiting = {lease.key for lease in self.model.waiting()}
        assert waiting == self.data.waiting()
        for name, resource in self.model.resources.items():
            in_order = [lease.key for lease in self.model.waiting() if lease.key in self.data.queued[name]]
            assert self.data.queued[name] == in_order
            for lease in self.model.waiting() if not self.broken_off else []:
                if lease.is_for_several:
                    assert (lease.stands_at() == name) == (lease.key in in_order), (lease, name)
                    assert lease.kept(name) == self.data.kept.get((name, lease.key), 0), (lease, name)
        self.check_template()
        for member in self.members:
            if member.session in self.model.expiry:
                assert self.session_expiry(member) == self.model.expiry[member.session]

    def check_template(self):
        instances = {name: self.model.resources[name] for name in INSTANCES}
        of_all = instances[INSTANCES[0]].of_all
        stored = json.loads(self.data.raw["changes"].get(TEMPLATE, "0 {}").split(" ", 1)[1])
        assert ("paused" in stored, stored.get("limit")) == (of_all.paused, of_all.limit)
        if of_all.paused:
            assert stored.get("exempt", {}).keys() == {name for name, one in instances.items() if one.changes.exempt}

    # ---- what daemons do

    def own(self, member, is_held=None):
        return [lease for lease in self.model.leases.values() if lease.session == member.session
                and is_held in (None, lease.is_held)]

    def random_claims(self):
        # A waiter for several, one of them with a quota, is noticed only at the head of a queue.
        if self.chance.randrange(4) == 0:
            return ((self.chance.choice(["m", "z", "q", "q"]), 1, 100),)
        if self.chance.randrange(6) == 0:
            return (("w", self.chance.choice([1, 31, 33, 500, 1500, 2200]), self.chance.choice([10000, 2000])),)
        names = self.chance.sample(["a", "b", "c", "p", *INSTANCES], self.chance.choice([1, 1, 2, 2, 3]))
        return tuple((name, self.chance.choice([1, 1, 2] if name in ("b", "c", *INSTANCES) else [1, 1, 2, 3]),
                      self.chance.choice([100, 100, 100, 2])) for name in names)

    def new_lease(self, member):
        self.number += 1
        lease = Lease(member.key(self.number), self.random_claims(), self.chance.choice([0, 0, 0, 5, -5]),
                      self.chance.choice([1, 2]), self.chance.choice(["", "", "", "x", "y"]))
        held = [other.key for other in self.own(member, True) if other.uid == lease.uid]
        if held and self.chance.randrange(3) == 0:  # it is nested
            lease.above = tuple(self.chance.sample(held, min(len(held), 2)))
        return lease

    def acquire(self, member):
        """One, or several in one call."""
        leases = [self.new_lease(member) for _ in range(self.chance.choice([1, 1, 1, 3]))]
        nowaits = [self.chance.randrange(4) == 0 for _ in leases]
        words = [word for lease, nowait in zip(leases, nowaits) for word in asked(lease, nowait)]
        # If a keeper has made way for a nested request before the break, another request of that
        # call may go first.
        may_break = len(leases) == 1 or not any(lease.above for lease in leases)
        reply = self.call(lambda **how: member.call("acquire", *words, **how), may_break)
        if reply.word == "hello":
            return self.hello(member)
        self.model.settle(self.look)  # what time has freed
        answers = [(reply.word, *reply.rest)] if len(leases) == 1 else reply.rows(3)
        for lease, nowait, answer in zip(leases, nowaits, answers):
            self.answered(lease, nowait, *answer)
        self.model.settle(self.look)

    def answered(self, lease, nowait, word, first, second):
        lease.ticket = 1 << 60
        if word != "refused":
            lease.ticket = int(first)
            assert lease.ticket > max(self.tickets)
            self.tickets.append(lease.ticket)
        expected = self.model.acquire(lease, nowait, self.look)
        got = first if word == "refused" else word
        if self.broken_off and word == "refused" and first == "held" and expected != "granted":
            # A broken-off call may have taken an identity for another request of the same call.
            self.model.leases.pop(lease.key, None)
        else:
            assert got == expected, (lease, word, first, second, expected)

    def release(self, member):
        leases = self.own(member)
        if not leases:
            return
        leases = self.chance.sample(leases, min(len(leases), self.chance.choice([1, 1, 2, 5])))
        reply = self.call(lambda **how: member.release(
            *(lease.key.split("/")[1] for lease in leases), **how))
        if reply.word == "hello":
            return self.hello(member)
        for lease in leases:
            self.model.drop(lease.key)
        self.model.settle(self.look)

    def renew(self, member):
        reply = self.call(member.renew)
        if reply.word == "hello":
            return self.hello(member)
        self.model.lives_on(member.session)
        self.model.settle(self.look)
        while self.call(member.renew).rest[0] & 1:
            pass
        self.call(member.renew)  # what the first one brought about
        self.hear(member)

    def hear(self, member):
        for event in member.events[member.seen:]:
            word, lease, *_ = event.split(" ")
            if word == "granted" and member.key(lease) not in self.heard:
                self.heard.append(member.key(lease))
        member.seen = len(member.events)
        # The daemon was told of all, except those that a hello has answered.
        mine = {key for key in self.model.grants if key.startswith(member.session) and key in self.look}
        assert mine <= {*self.heard, *self.listed}, mine - {*self.heard, *self.listed}

    def hello(self, member):
        """All that it has, or some; it has forgotten the others."""
        keeps = [lease for lease in self.own(member) if self.chance.randrange(3)]
        ok(self.call(member.begin))
        keeps = [lease for lease in keeps if lease.key in self.model.leases]
        self.phase(member)
        for lease in keeps:
            claims = [claim for claim in self.data.leases[lease.key]["claims"]]
            limits = "|".join(f"{name} {askers} {above_text(lease)}" for name, _, askers in lease.claims)
            said, ticket = "held" if lease.is_held else "waiting", lease.ticket
            if self.chance.randrange(2):  # its answer was lost
                said, ticket = "asked", 0
                claims = [claim._replace(token=0, units=()) for claim in claims]
            row = list_row(lease.key.split("/")[1], said, claims,
                           lease.priority, ticket, lease.uid, holder=lease.holder, limits=limits)
            reply = self.call(lambda **how: member.call("hello", "lease", *row, **how))
            assert ok(reply).rest[1] == ("held" if lease.key in self.look else "waiting")
            self.listed.add(lease.key)
            self.phase(member)
        reply = ok(self.call(lambda **how: member.call("hello", "end", "", **how)))
        assert reply.rest == [""]
        for lease in self.own(member):
            if lease not in keeps:
                self.model.drop(lease.key)
        self.phase(member)

    def phase(self, member):
        self.model.lives_on(member.session)
        self.model.settle(self.look)

    def tick(self, member):
        self.world.tick(self.chance.choice([1, 10, 200, 1000, 3000]))

    # ---- what operators do

    def admin(self, member):
        if self.chance.randrange(3) == 0:
            return self.admin_of_all(member)
        words = self.chance.choice(["pause", "resume", "resume", "resume", "reset", "reset", "limit", "reserve", "add", "add", "remove"])
        name = self.chance.choice([*self.model.resources, *INSTANCES, *INSTANCES])
        resource = self.model.resources[name]
        do = getattr(self, "admin_" + words)(name, resource)
        if do:
            line, apply = do
            reply = self.call(lambda **how: member.admin(*line, **how))
            if reply.word == "hello":
                return self.hello(member)
            was_done = self.broken_off and words in ("add", "remove")  # perhaps, by the call before
            if not (was_done and reply.word == "refused"):
                ok(reply)
            apply()
            self.model.settle(self.look)

    def admin_of_all(self, member):
        """All instances of the template, those to come included."""
        word = self.chance.choice(["pause", "pause", "resume", "resume", "limit", "limit", "limit", "reset", "reserve", "add", "remove"])
        limit = self.chance.randrange(5)
        more = {"limit": [limit], "pause": ["", "why"], "reserve": ["1"], "add": ["1"], "remove": ["1"]}.get(word, [])
        reply = self.call(lambda **how: member.admin(word, TEMPLATE, *more, **how))
        if reply.word == "hello":
            return self.hello(member)
        if word in ("reserve", "add", "remove"):
            assert reply.code == "kind"  # units are each instance's
        else:
            ok(reply)
            self.change_all(word, limit)
        self.model.settle(self.look)

    def change_all(self, word, limit=None):
        instances = [self.model.resources[name] for name in INSTANCES]
        of_all = instances[0].of_all
        of_all.limit = limit if word == "limit" else None if word == "reset" else of_all.limit
        of_all.paused = word == "pause" or (word == "limit" and of_all.paused)
        for one in instances if not of_all.paused else []:
            one.changes.exempt = False

    def admin_pause(self, name, resource):
        def apply():
            resource.changes.paused, resource.changes.exempt = True, False
        return ("pause", name, "", "why"), apply

    def admin_resume(self, name, resource):
        def apply():
            resource.changes.paused, resource.changes.exempt = False, resource.of_all.paused
        return ("resume", name), apply

    def admin_reset(self, name, resource):
        return ("reset", name), lambda: setattr(resource, "changes", Changes())

    def admin_limit(self, name, resource):
        limit = self.chance.randrange(5)
        if resource.kind == "semaphore":
            return ("limit", name, limit), lambda: setattr(resource.changes, "limit", limit)

    def unit(self, resource):
        if resource.kind == "pool":
            return self.chance.choice(resource.now_items() or ("x",))
        return str(self.chance.randrange(4))

    def admin_reserve(self, name, resource):
        unit = self.unit(resource)
        exists = (unit in resource.now_items() if resource.kind == "pool"
                  else int(unit) < max(resource.limit_for(10**6), resource.limit))
        if exists:
            return ("reserve", name, unit, "why"), lambda: resource.changes.reserved.add(unit)

    def admin_add(self, name, resource):
        if resource.changes.reserved:
            unit = self.chance.choice(sorted(resource.changes.reserved))
            return ("add", name, unit), lambda: resource.changes.reserved.discard(unit)
        item = self.chance.choice("xyzuvw")
        if resource.kind == "pool" and item not in resource.now_items():
            items = resource.now_items() + (item,)
            return ("add", name, item), lambda: setattr(resource.changes, "items", items)

    def admin_remove(self, name, resource):
        if resource.kind == "pool" and resource.now_items() and not resource.changes.reserved:
            item = self.chance.choice(resource.now_items())
            items = tuple(one for one in resource.now_items() if one != item)
            return ("remove", name, item), lambda: setattr(resource.changes, "items", items)

    def forget(self, member):
        """Some file still has it: it is defined again at once."""
        name = self.chance.choice(list(self.texts))
        resources = {one: resource for one, resource in self.model.resources.items() if defined_as(one) == name}
        reply = self.call(lambda **how: member.forget(name, **how))
        if reply.word == "hello":
            return self.hello(member)
        users = [lease for lease in self.model.leases.values() if resources.keys() & {*lease.names()}]
        if users:
            assert reply.rest[0] == "in-use", (reply, users)
            self.model.settle(self.look)  # what time has freed
            return
        was_done = self.broken_off and reply.word == "refused" and reply.code == "unknown"
        assert was_done or ok(reply).rest == [""]
        assert name not in self.data.raw["definitions"]
        self.n_forgotten += 1
        for one, resource in resources.items():
            self.admin_reset(one, resource)[1]()
            resource.rest.clear()
        if name == TEMPLATE:
            self.change_all("reset")
        reply = self.call(lambda **how: member.call("hello", "define", name, 0, self.texts[name], **how))
        assert ok(reply).rest[1] in (["stored", "same"] if self.broken_off else ["stored"])
        self.phase(member)

    # ---- all of it

    def step(self):
        doing = self.chance.choices(
            [self.acquire, self.release, self.renew, self.hello, self.tick, self.admin,
             self.forget],
            [30, 20, 20, 1, 25, 8, 2])[0]
        doing(self.chance.choice(self.members))
        if doing != self.tick:
            self.check()

    def finish(self):
        """Everybody stops: nothing is left."""
        for name in [*self.model.resources, TEMPLATE]:
            ok_or_hello = self.call(lambda **how: self.members[0].admin("reset", name, **how))
            if ok_or_hello.word == "hello":
                self.members[0].hello(self.texts)
                self.call(lambda **how: self.members[0].admin("reset", name, **how))
        for member in self.members:
            ids = [str(i) for i in range(1, self.number + 1)]
            for i in range(0, len(ids), 100):
                member.release(*ids[i:i + 100])
        for _ in range(3):
            self.world.tick(1000)
            for member in self.members:
                member.renew()
        # For a broken-off and refused acquire: see Data.check().
        self.world.must_be_empty(but=["identities"] if self.broken_off else [])
        print(f"{self.number} acquired, {len(self.heard)} granted by event, {len(self.listed)} listed, "
              f"{self.n_forgotten} forgotten")


@pytest.mark.parametrize("broken_off", [0, 100], ids=["whole", "broken-off"])
@pytest.mark.parametrize("round", range(2))
def test_random_calls(redis_server, clock, seed, broken_off, round):
    game = Game(World(redis_server, clock), random.Random(seed + round), broken_off)
    for step in range(STEPS):
        game.step()
    game.finish()


@pytest.mark.parametrize("broken_off", [0, 100], ids=["whole", "broken-off"])
def test_random_calls_in_a_cluster(directory, clock, seed, broken_off):
    """Each key is there at all times."""
    node = Node(directory, "node", clock=clock)
    try:
        node.do("CLUSTER", "ADDSLOTSRANGE", 0, N_SLOTS - 1)
        node.wait_until(lambda: node.cluster_info("cluster_state") == "ok", "one node is a cluster")
        game = Game(World(node, clock), random.Random(seed), broken_off)
        for step in range(STEPS // 2):
            game.step()
            assert node.do("EXISTS", *game.world.database.keys) == N_KEYS
        game.finish()
        assert node.do("EXISTS", *game.world.database.keys) == N_KEYS
    finally:
        node.kill()

"""What the Lua scripts should do, in the plainest terms: who holds, who waits, who is next. Which
free units a lease gets, the model takes from Redis, and judges."""

import dataclasses
import itertools


@dataclasses.dataclass
class Changes:
    """What operators have changed of a resource, or for all instances of a template."""
    limit: int = None
    items: tuple = None
    paused: bool = False
    exempt: bool = False  # an instance, from the pause of its template
    reserved: set = dataclasses.field(default_factory=set)


@dataclasses.dataclass
class Resource:
    kind: str = "semaphore"
    limit: int = 1
    items: tuple = ()
    cooldown: int = 0
    user: int = 0
    max_waiters: int = 1000
    keep: int = 10000
    changes: Changes = dataclasses.field(default_factory=Changes)
    of_all: Changes = dataclasses.field(default_factory=Changes)  # its template's
    # taken
    held: dict = dataclasses.field(default_factory=dict)  # unit: key
    rest: dict = dataclasses.field(default_factory=dict)  # unit: until

    def now_items(self):
        return self.items if self.changes.items is None else self.changes.items

    def limit_for(self, askers):
        if self.kind == "pool":
            return len(self.now_items())
        for changed in self.changes.limit, self.of_all.limit:
            if changed is not None:
                return changed
        return min(self.limit, askers)

    def max_for(self, askers):
        if self.kind == "pool":
            return max(len(self.now_items()), len(self.items))
        if self.limit == 0 or askers == 0:
            return float("inf")
        return max(self.limit_for(askers), min(self.limit, askers))

    def is_paused(self):
        return self.changes.paused or (self.of_all.paused and not self.changes.exempt)

    def is_blocked(self, askers):
        return self.is_paused() or self.limit_for(askers) == 0

    def is_free(self, unit, askers):
        known = unit in self.now_items() if self.kind == "pool" else int(unit) < self.limit_for(askers)
        return known and unit not in self.held and unit not in self.rest and unit not in self.changes.reserved

    def available(self, askers):
        if self.kind == "pool":  # each item is its own limit
            return sum(self.is_free(item, askers) for item in self.now_items())
        limit = self.limit_for(askers)
        free_reserved = [unit for unit in self.changes.reserved
                         if unit not in self.held and unit not in self.rest and int(unit) < limit]
        return limit - len(self.held) - len(self.rest) - len(free_reserved)


@dataclasses.dataclass
class Lease:
    key: str
    claims: tuple  # (name, count, asker's limit)
    priority: int
    uid: int
    holder: str
    ticket: int = 0
    is_held: bool = False
    units: dict = dataclasses.field(default_factory=dict)  # name: tuple
    above: tuple = ()  # keys of the leases under which it runs
    # of a lease that waits for several resources
    road: list = dataclasses.field(default_factory=list)  # its claims, in the order in which it wants them
    n_kept: int = 0  # how many of the first of these are kept
    station: tuple = None  # the claim where it stands; None: aside
    ends: int = 0  # its patience
    n_let_go: int = 0
    n_forced: int = 0
    is_fresh: bool = False  # back from aside: it chooses where it stands when it is first there

    @property
    def session(self):
        return self.key.split("/")[0]

    @property
    def order(self):
        return -self.priority, self.ticket, self.key

    @property
    def is_for_several(self):
        return len(self.claims) > 1

    def kept(self, name):
        return sum(count for of, count, _ in self.road[:self.n_kept] if of == name)

    def stands_at(self):
        claim = self.station if self.is_for_several else self.claims[0]
        return claim and claim[0]

    def names(self):
        return [name for name, *_ in self.claims]


class Model:
    def __init__(self, resources, ttl):
        self.resources = resources
        self.ttl = ttl
        self.clock = 0
        self.leases = {}
        self.expiry = {}  # session: ms
        self.grants = []  # keys of waiters, in order, since this was last emptied

    # ---- time passes before a call does anything

    def pass_time(self, clock):
        self.clock = clock
        for session in [one for one, at in self.expiry.items() if at <= clock]:
            del self.expiry[session]
            for key in [key for key in self.leases if key.startswith(session)]:
                self.drop(key)
        for resource in self.resources.values():
            resource.rest = {unit: until for unit, until in resource.rest.items() if until > clock}
        for lease in self.waiting():
            if lease.ends and lease.ends <= clock:
                self.let_go(lease)

    def lives_on(self, session):
        self.expiry[session] = self.clock + self.ttl

    # ---- what fits

    def users_units(self, name, uid):
        return sum(self.leases[key].uid == uid for key in self.resources[name].held.values())

    def is_shut_out(self, lease):
        """By a pause or a limit: it could not go whatever was free."""
        for name, count, askers in lease.claims:
            resource = self.resources[name]
            if lease.is_for_several and resource.is_blocked(askers):
                return True
            if not resource.is_blocked(askers) and count > resource.limit_for(askers):
                return True
        return False

    def is_aside(self, lease):
        return self.is_shut_out(lease) or any(
            self.resources[name].user
            and count > self.resources[name].user - self.users_units(name, lease.uid)
            for name, count, _ in lease.claims)

    def waiting(self):
        return sorted((lease for lease in self.leases.values() if not lease.is_held),
                      key=lambda lease: lease.order)

    def queue(self, name):
        return [lease for lease in self.waiting()
                if lease.stands_at() == name and not self.is_aside(lease)]

    def kept_before(self, lease, name):
        return sum(other.kept(name) for other in self.waiting() if other.order < lease.order)

    def has(self, lease, claim):
        name, count, askers = claim
        resource = self.resources[name]
        return (not resource.is_blocked(askers)
                and all(lease.order <= other.order for other in self.queue(name))
                and resource.available(askers) - self.kept_before(lease, name) >= count)

    def has_all(self, lease):
        return all(self.has(lease, claim) for claim in lease.claims)

    # ---- several resources: where it stands, and what is kept for it

    def enter(self, lease):
        """In line, or aside."""
        if not lease.is_for_several:
            return
        if not lease.road:
            limit = {name: self.resources[name].limit_for(askers) for name, _, askers in lease.claims}
            lease.road = sorted(lease.claims, key=lambda claim: (
                -claim[1] / limit[claim[0]] if limit[claim[0]] else float("-inf"), claim[0]))
        lease.station = None if self.is_aside(lease) else self.first_to_stand_at(lease)

    def first_to_stand_at(self, lease):
        rest = lease.road[lease.n_kept:]
        return next((claim for claim in rest if not self.has(lease, claim)), rest[0])

    def sort(self):
        """A pause, a limit or its end has put some aside, and calls others back."""
        for lease in self.waiting():
            if lease.station and self.is_shut_out(lease):
                lease.station, lease.n_kept, lease.ends, lease.is_fresh = None, 0, 0, False
        for lease in self.waiting():
            if lease.is_for_several and not lease.station and not self.is_shut_out(lease):
                lease.station, lease.is_fresh = lease.road[0], True

    def lost(self, lease):
        """The place on its road of the first kept claim that has been taken."""
        return next((place for place, claim in enumerate(lease.road[:lease.n_kept])
                     if not self.has(lease, claim)), None)

    def gain(self, lease):
        lease.road.remove(lease.station)
        lease.road.insert(lease.n_kept, lease.station)
        lease.n_kept += 1
        if not lease.ends:
            keep = min(self.resources[name].keep for name in lease.names())
            lease.ends = self.clock + (keep << lease.n_let_go)
        lease.station = self.first_to_stand_at(lease)

    def fall(self, lease):
        lease.n_kept = self.lost(lease)
        lease.station = lease.road[lease.n_kept]

    def let_go(self, lease, forced=False):
        lease.ends = 0
        if lease.n_kept:
            lease.n_kept = 0
            lease.road.remove(lease.station)
            lease.road.insert(0, lease.station)
            lease.n_let_go += not forced
            lease.n_forced = lease.n_forced + 1 if forced else 0

    def who_makes_way(self, lease, claims):
        """The keepers that have to let go for a nested request; None if that does not suffice."""
        above = {name for key in lease.above if key in self.leases and self.leases[key].is_held
                 and self.leases[key].uid == lease.uid for name in self.leases[key].names()}
        yielding = []
        for name, count, askers in claims:
            resource = self.resources[name]
            if resource.is_blocked(askers) or any(other.order < lease.order for other in self.queue(name)):
                return None
            n = resource.available(askers) - self.kept_before(lease, name)
            for other in self.waiting():
                if (n < count and other.order < lease.order and other.kept(name) and other.n_forced < 3
                        and other.stands_at() in above):
                    n += other.kept(name)
                    yielding += [] if other in yielding else [other]
            if n < count:
                return None
        return yielding

    # ---- who goes next

    def choose(self, lease):
        lease.station, lease.is_fresh = self.first_to_stand_at(lease), False

    def step_of_waiter(self, lease, look):
        if lease.is_fresh:
            return lambda: self.choose(lease)
        station = lease.station or lease.claims[0]
        if not self.has(lease, station):
            yielding = self.who_makes_way(lease, [station]) if lease.above else None
            return yielding and (lambda: [self.let_go(other, True) for other in yielding])
        if self.lost(lease) is not None:
            return lambda: self.fall(lease)
        if any(not self.has(lease, claim) for claim in lease.road[lease.n_kept:]):
            return lambda: self.gain(lease)
        return lambda: self.grant(lease, look)

    def steps(self, look):
        for name in self.resources:
            for lease in self.queue(name)[:1]:
                step = self.step_of_waiter(lease, look)
                if step:
                    yield lease.order, 0, step
            for lease in [lease for lease in self.waiting() if lease.kept(name)][-1:]:
                if not self.has(lease, next(claim for claim in lease.road if claim[0] == name)):
                    yield lease.order, 1, lambda lease=lease: self.fall(lease)

    def settle(self, look):
        """`look` is Redis' view of the holders: {key: {name: units}}. The oldest that can do
        something does it, then all are asked again."""
        self.sort()
        for _ in range(1000):
            step = min(self.steps(look), default=None, key=lambda step: step[:2])
            if not step:
                return
            step[2]()
        raise AssertionError("it never ends")

    def grant(self, lease, look):
        self.hold(lease, look)
        self.grants.append(lease.key)

    def hold(self, lease, look):
        assert lease.key in look, f"{lease} should be held by now"
        lease.is_held = True
        lease.n_kept = lease.ends = 0
        lease.units = look[lease.key]
        for name, count, askers in lease.claims:
            resource, units = self.resources[name], lease.units[name]
            assert len(set(units)) == count
            for unit in units:
                assert resource.is_free(unit, askers), (lease, unit, resource)
            if resource.kind == "semaphore":
                free = (str(slot) for slot in itertools.count() if resource.is_free(str(slot), askers))
                assert sorted(units, key=int) == list(itertools.islice(free, count)), (lease, resource)
            resource.held.update(dict.fromkeys(units, lease.key))

    def drop(self, key):
        lease = self.leases.pop(key, None)
        if lease and lease.is_held:
            for name, units in lease.units.items():
                resource = self.resources[name]
                for unit in units:
                    del resource.held[unit]
                    if resource.cooldown:
                        resource.rest[unit] = self.clock + resource.cooldown

    # ---- requests

    def why_never(self, lease):
        for name, count, askers in lease.claims:
            if lease.holder and any(
                    other.holder == lease.holder and other.uid == lease.uid and name in other.names()
                    for other in self.leases.values()):
                return "held"
        for name, count, askers in lease.claims:
            resource = self.resources[name]
            if count > resource.max_for(askers) or (resource.user and count > resource.user):
                return "impossible"
        return None

    def why_not_now(self, lease):
        code = "would-wait"
        for name, count, askers in lease.claims:
            resource = self.resources[name]
            if resource.is_paused():
                return "paused"
            if resource.limit_for(askers) == 0:
                code = "closed"
            elif code == "would-wait" and resource.user and (
                    count > resource.user - self.users_units(name, lease.uid)):
                code = "quota"
        return code

    def queue_is_full(self, lease):
        return any(sum(name in other.names() for other in self.waiting())
                   >= self.resources[name].max_waiters for name in lease.names())

    def acquire(self, lease, nowait, look):
        """The expected answer: "granted", "waiting" or a code. Waiters are served afterwards,
        perhaps this one too."""
        code = self.why_never(lease)
        if code:
            return code
        yielding = None
        if not self.is_aside(lease) and not self.has_all(lease) and lease.above:
            yielding = self.who_makes_way(lease, lease.claims)
            for other in yielding or []:
                self.let_go(other, True)
        if not self.is_aside(lease) and self.has_all(lease):
            self.leases[lease.key] = lease
            self.hold(lease, look)
            return "granted"
        if nowait:
            return self.why_not_now(lease)
        if self.queue_is_full(lease):
            return "queue-full"
        self.enter(lease)
        self.leases[lease.key] = lease
        return "waiting"

"""What the Lua scripts should do, said again in the plainest way: who holds, who waits, who is next.
Which units of those that are free a lease gets, the model takes from what Redis says, and judges it."""

import dataclasses
import itertools


@dataclasses.dataclass
class Resource:
    kind: str = "semaphore"
    limit: int = 1
    items: tuple = ()
    cooldown: int = 0
    user: int = 0
    max_waiters: int = 1000
    # an operator's
    changed_limit: int = None
    changed_items: tuple = None
    paused: bool = False
    reserved: set = dataclasses.field(default_factory=set)
    # taken
    held: dict = dataclasses.field(default_factory=dict)  # unit: key
    rest: dict = dataclasses.field(default_factory=dict)  # unit: until

    def now_items(self):
        return self.items if self.changed_items is None else self.changed_items

    def limit_for(self, askers):
        if self.kind == "pool":
            return len(self.now_items())
        return min(self.limit, askers) if self.changed_limit is None else self.changed_limit

    def most_for(self, askers):
        if self.kind == "pool":
            return max(len(self.now_items()), len(self.items))
        if self.limit == 0 or askers == 0:
            return float("inf")
        return max(self.limit_for(askers), min(self.limit, askers))

    def is_blocked(self, askers):
        return self.paused or self.limit_for(askers) == 0

    def is_free(self, unit, askers):
        known = unit in self.now_items() if self.kind == "pool" else int(unit) < self.limit_for(askers)
        return known and unit not in self.held and unit not in self.rest and unit not in self.reserved

    def available(self, askers):
        if self.kind == "pool":  # each item is its own limit
            return sum(self.is_free(item, askers) for item in self.now_items())
        limit = self.limit_for(askers)
        free_reserved = [unit for unit in self.reserved
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

    @property
    def session(self):
        return self.key.split("/")[0]

    def names(self):
        return [name for name, *_ in self.claims]


class Model:
    def __init__(self, resources, ttl):
        self.resources = resources
        self.ttl = ttl
        self.clock = 0
        self.leases = {}
        self.expiry = {}  # session: ms
        self.grants = []  # keys, of waiters, in order, since somebody took them

    # ---- time: before anything that a call does

    def pass_time(self, clock):
        self.clock = clock
        for session in [one for one, at in self.expiry.items() if at <= clock]:
            del self.expiry[session]
            for key in [key for key in self.leases if key.startswith(session)]:
                self.drop(key)
        for resource in self.resources.values():
            resource.rest = {unit: until for unit, until in resource.rest.items() if until > clock}

    def lives_on(self, session):
        self.expiry[session] = self.clock + self.ttl

    # ---- who goes

    def users_units(self, name, uid):
        return sum(self.leases[key].uid == uid for key in self.resources[name].held.values())

    def is_aside(self, lease):
        for name, count, askers in lease.claims:
            resource = self.resources[name]
            if len(lease.claims) > 1 and resource.is_blocked(askers):
                return True
            if resource.user and count > resource.user - self.users_units(name, lease.uid):
                return True
        return False

    def fits(self, lease):
        return all(not self.resources[name].is_blocked(askers)
                   and self.resources[name].available(askers) >= count
                   for name, count, askers in lease.claims)

    def waiting(self):
        return sorted((lease for lease in self.leases.values() if not lease.is_held),
                      key=lambda lease: (-lease.priority, lease.ticket, lease.key))

    def settle(self, look):
        """`look` is Redis' view of who holds what: {key: {name: units}}."""
        taken = set()  # names that are spoken for
        for lease in self.waiting():
            if self.is_aside(lease):
                continue
            if taken.isdisjoint(lease.names()) and self.fits(lease):
                self.hold(lease, look)
                self.grants.append(lease.key)
            else:
                taken.update(lease.names())

    def hold(self, lease, look):
        assert lease.key in look, f"{lease} should be held by now"
        lease.is_held = True
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

    # ---- asking

    def why_never(self, lease):
        for name, count, askers in lease.claims:
            if lease.holder and any(
                    other.holder == lease.holder and other.uid == lease.uid and name in other.names()
                    for other in self.leases.values()):
                return "held"
        for name, count, askers in lease.claims:
            resource = self.resources[name]
            if count > resource.most_for(askers) or (resource.user and count > resource.user):
                return "impossible"
        return None

    def why_not_now(self, lease):
        code = "would-wait"
        for name, count, askers in lease.claims:
            resource = self.resources[name]
            if resource.paused:
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

    def is_first(self, lease):
        order = (-lease.priority, lease.ticket)
        return not any((-other.priority, other.ticket) < order and not self.is_aside(other)
                       and set(other.names()) & set(lease.names()) for other in self.waiting())

    def acquire(self, lease, nowait, look):
        """What the answer must be: "granted", "waiting" or a code. Who waits is served after that, and
        may be this one."""
        code = self.why_never(lease)
        if code:
            return code
        if self.is_first(lease) and not self.is_aside(lease) and self.fits(lease):
            self.leases[lease.key] = lease
            self.hold(lease, look)
            return "granted"
        if nowait:
            return self.why_not_now(lease)
        if self.queue_is_full(lease):
            return "queue-full"
        self.leases[lease.key] = lease
        return "waiting"

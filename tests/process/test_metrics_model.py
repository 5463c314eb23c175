"""What a host does, drawn at random, beside a model that counts it: after SIGKILLs and restarts too every
figure of berthctl metrics that is no time is the model's, and times are between the model's bounds."""

import collections
import time

from daemon_help import code, event, lease_of
from lost_help import sleeper
from test_metrics import answer, count, value

LIMIT, QUOTA, STEPS, RESTARTS = 3, 4, 120, 4
CONFIG = f"""grace = 60s
[semaphore etl]
limit = {LIMIT}
max-waiters = 2
[semaphore market/*]
limit = 5
max-units-per-user = {QUOTA}
"""
NAMES = ("etl", "market/a", "market/b")


def definition_of(name):
    return "market/*" if name.startswith("market/") else name


class Model:
    """One user's leases, all by one client. Each is on one resource."""

    def __init__(self, daemon, pid, chance):
        self.daemon, self.pid, self.chance = daemon, pid, chance
        self.counts = collections.Counter()
        self.held = {}  # lease: (name, units, earliest and latest start)
        self.waiting = {}  # lease: (name, units), first come first
        self.least, self.most = collections.Counter(), collections.Counter()  # unit-seconds of what has ended
        self.client = daemon.client()

    def begins(self, lease, name, units, how, since):
        self.counts["granted_total", definition_of(name), how] += 1
        self.held[lease] = (name, units, since, time.monotonic())

    def acquires(self):
        name, units = self.chance.choice(NAMES), self.chance.randint(1, 3)
        wait = " wait=0" if name != "etl" or self.chance.random() < 0.5 else ""
        since = time.monotonic()
        said = self.client.request(f"acquire {name}:{units} pid={self.pid}{wait}")
        if said.startswith("ok "):
            self.begins(lease_of(said), name, units, "at-once", since)
        elif said.startswith("waiting "):
            self.waiting[lease_of(said)] = (name, units)
        else:
            assert code(said) == self.why_not(name, units, wait)
            self.counts["denied_total", definition_of(name), code(said)] += 1

    def why_not(self, name, units, wait):
        used = sum(one[1] for one in self.held.values() if one[0] == name)
        if name != "etl":
            return "quota" if used + units > QUOTA else None
        return "would-wait" if wait else "queue-full" if len(self.waiting) == 2 else None

    def ends(self):
        if not self.held:
            return
        lease = self.chance.choice(sorted(self.held))
        name, units, earliest, latest = self.held[lease]
        verb, reason = self.chance.choice([("release", "released"), ("drop", "dropped")])
        before = time.monotonic()
        assert self.client.request(f"{verb} {lease}") == "ok"
        if verb == "drop":
            assert event(self.client)[:2] == ("lost", lease)
        del self.held[lease]
        self.counts["ended_total", definition_of(name), reason] += 1
        self.least[definition_of(name)] += units * (before - latest)
        self.most[definition_of(name)] += units * (time.monotonic() - earliest)
        self.serves(before)

    def serves(self, since):
        """Those that have waited, in order."""
        while self.waiting:
            lease, (name, units) = next(iter(self.waiting.items()))
            if units > LIMIT - sum(one[1] for one in self.held.values() if one[0] == "etl"):
                break
            assert event(self.client)[:2] == ("granted", lease)
            del self.waiting[lease]
            self.begins(lease, name, units, "waited", since)

    def cancels(self):
        if self.waiting:
            lease = self.chance.choice(sorted(self.waiting))
            name, _ = self.waiting.pop(lease)
            since = time.monotonic()
            assert self.client.request(f"cancel {lease}") == "ok"
            self.counts["denied_total", definition_of(name), "cancelled"] += 1
            self.serves(since)

    def restarts(self, end):
        """It counts from zero, and what is held is held from then on."""
        end()
        stopped = time.monotonic()
        self.daemon.start()
        self.client = self.daemon.client()
        for counted in (self.counts, self.least, self.most):
            counted.clear()
        self.held = {lease: (name, units, stopped, time.monotonic()) for lease, (name, units, *_) in self.held.items()}
        for lease, (name, units, *_) in [*self.held.items(), *self.waiting.items()]:
            assert self.client.request(f"reclaim {lease} {name}:{units} pid={self.pid}").split()[0] in ("ok", "waiting")
            self.counts["reclaimed_total", definition_of(name)] += 1

    def compare(self):
        looked = time.monotonic()
        rows = answer(self.client)
        answered = time.monotonic()
        for name in ("etl", "market/*"):
            mine = [one for one in self.held.values() if definition_of(one[0]) == name]
            assert value(rows, "held", name) == sum(units for _, units, *_ in mine)
            assert value(rows, "waiting", name) == (len(self.waiting) if name == "etl" else 0)
            for metric, word in (("wait_seconds", "granted_total"), ("hold_seconds", "ended_total")):
                assert count(rows, metric, name) == sum(
                    n for key, n in self.counts.items() if key[:2] == (word, name)), metric
            least = self.least[name] + sum(units * (looked - latest) for _, units, _, latest in mine)
            most = self.most[name] + sum(units * (answered - earliest) for _, units, earliest, _ in mine)
            assert least - 1e-3 <= value(rows, "unit_seconds_total", name) <= most + 1e-3
        shown = {(metric.removeprefix("berth_"), *labels): int(row["value"]) for (metric, labels), row in rows.items()
                 if metric.removeprefix("berth_") in ("granted_total", "denied_total", "ended_total", "reclaimed_total")}
        assert {key: n for key, n in shown.items() if n} == dict(self.counts)


def test_as_the_model_counts(daemon, chance):
    with sleeper() as pid:
        model = Model(daemon, pid, chance)
        for _ in range(RESTARTS):
            for _ in range(STEPS):
                chance.choices([model.acquires, model.ends, model.cancels], [5, 4, 1])[0]()
            model.compare()
            model.restarts(chance.choice([daemon.kill, daemon.stop]))
            model.compare()

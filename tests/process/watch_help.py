"""A copy of what `status` shows, kept up to date by `watch`, and how it is compared with `status`."""

import time

from daemon_help import keys
from lines import DEADLINE

# What changes as time passes; the `since` of another host's lease wavers.
AGES = ("now", "since", "good_until", "calls", "unread")


def settled(words):
    """The keys of a line without those that tell of time."""
    return {key: value for key, value in keys(words).items() if key not in AGES}


def all_words(words):
    """The same; a key may be repeated (`reserve`)."""
    return settled(words) | {"reserve": sorted(word for word in words if word.startswith("reserve="))}


class Copy:
    """.host, .resources, .templates, .databases: keys by name; .leases[lease, name]: (kind, keys);
    .over: the `ended` lines; .snapshots, .batches, .missed: how many of them there were."""

    def __init__(self, client, request="watch"):
        self.client = client
        self.over, self.said = [], []
        self.snapshots = self.batches = self.missed = 0
        self.forget()
        client.send(request + "\n")
        head = client.line().split(" ")
        assert head[0] == "ok", head
        self.host = settled(head)
        self.take()

    def forget(self):
        self.resources, self.templates, self.databases, self.leases = {}, {}, {}, {}

    def take(self):
        """One batch."""
        self.said = []
        while True:
            line = self.client.line()
            assert line and len(line) < 4096, line
            self.said.append(line)
            kind, *words = line.split(" ")
            if kind == "end":
                self.batches += 1
                assert words in ([], ["missed=1"])
                self.missed += len(words)
                return self
            getattr(self, "take_" + kind)(*words)

    def take_until(self, is_so):
        """Takes batches, and returns their lines. Those of databases come again and again, so the deadline is
        here."""
        end = time.monotonic() + DEADLINE
        said = []
        while not is_so(self):
            assert time.monotonic() < end, self.shown()
            said += self.take().said
        return said

    def take_snapshot(self):
        self.snapshots += 1
        self.forget()

    def take_host(self, *words):
        self.host = settled(words)

    def take_resource(self, name, *words):
        self.resources[name] = all_words(words)

    def take_template(self, name, *words):
        self.templates[name] = settled(words)

    def take_database(self, name, *words):
        self.databases[name] = settled(words)

    def take_holder(self, lease, name, *words):
        name = name.removeprefix("resource=")
        assert name in self.resources, f"a lease on {name}, which is not known"
        self.leases[lease, name] = ("holder", settled(words))

    def take_waiter(self, lease, name, *words):
        name = name.removeprefix("resource=")
        assert name in self.resources, f"a lease on {name}, which is not known"
        assert "position" not in keys(words)
        self.leases[lease, name] = ("waiter", settled(words))

    def take_gone(self, lease, name):
        self.leases.pop((lease, name.removeprefix("resource=")), None)

    def take_removed(self, name):
        self.resources.pop(name, None)
        self.templates.pop(name, None)
        self.leases = {key: lease for key, lease in self.leases.items() if key[1] != name}

    def take_ended(self, lease, *words):
        self.over.append((lease, keys(words)))

    def queue(self, name):
        """The leases that wait for it, in order."""
        waiters = [(-int(words["priority"]), int(words.get("ticket", 2 ** 63)), lease)
                   for (lease, of), (kind, words) in self.leases.items() if of == name and kind == "waiter"]
        return [lease for _, _, lease in sorted(waiters)]

    def shown(self):
        """As told_by_status()."""
        leases = {}
        for key, (kind, words) in self.leases.items():
            leases[key] = (kind, {word: value for word, value in words.items() if word != "ticket"})
        queues = {name: queue for name in self.resources if (queue := self.queue(name))}
        return self.host, self.resources, self.templates, leases, queues

    def catches_up(self, client):
        """Takes batches until it is what `status` says; if it never is, no batch comes and the
        deadline passes."""
        while self.shown() != told_by_status(client):
            self.take()
        return self


def told_by_status(client):
    """(host, resources, templates, leases, queues) as a copy has them."""
    head, *lines, end = client.lines("status")
    assert end == "end"
    host, resources, templates, leases, queues = settled(head.split(" ")), {}, {}, {}, {}
    name = None
    for line in lines:
        kind, word, *words = line.split(" ")
        if kind == "resource":
            name = word
            resources[name] = all_words(words)
        elif kind == "template":
            templates[word] = settled(words)
        elif kind in ("holder", "waiter"):
            said = settled(words)
            if kind == "waiter":
                queues.setdefault(name, []).append(word)
                del said["position"]
            if said.get("blocked") == "quota":
                said.pop("blocker", None)
            leases[word, name] = (kind, said)
    return host, resources, templates, leases, queues

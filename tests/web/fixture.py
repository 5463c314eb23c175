"""Serves the page with made-up answers of berth-web, in the form of the real ones: for pictures,
and for lists longer than a real berthd is needed for.

fixture.py [--port N] [--resources N --leases N] [--empty]

Prints the address, and serves until it is ended."""

import argparse
import base64
import contextlib
import hashlib
import http.server
import json
import pathlib
import random
import re
import socket
import threading
import time
import urllib.parse

PAGE = pathlib.Path(__file__).parents[2] / "src" / "web" / "page"
DECEPTIVE = "".join(f"\\u{{{first}}}-\\u{{{last}}}" for first, last in re.findall(
    r"^X\(0x(\w+), 0x(\w+)\)$", (PAGE.parents[1] / "client" / "deceptive.def").read_text(), re.M))
MINUTE, HOUR = 60_000, 3_600_000
BROKEN = {}  # file: (text, what stands in its place); test_broken.py sets it


def assembled():
    """(the page with its parts in it, its policy), as src/web/assemble-page makes them."""
    hashes = {"script": [], "style": []}

    def part(kind, name):
        text = "\n" + (PAGE / name).read_text().replace("@deceptive@", DECEPTIVE)
        if name in BROKEN:
            old, new = BROKEN[name]
            assert text.count(old) == 1, f"{name} has not once: {old}"
            text = text.replace(old, new)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        hashes[kind].append(f"'sha256-{digest}'")
        return f"<{kind}>{text}</{kind}>"

    text = (PAGE / "index.html").read_text()
    text = re.sub(r'<link rel="stylesheet" href="([^"]*)">', lambda m: part("style", m[1]), text)
    text = re.sub(r'<script src="([^"]*)"></script>', lambda m: part("script", m[1]), text)
    policy = ("default-src 'none'; img-src data:; connect-src 'self'; "
              "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
              f"script-src {' '.join(hashes['script'])}; style-src {' '.join(hashes['style'])}")
    return text, policy


# ---- what is there ----

def lease(number, now, user, program, **more):
    return {"lease": f"1k0x{number:07x}", "pid": 1000 + number, "uid": 1000 + len(user),
            "user": user, "host": None, "program": program, "reason": None, "holder": None,
            "since": -now, "until": None, "away": False, **more}


def holder(number, age, user, program, units, **more):
    return {**lease(number, age, user, program), "units": units, "units_cut": False,
            "token": str(1795433429838527 + number), "bound": "process",
            "stopping": None, **more}


def waiter(number, age, user, program, position, wants=1, **more):
    return {**lease(number, age, user, program), "position": position, "wants": wants,
            "priority": 0, "blocked": None, "blocker": None, "kept": 0, **more}


def resource(name, kind, limit, holders=(), waiters=(), items=(), **more):
    used = sum(len(held["units"]) for held in holders)
    return {"name": name, "kind": kind, "scope": "host", "database": None, "database_state": None,
            "limit": limit, "in_use": used, "free": max(limit - used, 0),
            "grantable": max(limit - used, 0), "cooling": 0, "kept": 0, "kept_for": None,
            "waiting": len(waiters), "paused": False, "pause_reason": None, "paused_by_uid": None,
            "paused_by_user": None, "paused_by_login_uid": None, "paused_by_login_user": None,
            "changed": [], "template": None, "removed": False, "items": list(items),
            "items_cut": False, "holders": list(holders), "waiters": list(waiters), **more}


def template(name, kind, limit, instances):
    return {"name": name, "kind": kind, "scope": "host", "database": None, "database_state": None,
            "limit": limit, "instances": instances, "paused": False, "pause_reason": None,
            "paused_by_uid": None, "paused_by_user": None, "changed": []}


USERS = ("alice", "bob", "carol", "dave", "etl", "ci", "postgres", "backup")
PROGRAMS = ("train.py", "load.sh", "pg_dump", "make", "render", "rsync", "pytest", "tar")


def office(chance):
    """A host with a little of everything."""
    fleet = {"scope": "fleet", "database": "main", "database_state": "up"}
    gpus = [f"gpu{i}" for i in range(8)]
    held = {0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 5: 2}
    jobs = (("alice", "train.py", 47 * MINUTE), ("bob", "evaluate.py", 12 * MINUTE),
            ("carol", "train.py", 3 * HOUR + 4 * MINUTE))
    gpu = [holder(i, age, user, program, [gpus[g] for g, owner in held.items() if owner == i])
           for i, (user, program, age) in enumerate(jobs)]
    items = [{"name": name, "state": "held" if i in held else "idle", "reason": None}
             for i, name in enumerate(gpus)]
    items[7] = {"name": "gpu7", "state": "reserved", "reason": "fan broken"}
    gpu_queue = [waiter(20, 6 * MINUTE, "dave", "render", 1, 2),
                 waiter(21, 2 * MINUTE, "alice", "sweep.py", 2, 1, blocked="quota")]
    loads = [holder(40 + i, (i * 7 + 1) * 41_000, USERS[i % 5], "load.sh", [i],
                    host=("ares", "boreas", "chronos")[i % 3]) for i in range(12)]
    load_queue = [waiter(60 + i, (9 - i) * 23_000, USERS[(i + 2) % 5], "load.sh", i + 1,
                         host=("boreas", "ares")[i % 2]) for i in range(9)]
    licences = [holder(80, 25 * MINUTE, "ci", "synth", [0, 1], until=35 * MINUTE),
                holder(81, 4 * MINUTE, "dave", "synth", [2], holder="nightly-4711")]
    slots, workers = [], 0
    while len(slots) < 900:
        size = chance.choice((1, 4, 8, 16, 32))
        first = workers + chance.choice((0, 0, 0, 3, 20))
        workers = first + size
        if workers > 1024:
            break
        slots.append(holder(1000 + len(slots), chance.randrange(HOUR), chance.choice(USERS),
                            "worker", list(range(first, workers))))
    tests = [holder(300 + i, i * 9_000, USERS[i % 7], "pytest", [i]) for i in range(31) if i % 4]
    return [
        resource("gpus", "pool", 8, gpu, gpu_queue, items),
        resource("warehouse", "semaphore", 12, loads, load_queue, **fleet),
        resource("licence/synth", "semaphore", 4, licences,
                 [waiter(90, 55_000, "alice", "synth", 1, 2, blocked="other", blocker="gpus",
                         kept=1)], kept=1, kept_for=1),
        resource("deploy", "lock", 1, [holder(95, 74_000, "carol", "deploy.sh", [0],
                                              holder="release-1.2", stopping="revoked")],
                 [waiter(96, 31_000, "ci", "deploy.sh", 1)]),
        resource("backup-disk", "semaphore", 2, paused=True, pause_reason="disk is being replaced",
                 paused_by_user="root", paused_by_uid=0, paused_at=1795433429838, paused_host="ares"),
        resource("imports", "semaphore", 5, changed=["limit"], file_limit=20, changed_at=1795433429838,
                 changed_by_user="root", changed_by_uid=0, changed_by_login_user="alice",
                 changed_by_login_uid=1000, change_reason="too slow"),
        resource("tests", "semaphore", 32, tests),
        resource("batch", "semaphore", 1024, slots),
        resource("adhoc/report", "lock", 1, [holder(98, 12_000, "alice", "sleep", [0])],
                 [waiter(99, 4_000, "alice", "echo", 1)], template="adhoc/*"),
        resource("old-database", "semaphore", 3, [holder(97, 2 * HOUR, "postgres", "vacuumdb",
                                                         [1])], removed=True),
    ]


def crowd(chance, n_resources, n_leases):
    """Many resources, with so many leases in all."""
    resources, number = [], 0
    each = n_leases // n_resources
    for i in range(n_resources):
        n_held = min(each, chance.choice((each - 2, each - 1, each, each // 2)))
        held = [holder(number + k, chance.randrange(HOUR), chance.choice(USERS),
                       chance.choice(PROGRAMS), [k]) for k in range(n_held)]
        queue = [waiter(number + n_held + k, chance.randrange(HOUR), chance.choice(USERS),
                        chance.choice(PROGRAMS), k + 1) for k in range(each - n_held)]
        number += each
        limit = chance.choice((n_held, n_held + 2, 40, 100)) if not queue else max(n_held, 1)
        resources.append(resource(f"queue/{i:04}", "semaphore", limit, held, queue))
    return resources


# ---- what was ----

def past_lease(number, name, units, user, program, asked, granted, ended, **more):
    return {"lease": f"1k0p{number:07x}", "resources": [
        {"name": name, "units": [str(unit) for unit in units], "units_cut": False,
         "wanted": None}], "resources_cut": False, "database": None, "uid": 1000, "user": user,
        "login_uid": None, "login_user": None, "pid": 5000 + number, "program": program,
        "reason": None, "holder": None, "host": None, "cgroup": None, "args": None, "asked_at_ms": asked,
        "granted_at_ms": granted, "ended_at_ms": ended, "waited_ms": granted - asked,
        "held_ms": ended - granted, "how": "released", "code": None, "exit": 0, "signal": None,
        "unseen": False, "by_uid": None, "by_user": None, "by_login_uid": None,
        "by_login_user": None, "why": None, **more}


def action(at, verb, user="alice", **more):
    return {"verb": verb, "at_ms": at, "uid": 1000, "user": user, "login_uid": None, "login_user": None,
            "resource": None, "target": None, "old": None, "new": None, "host": None, "reason": None, **more}


def source(database, since, more=False):
    return {"database": database, "since_at_ms": since, "more": more}


def history(chance, resources, now, span=8 * HOUR):
    """Jobs one after the other in each unit, up to what holds it now."""
    leases = []
    for shown in resources:
        units = {unit: -held["since"] for held in shown["holders"] for unit in held["units"]}
        names = [item["name"] for item in shown["items"]] or range(min(shown["limit"], 40))
        for unit in list(names)[:40]:
            end = now - units.get(unit, chance.randrange(20 * MINUTE)) - chance.randrange(90_000)
            while end > now - span and shown["name"] != "backup-disk":
                start = end - chance.randrange(2 * MINUTE, 50 * MINUTE)
                waited = chance.choice((0, 0, chance.randrange(6 * MINUTE)))
                failed = chance.random() < 0.06
                leases.append(past_lease(
                    len(leases), shown["name"], [unit], chance.choice(USERS[:6]),
                    chance.choice(PROGRAMS), start - waited, start, end,
                    host=chance.choice((None, "boreas", "chronos")) if shown["scope"] == "fleet" else None,
                    **({"how": "max-hold", "signal": 15, "exit": None} if failed else {})))
                end = start - chance.choice((0, 5_000, chance.randrange(15 * MINUTE)))
    return sorted(leases, key=lambda lease: -lease["ended_at_ms"])


class World:
    """What the fixture shows: made once, so that ages grow; tests change it by `update`."""

    def __init__(self, options):
        chance = random.Random(7)
        self.began = int(time.time() * 1000)
        self.is_office = not options.resources and not options.empty
        if options.empty:
            made = []
        elif options.resources:
            made = crowd(chance, options.resources, options.leases)
        else:
            made = office(chance)
        self.resources = {shown["name"]: (shown, self.began) for shown in made}
        self.history = history(chance, made[:50], self.began)
        self.changed = threading.Condition()
        self.serial = 1
        self.changes = []  # (serial, name)
        self.past_keys = {}  # of /history.json, which a test sets
        self.no_history = None  # why
        self.more = {}  # keys of the answer that a test sets

    def now(self):
        return int(time.time() * 1000)

    # ---- changes ----

    def update(self, *resources, removed=(), ended=(), **more):
        with self.changed:
            self.serial += 1
            for shown in resources:  # leases that stay were there before
                old, at = self.resources.get(shown["name"], (None, None))
                is_kept = old and shown["holders"] is old["holders"]
                self.resources[shown["name"]] = (shown, at if is_kept else self.now())
            for name in removed:
                del self.resources[name]
            self.changes += [(self.serial, shown["name"]) for shown in resources]
            self.changes += [(self.serial, name) for name in removed]
            self.history[:0] = ended
            self.more.update(more)
            self.changed.notify_all()

    def dated(self, shown, at):
        copy = json.loads(json.dumps(shown))
        for one in copy["holders"] + copy["waiters"]:
            one["since"] += at - self.began
            one["until"] = one["until"] and one["until"] + at - self.began
        return copy

    # ---- answers ----

    def status(self):
        fleet, now = self.is_office, self.now() - self.began
        return {
            "version": 1, "serial": f"fixture.{self.serial}", "connected": True, "why": None,
            "host": "ares" if fleet else "fixture", "now_ms": self.now(), "now": now, "draining": False,
            "grace_until": None,
            "resources": [self.dated(shown, at) for shown, at in self.resources.values()],
            "templates": [template("adhoc/*", "lock", 1, 1 if fleet else 0)],
            "databases": [{"name": "main", "state": "up", "why": None,
                           "server": "redis.example:6379", "redis_version": "7.0.15",
                           "warning": None, "ttl_ms": 30000, "grace_until": None, "good_until": now + 24000, "lacks": [],
                           "incarnation": 1, "differing": 0, "calls": 911, "answers": 42, "answer_last_us": 310,
                           "answer_median_us": 270, "answer_p99_us": 12900, "slow": False}] if fleet else [],
            "gone": [{"host": "draco", "session": "draco-1", "database": "main", "heard_at": now - 243000,
                      "freed_at": now - 213000, "held": 1, "resources": ["gpus"]}] if fleet else [],
            "hosts": [{"host": host, "database": "main", "heard_at": now - heard, "held": 4,
                       "waiting": waiting, "version": "1.2", "session": host + "-1"}
                      for host, heard, waiting in (("ares", 300, 5), ("boreas", 1900, 4),
                                                   ("chronos", 21000, 0))] if fleet else [],
            **self.more}

    def news(self, after):
        """What has changed after the serial: the answer to a long poll."""
        with self.changed:
            self.changed.wait_for(lambda: f"fixture.{self.serial}" != after, 25)
            answer = self.status()
            known = after.startswith("fixture.") and 1 <= int(after[8:]) <= self.serial
            if known:
                names = {name for serial, name in self.changes if serial > int(after[8:])}
                answer.update(
                    full=False, templates=[], resources=[self.dated(*self.resources[name])
                                                         for name in names & set(self.resources)],
                    removed=sorted(names - set(self.resources)))
            else:
                answer["full"] = True
            return answer

    def past(self, query):
        start, until = int(query.get("from", ["0"])[0]), int(query.get("until", ["9" * 14])[0])
        limit = int(query.get("limit", ["5000"])[0])
        found = [one for one in self.history
                 if one["ended_at_ms"] >= start and one["asked_at_ms"] <= until]
        fleet, now = self.is_office, self.now()
        gap = {"from_at_ms": self.began - 130 * MINUTE, "until_at_ms": self.began - 118 * MINUTE,
               "why": "not-running", "n": 17}
        done = [action(self.began - 40 * MINUTE, "limit", resource="warehouse", old="20", new="12",
                       reason="replica is behind"),
                action(self.began - 12 * MINUTE, "drain", new="draining", user="root", host="boreas")]
        sources = [source(None, self.began - 6 * 24 * HOUR, len(found) > limit)]
        if fleet:
            sources.append(source("main", self.began - 7 * HOUR))
        return {"host": "ares", "kept_by": "berth-history", "why": None, "failed": [],
                "whose": "database" if fleet else "host", "version": 1, "now_at_ms": now,
                "since_at_ms": sources[0]["since_at_ms"], "sources": sources, "leases": found[:limit][::-1],
                "actions": [one for one in done if start <= one["at_ms"] < until] if fleet else [],
                "gaps": [gap] if fleet else [], **self.past_keys}


def handler(world):
    page, policy = assembled()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, body, kind, status=200):
            data = body.encode()
            self.send_response(status)
            for name, value in (("Content-Type", kind), ("Content-Length", str(len(data))),
                                ("Content-Security-Policy", policy),
                                ("X-Content-Type-Options", "nosniff"),
                                ("Cache-Control", "no-store")):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):  # noqa: N802, the name that http.server looks for
            url = urllib.parse.urlsplit(self.path)
            query = urllib.parse.parse_qs(url.query)
            if url.path == "/":
                self.answer(page, "text/html; charset=utf-8")
            elif url.path == "/status.json":
                after = query.get("after")
                answer = world.news(after[0]) if after else world.status()
                self.answer(json.dumps(answer), "application/json")
            elif url.path == "/history.json" and world.no_history:
                self.answer(world.no_history, "text/plain; charset=utf-8", 503)
            elif url.path == "/history.json":
                self.answer(json.dumps(world.past(query)), "application/json")
            else:
                self.send_error(404)

        def log_message(self, *_):
            pass

    return Handler


class Server(http.server.ThreadingHTTPServer):
    """One that ends with its connections, as a program does."""

    daemon_threads = True

    def __init__(self, world, port=0):
        super().__init__(("127.0.0.1", port), handler(world))
        self.world = world
        self.sockets = set()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/"

    def get_request(self):
        connection, peer = super().get_request()
        self.sockets.add(connection)
        return connection, peer

    def handle_error(self, request, client_address):
        pass  # a browser that goes away

    def stop(self):
        self.shutdown()
        self.server_close()
        for connection in self.sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def serve(port=0, resources=0, leases=0, empty=False):
    return Server(World(argparse.Namespace(resources=resources, leases=leases, empty=empty)), port)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--resources", type=int, default=0)
    parser.add_argument("--leases", type=int, default=0)
    parser.add_argument("--empty", action="store_true")
    options = parser.parse_args()
    server = serve(options.port, options.resources, options.leases, options.empty)
    print(server.address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()

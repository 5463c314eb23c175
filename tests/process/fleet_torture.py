"""Random faults upon a fleet at work, and what must stay true: never too many jobs at once, no unit
leaked, every job's result right. tests/fleet-torture runs it for as long as one likes.

Jobs are their own witnesses (witness_job.c). No fault disables both killers of a job, its wrapper
and its host's berthd, past its deadline."""

import contextlib
import heapq
import itertools
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import time

from daemon_help import keys
from fleet_help import Clock, Host, RedisServer, Way, redis
from lines import DEADLINE, Client, look_again
from scripts_help import WORDS, Database, past_the_first_grace
from torture_changes import Changes
from torture_resources import LAG, LIMITS, TTL
from witness import Witness


def held_and_waiting(host):
    with contextlib.closing(Client(host.socket)) as client:
        head = keys(client.lines("status")[0].split())
    return int(head["held"]), int(head["waiting"])


def has_process(job):
    """Whether it has a process, even one that has not executed yet: the wrapper's child has its
    words."""
    words = b"\0" + "\0".join(job.process.args[-2:]).encode() + b"\0"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if int(pid) != job.process.pid and pathlib.Path("/proc", pid, "cmdline").read_bytes().endswith(words):
                return True
    return False


class Running:
    """A wrapper and what is known about its job."""

    def __init__(self, host, name, number, process, patient):
        self.host, self.name, self.number, self.process = host, name, number, process
        self.patient = patient  # waits for as long as it takes
        self.pidfd = None  # of the job, once it has started
        self.is_doomed = False  # its host is gone for good
        self.faults = set()  # what was done to it: "wrapper", "job"
        self.is_stopped = self.was_stopped = False
        self.berthd_was_away = False


class Torture(Changes):
    def __init__(self, directory, chance, hosts=3, say=lambda text: None):
        self.directory, self.chance, self.say = directory, chance, say
        # Clocks are slewed, or that of Redis is set: doc/timing.md, "Not promised", says why not both.
        self.has_rates = chance.randrange(2) == 0
        self.clock = self.make_clock("clock")
        self.ways, self.hosts = [], []
        self.make_redis()
        self.begin_database()
        self.witnesses = {}
        for name in LIMITS:
            where = directory / name.replace("/", "-")
            where.mkdir()
            self.witnesses[name] = Witness(where)
        for n in range(hosts):
            self.make_way(n)
            self.hosts.append(self.make_host(f"h{n}", self.file_of(n)))
        self.begin_changes()
        self.is_up = [True] * hosts
        self.rolled_back_at = []
        self.busy_until = [0.0] * hosts
        self.redis_is_well_until = 0.0
        self.numbers = itertools.count()
        self.running = {}  # number: Running, until its wrapper has ended
        self.orphans = {}  # number: Running, whose wrapper was killed
        self.gone = {}  # number: what became of it
        self.began = time.monotonic()
        self.results = {}  # status: how many
        self.complaints = []
        self.plan = []  # heap of (when, tie, function)
        self.ties = itertools.count()
        self.rdbs = []
        self.burst = None  # the connection
        self.faults = {}  # name: how many
        self.ending = False

    def make_redis(self):
        """.redis: the present master."""
        self.redis = RedisServer(self.directory, clock=self.clock)
        self.servers = [self.redis]

    def begin_database(self):
        self.database = Database(self.redis)
        past_the_first_grace(self.redis, self.clock, TTL, LAG)

    def make_host(self, name, text):
        clock = self.make_clock(f"{name}.clock") if self.has_rates else None
        return Host(self.directory, name, text, clock=clock)

    def make_clock(self, name):
        rate = self.chance.choice([-1, -0.5, 0, 1]) / 12 if self.has_rates else 0
        self.say(f"{name}: {rate:+.3f}")
        return Clock(self.directory / name, rate)

    def make_way(self, n):
        """From host n to Redis."""
        self.ways.append(Way(self.directory / f"w{n}", self.redis.socket))

    def url_of(self, n):
        return self.ways[n].url

    # ---- time

    def seconds(self):
        return time.monotonic() - self.began

    def after(self, seconds, function, *args):
        heapq.heappush(self.plan, (time.monotonic() + seconds, next(self.ties), function, args))

    def wait(self, until):
        """Carries out what is planned, hears what jobs say, notes which have ended."""
        while True:
            now = time.monotonic()
            while self.plan and self.plan[0][0] <= now:
                _, _, function, args = heapq.heappop(self.plan)
                function(*args)
            self.hear()
            self.reap()
            if now >= until or (self.ending and not self.running and not self.orphans):
                return
            at = min(until, self.plan[0][0] if self.plan else until, now + 0.1)
            select.select([witness.log for witness in self.witnesses.values()], [], [],
                          max(at - time.monotonic(), 0))

    # ---- jobs

    def start_job(self):
        host = self.chance.randrange(len(self.hosts))
        name = self.chance.choice(["s", "s", "s", "l", "t/x", "p", "quota", "rest", "one", "old"])
        if not self.is_there[host]:
            return
        number = next(self.numbers)
        patient = self.chance.randrange(8) > 0
        options = [] if patient else self.chance.choice([["-n"], ["-w", "1"]])
        if name == "one":
            options += ["--holder", "me"]
        with open(self.directory / "said", "ab") as said:
            process = self.hosts[host].berth.start(
                "run", "-q", "--if-down", "wait", *options, name, "--",
                *self.witnesses[name].job(number), stdout=subprocess.DEVNULL, stderr=said)
        self.running[number] = Running(host, name, number, process, patient)

    def hear(self):
        for name, witness in self.witnesses.items():
            if not witness.read():
                continue
            for number in witness.pids.keys() - witness.heard:
                witness.heard.add(number)
                self.started(name, witness, number)

    def started(self, name, witness, number):
        job = self.running.get(number) or self.orphans.get(number)
        if job is None:
            self.complaints.append(f"job {number} has started after the end of its wrapper: {self.gone[number]}")
            return
        with contextlib.suppress(ProcessLookupError):
            fd = os.pidfd_open(witness.pids[number])
            if witness.is_alive(number):
                job.pidfd = fd
            else:
                os.close(fd)
        if job.is_doomed:
            self.to_job(job, signal.SIGKILL)
        self.after(self.chance.choice([0, 0.01, 0.1, 0.5, 1.5, 6]), self.let_go, job)

    def let_go(self, job):
        """Unless its host is to be caught with its jobs running."""
        later = self.busy_until[job.host] - time.monotonic()
        if later > 0:
            self.after(later, self.let_go, job)
        else:
            self.witnesses[job.name].let_go(job.number)

    def reap(self):
        for number, job in list(self.running.items()):
            if job.process.poll() is not None:
                self.ended(job)
        for number, job in list(self.orphans.items()):
            if job.pidfd is None and self.ending and not has_process(job):
                self.forget(self.orphans, job)  # it never began
            elif job.pidfd is not None and select.select([job.pidfd], [], [], 0)[0]:
                self.forget(self.orphans, job)

    def forget(self, where, job):
        del where[job.number]
        self.gone[job.number] = f"status {job.process.returncode}, {sorted(job.faults)}, {self.seconds():.2f} s"
        if job.pidfd is not None:
            os.close(job.pidfd)
            job.pidfd = None

    def ended(self, job):
        witness = self.witnesses[job.name]
        self.hear()  # whatever it has said, it said before it ended
        result = job.process.returncode
        self.results[result] = self.results.get(result, 0) + 1
        if "wrapper" in job.faults and result == -signal.SIGKILL:
            del self.running[job.number]
            self.orphans[job.number] = job
            return
        has_ended = job.number in witness.ended
        expected = {0, 124} if has_ended else {124}
        if "job" in job.faults:
            expected.add(-signal.SIGKILL)
        if job.number not in witness.pids:
            # Granted and lost before its wrapper heard of it: its child was killed before it became the job.
            if job.was_stopped or job.berthd_was_away:
                expected.add(-signal.SIGKILL)
            if job.berthd_was_away:
                expected.add(-signal.SIGTERM)
        if not job.patient and job.number not in witness.pids:
            expected.update((69, 75))
        if job.name == "one" and job.number not in witness.pids:
            expected.add(75)  # another job has the identity
        if job.name == "old" and job.number not in witness.pids:
            expected.add(78)  # it is not in this host's file, or not any more
        if self.was_blind(time.monotonic() - 1):
            expected.add(3)  # two on one slot: the second one has seen it
        if result not in expected:
            self.complaints.append(f"job {job.number} of {job.name} on {job.host}: status {result}, "
                                   f"{self.seconds():.2f} s, "
                                   f"{'patient, ' if job.patient else ''}{'ended' if has_ended else 'started' if job.number in witness.pids else 'never started'}, "
                                   f"{sorted(job.faults)}")
        self.forget(self.running, job)

    def jobs_of(self, host):
        return [job for job in self.running.values() if job.host == host]

    # ---- faults of one host

    def daemon_fault(self):
        """Its wrappers are the killers now: all of them must be able to kill."""
        host = self.chance.randrange(len(self.hosts))
        if not self.is_up[host]:
            return None
        self.leave_to_wrappers(host)
        if self.chance.randrange(2):
            self.hosts[host].kill()
            self.after(self.chance.choice([0, 0, 0.5, 3, 8]), self.daemon_back, host)
            return "daemon killed"
        self.hosts[host].signal(signal.SIGSTOP)
        self.after(self.chance.choice([0.1, 1, 3, 8]), self.daemon_goes_on, host)
        return "daemon stopped"

    def leave_to_wrappers(self, host):
        for job in list(self.orphans.values()):
            if job.host == host and job.pidfd is not None:
                signal.pidfd_send_signal(job.pidfd, signal.SIGKILL)
        for job in self.jobs_of(host):
            job.berthd_was_away = True
            self.go_on(job)
        self.is_up[host] = False

    def daemon_back(self, host):
        self.hosts[host].start()
        self.is_up[host] = True

    def daemon_goes_on(self, host):
        self.hosts[host].signal(signal.SIGCONT)
        self.is_up[host] = True

    def random_job(self):
        jobs = [job for job in self.running.values() if self.is_up[job.host] and not job.faults]
        return self.chance.choice(jobs) if jobs else None

    def wrapper_killed(self):
        """Only its berthd can stop that job now."""
        job = self.random_job()
        if job:
            job.faults.add("wrapper")
            job.process.kill()
            return "wrapper killed"

    def wrapper_stopped(self):
        job = self.random_job()
        if job:
            job.is_stopped = job.was_stopped = True
            job.process.send_signal(signal.SIGSTOP)
            self.after(self.chance.choice([0.1, 1, 3, 8]), self.go_on, job)
            return "wrapper stopped"

    def go_on(self, job):
        if job.is_stopped and job.process.poll() is None:
            job.process.send_signal(signal.SIGCONT)
        job.is_stopped = False

    def job_fault(self):
        job = self.random_job()
        if job and job.pidfd is not None:
            job.faults.add("job")
            if self.chance.randrange(2):
                self.to_job(job, signal.SIGKILL)
                return "job killed"
            self.to_job(job, signal.SIGSTOP)
            self.after(self.chance.choice([0.1, 1, 3, 8]), self.to_job, job, signal.SIGCONT)
            return "job stopped"

    def to_job(self, job, number):
        if job.pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(job.pidfd, number)

    def burst_comes(self):
        """Somebody asks without a pause, reads nothing, and is gone. It must cost no other job its place."""
        host = self.chance.choice([n for n, up in enumerate(self.is_up) if up] or [None])
        if host is None or self.burst:
            return None
        words, n = self.chance.choice([(" wait=0", 1000), (" wait=0", 3000), ("", 100), ("", 1000)])
        self.burst = socket.socket(socket.AF_UNIX)
        self.burst.setblocking(False)
        with contextlib.suppress(OSError):  # berthd is slow, or ends just now
            self.burst.connect(str(self.hosts[host].socket))
            self.burst.send(f"acquire burst{words}\n".encode() * n)
        self.after(self.chance.choice([0.01, 0.5, 3]), self.burst_ends)
        return f"a burst of {n} requests{words}"

    def burst_ends(self):
        if self.burst:
            self.burst.close()
            self.burst = None

    # ---- faults of the way there

    def way_fault(self):
        way = self.chance.choice(self.ways)
        lasts = self.chance.choice([0.05, 0.5, 2, 4, 8])
        fault = self.chance.choice(["reset", "lose_replies", "cut_off", "refuse", "reply_after"])
        if fault == "reply_after":
            way.reply_after(self.chance.choice([0.05, 0.2, 0.7, 2]))
        else:
            getattr(way, fault)()
        self.after(lasts, way.heal)
        return f"way: {fault}"

    # ---- faults of Redis

    def redis_do(self, *words):
        with contextlib.suppress(redis.RedisError, OSError), \
                contextlib.closing(self.redis.client(socket_timeout=0.5)) as client:
            return client.execute_command(*words)

    def redis_save(self):
        with contextlib.suppress(redis.RedisError, OSError):
            path = self.directory / f"rdb{len(self.rdbs) % 4}"
            if self.redis_do("SAVE"):
                path.write_bytes(self.redis.dump.read_bytes())
                self.rdbs.append(path)
                return "redis saved"

    def redis_restarted(self):
        rdb = self.chance.choice([None, *self.rdbs[-4:]])
        self.redis.cont()
        self.redis.restart(rdb)
        return "redis restarted empty" if rdb is None else "redis restarted with old data"

    def redis_stopped(self):
        self.redis.signal(signal.SIGSTOP)
        self.after(self.chance.choice([0.1, 0.5, 1, 3]), self.redis.cont)
        return "redis stopped"

    def redis_flushed(self):
        self.redis_do("FLUSHALL")
        return "FLUSHALL"

    def key_vanishes(self):
        """Evicted, or deleted by hand."""
        word = self.chance.choice(WORDS)
        self.redis_do("DEL", f"{{berth}}:{word}")
        return f"DEL {word}"

    def redis_scripts_flushed(self):
        self.redis_do("FUNCTION", "FLUSH")
        self.redis_do("SCRIPT", "FLUSH")
        return "FUNCTION FLUSH, SCRIPT FLUSH"

    def redis_clients_killed(self):
        kind = self.chance.choice(["normal", "pubsub"])
        self.redis_do("CLIENT", "KILL", "TYPE", kind)
        return f"CLIENT KILL {kind}"

    def was_blind(self, when):
        """No daemon can have noticed yet that old data have come back, or has had time to stop its
        jobs."""
        return any(at <= when <= at + TTL + 1 for at in self.rolled_back_at)

    def redis_rolled_back(self):
        """Redis' machine goes back to a snapshot: only the calls show that this same server is
        older."""
        if not self.rdbs:
            return None
        rdb = self.chance.choice(self.rdbs[-4:])
        self.redis.cont()
        shutil.copy(rdb, self.redis.dump)
        self.rolled_back_at.append(time.monotonic())
        self.redis_do("DEBUG", "RELOAD", "NOSAVE")
        if self.chance.randrange(2):
            for kind in ("normal", "pubsub"):
                self.redis_do("CLIENT", "KILL", "TYPE", kind)
            return "redis rolled back, connections broken"
        return "redis rolled back"

    def clock_stepped(self):
        if not self.has_rates:
            step = self.chance.choice([3, -3, 26, -26, 120, -120])
            self.clock.step(step)
            return f"clock {step:+}"

    # ---- both at once

    def forgotten_while_away(self):
        """A host cannot be reached, its jobs run on; meanwhile Redis forgets, or its clock is
        stepped."""
        if self.goes_away(self.chance.choice([3, 5, 8])):
            self.after(self.chance.choice([0, 0.1, 1, 2.5]), self.fault, self.FORGETS)
            return "a host is away, and"

    def away_for_long(self):
        """Its jobs would run on; meanwhile its units are given to others."""
        lasts = 2 * TTL
        if self.goes_away(lasts):
            self.redis_is_well_until = time.monotonic() + lasts
            return "a host is away for long"

    def goes_away(self, lasts):
        host = self.chance.choice([n for n, up in enumerate(self.is_up) if up] or [None])
        if host is None:
            return False
        self.busy_until[host] = time.monotonic() + lasts
        if self.ways and self.chance.randrange(2):
            self.ways[host].cut_off()
            self.after(lasts, self.ways[host].heal)
        else:
            self.leave_to_wrappers(host)
            self.hosts[host].signal(signal.SIGSTOP)
            self.after(lasts, self.daemon_goes_on, host)
        return True

    def fault(self, kinds):
        names, weights = zip(*kinds.items())
        name = self.chance.choices(names, weights)[0]
        what = getattr(self, name)()
        if what:
            self.say(what)
            self.faults[what] = self.faults.get(what, 0) + 1

    # ---- all of it

    # What was planned, and has to come before all is well.
    MUST_END = ("master_is_other", "host_joins", "new_file", "change_is_answered", "forget_is_answered")
    OF_HOSTS = {"daemon_fault": 3, "wrapper_killed": 3, "wrapper_stopped": 2, "job_fault": 3, "way_fault": 4,
                "host_leaves": 1, "operator_acts": 2, "generation_raised": 1,
                "definition_forgotten": 1, "burst_comes": 1}
    FORGETS = {"redis_restarted": 2, "redis_flushed": 1, "key_vanishes": 1, "clock_stepped": 2}
    OF_REDIS = {"redis_save": 4, "forgotten_while_away": 4, "away_for_long": 3, "redis_restarted": 3, "redis_rolled_back": 3, "redis_stopped": 3, "redis_flushed": 2, "key_vanishes": 2,
                "redis_scripts_flushed": 1, "redis_clients_killed": 2, "clock_stepped": 3}

    def run(self, seconds, jobs=20, calm=0.6, redis_calm=4.0):
        """Runs that many jobs at any time; on average a fault of a host each `calm` seconds, one of
        Redis each `redis_calm`."""
        for witness in self.witnesses.values():
            witness.heard = set()
        for _ in range(jobs):
            self.start_job()
        end = time.monotonic() + seconds
        next_host = next_redis = time.monotonic() + 1
        while time.monotonic() < end:
            while len(self.running) < jobs:
                self.start_job()
            if time.monotonic() >= next_host:
                self.fault(self.OF_HOSTS)
                next_host = time.monotonic() + self.chance.expovariate(1 / calm)
            next_redis = max(next_redis, self.redis_is_well_until)
            if time.monotonic() >= next_redis:
                self.fault(self.OF_REDIS)
                next_redis = time.monotonic() + self.chance.expovariate(1 / redis_calm)
            self.wait(min(end, next_host, next_redis, time.monotonic() + 0.05))
        self.finish()

    def heal(self):
        for server in self.servers:
            if server.process.poll() is None:
                server.cont()
        for host in self.hosts:
            host.signal(signal.SIGCONT)
        for way in self.ways:
            way.heal()
        for job in self.running.values():
            self.go_on(job)
            self.to_job(job, signal.SIGCONT)
        for job in self.orphans.values():
            self.to_job(job, signal.SIGCONT)

    def finish(self):
        """All is well again, everybody ends, nothing is left."""
        self.burst_ends()
        self.wait(time.monotonic() + 9)  # time for what was planned
        while any(function.__name__ in self.MUST_END for _, _, function, _ in self.plan):
            self.wait(time.monotonic() + 1)
        self.ending = True
        self.heal()
        self.reset_all()
        for witness in self.witnesses.values():
            witness.let_all_go()
        self.wait(time.monotonic() + DEADLINE + 3 * TTL)
        for job in self.running.values():
            self.complaints.append(f"job {job.number} of {job.name} on {job.host} does not end")
        self.wait_until_idle()
        self.forget_for_good()

    def wait_until_idle(self):
        """Redis does not report that it has nothing left."""
        end = time.monotonic() + DEADLINE
        while True:
            left = self.database.leftovers()
            held = [held_and_waiting(host) for host in self.hosts]
            if not left and not any(map(any, held)):
                return
            if time.monotonic() > end:
                self.complaints.append(f"left in Redis: {left}; held and waiting: {held}")
                return
            look_again()

    def verdict(self):
        """What is wrong, as lines; none if all is well."""
        wrong = list(self.complaints)
        for name, witness in self.witnesses.items():
            witness.read()
            wrong += [f"{name}: {line}" for when, line in zip(witness.wrong_at, witness.wrong)
                      if not self.was_blind(when)]
            wrong += [f"{name}: {others + 1} at once, of {self.limit_at(name, when)}, {when - self.began:.2f} s"
                      for when, others in witness.starts
                      if others >= self.limit_at(name, when) and not self.was_blind(when)]
        return wrong

    def summary(self):
        starts = {name: len(witness.pids) for name, witness in self.witnesses.items()}
        return f"started {starts}, statuses {self.results}, faults {sum(self.faults.values())}: {self.faults}, forgotten {self.n_forgotten}"

    def close(self):
        self.burst_ends()
        self.heal()
        for job in [*self.running.values(), *self.orphans.values()]:
            self.to_job(job, signal.SIGKILL)
        for host in self.hosts:
            with contextlib.suppress(Exception):
                if host.process.poll() is None:
                    host.stop()
            host.berth.end()
            host.berthctl.end()
            for client in host.clients:
                client.close()
        for way in self.ways:
            way.close()
        for witness in self.witnesses.values():
            witness.let_all_go()
            witness.close()
        for server in self.servers:
            server.kill()

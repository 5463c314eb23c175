"""The demo of a fleet (see scripts/demo): a private Redis and three hosts, each a berthd with its
own socket and files, under one limit. In the middle one host dies with all its jobs, and Redis
is killed and comes back empty. What it shows and judges comes from the jobs' own notes.

demo_fleet.py [--keep] BUILD-DIRECTORY"""

import contextlib
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import demo
import demo_fleet_report
from demo import COMPRESS, DEADLINE, Callers, Daemon, DemoError
from redis_program import REDIS_SERVER, there_is_a_redis

LIMIT = 5
JOBS = 60
HOSTS = ("north", "south", "west")
CALLERS_OF_A_HOST = 5
SMALLEST, LARGEST = 128 << 10, 2 << 20  # bytes
TTL, FAILOVER_LAG = 6, 1  # seconds; short, to keep the demo short
KILL_AFTER, RESTART_AFTER, RESTART_AT_LAST = 15, 30, 42  # how many jobs have ended by then


# ---- Redis ----

def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Redis:
    """A Redis on a Unix socket and on the loopback; keeps nothing on disk. A context."""

    def __init__(self, work):
        self.work = work
        self.socket = work / "redis.sock"
        self.port = free_port()
        self.process = None

    def start(self):
        """Starts empty. Returns when it serves."""
        self.process = subprocess.Popen(
            [REDIS_SERVER, "--save", "", "--appendonly", "no", "--dir", self.work,
             "--bind", "127.0.0.1", "--port", str(self.port), "--unixsocket", self.socket],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = b""
        while b"Ready to accept connections" not in said:
            is_readable, _, _ = select.select([self.process.stdout], [], [], DEADLINE)
            more = os.read(self.process.stdout.fileno(), 65536) if is_readable else b""
            said += more
            if not more:
                demo.end(self.process)
                raise DemoError(f"{REDIS_SERVER} does not start:\n{said.decode(errors='replace')}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        try:
            self.start()
        except FileNotFoundError as error:
            raise DemoError(f"there is no {REDIS_SERVER}") from error
        return self

    def __exit__(self, *_):
        self.kill()


# ---- hosts ----

def sections(url):
    return (f"[redis]\nurl = {url}\nttl = {TTL}s\nfailover-lag = {FAILOVER_LAG}s\n\n"
            f"[semaphore compress]\nscope = fleet\nlimit = {LIMIT}\n")


class Host(Daemon):
    """A berthd in its own directory, which may die with all that runs under it."""

    def __init__(self, build, work, name, url):
        work.mkdir()
        super().__init__(build / "berthd", work, sections(url))
        self.name = name
        self.is_dead = False

    def die(self):
        self.is_dead = True
        self.process.kill()
        self.process.wait()

    def __exit__(self, *error):
        if not self.is_dead:
            super().__exit__(*error)


def children(process):
    """The children of a wrapper: its job, which leads a process group."""
    with contextlib.suppress(OSError):
        path = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]
    return []


def signal_group(leader, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, number)


# ---- callers, and the faults ----

class FleetCallers(Callers):
    """The callers of all hosts take their work from one list; what dies with a host, another one
    does again. In the middle, faults() happen."""

    def __init__(self, build, hosts, redis, sources, results):
        super().__init__(None, sources, results)
        self.build = build
        self.hosts = hosts
        self.redis = redis
        self.doing = {}  # caller -> (process, source, result, called)
        self.jobs = []
        self.n_ended = 0
        self.broken = []  # jobs that died with their host
        self.faults = {}  # what happened -> when
        self.changed = threading.Condition(self.lock)

    # -- one job

    def host_of(self, caller):
        return self.hosts[(ord(caller) - ord("A")) // CALLERS_OF_A_HOST]

    def command(self, host, source, result):
        return [self.build / "berth", "run", "-q", "-S", host.socket, "--if-down", "wait", "compress",
                "--", sys.executable, "-ISB", demo.JOB, source, result, *COMPRESS]

    def compress(self, caller, source, result):
        """The job's notes, which include its end unless it died; None: it had not begun."""
        host = self.host_of(caller)
        called = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        process = self.start(self.command(host, source, result))
        with self.lock:
            self.doing[caller] = (process, result)
        try:
            text, errors = process.communicate(timeout=DEADLINE)
        finally:
            demo.end(process)
            with self.lock:
                self.processes.discard(process)
                del self.doing[caller]
        notes = demo.parse_notes(text)
        if process.returncode != 0 and not host.is_dead:
            raise DemoError(f"{source}: berth run ended with {process.returncode}: {errors}")
        if not notes:
            return None
        notes.setdefault("ended", self.faults.get("host", 0))
        return demo_fleet_report.Job(caller=caller, source=source, result=result, called=called,
                                     host=host.name, died=process.returncode != 0, **notes)

    def work(self, caller):
        """Works until everything is done, or the host is dead."""
        host = self.host_of(caller)
        while not host.is_dead:
            todo = self.take()
            if not todo:
                break
            job = self.compress(caller, *todo)
            with self.changed:
                if job and job.died:
                    self.broken.append(job)
                elif job:
                    self.jobs.append(job)
                if not job or job.died:
                    todo[1].unlink(missing_ok=True)
                    self.todo.put(todo)
                else:
                    self.n_ended += 1
                self.changed.notify_all()
        return []

    def take(self):
        """The next piece of work; waits for the others, whose work may come back."""
        with self.changed:
            while self.n_ended < JOBS and not self.is_stopped:
                if not self.todo.empty():
                    return self.todo.get_nowait()
                self.changed.wait()
        return None

    def stop(self):
        super().stop()
        with self.changed:
            self.changed.notify_all()

    # -- the faults

    def wait_for(self, condition):
        with self.changed:
            self.changed.wait_for(lambda: condition() or self.is_stopped, DEADLINE)
            return not self.is_stopped

    def kill_host(self, host):
        """Kills berthd, wrappers and jobs, all at once, as a power failure would. If no job runs
        there, returns False and does nothing."""
        with self.lock:
            doing = [what for caller, what in self.doing.items() if self.host_of(caller) is host]
            leaders = [leader for process, _ in doing for leader in children(process)]
            for leader in leaders:
                signal_group(leader, signal.SIGSTOP)
            runs = any(result.exists() and process.poll() is None and children(process)
                       for process, result in doing)
            if not runs:
                for leader in leaders:
                    signal_group(leader, signal.SIGCONT)
                return False
            host.die()
            for process, _ in doing:
                process.kill()
            for leader in leaders:
                signal_group(leader, signal.SIGKILL)
            self.faults["host"] = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        return True

    def is_time_to_restart(self):
        """Once the dead host's units are free, but before it is too late."""
        since = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self.faults["host"]
        return (self.n_ended >= RESTART_AFTER and since > (TTL + 1) * 10**9
                or self.n_ended >= RESTART_AT_LAST)

    def restart_redis(self):
        self.redis.kill()
        self.faults["redis"] = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.redis.start()

    def make_faults(self):
        """Runs in its own thread. Reports on the way what it does."""
        host = self.hosts[-1]
        n = KILL_AFTER
        while self.wait_for(lambda: self.n_ended >= n) and not self.kill_host(host):
            n = self.n_ended + 1
        if self.is_stopped:
            return
        print(f"... {host.name} is dead: its berthd and its jobs are killed", flush=True)
        if self.wait_for(self.is_time_to_restart):
            self.restart_redis()
            print("... Redis is killed, and started again empty", flush=True)

    def run(self):
        faults = threading.Thread(target=self.make_faults)
        faults.start()
        try:
            super().run()
        finally:
            self.stop()
            faults.join()
        return self.jobs


# ---- the first grace ----

def berthctl(build, host, *words):
    return subprocess.run([build / "berthctl", "-S", host.socket, *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=DEADLINE)


def shown_of_database(build, host):
    """The last lines of the status, which are about the database."""
    text = berthctl(build, host, "status").stdout
    return text[text.index("DATABASE"):] if "DATABASE" in text else text


def end_first_grace(build, hosts):
    """Shows what a new database says of itself, and what an operator can do."""
    print("This Redis is new. It could as well have lost its data while jobs hold places, so at first "
          f"it grants\nnothing: for ttl + failover-lag, here {TTL + FAILOVER_LAG} s, by default 43 s.\n", flush=True)
    end = time.monotonic() + DEADLINE
    while True:
        shown = shown_of_database(build, hosts[0])
        ended = berthctl(build, hosts[-1], "found", "default", "--yes")
        is_over = "(not-new)" in ended.stderr  # this machine is slow
        if ended.returncode == 0 or is_over or time.monotonic() > end:
            break
        time.sleep(0.05)
    print(demo.indented(shown), flush=True)
    if is_over:
        print("That is over.\n", flush=True)
    elif ended.returncode == 0:
        print("We know that this one never held anything, so an operator ends that at once:\n\n"
              "    berthctl found default --yes\n", flush=True)
    else:
        raise DemoError(f"berthctl found: {ended.stderr}")


# ---- what came out ----

def demonstrate(build, work):
    """Whether everything holds."""
    sources = demo.choose_sources(JOBS, JOBS, SMALLEST, LARGEST)
    print(f"{len(sources)} files of {', '.join(demo.TOPS)}, {demo.megabytes(sources)}.\n"
          f"{CALLERS_OF_A_HOST} callers on each of {len(HOSTS)} hosts run `berth run compress -- "
          f"{' '.join(COMPRESS)}` for one after the other. Each host has:\n", flush=True)
    demo.CALLERS = CALLERS_OF_A_HOST * len(HOSTS)
    with contextlib.ExitStack() as stack:
        redis = stack.enter_context(Redis(work))
        urls = [f"unix://{redis.socket}"] + [f"redis://127.0.0.1:{redis.port}"] * (len(HOSTS) - 1)
        hosts = [Host(build, work / name, name, url) for name, url in zip(HOSTS, urls)]
        print(demo.indented(hosts[-1].sections), flush=True)
        for host in hosts:
            stack.enter_context(host)
        end_first_grace(build, hosts)
        callers = FleetCallers(build, hosts, redis, sources, work)
        jobs = callers.run()
        rest = demo.verdict_on_rest(build / "berthctl", hosts[0].socket)

    everything = [*jobs, *callers.broken]
    print("\nWho ran when: dots wait; digits run, and are the slot; x: died with its host. (Until the "
          f"ttl of {TTL} s\nis over nobody knows that a host is dead: its callers that waited "
          "still have their turn.)\n")
    print(demo_fleet_report.timeline(everything, HOSTS, LIMIT, callers.faults))
    print(f"\nCompressed to {demo.megabytes(job.result for job in jobs)}.\n")
    return demo.report_verdicts([
        *demo_fleet_report.verdicts(everything, LIMIT, callers.faults),
        demo.verdict_on_results(jobs), rest])


if __name__ == "__main__":
    if not there_is_a_redis():
        sys.exit(f"demo: there is no {REDIS_SERVER}")
    sys.exit(demo.main(demonstrate))

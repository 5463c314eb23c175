"""The demo (see scripts/demo): berthd with a semaphore of 4, and 16 callers that compress real
files under it. What it shows and judges comes from the jobs' own notes: demo_job.py,
demo_report.py.

demo.py [--web] [--keep] BUILD-DIRECTORY"""

import argparse
import concurrent.futures
import contextlib
import gzip
import heapq
import json
import os
import pathlib
import queue
import select
import shutil
import signal
import socket
import stat
import string
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import urllib.request
import zlib

import demo_report

LIMIT = 4
CALLERS = 16
TOPS = ("/usr/bin", "/usr/lib", "/usr/share")
FILES, MIN_FILES = 48, 40
SMALLEST, LARGEST = 64 << 10, 1 << 20  # bytes: long enough to be seen, short enough to wait for
COMPRESS = ("gzip", "-9")
DEADLINE = 300  # seconds; only a hang takes that long
STAY = 900  # seconds that the page can be looked at
JOB = pathlib.Path(__file__).with_name("demo_job.py")


class DemoError(Exception):
    """The demo could not be carried out; the message says why."""


# ---- the files ----

def candidates(smallest, largest):
    """(size, path) of each readable file of a fitting size, hard links once."""
    seen = set()
    for top in TOPS:
        for directory, _, names in os.walk(top):
            for name in names:
                path = os.path.join(directory, name)
                with contextlib.suppress(FileNotFoundError):  # gone in the meantime
                    status = os.lstat(path)
                    identity = (status.st_dev, status.st_ino)
                    if (stat.S_ISREG(status.st_mode) and smallest <= status.st_size <= largest
                            and identity not in seen and os.access(path, os.R_OK)):
                        seen.add(identity)
                        yield status.st_size, path


def choose_sources(files=FILES, min_files=MIN_FILES, smallest=SMALLEST, largest=LARGEST):
    """The largest, ordered by name, so that long and short ones mix."""
    chosen = heapq.nlargest(files, candidates(smallest, largest))
    if len(chosen) < min_files:
        raise DemoError(f"only {len(chosen)} readable files of {smallest >> 10} KiB to "
                        f"{largest >> 10} KiB in {', '.join(TOPS)}; {min_files} are needed")
    return sorted(path for _, path in chosen)


# ---- berthd ----

def end(process):
    """Asks the process to end; returns its exit status."""
    process.terminate()
    try:
        return process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


class Daemon:
    """berthd with its own socket and configuration. A context."""

    def __init__(self, program, work, sections):
        self.program = program
        self.socket = work / "berth.sock"
        self.config = work / "berth.conf"
        self.log = work / "berthd.log"
        self.state = work / "state"
        self.sections = sections
        self.process = None

    def __enter__(self):
        self.config.write_text(f"[daemon]\nsocket = {self.socket}\n\n{self.sections}")
        ready, to_daemon = os.pipe()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [self.program, "-c", self.config, "--ready-fd", str(to_daemon)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[to_daemon],
                env={**os.environ, "STATE_DIRECTORY": str(self.state)})
        os.close(to_daemon)
        is_readable, _, _ = select.select([ready], [], [], DEADLINE)
        is_ready = is_readable and os.read(ready, 1)
        os.close(ready)
        if not is_ready:
            end(self.process)
            raise DemoError(f"berthd does not start:\n{self.log.read_text()}")
        return self

    def __exit__(self, kind, error, traceback):
        if end(self.process) != 0 and not error:
            raise DemoError(f"berthd did not end well:\n{self.log.read_text()}")


# ---- the page ----

class Page:
    """berth-web, which shows what the daemon does. A context."""

    def __init__(self, program, work, daemon):
        self.program = program
        self.work = work
        self.daemon = daemon
        self.log = work / "berth-web.log"
        self.process = None
        self.address = None

    def __enter__(self):
        if not self.program.exists():
            raise DemoError("berth-web is not built: it needs libmicrohttpd-dev")
        with socket.socket() as free:  # a port that nobody has now
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}/"
        config = self.work / "berth-web.conf"
        config.write_text(f"[web]\nsocket = {self.daemon.socket}\nlisten = 127.0.0.1:{port}\n")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([self.program, "--config", config], stdout=log,
                                            stdin=subprocess.DEVNULL, stderr=log)
        until = time.monotonic() + DEADLINE
        while not self.is_well():
            if self.process.poll() is not None or time.monotonic() > until:
                end(self.process)
                raise DemoError(f"berth-web does not start:\n{self.log.read_text()}")
            time.sleep(0.02)
        return self

    def __exit__(self, kind, error, traceback):
        if end(self.process) != 0 and not error:
            raise DemoError(f"berth-web did not end well:\n{self.log.read_text()}")

    def get(self, path):
        with urllib.request.urlopen(self.address + path, timeout=DEADLINE) as answer:
            return answer.read()

    def is_well(self):
        try:
            return self.get("healthz")
        except OSError:
            return None

    def n_shown(self, jobs):
        past = json.loads(self.get(f"history.json?from=0&until={time.time_ns() // 1_000_000}"
                                   "&limit=5000"))
        ended = {lease["lease"] for lease in past["leases"]}
        return sum(job.lease in ended for job in jobs)

    def verdict(self, jobs):
        until = time.monotonic() + 10
        while self.n_shown(jobs) < len(jobs) and time.monotonic() < until:
            time.sleep(0.1)
        shown = self.n_shown(jobs)
        return shown == len(jobs), f"page: shows {shown} of {len(jobs)} jobs in its timeline"

    def keep(self):
        """Until Ctrl-C, or until the time is over."""
        print(f"\nThe jobs can still be seen: {self.address}#timeline?q=compress\n"
              f"Ctrl-C ends the page; after {STAY // 60} minutes it ends by itself.", flush=True)
        with contextlib.suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
            if self.process.wait(STAY) != 0:  # Ctrl-C may reach it before us
                raise DemoError(f"berth-web has ended:\n{self.log.read_text()}")


# ---- the callers ----

def parse_notes(notes):
    """A job's notes about itself: one line when it began, another when it had ended."""
    return {key: value for line in notes.splitlines() for key, value in json.loads(line).items()}


class Callers:
    """Threads that take one file after the other and run `berth` for it."""

    def __init__(self, run_command, sources, results):
        self.run_command = run_command
        self.todo = queue.SimpleQueue()
        for number, source in enumerate(sources, 1):
            self.todo.put((source, results / f"{number:02}-{os.path.basename(source)}.gz"))
        self.lock = threading.Lock()
        self.processes = set()
        self.is_stopped = False

    def start(self, command):
        with self.lock:
            if self.is_stopped:
                raise DemoError("stopped")
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            self.processes.add(process)
            return process

    def compress(self, caller, source, result):
        command = [*self.run_command, sys.executable, "-ISB", JOB, source, result, *COMPRESS]
        called = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        process = self.start(command)
        try:
            notes, errors = process.communicate(timeout=DEADLINE)
        finally:
            end(process)
            self.processes.discard(process)
        if process.returncode != 0:
            raise DemoError(f"{source}: berth run ended with {process.returncode}: {errors}")
        return demo_report.Job(caller=caller, source=source, result=result, called=called,
                               **parse_notes(notes))

    def work(self, caller):
        jobs = []
        with contextlib.suppress(queue.Empty):
            while True:
                jobs.append(self.compress(caller, *self.todo.get_nowait()))
        return jobs

    def stop(self):
        with self.lock:
            self.is_stopped = True
            for process in self.processes.copy():
                process.terminate()

    def run(self):
        """Runs all jobs; the first error ends everything."""
        with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
            callers = [pool.submit(self.work, caller)
                       for caller in string.ascii_uppercase[:CALLERS]]
            try:
                return [job for caller in concurrent.futures.as_completed(callers)
                        for job in caller.result()]
            finally:
                self.stop()


# ---- what came out ----

def is_same(job):
    """Whether the result, unpacked by another program than the one that packed it, equals the file."""
    try:
        with gzip.open(job.result) as unpacked, open(job.source, "rb") as original:
            while True:
                block = original.read(1 << 20)
                if unpacked.read(len(block) or 1) != block:
                    return False
                if not block:
                    return True
    except (OSError, EOFError, zlib.error):
        return False


def verdict_on_results(jobs):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        same = sum(pool.map(is_same, jobs))
    return (same == len(jobs),
            f"results: {same} of {len(jobs)}, unpacked again, are the files byte for byte")


def verdict_on_rest(berthctl, socket):
    status = subprocess.run([berthctl, "-S", socket, "status", "compress", "--json"], check=True,
                            stdout=subprocess.PIPE, timeout=DEADLINE)
    resource, = json.loads(status.stdout)["resources"]
    return (resource["in_use"] == 0 and resource["waiting"] == 0,
            f"rest: {resource['in_use']} held and {resource['waiting']} waiting at the end")


def megabytes(paths):
    return f"{sum(os.path.getsize(path) for path in paths) / 1e6:.1f} MB"


def indented(text):
    return textwrap.indent(text, "    ")


def report_verdicts(verdicts):
    """Whether everything holds."""
    for holds, what in verdicts:
        print(f"  {'ok' if holds else 'FAILED':<7} {what}")
    return all(holds for holds, _ in verdicts)


def report(jobs, verdicts):
    """Whether everything holds."""
    print("Who ran when: dots wait; digits run, and are the slot.\n")
    print(demo_report.timeline(jobs, LIMIT))
    print("\nThe order of the requests (by lease) and of the grants (by fencing token):\n")
    print(demo_report.order_picture(jobs))
    print(f"\nCompressed to {megabytes(job.result for job in jobs)}.\n")
    return report_verdicts([*demo_report.verdicts(jobs, LIMIT), verdict_on_results(jobs),
                            *verdicts])


def demonstrate(build, work, with_page=False):
    """Whether everything holds."""
    sources = choose_sources()
    print(f"{len(sources)} files of {', '.join(TOPS)}, {megabytes(sources)}.\n"
          f"{CALLERS} callers run `berth run compress -- {' '.join(COMPRESS)}` for one after the "
          "other, under:\n", flush=True)
    with Daemon(build / "berthd", work, f"[semaphore compress]\nlimit = {LIMIT}\n") as daemon:
        print(indented(daemon.sections), flush=True)
        run_command = [build / "berth", "run", "-q", "-S", daemon.socket, "compress", "--"]
        callers = Callers(run_command, sources, work)
        if with_page:
            with Page(build / "berth-web", work, daemon) as page:
                print(f"Watch them: {page.address}\n", flush=True)
                jobs = callers.run()
                rest = verdict_on_rest(build / "berthctl", daemon.socket)
                holds = report(jobs, [rest, page.verdict(jobs)])
                page.keep()
                return holds
        jobs = callers.run()
        rest = verdict_on_rest(build / "berthctl", daemon.socket)
    holds = report(jobs, [rest])
    print("\nscripts/demo --web shows the same jobs on a page, live and afterwards.")
    return holds


def main(demonstrate=demonstrate):
    """Returns the exit status. `demonstrate` gets the build, and a private directory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--web", action="store_true")
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args()

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for variable in [name for name in os.environ if name.startswith("BERTH_")]:
        del os.environ[variable]  # set if a berth runs us
    work = pathlib.Path(tempfile.mkdtemp(prefix="berth-demo-"))
    try:
        page = {"with_page": True} if options.web else {}
        return 0 if demonstrate(options.build.resolve(), work, **page) else 1
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        if options.keep:
            print(f"\nKept: {work}")
        else:
            shutil.rmtree(work)


if __name__ == "__main__":
    sys.exit(main())

"""What the tests of the page have in common: a browser, made-up pages, and real programs."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request

import pytest

import browser as browsers
import fixture

TOP = pathlib.Path(__file__).parents[2]
sys.path.append(str(TOP / "tests/process"))

from programs import serving, stop_well  # noqa: E402

BUILD = pathlib.Path(os.environ.get("BERTH_BUILD_DIR", TOP / "build" / "plain"))


@pytest.fixture(scope="session")
def chromium():
    with browsers.browser() as made:
        yield made


@pytest.fixture
def office():
    """A page with a little of everything."""
    server = fixture.serve()
    yield server
    server.stop()


@pytest.fixture
def empty():
    server = fixture.serve(empty=True)
    yield server
    server.stop()


class Program:
    """berthd or berth-web, which says by a descriptor that it is ready."""

    def __init__(self, command, work, name):
        self.command, self.work, self.name = command, work, name
        self.log = work / f"{name}.log"
        self.process = None

    def start(self):
        self.process, said = serving(self.command, self.log, self.work / (self.name + ".state"))
        assert said, self.log.read_text()

    def stop(self):
        if self.process:
            stop_well(self.process, self.log)


class Site:
    """A real berthd, and a real berth-web that shows it."""

    SECTIONS = "[semaphore compress]\nlimit = 3\n\n[lock deploy]\n\n[lock adhoc/*]\n"

    def __init__(self, work):
        self.work, self.socket = work, work / "berth.sock"
        config = work / "berth.conf"
        config.write_text(f"[daemon]\nsocket = {self.socket}\n\n{self.SECTIONS}")
        self.port = free_port()
        (work / "web.conf").write_text(f"[web]\nsocket = {self.socket}\n"
                                       f"listen = 127.0.0.1:{self.port}\n")
        for name in ("berthd.state", "berth-web.state"):
            (work / name).mkdir()
        self.daemon = Program([BUILD / "berthd", "-c", config], work, "berthd")
        self.web = Program([BUILD / "berth-web", "--config", work / "web.conf"], work, "berth-web")
        self.address = f"http://127.0.0.1:{self.port}/"
        self.jobs = []

    def json(self, path):
        with urllib.request.urlopen(self.address + path, timeout=browsers.DEADLINE) as answer:
            return json.load(answer)

    def run(self, *arguments):
        """A job that lasts until its standard input is closed: `arguments`, then cat."""
        job = subprocess.Popen([BUILD / "berth", "run", "-q", "-S", self.socket, *arguments,
                                "--", "cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.jobs.append(job)
        return job

    def end(self, job):
        job.stdin.close()
        assert job.wait(browsers.DEADLINE) == 0

    def stop(self):
        for job in self.jobs:
            with contextlib.suppress(OSError):
                job.stdin.close()
            if job.poll() is None:
                job.terminate()
            job.wait(browsers.DEADLINE)
        self.web.stop()
        self.daemon.stop()


def free_port():
    """One that nobody has now. berth-web is given it twice, so the system cannot choose."""
    import socket
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@pytest.fixture
def site(tmp_path):
    if not (BUILD / "berth-web").exists():
        pytest.skip("berth-web is not built")
    made = Site(tmp_path)
    try:
        made.daemon.start()
        made.web.start()
        yield made
    finally:
        made.stop()


def deadline():
    return time.monotonic() + browsers.DEADLINE

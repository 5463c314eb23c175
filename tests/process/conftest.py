"""What the process tests share: real programs, a directory and a socket for each test, and no wait
without a deadline.

The programs are those of $BERTH_BUILD_DIR (default: ./build). Where they were built with
sanitizers, a report fails the test that caused it."""

import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

from fake_berthd import FakeBerthd
from lines import DEADLINE, Client
from builds import check_table
from builds import pytest_ignore_collect  # a hook
from programs import end_all, read_line, serving, stop_well  # one is for the tests
from still_running import pytest_runtest_protocol  # a hook
from workers import at_end
from workers import pytest_runtestloop  # a hook

# What a service manager tells the test runner is not meant for the daemons that tests start.
for variable in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID",
                 "LISTEN_FDNAMES", "JOURNAL_STREAM", "INVOCATION_ID", "CREDENTIALS_DIRECTORY"):
    os.environ.pop(variable, None)

# A shell that runs us in the background, or nohup, makes us ignore these, and so would all programs
# here.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

PROGRAMS = (
    "berthd", "berth", "berthctl", "berth-history", "berth-web",
    "tests/process/witness_job", "tests/process/alloc_shim.so",
    "tests/process/clock_shim.so", "tests/process/disk_shim.so", "tests/process/names_shim.so", "tests/process/link_probe", "tests/next-format/berthd")


def reachable_build(build):
    """Tests that run programs as another user need them where that user may look. Below /root, say,
    it may not, and then they are copied."""
    if all(path.stat().st_mode & 0o001 for path in (build, *build.parents)):
        return build
    copy = pathlib.Path(tempfile.mkdtemp(prefix="berth-programs-", dir="/tmp"))
    at_end(shutil.rmtree, copy)
    copy.chmod(0o755)
    for program in PROGRAMS:
        if (build / program).exists():
            (copy / program).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(build / program, copy / program)
    return copy


BUILD = reachable_build(pathlib.Path(os.environ.get("BERTH_BUILD_DIR", "build")).resolve())


def pytest_collection_modifyitems(config, items):
    for item in items:
        if "seed" in item.fixturenames:
            item.add_marker("seeded")


def pytest_configure(config):
    check_table()
    config.addinivalue_line("markers", "seeded: draws at random; tests/fresh-seeds runs it with other seeds")


class Berthd:
    """A berthd with its own configuration and socket. It may be stopped or killed and started
    again; what it remembers is in .journal and .state."""
    program = BUILD / "berthd"

    def __init__(self, directory, text, args=(), before=()):
        self.socket = directory / "s"
        self.journal = directory / "s.journal"
        self.state = directory / "state"
        self.config = directory / "berth.conf"
        self.log = directory / "berthd.log"
        self.args = args
        self.before = before  # words of the command line before the program
        self.process = None
        self.clients = []
        self.configure(text)
        self.start()

    def configure(self, text):
        """Writes the file. [daemon] has the socket already, and `text` may begin with more of its
        keys."""
        self.config.write_text(f"[daemon]\nsocket = {self.socket}\n{text}")

    def start(self):
        """Returns when berthd serves."""
        command = [*self.before, self.program, "-c", self.config, *self.args]
        self.process, said = serving(command, self.log, self.state)
        if not said:
            pytest.fail(f"berthd did not start:\n{self.log.read_text()}")

    def client(self):
        client = Client(self.socket)
        self.clients.append(client)
        return client

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE)

    def stop(self):
        stop_well(self.process, self.log)


class Program:
    """`berth` or `berthctl`; the environment names the socket."""

    searched = set()  # for leaks: each subcommand once with the same options, in each worker

    def __init__(self, name, directory):
        self.path = str(BUILD / name)
        self.directory = directory
        self.environ = {
            name: value for name, value in os.environ.items() if not name.startswith("BERTH_")}
        self.environ["BERTH_SOCKET"] = str(directory / "s")
        self.started = []

    def start(self, *args, env=None, **options):
        """A Popen with pipes; killed at the end of the test if it still runs."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("cwd", self.directory)
        environ = {**self.environ, **(env or {})}
        call = (self.path, *args[:1], *(str(word) for word in args[1:] if str(word).startswith("-")))
        if call in self.searched:  # for leaks, which takes longer than most of what it does
            environ["ASAN_OPTIONS"] = environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.searched.add(call)
        process = subprocess.Popen([self.path, *args], env=environ, **options)
        self.started.append(process)
        return process

    def __call__(self, *args, input=None, **options):
        """Runs the program to its end; returns a CompletedProcess with text."""
        if input is not None:
            options["stdin"] = subprocess.PIPE
        process = self.start(*args, text=True, **options)
        out, err = process.communicate(input, timeout=DEADLINE)
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def end(self):
        end_all(self.started)


def error_of(process, status):
    """What it has written to stderr, once it has ended with that status."""
    assert process.wait(DEADLINE) == status
    return process.stderr.read().decode()


@pytest.fixture
def seed():
    """Seeds all that is drawn at random. Always the same, unless $BERTH_SEED sets another one."""
    seed = int(os.environ.get("BERTH_SEED", 1))
    print(f"BERTH_SEED={seed} plays it again")
    return seed


@pytest.fixture
def chance(seed):
    return random.Random(seed)


def end_all_in(directory):
    """Ends the processes that work below it: jobs, as they outlive their wrappers."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            if f"{os.readlink(f'/proc/{pid}/cwd')}/".startswith(f"{directory}/"):
                os.kill(int(pid), signal.SIGKILL)


@pytest.fixture
def directory():
    """Short, as a socket's path is bounded. What still runs there when the test is over, ends."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="berth-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    end_all_in(path)
    shutil.rmtree(path)


@pytest.fixture(autouse=True)
def own_files(directory, monkeypatch):
    """Keeps every berthd that the test starts inside the test's directory."""
    monkeypatch.setenv("STATE_DIRECTORY", str(directory / "state"))
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)


@pytest.fixture(autouse=True)
def sanitizer_reports(directory, monkeypatch):
    options = os.environ.get("ASAN_OPTIONS", "")
    monkeypatch.setenv("ASAN_OPTIONS", f"{options}:log_path={directory}/sanitizer")
    yield
    reports = [path.read_text() for path in sorted(directory.glob("sanitizer*"))]
    # A leak check interrupted by our SIGKILL reports only these lines.
    reports = [text for text in reports
               if not re.fullmatch(r"(==\d+==Unable to get registers from thread \d+\.\n)*", text)]
    assert not reports, "\n".join(reports)


@pytest.fixture
def berthd(directory, sanitizer_reports):
    """berthd(configuration) starts the daemon; at the end it must stop with status 0."""
    daemons = []

    def start(text="", *args, before=()):
        assert not daemons, "one daemon for each test's socket"
        daemons.append(Berthd(directory, text, args, before))
        return daemons[0]

    yield start
    for daemon in daemons:
        daemon.stop()
        for client in daemon.clients:
            client.close()


@pytest.fixture
def daemon(request, berthd):
    """A berthd with the CONFIG of the test's file."""
    return berthd(request.module.CONFIG)


@pytest.fixture
def client(daemon):
    return daemon.client()


@pytest.fixture
def berth(directory, sanitizer_reports):
    program = Program("berth", directory)
    yield program
    program.end()


@pytest.fixture
def fake(directory):
    """A server on the test's socket that the test itself plays."""
    server = FakeBerthd(directory / "s")
    yield server
    server.close()


@pytest.fixture
def berthctl(directory, sanitizer_reports):
    program = Program("berthctl", directory)
    yield program
    program.end()

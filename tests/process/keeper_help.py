"""A real berth-history of a test's own, and what it keeps."""

import contextlib
import resource
import sqlite3
import time

import pytest

from conftest import BUILD
from daemon_help import held
from history_help import Did, Entry
from lines import Client, DEADLINE
from programs import serving, stop_well

needs_history = pytest.mark.skipif(not (BUILD / "berth-history").exists(), reason="built without berth-history")


class Keeper:
    """berth-history of the berthd of `directory`."""

    def __init__(self, directory, text="", before=()):
        self.directory = directory
        self.socket = directory / "s-history.sock"
        self.config = directory / "berth-history.conf"
        self.log = directory / "berth-history.log"
        self.config.write_text(f"[history]\n{text}")
        # Python's children would end at a full disk, unless they are told otherwise.
        self.before = ["env", "--ignore-signal=XFSZ", *before]
        self.clients = []
        self.start()

    def start(self):
        command = [*self.before, BUILD / "berth-history", "-S", self.directory / "s", "-c", self.config]
        self.process, said = serving(command, self.log, self.directory / "state")
        assert said == str(self.socket), self.log.read_text()

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE)

    def stop(self):
        stop_well(self.process, self.log)

    def client(self):
        client = Client(self.socket)
        self.clients.append(client)
        return client

    def past(self, request="history"):
        """By a connection of its own."""
        client = Client(self.socket)
        try:
            return Past(client, request)
        finally:
            client.close()

    @property
    def days(self):
        """The directory of its files."""
        place, = (self.directory / "state").glob("*.past")
        return place

    def files(self):
        return sorted(path.name for path in self.days.glob("*.db"))

    @contextlib.contextmanager
    def database(self, date=None):
        """The file of a day, while berth-history is down."""
        date = date or self.files()[-1]
        with contextlib.closing(sqlite3.connect(self.days / date)) as database:
            yield database
            database.commit()

    def limit_files(self, size):
        """As a disk that is full for every file of so many bytes."""
        _, hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, hard))


class Past:
    """An answer to `history`."""

    def __init__(self, client, request="history"):
        head, *lines, end = client.lines(request)
        words = head.split(" ")
        assert words[0] == "ok" and end == "end", (head, lines)
        self.head = dict(word.split("=") for word in words[1:])
        self.lines = lines
        self.entries = [Entry(line) for line in lines if line.startswith("ended ")]
        self.leases = [entry.lease for entry in self.entries]
        self.gaps = [dict(word.split("=") for word in line.split(" ")[1:]) for line in lines if line.startswith("gap ")]
        self.done = [Did(line) for line in lines if line.startswith("did ")]
        assert len(self.entries) + len(self.gaps) + len(self.done) == len(lines)
        for gap in self.gaps:
            assert int(gap["from"]) <= int(gap["until"])

    @property
    def why(self):
        return [gap["why"] for gap in self.gaps]


def ended(client, name="s", **keys):
    """A lease that is over."""
    lease = held(client, " ".join(["acquire", name, *(f"{key}={value}" for key, value in keys.items())]))
    assert client.request(f"release {lease}") == "ok"
    return lease


def wall_now():
    return round(time.time() * 1000)


@pytest.fixture
def keeper(directory, sanitizer_reports):
    """keeper(text, before): the berth-history of the test's berthd, started; it ends with the test."""
    started = []

    def start(text="", before=()):
        started.append(Keeper(directory, text, before))
        return started[0]

    yield start
    for each in started:
        for client in each.clients:
            client.close()
        each.stop()

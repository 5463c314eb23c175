"""The history of berth-web: what it keeps, over which ends, and what it says when its file fails."""

import contextlib
import http.client
import json
import os
import resource
import select
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.parse

import pytest

from conftest import BUILD
from daemon_help import held
from lines import DEADLINE, until

pytestmark = pytest.mark.skipif(not (BUILD / "berth-web").exists(), reason="built without berth-web")

CONFIG = """[lock deploy]
[semaphore s]
limit = 4
"""


class Web:
    """A berth-web with a file of its own."""

    def __init__(self, daemon, directory, text=""):
        self.daemon = daemon
        self.state = directory / "web"
        self.state.mkdir()
        self.database = self.state / "history.db"
        self.config = directory / "web.conf"
        self.config.write_text(f"[web]\n{text}")
        self.log = directory / "web.log"
        self.process = self.port = None
        self.start()

    def start(self):
        ready, to_web = os.pipe()
        with open(self.log, "ab") as log:
            # Python ignores SIGXFSZ: so do its children, unless they are told otherwise.
            self.process = subprocess.Popen(
                [BUILD / "berth-web", "-c", self.config, "-S", self.daemon.socket, "-l", "127.0.0.1:0",
                 "--ready-fd", str(to_web), "-v"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[to_web], restore_signals=False, env={**os.environ, "STATE_DIRECTORY": str(self.state)})
        os.close(to_web)
        with open(ready) as stream:
            assert select.select([stream], [], [], DEADLINE)[0], self.log.read_text()
            self.port = urllib.parse.urlsplit(stream.readline()).port
        assert self.port, self.log.read_text()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(DEADLINE)

    def get(self, path):
        """(status, text)"""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)) as connection:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def history(self, **query):
        status, text = self.get("/history.json?" + urllib.parse.urlencode(query))
        assert status == 200, text
        return json.loads(text)

    def leases(self, **query):
        return [lease["lease"] for lease in self.history(**query)["leases"]]

    def health(self):
        return self.get("/healthz")

    def is_well(self):
        until(lambda: self.health() == (200, "ok\n"), self.log.read_text)

    def limit_files(self, size):
        """As a disk that is full for every file of so many bytes."""
        _, hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, hard))


@pytest.fixture
def web(daemon, directory):
    started = []

    def start(text=""):
        started.append(Web(daemon, directory, text))
        started[0].is_well()
        return started[0]

    yield start
    for each in started:
        if each.process.poll() is None:
            assert each.end() == 0, each.log.read_text()


def ended(daemon, name="deploy", **keys):
    """A lease that is over."""
    client = daemon.client()
    lease = held(client, " ".join(["acquire", name, *(f"{key}={value}" for key, value in keys.items())]))
    assert client.request(f"release {lease}") == "ok"
    return lease


# ---- what lasts ----


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_it_lasts_over_a_restart(web, daemon, how):
    page = web()
    first = ended(daemon, reason="one")
    until(lambda: page.leases() == [first])
    page.end(how)
    second = ended(daemon, "s")  # berthd tells it afterwards
    page.start()
    until(lambda: page.leases() == [second, first], page.log.read_text)
    daemon.stop()
    daemon.start()
    third = ended(daemon)
    until(lambda: page.leases() == [third, second, first], page.log.read_text)
    assert page.leases(resource="s") == [second]
    assert page.leases(limit=2) == [third, second]
    assert page.history(limit=2)["truncated"]
    one = page.history()["leases"][-1]
    assert (one["reason"], one["how"], one["resources"][0]["name"]) == ("one", "released", "deploy")


def test_it_outlives_berthd_s(web, daemon):
    page = web()
    lease = ended(daemon)
    until(lambda: page.leases() == [lease])
    daemon.kill()
    daemon.socket.with_name("s.history").unlink()
    assert page.leases() == [lease]
    daemon.start()
    page.is_well()
    assert page.leases() == [lease]


def test_when_nothing_was_recorded(web, daemon):
    """berthd has lost what ended while the page was off: that is said. What it still knows is no gap."""
    page = web()
    begun = round(time.time() * 1000)
    first = ended(daemon)
    until(lambda: page.leases() == [first])
    page.end()
    second = ended(daemon)
    page.start()
    until(lambda: page.leases() == [second, first], page.log.read_text)
    assert page.history(**{"from": begun})["gaps"] == []
    page.end()
    off = round(time.time() * 1000)
    ended(daemon)
    daemon.kill()
    daemon.socket.with_name("s.history").unlink()
    daemon.start()
    kept = ended(daemon)
    page.start()
    until(lambda: page.leases()[0] == kept, page.log.read_text)
    gap, = until(lambda: page.history(**{"from": begun})["gaps"], page.log.read_text)
    end = page.history()["leases"][0]["ended_at_ms"]
    assert begun < gap["from_ms"] <= off and abs(gap["until_ms"] - end) <= 1000


def test_what_is_too_old_goes(web, daemon):
    page = web("retention = 1h\n")
    old, new = ended(daemon), ended(daemon)
    until(lambda: page.leases() == [new, old])
    page.end()
    with contextlib.closing(sqlite3.connect(page.database)) as database:
        number, = database.execute("SELECT number FROM leases WHERE id = ?", [old]).fetchone()
        for table in ("leases", "claims"):
            database.execute(f"UPDATE {table} SET ended = ended - 3700000, asked = asked - 3700000"
                             " WHERE number = ?", [number])
        database.commit()
    daemon.kill()
    daemon.socket.with_name("s.history").unlink()
    daemon.start()
    page.start()
    until(lambda: page.leases(**{"from": 0}) == [new], page.log.read_text)
    assert page.history()["retention_ms"] == 3600000


@pytest.mark.skipif("BERTH_SANITIZED" in os.environ, reason="a sanitizer keeps what is freed")
def test_many_ask_for_much(web):
    """150 readers who do not read ask for 750 MB together."""
    page = web()
    page.end()
    now = round(time.time() * 1000)
    with contextlib.closing(sqlite3.connect(page.database)) as database:
        database.executemany("INSERT INTO leases (id, asked, ended, json) VALUES (?, ?, ?, ?)",
                             ((f"x-{i}", now - 9, now, json.dumps(1000 * "x")) for i in range(5000)))
        database.commit()
    page.start()
    with contextlib.ExitStack() as open_ones:
        readers = [open_ones.enter_context(socket.create_connection(("127.0.0.1", page.port), DEADLINE))
                   for _ in range(150)]
        for reader in readers:
            reader.sendall(b"GET /history.json?from=0&limit=5000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answers = {reader.recv(12) for reader in readers}
        assert answers == {b"HTTP/1.1 200", b"HTTP/1.1 503"}
    with open(f"/proc/{page.process.pid}/status") as status:
        peak_kb, = (int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    assert peak_kb < 400_000
    page.is_well()


# ---- what fails ----


def test_a_full_disk(web, daemon):
    page = web()
    first = ended(daemon)
    until(lambda: page.leases() == [first])
    page.limit_files(page.database.with_name("history.db-wal").stat().st_size)
    second = ended(daemon)
    status, why = until(lambda: page.health() if page.health()[0] == 503 else None)
    assert "history.db: cannot write: disk I/O error" in why
    assert page.log.read_text().count("kept in memory meanwhile") == 1
    assert page.get("/status.json")[0] == 200
    assert page.leases()[0] == second
    page.limit_files(resource.RLIM_INFINITY)
    page.is_well()
    assert "history.db works" in page.log.read_text()
    assert page.leases() == [second, first]
    page.end(signal.SIGKILL)
    daemon.kill()
    daemon.socket.with_name("s.history").unlink()
    daemon.start()
    page.start()
    assert page.leases() == [second, first]


def test_no_directory(daemon, directory):
    page = Web(daemon, directory, f"database = {directory}/nowhere/history.db\n")
    status, why = until(lambda: page.health() if "history" in page.health()[1] else None)
    assert status == 503 and "No such file or directory" in why
    lease = ended(daemon)
    until(lambda: page.leases() == [lease])
    (directory / "nowhere").mkdir()
    page.is_well()
    assert page.leases() == [lease]
    assert page.end() == 0


@pytest.mark.parametrize("damage", ["nonsense", "cut", "pages"])
def test_a_damaged_file(web, daemon, damage):
    page = web()
    for _ in range(30):
        lease = ended(daemon, reason=200 * "x")
    until(lambda: lease in page.leases())
    page.end()
    whole = page.database.read_bytes()
    assert len(whole) > 7 * 4096
    page.database.write_bytes({
        "nonsense": b"nonsense" * 1000, "cut": whole[:4 * 4096 + 17],
        "pages": whole[:4096] + 3 * 4096 * b"Z" + whole[4 * 4096:]}[damage])
    page.start()
    page.is_well()
    assert page.database.with_name("history.db.damaged-1").exists()
    assert "history.db.damaged-1, and a new one begins" in page.log.read_text()
    until(lambda: len(page.leases()) == 30)  # berthd still knows them
    last = ended(daemon)
    until(lambda: page.leases()[0] == last)


def test_a_file_is_one_process_s(web, daemon, directory):
    page = web()
    (directory / "other").mkdir()
    other = Web(daemon, directory / "other", f"database = {page.database}\n")
    _, why = until(lambda: other.health() if "history" in other.health()[1] else None)
    assert "another process has it" in why
    assert page.health()[0] == 200
    assert other.end() == 0


def test_without_a_file(web, daemon):
    page = web("database = none\n")
    lease = ended(daemon)
    status, why = page.get("/history.json")
    assert status == 503 and "its file names no `database`" in why
    assert lease and not page.database.exists()

"""The history of berth-web: what it keeps, over which ends, and what it says when its file fails."""

import contextlib
import json
import os
import resource
import signal
import socket
import sqlite3
import time
import urllib.parse

import pytest

import web_help
from daemon_help import held
from lines import DEADLINE, until

pytestmark = web_help.needs_web

CONFIG = """[lock deploy]
[semaphore s]
limit = 4
"""


class Web(web_help.Web):
    """A berth-web with a file of its own."""

    def __init__(self, daemon, directory, text=""):
        (directory / "web").mkdir()
        # Python's children would end at a full disk, unless they are told otherwise.
        super().__init__(directory / "web", text, socket_of=daemon.socket, before=["env", "--ignore-signal=XFSZ"])
        self.database = self.directory / "history.db"
        self.start()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(DEADLINE)

    def history(self, **query):
        return super().history(urllib.parse.urlencode(query))

    def leases(self, **query):
        return [lease["lease"] for lease in self.history(**query)["leases"]]

    def health(self):
        answer = self.ask("/healthz")
        return answer.status, answer.text

    def limit_files(self, size):
        """As a disk that is full for every file of so many bytes."""
        _, hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, hard))


@pytest.fixture
def web(daemon, directory):
    started = []

    def start(text=""):
        started.append(Web(daemon, directory, text))
        return started[0].ready()

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
    page.ready()
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
    page.ready()


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
    assert page.ask("/status.json").status == 200
    assert page.leases()[0] == second
    page.limit_files(resource.RLIM_INFINITY)
    page.ready()
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
    page.ready()
    assert page.leases() == [lease]
    assert page.end() == 0


def test_a_damaged_file(web, daemon):
    """Nonsense, one that was cut, and one of which some pages are others."""
    page = web()
    leases = [ended(daemon, reason=200 * "x") for _ in range(30)]
    until(lambda: leases[-1] in page.leases())
    page.end()
    whole = page.database.read_bytes()
    assert len(whole) > 7 * 4096
    for n, damaged in enumerate((b"nonsense" * 1000, whole[:4 * 4096 + 17],
                                 whole[:4096] + 3 * 4096 * b"Z" + whole[4 * 4096:]), 1):
        page.database.write_bytes(damaged)
        page.start().ready()
        assert page.database.with_name(f"history.db.damaged-{n}").exists()
        assert f"history.db.damaged-{n}, and a new one begins" in page.log.read_text()
        until(lambda: page.leases() == leases[::-1])  # berthd still knows them
        leases.append(ended(daemon))
        until(lambda: page.leases()[0] == leases[-1])
        assert page.end() == 0


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
    answer = page.ask("/history.json")
    assert answer.status == 503 and "its file names no `database`" in answer.text
    assert lease and not page.database.exists()

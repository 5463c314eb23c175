"""What berth-web tells of what is over: whom it asks, and what it does when they are silent, hostile or away."""

import contextlib
import os
import socket
import threading
import time

import pytest

from daemon_help import NOBODY, needs_root
from fake_teller import KEEP, FakeTeller
from lines import DEADLINE
from web_help import Web, needs_web

pytestmark = needs_web

NOW = round(time.time() * 1000)
SNAPSHOT = ["ok draining=0 held=0 waiting=0", "snapshot", "resource s kind=semaphore scope=host limit=4 in_use=0",
            "resource etl kind=semaphore scope=fleet limit=4 in_use=0 database=main", "end"]
DATABASE = "database main state=up"


def ended(lease, ago=1000, name="s", **keys):
    more = "".join(f" {key}={value}" for key, value in keys.items())
    return f"ended {lease} units={name}:0 uid=0 how=released ended={NOW - ago} held=500 waited=100{more}"


def told(*lines, **keys):
    keys = {"now": NOW, "since": NOW - 10000, "whose": "host", **keys}
    return ["ok " + " ".join(f"{key}={value}" for key, value in keys.items()), *lines, "end"]


class World:
    """A berthd that names a berth-history, both made up, and a real berth-web."""

    def __init__(self, directory):
        self.path = directory / "history"
        self.hello = [f"ok proto=1 history={self.path}"]
        self.history = FakeTeller(self.path, {"history": told()})
        self.berthd = FakeTeller(directory / "s", {
            "hello": lambda words: self.hello, "watch": SNAPSHOT, "history": told()})
        self.web = Web(directory)

    def start(self):
        self.web.start().ready()
        return self

    def fleet(self, answer):
        """berthd has a database, which tells this; the rest it tells as before."""
        own = self.berthd.answers["history"]
        self.berthd.answers["watch"] = [*SNAPSHOT[:2], DATABASE, *SNAPSHOT[2:]]
        self.berthd.answers["history"] = lambda words: answer if "database=main" in words else own
        return self.start()

    def ask(self, query="from=0"):
        return self.web.history(query)

    def leases(self, query="from=0"):
        return [lease["lease"] for lease in self.ask(query)["leases"]]


@pytest.fixture
def world(directory, sanitizer_reports):
    made = World(directory)
    yield made
    made.web.stop()
    made.history.close()
    made.berthd.close()


# ---- whom it asks ----


def test_berth_history_is_asked(world):
    world.history.answers["history"] = told(ended("a", 3000), ended("b", 2000, name="gone"))
    world.start()
    answer = world.ask(f"from={NOW - 60000}&until={NOW - 1000}&limit=7&resource=gone")
    assert [lease["lease"] for lease in answer["leases"]] == ["a", "b"]
    assert (answer["kept_by"], answer["why"], answer["whose"]) == ("berth-history", None, "host")
    assert (answer["since_at_ms"], answer["failed"]) == (NOW - 10000, [])
    assert answer["sources"] == [{"database": None, "since_at_ms": NOW - 10000, "more": False}]
    assert world.berthd.asked() == []
    (since, until, limit, name), = world.history.asked()
    assert (limit, name) == ("limit=7", "gone")
    ago = round(time.time() * 1000) - NOW
    for word, key, more in ((since, "since", 60000), (until, "until", 1000)):
        assert word.startswith(key + "=") and more <= int(word.partition("=")[2]) <= ago + more


@pytest.mark.parametrize("answer", [
    ["error denied not%20you"], None, ["nonsense"], ["ok now=x", "end"],
    told(ended("first"))[:-1] + ["ended x"], told(ended("first"))[:-1] + ["\x01"],
    told(*(5000 * [ended("first", reason=3600 * "x")])),
], ids=["refuses", "closes", "nonsense", "bad head", "bad lease", "garbage", "too much"])
def test_who_has_failed_is_not_believed(world, answer):
    """berthd is asked instead, and why is said."""
    world.history.answers["history"] = answer
    world.berthd.answers["history"] = told(ended("own"), since=NOW - 5)
    world.start()
    found = world.ask()
    assert [lease["lease"] for lease in found["leases"]] == ["own"]
    assert (found["kept_by"], found["since_at_ms"]) == ("berthd", NOW - 5)
    assert found["why"] in (["it has ended the connection"] if not answer else ["not you"] if "denied" in answer[0] else
                            ["it says too much", "no answer in time"] if len(answer) > 1000 else
                            ["what it says is not the protocol of berthd"])


def test_none_is_named(world):
    world.hello = ["ok proto=1"]
    world.start()
    found = world.ask()
    assert (found["kept_by"], found["why"]) == ("berthd", None)
    assert world.history.requests == []


def test_nobody_is_there(world):
    world.history.close()
    world.start()
    found = world.ask()
    assert (found["kept_by"], found["why"]) == ("berthd", "nobody answers there")


@needs_root
def test_a_stranger_s_socket_is_not_spoken_to(world):
    world.history.close()
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(world.path))
        os.seteuid(NOBODY)
        try:
            listener.listen()
        finally:
            os.seteuid(0)
        world.start()
        assert world.ask()["kept_by"] == "berthd"
        listener.settimeout(DEADLINE)
        peer, _ = listener.accept()
        assert peer.recv(100) == b""
        peer.close()


def test_berthd_is_away(world):
    """What berth-history tells is shown all the same. Then nobody tells anything."""
    world.history.answers["history"] = told(ended("a"))
    world.start()
    assert world.leases() == ["a"]
    world.berthd.close()
    world.web.until(lambda: world.web.status()["connected"], False)
    assert world.leases("from=1") == ["a"]
    world.history.close()
    answer = world.web.ask("/history.json?from=2")
    assert answer.status == 503
    assert answer.text == "berthd: nobody answers there; berth-history: nobody answers there\n"


def test_what_operators_did_and_gaps(world):
    world.history.answers["history"] = told(
        f"gap from={NOW - 9000} until={NOW - 8000} why=reboot n=3",
        f"did limit at={NOW - 5000} uid=0 resource=s old=4 new=2 reason=too%20slow", ended("a"), more=1)
    world.start()
    answer = world.ask()
    assert [(gap["from_at_ms"], gap["until_at_ms"], gap["why"], gap["n"]) for gap in answer["gaps"]] == [
        (NOW - 9000, NOW - 8000, "reboot", 3)]
    (action,) = answer["actions"]
    assert [action[key] for key in ("verb", "at_ms", "user", "resource", "old", "new", "reason")] == [
        "limit", NOW - 5000, "root", "s", "4", "2", "too slow"]
    assert answer["sources"][0]["more"]


# ---- who is silent ----


def test_silence_costs_2_seconds_once(world):
    world.history.answers["history"] = KEEP
    world.berthd.answers["history"] = told(ended("own"))
    world.start()
    began = time.monotonic()
    first, later = world.ask("from=1"), world.ask("from=2")
    assert 1.9 < time.monotonic() - began < 3.5
    assert [first["why"], later["why"]] == ["no answer in time", "it has not answered a moment ago"]
    assert [first["leases"][0]["lease"], later["leases"][0]["lease"]] == ["own", "own"]
    assert len(world.history.asked()) == 1
    assert world.web.ask("/healthz").status == 200


def test_a_crowd_waits_once(world):
    """Different questions, all at once, while berth-history hangs."""
    world.history.answers["history"] = KEEP
    world.start()
    seconds = []

    def ask(i):
        began = time.monotonic()
        assert world.ask(f"from={i}")["kept_by"] == "berthd"
        seconds.append(time.monotonic() - began)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert len(seconds) == 20 and max(seconds) < 4
    assert len(world.history.asked()) <= 2


def test_more_questions_than_there_is_room_for(world):
    world.history.answers["history"] = world.berthd.answers["history"] = KEEP
    world.start()
    connections = [world.web.connection() for _ in range(40)]
    for i, connection in enumerate(connections):
        connection.request("GET", f"/history.json?from={i}")
    answers = [connection.getresponse() for connection in connections]
    assert {answer.status for answer in answers} == {503}
    said = [answer.read() for answer in answers]
    assert said.count(b"too many ask for the history: try again later\n") == 8
    for connection in connections:
        connection.close()


def test_it_ends_while_it_asks(world):
    world.history.answers["history"] = KEEP
    world.start()
    connections = [world.web.connection() for _ in range(5)]
    for i, connection in enumerate(connections):
        connection.request("GET", f"/history.json?from={i // 2}")
    world.web.until(lambda: len(world.history.asked()), 2)
    world.web.stop()
    for connection in connections:
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (503, b"berth-web ends\n")
        connection.close()


# ---- how often ----


def test_the_same_question_is_asked_once(world):
    world.history.answers["history"] = told(ended("a"))
    world.start()
    assert [world.leases() for _ in range(10)] == 10 * [["a"]]
    assert len(world.history.asked()) <= 2  # an answer is kept for a second
    world.leases("from=1")
    world.leases("from=1&resource=s")
    world.leases("from=1&limit=9")
    assert len(world.history.asked()) >= 4


def test_what_has_ended_since_is_asked_for(world):
    """An answer is good until something changes."""
    world.history.answers["history"] = told(ended("a"))
    changes = ["holder h resource=s units=0 uid=0 pid=1 token=1 since=0", "end"]
    world.berthd.answers["watch"] = [*SNAPSHOT]
    world.start()
    assert world.leases() == ["a"]
    world.history.answers["history"] = told(ended("a", 3000), ended("h", 2000))
    before = world.web.status()
    for sock in world.berthd.sockets:
        with contextlib.suppress(OSError):
            sock.sendall("".join(line + "\n" for line in changes).encode())
    world.web.follow(lambda answer: answer["serial"] != before["serial"], before)
    assert world.leases() == ["a", "h"]


# ---- the fleet ----


def test_databases_are_asked_too(world):
    """What both know is there once."""
    world.history.answers["history"] = told(ended("a", 3000), ended("c", 1000, name="etl", database="main"))
    world.fleet(told(ended("x-1/7", 2000, name="etl", host="web2", database="main"),
                     ended("c", 1000, name="etl", database="main"), whose="database", database="main",
                     since=NOW - 7000))
    answer = world.ask()
    assert [(lease["lease"], lease["host"]) for lease in answer["leases"]] == [
        ("a", None), ("x-1/7", "web2"), ("c", None)]
    assert (answer["whose"], answer["since_at_ms"], answer["failed"]) == ("database", NOW - 10000, [])
    assert answer["sources"][1] == {"database": "main", "since_at_ms": NOW - 7000, "more": False}
    world.ask("from=1&resource=s")
    assert len(world.berthd.asked()) == 1  # of a host's resource, no database is asked
    assert world.leases("from=0&limit=2") == ["x-1/7", "c"]
    assert any(source["more"] for source in world.ask("from=0&limit=2")["sources"])
    world.history.answers["history"] = told(ended("a", 3000), f"did limit at={NOW - 1500} uid=0 resource=s new=2", ended("c", 1000))
    answer = world.ask("from=0&limit=2&resource=s")
    assert ([lease["lease"] for lease in answer["leases"]], len(answer["actions"])) == (["c"], 1)


@pytest.mark.parametrize("answer, why", [
    (["error unavailable no%20answer%20of%20Redis"], "no answer of Redis"),
    (["error bad-request"], None), (KEEP, "no answer in time")], ids=["refused", "unknown", "silent"])
def test_a_database_that_does_not_tell(world, answer, why):
    world.history.answers["history"] = told(ended("a"))
    world.fleet(answer)
    found = world.ask()
    assert [lease["lease"] for lease in found["leases"]] == ["a"] and found["whose"] == "host"
    (failed,) = found["failed"]
    assert failed["database"] == "main" and failed["why"] and why in (None, failed["why"])
    assert [source["database"] for source in found["sources"]] == [None]


# ---- much ----


@pytest.mark.skipif("BERTH_SANITIZED" in os.environ, reason="a sanitizer keeps what is freed")
def test_many_ask_for_much(world):
    """60 readers who do not read, each with a question of its own, ask for 200 MB together."""
    lines = told(*(ended(f"l{i}", 5000 - i, reason=3500 * "x") for i in range(1000)))
    world.history.answers["history"] = lines
    world.start()
    with contextlib.ExitStack() as open_ones:
        statuses = set()
        for i in range(60):
            reader = open_ones.enter_context(socket.create_connection(("127.0.0.1", world.web.port), DEADLINE))
            reader.sendall(f"GET /history.json?from={i}&limit=5000 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            statuses.add(reader.recv(12))
        assert statuses == {b"HTTP/1.1 200", b"HTTP/1.1 503"}
    with open(f"/proc/{world.web.process.pid}/status") as status:
        peak_kb, = (int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    assert peak_kb < 400_000
    world.web.ready()

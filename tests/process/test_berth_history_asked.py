"""Whom berth-history shows what, and what those who ask can do to it."""

import contextlib
import os
import select
import socket
import time

import pytest

from daemon_help import code, connect_as, held, needs_root, stopped
from keeper_help import Past, ended, keeper, needs_history  # a fixture among them
from lines import Client, until
from test_rights_shown import ANNA, BERT, CLEO, CONFIG, DORA, EMIL, GROUP, VIEWING, WORDS
from test_sees import ABOVE, ALONE

pytestmark = needs_history

OPEN = f"history-user = {os.geteuid()}\n[semaphore s]\nlimit = 4\n"


def past_as(place, uid, gids=()):
    """What that user is shown."""
    client = connect_as(place, uid, gids[-1] if gids else None, gids) if uid else place.client()
    try:
        past = Past(client)
        return [dict(entry) for entry in past.entries + past.done]
    finally:
        place.clients.remove(client)
        client.close()


def without_end(entries):
    """berthd computes the time of day for each answer."""
    return [{key: value for key, value in entry.items() if key not in ("ended", "at")} for entry in entries]


USERS = [(ANNA, ()), (BERT, ()), (BERT, (GROUP,)), (BERT, (7, VIEWING)), (CLEO, ()), (DORA, ()), (EMIL, ()), (0, ())]


@needs_root
def test_as_berthd_shows_it(keeper, berthd):
    """To each user; also when the file hides more, or less, or has no such resources."""
    daemon = berthd(CONFIG)
    daemon.configure(CONFIG + ALONE)
    kept = keeper()
    root, anna, other = daemon.client(), connect_as(daemon, ANNA), connect_as(daemon, 60009)
    assert root.request("reload") == "ok"
    for names in "open", "shut", "also", "t/x", "t/y", "lonely", "open shut", "shut t/x", "also shut", "open lonely":
        for client in anna, other:
            assert client.request("release " + held(client, f"acquire {names} {WORDS}")) == "ok"
    for names in "open", "shut", "also", "t/x", "lonely", "open shut", "shut t/x":
        lease = held(connect_as(daemon, 60009), f"acquire {names}")
        assert root.request(f"drop {lease} reason=because") == "ok"
    for request in "pause", "resume":
        assert root.request(f"{request} shut reason=because").startswith("ok")
    seen, reasons = set(), set()
    for config in (CONFIG + ALONE, CONFIG, CONFIG + ABOVE, CONFIG + ABOVE + f"admin-users = {DORA} {BERT}\n",
                   CONFIG.replace("[semaphore open]", "[semaphore open]\nshow-commands = owner"),
                   CONFIG.replace("show-commands = owner\n", ""),
                   CONFIG.split("[semaphore also]", maxsplit=1)[0]):
        daemon.configure(config)
        assert root.request("reload") == "ok"
        for uid, gids in USERS:
            ours, theirs = past_as(kept, uid, gids), past_as(daemon, uid, gids)
            assert len(ours) >= 35 and without_end(ours) == without_end(theirs), (uid, gids, config)
            seen.add(tuple("program" in entry for entry in ours))
            *of_leases, paused, resumed = ["reason" in entry for entry in ours if "at" in entry and "resource" in entry]
            reasons.add(tuple(of_leases))
            assert paused and resumed
    assert len(seen) >= 10 and len(reasons) >= 4  # ways to see some of them


@needs_root
@pytest.mark.parametrize("how", ["down", "silent"])
def test_without_berthd(keeper, berthd, how):
    """One's own, and all to root."""
    daemon = berthd(OPEN)
    kept = keeper()
    anna, other = connect_as(daemon, ANNA), connect_as(daemon, 60009)
    for client in anna, other:
        assert client.request("release " + held(client, f"acquire s {WORDS}")) == "ok"
    until(lambda: len(past_as(kept, ANNA)) == 2)
    assert all("program" in entry for entry in past_as(kept, BERT))

    def look():
        begun = time.monotonic()
        for uid, shown in (ANNA, {str(ANNA)}), (BERT, set()), (0, {str(ANNA), "60009"}):
            entries = past_as(kept, uid)
            assert len(entries) == 2 and {entry["uid"] for entry in entries if "program" in entry} == shown
        assert time.monotonic() - begun < 6

    if how == "down":
        daemon.stop()
        until(lambda: "program" not in past_as(kept, BERT)[0])
        look()
        daemon.start()
    else:
        with stopped(daemon):
            look()
    until(lambda: "program" in past_as(kept, BERT)[0])


def test_what_is_known_of_a_user_is_kept_for_a_while(keeper, berthd):
    daemon = berthd(OPEN)
    kept, client = keeper(), daemon.client()
    ended(client, reason="hidden")
    asked = kept.client()
    assert "reason" in Past(asked).entries[0]
    with stopped(daemon):
        begun = time.monotonic()
        assert "reason" in Past(asked).entries[0]
        assert time.monotonic() - begun < 1


# ---- what they can do ----


def test_how_many_may_connect(keeper, berthd):
    berthd(OPEN)
    kept = keeper()
    clients = [kept.client() for _ in range(8)]
    assert all(client.request("hello").startswith("ok ") for client in clients)
    refused = kept.client()
    assert code(refused.line()) == "busy" and refused.line() == ""
    clients[0].close()
    until(lambda: kept.client().request("hello").startswith("ok "))


@needs_root
def test_others_come_in_when_one_user_has_all(keeper, berthd):
    berthd(OPEN)
    kept = keeper()
    assert all(connect_as(kept, ANNA).request("hello").startswith("ok ") for _ in range(8))
    assert connect_as(kept, BERT).request("hello").startswith("ok ")


def test_nonsense(keeper, berthd, chance):
    berthd(OPEN)
    kept = keeper()
    client = kept.client()
    assert client.request("hello").startswith("ok ")
    for line, expected in (("x" * 5000, "too-long"), ("", "malformed"), ("\0", "malformed"),
                           ("nonsense", "unknown-command"),
                           ("release x", "unknown-command"), ("history a=b", "unknown-key"),
                           ("history " + "a " * 20, "malformed"), ("history limit=4294967296", "bad-value")):
        assert code(client.request(line)) == expected, line
    for _ in range(100):
        other = Client(kept.socket)
        with contextlib.suppress(BrokenPipeError):  # the eight before have not been seen to go
            other.send(bytes(chance.randrange(256) for _ in range(chance.randrange(3000))))
        other.close()
    assert client.lines("history")[-1] == "end"


def test_many_lines_at_once(keeper, berthd):
    daemon = berthd(OPEN)
    kept = keeper()
    lease = ended(daemon.client())
    client = kept.client()
    client.send("history limit=1\nnonsense\nhello\n" * 300)
    client.socket.shutdown(socket.SHUT_WR)
    for _ in range(300):
        head, line, end = (client.line() for _ in range(3))
        assert head.startswith("ok now=") and line.startswith(f"ended {lease} ") and end == "end"
        assert code(client.line()) == "unknown-command" and client.line().startswith("ok proto=1 ")
    assert client.line() == ""


def test_who_does_not_read(keeper, berthd):
    """Others are answered meanwhile, what ends is kept, and a long answer costs little memory."""
    daemon = berthd("history = 4M\n" + OPEN)
    kept, client = keeper(), daemon.client()
    leases = [ended(client, reason="x" * 200) for _ in range(2000)]
    assert len(kept.past().leases) == 2000

    def memory():
        with open(f"/proc/{kept.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = memory()
    lazy = [kept.client() for _ in range(7)]
    for each in lazy:
        each.send("history\n" * 50)
    until(lambda: all(select.select([each.socket], [], [], 0)[0] for each in lazy))
    more = ended(client)
    assert kept.past("history limit=1").leases == [more]
    assert memory() - before < 32 << 20
    assert [line.split(" ")[1] for line in lazy[0].rest_of_lines()[1:-1]] == leases


def test_costly_patterns_keep_nobody_waiting(keeper, berthd):
    """They match nothing in many rows with long names."""
    daemon = berthd(CONFIG)
    kept = keeper()
    ended(daemon.client(), "t/x")
    assert kept.past().leases
    kept.stop()
    claims = ",".join(f"t/{'a' * 118}{i} 1" for i in range(10, 26))
    with kept.database() as database:
        database.execute("""WITH RECURSIVE numbers (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM numbers
            LIMIT 20000) INSERT INTO ended SELECT NULL, kind, ended, asked, uid, lease, hiding, ?,
            granted, database, how, host, ring, serial, failed FROM ended, numbers
            WHERE kind = 1""", [claims])
    kept.start()
    asker, other = kept.client(), kept.client()
    assert other.request("ping") == "ok"
    for limit in "", " limit=5":
        asker.send(f"history{limit} " + " ".join(f"t/*{'a' * 60}{letter}b" for letter in "cdefghijklmnopqr") + "\n")
        asked_at = time.monotonic()
        assert other.request("ping") == "ok"
        assert time.monotonic() - asked_at < 0.3

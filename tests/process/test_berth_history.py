"""berth-history keeps what has ended, over which ends, and says what is missing."""

import os
import time

import pytest

from daemon_help import code, held, keys, status, stopped
from fleet_help import Clock
from history_help import done, history
from keeper_help import ended, keeper, needs_history, wall_now  # a fixture among them
from lines import until

pytestmark = needs_history

CONFIG = """history-user = root
history = 64K
[semaphore s]
limit = 4
[lock deploy]
[lock t/*]
[lock cools]
cooldown = 1h
"""
CONFIG = CONFIG.replace("root", str(os.geteuid()))


# ---- what it keeps ----


def test_it_says_what_berthd_says(keeper, daemon, client):
    assert "history=" not in client.request("hello")
    kept = keeper()
    assert keys(client.request("hello").split(" "))["history"] == str(kept.socket)
    leases = [ended(client, "s:2", reason="a%20b", holder="me", program="x"), ended(client, "deploy"),
              ended(client, "t/1 s")]
    past = kept.past()
    assert past.leases == leases and past.gaps == []
    assert past.head["whose"] == "host" and "more" not in past.head
    for ours, theirs in zip(past.entries, history(client), strict=True):
        assert abs(int(ours.pop("ended")) - int(theirs.pop("ended"))) <= 1 and ours == theirs
    assert abs(int(past.head["since"]) - wall_now()) < 60000


def test_what_is_asked_for(keeper, client):
    kept = keeper()
    one, two, three = ended(client), ended(client, "deploy"), ended(client, "t/1 s")
    for request, leases in {
        "s": [one, three], "deploy": [two], "t/*": [three], "t/1": [three], "s deploy": [one, two, three],
        "none": [], "limit=1": [three], "limit=2": [two, three], "limit=3": [one, two, three], "limit=1 s": [three],
        "limit=9 deploy": [two], f"lease={two}": [two], f"user={os.geteuid()}": [one, two, three], "user=77777": [],
        "since=0": [], "since=60000": [one, two, three], "until=60000": [], "until=0": [one, two, three],
    }.items():
        past = kept.past(f"history {request}")
        assert past.leases == leases, request
        assert (past.head.get("more") == "1") == (request in ("limit=1", "limit=2", "limit=1 s")), request
    asker = kept.client()
    for request in "since=x", "until=-1", "user=x", "limit=x", "lease=!", "after=1-1":
        assert code(asker.request(f"history {request}")) == "bad-value", request
    assert code(asker.request("history database=d")) == "unknown"  # it copies none
    assert code(asker.request("history holder=x")) == "unknown-key"
    assert code(asker.request("status")) == "unknown-command"
    assert asker.request("hello proto=1").startswith("ok proto=1 ")
    assert asker.request("ping") == "ok"


@pytest.mark.parametrize("how", ["kill", "stop"])
@pytest.mark.parametrize("who", ["keeper", "daemon", "both"])
def test_nothing_is_lost_or_repeated(keeper, daemon, client, who, how):
    kept = keeper()
    leases = []
    for _ in range(3):
        leases += [ended(daemon.client()) for _ in range(20)]
        assert kept.past().leases == leases
        leases += [ended(daemon.client()) for _ in range(20)]
        for each in {"keeper": [kept], "daemon": [daemon], "both": [daemon, kept]}[who]:
            getattr(each, how)()
            each.start()
        until(lambda: daemon.client().request("ping") == "ok")
        past = kept.past()
        assert past.leases == leases and past.gaps == []
    assert len(kept.files()) in (1, 2)  # midnight


def test_who_took_it_away(keeper, daemon, client):
    """An entry of its own comes before the end."""
    kept = keeper()
    lease = client.request("acquire deploy pid=%d" % os.getpid()).split(" ")[1]
    other = daemon.client()
    other.request(f"drop {lease} reason=enough")
    past = until(lambda: kept.past().entries)
    past[0].has(how="dropped", why="enough", by=str(os.geteuid()))


def test_killed_before_the_record_is_erased(keeper, daemon, client):
    """Berthd finds the entry and the record: the lease is over, and its units rest as from its end."""
    kept = keeper()
    leases = [ended(client), held(client, "acquire cools")]
    journal = daemon.journal.read_bytes()
    assert client.request(f"release {leases[-1]}") == "ok"
    daemon.kill()
    with open(daemon.journal, "r+b") as file:
        file.write(journal)
    for _ in range(2):
        daemon.start()
        client = daemon.client()
        assert [each.lease for each in history(client)] == kept.past().leases == leases
        resource = status(client).resources["cools"]
        assert not resource["holders"] and resource["cooling"] == "1"
        leases.append(ended(client))
        daemon.kill()


def test_what_operators_did(keeper, daemon, client):
    """As berthd says it, whatever is asked for."""
    kept = keeper()
    lease = daemon.client().request("acquire s").split(" ")[1]
    for request in ("limit s 2 reason=too%20much", f"drop {lease}", "drain reason=disk", "undrain", "pause t/1"):
        assert client.request(request).startswith("ok"), request
    me = os.geteuid()
    for keys_asked in ("", " s", " t/*", " s deploy", " no*", f" lease={lease}", f" user={me}", " user=77777",
                       " limit=2", " limit=2 s", " since=0", " until=0", " until=60000"):
        request = f"history{keys_asked}"
        ours, theirs = kept.past(request), done(client, request)
        assert len(ours.done) == len(theirs), request
        assert ours.leases == [each.lease for each in history(client, request)]
        for mine, its in zip(ours.done, theirs, strict=True):
            assert abs(int(mine.pop("at")) - int(its.pop("at"))) <= 1 and mine == its and mine.verb == its.verb
    ours = kept.past()
    assert [each.verb for each in ours.done] == ["limit", "drop", "drain", "undrain", "pause"]
    assert [line.split(" ")[0] for line in ours.lines] == ["did", "did", "ended", "did", "did", "did"]
    kept.kill()
    kept.start()
    assert kept.past().lines == ours.lines


# ---- from when on it is complete ----


def test_since_the_ring_was_made(keeper, daemon, client):
    """Unless some of what it had is gone."""
    since = keys(client.lines("history")[0].split(" "))["since"]
    first = ended(client)
    kept = keeper()
    past = kept.past()
    assert past.leases == [first] and abs(int(past.head["since"]) - int(since)) <= 1
    assert int(since) < int(past.entries[0]["ended"])
    ended(client)
    kept.kill()
    kept.start()
    assert kept.past().head["since"] == past.head["since"]


def test_since_an_empty_ring_was_made(keeper, daemon, client):
    since = keys(client.lines("history")[0].split(" "))["since"]
    assert abs(int(keeper().past().head["since"]) - int(since)) <= 1


def test_since_the_oldest_day_that_is_kept(keeper, daemon, client, directory):
    clock = Clock(directory / "clock")
    kept = keeper("keep = 1d\n", before=["env", *(f"{name}={value}" for name, value in clock.environ.items())])
    leases = []
    for days in range(4):
        clock.show(days * 86400 * 1000000, 0)
        leases.append(ended(client))
        until(lambda: leases[-1] in kept.past().leases)
    kept.kill()
    kept.start()
    past = kept.past()
    assert past.leases == leases[2:] and past.gaps == []
    assert int(past.head["since"]) == int(past.entries[0]["ended"]) // 86400000 * 86400000


def test_an_answer_waits_for_the_ring(keeper, daemon, client):
    """Of a berthd that is slow to pass it; others are answered meanwhile. Not for ever."""
    first = ended(client)
    with stopped(daemon):
        kept = keeper()
        begun = time.monotonic()
        assert kept.past().lines == []
        assert 0.4 < time.monotonic() - begun < 2
        slow = kept.client()
        slow.send("history\n")
        assert kept.client().request("hello").startswith("ok proto=1 ")
    assert slow.line().startswith("ok now=") and slow.line().startswith(f"ended {first} ") and slow.line() == "end"


# ---- gaps ----


def test_what_the_ring_has_overwritten(keeper, daemon, client):
    kept = keeper()
    first = ended(client)
    assert kept.past().leases == [first]
    with stopped(kept):
        leases = [ended(client) for _ in range(600)]
    past = kept.past()
    n = len(leases) + 1 - len(past.leases)
    assert past.leases == [first, *leases[n:]] and n > 0
    gap, = past.gaps
    assert gap["why"] == "overwritten" and int(gap["n"]) == n
    assert past.lines[1].startswith("gap ")
    assert int(past.entries[0]["ended"]) == int(gap["from"]) <= int(gap["until"]) <= int(past.entries[1]["ended"]) + 1
    assert kept.past("history limit=1").gaps == []
    assert kept.past("history none").gaps == past.gaps


def test_while_it_was_not_running(keeper, daemon, client):
    kept = keeper()
    first = ended(client)
    assert kept.past().leases == [first]
    kept.stop()
    for _ in range(600):
        ended(client)
    kept.start()
    past = kept.past()
    assert past.why == ["not-running"] and int(past.gaps[0]["n"]) == 601 - len(past.leases)
    kept.kill()
    kept.start()
    assert kept.past().lines == past.lines


def test_of_what_ended_before_it_began_there_is_no_gap(keeper, daemon, client):
    for _ in range(600):
        ended(client)
    past = keeper().past()
    assert past.gaps == [] and past.head["since"] == past.entries[0]["ended"]


@pytest.mark.parametrize("stops", [True, False])
def test_a_reboot(keeper, daemon, client, stops):
    """Another ring, and what was kept ended before this boot: its times are made so."""
    kept = keeper()
    first = ended(client)
    assert kept.past().leases == [first]
    (kept.stop if stops else kept.kill)()
    daemon.kill()
    daemon.socket.with_name("s.history").unlink()
    boot = wall_now() - round(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000)
    with kept.database() as database:
        database.execute("UPDATE ended SET ended = ? + number, asked = 0", [boot - 3600000])
        newest, = database.execute("SELECT max(ended) FROM ended").fetchone()
    daemon.start()
    second = ended(daemon.client())
    kept.start()
    past = until(lambda: (found := kept.past()).leases == [first, second] and found)
    gap, = past.gaps
    assert gap["why"] == "reboot" and abs(int(gap["until"]) - boot) < 1000
    assert int(gap["from"]) == newest
    kept.kill()
    kept.start()
    assert kept.past().lines == past.lines


@pytest.mark.parametrize("was_up", [True, False])
def test_another_ring_of_this_boot(keeper, daemon, client, was_up):
    kept = keeper()
    first = ended(client)
    assert kept.past().leases == [first]
    if was_up:
        kept.limit_files(8192)  # what it has read cannot be written yet
    else:
        kept.kill()
    second = ended(client)
    daemon.kill()
    daemon.socket.with_name("s.history").unlink()
    daemon.start()
    third = ended(daemon.client())
    if was_up:
        until(lambda: "waits in the ring" in kept.log.read_text())
        until(lambda: kept.log.read_text().count("reading the history") == 2)
        kept.limit_files(1 << 30)
    else:
        kept.start()
    past = until(lambda: (found := kept.past()).leases[-1] == third and found)
    assert past.leases == ([first, second, third] if was_up else [first, third])
    assert past.why == ([] if was_up else ["not-running"])


def test_a_ring_that_was_cut(keeper, daemon, client):
    kept = keeper()
    first = ended(client)
    assert kept.past().leases == [first]
    os.truncate(daemon.socket.with_name("s.history"), 4096)
    ended(client)
    assert kept.past().leases == [first]
    daemon.stop()
    daemon.start()
    third = ended(daemon.client())
    past = until(lambda: (found := kept.past()).leases == [first, third] and found)
    assert past.why == ["damaged"]


# ---- damage ----


def test_one_damaged_row_hides_itself(keeper, daemon, client):
    kept = keeper()
    leases = [ended(client) for _ in range(9)]
    assert kept.past().leases == leases
    kept.kill()
    with kept.database() as database:
        first, = database.execute("SELECT min(number) FROM ended WHERE kind = 1").fetchone()
        for change, i in (("UPDATE line SET line = replace(line, 'uid=', 'uid=1')", 3),
                          ("UPDATE ended SET uid = 7", 5), ("DELETE FROM line", 8)):
            database.execute(f"{change} WHERE number = ?", [first + i])
    kept.start()
    past = kept.past()
    assert past.leases == [lease for i, lease in enumerate(leases, 1) if i not in (4, 6, 9)]
    assert past.why == ["damaged"] * 3 and [gap["n"] for gap in past.gaps] == ["1"] * 3
    assert kept.past("history limit=2").leases == leases[7:8]


def test_damaged_pages_hide_their_rows(keeper, daemon, client):
    kept = keeper()
    leases = []
    for _ in range(12):
        leases += [ended(client, reason="x" * 200) for _ in range(60)]
        assert kept.past("history limit=1").leases == leases[-1:]
    kept.stop()
    path = kept.days / kept.files()[-1]
    content = bytearray(path.read_bytes())
    pages = [at for at in range(8192, len(content), 4096) if content[at] == 13]
    for at in pages[3::7]:
        content[at:at + 4096] = bytes(4096)
    path.write_bytes(content)
    kept.start()
    past = kept.past()
    assert len(leases) / 2 < len(past.leases) < len(leases)
    assert past.leases == [lease for lease in leases if lease in past.leases]
    assert set(past.why) == {"damaged"} and sum(int(gap["n"]) for gap in past.gaps) == len(leases) - len(past.leases)
    newest = kept.past("history limit=100")
    assert newest.leases == past.leases[-len(newest.leases):] and len(newest.leases) > 50


@pytest.mark.parametrize("content", [b"nonsense" * 1000, b"SQLite format 3\0" + bytes(8176)])
def test_a_damaged_file_is_set_aside(keeper, daemon, client, content):
    kept = keeper()
    leases = [ended(client) for _ in range(3)]
    assert kept.past().leases == leases
    kept.stop()
    name = kept.files()[-1]
    (kept.days / name).write_bytes(content)
    kept.start()
    assert (kept.days / f"{name}.damaged").read_bytes() == content
    leases.append(ended(client))
    past = kept.past()  # the ring still had the others
    assert past.why == ["damaged"] and past.leases == leases
    kept.kill()
    kept.start()
    assert kept.past().leases == leases


def test_a_newer_version_s_file(keeper, daemon, client):
    kept = keeper()
    ended(client)
    assert kept.past().leases
    kept.stop()
    with kept.database() as database:
        database.execute("PRAGMA user_version = 2")
    kept.start()
    assert "a form that this version does not know" in kept.log.read_text()
    assert (kept.days / f"{kept.files()[-1]}.damaged").exists()


# ---- the disk ----


def test_a_full_disk(keeper, daemon, client):
    """What the ring keeps meanwhile is written later; the rest is a gap."""
    kept = keeper()
    first = ended(client)
    assert kept.past().leases == [first]
    kept.limit_files(8192)
    leases = [ended(client) for _ in range(50)]
    until(lambda: "waits in the ring" in kept.log.read_text())
    assert kept.past().leases == [first]
    kept.limit_files(1 << 30)
    past = until(lambda: (found := kept.past()).leases == [first, *leases] and found)
    assert past.gaps == [] and "is written again" in kept.log.read_text()
    kept.limit_files(8192)
    more = [ended(client) for _ in range(600)]
    kept.past()
    kept.limit_files(1 << 30)
    past = until(lambda: (found := kept.past()).leases[-1] == more[-1] and found)
    assert past.why == ["disk-full"] and int(past.gaps[0]["n"]) == 651 - len(past.leases)


def test_a_file_that_somebody_removes(keeper, daemon, client):
    kept = keeper()
    assert kept.past().leases == []
    ended(client)
    assert kept.past().leases
    (kept.days / kept.files()[-1]).unlink()
    second = ended(client)
    until(lambda: kept.past().leases[-1:] == [second])
    kept.stop()
    kept.start()
    assert kept.past().leases[-1] == second


# ---- what goes ----


def test_days_that_are_too_old_go(keeper, daemon, client):
    kept = keeper("keep = 3d\n")
    lease = ended(client)
    assert kept.past().leases == [lease]
    kept.stop()
    today = kept.files()[-1]
    for age in (1, 2, 3, 5, 9):
        date = time.strftime("%Y-%m-%d", time.gmtime(time.time() - age * 86400))
        (kept.days / f"{date}.db").write_bytes((kept.days / today).read_bytes())
    kept.start()
    assert len(kept.files()) == 4


def test_all_days_have_a_size(keeper, daemon, client):
    kept = keeper("size = 1M\n")
    lease = ended(client)
    assert kept.past().leases == [lease]
    kept.stop()
    today = kept.files()[-1]
    with kept.database() as database:
        database.execute("CREATE TABLE filler AS SELECT randomblob(400000) AS filler")
    for age in range(1, 6):
        date = time.strftime("%Y-%m-%d", time.gmtime(time.time() - age * 86400))
        (kept.days / f"{date}.db").write_bytes((kept.days / today).read_bytes())
    kept.start()
    assert len(kept.files()) == 2
    kept.stop()
    with kept.database() as database:
        database.execute("INSERT INTO filler VALUES (randomblob(900000))")
    kept.start()
    ended(client)
    until(lambda: "there is no room for more" in kept.log.read_text())
    assert kept.files() == [today] and kept.past().leases == [lease]
    assert kept.log.read_text().count("there is no room for more") == 1


# ---- the clock ----


def test_a_clock_that_is_set_back(keeper, daemon, client, directory):
    """No row is lost, and each is in the file of its time."""
    clock = Clock(directory / "clock")
    kept = keeper(before=["env", *(f"{name}={value}" for name, value in clock.environ.items())])
    leases = []
    for days in 2, 0, 2, 1:
        clock.show(days * 86400 * 1000000, 0)
        leases.append(ended(client))
        until(lambda: leases[-1] in kept.past().leases)
    clock.show(0, 0)
    assert len(kept.files()) == 3
    kept.kill()
    kept.start()
    past = kept.past()
    assert sorted(past.leases) == sorted(leases) and past.gaps == []
    last = ended(client)
    until(lambda: last in kept.past().leases)
    assert len(kept.past().leases) == 5

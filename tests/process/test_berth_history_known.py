"""What berth-history does not know: it shows it to nobody, and calls nothing complete that is not."""

import json
import os
import time

import pytest

from daemon_help import connect_as, held, stopped
from fleet_help import Clock
from keeper_help import Past, ended, keeper, needs_history, wall_now  # a fixture among them
from lines import until
from lost_help import needs_mounts
from test_rights_shown import ANNA, BERT, VIEWING, WORDS

pytestmark = needs_history

OPEN = f"history-user = {os.geteuid()}\n[semaphore s]\nlimit = 4\n"
IN_GROUPS = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/group && exec "$@"')


# ---- who sees what ----


@needs_mounts
def test_viewers_see_all_while_berthd_is_down_if_it_has_said_so(keeper, berthd, directory):
    """Not another in their group who sees all for another reason: an admin."""
    (directory / "group").write_text(f"berth-view:x:{VIEWING}:\n")
    daemon = berthd(OPEN)
    kept = keeper(before=(*IN_GROUPS, directory / "group"))
    client = connect_as(daemon, ANNA)
    assert client.request("release " + held(client, f"acquire s {WORDS}")) == "ok"

    def sees(uid, gid):
        client = connect_as(kept, uid, gid, (gid,))
        entry, = Past(client).entries
        kept.clients.remove(client)
        client.close()
        return "program" in entry

    def sees_while_it_is_down():
        daemon.stop()
        seen = sees(BERT, VIEWING)
        daemon.start()
        until(lambda: sees(BERT, VIEWING) == sees(60009, VIEWING))
        return seen

    hidden = OPEN + "show-commands = owner\n"
    for config, expected in ((hidden, False), (f"admin-users = {BERT}\n{hidden}", False),
                             (f"view-groups = {VIEWING}\n{hidden}", True), (hidden, False)):
        daemon.configure(config)
        assert daemon.client().request("reload") == "ok"
        until(lambda: sees(60008, VIEWING) == (expected is True))
        sees(BERT, VIEWING)
        assert sees_while_it_is_down() == expected, config


def test_a_berthd_that_hangs_does_not_outlast_those_who_ask(keeper, berthd):
    """berthctl and berth-web give up after 2 seconds."""
    daemon = berthd(OPEN)
    kept = keeper()
    lease = ended(daemon.client())
    assert kept.past().leases == [lease]
    with stopped(daemon):
        begun = time.monotonic()
        assert kept.past().leases == [lease]
        assert time.monotonic() - begun < 1.5


# ---- what cannot be read ----

DAY = 86400000


def date_before(days):
    return time.strftime("%Y-%m-%d", time.gmtime(time.time() - days * 86400))


def cannot_be_opened(kept, days):
    """The file of so many days ago."""
    (kept.days / f"{date_before(days)}.db").mkdir()


def move_back(kept, days):
    """What is kept, by so many days: a file of a day, or those behind."""
    for name in kept.files():
        with kept.database(name) as database:
            database.execute("UPDATE ended SET ended = ended - :by, asked = asked - :by,"
                             " granted = max(granted - :by, 0)", {"by": days * DAY})
        (kept.days / name).rename(kept.days / f"{date_before(days)}.db")


def test_of_the_newest_day_a_gap_is_shown(keeper, berthd):
    """And what was before it."""
    client = berthd(OPEN).client()
    kept = keeper()
    leases = [ended(client) for _ in range(3)]
    assert kept.past().leases == leases
    kept.stop()
    move_back(kept, 1)
    cannot_be_opened(kept, 0)
    kept.start()
    for limit, shown in ("", leases), (" limit=2", leases[1:]), (" limit=1000", leases):
        past = kept.past(f"history{limit}")
        assert past.leases == shown and past.why == ["damaged"]
        assert int(past.gaps[0]["from"]) % DAY == 0 and int(past.gaps[0]["until"]) > wall_now() - 10000
    assert sum(line.startswith("gap ") for line in kept.client().lines("stats")) == 1


@pytest.mark.parametrize("limit", ["", " limit=1000"])
def test_of_a_day_in_between_a_gap_is_shown(keeper, berthd, limit):
    client = berthd(OPEN).client()
    kept = keeper()
    leases = [ended(client) for _ in range(3)]
    assert kept.past().leases == leases
    kept.stop()
    today = kept.files()[-1]
    content = (kept.days / today).read_bytes()
    move_back(kept, 2)
    (kept.days / today).write_bytes(content)
    cannot_be_opened(kept, 1)
    cannot_be_opened(kept, 3)
    kept.start()
    past = kept.past(f"history{limit}")
    assert past.leases == leases * 2
    for gap, days in zip(past.gaps, (3, 1), strict=True):
        assert gap["why"] == "damaged" and int(gap["from"]) // DAY == wall_now() // DAY - days
        assert int(gap["until"]) - int(gap["from"]) == DAY - 1
    assert [line.split(" ")[0] for line in past.lines] == ["gap", *["ended"] * 3, "gap", *["ended"] * 3]
    assert kept.past("history limit=2").why == []
    newer = kept.past(f"history since={DAY * 3 // 2}{limit}")
    assert newer.leases == leases and len(newer.gaps) == 1


def test_of_lost_rows_at_the_begin_a_gap_is_shown(keeper, berthd):
    """Whichever way they are looked for."""
    client = berthd("history = 4M\n" + OPEN).client()
    kept = keeper()
    leases = [ended(client) for _ in range(400)]
    until(lambda: kept.past().leases == leases)
    kept.stop()
    with kept.database() as database:
        page, = database.execute("SELECT min(pageno) FROM dbstat WHERE name = 'ended' AND pagetype = 'leaf'").fetchone()
    path = kept.days / kept.files()[-1]
    content = bytearray(path.read_bytes())
    content[(page - 1) * 4096:page * 4096] = bytes(4096)
    path.write_bytes(content)
    kept.start()
    past = kept.past()
    n = 400 - len(past.leases)
    assert 0 < n < 300 and past.leases == leases[n:] and past.why == ["damaged"]
    assert kept.past("history limit=1000").lines == past.lines
    assert int(past.gaps[0]["from"]) % DAY == 0 and past.gaps[0]["until"] == past.entries[0]["ended"]
    assert kept.past("history limit=20").lines == past.lines[-20:]


# ---- a clock that was ahead ----


def test_a_clock_that_is_ahead_takes_no_days_away(keeper, berthd, directory):
    client = berthd(OPEN).client()
    clock = Clock(directory / "clock")
    kept = keeper("keep = 3d\n", before=["env", *(f"{name}={value}" for name, value in clock.environ.items())])
    leases = []
    for days in 0, 1, 100:
        clock.show(days * DAY * 1000, 0)
        leases.append(ended(client))
        until(lambda: leases[-1] in kept.past().leases)
    assert kept.past().leases == leases and len(kept.files()) == 3


def test_a_ring_that_is_older_than_another_by_the_clock_goes_on(keeper, berthd):
    """What was written before the clock was set right is of a ring that is no more."""
    client = berthd(OPEN).client()
    kept = keeper()
    leases = [ended(client) for _ in range(3)]
    assert kept.past().leases == leases
    kept.stop()
    today, ahead = kept.files()[-1], f"{date_before(-40)}.db"
    (kept.days / ahead).write_bytes((kept.days / today).read_bytes())
    with kept.database(ahead) as database:
        database.execute("UPDATE ended SET ended = ended + ?, ring = ring + 1", [40 * DAY])
    for _ in range(2):
        kept.start()
        leases.append(ended(client))
        past = until(lambda: (found := kept.past()).leases[len(leases) - 1:] == [leases[-1], *leases[:3]] and found)
        assert past.leases == leases + leases[:3] and past.why == []
        kept.stop()


def test_a_day_of_a_clock_that_was_ahead_goes(keeper, berthd):
    """If there is no room for it, and today is written on."""
    client = berthd(OPEN).client()
    kept = keeper("size = 1M\n")
    leases = [ended(client)]
    assert kept.past().leases == leases
    kept.stop()
    today, ahead = kept.files()[-1], f"{date_before(-40)}.db"
    (kept.days / ahead).write_bytes((kept.days / today).read_bytes())
    with kept.database(ahead) as database:
        database.execute("CREATE TABLE filler AS SELECT randomblob(1200000) AS filler")
    kept.start()
    leases.append(ended(client))
    until(lambda: kept.past().leases == leases)
    assert kept.files() == [today]


# ---- what was set aside ----


def set_aside(kept):
    return sorted(path.name.replace(".db.damaged", "") for path in kept.days.glob("*.damaged*"))


def test_each_day_that_is_set_aside_is_kept(keeper, berthd):
    """As after a downgrade; they count for `size`, also their logs, and are not kept for longer than days."""
    client = berthd(OPEN).client()
    kept = keeper("size = 1M\nkeep = 3d\n")
    ended(client)
    assert kept.past().leases
    kept.kill()
    with kept.database() as database:
        database.execute("PRAGMA user_version = 99")
    newer = (kept.days / kept.files()[-1]).read_bytes()
    dates = [date_before(days) for days in (4, 3, 2, 1, 0)]
    for date in dates:
        (kept.days / f"{date}.db").write_bytes(newer)
    kept.start()
    assert set_aside(kept) == dates[1:]
    assert kept.past().why == ["damaged"] * 4
    kept.stop()
    (kept.days / f"{dates[2]}.db.damaged-wal").write_bytes(b"x" * 1000000)
    kept.start()
    assert set_aside(kept) == dates[3:]
    kept.stop()
    (kept.days / f"{dates[4]}.db.damaged-wal").write_bytes(b"x" * 1200000)
    kept.start()
    assert set_aside(kept) == []


# ---- what is asked for ----


def test_what_has_failed(keeper, berthd, berthctl):
    """So a limit leaves out the others."""
    daemon = berthd(OPEN)
    client, kept = daemon.client(), keeper()

    def ends(how=""):
        lease = held(client, "acquire s")
        assert client.request(f"release {lease}{how}") == "ok"
        return lease

    good, unknown, bad, killed = ends(" exit=0"), ends(), ends(" exit=3"), ends(" signal=9")
    taken = held(daemon.client(), "acquire s")
    assert daemon.client().request(f"drop {taken}") == "ok"
    failed = [unknown, bad, killed, taken]
    last = ends(" exit=0")
    until(lambda: last in kept.past().leases)
    past = kept.past("history failed=1")
    assert past.leases == failed and past.done == []
    assert kept.past("history failed=1 limit=2").leases == failed[-2:] and good not in past.leases
    assert kept.past("history failed=0 limit=2").leases == [taken, last]
    assert client.request("history failed=1").startswith("error bad-value failed")
    done = berthctl("history", "--failed", "--json", "--limit=2")
    assert [lease["lease"] for lease in json.loads(done.stdout)["leases"]] == failed[-2:]

"""The journal of a later berthd: made by hand here, read by this one, and left unchanged where this
one does not understand it."""

import os
import subprocess

import pytest

from conftest import BUILD
from daemon_help import held, lease_of, refused, status, waits
from journal_file import records, rewrite, set_header
from lines import DEADLINE
from lost_help import after_restart, all_free, asked_until, restart, sleeper

CONFIG = "[lock a]\n"


def add(words):
    return lambda record: f"{record} {words}"


def changed(daemon, change):
    """What berthd finds when it is back."""
    daemon.kill()
    rewrite(daemon.journal, change)
    daemon.start()
    return daemon.client()


def refuses_to_start(daemon):
    with open(daemon.log, "ab") as log:
        ended = subprocess.run(
            [BUILD / "berthd", "-c", daemon.config], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**os.environ, "STATE_DIRECTORY": str(daemon.state)}, timeout=DEADLINE)
    assert ended.returncode != 0
    assert "a later version of berthd has written it" in daemon.log.read_text()


def test_a_key_that_need_not_be_understood(daemon):
    """The lease lives on, can be changed, and the key is still there."""
    with sleeper() as first, sleeper() as second:
        lease = held(daemon.client(), f"acquire a pid={first}")
        client = changed(daemon, add("color=red"))
        assert status(client).holders("a") == [lease]
        assert lease_of(client.request(f"reclaim {lease} a:1:0")) == lease
        assert client.request(f"bind {lease} pid={second}").startswith("ok")
        record, = records(daemon.journal)
        assert f" process={second}," in record and record.endswith(" color=red")
        restart(daemon, "kill")
        record, = records(daemon.journal)
        assert record.endswith(" color=red")
        client = daemon.client()
        assert client.request(f"release {lease}").startswith("ok")
        assert records(daemon.journal) == []


def test_a_key_that_must_be_understood(berthd):
    """Held as long as its process lives. Its client may come back and release it, and nobody may
    change it."""
    daemon = berthd("[lock a]\nmax-hold = 1h\n")
    with sleeper() as other:
        with sleeper() as pid:
            lease = held(daemon.client(), f"acquire a pid={pid}")
            client = changed(daemon, add("!color=red stopping=painted"))
            before = records(daemon.journal)
            for _ in range(2):
                assert refused(client, "acquire a wait=0") == "would-wait"
                assert lease_of(client.request(f"reclaim {lease} a:1:0")) == lease
                assert refused(client, f"bind {lease} pid={other}") == "kind"
                assert records(daemon.journal) == before
                client = after_restart(daemon, "kill")
        asked_until(daemon, all_free)
        assert records(daemon.journal) == []


def test_a_waiter_that_must_be_understood(berthd):
    """It is not in line, but it is not forgotten either."""
    daemon = berthd("grace = 1h\n[lock a]\n")
    with sleeper() as pid, sleeper() as other:
        lease = held(daemon.client(), f"acquire a pid={pid}")
        waits(daemon.client(), f"acquire a pid={other}")
        waiting, = (record for record in records(daemon.journal) if record.startswith("waiting"))
        client = changed(
            daemon, lambda record: f"{record} !color=red" if record == waiting else record)
        now = status(client)
        assert (now.holders("a"), now.waiters("a")) == ([lease], [])
        assert f"{waiting} !color=red" in records(daemon.journal)
        assert refused(client, "acquire a wait=0") == "would-wait"
        assert client.request(f"release {lease}").startswith("ok")
        held(client, "acquire a wait=0")
    restart(daemon, "kill")
    assert not [record for record in records(daemon.journal) if record.startswith("waiting")]


def test_a_later_version_s_lease_is_not_renewed(daemon):
    """Its record must stay as it is. The renewal is refused, and the lease ends with its present
    ttl."""
    lease = held(daemon.client(), "acquire a ttl=6s")
    client = changed(daemon, add("!color=red"))
    for request in (f"renew {lease}", f"renew {lease} ttl=1h", f"bind {lease} pid={os.getpid()}"):
        answer = client.request(request)
        assert answer.startswith("error kind it%20was%20granted%20by%20a%20newer%20version%20of%20berthd"), answer
    assert status(client).holders("a") == [lease]
    asked_until(daemon, all_free)


@pytest.mark.parametrize("record", ["promised id=34", "held id=34 uid=nobody"])
def test_a_record_that_cannot_be_read(berthd, record):
    """It stays as it is. Only a later version's addition leaves everything unchanged."""
    daemon = berthd("grace = 1h\n[lock a]\n")
    held(daemon.client(), "acquire a")
    for _ in range(2):
        client = changed(daemon, lambda _: record)
        assert records(daemon.journal) == [record]
        if record.startswith("promised"):
            lease = held(client, "acquire a wait=0")
            assert client.request(f"release {lease}").startswith("ok")
        else:
            assert refused(client, "acquire a wait=0") == "grace"


def test_what_must_not_be_ignored(daemon):
    """berthd does not start, changes nothing, and a version that understands the record finds the
    lease."""
    with sleeper() as pid:
        lease = held(daemon.client(), f"acquire a pid={pid}")
        daemon.kill()
        before = daemon.journal.read_bytes()
        for spoil in (lambda: rewrite(daemon.journal, lambda record: f"!{record}"),
                      lambda: set_header(daemon.journal, version=2),
                      lambda: set_header(daemon.journal, must_understand=1)):
            spoil()
            later = daemon.journal.read_bytes()
            refuses_to_start(daemon)
            assert daemon.journal.read_bytes() == later
            daemon.journal.write_bytes(before)
        daemon.start()
        assert status(daemon.client()).holders("a") == [lease]

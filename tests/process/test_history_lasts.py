"""`history` over any end of berthd, and without its file."""

import os
import signal
import subprocess
import time

import pytest

from conftest import read_line
from daemon_help import event, held, held_with_proof, keys, refused, shown, waits
from history_help import history, last
from lines import until
from lost_help import after_restart, held_over_a_kill, restart, sleeper
from test_metrics import answer, value

CONFIG = """grace = 50ms
[lock deploy]
[semaphore s]
limit = 4
"""


def test_entries_survive_sigkill(daemon, client):
    assert (daemon.socket.parent / "s.history").stat().st_mode & 0o777 == 0o600
    for i in range(3):
        client.request("release " + held(client, f"acquire deploy reason={i}"))
    before = history(client)
    assert len(before) == 3
    for end in (daemon.kill, daemon.stop, daemon.kill):
        end()
        daemon.start()
        client = daemon.client()
        for entry, earlier in zip(history(client), before, strict=True):
            assert abs(int(entry.pop("ended")) - int(earlier["ended"])) <= 1000  # as the clock is set now
            assert entry.lease == earlier.lease and entry.items() <= earlier.items()
    client.request("release " + held(client, "acquire deploy reason=3"))
    assert [entry["reason"] for entry in history(client)] == ["0", "1", "2", "3"]


def test_a_lease_that_lives_over_a_restart_is_one_entry(daemon):
    with held_over_a_kill(daemon, "deploy") as (client, lease, pid):
        assert history(client) == []
        assert client.request(f"release {lease}") == "ok"
    entry = last(client).has(how="released", pid=str(pid))
    assert entry.lease == lease and len(history(client)) == 1


def test_how_a_job_ended_that_lived_over_a_restart(daemon, berth):
    """berth run tells it once it is connected again."""
    job = berth.start("run", "-q", "deploy", "--", "sh", "-c", "echo on; cat; exit 6",
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert read_line(job.stdout) == "on"
    client = after_restart(daemon, "kill")
    until(lambda: not any(" away=1" in line for line in client.lines("status deploy")))
    job.stdin.close()
    assert job.wait(30) == 6
    assert client.request("wait deploy").startswith("ok held=") and client.line() == "* idle"
    last(client).has(how="released", exit="6", unseen=None)
    assert len(history(client)) == 1


def test_what_ends_while_there_is_no_berthd(daemon, client):
    long = held(daemon.client(), "acquire s ttl=1h")
    with sleeper() as pid:
        lease = held(client, f"acquire deploy pid={pid} program=x")
        waiting = waits(client, f"acquire deploy pid={pid} program=y")
        timed = held(daemon.client(), "acquire s ttl=200ms")
        given = time.monotonic()
        daemon.kill()
    until(lambda: time.monotonic() > given + 0.2)
    daemon.start()
    client = daemon.client()
    assert refused(client, f"renew {timed}") == "lost"
    assert client.request(f"renew {long}").startswith("ok ")
    entries = {entry.lease: entry for entry in history(client)}
    entries[lease].has(how="gone", unseen="1", exit=None, units="deploy:0", program="x")
    entries[waiting].has(how="cancelled", unseen="1", units="deploy=1", program="y", held=None)
    assert int(entries[timed].has(how="expired")["held"]) >= 200


def test_a_wait_whose_resource_is_gone(daemon, client):
    held(client, "acquire s:4")
    lease = waits(client, "acquire s:2")
    daemon.kill()
    daemon.configure(CONFIG.replace("[semaphore s]\nlimit = 4\n", ""))
    daemon.start()
    entries = {entry.lease: entry for entry in history(daemon.client(), f"history lease={lease}")}
    entries[lease].has(how="denied", code="unknown", units="s=2")


def test_a_revoke_is_remembered_until_the_job_ends(daemon, client):
    """Who has revoked it, and why: also if berthd ends between the revoke and the job's end."""
    with sleeper(lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)) as pid:
        lease = held(client, f"acquire deploy pid={pid}")
        client.request("revoke " + lease + " reason=too%20long")
        restart(daemon, "kill")
        client = after_restart(daemon, "stop")
        assert history(client) == []
        assert client.request(f"release {lease}") == "ok"
    last(client).has(how="revoked", by=str(os.geteuid()), why="too long")


def test_a_revoke_is_remembered_over_a_start_that_is_refused(daemon, client):
    with sleeper(lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)) as pid:
        lease = held(client, f"acquire deploy pid={pid}")
        client.request("revoke " + lease + " reason=too%20long")
        daemon.kill()
        daemon.configure(CONFIG.replace("[lock deploy]", "[pool deploy]\nitems = a b"))
        with pytest.raises(pytest.fail.Exception, match="its kind cannot change"):
            daemon.start()
        daemon.configure(CONFIG)
        daemon.start()
        client = daemon.client()
        assert client.request(f"release {lease}") == "ok"
    last(client).has(how="revoked", by=str(os.geteuid()), why="too long")


def test_a_lost_lease_that_comes_back_is_not_being_revoked(berthd, directory):
    """With the journal, berthd has lost that it was; so the history forgets it as well."""
    daemon = berthd(CONFIG.replace("grace = 50ms", "grace = 1h"))
    client = daemon.client()
    with sleeper(lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)) as pid:
        lease, proof = held_with_proof(client, f"acquire deploy pid={pid}")
        assert daemon.client().request(f"revoke {lease}") == "ok"
        daemon.kill()
        (directory / "s.journal").unlink()
        daemon.start()
        assert daemon.client().request(f"reclaim {lease} deploy:1:0 pid={pid} {proof}").startswith("ok ")
        client = after_restart(daemon, "kill")
        assert client.request(f"release {lease}") == "ok"
    last(client).has(how="released", by=None)


def test_killed_before_the_record_was_erased(daemon, client):
    """The entry is written, and the journal still has the lease: it is over, as if killed afterwards."""
    with sleeper() as pid:
        for i in range(3):
            lease = held(client, f"acquire deploy pid={pid} reason={i}")
            journal = daemon.journal.read_bytes()
            client.request(f"release {lease}")
        daemon.kill()
        daemon.journal.write_bytes(journal)
        daemon.start()
        client = daemon.client()
        assert client.request(f"release {lease}") == "ok"
        assert [entry["reason"] for entry in history(client)] == ["0", "1", "2"]
        assert held(client, "acquire deploy wait=0")


def test_killed_before_a_record_was_erased_and_again(daemon, client):
    """As it comes back, before any record is erased: each has ended once, whichever entry is the last."""
    with sleeper() as pid:
        with sleeper() as other:
            first = held(client, f"acquire s pid={other}")
            second = held(client, f"acquire s pid={pid}")
            journal = daemon.journal.read_bytes()
            client.request(f"release {second}")
            daemon.kill()
        for _ in range(3):
            daemon.journal.write_bytes(journal)
            daemon.start()
            client = daemon.client()
            assert [entry.lease for entry in history(client)] == [second, first]
            assert shown(client, "s")["in_use"] == "0"
            daemon.kill()


def test_its_file_is_cut_while_berthd_runs(daemon, client, directory):
    """By root: earlier entries are lost, berthd says so once, and all else goes on."""
    for said, n in enumerate((20, 1000)):
        for _ in range(n):
            client.request("release " + held(client, "acquire deploy"))
        os.truncate(directory / "s.history", 0)
        for i in range(40):
            assert client.request("release " + held(client, f"acquire s reason={i}")) == "ok"
        assert [entry["reason"] for entry in history(client)] == [str(i) for i in range(40)], n
        assert daemon.log.read_text().count("the history file was truncated") == said + 1
        client = after_restart(daemon, "kill")
        assert history(client) == [], n
        client.request("release " + held(client, "acquire deploy"))
        assert len(history(client)) == 1, n


def test_what_has_made_room_is_counted(berthd):
    """Also over a restart, and one with a longer history."""
    daemon, n = berthd("history = 64K\n" + CONFIG), 600
    client = daemon.client()
    assert value(answer(client), "history_overwritten_total") == 0
    assert "overwritten" not in client.lines("history")[0]
    for i in range(n):
        client.request("release " + held(client, f"acquire deploy reason={i}"))
    for size in "64K", "64K", "128K":
        entries = history(client)
        assert 100 < len(entries) < n and entries[0]["reason"] == str(n - len(entries))
        assert int(keys(client.lines("history")[0].split())["overwritten"]) == n - len(entries)
        assert value(answer(client), "history_overwritten_total") == n - len(entries)
        daemon.configure(f"history = {size}\n" + CONFIG)
        client = after_restart(daemon, "kill")


def test_a_damaged_entry_is_left_out(daemon, client, directory):
    """While berthd runs, and over a restart."""
    for i in range(5):
        client.request("release " + held(client, f"acquire deploy reason=reason-{i}"))
    content = (directory / "s.history").read_bytes()
    with (directory / "s.history").open("r+b") as file:
        file.seek(content.index(b"reason-2"))
        file.write(b"x")
    for _ in range(2):
        assert [entry["reason"] for entry in history(client)] == [f"reason-{i}" for i in (0, 1, 3, 4)]
        client = after_restart(daemon, "kill")
    client.request("release " + held(client, "acquire deploy reason=reason-5"))
    assert [entry["reason"] for entry in history(client)] == [f"reason-{i}" for i in (0, 1, 3, 4, 5)]


def test_none_is_kept(daemon, client, directory):
    client.request("release " + held(client, "acquire deploy"))
    daemon.stop()
    daemon.configure("history = 0\n" + CONFIG)
    daemon.start()
    client, operator = daemon.client(), daemon.client()
    with sleeper() as pid:
        lease = held(client, f"acquire deploy pid={pid}")
        assert operator.request(f"revoke {lease} reason=x") == "ok"
        assert event(client)[0] == "revoked"
        assert client.request(f"release {lease} exit=0") == "ok"
    assert history(client) == [] and not (directory / "s.history").exists()

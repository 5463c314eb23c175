"""What berthd logs, as fields of the journal. The journal is a socket of the test."""

import os
import signal
import subprocess

import pytest

from conftest import BUILD
from daemon_help import connect_as, held, is_quiet, needs_root, refused, waits
from lines import DEADLINE
from manager_help import Manager, fill

pytestmark = [
    pytest.mark.skipif(b"sd_journal_sendv" not in (BUILD / "berthd").read_bytes(),
                       reason="configured --without-systemd"),
    needs_root,
]

CONFIGURATION = """
[lock deploy]
[semaphore etl]
limit = 4
[semaphore market/*]
limit = 1
"""


@pytest.fixture
def service(directory, sanitizer_reports):
    manager = Manager(directory, CONFIGURATION)
    manager.keep_journal()
    yield manager
    manager.end()


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def berth_fields(entry, *names):
    return [entry.get("BERTH_" + name) for name in names]


def own():
    return [str(os.getuid())], [str(os.getpid())]


def test_what_an_operator_does(service):
    client = service.started()
    assert client.request("pause deploy reason=x") == "ok"
    entry = service.journal.until("pause")
    assert entry["MESSAGE"] == [f"pause deploy: asked by uid {os.getuid()}, pid {os.getpid()}: x"]
    assert entry["PRIORITY"] == ["6"] and entry["SYSLOG_IDENTIFIER"] == ["berthd"]
    assert entry["BERTH_RESOURCE"] == ["deploy"]
    assert tuple(berth_fields(entry, "ASKED_BY_UID", "ASKED_BY_PID")) == own()
    assert not any(name.startswith("CODE_") for name in entry)
    assert client.request("drain").startswith("ok")
    assert "BERTH_RESOURCE" not in service.journal.until("drain")
    assert service.log.read_text() == ""  # each line only once


@pytest.mark.parametrize("verb, event", [("revoke", "revoked"), ("drop", "dropped")])
def test_a_revoked_lease(service, verb, event):
    client = service.started()
    assert client.request("hello proto=1 program=nightly").startswith("ok")
    lease = held(client, "acquire deploy etl:2 holder=night")
    assert client.request(f"{verb} {lease}") == "ok"
    entry = service.journal.until(event)
    assert entry["BERTH_RESOURCE"] == ["deploy", "etl"]
    assert berth_fields(entry, "LEASE", "HOLDER", "PROGRAM") == [[lease], ["night"], ["nightly"]]
    assert tuple(berth_fields(entry, "HOLDER_UID", "HOLDER_PID")) == own()
    assert tuple(berth_fields(entry, "ASKED_BY_UID", "ASKED_BY_PID")) == own()


def test_releasing_another_users_lease(service):
    service.directory.chmod(0o777)
    service.start()
    lease = held(connect_as(service, 65534), "acquire deploy")
    assert service.client().request(f"release {lease}") == "ok"
    entry = service.journal.until("released")
    assert berth_fields(entry, "RESOURCE", "LEASE", "HOLDER_UID") == [["deploy"], [lease], ["65534"]]
    assert berth_fields(entry, "ASKED_BY_UID") == [["0"]]


def test_what_a_client_says_is_no_field(service):
    client = service.started()
    lease = held(client, "acquire deploy holder=a%0APRIORITY=0%0ABERTH_EVENT=x")
    assert client.request(f"drop {lease}") == "ok"
    entry = service.journal.until("dropped")
    assert entry["PRIORITY"] == ["6"]
    assert entry["BERTH_HOLDER"] == [r"a\x0aPRIORITY=0\x0aBERTH_EVENT=x"]


def test_held_too_long(service, sleeper):
    service.configure("[lock deploy]\nmax-hold = 100ms\nkill-after = 100ms\n")
    client = service.started()
    lease = held(client, f"acquire deploy pid={sleeper.pid} signal=15")
    for event in ("max-hold", "killed"):
        entry = service.journal.until(event)
        assert berth_fields(entry, "RESOURCE", "LEASE", "HOLDER_PID") == [
            ["deploy"], [lease], [str(sleeper.pid)]]
    assert sleeper.wait(DEADLINE) == -signal.SIGKILL


def test_a_lease_that_is_not_taken_over(service):
    client = service.started()
    held(client, "acquire deploy")
    waiter = service.client()
    lease = waits(waiter, "acquire deploy")
    service.kill()
    service.configure("[semaphore other]\nlimit = 1\n")
    service.start()
    entry = service.journal.until("refused")
    assert berth_fields(entry, "RESOURCE", "LEASE") == [["deploy"], [lease]]
    assert entry["PRIORITY"] == ["4"]


def test_all_of_a_lease_at_v(service):
    client = service.started("-v")
    lease = held(client, "acquire market/alice")
    assert berth_fields(service.journal.until("granted"), "RESOURCE", "LEASE") == [
        ["market/alice"], [lease]]
    other = service.client()
    waiter = waits(other, "acquire market/alice")
    assert berth_fields(service.journal.until("waiting"), "LEASE") == [[waiter]]
    assert refused(other, "acquire market/alice wait=0") == "would-wait"
    assert berth_fields(service.journal.until("refused"), "RESOURCE") == [["market/alice"]]
    client.send(f"release {lease}\n")
    assert berth_fields(service.journal.until("granted"), "LEASE") == [[waiter]]
    assert berth_fields(service.journal.until("ended"), "RESOURCE", "LEASE") == [
        ["market/alice"], [lease]]
    other.send(f"release {waiter}\n")
    entry = service.journal.until("ended")  # the instance is gone with it
    assert berth_fields(entry, "RESOURCE", "LEASE") == [["market/alice"], [waiter]]
    assert entry["PRIORITY"] == ["7"]


def test_a_stop_ends_no_lease(service):
    service.start("-v")
    held(service.client(), f"acquire deploy pid={os.getpid()}")
    service.journal.until("granted")
    service.stop()
    while entry := service.journal.entry(0):
        assert entry.get("BERTH_EVENT") != ["ended"]


def test_nothing_of_that_without(service):
    client = service.started()
    lease = held(client, "acquire deploy")
    assert client.request(f"release {lease}") == "ok"
    assert client.request("pause deploy") == "ok"
    service.journal.until("pause")
    assert {"granted", "ended"}.isdisjoint(
        entry.get("BERTH_EVENT", [None])[0] for entry in service.journal.entries)


def test_a_database(service, directory):
    service.configure(
        f"[redis west]\nurl = unix://{directory}/none\n[lock a]\nscope = fleet\nredis = west\n")
    service.start()
    entry = service.journal.until("down")
    assert entry["BERTH_DATABASE"] == ["west"] and entry["PRIORITY"] == ["3"]


def test_a_reload(service):
    service.start()
    service.configure("[lock deploy]\n[semaphore etl]\nlimit = none\n")
    assert refused(service.client(), "reload") == "config"
    entry = service.journal.until("reload")
    assert entry["MESSAGE"][0].startswith("reload: asked by uid ") and entry["PRIORITY"] == ["6"]
    entry = service.journal.until("reload")
    assert "[semaphore etl] limit" in entry["MESSAGE"][0] and entry["PRIORITY"] == ["3"]
    entry = service.journal.until("reload")
    assert entry["MESSAGE"][0].endswith(": not reloaded: nothing has changed") and entry["PRIORITY"] == ["3"]


def changed(service):
    while "BERTH_RESOURCE" not in (entry := service.journal.until("reload")):
        pass
    return entry["BERTH_RESOURCE"]


def test_what_a_reload_changes(service):
    service.start()
    service.configure(
        "[lock deploy]\nmax-hold = 1h\n[semaphore etl]\nlimit = 4\n"
        "[semaphore market/*]\nlimit = 1\ndeny-users = nobody\n[lock new]\n")
    assert service.client().request("reload") == "ok"
    assert changed(service) == ["deploy", "market/*", "new"]
    service.configure("[lock deploy]\nmax-hold = 1h\n[lock new]\n")
    assert service.client().request("reload") == "ok"
    assert changed(service) == ["etl", "market/*"]


def test_stderr_is_something_else(service):
    """Redirected, or inherited: then JOURNAL_STREAM names another file."""
    service.environ["JOURNAL_STREAM"] = "1:2"
    service.start()
    assert service.client().request("pause deploy") == "ok"
    assert "berthd: pause deploy" in service.log.read_text()
    assert service.journal.entry(0) is None


def test_a_journal_that_is_not_there(service):
    (service.journal.directory / "socket").unlink()
    service.start()
    assert service.client().request("pause deploy") == "ok"
    assert "<6>pause deploy" in service.log.read_text()


def test_a_journal_that_hangs(service):
    """Its queue is full: berthd goes on, and stderr has the line."""
    service.start()
    fill(service.journal.directory / "socket")
    client = service.client()
    assert client.request("pause deploy") == "ok"
    assert is_quiet(client)
    assert "<6>pause deploy" in service.log.read_text()
    while service.journal.entry(0):
        pass
    assert client.request("resume deploy") == "ok"
    assert service.journal.until("resume")
    assert "resume" not in service.log.read_text()

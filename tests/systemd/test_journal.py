"""Log entries are found by what they are about."""

import json

from conftest import Job
from test_rights import is_stopped, without_wrapper


def entries(machine, *matches):
    machine.run("journalctl", "--sync")
    return [json.loads(line) for line in machine.run("journalctl", "-q", "-o", "json", *matches).splitlines()]


def test_what_happened_to_a_resource(machine):
    """Root takes bob's job's place away, and berthd stops the job."""
    job = without_wrapper(machine, "brief-kill", "--holder", "orders")
    machine.run("berthctl", "revoke", job.lease)
    is_stopped(machine, job, "brief-kill")
    found = entries(machine, "BERTH_RESOURCE=brief-kill", f"BERTH_LEASE={job.lease}")
    assert [entry["BERTH_EVENT"] for entry in found] == ["revoked", "stopped"]
    for entry in found:
        assert entry["_SYSTEMD_UNIT"] == "berthd.service"
        assert entry["SYSLOG_IDENTIFIER"] == "berthd"
        assert entry["BERTH_HOLDER_UID"] == "2002"
        assert entry["BERTH_HOLDER_PID"] == str(job.pid)
        assert entry["BERTH_HOLDER"] == "orders"
    assert found[0]["BERTH_ASKED_BY_UID"] == "0"


def test_what_operators_did(machine):
    machine.run("berthctl", "pause", "ship")
    machine.run("berthctl", "resume", "ship")
    found = entries(machine, "BERTH_RESOURCE=ship", "BERTH_ASKED_BY_UID=0")
    assert [entry["BERTH_EVENT"] for entry in found[-2:]] == ["pause", "resume"]


def test_text_of_clients_is_escaped(machine):
    job = Job(machine, "ship", "--holder", "a%b", "--reason", "x\nPRIORITY=0\x1b[2J", user="alice").begins()
    machine.run("berthctl", "revoke", job.lease)
    job.process.wait(30)
    found = entries(machine, f"BERTH_LEASE={job.lease}")
    assert found
    for entry in found:
        assert isinstance(entry["MESSAGE"], str)  # journalctl makes a list of what cannot be printed
        assert "\x1b" not in json.dumps(entry, ensure_ascii=False) and entry["PRIORITY"] != "0"

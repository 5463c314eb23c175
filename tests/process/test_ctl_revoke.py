"""berthctl revoke of the leases of a resource, berthctl wait, and commands for several names."""

import json
import subprocess

import pytest

from conftest import read_line
from daemon_help import held, status, waits
from lines import DEADLINE
from lost_help import asked_until

CONFIG = """
[semaphore etl]
limit = 3
[lock deploy]
[lock quiet]
show-commands = owner
[semaphore market/*]
limit = 2
"""
NO_LEASE = "no such lease: it has ended, or the id is wrong (lost)"
JOB = ["sh", "-c", "echo begun; read line"]


@pytest.fixture
def leases(berthctl):
    """{lease: held} of a resource."""
    def run(name):
        (row,) = json.loads(berthctl("status", "--json", name).stdout)["resources"]
        return {lease["lease"]: key == "holders" for key in ("holders", "waiters") for lease in row[key]}
    return run


def revoked(done):
    """The leases that it says it has revoked."""
    assert (done.returncode, done.stderr) == (0, "")
    return {line.split()[2] for line in done.stdout.splitlines()}


# ---- revoke

def test_all_that_are_held(daemon, client, berthctl, leases):
    mine = {held(client, "acquire etl holder=a%1b"), held(client, "acquire etl:2 program=%1b[2J")}
    waiting = waits(client, "acquire etl:3")
    elsewhere = held(client, "acquire deploy")
    done = berthctl("revoke", "etl", "--all", "--reason", "disk full")
    assert revoked(done) == mine and done.stdout.isascii()
    told = {client.line() for _ in mine}
    assert {line.split()[2] for line in told} == mine
    assert all("revoked%20by%20" in line and line.endswith(":%20disk%20full") for line in told)
    assert leases("etl") == {**dict.fromkeys(mine, True), waiting: False}  # until their jobs are gone
    assert leases("deploy") == {elsewhere: True}
    assert daemon.log.read_text().count(": disk full\n") == 2


def test_of_an_identity(client, berthctl, leases):
    night = held(client, "acquire etl holder=night")
    held(client, "acquire etl:2 holder=day")
    queued = waits(client, "acquire etl holder=later")
    assert revoked(berthctl("revoke", "etl", "--holder", "night")) == {night}
    assert revoked(berthctl("revoke", "etl", "--holder=later")) == {queued}
    assert queued not in leases("etl")
    done = berthctl("revoke", "etl", "--holder", "nobody")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "berthctl: revoke: etl: no such lease, or you may not see whose it is\n"


def test_of_a_process_until_it_is_gone(daemon, berth, berthctl, leases):
    jobs = [berth.start("run", "etl", "--", *JOB, stdin=subprocess.PIPE) for _ in range(2)]
    for job in jobs:
        assert read_line(job.stdout) == "begun"
    rows = json.loads(berthctl("status", "--json", "etl").stdout)["resources"][0]["holders"]
    done = berthctl("revoke", "etl", "--pid", str(rows[0]["pid"]), "--wait")
    assert revoked(done) == {rows[0]["lease"]}
    assert leases("etl") == {rows[1]["lease"]: True}
    assert {job.poll() for job in jobs} <= {None, 124}
    assert len([job for job in jobs if job.poll() is None]) >= 1
    done = berthctl("revoke", rows[1]["lease"], "--wait")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert leases("etl") == {}
    assert [job.wait(DEADLINE) for job in jobs] == [124, 124]


def test_a_resource_in_place_of_a_lease(daemon, berthctl):
    done = berthctl("revoke", "etl", "--all", "--wait")
    assert (done.returncode, done.stdout, done.stderr) == (0, "etl: nothing is held\n", "")
    for word in ("deploy", "etl"):
        done = berthctl("revoke", word)
        assert (done.returncode, done.stderr) == (
            64, f"berthctl: revoke: {word} is a resource: add --all, --holder ID or --pid PID\n")


def test_did_you_mean(client, berthctl, leases):
    """Of leases and identities that the user may see. A lease that is over is none that was meant otherwise."""
    lease, over = held(client, "acquire etl holder=nightly"), held(client, "acquire etl")
    assert client.request(f"release {over}") == "ok"
    last = held(client, "acquire etl")
    doubled = last + last[-1]  # nearer to it than to any other: two leases may differ in one letter
    for word, exit_status, said in ((doubled, 1, f"{NO_LEASE}; did you mean {last}?"),
                                    (last + "~", 64, f"not a lease (bad-value); did you mean {last}?"),
                                    (over, 1, NO_LEASE), ("x" * 9 + "~", 64, "not a lease (bad-value)")):
        done = berthctl("revoke", word)
        assert (done.returncode, done.stdout, done.stderr) == (exit_status, "", f"berthctl: revoke: {said}\n"), word
    nobody = "etl: no such lease, or you may not see whose it is"
    for holder, said in (("nightyl", nobody + "; did you mean nightly?"), ("other", nobody)):
        done = berthctl("revoke", "etl", "--holder", holder)
        assert (done.returncode, done.stderr) == (1, f"berthctl: revoke: {said}\n")
    done = berthctl("drop", lease, over, last)
    assert (done.returncode, done.stderr) == (1, f"berthctl: drop {over}: {NO_LEASE}\n")
    assert leases("etl") == {}


def test_other_hosts_have_other_processes(berthctl, fake):
    """--pid is about this host; --all and --holder are about the fleet."""
    status = ("ok draining=0 held=1 waiting=0\n"
              "resource f kind=semaphore scope=fleet database=default limit=9 in_use=2 free=7 waiting=0\n"
              "holder here units=0 token=1 pid=7 uid=0 since=1 host=h holder=x\n"
              "holder abc/there units=1 token=1 pid=7 uid=0 since=1 host=g holder=x\n"
              "end\n")
    for option, expected in ((["--pid", "7"], ["here"]), (["--holder", "x"], ["here", "abc/there"]),
                             (["--all"], ["here", "abc/there"])):
        process = berthctl.start("revoke", "f", *option, "--reason", "r")
        peer = fake.accept()
        assert peer.line() == "status f"
        peer.send(status)
        for lease in expected:
            assert peer.line() == f"revoke {lease} reason=r"
            peer.send("ok\n")
        out, err = process.communicate(timeout=DEADLINE)
        assert (process.returncode, err, out.count(b"\n")) == (0, b"", len(expected))


# ---- wait

def test_wait(client, berthctl):
    lease, template = held(client, "acquire etl:2"), held(client, "acquire market/x")
    process = berthctl.start("wait", "etl", "market/*", "deploy", text=True)
    assert read_line(process.stderr) == "berthctl: waiting for 2 units of etl to be given back"
    assert read_line(process.stderr) == "berthctl: waiting for 1 unit of market/x to be given back"
    assert client.request(f"release {lease}") == "ok"
    assert process.poll() is None
    assert client.request(f"release {template}") == "ok"
    assert process.wait(DEADLINE) == 0
    assert process.stdout.read() + process.stderr.read() == ""
    # No longer than asked.
    held(client, "acquire deploy")
    done = berthctl("wait", "deploy", "--timeout", "100ms")
    assert done.returncode == 75
    assert done.stderr.splitlines()[-1] == "berthctl: timed out waiting (timeout)"
    assert berthctl("wait", "etl").returncode == 0
    assert berthctl("wait", "nix").returncode == 78


def test_waiting_outlives_berthd(daemon, berth, berthctl):
    """A restart of berthd is not an event for those who wait."""
    stubborn = ["sh", "-c", "trap '' TERM; echo begun; read line"]
    job = berth.start("run", "etl", "--kill-after", "10s", "--", *stubborn, stdin=subprocess.PIPE)
    assert read_line(job.stdout) == "begun"
    (lease,) = [row["lease"] for row in status(daemon.client()).resources["etl"]["holders"]]
    waits_for_etl = berthctl.start("wait", "etl", text=True)
    assert read_line(waits_for_etl.stderr) == "berthctl: waiting for 1 unit of etl to be given back"
    revokes = berthctl.start("revoke", lease, "--wait", text=True)
    asked_until(daemon, lambda now: now.resources["etl"]["holders"][0].get("stopping") == "revoked")
    daemon.kill()
    for process in waits_for_etl, revokes:
        assert read_line(process.stderr) == "berthctl: berthd closed the connection: waiting for it to come back"
    daemon.start()
    job.stdin.close()
    assert (waits_for_etl.wait(DEADLINE), revokes.wait(DEADLINE), job.wait(DEADLINE)) == (0, 0, 124)
    assert status(daemon.client()).held == 0


def test_wait_no_longer_than_asked_for_berthd(daemon, berthctl):
    held(daemon.client(), "acquire etl ttl=60")
    waiting = berthctl.start("wait", "etl", "--timeout", "1", text=True)
    assert read_line(waiting.stderr) == "berthctl: waiting for 1 unit of etl to be given back"
    daemon.kill()
    assert waiting.wait(DEADLINE) == 75
    assert waiting.stderr.read().splitlines() == [
        "berthctl: berthd closed the connection: waiting for it to come back",
        "berthctl: timed out waiting (timeout)"]
    assert berthctl("wait", "etl").returncode == 69


def test_wait_for_a_fleet(berthctl, fake):
    """Only the database knows, so it is asked again."""
    process = berthctl.start("wait", "f")
    peer = fake.accept()
    for row in ("in_use=2", "in_use=0 database_state=down", "in_use=0"):
        assert peer.line() == "status f"
        peer.send("ok draining=0 held=0 waiting=0\n"
                  f"resource f kind=lock scope=fleet database=default limit=1 {row} free=0 waiting=0\nend\n")
    assert process.wait(DEADLINE) == 0


# ---- several names

def test_several_names(daemon, berthctl):
    def paused():
        rows = json.loads(berthctl("status", "--json").stdout)["resources"]
        return {row["name"] for row in rows if row["paused"]}
    done = berthctl("pause", "--reason", "new", "etl", "dploy", *(f"market/{i}" for i in range(20)))
    assert done.returncode == 78
    assert done.stderr == "berthctl: pause: dploy: no such resource; did you mean deploy? (unknown)\n"
    assert paused() == set()
    assert berthctl("limit", *(f"market/{i}" for i in range(20)), "dploy", "7").returncode == 78
    assert not any(row["limit"] == 7 for row in json.loads(berthctl("status", "--json").stdout)["resources"])
    assert berthctl("pause", "etl", "deploy", "market/x").returncode == 0
    assert paused() == {"etl", "deploy", "market/x"}
    assert berthctl("resume", "etl", "market/x").returncode == 0
    assert paused() == {"deploy"}
    assert berthctl("limit", "etl", "market/x", "7").returncode == 0
    asked_until(daemon, lambda now: now.resources["etl"]["limit"] == now.resources["market/x"]["limit"] == "7")


def test_the_help_of_a_command(berthctl):
    for args in (["help", "revoke"], ["revoke", "--help"], ["-h", "revoke"]):
        done = berthctl(*args)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("usage: berthctl revoke LEASE... [OPTION]...\n")
        assert "--holder ID" in done.stdout and "--database" not in done.stdout
    assert berthctl("help").stdout == berthctl("--help").stdout
    assert berthctl("help", "revolve").returncode == 64

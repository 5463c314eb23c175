"""berthctl and how leases end: revoke, drop, and how status shows it."""

import json
import os
import pwd
import re
import signal
import subprocess

import pytest

from conftest import read_line
from daemon_help import held
from lines import DEADLINE
from lost_help import asked_until, restart

as_nobody = {"user": "nobody", "group": "nogroup", "extra_groups": []}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")

CONFIG = """
[lock deploy]
kill-after = 1h
[semaphore etl]
limit = 3
max-hold = 2h
"""
JOB = ["sh", "-c", "echo begun; read line; echo ended"]
ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture
def status(berthctl):
    def run(*names):
        done = berthctl("status", "--json", *names)
        assert (done.returncode, done.stderr) == (0, "")
        answer = json.loads(done.stdout)
        return answer["resources"][0] if names else answer
    return run


@pytest.fixture
def sleeper():
    """A process that ignores what would stop it, until it is killed."""
    process = subprocess.Popen(
        ["sh", "-c", "trap '' TERM; echo; while :; do read line; done"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def silently(done):
    return (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---- revoke, drop ----

def test_the_reason_reaches_the_job(daemon, berth, berthctl, status):
    """And who waits; and the log, with the user who has logged in. A revoke stops the job, a drop leaves it alone."""
    for verb, told, exit_status in (
            ("revoke", f"stopping the job: revoked by {ME}: disk full\\x0a (revoked)", 124),
            ("drop", r"lost the lease: dropped by an operator: disk full\x0a (dropped); the job runs on", 0)):
        holder = berth.start("run", "deploy", "--", *JOB, stdin=subprocess.PIPE)
        assert read_line(holder.stdout) == "begun"
        waiter = berth.start("run", "deploy", "--", "true")
        asked_until(daemon, lambda _: status("deploy")["waiters"])
        deploy = status("deploy")
        for row in deploy["waiters"] + deploy["holders"]:
            assert silently(berthctl(verb, row["lease"], "--reason", "disk full\n"))
        assert waiter.wait(DEADLINE) == 75
        assert r"removed from the queue: disk full\x0a" in waiter.stderr.read().decode()
        assert read_line(holder.stderr) == f"berth: {told}"
        if verb == "drop":
            assert status("deploy")["in_use"] == 0 and holder.poll() is None
            holder.stdin.write(b"\n")
            holder.stdin.flush()
            assert read_line(holder.stdout) == "ended"
        assert holder.wait(DEADLINE) == exit_status  # while its input is open
        assert holder.stdout.read() == b"" and status("deploy")["in_use"] == 0
        assert len(re.findall(rf"{verb} \w+ \(deploy, .*asked by uid {os.geteuid()}\b.*: disk full\\x0a$",
                              daemon.log.read_text(), re.M)) == 2


def test_who_revokes_a_lease_that_ends_at_once_is_told(berthd):
    daemon = berthd("[lock deploy]\non-lost = warn\n")
    client = daemon.client()
    for words in ("ttl=1h", f"pid={os.getpid()} on_lost=warn"):
        lease = held(client, f"acquire deploy {words}")
        assert daemon.client().request(f"revoke {lease}") == "ok"
        assert client.line() == f"* lost {lease} revoked revoked%20by%20{ME}"


def test_the_reason_outlives_berthd(daemon, berthctl, status, sleeper):
    """A job that is being stopped hears it again from the next berthd, which has it from the journal."""
    client = daemon.client()
    lease = held(client, f"acquire deploy pid={sleeper.pid}")
    assert silently(berthctl("revoke", lease, "--reason", "disk full\n"))
    assert client.line().endswith(":%20disk%20full%0A")
    restart(daemon, "kill")
    assert status("deploy")["holders"][0]["stopping"] == "revoked"
    client = daemon.client()
    assert client.request(f"reclaim {lease} deploy pid={sleeper.pid}").startswith("ok")
    line = client.line()
    assert line.startswith(f"* revoked {lease} revoked ") and line.endswith(":%20disk%20full%0A"), line


def test_a_reason_without_room_costs_no_revoke(daemon, client, berthctl, status, sleeper):
    """The journal has room for what was known at the grant: a long reason is left out, not the stop."""
    lease = held(client, f"acquire deploy pid={sleeper.pid}")
    assert silently(berthctl("revoke", lease, "--reason", 256 * "\n"))
    assert client.line().endswith(256 * "%0A")
    restart(daemon, "kill")
    assert status("deploy")["holders"][0]["stopping"] == "revoked"
    assert "cannot be written" not in daemon.log.read_text()


def logged_in_as(uid):
    with open("/proc/self/loginuid", "w", encoding="ascii") as file:
        file.write(str(uid))


@needs_root
def test_who_has_logged_in(daemon, berthctl):
    """sudo berthctl: the log says whose session it was."""
    try:
        subprocess.run(["true"], preexec_fn=lambda: logged_in_as(4242), check=True)
    except subprocess.SubprocessError:
        pytest.skip("this kernel has no login uids")
    lease = held(daemon.client(), "acquire deploy")
    assert silently(berthctl("revoke", lease, preexec_fn=lambda: logged_in_as(4242)))
    assert silently(berthctl("pause", "etl", "--reason", "why", preexec_fn=lambda: logged_in_as(0)))
    log = daemon.log.read_text()
    assert re.search(r"revoke .*: asked by uid 0 \(login uid 4242\), pid \d+$", log, re.M)
    assert re.search(r"pause etl: asked by uid 0, pid \d+: why$", log, re.M)


@needs_root
def test_who_may(berthd, berth, berthctl, status):
    """Its own user and admins may, other users may not."""
    daemon = berthd("[lock deploy]\n[lock own]\n[lock theirs]\nadmin-users = nobody\n")
    lease = held(daemon.client(), "acquire deploy")
    for verb in ("revoke", "drop"):
        done = berthctl(verb, lease, **as_nobody)
        assert (done.returncode, done.stdout) == (77, "")
        assert done.stderr.startswith(f"berthctl: {verb}: ")
        assert done.stderr.endswith(
            "; only the lease's own user, root, the daemon's user, and admin-users and admin-groups of"
            " the resource or of [daemon] may\n")
        assert status("deploy")["in_use"] == 1
        done = berth("acquire", "--ttl", "1h", "own", **as_nobody)
        assert done.returncode == 0, done.stderr
        held(daemon.client(), "acquire theirs ttl=1h")
        for name in "own", "theirs":
            assert silently(berthctl(verb, status(name)["holders"][0]["lease"], **as_nobody))
            asked_until(daemon, lambda _: status(name)["in_use"] == 0)


# ---- status ----

def cells(berthctl, name):
    """The rows of holders and waiters, by the titles above them."""
    lines = berthctl("status", name).stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("  PLACE"))
    starts = [match.start() for match in re.finditer(r"\S+", lines[at])]
    titles = lines[at].split()
    rows = []
    for line in lines[at + 1:]:
        row = {}
        for title, start, end in zip(titles, starts, starts[1:] + [None]):
            row[title] = line[start:end].strip()
        rows.append(row)
    return rows


def test_what_leases_are_bound_to(daemon, berthctl, status, sleeper):
    client, other = daemon.client(), daemon.client()
    bound = {
        "process": held(client, f"acquire deploy pid={sleeper.pid}"),
        "time": held(other, "acquire etl ttl=1h"),
        "connection": held(client, "acquire etl"),
    }
    other.close()
    asked_until(daemon, lambda _: status("etl")["holders"][0]["away"])
    now = status()["now"]
    by_lease = {row["lease"]: row for row in status("etl")["holders"] + status("deploy")["holders"]}
    for word, lease in bound.items():
        row = by_lease[lease]
        assert (row["bound"], row["away"], row["stopping"]) == (word, word == "time", None)
    assert by_lease[bound["process"]]["until"] is None
    assert 3590000 < by_lease[bound["time"]]["until"] - now <= 3600000
    assert 7190000 < by_lease[bound["connection"]]["until"] - now <= 7200000
    assert "BOUND" not in cells(berthctl, "deploy")[0]
    rows = cells(berthctl, "etl")
    assert [row["BOUND"] for row in rows] == ["time", "connection"]
    assert "STATE" not in rows[0]  # a lease that needs no client is not away
    assert [row["LEASE"] for row in rows] == [bound["time"], bound["connection"]]
    out = berthctl("status", "etl").stdout
    assert re.search(r" (59m5\ds|1h00m) ", out) and re.search(r" (1h59m|2h00m) ", out)
    # What is being stopped. kill-after is long: the lease stays like this until the process has ended.
    client.close()
    asked_until(daemon, lambda _: status("deploy")["holders"][0]["away"])
    assert silently(berthctl("revoke", bound["process"]))
    row = status("deploy")["holders"][0]
    assert (row["stopping"], row["away"], row["bound"]) == ("revoked", True, "process")
    assert cells(berthctl, "deploy")[0]["STATE"] == "stopping (revoked)"
    os.kill(sleeper.pid, signal.SIGKILL)
    asked_until(daemon, lambda _: status("deploy")["in_use"] == 0)


def test_a_grace(daemon, berthctl, status):
    """No client comes back for a lease that was bound to its connection, or for a place."""
    assert status()["grace_until"] is None
    holder, waiter = daemon.client(), daemon.client()
    held(holder, "acquire deploy")
    assert waiter.request("acquire deploy").startswith("waiting ")
    restart(daemon, "kill")
    now = status()
    assert 0 < now["grace_until"] - now["now"] <= 10000
    deploy = status("deploy")
    assert [row["away"] for row in deploy["holders"] + deploy["waiters"]] == [True, True]
    first, *rest = berthctl("status").stdout.splitlines()
    assert re.fullmatch(r"grace: berthd has restarted and waits \d+s more for its earlier clients to reconnect", first)
    assert rest[0].startswith("NAME ")
    assert [row["STATE"] for row in cells(berthctl, "deploy")] == ["away", "away"]

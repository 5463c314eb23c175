"""berthctl: what it sends, what it makes of the answers, and the operators' commands with a real
daemon."""

import json
import os
import pwd
import re
import signal
import subprocess
import time

import pytest

from conftest import read_line
from ctl_help import on_terminal, served
from fake_berthd import FakeBerthd
from lines import DEADLINE

PATIENCE = 5  # seconds that berthctl waits for an answer

as_nobody = {"user": "nobody", "group": "nogroup", "extra_groups": []}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


# ---- the command line ----

REQUESTS = [
    (["ping"], "ping"),
    (["limit", "etl", "4"], "limit etl 4"),
    (["limit", "etl", "many"], "limit etl many"),  # the daemon judges
    (["add", "gpus", "gpu0"], "add gpus gpu0"),
    (["add", "--", "gpus", "-0"], "add gpus -0"),
    (["remove", "gpus", "gpu0"], "remove gpus gpu0"),
    (["reserve", "gpus", "gpu0", "--reason", "fan = broken"],
     "reserve gpus gpu0 reason=fan%20=%20broken"),
    (["pause", "--reason=why not", "gpus"], "pause gpus reason=why%20not"),
    (["pause", "gpus", "--reason", "why not", "--"], "pause gpus reason=why%20not"),
    (["pause", "gpus", "--re", "why not"], "pause gpus reason=why%20not"),
    (["pause", "a=b\n"], "pause a%3Db%0A"),
    (["resume", "gpus"], "resume gpus"),
    (["reset", "gpus"], "reset gpus"),
    (["revoke", "3f9k"], "revoke 3f9k"),
    (["drop", "3f9k"], "drop 3f9k"),
    (["revoke", "a b"], "revoke a%20b"),
    (["revoke", "3f9k", "--reason", "disk full"], "revoke 3f9k reason=disk%20full"),
    (["drop", "3f9k", "--reason", "disk full"], "drop 3f9k reason=disk%20full"),
    (["forget", "etl"], "forget etl"),
    (["forget", "market/*", "--database", "a b"], "forget market/* database=a%20b"),
    (["undrain"], "undrain"),
    (["reload"], "reload"),
]


def test_requests(berthctl, fake):
    for args, line in REQUESTS:
        request, status, out, err = served(berthctl, fake, *args, answer="* drained\nok new=1 was=reserved\n")
        assert (request, status, err) == (line, 0, "")
        says = {"ping": "ok\n", "add": f"gpus: {args[-1]} is no longer reserved\n"}
        assert out == says.get(args[0], "")


def test_a_long_reason_is_cut(berthctl, fake):
    """Between two characters; what is kept is said."""
    for text, kept, encoded in (("y" * 257, "y" * 256, "y" * 256), ("x" + "\u00e4" * 200, "x" + "\u00e4" * 127, "x" + "%C3%A4" * 127)):
        request, status, _, err = served(berthctl, fake, "pause", "etl", "--reason", text, answer="ok\n", env={"LC_ALL": "C.UTF-8"})
        assert (request, status) == (f"pause etl reason={encoded}", 0)
        assert err == f"berthctl: a reason has at most 256 bytes; this is kept: {kept}\n"
    request, status, _, err = served(berthctl, fake, "pause", "etl", "--reason", "y" * 256, answer="ok\n")
    assert (request, status, err) == ("pause etl reason=" + "y" * 256, 0, "")


WRONG_USAGE = [
    ([], "no command"),
    (["revolve"], "no such command: revolve; did you mean revoke? (see berthctl --help)"),
    (["frobnicate"], "no such command: frobnicate (see berthctl --help)"),
    (["revoke"], "usage: berthctl revoke LEASE"),
    (["wait"], "usage: berthctl wait NAME... [--timeout DURATION]"),
    (["drop", "3f9k", "--wait"], "drop takes no --wait; usage: berthctl drop LEASE... [--reason TEXT]"),
    (["revoke", "etl", "--all", "--pid", "7"], "usage: berthctl revoke LEASE... [OPTION]...; or NAME --all"),
    (["revoke", "etl", "gpus", "--all"], "usage: berthctl revoke LEASE... [OPTION]...; or NAME --all"),
    (["revoke", "etl", "--pid", "0"], "not a process: 0"),
    (["wait", "etl", "--timeout", "soon"], "not a duration like 30s or 1h30m: soon"),
    (["stat"], "no such command: stat"),  # no prefixes
    (["\x1b[2J"], r"no such command: \x1b[2J"),
    (["--nothing"], "no such option: --nothing (see berthctl --help)"),
    (["pause", "etl", "--raeson=x"], "no such option: --raeson=x; did you mean --reason? (see berthctl --help)"),
    (["stats", "--us", "root", "--s", "1h"], "no such option: --s (see berthctl --help)"),  # of --since and --sort
    (["status", "-S"], "an argument is missing: -S"),
    (["status", "--wait"], "status takes no --wait; usage: berthctl status [NAME...] [OPTION]..."),
    (["ping", "--json"], "ping takes no --json; usage: berthctl ping"),
    (["ping", "me"], "usage: berthctl ping"),
    (["limit", "etl"], "usage: berthctl limit NAME... N"),
    (["limit", "etl", "-1"], "a limit is a number from 0 to 1000000: -1"),
    (["limit", "-12", "etl"], "a limit is a number from 0 to 1000000: -12"),
    (["remove", "gpus", "-1"], "no such option: -1"),
    (["status", "-xyS"], "no such option: -x"),
    (["status", "--json=1"], "no such option: --json=1"),
    (["drain", "--wait=1", "-S", "x"], "no such option: --wait=1"),
    (["reserve", "gpus", "gpu0"], "usage: berthctl reserve NAME ITEM --reason TEXT"),
    (["forget", "--database", "x"], "usage: berthctl forget NAME... [--database DB]"),
    (["pause", "etl", "--database", "x"], "pause takes no --database; usage: berthctl pause NAME... [--reason TEXT]"),
    (["forget", "etl", "--database="], "the name of the database is empty"),
    (["pause", ""], "an argument is empty"),
    (["pause", "gpus", "--reason", ""], "the reason is empty"),
    (["pause", "etl", "--reason", "new", "disks"],
     "quote a reason of several words, or put all names before it: disks"),
    (["reserve", "gpus", "gpu0", "--reason=fan", "is", "broken"],
     "quote a reason of several words, or put all names before it: is"),
    (["status"] + ["a"] * 17, "usage: berthctl status"),
    (["status", "a" * 5000], "status: does not fit into one request"),
    (["-S", "x" * 200, "ping"], "not a path for a socket"),
]


def test_wrong_usage(berthctl, fake):
    for args, hint in WRONG_USAGE:
        done = berthctl(*args)
        assert (done.returncode, done.stdout) == (64, ""), args
        assert done.stderr.startswith("berthctl: " + hint)
        assert done.stderr.count("\n") == 1


def test_help_names_every_command(berthctl):
    done = berthctl("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("status revoke drop wait limit add remove reserve pause resume reset forget drain undrain reload ping"
                 " version -S $BERTH_SOCKET").split():
        assert f" {word} " in done.stdout.replace(",", " ").replace(";", " ")
    assert max(map(len, done.stdout.splitlines())) <= 100
    for word in "-h", "help":
        assert berthctl(word).stdout == done.stdout


def test_socket_by_option_goes_first(berthctl, fake):
    other_socket = {"BERTH_SOCKET": "/nonexistent/s"}
    for args in (["-S", fake.path, "ping"], ["ping", "--socket", fake.path]):
        assert served(berthctl, fake, *args, answer="ok\n", env=other_socket)[1] == 0
    done = berthctl("ping", env=other_socket)
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr == (
        "berthctl: cannot connect to /nonexistent/s: No such file or directory"
        " (is -S or BERTH_SOCKET right? Else start it: berthd -c FILE)\n")


# ---- answers ----

REFUSALS = [
    ("error unknown gpus:%20no\n", 78, "pause: gpus: no (unknown)"),
    ("error kind\n", 78, "pause: not applicable to this kind of resource (kind)"),
    ("error too-much\n", 78,
     "pause: too many operators' changes for each host of the fleet to keep (too-much)"),
    ("error bad-value x\n", 64, "pause: x (bad-value)"),
    ("error busy full\n", 69, "pause: full (busy)"),
    ("error novelty\n", 69, "pause: refused (novelty)"),
    ("error unknown %1b[2J%0a\n", 78, r"pause: \x1b[2J\x0a (unknown)"),
    ("error forbidden no\n", 77,
     "pause: no (forbidden); only root, the daemon's user, and admin-users and admin-groups of the"
     " resource or of [daemon] may"),
    ("", 69, "berthd has closed the connection"),
    ("ok", 69, "berthd has closed the connection"),
]


def test_refusals(berthctl, fake):
    for answer, status, text in REFUSALS:
        done = served(berthctl, fake, "pause", "gpus", answer=answer)
        assert done[1:] == (status, "", f"berthctl: {text}\n")


NONSENSE = [
    ("ping", "hello\n"),
    ("ping", "okay\n"),
    ("ping", "error\n"),
    ("ping", "error unknown %zz\n"),
    ("ping", "\x01\n"),
    ("ping", "x" * 5000 + "\n"),
    ("status", "ok draining=maybe\nend\n"),
    ("status", "ok grace_until=soon\nend\n"),
    ("status", "ok\nresource a kind=lock\nholder a units=0 until=x\nend\n"),
    ("status", "ok\nresource a\nend\n"),
    ("status", "ok\nholder a units=0\nend\n"),
    ("version", "ok\n"),
    ("version", "ok version=1 proto=x pid=1 uptime=1\n"),
    ("drain", "ok\n"),
]


def test_nonsense(berthctl, fake):
    for command, answer in NONSENSE:
        _, status, out, err = served(berthctl, fake, command, answer=answer)
        assert (status, out) == (69, ""), (command, answer)
        assert err == f"berthctl: the server at {fake.path} does not speak this protocol\n"


def test_a_full_daemon_that_does_not_read(berthctl, fake):
    """The daemon's only line comes before anything could be sent."""
    process = berthctl.start("ping", text=True)
    peer = fake.accept()
    peer.send("error busy too%20many\n")
    peer.close()
    _, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, err) == (69, "berthctl: ping: too many (busy)\n")


def test_a_hung_daemon(berthctl, fake, directory):
    """In the middle of an answer, before it, and with a full queue of connections."""
    full = FakeBerthd(directory / "full", backlog=0)
    begin = time.monotonic()
    processes = [berthctl.start("status", text=True)]
    fake.accept().send("ok draining=0\nresource a kind=lock\n* lost x y\n")
    processes += [berthctl.start(*args, text=True) for args in (
        ["ping"], ["drain", "--wait"], ["-S", full.path, "ping"], ["-S", full.path, "ping"])]
    errors = []
    for process in processes:
        out, err = process.communicate(timeout=DEADLINE)
        assert (process.returncode, out) == (69, "")
        errors.append(err)
    assert time.monotonic() - begin >= PATIENCE
    silence = f"berthctl: berthd has not answered for {PATIENCE} seconds\n"
    assert errors[:3] == [silence] * 3
    assert sorted(errors[3:]) == [
        silence,
        f"berthctl: cannot connect to {full.path}: Resource temporarily unavailable\n"]
    full.close()


def test_answer_that_cannot_be_written(berthctl, fake):
    with open("/dev/full", "w", encoding="ascii") as full:
        _, status, _, err = served(berthctl, fake, "ping", answer="ok\n", stdout=full)
    assert (status, err) == (1, "berthctl: cannot write the answer: No space left on device\n")


# ---- status ----

UNFRIENDLY = (
    "ok draining=0 held=1 waiting=0\n"
    "resource a kind=lock scope=host limit=1 in_use=1 free=0 waiting=0 paused=1"
    " pause_reason=%1b[1mbold%0a%c3%bc\n"
    "holder 1 units=0 token=1 pid=1 uid=0 since=1 program=%1b]0;title%07 reason=%9b2J%c2%9b"
    " holder=%e2%80%ae%7f\n"
    "end\n")


def test_terminals_of_other_encodings(berthctl, fake, directory):
    """UTF-8 may contain what such a terminal takes for a control: nothing gets through."""
    made = subprocess.run(
        ["localedef", "--no-archive", "-i", "en_US", "-f", "ISO-8859-1", directory / "en_US"],
        capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip("cannot make a locale of ISO-8859-1")
    answer = UNFRIENDLY.replace("%c3%bc", "%c3%80")
    _, status, out, _ = served(berthctl, fake, "status", answer=answer,
                               env={"LOCPATH": str(directory), "LC_ALL": "en_US"})
    assert status == 0
    assert out.isascii() and r"\xc3\x80" in out


def long_queue(n):
    lines = ["ok draining=0 held=1 waiting=0",
             f"resource a kind=lock scope=host limit=1 in_use=1 free=0 waiting={n}",
             "holder z units=0 token=1 pid=1 uid=0 since=1 program=a-program reason=" + "x" * 200]
    lines += [f"waiter w{i} position={i} wants=1 pid=1 uid=0 since=1 priority=0"
              for i in range(1, n + 1)]
    return "\n".join(lines + ["end", ""])


def test_status_on_a_terminal(berthctl, fake):
    plain = {"TERM": "dumb"}
    lines = on_terminal(berthctl, "status", columns=80, env=plain, fake=fake, answer=long_queue(25))
    assert max(map(len, lines)) == 80
    assert lines[-1].strip() == "... and 5 more waiting: name the resource to see all"
    assert len(lines) == 2 + 1 + 1 + 20 + 1
    lines = on_terminal(berthctl, "status", "a", columns=300, env=plain, fake=fake, answer=long_queue(25))
    assert lines[3].endswith(" " + "x" * 200)
    assert len(lines) == 2 + 1 + 1 + 25


# ---- drain ----

def test_drain_waits_without_a_deadline(berthctl, fake):
    """Longer than any answer may take there is nothing, and then the drain ends. So it is though nothing is
    held: in a grace, leases may still come back."""
    processes = []
    for answer, said in (("ok held=0\n", ""), (
            "ok held=2\n* lost 1 released x\n", "berthctl: draining: waiting for 2 held leases to be given back\n")):
        processes.append((berthctl.start("drain", "--wait", text=True), fake.accept(), said))
        assert processes[-1][1].line() == "drain wait=1"
        processes[-1][1].send(answer)
    with pytest.raises(subprocess.TimeoutExpired):
        processes[0][0].wait(PATIENCE + 0.5)
    for process, peer, said in processes:
        assert process.poll() is None
        peer.send("* drained\n")
        assert process.communicate(timeout=DEADLINE) == ("drained\n", said)
        assert process.returncode == 0


def test_drain_ends_with_the_connection_or_a_signal(berthctl, fake):
    stopped, interrupted = [berthctl.start("drain", "--wait") for _ in range(2)]
    peers = [fake.accept() for _ in range(2)]
    for peer in peers:
        peer.line()
        peer.send("ok held=1\n")
    for process in stopped, interrupted:
        read_line(process.stderr)
    interrupted.send_signal(signal.SIGINT)
    assert interrupted.wait(DEADLINE) == -signal.SIGINT
    for peer in peers:
        peer.close()
    assert stopped.wait(DEADLINE) == 69


# ---- with the daemon ----

CONFIG = """
[semaphore etl]
limit = 2
[lock deploy]
[pool gpus]
items = gpu0 gpu1 gpu2
[semaphore market/*]
limit = 5
"""


@pytest.fixture
def ok(berthctl):
    """Runs a command that must succeed and print nothing on stderr; returns its output."""
    def run(*args, **options):
        done = berthctl(*args, **options)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout
    return run


@pytest.fixture
def status(ok):
    def run(*names):
        answer = json.loads(ok("status", "--json", *names))
        assert answer["version"] == 1
        return answer["resources"][0] if names else answer
    return run


def test_ping_and_version(daemon, berthctl, ok):
    assert ok("ping") == "ok\n"
    done = berthctl("status", preexec_fn=lambda: os.close(1), stdout=None)
    assert done.returncode == 1 and "status" not in daemon.log.read_text()  # a closed stdout is not the connection
    client, server = ok("version").splitlines()
    assert ok("--version") == client + "\n"
    assert client.startswith("berthctl ")
    assert server.startswith(client.replace("ctl", "d") + f" (protocol 1, pid {daemon.process.pid}")


def test_status_of_an_idle_host(daemon, ok, status):
    assert ok("status").splitlines() == [
        "NAME      KIND       LIMIT  USED  FREE  WAIT  STATE",
        "etl       semaphore      2     0     2     0",
        "deploy    lock           1     0     1     0",
        "gpus      pool           3     0     3     0",
        "market/*  semaphore      5     -     -     -  template, 0 instances",
        "",
        "3 resources, 1 template; 0 held, 0 waiting",
    ]
    assert ok("status", "market/*").splitlines()[1:] == [
        "market/*  semaphore      5     -     -     -  template, 0 instances"]
    assert ok("status", "none*").splitlines()[1:] == ["no resource or template matches that name"]
    answer = status()
    assert answer["templates"] == [{"name": "market/*", "kind": "semaphore", "scope": "host", "database": None,
                                    "database_state": None, "limit": 5, "instances": 0, "rate": None, "burst": None, "also": [],
                                    "paused": False, "pause_reason": None,
                                    "paused_by_uid": None, "paused_by_user": None,
                                    "paused_by_login_uid": None, "paused_by_login_user": None,
                                    "paused_at": None, "paused_host": None, "changed": [], "file_limit": None,
                                    "changed_at": None, "changed_by_uid": None, "changed_by_user": None,
                                    "changed_by_login_uid": None, "changed_by_login_user": None,
                                    "changed_host": None, "change_reason": None, "order": None}]
    assert not answer["draining"] and answer["databases"] == []
    assert [row["name"] for row in answer["resources"]] == ["etl", "deploy", "gpus"]
    assert ok("status", "market/alice", "etl").count("semaphore") == 2
    assert status("market/alice")["template"] == "market/*"
    assert [item["state"] for item in status("gpus")["items"]] == ["idle"] * 3


def test_holders_and_waiters(daemon, ok, status):
    holder, waiter = daemon.client(), daemon.client()
    own, parent = os.getpid(), os.getppid()
    lease = holder.request("acquire etl:2 holder=job%2012 reason=weekly%20load program=etl-load"
                           f" pid={own}").split()[1]
    waiting = waiter.request(f"acquire etl priority=0 pid={parent} reason=%1b[2J").split()[1]
    etl = status("etl")
    assert (etl["limit"], etl["in_use"], etl["free"], etl["waiting"]) == (2, 2, 0, 1)
    assert etl["holders"] == [{
        "lease": lease, "units": [0, 1], "units_cut": False, "pid": own, "uid": os.geteuid(),
        "token": etl["holders"][0]["token"], "user": pwd.getpwuid(os.geteuid()).pw_name,
        "host": None, "share": None, "program": "etl-load", "reason": "weekly load", "holder": "job 12",
        "since": etl["holders"][0]["since"], "hidden": False, "bound": "process", "all": False, "away": False,
        "unread": False, "until": None, "shares": None, "stopping": None}]
    assert int(etl["holders"][0]["token"]) > 0
    assert [(row["lease"], row["position"], row["wants"], row["pid"], row["reason"],
             row["program"], row["priority"], row["blocked"], row["away"]) for row in etl["waiters"]] == [
        (waiting, 1, 1, parent, "\x1b[2J", None, 0, None, False)]
    lines = ok("status", "etl").splitlines()
    assert lines[1].split() == ["etl", "semaphore", "2", "2", "0", "1"]
    held, queued = lines[3].split(), lines[4].split()
    assert held[0] == "held" and held[1:3] == ["slots", "0-1"] and held[4] == str(own)
    assert lines[3].endswith("job 12  weekly load")
    assert queued[:3] == ["#1", "wants", "1"] and queued[-1] == r"\x1b[2J"


def test_limit_and_items(client, berthctl, ok, status):
    client.request("acquire etl:2")
    ok("limit", "etl", "1")
    etl = status("etl")
    assert (etl["limit"], etl["in_use"], etl["changed"]) == (1, 2, ["limit"])
    assert "over limit, changed" in ok("status", "etl")
    for wrong in ("x", "1.5", "1000001", "9" * 200):
        refused = client.request(f"limit etl {wrong}")
        assert refused == f"error bad-value a%20limit%20is%20a%20number%20from%200%20to%201000000,%20not%20{wrong[:32]}"
    ok("limit", "etl", "0")
    assert "closed" in ok("status", "etl")
    ok("reset", "etl")
    assert (status("etl")["limit"], status("etl")["changed"]) == (2, [])

    assert ",gpu0" in client.request("acquire gpus")

    def items():
        return {row["name"]: (row["state"], row["reason"]) for row in status("gpus")["items"]}

    assert ok("add", "gpus", "gpu9") == "gpus: gpu9 is a new item\n"
    assert ok("add", "gpus", "gpu9") == "gpus: gpu9 is already there\n"
    for _ in range(2):
        ok("reserve", "gpus", "gpu1", "--reason", "fan, left: 5 %")
        ok("remove", "gpus", "gpu0")
        lines = ok("add", "gpus", "gpu1"), ok("add", "gpus", "gpu0")
        assert lines == ("gpus: gpu1 is no longer reserved\n", "gpus: gpu0 was draining, and is in service again\n")
    ok("reserve", "gpus", "gpu1", "--reason", "fan, left: 5 %")
    ok("remove", "gpus", "gpu0")
    ok("remove", "gpus", "gpu2")
    assert items() == {"gpu0": ("draining", None), "gpu1": ("reserved", "fan, left: 5 %"),
                       "gpu9": ("idle", None)}
    lines = ok("status", "gpus").splitlines()
    assert "  reserved items: gpu1 (fan, left: 5 %)" in lines
    assert "  draining items: gpu0" in lines
    assert any(line.startswith("  changed at runtime: items, since ") for line in lines)
    ok("reset", "gpus")
    assert items() == {"gpu0": ("held", None), "gpu1": ("idle", None), "gpu2": ("idle", None)}
    done = berthctl("reserve", "gpus", "gpu7", "--reason", "x")
    assert (done.returncode, done.stderr) == (
        78, "berthctl: reserve: gpu7: gpus has no such item; did you mean gpu0? (unknown)\n")
    assert "did you mean" not in berthctl("remove", "gpus", "somethingelse").stderr


def test_pause(daemon, ok, status):
    ok("pause", "etl", "--reason", "disk swap\n\x1b[1m")
    etl = status("etl")
    assert (etl["paused"], etl["pause_reason"]) == (True, "disk swap\n\x1b[1m")
    me = pwd.getpwuid(os.getuid()).pw_name
    assert (etl["paused_by_uid"], etl["paused_by_user"]) == (os.getuid(), me)
    assert re.search(rf"^  paused since [\d:]+ by {me}( \(\w+\))?: disk swap\\x0a\\x1b\[1m$", ok("status"), re.M)
    client = daemon.client()
    lease = client.request("acquire etl").split()
    assert lease[0] == "waiting"
    ok("resume", "etl")
    assert client.line().startswith("* granted " + lease[1])
    assert not status("etl")["paused"]
    ok("pause", "market/alice")
    assert status("market/alice")["pause_reason"] is None
    ok("pause", "market/*", "etl", "--reason", "move")
    assert status("market/bob")["pause_reason"] == "move"
    ok("limit", "market/*", "2")
    assert re.sub(rf"since [\d:]+ by {me}( \(\w+\))?", "THEN by ME", ok("status", "market/*")).splitlines()[1:4] == [
        "market/*      semaphore      2     -     -     -  template, 1 instance, paused, changed",
        "  paused THEN by ME: move", "  limit 2 (file: 5), THEN by ME"]
    assert status()["templates"][0].items() >= {
        "limit": 2, "paused": True, "pause_reason": "move", "changed": ["limit"]}.items()
    ok("reset", "market/*")
    assert not status()["templates"][0]["paused"]


def test_drain(client, berthctl, ok, status):
    lease = client.request("acquire etl").split()[1]
    assert ok("drain") == "draining, 1 lease held\n"
    assert status()["draining"]
    assert ok("status").startswith("draining: this host grants nothing; 1 lease held; since ")
    process = berthctl.start("drain", "--wait", text=True)
    assert read_line(process.stderr).startswith("berthctl: draining: waiting for 1 held lease ")
    assert client.request("release " + lease) == "ok"
    out, _ = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out) == (0, "drained\n")
    assert ok("drain", "--wait") == "drained\n"  # at once
    ok("undrain")
    assert not status()["draining"]


def test_reload(daemon, berthctl, ok, status, directory):
    daemon.configure(CONFIG.replace("limit = 2", "limit = 3"))
    ok("reload")
    assert status("etl")["limit"] == 3
    daemon.configure("[lock a]\nlimit = x\n[semaphore b]\nnothing = 1\n")
    done = berthctl("reload")
    assert (done.returncode, done.stdout) == (78, "")
    lines = done.stderr.splitlines()
    assert lines[0] == (
        "berthctl: reload: the configuration has errors, and nothing has changed (config):")
    assert len(lines) >= 3
    assert all(line.startswith(f"  {daemon.config}:") for line in lines[1:])
    assert status("etl")["limit"] == 3
    # One by the unit leaves the errors to berthd, whose log goes to the same journal.
    with open(directory / "journal", "w+", encoding="utf-8") as journal:
        seen = os.fstat(journal.fileno())
        for stream, n in ((f"{seen.st_dev}:{seen.st_ino}", 1), (f"{seen.st_dev}:1", 1 + len(lines))):
            process = berthctl.start("reload", stderr=journal, env={"JOURNAL_STREAM": stream})
            assert process.wait(DEADLINE) == 78
            journal.seek(0)
            assert len(journal.readlines()) == n
    # What is not in force is said.
    ok("pause", "etl")
    ok("pause", "market/*")
    changed = CONFIG.replace("limit = 2", "limit = 4")
    daemon.configure("max-clients-per-user = 3\ngrace = 3s\n" + changed)
    done = berthctl("reload")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        "berthctl: reloaded, but:",
        f"  {daemon.config}: grace takes effect at the next start",
        "  etl: changes made at runtime stay in force: berthctl reset etl undoes them"]
    daemon.configure(changed)
    assert berthctl("reload").stderr == ""


# ---- rights ----

def refused(berthctl, args, who):
    done = berthctl(*args, **as_nobody)
    assert (done.returncode, done.stdout) == (77, "")
    assert done.stderr.startswith(f"berthctl: {args[0]}: ")
    assert done.stderr.endswith(
        f"; only root, the daemon's user, and admin-users and admin-groups of {who} may\n")


@needs_root
def test_nobody_may_only_look(daemon, berthctl, ok, status):
    before = status()
    ok("status", **as_nobody)
    refused(berthctl, ["pause", "etl"], "the resource or of [daemon]")
    refused(berthctl, ["drain", "--wait"], "[daemon]")
    assert {**status(), "now": before["now"]} == before

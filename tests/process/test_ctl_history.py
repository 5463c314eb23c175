"""berthctl history and stats: what they ask, what they make of the answers, also of a berthd that
keeps no history or knows none."""

import json
import os
import pwd
import re
import subprocess
import time

from ctl_help import on_terminal, served
from daemon_help import connect_as, held, needs_root, waits
from lines import DEADLINE

NOW = 1795397400000  # 2026-11-23 01:30:00 UTC
UTC = {"TZ": "UTC0", "LC_ALL": "C"}
ANSWER = f"""ok now={NOW} since={NOW - 7200000}
ended 3f9k units=gpus:gpu0 uid=0 how=released ended={NOW - 7200000} held=60000 waited=1200 pid=7 exit=3 program=train
ended 3f9m units=etl=2 uid=4711 how=denied code=queue-full ended={NOW - 1000} waited=1000
end
"""
STATUS = """ok now=7200000 draining=0 held=1 waiting=0
resource gpus kind=pool scope=host limit=2 in_use=1 free=1 waiting=0
holder 4a units=gpu1 token=1 pid=1 uid=0 since=0
end
"""


# ---- what is asked

REQUESTS = [
    ([], "history"),
    (["etl", "market/*"], "history etl market/*"),
    (["--user", "root"], "history user=0"),
    (["--user=4711"], "history user=4711"),
    (["--lease", "3f9k", "etl"], "history etl lease=3f9k"),
    (["a=b"], "history a%3Db"),
]


def test_requests(berthctl, fake):
    for args, request_line in REQUESTS:
        line, status, _, err = served(berthctl, fake, "history", *args, "--json", answer=ANSWER)
        assert (line, status, err) == (request_line, 0, "")


def test_since(berthctl, fake):
    """As milliseconds before the request."""
    now = time.time()
    for word, ago in (("90s", 90000), ("1h30m", 5400000), ("0", 0),
                      (time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now - 86400)), 86400000),
                      (time.strftime("%H:%M:%S", time.gmtime(now - 3600)), 3600000)):
        line, status, _, _ = served(berthctl, fake, "history", "--since", word, answer=ANSWER, env=UTC)
        asked = int(re.fullmatch(r"history since=(\d+)", line)[1])
        assert status == 0 and ago <= asked <= ago + 2000 + (time.time() - now) * 1000, word


WRONG_USAGE = [  # and the table of test_ctl.py
    (["history", "--since", "soon"], "not a time like 1h, 03:00, yesterday or 2026-11-23: soon"),
    (["history", "--until", "25:00"], "not a time like 1h, 03:00, yesterday or 2026-11-23: 25:00"),
    (["history", "--since", "\x1b"], r"not a time like 1h, 03:00, yesterday or 2026-11-23: \x1b"),
    (["history", "--user", "no\x1bbody"], r"no such user: no\x1bbody"),
    (["stats", "--user", "-1"], "no such user: -1"),
    (["stats", "--lease", "3f9k"], "stats takes no --lease; usage: berthctl stats [NAME...] [OPTION]..."),
    (["history", "--reason", "x"], "history takes no --reason; usage: berthctl history [NAME...] [OPTION]..."),
    (["statsu"], "no such command: statsu; did you mean stats?"),
    (["staus"], "no such command: staus; did you mean status?"),
]


def test_wrong_usage(berthctl, fake):
    for args, hint in WRONG_USAGE:
        done = berthctl(*args)
        assert (done.returncode, done.stdout) == (64, ""), args
        assert done.stderr.startswith("berthctl: " + hint) and done.stderr.count("\n") == 1


# ---- what is made of the answer

def test_on_a_terminal(berthctl, fake):
    long = ANSWER.replace("program=train", "program=train reason=" + "x" * 200)
    lines = on_terminal(berthctl, "history", columns=130, fake=fake, answer=long)
    assert max(map(len, lines)) <= 130 and len(lines) == 3


def both(berthctl, fake, *args, command="stats", status=STATUS, history=ANSWER, **options):
    """Runs stats, or a history that asks for status as well: its requests, exit status, stdout and stderr."""
    process = berthctl.start(command, *args, text=True, **options)
    peer = fake.accept()
    lines = []
    for answer in (status, history) if command == "stats" else (history, status):
        lines.append(peer.line())
        peer.send(answer)
        if answer.startswith("error") and "unknown " not in answer:
            break
    peer.close()
    out, err = process.communicate(timeout=DEADLINE)
    return lines, process.returncode, out, err


SINCE = "1 still held or waiting since before "


NOTES = [
    (["--until", "2026-11-23 01:29"], "status", SINCE + "01:29:00: berthctl status"),
    (["gpus", "--until", "2026-11-23 01:29", "--user", "0"], "status gpus",
     SINCE + f"01:29:00: berthctl status gpus --user {pwd.getpwuid(0).pw_name}"),
    (["gpus", "--user", "0"], "status gpus", f"1 still held or waiting: berthctl status gpus --user {pwd.getpwuid(0).pw_name}"),
    (["--until", "2026-11-22 23:30:01"], "status", SINCE + "2026-11-22 23:30:01: berthctl status"),
    (["--until", "2026-11-22 23:30"], "status", None),
    (["--until", "2026-11-23 01:29", "--user", "4711"], "status", None),
]


def test_what_was_there_and_is_not_over(berthctl, fake):
    """What has ended does not explain a period alone."""
    for words, asked, note in NOTES:
        lines, status, out, _ = both(berthctl, fake, *words, command="history", env=UTC)
        assert (lines[1], status) == (asked, 0), words
        assert out.splitlines()[-1] == note if note else "still" not in out, words
        if words == ["--until", "2026-11-23 01:29"]:  # of what has ended, only what was asked for before
            assert "3f9k" in out and "3f9m" not in out


def test_stats_of_a_user(berthctl, fake):
    """Whose share is one of the time of all: the history of all is asked for."""
    lines, status, out, err = both(berthctl, fake, "--user", "4711", env=UTC)
    assert (lines, status, err) == (["status", "history"], 0, "")
    assert [line.split()[0] for line in out.splitlines()[2:] if line] == ["RESOURCE", "etl", "USER", "4711"]
    assert out.splitlines()[-1].endswith("  0.0%")


def test_stats_of_what_is_only_in_the_history(berthctl, fake):
    lines, status, out, err = both(berthctl, fake, "gpus", status="error unknown no%20such%20resource\n")
    assert (lines, status, err) == (["status gpus", "history gpus"], 0, "")
    assert "unknown" in out and "50.0%" not in out


def test_nothing(berthctl, fake):
    for answer, note in (
            (f"ok now={NOW}\nend\n", "no history: nothing has ended yet, or berthd's file has history = 0"),
            (f"ok now={NOW} since={NOW - 60000}\nend\n",
             "nothing of that has ended since 01:29:00; berthd's history does not go back further")):
        for command in "history", "stats":
            done = both(berthctl, fake, "etl", "--since", "2026-11-01", command=command, history=answer,
                        status="ok\nend\n", env=UTC)
            assert done[1:] == (0, note + "\n", "")


def test_a_fleet_resource_without_a_history(berthctl, fake):
    """Other hosts may have had it."""
    status = "ok\nresource far kind=lock scope=fleet database=d limit=1\nend\n"
    for history, n in (f"ok now={NOW} since={NOW}\nend\n", 2), (ANSWER, None):
        if n:
            lines, code, out, _ = both(berthctl, fake, "far", command="history", history=history, status=status)
            assert (lines, code) == (["history far", "status far"], 0)
            assert out.splitlines()[1:] == ["far has fleet scope: each host keeps the history of its own jobs only"]
        else:
            assert "fleet" not in served(berthctl, fake, "history", "far", answer=history)[2]


# ---- what no berthd sends

def test_nonsense(berthctl, fake):
    for answer in ("ok now=x\nend\n", "ok\nended\nend\n", "ok\nended 1 units=a uid=0 how=x\nend\n",
                   "ok\nended 1 units=a:0 uid=0 how=%zz\nend\n"):
        for done in (served(berthctl, fake, "history", answer=answer), both(berthctl, fake, history=answer)):
            assert done[1:] == (69, "", f"berthctl: the server at {fake.path} does not speak this protocol\n"), answer


def test_a_refusal(berthctl, fake):
    refusal = "error bad-value lease\n"
    assert served(berthctl, fake, "history", "--lease", "!", answer=refusal)[1:] == (
        64, "", "berthctl: history: lease (bad-value)\n")
    assert both(berthctl, fake, status="error busy full\n")[1:] == (69, "", "berthctl: stats: full (busy)\n")


def test_a_long_answer(berthctl, fake):
    lines = [f"ended {i} units=a:0 uid=0 how=released ended={NOW} held=1 waited=1 pid=1 exit=0" for i in range(1, 3001)]
    answer = "\n".join([f"ok now={NOW} since={NOW}", *lines, "end", ""])
    assert len(served(berthctl, fake, "history", answer=answer)[2].splitlines()) == 3001
    assert "  3000  " in both(berthctl, fake, history=answer)[2]


# ---- with berthd

CONFIG = """
[semaphore etl]
limit = 2
[lock deploy]
[lock nightly]
[pool gpus]
items = gpu0 gpu1
[semaphore market/*]
limit = 2
"""
ME = pwd.getpwuid(os.geteuid()).pw_name


def ended(berthctl, *args, **options):
    done = berthctl("history", "--json", *args, **options)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["leases"]


def test_how_jobs_have_ended(daemon, berth, berthctl):
    """Each by one command: how the job of a name ended is what its wrapper has said. A wait that is too long is
    ended by berthd."""
    for name, command, status, how in (("nightly", "exit 0", 0, "exit 0"), ("etl", "exit 3", 3, "exit 3"),
                                       ("gpus", "kill -9 $$", -9, "SIGKILL"), ("market/x", "exit 75", 75, "exit 75")):
        assert berth("run", "--reason", "weekly load", name, "--", "sh", "-c", command).returncode == status
        lines = berthctl("history", name, "--since", "1h").stdout.splitlines()
        shown, = [line for line in lines if line.split()[1] == name]
        assert f"  {how}  " in shown and ME in shown and "  sh  " in shown and "weekly load" in shown
        lease, = ended(berthctl, name)
        assert (lease["exit"], lease["signal"]) == ((status, None) if status >= 0 else (None, -status))
        assert lease["asked_at_ms"] <= lease["granted_at_ms"] <= lease["ended_at_ms"]
    assert [lease["resources"][0]["name"] for lease in ended(berthctl)] == ["nightly", "etl", "gpus", "market/x"]
    assert len(ended(berthctl, "market/*")) == 1
    held(daemon.client(), "acquire deploy")
    assert berth("run", "-w", "300ms", "deploy", "--", "true").returncode == 75
    lease, = ended(berthctl, "deploy")
    assert (lease["how"], lease["held_ms"], lease["resources"][0]["wanted"]) == ("timeout", None, 1)
    assert 0 < lease["waited_ms"] < 1000 * DEADLINE


def test_taken_away(daemon, berth, berthctl):
    job = berth.start("run", "deploy", "--", "sh", "-c", "echo runs; exec sleep 1000", stdout=subprocess.PIPE)
    assert job.stdout.readline() == b"runs\n"
    assert berthctl("revoke", "deploy", "--all", "--reason", "disk full", "--wait").returncode == 0
    assert job.wait(DEADLINE) == 124
    assert f"  revoked by {ME}: disk full (SIGTERM)  " in berthctl("history").stdout
    daemon.kill()
    daemon.start()
    assert f"  revoked by {ME}: disk full (SIGTERM)  " in berthctl("history").stdout


def test_stats_of_berthd(daemon, berthctl):
    client, waiter = daemon.client(), daemon.client()
    first = held(client, "acquire etl:2 gpus:1")
    waiting = waits(waiter, "acquire etl:1")
    assert client.request(f"release {first}") == "ok"
    assert waiter.line().startswith(f"* granted {waiting}")
    assert waiter.request(f"release {waiting}") == "ok"
    held(client, "acquire gpus:1")  # is still held
    answer = json.loads(berthctl("stats", "--json").stdout)
    etl, gpus = answer["resources"]
    leases = {lease["lease"]: lease for lease in ended(berthctl)}
    holds = [leases[first]["held_ms"], leases[waiting]["held_ms"]]
    assert (etl["name"], etl["leases"], etl["refused"]) == ("etl", 2, 0)
    assert etl["held_ms"] == {"median": min(holds), "p95": max(holds), "longest": max(holds), "sum": sum(holds)}
    assert etl["waited_ms"]["longest"] == leases[waiting]["waited_ms"]
    assert gpus["leases"] == 1 and 0 <= gpus["use"] <= 1
    (user,) = answer["users"]
    assert (user["uid"], user["leases"], user["user"]) == (os.geteuid(), 2, ME)
    assert user["share"] in (1, None)  # null: nothing was held for a whole millisecond


def test_what_is_not_over(daemon, berthctl):
    client, waiter = daemon.client(), daemon.client()
    first = held(client, "acquire etl:2 deploy")
    waiting = waits(waiter, "acquire etl:1 deploy")
    assert berthctl("history", "--lease", first).stdout == f"{first} is still held: berthctl why {first}\n"
    assert berthctl("history", "--lease", waiting).stdout == f"{waiting} still waits: berthctl why {waiting}\n"
    note = f"still held or waiting: berthctl status --user {ME}"
    assert berthctl("history", "--user", ME).stdout.splitlines()[-1] == f"2 {note}"
    assert client.request(f"release {first}") == "ok"
    assert waiter.line().startswith(f"* granted {waiting}")
    assert berthctl("history", "--user", ME).stdout.splitlines()[-1] == f"1 {note}"
    assert "still" not in berthctl("history", "--lease", first).stdout
    assert "still" not in berthctl("history", "--user", "4711").stdout
    done = berthctl("why", first)
    assert done.returncode == 78 and f"for one that has ended: berthctl history --lease {first} " in done.stderr


def test_no_history(berthd, berth, berthctl):
    berthd("history = 0\n[lock deploy]\n")
    assert berth("run", "deploy", "--", "true").returncode == 0
    for command in "history", "stats":
        done = berthctl(command)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "no history: nothing has ended yet, or berthd's file has history = 0\n"


SECRETS = ("theirprogram", "theirreason", "theiridentity", "theirtext")


@needs_root
def test_what_is_hidden(berthd, berthctl):
    """show-commands, as in status: neither table nor JSON, of history or of stats."""
    anna, bert = 60001, 60002
    daemon = berthd("[semaphore shut]\nlimit = 9\nshow-commands = owner\n")
    lease = held(connect_as(daemon, anna), "acquire shut program=theirprogram reason=theirreason holder=theiridentity")
    assert daemon.client().request(f"drop {lease} reason=theirtext") == "ok"

    def shown(uid, *words):
        return berthctl(*words, preexec_fn=lambda: os.setuid(uid)).stdout

    for words in (["history"], ["history", "--json"], ["history", "shut", "--user", str(anna)], ["history", "--lease", lease]):
        to_bert, to_anna = shown(bert, *words), shown(anna, *words)
        assert not any(secret in to_bert for secret in SECRETS) and lease in to_bert
        assert all(secret in to_anna for secret in SECRETS)
    for words in (["stats"], ["stats", "--json"]):
        to_bert = shown(bert, *words)
        assert str(anna) in to_bert and not any(secret in to_bert for secret in SECRETS)

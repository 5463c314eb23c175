"""berthctl history and stats: what they ask, what they make of the answers, also of a berthd that
keeps no history or knows none."""

import json
import os
import pwd
import re
import socket
import subprocess
import time

import pytest

from ctl_help import on_terminal
from daemon_help import connect_as, held, needs_root, waits
from fake_berthd import FakeBerthd
from lines import DEADLINE, until

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


NO_STATUS = "ok\nend\n"


def answering(berthctl, fake, *args, history=ANSWER, status=NO_STATUS, hello="ok proto=1", databases=(), **options):
    """Runs it against a fake that is asked for the history first, then for status, then for each database: the
    requests behind hello, the exit status, stdout and stderr."""
    process = berthctl.start(*args, text=True, **options)
    peer = fake.accept()
    assert peer.line() == "hello"
    peer.send(hello + "\n")
    lines = []
    for answer in (history, status, *databases):
        line = peer.line()
        if not line:
            break
        lines.append(line)
        peer.send(answer)
    peer.close()
    out, err = process.communicate(timeout=DEADLINE)
    return lines, process.returncode, out, err


# ---- what is asked

NO_HOST = "no host of that name is in this history\n"
REQUESTS = [
    ([], "history limit=1000"),
    (["etl", "market/*"], "history etl market/* limit=1000"),
    (["--user", "root"], "history user=0 limit=1000"),
    (["--user=4711", "--limit", "5"], "history user=4711 limit=5"),
    (["--lease", "3f9k", "etl", "--limit=0"], "history etl lease=3f9k"),
    (["--failed", "--limit=5"], "history"),
    (["--host", "a"], "history"),
    (["a=b", "--limit=0"], "history a%3Db"),
]


def test_requests(berthctl, fake):
    for args, request_line in REQUESTS:
        (line, _), status, _, err = answering(berthctl, fake, "history", *args, "--json")
        assert (line, status, err) == (request_line, 0, NO_HOST if "--host" in args else "")


def test_since(berthctl, fake):
    """As milliseconds before the request."""
    now = time.time()
    for word, ago in (("90s", 90000), ("1h30m", 5400000), ("0", 0),
                      (time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now - 86400)), 86400000),
                      (time.strftime("%H:%M:%S", time.gmtime(now - 3600)), 3600000)):
        for option, command in ("since", "history"), ("until", "history"), ("until", "stats"):
            (line, _), status, _, _ = answering(berthctl, fake, command, "--" + option, word, env=UTC)
            asked = int(re.fullmatch(option.join((r"history ", r"=(\d+)(?: limit=1000)?")), line)[1])
            assert status == 0 and ago <= asked <= ago + 2000 + (time.time() - now) * 1000, word


WRONG_USAGE = [  # and the table of test_ctl.py
    (["history", "--since", "soon"], "not a time like 1h, 03:00, yesterday or 2026-11-23: soon"),
    (["history", "--until", "25:00"], "not a time like 1h, 03:00, yesterday or 2026-11-23: 25:00"),
    (["history", "--since", "\x1b"], r"not a time like 1h, 03:00, yesterday or 2026-11-23: \x1b"),
    (["history", "--user", "no\x1bbody"], r"no such user: no\x1bbody"),
    (["stats", "--user", "-1"], "no such user: -1"),
    (["stats", "--lease", "3f9k"], "stats takes no --lease; usage: berthctl stats [NAME...] [OPTION]..."),
    (["history", "--limit", "x"], "not a number: x"),
    (["stats", "--failed"], "stats takes no --failed; usage: berthctl stats [NAME...] [OPTION]..."),
    (["history", "--reason", "x"], "history takes no --reason; usage: berthctl history [NAME...] [OPTION]..."),
    (["statsu"], "no such command: statsu; did you mean stats?"),
    (["staus"], "no such command: staus; did you mean status?"),
]


def test_wrong_usage(berthctl, fake):
    for args, hint in WRONG_USAGE:
        done = berthctl(*args)
        assert (done.returncode, done.stdout) == (64, ""), args
        assert done.stderr.startswith("berthctl: " + hint) and done.stderr.count("\n") == 1


def test_until_before_since(berthctl):
    """A time that has not come yet today is yesterday's."""
    for command in "history", "stats":
        done = berthctl(command, "--since", "today", "--until", "yesterday 22:00:30", env=UTC)
        assert (done.returncode, done.stdout) == (64, "")
        assert done.stderr == "berthctl: --until (yesterday 22:00:30) is before --since (today 00:00)\n"
        done = berthctl(command, "--until", "1h", "--since", "1h")
        assert done.returncode == 69  # nobody answers


# ---- what is made of the answer

def test_on_a_terminal(berthctl, berthd):
    daemon = berthd("[lock deploy]\n")
    client = daemon.client()
    client.request("release " + held(client, "acquire deploy program=train reason=" + "x" * 200))
    lines = on_terminal(berthctl, "history", columns=130)
    assert max(map(len, lines)) <= 130 and len(lines) == 3


def both(berthctl, fake, *args, command="stats", status=STATUS, history=ANSWER, **options):
    return answering(berthctl, fake, command, *args, status=status, history=history, **options)


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
    assert (lines, status, err) == (["history", "status"], 0, "")
    assert [line.split()[0] for line in out.splitlines()[3:] if line] == ["RESOURCE", "etl", "USER", "4711"]
    assert out.splitlines()[-1].endswith("  0.0%")


def test_stats_of_what_is_only_in_the_history(berthctl, fake):
    lines, status, out, err = both(berthctl, fake, "gpus", status="error unknown no%20such%20resource\n")
    assert (lines, status, err) == (["history gpus", "status gpus"], 0, "")
    assert "unknown" in out and "50.0%" not in out


def test_nothing(berthctl, fake):
    for answer, note in (
            (f"ok now={NOW}\nend\n", "no history: nothing has ended yet, or berthd's file has history = 0"),
            (f"ok now={NOW} since={NOW - 60000}\nend\n", "complete from 01:29:00 on: this host\n"
             "nothing of that has ended since 01:29:00; the history does not go back further")):
        for command in "history", "stats":
            done = both(berthctl, fake, "etl", "--since", "2026-11-01", command=command, history=answer,
                        status="ok\nend\n", env=UTC)
            assert done[1:] == (0, note + "\n", "")


FLEET = "ok\nresource far kind=lock scope=fleet database=d limit=1\nresource near kind=lock scope=fleet database=d limit=1\nend\n"
OF_FLEET = f"""ok now={NOW} since={NOW - 3600000} whose=database database=d
ended 0123456789abcdef/3f9k units=far:0 uid=0 how=lost ended={NOW - 3600000} held=60000 waited=1200 host=b
ended 3f9m units=etl=2 uid=4711 how=denied code=queue-full ended={NOW - 1000} waited=1000
end
"""


def test_of_the_fleet(berthctl, fake):
    """The database has the leases of all hosts; each is asked once."""
    lines, code, out, err = answering(berthctl, fake, "history", "--json", "--limit=0", status=FLEET, databases=[OF_FLEET])
    assert (lines, code, err) == (["history", "status", "history database=d"], 0, "")
    answer = json.loads(out)
    assert [lease["lease"] for lease in answer["leases"]] == ["3f9k", "0123456789abcdef/3f9k", "3f9m"]
    assert [lease["host"] for lease in answer["leases"]] == [None, "b", None]
    assert [source["database"] for source in answer["sources"]] == [None, "d"]
    *_, out, _ = answering(berthctl, fake, "history", "far", "--host", "b", status=FLEET, databases=[OF_FLEET], env=UTC)
    head, titles, row, note = out.splitlines()
    assert head == "complete from 00:30:00 on: database d"
    assert note == "of b only the fleet's resources are known here; its own: berthctl history on b"
    assert "  HOST" in titles and row.endswith("  0123456789abcdef/3f9k  b")
    *_, out, _ = answering(berthctl, fake, "history", "far", status=FLEET, databases=[OF_FLEET], env=UTC)
    assert out.splitlines()[0] == "complete from 2026-11-22 23:30:00 on: this host; from 00:30:00 on: database d"
    *_, out, _ = answering(berthctl, fake, "history", "--limit=1", status=FLEET, databases=[OF_FLEET], env=UTC)
    assert out.splitlines()[-1] == "older than 01:29:59.000: --limit 0 shows all" and len(out.splitlines()) == 4
    busy = FLEET.replace("ok\n", "ok now=7200000\n").replace(
        "end\n", "holder 0123456789abcdef/4k units=0 token=1 pid=1 uid=0 since=0 host=b\nend\n")
    for words, n in ([], 1), (["--host", "b"], 1), (["--host", "c"], 0):
        *_, out, _ = answering(
            berthctl, fake, "history", "--user=0", *words, status=busy, databases=[OF_FLEET])
        assert ("1 still held or waiting: berthctl status --user " in out) == n
    whole = answering(berthctl, fake, "stats", "--json", status=FLEET, databases=[OF_FLEET])
    assert whole[0] == ["history", "status", "history database=d"]
    assert [row["name"] for row in json.loads(whole[2])["resources"]] == ["etl", "far", "gpus"]


def test_another_host(berthctl, fake):
    """Of whose own resources nothing is known here; of this host, all is."""
    only = "of c only the fleet's resources are known here; its own: berthctl history on c\n"
    head, gone = "complete from 00:30:00 on: database d\n", "the fleet's database d does not tell (no answer): "
    nothing = "nothing of that has ended since 00:30:00; the history does not go back further\n"
    for words, shown in (["--host=c"], head + nothing + NO_HOST), (["--host=c", "far"], head + nothing + only):
        _, code, out, err = answering(berthctl, fake, "history", *words, status=FLEET, databases=[OF_FLEET], env=UTC)
        assert (code, out, err) == (0, shown, ""), words
    *_, out, _ = answering(berthctl, fake, "history", "--host=c", status=FLEET, databases=["error new\n"])
    assert out == f"{gone}of its resources, this is this host's history alone\n{only}"
    for words, shown in (["--host=c"], NO_HOST), (["--host=c", "--failed"], only):
        assert answering(berthctl, fake, "history", *words, status=STATUS)[1:] == (0, shown, "")
    *_, out, _ = answering(berthctl, fake, "history", "--host", socket.gethostname(), status=STATUS, env=UTC)
    assert out.startswith("complete from 2026-11-22 23:30:00 on: this host\n") and "known here" not in out


def test_a_database_that_does_not_tell(berthctl, fake):
    """Then it is this host's history alone, and that is said."""
    for refusal, word in (("error unknown-key database\n", "unknown-key"), ("error down gone\n", "down"), ("error new\n", "no answer")):
        for command in "history", "stats":
            lines, code, out, err = answering(berthctl, fake, command, "far", status=FLEET, databases=[refusal])
            assert (lines[-1].split(" limit")[0], code, err) == ("history far database=d", 0, "")
            assert out.splitlines()[-1] == (f"the fleet's database d does not tell ({word}): of its resources, this is this"
                                            " host's history alone")
            *_, err = answering(berthctl, fake, command, "far", "--json", status=FLEET, databases=[refusal])
            assert err == out.splitlines()[-1] + "\n"
    for answer, said in (("ok now=x\n", f"the server at {fake.path} does not speak this protocol"),
                         ("", "berthd has closed the connection")):
        _, code, out, err = answering(berthctl, fake, "history", status=FLEET, databases=[answer])
        assert (code, err) == (0, f"berthctl: {said}\n")
        assert "  3f9m" in out and "database d does not tell (no answer)" in out


def test_a_lease_of_another_host(berthctl, fake):
    """Its host's history has it, and perhaps the database."""
    lease, refusal = "0123456789abcdef/3f9k", "error unknown it%20is%20on%20b\n"
    lines, code, out, _ = answering(
        berthctl, fake, "history", "--lease", lease, history=refusal, status=FLEET, databases=[OF_FLEET])
    assert lines == [f"history lease={lease} limit=1000", "status", f"history database=d lease={lease} limit=1000"]
    assert code == 0 and f"  {lease}" in out
    nothing = f"ok now={NOW} since={NOW}\nend\n"
    for status, databases in (FLEET, [nothing]), (NO_STATUS, []):
        assert answering(berthctl, fake, "history", "--lease", lease, history=refusal, status=status, databases=databases)[1:] == (
            78, "", "berthctl: history: it is on b (unknown)\n")


def test_what_else_is_said(berthctl, fake):
    """Operators' actions and gaps: tests/unit/test_past.c has the rest."""
    history = ANSWER.replace("end\n", f"did drain at={NOW - 500} uid=4711 reason=disk\ngap from={NOW - 300} until={NOW - 200} why=reboot\n"
                             "end\n").replace(f"since={NOW - 7200000}", f"since={NOW - 7200000} more=1")
    *_, out, _ = answering(berthctl, fake, "history", history=history, env=UTC)
    assert out.splitlines()[-3:] == ["01:29:59.500  drain by 4711: \"disk\"",
                                     "01:29:59.700 to 01:29:59.800: nothing is known (the host was rebooted)",
                                     "older than 2026-11-22 23:30:00.000: --limit 0 shows all"]
    for limit in 1, 2, 3:
        *_, out, _ = answering(berthctl, fake, "history", "--json", f"--limit={limit}", history=history)
        answer = json.loads(out)
        rows = [row["lease"] for row in answer["leases"]] + [row["verb"] for row in answer["actions"]]
        assert (rows, answer["sources"][0]["more"]) == (["3f9k", "3f9m", "drain"][-limit:], True)
    *_, out, _ = answering(berthctl, fake, "history", "--failed", "--json", history=history.replace("exit=3", "exit=0"))
    answer = json.loads(out)
    assert ([lease["lease"] for lease in answer["leases"]], answer["actions"], len(answer["gaps"])) == (["3f9m"], [], 1)
    forgotten = f"ok now={NOW}\ndid limit at={NOW - 500} uid=4711 resource=gone new=1\nend\n"
    _, code, out, _ = answering(berthctl, fake, "history", "gone", history=forgotten, status="error unknown gone\n")
    assert code == 0 and "limit gone" in out


# ---- berth-history

class Keeper(FakeBerthd):
    """berth-history, which berthd names."""

    def __init__(self, directory):
        super().__init__(directory / "keeper")
        self.hello = f"ok proto=1 history={self.path}"


@pytest.fixture
def keeper(directory):
    keeper = Keeper(directory)
    yield keeper
    keeper.close()


def keeps(berthctl, fake, keeper, *args, answer=None, history=ANSWER, status=NO_STATUS, **options):
    """Runs it against both: the keeper gives that answer and closes (None: says nothing), and berthd is asked for the
    history if that was not one. What the keeper was asked, then as answering()."""
    process = berthctl.start(*args, text=True, **options)
    peer = fake.accept()
    assert peer.line() == "hello"
    peer.send(keeper.hello + "\n")
    asking = keeper.accept()
    asked, lines = asking.line(), []
    if answer is not None:
        asking.send(answer)
        asking.close()
    line = peer.line()
    while line:
        lines.append(line)
        peer.send(history if line.startswith("history") else status)
        line = peer.line() if len(lines) < 2 and line.startswith("history") else None
    peer.close()
    out, err = process.communicate(timeout=DEADLINE)
    return asked, lines, process.returncode, out, err


OLDER = ANSWER.replace("ended 3f9m", "ended 3f9x")
FIGURES = f"""ok now={NOW} since={NOW - 7200000} whose=host
figures etl uid=4711 leases=2 refused=1 unit_time=3600000 wait_sum=90 wait_longest=60 waits=10:1,20:1,60:1 hold_sum=200 hold_longest=100 holds=100:2
figures * uid=4711 leases=2 refused=1 unit_time=3600000 wait_sum=90 wait_longest=60 waits=10:1,20:1,60:1 hold_sum=200 hold_longest=100 holds=100:2
gap from={NOW - 300} until={NOW - 200} why=damaged
end
"""


def test_who_is_asked(berthctl, fake, keeper):
    asked, lines, code, out, err = keeps(berthctl, fake, keeper, "history", "etl", "--json", answer=OLDER)
    assert (asked, lines, code, err) == ("history etl limit=1000", ["status etl"], 0, "")
    assert [lease["lease"] for lease in json.loads(out)["leases"]] == ["3f9k", "3f9x"]
    for command, answer in ("history", f"ok now={NOW} since={NOW}\nend\n"), ("stats", f"ok now={NOW} since={NOW}\nend\n"):
        asked, lines, code, out, err = keeps(
            berthctl, fake, keeper, command, "ettl", answer=answer, status="error unknown it%20is%20etl\n")
        assert (lines, code, out, err) == (["status ettl"], 78, "", f"berthctl: {command}: it is etl (unknown)\n")
    asked, lines, code, out, err = keeps(berthctl, fake, keeper, "stats", "--user=4711", "--json", answer=FIGURES)
    assert (asked, lines, code, err) == ("stats", ["status"], 0, "")
    answer = json.loads(out)
    row, user = answer["resources"][0], answer["users"][0]
    for figures in row, user:
        assert (figures["leases"], figures["refused"], figures["unit_ms"]) == (2, 1, 3600000)
        assert figures["waited_ms"] == {"median": 20, "p95": 60, "longest": 60, "sum": 90}
    assert (row["name"], user["share"], answer["gaps"][0]["why"]) == ("etl", 1, "damaged")


BERTHD = "this is from berthd's memory, complete from 2026-11-22 23:30:00 on\n"
BAD = [
    (None, "it takes too long"),
    ("", "it has closed the connection"),
    ("error unknown-command stats\n", "it refuses to"),
    ("error\n", "its answer makes no sense"),
    (OLDER[:-4], "it has closed the connection"),
    ("ok now=x\n", "its answer makes no sense"),
    ("\x1b[2J\n", "its answer makes no sense"),
    ("x" * 5000, "its answer makes no sense"),
    (OLDER.replace("end\n", "ended 1\nend\n"), "its answer makes no sense"),
    (OLDER.replace("end\n", "figures etl uid=1 waits=1:1,1:1\nend\n"), "its answer makes no sense"),
]


def test_it_does_not_answer(berthctl, fake, keeper):
    """berthd does then, and nothing of the other answer is shown."""
    for command in "history", "stats":
        for answer, why in BAD:
            begun = time.monotonic()
            asked, lines, code, out, err = keeps(berthctl, fake, keeper, command, "--json", answer=answer, env=UTC)
            assert asked == {"history": "history limit=1000", "stats": "stats"}[command]
            assert time.monotonic() - begun < 10  # 2 s, and what a busy machine takes
            assert ([line.split(" ")[0] for line in lines], code) == (["history", "status"], 0), answer
            assert err == f"berthctl: berth-history does not answer ({why}): {BERTHD}", answer
            assert "3f9x" not in out and ("3f9m" in out or command == "stats")


def test_it_is_not_there(berthctl, fake, directory):
    for path in directory / "nobody", "relative", "x" * 200, "%zz":
        hello = f"ok proto=1 history={path}"
        lines, code, out, err = answering(berthctl, fake, "history", "--json", hello=hello, env=UTC)
        said = f"berthctl: berth-history does not answer (it cannot be reached): {BERTHD}"
        assert (lines, code, err) == (["history limit=1000", "status"], 0, said if path == directory / "nobody" else "")


def test_berthd_is_not_there(berthctl, fake, directory):
    """Beside it is who knows what was; of what goes on, nobody does."""
    fake.gone()
    keeper = FakeBerthd(f"{fake.path}-history.sock")
    for command, answer in ("history", OLDER), ("stats", FIGURES):
        process = berthctl.start(command, "--json", text=True)
        keeper.tells(*answer.splitlines())
        out, err = process.communicate(timeout=DEADLINE)
        assert (process.returncode, err) == (0, "berthctl: berthd cannot be reached: this is from berth-history alone, without"
                                             " what is still held or waiting\n")
        assert command == "stats" or "3f9x" in out
    process = berthctl.start("stats", text=True)
    keeper.tells(*FIGURES.splitlines())
    out, _ = process.communicate(timeout=DEADLINE)
    assert "so far" not in out and re.search(r"^etl +2 +1 +-  ", out, re.M), out
    keeper.gone()
    done = berthctl("history")
    assert (done.returncode, done.stdout) == (69, "") and done.stderr.startswith("berthctl: cannot connect to ")


@needs_root
def test_another_users_is_not_asked(berthctl, fake, directory):
    """What is asked is nobody else's business."""
    path = directory / "keeper"
    pid = os.fork()
    if pid == 0:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        os.setuid(4711)
        listener.listen()
        listener.accept()[0].recv(1)
        os._exit(0)
    until(path.exists)
    lines, code, _, err = answering(berthctl, fake, "history", hello=f"ok proto=1 history={path}")
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    assert (lines[0], code) == ("history limit=1000", 0) and "it cannot be reached" in err


# ---- what no berthd sends

def test_nonsense(berthctl, fake):
    for answer in ("ok now=x\nend\n", "ok\nended\nend\n", "ok\nended 1 units=a uid=0 how=x\nend\n",
                   "ok\nended 1 units=a:0 uid=0 how=%zz\nend\n"):
        for done in (both(berthctl, fake, history=answer, command="history"), both(berthctl, fake, history=answer)):
            assert done[1:] == (69, "", f"berthctl: the server at {fake.path} does not speak this protocol\n"), answer


def test_a_refusal(berthctl, fake):
    refusal = "error bad-value lease\n"
    assert answering(berthctl, fake, "history", "--lease", "!", history=refusal)[1:] == (
        64, "", "berthctl: history: lease (bad-value)\n")
    assert both(berthctl, fake, status="error busy full\n")[1:] == (69, "", "berthctl: stats: full (busy)\n")


def test_a_long_answer(berthctl, fake):
    lines = [f"ended {i} units=a:0 uid=0 how=released ended={NOW} held=1 waited=1 pid=1 exit=0" for i in range(1, 3001)]
    answer = "\n".join([f"ok now={NOW} since={NOW}", *lines, "end", ""])
    assert len(answering(berthctl, fake, "history", "--limit=0", history=answer)[2].splitlines()) == 3002
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
    assert etl["held_ms"] | {"median": 0} == {"median": 0, "p95": max(holds), "longest": max(holds), "sum": sum(holds)}
    assert abs(etl["held_ms"]["median"] - min(holds)) <= min(holds) / 64
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

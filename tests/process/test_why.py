"""`why`, and `berthctl why`: what becomes of a request, a lease or a process, and why."""

import contextlib
import os
import pwd
import re
import subprocess
import sys
import urllib.parse

from conftest import read_line
from daemon_help import connect_as, held, keys, needs_root, refused, waits
from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import client_of, fleet, gets, gets_in_time, queues
from lost_help import sleeper

ANNA, BERT = 60001, 60002
CONFIG = f"""
[semaphore db]
limit = 2
[lock deploy]
[lock theirs]
allow-users = {ANNA}
admin-users = {ANNA}
[semaphore market/*]
limit = 1
"""

UNKNOWN = "when it will start is unknown: too few leases of {} have ended{} since berthd started"


def told(client, words):
    """The keys of the first line; the sentences."""
    first, *rest = client.lines(f"why {words}")
    assert first.startswith("ok ") and rest.pop() == "end"
    sentences = [urllib.parse.unquote(line.partition(" ")[2]) for line in rest if line.startswith("because ")]
    return keys(first.split()), sentences


def test_names(daemon, client):
    held(client, "acquire db holder=night%20job program=etl")
    said, sentences = told(client, "db")
    assert said == {"is": "free"} and sentences[0] == "a request for db would be granted at once"
    waiting = waits(daemon.client(), "acquire db:2 program=late")
    said, sentences = told(client, "db:2 deploy")
    assert said == {"is": "busy", "position": "2"}
    assert sentences[0] == "a request for db:2 deploy would wait, at place 2 in the queue"
    assert sentences[1] == "1 of 2 units of db is held"
    assert sentences[2].startswith("night job, pid ") and "(etl, " in sentences[2]
    assert sentences[3].startswith("1 request for db is ahead: pid ") and "wants 2 units" in sentences[3]
    assert sentences[4:] == ["nobody holds deploy", UNKNOWN.format("db", "")]
    said, sentences = told(client, f"lease={waiting}")
    assert said == {"is": "waiting", "lease": waiting, "position": "1"}
    assert sentences[0].startswith(f"lease {waiting} of pid {os.getpid()} (late, ")


def test_users_have_names(client):
    lease = held(client, "acquire deploy")
    name = pwd.getpwuid(os.getuid()).pw_name
    assert told(client, lease)[1][0].startswith(f"lease {lease} of pid {os.getpid()} ({name}) has held ")
    assert urllib.parse.unquote(client.request("acquire deploy wait=0")).startswith(
        f"error would-wait deploy: held by pid {os.getpid()} ({name}) for ")


def test_what_a_word_is(client):
    """A resource, else a lease, else a process."""
    lease = held(client, "acquire deploy")
    assert told(client, "deploy")[0]["is"] == "busy"
    assert told(client, lease)[0] == {"is": "held", "lease": lease}
    assert told(client, str(os.getpid()))[0] == {"is": "held", "lease": lease}
    assert client.request("why nothing").startswith("error unknown nothing:%20no%20such%20resource")
    assert refused(client, "why nothing:2") == "unknown"
    assert refused(client, "why deploy nothing") == "unknown"
    assert refused(client, "why 1") == "unknown"  # a process without a lease
    assert refused(client, "why lease=zzzz") == "unknown"
    assert refused(client, "why lease=!") == refused(client, "why pid=x") == "bad-value"
    assert refused(client, "why") == refused(client, f"why db lease={lease}") == "malformed"


def test_a_process_among_many(berthd):
    """The search has several pieces, and is one request; what comes behind it is answered behind it."""
    client = berthd("[semaphore large]\nlimit = 4000\n").client()
    with contextlib.ExitStack() as jobs:
        pids = [jobs.enter_context(sleeper()) for _ in range(5)]
        leases = [held(client, f"acquire large pid={pid}") for pid in pids]
        for _ in range(30):
            client.send("acquire large\n" * 100)
            assert all(client.line().startswith("ok ") for _ in range(100))
        client.send("".join(f"why pid={pid}\n" for pid in pids) + "why pid=2\nping\n")
        for lease in leases:
            assert client.line() == f"ok is=held lease={lease}"
            while client.line() != "end":
                pass
        assert client.line().startswith("error unknown ")
        assert client.line() == "ok"
        (n_asked,) = [line for line in client.lines("metrics") if "verb=why" in line]
        assert keys(n_asked.split())["value"] == "6"


def test_more_than_one_request_can_have(berthd):
    """Although there are as many."""
    client = berthd("[semaphore large]\nlimit = 20000\n[semaphore other]\nlimit = 20000\n").client()
    for wanted in "large:16385", "large:16000 other:385":
        assert refused(client, f"acquire {wanted}") == "impossible", wanted
        said, sentences = told(client, wanted)
        assert said == {"is": "refused", "code": "impossible"}
        assert sentences[0] == f"a request for {wanted} would be refused: more units than one request can have"


def test_nothing_is_made(client):
    """Looking at an instance does not make it, and takes nothing."""
    for _ in range(3):
        assert told(client, "market/x")[0] == {"is": "free"}
        assert told(client, "market/x:2")[0] == {"is": "refused", "code": "impossible"}
    (template,) = [line for line in client.lines("status") if line.startswith("template market/*")]
    assert "instances=0" in template


def test_a_process_and_its_descendants(daemon, berth, berthctl):
    """The wrapper, its job, and what that has started."""
    inner = ("import subprocess, sys; p = subprocess.Popen(['sleep', '60']); "
             "print(p.pid, flush=True); p.wait()")
    wrapper = berth.start("run", "deploy", "--", sys.executable, "-c", inner)
    child = read_line(wrapper.stdout)
    job = subprocess.run(["ps", "-o", "ppid=", "-p", child], capture_output=True, text=True).stdout.strip()
    answers = [berthctl("why", str(pid)).stdout for pid in (wrapper.pid, job, child)]
    (answer,) = {re.sub(r" for \w+", " for long", answer) for answer in answers}
    assert " has held slot 0 of deploy for long" in answer
    waiting = berth.start("run", "-q", "deploy", "--", "true")
    other = daemon.client()
    while not any("waiter" in line for line in other.lines("status deploy")):
        pass
    assert "has waited for deploy" in berthctl("why", str(waiting.pid)).stdout
    nobody = "neither it nor one of its ancestors has a lease or waits for one"
    assert berthctl("why", "1").stderr == f"berthctl: why: process 1: {nobody} (unknown)\n"
    with subprocess.Popen("true") as ended:
        pass
    no_such = f"berthctl: why: process {ended.pid}: no such process (unknown)\n"
    assert berthctl("why", str(ended.pid)).stderr == no_such
    wrapper.terminate()
    assert waiting.wait(30) == 0


def test_berthctl(daemon, berthctl):
    held(daemon.client(), "acquire db:2 holder=one reason=night")
    done = berthctl("why", "db=2")
    first, *rest = done.stdout.splitlines()
    assert first == "a request for db:2 would wait, at place 1 in the queue"
    assert all(line.startswith("  ") for line in rest)
    assert rest[1].startswith("  one, pid ") and ": night) has held 2 units of db for " in rest[1]
    assert berthctl("why", "db:2").stdout.startswith(first)
    assert berthctl("why").returncode == 64
    done = berthctl("why", "nothing")
    assert done.returncode == 78 and done.stderr.startswith("berthctl: why: nothing: no such resource")


def test_many(berthd):
    """Eight holders are named, and no more lines come than that needs."""
    daemon = berthd("max-leases-per-user = 5000\nmax-waiters-per-user = 5000\n[semaphore db]\nlimit = 1000\n"
                    "max-waiters = 2000\n")
    client = daemon.client()
    for _ in range(1000):
        held(client, "acquire db")
    for _ in range(1000):
        waits(client, "acquire db")
    said, sentences = told(client, "db")
    assert said["position"] == "1001" and len(sentences) == 13
    assert sentences[10] == "992 others hold units of db, too"
    assert sentences[11].startswith("1000 requests for db are ahead; the next to go is pid ")


@needs_root
def test_what_one_may_not_use(daemon):
    held(connect_as(daemon, ANNA), "acquire theirs")
    said, sentences = told(connect_as(daemon, BERT), "theirs")
    assert said == {"is": "refused", "code": "forbidden"}
    assert sentences[0] == "a request for theirs would be refused: you may not use theirs"
    assert told(connect_as(daemon, ANNA), "theirs")[0]["is"] == "busy"


# ---- the fleet


@needs_redis
def test_a_fleet(redis_server, hosts):  # noqa: F811
    a, b = fleet(redis_server, hosts)
    one, two = client_of(a), client_of(b)
    assert told(two, "etl:2")[0] == {"is": "free"}
    gets(one, "acquire etl:2 holder=night program=load reason=import")
    said, sentences = told(two, "etl")
    assert said == {"is": "busy", "position": "1"}
    assert sentences[1] == "2 of 2 units of etl are held"
    assert sentences[2].startswith("night, pid ") and "(load, " in sentences[2]
    assert ": import) has held 2 units of etl for " in sentences[2] and f" on {os.uname().nodename} " in sentences[2]
    first, second = queues(one, "acquire etl program=ahead"), queues(two, "acquire etl")
    said, sentences = told(two, f"lease={second}")
    assert said == {"is": "waiting", "lease": second, "position": "2"}
    assert "place 2 in the queue" in sentences[0]
    assert sentences[-2].startswith("1 request for etl is ahead: pid ") and "(ahead, " in sentences[-2]
    assert told(one, f"lease={first}")[0]["position"] == "1"
    assert client_of(a).request("pause etl reason=disks") == "ok"
    paused = told(two, "etl")[1]
    assert f"etl has been paused for SOME TIME, by {this_user()} on {os.uname().nodename}: disks" in without_ages(paused)
    assert paused[-1] == "when it will start is unknown: etl is paused"
    said, sentences = told(two, "etl:9")
    assert said == {"is": "refused", "code": "impossible"}
    assert sentences[0].startswith("a request for etl:9 would be refused: etl: 9 wanted, of at most ")


def without_ages(sentences):
    return [re.sub(r"(\b\d\w*)(?= ago|, by)", "SOME TIME", sentence) for sentence in sentences]


def this_user():
    """As explanations name the user of the tests, who may have come by sudo."""
    name = pwd.getpwuid(os.getuid()).pw_name
    try:
        with open("/proc/self/loginuid", encoding="ascii") as file:
            login = int(file.read())
    except OSError:
        return name
    return name if login in (os.getuid(), 2**32 - 1) else f"{name} ({pwd.getpwuid(login).pw_name})"


def test_who_has_paused(daemon):
    """Everybody who waits, or is refused, reads who that was; so does status."""
    client, me = daemon.client(), this_user()
    assert client.request("pause db reason=new%20disks") == "ok"
    assert f"db has been paused for SOME TIME, by {me}: new disks" in without_ages(told(client, "db")[1])
    assert keys(client.lines("status db")[1].split())["paused_by"] == str(os.getuid())
    refusal = urllib.parse.unquote(client.request("acquire db wait=0"))
    assert refusal == f"error paused db: paused by {me}: new disks"
    assert client.request("resume db") == "ok"
    assert "paused_by" not in client.lines("status db")[1]
    assert client.request("pause market/*") == "ok"
    assert f"market/x has been paused for SOME TIME, by {me}" in without_ages(told(client, "market/x")[1])


def test_who_has_changed_it_or_drains(daemon, berthctl):
    """Each also over a restart, with the time of then."""
    client, me = daemon.client(), this_user()
    assert client.request("limit db 1 reason=too%20slow") == "ok"
    assert client.request("limit market/* 4") == "ok"
    assert client.request("drain reason=new%20disks").startswith("ok ")
    lines = client.lines("status db market/x")
    daemon.kill()
    daemon.start()
    client = daemon.client()
    after = client.lines("status db market/x")
    assert [keys(line.split())["changed_at"] for line in lines[1:3]] == [
        keys(line.split())["changed_at"] for line in after[1:3]]
    assert keys(lines[0].split())["drained_at"] == keys(after[0].split())["drained_at"]
    sentences = without_ages(told(client, "db")[1])
    assert f"the limit of db, 2 in the file, was set to 1 (SOME TIME ago by {me}: too slow)" in sentences
    assert f"this host is being drained (SOME TIME ago by {me}: new disks)" in sentences
    assert f"the limit of market/x, 1 in the file, was set to 4 (SOME TIME ago by {me})" in (
        without_ages(told(client, "market/x")[1]))
    shown = re.sub(r"since [\d: -]+", "since THEN ", berthctl("status").stdout)
    assert f"; since THEN by {me}: new disks\n" in shown
    assert f"\n  limit 1 (file: 2), since THEN by {me}: too slow\n" in shown


@needs_redis
def test_refused_in_a_fleet(redis_server, hosts):  # noqa: F811
    """With -n, berth names who holds it, on whichever host, and who has paused it."""
    a, b = fleet(redis_server, hosts)
    gets(client_of(a), "acquire etl:2 holder=night program=load")
    done = b.berth("run", "-n", "etl", "--", "true")
    assert done.returncode == 75
    assert done.stderr.startswith("berth: etl: 2 of 2 held by night, pid ")
    assert f" on {os.uname().nodename} (load, " in done.stderr and done.stderr.endswith(" (would-wait)\n")
    assert client_of(a).request("pause etl reason=disks") == "ok"
    done = b.berth("run", "-n", "etl", "--", "true")
    assert (done.returncode, done.stderr) == (75, f"berth: etl: paused by {this_user()} on {os.uname().nodename}: disks (paused)\n")


@needs_redis
def test_when_it_starts_in_a_fleet(redis_server, hosts):  # noqa: F811
    """By the ages that other hosts report, and the holds of this one."""
    a, b = fleet(redis_server, hosts)
    one, two = client_of(a), client_of(b)
    for _ in range(5):
        lease = gets(two, "acquire etl")
        assert two.request(f"release {lease}") == "ok"
    assert told(one, "etl")[0] == {"is": "free"}
    gets_in_time(one, "acquire etl:2")
    gets(one, "acquire gpus:3")
    assert told(one, "etl")[1][-1] == UNKNOWN.format("etl", " on this host")  # it has seen none end
    assert told(two, "gpus")[1][-1] == UNKNOWN.format("gpus", " on this host")
    said, sentences = told(two, "etl")
    assert sentences[-1] in ("it will probably start at any moment",
        "when it will start is unknown: somebody has held etl for longer than any of its latest leases")
    queues(one, "acquire etl gpus")
    assert told(two, "gpus")[1][-1] == (
        "when it will start is unknown: requests for gpus that are passed over at present may go first")


@needs_redis
def test_a_database_that_is_away(redis_server, hosts):  # noqa: F811
    a, = fleet(redis_server, hosts, 1)
    client = client_of(a)
    gets(client, "acquire etl")
    redis_server.stop()
    while True:
        said, sentences = told(client, "etl")
        if said == {"is": "refused", "code": "down"}:
            break
        assert said == {"is": "busy"} or said == {"is": "free"}, said  # it may answer yet
    assert "the database of etl does not answer: only what this host knows is shown" in sentences
    assert "1 of 2 units of etl is held" in sentences and "when it will start is unknown" not in sentences
    assert client.request("acquire etl").startswith("error down ")

"""A lease of another host, by the SESSION/LEASE that status lists: what `why`, `history`, `renew` and `wait` say of
it. (test_fleet_operators.py: revoke and drop.)"""

import os
import re

from daemon_help import needs_root, refused, status
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from fleet_ops_help import RESOURCES, client_of, fleet, gets, pair, queues, up  # noqa: F401
from lines import DEADLINE, until
from test_why import told
from tmux_help import Screen, needs_tmux

pytestmark = needs_redis

NOBODY = "0123456789abcdef/1"


def me():
    return f"pid {os.getpid()} on {os.uname().nodename}"


def key_of(host, lease, name="etl"):
    """As that host's status lists it."""
    resource = status(client_of(host), name).resources[name]
    key, = (one["lease"] for one in resource["holders"] + resource["waiters"] if one["lease"].endswith("/" + lease))
    return key


def refusal(host, request):
    """Code and words; nothing: it is not refused (yet)."""
    words = client_of(host).request(request).split(" ", 2)
    return (words[1], words[2].replace("%20", " ")) if words[0] == "error" else ("", "")


# ---- why ----

def test_why_of_what_another_host_holds(redis_server, hosts):
    a, b = fleet(redis_server, hosts, 2, RESOURCES.replace("[semaphore etl]", "[semaphore etl]\nmax-hold = 1h"))
    lease = gets(client_of(a), "acquire etl gpus:2 holder=night program=load reason=import")
    key = key_of(b, lease)
    for words in (key, f"lease={key}"):
        said, sentences = told(client_of(b), words)
        assert said == {"is": "held", "lease": key}
        assert re.fullmatch(f"lease {key} of night, {me()} \\(load, .*: import\\) has held slot 0 of etl, g0,g1 of gpus "
                            r"for \ds", sentences[0]), sentences
        assert re.fullmatch(r"it ends after (59m5\ds|1h00m) at the latest: max-hold", sentences[1]), sentences
        assert sentences[2:] == [f"on {os.uname().nodename}, berthctl why {lease} says what else ends it"]
    assert b.berthctl("why", key).stdout.startswith(f"lease {key} of night, ")
    sentences = told(client_of(b), "etl:2")[1]  # by the other host's max-hold, and the time that a stop takes
    assert re.search(r" has held 1 unit of etl for \ds, and ends after (59m5\ds|1h00m) at the latest: max-hold$",
                     sentences[2]), sentences
    assert re.search(r" is unknown: .*, after (59m5\ds|1h0\dm) at the latest: max-hold$", sentences[-1]), sentences
    assert told(client_of(a), key)[0] == {"is": "held", "lease": lease}  # its own


def test_why_of_what_waits_on_another_host(pair):
    a, b = pair
    holder = client_of(a)
    gets(holder, "acquire etl:2 program=load")
    queues(client_of(b), "acquire etl program=first")
    lease = queues(client_of(a), "acquire etl:2 program=late")
    key = key_of(b, lease)
    said, sentences = told(client_of(b), key)
    assert said == {"is": "waiting", "lease": key, "position": "2"}
    assert re.fullmatch(f"lease {key} of {me()} \\(late, .*\\) has waited for etl for \\ds: place 2 in the queue",
                        sentences[0]), sentences
    assert sentences[1] == "2 of 2 units of etl are held" and "(load, " in sentences[2]
    assert sentences[3].startswith("1 request for etl is ahead: pid ") and "(first, " in sentences[3]
    assert len(sentences) == 5
    assert client_of(b).request("drain").startswith("ok ")  # which does not keep the other host's back
    assert "this host is being drained" not in told(client_of(b), key)[1]
    assert client_of(b).request("limit etl 1") == "ok"
    assert told(client_of(b), key)[1][-1] == "it can never start under the limit in force of etl"
    holder.close()
    until(lambda: told(client_of(b), key)[0].get("position") == "1")


def test_why_of_one_that_lacks_another_resource(pair):
    a, b = pair
    gets(client_of(b), "acquire door")
    lease = queues(client_of(a), "acquire etl door")
    said, sentences = told(client_of(b), key_of(b, lease, "door"))
    assert said["is"] == "waiting" and "it still needs door" in sentences
    assert " has waited for " in sentences[0] and "nobody" not in sentences[0]


def test_of_what_is_not_there(redis_server, pair):
    """Neither in a database that answers, nor in one that does not."""
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire etl")
    key = key_of(b, lease)
    assert client.request(f"release {lease}") == "ok"
    until(lambda: refusal(b, f"why {key}") == ("unknown",
        f"{key}: no held or waiting lease; for one that has ended, on {os.uname().nodename}: "
        f"berthctl history --lease {lease}"))
    assert refusal(b, f"why lease={NOBODY}") == (
        "unknown", f"{NOBODY}: no held or waiting lease, and its host is not known any more")
    assert refused(client_of(b), "why lease=0123456789abcdef/") == "bad-value"
    own = f"{key.split('/')[0]}/{lease}"
    assert refusal(a, f"why {own}")[1].endswith(f"berthctl history --lease {own}")
    redis_server.stop()
    until(lambda: refusal(b, f"why {key}")[0] == "down")


def test_an_id_of_another_host_without_its_session(pair):
    """How it is written is said wherever a lease is asked for and not found."""
    a, b = pair
    lease = gets(client_of(a), "acquire etl")
    for request in f"revoke {lease}", f"drop {lease}", f"renew {lease}", f"move {lease} first":
        assert refusal(b, request) == ("lost", "no such lease: it has ended, or the id is wrong; "
                                       "a lease of another host is SESSION/LEASE: berthctl status")
    assert refusal(b, f"revoke {NOBODY}") == ("lost", "no such lease: it has ended, or the id is wrong")


def test_what_this_hosts_file_does_not_have(redis_server, hosts):
    a, = fleet(redis_server, hosts, 1)
    b, = up(redis_server, *hosts("[semaphore etl]\nscope = fleet\nlimit = 2\n", 1, redis_section(redis_server.url)))
    both, other = (gets(client_of(a), f"acquire {names}") for names in ("etl gpus", "door"))
    key = key_of(b, both)
    sentences = told(client_of(b), key)[1]
    assert " has held slot 0 of etl for " in sentences[0] and "gpus" not in sentences[0]
    assert "this host's file does not have 1 of its resources" in sentences
    unseen = f"{key.split('/')[0]}/{other}"
    assert refusal(b, f"why {unseen}") == ("kind", f"{unseen}: this host's file has none of its resources")


@needs_root
def test_why_hides_what_status_hides(redis_server, hosts):
    a, b = fleet(redis_server, hosts, 2, RESOURCES.replace("[semaphore etl]", "[semaphore etl]\nshow-commands = owner"))
    lease = gets(client_of(a), "acquire etl:2 holder=secret-a program=secret-b reason=secret-c")
    waiter = queues(client_of(a), "acquire etl holder=secret-d program=secret-e")
    for one, n_seen in ((lease, 3), (waiter, 2)):
        key = key_of(b, one)
        assert sum(" ".join(told(client_of(b), key)[1][:1]).count(f"secret-{c}") for c in "abcde") == n_seen
        assert "secret" not in " ".join(told(client_of(b, 1000), key)[1])


# ---- history ----

def test_whose_history_has_it(redis_server, pair):
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire etl")
    key, here = key_of(b, lease), os.uname().nodename
    assert client_of(b).lines(f"history lease={key}")[1:] == ["end"]  # nothing has ended
    assert b.berthctl("history", "--lease", key).stdout == f"{key} is still held: berthctl why {key}\n"
    assert a.berthctl("history", "--lease", key).stdout == f"{key} is still held: berthctl why {key}\n"
    assert client.request(f"release {lease}") == "ok"
    until(lambda: refusal(b, f"history lease={key}") == (
        "unknown", f"{key}: the history of {here} has it: there, berthctl history --lease {lease}"))
    for word in (lease, key):  # at home
        _, ended, _ = client_of(a).lines(f"history lease={word}")
        assert ended.startswith(f"ended {lease} ")
    done = a.berthctl("history", "--lease", key)
    assert lease in done.stdout and done.returncode == 0
    done = b.berthctl("history", "--lease", key)
    assert key in done.stdout and done.returncode == 0  # by the database
    assert refusal(b, f"history lease={NOBODY}") == (
        "unknown", f"{NOBODY}: a lease of another host, which is not known any more")
    assert refused(client_of(b), "history lease=0123456789abcdef/") == "bad-value"
    redis_server.stop()
    until(lambda: refusal(b, f"history lease={key}")[0] == "down")


# ---- renew ----

def test_only_its_own_host_renews_it(pair):
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire etl ttl=60")
    key = key_of(b, lease)
    kind, why = refusal(b, f"renew {key} ttl=90")
    assert (kind, why) == ("kind", f"{key}: only its own host can renew it: on {os.uname().nodename}, berth renew {lease}")
    assert b.berth("renew", key).stderr == f"berth: {why} (kind)\n"
    assert a.berth("renew", key, "--ttl", "90").returncode == 0
    assert client.request(f"renew {key}").startswith(f"ok {lease} left=90000")
    assert client.request(f"release {lease}") == "ok"
    until(lambda: refusal(b, f"renew {key}")[0] == "lost")
    assert refused(client_of(b), f"renew {NOBODY}") == "lost"


# ---- wait ----

def test_wait_until_it_has_ended(redis_server, pair):
    """A lease of this host tells when; for one of another host, its database is asked again and again."""
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire etl")
    key = key_of(b, lease)
    assert refusal(b, f"wait lease={key}") == (
        "kind", f"{key}: only its database knows when it ends: ask why now and then")
    assert client.request(f"wait lease={key}") == "ok held=1"
    done = b.berthctl("wait", "--lease", key, "--timeout", "100ms")
    assert (done.returncode, done.stderr) == (75, "berthctl: timed out waiting (timeout)\n")
    waiting = [host.berthctl.start("wait", "--lease", word) for host, word in ((b, key), (a, key), (a, lease))]
    redis_server.stop()  # it may still be held
    assert b.berthctl("wait", "--lease", key, "--timeout", "100ms").returncode == 75
    redis_server.cont()
    assert [process.poll() for process in waiting] == [None] * 3
    assert client.request(f"release {lease}") == "ok"
    assert client.line() == "* idle"
    assert [process.wait(DEADLINE) for process in waiting] == [0] * 3
    assert [process.stderr.read() for process in waiting] == [b""] * 3


def test_what_wait_takes(pair):
    a, _ = pair
    for words in ((), ("etl", "--lease", NOBODY)):
        done = a.berthctl("wait", *words)
        assert done.returncode == 64 and done.stderr.startswith("berthctl: usage: berthctl wait NAME... [--timeout")
    for word in ("x/1", "A"):
        done = a.berthctl("wait", "--lease", word)
        assert done.returncode == 64 and done.stderr.endswith("(bad-value)\n"), done
    assert a.berthctl("wait", "--lease", NOBODY).returncode == 0


# ---- on a terminal ----

@needs_tmux
def test_ids_are_whole_in_80_columns(pair):
    """And of all that is proposed there, each command works on this host."""
    a, b = pair
    client = client_of(a)
    lease = gets(client, f"acquire etl:2 holder=nightly-import program=load-it reason=customers pid={os.getpid()}")
    other = queues(client_of(b), "acquire etl door holder=second program=late reason=as%20well")
    ending = client_of(b)
    ended = gets(ending, "acquire gpus:2 holder=a-long-identity program=train-it reason=models")
    assert client_of(a).request(f"revoke {key_of(a, ended, 'gpus')} reason=in%20the%20way%20of%20others") == "ok"
    assert ending.line().startswith(f"* revoked {ended} ") and ending.request(f"release {ended}") == "ok"
    key, session = key_of(b, lease), key_of(a, other).split("/")[0]
    screen = Screen(b.berthctl, 80, 40)
    try:
        program = b.berthctl.path
        for words, wanted in (("status", (key, other)), ("hosts", (session, key.split("/")[0])), ("history", (ended,))):
            screen.do(f"clear; {program} {words}")
            screen.see(*(re.compile(rf"(^|\s){word}(\s|$)") for word in wanted))
        screen.do(f"clear; {program} stats")
        lines = screen.see("SHARE", "gpus")
        assert all(line == "" or len(line) <= 80 for line in lines)
        assert sum("SHARE" in line or "USE" in line for line in lines) == 2  # each title in one line
        screen.do(f"clear; {program} top")
        screen.see("2 of 4 resources busy, 1 held, 1 waiting", "nightly")
        while key not in screen.text():
            screen.press("Down", "d")
            screen.see("Details of ")
            if key not in screen.text():
                screen.press("q")
        screen.press("w")
        screen.see(f"lease {key} of nightly-import, pid ", f"berthctl why {lease} says what")
    finally:
        screen.end()

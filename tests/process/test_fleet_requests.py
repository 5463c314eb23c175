"""What berthd answers where a database gives the units out: pending, places, deadlines, and reasons
to refuse; and what it still knows after a restart."""

import contextlib
import os
import re
import signal
import subprocess
import time
import urllib.parse

import pytest

from conftest import BUILD
from fleet_help import clock, end_grace, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from fleet_ops_help import client_of, without_deadlines
from journal_file import records, rewrite
from lines import DEADLINE, until

pytestmark = needs_redis

TTL = 6.0
RESOURCES = """[semaphore a]
limit = 1
scope = fleet
kill-after = 1s
[semaphore w]
limit = 1
scope = fleet
on-lost = warn
[pool g]
items = x y z
scope = fleet
cooldown = 1s
[semaphore here]
limit = 1
"""


def sections(server, **more):
    return redis_section(server.url, failover_lag="0", **more)


@pytest.fixture
def host(redis_server, hosts):
    (made,) = hosts(RESOURCES, 1, sections(redis_server))
    end_grace(redis_server)
    return made


def text_of(line):
    return urllib.parse.unquote(line.split()[-1])


def pending(client, request, word="acquire"):
    """The lease; its database is being asked now."""
    answer = client.request(f"{word} {request}")
    assert re.fullmatch(r"pending \w+( proof=\w{16})?", answer), answer
    return answer.split()[1]


def held(client, ask):
    """(lease, TOKEN, the whole event) of a granted one."""
    lease = pending(client, ask)
    line = client.line()
    assert line.startswith(f"* granted {lease} "), line
    return lease, int(re.search(r"=[^, ]+,(\d+),", line).group(1)), line


def good_until(line, lease):
    words = line.split()
    assert words[:3] == ["*", "deadline", lease] and words[4].startswith("stop="), line
    return int(words[3]), int(words[4][5:])


def boottime():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


# ---- answers


def test_pending_then_granted(host):
    client, other = host.client(), host.client()
    lease, token, line = held(client, f"a pid={os.getpid()}")
    assert re.fullmatch(rf"\* granted {lease} slot=a,{token},0 kill_after=1000ms on_lost=kill proof=\w{{16}},{token}", line)
    assert token > 0
    first, stop = good_until(client.line(), lease)
    assert first - stop == 2 * 10**9  # kill-after and a margin of a second
    assert 0 < first - boottime() < TTL * 10**9
    waiting = pending(other, "a")
    assert other.line() == f"* waiting {waiting} position=1"
    # Each renewal prolongs it.
    for _ in range(2):
        later, stop = good_until(client.line(), lease)
        assert later > first and later - stop == 2 * 10**9
        first = later
    assert other.request("ping") == "ok"  # waiters get no deadline
    assert without_deadlines(client).request(f"release {lease}") == "ok"


def test_places_and_the_next_one(host):
    client = client_of(host)
    lease, _, line = held(client, "g:2 a")
    assert re.fullmatch(rf"\* granted {lease} item=g,\d+,\w,\w slot=a,\d+,0", line), line
    assert client.request(f"release {lease}") == "ok"
    first, token, _ = held(client, "a")
    lease = pending(client, "a wait=0")
    line = client.line()
    assert line.startswith(f"* denied {lease} would-wait "), line
    assert text_of(line) == "a: not free now"
    assert client.request(f"release {lease}") == "ok"
    second_client, third_client = client_of(host), client_of(host)
    second = pending(second_client, "a")
    assert second_client.line() == f"* waiting {second} position=1"
    third = pending(third_client, "a")
    assert third_client.line() == f"* waiting {third} position=2"
    assert client.request(f"release {first}") == "ok"
    assert second_client.line().startswith(f"* granted {second} ")
    assert second_client.request(f"release {second}") == "ok"
    line = third_client.line()
    while line.startswith("* waiting"):  # nearer
        line = third_client.line()
    assert line.startswith(f"* granted {third} ") and int(line.split(",")[1]) > token


def test_an_acquire_is_repeated_on_another_connection(redis_server, host):
    """While the database is asked, while the lease waits there, and when it is held: the last
    connection has it, and the others may end."""
    holder, clients = client_of(host), [client_of(host) for _ in range(4)]
    holds, _, _ = held(holder, "a")
    redis_server.stop()
    lease = pending(clients[0], "a once=w")
    assert pending(clients[1], "a once=w") == lease
    clients[0].close()
    redis_server.cont()
    assert clients[1].line() == f"* waiting {lease} position=1"
    assert clients[2].request("acquire a once=w") == f"waiting {lease} position=1"
    clients[1].close()
    assert holder.request(f"release {holds}") == "ok"
    granted = clients[2].line()
    assert granted.startswith(f"* granted {lease} ")
    answer = clients[3].request("acquire a once=w")
    assert answer == granted.replace("* granted", "ok")
    clients[2].close()
    assert clients[3].request(f"renew {lease}").startswith(f"ok {lease}")


def test_a_tree_is_shown_with_the_pid_that_keeps_it(host):
    with a_job() as main, a_job() as wrapper:
        lease, _, _ = held(client_of(host), f"a pid={main.pid} wrapper={wrapper.pid}")
        assert shown_pid(host, lease) == main.pid
        main.kill()
        main.wait()
        assert shown_pid(host, lease) == wrapper.pid


def shown_pid(host, lease):
    line, = [line for line in client_of(host).lines("status a") if line.startswith(f"holder {lease} ")]
    return int(re.search(r" pid=(\d+) ", line).group(1))


def test_mixed(redis_server, hosts):
    text = RESOURCES + "[semaphore b]\nlimit = 1\nscope = fleet\nredis = other\n"
    (host,) = hosts(text, 1, sections(redis_server) + sections(redis_server, name="other", prefix="other"))
    client = client_of(host)
    for ask, about, why in (
            ("a here", "here", "it has host scope, and a has fleet scope"),
            ("here a", "a", "it has fleet scope, and here has host scope"),
            ("a b", "b", "it is in a different database from a")):
        answer = client.request(f"acquire {ask}")
        assert answer.startswith("error mixed "), answer
        assert text_of(answer) == f"{about}: {why}: request them separately"


def test_grace_of_a_new_database(redis_server, hosts):
    (host,) = hosts(RESOURCES, 1, sections(redis_server))
    client = client_of(host)
    lease = pending(client, "a wait=0")
    line = client.line()
    assert line.startswith(f"* denied {lease} grace "), line
    assert re.fullmatch(
        rf"a: the database `default` \(unix:{redis_server.socket}\) is new, and grants nothing for another "
        r"\d+s, as hosts may hold leases from before "
        r"\(if it never held anything: berthctl found default\)", text_of(line)), line


def test_down(redis_server, host):
    client = client_of(host)
    redis_server.kill()
    where = f"a: the database `default` (unix:{redis_server.socket}) cannot be reached: "
    answer = client.request("acquire a")
    if answer.startswith("pending"):  # for a second it may come back
        answer = client.line()
        assert answer.startswith("* denied "), answer
    assert " down " in answer and text_of(answer).startswith(where), answer
    assert len(text_of(answer)) > len(where)
    answer = client.request("acquire a wait=0")
    assert answer.startswith("error down ") and text_of(answer).startswith(where), answer
    assert client.request("acquire here").startswith("ok ")
    redis_server.start()
    end_grace(redis_server)
    assert ask_until_it_is_back(client, "a").startswith("* granted ")


def ask_until_it_is_back(client, name):
    """The answer to the first one that is not refused."""
    def is_back():
        answer = client.request(f"acquire {name}")
        assert answer.startswith(("pending ", "error down ")), answer
        return answer.startswith("pending ")
    until(is_back)
    return client.line()


# ---- deadlines


def test_the_database_is_down_for_too_long(redis_server, host):
    client, warned = host.client(), client_of(host)
    lease, _, _ = held(client, "a")
    only_notified, _, _ = held(warned, "w")
    redis_server.stop()
    why = f"a: the database `default` (unix:{redis_server.socket}) could not be reached in time"
    last = 0
    line = client.line()
    while line.startswith("* deadline"):
        _, last = good_until(line, lease)
        line = client.line()
    assert line.startswith(f"* expired {lease} deadline "), line
    assert text_of(line).startswith(why), line
    assert abs(boottime() - last) < 10**9  # when it was told it would have to stop
    assert client.request(f"release {lease}") == "ok"
    line = warned.line()
    assert line.startswith(f"* lost {only_notified} deadline "), line
    redis_server.cont()
    assert ask_until_it_is_back(client_of(host), "w").startswith("* granted ")


# ---- restarts


def journal_records(host):
    return re.findall(rb"(?:held|waiting) id=[ -~]*", host.journal.read_bytes())


def record_of(host, lease):
    records = [record.decode() for record in journal_records(host) if f"id={lease} ".encode() in record]
    assert len(records) == 1, records
    return records[0]


def test_pending_is_written_before_it_is_said(redis_server, host):
    redis_server.stop()
    client = client_of(host)
    lease = pending(client, "a holder=me")
    record = record_of(host, lease)
    assert record.startswith("waiting ") and " database=default " in record and "ticket=" not in record
    assert " now=1 " in record_of(host, pending(client, "g wait=0"))
    redis_server.cont()
    line = client.line()
    while f" {lease} " not in line:
        line = client.line()
    assert line.startswith(f"* granted {lease} ")
    record = record_of(host, lease)
    assert record.startswith("held ") and " database=default ticket=" in record


def listed(server):
    """The leases that the database knows."""
    return [key.split("/")[1] for key in server.members("leases")]


def sessions(server):
    """Without their counters."""
    return {name: text for name, text in server.do("HGETALL", "{berth}:session").items()
            if ":" not in name and name != "~"}


def comes_back(client, line, place):
    """It is told its place at once or, if the listing is not over, by an event."""
    answer = client.request(line)
    if answer.startswith("pending "):
        answer = client.line()[len("* "):]
    assert answer.startswith(f"waiting {place}"), answer


def test_berthd_dies(redis_server, host):
    """Holders hold, waiters wait in their old places; nothing is granted twice."""
    client, waiter, behind = (client_of(host) for _ in range(3))
    lease, token, _ = held(client, f"a pid={os.getpid()}")
    second = pending(waiter, "a")
    assert waiter.line() == f"* waiting {second} position=1"
    third = pending(behind, "a")
    assert behind.line() == f"* waiting {third} position=2"
    before = sessions(redis_server)
    host.restart()
    client, waiter, behind = host.client(), client_of(host), client_of(host)
    comes_back(behind, f"reclaim {third} a:1", f"{third} position=2")
    comes_back(waiter, f"reclaim {second} a:1", f"{second} position=1")
    answer = client.request(f"reclaim {lease} a:1:0")
    assert answer.startswith(f"ok {lease} slot=a,{token},0 "), answer
    good_until(client.line(), lease)
    good_until(client.line(), lease)  # a renewal: the listing is over
    (session, after), = sessions(redis_server).items()
    assert [session] == list(before)
    assert int(after.split()[1]) > int(before[session].split()[1])  # its incarnation
    assert without_deadlines(client).request(f"release {lease}") == "ok"
    line = waiter.line()
    assert line.startswith(f"* granted {second} slot=a,"), line
    assert int(line.split(",")[1]) > token
    assert waiter.request(f"release {second}") == "ok"
    assert behind.line().startswith(f"* granted {third} slot=a,")


def test_a_client_that_did_not_come_back(redis_server, host):
    client, waiter = client_of(host), client_of(host)
    held(client, "a")
    lease = pending(waiter, "a")
    assert waiter.line() == f"* waiting {lease} position=1"
    host.kill()
    host.configure(sections(redis_server).join(["grace = 1s\n", RESOURCES]))
    host.start()
    other = client_of(host)
    lease = pending(other, "a")  # after the others, until they are given up
    line = other.line()
    while line.startswith("* waiting"):
        line = other.line()
    assert line.startswith(f"* granted {lease} ")



@contextlib.contextmanager
def a_job():
    job = subprocess.Popen(["sleep", "1000"])
    try:
        yield job
    finally:
        job.kill()
        job.wait()


def test_the_journal_is_lost(redis_server, host):
    """The journal has the session: without it, leases are reclaimed with what the clients know, and
    those that are not are dropped at the end of the grace."""
    with a_job() as job:
        client, other = client_of(host), client_of(host)
        lease = pending(client, f"a pid={job.pid}")
        granted = client.line()
        assert granted.startswith(f"* granted {lease} ")
        proof = granted.split()[-1]
        gone, _, _ = held(other, f"w pid={job.pid}")
        before = sessions(redis_server)
        host.kill()
        host.journal.unlink()
        host.configure(sections(redis_server).join(["grace = 4s\n", RESOURCES]))
        host.start()
        until(lambda: sessions(redis_server) != before)
        clock = int(redis_server.do("HGET", "{berth}:db", "clock"))
        until(lambda: int(redis_server.do("HGET", "{berth}:db", "clock")) > clock + 500)  # a renewal
        client = client_of(host)
        answer = client.request(f"reclaim {lease} a:1:0 pid={job.pid} {proof}")
        assert re.match(rf"ok {lease} slot=a,\d+,0 ", answer), answer
        assert gone in listed(redis_server)  # as long as it may be reclaimed
        until(lambda: gone not in listed(redis_server))
        assert lease in listed(redis_server)
        assert list(sessions(redis_server)) == list(before)
        assert " slot=a,0," not in record_of(host, lease)  # its token is the database's
        waiter = client_of(host)
        second = pending(waiter, "a")
        assert waiter.line() == f"* waiting {second} position=1"


def starts(host):
    """Whether it does, and its messages."""
    said = host.log.stat().st_size
    reading, writing = os.pipe()
    process = subprocess.Popen([BUILD / "berthd", "-c", host.config, "--ready-fd", str(writing)],
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=[writing],
                               env={**os.environ, "STATE_DIRECTORY": str(host.state)})
    os.close(writing)
    with open(reading, "rb") as ready:
        has_started = ready.read(1) != b""  # nothing: it has ended
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=DEADLINE)
    assert host.log.stat().st_size == said
    return has_started, err.decode()


def test_a_deadline_outlives_berthd(redis_server, host):
    """Redis is away, and berthd is restarted meanwhile: the job still ends in time."""
    with a_job() as job:
        client = host.client()
        lease, _, _ = held(client, f"a pid={job.pid}")
        good_until(client.line(), lease)
        redis_server.stop()
        host.kill()
        last = [good_until(line, lease)[0] for line in iter(client.line, "")][-1:]
        host.start()
        assert job.wait(DEADLINE) == -signal.SIGTERM
        if last:
            assert boottime() < last[0]


def test_what_a_damaged_journal_does_not_say(redis_server, host):
    """Until when its leases are good: without that, they are good no longer."""
    with a_job() as job:
        lease, _, _ = held(client_of(host), f"a pid={job.pid}")
        redis_server.stop()
        host.kill()
        was = host.journal.read_bytes()
        assert was.count(b"database default until=") == 1
        host.journal.write_bytes(was.replace(b"database default until=", b"database default until-"))
        host.start()
        now = time.monotonic()
        assert job.wait(DEADLINE) in (-signal.SIGTERM, -signal.SIGKILL)
        assert time.monotonic() - now < 3  # they would be good for 5
        assert "does not say until when the leases of [redis default] are valid" in host.log.read_text()


def tenure(host):
    record, = [record for record in records(host.journal) if record.startswith("database ")]
    return record


def add_to_tenure(host, words):
    host.kill()
    rewrite(host.journal,
            lambda record: f"{record} {words}" if record.startswith("database ") else record)


def test_what_a_later_version_says_of_a_database_is_kept(host):
    """However often its record is written again, and unchanged."""
    with a_job() as job:
        lease, _, _ = held(client_of(host), f"a pid={job.pid}")
        for _ in range(2):
            before = tenure(host)
            if "color=" not in before:
                add_to_tenure(host, "color=red shape=round")
                host.start()
            until(lambda: tenure(host).split()[2] != before.split()[2], "it is not renewed")  # until=
            assert tenure(host).endswith(" color=red shape=round")
            host.kill()
            host.start()
        assert client_of(host).request(f"release {lease}") == "ok"


def test_what_must_not_be_ignored_of_a_database(host):
    """berthd does not start, and changes nothing."""
    held(client_of(host), "a")
    add_to_tenure(host, "!color=red")
    later = host.journal.read_bytes()
    with pytest.raises(pytest.fail.Exception, match="a later version of berthd has written it"):
        host.start()
    assert host.journal.read_bytes() == later


@pytest.mark.parametrize("is_held", [True, False])
def test_its_database_is_gone_from_the_file(redis_server, host, is_held):
    with a_job() as job:
        if not is_held:
            held(client_of(host), "a")  # goes with its connection and the grace
            lease = pending(client_of(host), f"a pid={job.pid}")
        else:
            lease, _, _ = held(client_of(host), f"a pid={job.pid}")
        host.kill()
        if not is_held:  # the holder's record goes by itself only after a grace
            redis_server.stop()  # nor does it grant what is freed
            host.start()
            assert client_of(host).request("drop " + record_id(host, "held")) == "ok"
            host.kill()
            redis_server.cont()
        host.configure(sections(redis_server, name="other") +
                       RESOURCES.replace("scope = fleet", "scope = fleet\nredis = other"))
        started, said = starts(host)
        assert started != is_held
        if is_held:
            assert "a is in use" in said and "[redis default], is not there any more" in said, said
            host.configure(sections(redis_server) + RESOURCES)
            host.start()
            answer = client_of(host).request(f"reclaim {lease} a:1:0")
            assert answer.startswith(f"ok {lease} "), answer
        else:
            assert f"lease {lease} (a) is not restored: its database is no longer in the file" in said, said


def record_id(host, state):
    return re.search(rf"{state} id=(\w+)".encode(), b"\n".join(journal_records(host))).group(1).decode()


def test_operators_changes_outlive_the_data(redis_server, host):
    client = client_of(host)
    assert client.request("pause a reason=broken") == "ok"
    until(lambda: b"\nfleet default a " in b"".join(path.read_bytes() for path in host.state.glob("*.state")))
    host.stop()
    redis_server.do("FLUSHALL")
    host.start()
    end_grace(redis_server)
    client = client_of(host)
    lease = pending(client, "a wait=0")
    assert client.line().startswith(f"* denied {lease} paused ")

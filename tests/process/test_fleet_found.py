"""What an adversary has found in fleet scope, each with the way it was found."""

import contextlib
import os
import re
import shutil
import time

import pytest

from daemon_help import connect_as, needs_root
from fleet_help import clock, end_grace, hosts, needs_redis, redis_section, redis_server, ways  # noqa: F401
from lines import DEADLINE, Client, until

pytestmark = needs_redis


def section(server, ttl="6s", **more):
    url = server if isinstance(server, str) else server.url
    return redis_section(url, ttl, failover_lag="0", **more)


def semaphore(name="s", limit=1, more=""):
    return f"[semaphore {name}]\nlimit = {limit}\nscope = fleet\nkill-after = 500ms\n{more}"


def reload(host, text):
    host.configure(text)
    ended = host.berthctl("reload")
    assert ended.returncode == 0, ended.stderr


def event(client, *but):
    """The next line, skipping deadlines and what was skipped on purpose."""
    end = time.monotonic() + DEADLINE
    while True:
        line = client.line()
        assert line and time.monotonic() < end, line
        if not line.startswith(("* deadline ", *but)):
            return line


def ask(client, request):
    """The lease, and the database's answer."""
    client.send(f"acquire {request}\n")
    line = event(client)
    assert line.startswith("pending "), line
    return line.split()[1], event(client)


def held(client, request):
    lease, line = ask(client, request)
    assert line.startswith(f"* granted {lease} "), line
    return lease


def waits(client, request):
    lease, line = ask(client, request)
    assert line.startswith(f"* waiting {lease} "), line
    return lease


def is_granted(client, lease):
    line = event(client, f"* waiting {lease} ")
    assert line.startswith(f"* granted {lease} "), line
    return line


def release(client, lease):
    client.send(f"release {lease}\n")
    assert event(client) == "ok"


def token_of(line):
    return int(re.search(r"=[^, ]+,(\d+),", line).group(1))


def is_up(host):
    with contextlib.closing(Client(host.socket)) as client:
        return "state=up" in "\n".join(client.lines("status"))


# ---- an identity that changes hands while somebody releases it


def last_calls(server):
    """Their numbers, one for each session."""
    return [text.split()[4] for text in server.do("HGETALL", "{berth}:session").values() if " " in text]


@needs_root
def test_a_shared_identity_that_another_user_has_by_then(redis_server, hosts, ways):
    """A user releases an identity of their own; what another user has got by the time of the answer stays theirs."""
    anna_uid, bob_uid = 61001, 61002
    way = ways(redis_server)
    urls = [redis_server.url, way.url]
    a, b = hosts(semaphore(more="identity = shared\n"), 2, lambda n: section(urls[n], ttl="30s"))
    for directory in (a.directory, b.directory, redis_server.directory.parent):
        directory.chmod(0o777)
    end_grace(redis_server)
    until(lambda: is_up(a) and is_up(b), "they are not up")
    anna, bob, anna_at_b = connect_as(a, anna_uid), connect_as(a, bob_uid), connect_as(b, anna_uid)
    lease = held(anna, "s holder=x")
    before = last_calls(redis_server)
    way.reply_after(0.6)
    anna_at_b.send("release s holder=x\n")
    until(lambda: last_calls(redis_server) != before, "the request does not reach the database")
    anna.send(f"release {lease}\n")
    bobs = held(bob, "s holder=x")
    assert anna_at_b.line() == "ok"
    assert f"holder {bobs} " in "\n".join(bob.lines("status s"))


# ---- a database that is left out of the file


def test_a_database_that_has_leases_is_not_left_out(redis_server, hosts):
    """The next start would be refused: so the reload is refused too, and says why."""
    a, = hosts(semaphore(), 1, section(redis_server))
    end_grace(redis_server)
    client = a.client()
    lease = held(client, "s")
    a.configure("[lock l]\n")
    ended = a.berthctl("reload")
    assert ended.returncode == 78 and "[redis default]: has leases" in ended.stderr
    client.send("acquire l wait=0\n")
    assert event(client).startswith("error unknown ")
    release(client, lease)
    ended = a.berthctl("reload")
    assert ended.returncode == 0, ended.stderr
    client.send("acquire l wait=0\n")
    assert event(client).startswith("ok ")


# ---- what waiters wait for changes


def test_a_raised_limit_reaches_waiters(redis_server, hosts):
    a, b = hosts(semaphore(limit=1), 2, section(redis_server, generation=1))
    end_grace(redis_server)
    one, two = a.client(), b.client()
    held(one, "s")
    lease = waits(two, "s")
    for host in (a, b):
        reload(host, section(redis_server, generation=2) + semaphore(limit=2))
    is_granted(two, lease)


@pytest.mark.parametrize("quota", ["", "max-units-per-user = 2\n"], ids=["lifted", "raised"])
def test_a_quota_that_goes_wakes_those_who_stood_aside_for_it(redis_server, hosts, quota):
    (a,) = hosts(semaphore(limit=3, more="max-units-per-user = 1\n"), 1, section(redis_server, generation=1))
    end_grace(redis_server)
    client = a.client()
    held(client, "s")
    lease, line = ask(client, "s")
    assert line.startswith("* waiting "), line
    reload(a, section(redis_server, generation=2) + semaphore(limit=3, more=quota))
    is_granted(client, lease)


def test_a_quota_counts_what_was_held_before_it(redis_server, hosts):
    (a,) = hosts(semaphore(limit=5), 1, section(redis_server, generation=1))
    end_grace(redis_server)
    client = a.client()
    held(client, "s:2")
    reload(a, section(redis_server, generation=2) + semaphore(limit=5, more="max-units-per-user = 2\n"))
    until(lambda: '"max-units-per-user":2' in redis_server.do("HGET", "{berth}:definitions", "s"), "not defined")
    assert ask(client, "s")[1].startswith("* waiting ")


def test_the_kind_of_what_is_in_use_stays(redis_server, hosts):
    """A slot of the semaphore was not found again among a pool's items, and stayed taken for ever."""
    (a,) = hosts(semaphore(limit=2), 1, section(redis_server, generation=1))
    end_grace(redis_server)
    client = a.client()
    lease = held(client, "s")
    (b,) = hosts("[pool s]\nitems = x y\nscope = fleet\nkill-after = 500ms\n", 1, section(redis_server, generation=2))
    until(lambda: is_up(b), "b has no database")
    other = b.client()
    answer = other.request("acquire s")
    if answer.startswith("pending "):
        answer = event(other)
    assert " differs " in answer, answer
    release(client, lease)
    until(lambda: not redis_server.members("held"), "a unit has leaked")


def test_the_newer_kind_holds_once_nobody_uses_the_older(redis_server, hosts):
    (a,) = hosts(semaphore(limit=2), 1, section(redis_server, generation=1))
    end_grace(redis_server)
    client = a.client()
    lease = held(client, "s")
    pool = "[pool s]\nitems = x y\nscope = fleet\nkill-after = 500ms\n"
    (b,) = hosts(pool, 1, section(redis_server, generation=2))
    until(lambda: is_up(b), "b has no database")
    release(client, lease)
    reload(b, section(redis_server, generation=2) + pool)
    until(lambda: b.berth("run", "-n", "s", "--", "true").returncode == 0, "b is refused for ever")


# ---- for how long leases are good


def database(server, field):
    return int(server.do("HGET", "{berth}:db", field) or 0)


def incarnation(server):
    """Of the only session."""
    (session,) = server.members("sessions")
    return server.do("HGET", "{berth}:session", session).split()[1]


def test_the_grace_lasts_for_the_longest_ttl_that_was_in_use(redis_server, hosts):
    (b,) = hosts(semaphore(), 1, section(redis_server, ttl="30s"))
    end_grace(redis_server)
    (a,) = hosts(semaphore(), 1, section(redis_server, ttl="6s"))
    until(lambda: is_up(a), "a has no database")
    b.kill()  # it must be cut off first: it has leases that are good for 30 s
    redis_server.do("FLUSHALL")
    until(lambda: database(redis_server, "grace"), "nobody has come back")
    assert database(redis_server, "grace") - database(redis_server, "clock") > 20000


def test_a_session_never_ends_sooner_than_was_promised(redis_server, hosts):
    (a,) = hosts(semaphore(), 1, section(redis_server, ttl="30s"))
    end_grace(redis_server)
    held(a.client(), "s")
    (session, promised), _ = redis_server.client().zrange("{berth}:sessions", 0, -1, withscores=True)
    a.kill()
    a.configure(section(redis_server, ttl="6s") + semaphore())
    a.start()
    until(lambda: database(redis_server, "ttl") == 6000, "the ttl stays")
    assert float(redis_server.do("ZSCORE", "{berth}:sessions", session)) >= promised


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to have a host name of its own")
def test_a_new_name_of_the_host_is_no_new_daemon(redis_server, hosts):
    (a,) = hosts(semaphore(), 1, section(redis_server))
    end_grace(redis_server)
    job = a.berth.start("run", "s", "--", "sh", "-c", "echo runs; exec sleep 1000")
    assert job.stdout.readline() == b"runs\n"
    before = redis_server.members("leases")
    a.kill()
    a.before = ["unshare", "--uts", "sh", "-c", 'hostname renamed && exec "$@"', "sh"]
    a.start()
    until(lambda: is_up(a), "it does not come back")
    assert redis_server.members("leases") == before
    assert job.poll() is None


def test_leases_outlive_a_link_that_breaks_at_maxmemory(redis_server, hosts):
    (a,) = hosts(semaphore(), 1, section(redis_server))
    end_grace(redis_server)
    held(a.client(), "s")
    redis_server.do("CONFIG", "SET", "maxmemory", "1")
    before = incarnation(redis_server)
    redis_server.do("CLIENT", "KILL", "TYPE", "normal")
    until(lambda: incarnation(redis_server) != before and is_up(a), "it is not taken back")
    assert len(redis_server.members("held")) == 1


@pytest.mark.parametrize("word", ("held", "leases", "sessions", "queue"))
def test_a_key_that_is_evicted_is_missed(redis_server, hosts, word):
    """Or deleted by hand. All put back what they have, in a grace."""
    a, b = hosts(semaphore(), 2, section(redis_server))
    end_grace(redis_server)
    holder, waiter = a.client(), b.client()
    first, second = held(holder, "s"), waits(waiter, "s")
    until(lambda: is_up(a) and is_up(b), "they are not up")
    redis_server.do("DEL", f"{{berth}}:{word}")
    until(lambda: len(redis_server.members("leases")) == 2, "they have not put back what they have")
    assert ask(a.client(), "s wait=0")[1].split()[3] == "grace"
    end_grace(redis_server)
    until(lambda: is_up(a) and is_up(b) and not redis_server.do("HEXISTS", "{berth}:db", "grace"), "the grace goes on")
    assert ask(a.client(), "s wait=0")[1].split()[3] == "would-wait"
    release(holder, first)
    is_granted(waiter, second)


def test_a_link_that_is_dropped_again_and_again_comes_back_soon(redis_server, hosts):
    """Each drop doubled the pause before the next try, although each try succeeded."""
    (a,) = hosts(semaphore(), 1, section(redis_server))
    end_grace(redis_server)
    client = a.client()
    lease = held(client, "s")
    took = []
    for _ in range(12):
        before, begun = incarnation(redis_server), time.monotonic()
        redis_server.do("CLIENT", "KILL", "TYPE", "normal")
        until(lambda: incarnation(redis_server) != before, "it does not come back")
        took.append(time.monotonic() - begun)
    assert min(took[-4:]) < 2  # half of what the pause would be by then; any one may be longer on a busy machine
    release(client, lease)


def test_old_data_of_the_same_server_begins_a_grace(redis_server, hosts):
    """As when Redis' machine goes back to a snapshot: run_id and everything else stay the same."""
    a, b = hosts(semaphore(), 2, section(redis_server))
    end_grace(redis_server)
    until(lambda: is_up(a) and is_up(b), "no database")
    redis_server.save(redis_server.directory / "old.rdb")
    one, two = a.client(), b.client()
    lease, line = ask(one, "s")
    first = token_of(line)
    shutil.copy(redis_server.directory / "old.rdb", redis_server.dump)
    redis_server.do("DEBUG", "RELOAD", "NOSAVE")
    until(lambda: redis_server.members("held"), "a's lease is not put back")
    waiting, line = ask(two, "s")
    assert line.startswith("* waiting "), line
    end_grace(redis_server)
    release(one, lease)
    assert token_of(is_granted(two, waiting)) > first


def test_old_data_is_noticed_whatever_others_are_granted(redis_server, hosts):
    """Others take the database further than the daemon that has lost its lease had seen it; what
    that daemon was answered is still missing."""
    a, b = hosts(semaphore(), 2, section(redis_server))
    end_grace(redis_server)
    until(lambda: is_up(a) and is_up(b), "no database")
    redis_server.save(redis_server.directory / "old.rdb")
    epoch = database(redis_server, "epoch")
    held(a.client(), "s")
    seen = database(redis_server, "sequence")
    shutil.copy(redis_server.directory / "old.rdb", redis_server.dump)
    redis_server.do("DEBUG", "RELOAD", "NOSAVE")
    client = b.client()
    while database(redis_server, "sequence") <= seen:
        ask(client, "s")
    until(lambda: database(redis_server, "epoch") > epoch, "nobody has noticed", timeout=10)


def test_old_data_with_broken_connections_begins_a_grace(redis_server, hosts):
    """As when Redis' machine goes back to a snapshot: all connections are reset, and the first call
    is a hello."""
    a, b = hosts(semaphore(), 2, section(redis_server))
    end_grace(redis_server)
    until(lambda: is_up(a) and is_up(b), "no database")
    redis_server.save(redis_server.directory / "old.rdb")
    epoch = database(redis_server, "epoch")
    held(a.client(), "s")
    shutil.copy(redis_server.directory / "old.rdb", redis_server.dump)
    with redis_server.client().pipeline(transaction=False) as pipe:
        pipe.execute_command("DEBUG", "RELOAD", "NOSAVE")
        pipe.execute_command("CLIENT", "KILL", "TYPE", "normal")
        pipe.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        pipe.execute()
    until(lambda: database(redis_server, "epoch") > epoch, "nobody has noticed", timeout=10)
    until(lambda: redis_server.members("held"), "a's lease is not put back")
    _, line = ask(b.client(), "s")
    assert line.startswith("* waiting "), line


def test_a_fleet_that_was_restarted_meanwhile_notices_old_data(redis_server, hosts):
    a, b = hosts(semaphore(), 2, section(redis_server))
    end_grace(redis_server)
    until(lambda: is_up(a) and is_up(b), "no database")
    redis_server.save(redis_server.directory / "old.rdb")
    epoch = database(redis_server, "epoch")
    job = a.berth.start("run", "s", "--", "sh", "-c", "echo runs; exec sleep 1000")
    assert job.stdout.readline() == b"runs\n"
    for host in (a, b):
        host.kill()
    shutil.copy(redis_server.directory / "old.rdb", redis_server.dump)
    redis_server.do("DEBUG", "RELOAD", "NOSAVE")
    for host in (a, b):
        host.start()
    until(lambda: database(redis_server, "epoch") > epoch, "nobody has noticed", timeout=10)
    until(lambda: redis_server.members("held"), "a's lease is not put back")
    assert job.poll() is None
    job.kill()


# ---- restarts


def test_a_reclaimed_job_goes_on_when_the_journal_is_lost(redis_server, hosts):
    """However long the host's grace is: the session lives in Redis, and with it the lease."""
    (a,) = hosts(semaphore(), 1, "grace = 6s\n" + section(redis_server))
    end_grace(redis_server)
    job = a.berth.start("run", "s", "--", "sh", "-c", "echo runs; exec sleep 1000")
    assert job.stdout.readline() == b"runs\n"
    a.kill()
    a.journal.unlink()
    a.start()
    until(lambda: is_up(a), "a is not back")
    assert job.poll() is None
    assert len(redis_server.members("held")) == 1


# ---- crashes, and ends


def test_an_instance_is_denied_and_forgotten_in_one_turn(redis_server, hosts):
    """The denial was about a resource that had been forgotten already (use after free)."""
    (a,) = hosts(semaphore("t/*"), 1, section(redis_server))
    end_grace(redis_server)
    until(lambda: is_up(a), "no database")
    redis_server.stop()
    try:
        client = a.client()
        leases = []
        for name in ("t/a", "t/b", "t/a"):
            line = client.request(f"acquire {name}")
            assert line.startswith("pending "), line
            leases.append((line.split()[1], name))
        for lease, name in leases:
            line = client.line()
            assert line.startswith(f"* denied {lease} down {name}:"), line
        assert client.request("ping") == "ok"
    finally:
        redis_server.cont()


def test_pipelined_requests_of_a_slow_reader_are_all_answered_soon(redis_server, hosts):
    """Requests to the database made while answers were flushed left only with the next renewal."""
    (a,) = hosts(semaphore(more="max-waiters = 1000\n"), 1, section(redis_server, "36s"))
    end_grace(redis_server)
    crowd, client = a.client(), a.client()
    crowd.send("acquire s reason=" + "x" * 100 + "\n")
    crowd.send(("acquire s reason=" + "x" * 100 + "\n") * 600)
    until(lambda: len(redis_server.members("queue")) == 600, "they do not wait")
    client.send("status s\n" * 12)
    begun = time.monotonic()
    for _ in range(12):
        while event(client) != "end":
            pass
    assert time.monotonic() - begun < 12 * 2  # a renewal comes every 6 s

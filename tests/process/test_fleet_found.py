"""What an adversary has found in fleet scope, each with the way it was found."""

import os
import re
import shutil
import time

import pytest

import fleet_ops_help
from daemon_help import needs_root, refused
from fleet_help import clock, end_grace, hosts, needs_redis, redis_section, redis_server, ways  # noqa: F401
from fleet_ops_help import asks, client_of, gets, queues, up
from lines import until
from lost_help import asked_until, lose_the_journal

pytestmark = needs_redis


def section(server, ttl="6s", **more):
    return redis_section(server.url, ttl, failover_lag="0", **more)


def fleet(server, hosts, n=1, text=None, **more):
    """Hosts that are up, of a database without a grace."""
    return fleet_ops_help.fleet(server, hosts, n, text or semaphore(), failover_lag="0", **more)


def semaphore(name="s", limit=1, more=""):
    return f"[semaphore {name}]\nlimit = {limit}\nscope = fleet\nkill-after = 500ms\n{more}"


POOL = "[pool s]\nitems = x y\nscope = fleet\nkill-after = 500ms\n"


def reload(host, text):
    host.configure(text)
    ended = host.berthctl("reload")
    assert ended.returncode == 0, ended.stderr


def is_granted(client, lease):
    """Waits for it; returns its token."""
    while (line := client.line()).startswith(f"* waiting {lease} "):
        pass
    assert line.startswith(f"* granted {lease} "), line
    return int(re.search(r"=[^, ]+,(\d+),", line).group(1))


def release(client, lease):
    assert client.request(f"release {lease}") == "ok"


def is_up(host):
    return asked_until(host, lambda now: now.databases["default"]["state"] == "up")


def running_job(host):
    job = host.berth.start("run", "s", "--", "sh", "-c", "echo runs; exec sleep 1000")
    assert job.stdout.readline() == b"runs\n"
    return job


# ---- an identity that changes hands while somebody releases it


def last_calls(server):
    """Their numbers, one for each session."""
    return [text.split()[4] for text in server.do("HGETALL", "{berth}:session").values() if "\t" in text]


@needs_root
def test_a_shared_identity_that_another_user_has_by_then(redis_server, hosts, ways):
    """A user releases an identity of their own; what another user has got by the time of the answer stays theirs."""
    anna_uid, bob_uid = 61001, 61002
    way = ways(redis_server)
    servers = [redis_server, way]
    a, b = hosts(semaphore(more="identity = shared\n"), 2, lambda n: section(servers[n], ttl="30s"))
    for directory in (a.directory, b.directory, redis_server.directory.parent):
        directory.chmod(0o777)
    up(redis_server, a, b)
    anna, bob, anna_at_b = client_of(a, anna_uid), client_of(a, bob_uid), client_of(b, anna_uid)
    lease = gets(anna, "acquire s holder=x")
    before = last_calls(redis_server)
    way.reply_after(0.6)
    anna_at_b.send("release s holder=x\n")
    until(lambda: last_calls(redis_server) != before, "the request does not reach the database")
    anna.send(f"release {lease}\n")
    bobs = gets(bob, "acquire s holder=x")
    assert anna_at_b.line() == "ok"
    assert f"holder {bobs} " in "\n".join(bob.lines("status s"))


# ---- a database that is left out of the file


def test_a_database_that_has_leases_is_not_left_out(redis_server, hosts):
    """The next start would be refused: so the reload is refused too, and says why."""
    a, = fleet(redis_server, hosts)
    client = client_of(a)
    lease = gets(client, "acquire s")
    a.configure("[lock l]\n")
    ended = a.berthctl("reload")
    assert ended.returncode == 78 and "[redis default]: has leases" in ended.stderr
    assert refused(client, "acquire l wait=0") == "unknown"
    release(client, lease)
    ended = a.berthctl("reload")
    assert ended.returncode == 0, ended.stderr
    gets(client, "acquire l wait=0")


# ---- what waiters wait for changes


def test_a_raised_limit_reaches_waiters(redis_server, hosts):
    a, b = fleet(redis_server, hosts, 2, generation=1)
    one, two = client_of(a), client_of(b)
    gets(one, "acquire s")
    lease = queues(two, "acquire s")
    for host in (a, b):
        reload(host, section(redis_server, generation=2) + semaphore(limit=2))
    is_granted(two, lease)


def test_a_quota_that_goes_wakes_those_who_stood_aside_for_it(redis_server, hosts):
    """It is raised, and then lifted; a new one counts what was held before it."""
    def text(quota):
        return semaphore(limit=5, more=quota and f"max-units-per-user = {quota}\n")

    a, = fleet(redis_server, hosts, text=text(1), generation=1)
    client = client_of(a)
    gets(client, "acquire s")
    for generation, quota in (2, 2), (3, ""):
        lease = queues(client, "acquire s")
        reload(a, section(redis_server, generation=generation) + text(quota))
        is_granted(client, lease)
    reload(a, section(redis_server, generation=4) + text(3))
    until(lambda: '"max-units-per-user":3' in redis_server.do("HGET", "{berth}:definitions", "s"), "not defined")
    queues(client, "acquire s")


def test_the_kind_of_what_is_in_use_stays(redis_server, hosts):
    """A slot of the semaphore was not found again among a pool's items, and stayed taken for ever. The newer
    kind holds once nobody uses the older."""
    a, = fleet(redis_server, hosts, text=semaphore(limit=2), generation=1)
    client = client_of(a)
    lease = gets(client, "acquire s")
    b, = fleet(redis_server, hosts, text=POOL, generation=2)
    other = client_of(b)
    answer = other.request("acquire s")
    if answer.startswith("pending "):
        answer = other.line()
    assert " differs " in answer, answer
    release(client, lease)
    until(lambda: not redis_server.members("held"), "a unit has leaked")
    reload(b, section(redis_server, generation=2) + POOL)
    until(lambda: b.berth("run", "-n", "s", "--", "true").returncode == 0, "b is refused for ever")


# ---- for how long leases are good


def database(server, field):
    return int(server.do("HGET", "{berth}:db", field) or 0)


def incarnation(server):
    """Of the only session."""
    (session,) = server.members("sessions")
    return server.do("HGET", "{berth}:session", session).split()[1]


def test_the_grace_lasts_for_the_longest_ttl_that_was_in_use(redis_server, hosts):
    b, = fleet(redis_server, hosts, ttl="30s")
    fleet(redis_server, hosts)
    b.kill()  # it must be cut off first: it has leases that are good for 30 s
    redis_server.do("FLUSHALL")
    until(lambda: database(redis_server, "grace"), "nobody has come back")
    assert database(redis_server, "grace") - database(redis_server, "clock") > 20000


def test_a_session_never_ends_sooner_than_was_promised(redis_server, hosts):
    a, = fleet(redis_server, hosts, ttl="30s")
    gets(client_of(a), "acquire s")
    (session, promised), _ = redis_server.client().zrange("{berth}:sessions", 0, -1, withscores=True)
    a.kill()
    a.configure(section(redis_server) + semaphore())
    a.start()
    until(lambda: database(redis_server, "ttl") == 6000, "the ttl stays")
    assert float(redis_server.do("ZSCORE", "{berth}:sessions", session)) >= promised


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to have a host name of its own")
def test_a_new_name_of_the_host_is_no_new_daemon(redis_server, hosts):
    a, = fleet(redis_server, hosts)
    job = running_job(a)
    before = redis_server.members("leases")
    a.kill()
    a.before = ["unshare", "--uts", "sh", "-c", 'hostname renamed && exec "$@"', "sh"]
    a.start()
    is_up(a)
    assert redis_server.members("leases") == before
    assert job.poll() is None


def test_leases_outlive_a_link_that_breaks_at_maxmemory(redis_server, hosts):
    a, = fleet(redis_server, hosts)
    gets(client_of(a), "acquire s")
    redis_server.do("CONFIG", "SET", "maxmemory", "1")
    before = incarnation(redis_server)
    redis_server.do("CLIENT", "KILL", "TYPE", "normal")
    until(lambda: incarnation(redis_server) != before, "it is not taken back")
    is_up(a)
    assert len(redis_server.members("held")) == 1


def test_a_key_that_is_evicted_is_missed(redis_server, hosts):
    """Or deleted by hand. All put back what they have, in a grace."""
    a, b = fleet(redis_server, hosts, 2)
    holder, waiter = client_of(a), client_of(b)
    first, second = gets(holder, "acquire s"), queues(waiter, "acquire s")
    for word in ("held", "leases", "sessions", "queue"):
        redis_server.do("DEL", f"{{berth}}:{word}")
        until(lambda: redis_server.do("HEXISTS", "{berth}:db", "grace"), f"nobody misses {word}")
        until(lambda: len(redis_server.members("leases")) == 2, f"{word}: they have not put back what they have")
        assert asks(client_of(a), "acquire s wait=0")[1].split()[2] == "grace", word
        up(redis_server, a, b)
        assert asks(client_of(a), "acquire s wait=0")[1].split()[2] == "would-wait", word
    release(holder, first)
    is_granted(waiter, second)


def test_a_link_that_is_dropped_again_and_again_comes_back_soon(redis_server, hosts):
    """Each drop doubled the pause before the next try, although each try succeeded."""
    a, = fleet(redis_server, hosts)
    client = client_of(a)
    lease = gets(client, "acquire s")
    took = []
    for _ in range(12):
        before, begun = incarnation(redis_server), time.monotonic()
        redis_server.do("CLIENT", "KILL", "TYPE", "normal")
        until(lambda: incarnation(redis_server) != before, "it does not come back")
        took.append(time.monotonic() - begun)
    assert min(took[-4:]) < 2  # half of what the pause would be by then; any one may be longer on a busy machine
    release(client, lease)


# ---- old data: Redis' machine goes back to a snapshot, and run_id and everything else stay the same


class Old:
    """The present data, and the number of the grace that it begins."""

    def __init__(self, server):
        self.server, self.epoch = server, database(server, "epoch")
        self.rdb = server.directory / "old.rdb"
        server.save(self.rdb)

    def comes_back(self, *more):
        """With `more` commands, at once."""
        shutil.copy(self.rdb, self.server.dump)
        with self.server.client().pipeline(transaction=False) as pipe:
            for command in (["DEBUG", "RELOAD", "NOSAVE"], *more):
                pipe.execute_command(*command)
            pipe.execute()

    def is_noticed(self):
        until(lambda: database(self.server, "epoch") > self.epoch, "nobody has noticed", timeout=10)


def test_old_data_of_the_same_server_begins_a_grace(redis_server, hosts):
    a, b = fleet(redis_server, hosts, 2)
    old = Old(redis_server)
    one, two = client_of(a), client_of(b)
    one.send("acquire s\n")
    lease = one.line().split(" ")[1]
    first = is_granted(one, lease)
    old.comes_back()
    until(lambda: redis_server.members("held"), "a's lease is not put back")
    waiting = queues(two, "acquire s")
    end_grace(redis_server)
    release(one, lease)
    assert is_granted(two, waiting) > first


def test_old_data_is_noticed_whatever_others_are_granted(redis_server, hosts):
    """Others take the database further than the daemon that has lost its lease had seen it; what
    that daemon was answered is still missing."""
    a, b = fleet(redis_server, hosts, 2)
    old = Old(redis_server)
    gets(client_of(a), "acquire s")
    seen = database(redis_server, "sequence")
    old.comes_back()
    client = client_of(b)
    while database(redis_server, "sequence") <= seen:
        asks(client, "acquire s")
    old.is_noticed()


def test_old_data_with_broken_connections_begins_a_grace(redis_server, hosts):
    """The first call is a hello."""
    a, b = fleet(redis_server, hosts, 2)
    old = Old(redis_server)
    gets(client_of(a), "acquire s")
    old.comes_back(["CLIENT", "KILL", "TYPE", "normal"], ["CLIENT", "KILL", "TYPE", "pubsub"])
    old.is_noticed()
    until(lambda: redis_server.members("held"), "a's lease is not put back")
    queues(client_of(b), "acquire s")


def test_a_fleet_that_was_restarted_meanwhile_notices_old_data(redis_server, hosts):
    a, b = fleet(redis_server, hosts, 2)
    old = Old(redis_server)
    job = running_job(a)
    for host in (a, b):
        host.kill()
    old.comes_back()
    for host in (a, b):
        host.start()
    old.is_noticed()
    until(lambda: redis_server.members("held"), "a's lease is not put back")
    assert job.poll() is None


# ---- restarts


def test_a_reclaimed_job_goes_on_when_the_journal_is_lost(redis_server, hosts):
    """However long the host's grace is: the session lives in Redis, and with it the lease."""
    a, = up(redis_server, *hosts(semaphore(), 1, "grace = 6s\n" + section(redis_server)))
    job = running_job(a)
    lose_the_journal(a)
    is_up(a)
    assert job.poll() is None
    assert len(redis_server.members("held")) == 1


# ---- crashes, and ends


def test_an_instance_is_denied_and_forgotten_in_one_turn(redis_server, hosts):
    """The denial was about a resource that had been forgotten already (use after free)."""
    a, = fleet(redis_server, hosts, text=semaphore("t/*"))
    redis_server.stop()
    try:
        client = client_of(a)
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
    a, = fleet(redis_server, hosts, text=semaphore(more="max-waiters = 1000\n"), ttl="36s")
    crowd, client = client_of(a), client_of(a)
    crowd.send(("acquire s reason=" + "x" * 100 + "\n") * 601)
    until(lambda: len(redis_server.members("queue")) == 600, "they do not wait")
    client.send("status s\n" * 12)
    begun = time.monotonic()
    for _ in range(12):
        while client.line() != "end":
            pass
    assert time.monotonic() - begun < 12 * 2  # a renewal comes every 6 s

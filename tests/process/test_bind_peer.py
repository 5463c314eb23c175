"""Leases of programs (bind=peer): they last as long as the process that has connected, whoever else
has its socket, and berthd tells that process, but never signals it."""

import json
import os
import signal

import pytest

from daemon_help import event, held, held_with_proof, is_quiet, keys, refused, shown, waits
from history_help import last
from lines import until
from lost_help import after_restart, all_free, asked_until, lose_the_journal, restart
from program_help import now, program, told  # a fixture among them

KILL_AFTER, MAX_HOLD = 0.6, 0.5
CONFIG = f"""grace = 2s
[lock a]
kill-after = {KILL_AFTER}s
[lock held]
kill-after = {KILL_AFTER}s
max-hold = {MAX_HOLD}s
[lock jobs]
programs = no
[lock warned]
on-lost = warn
"""


def bound(daemon, name="a"):
    """What the only holder is bound to, its process, and whether it has no connection."""
    holder, = shown(daemon.client(), name)["holders"]
    return holder["bound"], int(holder["pid"]), holder.get("away") == "1"


def is_away(name="a"):
    return lambda shown: shown.resources[name]["holders"][0].get("away") == "1"


# ---- what ends it


def test_a_child_keeps_no_lease_of_a_dead_parent(daemon, program):
    """The child reads the end of the connection, whose waiting requests leave their queues."""
    for how in ("held", "waits"):
        one, other = program(), program()
        client = one.connect()
        if how == "held":
            answer = client.request("acquire a bind=peer")
            assert keys(answer.split())["bound"] == "program"
            assert bound(daemon) == ("program", one.pid, False)
        else:
            lease = held(other.connect(), "acquire a bind=peer")
            waits(client, "acquire a bind=peer")
        one.end()
        assert client.ended()
        if how == "waits":
            assert asked_until(daemon, lambda now: now.waiting == 0).holders("a") == [lease]
            other.end()
        asked_until(daemon, all_free)


def test_a_connection_alone_is_kept_by_a_child(daemon, program):
    """What holds without bind=peer: the child can still give it back."""
    one = program()
    client = one.connect()
    lease = held(client, "acquire a")
    one.end()
    assert bound(daemon)[0] == "connection"
    assert client.request(f"release {lease}") == "ok"


def test_what_it_has_sent_is_carried_out_first(daemon, program, berthctl):
    """It gives the lease back with its last breath: that is how the history has it."""
    one = program()
    client = one.connect()
    lease = held(client, "acquire a bind=peer")
    os.kill(daemon.process.pid, signal.SIGSTOP)
    client.send(f"release {lease} exit=0\n")
    one.end()
    os.kill(daemon.process.pid, signal.SIGCONT)
    assert client.line() == "ok"
    assert client.ended()
    _, entry, _ = daemon.client().lines("history")
    assert (keys(entry.split())["how"], keys(entry.split())["exit"]) == ("released", "0")


def test_it_closes_the_socket_and_lives_on(daemon, program):
    """As by exec: the lease stays, and the process may have it back; its end ends it."""
    one, another = program(), program()
    client = one.connect()
    lease, proof = held_with_proof(client, "acquire a bind=peer once=x")
    client.close()
    asked_until(daemon, is_away())
    assert bound(daemon) == ("program", one.pid, True)
    for request in (f"reclaim {lease} a:1:0 bind=peer {proof}", "acquire a bind=peer once=x"):
        assert refused(another.connect(), request) == "held", request
        client = one.connect()
        assert held(client, request) == lease
        client.close()
        asked_until(daemon, is_away())
    one.end()
    asked_until(daemon, all_free)
    assert another.lives()


def test_a_ttl_besides(daemon, program):
    """A lease that the program forgets: berthd tells it, and then gives the unit to the next one."""
    one = program()
    client = one.connect()
    lease = held(client, "acquire a bind=peer ttl=30s")
    gone, stop = told(client, lease)
    assert 29e9 < stop - now() < 30e9
    restart(daemon, "kill")
    assert bound(daemon) == ("program", one.pid, True)
    client = one.connect()
    assert held(client, f"reclaim {lease} a:1:0 bind=peer") == lease
    assert told(client, lease) == (gone, stop)
    assert int(keys(client.request(f"renew {lease}").split())["left"]) in range(29_000, 30_001)
    assert client.request(f"renew {lease} ttl=100ms").startswith("ok ")
    gone, stop = told(client, lease)
    assert event(client)[::2] == ("expired", "expired")
    assert refused(client, f"renew {lease}") == "lost"
    assert now() >= stop
    assert event(client) == ("lost", lease, "expired")
    assert now() >= gone
    assert one.lives()


def test_bound_to_one_thing(daemon, program):
    client = program().connect()
    assert refused(client, f"acquire a bind=peer pid={os.getpid()}") == "malformed"
    assert refused(client, "acquire a bind=peer wrapper=2") == "malformed"
    assert refused(client, "acquire a bind=job") == "bad-value"
    assert refused(client, "acquire a bind=peers") in ("bad-value", "too-long", "malformed")
    lease = held(client, "acquire a ttl=1h")
    assert refused(client, f"bind {lease} bind=peer") == "kind"
    assert refused(client, f"bind {lease} bind=peer pid=2") == "malformed"


# ---- over restarts


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_over_a_restart(daemon, program, how):
    one, dies = program(), program()
    client, other = one.connect(), dies.connect()
    lease = held(client, "acquire a bind=peer")
    held(other, "acquire warned bind=peer")
    getattr(daemon, how)()
    dies.end()
    daemon.start()
    assert [len(shown(daemon.client(), name)["holders"]) for name in ("a", "warned")] == [1, 0]
    client = one.connect()
    assert held(client, f"reclaim {lease} a:1:0 bind=peer") == lease
    one.end()
    assert client.ended()
    asked_until(daemon, all_free)


def test_the_journal_is_lost(daemon, program):
    """The process itself brings the lease back, by its proof, and nobody else; then it is bound as
    before."""
    one, another = program(), program()
    lease, proof = held_with_proof(one.connect(), "acquire a bind=peer")
    lose_the_journal(daemon)
    request = f"reclaim {lease} a:1:0 bind=peer"
    assert refused(another.connect(), f"{request} {proof}") == "lost"
    assert refused(one.connect(), request) == "lost"
    client = one.connect()
    assert held(client, f"{request} {proof}") == lease
    assert bound(daemon) == ("program", one.pid, False)
    one.end()
    asked_until(daemon, all_free)


# ---- what takes it away


def revoke(daemon, lease):
    assert daemon.client().request(f"revoke {lease} reason=why") == "ok"


def test_revoked(daemon, program):
    """It is told at once until when it has the unit, and not signalled; the next one has it then,
    and not before."""
    one = program()
    client, waiter = one.connect(), daemon.client()
    lease = held(client, "acquire a bind=peer")
    waits(waiter, "acquire a")
    before = now()
    revoke(daemon, lease)
    gone, stop = told(client, lease)
    assert before <= stop <= now()
    assert gone - stop > KILL_AFTER * 1e9
    assert event(client) == ("revoked", lease, "revoked")
    assert shown(waiter, "a")["holders"][0]["stopping"] == "revoked"
    assert event(waiter)[0] == "granted"
    assert now() >= gone
    assert event(client) == ("lost", lease, "revoked")
    assert one.lives()


def test_it_gives_back_in_time(daemon, program):
    client, waiter = program().connect(), daemon.client()
    lease = held(client, "acquire a bind=peer")
    waits(waiter, "acquire a")
    revoke(daemon, lease)
    gone, _ = told(client, lease)
    assert event(client)[0] == "revoked"
    assert client.request(f"release {lease}") == "ok"
    assert event(waiter)[0] == "granted"
    assert now() < gone


def test_max_hold(daemon, program):
    """Both instants are told with the grant."""
    one = program()
    client, waiter = one.connect(), daemon.client()
    lease = held(client, "acquire held bind=peer")
    gone, stop = told(client, lease)
    waits(waiter, "acquire held bind=peer")
    again, began = told(client, lease)
    assert began >= stop and again >= gone
    assert event(client) == ("expired", lease, "max-hold")
    assert event(waiter)[0] == "granted"
    assert now() >= gone
    assert one.lives()


def test_revoked_while_it_has_no_connection(daemon, program):
    """Nobody can tell it, nor does anybody signal it; it hears of it when it comes."""
    one = program()
    client, waiter = one.connect(), daemon.client()
    lease = held(client, "acquire a bind=peer")
    waits(waiter, "acquire a")
    client.close()
    asked_until(daemon, is_away())
    before = now()
    revoke(daemon, lease)
    client = one.connect()
    assert held(client, f"reclaim {lease} a:1:0 bind=peer") == lease
    instants = {told(client, lease)}
    lines = [client.line(), client.line()]
    assert any(f"* revoked {lease} " in line for line in lines), lines
    gone, stop = instants.pop()
    assert before <= stop and gone - stop > KILL_AFTER * 1e9
    assert event(waiter)[0] == "granted"
    assert now() >= gone
    assert one.lives()


def test_a_restart_keeps_what_was_told(daemon, program):
    """The unit is not given away before the instant that the program knows."""
    one = program()
    client = one.connect()
    lease = held(client, "acquire a bind=peer")
    revoke(daemon, lease)
    gone, stop = told(client, lease)
    waiter = after_restart(daemon, "kill")
    waits(waiter, "acquire a")
    client = one.connect()
    assert held(client, f"reclaim {lease} a:1:0 bind=peer") == lease
    assert told(client, lease) == (gone, stop)
    assert event(waiter)[0] == "granted"
    assert now() >= gone
    assert one.lives()


def test_its_end_ends_the_wait_for_it(daemon, program):
    """It is told, and ends while a child has the socket: the unit is free at once."""
    for is_restarted in (False, True):
        one = program()
        client = one.connect()
        lease = held(client, "acquire a bind=peer kill_after=600ms")
        revoke(daemon, lease)
        gone, _ = told(client, lease)
        if is_restarted:
            daemon.kill()
            one.end()
            daemon.start()
        else:
            one.end()
        asked_until(daemon, all_free)
        assert now() < gone


def test_only_warned(daemon, program):
    client = program().connect()
    lease = held(client, "acquire warned bind=peer")
    revoke(daemon, lease)
    assert event(client) == ("lost", lease, "revoked")


# ---- where a job is asked for


def test_a_resource_for_jobs_alone(daemon, program):
    """programs = no: whatever has no job that berthd can stop is refused, by name."""
    client = program().connect()
    for keys_ in ("bind=peer", "ttl=1h", ""):
        assert refused(client, f"acquire jobs {keys_}".strip()) == "jobs-only", keys_
        assert refused(client, f"acquire a jobs {keys_}".strip()) == "jobs-only", keys_
    lease = held(client, f"acquire jobs pid={os.getpid()}")
    assert refused(client, f"bind {lease} bind=peer") == "jobs-only"
    assert client.request(f"release {lease}") == "ok"


def test_a_reload_asks_for_jobs(daemon, program):
    """What is held stays held; what waits is refused."""
    client, other = program().connect(), program().connect()
    lease = held(client, "acquire a bind=peer")
    waits(other, "acquire a bind=peer")
    job = daemon.client()
    waits(job, f"acquire a pid={os.getpid()}")
    daemon.configure(CONFIG.replace("[lock a]", "[lock a]\nprograms = no"))
    assert job.request("reload").startswith("ok")
    assert event(other)[::2] == ("denied", "jobs-only")
    assert client.request(f"release {lease}") == "ok"
    assert event(job)[0] == "granted"


# ---- moved


def test_moved(daemon, program):
    """The process that is to have it asks for it; the one that had it may end."""
    one, next_one = program(), program()
    client = one.connect()
    lease = held(client, "acquire a bind=peer")
    for is_away_now in (False, True):
        if is_away_now:
            client.close()
            asked_until(daemon, is_away())
        taker = next_one.connect()
        answer = keys(taker.request(f"bind {lease} bind=peer").split())
        assert answer["bound"] == "program" and answer["proof"]
        assert bound(daemon) == ("program", next_one.pid, False)
        one.end()
        one, client, next_one = next_one, taker, program()
    revoke(daemon, lease)
    told(client, lease)
    assert event(client)[0] == "revoked"
    assert refused(next_one.connect(), f"bind {lease} bind=peer") == "lost"


def test_a_job_and_back(daemon, program):
    """A program's lease becomes a job's, which is killed, and a job's a program's, which is not."""
    one, other = program(), program()
    client = one.connect()
    lease = held(client, f"acquire a pid={other.pid}")
    assert client.request(f"bind {lease} bind=peer").startswith("ok bound=program proof=")
    assert client.request(f"bind {lease} pid={other.pid}").startswith("ok proof=")
    assert bound(daemon) == ("process", other.pid, False)
    client.close()
    asked_until(daemon, is_away())
    revoke(daemon, lease)
    until(lambda: not other.lives())
    asked_until(daemon, all_free)
    assert one.lives()


def test_a_waiting_one_is_not_moved(daemon, program):
    client = program().connect()
    held(daemon.client(), "acquire a")
    lease = waits(client, "acquire a bind=peer")
    assert refused(program().connect(), f"bind {lease} bind=peer") == "kind"
    assert is_quiet(client)


# ---- said


def test_what_it_is_bound_to_is_said(daemon, program, berthctl):
    one = program()
    client = one.connect()
    lease = held(client, "acquire a bind=peer program=worker")
    assert "program" in berthctl("status", "a").stdout
    why = berthctl("why", lease).stdout
    assert f"pid {one.pid}" in why and "its process ends" in why
    revoke(daemon, lease)
    assert "its program has been told to give it back" in berthctl("why", lease).stdout
    assert client.request(f"release {lease}")
    last(daemon.client()).has(bound="program", pid=str(one.pid))
    assert json.loads(berthctl("history", "a", "--json").stdout)["leases"][0]["bound"] == "program"

"""Who owns what over connections, restarts and losses: only a lease's uid and admins do anything to
it, or in its name."""

import contextlib
import os

import pytest

from daemon_help import NOBODY, become, connect_as, held, held_with_proof, needs_root, refused, status, waits
from lost_help import living_as, lose_the_journal, restart, sleeper

pytestmark = needs_root

OWNER = 12345  # any uid; the refused one is NOBODY

CONFIG = """
[lock a]
[lock shared]
identity = shared
[pool p]
items = x y
[semaphore s]
limit = 2
"""

REFUSED = [
    "release {held}", "release a holder=me", "release p item=x", "renew {held}",
    "renew {timed} ttl=1h", "renew s holder=timed", "revoke {held}", "drop {held}", "cancel {held}",
    "bind {held} pid={own}", "reclaim {held} a:1:0 p:1:x pid={own}", "revoke {waiting}",
    "drop {waiting}", "cancel {waiting}", "release {waiting}", "reclaim {waiting} a:1",
    "bind {waiting} pid={own}"]


def prepare(daemon, owner, pid):
    """Leases of the owner: one bound to a process, one to time, one that waits."""
    return {
        "held": held(owner, f"acquire a p holder=me pid={pid}"),
        "timed": held(owner, "acquire s ttl=1h holder=timed"),
        "waiting": waits(owner, f"acquire a pid={pid}"),
    }


def as_it_was(daemon, leases):
    now = status(daemon.client())
    holder = now.resources["a"]["holders"][0]
    return (now.holders("a"), now.holders("s"), now.waiters("a"), holder["bound"]) == (
        [leases["held"]], [leases["timed"]], [leases["waiting"]], "process")


def sleeper_of(uid):
    return sleeper(lambda: become(uid))


def test_another_user_does_nothing_to_it(berthd):
    daemon = berthd("grace = 1h\n" + CONFIG)
    with contextlib.ExitStack() as stack:
        pid, own = stack.enter_context(sleeper_of(OWNER)), stack.enter_context(sleeper_of(NOBODY))
        owner = stack.enter_context(living_as(daemon, OWNER))
        leases = prepare(daemon, owner, pid)
        for restarted in False, True:
            if restarted:
                restart(daemon, "kill")
                owner = stack.enter_context(living_as(daemon, OWNER))
            other = stack.enter_context(living_as(daemon, NOBODY))
            for request in REFUSED:
                line = request.format(own=own, **leases)
                # A user does not learn whether another's identity is in use.
                codes = ("lost", "not-holder") if "holder=" in line else ("forbidden",)
                assert refused(other, line) in codes, (restarted, line)
                assert as_it_was(daemon, leases), (restarted, line)
        for request in ("renew {timed}", "renew a holder=me", "release {waiting}", "release {held}"):
            assert owner.request(request.format(**leases)).startswith("ok"), request


def test_no_user_may_bind_to_another_users_process(daemon):
    """berthd does not kill for a user what that user may not signal."""
    with sleeper_of(OWNER) as pid, sleeper_of(NOBODY) as own:
        with living_as(daemon, NOBODY) as other:
            for target in (pid, 1, os.getpid()):
                assert refused(other, f"acquire a pid={target}") == "forbidden"
            lease, proof = held_with_proof(other, f"acquire a pid={own}")
            assert refused(other, f"bind {lease} pid={pid}") == "forbidden"
            assert other.request(f"bind {lease} pid={own}").startswith("ok ")
            lose_the_journal(daemon)
        with living_as(daemon, NOBODY) as other:
            assert refused(other, f"reclaim {lease} a:1:0 pid={pid} {proof}") == "forbidden"
            answer = other.request(f"reclaim {lease} a:1:0 pid={own} {proof}")
            assert answer.startswith(f"ok {lease} ")


def test_identities_are_their_user_s(berthd):
    """Another user may use the same name: that is another identity, also after a restart. A shared one is
    taken."""
    daemon = berthd("grace = 1h\n" + CONFIG)
    with sleeper_of(OWNER) as pid:
        mine = held(connect_as(daemon, OWNER), f"acquire s holder=me pid={pid}")
        held(connect_as(daemon, OWNER), f"acquire shared holder=me pid={pid}")
        restart(daemon, "kill")
        other, again = connect_as(daemon, NOBODY), connect_as(daemon, OWNER)
        theirs = held(other, "acquire s holder=me")
        assert refused(again, "acquire s holder=me wait=0") == "held"
        assert other.request("release s holder=me") == "ok"
        assert status(other).holders("s") == [mine] != [theirs]
        assert refused(other, "acquire shared holder=me wait=0") == "held"
        assert refused(other, "release shared holder=me") == "forbidden"


def test_once_is_its_user_s(daemon):
    """Repeating another's request does not yield that lease."""
    with sleeper_of(OWNER) as pid:
        lease = held(connect_as(daemon, OWNER), f"acquire s once=abc pid={pid}")
        other = held(connect_as(daemon, NOBODY), "acquire s once=abc")
        assert other != lease


def test_rights_hold_for_what_is_brought_back(berthd):
    """The journal is gone: a reclaim is checked like an acquire."""
    daemon = berthd(f"grace = 1h\nmax-leases-per-user = 2\n[lock a]\nallow-users = {OWNER}\n"
                    "[semaphore s]\nlimit = 4\nmax-units-per-user = 3\n[lock l]\n")
    with sleeper_of(NOBODY) as pid:
        with living_as(daemon, NOBODY) as other:
            (lock, proof), (slot, proof_of_slot) = (
                held_with_proof(other, f"acquire {name} pid={pid}") for name in "ls")
            lose_the_journal(daemon)
        with living_as(daemon, NOBODY) as other:
            for units, codes in (("a:1:0", "forbidden"), ("s:4:0-3", "lost"),
                                 ("s:1:9", "lost"), ("nowhere:1:0", "unknown")):
                assert refused(other, f"reclaim {lock} {units} pid={pid} {proof}") in codes.split()
            answer = other.request(f"reclaim {slot} s:1:0 pid={pid} {proof_of_slot}")
            assert answer.startswith(f"ok {slot} ")


def test_an_older_proof_yields_to_a_newer_one(berthd):
    """A proof is good for what it was given for, and a later one for the same unit is better, even
    if it comes second."""
    daemon = berthd("grace = 1h\nhistory = 0\n[lock l]\n")
    with sleeper_of(OWNER) as pid, sleeper_of(NOBODY) as own:
        with living_as(daemon, NOBODY) as other, living_as(daemon, OWNER) as client:
            old, old_proof = held_with_proof(other, f"acquire l pid={own}")
            waiting = other.request(f"acquire l pid={own}").split()
            assert other.request(f"release {old}").startswith("ok")
            assert other.line().startswith(f"* granted {waiting[1]} ")
            assert other.request(f"release {waiting[1]}").startswith("ok")
            lease, proof = held_with_proof(client, f"acquire l pid={pid}")
            lose_the_journal(daemon)
        with living_as(daemon, NOBODY) as other, living_as(daemon, OWNER) as client:
            # The proof of a lease that only waited, or of a process that is gone, is void.
            assert refused(other, f"reclaim {waiting[1]} l:1:0 pid={own} {waiting[-1]}") == "lost"
            with sleeper_of(NOBODY) as another:
                assert refused(other, f"reclaim {old} l:1:0 pid={another} {old_proof}") == "lost"
            assert refused(other, f"reclaim {old} l:1:0 pid={another} {old_proof}") in (
                "lost", "bad-value")
            assert other.request(f"reclaim {old} l:1:0 pid={own} {old_proof}").startswith("ok ")
            answer = client.request(f"reclaim {lease} l:1:0 pid={pid} {proof}")
            assert answer.startswith(f"ok {lease} ")
            assert answer.split()[-1] == proof  # its token too
            assert other.line().startswith(f"* lost {old} lost ")
            assert refused(other, f"reclaim {old} l:1:0 pid={own} {old_proof}") == "lost"
            assert status(client).holders("l") == [lease]


def test_only_the_last_holder_gets_its_lease_back(berthd):
    """Ids are numbers: a client that makes one up, or takes another's, gets neither its units nor
    its place."""
    daemon = berthd("grace = 1h\n[lock l]\n")
    with sleeper_of(OWNER) as pid, sleeper_of(NOBODY) as own:
        with living_as(daemon, OWNER) as client:
            lease, proof = held_with_proof(client, f"acquire l pid={pid}")
            lose_the_journal(daemon)
        with living_as(daemon, NOBODY) as other:
            for line in (f"reclaim {lease} l:1:0", f"reclaim {lease} l:1", "reclaim 5 l:1:0"):
                for key in ("", " proof=0123456789abcdef", f" {proof}"):
                    assert refused(other, f"{line} pid={own}{key}") == "lost"
        with living_as(daemon, OWNER) as client:
            assert refused(client, f"reclaim 5 l:1:0 pid={pid} {proof}") == "lost"
            assert client.request(f"reclaim {lease} l:1:0 pid={pid} {proof}").startswith("ok ")


@pytest.mark.parametrize("limit", [4, 1])
def test_the_proof_of_a_released_lease_is_void(berthd, limit):
    """Its process lives, and the units are free: the history knows that it is over, also that it was
    over in this grace."""
    daemon = berthd("grace = 1h\n[semaphore s]\nlimit = 4\n")
    with sleeper_of(OWNER) as pid:
        with living_as(daemon, OWNER) as client:
            proofs = [held_with_proof(client, f"acquire s pid={pid}") for _ in range(4)]
            for lease, _ in proofs[1:]:
                assert client.request(f"release {lease}") == "ok"
            assert daemon.client().request(f"limit s {limit}") == "ok"
            lose_the_journal(daemon)
        with living_as(daemon, OWNER) as client:
            line = f"reclaim {{}} s:1:{{}} pid={pid} {{}}"
            lines = [line.format(lease, n, proof) for n, (lease, proof) in enumerate(proofs)]
            assert client.request(lines[0]).startswith("ok ")
            assert client.request(f"release {proofs[0][0]}") == "ok"
            for line in lines:
                assert refused(client, line) == "lost"
            assert status(client).held == 0

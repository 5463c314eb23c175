"""Leases that use the units of the one above them (doc/protocol.md, "Shares"; guarantee 5)."""

import os
import pathlib
import signal
import urllib.parse

import pytest

from conftest import read_line
from daemon_help import event, held, held_with_proof, is_quiet, refused, shown, waits
from history_help import history
from lines import DEADLINE
from lost_help import all_back, asked_until, lose_the_journal, sleeper  # fixtures among them

CONFIG = """grace = 2s
[lock db]
nested = share
kill-after = 3s
[lock f/*]
nested = share
[lock plain]
[semaphore s]
limit = 2
"""

# It runs another one under the lease, and says which.
NESTED = 'exec "$BERTH" run -q --nested share {} -- sh -c \'echo inner $BERTH_LEASE; exec sleep 60\''


def share(client, parent, request="acquire db"):
    return held(client, f"{request} parent={parent}")


def shares(client, name="db"):
    """lease: the lease that it shares, or None; in the order of status."""
    return {holder["lease"]: holder.get("shares") for holder in shown(client, name)["holders"]}


# ---- what a request gets ----

def test_it_uses_the_units_of_the_lease_above(daemon, client):
    above = client.request("acquire db")
    parent = above.split()[1]
    inner = daemon.client()
    answer = inner.request(f"acquire db parent={parent}")
    assert answer.split()[2:] == above.split()[2:], "the same unit, and its token"
    lease = answer.split()[1]
    now = shown(client, "db")
    assert (now["in_use"], now["free"]) == ("1", "0")
    assert shares(client) == {parent: None, lease: parent}
    assert refused(daemon.client(), "acquire db wait=0") == "would-wait"


def test_the_rules(daemon, client):
    lock, two = held(client, "acquire plain"), held(client, "acquire s")
    inner = daemon.client()
    answer = urllib.parse.unquote(inner.request(f"acquire plain parent={lock}"))
    assert answer == (f"error ancestor plain: lease {lock} has it, and this request runs under that; "
                      "--nested share uses its units")
    share(inner, lock, "acquire plain nested=share")
    assert refused(inner, f"acquire s parent={two} nested=refuse") == "ancestor"
    assert refused(inner, f"acquire s:2 parent={two} nested=share") == "impossible"
    assert refused(inner, f"acquire s parent={two} nested=more") == "bad-value"
    share(inner, two, "acquire s nested=share")
    share(inner, two, "acquire s")
    assert shown(client, "s")["in_use"] == "2"


def test_the_rest_waits(daemon, client):
    parent, other = held(client, "acquire db"), daemon.client()
    taken = held(other, "acquire plain")
    inner = daemon.client()
    lease = waits(inner, f"acquire plain db parent={parent}", 1)
    assert other.request(f"release {taken}") == "ok"
    line = inner.line().split()
    assert line[:3] == ["*", "granted", lease]
    assert [word.split(",")[0] for word in line[3:5]] == ["slot=plain", "slot=db"]


def test_figures_do_not_count_it(daemon, client):
    parent = held(client, "acquire db")
    share(daemon.client(), parent)
    figures = "\n".join(client.lines("metrics"))
    assert "figure berth_held resource=db value=1\n" in figures
    assert "figure berth_granted_total resource=db how=at-once value=1\n" in figures, figures


# ---- its end ----

def test_given_back(daemon, client):
    """Its units wait for the share, and why says so."""
    parent, inner, third = held(client, "acquire db"), daemon.client(), daemon.client()
    lease = share(inner, parent)
    waits(third, "acquire db", 1)
    assert client.request(f"release {parent}") == "ok"
    assert event(inner)[:2] == ("revoked", lease)
    now = shown(client, "db")["holders"]
    assert [(holder["lease"], holder.get("stopping")) for holder in now] == [
        (parent, "shares"), (lease, "revoked")]
    why = "\n".join(client.lines(f"why lease={parent}"))
    assert "units%20come%20back%20when%20its%20shares%20are%20gone" in why and lease in why
    assert is_quiet(third)
    assert inner.request(f"release {lease}") == "ok"
    assert event(third)[0] == "granted"


def test_the_words(daemon, client):
    """Of a share that ends with the lease above, or by itself."""
    parent, first, second = held(client, "acquire db"), daemon.client(), daemon.client()
    share(first, parent, "acquire db ttl=100ms")
    assert "whose%20units" not in first.line()
    share(second, parent, "acquire s db")
    assert client.request(f"release {parent}") == "ok"
    line = second.line()
    assert f"lease%20{parent},%20whose%20units%20it%20shares,%20ends" in line, line


def test_who_took_it_away(daemon, client):
    """With the lease above: the same operator, with the same words. Who came too late has done nothing."""
    parent, inner, operator = held(client, "acquire db"), daemon.client(), daemon.client()
    first, second = share(inner, parent), share(inner, parent)
    assert operator.request(f"revoke {second} reason=mine") == "ok"
    assert operator.request(f"revoke {parent} reason=yours") == "ok"
    for lease in first, second, parent:
        assert operator.request(f"release {lease}") == "ok"
    past = {entry.lease: entry for entry in history(operator)}
    for lease, why in (first, "yours"), (second, "mine"), (parent, "yours"):
        past[lease].has(how="revoked", by=str(os.geteuid()), why=why)


def test_how_its_job_ended(daemon, client):
    """Its client has said so; whoever releases the lease again while its units wait does not know better."""
    parent, inner, other = held(client, "acquire db"), daemon.client(), daemon.client()
    lease = share(inner, parent)
    assert client.request(f"release {parent} exit=3") == "ok"
    assert other.request(f"release {parent}") == "ok"
    assert other.request(f"release {lease}") == "ok"
    past = {entry.lease: entry for entry in history(other)}
    past[parent].has(how="released", exit="3")
    past[lease].has(exit=None)


def test_dropped(daemon, client):
    parent, inner, third = held(client, "acquire db"), daemon.client(), daemon.client()
    lease = share(inner, parent)
    waits(third, "acquire db", 1)
    assert client.request(f"drop {parent}") == "ok"
    assert event(inner) == ("lost", lease, "dropped")
    assert event(third)[0] == "granted"


def start_nested(berth, directory, name="db"):
    process = berth.start("run", name, "--", "sh", "-c", NESTED.format(name),
                          env={**os.environ, "BERTH": berth.path, "BERTH_SOCKET": str(directory / "s")})
    return process, read_line(process.stdout).split()[1]


def test_revoked(berth, daemon, client, directory):
    process, lease = start_nested(berth, directory)
    parent = shares(client)[lease]
    assert client.request(f"revoke {parent}") == "ok"
    assert process.wait(DEADLINE) == 124
    asked_until(daemon, lambda now: now.resources["db"]["in_use"] == "0", "db")


def test_a_wrapper_is_killed(berth, daemon, client, directory):
    """Both go on; when the job above is killed, the share is stopped before the unit is free."""
    process, lease = start_nested(berth, directory)
    parent = shares(client)[lease]
    process.kill()
    assert process.wait(DEADLINE) == -signal.SIGKILL
    now = asked_until(daemon, lambda now: any("away" in h for h in now.resources["db"]["holders"]), "db")
    pids = {holder["lease"]: int(holder["pid"]) for holder in now.resources["db"]["holders"]}
    os.kill(pids[parent], signal.SIGKILL)
    asked_until(daemon, lambda now: now.resources["db"]["in_use"] == "0", "db")
    stat = pathlib.Path(f"/proc/{pids[lease]}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


# ---- another run ----

@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_restart(berth, daemon, client, directory, how):
    process, lease = start_nested(berth, directory)
    before = shares(client)
    getattr(daemon, how)()
    daemon.start()
    asked_until(daemon, all_back(2, 0), "db")
    client = daemon.client()
    assert shares(client) == before
    assert client.request(f"revoke {before[lease]}") == "ok"
    assert process.wait(DEADLINE) == 124


def test_the_job_above_ends_while_berthd_is_down(daemon):
    """Its unit stays taken until the share is gone, too."""
    with sleeper() as outer, sleeper() as inner:
        client = daemon.client()
        parent = held(client, f"acquire db pid={outer}")
        lease = share(client, parent, f"acquire db pid={inner}")
        daemon.kill()
        os.kill(outer, signal.SIGKILL)
        daemon.start()
        third = daemon.client()
        found = shares(third)
        assert not found or found == {parent: None, lease: parent}
        assert third.request("acquire db").split()[0] in ("waiting", "ok")
        asked_until(daemon, lambda now: len(now.resources["db"]["holders"]) == 1, "db")


def test_a_lost_journal(daemon):
    """The share waits for the lease above, and takes nothing."""
    with sleeper() as outer, sleeper() as inner:
        client = daemon.client()
        parent, proof = held_with_proof(client, f"acquire db pid={outer}")
        lease, of_share = held_with_proof(client, f"acquire db pid={inner} parent={parent}")
        lose_the_journal(daemon)
        first, second = daemon.client(), daemon.client()
        assert refused(second, f"reclaim {lease} db:1:0 pid={inner} {of_share}") == "grace"
        assert first.request(f"reclaim {parent} db:1:0 pid={outer} {proof}").startswith(f"ok {parent}")
        assert second.request(f"reclaim {lease} db:1:0 pid={inner} {of_share}").startswith(f"ok {lease}")
        assert shares(first) == {parent: None, lease: parent}


def test_the_proof_of_a_share_proves_no_unit(daemon):
    with sleeper() as outer, sleeper() as inner:
        client = daemon.client()
        parent, proof = held_with_proof(client, f"acquire db pid={outer}")
        lease, of_share = held_with_proof(client, f"acquire db pid={inner} parent={parent}")
        lose_the_journal(daemon)
        head, _, token = proof.partition(",")
        forged = of_share.partition(",")[0] + "," + token
        second = daemon.client()
        assert refused(second, f"reclaim {lease} db:1:0 pid={inner} {forged}") == "lost"


def test_shares_of_each_other(daemon):
    """There are more ways through them than berthd could go when it starts."""
    with sleeper() as pid:
        client = daemon.client()
        leases = [held(client, f"acquire f/0 pid={pid}")]
        for i in range(1, 40):
            others = " ".join(f"f/{k}" for k in range(max(0, i - 4), i))
            leases.append(held(client, f"acquire f/{i} {others} pid={pid} parent={leases[-1]}"))
        daemon.kill()
        os.kill(pid, signal.SIGKILL)
        daemon.start()
        asked_until(daemon, all_back(0, 0), "f/0")

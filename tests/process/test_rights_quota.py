"""Each bound of one user, as `berth` reports it, in both scopes; and that reclaimed leases count
like acquired ones. test_daemon_quota.py has what the bounds do to
others."""

import contextlib
import os

import pytest

from daemon_help import become, connect_as, held, held_with_proof, needs_root, refused, status
from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import client_of, fleet, gets, queues
from lines import until
from lost_help import living_as, lose_the_journal, restart, sleeper

pytestmark = needs_root

# No accounts exist for these: a uid needs no name to have bounds.
ANNA, BERT = 60001, 60002

RESOURCES = """[semaphore etl]
limit = 9
{0}
[lock l]
{0}
[semaphore few]
limit = 9
max-units-per-user = 2
{0}
[lock t/*]
{0}
"""

# Key of [daemon], what Anna has already, and what she asks for then: exit status and code.
BOUNDS = [
    ("max-clients-per-user = 1", "ping", ["etl"], 69, "busy"),
    ("max-waiters-per-user = 1", "acquire l", ["l"], 75, "quota"),
    ("max-leases-per-user = 1", "acquire etl", ["etl"], 75, "quota"),
    ("max-instances-per-user = 1", "acquire t/a", ["t/b"], 75, "quota"),
    ("", "acquire few:2", ["-n", "few"], 75, "quota"),
]


def run_as(berth, uid, *words):
    return berth("run", *words, "--", "true", preexec_fn=lambda: os.setuid(uid))


def check(berth, root, anna, bound):
    key, request, words, exit_status, code = bound
    waits_only = request == "acquire l"
    if waits_only:
        gets(root, request)
        queues(anna, request)
    elif request == "ping":
        assert anna.request(request) == "ok"
    else:
        gets(anna, request)
    for quiet in ([], ["-q"]):
        done = run_as(berth, ANNA, *quiet, *words)
        assert done.returncode == exit_status, (key, done.stderr)
        assert f"({code})" in done.stderr or (quiet and exit_status == 75), done.stderr
    if not waits_only:
        assert run_as(berth, BERT, *words).returncode == 0, (key, "it is hers alone")
    anna.close()
    root.close()


def test_on_a_host(berthd, berth):
    daemon = berthd(RESOURCES.format(""))
    for bound in BOUNDS:
        daemon.configure(f"{bound[0]}\n{RESOURCES.format('')}")
        root = daemon.client()
        assert root.request("reload") == "ok"
        check(berth, root, connect_as(daemon, ANNA), bound)
        root = daemon.client()
        while root.request("ping") != "ok" or status(root).held:
            pass
        assert run_as(berth, ANNA, *bound[2]).returncode == 0, "what is given back counts no more"
        root.close()


@needs_redis
def test_in_a_fleet(redis_server, hosts):  # noqa: F811
    """Bounds of [daemon] are each host's own; max-units-per-user holds over all."""
    a, b = fleet(redis_server, hosts, 2, RESOURCES.format("scope = fleet"))
    files = {host: host.config.read_text() for host in (a, b)}
    for bound in BOUNDS:
        for host, text in files.items():
            host.config.write_text(text.replace("[daemon]\n", f"[daemon]\n{bound[0]}\n"))
            root = client_of(host)
            until(lambda root=root: not status(root).held)
            assert root.request("reload") == "ok"
            root.close()
        there = a if bound[0] else b
        check(there.berth, client_of(b), client_of(a, ANNA), bound)


# ---- what is brought back


@pytest.mark.parametrize("key, name, is_over", [
    ("max-leases-per-user = {}", "etl", "quota"),
    ("max-clients-per-user = 99", "few", "lost"),  # max-units-per-user
])
def test_held_leases_that_the_daemon_has_forgotten(berthd, key, name, is_over):
    """As many as the bound allows, though there were more: the file has changed meanwhile."""
    daemon = berthd(f"grace = 1h\n{key.format(9)}\n" + RESOURCES.format("").replace(
        "max-units-per-user = 2\n", ""))
    with contextlib.ExitStack() as stack:
        pid = stack.enter_context(sleeper(lambda: become(ANNA)))
        anna = stack.enter_context(living_as(daemon, ANNA))
        leases = [held_with_proof(anna, f"acquire {name} pid={pid}") for _ in range(3)]
        daemon.configure(f"grace = 1h\n{key.format(2)}\n{RESOURCES.format('')}")
        lose_the_journal(daemon)
        anna = stack.enter_context(living_as(daemon, ANNA))
        bert = stack.enter_context(living_as(daemon, BERT))
        for i, (lease, proof) in enumerate(leases):
            line = f"reclaim {lease} {name}:1:{i} pid={pid} {proof}"
            if i < 2:
                assert anna.request(line).startswith(f"ok {lease} ")
            else:
                assert refused(anna, line) == is_over
        assert refused(anna, f"acquire {name} wait=0") in ("grace", is_over)
        assert refused(bert, "acquire etl wait=0") == "grace"


def test_instances_that_the_daemon_has_forgotten(berthd):
    """A job with a proof runs, and has its instance back, which counts; a place in a queue and a new
    request keep to the bound."""
    text = "grace = 1h\nmax-instances-per-user = {}\n[lock t/*]\n"
    daemon = berthd(text.format(9))
    with contextlib.ExitStack() as stack:
        pid = stack.enter_context(sleeper(lambda: become(ANNA)))
        anna = stack.enter_context(living_as(daemon, ANNA))
        leases = [held_with_proof(anna, f"acquire t/{i} pid={pid}") for i in range(3)]
        bert = stack.enter_context(living_as(daemon, BERT))
        places = []
        for name in ("t/x", "t/y"):
            held(bert, f"acquire {name} ttl=1h")
            words = anna.request(f"acquire {name} pid={pid}").split()
            places.append(f"reclaim {words[1]} {name}:1 pid={pid} {words[-1]}")
        daemon.configure(text.format(1))
        lose_the_journal(daemon)
        anna = stack.enter_context(living_as(daemon, ANNA))
        for i, (lease, proof) in enumerate(leases):
            line = f"reclaim {lease} t/{i}:1:0 pid={pid}"
            assert refused(anna, line) == "lost", "nothing proves it"
            assert anna.request(f"{line} {proof}").startswith(f"ok {lease} ")
        assert [refused(anna, place) for place in places] == ["quota"] * 2
        assert refused(anna, "acquire t/new wait=0") == "quota"
        assert status(daemon.client()).held == 3


def test_waiters_that_the_daemon_has_forgotten(berthd):
    text = "grace = 1h\nmax-waiters-per-user = {}\n[lock l]\n"
    daemon = berthd(text.format(9))
    with contextlib.ExitStack() as stack:
        pid = stack.enter_context(sleeper(lambda: become(ANNA)))
        anna = stack.enter_context(living_as(daemon, ANNA))
        held(anna, "acquire l ttl=1h")
        leases = []
        for _ in range(2):
            words = anna.request(f"acquire l pid={pid}").split()
            leases.append((words[1], words[-1]))
            assert words[-1].startswith("proof=")
        daemon.configure(text.format(1))
        lose_the_journal(daemon)
        anna = stack.enter_context(living_as(daemon, ANNA))
        (first, proof), (second, other) = leases
        assert anna.request(f"reclaim {first} l:1 pid={pid} {proof}").startswith(f"waiting {first} ")
        assert refused(anna, f"reclaim {second} l:1 pid={pid} {other}") == "quota"


def test_what_the_journal_has_counts(berthd):
    """A lowered bound takes nothing away, but it is used up."""
    text = "grace = 1h\nmax-leases-per-user = {}\n[semaphore s]\nlimit = 9\n"
    daemon = berthd(text.format(3))
    anna = connect_as(daemon, ANNA)
    for _ in range(3):
        held(anna, "acquire s ttl=1h")
    daemon.configure(text.format(2))
    restart(daemon, "kill")
    assert status(daemon.client()).held == 3
    assert refused(connect_as(daemon, ANNA), "acquire s wait=0") == "quota"
    held(connect_as(daemon, BERT), "acquire s")

"""A denied user may not use a resource, whatever else allows it: by user and by group, at once and
after a reload, with real users and groups."""

import contextlib

import pytest

from daemon_help import (
    connect_as, event, held, is_quiet, may_use, needs_root, refused, status, waits)
from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import client_of, fleet, gets, queues
from lost_help import living_as, restart

pytestmark = needs_root

# No accounts exist for these: a uid and a gid need no name to have rights.
ANNA, BERT, CLEO, DORA = 60001, 60002, 60003, 60004
GROUP, OTHERS = 60101, 60103


def test_deny_beats_allow(berthd):
    daemon = berthd(
        f"admin-users = {DORA}\n"
        f"[semaphore user]\nlimit = 9\ndeny-users = {ANNA}\n"
        f"[semaphore group]\nlimit = 9\ndeny-groups = {GROUP}\n"
        f"[semaphore user-of-group]\nlimit = 9\nallow-groups = {GROUP}\ndeny-users = {ANNA}\n"
        f"[semaphore group-of-user]\nlimit = 9\nallow-users = {ANNA} {BERT}\ndeny-groups = {GROUP}\n"
        f"[semaphore admins]\nlimit = 9\nadmin-users = {ANNA}\ndeny-users = {ANNA}\n"
        f"[semaphore all]\nlimit = 9\ndeny-users = 0 {DORA}\ndeny-groups = 0 {GROUP}\n"
        f"[semaphore t/*]\nlimit = 9\ndeny-users = {ANNA}\n"
        f"[semaphore t/open]\nlimit = 9\n")
    names = ["user", "group", "user-of-group", "group-of-user", "admins", "all", "t/x", "t/open"]

    def may(*who, **groups):
        return may_use(connect_as(daemon, *who, **groups), names)

    everything = set(names)
    assert may(ANNA) == {"group", "group-of-user", "all", "t/open"}
    assert may(ANNA, GROUP) == {"t/open"}
    assert may(ANNA, groups=[OTHERS, GROUP]) == {"t/open"}
    assert may(BERT) == everything - {"user-of-group"}
    assert may(BERT, GROUP) == {"user", "user-of-group", "admins", "t/x", "t/open"}
    assert may(BERT, groups=[OTHERS] * 3) == everything - {"user-of-group"}
    assert may(DORA, GROUP) == everything, "an admin of the daemon is never denied"
    assert may(0, GROUP) == everything


def test_groups_are_those_of_the_connect(berthd):
    """A process that has changed its groups since then is who it was."""
    daemon = berthd(f"[semaphore a]\nlimit = 9\ndeny-groups = {GROUP}\n")
    member = connect_as(daemon, BERT, OTHERS, groups=[GROUP])
    other = connect_as(daemon, BERT, OTHERS)
    for _ in range(2):  # both connections are this process's by now, which is in neither group
        assert refused(member, "acquire a") == "forbidden"
        held(other, "acquire a")


# ---- a reload


def reload_to(daemon, text):
    daemon.configure(text)
    assert daemon.client().request("reload") == "ok"


def test_a_reload_takes_places_and_nothing_else(berthd):
    """A waiter that may no longer wait is told at once; it does not even get what the same reload
    makes room for. It keeps what it holds."""
    text = "[semaphore s]\nlimit = {}\n{}\n[lock l]\n"
    daemon = berthd(text.format(1, ""))
    anna, bert = connect_as(daemon, ANNA, GROUP), connect_as(daemon, BERT, groups=[OTHERS])
    for rule in (f"deny-users = {ANNA}", f"deny-groups = {GROUP}", f"allow-users = 0 {BERT}",
                 f"allow-groups = {OTHERS}"):
        reload_to(daemon, text.format(1, ""))
        mine = held(anna, "acquire s")
        gone = [waits(anna, "acquire s"), waits(anna, "acquire l s")]
        stays = waits(bert, "acquire s")
        reload_to(daemon, text.format(2, rule))
        for lease in gone:
            assert event(anna) == ("denied", lease, "forbidden"), rule
        assert event(bert)[:2] == ("granted", stays), rule
        assert status(bert, "s").holders("s") == [mine, stays] and status(bert).waiting == 0, rule
        assert refused(anna, "acquire s") == "forbidden", rule
        other = held(anna, "acquire l")
        for client, lease in ((anna, mine), (anna, other), (bert, stays)):
            assert client.request(f"release {lease}") == "ok"


def test_an_admin_loses_the_right(berthd):
    """The rights of the new file count, those of [daemon] included."""
    rule = f"[lock a]\nallow-users = {BERT}\n"
    daemon = berthd(f"admin-users = {ANNA}\n{rule}")
    anna, root = connect_as(daemon, ANNA), daemon.client()
    held(root, "acquire a")
    lease = waits(anna, "acquire a")
    reload_to(daemon, f"admin-users = {ANNA} {CLEO}\n{rule}")
    assert is_quiet(anna)
    reload_to(daemon, rule)
    assert event(anna) == ("denied", lease, "forbidden")


@pytest.mark.parametrize("how", ["restarted", "reloaded while away"])
def test_a_waiter_that_comes_back(berthd, how):
    """A place comes back only to a user who may still use the resource; then the next waiter is
    first."""
    text = "grace = 1h\n[lock a]\n{}"
    daemon = berthd(text.format(""))
    with contextlib.ExitStack() as stack:
        anna = stack.enter_context(living_as(daemon, ANNA))
        bert = stack.enter_context(living_as(daemon, BERT))
        lease = held(bert, "acquire a ttl=1h")
        place, behind = waits(anna, "acquire a"), waits(bert, "acquire a")
        if how == "restarted":
            daemon.configure(text.format(f"deny-users = {ANNA}\n"))
        restart(daemon, "kill")
        if how != "restarted":
            reload_to(daemon, text.format(f"deny-users = {ANNA}\n"))
        anna = stack.enter_context(living_as(daemon, ANNA))
        bert = stack.enter_context(living_as(daemon, BERT))
        assert bert.request(f"reclaim {behind} a:1").startswith(f"waiting {behind} position=2")
        assert refused(anna, f"reclaim {place} a:1") == "forbidden"
        assert status(bert).waiting == 1
        assert bert.request(f"release {lease}") == "ok"
        assert event(bert)[:2] == ("granted", behind)


def test_a_denied_holder_that_comes_back_keeps_the_lease(berthd):
    text = "grace = 1h\n[lock a]\n{}"
    daemon = berthd(text.format(""))
    with contextlib.ExitStack() as stack:
        anna = stack.enter_context(living_as(daemon, ANNA))
        lease = held(anna, "acquire a")
        daemon.configure(text.format(f"deny-users = {ANNA}\n"))
        restart(daemon, "kill")
        anna = stack.enter_context(living_as(daemon, ANNA))
        assert anna.request(f"reclaim {lease} a:1:0").startswith(f"ok {lease} ")
        assert anna.request(f"release {lease}") == "ok"
        assert refused(anna, "acquire a") == "forbidden"


@needs_redis
def test_in_fleet_scope(redis_server, hosts):  # noqa: F811
    """A place in a database is given back; the rights are this host's own."""
    text = "[semaphore etl]\nscope = fleet\nlimit = 1\n"
    a, b = fleet(redis_server, hosts, 2, text)
    root, anna, bert = client_of(a), client_of(a, ANNA), client_of(b, ANNA)
    first = gets(root, "acquire etl")
    place, behind = queues(anna, "acquire etl"), queues(bert, "acquire etl")
    a.config.write_text(a.config.read_text() + f"deny-users = {ANNA}\n")
    assert root.request("reload") == "ok"
    assert event(anna) == ("denied", place, "forbidden")
    assert root.request(f"release {first}") == "ok"
    while not (line := bert.line()).startswith("* granted"):
        assert line.startswith("* waiting"), line
    assert line.split()[2] == behind
    assert refused(anna, "acquire etl") == "forbidden"

"""Who may do what, with real users and groups. test_rights_table.py has every request."""

from daemon_help import connect_as, event, held, is_quiet, may_use, needs_root, refused, status, waits

pytestmark = needs_root

# No accounts exist for these: a uid and a gid need no name to have rights.
ANNA, BERT, CLEO, DORA = 60001, 60002, 60003, 60004
GROUP, ADMINS, OTHERS = 60101, 60102, 60103

# ---- use


def test_allow_users_and_groups(berthd):
    daemon = berthd(
        f"[semaphore users]\nlimit = 9\nallow-users = {ANNA} {BERT}\n"
        f"[semaphore groups]\nlimit = 9\nallow-groups = {GROUP}\n"
        f"[semaphore both]\nlimit = 9\nallow-users = {ANNA}\nallow-groups = {GROUP}\n"
        f"[semaphore all]\nlimit = 9\n"
        f"[semaphore t/*]\nlimit = 9\nallow-users = {ANNA}\n"
        f"[semaphore t/open]\nlimit = 9\n")
    names = ["users", "groups", "both", "all", "t/x", "t/open"]

    def may(*who, **groups):
        return may_use(connect_as(daemon, *who, **groups), names)

    open_to_all = {"all", "t/open"}
    assert may(CLEO) == open_to_all
    assert "t/x" not in status(daemon.client()).resources, "a refused name makes no instance"
    assert may(ANNA) == open_to_all | {"users", "both", "t/x"}
    assert may(BERT) == open_to_all | {"users"}
    assert may(CLEO, GROUP) == open_to_all | {"groups", "both"}
    assert may(CLEO, groups=[OTHERS, GROUP]) == open_to_all | {"groups", "both"}
    assert may(CLEO, groups=[OTHERS] * 3) == open_to_all
    assert may(CLEO, groups=[*range(100, 1100), GROUP]) == open_to_all | {"groups", "both"}
    assert may(GROUP, OTHERS) == open_to_all, "a uid is no gid"
    assert may(0, 0) == set(names)


def test_of_several_resources_all_must_be_allowed(berthd):
    daemon = berthd(f"[lock a]\n[lock b]\nallow-users = {ANNA}\n")
    client = connect_as(daemon, BERT)
    assert refused(client, "acquire a b") == "forbidden"
    shown = status(client)
    assert shown.held == 0 and shown.waiting == 0
    held(connect_as(daemon, ANNA), "acquire a b")


# ---- administer

CONFIG = f"""admin-users = {DORA}
admin-groups = {ADMINS}
[semaphore s]
limit = 3
admin-users = {CLEO}
admin-groups = {GROUP}
[pool p]
items = a b
admin-users = {CLEO}
[semaphore other]
limit = 3
[semaphore t/*]
limit = 3
admin-users = {CLEO}
"""

DAEMON_REQUESTS = ["forget gone", "upgrade", "found", "drain", "undrain", "reload"]


def test_admins_of_a_resource(daemon):
    """Of that resource, and of nothing else."""
    cleo = connect_as(daemon, CLEO)
    members = [connect_as(daemon, BERT, GROUP), connect_as(daemon, BERT, groups=[OTHERS, GROUP])]
    for client in [cleo, *members]:
        assert client.request("limit s 2") == "ok"
        assert client.request("pause s") == "ok"
        assert client.request("reset s") == "ok"
        assert refused(client, "pause other") == "forbidden"
        for line in DAEMON_REQUESTS:
            assert refused(client, line) == "forbidden"
    assert cleo.request("remove p a") == "ok"
    assert refused(members[0], "remove p b") == "forbidden"
    assert cleo.request("limit t/x 1") == "ok"
    assert refused(members[1], "limit t/x 1") == "forbidden"
    assert refused(cleo, "pause nope") == "unknown"


def test_admins_of_the_daemon(daemon):
    for client in [connect_as(daemon, DORA), connect_as(daemon, BERT, ADMINS),
                   connect_as(daemon, BERT, groups=[OTHERS, ADMINS]), daemon.client()]:
        for line in ["limit s 2", "pause other", "remove p a", "add p a", "reset p", "reset other",
                     "reset s", "drain", "undrain", "reload"]:
            answer = client.request(line)
            assert answer.split()[0] == "ok", (line, answer)


# ---- others' leases

FORMS = ["release {}", "cancel {}", "release p item=a"]


def test_whose_lease_may_be_ended(daemon):
    """A lease on several resources needs an admin of them all."""
    anna = connect_as(daemon, ANNA)
    lease = held(anna, "acquire p:2 other holder=me")
    for form in FORMS:
        for stranger in (connect_as(daemon, BERT), connect_as(daemon, BERT, ANNA), connect_as(daemon, CLEO)):
            assert refused(stranger, form.format(lease)) == "forbidden", form
        assert is_quiet(anna)
        assert status(anna, "p").holders("p") == [lease]
        for friend in (connect_as(daemon, ANNA), connect_as(daemon, DORA), daemon.client()):
            assert friend.request(form.format(lease)) == "ok", form
            assert event(anna) == ("lost", lease, "released"), form
            lease = held(anna, "acquire p:2 other holder=me")


def test_whose_wait_may_be_ended(daemon):
    anna, root = connect_as(daemon, ANNA), daemon.client()
    held(root, "acquire p:2")
    lease = waits(anna, "acquire p")
    for form in FORMS[:2]:
        assert refused(connect_as(daemon, BERT), form.format(lease)) == "forbidden", form
        assert is_quiet(anna)
        assert status(anna, "p").waiters("p") == [lease]
        for friend in (connect_as(daemon, ANNA), connect_as(daemon, CLEO), root):
            assert friend.request(form.format(lease)) == "ok", form
            assert event(anna) == ("denied", lease, "cancelled"), form
            lease = waits(anna, "acquire p")


# ---- identities


def test_identities_of_two_users_are_apart(berthd):
    daemon = berthd("[semaphore s]\nlimit = 9\n")
    anna, bert, root = connect_as(daemon, ANNA), connect_as(daemon, BERT), daemon.client()
    of_anna = held(anna, "acquire s holder=x")
    assert refused(bert, "release s holder=x") == "not-holder"
    assert refused(root, "release s holder=x") == "not-holder"
    of_bert = held(bert, "acquire s holder=x")
    assert refused(connect_as(daemon, BERT), "acquire s holder=x") == "held"
    assert bert.request("release s holder=x") == "ok"
    assert status(root, "s").holders("s") == [of_anna]
    assert of_bert != of_anna
    assert is_quiet(anna) and is_quiet(bert)


def test_shared_identities_are_one(berthd):
    daemon = berthd("[semaphore s]\nlimit = 9\nidentity = shared\n")
    anna, bert, root = connect_as(daemon, ANNA), connect_as(daemon, BERT), daemon.client()
    lease = held(anna, "acquire s holder=x")
    assert refused(bert, "acquire s holder=x") == "held"
    assert refused(bert, "release s holder=x") == "forbidden", "one identity, but whose lease?"
    assert status(bert, "s").holders("s") == [lease]
    assert root.request("release s holder=x") == "ok"
    assert event(anna) == ("lost", lease, "released")
    held(bert, "acquire s holder=x")

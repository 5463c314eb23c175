"""Who a client is: by uid and groups, as the kernel says, never as the client says.
test_daemon_rights.py has the rights."""

import os
import shutil
import subprocess

import pytest

from conftest import BUILD
from daemon_help import (
    NOBODY, become, connect_as, event, held, in_child, must_end_well, refused, status)
from lines import DEADLINE, Client

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be somebody else")

USER, OTHER, ADMIN, GROUP, ADMIN_GROUP = 4711, 4712, 4713, 4800, 4801

CONFIG = f"""
admin-users = {ADMIN}
admin-groups = {ADMIN_GROUP}
[lock open]
[semaphore users]
limit = 9
allow-users = {USER}
[semaphore groups]
limit = 9
allow-groups = {GROUP}
[semaphore both]
limit = 9
allow-users = {USER}
allow-groups = {GROUP}
[semaphore mine]
limit = 9
admin-users = {USER}
[pool theirs]
items = x y
admin-groups = {GROUP}
[semaphore t/*]
limit = 9
allow-users = {USER}
admin-users = {USER}
[semaphore shared]
limit = 9
identity = shared
"""


# ---- use


@pytest.mark.parametrize("who, names", [
    (dict(uid=OTHER), "open mine theirs"),
    (dict(uid=USER), "open users both t/x"),
    (dict(uid=OTHER, gid=GROUP), "open groups both"),
    (dict(uid=OTHER, groups=[1, 2, GROUP, 3]), "open groups both"),
    (dict(uid=OTHER, groups=range(100, 1100)), "open"),
    (dict(uid=OTHER, groups=[*range(100, 1100), GROUP]), "open groups both"),
    (dict(uid=GROUP, gid=USER), "open"),  # numbers of another kind
    (dict(uid=0), "open users groups both t/x"),
    (dict(uid=ADMIN), "open users groups both t/x"),
    (dict(uid=OTHER, groups=[ADMIN_GROUP]), "open users groups both t/x"),
], ids=str)
def test_who_may_use_which_resource(daemon, who, names):
    client = connect_as(daemon, **who)
    for name in ("open", "users", "groups", "both", "t/x"):
        answer = client.request(f"acquire {name} wait=0")
        if name in names.split():
            assert answer.startswith("ok "), name
            assert client.request(f"release {answer.split()[1]}") == "ok"
        else:
            assert answer.startswith("error forbidden "), name
    assert status(client).held == 0


def test_all_resources_must_be_allowed(daemon):
    client = connect_as(daemon, USER)
    assert refused(client, "acquire users groups") == "forbidden"
    assert refused(client, "acquire groups users wait=0") == "forbidden"
    held(client, "acquire users both open")


def test_a_refused_name_of_a_template_makes_no_instance(daemon):
    assert refused(connect_as(daemon, OTHER), "acquire t/x") == "forbidden"
    assert "t/x" not in status(daemon.client()).resources


def test_the_admin_of_a_resource_may_use_it(berthd):
    daemon = berthd(f"[lock a]\nallow-users = {OTHER}\nadmin-users = {USER}\n")
    held(connect_as(daemon, USER), "acquire a")


def test_groups_are_those_of_the_time_of_connecting(daemon):
    """Rights are looked up at each request, but the client's identity was settled then."""
    client = connect_as(daemon, OTHER, groups=[GROUP])
    for _ in range(3):
        lease = held(client, "acquire groups")
        assert client.request(f"release {lease}") == "ok"


def test_the_daemons_own_user_is_admin(directory):
    """Not only root's daemon."""
    os.chown(directory, NOBODY, NOBODY)
    config = directory / "berth.conf"
    config.write_text(f"[daemon]\nsocket = {directory / 's'}\n[lock a]\n")
    program = shutil.copy(BUILD / "berthd", directory)  # where that user can execute it
    process = subprocess.Popen([program, "-c", config, "--ready-fd", "1"],
        user=NOBODY, group=NOBODY, extra_groups=[], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"

    def ask(uid, line):
        def work():
            become(uid)
            client = Client(directory / "s")
            assert client.request(line).split()[0] == ("error" if uid == OTHER else "ok")
        must_end_well(in_child(work))

    for uid in (NOBODY, 0, OTHER):
        ask(uid, "pause a")
    process.terminate()
    assert process.wait(DEADLINE) == 0
    process.stdout.close()


def test_the_admin_of_all_its_resources_may_end_a_lease(daemon):
    """An admin of only one of its resources may not take the others away."""
    owner, admin = connect_as(daemon, OTHER), connect_as(daemon, USER)
    lease = held(owner, "acquire mine open")
    assert refused(admin, f"release {lease}") == "forbidden"
    assert refused(admin, "release mine item=0") == "forbidden"
    assert owner.request(f"release {lease}") == "ok"
    lease = held(owner, "acquire mine")
    assert admin.request("release mine item=0") == "ok"
    assert event(owner) == ("lost", lease, "released")

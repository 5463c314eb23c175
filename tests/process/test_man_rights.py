"""The table of berthd(8), who may do what when the file says nothing else, is tried: each request
as each of its users. The daemon runs as its own user, not as root."""

import os
import pathlib
import re

import pytest

from conftest import Berthd
from daemon_help import code, connect_as, held, needs_root

pytestmark = needs_root

PAGE = pathlib.Path(os.environ.get("BERTH_SOURCE_DIR", ".")) / "doc/man/berthd.8.scd"
# The table's columns: a user, the lease's owner, an admin of the resource, one of the daemon.
USERS = [60001, 60002, 60003, 60004, 0, 60005]
OWNER, OWN = USERS[1], USERS[5]
ARGUMENTS = {
    "acquire": "a wait=0", "reclaim": "LEASE a:1", "bind": "LEASE pid=PID", "renew": "LEASE", "release": "LEASE",
    "cancel": "LEASE", "away": "LEASE", "back": "LEASE", "revoke": "LEASE", "drop": "LEASE", "limit": "a 8", "add": "a 0", "remove": "a 0",
    "reserve": "a 0", "pause": "a", "resume": "a", "reset": "a", "forget": "a",
}


def table():
    """(request, cells)"""
    text = re.search(r"^# RIGHTS\n(.*?)^# ", PAGE.read_text(), re.M | re.S).group(1)
    rows = [(re.sub(r" \(\d\)", "", requests).split(", "), re.findall(r"^:- (\w+)", cells, re.M))
            for requests, cells in re.findall(r"^\|< (.*)\n((?::- .*\n)+)", text, re.M)]
    return [(request, cells) for requests, cells in rows for request in requests]


@pytest.fixture
def own_daemon(directory):
    """Run by its own user, who can write where it serves."""
    os.chown(directory, OWN, OWN)
    daemon = Berthd(directory, f"admin-users = {USERS[3]}\n[semaphore a]\nlimit = 9\nadmin-users = {USERS[2]}\n",
                    before=["setpriv", f"--reuid={OWN}", f"--regid={OWN}", "--clear-groups"])
    yield daemon
    for client in daemon.clients:
        client.close()
    daemon.stop()


def test_the_table_of_rights(own_daemon):
    rows = table()
    assert len(rows) > 20
    for request, cells in rows:
        assert len(cells) == len(USERS)
        for uid, cell in zip(USERS, cells):
            owner, who = connect_as(own_daemon, OWNER), connect_as(own_daemon, uid)
            lease = held(owner, "acquire a")
            words = ARGUMENTS.get(request, "").replace("LEASE", lease).replace("PID", str(2**22))
            answer = who.request(f"{request} {words}".strip()) if request != "status" else who.lines("status")[0]
            may = not answer.startswith("error") or code(answer) != "forbidden"
            assert may == (cell == "yes"), (request, uid, answer)
            own_daemon.client().request("undrain")
            own_daemon.client().request("reset a")
            owner.close()
            who.close()

"""Who may do what: every request of src/wire/commands.def, sent by each kind of user, as the
manual's table (berthd(8)) says. Other tests check the results; here each is refused, or it is
not."""

import contextlib
import os
import re
import urllib.parse

import pytest

from conftest import Berthd
from daemon_help import (
    SOURCE, become, code, connect_as, held, needs_root, status, status_lines, table_rows, waits)
from lost_help import living_as, sleeper

pytestmark = needs_root

# No accounts exist for these: a uid and a gid need no name to have rights.
STRANGER, OWNER, RESOURCE_ADMIN, DAEMON_ADMIN, DENIED_ADMIN, ROOT = 60001, 60002, 60003, 60004, 60005, 0
VIEWER, MEMBER, VIEWING = 60006, 60007, 60101  # sees everything; a member of the group that does
HISTORY = 60008
EVERYBODY = {STRANGER, OWNER, RESOURCE_ADMIN, DAEMON_ADMIN, DENIED_ADMIN, VIEWER, MEMBER, HISTORY, ROOT}
ADMINS = {RESOURCE_ADMIN, DAEMON_ADMIN, DENIED_ADMIN, ROOT}
DAEMON_ADMINS = {DAEMON_ADMIN, ROOT}

KEYS = f"""allow-users = {OWNER}
admin-users = {RESOURCE_ADMIN} {DENIED_ADMIN}
deny-users = {DENIED_ADMIN} {DAEMON_ADMIN} 0
"""
CONFIG = f"""admin-users = {DAEMON_ADMIN}
history-user = {HISTORY}
view-users = {VIEWER}
view-groups = {VIEWING}
[semaphore s]
limit = 9
{KEYS}
[lock one]
{KEYS}
[pool p]
items = a b
select = first
{KEYS}
"""

# Lines of each request, and who may send them.
TABLE = {
    "hello": (["hello proto=1 program=x"], EVERYBODY),
    "ping": (["ping"], EVERYBODY),
    "version": (["version"], EVERYBODY),
    "status": (["status", "status one", "status lease={waiting}"], EVERYBODY),
    "history": (["history", "history s since=1000 user=0", "history lease=1"], EVERYBODY),
    "ring": (["ring"], {HISTORY, ROOT}),
    "sees": (["sees user=1", "sees user=0 groups=1,2"], {HISTORY, ROOT}),
    "why": (["why s", "why one:1 p", "why lease={held}", "why lease={waiting}"], EVERYBODY),
    "metrics": (["metrics", "metrics from=1", "metrics database=x"], EVERYBODY),
    "acquire": (["acquire s wait=0", "acquire s:2 holder=x ttl=1ms wait=0"],
                {OWNER, RESOURCE_ADMIN, DAEMON_ADMIN, ROOT}),
    "reclaim": (["reclaim {away} s:1:0"], {OWNER} | ADMINS),
    "bind": (["bind {held} pid={own}", "bind {waiting} pid={own}"], {OWNER} | ADMINS),
    "renew": (["renew {held}", "renew {timed} ttl=2h", "renew {waiting}"], {OWNER} | ADMINS),
    "release": (["release {held}", "release {waiting}", "release {timed}", "release p item=a"],
                {OWNER} | ADMINS),
    "cancel": (["cancel {waiting}", "cancel {held}"], {OWNER} | ADMINS),
    "away": (["away {waiting}", "away {held}"], {OWNER} | ADMINS),
    "back": (["back {waiting}"], {OWNER} | ADMINS),
    "revoke": (["revoke {held}", "revoke {waiting}", "revoke {away}"], {OWNER} | ADMINS),
    "drop": (["drop {held}", "drop {waiting}", "drop {away}"], {OWNER} | ADMINS),
    "move": (["move {waiting} first", "move {held} last", "move {away} last"], ADMINS),
    "hosts": (["hosts"], EVERYBODY),
    "wait": (["wait s one", "wait lease={waiting}"], EVERYBODY),
    "watch": (["watch", "watch ended=1"], EVERYBODY),
    "limit": (["limit s 3", "limit one 0"], ADMINS),
    "add": (["add p c"], ADMINS),
    "remove": (["remove p b"], ADMINS),
    "reserve": (["reserve p b", "reserve s 8 reason=x"], ADMINS),
    "pause": (["pause s", "pause one reason=x"], ADMINS),
    "resume": (["resume s"], ADMINS),
    "reset": (["reset s", "reset p"], ADMINS),
    "forget": (["forget gone", "forget t/*", "forget s"], DAEMON_ADMINS),
    "upgrade": (["upgrade", "upgrade database=x"], DAEMON_ADMINS),
    "found": (["found", "found database=default"], DAEMON_ADMINS),
    "drain": (["drain", "drain wait=1"], DAEMON_ADMINS),
    "undrain": (["undrain"], DAEMON_ADMINS),
    "reload": (["reload"], DAEMON_ADMINS),
}


CHANGES = {"limit", "add", "remove", "reserve", "pause", "resume", "reset"}


def test_the_table_is_whole():
    assert TABLE.keys() == {word for word, *_ in table_rows("src/wire/commands.def", "COMMAND")}


def test_the_manual_has_the_same_table():
    """Without the file's rules about use. Its columns: a user, the lease's owner, an admin of the
    resource, one of the daemon, root, the daemon's own user."""
    columns = [STRANGER, OWNER, RESOURCE_ADMIN, DAEMON_ADMIN, ROOT, ROOT]
    text = re.search(r"^# RIGHTS\n(.*?)^# ", (SOURCE / "doc/man/berthd.8.scd").read_text(), re.M | re.S).group(1)
    rows = {word: re.findall(r"^:- (\w+)", cells, re.M)
            for words, cells in re.findall(r"^\|< (.*)\n((?::- .*\n)+)", text, re.M)
            for word in re.sub(r" \(\d\)", "", words).split(", ")}
    assert rows == {word: ["yes" if uid in may or word == "acquire" else "no" for uid in columns]
                    for word, (_, may) in TABLE.items() if word in rows} and len(rows) > 20


def prepare(stack, daemon, line):
    """Leases of the owner: of each kind that the line names."""
    owner = connect_as(daemon, OWNER)

    def away():
        pid = stack.enter_context(sleeper(lambda: become(OWNER)))
        with living_as(daemon, OWNER) as client:
            lease = held(client, f"acquire s pid={pid}")
            client.close()
        while "away" not in status(owner, "s").resources["s"]["holders"][0]:
            pass
        return lease

    kinds = {"away": away, "held": lambda: held(owner, "acquire one p:1"),
             "timed": lambda: held(owner, "acquire s ttl=1h"), "waiting": lambda: waits(owner, "acquire one p:1")}
    needs_held = "{waiting}" in line or "item=" in line
    return {name: make() for name, make in kinds.items() if f"{{{name}}}" in line or name == "held" and needs_held}


def clean_up(daemon, leases, line):
    root = daemon.client()
    for lease in leases.values():
        assert root.request(f"drop {lease}").split(" ")[:2] in (["ok"], ["error", "lost"])
    word, *names = line.split(" ")
    assert root.request("undrain" if word == "drain" else f"reset {names[0]}" if word in CHANGES else "ping") == "ok"
    while status(root).held:
        pass
    root.close()


def as_user(daemon, uid):
    return connect_as(daemon, uid, VIEWING if uid == MEMBER else None)


def ask(daemon, uid, line, leases):
    """False: it is forbidden."""
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(sleeper(lambda: become(uid))) if "{own}" in line else 0
        asker = as_user(daemon, uid)
        answer = asker.request(line.format(own=own, **leases))
        asker.close()
        refused = answer.startswith("error ") and code(answer)
        assert refused in (False, "forbidden", "kind", "lost", "unknown"), (uid, line, answer)
        return refused != "forbidden"


def test_which_users_may(daemon):
    """Whom it is forbidden changes nothing."""
    with contextlib.ExitStack() as stack:
        for line, may in ((line, may) for lines, may in TABLE.values() for line in lines):
            leases = prepare(stack, daemon, line)
            before = status_lines(daemon.client())
            for uid in sorted(EVERYBODY - may):
                assert not ask(daemon, uid, line, leases), (uid, line)
            assert status_lines(daemon.client()) == before, line
            for uid in sorted(may):
                assert ask(daemon, uid, line, leases), (uid, line)
                if may != EVERYBODY:
                    clean_up(daemon, leases, line)
                    leases = prepare(stack, daemon, line)
            clean_up(daemon, leases, line)


# ---- who sees

HIDING = f"""admin-users = {DAEMON_ADMIN}
view-users = {VIEWER}
view-groups = {VIEWING}
[lock one]
show-commands = owner
admin-users = {RESOURCE_ADMIN} {DENIED_ADMIN}
deny-users = {DENIED_ADMIN}
[lock two]
show-commands = owner
"""
SECRETS = "program=theirprogram reason=theirreason holder=theiridentity"
WAITER = SECRETS.replace("identity", "second")
ENDED = SECRETS.replace("identity", "third")
TEXTS = {"theirprogram", "theirreason", "theiridentity", "theirsecond", "theirthird"}

# Requests whose answers have the texts of leases, on `one` alone and on both.
SHOWING = ["status", "status one", "status two", "status lease={held}", "status lease={waiting}",
           "acquire one wait=0", "acquire one two wait=0", "why one", "why one two", "why lease={held}",
           "why lease={waiting}", "history", "history one", "history lease={ended}"]
SHOW_ALWAYS = {"status", "status one", "status lease={held}", "status lease={waiting}", "why one",
               "history", "history one", "history lease={ended}"}  # to who sees it
LINES_TO_END = {"status", "why", "history"}
SEES_ONE = {OWNER, RESOURCE_ADMIN, DAEMON_ADMIN, DENIED_ADMIN, VIEWER, MEMBER, ROOT}
SEES_BOTH = {OWNER, DAEMON_ADMIN, VIEWER, MEMBER, ROOT}


def whole_answer(client, line):
    lines = client.lines(line) if line.split()[0] in LINES_TO_END else [client.request(line)]
    return urllib.parse.unquote("\n".join(lines))


@pytest.mark.parametrize("names, sees", [("one", SEES_ONE), ("one two", SEES_BOTH)])
def test_which_users_see(berthd, names, sees):
    daemon = berthd(HIDING)
    owner = connect_as(daemon, OWNER)
    leases = {"ended": held(owner, f"acquire {names} {ENDED}")}
    assert owner.request(f"release {leases['ended']}") == "ok"
    leases |= {"held": held(owner, f"acquire {names} {SECRETS}"), "waiting": waits(owner, f"acquire {names} {WAITER}")}
    for uid in sorted(EVERYBODY):
        seen = set()
        for line in SHOWING:
            answer = whole_answer(as_user(daemon, uid), line.format(**leases))
            shown = {text for text in TEXTS if text in answer}
            if line in SHOW_ALWAYS and uid in sees:
                assert shown, (uid, line, answer)
            assert not shown or uid in sees, (uid, line, answer)
            seen |= shown
        assert seen == (TEXTS if uid in sees else set()), (uid, seen)


def test_a_user_s_own_daemon(directory, own_files):
    """The user who runs it administers it, and so does root."""
    directory.chmod(0o777)
    daemon = Berthd(directory, "[lock a]\n", before=[
        "setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--clear-groups", "--"])
    try:
        for uid, may in ((OWNER, True), (ROOT, True), (STRANGER, False)):
            client = connect_as(daemon, uid)
            for line in ("pause a", "resume a", "drain", "undrain", "reload"):
                assert client.request(line).startswith("ok" if may else "error forbidden"), (uid, line)
            held(client, "acquire a")
            client.close()
    finally:
        daemon.stop()
    assert os.stat(daemon.socket.parent).st_uid == 0

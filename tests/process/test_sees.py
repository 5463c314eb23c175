"""`sees`: by its answer and what is in the ring, a program that keeps past leases shows each user what
`history` would."""

import mmap
import os
import struct

import pytest

from daemon_help import code, connect_as, held, keys, needs_root, refused
from history_help import history
from test_ring import ring_of
from test_rights_shown import ANNA, BERT, CLEO, CONFIG, DORA, EMIL, GROUP, VIEWING, WORDS

pytestmark = needs_root

HEAD_BYTES, FIRST, END, MARK = 4096, 120, 128, struct.Struct("<IIQQ")
STORED = struct.Struct("<QqIIIIIHB")  # lease, ended, uid, login, by, by_login, length of the record, hiding, kind
ENDED = 0
ALONE = "[lock lonely]\nshow-commands = owner\n"
# The template hides, and CLEO is its admin; one below it does not, and is DORA's.
ABOVE = "[lock t/x]\n"


def hiding_of(client):
    """The bits of the leases in the ring, oldest first."""
    _, fd = ring_of(client)
    content = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
    os.close(fd)
    at, end = (struct.unpack_from("<Q", content, place)[0] for place in (FIRST, END))
    found = []
    while at < end:
        size, _, _, _ = MARK.unpack_from(content, HEAD_BYTES + at)
        *_, hiding, kind = STORED.unpack_from(content, HEAD_BYTES + at + MARK.size)
        found += [hiding] if kind == ENDED else []
        at += size
    return found


def shown_to(client, uid, gids):
    """Whether that user sees an entry's details: a function, as a program would have it."""
    groups = f" groups={','.join(map(str, gids))}" if gids else ""
    head, *lines, end = client.lines(f"sees user={uid}{groups}")
    assert head in ("ok all=0", "ok all=1") and end == "end" and not (head == "ok all=1" and lines)
    known = {line.split(" ")[1]: keys(line.split(" ")) for line in lines}
    assert len(known) == len(lines) and all(line.startswith("definition ") for line in lines)

    def sees_claim(name, hid):
        about = known.get(name) or known.get(name.rpartition("/")[0] + "/*") or {"hides": "0", "sees": "0"}
        return about["sees"] == "1" or not hid and about["hides"] == "0"

    def sees(entry, hiding):
        names = [claim.split(":")[0].split("=")[0] for claim in entry["units"].split(";")]
        return head == "ok all=1" or entry["uid"] == str(uid) or all(
            sees_claim(name, hiding >> i & 1) for i, name in enumerate(names))

    return sees


USERS = [(ANNA, ()), (BERT, ()), (BERT, (GROUP,)), (BERT, (7, VIEWING)), (CLEO, ()), (DORA, ()), (EMIL, ()), (0, ())]


def test_as_history_says(daemon):
    """For each user; also when the file hides more, or less, or has no such resources."""
    daemon.configure(CONFIG + ALONE)
    root, anna, other = daemon.client(), connect_as(daemon, ANNA), connect_as(daemon, 60009)
    assert root.request("reload") == "ok"
    for names in "open", "shut", "also", "t/x", "t/y", "lonely", "open shut", "shut t/x", "also shut", "open lonely":
        for client in anna, other:
            assert client.request("release " + held(client, f"acquire {names} {WORDS}")) == "ok"
    seen = set()
    for config in (CONFIG + ALONE, CONFIG, CONFIG + ABOVE, CONFIG + ABOVE + f"admin-users = {DORA} {BERT}\n",
                   CONFIG.replace("[semaphore open]", "[semaphore open]\nshow-commands = owner"),
                   CONFIG.replace("show-commands = owner\n", ""),
                   CONFIG.split("[semaphore also]", maxsplit=1)[0]):
        daemon.configure(config)
        assert root.request("reload") == "ok"
        hiding = hiding_of(root)
        for uid, gids in USERS:
            client = connect_as(daemon, uid, gids[-1] if gids else None, gids) if uid else root
            sees = shown_to(root, uid, gids)
            entries = history(client)
            assert len(entries) == 20
            for entry, bits in zip(entries, hiding, strict=True):
                assert sees(entry, bits) == ("program" in entry), (uid, gids, entry, config)
            seen.add(tuple("program" in entry for entry in entries))
    assert len(seen) >= 10  # ways to see some of them


def test_what_is_asked_for(daemon, client):
    for keys_ in ("", "user=x", "user=-1", "user=1 groups=", "user=1 groups=1,", "user=1 groups=,1", "user=1 groups=x",
                  "user=1 groups=1,4294967296", "groups=1"):
        assert refused(client, f"sees {keys_}".strip()) in ("bad-value", "malformed"), keys_
    gids = ",".join(["4294967295"] * 350)
    assert client.lines(f"sees user=4294967295 groups={gids}")[0] == "ok all=0"
    assert client.lines(f"sees user={BERT} groups={gids},{VIEWING}") == ["ok all=1", "end"]
    assert code(client.request(f"sees user={BERT} groups={'1,' * 1960}1")) in ("bad-value", "too-long")


def test_many_definitions(berthd):
    n = 3000
    daemon = berthd("".join(f"[lock a{i}]\nshow-commands = owner\n[lock b{i}]\n" for i in range(n)))
    head, *lines, end = daemon.client().lines("sees user=60009")
    assert (head, end) == ("ok all=0", "end")
    assert lines == [f"definition a{i} hides=1 sees=0" for i in range(n)]

"""For the tests of berthd itself: other users, its figures, its `status` parsed."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import traceback

import pytest

from conftest import BUILD

SANITIZED = b"__asan_init" in (BUILD / "berthd").read_bytes()

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be somebody else")

NOBODY = 65534


def untimed(log):
    """The lines of a log, without the time that each of them begins with."""
    text, n = re.subn(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d ", "", log, flags=re.M)
    assert n == log.count("\n"), log
    return text


def in_child(work):
    """Forks; work() runs in the child. Returns the child's pid."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


def must_end_well(pid):
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def become(uid, gid=None, groups=()):
    os.setgroups(list(groups))
    os.setgid(uid if gid is None else gid)
    os.setuid(uid)


def connect_as(daemon, uid, gid=None, groups=()):
    """A connection made as another user: who a client is, is settled when it connects."""
    own_groups = os.getgroups()
    os.setgroups(list(groups))
    os.setegid(uid if gid is None else gid)
    os.seteuid(uid)
    try:
        return daemon.client()
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(own_groups)


@contextlib.contextmanager
def stopped(daemon):
    """berthd is stopped in this block: it finds all that happens here in one turn."""
    pid = daemon.process.pid
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def children(n, work):
    """n children that do work(k) until the end of the block, which kills them."""
    pids = [in_child(lambda k=k: work(k)) for k in range(n)]
    try:
        yield pids
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            os.waitpid(pid, 0)


# ---- figures


def open_files(daemon):
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def resident(daemon):
    """Bytes. Tells nothing about leaks where a sanitizer keeps what was freed."""
    pages = pathlib.Path(f"/proc/{daemon.process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


# ---- status


def keys(words):
    """The key=value pairs among a line's words; of a repeated key, the last."""
    return dict(word.split("=", 1) for word in words if "=" in word)


class Status:
    """.resources[name]: its keys, .holders and .waiters: keys of each, with its lease in "lease";
    .templates[name] and .databases[name]: their keys."""

    def __init__(self, lines):
        assert lines[-1] == "end", lines
        head = keys(lines[0].split())
        self.held, self.waiting, self.draining = (
            int(head[key]) for key in ("held", "waiting", "draining"))
        self.now = int(head["now"])  # milliseconds on berthd's clock
        self.grace = int(head["grace_until"]) - self.now if "grace_until" in head else None  # milliseconds
        self.closed = head.get("closed")  # encoded
        self.resources, self.templates, self.databases = {}, {}, {}
        current = None
        for line in lines[1:-1]:
            assert len(line) < 4096
            kind, name, *words = line.split(" ")
            if kind == "resource":
                current = self.resources[name] = keys(words)
                current["holders"], current["waiters"] = [], []
            elif kind in ("template", "database"):
                getattr(self, kind + "s")[name] = keys(words)
            else:
                current[kind + "s"].append({"lease": name, **keys(words)})

    def age(self, lease):
        """Milliseconds since it was granted, or asked for."""
        return self.now - int(lease["since"])

    def holders(self, name):
        return [holder["lease"] for holder in self.resources[name]["holders"]]

    def waiters(self, name):
        return [waiter["lease"] for waiter in self.resources[name]["waiters"]]


def status(client, *names):
    return Status(client.lines(" ".join(["status", *names])))


def status_lines(client):
    """The lines of status but for the time that it is: they can be compared with later ones."""
    head, *lines = client.lines("status")
    return [re.sub(r" now=\d+", "", head), *lines]


def lease_of(answer):
    """The id in the answer to `acquire`, which must be ok or waiting."""
    word, lease, *_ = answer.split()
    assert word in ("ok", "waiting"), answer
    return lease


def held(client, request):
    answer = client.request(request)
    assert answer.startswith("ok "), answer
    return lease_of(answer)


def held_with_proof(client, request):
    """The lease, and the key that reclaims it when the journal is lost; `request` has a pid."""
    answer = client.request(request)
    assert answer.startswith("ok "), answer
    proof, = [word for word in answer.split() if word.startswith("proof=")]
    return lease_of(answer), proof


def waits(client, request, position=None):
    answer = client.request(request)
    assert answer.startswith("waiting "), answer
    if position is not None:
        assert answer.endswith(f" position={position}"), answer
    return lease_of(answer)


def event(client):
    """The next line, which must be an event: (kind, lease, code or units)."""
    line = client.line()
    assert line.startswith("* "), line
    return tuple(line.split()[1:4])


def code(answer):
    """CODE of `error CODE TEXT`; there is always a text."""
    words = answer.split(" ")
    assert words[0] == "error" and len(words) == 3 and words[2], answer
    return words[1]


def refused(client, request):
    return code(client.request(request))


def is_quiet(client):
    """Whether nothing unread has been sent to it: the next line answers its ping."""
    return client.request("ping") == "ok"


def may_use(client, names):
    """The names of which it gets a unit; all others are forbidden."""
    answers = {name: client.request(f"acquire {name} wait=0") for name in names}
    assert is_quiet(client)
    for name, answer in answers.items():
        assert answer.startswith("ok ") or code(answer) == "forbidden", (name, answer)
    return {name for name, answer in answers.items() if answer.startswith("ok ")}


# ---- the protocol's tables

SOURCE = pathlib.Path(os.environ.get("BERTH_SOURCE_DIR", pathlib.Path(__file__).parents[2]))


def table_rows(path, macro):
    """The arguments of each row, as written."""
    text = re.sub(r"/\*.*?\*/", "", (SOURCE / path).read_text(), flags=re.S)
    pattern = rf'^{macro}\((?P<row>(?:"[^"]*"|[^"])*?)\)$'
    for match in re.finditer(pattern, text, re.M | re.S):
        yield re.split(r",\s+", match["row"])


def half_close(client):
    client.socket.shutdown(socket.SHUT_WR)


def does(client, *lines):
    for line in lines:
        answer = client.request(line)
        assert re.fullmatch(r"ok( was=\w+)?", answer), (line, answer)


def shown(client, name):
    return status(client, name).resources[name]

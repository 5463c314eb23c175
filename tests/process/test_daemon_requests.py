"""Every request of doc/protocol.md with its answers: hello to version. test_daemon_leases.py has
acquire, release and cancel, test_daemon_operator.py the operator's requests."""

import os
import re

from daemon_help import held, is_quiet, keys, refused, status, waits

CONFIG = """
[lock a]
[semaphore b]
limit = 8
[pool gpus]
items = g0 g1 g2
[semaphore market/*]
limit = 2
"""


def test_not_a_line_of_the_protocol(client):
    """test_wire_protocol has all that is refused in a line."""
    for line in ("", " ", "ping ", "acquire  a", "ping\tx", "ping\r", "\x80ping", "acquire a\0", "\0", "acquire %00"):
        client.send(line.encode("latin-1") + b"\n")
        assert client.line().startswith("error malformed "), line
    assert is_quiet(client)


# ---- hello, ping, version


def test_hello_and_version(daemon, client):
    for proto in ("0", "2", "01", "1.0", "-1", "x", "1%20", "4294967297"):
        assert refused(client, f"hello proto={proto} program=x") == "bad-value", proto
    lease = held(client, "acquire a")
    assert "program" not in status(client).resources["a"]["holders"][0]
    assert client.request(f"release {lease}") == "ok"
    answer = re.compile(rf"ok proto=1 version=\S+ pid={daemon.process.pid}")
    assert answer.fullmatch(client.request("hello"))
    assert answer.fullmatch(client.request("hello proto=1 program=one%20two"))
    held(client, "acquire a")
    assert status(client).resources["a"]["holders"][0]["program"] == "one%20two"
    assert answer.fullmatch(client.request("hello program=three"))
    waits(client, "acquire a")
    waits(client, "acquire a program=four")
    waiters = status(client).resources["a"]["waiters"]
    assert [waiter["program"] for waiter in waiters] == ["three", "four"]
    version = client.request("version")
    assert re.fullmatch(rf"ok version=\S+ proto=1 pid={daemon.process.pid} uptime=\d+", version)
    assert int(keys(version.split())["uptime"]) < 60_000
    assert is_quiet(client)


# ---- status


def test_status_of_everything(client):
    assert ageless(client, "status") == [
        "ok draining=0 held=0 waiting=0",
        "resource a kind=lock scope=host limit=1 in_use=0 free=1 waiting=0",
        "resource b kind=semaphore scope=host limit=8 in_use=0 free=8 waiting=0",
        "resource gpus kind=pool scope=host limit=3 in_use=0 free=3 waiting=0 items=g0,g1,g2",
        "template market/* kind=semaphore scope=host limit=2 instances=0",
        "end"]


def test_status_of_holders_and_waiters(client):
    pid = os.getpid()
    one = held(client, f"acquire b:3 holder=h%201 reason=why%25 program=p pid={pid}")
    two = waits(client, "acquire b:6")
    three = waits(client, "acquire a b:7 holder=h2")
    lines = client.lines("status b a")
    assert re.fullmatch(r"ok draining=0 held=1 waiting=2 now=\d+", lines[0]) and lines[-1] == "end"
    assert lines[1] == (
        "resource b kind=semaphore scope=host limit=8 in_use=3 free=5 waiting=2")
    assert re.fullmatch(
        rf"holder {one} units=0-2 token=\d+ since=\d+ bound=process pid={pid} uid=\d+ holder=h%201 "
        r"program=p reason=why%25", lines[2])
    assert re.fullmatch(
        rf"waiter {two} position=1 wants=6 since=\d+ priority=0 pid=\d+ uid=\d+", lines[3])
    assert re.fullmatch(
        rf"waiter {three} position=2 wants=7 since=\d+ priority=0 pid=\d+ uid=\d+ holder=h2", lines[4])
    assert lines[5] == "resource a kind=lock scope=host limit=1 in_use=0 free=1 waiting=1"
    assert re.fullmatch(
        rf"waiter {three} position=1 wants=1 since=\d+ priority=0 blocked=other blocker=b pid=\d+ uid=\d+ holder=h2", lines[6])
    assert len(lines) == 8


def ageless(client, request):
    return [re.sub(" (now|since|paused_by_login)=[0-9]+", "", line) for line in client.lines(request)]


def test_status_of_what_the_operator_did(client):
    lease = held(client, "acquire b:2 gpus:2")
    for line in ("limit b 1", "pause a reason=flood%20in%20the%20cellar", "remove gpus g0",
                 "reserve gpus g2 reason=mine", "reserve gpus g1", "reserve b 0 reason=too"):
        assert client.request(line) == "ok"
    me = os.getuid()
    assert [re.sub(r"_at=\d+", "_at=T", line) for line in ageless(client, "status")[1:-2]] == [
        "resource a kind=lock scope=host limit=1 in_use=0 free=0 waiting=0 paused=1 "
        f"pause_reason=flood%20in%20the%20cellar paused_by={me} paused_at=T",
        "resource b kind=semaphore scope=host limit=1 in_use=2 free=0 waiting=0 changed=limit "
        f"file_limit=8 changed_at=T changed_by={me} reserved=0 reserve=0,too",
        *[line for line in ageless(client, "status b") if line.startswith("holder")],
        "resource gpus kind=pool scope=host limit=2 in_use=2 free=0 waiting=0 changed=items "
        f"changed_at=T changed_by={me} items=g1,g2 draining=g0 reserved=g1,g2 reserve=g2,mine",
        *[line for line in ageless(client, "status gpus") if line.startswith("holder")]]
    assert client.request(f"release {lease}") == "ok"
    assert re.sub(r"_at=\d+", "_at=T", client.lines("status gpus")[1]) == (
        "resource gpus kind=pool scope=host limit=2 in_use=0 free=0 waiting=0 changed=items "
        f"changed_at=T changed_by={me} items=g1,g2 reserved=g1,g2 reserve=g2,mine")


def test_templates(client):
    """Live instances are shown; looking at one makes none. Templates come last, with as many instances as
    are held, waited for or changed."""
    line = "resource market/x kind=semaphore scope=host limit=2 in_use=0 free=2 waiting=0 template=market/*"
    assert client.lines("status market/x")[1:-1] == [line]
    assert "market/x" not in status(client).resources
    template = "template market/* kind=semaphore scope=host limit=2 instances="
    assert client.lines("status")[-2:] == [template + "0", "end"]
    assert client.lines("status market/*")[1:] == [template + "0", "end"]
    lease = held(client, "acquire market/x market/y")
    assert {"market/x", "market/y"} < status(client).resources.keys()
    waiting = waits(client, "acquire market/y:2")
    assert client.request("pause market/z") == "ok"
    assert client.lines("status")[-2] == template + "3"
    assert client.request(f"cancel {waiting}") == "ok" and client.request(f"release {lease}") == "ok"
    assert status(client).templates["market/*"]["instances"] == "1"
    assert client.request("resume market/z") == "ok"
    assert client.lines("status")[-2] == template + "0"
    assert not status(client, "market/y").templates and "market/x" not in status(client).resources


def test_patterns(client):
    for name in ("x", "xy", "z"):
        held(client, f"acquire market/{name}")
    for words, resources, templates in (
            ("market/*", "market/x market/xy market/z", "market/*"),
            ("market/x*", "market/x market/xy", ""),
            ("market/x* */*y gpus", "gpus market/x market/xy", ""),
            ("market/xy market/x* a", "market/xy a market/x", ""),
            ("*", "a b gpus", ""),
            ("*/*", "market/x market/xy market/z", "market/*"),
            ("m*/idle*", "", ""),
            ("none*", "", "")):
        now = status(client, words)
        assert (list(now.resources), list(now.templates)) == (resources.split(), templates.split()), words
        assert all(one["holders"] for name, one in now.resources.items() if "/" in name)
        lines = client.lines(f"status {words}")
        assert len([line for line in lines if line.startswith("resource ")]) == len(now.resources), "each once"
    for line, code in {
        "status none market/*": "unknown", "status a****": "bad-value", "status a?*": "bad-value",
        "acquire market/*": "bad-value", "status a none": "unknown", "status market/x/y": "unknown",
        "status lease=zzz": "unknown", "status -x": "bad-value", "status lease=A-B": "bad-value",
        f"status a lease={held(client, 'acquire a')}": "malformed",
    }.items():
        assert refused(client, line) == code, line
    assert client.request("reserve market/* 0") == (
        "error bad-value a%20template:%20name%20one%20of%20the%20resources%20below%20it")


def test_a_pattern_is_looked_for_piece_by_piece(berthd):
    """Also where nothing matches for long."""
    names = [f"far/{i}" for i in range(3000)]
    client = berthd("".join(f"[lock {name}]\n" for name in names) + "[lock z/near]\n[lock z/*]\n").client()
    now = status(client, "z/*")
    assert (list(now.resources), list(now.templates)) == (["z/near"], ["z/*"])
    assert list(status(client, "far/*").resources) == names


def test_status_of_a_lease(client):
    """Only what it wants, with no waiters but itself and few of the holders."""
    for _ in range(7):
        held(client, "acquire b")
    last = held(client, "acquire b")
    lines = client.lines(f"status lease={last}")
    assert [line.split()[0] for line in lines] == ["ok", "resource"] + ["holder"] * 8 + ["end"]
    first = waits(client, "acquire a b:2")
    second = waits(client, "acquire b a reason=x")
    lines = client.lines(f"status lease={second}")
    assert [" ".join(line.split()[:2]) for line in lines if not line.startswith("holder")] == [
        "ok draining=0", "resource b", f"waiter {second}", "resource a", f"waiter {second}", "end"]
    assert " position=2 " in lines[-2] and first not in "".join(lines)


def test_no_line_of_status_is_too_long(berthd):
    """With everything that makes a line long."""
    items = [f"{i:064}" for i in range(200)]
    name = "n" * 128
    daemon = berthd(f"[pool {name}]\nitems = " + "\n    ".join(items) + "\n")
    client = daemon.client()
    assert client.request("hello program=" + "%01" * 64).startswith("ok")
    text = "%01" * 256
    for i in range(2):
        held(client, f"acquire {name}:40 reason={text} holder={'%02' * 127}{i}")
    held(client, f"acquire {name}:50")
    held(client, f"acquire {name}:50")
    waits(client, f"acquire {name}:50 wait=1h reason={text} holder={'%02' * 128}")
    assert client.request(f"pause {name} reason={text}") == "ok"
    operators = {daemon.client(): f"remove {name} {item}\n" for item in items[:60]}  # together: they are stored at once
    operators |= {daemon.client(): f"reserve {name} {item} reason={text[:300]}\n" for item in items[70:180]}
    for operator, line in operators.items():
        operator.send(line)
    assert {operator.line() for operator in operators} == {"ok"}
    lines = client.lines("status")
    assert max(map(len, lines)) < 4096
    resource = keys(lines[1].split())
    for key in ("items", "draining", "reserved"):
        assert resource[key].endswith(",...")
        shown = resource[key].split(",")[:-1]
        assert len(shown) >= 5 and set(shown) <= set(items)
    assert {"kind", "limit", "paused", "pause_reason", "changed", "reserve"} <= resource.keys()
    assert keys(lines[2].split())["units"].endswith(",...")
    assert len(status(client).resources[name]["holders"]) == 4

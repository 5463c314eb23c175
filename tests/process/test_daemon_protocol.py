"""doc/protocol.md, statement by statement, on the wire of a real berthd."""

import re
import socket
from urllib.parse import quote, unquote

import pytest

from daemon_help import code, event, held, is_quiet, keys, refused, status, waits

CONFIG = """
[semaphore s]
limit = 2
[semaphore big]
limit = 12
max-priority = 5
[semaphore mine]
limit = 4
max-units-per-user = 2
[semaphore narrow]
limit = 1
max-waiters = 1
[semaphore shut]
limit = 0
[lock l]
[pool p]
items = a b c
select = first
[pool wide]
items = """ + " ".join("i" * 60 + f"{i:03}" for i in range(100)) + """
[semaphore t/*]
limit = 1
"""


@pytest.fixture
def daemon(berthd):
    return berthd(CONFIG)


@pytest.fixture
def client(daemon):
    return daemon.client()


def half_close(client):
    client.socket.shutdown(socket.SHUT_WR)


# ---- lines


REFUSED_LINES = [
    ("", "malformed"), (" ping", "malformed"), ("ping ", "malformed"), ("ping\r", "malformed"),
    ("status  l", "malformed"), ("status\tl", "malformed"), ("ping\0", "malformed"),
    ("status \u00e9", "malformed"), ("\x7f", "malformed"),
    ("status %0", "malformed"), ("status %zz", "malformed"), ("status %00", "malformed"),
    ("hello program=a%00b", "malformed"), ("hello program=a program=b", "malformed"),
    ("ping pong", "malformed"), ("version 1", "malformed"), ("undrain l", "malformed"),
    ("PING", "unknown-command"), ("pin", "unknown-command"), ("pingg", "unknown-command"),
    ("x" * 4095, "unknown-command"), ("x" * 4096, "too-long"), ("x" * 300000, "too-long"),
    ("ping a=1", "unknown-key"), ("ping =", "unknown-key"), ("hello lease=1", "unknown-key"),
    ("acquire l Wait=1", "unknown-key"), ("acquire l waitx=1", "unknown-key"),
    ("release l reason=x", "unknown-key"), ("status color=red", "unknown-key"),
    ("limit s 1 reason=x", "unknown-key"),
    # later versions'
    ("bind 1", "unknown-command"), ("renew 1", "unknown-command"),
    ("reclaim 1", "unknown-command"), ("revoke 1", "unknown-command"),
    ("drop 1", "unknown-command"), ("log", "unknown-command"),
]


@pytest.mark.parametrize("line, why", REFUSED_LINES, ids=lambda value: repr(value[:20]))
def test_refused_lines(client, line, why):
    """One error each, and the connection lives on."""
    client.send(line + "\nping\n")
    assert code(client.line()) == why
    assert client.line() == "ok"
    assert is_quiet(client)


def test_lines_in_pieces_and_pieces_with_lines(client):
    for byte in "ping\nstatus l\n":
        client.send(byte)
    assert client.line() == "ok"
    assert client.line().startswith("ok draining=")
    while client.line() != "end":
        pass
    client.send("ping\nx" * 300 + "\n")
    assert client.line() == "ok"
    for _ in range(299):
        assert code(client.line()) == "unknown-command", "xping"
    assert code(client.line()) == "unknown-command", "x"
    assert is_quiet(client)


def test_values_are_percent_encoded(client):
    """Whatever a client says is shown as it was, and never as anything else."""
    text = "".join(chr(i) for i in range(1, 128)) + "\u00e9"
    wire = quote(text, safe="")
    held(client, f"acquire %6c holder={wire[:120]} reason={wire} program=a%20b%0aend")
    lines = client.lines("status l")
    assert len(lines) == 4 and lines[3] == "end"
    shown = keys(lines[2].split(" "))
    assert unquote(shown["reason"]) == text
    assert unquote(shown["program"]) == "a b\nend"
    assert re.fullmatch("[ -~]*", lines[2])


def test_a_partial_last_line_is_not_carried_out(daemon, client):
    client.send("ping\nacquire l")
    half_close(client)
    assert client.line() == "ok"
    assert client.line() == ""
    other = daemon.client()
    assert status(other, "l").resources["l"]["in_use"] == "0"
    held(other, "acquire l wait=0")


# ---- conversation


def test_answers_come_in_the_order_of_the_requests(client):
    client.send("acquire s\nping\nacquire nope\nacquire s\nacquire s\nversion\n"
                "status l\nlimit shut 0\nhello\nnonsense\nping\n")
    got = []
    for _ in range(13):
        got.append(client.line())
    words = [" ".join(line.split()[:1 if line.startswith(("ok", "waiting")) else 2]) for line in got]
    assert words == ["ok", "ok", "error unknown", "ok", "waiting", "ok", "ok", "resource l", "end",
                     "ok", "ok", "error unknown-command", "ok"]
    assert is_quiet(client)


def test_one_answer_each_however_many(client):
    client.send("ping\nx\n" * 20000)
    for _ in range(20000):
        assert client.line() == "ok"
        assert code(client.line()) == "unknown-command"
    assert is_quiet(client)


def test_no_event_inside_a_status_answer(berthd):
    """Granted by somebody else's release while the answer is far from written: it comes after."""
    daemon = berthd("[lock l]\n" + "".join(f"[lock resource/{i}]\n" for i in range(8000)))
    holder, reader = daemon.client(), daemon.client()
    lease = held(holder, "acquire l")
    waiting = waits(reader, "acquire l")
    reader.send("status\nping\n")
    assert reader.line().startswith("ok draining=0 held=1 waiting=1")
    assert holder.request(f"release {lease}") == "ok"
    assert status(holder, "l").holders("l") == [waiting]
    lines = [reader.line()]
    while lines[-1] != "end":
        lines.append(reader.line())
    assert len(b"".join(line.encode() for line in lines)) > 500_000
    assert len([line for line in lines if line.startswith("resource ")]) == 8001
    assert not [line for line in lines if not line.startswith(("resource ", "waiter ", "holder "))][:-1]
    rest = sorted([reader.line(), reader.line()])
    assert rest[0].startswith(f"* granted {waiting} slot=l,")
    assert rest[1] == "ok"
    assert is_quiet(reader)


# ---- the end


@pytest.mark.parametrize("way", ["close", "half-close", "shutdown"])
def test_leases_end_with_their_connection(daemon, client, way):
    held(client, "acquire l s:2 p:3")
    waits(client, "acquire l")
    other, third = daemon.client(), daemon.client()
    waiting = waits(other, "acquire l s:2 p:3", 2)
    if way == "close":
        client.close()
    else:
        client.socket.shutdown(socket.SHUT_WR if way == "half-close" else socket.SHUT_RDWR)
    assert event(other)[:2] == ("granted", waiting)
    shown = status(third, "l", "s", "p")
    assert shown.held == 1 and shown.waiting == 0
    if way == "half-close":
        assert client.line() == "", "nothing is said about what one has given up oneself"


def test_after_a_half_close_answers_are_delivered(daemon, client):
    other = daemon.client()
    held(client, "acquire l")
    waiting = waits(other, "acquire l")
    client.send("ping\nacquire p:3\nacquire p\nstatus p\nversion\n" + "ping\n" * 1000)
    half_close(client)
    assert client.line() == "ok"
    assert client.line().startswith("ok ") and client.line().startswith("waiting ")
    while client.line() != "end":
        pass
    assert client.line().startswith("ok version=")
    assert [client.line() for _ in range(1000)] == ["ok"] * 1000
    assert client.line() == ""
    assert event(other)[:2] == ("granted", waiting)
    assert status(other, "p").resources["p"]["in_use"] == "0"


def test_full_house(berthd):
    daemon = berthd("max-clients = 2\n")
    first, second, third = (daemon.client() for _ in range(3))
    assert is_quiet(first) and is_quiet(second)
    assert code(third.line()) == "busy"
    assert third.line() == ""
    first.close()
    assert is_quiet(second)
    fourth = daemon.client()
    assert is_quiet(fourth)


# ---- hello, ping, version


def test_hello_and_version(daemon, client):
    pid = daemon.process.pid
    for line in ("hello", "hello proto=1", "hello proto=1 program=x", "hello program=" + "x" * 64):
        answer = client.request(line)
        assert re.fullmatch(rf"ok proto=1 version=\S+ pid={pid}", answer)
    for line in ("hello proto=2", "hello proto=0", "hello proto=01", "hello proto=one",
                 "hello proto=", "hello program=", "hello program=" + "x" * 65):
        assert refused(client, line) == "bad-value"
    answer = client.request("version")
    assert re.fullmatch(rf"ok version=\S+ proto=1 pid={pid} uptime=\d+", answer)
    later = client.request("version")
    assert int(keys(later.split())["uptime"]) >= int(keys(answer.split())["uptime"])


def test_hellos_program_is_shown(daemon, client):
    client.request("hello program=from%20hello")
    held(client, "acquire l")
    held(client, "acquire s program=its%20own")
    other = daemon.client()
    held(other, "acquire s")
    shown = status(other).resources
    assert shown["l"]["holders"][0]["program"] == "from%20hello"
    assert shown["s"]["holders"][0]["program"] == "its%20own"
    assert "program" not in shown["s"]["holders"][1]


# ---- acquire


def test_units_in_the_order_asked(client):
    answer = client.request("acquire p:2 big:5 l t/one s:1").split(" ")
    assert answer[0] == "ok" and re.fullmatch("[a-z0-9]+", answer[1])
    patterns = [r"item=p,\d+,a,b", r"slot=big,\d+,0-4", r"slot=l,\d+,0", r"slot=t/one,\d+,0",
                r"slot=s,\d+,0"]
    assert len(answer) == 2 + len(patterns)
    for word, pattern in zip(answer[2:], patterns):
        assert re.fullmatch(pattern, word)
        assert int(word.split(",")[1]) < 2**63


def test_tokens_of_a_resource_grow_and_ids_are_never_used_again(daemon, client):
    ids, tokens = [], []
    for _ in range(3):
        for _ in range(3):
            answer = client.request("acquire p").split(" ")
            ids.append(answer[1])
            tokens.append(int(answer[2].split(",")[1]))
            client.request(f"release {answer[1]}")
        daemon.stop()
        daemon.start()
        client = daemon.client()
    assert len(set(ids)) == len(ids)
    assert tokens == sorted(set(tokens))


def test_sixteen_resources_and_no_more(client):
    names = [f"t/{i}" for i in range(17)]
    assert client.request("acquire " + " ".join(names[:16])).count("slot=") == 16
    assert refused(client, "acquire " + " ".join(names)) == "malformed"


REFUSED_ASKS = [
    ("acquire", "malformed"), ("acquire s s", "malformed"), ("acquire s:1 l s:1", "malformed"),
    ("acquire -s", "bad-value"), ("acquire t//x", "bad-value"), ("acquire t/../x", "bad-value"),
    ("acquire " + "n" * 129, "bad-value"), ("acquire s:", "bad-value"),
    ("acquire s:x", "bad-value"), ("acquire s:-1", "bad-value"), ("acquire s:01", "bad-value"),
    ("acquire s:1:1", "bad-value"), ("acquire s%20", "bad-value"),
    ("acquire s wait=soon", "bad-value"), ("acquire s wait=-1", "bad-value"),
    ("acquire s wait=", "bad-value"), ("acquire s priority=1001", "bad-value"),
    ("acquire s priority=x", "bad-value"), ("acquire s priority=+1", "bad-value"),
    ("acquire s pid=0", "bad-value"), ("acquire s pid=-1", "bad-value"),
    ("acquire s pid=2147483648", "bad-value"), ("acquire s parent=-", "bad-value"),
    ("acquire s holder=", "bad-value"), ("acquire s holder=" + "x" * 129, "bad-value"),
    ("acquire s reason=" + "x" * 257, "bad-value"), ("acquire s program=" + "x" * 65, "bad-value"),
    ("acquire nope", "unknown"), ("acquire s nope", "unknown"), ("acquire t/a/b", "unknown"),
    ("acquire t", "unknown"), ("acquire nope:0", "unknown"),
    ("acquire s:0", "impossible"), ("acquire s:3", "impossible"), ("acquire l:2", "impossible"),
    ("acquire p:4", "impossible"), ("acquire t/a:2", "impossible"), ("acquire mine:3", "impossible"),
    ("acquire s:4294967296", "impossible"), ("acquire s:4294967297", "impossible"), ("acquire s:99999999999999999999", "bad-value"),
    ("acquire wide:100", "impossible"), ("acquire l s:3", "impossible"),
    ("acquire s priority=1", "forbidden"), ("acquire big priority=6", "forbidden"),
    ("acquire big s priority=5", "forbidden"),
    ("acquire shut wait=0", "closed"), ("acquire s shut wait=0", "closed"),
]


def test_refused_asks_take_nothing(client):
    for line, why in REFUSED_ASKS:
        assert (line[:40], refused(client, line)) == (line[:40], why)
    shown = status(client)
    assert shown.held == 0 and shown.waiting == 0
    assert not any(name.startswith("t/") for name in shown.resources)


@pytest.mark.parametrize("line", [
    "acquire big:12", "acquire big priority=5", "acquire big priority=-1000", "acquire s wait=0",
    "acquire s wait=1d", "acquire s wait=1.5h", "acquire s holder=" + "%01" * 128,
    "acquire s reason=" + "%ff" * 256, "acquire s pid=2147483647", "acquire s parent=11111111111",
    "acquire wide:50", "acquire mine:2",
])
def test_granted_asks(client, line):
    held(client, line)


def test_refusals_that_depend_on_others(daemon, client):
    other = daemon.client()
    parent = held(client, "acquire l holder=me")
    held(client, "acquire narrow")
    held(client, "acquire mine:2")
    assert refused(other, "acquire l holder=me") == "held"
    assert refused(other, "acquire l wait=0") == "would-wait"
    assert refused(other, f"acquire l parent={parent}") == "ancestor"
    assert refused(other, "acquire mine wait=0") == "quota"
    waits(other, "acquire narrow", 1)
    assert refused(other, "acquire narrow") == "queue-full"
    client.request("pause s")
    assert refused(other, "acquire s wait=0") == "paused"
    client.request("drain")
    assert refused(other, "acquire big wait=0") == "draining"
    assert is_quiet(client) and is_quiet(other)


def test_how_a_wait_ends(daemon, client):
    others = [daemon.client() for _ in range(5)]
    pool, semaphore = held(client, "acquire p:3"), held(client, "acquire s:2")
    granted = waits(others[0], "acquire p", 1)
    late = waits(others[1], "acquire p wait=10ms", 2)
    cancelled = waits(others[2], "acquire p")
    gone = waits(others[3], "acquire l s")
    small = waits(others[4], "acquire s:2")
    assert event(others[1]) == ("denied", late, "timeout")
    assert client.request(f"cancel {cancelled}") == "ok"
    assert event(others[2]) == ("denied", cancelled, "cancelled")
    daemon.configure(CONFIG.replace("[lock l]\n", "").replace("s]\nlimit = 2", "s]\nlimit = 1"))
    assert client.request("reload") == "ok"
    assert event(others[3]) == ("denied", gone, "unknown")
    assert event(others[4]) == ("denied", small, "impossible")
    client.request(f"release {pool}")
    assert event(others[0])[:2] == ("granted", granted)
    client.request(f"release {semaphore}")
    assert all(is_quiet(each) for each in [client, *others])


# ---- release, cancel


@pytest.mark.parametrize("line", ["release {}", "cancel {}", "release l holder=me",
                                  "release l item=0", "release p item=b"])
def test_release_from_another_connection(daemon, client, line):
    other, third = daemon.client(), daemon.client()
    lease = held(client, "acquire l s p:3 holder=me")
    waiting = waits(third, "acquire p:2 l")
    assert other.request(line.format(lease)) == "ok"
    assert event(client) == ("lost", lease, "released")
    assert event(third)[:2] == ("granted", waiting)
    assert is_quiet(client) and is_quiet(other)


@pytest.mark.parametrize("line", ["release {}", "cancel {}", "release l holder=me"])
def test_cancel_from_another_connection(daemon, client, line):
    other = daemon.client()
    kept = held(other, "acquire l")
    lease = waits(client, "acquire l s:2 holder=me")
    assert other.request(line.format(lease)) == "ok"
    assert event(client) == ("denied", lease, "cancelled")
    shown = status(other, "l", "s")
    assert shown.waiting == 0 and shown.holders("l") == [kept]
    assert is_quiet(client) and is_quiet(other)


@pytest.mark.parametrize("line", ["release {}", "cancel {}", "release l holder=me"])
def test_nobody_is_told_what_he_did_himself(daemon, client, line):
    lease = held(client, "acquire l holder=me")
    assert client.request(line.format(lease)) == "ok"
    blocker = held(client, "acquire l")
    lease = waits(client, "acquire l holder=me")
    assert client.request(line.format(lease)) == "ok"
    assert is_quiet(client)
    assert status(client, "l").holders("l") == [blocker]


RELEASES = [
    ("release 0", "ok"), ("release 11111111111", "ok"), ("cancel 11111111111", "ok"),
    ("release l holder=me", "ok"), ("release t/never holder=me", "ok"),
    ("release p item=a", "ok"), ("release s item=1", "ok"), ("release t/never item=0", "ok"),
    ("release big holder=you", "not-holder"), ("release big item=1", "ok"),
    ("release nope holder=me", "unknown"), ("release nope item=a", "unknown"),
    ("release p item=z", "unknown"), ("release s item=a", "unknown"),
    ("release", "malformed"), ("cancel", "malformed"), ("release l holder=a item=0", "malformed"),
    ("release a b", "malformed"), ("cancel big holder=me", "unknown-key"),
    ("release UPPER", "bad-value"), ("cancel -", "bad-value"), ("release l holder=", "bad-value"),
    ("release -l holder=me", "bad-value"), ("release p item=%20", "bad-value"),
    ("release p item=" + "x" * 65, "bad-value"),
]


def test_releases_of_what_is_not_held(client):
    lease = held(client, "acquire big holder=me")
    for line, answer in RELEASES:
        got = client.request(line)
        assert (line, got if got == "ok" else code(got)) == (line, answer)
    assert status(client, "big").holders("big") == [lease]

"""`history`: each way in which a lease or a wait ends, and what is known of it."""

import os
import time

from daemon_help import code, connect_as, event, held, keys, lease_of, needs_root, NOBODY, refused, waits
from history_help import history, is_over, last
from lines import until
from lost_help import sleeper

CONFIG = """grace = 50ms
[lock deploy]
[semaphore s]
limit = 4
kill-after = 50ms
[semaphore short]
limit = 2
max-hold = 50ms
kill-after = 50ms
on-lost = warn
[pool gpus]
items = a b c
[semaphore market/*]
limit = 2
"""

PATIENT = CONFIG.replace("kill-after = 50ms", "kill-after = 60s")


def test_a_released_lease(client):
    before = time.time() * 1000
    lease = held(client, "acquire deploy program=p holder=h reason=why%20not")
    assert client.request(f"release {lease}") == "ok"
    after = time.time() * 1000
    entry = last(client)
    assert entry.lease == lease
    entry.has(units="deploy:0", uid=str(os.geteuid()), how="released", code=None, pid=str(os.getpid()),
              program="p", holder="h", reason="why not", waited="0", by=None, why=None, exit=None, signal=None)
    assert before - 5 <= int(entry["ended"]) <= after + 5
    assert 0 <= int(entry["held"]) <= after - before + 5
    client.request("release " + held(client, "acquire gpus:2 s:3 market/anna"))
    last(client).has(units="gpus:a,b;s:0-2;market/anna:0")


def test_its_times_are_those_of_the_wait_and_of_the_hold(client):
    """A hold that is ended by the clock, and a wait that lasts as long."""
    client.send("acquire deploy ttl=80ms\nacquire deploy\n")  # in one turn, or the first might be over
    lease, waiting = lease_of(client.line()), lease_of(client.line())
    while event(client)[:2] != ("granted", waiting):
        pass
    assert client.request(f"release {waiting}") == "ok"
    first, second = history(client)
    assert (first.lease, second.lease) == (lease, waiting)
    assert int(first["held"]) >= 80 and int(first["waited"]) < 80
    assert 0 < int(second["waited"]) <= int(first["held"])
    assert int(first["ended"]) <= int(second["ended"])


def test_how_the_job_ended(client):
    for said, exit_status, number in (("exit=0", "0", None), ("exit=255", "255", None), ("signal=9", None, "9"),
                                      ("", None, None)):
        lease = held(client, "acquire deploy")
        assert client.request(f"release {lease} {said}".rstrip()) == "ok"
        last(client).has(how="released", exit=exit_status, signal=number)
    # What was said about one that is over is not said of the next.
    lease, other = held(client, "acquire deploy"), held(client, "acquire s")
    assert client.request(f"release {lease} exit=3") == "ok"
    assert client.request(f"release {lease} exit=4") == "ok"
    assert client.request(f"cancel {other}") == "ok"
    first, second = history(client)[-2:]
    first.has(exit="3")
    second.has(exit=None, how="released")
    # A wait has no status.
    held(client, "acquire deploy")
    waiting = waits(client, "acquire deploy")
    assert client.request(f"release {waiting} exit=3") == "ok"
    last(client).has(how="cancelled", exit=None, signal=None)


def test_a_malformed_status_releases_nothing(client):
    lease = held(client, "acquire deploy")
    for words in ("exit=256", "exit=300", "exit=-1", "exit=1x", "signal=0", "signal=65", "signal=99", "exit=1 signal=9",
                  "signal=9 exit=1", "exit=1 exit=2", "exit="):
        assert refused(client, f"release {lease} {words}") in ("bad-value", "malformed"), words
    assert client.request(f"renew {lease}").startswith("ok") and history(client) == []


def test_gone(daemon):
    """Clients, jobs and wrappers."""
    client, watcher = daemon.client(), daemon.client()
    lease = held(client, "acquire deploy")
    waiting = waits(client, "acquire deploy")
    client.close()
    is_over(watcher, lease)
    is_over(watcher, waiting)
    entries = {entry.lease: entry for entry in history(watcher)}
    entries[lease].has(how="gone", units="deploy:0", unseen=None)
    entries[waiting].has(how="cancelled", units="deploy=1", held=None)
    assert watcher.request(f"release {lease} exit=3") == "ok"  # too late
    entries = {entry.lease: entry for entry in history(watcher)}
    assert len(entries) == 2
    entries[lease].has(how="gone", exit=None)
    client = daemon.client()
    with sleeper() as pid:
        lease = held(client, f"acquire deploy pid={pid}")
        client.close()
    is_over(watcher, lease)
    last(watcher).has(how="gone", pid=str(pid), unseen=None)
    with sleeper() as pid:
        with sleeper() as wrapper:
            client = daemon.client()
            lease = held(client, f"acquire deploy pid={pid} wrapper={wrapper}")
            client.close()
        assert watcher.request(f"renew {lease}").startswith("ok")
    is_over(watcher, lease)
    last(watcher).has(how="gone", exit=None, signal=None)  # nobody knows how its job ended: that is no good end


def test_its_time_is_over(client):
    lease = held(client, "acquire deploy ttl=20ms")
    assert event(client)[:2] == ("expired", lease)
    entry = last(client).has(how="expired")
    assert int(entry["held"]) >= 20
    lease = held(client, "acquire short")
    while event(client)[:2] != ("lost", lease):
        pass
    last(client).has(how="max-hold", by=None)


def test_revoked(daemon):
    client, operator = daemon.client(), daemon.client()
    lease = held(client, "acquire s kill_after=50ms")
    assert operator.request(f"revoke {lease} reason=too%20late") == "ok"
    while event(client)[:2] != ("lost", lease):
        pass
    last(client).has(how="revoked", by=str(os.geteuid()), why="too late")
    with sleeper() as pid:
        lease = held(client, f"acquire s pid={pid}")
        assert operator.request(f"revoke {lease}") == "ok"
        assert event(client)[:2] == ("revoked", lease)
        assert client.request(f"release {lease} signal=15") == "ok"
    last(client).has(how="revoked", by=str(os.geteuid()), why=None, signal="15")
    client = daemon.client()
    lease = held(client, "acquire deploy")
    assert operator.request(f"drop {lease} reason=x") == "ok"
    last(operator).has(how="dropped", by=str(os.geteuid()), why="x")
    assert event(client)[:2] == ("lost", lease)
    with sleeper() as pid:
        lease = held(client, f"acquire s pid={pid}")
        assert operator.request(f"revoke {lease} reason=one") == "ok"
        assert operator.request(f"drop {lease} reason=two") == "ok"
    last(operator).has(how="dropped", why="two")


@needs_root
def test_released_by_somebody_else(daemon):
    client, operator = connect_as(daemon, NOBODY), daemon.client()
    lease = held(client, "acquire deploy")
    assert operator.request(f"release {lease}") == "ok"
    last(operator).has(how="released", by="0", uid=str(NOBODY))


@needs_root
def test_a_repeat_replaces_nobody(berthd):
    """The owner cannot hide the operator who has revoked the lease, nor fill the history."""
    daemon = berthd("history = 64K\n" + PATIENT)
    client, owner, operator = connect_as(daemon, NOBODY), connect_as(daemon, NOBODY), daemon.client()
    operator.request("release " + held(operator, "acquire deploy reason=first"))
    lease = held(client, "acquire s kill_after=60s")
    assert operator.request(f"revoke {lease} reason=abuse") == "ok"
    assert event(client)[:2] == ("revoked", lease)
    for _ in range(1000):
        assert owner.request(f"revoke {lease} reason=I%20was%20done") == "ok"
    assert operator.request(f"revoke {lease} reason=again") == "ok"
    assert client.request(f"release {lease}") == "ok"
    first, second = history(operator)
    first.has(reason="first")
    second.has(how="revoked", by="0", why="abuse")
    # An operator takes over from the owner.
    lease = held(client, "acquire s kill_after=60s")
    assert owner.request(f"revoke {lease} reason=done") == "ok"
    assert event(client)[:2] == ("revoked", lease)
    assert operator.request(f"revoke {lease} reason=abuse") == "ok"
    assert client.request(f"release {lease}") == "ok"
    last(operator).has(how="revoked", by="0", why="abuse")


# ---- waits


def test_how_waits_end(daemon):
    client, operator = daemon.client(), daemon.client()
    held(client, "acquire deploy")
    assert refused(client, "acquire deploy wait=0") == "would-wait"
    assert refused(client, "acquire s:9") == "impossible"
    assert refused(client, "acquire nothing") == "unknown"
    assert history(client) == []  # a refusal at once is no entry
    waiting = waits(client, "acquire deploy wait=20ms")
    assert event(client)[:3] == ("denied", waiting, "timeout")
    entry = last(client).has(how="timeout", code=None, units="deploy=1", held=None)
    assert int(entry["waited"]) >= 20
    held(client, "acquire s:4")
    own, revoked = waits(client, "acquire s:2"), waits(client, "acquire s:3")
    assert client.request(f"cancel {own}") == "ok"
    assert operator.request(f"revoke {revoked} reason=stop%20it") == "ok"
    first, second = history(operator)[-2:]
    first.has(how="cancelled", units="s=2", by=None)
    second.has(how="cancelled", units="s=3", by=str(os.geteuid()), why="stop it")
    assert event(client)[:2] == ("denied", revoked)
    waits(client, "acquire s:3")
    daemon.configure(CONFIG.replace("limit = 4", "limit = 2"))
    assert operator.request("reload") == "ok"
    last(operator).has(how="denied", code="impossible", units="s=3")


# ---- which are shown


def test_by_name(client):
    for name in ("deploy", "s", "market/anna", "market/bert", "s deploy"):
        client.request("release " + held(client, f"acquire {name}"))
    units = lambda request: [entry["units"] for entry in history(client, request)]  # noqa: E731
    assert units("history deploy") == ["deploy:0", "s:0;deploy:0"]
    assert units("history deploy market/bert") == ["deploy:0", "market/bert:0", "s:0;deploy:0"]
    assert units("history market/*") == ["market/anna:0", "market/bert:0"]
    assert units("history market/* deploy")[:2] == ["deploy:0", "market/anna:0"]
    assert units("history gpus") == []
    assert len(history(client)) == 5
    assert code(client.request("history deplyo")) == "unknown"
    assert code(client.request("history market/**/*/*")) == "bad-value"


@needs_root
def test_by_user_and_lease(daemon):
    client, other = daemon.client(), connect_as(daemon, NOBODY)
    one, two = held(client, "acquire s"), held(other, "acquire s")
    client.request(f"release {one}")
    other.request(f"release {two}")
    assert [entry.lease for entry in history(client, f"history user={NOBODY}")] == [two]
    assert [entry.lease for entry in history(client, f"history lease={one}")] == [one]
    assert history(client, f"history user={NOBODY} lease={one}") == []


def test_by_time(client):
    since = keys(client.lines("history")[0].split(" "))["since"]  # nothing that has ended is missing
    client.request("release " + held(client, "acquire deploy"))
    head, line, _ = client.lines("history")
    assert abs(int(keys(head.split(" "))["since"]) - int(since)) <= 1
    assert int(since) <= int(keys(line.split(" "))["ended"]) + 1
    until(lambda: not history(client, "history since=10"))  # it has ended longer ago than that
    assert len(history(client, "history since=60000")) == 1
    for request in ("history since=x", "history until=x", "history limit=x", "history limit=-1", "history user=-1", "history lease=!", "history since=99999999999999999"):
        assert code(client.request(request)) == "bad-value", request


def test_what_was_asked_for_before(client):
    """With `since`: what there was at a time."""
    first = held(client, "acquire deploy")
    asked = time.monotonic()
    until(lambda: time.monotonic() > asked + 0.1)
    between = time.monotonic() - 0.05
    client.request("release " + first)
    client.request("release " + held(client, "acquire deploy"))

    def ago():
        return int((time.monotonic() - between) * 1000)
    assert [entry.lease for entry in history(client, f"history until={ago()}")] == [first]
    assert [entry.lease for entry in history(client, f"history until={ago()} since={ago()} deploy")] == [first]
    assert len(history(client, "history until=0")) == 2
    assert history(client, f"history until={ago() + 1000}") == []


# ---- many


def ids(client, request):
    """Of the entries, and whether the head says that older ones are left out."""
    head, *lines, end = client.lines(request)
    assert end == "end"
    return [line.split()[1] for line in lines], " more=1" in head


def test_the_newest(daemon):
    """Of what is asked for, however far apart; found in pieces."""
    client = daemon.client()
    n, of = 3000, {"deploy": [], "s": []}
    for i in range(n):
        name = "s" if i % 700 == 5 else "deploy"
        of[name].append(held(client, f"acquire {name}"))
        assert client.request(f"release {of[name][-1]}") == "ok"
    everything = ids(client, "history")[0]
    assert len(everything) == n and ids(client, "history limit=0") == (everything, False)
    for limit in 1, 2, 511, 512, 513, n - 1:
        assert ids(client, f"history limit={limit}") == (everything[-limit:], True), limit
    for limit in n, n + 1, 4294967295:
        assert ids(client, f"history limit={limit}") == (everything, False), limit
    assert len(of["s"]) == 5
    for limit in range(1, 7):
        assert ids(client, f"history s limit={limit}") == (of["s"][-limit:], limit < 5), limit
    assert ids(client, "history s limit=1 user=4711") == ([], False)
    assert ids(client, f"history limit=1 lease={of['s'][0]}") == ([of["s"][0]], False)
    other = daemon.client()  # once the head is there, it is known which they are
    lease = held(other, "acquire gpus")
    client.send("history limit=2500\n")
    head = client.line()
    assert other.request(f"release {lease}") == "ok"
    lines = client.rest_of_lines()
    assert "more=1" in head and [line.split()[1] for line in lines[:-1]] == everything[-2500:]


def test_many_entries_are_one_answer(daemon):
    """Made in pieces; an event waits for its end."""
    client, other = daemon.client(), daemon.client()
    n = 2000
    for i in range(n):
        client.request("release " + held(client, f"acquire s:2 reason={i}"))
    lease = held(client, "acquire deploy")
    client.send("history\n")
    assert other.request(f"drop {lease}") == "ok"
    head, *lines, end = client.rest_of_lines()
    entries = [line for line in lines if line.startswith("ended ")]
    assert end == "end" and n <= len(entries) <= n + 1
    assert len(lines) - len(entries) <= 1  # what has dropped it
    assert [line.split("reason=")[1] for line in entries[:n]] == [str(i) for i in range(n)]


def test_a_full_line_is_a_line(daemon):
    """Whatever the texts are: below 4096 bytes, with the units."""
    client, operator = daemon.client(), daemon.client()
    text = "%01" * 64
    lease = held(client, f"acquire s:4 program={text} holder={text * 2} reason={text * 4}")
    assert operator.request(f"drop {lease} reason={text * 4}") == "ok"
    entry = last(operator)
    assert entry["units"] == "s:0-3" and entry["reason"] == "\1" * 256

"""Users, or words, take turns on one host: `order = fair`."""

import os

from daemon_help import connect_as, does, event, held, keys, lease_of, needs_root, refused, status, waits
from lost_help import asked_until, lose_the_journal
from test_why import told

ANNA, BERT = 2001, 2002
CONFIG = f"""[lock l]
order = fair
fair-by = share
admin-users = {ANNA}
[lock u]
order = fair
[semaphore s]
limit = 4
order = fair
fair-by = share
[lock plain]
[lock hidden]
order = fair
fair-by = share
show-commands = owner
"""


def line(client, name):
    return status(client, name).waiters(name)


def queue(daemon, name, words):
    """A holder, then a waiter for each word, all of one connection each: the ids by place in `words`."""
    held(daemon.client(), f"acquire {name}")
    clients = [daemon.client() for _ in words]
    return [waits(client, f"acquire {name} share={word}") for client, word in zip(clients, words)]


def test_words_take_turns(daemon):
    holder = daemon.client()
    lease = held(holder, "acquire l")
    clients = [daemon.client() for _ in range(6)]
    a, b, c, d, e, f = (waits(client, f"acquire l share={word}") for client, word in zip(clients, "aaabbc"))
    assert line(holder, "l") == [a, d, f, b, e, c]
    assert holder.request(f"release {lease}") == "ok" and event(clients[0])[:2] == ("granted", a)
    late = waits(daemon.client(), "acquire l share=late", 5)  # behind the second of each
    assert line(holder, "l") == [d, f, b, e, late, c]


@needs_root
def test_users_take_turns(daemon):
    """A user who has a thousand does not delay another by more than one."""
    anna, bert = connect_as(daemon, ANNA), connect_as(daemon, BERT)
    lease = held(anna, "acquire u share=x")
    first, second, third = (waits(connect_as(daemon, ANNA), f"acquire u share={word}") for word in "abc")
    late = waits(bert, "acquire u share=a", 2)
    assert line(anna, "u") == [first, late, second, third]
    does(anna, f"release {lease}", f"release {first}")
    assert event(bert)[:2] == ("granted", late)


def test_what_counts_is_the_units(daemon):
    client = daemon.client()
    held(client, "acquire s:4")
    large = [waits(daemon.client(), "acquire s:all share=large") for _ in range(2)]
    small = [waits(daemon.client(), "acquire s share=small") for _ in range(9)]
    assert line(client, "s") == [*small[:3], large[0], *small[3:7], large[1], *small[7:]]


def test_over_a_restart_and_a_reload(daemon):
    client = daemon.client()
    a, b, c, d, e = queue(daemon, "l", "aaabb")
    assert line(client, "l") == [a, d, b, e, c]
    daemon.kill()
    daemon.start()
    client = daemon.client()
    assert line(client, "l") == [a, d, b, e, c]
    late = waits(daemon.client(), "acquire l share=late")
    assert line(client, "l") == [a, d, late, b, e, c]
    daemon.configure(CONFIG.replace("fair-by = share\n", "", 1).replace("order = fair\n", "", 1))
    assert client.request("reload") == "ok"
    last = waits(daemon.client(), "acquire l share=other")
    assert line(client, "l") == [a, d, late, b, e, c, last]


def test_moved(daemon):
    client = daemon.client()
    a, b, c, d, e = queue(daemon, "l", "aaabb")
    does(client, f"move {c} first", f"move {a} last")
    assert line(client, "l") == [c, d, b, e, a]


def test_what_is_shown(daemon, client, berthctl):
    a, b, _, d = queue(daemon, "l", "aaab")
    shown = {row["lease"]: row for row in status(client, "l").resources["l"]["waiters"]}
    assert [shown[lease]["share"] for lease in (a, d)] == ["a", "b"]
    (resource,) = [row for row in client.lines("status l") if row.startswith("resource l ")]
    assert keys(resource.split())["order"] == "fair-by-share"
    turns = "the order of l is fair, each share in turn: {}"
    assert turns.format("1 of those ahead is of another share") in told(client, f"lease={b}")[1]
    assert turns.format("1 of those ahead is of another share") in told(client, f"lease={d}")[1]
    said, sentences = told(client, "l")  # a request of this user, without a word
    assert said["position"] == "3" and turns.format("2 of those ahead are of other shares") in sentences
    assert "order" not in next(row for row in client.lines("status plain") if row.startswith("resource"))
    assert "SHARE" in berthctl("status", "l").stdout


@needs_root
def test_a_hidden_word(daemon):
    held(connect_as(daemon, ANNA), "acquire hidden share=secret")
    for uid, sees in (ANNA, True), (BERT, False):
        assert ("share=secret" in "".join(connect_as(daemon, uid).lines("status hidden"))) == sees


def test_no_word(daemon, berth):
    client = daemon.client()
    for word in ("", "a%20b", "-a", "x" * 33):
        assert refused(client, f"acquire l share={word}") == "bad-value", word
    assert lease_of(client.request(f"acquire l share={'x' * 32}"))
    for word in ("", "a b", "x" * 33):
        said = berth("run", "--share", word, "l", "--", "true")
        assert said.returncode == 64 and "--share" in said.stderr, word


def test_a_wrapper_keeps_its_turn(daemon, berth):
    """It comes back with its word, also when the journal is lost."""
    held(daemon.client(), f"acquire l pid={os.getpid()}")
    waiting = berth.start("run", "-q", "--share", "mine", "l", "--", "true")

    def is_there(now):
        return [waiter.get("share") for waiter in now.resources["l"]["waiters"]] == ["mine"]

    asked_until(daemon, is_there, "l")
    lose_the_journal(daemon)
    asked_until(daemon, is_there, "l")
    waiting.terminate()
    waiting.wait()

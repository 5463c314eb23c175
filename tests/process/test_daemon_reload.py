"""Reload: by SIGHUP and by request, all or nothing, and holders keep what they hold."""

import os
import signal

from daemon_help import NOBODY, connect_as, event, held, is_quiet, needs_root, refused, shown, status, waits
from lines import until

CONFIG = "[lock a]\n"


def sighup(daemon, word="reloaded"):
    before = daemon.log.read_text().count(word)
    daemon.signal(signal.SIGHUP)
    until(lambda: daemon.log.read_text().count(word) > before)


def reload_to(daemon, client, text):
    daemon.configure(text)
    assert client.request("reload").split()[0] == "ok"  # perhaps with notes


# ---- limits


def test_limits_grow(berthd):
    daemon = berthd("[semaphore s]\nlimit = 1\n[pool p]\nitems = x\n")
    client = daemon.client()
    held(client, "acquire s p")
    first, second, third = (
        waits(client, "acquire s"), waits(client, "acquire s"), waits(client, "acquire p"))
    daemon.configure("[semaphore s]\nlimit = 2\n[pool p]\nitems = x y\n")
    sighup(daemon)
    assert {event(client)[:2] for _ in range(2)} == {("granted", first), ("granted", third)}
    assert is_quiet(client)
    assert status(client).waiters("s") == [second]


def test_limits_shrink(berthd):
    """Nothing is taken away; requests that can never be met any more are refused."""
    daemon = berthd("[semaphore s]\nlimit = 4\n[pool p]\nitems = x y z\n")
    operator, client = daemon.client(), daemon.client()
    leases = [held(client, "acquire s p") for _ in range(3)]
    impossible, possible = waits(client, "acquire s:3"), waits(client, "acquire s:2")
    reload_to(daemon, operator, "[semaphore s]\nlimit = 2\n[pool p]\nitems = y\n")
    assert event(client) == ("denied", impossible, "impossible")
    resource = shown(client, "s")
    assert (resource["limit"], resource["in_use"], resource["free"]) == ("2", "3", "0")
    assert shown(client, "p")["draining"] == "x,z" or shown(client, "p")["draining"] == "z,x"
    for lease in leases[:2]:
        assert client.request(f"release {lease}") == "ok"
    assert is_quiet(client)
    client.send(f"release {leases[2]}\n")
    assert client.line() == "ok"
    assert event(client)[:2] == ("granted", possible)
    assert shown(client, "p")["items"] == "y" and "draining" not in shown(client, "p")


def test_closed_and_open_again(daemon):
    operator, client = daemon.client(), daemon.client()
    reload_to(daemon, operator, "[lock a]\nlimit = 0\n")
    waiting = waits(client, "acquire a")
    assert refused(client, "acquire a wait=0") == "closed"
    reload_to(daemon, operator, "[lock a]\n")
    assert event(client)[:2] == ("granted", waiting)


# ---- resources come and go


def test_a_resource_goes(berthd):
    """It drains; its waiters are told; its name is unknown at once, and free for another."""
    daemon = berthd("[lock a]\n[lock b]\n")
    operator, client = daemon.client(), daemon.client()
    lease = held(client, "acquire a")
    waiting, both = waits(client, "acquire a"), waits(client, "acquire b a")
    daemon.configure("[lock b]\n")
    sighup(daemon)
    assert [event(client) for _ in range(2)] == [
        ("denied", waiting, "unknown"), ("denied", both, "unknown")]
    assert shown(client, "a")["removed"] == "1"
    assert refused(client, "acquire a") == "unknown"
    assert refused(operator, "pause a") == "unknown"
    assert status(client).holders("a") == [lease]
    held(client, "acquire b wait=0")
    assert client.request(f"release {lease}") == "ok"
    assert "a" not in status(client).resources
    assert refused(client, "status a") == "unknown"


# ---- all or nothing


BAD = [
    ("[semaphore s]\nlimit = 9\n[lock b]\ncolour = red\n", "colour"),
    ("[semaphore s]\nlimit = 9\n[semaphore s]\nlimit = 8\n", "[semaphore s]"),
    ("max-clients = 0\n[semaphore s]\nlimit = 9\n", "max-clients"),
    ("[semaphore s]\nlimit = 9\n[pool p]\n", "items"),
    ("[semaphore s]\nlimit = 9\nadmin-users = nobody-of-that-name\n", "nobody-of-that-name"),
    ("[semaphore s\n", "]"),
]


def test_a_bad_file_changes_nothing(berthd):
    daemon = berthd("[semaphore s]\nlimit = 2\n[lock a]\n")
    operator, client = daemon.client(), daemon.client()
    held(client, "acquire s:2")
    waits(client, "acquire s")
    before = [line for line in client.lines("status") if line.startswith("resource")]
    for text, word in BAD:
        daemon.configure(text)
        answer = operator.request("reload")
        assert answer.startswith("error config ") and len(answer) < 4096
        assert word.replace(" ", "%20") in answer and str(daemon.config) in answer
        sighup(daemon, "not reloaded")
        assert [line for line in client.lines("status") if line.startswith("resource")] == before, text
    daemon.config.unlink()
    assert refused(operator, "reload") == "config"
    reload_to(daemon, operator, "[semaphore s]\nlimit = 3\n")
    assert event(client)[0] == "granted"


def test_errors_fit_on_a_line(daemon, client):
    """Very many, and long ones."""
    for text, most in (("".join(f"colour{i} = %red\n" for i in range(3000)), 2000),
                       ("x" * 4000 + " = 1\n[" + "\x01" * 3000 + "]\n", 50)):
        daemon.configure(text)
        answer = client.request("reload")
        assert answer.startswith("error config ") and len(answer.split(" ")) == 3, text[:20]
        assert most < len(answer) < 4096, text[:20]
        assert answer.count("%0A") > 5 or most < 2000
        assert is_quiet(client)


def test_no_other_kind_while_in_use(daemon, client):
    for before, after, name, use in (
            ("[semaphore s]\nlimit = 2\n", "[pool s]\nitems = x y\n", "s", "held"),
            ("[pool s]\nitems = x y\n", "[lock s]\n", "s", "waiting"),
            ("[lock x/*]\n", "[pool x/*]\nitems = b\n", "x/1", "held")):
        reload_to(daemon, client, before)
        if use == "held":
            lease = held(client, f"acquire {name}")
        else:
            assert client.request(f"pause {name}") == "ok"
            lease = waits(client, f"acquire {name}")
        daemon.configure(after)
        answer = client.request("reload")
        assert answer.startswith("error config ") and f"[{name}]" in answer and "in%20use" in answer, before
        assert f"[{shown(client, name)['kind']} " in before
        assert client.request(f"release {lease}") == "ok"
        assert client.request("reload") == "ok"
        assert f"[{status(client, name).resources[name]['kind']} " in after


@needs_root
def test_a_reload_that_is_refused_leaves_the_bounds(berthd):
    """As an ordinary user sees it: operators get a connection whatever max-clients is."""
    daemon = berthd("[lock l]\n")
    client = daemon.client()
    held(client, "acquire l")
    daemon.configure("max-clients = 1\n[pool l]\nitems = a b\n")
    assert refused(client, "reload") == "config"
    assert is_quiet(connect_as(daemon, NOBODY))


# ---- the daemon's own keys


def test_what_takes_effect_at_the_next_start(daemon, client, directory):
    """The socket stays; each reload says so."""
    daemon.config.write_text(f"[daemon]\nsocket = {directory / 'other'}\nsocket-mode = 0600\n[lock b]\n")
    for n in (1, 2):
        answer = client.request("reload")
        assert answer.startswith("ok notes=") and answer.count("socket%20takes%20effect%20at%20the%20next%20start") == 1
        log = daemon.log.read_text()
        assert log.count("socket takes effect at the next start") == n
        assert log.count("socket-mode takes effect at the next start") == n
    daemon.configure("[lock b]\n")
    assert client.request("reload") == "ok"  # as it was: nothing to say
    assert daemon.log.read_text().count("takes effect at the next start") == 4
    assert not (directory / "other").exists()
    assert is_quiet(daemon.client())
    held(client, "acquire b")


@needs_root
def test_bounds_and_admins(berthd):
    daemon = berthd("[lock a]\n[semaphore s]\nlimit = 9\n")
    operator, client = daemon.client(), connect_as(daemon, NOBODY)
    held(client, "acquire a")
    waits(client, "acquire a")
    assert refused(client, "drain") == "forbidden"
    reload_to(daemon, operator, f"admin-users = {NOBODY}\nmax-clients-per-user = 1\n"
        "max-waiters-per-user = 1\nmax-leases-per-user = 3\n[lock a]\n[semaphore s]\nlimit = 9\n")
    assert refused(client, "acquire a") == "quota"
    held(client, "acquire s")
    assert refused(client, "acquire s") == "quota"
    assert refused(connect_as(daemon, NOBODY), "acquire s") == "busy"
    assert client.request("drain") == "ok held=2" and client.request("undrain") == "ok"
    reload_to(daemon, operator, "[lock a]\n[semaphore s]\nlimit = 9\n")
    assert refused(client, "drain") == "forbidden"
    assert is_quiet(connect_as(daemon, NOBODY))


def test_max_clients(daemon):
    clients = [daemon.client() for _ in range(4)]
    assert all(is_quiet(client) for client in clients)
    reload_to(daemon, clients[0], "max-clients = 2\n[lock a]\n")
    assert all(is_quiet(client) for client in clients)
    assert refused(daemon.client(), "acquire a") == "busy"
    reload_to(daemon, clients[0], "[lock a]\n")
    assert is_quiet(daemon.client())


def test_includes(berthd, directory):
    (directory / "conf.d").mkdir()
    daemon = berthd("include = conf.d\n[lock a]\n")
    client = daemon.client()
    (directory / "conf.d" / "b.conf").write_text("[lock b]\n")
    assert client.request("reload") == "ok"
    held(client, "acquire b")
    (directory / "conf.d" / "c.conf").write_text("[lock b]\n")
    answer = client.request("reload")
    assert answer.startswith("error config ") and "conf.d/c.conf" in answer and "b.conf" in answer


# ---- runtime changes


def test_runtime_changes_last_until_their_keys_change(berthd):
    text = "[semaphore s]\nlimit = {}\nmax-waiters = {}\n[pool p]\nitems = {}\nselect = first\n"
    daemon = berthd(text.format(4, 10, "x y"))
    client = daemon.client()
    for line in ("limit s 2", "add p z", "remove p x", "reserve p y reason=mine", "pause s reason=why",
                 "reserve s 0"):
        assert client.request(line).split()[0] == "ok"
    reload_to(daemon, client, text.format(4, 11, "x y"))
    s, p = shown(client, "s"), shown(client, "p")
    assert (s["limit"], s["changed"], s["paused"], s["pause_reason"], s["reserved"]) == (
        "2", "limit", "1", "why", "0")
    assert (p["items"], p["changed"], p["reserve"]) == ("y,z", "items", "y,mine")
    reload_to(daemon, client, text.format(5, 11, "x y w"))
    s, p = shown(client, "s"), shown(client, "p")
    assert s["limit"] == "5" and "changed" not in s and s["paused"] == "1"
    assert p["items"] == "x,y,w" and "changed" not in p


def test_drain_lasts_over_a_reload(daemon, client):
    assert client.request("drain") == "ok held=0"
    reload_to(daemon, client, "[lock a]\n[lock b]\n")
    assert refused(client, "acquire b wait=0") == "draining"


def test_many_reloads_while_everybody_works(berthd):
    """Kinds of everything, at every step of a lease's life; the sanitizers look."""
    texts = [
        "[semaphore s]\nlimit = 3\n[pool p]\nitems = a b c\n[semaphore x/*]\nlimit = 2\n",
        "[pool p]\nitems = c d\nselect = first\nmax-units-per-user = 1\n[lock s]\n[lock x/*]\n",
        "[lock only]\n",
        "[semaphore x/1]\nlimit = 1\n[semaphore s]\nlimit = 9\norder = first-fit\nidentity = shared\n"
        "max-units-per-user = 2\n[pool p]\nitems = a\n",
        "",
    ]
    daemon = berthd(texts[0])
    operator = daemon.client()
    clients = [daemon.client() for _ in range(8)]
    for step in range(120):
        client = clients[step % 8]
        client.send(f"acquire s holder=h{step % 5}\nacquire p\nacquire x/{step % 3} s\nacquire p s x/1\n")
        if step % 3 == 0:
            client.send(f"release s item={step % 4}\nrelease p item=a\nrelease s holder=h{step % 5}\n")
        reload_to(daemon, operator, texts[step * 7 % 5])
        if step % 5 == 4:
            clients[step % 8].close()
            clients[step % 8] = daemon.client()
    for client in clients:
        client.close()
    reload_to(daemon, operator, "")
    while status(operator).held:
        pass
    assert status(operator).resources == {} and status(operator).waiting == 0


# ---- names that become longer


def pool(n, length):
    return "[pool p]\nitems = " + " ".join(f"i{k}-".ljust(length, "x") for k in range(n)) + "\n"


def test_longer_names_of_items(berthd):
    """A waiter's record moves to where it fits, also over a restart; nothing is left of the first one."""
    daemon = berthd(pool(40, 4))
    holder, waiter = daemon.client(), daemon.client()
    lease, waits_for = held(holder, "acquire p"), waits(waiter, f"acquire p:40 pid={os.getpid()}")
    reload_to(daemon, daemon.client(), pool(40, 60))
    assert holder.request(f"release {lease}") == "ok"
    assert event(waiter)[:2] == ("granted", waits_for)
    daemon.kill()
    daemon.start()
    assert status(daemon.client()).holders("p") == [waits_for]


def test_names_too_long_for_a_line(berthd):
    daemon = berthd(pool(80, 4))
    holder, waiter = daemon.client(), daemon.client()
    held(holder, "acquire p")
    waits_for = waits(waiter, "acquire p:80")
    reload_to(daemon, daemon.client(), pool(80, 60))
    assert event(waiter)[:3] == ("denied", waits_for, "impossible")
    assert refused(daemon.client(), "acquire p:80 wait=0") == "impossible"

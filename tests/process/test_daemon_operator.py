"""The operator's requests: every answer, and what becomes of holders and waiters."""


from daemon_help import does, event, held, is_quiet, refused, shown, status, status_lines, waits

CONFIG = """
[lock a]
[semaphore b]
limit = 4
[pool gpus]
items = g0 g1 g2
select = first
[semaphore market/*]
limit = 2
"""


def granted(client, lease):
    assert event(client)[:2] == ("granted", lease)


REFUSED = [
    *[(f"{verb} none{rest}", "unknown") for verb, rest in [
        ("limit", " 1"), ("add", " x"), ("remove", " x"), ("reserve", " x"), ("pause", ""),
        ("resume", ""), ("reset", "")]],
    *[(f"{verb} -x{rest}", "bad-value") for verb, rest in [
        ("limit", " 1"), ("add", " x"), ("remove", " x"), ("reserve", " x"), ("pause", ""),
        ("resume", ""), ("reset", "")]],
    ("limit market/x/y 1", "unknown"), ("pause market", "unknown"), ("pause none/*", "unknown"),
    ("pause mark*", "bad-value"), ("add market/* 1", "bad-value"), ("reserve market/* 0", "bad-value"),
    ("remove market/* 0", "bad-value"), ("limit market/* x", "bad-value"),
    ("limit gpus 1", "kind"), ("limit a 2", "kind"),
    ("limit b 1000001", "bad-value"), ("limit b -1", "bad-value"), ("limit b x", "bad-value"),
    ("limit b 4294967296", "bad-value"), ("limit b 01", "bad-value"),
    ("add b 1", "kind"), ("add a x", "kind"), ("add gpus a%20b", "bad-value"),
    ("add gpus " + "x" * 65, "bad-value"),
    ("remove b 1", "kind"), ("remove gpus g3", "unknown"),
    ("reserve gpus g3", "unknown"), ("reserve b 4", "unknown"), ("reserve b x", "unknown"),
    ("reserve b -1", "unknown"),
    *[(f"drain wait={wait}", "bad-value") for wait in ("2", "1h", "-1", "yes")],
]


def test_refused(client):
    before = status_lines(client)
    for line, expected in REFUSED:
        assert refused(client, line) == expected, line
    assert is_quiet(client)
    assert status_lines(client) == before


CHANGES = [
    # request, answer, keys of the resource's status line afterwards
    ("limit b 5", "ok", {"limit": "5", "free": "5", "changed": "limit"}),
    ("limit b 0", "ok", {"limit": "0", "free": "0"}),
    ("limit a 0", "ok", {"limit": "0"}),
    ("limit b 1000000", "ok", {"limit": "1000000"}),
    ("add gpus d", "ok was=absent", {"items": "g0,g1,g2,d", "limit": "4", "changed": "items"}),
    ("add gpus g0", "ok was=present", {"items": "g0,g1,g2"}),
    ("remove gpus g1", "ok", {"items": "g0,g2", "limit": "2", "changed": "items"}),
    ("reserve gpus g1 reason=broken%20fan", "ok", {"reserved": "g1", "reserve": "g1,broken%20fan"}),
    ("reserve gpus g1", "ok", {"reserved": "g1", "free": "2"}),
    ("reserve b 1", "ok", {"reserved": "1", "free": "3"}),
    ("pause b reason=not%20now", "ok", {"paused": "1", "pause_reason": "not%20now", "free": "0"}),
    ("pause b", "ok", {"paused": "1"}),
    ("resume b", "ok", {"free": "4"}),
    ("reset b", "ok", {"limit": "4"}),
]


def test_changes(client):
    for line, answer, after in CHANGES:
        name = line.split()[1]
        before = shown(client, name)
        assert client.request(line) == answer, line
        now = shown(client, name)
        assert {key: now.get(key) for key in after} == after, line
        assert client.request(f"reset {name}") == "ok"
        assert shown(client, name) == before, line


# ---- limit


def test_a_lower_limit_revokes_nothing(client):
    leases = [held(client, "acquire b") for _ in range(4)]
    does(client, "limit b 2")
    resource = shown(client, "b")
    assert (resource["in_use"], resource["limit"], resource["free"]) == ("4", "2", "0")
    assert resource["changed"] == "limit"
    waiting = waits(client, "acquire b")
    does(client, f"release {leases[0]}", f"release {leases[1]}")
    assert shown(client, "b")["in_use"] == "2"  # nothing new until it fits
    client.send(f"release {leases[2]}\n")
    assert client.line() == "ok"
    granted(client, waiting)


def test_limit_0_is_closed(client):
    does(client, "limit a 0")
    waiting = waits(client, "acquire a")
    assert refused(client, "acquire a wait=0") == "closed"
    client.send("limit a 1\n")
    assert client.line() == "ok"
    granted(client, waiting)
    assert "changed" not in shown(client, "a")  # as the file says


# ---- items


def test_items_come_and_go(client):
    holder = held(client, "acquire gpus")
    does(client, "remove gpus g0", "remove gpus g1")
    resource = shown(client, "gpus")
    assert (resource["items"], resource["draining"], resource["limit"], resource["in_use"]) == (
        "g2", "g0", "1", "1")
    assert resource["changed"] == "items"
    does(client, f"release {holder}")
    assert "draining" not in shown(client, "gpus")
    held(client, "acquire gpus")
    waiting = waits(client, "acquire gpus")
    client.send("add gpus new\n")
    assert client.line() == "ok was=absent"
    assert event(client) == ("granted", waiting, f"item=gpus,{shown(client, 'gpus')['holders'][1]['token']},new")
    does(client, "reset gpus")
    resource = shown(client, "gpus")
    assert resource["items"] == "g0,g1,g2" and resource["draining"] == "new"


# ---- templates


def test_all_instances_of_a_template(daemon, client):
    holder, other = daemon.client(), daemon.client()
    held(holder, "acquire market/x:2")
    does(client, "pause market/* reason=move", "limit market/* 3")
    assert status(client, "market/*").templates["market/*"].items() >= {
        "limit": "3", "paused": "1", "pause_reason": "move", "changed": "limit"}.items()
    assert shown(client, "market/x").items() >= {
        "limit": "3", "paused": "1", "pause_reason": "move", "changed": "limit", "free": "0"}.items()
    assert shown(client, "market/new").items() >= {"limit": "3", "paused": "1", "free": "0"}.items()
    answer = other.request("acquire market/new wait=0")
    assert answer.startswith("error paused ") and "move" in answer
    first, second = waits(other, "acquire market/x"), waits(other, "acquire market/new")
    does(client, "resume market/new")
    granted(other, second)
    assert is_quiet(other)
    does(client, "resume market/*")
    granted(other, first)
    does(client, "reset market/*")
    assert not {"paused", "pause_reason", "changed"} & set(status(client).templates["market/*"])
    assert shown(client, "market/x")["limit"] == "2"


# ---- drain


def test_drained_by_the_end_of_connections(daemon, client):
    holders = [daemon.client() for _ in range(20)]
    for holder in holders:
        held(holder, "acquire b wait=0" if holder in holders[:4] else f"acquire market/{id(holder)}")
    drainers = [daemon.client() for _ in range(3)]
    for drainer in drainers:
        assert drainer.request("drain wait=1") == "ok held=20"
    for holder in holders:
        holder.close()
    for drainer in drainers:
        assert drainer.line() == "* drained"
        assert is_quiet(drainer)


def test_undrain_answers_waiting_drainers(daemon, client):
    held(client, "acquire a")
    drainer = daemon.client()
    assert drainer.request("drain wait=1") == "ok held=1"
    assert client.request("undrain") == "ok"
    assert drainer.line() == "* undrained"
    assert client.request("undrain") == "ok"
    assert is_quiet(drainer)


def test_cooling_is_not_held(berthd):
    client = berthd("[lock a]\ncooldown = 1d\n").client()
    lease = held(client, "acquire a")
    does(client, f"release {lease}")
    assert client.request("drain wait=1") == "ok held=0"
    assert client.line() == "* drained"

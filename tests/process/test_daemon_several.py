"""Requests for several resources: what is kept for them, and how status shows it."""


from conftest import read_line
from daemon_help import event, held, shown, waits
from lines import DEADLINE

CONFIG = "[semaphore db]\nlimit = 4\nkeep = 1h\n[lock licence]\nkeep = 2s\n[lock shut]\nlimit = 0\n"


def test_it_delays_no_other_queue(daemon, client):
    held(client, "acquire licence")
    waits(client, "acquire db:2 licence")
    other = daemon.client()
    held(other, "acquire db:4")
    waiter = shown(client, "db")["waiters"][0]
    assert (waiter["blocked"], waiter["blocker"], waiter.get("kept")) == ("other", "licence", None)
    assert "blocked" not in shown(client, "licence")["waiters"][0]


def test_what_it_has_waited_for_is_kept_for_a_while(daemon, client):
    first = held(client, "acquire licence")
    held(client, "acquire db:4")
    both = daemon.client()
    waiting = waits(both, "acquire db:2 licence")
    behind = daemon.client()
    next_one = waits(behind, "acquire licence")
    assert client.request(f"release {first}") == "ok"
    resource = shown(client, "licence")
    assert (resource["free"], resource["kept"], resource["kept_for"]) == ("1", "1", "1")
    waiter = resource["waiters"][0]
    assert (waiter["blocker"], waiter["kept"]) == ("db", "1")
    assert client.request("acquire licence wait=0").startswith("error would-wait ")
    assert event(behind)[:2] == ("granted", next_one)  # the shorter of both, 2 s
    assert "kept" not in shown(client, "licence")
    assert shown(client, "licence")["waiters"][0]["lease"] == waiting


def test_the_quota_is_named(berthd):
    daemon = berthd("[semaphore s]\nlimit = 3\nmax-units-per-user = 1\n[lock l]\n")
    client = daemon.client()
    held(client, "acquire s")
    waits(client, "acquire l s")
    waiter = shown(client, "l")["waiters"][0]
    assert (waiter["blocked"], waiter["blocker"]) == ("quota", "s")
    held(client, "acquire l")  # a quota elsewhere sets aside only the request that exceeds it


def test_what_berth_says(daemon, client, berth):
    licence = held(client, "acquire licence")
    held(client, "acquire db:4")
    both = daemon.client()
    waits(both, "acquire db:2 licence")
    assert client.request(f"release {licence}") == "ok"
    process = berth.start("run", "-S", daemon.socket, "licence", "--", "true")
    line = read_line(process.stderr)
    assert line.startswith("berth: waiting for licence: not held (1 kept for #1); place 2 in the queue"), line
    assert process.wait(DEADLINE) == 0


def test_what_berth_says_of_what_is_missing(daemon, client, berth):
    held(client, "acquire licence")
    process = berth.start("run", "-S", daemon.socket, "db:2", "licence", "--", "true")
    line = read_line(process.stderr)
    assert line.endswith("place 1 in the queue; lacks licence"), line
    client.close()
    assert process.wait(DEADLINE) == 0


def test_a_nested_request_that_sets_itself_free(berthd):
    """An older request is ahead. Both are granted at once, and the grant is told once, in the
    answer."""
    daemon = berthd("[semaphore a]\nlimit = 2\n[lock b]\n[lock y]\n")
    client = daemon.client()
    both, one = held(client, "acquire a:2"), held(client, "acquire b")
    waits(daemon.client(), "acquire a:2 b y")
    assert client.request(f"release {both}") == "ok"
    parent = held(client, "acquire y")
    assert client.request(f"release {one}") == "ok"
    before, nested = daemon.client(), daemon.client()
    waiting = waits(before, "acquire a")
    answer = nested.request(f"acquire a b parent={parent}")
    assert answer.startswith("ok "), answer
    assert event(before)[:2] == ("granted", waiting)
    assert nested.request("ping") == "ok"

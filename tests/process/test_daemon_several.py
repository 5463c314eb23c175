"""Requests for several resources: what is kept for them, and how status shows it. Circles."""

import os
from urllib.parse import unquote

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


def test_two_that_ask_again_for_a_semaphore_of_two(berthd):
    """The second would wait for the first, and the first for the second."""
    daemon = berthd("[semaphore s]\nlimit = 2\n")
    one, two = daemon.client(), daemon.client()
    first, second = held(one, "acquire s"), held(two, "acquire s")
    waiting = waits(one, f"acquire s parent={first}")
    answer = two.request(f"acquire s parent={second}")
    assert answer.startswith("error circle "), answer
    words = unquote(answer)
    assert f"s: held by lease {first}, pid {os.getpid()} (" in words, words
    assert f", whose job waits for s, held by lease {second}, pid " in words, words
    assert words.endswith("), under which this runs"), words
    assert two.request("ping") == "ok"
    assert two.request(f"release {second}") == "ok"
    assert event(one)[:2] == ("granted", waiting)


def test_who_is_before_others_is_served(berthd):
    daemon = berthd("[semaphore s]\nlimit = 2\nmax-priority = 1\n")
    one, two = daemon.client(), daemon.client()
    first, second = held(one, "acquire s"), held(two, "acquire s")
    waiting = waits(one, f"acquire s parent={first}")
    prior = waits(two, f"acquire s priority=1 parent={second}")
    line = event(one)
    assert line[:3] == ("denied", waiting, "circle"), line
    assert one.request(f"release {first}") == "ok"
    assert event(two)[:2] == ("granted", prior)

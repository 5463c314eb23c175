"""How fast a Redis answers, as seen from a host: in berthctl hosts, and in the log when it is slow."""

import json
import re

from daemon_help import keys
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server, ways  # noqa: F401
from fleet_ops_help import RESOURCES, up
from lines import until

pytestmark = needs_redis

TIME = r"(\d+(?:\.\d+)?) (ms|s)"


def answers(host):
    """(last, median, p99) in seconds, and of how many, as berthctl hosts prints them."""
    shown = host.berthctl("hosts").stdout
    found = re.search(rf"^  answers: {TIME} the last, {TIME} median, {TIME} p99 of (\d+) in the last minute$", shown, re.M)
    assert found, shown
    times = [float(number) / (1000 if unit == "ms" else 1) for number, unit in zip(found.groups()[:6:2], found.groups()[1:6:2])]
    return times, int(found[7]), shown


def said(host):
    """What the log says of how fast it is."""
    return re.findall(r"database default: (.*slow.*)$", host.log.read_text(), re.M)


def test_a_redis_that_answers_slowly(redis_server, hosts, ways):  # noqa: F811
    """With a ttl of 30 s, a renewal is sent every 5 s; 1.5 s are slow."""
    way = ways(redis_server)
    far, near = hosts(RESOURCES, 1, redis_section(way.url, "30s")) + hosts(RESOURCES, 1, redis_section(redis_server.url, "30s"))
    up(redis_server, far, near)
    (_, median, _), n, shown = answers(far)
    assert n > 1 and median < 0.5 and "slow" not in shown
    way.reply_after(1.5)
    (last, median, p99), _, shown = answers(far)
    assert last >= 1.5 and p99 >= 1.5 > median, shown  # those before were faster
    assert re.search(r"^  warning: Redis, or the way to it, is slow: see fleet\.md", shown, re.M), shown
    database, = json.loads(far.berthctl("hosts", "--json").stdout)["databases"]
    assert database["answer_last_us"] >= 1_500_000 <= database["answer_p99_us"] and database["answers"] > n
    assert database["answer_median_us"] < 1_500_000 and database["slow"] is True, database
    (last, _, p99), _, shown = answers(near)
    assert last < 1 > p99 and "slow" not in shown, "it is the way that is slow"
    line, = until(lambda: said(far))
    assert re.fullmatch(r"Redis, or the way to it, is slow: a renewal took 1\d{3}ms, more than 500ms "
                        r"\(berthctl hosts shows how fast it answers\)", line), line
    found = keys(far.client().lines("status")[1].split())
    assert int(found["answer_last_us"]) >= 1_500_000, found  # also without asking it


def test_a_redis_that_is_too_slow_to_be_used(redis_server, hosts, ways):  # noqa: F811
    """Calls that are given up are slow answers: while it is down, and once it is up again."""
    way = ways(redis_server)
    host, = up(redis_server, *hosts(RESOURCES, 1, redis_section(way.url)))
    way.reply_after(3)
    shown = until(lambda: re.search(r"^  answers: none for \S+ \(the last took (\d+) ms\), .* p99 of",
                                    host.berthctl("hosts").stdout, re.M))
    assert int(shown[1]) >= 500  # a twelfth of the ttl
    way.heal()
    up(redis_server, host)
    (_, _, p99), _, shown = answers(host)
    assert p99 >= 0.5 and "  warning: Redis, or the way to it, is slow" in shown, shown


def test_the_log_says_when_it_begins_and_ends(redis_server, hosts, ways):  # noqa: F811
    """Once each, however many renewals are slow, and whichever are quick between."""
    way = ways(redis_server)
    host, = up(redis_server, *hosts(RESOURCES, 1, redis_section(way.url)))
    way.reply_after(0.2)
    until(lambda: said(host))
    n = answers(host)[1]
    until(lambda: answers(host)[1] >= n + 9)  # several of which are renewals
    assert len(said(host)) == 1, said(host)
    way.heal()
    ends = until(lambda: said(host)[1:])
    assert ends == ["it is not slow any more: no renewal was for a whole ttl"]
    way.reply_after(0.2)
    again = until(lambda: said(host)[2:])
    assert len(again) == 1 and "took 2" in again[0]

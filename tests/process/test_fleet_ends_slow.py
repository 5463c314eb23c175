"""`history database=D` of a database that is slow, or answers no more; and several of them at once."""

import select
import time

from ends_help import Answer, end_of, ends
from fleet_help import DEADLINE, Monitor, clock, hosts, needs_redis, redis_section, redis_server, ways  # noqa: F401
from fleet_ops_help import RESOURCES, client_of, gets, pair, up  # noqa: F401

pytestmark = needs_redis


def slow_and_fast(redis_server, hosts, way, n):  # noqa: F811
    """Two hosts, the former by that way; n leases of the latter have ended."""
    far, near = up(redis_server, *hosts(RESOURCES, 1, redis_section(way.url, "30s")),
                   *hosts(RESOURCES, 1, redis_section(redis_server.url, "30s")))
    client = client_of(near)
    for _ in range(n):
        lease = gets(client, "acquire etl")
        assert client.request(f"release {lease}") == "ok"
    end_of(near, lease)
    return far, near


def test_a_database_that_answers_slowly(redis_server, hosts, ways):  # noqa: F811
    """It is waited for as long as it answers pages."""
    way = ways(redis_server)
    far, near = slow_and_fast(redis_server, hosts, way, 450)
    newest = ends(near, "limit=420")
    way.reply_after(1.5)
    since = int(time.time() * 1000) - int(newest.entries[0]["ended"])
    answer = ends(far, f"limit=420 since={since + 1000}")
    assert [one.lease[17:] for one in answer.entries] == [one.lease for one in newest.entries]
    assert len(answer.entries) == 420 and answer.head["more"] == "1" and answer.gaps == []
    way.reply_after(1.1)
    shown = far.berthctl("history", "--limit", "420", "etl")
    assert "does not tell" not in shown.stdout + shown.stderr


def test_a_database_that_answers_no_more(redis_server, hosts, ways):  # noqa: F811
    """What has come is told, and that older ones may be missing."""
    way = ways(redis_server)
    far, near = slow_and_fast(redis_server, hosts, way, 450)
    newest = ends(near, "limit=200")
    way.reply_after(0.5)
    client = client_of(far)
    with Monitor(redis_server) as monitor:
        client.send("history database=default limit=440\n")
        for _ in range(2):
            while "!" not in monitor.command(DEADLINE)[1]:
                pass
    way.cut_off()
    answer = Answer(list(iter(client.line, "end")) + ["end"])
    assert [one.lease[17:] for one in answer.entries] == [one.lease for one in newest.entries]
    gap, = answer.gaps
    assert gap["why"] == "down" and gap["from"] == answer.head["since"]
    assert int(gap["from"]) < int(gap["until"]) <= int(answer.entries[0]["ended"])


def test_several_questions_of_one_user(pair):
    """They are answered one after the other."""
    a, _ = pair
    client = client_of(a)
    lease = gets(client, "acquire etl")
    assert client.request(f"release {lease}") == "ok"
    end_of(a, lease)
    clients = [client_of(a) for _ in range(5)]
    for one in clients:
        one.send("history database=default\n")
    for one in clients:
        lines = [one.line()]
        while lines[-1] != "end":
            lines.append(one.line())
        assert [entry.lease for entry in Answer(lines).entries] == [lease]


def test_questions_to_several_databases(redis_server, hosts, ways):  # noqa: F811
    """One that does not answer keeps nobody from the others."""
    way = ways(redis_server)
    text = RESOURCES + redis_section(redis_server.url, name="east", prefix="east")
    host, = up(redis_server, *hosts(text, 1, redis_section(way.url, "30s")))
    way.cut_off()
    first, second = client_of(host), client_of(host)
    first.send("history database=default\n")
    assert second.lines("history database=east")[0].startswith("ok ")
    assert not select.select([first.socket], [], [], 0)[0]
    assert first.line().startswith("error down")

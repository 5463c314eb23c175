"""berth-web of a fleet: everybody's leases, and the hosts."""

import pytest

from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import client_of, gets, pair  # noqa: F401
from web_help import Web, needs_web, resource_of

pytestmark = [needs_redis, needs_web]


@pytest.fixture
def web(pair, directory):
    web = Web(directory, socket_of=pair[0].socket).start().ready()
    yield web
    web.stop()


def test_everybody(pair, web):
    a, b = pair
    gets(client_of(a), "acquire etl program=here")
    gets(client_of(b), "acquire etl program=there")
    seen = {}

    def both(answer):
        for holder in (resource_of(answer, "etl") or {"holders": []})["holders"]:
            seen[holder["program"]] = holder["lease"]
        return {"here", "there"} <= set(seen)

    web.follow(both)
    assert "/" in seen["there"]


def test_the_hosts(pair, web):
    found = web.follow(lambda answer: len(answer["hosts"]) == 2)
    assert {host["database"] for host in found["hosts"]} == {"default"}
    assert all(found["now"] - host["heard_at"] < 60000 for host in found["hosts"])
    assert found["databases"][0]["state"] == "up"


def test_what_is_over_on_all_hosts(pair, web):
    """What this host and the database know is there once."""
    a, b = pair
    ended = []
    for daemon in (a, b):
        client = client_of(daemon)
        ended.append(gets(client, "acquire etl"))
        assert client.request(f"release {ended[-1]}") == "ok"
    failed = web.history()["failed"]
    if failed and "the request has no such key" in failed[0]["why"]:
        pytest.skip("this berthd does not ask databases for their history")

    def seen():
        return [(lease["lease"].split("/")[-1], lease["host"] is not None) for lease in web.history()["leases"]]

    web.until(seen, [(ended[0], False), (ended[1], True)])
    answer = web.history()
    assert answer["whose"] == "database" and answer["failed"] == []
    assert [source["database"] for source in answer["sources"]] == [None, "default"]
    assert answer["leases"][1]["lease"].count("/") == 1


def test_metrics_of_the_fleet(pair, web):
    text = web.ask("/metrics").text
    assert 'berth_fleet_up{database="default"} 1' in text and "berth_fleet_" in text and "berth_web_connected 1" in text

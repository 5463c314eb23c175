"""Files that differ: which definition governs a name over the fleet."""

from fleet_help import clock, hosts, needs_redis, redis_section, redis_server  # fixtures among them
from fleet_ops_help import asks, client_of, gets, up

pytestmark = needs_redis

TEMPLATES = """
[lock etl]
scope = fleet
[semaphore market/*]
scope = fleet
limit = 2
max-units-per-user = 2
[pool desk/*]
scope = fleet
items = x y
"""
EXACT = TEMPLATES + """
[lock market/one]
scope = fleet
[semaphore market/big]
scope = fleet
limit = 7
[semaphore desk/one]
scope = fleet
limit = 2
"""


def test_an_exact_definition_of_one_host_governs_for_all(redis_server, hosts):
    section = redis_section(redis_server.url)
    a, b = up(redis_server, *hosts(EXACT, 1, section), *hosts(TEMPLATES, 1, section))
    here, there = client_of(a), client_of(b)
    gets(there, "acquire market/one")
    assert "would-wait" in asks(there, "acquire market/one wait=0")[1]
    assert "impossible" in asks(there, "acquire market/one:2")[1]
    gets(there, "acquire market/big:5")
    gets(here, "acquire market/big:2")
    assert "would-wait" in asks(there, "acquire market/big wait=0")[1]
    assert "differs" in asks(there, "acquire desk/one")[1]
    gets(here, "acquire desk/one:2")
    gets(there, "acquire desk/two:2")


def test_what_waits_for_the_database_counts_and_is_named(redis_server, hosts):
    section = redis_section(redis_server.url, ttl="120s")
    a, = up(redis_server, *hosts(TEMPLATES, 1, "max-waiters-per-user = 1\n" + section))
    client = client_of(a, 1000)
    redis_server.stop()
    assert client.request("acquire market/a").startswith("pending ")
    assert client.request("acquire market/b") == (
        "error quota market/b:%20one%20user%20may%20have%201%20waiting%20request%20(max-waiters-per-user)")
    redis_server.cont()

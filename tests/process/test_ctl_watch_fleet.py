"""berthctl watch in fleet scope: leases of other hosts, and a database that goes and comes back."""

import re

from conftest import read_line
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server, ways  # noqa: F401
from fleet_ops_help import client_of, gets, up
from lost_help import asked_until
from watch_help import Copy

pytestmark = needs_redis
ETL = "[semaphore etl]\nlimit = 4\nscope = fleet\n"


def watching(host, *args):
    """Starts it on that host; returns a function that reads a line, without its time."""
    process = host.berthctl.start("watch", *args, text=True)

    def read():
        return re.sub(r"^\d\d:\d\d:\d\d  ", "", read_line(process.stdout))

    assert read() == "-             watching 1 resource"
    read.process = process
    return read


def has(leases, lease):
    return any(key.endswith(f"/{lease}") for key, _ in leases)


def test_an_outage_tells_of_the_database_alone(redis_server, hosts, ways):
    way = ways(redis_server)
    a, = hosts(ETL, 1, redis_section(way.url))
    b, = hosts(ETL, 1, redis_section(redis_server.url))
    up(redis_server, a, b)
    client = client_of(b)
    stays, goes = gets(client, "acquire etl"), gets(client, "acquire etl")
    read, copy = watching(a), Copy(client_of(a))
    more = gets(client, "acquire etl program=x")
    assert re.fullmatch(rf"etl           granted slot 2 +\S+ on \S+ \(x, \w+/{more}\)", read())
    way.refuse()
    way.reset()
    assert read().startswith("default       database down: ")
    client.request(f"release {goes}")
    way.heal()
    assert read() == "default       database up"
    copy.take_until(lambda now: not has(now.leases, goes))
    client.request(f"release {more}")
    assert re.fullmatch(rf"etl           given back slot 2 +\S+ on \S+ \(x, \w+/{more}\)", read())
    assert has(copy.leases, stays)


def test_a_restart_with_leases_of_other_hosts_is_quiet(redis_server, hosts):
    a, b = hosts(ETL, 2, redis_section(redis_server.url))
    up(redis_server, a, b)
    client = client_of(b)
    lease = gets(client, "acquire etl")
    read = watching(a)
    a.restart()
    assert read_line(read.process.stderr).endswith("waiting for it to come back")
    assert read_line(read.process.stderr).endswith("berthd is back")
    asked_until(a, lambda now: all(one["state"] == "up" for one in now.databases.values()), "etl")
    Copy(client_of(a)).take_until(lambda now: has(now.leases, lease))
    client.request(f"release {lease}")
    line = read()
    while line.startswith("default       database"):
        line = read()
    assert re.fullmatch(rf"etl           given back slot 0 +\S+ on \S+ \(\w+/{lease}\)", line)

"""A host that is gone stays listed for an hour, on all others, in berthctl hosts, the metrics and their logs."""

import json
import re

from fleet_help import clock, hosts, needs_redis, redis_server, ways  # noqa: F401
from fleet_ops_help import client_of, fleet, gets
from lines import until

pytestmark = needs_redis


def shown(host):
    """The lines of berthctl hosts about who is gone."""
    return re.findall(r"^  .*: gone .*$", host.berthctl("hosts").stdout, re.M)


def logged(host):
    return re.findall(r"database default: (host .* is gone.*)$", host.log.read_text(), re.M)


def in_json(host):
    return json.loads(host.berthctl("hosts", "--json").stdout)["gone"]


def metric(host):
    return re.search(r'^berth_fleet_hosts_gone{database="default"} (\d+)$', host.berthctl("metrics").stdout, re.M)[1]


def test_a_host_that_dies(redis_server, hosts):  # noqa: F811
    """Its ttl is 6 s."""
    a, b, c = fleet(redis_server, hosts, 3)
    gets(client_of(c), "acquire etl")
    gets(client_of(c), "acquire door")
    assert shown(a) == [] == in_json(a) and metric(a) == "0"
    c.kill()
    for host in (a, b):
        line, = until(lambda: shown(host))  # noqa: B023
        assert re.fullmatch(r"  \S+: gone \d+s ago, held 2 \((etl, door|door, etl)\), freed \d+s ago", line), line
        line, = until(lambda: logged(host))  # noqa: B023
        assert re.fullmatch(r"host \S+ is gone, silent for 6s: it held 2 \((etl,door|door,etl)\), free again", line), line
    gone, = in_json(a)
    assert gone["held"] == 2 and sorted(gone["resources"]) == ["door", "etl"] and gone["database"] == "default"
    now = json.loads(a.berthctl("hosts", "--json").stdout)["now"]
    assert now - gone["heard_at"] >= 6000 > now - gone["freed_at"] >= 0, gone
    assert len(json.loads(a.berthctl("hosts", "--json").stdout)["hosts"]) == 2
    until(lambda: metric(a) == metric(b) == "1")  # they may be a second old
    c.start()
    until(lambda: shown(a) == [] and metric(b) == "0")
    assert len(logged(a)) == len(logged(b)) == 1 and logged(c) == []


def test_one_that_leaves_is_not_gone(redis_server, hosts):  # noqa: F811
    a, b = fleet(redis_server, hosts)
    gets(client_of(b), "acquire etl")
    b.stop()
    until(lambda: redis_server.members("leases") == [])
    assert len(redis_server.members("sessions")) == 1
    assert shown(a) == [] == logged(a) and metric(a) == "0"
    b.start()  # and then dies
    until(lambda: len(redis_server.members("sessions")) == 2)
    until(lambda: len(json.loads(a.berthctl("hosts", "--json").stdout)["hosts"]) == 2)
    b.kill()
    line, = until(lambda: shown(a))
    assert re.fullmatch(r"  \S+: gone \d+s ago, held 0", line), line
    assert until(lambda: logged(a))[0].endswith("is gone, silent for 6s: it held nothing")


def test_long_names_are_shown_whole_or_not(redis_server, hosts):  # noqa: F811
    """Of one host that has held eight of them."""
    names = [f"{i}-{'x' * 100}" for i in range(8)]
    text = "".join(f"[lock {name}]\nscope = fleet\n" for name in names)
    a, b = fleet(redis_server, hosts, 2, text)
    gets(client_of(b), f"acquire {' '.join(names)}")
    b.kill()
    line, = until(lambda: shown(a))
    assert re.search(rf", held 1 \({names[0]}, {names[1]}, \.\.\.\), freed ", line), line
    assert until(lambda: logged(a))[0].endswith(f"it held 1 ({names[0]},...), free again")


def test_long_names_are_shown_whole_or_not(redis_server, hosts):  # noqa: F811
    """Of one host that has held eight of them."""
    names = [f"{i}-{'x' * 100}" for i in range(8)]
    text = "".join(f"[lock {name}]\nscope = fleet\n" for name in names)
    a, b = fleet(redis_server, hosts, 2, text)
    gets(client_of(b), f"acquire {' '.join(names)}")
    b.kill()
    line, = until(lambda: shown(a))
    assert re.search(rf", held 1 \({names[0]}, {names[1]}, \.\.\.\), freed ", line), line
    assert until(lambda: logged(a))[0].endswith(f"it held 1 ({names[0]},...), free again")

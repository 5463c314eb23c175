"""Operators' changes survive hosts that come and go, and a Redis that forgets; undone changes do
not come back."""


from daemon_help import event, status
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server  # fixtures among them
from fleet_ops_help import RESOURCES, asks, client_of, fleet, gets, gets_in_time, pair, queues, up  # noqa: F401
from lines import until

pytestmark = needs_redis

MONTH = 31 * 86400


def does(host, line):
    assert client_of(host).request(line) == "ok", line


def keeps(host, text, is_there=True):
    """On its disk."""
    until(lambda: is_there == (text.encode() in b"".join(path.read_bytes() for path in host.state.glob("*.state"))),
          (host.name, text))


def forgets_all(server, *hosts):
    """Redis is restarted empty, and these hosts are all there are."""
    server.restart()
    up(server, *hosts)


def becomes(host, request):
    return asks(client_of(host), request)[1].split()[0]


GRANTED = ("ok", "granted")


def denied(host, request):
    """Why it is not granted now."""
    word, _, why = asks(client_of(host), request + " wait=0")[1].split()[:3]
    assert word == "denied"
    return why


def test_a_pause_reaches_hosts_that_connect_later(redis_server, pair):
    """And those that are connected."""
    a, b = pair
    does(a, "pause gpus")
    keeps(b, "default gpus ")
    b.stop()
    does(a, "pause etl")
    b.start()
    up(redis_server, b)
    a.kill()
    forgets_all(redis_server, b)
    for name in "etl", "gpus":
        assert becomes(b, f"acquire {name}") == "waiting"
    assert becomes(b, "acquire door") in GRANTED


def test_what_the_file_has_ended_does_not_come_back(redis_server, hosts):
    """Not with a later generation that has the old limit and items again, nor after the loss of Redis."""
    host, = fleet(redis_server, hosts, 1, generation=1)
    does(host, "limit etl 0")
    does(host, "remove gpus g0")
    does(host, "pause door")
    keeps(host, "limit-base")
    assert denied(host, "acquire etl") == "closed"
    assert asks(client_of(host), "acquire gpus")[1].endswith(",g1")
    others = RESOURCES.replace("limit = 2", "limit = 3").replace("g0 g1 g2", "g0 g1")
    for generation, resources in (2, others), (3, RESOURCES):
        host.configure(redis_section(redis_server.url, generation=generation) + resources)
        does(host, "reload")
        gets_in_time(client_of(host), "acquire etl")
    for base in "limit-base", "items-base":  # that they have ended is news that a renewal brings
        keeps(host, base, False)
    forgets_all(redis_server, host)
    assert status(client_of(host), "etl").resources["etl"]["limit"] == "2"
    assert asks(client_of(host), "acquire gpus")[1].endswith(",g0")
    assert denied(host, "acquire door") == "paused"


def test_all_instances_of_a_template(redis_server, pair):
    """Alive and to come, on every host; an instance's own change comes before; after the loss of Redis too."""
    a, b = pair
    client = client_of(b)
    gets(client, "acquire market/x:2")
    waiting = queues(client, "acquire market/x")
    for request in ("limit market/* 3", "pause market/* reason=move"):
        does(a, request)
    keeps(b, "default market/* ")
    assert status(client_of(b), "market/x").resources["market/x"]["limit"] == "3"
    assert event(client)[:2] == ("granted", waiting)  # of the higher limit, before the pause
    assert denied(a, "acquire market/x") == denied(b, "acquire market/new") == "paused"
    now = status(client_of(b))
    assert "market/*" not in now.resources
    assert now.templates["market/*"].items() >= {
        "limit": "3", "instances": "1", "paused": "1", "pause_reason": "move", "changed": "limit"}.items()
    assert now.resources["market/x"].items() >= {"limit": "3", "paused": "1", "pause_reason": "move"}.items()
    does(b, "resume market/free")
    assert becomes(a, "acquire market/free:3 wait=0") in GRANTED
    does(b, "reset market/free")
    assert denied(a, "acquire market/free") == "paused"
    does(b, "resume market/free")
    does(b, "limit market/own 1")
    keeps(b, "default market/own ")
    a.stop()
    forgets_all(redis_server, b)
    assert denied(b, "acquire market/new") == "paused"
    assert becomes(b, "acquire market/free:3 wait=0") in GRANTED
    does(b, "resume market/*")
    client = client_of(b)
    gets(client, "acquire market/own wait=0")
    assert denied(b, "acquire market/own") == "would-wait"
    assert becomes(b, "acquire market/new:3 wait=0") in GRANTED
    does(b, "pause market/*")
    assert denied(b, "acquire market/free") == "paused"  # that was an exception from the last one
    does(b, "reset market/*")
    assert denied(b, "acquire market/other:3") == "impossible"
    assert becomes(b, "acquire market/other:2 wait=0") in GRANTED


def test_a_pause_comes_back_with_the_only_host_that_knows_it(redis_server, pair):
    a, b = pair
    b.stop()
    does(a, "pause etl")
    keeps(a, "default etl ")
    a.stop()
    redis_server.restart()
    b.start()
    up(redis_server, b)
    a.start()
    up(redis_server, a)
    assert becomes(b, "acquire etl") == "waiting"


def test_what_was_taken_back_long_ago_stays_so(redis_server, pair):
    """Even with a host that was away all the time, and comes first when Redis has forgotten."""
    a, b = pair
    does(a, "pause etl reason=gone")
    does(a, "pause door")
    keeps(b, '"gone"')
    b.stop()
    does(a, "resume etl")
    redis_server.clock.step(MONTH)
    does(a, "resume gpus")
    keeps(a, "fleet default floor ")
    keeps(a, '"gone"', False)
    a.stop()
    redis_server.restart()
    b.start()
    up(redis_server, b)
    assert becomes(b, "acquire etl") == "waiting"  # it knows no better
    a.start()
    up(redis_server, a)
    keeps(b, '"gone"', False)
    assert becomes(a, "acquire etl") in ("ok", "granted")
    assert becomes(b, "acquire door") == "waiting"

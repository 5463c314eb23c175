"""Programs in fleet scope: they are told until when they have their units, and not signalled."""

from daemon_help import event
from fleet_help import clock, end_grace, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from program_help import now, programs, told

pytestmark = needs_redis

KILL_AFTER = 0.5
TEXT = f"""[lock a]
scope = fleet
kill-after = {KILL_AFTER}s
[lock jobs]
scope = fleet
programs = no
"""


def test_its_database_is_away(redis_server, hosts):  # noqa: F811
    """Each renewal moves the deadline, of which the last is kept; the others have the unit no
    earlier."""
    host, other = hosts(TEXT, 2, redis_section(redis_server.url, failover_lag="0", ttl="6s"))
    end_grace(redis_server)
    with programs(host) as program:
        one = program()
        client, waiter = one.connect(), other.client()
        assert client.request("acquire jobs bind=peer").startswith("error jobs-only ")
        answer = client.request("acquire a bind=peer")
        lease = answer.split()[1]
        assert answer.startswith("pending ")
        assert " bound=program " in client.line()
        told(client, lease)
        assert waiter.request("acquire a").startswith("pending ")
        assert event(waiter)[0] == "waiting"
        redis_server.stop()
        gone, stop = last = told(client, lease)
        while (line := client.line()).startswith("* deadline "):
            last = gone, stop
            words = line.split()
            gone, stop = int(words[3]), int(words[4].removeprefix("stop="))
        assert last == (gone, stop)  # said again, with the end of the wait for a renewal
        assert line.startswith(f"* expired {lease} deadline ")
        assert stop <= now() and gone - stop > KILL_AFTER * 1e9
        assert event(client) == ("lost", lease, "deadline")
        assert now() >= gone
        redis_server.cont()
        assert event(waiter)[0] == "granted"
        assert one.lives()

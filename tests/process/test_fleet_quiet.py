"""While nothing changes, Redis gets only renewals and heartbeats, and as few for many leases as for
one."""

import collections
import time


from fleet_help import Monitor, clock, hosts, needs_redis, redis_server, ways  # fixtures
from lines import until
from lost_help import witness  # a fixture
from scripts_help import assembled
from test_fleet_restart import Fleet


pytestmark = needs_redis

MANY = "[semaphore s]\nscope = fleet\nlimit = 150\nkill-after = 500ms\n"


def heard(server, seconds):
    """[words] of each command of a client, in so many seconds."""
    commands = []
    end = time.monotonic() + seconds
    with Monitor(server) as monitor:
        while (command := monitor.command(max(end - time.monotonic(), 0))) is not None:
            who, words = command
            if who != "lua":
                commands.append(words)
    return commands


def test_nothing_but_renewals(redis_server, hosts, witness, ways):
    fleet = Fleet(redis_server, hosts, witness, ways, 2, MANY)
    fleet.runs(0)
    fleet.runs(1)
    fleet.data()  # loads the script that the test itself uses
    heard(redis_server, 2.1)  # both renew; a host that has missed news of the start tells its definitions again
    few = heard(redis_server, 4.2)
    renewal = assembled("name") + "_renew"
    kinds = collections.Counter(words[1] if words[0].upper() == "FCALL" else words[0].upper()
                                for words in few)
    assert set(kinds) <= {renewal, "PING"}, kinds
    assert 2 * 3 <= kinds[renewal] <= 2 * 6  # each ttl/6, on two hosts
    assert kinds["PING"] <= 2 * 6

    many = [fleet.hosts[n % 2].client() for n in range(2)]
    for n in range(160):  # 148 are granted, the others wait
        client = many[n % 2]
        client.send("acquire s\n")
    until(lambda: len(fleet.data().leases) == 162)
    later = heard(redis_server, 4.2)
    counts = collections.Counter(words[1] if words[0].upper() == "FCALL" else words[0].upper()
                                 for words in later)
    assert set(counts) <= {renewal, "PING"}, counts
    assert abs(counts[renewal] - kinds[renewal]) <= 2
    assert max(map(size, later)) <= max(map(size, few)) + 8  # digits of numbers
    for client in many:
        client.close()
    witness.let_all_go()
    for wrapper in fleet.wrappers:
        assert wrapper.wait(30) == 0
    until(lambda: not fleet.database.leftovers())


def size(words):
    return sum(map(len, words))

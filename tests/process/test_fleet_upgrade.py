"""Three hosts at work go to a made-up next version, whose data have another layout (tests/next-format),
and back; then the upgrade is finished."""

import contextlib

import pytest

from fleet_help import Host, clock, hosts, needs_redis, redis_section, redis_server  # fixtures among them
from fleet_ops_help import client_of
from history_help import done
from lines import DEADLINE, until
from rolling import NEXT, THIS, Rolling
from scripts_help import Data, Database, past_the_first_grace

pytestmark = needs_redis


@pytest.fixture
def rolling(directory, chance, sanitizer_reports):
    made = Rolling(directory, chance)
    yield made
    made.close()


def finish_upgrade(rolling, host):
    done = rolling.hosts[host].berthctl("finish-upgrade")
    return done.returncode, done.stdout + done.stderr


def layouts(rolling):
    """What each host says about the data; "" while it says hello."""
    return {rolling.database_of(host).get("layout", "") for host in range(3)}


def test_forward_and_back_under_load(rolling):
    rolling.work()
    rolling.roll(0, NEXT)
    rolling.roll(1, NEXT, "kill")
    status, said = finish_upgrade(rolling, 1)
    assert status == 75 and "cannot read layout 3: upgrade berthd there first" in said
    assert "cannot read layout 3" in rolling.hosts[0].berthctl("hosts").stdout
    rolling.roll(0, THIS)
    rolling.roll_all(NEXT)
    assert rolling.layout() == 2 and layouts(rolling) == {"2"}
    assert "all hosts can read layout 3: berthctl finish-upgrade default" in rolling.hosts[2].berthctl("hosts").stdout
    assert finish_upgrade(rolling, 2) == (0, "database default has layout 3\n")
    rolling.wait_for(lambda: layouts(rolling) == {"3"})
    assert "convert" not in rolling.database.data()["db"]
    rolling.work()
    assert finish_upgrade(rolling, 0) == (0, "database default has layout 3 already: there is nothing to upgrade\n")
    with contextlib.closing(client_of(rolling.hosts[0])) as client:
        assert [deed["target"] for deed in done(client, "history database=default") if deed.verb == "upgrade"] == [
            "default"]
    rolling.roll(1, NEXT, "kill")
    rolling.finish()
    assert rolling.verdict() == []


# ---- one step at a time

# What the first field of each record is: a number since layout 3.
KINDS = """
local kinds = {}
for _, record in ipairs(redis.call('HVALS', KEYS[1])) do
    kinds[#kinds + 1] = record ~= '' and type(cmsgpack.unpack(record)[1]) or nil
end
return kinds
"""


def up(redis_server, hosts):
    past_the_first_grace(redis_server, redis_server.clock, 6, 1)
    section = redis_section(redis_server.url, "6s", failover_lag="1s")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Host, "program", NEXT)
        made = hosts("[semaphore s]\nlimit = 200\nscope = fleet\n", 2, section)
    until(lambda: {database(host)["state"] for host in made} == {"up"})
    return made


def database(host):
    line, = [line for line in host.client().lines("status") if line.startswith("database ")]
    return dict(word.split("=", 1) for word in line.split(" ")[2:])


def test_a_database_that_loses_its_data_keeps_its_layout(redis_server, hosts):
    """A host with the version before is down after the upgrade."""
    a, b = up(redis_server, hosts)
    assert a.berthctl("finish-upgrade", "default").returncode == 0
    b.stop()
    b.program = THIS
    b.start()
    until(lambda: database(b).get("why", "").startswith("its"))
    assert database(b)["why"] == "its%20data%20has%20layout%203,%20this%20berthd%20knows%202%20to%202"
    b.stop()
    b.program = NEXT
    b.start()
    until(lambda: database(b)["state"] == "up" and database(b).get("layout") == "3")
    Database(redis_server).client.flushall()
    until(lambda: database(a).get("layout") == database(b).get("layout") == "3" and "grace_until" in database(a))
    assert Database(redis_server).data()["db"]["layout"] == "3"


def test_leases_are_converted_whatever_ends_meanwhile(redis_server, hosts):
    """The daemon that was asked is killed at once: the others' calls go on."""
    a, b = up(redis_server, hosts)
    client = a.client()
    for _ in range(100):
        client.send("acquire s\n")
    granted = 0
    while granted < 100:
        granted += client.line().startswith("* granted")
    db = Database(redis_server)
    asking = b.berthctl.start("finish-upgrade")
    until(lambda: db.data()["db"]["layout"] == "3")
    b.kill()
    asking.communicate(timeout=DEADLINE)
    until(lambda: "convert" not in db.data()["db"])
    assert db.client.eval(KINDS, 1, db.key["leases"]) == 100 * ["number"]
    assert len(Data(db).holding()) == 100

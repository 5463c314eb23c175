"""A lease of another host, by the SESSION/LEASE that status lists: what `why`, `history`, `renew` and `wait` say of
it. (test_fleet_operators.py: revoke and drop.)"""

import os
import re

from daemon_help import refused, status
from fleet_help import clock, hosts, needs_redis, redis_section, redis_server  # noqa: F401
from fleet_ops_help import RESOURCES, client_of, fleet, gets, pair, queues, up  # noqa: F401
from lines import until
from test_why import told

pytestmark = needs_redis

NOBODY = "0123456789abcdef/1"


def me():
    return f"pid {os.getpid()} on {os.uname().nodename}"


def key_of(host, lease, name="etl"):
    """As that host's status lists it."""
    resource = status(client_of(host), name).resources[name]
    key, = (one["lease"] for one in resource["holders"] + resource["waiters"] if one["lease"].endswith("/" + lease))
    return key


def refusal(host, request):
    """Code and words."""
    words = client_of(host).request(request).split(" ", 2)
    assert words[0] == "error", words
    return words[1], words[2].replace("%20", " ")


# ---- why ----

def test_why_of_what_another_host_holds(redis_server, hosts):
    a, b = fleet(redis_server, hosts, 2, RESOURCES.replace("[semaphore etl]", "[semaphore etl]\nmax-hold = 1h"))
    lease = gets(client_of(a), "acquire etl gpus:2 holder=night program=load reason=import")
    key = key_of(b, lease)
    for words in (key, f"lease={key}"):
        said, sentences = told(client_of(b), words)
        assert said == {"is": "held", "lease": key}
        assert re.fullmatch(f"lease {key} of night, {me()} \\(load, .*: import\\) has held slot 0 of etl, g0,g1 of gpus "
                            r"for \ds", sentences[0]), sentences
        assert re.fullmatch(r"it ends after (59m5\ds|1h00m) at the latest: max-hold", sentences[1]), sentences
        assert sentences[2:] == [f"on {os.uname().nodename}, berthctl why {lease} says what else ends it"]
    assert b.berthctl("why", key).stdout.startswith(f"lease {key} of night, ")
    assert told(client_of(a), key)[0] == {"is": "held", "lease": lease}  # its own


def test_why_of_what_waits_on_another_host(pair):
    a, b = pair
    holder = client_of(a)
    gets(holder, "acquire etl:2 program=load")
    queues(client_of(b), "acquire etl program=first")
    lease = queues(client_of(a), "acquire etl:2 program=late")
    key = key_of(b, lease)
    said, sentences = told(client_of(b), key)
    assert said == {"is": "waiting", "lease": key, "position": "2"}
    assert re.fullmatch(f"lease {key} of {me()} \\(late, .*\\) has waited for etl for \\ds: place 2 in the queue",
                        sentences[0]), sentences
    assert sentences[1] == "2 of 2 units of etl are held" and "(load, " in sentences[2]
    assert sentences[3].startswith("1 request for etl is ahead: pid ") and "(first, " in sentences[3]
    assert len(sentences) == 5
    assert client_of(b).request("drain").startswith("ok ")  # which does not keep the other host's back
    assert "this host is being drained" not in told(client_of(b), key)[1]
    assert client_of(b).request("limit etl 1") == "ok"
    assert told(client_of(b), key)[1][-1] == "it can never start under the limit in force of etl"
    holder.close()
    until(lambda: told(client_of(b), key)[0].get("position") == "1")


def test_why_of_one_that_lacks_another_resource(pair):
    a, b = pair
    gets(client_of(b), "acquire door")
    lease = queues(client_of(a), "acquire etl door")
    said, sentences = told(client_of(b), key_of(b, lease, "door"))
    assert said["is"] == "waiting" and "it still needs door" in sentences
    assert " has waited for " in sentences[0] and "nobody" not in sentences[0]


def test_of_what_is_not_there(redis_server, pair):
    """Neither in a database that answers, nor in one that does not."""
    a, b = pair
    client = client_of(a)
    lease = gets(client, "acquire etl")
    key = key_of(b, lease)
    assert client.request(f"release {lease}") == "ok"
    until(lambda: refusal(b, f"why {key}") == ("unknown",
        f"{key}: no held or waiting lease; for one that has ended, on {os.uname().nodename}: "
        f"berthctl history --lease {lease}"))
    assert refusal(b, f"why lease={NOBODY}") == (
        "unknown", f"{NOBODY}: no held or waiting lease, and its host is not known any more")
    assert refused(client_of(b), "why lease=0123456789abcdef/") == "bad-value"
    own = f"{key.split('/')[0]}/{lease}"
    assert refusal(a, f"why {own}")[1].endswith(f"berthctl history --lease {own}")
    redis_server.stop()
    until(lambda: refusal(b, f"why {key}")[0] == "down")


def test_what_this_hosts_file_does_not_have(redis_server, hosts):
    a, = fleet(redis_server, hosts, 1)
    b, = up(redis_server, *hosts("[semaphore etl]\nscope = fleet\nlimit = 2\n", 1, redis_section(redis_server.url)))
    both, other = (gets(client_of(a), f"acquire {names}") for names in ("etl gpus", "door"))
    key = key_of(b, both)
    sentences = told(client_of(b), key)[1]
    assert " has held slot 0 of etl for " in sentences[0] and "gpus" not in sentences[0]
    assert "this host's file does not have 1 of its resources" in sentences
    unseen = f"{key.split('/')[0]}/{other}"
    assert refusal(b, f"why {unseen}") == ("unknown", f"{unseen}: this host's file has none of its resources")

"""show-commands = owner: a lease's program, reason and identity are shown to its user and to
admins; pid, uid and age to everybody. In every way in which a user might learn of them."""

import json
import os
import re
import urllib.parse


from conftest import read_line
from daemon_help import connect_as, held, needs_root, status, waits
from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import client_of, fleet, gets, queues
from lines import until

pytestmark = needs_root

# No accounts exist for these: a uid and a gid need no name to have rights.
ANNA, BERT, CLEO, DORA = 60001, 60002, 60003, 60004
EMIL = 60005  # sees everything
GROUP, VIEWING = 60101, 60102

SECRETS = ("theirprogram", "theirreason", "theiridentity")
WORDS = "program=theirprogram reason=theirreason holder=theiridentity"

HIDDEN = f"show-commands = owner\nadmin-users = {CLEO}\nadmin-groups = {GROUP}\n"
CONFIG = f"""admin-users = {DORA}
view-users = {EMIL}
view-groups = {VIEWING}
[semaphore open]
limit = 2
[semaphore shut]
limit = 2
{HIDDEN}
[semaphore also]
limit = 2
show-commands = owner
[semaphore t/*]
limit = 1
{HIDDEN}
"""


def secrets_in(text):
    return {word for word in SECRETS if word in urllib.parse.unquote(text)}


def answers_to(client, *requests):
    return "\n".join(line for request in requests for line in client.lines(request))


ALL = set(SECRETS)


def test_which_users_see_which_details(daemon):
    anna = connect_as(daemon, ANNA)
    held(anna, f"acquire shut {WORDS}")
    held(anna, f"acquire shut {WORDS}1")
    waits(anna, f"acquire shut {WORDS}2")
    held(anna, f"acquire t/x {WORDS}")
    sees = {
        "himself": connect_as(daemon, ANNA),
        "admin": connect_as(daemon, CLEO),
        "admin by group": connect_as(daemon, BERT, GROUP),
        "daemon admin": connect_as(daemon, DORA),
        "viewer": connect_as(daemon, EMIL),
        "viewer by group": connect_as(daemon, BERT, VIEWING),
        "root": daemon.client(),
    }
    for who, client in sees.items():
        for line in answers_to(client, "status shut", "status t/x").splitlines():
            assert not line.startswith(("holder", "waiter")) or secrets_in(line) == ALL, who
    other = connect_as(daemon, BERT)
    assert not secrets_in(answers_to(other, "status", "status shut", "status t/x"))
    shown = status(other, "shut").resources["shut"]
    assert len(shown["holders"]) == 2 and len(shown["waiters"]) == 1
    for one in shown["holders"] + shown["waiters"]:
        assert one["uid"] == str(ANNA) and one["pid"] and one["since"]
        assert not {"holder", "program", "reason"} & one.keys()


def test_a_viewer_must_administer_each_resource_that_hides(daemon):
    """What one hides, another does not show."""
    anna = connect_as(daemon, ANNA)
    held(anna, f"acquire open shut {WORDS}")
    waits(anna, f"acquire open:2 also shut {WORDS}2")
    for name in ("open", "shut", "also"):
        assert not secrets_in(answers_to(connect_as(daemon, BERT), f"status {name}")), name
    cleo = answers_to(connect_as(daemon, CLEO), "status open").splitlines()
    (holder,) = [line for line in cleo if line.startswith("holder")]
    (waiter,) = [line for line in cleo if line.startswith("waiter")]
    assert secrets_in(holder) == ALL and not secrets_in(waiter)
    for who in DORA, EMIL:
        assert secrets_in(answers_to(connect_as(daemon, who), "status also")) == ALL


def test_a_reload_hides_and_shows(daemon):
    anna, bert, root = connect_as(daemon, ANNA), connect_as(daemon, BERT), daemon.client()
    held(anna, f"acquire open {WORDS}")
    assert secrets_in(answers_to(bert, "status")) == ALL
    daemon.configure(CONFIG.replace("[semaphore open]", "[semaphore open]\nshow-commands = owner"))
    assert root.request("reload") == "ok"
    assert not secrets_in(answers_to(bert, "status"))
    daemon.configure(CONFIG)
    assert root.request("reload") == "ok"
    assert secrets_in(answers_to(bert, "status")) == ALL


def test_a_reload_makes_viewers(daemon):
    """Also for connections that are older than it."""
    held(connect_as(daemon, ANNA), f"acquire shut {WORDS}")
    bert, emil, root = connect_as(daemon, BERT), connect_as(daemon, EMIL), daemon.client()
    assert not secrets_in(answers_to(bert, "status shut"))
    daemon.configure(CONFIG.replace(f"view-users = {EMIL}", f"view-users = {BERT}"))
    assert root.request("reload") == "ok"
    assert secrets_in(answers_to(bert, "status shut")) == ALL
    assert not secrets_in(answers_to(emil, "status shut"))


def test_a_long_answer_hides_to_its_end(berthd):
    daemon = berthd(CONFIG.replace("limit = 2", "limit = 2000"))
    anna = connect_as(daemon, ANNA)
    for i in range(1500):
        held(anna, f"acquire shut {WORDS}{i}")
    assert not secrets_in(answers_to(connect_as(daemon, BERT), "status shut"))
    assert answers_to(connect_as(daemon, BERT, GROUP), "status shut").count("theirreason") == 1500


# ---- refusals, messages, programs


def test_refusals_and_explanations(daemon):
    """`why` names holders, those ahead, and the lease itself."""
    anna = connect_as(daemon, ANNA)
    lease = held(anna, f"acquire shut:2 {WORDS}")
    request = "acquire shut wait=0"
    shown_to_bert = urllib.parse.unquote(connect_as(daemon, BERT).request(request))
    assert not secrets_in(shown_to_bert)
    assert re.search(rf"2 of 2 held by pid \d+ \(uid {ANNA}\) for \d+s$", shown_to_bert), shown_to_bert
    for who in (ANNA, CLEO, EMIL, 0):
        answer = connect_as(daemon, who).request(request)
        assert secrets_in(answer) == {"theiridentity", "theirprogram", "theirreason"}


    waiting = waits(anna, f"acquire shut {WORDS}2")
    for request in ("why shut", f"why lease={lease}", f"why lease={waiting}"):
        hidden = answers_to(connect_as(daemon, BERT), request)
        assert not secrets_in(hidden) and f"uid%20{ANNA}" in hidden, request
        for who in (ANNA, CLEO, DORA, 0):
            assert secrets_in(answers_to(connect_as(daemon, who), request)) == ALL, (request, who)


def test_suggestions(berthd):
    """Of an unknown name, the nearest that the asker may use, or change; all may look at all."""
    daemon = berthd(f"""admin-users = {DORA}
[lock deploy]
allow-users = {ANNA}
admin-users = {CLEO}
[lock depot]
""")
    asks = {"acquire deplot": {ANNA: "deploy", BERT: "depot", CLEO: "deploy", DORA: "deploy"},
            "release deplot holder=x": {ANNA: "deploy", BERT: "depot"},
            "pause deplot": {ANNA: None, BERT: None, CLEO: "deploy", DORA: "deploy"},
            "status deplot": {ANNA: "deploy", BERT: "deploy", CLEO: "deploy", DORA: "deploy"}}
    for request, suggested in asks.items():
        for who, name in suggested.items():
            answer = urllib.parse.unquote(connect_as(daemon, who).request(request))
            assert answer == "error unknown deplot: no such resource" + (f"; did you mean {name}?" if name else "")


def test_berth_while_it_waits(daemon, berth, berthctl):
    """`berth run`, `berthctl status` and its JSON, as another user and as root."""
    anna = connect_as(daemon, ANNA)
    lease = held(anna, f"acquire shut:2 {WORDS}")

    def as_bert():
        os.setuid(BERT)

    waiting = berth.start("run", "shut", "--", "true", preexec_fn=as_bert)
    said = read_line(waiting.stderr)
    assert "waiting for shut" in said and f"uid {ANNA}" in said and not secrets_in(said)
    assert secrets_in(read_line(berth.start("run", "shut", "--", "true").stderr)) - {"theiridentity"}
    for words in (["status"], ["status", "shut"], ["status", "--json"]):
        assert not secrets_in(berthctl(*words, preexec_fn=as_bert).stdout)
        assert secrets_in(berthctl(*words).stdout)
    (shut,) = json.loads(berthctl("status", "shut", "--json", preexec_fn=as_bert).stdout)["resources"]
    (holder,) = shut["holders"]
    assert holder["uid"] == ANNA
    assert holder["holder"] is holder["program"] is holder["reason"] is None
    assert anna.request(f"release {lease}") == "ok"
    assert waiting.wait() == 0


# ---- the fleet


FLEET = f"""[semaphore etl]
scope = fleet
limit = 2
{{hidden}}
[semaphore plain]
scope = fleet
limit = 2
[semaphore market/*]
scope = fleet
limit = 2
{HIDDEN}
"""


@needs_redis
def test_leases_of_other_hosts(redis_server, hosts):  # noqa: F811
    a, b = fleet(redis_server, hosts, 2, FLEET.format(hidden=HIDDEN))
    anna = client_of(a, ANNA)
    gets(anna, f"acquire etl {WORDS}")
    gets(anna, f"acquire etl plain market/x {WORDS}1")
    queues(anna, f"acquire etl {WORDS}2")
    for host in (a, b):
        host.config.write_text(host.config.read_text().replace("[daemon]\n", f"[daemon]\nview-users = {EMIL}\n", 1))
        assert client_of(host).request("reload") == "ok"
        for request in ("status", "status etl", "status plain", "status market/x", "why etl", "why plain"):
            assert not secrets_in(answers_to(client_of(host, BERT), request)), request
            for who in (ANNA, EMIL, 0):
                assert secrets_in(answers_to(client_of(host, who), request)) == ALL, request
        for request in ("status etl", "why etl"):
            assert secrets_in(answers_to(client_of(host, CLEO), request)) == ALL


@needs_redis
def test_hosts_that_differ(redis_server, hosts):  # noqa: F811
    """What one host hides, the other does not show, whichever it is."""
    a, b = fleet(redis_server, hosts, 2, FLEET.format(hidden=HIDDEN))
    shows, hides = client_of(a, ANNA), client_of(b, ANNA)
    a.config.write_text(a.config.read_text().replace(HIDDEN, "", 1))
    assert client_of(a).request("reload") == "ok"
    gets(shows, f"acquire etl {WORDS}")
    gets(hides, f"acquire etl {WORDS}1")
    assert secrets_in(answers_to(client_of(a, BERT), "status etl").replace("theiridentity1", "")) == ALL
    assert "theiridentity1" not in answers_to(client_of(a, BERT), "status etl")
    assert not secrets_in(answers_to(client_of(b, BERT), "status etl"))
    assert "theiridentity1" in answers_to(client_of(a), "status etl")


@needs_redis
def test_hosts_that_hide_different_resources(redis_server, hosts):  # noqa: F811
    """Who administers what hides on one host does not see what another hides there, but sees what it hides itself."""
    section = "[semaphore {}]\nscope = fleet\nlimit = 2\n"
    a, b = fleet(redis_server, hosts, 2, section.format("plain") + section.format("etl"))
    for host, hidden in ((a, "etl"), (b, "plain")):
        text = host.config.read_text()
        host.config.write_text(text.replace(f"[semaphore {hidden}]\n", f"[semaphore {hidden}]\n{HIDDEN}"))
        assert client_of(host).request("reload") == "ok"
    lease = gets(client_of(a, ANNA), f"acquire plain etl {WORDS}")
    requests = "status", "status plain", "status etl"
    for who, sees in ((CLEO, set()), (BERT, set()), (ANNA, ALL), (0, ALL)):
        assert secrets_in(answers_to(client_of(b, who), *requests)) == sees, who
    assert secrets_in(answers_to(client_of(a, CLEO), *requests)) == ALL
    assert client_of(a).request(f"drop {lease}") == "ok"
    until(lambda: ALL <= secrets_in(answers_to(client_of(b), "history database=default")))
    for who, sees in ((CLEO, set()), (BERT, set()), (ANNA, ALL)):
        assert secrets_in(answers_to(client_of(b, who), "history database=default")) == sees, who


@needs_redis
def test_what_one_of_several_resources_hides(redis_server, hosts):  # noqa: F811
    """Of another host's lease, whose own host hides nothing: whichever of them it is."""
    for hidden, shown in (("etl", "plain"), ("plain", "etl")):
        text = "".join(f"[semaphore {name}]\nscope = fleet\nlimit = 2\n" for name in (shown, hidden))
        a, b = fleet(redis_server, hosts, 2, text)
        b.config.write_text(b.config.read_text() + HIDDEN + "\n")
        assert client_of(b).request("reload") == "ok"
        gets(client_of(a, ANNA), f"acquire etl plain {WORDS}")
        key = status(client_of(b), "etl").resources["etl"]["holders"][0]["lease"]
        assert not secrets_in(answers_to(client_of(b, BERT), f"why {key}")), hidden
        assert secrets_in(answers_to(client_of(b, ANNA), f"why {key}")) == ALL
        for host in (a, b):
            host.stop()
        redis_server.do("FLUSHALL")

"""`history`: where a job came from is looked up while it runs: the user who had logged in, the unit
or container, and the arguments where that is allowed."""

import os
import subprocess

import pytest

from daemon_help import connect_as, event, held, needs_root, waits
from history_help import history, last
from lost_help import held_over_a_kill, living_as, sleeper
from test_ctl_leases import logged_in_as
from test_rights_shown import ANNA, BERT

CONFIG = """grace = 50ms
[semaphore s]
limit = 9
[semaphore open]
limit = 9
show-arguments = yes
[semaphore also]
limit = 9
show-arguments = yes
"""


def long_enough(client):
    """Until what is held now has been looked up: by berthd's own clock."""
    lease = held(client, "acquire s ttl=500ms")
    assert event(client)[:2] == ("expired", lease)


def cgroup():
    """As proc(5) has it: the unified hierarchy's, else systemd's; None for the root."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        paths = dict(line.rstrip("\n").split(":", 2)[1:] for line in file)
    found = [paths.get(name, "/") for name in ("", "name=systemd")]
    return next((path for path in found if path != "/"), None)


def own_args():
    with open("/proc/self/cmdline", encoding="ascii") as file:
        return file.read().rstrip("\0").replace("\0", " ")[:1023]


def test_arguments_and_cgroup(daemon):
    """Of jobs, of a client without one, and of a wait."""
    client, clock = daemon.client(), daemon.client()
    with sleeper() as pid, subprocess.Popen(["cat"], stdin=subprocess.PIPE) as cat:
        leases = [held(client, f"acquire open{job}") for job in (
            f" pid={pid}", "", f" pid={cat.pid}", f" pid={os.getpid()}", f" pid={cat.pid}")]
        held(client, "acquire open:4")
        leases.append(waits(client, "acquire open"))
        long_enough(clock)
        for lease in reversed(leases):
            assert client.request(f"cancel {lease}") == "ok"
    *entries, wait = [history(client, f"history lease={lease}")[0].has(cgroup=cgroup()) for lease in leases]
    own = own_args()[:100]
    assert [entry["args"][:100] for entry in entries] == [own, own, "cat", own, "cat"]
    assert wait.has(how="cancelled")["args"]


def test_the_job_is_what_the_wrapper_has_begun(daemon, client, berth):
    """While it waits there is only the wrapper."""
    blocker = held(client, "acquire open:9")
    job = berth.start("run", "-q", "open", "--", "cat", stdin=subprocess.PIPE)
    long_enough(daemon.client())
    client.request(f"release {blocker}")
    long_enough(daemon.client())
    job.stdin.close()
    assert job.wait(30) == 0
    entries = [entry for entry in history(client) if "open:0" in entry["units"] and "program" in entry]
    assert entries[-1]["args"] == "cat"


def test_all_resources_must_say_yes(daemon):
    client, clock = daemon.client(), daemon.client()
    leases = [held(client, f"acquire {names}") for names in ("open s", "s", "open also")]
    long_enough(clock)
    for lease in leases:
        client.request(f"release {lease}")
    assert ["args" in history(client, f"history lease={lease}")[0] for lease in leases] == [False, False, True]


def test_a_reload_that_takes_the_consent_back(daemon):
    client, operator = daemon.client(), daemon.client()
    lease = held(client, "acquire open")
    long_enough(operator)
    daemon.configure(CONFIG.replace("show-arguments = yes", ""))
    assert operator.request("reload") == "ok"
    client.request(f"release {lease}")
    last(client).has(args=None)


def test_a_lease_that_is_over_at_once_has_none(client):
    client.send("acquire open holder=h\nrelease open holder=h\n")  # in one turn, however busy the machine is
    assert client.line().startswith("ok ") and client.line() == "ok"
    last(client).has(args=None, cgroup=None, login=None)


def test_a_lease_of_an_earlier_berthd(daemon):
    with held_over_a_kill(daemon, "open") as (client, lease, _):
        long_enough(client)
        client.request(f"release {lease}")
    assert last(client).has(cgroup=cgroup())["args"]


@needs_root
def test_who_had_logged_in(daemon):
    try:
        subprocess.run(["true"], preexec_fn=lambda: logged_in_as(4242), check=True)
    except subprocess.SubprocessError:
        pytest.skip("this kernel has no login uids")
    client, clock, operator = daemon.client(), daemon.client(), daemon.client()
    with sleeper(lambda: logged_in_as(4242)) as pid:
        lease = held(client, f"acquire s pid={pid}")
        long_enough(clock)
        assert operator.request(f"drop {lease}") == "ok"
    last(operator).has(how="dropped", login="4242", by="0", by_login=None)


@needs_root
def test_arguments_are_hidden_with_the_program(berthd):
    daemon = berthd(CONFIG.replace("show-arguments", "show-commands = owner\nshow-arguments"))
    with living_as(daemon, ANNA) as anna:
        lease = held(anna, "acquire open")
        long_enough(daemon.client())
        anna.request(f"release {lease}")
        request = f"history lease={lease}"
        assert history(anna, request)[0]["args"] and history(daemon.client(), request)[0]["args"]
    history(connect_as(daemon, BERT), request)[0].has(args=None, cgroup=None)


def test_nothing_is_looked_up_without_a_history(berthd):
    daemon = berthd("history = 0\n" + CONFIG)
    client = daemon.client()
    lease = held(client, "acquire open")
    long_enough(daemon.client())
    assert client.request(f"release {lease}") == "ok" and history(client) == []

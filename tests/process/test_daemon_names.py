"""A name service that gives no answer holds up only the reload that asks it."""

import os
import pathlib
import pwd
import re
import select
import signal
import threading
import urllib.parse

import pytest

from conftest import Berthd
from daemon_help import code, held, is_quiet, refused, status
from gate import Gate, with_shim
from history_help import done
from lines import until
from lost_help import sleeper
from test_lost_found import ignores_term
from test_run_tree import is_alive

LOCKED = "[lock a]\nallow-users = root\n"


@pytest.fixture
def gate(directory):
    return Gate(directory / "gate")


@pytest.fixture
def daemon(directory, gate, sanitizer_reports):
    daemon = Berthd(directory, "[lock a]\n", before=with_shim("names_shim.so", BERTH_NAMES_GATE=gate.path))
    yield daemon
    for client in daemon.clients:
        client.close()
    daemon.stop()


def asked(daemon, client, text):
    """The reload is under way, and waits at the gate."""
    daemon.configure(text)
    client.send("reload\n")


def test_everybody_else_goes_on(daemon, gate):
    operator, client = daemon.client(), daemon.client()
    gate.shut()
    asked(daemon, operator, LOCKED + "[lock b]\n")
    at_gate = gate.wait_for_somebody()
    operator.send("acquire b wait=0\n")  # which comes after the reload
    lease = held(client, "acquire a")
    assert refused(client, "acquire b") == "unknown"
    assert client.request(f"release {lease}") == client.request("pause a") == client.request("resume a") == "ok"
    gate.path.unlink()
    os.close(at_gate)
    assert operator.line() == "ok"
    assert operator.line().startswith("ok ")
    assert status(client).resources["b"]["in_use"] == "1"


def test_a_reload_reports_unknown_users(daemon, gate):
    operator = daemon.client()
    gate.shut()
    asked(daemon, operator, LOCKED + "[lock b]\nallow-users = nobody-of-that-name\n")
    gate.open()
    assert code(operator.line()) == "config"
    assert set(status(operator).resources) == {"a"}


def test_each_reload_is_by_who_asked_for_it(daemon, gate):
    operator = daemon.client()
    gate.shut()
    asked(daemon, operator, LOCKED + "[lock b]\n")
    at_gate = gate.wait_for_somebody()
    daemon.configure(LOCKED + "[lock c]\n")
    daemon.signal(signal.SIGHUP)
    assert is_quiet(daemon.client())
    gate.path.unlink()
    os.close(at_gate)
    assert operator.line() == "ok"
    until(lambda: len(done(operator)) == 2)
    assert [entry.get("reason") for entry in done(operator)] == [None, "SIGHUP"]


def test_a_queued_reload_reads_the_newest_file(daemon, gate):
    first, second, third = daemon.client(), daemon.client(), daemon.client()
    gate.shut()
    asked(daemon, first, LOCKED + "[lock b]\n")
    at_gate = gate.wait_for_somebody()
    asked(daemon, second, LOCKED + "[lock c]\n")
    asked(daemon, third, LOCKED + "[lock d]\n")
    assert is_quiet(daemon.client())
    second.close()
    gate.path.unlink()
    gate.shut()  # for the next one to come
    os.close(at_gate)
    assert first.line() == "ok"
    at_gate = gate.wait_for_somebody()
    assert not select.select([third.socket], [], [], 0)[0]
    gate.path.unlink()
    os.close(at_gate)
    assert third.line() == "ok"
    assert set(status(third).resources) == {"a", "d"}
    assert daemon.log.read_text().count("reloaded") == 2


def test_a_slow_reload_is_answered_in_time(daemon, gate):
    """berthctl waits for 5 s."""
    operator = daemon.client()
    gate.shut()
    asked(daemon, operator, LOCKED)
    assert code(operator.line()) == "down"
    assert is_quiet(operator)
    gate.open()
    until(lambda: "reloaded" in daemon.log.read_text())


def test_a_client_that_leaves_meanwhile_holds_nothing(daemon, gate):
    """Lines that wait for the reload's answer keep berthd from reading; it still sees the end at
    once."""
    first, client, other = daemon.client(), daemon.client(), daemon.client()
    held(client, "acquire a")
    assert other.request("acquire a").startswith("waiting ")
    gate.shut()
    asked(daemon, first, LOCKED + "[lock b]\n")
    at_gate = gate.wait_for_somebody()
    client.send("reload\nping\n")
    client.close()
    assert other.line().startswith("* granted ")
    assert not select.select([first.socket], [], [], 0)[0]  # the one that has waited longer still does
    gate.path.unlink()
    os.close(at_gate)
    assert first.line() == "ok"


@pytest.mark.parametrize("how", ["request", "hangup"])
def test_it_does_not_hold_up_the_end(daemon, gate, how):
    gate.shut()
    daemon.configure(LOCKED)
    if how == "hangup":
        daemon.signal(signal.SIGHUP)
    else:
        daemon.client().send("reload\n")
    at_gate = gate.wait_for_somebody()
    daemon.stop()
    os.close(at_gate)


def test_a_start_says_that_it_has_waited(daemon, gate):
    daemon.stop()
    daemon.configure(LOCKED)
    gate.shut()
    opener = threading.Thread(target=gate.open, args=(1.1,))  # a shorter wait is not worth a message
    opener.start()
    daemon.start()
    opener.join()
    assert re.search(r"reading the configuration took \d+\.\d s; names of users", daemon.log.read_text())


def test_names_in_explanations(daemon, gate):
    """`why` waits for the names of users, and nobody else does; it does not wait for ever."""
    asker, client = daemon.client(), daemon.client()
    name = pwd.getpwuid(os.getuid()).pw_name
    lease = held(client, "acquire a")
    gate.shut()
    asker.send("why a\n")
    at_gate = gate.wait_for_somebody()
    assert client.request(f"release {lease}") == client.request("pause a") == client.request("resume a") == "ok"
    lease = held(client, "acquire a")
    gate.path.unlink()
    os.close(at_gate)
    answer = [asker.line()]
    while answer[-1] != "end":
        answer.append(asker.line())
    assert f"({name})" in urllib.parse.unquote(" ".join(answer))


def test_a_name_service_that_hangs(daemon, gate):
    """`why` waits once for a name that does not come in time, and not again."""
    asker, client, operator = daemon.client(), daemon.client(), daemon.client()
    held(client, "acquire a")
    gate.shut()
    assert f"uid%20{os.getuid()}" in " ".join(asker.lines("why a"))  # when its time is over
    asked(daemon, operator, LOCKED)  # which waits as long as any request does
    assert client.request("ping") == "ok"
    assert f"uid%20{os.getuid()}" in " ".join(asker.lines("why a"))
    assert not select.select([operator.socket], [], [], 0)[0]  # so `why` has not waited again
    gate.open()
    assert operator.line() == "ok"


def test_a_revoke_says_the_name(daemon, gate):
    """It waits for the name of its user, also when the user has gone meanwhile, and nobody else waits."""
    operator, client = daemon.client(), daemon.client()
    name = pwd.getpwuid(os.getuid()).pw_name
    lease = held(client, "acquire a")
    gate.shut()
    operator.send(f"revoke {lease} reason=backup\n")
    at_gate = gate.wait_for_somebody()
    operator.close()
    assert client.request("ping") == "ok"
    gate.path.unlink()
    os.close(at_gate)
    assert client.line() == f"* revoked {lease} revoked revoked%20by%20{name}:%20backup"
    assert daemon.log.read_text().count("revoke ") == 1


def test_a_revoke_does_not_wait_for_ever(daemon, gate):
    operator, client = daemon.client(), daemon.client()
    lease = held(client, "acquire a")
    gate.shut()
    assert operator.request(f"revoke {lease}") == "ok"
    assert client.line() == f"* revoked {lease} revoked revoked%20by%20uid%20{os.getuid()}"
    gate.open()


def test_signals_do_not_wait(directory, gate, sanitizer_reports):
    """However many look-ups of hosts, of a user and of a reload give no answer."""
    databases = "".join(f"[redis {name}]\nurl = redis://localhost:1\nprefix = {name}\n"
                        f"[lock of-{name}]\nscope = fleet\nredis = {name}\n" for name in "xyz")
    text = "[lock a]\n[lock b]\nmax-hold = 200ms\nkill-after = 100ms\n" + databases
    daemon = Berthd(directory, text, before=with_shim("names_shim.so", BERTH_NAMES_GATE=gate.path))
    operator, client, other = daemon.client(), daemon.client(), daemon.client()
    lease = held(client, "acquire a")
    gate.shut()
    asked(daemon, operator, LOCKED + text.partition("\n")[2])
    at_gate = gate.wait_for_somebody()
    assert other.request(f"revoke {lease}") == "ok"  # which the log gives a name
    until(lambda: n_at_gate(daemon, gate) >= 4)
    with sleeper(ignores_term) as pid, sleeper() as wrapper:
        held(other, f"acquire b pid={pid} wrapper={wrapper}")
        until(lambda: not is_alive(pid))
    gate.path.unlink()
    os.close(at_gate)
    for each in daemon.clients:
        each.close()
    daemon.stop()


def n_at_gate(daemon, gate):
    """How many of berthd's threads read there."""
    return sum(os.path.realpath(fd) == str(gate.path.resolve())
               for fd in pathlib.Path(f"/proc/{daemon.process.pid}/fd").iterdir())

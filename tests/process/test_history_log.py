"""[daemon] log = leases: a line of the log for each lease and wait that is over."""

import os
import re
import time


from daemon_help import event, held, waits
from lines import DEADLINE, look_again, until
from lost_help import sleeper

CONFIG = """log = leases
[lock deploy]
[semaphore s]
limit = 99
"""


def lines(daemon, n):
    """The first n, once they are there; and no others."""
    end = time.monotonic() + DEADLINE
    while len(found := re.findall(r"(?:lease|request) \w+ .* has ended .*", daemon.log.read_text())) < n:
        assert time.monotonic() < end, found
        look_again()
    assert len(found) == n, found
    return found


def test_each_end_is_a_line(daemon, client):
    lease = held(client, "acquire deploy program=p")
    waiting = waits(client, "acquire deploy wait=1ms")
    assert event(client)[:2] == ("denied", waiting)
    assert client.request(f"release {lease}") == "ok"
    wait, hold = lines(daemon, 2)
    uid, pid = os.geteuid(), os.getpid()
    assert re.fullmatch(rf"request {waiting} \(deploy\) of uid {uid}, pid {pid} has ended \(timeout\): "
                        r"waited for \w+", wait)
    assert re.fullmatch(rf"lease {lease} \(deploy\) of uid {uid}, pid {pid} has ended \(released\): "
                        r"held for \w+, waited for \w+", hold)


ENDS = [("exit=3", "exit 3"), ("signal=9", "SIGKILL"), ("", "released")]


def test_how_the_job_ended(daemon, client):
    for i, (said, shown) in enumerate(ENDS):
        lease = held(client, "acquire deploy")
        assert client.request(f"release {lease} {said}".rstrip()) == "ok"
        assert f" has ended ({shown}): held for " in lines(daemon, i + 1)[i]
    for _ in range(90):
        held(client, "acquire s")
    client.close()
    assert all(" has ended (gone): held for " in line for line in lines(daemon, len(ENDS) + 90)[len(ENDS):])


def test_how_the_job_ended_with_v(berthd):
    """Of the log of all that happens."""
    daemon = berthd(CONFIG.replace("log = leases\n", ""), "-v")
    client = daemon.client()
    for said, shown in ENDS:
        lease = held(client, "acquire deploy")
        waiting = waits(client, "acquire deploy wait=1ms")
        assert event(client)[:2] == ("denied", waiting)
        assert client.request(f"release {lease} {said}".rstrip()) == "ok"
        text = daemon.log.read_text()
        assert re.search(rf"lease {waiting} .* has ended \(timeout\)\n", text)
        assert re.search(rf"lease {lease} .* has ended \({shown}\): held for \w+\n", text)


def test_more_than_the_history_keeps(berthd):
    """What it cannot keep until it is logged is counted."""
    n = 2000
    daemon = berthd(f"log = leases\nhistory = 64K\n[semaphore s]\nlimit = {n}\n")
    client = daemon.client()
    for _ in range(n // 100):
        client.send("acquire s\n" * 100)
        for _ in range(100):
            assert client.line().startswith("ok ")
    client.close()
    pattern = r"(\d+) ended leases and requests were not logged;"
    said = until(lambda: re.findall(pattern, daemon.log.read_text()), lambda: daemon.log.read_text()[-2000:])
    lines(daemon, n - int(said[0]))


def test_what_ended_while_there_was_no_berthd(daemon, client):
    client.request("release " + held(client, "acquire deploy"))
    with sleeper() as pid:
        lease = held(client, f"acquire s pid={pid}")
        lines(daemon, 1)
        daemon.kill()
    daemon.start()
    client = daemon.client()
    client.request("release " + held(client, "acquire deploy"))
    assert lease in "".join(lines(daemon, 3))


def test_not_without_a_history(berthd):
    daemon = berthd("history = 0\n" + CONFIG)
    client = daemon.client()
    client.request("release " + held(client, "acquire deploy"))
    lines(daemon, 0)


def test_a_reload_begins_and_ends_it(berthd):
    daemon = berthd(CONFIG.replace("log = leases\n", ""))
    client = daemon.client()
    leases = []
    for text in "", "log = leases\n", "log = changes\n":
        daemon.configure(CONFIG.replace("log = leases\n", text))
        assert client.request("reload") == "ok"
        leases.append(held(client, "acquire deploy"))
        client.request(f"release {leases[-1]}")
    (line,) = lines(daemon, 1)
    assert leases[1] in line

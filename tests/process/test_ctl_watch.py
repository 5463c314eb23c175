"""berthctl watch: a line for each change."""

import json
import os
import re
import signal
import subprocess

import pytest

from conftest import read_line
from daemon_help import held
from lines import DEADLINE

CONFIG = """
[semaphore etl]
limit = 2
[pool gpus]
items = gpu0 gpu1
[semaphore market/*]
limit = 1
"""
FIRST = ["ok draining=0 held=0 waiting=0", "snapshot",
         "resource etl kind=semaphore scope=host limit=2 in_use=0 free=2 waiting=0", "end"]


@pytest.fixture
def watch(berthctl):
    """Starts it; returns a function that reads the next line, without its time."""
    def start(*args, **options):
        process = berthctl.start("watch", *args, text=True, **options)

        def read():
            return re.sub(r"^\d\d:\d\d:\d\d  ", "", read_line(process.stdout))

        read.process = process
        return read
    return start


@pytest.fixture
def events(watch):
    """The same with --json: reads the next object."""
    def start(*args):
        read = watch("--json", *args)
        assert json.loads(read())["event"] == "begun"
        return lambda: json.loads(read())
    return start


def send(peer, *lines):
    peer.send("".join(line + "\n" for line in lines))


def test_what_happens_is_a_line(daemon, watch, berthctl):
    read = watch()
    assert read() == "-             watching 2 resources"
    first, second = daemon.client(), daemon.client()
    lease = held(first, "acquire etl:2 program=load")
    assert re.fullmatch(rf"etl           granted slots 0-1 +\S+ \(load, {lease}\)", read())
    waiting = second.request("acquire etl program=train").split()[1]
    assert re.fullmatch(rf"etl           waits for 1 unit, place 1 +\S+ \(train, {waiting}\)", read())
    first.request(f"release {lease}")
    assert re.fullmatch(rf"etl           given back slots 0-1 +\S+ \(load, {lease}\)", read())
    assert re.fullmatch(rf"etl           granted slot [01] +\S+ \(train, {waiting}\)", read())
    assert berthctl("limit", "etl", "3").returncode == 0
    assert re.fullmatch(r"etl           limit 3, was 2 +\S+", read())
    assert berthctl("pause", "gpus", "--reason", "a\033b").returncode == 0
    assert re.fullmatch(r"gpus          paused: a\\x1bb +\S+", read())
    assert berthctl("resume", "gpus").returncode == 0
    assert read() == "gpus          resumed"


def test_ends_and_names(daemon, watch, berth):
    read = watch("--ended", "etl", "market/*")
    assert read() == "-             watching 1 resource"
    held(daemon.client(), "acquire gpus")
    done = berth("run", "etl", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3
    line = read()
    while "granted" in line:
        line = read()
    assert re.fullmatch(r"etl           ended: exit 3 +\S+ \(sh, \w+\)", line)
    held(daemon.client(), "acquire market/alice")
    assert read().startswith("market/alice  granted slot 0 ")


def test_objects(daemon, events, berthctl):
    read = events()
    lease = held(daemon.client(), "acquire gpus holder=job-1 program=%22x%0ay")
    event, now = read(), json.loads(berthctl("status", "--json", "gpus").stdout)
    shown = now["resources"][0]["holders"][0]
    assert event["event"] == "granted" and event["resource"] == "gpus" and event["lease"] == lease
    assert {key: event[key] for key in shown} == shown
    assert event.keys() - shown.keys() == {"event", "time_ms", "now", "resource", "database", "text"}
    assert event["text"].endswith("was granted item gpu0 of gpus") and not event["text"].startswith(" ")
    assert event["program"] == '"x\ny'


def test_a_restart_is_quiet(daemon, watch, berth):
    read = watch()
    read()
    job = berth.start("run", "etl", "--", "sh", "-c", "echo begun; read line", stdin=subprocess.PIPE)
    assert read_line(job.stdout) == "begun"
    assert read().startswith("etl           granted slot 0")
    daemon.stop()
    assert read_line(read.process.stderr) == (
        "berthctl: berthd closed the connection: waiting for it to come back")
    daemon.start()
    assert read_line(read.process.stderr) == "berthctl: berthd is back"
    job.communicate(b"\n", timeout=DEADLINE)
    assert read().startswith("etl           given back slot 0")


def test_an_unknown_name(daemon, berthctl):
    done = berthctl("watch", "etl", "gpu\033s")
    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr == "berthctl: watch: no resource gpu\\x1bs (unknown)\n"


def test_no_berthd(berthctl):
    done = berthctl("watch")
    assert (done.returncode, done.stdout) == (69, "")


def test_it_ends_when_nobody_reads(daemon, watch):
    """At once, although nothing happens that it could write; and quietly by a signal."""
    for number in (signal.SIGINT, signal.SIGTERM):
        read = watch()
        read()
        read.process.send_signal(number)
        assert read.process.communicate(timeout=DEADLINE) == ("", "")
        assert read.process.returncode == -number
    out, its = os.pipe()
    read = watch(stdout=its)
    os.close(its)
    assert b"watching" in os.read(out, 4096)
    os.close(out)
    assert read.process.wait(DEADLINE) == 0
    assert read.process.stderr.read() == ""


# ---- a server that the test plays

def test_what_it_asks(fake, watch):
    watch()
    assert fake.asked()[1] == ["watch"]
    watch("--ended", "etl")
    assert fake.asked()[1] == ["watch", "ended=1"]


def test_a_refusal(fake, watch):
    read = watch()
    fake.tells("error too-much no%1Broom")
    assert read.process.communicate(timeout=DEADLINE) == ("", "berthctl: watch: no\\x1broom (too-much)\n")
    assert read.process.returncode == 78


def test_nonsense(fake, watch):
    for line in ("holder a", "resource etl kind=lock limit=x", "\377", "x" * 5000):
        read = watch()
        peer, _ = fake.asked()
        send(peer, *FIRST[:2])
        peer.send((line + "\nend\n").encode("latin-1"))
        _, err = read.process.communicate(timeout=DEADLINE)
        assert read.process.returncode == 69 and err.endswith(" does not speak this protocol\n"), line


def test_a_full_berthd_is_asked_again(fake, watch):
    read = watch()
    peer, _ = fake.asked()
    send(peer, *FIRST)
    assert read() == "-             watching 1 resource"
    peer.close()
    for _ in range(2):
        peer, _ = fake.asked()
        send(peer, "error busy too%20many")
        peer.close()
    peer, _ = fake.asked()
    send(peer, *FIRST)
    send(peer, "waiter a resource=etl wants=1 since=0 priority=0 ticket=1 pid=1 uid=4294967294", "end")
    assert read() == "etl           waits for 1 unit, place 1   4294967294 (a)"
    read.process.kill()
    assert read.process.stderr.read().splitlines() == [
        "berthctl: berthd closed the connection: waiting for it to come back",
        "berthctl: berthd is back"]

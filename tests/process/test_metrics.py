"""berthctl metrics: figures that are true, in a form that Prometheus reads."""

import os
import re
import shutil
import subprocess

import pytest

from daemon_help import connect_as, held, needs_root, NOBODY, refused
from lines import DEADLINE
from lost_help import sleeper

CONFIG = """grace = 50ms
[lock deploy]
[semaphore market/*]
limit = 2
[lock closed]
allow-users = 4
"""


def text_of(daemon, berthctl):
    done = berthctl("metrics")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def answer(client):
    """All rows, over all answers: {(name, labels): its keys}."""
    rows, request = {}, "metrics"
    while request:
        head, *lines, end = client.lines(request)
        assert end == "end"
        following = re.fullmatch(r"ok(?: next=(\d+))?", head)[1]
        for line in lines:
            kind, name, *words = line.split(" ")
            if kind == "database":
                continue
            assert kind in ("figure", "histogram") and len(line) < 4096
            pairs = [word.split("=", 1) for word in words]
            labels = tuple(value for key, value in pairs if key not in ("value", "sum", "le"))
            assert (name, labels) not in rows, line
            rows[name, labels] = dict(pairs)
        request = following and f"metrics from={following}"
    return rows


def value(rows, name, *labels):
    return float(rows[f"berth_{name}", labels]["value"])


def buckets(rows, name, *labels):
    """{bound: how many were no longer}"""
    pairs = [bucket.split(":") for bucket in rows[f"berth_{name}", labels]["le"].split(",")]
    return {bound: int(n) for bound, n in pairs}


def count(rows, name, *labels):
    return buckets(rows, name, *labels)["+Inf"]


# ---- what is counted

@needs_root
def test_what_is_refused_before_the_core(daemon):
    client = connect_as(daemon, NOBODY)
    assert refused(client, "acquire closed") == "forbidden"
    assert refused(client, "nonsense") == "unknown-command"
    assert refused(client, "metrics from=x") == "bad-value"
    rows = answer(client)
    assert value(rows, "denied_total", "closed", "forbidden") == 1
    assert value(rows, "requests_refused_total", "forbidden") == 1
    assert value(rows, "requests_refused_total", "unknown-command") == 1
    assert value(rows, "requests_refused_total", "bad-value") == 1


def test_many_definitions(berthd):
    """Each definition once, in answers of a bounded length."""
    daemon = berthd("".join(f"[lock l{n}]\n" for n in range(100)))
    client = daemon.client()
    names = {labels[0] for name, labels in answer(client) if name == "berth_held"}
    assert names == {f"l{n}" for n in range(100)}
    assert len("\n".join(client.lines("metrics"))) < 100_000


# ---- over any end of berthd

def test_each_berthd_counts_from_zero(daemon, client):
    with sleeper() as pid:
        held(client, f"acquire market/a:2 pid={pid}")
        client.request("release " + held(client, "acquire deploy"))
        assert value(answer(client), "granted_total", "deploy", "at-once") == 1
        for end in (daemon.kill, daemon.stop):
            end()
            daemon.start()
            rows = answer(daemon.client())
            assert value(rows, "granted_total", "deploy", "at-once") == 0
            assert value(rows, "granted_total", "market/*", "at-once") == 0
            assert value(rows, "held", "market/*") == 2
            assert value(rows, "connections_total") == 1
            assert value(rows, "unit_seconds_total", "market/*") <= 2 * value(rows, "uptime_seconds")


def test_a_job_that_ends_meanwhile(daemon, client):
    """Its end is counted, and its grant was another berthd's."""
    with sleeper() as pid:
        held(client, f"acquire deploy pid={pid}")
        daemon.kill()
    daemon.start()
    rows = answer(daemon.client())
    assert value(rows, "granted_total", "deploy", "at-once") == 0
    assert value(rows, "ended_total", "deploy", "released") == 1 and value(rows, "held", "deploy") == 0


# ---- as Prometheus reads it

def test_each_figure_has_help_and_type(daemon, client, berthctl):
    held(client, "acquire deploy holder=Somebody reason=Secret program=Thing")
    assert not re.search(r"Somebody|Secret|Thing|uid|pid", "\n".join(client.lines("metrics")))
    lines = text_of(daemon, berthctl).splitlines()
    declared = [line.split(" ")[2] for line in lines if line.startswith("# TYPE ")]
    assert len(declared) == len(set(declared)) > 20
    current = None
    for line in lines:
        if line.startswith("# HELP "):
            current = line.split(" ")[2]
        elif not line.startswith("#"):
            assert re.fullmatch(r'berth_\w+(\{(\w+="[^"\\]*",?)+\})? [0-9.]+', line), line
            assert re.match(rf"{current}(_bucket|_sum|_count)?[ {{]", line), line


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool")
def test_promtool_accepts_it(daemon, client, berthctl):
    client.request("release " + held(client, "acquire deploy market/a:2"))
    done = subprocess.run(["promtool", "check", "metrics"], input=text_of(daemon, berthctl), text=True,
                          capture_output=True, timeout=DEADLINE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool")
def test_promtool_accepts_the_alert_rules():
    rules = os.path.join(os.environ.get("BERTH_SOURCE_DIR", "."), "doc/metrics/berth.rules.yml")
    done = subprocess.run(["promtool", "check", "rules", rules], text=True, capture_output=True,
                          timeout=DEADLINE, check=False)
    assert done.returncode == 0 and "SUCCESS" in done.stdout, done.stdout + done.stderr

"""doc/waiting.md: what is shown there is what is printed."""

import os
import re

import pytest

from conftest import read_line
from documents import SOURCE
from recipes import JOB, shell_for

DOCUMENT = (SOURCE / "doc/waiting.md").read_text()
SCENES = dict(re.findall(r"^<!-- waits: (\w+) -->\n```\n(.*?)^```$", DOCUMENT, re.M | re.S))

CONFIG = """[semaphore db]
limit = 2
[semaphore api]
limit = 2
cooldown = 1h
[pool gpus]
items = gpu0 gpu1 gpu2 gpu3
select = first
max-units-per-user = 1
[lock licence]
[redis]
url = unix:///nonexistent/redis.sock
[semaphore etl]
limit = 4
scope = fleet
"""

# What is done before: commands, and jobs that run on.
BEFORE = {
    "drained": ["berthctl drain"],
    "paused": ["berthctl pause db --reason 'new disks until 14:00'"],
    "down": [],
    "held": ["run: --reason 'nightly load' db:2 -- ./load.sh"],
    "cooling": ["berth run api -- true", "berthctl reserve api 1 --reason tests"],
    "behind": ["run: db -- ./load.sh", "wait: db:2 -- ./load.sh"],
    "quota": ["run: gpus -- ./train.sh"],
    "lacks": ["run: licence -- ./report.sh"],
    "lowered": ["berthctl limit db 1"],
}


def without_particulars(text):
    """Without pids, users, ages and leases, and whatever the columns' widths are."""
    text = re.sub(r"pid \d+ \(([\w.]+), \w+(: [^)]*)?\) for [\dhms]+", r"pid PID (\1, USER\2) for AGE", text)
    text = re.sub(r"(paused|since \S+|ago) by [\w.]+( \(\w+\))?", r"\1 by USER", text)
    text = re.sub(r"since [\d:]+", "since TIME", re.sub(r"\b\d\w* ago", "SOME TIME ago", text))
    text = re.sub(r"^( +(?:held +(?:slots?|item) \S+|#\d+ +wants \d+)) +\S+ +\d+ +\w+ ", r"\1 AGE PID USER ", text,
                  flags=re.M)
    return re.sub(r"\b1k\w{9}\b", "LEASE", text).split()


@pytest.fixture
def shell(berthd):
    with shell_for(berthd(CONFIG)) as shell:
        for name in ("load.sh", "train.sh", "report.sh", "call.sh"):
            shell.program(name, JOB)
        yield shell


def commands_of(scene):
    """(command, what it prints) of each."""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", scene, re.M)


def prepare(shell, step):
    kind, _, rest = step.partition(": ")
    if kind == "run":
        shell.start(f"berth run {rest}")
        shell.next_job()
    elif kind == "wait":
        assert "waiting for" in read_line(shell.start(f"berth run {rest}").stderr.buffer.raw)
    else:
        status, _, err = shell.run(step)
        assert (status, err) == (0, "")


def test_every_scene_is_shown():
    assert list(SCENES) == list(BEFORE)


@pytest.mark.parametrize("name", BEFORE)
def test_scene(shell, name):
    for step in BEFORE[name]:
        prepare(shell, step)
    for command, expected in commands_of(SCENES[name]):
        if command.startswith("berth run"):
            said = read_line(shell.start(command).stderr.buffer.raw) + "\n"
        else:
            status, said, err = shell.run(command)
            assert (status, err) == (0, "")
        if os.environ.get("BERTH_SHOW"):
            print(f"$ {command}\n{said}", end="")
        shown, written = without_particulars(said), without_particulars(expected)
        assert shown[:len(written)] == written, said  # the page leaves out what comes later

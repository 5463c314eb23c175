"""completions/: bash and zsh offer every command and option of the programs, and the names that
berthd has at the time; and nothing that a client could have put onto somebody's command line."""

import re

import pytest

import shells
from conftest import BUILD, Program
from daemon_help import held

TEXT = """
[lock deploy]
[pool gpus]
items = a b:1
[semaphore etl]
limit = 9
[pool rooms]
items = red blue
[lock adhoc/*]
[redis here]
url = unix:///nowhere/h
[redis there]
url = unix:///nowhere/t
"""


@pytest.fixture(params=[shells.Bash, shells.Zsh], ids=["bash", "zsh"])
def shell(request, directory, berth):
    shell = request.param(BUILD, berth.environ, directory)
    yield shell
    shell.end()


def options(program, *words):
    """As its help shows them, letters too."""
    text = program(*words, "--help").stdout
    found = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, re.M)) | set(re.findall(r"^ +(-\w), --", text, re.M))
    assert "--help" in found
    return found


def test_commands_and_options(shell, berth, berthctl, directory):
    commands = set(re.findall(r"^  berth (\w+)", berth("--help").stdout, re.M))
    assert len(commands) == 6
    assert shell.offers("berth ") == {*commands, "--help", "--version"}
    assert shell.offers("berth help re") == {"release", "renew"}
    for command in commands - {"help"}:
        assert shell.offers(f"berth {command} -") == options(berth, command)
        assert shell.offers(f"berth {command} {'' if command == 'flock' else 'a '}--d") == {"--down-after"}
    rows = dict(re.findall(r"^  ([a-z-]+) (.*)", berthctl("--help").stdout, re.M))
    assert {"status", "reload", "undrain"} < set(rows)
    assert shell.offers("berthctl ") == set(rows)
    assert shell.offers("berthctl -S /nowhere re") == {word for word in rows if word.startswith("re")}
    for found, word in {frozenset(options(berthctl, word)): word for word in rows}.items():
        assert shell.offers(f"berthctl {word} -") == found
    assert shell.offers("berthctl -") == options(berthctl)
    for daemon in "berthd", "berth-history", "berth-web":
        if (BUILD / daemon).exists():
            assert shell.offers(f"{daemon} -") == options(Program(daemon, directory))
    (directory / "some.conf").touch()
    for line, offered in {
        "berth run --on-lost ": {"kill", "term", "warn"},
        "berth run --on-lost=k": {"kill"},
        "berth acquire --if-down ": {"fail", "wait"},
        "berth run -s US": {"USR1", "USR2"},
        "berth run -S us": {"user"},
        "berth run --timeout ": set(),
        "berth run a -- x --on-lost ": {"some.conf"},
        "berth run a -- chmo": {"chmod"},
        "berth run a --tree b -- ls so": {"some.conf"},
        "berth acquire a -- chmo": set(),
        "berth flock so": {"some.conf"},
        "berth flock -w 5 some.conf chmo": {"chmod"},
        "berth flock -n some.conf ls so": {"some.conf"},
        "berthd -c so": {"some.conf"},
        "berthctl history --since ": {"today", "yesterday"},
        "berthctl stats --since y": {"yesterday"},
    }.items():
        assert shell.offers(line) == offered, line


def test_what_berthd_has(shell, berthd, directory):
    """And no word that does something."""
    client = berthd(TEXT).client()
    gpu = held(client, "acquire gpus holder=build-7")
    deploy = held(client, "acquire deploy holder=x%22y")
    names = {"deploy", "gpus", "etl", "rooms", "adhoc/"}
    for line, offered in {
        "berth run ": names,
        "berth run -n deploy g": {"gpus"},
        "berth run --timeout 5 etl:2 g": {"gpus"},
        "berth release ": names | {gpu, deploy},
        "berth release rooms --item ": {"red", "blue"},
        "berth release gpus --holder ": {"build-7"},
        "berthctl status deploy g": {"gpus"},
        "berthctl watch --json deploy g": {"gpus"},
        "berth run ad": {"adhoc/"},
        "berthctl why ": names | {gpu, deploy},
        "berthctl limit ": names,
        "berthctl pause etl r": {"rooms"},
        "berthctl wait --timeout 5m etl g": {"gpus"},
        "berthctl add rooms blue ": set(),
        "berthctl reserve rooms --reason x r": {"red"},
        "berthctl revoke ": names | {gpu, deploy},
        "berthctl drop ": {gpu, deploy},
        "berthctl revoke gpus --holder ": {"build-7"},
        "berthctl reload ": set(),
        "berthctl found ": {"here", "there"},
        "berthctl forget etl --database t": {"there"},
        "berth run -S /nowhere/s ": set(),
        "berthctl -S /nowhere/s status ": set(),
    }.items():
        assert shell.offers(line) == offered, line
    for identity in ("$(touch%20hit)", "`touch%20hit`", ";touch%20hit", "%1b[2J", "*", "plain"):
        held(client, f"acquire etl holder={identity}")
    assert shell.offers("berth release etl --holder ") == {"plain"}
    assert not (directory / "hit").exists()

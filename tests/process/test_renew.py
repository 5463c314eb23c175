"""berth renew."""

import pytest

from lines import DEADLINE


@pytest.mark.parametrize("args, line", [
    (["3k"], "renew 3k"),
    (["3k", "--ttl", "1.5"], "renew 3k ttl=1500ms"),
    (["deploy", "--holder", "me too"], "renew deploy holder=me%20too"),
    (["deploy", "--ttl", "1m", "--holder", "me"], "renew deploy holder=me ttl=60000ms"),
])
def test_requests(berth, fake, args, line):
    process = berth.start("renew", *args)
    peer = fake.accept()
    assert peer.line() == line
    peer.send("* drained\nok 3k left=1500\n")
    assert process.wait(DEADLINE) == 0
    assert process.stdout.read() + process.stderr.read() == b""


@pytest.mark.parametrize("answer, said", [
    ("ok 3k left=61005", "berth: 3k is held for another 61.005s\n"),
    ("ok 3k", "berth: 3k is held\n"),
])
def test_how_long_is_left(berth, fake, answer, said):
    process = berth.start("renew", "-v", "3k")
    peer, _ = fake.asked()
    peer.send(answer + "\n")
    assert process.wait(DEADLINE) == 0
    assert (process.stdout.read(), process.stderr.read().decode()) == (b"", said)


@pytest.mark.parametrize("answer, status, text", [
    ("error lost it%20is%20over", 1, "it is over (lost)"),
    ("error forbidden", 77, "not permitted (forbidden)"),
    ("error unknown", 78, "no such resource or item (unknown)"),
    ("error kind", 78, "not applicable to this kind of resource (kind)"),
    ("error no-space x", 69, "x (no-space)"),
])
def test_answers(berth, fake, answer, status, text):
    process = berth.start("renew", "3k")
    peer, _ = fake.asked()
    peer.send(answer + "\n")
    assert process.wait(DEADLINE) == status
    assert process.stderr.read().decode() == f"berth: {text}\n"


USAGE_ERRORS = [
    ([], "LEASE or NAME is required"),
    (["1", "2"], "more than one LEASE or NAME"),
    (["deploy"], "deploy: not a lease; for a NAME use --holder ID"),
    (["/", "--holder", "me"], "/: not a resource's name"),
    (["1", "--ttl", "0"], "--ttl=0: not a duration like 30s or 1h30m"),
    (["1", "--item", "x"], "no such option: --item (see berth renew --help)"),
]


def test_usage_errors(berth):
    for args, message in USAGE_ERRORS:
        done = berth("renew", *args)
        assert (done.returncode, done.stdout, done.stderr) == (64, "", f"berth: {message}\n")


def test_help(berth):
    done = berth("renew", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    for option in ("--holder", "--ttl", "--down-after", "-S,", "-v,"):
        assert option in done.stdout

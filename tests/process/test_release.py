"""berth release and berth renew."""

import contextlib
import os
import re
import subprocess
import time

import pytest

from conftest import BUILD
from daemon_help import held, is_quiet, status
from lines import DEADLINE


@pytest.mark.parametrize("args, line", [
    (["release", "3k"], "release 3k"),
    (["release", "deploy"], "release deploy"),
    (["release", "deploy", "--holder", "me too"], "release deploy holder=me%20too"),
    (["release", "--item", "gpu0", "gpus"], "release gpus item=gpu0"),
    (["renew", "3k"], "renew 3k"),
    (["renew", "3k", "--ttl", "1.5"], "renew 3k ttl=1500ms"),
    (["renew", "deploy", "--holder", "me too"], "renew deploy holder=me%20too"),
    (["renew", "deploy", "--ttl", "1m", "--holder", "me"], "renew deploy holder=me ttl=60000ms"),
])
def test_requests(berth, fake, args, line):
    process = berth.start(*args)
    peer = fake.accept()
    assert peer.line() == line
    peer.send("* drained\n" + {"release": "ok\n", "renew": "ok 3k left=1500\n"}[args[0]])
    assert process.wait(DEADLINE) == 0
    assert process.stdout.read() + process.stderr.read() == b""


@pytest.mark.parametrize("command, answer, status, text", [
    ("release", "error not-holder not%20you\n", 77, "not you (not-holder)"),
    ("release", "error forbidden\n", 77, "not permitted (forbidden)"),
    ("release", "error unknown x\n", 78, "x (unknown)"),
    ("release", "error novelty x\n", 69, "x (novelty)"),
    ("release", "what?\n", 69, "the server there does not speak Berth's protocol"),
    ("release", "\x01\n", 69, "no answer from berthd"),
    ("release", "", 69, "no answer from berthd"),
    ("release", "x" * 5000 + "\n", 69, "no answer from berthd"),
    ("renew", "error lost it%20is%20over\n", 1, "it is over (lost)"),
    ("renew", "error forbidden\n", 77, "not permitted (forbidden)"),
    ("renew", "error unknown\n", 78, "no such resource or item (unknown)"),
    ("renew", "error kind\n", 78, "not applicable to this kind of resource (kind)"),
    ("renew", "error no-space x\n", 69, "x (no-space)"),
])
def test_answers(berth, fake, command, answer, status, text):
    process = berth.start(command, "3k")
    peer, _ = fake.asked()
    peer.send(answer)
    peer.close()
    assert process.wait(DEADLINE) == status
    assert process.stderr.read() == f"berth: {text}\n".encode()


@pytest.mark.parametrize("answer, said", [
    ("ok 3k left=61005", "berth: 3k is held for another 61.005s\n"),
    ("ok 3k", "berth: 3k is held\n"),
])
def test_how_long_is_left(berth, fake, answer, said):
    process = berth.start("renew", "-v", "3k")
    fake.tells(answer)
    assert process.wait(DEADLINE) == 0
    assert (process.stdout.read(), process.stderr.read().decode()) == (b"", said)


def test_no_answer_at_all(berth, fake):
    done = berth("release", "3k", "--down-after", "100ms")
    assert (done.returncode, done.stderr) == (69, "berth: no answer from berthd\n")


def test_messages_do_not_go_to_berthd(berth, fake):
    """A socket must not become stderr if that is closed."""
    process = berth.start("release", "3k", stderr=None, preexec_fn=lambda: os.close(2))
    peer = fake.tells("error forbidden")
    assert process.wait(DEADLINE) == 77
    assert peer.line() == ""


def test_chatter_without_an_answer(berth, fake):
    process = berth.start("release", "3k", "--down-after", "0.3s")
    peer, _ = fake.asked()
    begun = time.monotonic()
    while process.poll() is None:
        with contextlib.suppress(OSError):
            peer.send("* chatter\n" * 100)
        assert time.monotonic() - begun < 5
    assert process.returncode == 69


def test_nobody_listens(berth):
    done = berth("release", "3k")
    assert done.returncode == 69
    assert done.stderr.startswith("berth: cannot connect to ")


def test_with_a_daemon(berth, berthd):
    daemon = berthd("[pool gpus]\nitems = a b\n")
    holder = daemon.client()
    answer = holder.request("acquire gpus holder=me").split(" ")
    assert berth("release", "gpus", "--holder", "you").returncode == 77
    assert berth("release", "gpus", "--item", "nothing").returncode == 78
    assert berth("release", "nothing", "--holder", "me").returncode == 78
    assert berth("release", "gpus", "--holder", "me").returncode == 0
    assert holder.line().startswith(f"* lost {answer[1]} released")
    assert berth("release", answer[1]).returncode == 0
    assert berth("release", "gpus", "--holder", "me").returncode == 0


def test_a_lock_by_its_name(berth, berthd):
    """One that could be the word of a lease, too; anything else needs more."""
    daemon = berthd("[lock deploy]\n[lock db]\n[lock adhoc/*]\n[semaphore s]\nlimit = 1\n[pool nightly]\nitems = a\n")
    holder = daemon.client()
    for name in "deploy", "db", "adhoc/x":
        lease = held(holder, f"acquire {name}")
        assert berth("release", name).returncode == 0
        assert holder.line().startswith(f"* lost {lease} released ")
        assert berth("release", name).returncode == 0  # it is free
    held(holder, "acquire s nightly")
    done = berth("release", "nightly")
    assert (done.returncode, done.stderr) == (
        64, "berth: nightly: specify which lease with holder or item (bad-value)\n")
    assert berth("release", "s").returncode == 64
    assert is_quiet(holder)


def test_whose_job_goes_on(berth, berthd):
    """Who gives a lock back by its name learns whose it was, unless it was their own."""
    daemon = berthd("[lock deploy]\n[lock db]\n[pool gpus]\nitems = a\n")
    for args in ["deploy"], ["gpus", "--item", "a"]:
        job = berth.start("run", "--holder", "nightly", args[0], "--", "sh", "-c", "echo; exec sleep 60")
        assert job.stdout.readline() == b"\n"
        pid = status(daemon.client()).resources[args[0]]["holders"][0]["pid"]
        done = berth("release", *args)
        assert (done.returncode, re.sub("uid [0-9]+|[a-z]+(?=\\),)", "USER", done.stderr)) == (
            0, f"berth: {args[0]} was held by nightly, pid {pid} (sh, USER), which goes on without it\n")
        assert berth("release", *args).stderr == ""  # it is free
        job.kill()
    script = f"{BUILD}/berth acquire --pid $$ deploy >/dev/null && ({BUILD}/berth release deploy)"
    for script in script, script.replace("--pid $$", "--ttl 60s"):
        done = subprocess.run(["sh", "-c", script], capture_output=True, env=berth.environ, check=True)
        assert done.stdout + done.stderr == b""


def test_another_user_s_lock(berth, berthd):
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    holder = berthd("[lock deploy]\n").client()
    held(holder, "acquire deploy")
    assert berth("release", "deploy", user="nobody", group="nogroup", extra_groups=[]).returncode == 77
    assert is_quiet(holder)

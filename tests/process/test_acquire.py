"""berth acquire: what it asks and prints, and what it does if nobody can read that."""

import json
import os
import shlex
import signal
import subprocess

import pytest

from conftest import read_line
from lines import DEADLINE

LOCK = "ok 3k slot=r,17,0 kill_after=10000ms on_lost=kill\n"


def ended(process):
    out, err = process.communicate(timeout=DEADLINE)
    return process.returncode, (out or b"").decode(), err.decode()


def acquired(berth, fake, *args, answer=LOCK, **options):
    process = berth.start("acquire", *args, **options)
    peer, words = fake.asked()
    peer.send(answer)
    return ended(process), words, peer


def test_the_request_for_a_process(berth, fake):
    _, words, _ = acquired(
        berth, fake, "--pid", "4242", "-w", "0", "--holder", "me", "--reason", "so", "-s", "INT",
        "-k", "1", "--on-lost", "kill", "-p", "2", "r", env={"BERTH_LEASE": "7"})
    once = [word for word in words if word.startswith("once=")]
    assert words == ["acquire", "r:1", "wait=0ms", "priority=2", "reason=so", "holder=me", *once,
                     "parent=7", "pid=4242", "signal=2", "kill_after=1000ms", "on_lost=kill"]


def test_the_request_for_a_time(berth, fake):
    _, words, _ = acquired(berth, fake, "--ttl", "1.5", "--", "r")
    assert words[:3] == ["acquire", "r:1", "ttl=1500ms"]
    assert [word.split("=")[0] for word in words[3:]] == ["once"]


def test_variables(berth, fake):
    (status, out, err), _, peer = acquired(berth, fake, "--pid", "4242", "r")
    assert (status, err) == (0, "")
    assert out == (f"BERTH_LEASE=3k\nBERTH_SOCKET={fake.path}\nBERTH_NAME=r\nBERTH_TOKEN=17\n"
                   "BERTH_COUNT=1\nBERTH_SLOT=0\n")
    assert peer.line() == ""  # it is kept


SEVERAL = "ok 3k slot=b,2,1-3 item=a,1,gpu:0,x/y@z+w\n"


def test_variables_of_several(berth, fake):
    """The variables that a job of berth run gets, as a shell reads them; but how long it has waited."""
    (status, out, _), _, _ = acquired(
        berth, fake, "--ttl", "1", "b:3", "a:2", answer=SEVERAL)
    assert status == 0
    process = berth.start(
        "run", "b:3", "a:2", "--", "sh", "-c", "env | grep ^BERTH_ | grep -v ^BERTH_WAITED_MS= | LC_ALL=C sort")
    fake.grant(SEVERAL.rstrip("\n"))
    expected = ended(process)[1]
    done = subprocess.run(
        ["sh", "-c", 'eval "$1"; set | grep ^BERTH_ | LC_ALL=C sort', "sh", out],
        env={}, capture_output=True, text=True, timeout=DEADLINE)
    assert [shlex.split(line)[0] for line in done.stdout.splitlines()] == expected.splitlines()
    assert "BERTH_1_SLOT='1 2 3'\n" in out
    assert "BERTH_2_ITEM='gpu:0 x/y@z+w'\n" in out


def test_json(berth, fake):
    (status, out, err), _, _ = acquired(
        berth, fake, "--ttl", "1", "--json", "b:3", "a:2", answer=SEVERAL)
    assert (status, err, out.count("\n")) == (0, "", 1)
    assert json.loads(out) == {
        "version": 1, "lease": "3k", "socket": str(fake.path), "resources": [
            {"name": "b", "token": "2", "count": 3, "units": [1, 2, 3]},
            {"name": "a", "token": "1", "count": 2, "units": ["gpu:0", "x/y@z+w"]}]}


@pytest.mark.parametrize("name, shown", [
    ("\u00e4\u20ac\U0001f600", "\u00e4\u20ac\U0001f600"), ('"\\\n\x01\x7f', '"\\\n\x01\x7f'),
    (b"a\xffb\xc3", "a\ufffdb\ufffd"), (b"\xed\xa0\x80\xc0\x80\xf5", "\ufffd" * 6)])
def test_a_socket_of_any_name_in_json(berth, fake, directory, name, shown):
    path = os.fsencode(directory) + b"/" + os.fsencode(name)
    os.rename(fake.path, path)
    (status, out, _), _, _ = acquired(
        berth, fake, "--ttl", "1", "--json", "r", env={"BERTH_SOCKET": os.fsdecode(path)})
    assert status == 0
    assert json.loads(out)["socket"] == f"{directory}/{shown}"


def test_messages_do_not_go_to_stdout(berth, fake):
    process = berth.start("acquire", "-v", "--ttl", "1", "r")
    peer = fake.tells("waiting 3k position=2")
    assert read_line(process.stderr) == "berth: queued, place 2"
    peer.send("* granted 3k slot=r,17,0\n")
    status, out, err = ended(process)
    assert (status, err) == (0, "berth: granted r slot 0 (token 17), lease 3k\n")
    assert out.startswith("BERTH_LEASE=3k\n") and out.count("\n") == 6


@pytest.mark.parametrize("answer, status", [
    ("error would-wait no", 75), ("error forbidden no", 77), ("error unknown no", 78),
    ("error no-space no", 69), ("error bad-value no%20such%20process", 64), ("what?", 69)])
def test_refused(berth, fake, answer, status):
    (found, out, err), _, _ = acquired(berth, fake, "--pid", "4242", "r", answer=answer + "\n")
    assert (found, out) == (status, "")
    assert err.startswith("berth: ") and err.count("\n") == 1


def test_the_conflict_status(berth, fake):
    (status, _, _), _, _ = acquired(
        berth, fake, "-n", "-E", "3", "--ttl", "1", "r", answer="error would-wait no\n")
    assert status == 3


def test_nobody_there(berth):
    done = berth("acquire", "--ttl", "1", "r")
    assert (done.returncode, done.stdout) == (69, "")


def test_stdout_is_closed(berth, fake):
    (status, _, err), _, peer = acquired(
        berth, fake, "--ttl", "1", "r", stdout=None, preexec_fn=lambda: os.close(1))
    assert status == 69
    assert err == ("berth: cannot write to stdout: Bad file descriptor; "
                   "the lease is given back\n")
    assert peer.line() == "release 3k"


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_stdout_is_full(berth, fake, json_too):
    with open("/dev/full", "w") as full:
        (status, _, err), _, peer = acquired(
            berth, fake, "--ttl", "1", *json_too, "r", stdout=full)
    assert status == 69
    assert "No space left on device; the lease is given back" in err
    assert peer.line() == "release 3k"


def test_nobody_reads(berth, fake):
    reading, writing = os.pipe()
    os.close(reading)
    (status, _, err), _, peer = acquired(berth, fake, "--ttl", "1", "r", stdout=writing)
    os.close(writing)
    assert status == 69
    assert "Broken pipe" in err
    assert peer.line() == "release 3k"


def test_a_process_that_berthd_cannot_see(berth, fake):
    """The lease would end with berth's connection: at once."""
    (status, out, err), _, peer = acquired(
        berth, fake, "--pid", "4242", "r", answer="ok 3k slot=r,17,0 bound=connection\n")
    assert (status, out) == (69, "")
    assert err.startswith("berth: berthd cannot see process 4242")
    assert peer.line() == "release 3k"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_leave_the_queue(berth, fake, number):
    """berth gives up a lease that may be granted at this very moment: it would outlive the
    connection."""
    process = berth.start("acquire", "--pid", "4242", "r")
    peer, asked = fake.asked()
    peer.send("waiting 3k position=1\n")
    process.send_signal(number)
    assert process.wait(DEADLINE) == -number
    once, = [word for word in asked if word.startswith("once=")]
    assert peer.line() == f"cancel {once}"
    assert peer.line() == ""


def test_timed_out(berth, fake):
    process = berth.start("acquire", "--ttl", "1", "-w", "0.2", "r")
    fake.queue()
    assert ended(process) == (75, "", "berth: timed out waiting for r (timeout)\n")


def test_a_place_in_the_queue(berth, fake):
    """Kept by a reclaim or, as a reclaim has no ttl, by the same acquire."""
    process = berth.start("acquire", "--pid", "4242", "r")
    peer = fake.tells("waiting 3k position=1")
    peer, words = fake.asked_again(peer)
    assert words[:3] == ["reclaim", "3k", "r:1"]
    peer.send(LOCK)
    assert ended(process)[0] == 0


def test_a_place_in_the_queue_for_a_time(berth, fake):
    process = berth.start("acquire", "--ttl", "5", "r")
    peer, first = fake.asked()
    peer.send("waiting 3k position=1\n")
    peer, again = fake.asked_again(peer)
    assert again == first
    peer.send("error held it%20belongs%20to%20another%20connection\n")
    peer, again = fake.asked()
    assert again == first
    peer.send(LOCK)
    assert ended(process)[0] == 0

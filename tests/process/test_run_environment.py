"""berth run: what the job gets: variables, arguments, descriptors, signal state."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from conftest import Program
from lines import DEADLINE, until

PRINT_BERTH = 'env | grep -a -e ^BERTH_ -e ^CUDA= | LC_ALL=C sort'


def job_output(process):
    out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, err
    return out.decode()


def variables(berth, fake, answer, *args, env=None, **options):
    process = berth.start("run", *args, "--", "sh", "-c", PRINT_BERTH, env=env, **options)
    fake.grant(answer)
    found = dict(line.split("=", 1) for line in job_output(process).splitlines())
    assert 0 <= int(found.pop("BERTH_WAITED_MS")) < 1000 * DEADLINE
    return found


def test_how_long_it_has_waited(berth, fake):
    process = berth.start("run", "deploy", "--", "sh", "-c", "echo $BERTH_WAITED_MS")
    berthd = fake.queue("waiting 3k position=1")
    begun = time.monotonic()
    until(lambda: time.monotonic() > begun + 0.2)
    berthd.send("* granted 3k slot=deploy,17,0\n")
    assert 200 <= int(job_output(process)) < 1000 * DEADLINE


def test_a_lock(berth, fake):
    assert variables(berth, fake, "ok 3k slot=deploy,17,0", "deploy") == {
        "BERTH_LEASE": "3k", "BERTH_NAME": "deploy", "BERTH_TOKEN": "17", "BERTH_SLOT": "0",
        "BERTH_COUNT": "1", "BERTH_SOCKET": str(fake.path)}


def test_several_slots(berth, fake):
    found = variables(berth, fake, "ok 3k slot=a,17,0,3-5,9 later=key", "a:5", "--export", "CUDA")
    assert found["BERTH_SLOT"] == "0 3 4 5 9"
    assert found["BERTH_COUNT"] == "5"
    assert found["CUDA"] == "0,3,4,5,9"


def test_items(berth, fake):
    found = variables(
        berth, fake, "ok 3k item=gpus,9223372036854775807,gpu:0,a/b", "gpus:2", "--export", "CUDA")
    assert found["BERTH_ITEM"] == "gpu:0 a/b"
    assert found["BERTH_TOKEN"] == "9223372036854775807"
    assert found["CUDA"] == "gpu:0,a/b"
    assert "BERTH_SLOT" not in found


def test_several_resources(berth, fake):
    """In the order of the command line; the plain names are the first one's, the exported units the
    only pool's."""
    found = variables(
        berth, fake, "ok 3k slot=b,2,1-2 item=a,1,x", "b:2", "a", "--export", "CUDA")
    assert found == {
        "BERTH_LEASE": "3k", "BERTH_SOCKET": str(fake.path), "CUDA": "x",
        "BERTH_NAME": "b", "BERTH_TOKEN": "2", "BERTH_SLOT": "1 2", "BERTH_COUNT": "2",
        "BERTH_1_NAME": "b", "BERTH_1_TOKEN": "2", "BERTH_1_SLOT": "1 2", "BERTH_1_COUNT": "2",
        "BERTH_2_NAME": "a", "BERTH_2_TOKEN": "1", "BERTH_2_ITEM": "x", "BERTH_2_COUNT": "1"}


def test_inherited_variables_are_gone(berth, fake):
    found = variables(berth, fake, "ok 3k slot=a,1,0", "a", env={
        "BERTH_LEASE": "old", "BERTH_ITEM": "old", "BERTH_7_NAME": "old", "BERTH_X": "",
        "BERTHA": "stays"})
    assert found["BERTH_LEASE"] == "3k"
    assert "BERTH_ITEM" not in found and "BERTH_7_NAME" not in found and "BERTH_X" not in found


def test_other_variables_stay(berth, fake):
    process = berth.start("run", "a", "--", "env", env={"BERTHA": "x", "Y": "1\n2"})
    fake.grant("ok 3k slot=a,1,0")
    before = dict(berth.environ, BERTHA="x", Y="1\n2")
    text = job_output(process)
    for name, value in before.items():
        assert name.startswith(("BERTH_", "ASAN_")) or f"{name}={value}\n" in text


def test_the_socket_is_absolute(berth, fake, directory):
    found = variables(
        berth, fake, "ok 3k slot=a,1,0", "-S", "s", "a", env={"BERTH_SOCKET": "/nowhere"})
    assert found["BERTH_SOCKET"] == str(directory / "s")


def test_very_many_slots_stay_ranges(berth, fake):
    """One variable has to stay below 128 KiB."""
    found = variables(
        berth, fake, "ok 3k slot=ram,1,0-9,20-262133", "ram:262124", "--export", "CUDA")
    assert found["BERTH_SLOT"] == "0-9 20-262133"
    assert found["CUDA"] == "0-9,20-262133"
    assert found["BERTH_COUNT"] == "262124"


def test_as_many_slots_as_are_spelled_out(berth, fake):
    """More than a pipe takes at once."""
    names = [f"n{i}:1024" for i in range(16)]
    units = " ".join(f"slot=n{i},1,900000-901023" for i in range(16))
    found = variables(berth, fake, "ok 3k " + units, *names)
    for i in range(16):
        assert found[f"BERTH_{i + 1}_SLOT"] == " ".join(map(str, range(900000, 901024)))


ODD = ["", " ", "--", "-n", "a b", "'\"", "$HOME", "new\nline", "\\", "*", b"\xff\xfe", "\u00e4"]


def test_arguments_are_as_given(berth, fake, directory):
    script = directory / "print-arguments"
    script.write_text('#!/bin/sh\nfor a in "$0" "$@"; do printf "%s\\0" "$a"; done\n')
    script.chmod(0o755)
    process = berth.start("run", "r", "--", script, *ODD)
    fake.grant()
    out, _ = process.communicate(timeout=DEADLINE)
    expected = [os.fsencode(word) for word in [script, *ODD]]
    assert out == b"".join(word + b"\0" for word in expected)


def test_stdin_and_stdout_pass_through(berth, fake):
    data = random.Random(1).randbytes(1 << 20)
    process = berth.start("run", "-v", "r", "--", "cat", stdin=subprocess.PIPE)
    fake.grant()
    out, err = process.communicate(data, timeout=DEADLINE)
    assert out == data
    assert err == b"berth: granted r slot 0 (token 1), lease 1\n"


def test_stdin_is_not_read_before_the_job_runs(berth, fake):
    process = berth.start("run", "r", "--", "cat", stdin=subprocess.PIPE)
    process.stdin.write(b"text")
    process.stdin.close()
    process.stdin = None
    fake.grant()
    assert job_output(process) == "text"


LIST_DESCRIPTORS = [sys.executable, "-c", """
import os
for fd in sorted(int(n) for n in os.listdir("/proc/self/fd")):
    try:
        print(fd, os.readlink(f"/proc/self/fd/{fd}").split(":")[0])
    except FileNotFoundError:
        pass
"""]


def direct(berth, *command, **options):
    """What the same job finds without berth."""
    plain = Program("berth", berth.directory)
    plain.path = command[0]
    process = plain.start(*command[1:], **options)
    return job_output(process)


@pytest.mark.parametrize("options", [
    {}, {"pass_fds": [3]}, {"close_fds": False},
    {"preexec_fn": lambda: os.close(0)},
    {"preexec_fn": lambda: (os.close(0), os.close(2))},
], ids=["plain", "one more", "all that is open", "no stdin", "no stdin or stderr"])
def test_no_descriptor_leaks_into_the_job(berth, fake, options, tmp_path):
    null = os.open("/dev/null", os.O_RDONLY)
    spare = 3
    if null != spare:
        os.dup2(null, spare)
    os.set_inheritable(spare, True)
    expected = direct(berth, *LIST_DESCRIPTORS, **options)
    process = berth.start("run", "--if-down", "wait", "r", "--", *LIST_DESCRIPTORS, **options)
    fake.grant()
    assert job_output(process) == expected


PRINT_SIGNALS = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]


def block_and_ignore():
    signal.pthread_sigmask(
        signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM, signal.SIGPIPE, signal.SIGRTMIN])
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGCONT, signal.SIGTSTP, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)


@pytest.mark.parametrize("prepare", [None, block_and_ignore,
                                     lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)],
                         ids=["plain", "blocked and ignored", "SIGCHLD ignored"])
@pytest.mark.parametrize("restore", [True, False], ids=["as by a shell", "as by Python"])
def test_the_job_s_signals_are_those_of_berth_s_start(berth, fake, prepare, restore):
    options = {"preexec_fn": prepare, "restore_signals": restore}
    expected = direct(berth, *PRINT_SIGNALS, **options)
    process = berth.start("run", "r", "--", *PRINT_SIGNALS, **options)
    fake.grant()
    assert job_output(process) == expected


def test_the_job_leads_a_process_group_of_its_own(berth, fake):
    process = berth.start("run", "r", "--", "sh", "-c", "cat /proc/$$/stat")
    peer, words = fake.asked()
    peer.send("ok 1 slot=r,1,0\n")
    pid, _, _, _, group, *_ = job_output(process).split()
    assert pid == group
    assert f"pid={pid}" in words

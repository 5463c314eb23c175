"""berth run and berthd together: every way not to get a lease, the queue, restarts."""

import os
import pwd
import signal
import subprocess

import pytest

from conftest import error_of, read_line
from daemon_help import held, status, waits
from fake_berthd import FakeBerthd
from lines import DEADLINE
from lost_help import restart, scaled

CONFIG = """
[lock deploy]
[semaphore etl]
limit = 3
max-waiters = 1
[semaphore shut]
limit = 0
[semaphore private]
limit = 1
allow-users = 4294967294
[pool gpus]
items = gpu0 gpu1 gpu2
[semaphore market/*]
limit = 2
"""

# A job that prints that it runs, and ends when its stdin does.
HELD = ["sh", "-c", "echo runs $BERTH_LEASE; read line"]


def hold(berth, *args):
    process = berth.start("run", *args, "--", *HELD, stdin=subprocess.PIPE)
    word, lease = read_line(process.stdout).split()
    assert word == "runs"
    return process, lease


def let_go(process):
    process.stdin.close()
    process.stdin = None
    process.wait(DEADLINE)


def wait_in_queue(berth, *args):
    process = berth.start("run", "-v", *args, "--", *HELD, stdin=subprocess.PIPE)
    assert read_line(process.stderr).startswith("berth: queued, place ")
    return process


def test_granted_and_released(berth, daemon):
    done = berth("run", "deploy", "etl:2", "gpus", "market/x", "--", "sh", "-c",
                 "echo $BERTH_NAME $BERTH_1_SLOT, $BERTH_2_SLOT, $BERTH_3_ITEM, $BERTH_4_NAME")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "deploy 0, 0 1, gpu0, market/x\n"
    assert berth("run", "-n", "deploy", "etl:3", "gpus:3", "--", "true").returncode == 0


def test_an_older_berthd_refuses_to_be_told_the_exit_status(berth, daemon, directory):
    """The lease ends all the same, with its connection and its job."""
    between = FakeBerthd(directory / "between")
    job = berth.start("run", "deploy", "--", "sh", "-c", "exit 3", env={"BERTH_SOCKET": str(between.path)})
    here, there = between.accept(), daemon.client()
    there.send(here.line() + "\n")
    here.send(there.line() + "\n")
    release = here.line()
    assert release.endswith(" exit=3")
    waiting = daemon.client()
    waits(waiting, "acquire deploy")
    assert there.request(release.replace("exit=", "later=")).startswith("error unknown-key")
    assert job.wait(DEADLINE) == 3
    there.close()
    assert waiting.line().startswith("* granted ")
    between.close()


def test_the_lease_lasts_as_long_as_the_job(berth, daemon):
    first, lease = hold(berth, "--holder", "me", "--reason", "because of it", "deploy")
    holder, = status(daemon.client()).resources["deploy"]["holders"]
    assert holder.items() >= {"lease": lease, "uid": str(os.getuid()), "program": "sh", "holder": "me",
                              "reason": "because%20of%20it"}.items()
    assert berth("run", "-n", "deploy", "--", "true").returncode == 75
    let_go(first)
    assert berth("run", "-n", "deploy", "--", "true").returncode == 0


def test_an_identity_that_waits(berth, client):
    held(client, "acquire deploy holder=first")
    waits(client, "acquire deploy holder=me")
    for identity, verb in (("first", "has"), ("me", "waits for")):
        done = berth("run", "--holder", identity, "deploy", "--", "true")
        assert (done.returncode, done.stderr) == (
            75, f"berth: deploy: the identity {identity} already {verb} it, as pid {os.getpid()} (held)\n")


NOT_ACQUIRED = [
    (["-n", "deploy"], 75, "(would-wait)"),
    (["-w", "0.1", "deploy"], 75, "s (timeout)"),
    (["-n", "-E", "0", "deploy"], 0, "(would-wait)"),
    (["-n", "-q", "deploy"], 75, None),
    (["--holder", "me", "gpus"], 75, "(held)"),
    (["-n", "shut"], 75, "(closed)"),
    (["-n", "market/paused"], 75, "(paused)"),
    (["etl:3"], 75, "(queue-full)"),
    (["-p", "1", "deploy"], 77, "(forbidden)"),
    (["unheard-of"], 78, "(unknown)"),
    (["etl:4"], 78, "(impossible)"),
    (["etl:0"], 78, "(impossible)"),
    (["etl:99999999999"], 78, "(impossible)"),
    (["deploy", "deploy"], 64, "(malformed)"),
]


def test_not_acquired(berth, client, directory):
    """The words are berthd's; only code, status and a single line are checked."""
    assert client.request("acquire deploy").startswith("ok ")
    assert client.request("acquire gpus holder=me").startswith("ok ")
    assert client.request("pause market/paused").startswith("ok")
    assert client.request("acquire etl:3").startswith("ok ")
    assert client.request("acquire etl:3").startswith("waiting ")
    for args, exit_status, message in NOT_ACQUIRED:
        done = berth("run", *args, "--", "touch", "ran")
        assert done.returncode == exit_status, args
        if message is None:
            assert done.stderr == ""
        else:
            assert done.stderr.startswith("berth: ") and done.stderr.endswith(f"{message}\n")
            assert done.stderr.count("\n") == 1
    assert client.request("drain").startswith("ok")
    assert berth("run", "-n", "market/x", "--", "touch", "ran").returncode == 75
    assert not (directory / "ran").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_not_permitted(berth, daemon):
    process = berth.start("run", "private", "--", "true", user=65534)
    assert "(forbidden)" in error_of(process, 77)


def test_too_many_connections(berth, berthd):
    daemon = berthd("max-clients-per-user = 1\n" + CONFIG)
    client = daemon.client()
    assert client.request("ping") == "ok"
    done = berth("run", "deploy", "--", "true")
    assert done.returncode == 69
    assert done.stderr.startswith("berth: too many connections")
    assert berth("run", "--if-down", "run", "deploy", "--", "true").returncode == 0


def test_its_own_ancestor(berth, daemon):
    """Refused at once: it would wait for itself."""
    done = berth("run", "deploy", "--", berth.path, "run", "deploy", "--", "true")
    assert done.returncode == 75
    assert "(ancestor)" in done.stderr
    assert berth("run", "deploy", "--", berth.path, "run", "gpus", "--", "true").returncode == 0


def test_a_wait_that_ends(berth, daemon):
    """Cancelled by somebody, and by a reload."""
    first, _ = hold(berth, "deploy")
    second = wait_in_queue(berth, "deploy")
    waiter, = status(daemon.client()).waiters("deploy")
    assert berth("release", waiter).returncode == 0
    assert "(cancelled)" in error_of(second, 75)
    third = wait_in_queue(berth, "deploy")
    daemon.configure("[lock another]\n")
    assert daemon.client().request("reload") == "ok"
    assert "(unknown)" in error_of(third, 78)
    let_go(first)


def test_released_by_somebody(berth, daemon):
    """On purpose: the job runs on."""
    first, lease = hold(berth, "deploy")
    assert berth("release", lease).returncode == 0
    assert read_line(first.stderr).startswith("berth: lost the lease: ")
    assert berth("run", "-n", "deploy", "--", "true").returncode == 0
    let_go(first)
    assert first.returncode == 1  # that of `read` at the end of its input


def test_in_order(berth, daemon):
    """Waiters that die leave the queue."""
    running, _ = hold(berth, "deploy")
    waiting = [wait_in_queue(berth, "deploy") for _ in range(5)]
    for number in signal.SIGTERM, signal.SIGKILL:
        dies = waiting.pop(1)
        dies.send_signal(number)
        assert dies.wait(DEADLINE) == -number
    for process in waiting:
        let_go(running)
        running = process
        assert read_line(running.stdout).startswith("runs ")
    let_go(running)


def test_a_waiter_sees_the_holder(berth, daemon):
    process = berth.start("run", "deploy", "--", "sh", "-c", "echo $$; read line",
                          stdin=subprocess.PIPE)
    pid = read_line(process.stdout)
    second = wait_in_queue(berth, "deploy")
    line = read_line(second.stderr)
    assert line.startswith(f"berth: waiting for deploy: held by pid {pid} (sh, {pwd.getpwuid(os.getuid()).pw_name}) for ")
    assert line.endswith("; place 1 in the queue")
    let_go(process)
    assert read_line(second.stdout).startswith("runs ")
    let_go(second)


def test_a_daemon_that_comes_back(berth, daemon):
    """The lease and the place in the queue are kept, without a message."""
    running, lease = hold(berth, "deploy")
    waiter = wait_in_queue(berth, "deploy")
    for how in "stop", "kill":
        restart(daemon, how)
        assert read_line(waiter.stderr).startswith("berth: queued, place 1"), how
    assert berth("run", "-n", "deploy", "--", "true").returncode == 75
    assert running.poll() is None
    let_go(running)
    assert running.stderr.read() == b""
    assert read_line(waiter.stdout).startswith("runs ")
    let_go(waiter)


def test_never_more_than_the_limit(berth, berthd, directory):
    """Many jobs, 3 at a time, each with its own slot."""
    n = scaled(40)
    daemon = berthd("[semaphore s]\nlimit = 3\n")
    script = ('mkdir slot.$BERTH_SLOT || echo taken; echo $BERTH_TOKEN; rmdir slot.$BERTH_SLOT')
    jobs = [berth.start("run", "s", "--", "sh", "-c", script) for _ in range(n)]
    tokens = []
    for job in jobs:
        out, err = job.communicate(timeout=DEADLINE)
        said = [line for line in err.splitlines()
                if not line.startswith((b"berth: waiting for s: ", b"berth: got s after "))]
        assert (job.returncode, said) == (0, [])
        tokens.append(int(out))
    assert len(set(tokens)) == n
    after = status(daemon.client())
    assert (after.held, after.waiting) == (0, 0)

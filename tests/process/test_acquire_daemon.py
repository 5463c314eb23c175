"""berth acquire, renew, release, run --no-fork and berthd together."""

import os
import subprocess

import pytest

from conftest import read_line
from lines import DEADLINE
from lost_help import restart

CONFIG = """
[lock deploy]
[semaphore etl]
limit = 3
kill-after = 2s
[pool gpus]
items = gpu0 gpu1 gpu2
[lock short]
max-hold = 1h
"""


def variables(text):
    done = subprocess.run(["sh", "-c", 'eval "$1"; env', "sh", "set -a\n" + text], env={},
                          capture_output=True, text=True, timeout=DEADLINE)
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def is_free(berth, name):
    return berth("run", "-n", name, "--", "true").returncode == 0


def sleeper():
    return subprocess.Popen(["sleep", "1000"])


def end(process):
    process.kill()
    process.wait(DEADLINE)


def wait_until_free(berth, name):
    assert berth("run", "-w", str(DEADLINE), name, "--", "true").returncode == 0


def test_it_lasts_as_long_as_the_process(berth, daemon):
    process = sleeper()
    done = berth("acquire", "--pid", str(process.pid), "deploy", "gpus:2")
    assert (done.returncode, done.stderr) == (0, "")
    found = variables(done.stdout)
    assert found["BERTH_NAME"] == "deploy" and found["BERTH_2_ITEM"] == "gpu0 gpu1"
    assert not is_free(berth, "deploy")
    restart(daemon, "kill")
    assert berth("renew", found["BERTH_LEASE"]).returncode == 0
    end(process)
    wait_until_free(berth, "deploy")
    assert berth("renew", found["BERTH_LEASE"]).returncode == 1


def test_a_script_that_acquires_for_itself(berth, daemon, directory):
    """As the help shows. The script's end is the lease's."""
    script = ('found=$("$0" acquire --pid $$ deploy) && eval "$found" && echo "has $BERTH_LEASE"; '
              '"$0" run -n deploy -- true || echo "not twice: $?"')
    done = subprocess.run(["sh", "-c", script, berth.path], env=berth.environ,
                          capture_output=True, text=True, timeout=DEADLINE)
    assert done.stdout.splitlines()[0].startswith("has ")
    assert done.stdout.splitlines()[1] == "not twice: 75"
    wait_until_free(berth, "deploy")


def test_no_such_process(berth, daemon):
    process = sleeper()
    end(process)
    done = berth("acquire", "--pid", str(process.pid), "deploy")
    assert (done.returncode, done.stdout) == (64, "")
    assert is_free(berth, "deploy")


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_another_user_s_process(berth, daemon):
    process = sleeper()
    asker = berth.start("acquire", "--pid", str(process.pid), "deploy", user=65534)
    out, err = asker.communicate(timeout=DEADLINE)
    assert (asker.returncode, out) == (77, b"")
    assert b"(forbidden)" in err
    end(process)


def test_waits_as_run_does(berth, daemon):
    holder = berth("acquire", "--ttl", "1h", "deploy")
    lease = variables(holder.stdout)["BERTH_LEASE"]
    assert berth("acquire", "-n", "--ttl", "1h", "deploy").returncode == 75
    assert berth("acquire", "-w", "0.1", "--ttl", "1h", "deploy").returncode == 75
    process = berth.start("acquire", "-v", "--ttl", "1h", "deploy")
    assert read_line(process.stderr) == "berth: queued, place 1"
    assert berth("release", lease).returncode == 0
    assert process.wait(DEADLINE) == 0
    assert not is_free(berth, "deploy")


def test_by_identity(berth, daemon):
    """The steps known from locks in Redis: take, refresh, give back, all by one's own name."""
    assert berth("acquire", "--ttl", "1h", "--holder", "me", "etl").returncode == 0
    done = berth("acquire", "--ttl", "1h", "--holder", "me", "etl")
    assert done.returncode == 75 and "(held)" in done.stderr
    assert berth("renew", "etl", "--holder", "me").returncode == 0
    done = berth("renew", "-v", "etl", "--holder", "me", "--ttl", "2h")
    assert done.returncode == 0 and "is held for another 7" in done.stderr
    assert berth("renew", "etl", "--holder", "you").returncode == 1
    assert berth("release", "etl", "--holder", "you").returncode == 77
    assert berth("release", "etl", "--holder", "me").returncode == 0
    assert berth("renew", "etl", "--holder", "me").returncode == 1


def test_a_ttl_runs_out(berth, daemon):
    done = berth("acquire", "--ttl", "0.3", "deploy")
    lease = variables(done.stdout)["BERTH_LEASE"]
    wait_until_free(berth, "deploy")
    done = berth("renew", lease, "--ttl", "1h")
    assert done.returncode == 1 and "(lost)" in done.stderr
    lease = variables(berth("acquire", "--ttl", "10s", "deploy").stdout)["BERTH_LEASE"]
    assert berth("renew", lease, "--ttl", "0.3").returncode == 0
    wait_until_free(berth, "deploy")


def test_a_ttl_for_a_lease_without_one(berth, daemon):
    process = sleeper()
    done = berth("acquire", "--pid", str(process.pid), "deploy")
    lease = variables(done.stdout)["BERTH_LEASE"]
    assert berth("renew", lease, "--ttl", "1h").returncode == 78
    assert berth("release", lease).returncode == 0
    end(process)


@pytest.mark.parametrize("way, kind", [("stop", "--pid"), ("kill", "--ttl")])
def test_a_restart_of_berthd(berth, daemon, way, kind):
    process = sleeper()
    bound = [kind, str(process.pid)] if kind == "--pid" else [kind, "1h"]
    lease = variables(berth("acquire", *bound, "deploy").stdout)["BERTH_LEASE"]
    waiter = berth.start("acquire", "-v", *bound, "deploy")
    assert read_line(waiter.stderr) == "berth: queued, place 1"
    restart(daemon, way)
    assert read_line(waiter.stderr) == "berth: queued, place 1"
    assert berth("renew", lease).returncode == 0
    assert berth("release", lease).returncode == 0
    assert waiter.wait(DEADLINE) == 0
    again = variables(waiter.stdout.read().decode())["BERTH_LEASE"]
    assert berth("renew", "-v", again).returncode == 0
    assert not is_free(berth, "deploy")
    end(process)


def test_only_stricter(berth, daemon):
    for options, status in ((["-k", "3s"], 77), (["-k", "2s"], 0), (["-k", "1s"], 0), (["--on-lost", "term"], 77),
                            (["--on-lost", "warn"], 77), (["--on-lost", "kill"], 0)):
        for command in (["run"], ["etl", "--", "true"]), (["acquire"], ["--ttl", "1h", "etl"]):
            assert berth(*command[0], *options, *command[1]).returncode == status, (command, options)


def test_run_in_place_cannot_execute(berth, daemon):
    assert berth("run", "-F", "deploy", "--", "/etc/passwd").returncode == 126
    wait_until_free(berth, "deploy")

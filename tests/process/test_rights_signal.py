"""berthd may signal all users' processes, and lends that right to nobody: a user's own lease is no
way to stop a process of a setuid program, which kill(2) refuses."""

import contextlib
import os
import select
import shutil
import signal
import subprocess

import pytest

from conftest import read_line
from daemon_help import connect_as, event, held, is_quiet, needs_root, refused, stopped, waits
from lines import DEADLINE, look_again, until
from lost_help import asked_until, living_as, restart

pytestmark = needs_root

OWNER, ADMIN = 60002, 60003


def real_uid(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(next(line.split()[1] for line in status if line.startswith("Uid:")))


@pytest.fixture
def as_root(directory):
    """The beginning of a command that anybody may give, and root runs."""
    if os.statvfs(directory).f_flag & os.ST_NOSUID:
        pytest.skip("no setuid programs here")
    program = directory / "as-root"
    shutil.copy(shutil.which("setpriv"), program)
    program.chmod(0o4755)
    return f"{program} --reuid 0 --regid 0 --clear-groups"


@contextlib.contextmanager
def running(script):
    """A shell of OWNER's, which leads a process group."""
    process = subprocess.Popen(
        ["setpriv", "--reuid", str(OWNER), "--regid", str(OWNER), "--clear-groups", "--", "sh", "-c", script],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    try:
        until(lambda: real_uid(process.pid) == OWNER)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@pytest.fixture
def job(as_root):
    """A process of OWNER; a line on its input makes it one of root."""
    with running(f"read _; exec {as_root} sleep 1000") as process:
        yield process


class Process:
    """A process that is not our child."""

    def __init__(self, pid):
        self.fd = os.pidfd_open(pid)

    def is_gone(self, within=0):
        return bool(select.select([self.fd], [], [], within)[0])

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.fd, signal.SIGKILL)
        os.close(self.fd)


@pytest.fixture
def crowd(as_root):
    """(job, root): a shell of OWNER's, and a process of root's in the shell's group. The shell
    reports how root's process has ended, if it lives to see it."""
    script = f"""
        trap : USR1
        {as_root} sleep 1000 & root=$!
        echo $root
        until wait $root; status=$?; [ $status != {128 + signal.SIGUSR1} ]; do :; done
        echo $status"""
    with running(script) as job:
        pid = int(read_line(job.stdout))
        root = Process(pid)
        try:
            while real_uid(pid) != 0:
                look_again()
            assert os.getpgid(pid) == job.pid
            yield job, root
        finally:
            root.end()


def becomes_root(job):
    job.stdin.write(b"now\n")
    job.stdin.flush()
    until(lambda: real_uid(job.pid) == 0)


def left(daemon, job, number):
    """Its lease, whose client goes: then only berthd stops the job."""
    with living_as(daemon, OWNER) as owner:
        lease = held(owner, f"acquire one pid={job.pid} signal={number.value}")
        owner.close()
    return lease


def acquired(daemon, job, number):
    """The same, when that client has gone."""
    lease = left(daemon, job, number)
    asked_until(daemon, lambda now: now.resources["one"]["holders"][0].get("away"))
    return lease


def test_the_user_alone_does_not_stop_it(berthd, job):
    daemon = berthd(f"[lock one]\nadmin-users = {ADMIN}\n")
    lease = acquired(daemon, job, signal.SIGSTOP)
    becomes_root(job)
    assert refused(connect_as(daemon, OWNER), f"revoke {lease}") == "forbidden"
    assert connect_as(daemon, ADMIN).request(f"revoke {lease}") == "ok"
    assert job.wait(DEADLINE) == -signal.SIGTERM  # not what the user has chosen


def test_by_a_newer_request(berthd, job):
    """Nor does that stop it: it waits for its end."""
    daemon = berthd("[lock one]\n")
    owner, newer = connect_as(daemon, OWNER), connect_as(daemon, OWNER)
    lease = held(owner, f"acquire one holder=x pid={job.pid}")
    becomes_root(job)
    waiting = waits(newer, "acquire one holder=x replace=running")
    assert is_quiet(owner)
    assert owner.request(f"release {lease}") == "ok"
    assert event(newer)[:2] == ("granted", waiting)


def test_as_long_as_the_process_is_the_users(berthd, job):
    daemon = berthd("[lock one]\n")
    lease = acquired(daemon, job, signal.SIGINT)
    assert connect_as(daemon, OWNER).request(f"revoke {lease}") == "ok"
    assert job.wait(DEADLINE) == -signal.SIGINT


def test_a_users_stop_reaches_the_users_part_of_the_group(berthd, crowd):
    daemon = berthd("[lock one]\n")
    job, root = crowd
    lease = acquired(daemon, job, signal.SIGTERM)
    assert connect_as(daemon, OWNER).request(f"revoke {lease}") == "ok"
    assert job.wait(DEADLINE) == -signal.SIGTERM  # the group's leader is signalled last
    assert not root.is_gone()


def test_many_are_stopped_at_once(berthd):
    """While the first one is being signalled, the others gather."""
    daemon = berthd("[semaphore one]\nlimit = 20\n")
    with contextlib.ExitStack() as jobs:
        jobs = [jobs.enter_context(running("read _")) for _ in range(20)]
        leases = [left(daemon, job, signal.SIGINT) for job in jobs]
        owner = connect_as(daemon, OWNER)
        owner.send("".join(f"revoke {lease}\n" for lease in leases))
        assert [job.wait(DEADLINE) for job in jobs] == [-signal.SIGINT] * 20


@pytest.mark.parametrize("cause", ("revoke", "max-hold"))
def test_what_the_operator_causes_reaches_all(berthd, crowd, cause):
    limits = "max-hold = 1ms\n" if cause == "max-hold" else ""
    daemon = berthd(f"[lock one]\nadmin-users = {ADMIN}\n{limits}")
    job, root = crowd
    lease = (left if limits else acquired)(daemon, job, signal.SIGTERM)
    if cause == "revoke":
        assert connect_as(daemon, ADMIN).request(f"revoke {lease}") == "ok"
    assert job.wait(DEADLINE) == -signal.SIGTERM
    assert root.is_gone(DEADLINE)


def test_a_chosen_signal_reaches_the_users_part_of_the_group(berthd, crowd):
    daemon = berthd(f"[lock one]\nadmin-users = {ADMIN}\n")
    job, root = crowd
    lease = acquired(daemon, job, signal.SIGUSR1)
    assert connect_as(daemon, ADMIN).request(f"revoke {lease}") == "ok"
    assert read_line(job.stdout) == str(128 + signal.SIGTERM)
    assert root.is_gone(DEADLINE)


def acquired_and_withdrawn(daemon, job):
    """The daemon has tried to kill it for OWNER, but it is root's by then."""
    lease = acquired(daemon, job, signal.SIGCONT)  # which it survives
    owner = connect_as(daemon, OWNER)
    assert owner.request(f"revoke {lease}") == "ok"
    with stopped(daemon):
        becomes_root(job)
    until(lambda: f"process {job.pid}: cannot signal it" in daemon.log.read_text())
    assert job.poll() is None
    return lease


@pytest.mark.parametrize("restarted", [False, True])
def test_the_operator_takes_over(berthd, job, restarted):
    daemon = berthd(f"[lock one]\nadmin-users = {ADMIN}\nkill-after = 1s\n")
    lease = acquired_and_withdrawn(daemon, job)
    if restarted:
        restart(daemon, "kill")
    assert connect_as(daemon, ADMIN).request(f"revoke {lease}") == "ok"
    assert job.wait(DEADLINE) in (-signal.SIGKILL, -signal.SIGTERM)


def test_max_hold_takes_over(berthd, job):
    daemon = berthd("[lock one]\nkill-after = 1s\nmax-hold = 5s\n")
    acquired_and_withdrawn(daemon, job)
    restart(daemon, "kill")
    assert job.wait(DEADLINE) == -signal.SIGKILL

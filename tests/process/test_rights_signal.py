"""berthd may signal everybody's processes. It lends that to nobody: a user's own lease is no way to stop
what a setuid program has become, which kill(2) refuses him."""

import os
import shutil
import signal
import subprocess
import time

import pytest

from daemon_help import connect_as, held, needs_root, refused
from lines import DEADLINE
from lost_help import asked_until, living_as

pytestmark = needs_root

OWNER, ADMIN = 60002, 60003


def real_uid(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(next(line.split()[1] for line in status if line.startswith("Uid:")))


@pytest.fixture
def job(directory):
    """One of OWNER's, until it is told to become root's."""
    if os.statvfs(directory).f_flag & os.ST_NOSUID:
        pytest.skip("no setuid programs here")
    as_root = directory / "as-root"
    shutil.copy(shutil.which("setpriv"), as_root)
    as_root.chmod(0o4755)
    process = subprocess.Popen(
        ["setpriv", "--reuid", str(OWNER), "--regid", str(OWNER), "--clear-groups", "--", "sh", "-c",
         f"read _; exec {as_root} --reuid 0 --regid 0 --clear-groups sleep 1000"], stdin=subprocess.PIPE)
    end = time.monotonic() + DEADLINE
    while real_uid(process.pid) != OWNER:
        assert time.monotonic() < end
        os.sched_yield()
    yield process
    process.kill()
    process.wait()
    process.stdin.close()


def becomes_root(job):
    job.stdin.write(b"now\n")
    job.stdin.flush()
    end = time.monotonic() + DEADLINE
    while real_uid(job.pid) != 0:
        assert time.monotonic() < end
        os.sched_yield()


def acquired(daemon, job, number):
    """Its lease, when nobody is connected for it any more: from then on berthd alone stops the job."""
    with living_as(daemon, OWNER) as owner:
        lease = held(owner, f"acquire one pid={job.pid} signal={number.value}")
        owner.close()
    asked_until(daemon, lambda now: now.resources["one"]["holders"][0].get("away"))
    return lease


def test_the_user_himself_does_not_stop_it(berthd, job):
    daemon = berthd(f"[lock one]\nadmin-users = {ADMIN}\n")
    lease = acquired(daemon, job, signal.SIGSTOP)
    becomes_root(job)
    assert refused(connect_as(daemon, OWNER), f"revoke {lease}") == "forbidden"
    assert connect_as(daemon, ADMIN).request(f"revoke {lease}") == "ok"
    assert job.wait(DEADLINE) == -signal.SIGTERM  # not what the user has chosen


def test_as_long_as_it_is_his(berthd, job):
    daemon = berthd("[lock one]\n")
    lease = acquired(daemon, job, signal.SIGINT)
    assert connect_as(daemon, OWNER).request(f"revoke {lease}") == "ok"
    assert job.wait(DEADLINE) == -signal.SIGINT

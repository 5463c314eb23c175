"""berth run --tree over restarts, and with a wrapper that hangs."""

import contextlib
import os
import signal

import pytest

from daemon_help import held, refused, status
from lines import until
from lost_help import after_restart, all_free, asked_until, restart, sleeper
from test_run_tree import APART, is_alive, let_go, pid_in

TREE = "[lock a]\nkill-after = 200ms\n"


@contextlib.contextmanager
def tree(berth, directory, daemon, script):
    """A job whose main process is the shell; what it leaves behind writes its pid. Killed at last."""
    for name in ("born", "go"):
        os.mkfifo(directory / name)
    process = berth.start("run", "--tree", "-S", str(daemon.socket), "a", "--", "sh", "-c", script)
    pid = pid_in(directory / "pid")
    try:
        yield process, pid
    finally:
        for one in (pid, process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        process.wait()


LEFT_BEHIND = APART.format("echo $$ >pid; : >born; exec sleep 1000") + ": <born;"


def test_the_main_process_ends_while_berthd_is_down(berth, berthd, directory):
    """Nothing is free as long as the wrapper lives: not for a moment while a part of the job runs."""
    daemon = berthd("grace = 1ms\n" + TREE)
    with tree(berth, directory, daemon, LEFT_BEHIND + ": <go") as (process, pid):
        lease, = status(daemon.client()).holders("a")
        os.kill(process.pid, signal.SIGSTOP)  # it cannot come back
        daemon.kill()
        let_go(directory / "go")
        until(lambda: not main_lives(process.pid))
        daemon.start()
        client = daemon.client()
        for _ in range(3):
            assert refused(client, "acquire a wait=0") == "would-wait"
            assert status(client).holders("a") == [lease]
            client = after_restart(daemon, "kill")
        os.kill(process.pid, signal.SIGCONT)
        os.kill(pid, signal.SIGKILL)
        asked_until(daemon, all_free)
        assert process.wait() == 0


def main_lives(wrapper):
    with open(f"/proc/{wrapper}/task/{wrapper}/children") as children:
        for child in children.read().split():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                with open(f"/proc/{child}/cmdline") as line:
                    if line.read().startswith("sh\0") and is_alive(child):
                        return True
    return False


@pytest.mark.parametrize("main, restarted", [("wait", True), ("exit 0", False)], ids=["lives", "is gone"])
def test_a_hung_wrapper_is_revoked(berth, berthd, directory, main, restarted):
    """First its descendants are dead, then the unit is free."""
    daemon = berthd(TREE)
    with tree(berth, directory, daemon, LEFT_BEHIND + main) as (process, pid):
        if main != "wait":
            until(lambda: not main_lives(process.pid))
        os.kill(process.pid, signal.SIGSTOP)
        lease, = status(daemon.client()).holders("a")
        if restarted:
            restart(daemon, "kill")
        client = daemon.client()
        client.send("acquire a\n")
        assert client.line().startswith("waiting ")
        assert daemon.client().request(f"revoke {lease}").startswith("ok")
        assert client.line().startswith("* granted ")
        assert not is_alive(pid)
        assert process.wait() == -signal.SIGKILL


def test_the_wrapper_must_belong_to_the_asker(berthd):
    daemon = berthd(TREE)
    client = daemon.client()
    with sleeper() as pid, sleeper() as wrapper:
        assert refused(client, f"acquire a wrapper={wrapper}") == "malformed"
        assert refused(client, f"acquire a pid={pid} wrapper=1") == "forbidden"
        lease = held(client, f"acquire a pid={pid} wrapper={wrapper}")
        client.close()
        os.kill(pid, signal.SIGKILL)
        restart(daemon, "kill")
        assert status(daemon.client()).holders("a") == [lease]
    asked_until(daemon, all_free)

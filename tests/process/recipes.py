"""A place to paste recipes into: a directory with `berth`, jobs that wait, and a daemon."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from conftest import BUILD, read_line
from documents import blocks
from lines import DEADLINE
from lost_help import asked_until

DOCUMENT = "doc/recipes.md"

# A job that reports its start, and goes on when the test lets it.
JOB = """#!/bin/sh
mkfifo gate.$$
echo "$$ $0 $*" >started
read -r go <gate.$$
"""


class Shell:
    """Runs recipes in its own directory, with `berth` in PATH, on that daemon."""

    def __init__(self, daemon, started):
        self.daemon = daemon
        self.path = daemon.socket.parent / "work"
        self.client = daemon.client()
        self.started = started
        self.environ = {
            **os.environ, "BERTH_SOCKET": str(daemon.socket),
            "PATH": f"{self.path}/bin:{BUILD}:{os.environ['PATH']}"}
        self.processes = []

    def program(self, name, text=JOB):
        target = self.path / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)
        target.chmod(0o755)

    def start(self, text, **environ):
        process = subprocess.Popen(
            ["sh", "-c", text], cwd=self.path, text=True, start_new_session=True,
            env={**self.environ, **environ}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.processes.append(process)
        return process

    def run(self, text, **environ):
        return self.end(self.start(text, **environ))

    def end(self, process):
        out, err = process.communicate(timeout=DEADLINE)
        return process.returncode, out, err

    def next_job(self):
        """Waits until another job has started; returns its pid and command line."""
        pid, command = read_line(self.started).split(" ", 1)
        return pid, command

    def let_go(self, pid):
        with open(self.path / f"gate.{pid}", "w") as gate:
            gate.write("go\n")

    def run_all(self, to_run, limit, key_of=lambda command: "all"):
        """Lets all jobs run, {key: how many}: as many as may run at once do, and never more. All
        have asked before the first may go on."""
        total = sum(to_run.values())
        now = asked_until(self.daemon, lambda now: now.held + now.waiting == total)
        assert now.held == sum(min(limit, n) for n in to_run.values())
        running = {key: [] for key in to_run}
        while any(to_run.values()):
            while any(len(running[key]) < min(limit, to_run[key]) for key in to_run):
                pid, command = self.next_job()
                running[key_of(command)].append(pid)
                assert max(map(len, running.values())) <= limit
            key = max(to_run, key=to_run.get)
            self.let_go(running[key].pop(0))
            to_run[key] -= 1


def kill_session(leader):
    """Kills what is left if the test has failed: wrappers, and jobs that wait to be let go."""
    for pid in [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]:
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(pid) == leader:
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def shell_for(daemon):
    work = daemon.socket.parent / "work"
    work.mkdir()
    os.mkfifo(work / "started")
    started = os.open(work / "started", os.O_RDWR)  # both ends: no end of file between jobs
    shell = Shell(daemon, started)
    try:
        yield shell
    finally:
        for process in shell.processes:
            kill_session(process.pid)
            process.wait()
            process.stdout.close()
            process.stderr.close()
        os.close(started)


# ---- for the tests of doc/recipes.md

@pytest.fixture
def daemon(berthd, directory):
    """With all files of the document in its conf.d, as pasted."""
    (directory / "conf.d").mkdir()
    for name, text in blocks(DOCUMENT, "conf").items():
        (directory / "conf.d" / f"{name}.conf").write_text(text)
    return berthd("include = conf.d\n")


@pytest.fixture
def shell(daemon):
    with shell_for(daemon) as shell:
        shell.program("bin/sudo", "#!/bin/sh\nexec \"$@\"\n")
        yield shell


def holders_and_waiters(name, n_holders, n_waiters):
    def is_so(now):
        resource = now.resources.get(name, {"holders": [], "waiters": []})
        return (len(resource["holders"]), len(resource["waiters"])) == (n_holders, n_waiters)
    return is_so


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"there is no {program}")


def cron_commands(text):
    """What cron would run from a file of /etc/cron.d, all of whose lines are root's."""
    lines = [line for line in text.splitlines() if not re.match(r"#|\w+=", line)]
    return [re.fullmatch(r"(?:[\d*/]+ +){5}root +(.*)", line).group(1) for line in lines]

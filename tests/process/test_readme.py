"""The recipes of README.md, pasted: each runs as it stands there, with the file that is there."""

import os
import pathlib
import re
import subprocess

import pytest

from conftest import BUILD, read_line
from lines import DEADLINE

SOURCE = pathlib.Path(os.environ.get("BERTH_SOURCE_DIR", "."))
readme = (SOURCE / "README.md").read_text()
CONFIGURATION = re.search(r"^```ini\n(.*?)^```$", readme, re.M | re.S).group(1)
RECIPES = {name: text for name, text in re.findall(
    r"^<!-- recipe: (\w+) -->\n```\w+\n(.*?)^```$", readme, re.M | re.S)}

# A job that says when it has started, and goes on when the test lets it.
JOB = """#!/bin/sh
mkfifo gate.$$
echo "$$ $0 $*" >started
read -r go <gate.$$
"""


@pytest.fixture
def shell(berthd, directory):
    """Runs a recipe in a directory of its own, with `berth` in PATH."""
    daemon = berthd(CONFIGURATION)
    work = directory / "work"
    work.mkdir()
    os.mkfifo(work / "started")
    started = os.open(work / "started", os.O_RDWR)  # both ends: no end of file between jobs

    class Shell:
        path = work
        client = daemon.client()

        def program(self, name, text=JOB):
            target = work / name
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)
            target.chmod(0o755)

        def start(self, text):
            return subprocess.Popen(
                ["sh", "-c", text], cwd=work, text=True, start_new_session=True,
                env={**os.environ, "BERTH_SOCKET": str(directory / "s"),
                     "PATH": f"{work}/bin:{BUILD}:{os.environ['PATH']}"},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def run(self, text):
            process = self.start(text)
            out, err = process.communicate(timeout=DEADLINE)
            return process.returncode, out, err

        def next_job(self):
            """Waits until one more has started: its pid, and its command line."""
            pid, command = read_line(started).split(" ", 1)
            return pid, command

        def let_go(self, pid):
            with open(work / f"gate.{pid}", "w") as gate:
                gate.write("go\n")

    yield Shell()
    os.close(started)


def test_there_are_nine():
    assert len(RECIPES) == 9


def test_cron(shell):
    command = re.fullmatch(r"\*/5 \* \* \* \* (.*)\n", RECIPES["cron"]).group(1)
    (shell.path / "data").mkdir()
    shell.client.send("acquire backup\n")
    lease = shell.client.line().split()[1]
    assert shell.run(command) == (0, "", "")
    assert not (shell.path / "backup.tar.gz").exists()
    shell.client.send(f"release {lease}\n")
    assert shell.client.line() == "ok"
    assert shell.run(command) == (0, "", "")
    assert (shell.path / "backup.tar.gz").exists()


def run_all(shell, to_run, limit, key_of):
    """Lets all jobs run, {key: how many}: as many as may run at once do, and never more."""
    running = {key: [] for key in to_run}
    while any(to_run.values()):
        while any(len(running[key]) < min(limit, to_run[key]) for key in to_run):
            pid, command = shell.next_job()
            running[key_of(command)].append(pid)
            assert max(map(len, running.values())) <= limit
        key = max(to_run, key=to_run.get)
        shell.let_go(running[key].pop(0))
        to_run[key] -= 1


def test_xargs(shell):
    (shell.path / "logs").mkdir()
    for i in range(40):
        (shell.path / f"logs/{i}.log").write_text(str(i) * 1000)
    gzip = subprocess.check_output(["sh", "-c", "command -v gzip"], text=True).strip()
    shell.program("bin/gzip", f'{JOB}exec {gzip} "$@"\n')
    process = shell.start(RECIPES["xargs"])
    run_all(shell, {"all": 40}, 4, lambda command: "all")
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, err
    assert len(list((shell.path / "logs").glob("*.log.gz"))) == 40


def test_gpus(shell):
    status, out, err = shell.run(RECIPES["gpus"])
    assert status == 0, err
    lines = sorted(out.splitlines())
    assert [line.rsplit(" ", 1)[0] for line in lines] == [
        f"training {model} on GPU" for model in ("large", "medium", "small")]
    assert {line.rsplit(" ", 1)[1] for line in lines} <= {"0", "1"}


def test_deploy(shell):
    shell.program("deploy.sh")
    first = shell.start(RECIPES["deploy"])
    pid, _ = shell.next_job()
    status, _, err = shell.run(RECIPES["deploy"])
    assert status == 75
    assert "deploy" in err
    shell.let_go(pid)
    assert first.wait(DEADLINE) == 0
    first.communicate()


def test_two(shell):
    shell.program("report.sh", '#!/bin/sh\nenv | grep "^BERTH_[12]_NAME" | sort\n')
    status, out, err = shell.run(RECIPES["two"])
    assert (status, out) == (0, "BERTH_1_NAME=db\nBERTH_2_NAME=licence\n"), err


def test_customers(shell):
    shell.program("fetch.sh")
    process = shell.start(RECIPES["customers"])
    run_all(shell, {"alice": 8, "bob": 8}, 5, lambda command: command.split()[1])
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, err


def test_separate(shell):
    shell.program("upload.sh")
    shell.program("activate.sh")
    first = shell.start(RECIPES["separate"])
    pid, _ = shell.next_job()
    assert "(held)" in shell.run(RECIPES["separate"])[2]  # that identity has it
    other = RECIPES["separate"].replace("4711", "1234").replace("acquire", "acquire -n")
    assert "(would-wait)" in shell.run(other)[2]
    shell.let_go(pid)
    pid, _ = shell.next_job()
    shell.let_go(pid)
    assert first.communicate(timeout=DEADLINE) == ("", "")
    assert first.returncode == 0
    assert shell.client.request("acquire deploy wait=0").startswith("ok ")


def test_shell(shell):
    shell.program("report.sh")
    process = shell.start(RECIPES["shell"])
    pid, command = shell.next_job()
    assert re.search(r"with token \d+$", command)
    assert shell.client.request("acquire licence wait=0").startswith("error would-wait ")
    shell.let_go(pid)
    assert process.communicate(timeout=DEADLINE) == ("", "")
    assert shell.client.request("acquire licence").startswith(("ok ", "waiting "))


def test_nofork(shell):
    shell.program("serve.sh", f'{JOB}echo "$CUDA_VISIBLE_DEVICES"\n')
    process = shell.start(RECIPES["nofork"])
    pid, _ = shell.next_job()
    assert int(pid) == process.pid
    shell.let_go(pid)
    out, err = process.communicate(timeout=DEADLINE)
    assert out.strip() in ("0", "1"), err

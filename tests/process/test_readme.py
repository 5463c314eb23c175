"""The recipes of README.md, pasted: each runs as it stands there, with the file that is there."""

import re
import subprocess

import pytest

from documents import SOURCE, blocks
from lines import DEADLINE
from recipes import JOB, shell_for

CONFIGURATION = re.search(
    r"^```ini\n(.*?)^```$", (SOURCE / "README.md").read_text(), re.M | re.S).group(1)
RECIPES = blocks("README.md", "recipe")


@pytest.fixture
def shell(berthd):
    with shell_for(berthd(CONFIGURATION)) as shell:
        yield shell


def test_there_are_six():
    """tcp is for a host with systemd: tests/systemd."""
    assert sorted(RECIPES) == sorted("cron xargs gpus deploy two tcp".split())


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


def test_xargs(shell):
    (shell.path / "logs").mkdir()
    for i in range(40):
        (shell.path / f"logs/{i}.log").write_text(str(i) * 1000)
    gzip = subprocess.check_output(["sh", "-c", "command -v gzip"], text=True).strip()
    shell.program("bin/gzip", f'{JOB}exec {gzip} "$@"\n')
    process = shell.start(RECIPES["xargs"])
    shell.run_all({"all": 40}, 4)
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

"""README.md, as a reader follows it: with the installed configuration, its commands do and print
what it says. (tests/systemd does it with the package.)"""

import os
import re
import signal
import subprocess

import pytest

from conftest import BUILD, read_line
from documents import SOURCE
from lines import DEADLINE
from lost_help import asked_until
from readme import HOLD, OWN, OWN_SECTION, POOL, PROGRAM, RECIPES, SHOW, STATUS, WAIT, WAITING, without_particulars
from recipes import JOB, holders_and_waiters, shell_for

INSTALLED = (SOURCE / "conf/default.conf").read_text().split("[daemon]\n")[1]


@pytest.fixture
def shell(berthd, directory):
    (directory / "conf.d").mkdir()
    (directory / "conf.d/db.conf").write_text(OWN_SECTION)
    (directory / "conf.d/gpus.conf").write_text(POOL)
    with shell_for(berthd(INSTALLED)) as shell:
        yield shell


def last_line(text):
    return text.splitlines()[-1]


# ---- sixty seconds

def test_sixty_seconds(shell):
    """The lock, the waiting line of a second one, the table of both, and the end."""
    first = shell.start(HOLD)
    is_held = holders_and_waiters("adhoc/report", 1, 0)
    asked_until(shell.daemon, lambda now: is_held(now) or first.poll() is not None)
    assert first.poll() is None, first.communicate()
    second = shell.start(WAIT)
    assert without_particulars(read_line(second.stderr.buffer.raw)) == without_particulars(WAITING)
    status, table, err = shell.run(SHOW)
    assert (status, err) == (0, "")
    assert without_particulars(table) == without_particulars(STATUS)
    holder, = asked_until(shell.daemon, lambda now: True).resources["adhoc/report"]["holders"]
    os.kill(int(holder["pid"]), signal.SIGTERM)
    assert shell.end(first)[0] == 128 + signal.SIGTERM  # as the shell shows it
    status, out, err = shell.end(second)
    assert (status, out) == (0, "my turn\n")
    assert re.fullmatch(r"berth: got adhoc/report after \d+s\n", err)


def test_a_limit_of_one_s_own(shell):
    assert len(OWN_SECTION.splitlines()) == 3
    limit = int(re.search(r"^limit = (\d+)$", OWN_SECTION, re.M).group(1))
    assert shell.run(last_line(OWN)) == (0, "one of two\n", "")
    assert limit == 2


# ---- recipes

def test_cron(shell):
    (shell.path / "data").mkdir()
    shell.client.send("acquire adhoc/backup\n")
    lease = shell.client.line().split()[1]
    assert shell.run(RECIPES["cron"]) == (0, "", "")
    assert not (shell.path / "backup.tar.gz").exists()
    shell.client.send(f"release {lease}\n")
    assert shell.client.line() == "ok"
    assert shell.run(RECIPES["cron"]) == (0, "", "")
    assert (shell.path / "backup.tar.gz").exists()


def test_xargs(shell):
    for i in range(40):
        (shell.path / f"{i}.csv").write_text(str(i))
    shell.program("load.sh", JOB)
    process = shell.start(RECIPES["xargs"])
    shell.run_all({"all": 40}, 2)
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, err


def test_gpus(shell):
    shell.program("train.sh", '#!/bin/sh\necho "GPU $CUDA_VISIBLE_DEVICES"\nread -r go <gate.$CUDA_VISIBLE_DEVICES\n')
    for item in "01":
        os.mkfifo(shell.path / f"gate.{item}")
    jobs = [shell.start(RECIPES["gpus"]) for _ in range(2)]
    assert {read_line(job.stdout.buffer.raw) for job in jobs} == {"GPU 0", "GPU 1"}
    for item in "01":
        (shell.path / f"gate.{item}").write_text("go\n")
    assert [shell.end(job)[0] for job in jobs] == [0, 0]


def test_deploy(shell):
    shell.program("deploy.sh")
    first = shell.start(RECIPES["deploy"])
    pid, _ = shell.next_job()
    status, _, err = shell.run(RECIPES["deploy"])
    assert status == 75
    assert "adhoc/deploy" in err and "release-1.2" in err
    shell.let_go(pid)
    assert first.wait(DEADLINE) == 0
    first.communicate()


def test_two(shell):
    shell.program("report.sh", '#!/bin/sh\nenv | grep "^BERTH_[12]_NAME" | sort\n')
    status, out, err = shell.run(RECIPES["two"])
    assert (status, out) == (0, "BERTH_1_NAME=db\nBERTH_2_NAME=adhoc/licence\n"), err


def test_a_program(shell):
    """As pasted, with the library of this tree."""
    status, out, err = shell.end(shell.start(f"python3 - <<'end'\n{PROGRAM}end", PYTHONPATH=str(SOURCE / "python")))
    assert status == 0, err
    assert re.fullmatch(r"slot 0 is mine, with token \d+\n", out)


def test_the_page_is_turned_on_as_its_manual_says(tmp_path):
    manual = (SOURCE / "doc/man/berth-web.8.scd").read_text().replace("\\\\", "\\")
    command = re.search(r"^(sed -i .* /etc/berth/berth\.conf) && berthctl reload$", manual, re.M)[1]
    file = tmp_path / "berth.conf"
    file.write_bytes((SOURCE / "conf/default.conf").read_bytes())
    command = command.replace("/etc/berth/berth.conf", str(file)).replace("berth-view", "root")
    subprocess.run(["sh", "-c", command], check=True)
    assert "[daemon]\nview-groups = root\n" in file.read_text()
    subprocess.run([BUILD / "berthd", "-c", file, "--check"], check=True)

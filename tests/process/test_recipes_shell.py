"""The recipes of doc/recipes.md for shells; test_recipes.py has the others."""

import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import BUILD
from daemon_help import NOBODY, become, in_child, must_end_well, status
from documents import SOURCE, blocks
from lines import DEADLINE
from lost_help import all_free, asked_until
from recipes import DOCUMENT, JOB, daemon, holders_and_waiters, needs, shell, shell_for

RECIPES = blocks(DOCUMENT, "recipe")
MAINS = blocks(DOCUMENT, "main")


# ---- scripts

def test_customers(shell):
    shell.program("fetch.sh")
    process = shell.start(RECIPES["customers"])
    shell.run_all({"alice": 8, "bob": 8}, 5, lambda command: command.split()[1])
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, err


def test_steps(shell):
    shell.program("upload.sh")
    shell.program("activate.sh")
    process = shell.start(RECIPES["steps"])
    for _ in range(2):
        pid, _ = shell.next_job()
        assert shell.client.request("acquire upload wait=0").startswith("error would-wait ")
        shell.let_go(pid)
    assert process.communicate(timeout=DEADLINE) == ("", "")
    assert process.returncode == 0


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
    assert shell.client.request("acquire upload wait=0").startswith("ok ")


def test_shell(shell):
    shell.program("report.sh")
    process = shell.start(RECIPES["shell"])
    pid, command = shell.next_job()
    assert re.search(r"with token \d+$", command)
    assert shell.client.request("acquire report wait=0").startswith("error would-wait ")
    shell.let_go(pid)
    assert process.communicate(timeout=DEADLINE) == ("", "")
    assert shell.client.request("acquire report").startswith(("ok ", "waiting "))


def test_nofork(shell):
    shell.program("serve.sh", f'{JOB}echo "$CUDA_VISIBLE_DEVICES"\n')
    process = shell.start(RECIPES["nofork"])
    pid, _ = shell.next_job()
    assert int(pid) == process.pid
    shell.let_go(pid)
    out, err = process.communicate(timeout=DEADLINE)
    assert out.strip() in ("0", "1"), err


# ---- licences and rates

def test_licence(shell):
    """Each seat rests after its use, also after a failed one."""
    shell.program("simulate", "#!/bin/sh\nexit 4\n")
    for _ in range(3):
        assert shell.run(RECIPES["licence"])[0] == 4
    assert status(shell.client).resources["licence"]["cooling"] == "3"
    assert shell.run("berth run -n licence -- true")[0] == 75


def test_weather(shell):
    """It goes when the rate lets it go."""
    shell.program("fetch.sh", '#!/bin/sh\necho "$1"\n')
    assert shell.run(RECIPES["weather"], city="Oslo")[:2] == (0, "Oslo\n")
    assert status(shell.client).resources["weather"]["rate"] == "100/1m"


def test_rate(shell, daemon):
    """Ten are begun; the eleventh waits until the minute is over."""
    shell.program("fetch.sh", '#!/bin/sh\necho "$2" >started\n')
    process = shell.start("exec sh -c '" + RECIPES["rate"].replace("\n", "'"), customer="alice")
    with open(shell.path / "started", encoding="ascii") as started:
        assert [started.readline() for _ in range(10)] == [f"{i}\n" for i in range(1, 11)]
    now = asked_until(daemon, holders_and_waiters("api/alice", 0, 1))
    assert now.resources["api/alice"]["cooling"] == "10"
    os.killpg(process.pid, signal.SIGTERM)
    shell.end(process)
    assert shell.run("berth run -n api/bob -- true")[0] == 0


def test_levels(shell, daemon):
    """Two of alice, one of bob; his next one waits for the level."""
    shell.program("export.sh")
    jobs = [shell.start(RECIPES["levels"], customer=customer) for customer in ("alice", "alice", "bob")]
    pids = [shell.next_job()[0] for _ in jobs]
    jobs.append(shell.start(RECIPES["levels"], customer="bob"))
    now = asked_until(daemon, holders_and_waiters("exports", 3, 1))
    assert now.resources["export/bob"]["waiters"][0]["blocker"] == "exports"
    shell.let_go(pids[0])
    pids.append(shell.next_job()[0])
    for pid in pids[1:]:
        shell.let_go(pid)
    for job in jobs:
        assert shell.end(job)[0] == 0


# ---- make, xargs, parallel

@pytest.mark.parametrize("name", ["make_one", "make_all"])
def test_make(shell, name):
    shell.program("link.sh", f"{JOB}cp $1 $2\n")
    for target in "abcd":
        (shell.path / f"{target}.in").write_text(target)
    (shell.path / "Makefile").write_text(RECIPES[name])
    process = shell.start("make -j4")
    shell.run_all({"all": 4}, 2)
    assert shell.end(process)[0] == 0
    assert len(list(shell.path.glob("?.out"))) == 4


@pytest.mark.parametrize("name", ["xargs", pytest.param("parallel", marks=needs("parallel"))])
def test_gzip(shell, name):
    (shell.path / "logs").mkdir()
    for i in range(6):
        (shell.path / f"logs/{i}.log").write_text("x")
    shell.program("bin/gzip", f'{JOB}exec {shutil.which("gzip")} "$@"\n')
    process = shell.start(RECIPES[name], HOME=str(shell.path))
    shell.run_all({"all": 6}, 2)
    assert shell.end(process)[0] == 0
    assert len(list(shell.path.glob("logs/*.log.gz"))) == 6


# ---- nightly batch

def test_batch(shell, daemon):
    """Three run; among the waiters, the important one is first."""
    shell.program("load.sh")
    process = shell.start(RECIPES["batch"])
    running = [shell.next_job()[0] for _ in range(3)]
    now = asked_until(daemon, holders_and_waiters("night", 3, 3))
    waiters = [waiter["reason"] for waiter in now.resources["night"]["waiters"]]
    holders = [holder["reason"] for holder in now.resources["night"]["holders"]]
    assert "invoices" in holders or waiters[0] == "invoices"
    for _ in range(3):
        shell.let_go(running.pop(0))
        running.append(shell.next_job()[0])
    for pid in running:
        shell.let_go(pid)
    assert shell.end(process)[0] == 0
    assert shell.run("berth run -p 11 night -- true")[0] == 77


# ---- a shared login host

@pytest.fixture
def login(berthd):
    daemon = berthd(MAINS["login"].removeprefix("[daemon]\n"))
    with shell_for(daemon) as shell:
        shell.daemon = daemon
        yield shell


def test_login(login):
    """Two of each user run; a user's third job delays nobody else."""
    login.program("simulate")
    processes = [login.start(RECIPES["login"]) for _ in range(3)]
    now = asked_until(login.daemon, holders_and_waiters("big", 2, 1))
    assert now.resources["big"]["waiters"][0]["blocked"] == "quota"
    login.run_all({"all": 3}, 2)
    assert [login.end(process)[0] for process in processes] == [0] * 3


# ---- a berthd of one's own

@pytest.mark.parametrize("has_login", [True, False])
def test_own(directory, has_login):
    """Of somebody who is not root: their file, their socket, nothing installed."""
    home = directory / "home"
    for path in (home / ".config/berth", directory / "run"):
        path.mkdir(parents=True)
    (home / ".config/berth/berth.conf").write_text(MAINS["own"])
    job = home / "job.sh"
    job.write_text("#!/bin/sh\nenv | grep ^BERTH_NAME\n")
    job.chmod(0o755)
    programs = directory / "bin"
    programs.mkdir()
    for name in ("berth", "berthd", "berthctl"):
        shutil.copy(BUILD / name, programs)  # where that user can get at them
    environ = {"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}"}
    if has_login:
        environ["XDG_RUNTIME_DIR"] = str(directory / "run")
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", str(NOBODY), directory], check=True)
    commands = [] if has_login else [RECIPES["own_runtime"]]
    commands += [RECIPES["own_start"], "berth run -S user --if-down wait mine -- true\n", RECIPES["own"],
                 "berthctl -S user status mine\n", "kill $!; wait\n"]

    def somebody():
        if os.geteuid() == 0:
            become(NOBODY)
        done = subprocess.run(["sh", "-c", "".join(commands)], cwd=home, env=environ, text=True,
                              capture_output=True, timeout=DEADLINE)
        lines = done.stdout.splitlines()
        assert done.returncode == 0 and lines[0] == "BERTH_NAME=mine", done
        assert lines[-1].split() == ["mine", "semaphore", "2", "0", "2", "0"], done

    must_end_well(in_child(somebody))


# ---- coming from flock, sem, consul lock

RAN = "#!/bin/sh\necho ran\n"


@pytest.fixture
def installed(berthd, directory):
    """With the configuration that the package installs."""
    (directory / "conf.d").mkdir()
    with shell_for(berthd((SOURCE / "conf/default.conf").read_text().split("[daemon]\n")[1])) as shell:
        yield shell


def reasons_of_flock(shell):
    """The paths of the files that are locked under a lease."""
    return [holder["reason"] for name, resource in status(shell.client).resources.items()
            if name.startswith("flock/") for holder in resource["holders"]]


@pytest.mark.parametrize("interpreter", [["sh"], ["bash", "-O", "expand_aliases"]])
def test_flock(installed, interpreter):
    """Its lines take the file's lock, and a lease."""
    installed.program("report.sh")
    (installed.path / "script").write_text(RECIPES["flock"])
    script = installed.start(" ".join([*interpreter, "script"]))
    for words in "report.sh", "report.sh again":
        pid, command = installed.next_job()
        assert command.rstrip().endswith(words)
        assert reasons_of_flock(installed) == [f"{installed.path}/report.lock"]
        if shutil.which("flock"):
            assert installed.run("flock -n report.lock true")[0] == 1
        installed.let_go(pid)
    assert installed.end(script) == (0, "", "")


def test_flock_program(installed):
    installed.program("bin/flock", RECIPES["flock_program"])
    installed.program("report.sh")
    first = installed.start("flock report.lock ./report.sh")
    pid, _ = installed.next_job()
    assert reasons_of_flock(installed) == [f"{installed.path}/report.lock"]
    assert installed.run("flock -n report.lock true") == (1, "", "")
    installed.let_go(pid)
    assert installed.end(first)[0] == 0


def migrations():
    table = (SOURCE / DOCUMENT).read_text().partition("| theirs | Berth's |\n")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `(.*?)`.* \| `(.*?)`.* \|$", table, re.M)
    assert len(rows) > 15
    return rows


@pytest.mark.parametrize("command", [row[1] for row in migrations()])
def test_the_berth_equivalents(shell, daemon, command):
    for name in ("a", "b", "job"):
        shell.program(f"bin/{name}", RAN)
    if "release" in command:
        assert shell.client.request("acquire x").startswith("ok ")
    code, out, err = shell.run(command)
    assert code == 0, err
    if command.startswith(("berth run", "berth acquire")):
        assert "ran" in out, err
    asked_until(daemon, all_free)


# consul and setlock are not tried.
THEIRS = [row[0] for row in migrations() if re.match(r"(exec 9.*)?flock|sem", row[0])]


@pytest.mark.parametrize("command", THEIRS)
def test_the_others_commands(shell, command):
    """The others' commands are what the table says they are."""
    for program in ("flock", "sem"):
        if command.startswith(program) and not shutil.which(program):
            pytest.skip(f"there is no {program}")
    for name in ("a", "b", "job"):
        shell.program(f"bin/{name}", RAN)
    if command == "flock -u 9":
        command = "exec 9>/run/x.lock; flock 9; " + command
    code, out, err = shell.run(command.replace("/run/", f"{shell.path}/"), HOME=str(shell.path))
    assert code == 0, err
    assert "ran" in out or "flock -u" in command

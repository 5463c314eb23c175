"""The recipes of doc/recipes.md, pasted: each runs as it stands there, with the files that are there.
Those for systemd run in tests/systemd."""

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
from recipes import JOB, shell_for

DOCUMENT = "doc/recipes.md"
RECIPES = blocks(DOCUMENT, "recipe")
FILES = blocks(DOCUMENT, "conf")
MAINS = blocks(DOCUMENT, "main")

WITH_SUDO = '#!/bin/sh\nexec "$@"\n'


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"there is no {program}")


@pytest.fixture
def daemon(berthd, directory):
    """With all files of the document in its conf.d, as pasted."""
    (directory / "conf.d").mkdir()
    for name, text in FILES.items():
        (directory / "conf.d" / f"{name}.conf").write_text(text)
    return berthd("include = conf.d\n")


@pytest.fixture
def shell(daemon):
    with shell_for(daemon) as shell:
        shell.program("bin/sudo", WITH_SUDO)
        yield shell


def holders_and_waiters(name, n_holders, n_waiters):
    def is_so(now):
        resource = now.resources.get(name, {"holders": [], "waiters": []})
        return (len(resource["holders"]), len(resource["waiters"])) == (n_holders, n_waiters)
    return is_so


def test_each_is_run():
    """A name that no test has is a recipe that nobody has tried."""
    tests = "".join(
        path.read_text() for path in (SOURCE / "tests").glob("*/test_recipes.py"))
    names = [*RECIPES, *MAINS, *blocks(DOCUMENT, "unit")]
    assert len(names) > 30
    assert [name for name in names if f'"{name}"' not in tests] == []


# ---- cron

def cron_commands(name):
    """What cron would run, of a file of /etc/cron.d whose lines are all root's."""
    lines = [line for line in RECIPES[name].splitlines() if not re.match(r"#|\w+=", line)]
    return [re.fullmatch(r"(?:[\d*/]+ +){5}root +(.*)", line).group(1) for line in lines]


def test_cron_skips(shell):
    """Quietly, while the last run is still going."""
    shell.program("bin/tar")
    backup = cron_commands("cron")[0]
    first = shell.start(backup)
    pid, command = shell.next_job()
    assert command.endswith("tar -czf /var/backups/home.tar.gz /home")
    assert shell.run(backup) == (0, "", "")
    shell.let_go(pid)
    assert shell.end(first) == (0, "", "")
    again = shell.start(backup)
    shell.let_go(shell.next_job()[0])
    assert shell.end(again) == (0, "", "")


def test_cron_queues(shell):
    shell.program("bin/load-all")
    processes = [shell.start(command) for command in cron_commands("cron")[1:]]
    shell.run_all({"all": 3}, 2)
    assert [shell.end(process) for process in processes] == [(0, "", "")] * 3


def test_cron_mails_what_matters(shell, daemon):
    backup = cron_commands("cron")[0]
    shell.program("bin/tar", "#!/bin/sh\necho full >&2\nexit 2\n")
    assert shell.run(backup) == (2, "", "full\n")
    code, _, err = shell.run(backup.replace("backup", "nosuch"))
    assert code == 78 and "nosuch" in err
    daemon.stop()
    code, _, err = shell.run(backup)
    assert code == 69 and "cannot connect" in err


# ---- CI runners

def test_deploys_queue(shell, daemon):
    shell.program("deploy.sh")
    job = {"CI_PROJECT_PATH": "shop/web", "CI_COMMIT_SHORT_SHA": "12ab34cd"}
    first = shell.start(RECIPES["ci_deploy"], CI_JOB_ID="1001", **job)
    pid, command = shell.next_job()
    assert command.endswith("deploy.sh staging")
    second = shell.start(RECIPES["ci_deploy"], CI_JOB_ID="1002", **job)
    now = asked_until(daemon, holders_and_waiters("deploy/staging", 1, 1))
    (holder,), (waiter,) = (now.resources["deploy/staging"][key] for key in ("holders", "waiters"))
    assert (holder["holder"], waiter["holder"]) == ("1001", "1002")
    assert holder["reason"] == "shop/web%2012ab34cd"
    code, _, err = shell.run(RECIPES["ci_deploy"], CI_JOB_ID="1001", **job)
    assert code == 75 and "(held)" in err
    shell.let_go(pid)
    assert shell.end(first)[0] == 0
    shell.let_go(shell.next_job()[0])
    assert shell.end(second)[0] == 0


def test_a_deploy_that_is_cancelled(shell):
    """SIGTERM for the step reaches the script, which may clean up; the status is its own."""
    shell.program("deploy.sh", """#!/bin/sh
trap 'echo cleaned; exit 3' TERM
echo "$$ deploy" >started
while :; do sleep 0.05; done
""")
    first = shell.start("exec " + RECIPES["ci_deploy"], CI_JOB_ID="1")
    shell.next_job()
    first.send_signal(signal.SIGTERM)
    assert shell.end(first)[:2] == (3, "cleaned\n")


def test_a_runner_that_is_killed(shell, daemon):
    """What runs on keeps its place; an operator ends it by the lease that status shows."""
    shell.program("deploy.sh")
    first = shell.start("exec " + RECIPES["ci_deploy"], CI_JOB_ID="1")
    shell.next_job()
    first.kill()
    first.wait(DEADLINE)
    (holder,) = status(shell.client).resources["deploy/staging"]["holders"]
    assert shell.run(f"berthctl revoke {holder['lease']}")[0] == 0
    asked_until(daemon, all_free)
    shell.end(first)


def test_builds_go_on_without_berthd(shell, daemon):
    shell.program("bin/make", '#!/bin/sh\necho "make $*" "$BERTH_NAME"\n')
    assert shell.run(RECIPES["ci_build"])[:2] == (0, "make -j4 build\n")
    daemon.stop()
    assert shell.run(RECIPES["ci_build"])[:2] == (0, "make -j4 \n")


# ---- GPU hosts

TRAIN = '#!/bin/sh\necho "$CUDA_VISIBLE_DEVICES"\n'


def test_gpus(shell):
    shell.program("train.py", TRAIN)
    shell.program("bin/bash", TRAIN)
    assert re.fullmatch(r"[0-3]\n", shell.run(RECIPES["gpu_one"])[1])
    assert re.fullmatch(r"[0-3],[0-3]\n", shell.run(RECIPES["gpu_two"])[1])
    assert re.fullmatch(r"[0-3]\n", shell.run(RECIPES["gpu_cores"])[1])
    assert re.fullmatch(r"[0-3]\n", shell.run(RECIPES["gpu_shell"])[1])


def test_two_gpus_for_each_user(shell, daemon):
    """The third job of one user waits, though a card is free."""
    shell.program("train.py")
    processes = [shell.start(RECIPES["gpu_one"]) for _ in range(3)]
    asked_until(daemon, holders_and_waiters("gpus", 2, 1))
    shell.run_all({"all": 3}, 2)
    assert [shell.end(process)[0] for process in processes] == [0, 0, 0]
    assert shell.run(RECIPES["gpu_two"].replace(":2", ":3"))[0] == 78


def test_a_gpu_out_of_service(shell):
    shell.program("train.py", TRAIN)
    assert shell.run(RECIPES["gpu_reserve"])[0] == 0
    used = {shell.run(RECIPES["gpu_one"])[1].strip() for _ in range(8)}
    assert used == {"0", "1", "2"}
    assert "fan, ticket 4711" in shell.run("berthctl status gpus")[1]
    assert shell.run(RECIPES["gpu_add"])[0] == 0
    used = {shell.run(RECIPES["gpu_one"])[1].strip() for _ in range(8)}
    assert used == {"0", "1", "2", "3"}


def test_slices(shell):
    out = shell.run("berth run slices --export CUDA_VISIBLE_DEVICES -- "
                    "sh -c 'echo $CUDA_VISIBLE_DEVICES'")[1]
    assert out.startswith("MIG-") and out.strip() in FILES["mig"]


# ---- maintenance

def test_drain(shell, daemon):
    shell.program("update.sh")
    job = daemon.client()
    job.send("acquire nightly\n")
    lease = job.line().split()[1]
    update = shell.start(RECIPES["drain"])
    asked_until(daemon, lambda now: now.draining)
    assert shell.run("berth run -n heavy -- true")[2].startswith("berth: this host grants nothing at present")
    waiting = shell.start("berth run heavy -- echo runs")
    asked_until(daemon, holders_and_waiters("heavy", 0, 1))
    assert job.request(f"release {lease}") == "ok"
    shell.let_go(shell.next_job()[0])
    assert shell.end(update)[0] == 0
    assert shell.end(waiting)[:2] == (0, "runs\n")


def test_a_drain_that_takes_too_long(shell, daemon):
    shell.program("update.sh")
    shell.client.request("acquire nightly")
    assert shell.run(RECIPES["drain"].replace("4h", "0.1"))[0] == 124
    assert status(shell.client).draining


@needs("jq")
def test_revoke_all(shell, daemon):
    shell.program("job")
    jobs = [shell.start(f"berth run {names} -- ./job") for names in ("nightly backup", "nightly", "x")]
    for _ in jobs:
        shell.next_job()
    assert shell.run(RECIPES["revoke_all"])[0] == 0
    assert [shell.end(job)[0] for job in jobs] == [124] * 3
    asked_until(daemon, all_free)


def test_pause(shell, daemon):
    assert shell.run(RECIPES["pause"])[0] == 0
    code, _, err = shell.run("berth run -n nightly -- true")
    assert code == 75 and "database update until 14:00" in err
    waiting = shell.start("berth run nightly -- true")
    asked_until(daemon, holders_and_waiters("nightly", 0, 1))
    assert shell.run(RECIPES["resume"])[0] == 0
    assert shell.end(waiting)[0] == 0


# ---- licences and rates

def test_licence(shell):
    """Each seat rests after its use, also if that has failed."""
    shell.program("simulate", "#!/bin/sh\nexit 4\n")
    for _ in range(3):
        assert shell.run(RECIPES["licence"])[0] == 4
    assert status(shell.client).resources["licence"]["cooling"] == "3"
    assert shell.run("berth run -n licence -- true")[0] == 75


def test_rate(shell, daemon):
    """Ten are begun; the eleventh waits for the minute to be over."""
    shell.program("fetch.sh", '#!/bin/sh\necho "$2" >started\n')
    process = shell.start("exec sh -c '" + RECIPES["rate"].replace("\n", "'"), customer="alice")
    with open(shell.path / "started", encoding="ascii") as started:
        assert [started.readline() for _ in range(10)] == [f"{i}\n" for i in range(1, 11)]
    now = asked_until(daemon, holders_and_waiters("api/alice", 0, 1))
    assert now.resources["api/alice"]["cooling"] == "10"
    os.killpg(process.pid, signal.SIGTERM)
    shell.end(process)
    assert shell.run("berth run -n api/bob -- true")[0] == 0


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
    """Three run; of those that wait, the important one is first."""
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


def test_only_at_night(shell):
    morning, evening = cron_commands("batch_window")
    assert shell.run(morning)[0] == 0
    code, _, err = shell.run("berth run -n night -- true")
    assert code == 75 and "closed" in err
    assert shell.run(evening)[0] == 0
    assert shell.run("berth run -n night -- true")[0] == 0


# ---- a shared login host

@pytest.fixture
def login(berthd):
    daemon = berthd(MAINS["login"].removeprefix("[daemon]\n"))
    with shell_for(daemon) as shell:
        shell.daemon = daemon
        yield shell


def test_login(login):
    """Two of each user run; who waits for himself is in nobody's way."""
    login.program("simulate")
    processes = [login.start(RECIPES["login"]) for _ in range(3)]
    now = asked_until(login.daemon, holders_and_waiters("big", 2, 1))
    assert now.resources["big"]["waiters"][0]["blocked"] == "quota"
    login.run_all({"all": 3}, 2)
    assert [login.end(process)[0] for process in processes] == [0] * 3


# ---- a berthd of one's own

def test_own(directory, monkeypatch):
    """Somebody's who is not root: his file, his socket."""
    home = directory / "home"
    for path in (home / ".config/berth", directory / "run/berth"):
        path.mkdir(parents=True)
    (home / ".config/berth/berth.conf").write_text(MAINS["own"])
    job = home / "job.sh"
    job.write_text("#!/bin/sh\nenv | grep ^BERTH_NAME\n")
    job.chmod(0o755)
    environ = {"HOME": str(home), "XDG_RUNTIME_DIR": str(directory / "run"),
               "PATH": f"{BUILD}:{os.environ['PATH']}"}
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", str(NOBODY), directory], check=True)

    def somebody():
        if os.geteuid() == 0:
            become(NOBODY)
        ready, to_daemon = os.pipe()
        berthd = subprocess.Popen([BUILD / "berthd", "--ready-fd", str(to_daemon)], env=environ,
                                  pass_fds=[to_daemon], stderr=subprocess.DEVNULL)
        os.close(to_daemon)
        try:
            assert os.read(ready, 1)
            done = subprocess.run(["sh", "-c", RECIPES["own"]], cwd=home, env=environ, text=True,
                                  capture_output=True, timeout=DEADLINE)
            assert (done.returncode, done.stdout) == (0, "BERTH_NAME=mine\n"), done.stderr
        finally:
            berthd.terminate()
            berthd.wait(DEADLINE)

    must_end_well(in_child(somebody))


# ---- coming from flock, sem, consul lock

RAN = "#!/bin/sh\necho ran\n"


def migrations():
    table = (SOURCE / DOCUMENT).read_text().partition("| | theirs | Berth's |\n")[2]
    rows = re.findall(r"^\| *([\w ]*?) *\| `(.*?)`.* \| `(.*?)`.* \|$", table, re.M)
    assert len(rows) > 15
    return rows


@pytest.mark.parametrize("command", [row[2] for row in migrations()])
def test_what_berth_has_for_it(shell, daemon, command):
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
THEIRS = [row[1] for row in migrations() if re.match(r"(exec 9.*)?flock|sem", row[1])]


@pytest.mark.parametrize("command", THEIRS)
def test_what_they_have(shell, command):
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

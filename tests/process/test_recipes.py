"""The recipes of doc/recipes.md, pasted: each runs as printed, with the files given there. Here
those for operators; test_recipes_shell.py and tests/systemd have the others."""

import re
import signal
import subprocess
import sys
import textwrap

import pytest

from daemon_help import status
from documents import SOURCE, blocks
from lines import DEADLINE
from lost_help import all_free, asked_until
from recipes import DOCUMENT, cron_commands, daemon, holders_and_waiters, needs, shell, shell_for

RECIPES = blocks(DOCUMENT, "recipe")


def test_each_is_run():
    """A name that no test uses is a recipe that nobody has tried."""
    tests = "".join(
        path.read_text() for path in (SOURCE / "tests").glob("*/test_recipes*.py"))
    names = [name for mark in ("recipe", "main", "unit") for name in blocks(DOCUMENT, mark)]
    assert len(names) > 30
    assert [name for name in names if f'"{name}"' not in tests and f"'{name}'" not in tests] == []


def test_links():
    """Each leads to a heading of this document, or to an existing file."""
    text = (SOURCE / DOCUMENT).read_text()
    headings = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
                for heading in re.findall(r"^## (.*)$", text, re.M)}
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert {link[1:] for link in links if link[0] == "#"} == headings
    assert all((SOURCE / "doc" / link.split("#")[0]).exists() for link in links if link[0] != "#")


# ---- cron

def test_cron_skips(shell):
    """Quietly, while the last run is still going."""
    shell.program("bin/tar")
    backup = cron_commands(RECIPES["cron"])[0]
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
    processes = [shell.start(command) for command in cron_commands(RECIPES["cron"])[1:]]
    shell.run_all({"all": 3}, 2)
    assert [shell.end(process) for process in processes] == [(0, "", "")] * 3


def test_cron_mails_what_matters(shell, daemon):
    backup = cron_commands(RECIPES["cron"])[0]
    shell.program("bin/tar", "#!/bin/sh\necho full >&2\nexit 2\n")
    assert shell.run(backup) == (2, "", "full\n")
    code, _, err = shell.run(backup.replace("backup", "nosuch"))
    assert code == 78 and "nosuch" in err
    daemon.stop()
    code, _, err = shell.run(backup)
    assert code == 69 and "cannot connect" in err


# ---- backups

def test_backups_take_turns(shell, daemon):
    backup, check = cron_commands(RECIPES["backups"])
    shell.program("bin/borg")
    first = shell.start(backup)
    pid, command = shell.next_job()
    assert command.endswith("borg create ::{now} /etc /home")
    code, _, err = shell.run(backup.replace("2h", "0.1"))
    assert code == 75 and "timed out waiting for offsite: held by " in err
    assert shell.run(check.replace("6h", "0.1")) == (0, "", "")
    second = shell.start(check)
    asked_until(daemon, holders_and_waiters("offsite", 1, 1))
    shell.let_go(pid)
    assert shell.end(first)[0] == 0
    pid, command = shell.next_job()
    assert command.endswith("borg check")
    shell.let_go(pid)
    assert shell.end(second)[0] == 0


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


def test_the_newest_build_of_a_branch(shell, daemon):
    shell.program("bin/make")
    branch = {"CI_PROJECT_PATH": "shop/web", "CI_COMMIT_REF_NAME": "main"}
    first = shell.start(RECIPES["ci_newest"], **branch)
    shell.next_job()
    second = shell.start(RECIPES["ci_newest"], **branch)
    assert shell.end(first)[0] == 124
    pid, command = shell.next_job()
    assert command.endswith("make -j4 check")
    other = shell.start(RECIPES["ci_newest"], CI_PROJECT_PATH="shop/web", CI_COMMIT_REF_NAME="fix")
    beside, _ = shell.next_job()
    asked_until(daemon, holders_and_waiters("build", 2, 0))
    for process, job in ((second, pid), (other, beside)):
        shell.let_go(job)
        assert shell.end(process)[0] == 0


def test_a_step_of_github(shell):
    shell.program("bin/make", '#!/bin/sh\necho "make $*" "$BERTH_NAME"\n')
    step = textwrap.dedent(RECIPES["ci_github"].partition("run: |\n")[2])
    said = shell.run(
        step, GITHUB_REPOSITORY="shop/web", GITHUB_JOB="test", GITHUB_STEP_SUMMARY="summary")
    assert said == (0, "make -j4 check build\n", "")
    summary = (shell.path / "summary").read_text()
    assert re.fullmatch(r"waited \d+ s for build\n", summary)


def test_a_step_of_gitlab(shell, daemon):
    shell.program("bin/make")
    step, = re.findall(r"^    - (.*)$", RECIPES["ci_gitlab"], re.M)
    process = shell.start(step, CI_PROJECT_PATH="shop/web", CI_JOB_NAME="test")
    pid, command = shell.next_job()
    assert command.endswith("make -j4 check")
    now = asked_until(daemon, holders_and_waiters("build", 1, 0))
    assert now.resources["build"]["holders"][0]["reason"] == "shop/web%20test"
    shell.let_go(pid)
    assert shell.end(process)[0] == 0


# ---- coding agents

def test_agents_take_turns(shell):
    shell.program("bin/cargo")
    processes = [shell.start(RECIPES["agents"]) for _ in range(4)]
    shell.run_all({"all": 4}, 2)
    assert [shell.end(process)[0] for process in processes] == [0] * 4


def test_an_agent_that_need_not_know(shell, daemon):
    """What it runs under the lease asks for no other one."""
    bin_, lib = shell.path / "bin", shell.path / "lib"
    text = RECIPES["agents_path"].replace("/usr/bin/cargo", str(bin_ / "cargo"))
    assert text.startswith("#!/bin/sh\n")
    shell.program("lib/cargo", text)
    shell.program("bin/cargo", '#!/bin/sh\necho "$1 $BERTH_NAME"\n[ "$1" = x ] || exec "$AGENTS" x\n')
    agents = {"AGENTS": str(lib / "cargo")}
    assert shell.run("$AGENTS test", **agents) == (0, "test agents\nx agents\n", "")
    daemon.stop()
    assert shell.run("$AGENTS x", **agents)[:2] == (0, "x \n")


# ---- notebooks

def test_notebook(shell, daemon):
    """The cells, by one process; it keeps the GPU over a restart."""
    cells = RECIPES["notebook"] + 'print(os.environ["CUDA_VISIBLE_DEVICES"], flush=True)\ninput()\n'
    release = RECIPES["notebook_release"] + "input()\n"
    for is_released in (True, False):
        kernel = subprocess.Popen(
            [sys.executable, "-c", cells + (release if is_released else "")], text=True, env=shell.environ,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with kernel:
            assert re.fullmatch(r"[0-3]\n", kernel.stdout.readline())
            daemon.stop()
            daemon.start()
            holder, = status(daemon.client()).resources["gpus"]["holders"]
            assert int(holder["pid"]) == kernel.pid
            if is_released:
                kernel.stdin.write("\n")
                kernel.stdin.flush()
            else:
                kernel.kill()
            asked_until(daemon, holders_and_waiters("gpus", 0, 0))
            kernel.kill()


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
    """A user's third job waits, though a card is free."""
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
    assert out.startswith("MIG-") and out.strip() in blocks(DOCUMENT, "conf")["mig"]


# ---- maintenance

def test_drain(shell, daemon):
    shell.program("update.sh")
    job = daemon.client()
    job.send("acquire nightly\n")
    lease = job.line().split()[1]
    update = shell.start(RECIPES["drain"])
    asked_until(daemon, lambda now: now.draining)
    assert shell.run("berth run -n heavy -- true")[2].startswith("berth: this host is being drained")
    waiting = shell.start("berth run heavy -- echo runs")
    asked_until(daemon, holders_and_waiters("heavy", 0, 1))
    assert job.request(f"release {lease}") == "ok"
    shell.let_go(shell.next_job()[0])
    assert shell.end(update)[0] == 0
    assert shell.end(waiting)[:2] == (0, "runs\n")


def test_a_drain_that_takes_too_long(shell, daemon):
    shell.program("update.sh")
    shell.client.request("acquire nightly")
    assert shell.run(RECIPES["drain"].replace("4h", "2"))[0] == 124
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


# ---- monitoring

@needs("jq")
def test_ended_well(shell, daemon):
    def said():
        code, out, err = shell.run(RECIPES["ended_well"])
        assert (code, err) == (0, "")
        return out

    assert "nothing of that has ended" in said()
    shell.run("berth run nightly -- true")
    shell.run("berth run x -- false")
    assert said() == ""
    assert shell.run("berth run nightly -- sh -c 'exit 3'")[0] == 3
    assert "  exit 3  " in said() and "  exit 0  " in said()


CHECK, TEXTFILE = (SOURCE / "doc/metrics" / name for name in ("check_berth", "berth-textfile"))


@pytest.fixture
def check(shell):
    return lambda *args: shell.run(" ".join([str(CHECK), *args]))[:2]


@needs("jq")
def test_check_warns(shell, daemon, check):
    assert check() == (0, "OK: 0 wait|waiting=0;;;0\n")
    job = daemon.client()
    job.send("acquire nightly:2\n")
    lease = job.line().split()[1]
    waiting = shell.start("berth run nightly -- true")
    asked_until(daemon, holders_and_waiters("nightly", 1, 1))
    assert check() == (0, "OK: 1 wait|waiting=1;;;0\n")
    assert check("0") == (1, "WARNING: nightly: one has waited for 0 minutes|waiting=1;;;0\n")
    assert check("0", "nightly") == (0, "OK: 0 wait|waiting=0;;;0\n")
    job.request(f"release {lease}")
    assert shell.end(waiting)[0] == 0
    for do, undo, says in [
            ("pause x --reason 'a | b'", "resume x", "x is paused (a   b)"),
            ("pause x", "resume x", "x is paused (no reason given)"),
            ("limit night 0", "reset night", "night is closed"),
            ("drain", "undrain", "this host is drained")]:
        assert shell.run(f"berthctl {do}")[0] == 0
        assert check() == (1, f"WARNING: {says}|waiting=0;;;0\n")
        assert shell.run(f"berthctl {undo}")[0] == 0
    assert check()[0] == 0


@needs("jq")
def test_check_is_critical(daemon, check):
    daemon.stop()
    code, said = check()
    assert code == 2 and said.startswith("CRITICAL: berthctl: cannot connect")


@needs("jq")
def test_check_of_a_database(berthd, directory):
    daemon = berthd(f"[redis]\nurl = unix://{directory}/nothing\n[lock l]\nscope = fleet\n")
    with shell_for(daemon) as shell:
        assert shell.run(str(CHECK))[:2] == (2, "CRITICAL: database default is down|waiting=0;;;0\n")
        assert shell.run(f"{TEXTFILE} .") == (0, "", "")
        assert 'berth_database_state{database="default",state="up"} 0\n' in (shell.path / "berth.prom").read_text()


def test_textfile(shell, daemon):
    shell.client.request("acquire nightly:2")
    shell.client.send("acquire nightly\n")
    asked_until(daemon, holders_and_waiters("nightly", 1, 1))
    assert shell.run(f"{TEXTFILE} .") == (0, "", "")
    lines = (shell.path / "berth.prom").read_text().splitlines()
    assert all(re.fullmatch(r'# .*|berth_\w+(\{(\w+="[^"]*",?)+\})? [0-9.]+', line) for line in lines)
    assert {"berth_up 1", "berth_draining 0", 'berth_held{resource="nightly"} 2',
            'berth_limit{resource="nightly"} 2', 'berth_waiting{resource="nightly"} 1',
            'berth_oldest_wait_seconds{resource="x"} 0.000000'} <= set(lines)
    daemon.stop()
    assert shell.run(f"{TEXTFILE} .") == (0, "", "")
    assert (shell.path / "berth.prom").read_text().splitlines()[-1] == "berth_up 0"
    assert [path.name for path in shell.path.glob("berth.prom*")] == ["berth.prom"]


# ---- configuration management

def test_a_fragment(shell, daemon, directory):
    text = RECIPES["ansible"]
    validate = re.search(r"validate: (.*)", text).group(1)
    reload = re.search(r"command: (.*)", text).group(1)

    def is_right(content):
        (shell.path / "tmp.new").write_text(content)
        return shell.run(validate.replace("%s", "tmp.new"))[0] == 0

    assert is_right("[semaphore etl]\nlimit = 4\n")
    assert not is_right("[semaphore etl]\nlimits = 4\n")
    assert is_right("[lock x]\n")  # though another file has it
    assert not is_right("[lock l]\nscope = fleet\n")
    fragment = directory / "conf.d" / "role.conf"
    fragment.write_text("[semaphore etl]\nlimit = 4\n")
    assert shell.run(reload)[0] == 0
    assert shell.run("berth run -n etl -- true")[0] == 0
    fragment.write_text("[semaphore etl]\nlimit = 3\n[lock x]\n")
    code, _, err = shell.run(reload)
    assert code == 78 and "role.conf" in err
    assert status(shell.client).resources["etl"]["limit"] == "4"

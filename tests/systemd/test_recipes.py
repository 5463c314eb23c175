"""The recipes of doc/recipes.md, of doc/fleet.md and of README.md that need a host with systemd and
the package: units, containers, a user's own daemon. As printed, under the names given there."""

import pytest

from conftest import Job, leases, status
from documents import blocks
from machine import DEADLINE
from programs import read_line
from readme import HOLD, OWN, OWN_FILE, SHOW, STATUS, WAIT, WAITING, without_particulars

DOCUMENT = "doc/recipes.md"
RECIPES = blocks(DOCUMENT, "recipe")
UNITS = blocks(DOCUMENT, "unit")
FILES = {f"/etc/berth/conf.d/{name}.conf": text for name, text in blocks(DOCUMENT, "conf").items()}

# The units that the drop-ins are for.
BASES = {
    "load-orders.service": "[Service]\nType=oneshot\nExecStart=/usr/local/bin/load-all orders\n",
    "load-stock.service": "[Service]\nType=oneshot\nExecStart=/usr/local/bin/load-all stock\n",
    "web@.service": "[Service]\nType=notify\nExecStart=/usr/local/bin/web %i\n",
}

LOAD = """#!/bin/sh
trap 'echo "stopped"; exit 0' TERM
echo "loads $1 as $(id -un)"
sleep infinity & wait
"""

WEB = """#!/bin/sh
systemd-notify --ready --status="serves $1"
exec sleep infinity
"""

# Stand-ins, whoever calls them; AS_ROOT is a setpriv that may do this.
AS_ROOT = "/usr/local/bin/as-root"
SUDO = f"""#!/bin/sh
exec {AS_ROOT} --reuid 0 --regid 0 --clear-groups -- "$@"
"""

# docker run --rm --user UID --gpus all [-v SOURCE:TARGET[:ro]]... -w DIRECTORY IMAGE COMMAND...: the image is this machine's own root,
# without /run and with a passwd of its own. Volumes are set aside first: /run covers some.
DOCKER = """#!/bin/sh
set -eu
if [ "$1" = run ]; then
    exec sudo unshare --mount --pid --fork --kill-child "$0" inside "$@"
fi
shift 3
user=$2 volumes=
shift 4
mkdir -p /tmp/aside
mount -t tmpfs tmpfs /tmp/aside
echo root:x:0:0::/root:/bin/sh >/tmp/aside/passwd
n=0
while [ "$1" = -v ]; do
    source=${2%%:*} target=${2#*:} target=${target%:ro}
    n=$((n + 1))
    if [ -d "$source" ]; then mkdir /tmp/aside/$n; else : >/tmp/aside/$n; fi
    mount --bind "$source" /tmp/aside/$n
    volumes="$volumes $n:$target"
    shift 2
done
work=$2
shift 3
mount -t tmpfs tmpfs /run
mount -t proc proc /proc
mount --bind /tmp/aside/passwd /etc/passwd
mount --bind /dev/null /usr/bin/berth
for volume in $volumes; do
    target=${volume#*:}
    [ -e "$target" ] || mkdir -p "$target"
    mount --bind "/tmp/aside/${volume%%:*}" "$target"
done
cd "$work"
exec setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
"""

TRAIN = """#!/bin/sh
echo "$(id -u) $CUDA_VISIBLE_DEVICES"
read _ || :
"""


PROGRAMS = {"load-all": LOAD, "web": WEB, "docker": DOCKER, "sudo": SUDO}
ENVIRON = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/bin"}


@pytest.fixture
def recipes(machine):
    """With all files of the document, and the programs that they name."""
    machine.run("install", "-m", "4755", "/usr/bin/setpriv", AS_ROOT)
    for path, text in FILES.items():
        machine.write(path, text)
    for name, text in PROGRAMS.items():
        machine.write(f"/usr/local/bin/{name}", text, 0o755)
    for name, text in {**BASES, **UNITS}.items():
        machine.write(f"/etc/systemd/system/{name}", text)
    machine.systemctl("daemon-reload")
    machine.systemctl("reload", "berthd.service")
    yield machine
    machine.run("systemctl", "stop", "load*", "web@*")
    for path in FILES:
        machine.outside(path).unlink()


@pytest.mark.parametrize("unit, of", [
    ("load-orders.service", "load-orders.service.d/berth.conf"),
    ("load-stock.service", "load-stock.service.d/berth.conf"),
    ("load@prices.service", "load@.service"),
    ("load@prices.timer", "load@.timer"),
    ("web@one.service", "web@.service.d/berth.conf"),
    ("night-window.service", "night-window.service"),
    ("night-window.timer", "night-window.timer"),
])
def test_verify_is_silent(recipes, unit, of):
    assert of in UNITS
    done = recipes.try_("systemd-analyze", "verify", "--man=no", unit)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---- README.md

def test_a_name_needs_neither_root_nor_a_file(machine):
    """With the installed file: two ordinary users, and the lines of README.md."""
    environ = {**ENVIRON, "LC_ALL": "C.UTF-8"}
    first = machine.start("sh", "-c", HOLD, user="alice", env=environ)
    machine.wait(lambda: leases(machine, "adhoc/report"), "the first one holds it")
    second = machine.start("sh", "-c", f"{WAIT.strip()} 2>&1", user="bob", env=environ)
    assert without_particulars(read_line(second.stdout) + "\n") == without_particulars(WAITING)
    assert without_particulars(machine.run("sh", "-c", SHOW, user="bob", env=environ)) == without_particulars(STATUS)
    holder, = leases(machine, "adhoc/report").values()
    machine.kill("TERM", holder)
    first.wait(DEADLINE)
    assert read_line(second.stdout).startswith("berth: got adhoc/report after ")
    assert read_line(second.stdout) == "my turn"
    assert second.wait(DEADLINE) == 0


def test_a_limit_of_one_s_own(recipes):
    try:
        assert recipes.run("sh", "-c", OWN, env=ENVIRON).splitlines()[-1] == "one of two"
        assert status(recipes, "db")["limit"] == 2
    finally:
        recipes.run("rm", OWN_FILE)
        recipes.systemctl("reload", "berthd.service")


# ---- doc/recipes.md

def test_a_check(recipes):
    """As the package installs it, and as the user of a monitor's agent."""
    for limit, code, said in [("1", 0, "OK: 0 wait|waiting=0;;;0\n"),
                              ("0", 1, "WARNING: loads is closed|waiting=0;;;0\n")]:
        recipes.run("berthctl", "limit", "loads", limit)
        done = recipes.try_("sh", "-c", RECIPES["check_berth"], user="bob")
        assert (done.returncode, done.stdout, done.stderr) == (code, said, "")
    recipes.run("berthctl", "reset", "loads")


def test_textfile(recipes):
    """What cron runs; a textfile collector finds nothing half-written."""
    directory = "/var/lib/prometheus/node-exporter"
    recipes.run("mkdir", "-p", directory)
    recipes.run("sh", "-c", RECIPES["textfile"].split(" root ")[1])
    assert "\nberth_up 1\n" in recipes.outside(f"{directory}/berth.prom").read_text()
    assert recipes.run("ls", directory) == "berth.prom\n"


@pytest.mark.parametrize("hour, is_open", [("21", False), ("22", True), ("06", True), ("07", False)])
def test_only_at_night(recipes, hour, is_open):
    """What the timer starts goes by the clock, whenever that is."""
    recipes.write("/usr/local/bin/date", f"#!/bin/sh\necho {hour}\n", 0o755)
    try:
        recipes.systemctl("start", "night-window")
        assert (status(recipes, "night")["limit"] > 0) == is_open
    finally:
        recipes.run("rm", "/usr/local/bin/date")
        recipes.run("berthctl", "reset", "night")


def test_as_many_as_processors(recipes):
    try:
        recipes.run("sh", "-c", RECIPES["processors"], env=ENVIRON)
        assert status(recipes, "processors")["limit"] == int(recipes.run("nproc"))
    finally:
        recipes.run("rm", "/etc/berth/conf.d/processors.conf")
        recipes.systemctl("reload", "berthd.service")


def messages(machine, unit):
    machine.run("journalctl", "--sync")
    return machine.run("journalctl", "-q", "-o", "cat", "-u", unit).splitlines()


def test_units_share_a_limit(recipes):
    """The third waits, and can be stopped; so can the others, which may clean up."""
    for unit in ("load-orders", "load@prices"):
        recipes.systemctl("start", "--no-block", unit)
    recipes.wait(lambda: len(leases(recipes, "loads")) == 2, "two that load")
    recipes.systemctl("start", "--no-block", "load@late")
    recipes.wait(lambda: any("waiting for loads" in line for line in messages(recipes, "load@late")), "what it says")
    assert recipes.property("load@late", "ActiveState") == "activating"
    assert status(recipes, "loads")["waiting"] == 1
    recipes.systemctl("stop", "load@late")
    assert status(recipes, "loads")["waiting"] == 0
    for unit in ("load-orders", "load@prices"):
        recipes.systemctl("stop", unit)
        assert "stopped" in messages(recipes, unit)
    assert leases(recipes, "loads") == {}


def test_a_unit_that_is_skipped(recipes):
    job = Job(recipes, "loads:2").begins()
    recipes.systemctl("start", "load-stock")
    assert recipes.property("load-stock", "Result") == "success"
    assert any("would-wait" in line for line in messages(recipes, "load-stock"))
    assert job.end() == 0


def test_notify(recipes):
    """berthd watches the service's own process, which reports itself when it is ready."""
    recipes.systemctl("start", "web@one")
    assert recipes.property("web@one", "StatusText") == "serves one"
    assert list(leases(recipes, "services").values()) == [recipes.main_pid("web@one")]
    lease, = leases(recipes, "services")
    recipes.systemctl("restart", "berthd.service")
    assert list(leases(recipes, "services")) == [lease]
    recipes.run("berthctl", "revoke", lease)
    recipes.wait(lambda: leases(recipes, "services") == {}, "its end")
    recipes.wait(lambda: recipes.property("web@one", "ActiveState") == "inactive", "a clean end for systemd")


def test_notify_waits(recipes, drop_in):
    """Waiting is part of starting: it is ended when that takes too long."""
    job = Job(recipes, "services:20").begins()
    drop_in("web@.service", "[Service]\nTimeoutStartSec=1s\n", "z.conf")
    assert recipes.try_("systemctl", "start", "web@two").returncode == 1
    assert recipes.property("web@two", "Result") == "timeout"
    assert job.end() == 0


def start_container(recipes):
    """As alice: the process, and its job's output."""
    recipes.write("/home/alice/train", TRAIN, 0o755)
    job = recipes.start("sh", "-c", f"cd; exec {RECIPES['container']}", user="alice", env={**ENVIRON, "HOME": "/home/alice"})
    return job, read_line(job.stdout)


def test_a_container(recipes):
    """It finds berthd through the directory, also after berthd was restarted with another socket,
    and trusts it, though it knows no user berth."""
    job, said = start_container(recipes)
    uid, item = said.split()
    assert uid == "2001" and item in "0123"
    holder, = status(recipes, "gpus")["holders"]
    assert (holder["uid"], holder["bound"]) == (2001, "connection")
    for verb in ("stop", "start"):
        recipes.systemctl(verb, "berthd.socket", "berthd.service")
    holder, = recipes.wait(
        lambda: [holder for holder in status(recipes, "gpus")["holders"] if not holder.get("away")], "it is back")
    assert holder["bound"] == "connection"
    job.stdin.close()
    assert job.wait(DEADLINE) == 0
    assert leases(recipes, "gpus") == {}


def test_a_container_that_is_killed(recipes):
    """Its first process is `berth`: nothing in the container outlives that."""
    job, _ = start_container(recipes)
    holder, = status(recipes, "gpus")["holders"]
    recipes.run("sh", "-c", f"kill -KILL {holder['pid']}")
    assert job.stdout.read() == b""  # nobody has it open any more
    recipes.wait(lambda: leases(recipes, "gpus") == {}, "its end")


def test_a_user_s_own(recipes):
    """With `systemctl --user`, and a manager that lingers."""
    environ = {**ENVIRON, "XDG_RUNTIME_DIR": "/run/user/2001", "HOME": "/home/alice", "USER": "alice"}
    recipes.systemctl("start", "user@2001")
    for directory in ("/home/alice/.config", "/home/alice/.config/berth"):
        recipes.run("install", "-d", "-o", "alice", "-g", "alice", directory)
    recipes.write("/home/alice/.config/berth/berth.conf", blocks(DOCUMENT, "main")["own"])
    recipes.write("/home/alice/job.sh", "#!/bin/sh\necho $BERTH_NAME\n", 0o755)
    recipes.run("sh", "-c", RECIPES["own_unit"], user="alice", env=environ)
    out = recipes.run("sh", "-c", "cd && " + RECIPES["own"], user="alice", env=environ)
    assert out == "mine\n"
    assert "Linger=yes" in recipes.run("loginctl", "show-user", "alice")


def test_tcp(recipes):
    """The network is open, and the password is handed over."""
    recipes.run("sh", "-c", blocks("doc/fleet.md", "recipe")["tcp"], env=ENVIRON)
    try:
        assert recipes.property("berthd.service", "RestrictAddressFamilies") == "AF_INET AF_INET6 AF_UNIX"
        assert recipes.property("berthd.service", "PrivateNetwork") == "no"
        assert recipes.read(f"/proc/{recipes.main_pid()}/root/run/credentials/berthd.service/redis") == "SECRET\n"
        assert recipes.run("berth", "run", "x", "--", "echo", "runs") == "runs\n"
    finally:
        recipes.run("rm", "-r", "/etc/systemd/system/berthd.service.d", "/etc/berth/redis.password")
        recipes.systemctl("daemon-reload")
        recipes.systemctl("restart", "berthd.service")

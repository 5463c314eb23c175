"""berth flock: the command line of flock(1), with a lease, and with the file's own lock, which excludes those who
use flock(1). util-linux's own test of flock is the model of test_as_flock_is_tried."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from resource import RLIMIT_NOFILE, RLIMIT_SIGPENDING, setrlimit

import pytest

from conftest import error_of, read_line
from daemon_help import NOBODY, become, connect_as, held, in_child, must_end_well, needs_root, refused, status
from fake_berthd import FakeBerthd
from lines import DEADLINE, until

CONFIG = "[lock flock/*]\nown-names = yes\nshared = 1000\n[lock deploy]\n"
HOLDS = ("sh", "-c", "echo began; read line")


@pytest.fixture
def file(directory):
    return directory / "lock"


def name_of(file, uid=None):
    found = os.stat(file)
    return f"flock/{os.getuid() if uid is None else uid}-{found.st_dev}-{found.st_ino}"


def holding(berth, *words, **options):
    """A berth flock whose job runs until its stdin is closed."""
    process = berth.start("flock", *words, *HOLDS, stdin=subprocess.PIPE, **options)
    assert read_line(process.stdout) == "began"
    return process


def let_go(process):
    process.stdin.close()
    process.stdin = None
    assert process.wait(DEADLINE) in (0, 1)  # `read` has seen the end


class Taken:
    """The file's own lock, as another program has it."""

    def __init__(self, file, operation=fcntl.LOCK_EX):
        self.file = open(file, "a")
        fcntl.flock(self.file, operation | fcntl.LOCK_NB)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()


def is_taken(file):
    try:
        with Taken(file):
            return False
    except BlockingIOError:
        return True


def holder(client, file):
    """The keys of the lease's holder; None: nobody has it."""
    resource = status(client).resources.get(name_of(file))
    return resource["holders"][0] if resource and resource["holders"] else None


def n_waiting(client, file):
    resource = status(client).resources.get(name_of(file))
    return len(resource["waiters"]) if resource else 0


# ---- the lease and the file's lock

def test_a_lease_and_the_lock(berth, client, file):
    process = holding(berth, file)
    lease = holder(client, file)
    assert lease["reason"] == str(file) and lease["program"] == "sh"
    assert is_taken(file)
    let_go(process)
    until(lambda: holder(client, file) is None)
    assert not is_taken(file)


def test_the_reason_is_the_whole_path(berth, client, directory, file):
    process = holding(berth, "lock", cwd=directory)
    assert holder(client, file)["reason"] == str(file)
    let_go(process)


def test_a_conflict(berth, daemon, file):
    process = holding(berth, file)
    for words, code in (["-n"], 1), (["--nb"], 1), (["--nonblock", "-E", "7"], 7), (["-w", "0"], 1), (
            ["-w", ".05"], 1), (["--wait", "0.05", "--conflict-exit-code=0"], 0), (["--timeout=.05"], 1), (["-Fn"], 1), (
            ["--excl", "--nonbl"], 1), (["-e", "-n"], 1):
        done = berth("flock", *words, file, "echo", "ran")
        assert (done.returncode, done.stdout, done.stderr) == (code, "", ""), words
    done = berth("flock", "--verbose", "-n", file, "true")
    assert done.returncode == 1 and "held by pid" in done.stderr
    let_go(process)


@pytest.mark.parametrize("fork", [[], ["-F"]])
def test_those_who_use_flock(berth, client, file, fork):
    """They are excluded, and exclude; the lease waits for nobody."""
    with Taken(file):
        for words, code in (["-n"], 1), (["-w", ".05"], 1), (["-n", "-E", "0"], 0), (["-w", ".05", "-E", "0"], 0):
            done = berth("flock", *fork, *words, file, "echo", "ran")
            assert (done.returncode, done.stdout, done.stderr) == (code, "", ""), words
        for words in ["-n", "-w", "60"], ["-w60", "-n"], ["-nw", "60"]:
            assert berth("flock", *fork, *words, file, "true").returncode == 1
        begun = time.monotonic()
        done = berth("flock", *fork, "--verbose", "-w", "0.3", "-E", "9", file, "true")
        assert done.returncode == 9 and done.stderr.endswith(f"berth: {file}: its lock is taken\n")
        assert time.monotonic() - begun >= 0.3
        process = berth.start("flock", *fork, "-w", "60", file, "echo", "ran")
        until(lambda: holder(client, file))
    assert process.communicate(timeout=DEADLINE) == (b"ran\n", b"") and process.returncode == 0


@pytest.mark.parametrize("fork", [[], ["-F"]])
def test_no_room_for_a_timer(berth, daemon, file, fork):
    """It is no conflict."""
    with Taken(file):
        done = berth("flock", *fork, "-w", "60", file, "true",
                     preexec_fn=lambda: setrlimit(RLIMIT_SIGPENDING, (0, 0)))
    assert (done.returncode, done.stderr) == (71, f"berth: {file}: Cannot allocate memory\n")


def test_one_timeout_covers_both(berth, client, file):
    """What the wait for the lease has taken is not there for the file's lock."""
    file.touch()
    lease = held(client, f"acquire {name_of(file)}")
    with Taken(file):
        process = berth.start("flock", "-w", "2", file, "echo", "ran")
        until(lambda: n_waiting(client, file) == 1)
        began = time.monotonic()
        until(lambda: time.monotonic() >= began + 1.5)
        assert client.request(f"release {lease}").startswith("ok")
        released = time.monotonic()
        assert process.wait(DEADLINE) == 1
        assert time.monotonic() < released + 2
    assert process.stdout.read() == b""


def test_why(berth, berthctl, client, file):
    with Taken(file):
        first = berth.start("flock", file, "true")
        lease = until(lambda: holder(client, file))
        words = f"its job waits for the file's lock, which process {os.getpid()} has taken"
        until(lambda: words in berthctl("why", str(lease["lease"])).stdout)
        assert words in berthctl("why", str(first.pid)).stdout
        second = berth.start("flock", file, "true")
        until(lambda: n_waiting(client, file) == 1)
        assert words in berthctl("why", str(second.pid)).stdout
    assert first.wait(DEADLINE) == second.wait(DEADLINE) == 0


def waits_for_lock_of(file):
    with open("/proc/locks", encoding="ascii") as locks:
        return any("->" in line and f":{file.stat().st_ino} " in line for line in locks)


def test_why_of_other_leases(berth, berthctl, client, file):
    """It does not look whether their jobs wait so: that takes long."""
    waits = "import fcntl; print('began', flush=True); fcntl.flock(open('lock'), fcntl.LOCK_EX)"
    with Taken(file):
        process = berth.start("run", "deploy", "--", sys.executable, "-c", waits)
        assert read_line(process.stdout) == "began"
        until(lambda: waits_for_lock_of(file))
        said = berthctl("why", "deploy").stdout
        assert "has held deploy" in said and "file" not in said
    assert process.wait(DEADLINE) == 0


def test_in_order(berth, client, file, directory):
    """First come, first served, which the file's lock alone does not promise."""
    first = holding(berth, file)
    others = []
    for i in range(6):
        others.append(berth.start("flock", file, "sh", "-c", f"echo {i} >> order"))
        until(lambda: n_waiting(client, file) == i + 1)
    let_go(first)
    assert [process.wait(DEADLINE) for process in others] == [0] * 6
    assert (directory / "order").read_text().split() == [str(i) for i in range(6)]


CROWD = """
n=$(cat n); case $n in *x) touch two; esac
echo ${n}x >n; echo $((n + 1)) >n
"""


def test_a_crowd_of_both(berth, daemon, file, directory):
    """Never two at once, whoever uses what."""
    (directory / "n").write_text("0\n")
    flock = shutil.which("flock")
    started = []
    for i in range(24):
        words = [[], ["-F"], ["-o"]][i % 3]
        started.append(berth.start("flock", *words, file, "sh", "-c", CROWD))
        if i % 2 and flock:
            started.append(subprocess.Popen([flock, file, "sh", "-c", CROWD], cwd=directory))
    assert [process.wait(DEADLINE) for process in started] == [0] * len(started)
    assert int((directory / "n").read_text()) == len(started)
    assert not (directory / "two").exists()


# ---- shared

def test_shared(berth, daemon, file):
    process = holding(berth, "-s", file)
    assert berth("flock", "-sn", file, "true").returncode == 0
    assert berth("flock", "-s", "-x", "-n", file, "true").returncode == 1
    assert berth("flock", "-n", file, "true").returncode == 1
    with Taken(file, fcntl.LOCK_SH):
        let_go(process)
        assert berth("flock", "--shared", "--nonblock", file, "true").returncode == 0
    process = holding(berth, "-x", file)
    assert berth("flock", "-s", "-w", ".05", file, "true").returncode == 1
    let_go(process)


def test_shared_in_order(berth, client, file):
    """Readers share the lease; one who comes after a writer waits for it."""
    readers = [holding(berth, "-s", file) for _ in range(2)]
    assert len(status(client).resources[name_of(file)]["holders"]) == 2
    writer = berth.start("flock", file, "sh", "-c", "echo writer >>order")
    until(lambda: n_waiting(client, file) == 1)
    late = berth.start("flock", "-s", file, "sh", "-c", "echo reader >>order")
    until(lambda: n_waiting(client, file) == 2)
    assert berth("flock", "-sn", file, "true").returncode == 1
    for reader in readers:
        let_go(reader)
    assert writer.wait(DEADLINE) == late.wait(DEADLINE) == 0
    assert (berth.directory / "order").read_text() == "writer\nreader\n"


# ---- without berthd, or the name

def alone(berth, file, words):
    """The file's lock is taken all the same, with one warning."""
    process = holding(berth, file)
    assert is_taken(file)
    done = berth("flock", "-n", file, "echo", "ran")
    assert (done.returncode, done.stdout) == (1, "")
    let_go(process)
    warned = process.stderr.read().decode()
    assert warned.count("\n") == 1 and warned.endswith("; taking the file's own lock alone\n")
    assert words in warned


def test_no_berthd(berth, file):
    alone(berth, file, "cannot connect to")


def test_an_unknown_name(berth, berthd, file):
    berthd("[lock deploy]\n")
    alone(berth, file, "no such resource (unknown)")


@pytest.mark.parametrize("bound", ["max-leases-per-user = 1", "max-instances-per-user = 0"])
def test_a_bound(berth, berthd, file, bound):
    daemon = berthd(f"{bound}\n{CONFIG}")
    assert daemon.client().request("acquire deploy").startswith("ok")
    alone(berth, file, "(quota)")


def test_a_full_queue(berth, berthd, file):
    berthd(CONFIG.replace("yes", "yes\nmax-waiters = 0"))
    first = holding(berth, file)
    second = berth.start("flock", file, "echo", "ran")
    assert "(queue-full)" in read_line(second.stderr)
    let_go(first)
    assert second.communicate(timeout=DEADLINE)[0] == b"ran\n"


def test_berthd_goes_away_while_it_waits(berth, daemon, client, file):
    first = holding(berth, file)
    second = berth.start("flock", "--down-after", "0.5", file, "echo", "ran")
    until(lambda: n_waiting(client, file) == 1)
    daemon.stop()
    assert "taking the file's own lock alone" in read_line(second.stderr)
    assert second.poll() is None
    let_go(first)
    assert second.communicate(timeout=DEADLINE)[0] == b"ran\n"


def test_berthd_restarts_while_it_waits(berth, daemon, client, file):
    """The place is kept."""
    first = holding(berth, file)
    second = berth.start("flock", file, "echo", "ran")
    until(lambda: n_waiting(client, file) == 1)
    daemon.stop()
    daemon.start()
    other = daemon.client()
    until(lambda: n_waiting(other, file) == 1)
    let_go(first)
    assert second.communicate(timeout=DEADLINE) == (b"ran\n", b"")


def test_a_pause_is_a_conflict(berth, daemon, client, file):
    assert client.request("pause flock/*").startswith("ok")
    assert berth("flock", "-n", file, "true").returncode == 1


# ---- whose names they are

@needs_root
def test_nobody_takes_another_s_name(daemon, file):
    """Not even one who may open the file."""
    file.touch()
    other = connect_as(daemon, NOBODY)
    assert refused(other, f"acquire {name_of(file, 0)}") == "forbidden"
    assert refused(other, f"acquire {name_of(file, 6553)}") == "forbidden"
    assert refused(other, "acquire flock/65534") == "forbidden"
    assert other.request(f"acquire {name_of(file, NOBODY)}").startswith("ok")
    assert daemon.client().request(f"acquire {name_of(file, NOBODY)}-1").startswith("ok"), "an admin may"


@needs_root
def test_between_users(berth, daemon, file, directory):
    """Only the file's own lock excludes: each user has a lease."""
    file.touch()
    file.chmod(0o444)
    directory.chmod(0o1777)  # where fs.protected_regular may refuse O_CREAT
    process = holding(berth, file)

    def somebody():
        become(NOBODY)
        assert berth("flock", "-n", file, "true").returncode == 1
        assert berth("flock", "-w", "0.1", file, "true").returncode == 1
        assert berth("flock", "-n", directory / "new", "true").returncode == 0
        done = berth("flock", "-n", "/usr/new", "true")
        assert (done.returncode, done.stderr) == (66, "berth: cannot open /usr/new: Permission denied\n")

    must_end_well(in_child(somebody))
    let_go(process)


# ---- files

def test_files(berth, daemon, directory, file):
    old = os.umask(0o002)
    try:
        assert berth("flock", file, "true").returncode == 0
    finally:
        os.umask(old)
    assert file.stat().st_mode & 0o7777 == 0o664
    assert berth("flock", directory, "true").returncode == 0
    (directory / "link").symlink_to(file)
    process = holding(berth, "link", cwd=directory)
    assert berth("flock", "-n", file, "true").returncode == 1
    let_go(process)


@pytest.mark.parametrize("name", [b"a b%\n", b"\xff\xc3", "ä€".encode(), b"x" * 250])
def test_any_path(berth, client, directory, name):
    """A path that is too long for a reason is cut."""
    within = directory / "d".rjust(200, "d")
    within.mkdir()
    file = os.fsencode(within) + b"/" + name
    process = holding(berth, file)
    assert holder(client, file)
    let_go(process)
    assert process.stderr.read() == b""


def test_a_reader_opens_it(berth, daemon, file):
    """Who watches a file for writers, as udev does, hears of none."""
    done = berth("flock", file, "cat", "/proc/self/fdinfo/3")
    flags = int(re.search(r"flags:\s*(\d+)", done.stdout)[1], 8)
    assert flags & os.O_ACCMODE == os.O_RDONLY


@pytest.mark.parametrize("words, code, said", [
    (["none/lock", "true"], 66, "cannot open none/lock: No such file or directory"),
    (["lock", "no-such-program"], 69, "no-such-program: No such file or directory"),
    (["lock", "/"], 69, "/: Permission denied"),
    (["lock", "echo a; echo b"], 69, "to run a shell command line: -c '...'\n"),
    (["9"], 64, "FILE and COMMAND are required"),
    (["-u", "9"], 64, "use flock(1)"),
    (["-u", "lock", "true"], 64, "use flock(1)"),
    ([], 64, "FILE and COMMAND are required"),
    (["-o", "-F", "lock", "true"], 64, "cannot be combined"),
    (["lock", "-c", "true", "x"], 64, "-c needs exactly one argument"),
    (["lock", "--command"], 64, "--command needs exactly one argument"),
    (["-E", "256", "lock", "true"], 64, "not an exit status"),
    (["-w", "x", "lock", "true"], 64, "not a duration"),
    (["--x", "lock", "true"], 64, "no such option"),
])
def test_what_is_wrong(berth, daemon, words, code, said):
    done = berth("flock", *words)
    assert done.returncode == code and done.stdout == "" and said in done.stderr


# ---- the job

def test_its_options_are_its_own(berth, daemon, file):
    assert berth("flock", "-n", file, "echo", "-n", "-w", "--").stdout == "-w --"
    assert berth("flock", "--", file, "printf", "%s.", "--help").stdout == "--help."


@pytest.mark.parametrize("n", [5, 6, 7])
def test_no_descriptors(berth, daemon, file, n):
    done = berth("flock", file, "true", preexec_fn=lambda: setrlimit(RLIMIT_NOFILE, (n, n)))
    assert done.returncode == 71 and "Too many open files" in done.stderr


@pytest.mark.parametrize("fork", [[], ["-F"]])
def test_one_that_exec_refuses(berth, daemon, file, directory, fork):
    """It is seen too late for berth to say so before it waits."""
    (directory / "job").write_text("#!/no/such/shell\n")
    (directory / "job").chmod(0o755)
    done = berth("flock", *fork, file, "./job")
    assert (done.returncode, done.stderr) == (69, "berth: ./job: No such file or directory\n")


def test_a_line_for_the_shell(berth, daemon, file, directory):
    assert berth("flock", file, "-c", "echo $0; exit 3").returncode == 3
    shell = directory / "shell"
    shell.write_text('#!/bin/sh\necho "mine: $*"\n')
    shell.chmod(0o755)
    assert berth("flock", file, "--command", "a b", env={"SHELL": str(shell)}).stdout == "mine: -c a b\n"
    assert berth("flock", file, "-c", "echo $((1 + 1))", env={"SHELL": ""}).stdout == "2\n"


def test_its_environment_is_as_it_was(berth, daemon, file):
    """Of a job of `berth run`, say, whose units it needs."""
    ours = {"BERTH_ITEM": "gpu3", "BERTH_LEASE": "9"}
    for words in [], ["-F"], ["-s"]:
        done = berth("flock", *words, file, "sh", "-c", "env | grep BERTH_ | LC_ALL=C sort", env=ours)
        assert done.stdout.splitlines() == [
            "BERTH_ITEM=gpu3", "BERTH_LEASE=9", f"BERTH_SOCKET={berth.environ['BERTH_SOCKET']}"]


def test_the_descriptor(berth, daemon, file):
    def is_open(*words):
        done = berth("flock", *words, file, "sh", "-c", "ls -l /proc/self/fd")
        assert done.returncode == 0
        return str(file) in done.stdout
    assert is_open() and is_open("-F") and is_open("-s")
    assert not is_open("-o") and not is_open("--close", "-s")


def test_ends_by_a_signal(berth, daemon, file):
    assert berth("flock", file, "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM
    assert berth("flock", "-F", file, "sh", "-c", "exit 5").returncode == 5


def test_without_a_fork(berth, client, file):
    process = holding(berth, "--no-fork", file)
    assert int(holder(client, file)["pid"]) == process.pid
    let_go(process)
    until(lambda: holder(client, file) is None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("words", [[], ["-w", "60"], ["-F"], ["-F", "-w", "60"]])
def test_a_signal_while_it_waits_for_the_file(berth, client, file, words, number):
    with Taken(file):
        process = berth.start("flock", *words, file, "echo", "ran")
        until(lambda: holder(client, file))
        process.send_signal(number)
        assert process.communicate(timeout=DEADLINE) == (b"", b"")
        assert process.returncode == -number
        until(lambda: holder(client, file) is None)


def test_revoked_while_it_waits_for_the_file(berth, client, file):
    with Taken(file):
        process = berth.start("flock", file, "echo", "ran")
        lease = until(lambda: holder(client, file))
        assert client.request(f"revoke {lease['lease']}").startswith("ok")
        assert "revoked" in error_of(process, 124)
        assert process.stdout.read() == b""


ALARMED = """
import os, signal, sys
blocked, ignored = sys.argv[1] == "blocked", sys.argv[1] == "ignored"
signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGALRM] if blocked else [])
signal.signal(signal.SIGALRM, signal.SIG_IGN if ignored else signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.parametrize("state", ["plain", "blocked", "ignored"])
def test_its_alarm_is_as_it_was(berth, client, file, state):
    """The timeout is over in time whatever was done to SIGALRM, and the job does not notice."""
    show = [sys.executable, "-c", "print(*(line.split()[1] for line in open('/proc/self/status')"
            " if line.startswith(('SigBlk', 'SigIgn'))))"]
    command = [sys.executable, "-c", ALARMED, state]
    flock = [*command, berth.path, "flock", "-w"]
    options = {"env": berth.environ, "cwd": berth.directory, "text": True, "timeout": DEADLINE}
    with Taken(file):
        begun = time.monotonic()
        assert subprocess.run([*flock, "0.3", file, "true"], **options).returncode == 1
        assert time.monotonic() - begun < 5
        process = subprocess.Popen([*flock, "60", file, *show], stdout=subprocess.PIPE, text=True,
                                   env=berth.environ, cwd=berth.directory)
        berth.started.append(process)
        until(lambda: holder(client, file))
    plain = subprocess.run([*command, *show], stdout=subprocess.PIPE, **options).stdout
    assert process.communicate(timeout=DEADLINE)[0] == plain


# ---- who is left

def test_a_killed_wrapper(berth, client, file):
    """The job goes on, with its lease and the file's lock."""
    process = holding(berth, file)
    process.kill()
    process.wait(DEADLINE)
    assert is_taken(file)
    assert berth("flock", "-n", file, "true").returncode == 1
    process.stdin.close()
    process.stdin = None
    until(lambda: holder(client, file) is None)
    until(lambda: not is_taken(file))


def test_a_killed_wrapper_with_close(berth, client, file):
    """Nobody has the file open any more: its lock is free while the job runs. The lease excludes."""
    process = holding(berth, "-o", file)
    assert is_taken(file)
    process.kill()
    process.wait(DEADLINE)
    assert not is_taken(file)
    assert berth("flock", "-n", file, "true").returncode == 1
    process.stdin.close()
    process.stdin = None
    until(lambda: holder(client, file) is None)


def test_a_wrapper_killed_while_it_waits_for_the_file(berth, client, file, directory):
    """The job never begins."""
    with Taken(file):
        process = berth.start("flock", file, "touch", "ran")
        until(lambda: holder(client, file))
        process.kill()
        process.wait(DEADLINE)
        until(lambda: holder(client, file) is None)
    assert berth("flock", file, "true").returncode == 0
    assert not (directory / "ran").exists()


def test_a_descriptor_that_is_left(berth, client, file):
    """What the job leaves behind keeps the file's lock, but no lease."""
    process = berth.start("flock", file, "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!", stdin=-1)
    left = int(read_line(process.stdout))
    assert process.wait(DEADLINE) == 0
    until(lambda: holder(client, file) is None)
    assert is_taken(file)
    assert berth("flock", "-n", file, "true").returncode == 1
    os.kill(left, signal.SIGKILL)
    until(lambda: not is_taken(file))


# ---- what berthd is asked

def test_the_lock_before_the_job(berth, fake, file):
    """The lease first."""
    process = berth.start("flock", "-w", "5", file, "echo", "ran")
    peer, words = fake.asked()
    assert words[1] == f"{name_of(file)}:1" and f"reason={file}".replace("/", "%2F") in [
        word.replace("/", "%2F") for word in words]
    assert not is_taken(file)
    peer.send(f"ok 1 slot={name_of(file)},5,0\n")
    assert peer.line() == "release 1 exit=0"
    assert process.communicate(timeout=DEADLINE) == (b"ran\n", b"")


def test_a_busy_berthd(berth, file, directory):
    fake = FakeBerthd(directory / "s")
    process = berth.start("flock", "--down-after", "0.2", file, "echo", "ran")
    fake.asked()
    out, err = process.communicate(timeout=DEADLINE)
    assert (out, err) == (b"ran\n", b"berth: berthd does not answer; taking the file's own lock alone\n")
    fake.close()


# ---- as util-linux tries it

@pytest.mark.parametrize("is_there", [True, False])
def test_as_flock_is_tried(berth, berthd, file, is_there):
    daemon = berthd(CONFIG) if is_there else None
    first = berth.start("flock", "--shared", file, "sh", "-c", "echo Locking; read _; echo Unlocking", stdin=-1)
    assert read_line(first.stdout) == "Locking"
    for words, code in (
            (["--nonblock", "--conflict-exit-code", "123"], 123),
            (["--no-fork", "--nonblock", "--conflict-exit-code", "123"], 123),
            (["--shared"], 0),
            (["--nonblock", "--exclusive", "--conflict-exit-code", "123"], 123)):
        done = berth("flock", *words, file, "echo", "said")
        assert (done.returncode, done.stdout) == (code, "said\n" if code == 0 else ""), words
    last = berth.start("flock", "--timeout", "30", "--conflict-exit-code", "5", file, "echo", "said")
    until(lambda: n_waiting(daemon.client(), file) == 1 if daemon else waits_for_lock_of(file))
    assert first.communicate(timeout=DEADLINE)[0] == b"Unlocking\n"
    assert last.communicate(timeout=DEADLINE)[0] == b"said\n" and last.returncode == 0

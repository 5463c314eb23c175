"""berthd starts, refuses to start, and stops: no file of others is lost, nothing is left behind."""

import os
import shutil
import signal
import socket
import stat
import subprocess
from datetime import datetime, timedelta, timezone

import pytest

from conftest import BUILD, Berthd
from daemon_help import NOBODY, SANITIZED, held, is_quiet, needs_root, untimed, waits
from lines import DEADLINE, Client

CONFIG = "[lock a]\n"


def configuration(directory, text="", socket_path=None):
    path = directory / "berth.conf"
    path.write_text(f"[daemon]\nsocket = {socket_path or directory / 's'}\n{text}")
    return path


def run(*args, program=BUILD / "berthd", stdout="", **options):
    """Runs a berthd that must end by itself, with that on its stdout: (status, messages)."""
    done = subprocess.run([program, *args], stdin=subprocess.DEVNULL, text=True,
        capture_output=True, timeout=DEADLINE, **options)
    assert done.stdout == stdout
    return done.returncode, done.stderr


def listening(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(path))
    sock.listen()
    return sock


# ---- the configuration


def test_check_of_a_good_file(directory):
    path = configuration(directory, "[lock a]\n")
    assert run("-c", path, "--check", stdout="OK: 1 resource\n") == (0, "")
    assert not (directory / "s").exists() and not (directory / "s.lock").exists()


@pytest.mark.parametrize("check", [["--check"], []], ids=["check", "start"])
def test_a_bad_file(directory, check):
    """All errors, with file and line, and nothing is touched."""
    path = configuration(directory, "colour = red\n[semaphore a]\n[lock b]\nlimit = 2\n")
    status, said = run("-c", path, *check)
    assert status == 78
    lines = (said if check else untimed(said)).splitlines()
    assert [line.startswith(f"berthd: {path}:") for line in lines] == [True] * 3
    assert "colour" in lines[0] and "[semaphore a]" in lines[1] and "[lock b]" in lines[2]
    assert os.listdir(directory) == ["berth.conf"]


def test_the_log_has_the_time(directory):
    began = datetime.now(timezone.utc) - timedelta(milliseconds=1)
    status, said = run("-c", directory / "none", env={**os.environ, "TZ": "XYZ-5:30"})
    assert status == 78 and untimed(said).startswith(f"berthd: {directory / 'none'}")
    when = said.split()[0]
    assert when.endswith("+05:30") and began <= datetime.fromisoformat(when) <= datetime.now(timezone.utc)


@pytest.mark.parametrize("args", [
    ["--colour"], ["extra"], ["-c"], ["--ready-fd"], ["--ready-fd", "x"], ["--ready-fd", "-1"],
    ["--ready-fd", ""]], ids=str)
def test_usage(args):
    status, said = run(*args)
    assert status == 64 and "usage: berthd" in said


def test_help_and_version():
    for option, word in (("--help", "usage"), ("--version", "berthd 0")):
        done = subprocess.run([BUILD / "berthd", option], text=True, capture_output=True)
        assert done.returncode == 0 and done.stdout.startswith(word) and done.stderr == ""


# ---- one daemon for one socket


def test_a_second_one_is_refused(daemon, client, directory):
    held(client, "acquire a")
    inode = os.stat(daemon.socket).st_ino
    status, said = run("-c", daemon.config)
    assert status == 69
    assert untimed(said) == f"berthd: {daemon.socket}: another berthd serves it\n"
    assert os.stat(daemon.socket).st_ino == inode
    assert is_quiet(client) and is_quiet(daemon.client())
    daemon.kill()  # lock file and socket are still there, and belong to nobody
    assert (directory / "s").exists() and (directory / "s.lock").exists()
    daemon.start()
    assert is_quiet(daemon.client())


@pytest.mark.parametrize("kind", ["file", "directory", "symlink", "dangling", "fifo"])
def test_what_is_no_socket_is_never_unlinked(directory, kind):
    path = directory / "s"
    target = directory / "target"
    {
        "file": lambda: path.write_text("mine"),
        "directory": path.mkdir,
        "symlink": lambda: (target.write_text("mine"), path.symlink_to(target)),
        "dangling": lambda: path.symlink_to(target),
        "fifo": lambda: os.mkfifo(path),
    }[kind]()
    before = os.lstat(path)
    status, said = run("-c", configuration(directory))
    assert status == 69
    assert untimed(said) == f"berthd: {path}: exists but is not a socket; left alone\n"
    assert os.lstat(path).st_ino == before.st_ino and os.lstat(path).st_mode == before.st_mode
    assert target.exists() == (kind == "symlink")


@pytest.mark.parametrize("backlog", [5, 0], ids=["", "full"])
def test_another_programs_live_socket_is_never_unlinked(directory, backlog):
    theirs = listening(directory / "s")
    theirs.listen(backlog)
    waiting = []
    while backlog == 0 and len(waiting) < 2:  # one more than fits would wait
        waiting.append(socket.socket(socket.AF_UNIX))
        waiting[-1].setblocking(False)
        try:
            waiting[-1].connect(str(directory / "s"))
        except BlockingIOError:
            break
    status, said = run("-c", configuration(directory))
    assert status == 69
    assert untimed(said) == f"berthd: {directory / 's'}: another process serves it; left alone\n"
    for sock in waiting:
        sock.close()
    theirs.listen()
    ours = socket.socket(socket.AF_UNIX)
    ours.connect(str(directory / "s"))
    ours.close()
    theirs.close()


def test_a_datagram_socket_is_never_unlinked(directory):
    theirs = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    theirs.bind(str(directory / "s"))
    assert run("-c", configuration(directory))[0] == 69
    assert (directory / "s").is_socket()
    theirs.close()


def test_a_stale_socket_is_replaced(berthd, directory):
    listening(directory / "s").close()
    assert (directory / "s").is_socket()
    assert is_quiet(berthd("").client())


def test_the_lock_may_not_be_a_symlink(directory):
    """In a directory that others can write to, it could lead anywhere."""
    (directory / "s.lock").symlink_to(directory / "elsewhere")
    assert run("-c", configuration(directory))[0] == 69
    assert not (directory / "elsewhere").exists()


def test_runtime_directory(berthd, directory, monkeypatch):
    (directory / "run").mkdir()
    monkeypatch.setenv("RUNTIME_DIRECTORY", f"{directory}/run:{directory}/other")
    daemon = berthd("")
    assert (directory / "run" / "s.lock").exists() and not (directory / "s.lock").exists()
    assert run("-c", daemon.config)[0] == 69
    monkeypatch.delenv("RUNTIME_DIRECTORY")
    assert run("-c", daemon.config)[0] == 69  # the lock is elsewhere, but the socket answers
    assert is_quiet(daemon.client())


def test_a_runtime_directory_that_is_none(berthd, directory, monkeypatch):
    """Lock and journal stand together, or two could share one of them."""
    (directory / "run").mkdir()
    monkeypatch.chdir(directory)
    monkeypatch.setenv("RUNTIME_DIRECTORY", "run")
    berthd("")
    assert (directory / "s.lock").exists() and (directory / "s.journal").exists()
    assert not list((directory / "run").iterdir())


# ---- where it listens


@pytest.mark.parametrize("mode, umask", [(0o666, 0o077), (0o600, 0)])
def test_socket_mode(berthd, mode, umask):
    """Whatever the umask."""
    before = os.umask(umask)
    try:
        daemon = berthd(f"socket-mode = {mode:04o}\n")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(daemon.socket).st_mode) == mode


@needs_root
def test_the_folder_is_made_and_others_get_in(directory):
    path = directory / "run" / "s"
    config = configuration(directory, socket_path=path)
    ready, to_daemon = os.pipe()
    before = os.umask(0o077)
    try:
        process = subprocess.Popen(
            [BUILD / "berthd", "-c", config, "--ready-fd", str(to_daemon)], pass_fds=[to_daemon])
    finally:
        os.umask(before)
    os.close(to_daemon)
    assert os.read(ready, 100) == b"ready\n"
    assert os.read(ready, 1) == b""  # and it is closed
    os.close(ready)
    assert stat.S_IMODE(os.stat(path.parent).st_mode) == 0o755
    process.terminate()
    assert process.wait(DEADLINE) == 0


def test_a_path_that_is_too_long(directory):
    path = directory / ("x" * 120)
    status, said = run("-c", configuration(directory, socket_path=path))
    assert status == 78 and "path of at most 107 bytes" in said


def test_the_longest_path(berthd, directory):
    path = str(directory / "x") + "x" * (107 - len(str(directory)) - 2)
    assert len(path) == 107
    process = subprocess.Popen([BUILD / "berthd", "-c", configuration(directory, socket_path=path),
        "--ready-fd", "1"], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    assert is_quiet(Client(path))
    process.terminate()
    assert process.wait(DEADLINE) == 0
    process.stdout.close()
    assert not os.path.exists(path)


def test_a_folder_that_cannot_be_made(directory):
    config = configuration(directory, socket_path=directory / "no" / "such" / "s")
    status, said = run("-c", config)
    assert status == 69 and said.endswith("such: No such file or directory\n")


def test_somebody_who_has_not_logged_in(directory):
    """Nobody has a runtime directory with that uid."""
    socket = "/run/user/4294967294/berth/berth.sock"
    status, said = run("-c", configuration(directory, socket_path=socket))
    assert status == 69 and said.endswith(
        "berth: No such file or directory; without a login, set XDG_RUNTIME_DIR to a directory of your own\n")


@needs_root
def test_an_unwritable_folder(directory):
    (directory / "root").mkdir(mode=0o755)
    config = configuration(directory, socket_path=directory / "root" / "s")
    program = shutil.copy(BUILD / "berthd", directory)  # where that user can execute it
    status, said = run("-c", config, program=program, user=NOBODY, group=NOBODY)
    assert status == 69 and "Permission denied" in said
    assert os.listdir(directory / "root") == []


# ---- descriptors


def test_no_standard_descriptors(directory):
    """Were they free, the first connection would become the log."""
    command = f'exec "$0" -c "$1" --ready-fd 3 3>"$2" <&- >&- 2>&-'
    fifo = directory / "fifo"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        ["sh", "-c", command, BUILD / "berthd", configuration(directory), fifo])
    with open(fifo, "rb", buffering=0) as ready:
        assert ready.readline() == b"ready\n"
    for fd in range(3):
        assert os.readlink(f"/proc/{process.pid}/fd/{fd}") == "/dev/null"
    process.terminate()
    assert process.wait(DEADLINE) == 0


def test_ready_descriptor_is_stderr(directory):
    process = subprocess.Popen(
        [BUILD / "berthd", "-c", configuration(directory, "[lock a]\n"), "--ready-fd", "2"],
        stderr=subprocess.PIPE, text=True)
    assert "serving on" in process.stderr.readline()
    assert process.stderr.readline() == "ready\n"
    client = Client(directory / "s")
    assert client.request("drain") == "ok held=0"  # an operator's request is logged: not to us
    assert is_quiet(client)
    process.terminate()
    assert process.wait(DEADLINE) == 0
    assert "drain: asked by uid" in process.stderr.readline()
    process.stderr.close()
    client.close()


def test_ready_descriptor_that_is_none(directory):
    process = subprocess.Popen([BUILD / "berthd", "-c", configuration(directory), "--ready-fd",
        "99"], stderr=subprocess.PIPE, text=True)
    assert "serving on" in process.stderr.readline()
    assert "cannot write to the ready descriptor" in process.stderr.readline()
    assert is_quiet(Client(directory / "s"))
    process.terminate()
    assert process.wait(DEADLINE) == 0
    process.stderr.close()


def limited(files):
    return ["prlimit", f"--nofile={files}:{files}"]


@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs files of its own")
@pytest.mark.parametrize("files", [7, 10, 11])
def test_too_few_files_to_start_with(directory, files):
    done = subprocess.run([*limited(files), BUILD / "berthd", "-c", configuration(directory)],
        text=True, capture_output=True, timeout=DEADLINE)
    assert done.returncode == 69
    assert "Too many open files" in done.stderr or "too many open files" in done.stderr


# ---- the end


def test_stops_cleanly_in_the_middle_of_everything(berthd):
    """Nothing more is granted: no journal would have it."""
    daemon = berthd("[semaphore a]\nlimit = 2\n[lock b]\n")
    holders = [daemon.client(), daemon.client()]
    for holder in holders:
        held(holder, "acquire a")
    held(holders[0], "acquire b")
    waiters = [daemon.client() for _ in range(20)]
    for i, waiter in enumerate(waiters):
        waits(waiter, ("acquire a", "acquire b", "acquire a b", "acquire a:2 wait=1h")[i % 4])
    mute = daemon.client()
    mute.send("status\n" * 5000)
    half = daemon.client()
    half.send("half a li")
    daemon.signal(signal.SIGTERM)
    for client in holders + waiters + [half]:
        assert client.line() == ""
    assert daemon.process.wait(DEADLINE) == 0
    assert not daemon.socket.exists()


def test_who_waits_for_a_drain_gets_no_false_event(daemon):
    client, drainer = daemon.client(), daemon.client()
    held(client, "acquire a")
    assert drainer.request("drain wait=1") == "ok held=1"
    daemon.signal(signal.SIGTERM)
    assert drainer.line() == ""
    assert daemon.process.wait(DEADLINE) == 0


def test_a_second_signal_changes_nothing(berthd):
    daemon = berthd("")
    daemon.signal(signal.SIGINT)
    daemon.signal(signal.SIGINT)
    daemon.signal(signal.SIGTERM)
    assert daemon.process.wait(DEADLINE) == 0


def test_signals_without_end_change_nothing(daemon):
    """Up to its last moment, when only its threads could still take one."""
    for _ in range(10):
        assert daemon.client().request("pause a") == "ok"
        while daemon.process.poll() is None:
            daemon.signal(signal.SIGTERM)
        assert daemon.process.returncode == 0
        daemon.start()


def test_a_successors_socket_is_left_alone(daemon, directory):
    """Somebody has removed our socket and its lock, and started another berthd."""
    (directory / "s").unlink()
    (directory / "s.lock").unlink()
    successor = Berthd(directory, "[lock a]\n")
    daemon.stop()
    assert is_quiet(successor.client())
    successor.stop()
    assert not (directory / "s").exists()


def test_the_socket_that_replaced_ours_is_left_alone(berthd, directory):
    daemon = berthd("")
    (directory / "s").unlink()
    theirs = listening(directory / "s")
    daemon.stop()
    assert (directory / "s").is_socket()
    theirs.close()

"""berthctl top on a real terminal: what it shows of a real berthd, what its keys do, and how it leaves."""

import os
import pty
import re
import signal
import subprocess
import termios

import pytest

from daemon_help import held, waits
from lines import DEADLINE
from tmux_help import Screen, needs_tmux

pytestmark = needs_tmux

CONFIG = """
[semaphore etl]
limit = 4
[pool gpus]
items = gpu0 gpu1 gpu2
[lock deploy]
[semaphore market/*]
limit = 2
"""


@pytest.fixture
def on_screen(berthctl):
    """on_screen(columns, lines) starts berthctl top there."""
    screens = []

    def start(*size, command="berthctl top", **environ):
        screen = Screen(berthctl, *size, **environ)
        screens.append(screen)
        screen.do(f"clear; {command.replace('berthctl', berthctl.path)}")
        return screen

    yield start
    for screen in screens:
        screen.end()


@pytest.fixture
def top(daemon, on_screen):
    """top(columns, lines) starts it, and waits for the list."""
    def start(*size):
        screen = on_screen(*size)
        screen.see("NAME")
        return screen

    yield start


def cursor_of(lines):
    return next((i for i, line in enumerate(lines) if line.startswith(">")), None)


def choose(screen, text):
    """Moves the cursor to the first line with that text, a line at a time: the list may change
    meanwhile."""
    while True:
        lines = screen.see(re.compile(r"NAME .*\n(.*\n)*>"), text)
        at = cursor_of(lines)
        to = next(i for i, line in enumerate(lines) if i > 0 and text in line)
        if at == to:
            return
        screen.press("Down" if at < to else "Up")
        screen.see(lambda text, at=at: cursor_of(text.splitlines()) not in (at, None))


# ---- what is shown ----

def test_who_holds_what_is_seen_at_once_and_live(daemon, client, top):
    lease = held(client, "acquire gpus:2 program=train holder=nightly reason=models")
    screen = top()
    lines = screen.see("[gpu0] [gpu1] gpu2", "train, nightly, models", "1 of 3 resources busy, 1 held, 0 waiting")
    row, = [i for i, line in enumerate(lines) if "- gpus" in line]
    assert re.match(r"      held   items gpu0,gpu1 ", lines[row + 1])
    other = daemon.client()
    queued = waits(other, "acquire gpus:2 etl:3", 1)
    screen.see(re.compile(r"^      #1     wants 2 "), re.compile(r"^[> ] - etl +0/4 +1 "), "1 held, 1 waiting")
    client.request(f"release {lease}")
    screen.see(re.compile(r"^[> ] - etl +3/4 +0  \[###\.\]"), "1 held, 0 waiting", none=["train"])
    other.request(f"release {queued}")
    screen.see(re.compile(r"^> +etl +0/4 +0  \[\.\.\.\.\]"), "0 of 3 resources busy")


def test_arguments_of_a_job(daemon, top, berth):
    screen = top()
    berth.start("run", "deploy", "--", "cat", "-n", "-", stdin=subprocess.PIPE)
    screen.see(re.compile(r"held   slot 0 .* \d+ cat$"))
    screen.press("a")
    screen.see("cat -n -")


def test_any_size(daemon, top):
    held(daemon.client(), "acquire gpus:2 program=train")
    screen = top()
    whole = f"{os.uname().nodename}: 1 of 3 resources busy, 1 held, 0 waiting"
    for columns, lines in ((60, 24), (20, 10), (9, 3), (200, 50), (2, 1), (60, 5), (60, 24)):
        screen.resize(columns, lines)
        screen.see(re.compile(rf"\A{re.escape(whole[:columns - 1])}.?( |$)"))
        if lines > 1:
            screen.see(re.compile("^> "))
    screen.see(re.compile(r"^      held   items gpu0,… +\d+s root +train$"))


def test_hostile_text_is_harmless(fake, on_screen):
    screen = on_screen()
    peer = fake.accept()
    assert peer.line() == "watch"
    peer.send("ok draining=0 held=1 waiting=0\nsnapshot\n"
              "resource a kind=lock scope=host limit=1 in_use=1 free=0 waiting=0\n"
              "holder 1 resource=a units=0 token=1 pid=1 uid=4242 since=0 program=%1B]0;title%07%1B[2J%0Ax holder=%E6%97%A5%E6%9C%AC%E2%80%AE\nend\n")
    lines = screen.see(re.compile(r"slot 0 +\d+s 4242 +1 \\x1b\]0;title\\x07\\x1b\[2J\\x0ax, "))
    assert lines[2].startswith("> - a") and lines[-1].startswith("? help")
    assert screen.tmux("display", "-p", "#{pane_title}").strip() != "title"
    screen.resize(120, 24)
    screen.see("日本\\xe2\\x80\\xae")


# ---- moving, finding ----

def test_find(daemon, top):
    held(daemon.client(), "acquire gpus program=train")
    held(daemon.client(), "acquire etl:2 program=make")
    screen = top()
    screen.see("train", "make")
    screen.press("b")
    screen.see("only: busy", none=["deploy", "market"])
    screen.press("b", "/")
    screen.type("TRAI")
    screen.see('only: with "TRAI"', "train", none=["etl", "deploy"])
    screen.press("Enter", "Escape")
    screen.see("deploy", "make", none=["only:"])
    screen.press("u")
    screen.type("nobody")
    screen.press("Enter")
    screen.see("only: of user", "nothing matches", none=["etl"])
    screen.press("Escape")
    screen.see("deploy")
    screen.press("U")
    lines = screen.see("sorted by used")
    assert "\n".join(lines).index("- etl") < "\n".join(lines).index("- gpus")


# ---- questions ----

def test_why(daemon, top):
    held(daemon.client(), "acquire deploy program=make")
    waits(daemon.client(), "acquire deploy", 1)
    screen = top(60, 24)
    choose(screen, "#1")
    screen.press("w")
    screen.see("Why: lease ", "on deploy", "place 1 in the", "has held")
    held(daemon.client(), "acquire etl")  # the picture goes on meanwhile
    screen.see("2 held, 1 waiting")
    screen.press("q")
    screen.see("NAME")
    choose(screen, "etl")
    screen.press("w")
    screen.see("Why: etl", "would be granted at once")


def test_revoke_asks_first(daemon, top, berth):
    job = berth.start("run", "deploy", "--", "cat", stdin=subprocess.PIPE)
    screen = top()
    screen.see(re.compile(r"held   slot 0 .* cat$"))
    choose(screen, "held")
    screen.press("x")
    screen.see("y/n: revoke", "on deploy, and stop its job?")
    screen.press("Enter")
    screen.see("not revoked")
    assert job.poll() is None
    screen.press("x", "y")
    screen.see("reason, or Enter:")
    screen.type("new disks")
    screen.press("Enter")
    screen.see(re.compile(r"^revoked \w+"), "0 held")
    assert job.wait(DEADLINE) == 124
    assert b"new disks" in job.stderr.read()


def test_a_refusal_is_shown(fake, on_screen):
    screen = on_screen()
    fake.accept().send("ok draining=0 held=1 waiting=0\nsnapshot\n"
                       "resource a kind=lock scope=host limit=1 in_use=1 free=0 waiting=0\n"
                       "holder 1 resource=a units=0 token=1 pid=1 uid=1 since=0\nend\n")
    screen.see("held")
    screen.press("Down", "x", "y", "Enter")
    peer, words = fake.asked()
    assert words == ["revoke", "1"]
    screen.press("Up")  # the list goes on meanwhile
    screen.see(re.compile("^> - a"))
    peer.send("error forbidden another%20user's%1B%20lease\n")
    screen.see("not revoked: another user's\\x1b lease (forbidden)")
    screen.press("w")
    peer, words = fake.asked()
    assert words == ["why", "a"]
    peer.close()
    screen.see("berthd has closed the connection")


# ---- berthd comes and goes ----

def test_a_restart_of_berthd(daemon, top, berth):
    berth.start("run", "deploy", "--", "cat", stdin=subprocess.PIPE)
    screen = top()
    screen.see(re.compile(r"held   slot 0 .* cat$"))
    daemon.kill()
    lines = screen.see("berthd is gone; last update at ")
    assert lines[0].startswith("berthd is gone") and any("held   slot 0" in line for line in lines)
    screen.press("Down", "w")
    screen.see("not connected to berthd: cannot ask it")
    daemon.start()
    lines = screen.see("1 held, 0 waiting", none=["is gone"])
    assert any("held   slot 0" in line for line in lines)


def test_half_a_batch_is_not_shown(fake, on_screen):
    screen = on_screen()
    peer = fake.accept()
    resource = "resource a kind=lock scope=host limit=1 in_use=0 free=1 waiting=0\n"
    peer.send("ok draining=0 held=0 waiting=0\nsnapshot\n" + resource)
    screen.see("waiting for the answer of berthd", none=["[.]"])
    peer.send("end\n")
    screen.see("[.]", re.compile("^>   a "))
    peer.send("snapshot\n" + resource.replace(" a ", " b "))
    screen.press("?")
    screen.see("Keys")
    screen.press("q")
    screen.see(re.compile("^>   a "))
    peer.send("end\n")
    screen.see(re.compile("^>   b "), none=["  a "])


def test_a_refusal(fake, on_screen):
    screen = on_screen(command="berthctl top; echo =$?=")
    fake.accept().send("error too-much no%20room\n")
    screen.see("top: no room (too-much)", "=78=")
    assert not screen.is_alternate()


# ---- leaving ----

WAYS = {
    "q": lambda screen, pid: screen.press("q"),
    "interrupt": lambda screen, pid: screen.press("C-c"),
    "term": lambda screen, pid: os.kill(pid, signal.SIGTERM),
    "quit": lambda screen, pid: screen.press("C-\\"),
}


def pid_of_top(screen):
    shell = screen.tmux("display", "-p", "#{pane_pid}").strip()
    return int(subprocess.run(["pgrep", "-P", shell, "berthctl"], check=True, capture_output=True, text=True).stdout)


def test_the_terminal_is_as_it_was(daemon, berthctl, on_screen, directory):
    screen = on_screen(command="ulimit -c 0")
    for way, leave in WAYS.items():
        screen.do(f"clear; echo before; stty -g > one; {berthctl.path} top; echo =$?=; stty -g > two; echo after")
        screen.see("NAME", none=["before"])
        assert screen.is_alternate() and not screen.has_cursor(), way
        leave(screen, pid_of_top(screen))
        screen.see("before", re.compile("^after"))
        assert not screen.is_alternate() and screen.has_cursor(), way
        assert (directory / "one").read_text() == (directory / "two").read_text(), way
        assert ("=0=" in screen.text()) == (way in ("q", "interrupt")), way


def test_stop_and_continue(daemon, top):
    screen = top()
    screen.press("C-z")
    screen.see("Stopped", none=["NAME"])
    assert not screen.is_alternate() and screen.has_cursor()
    screen.do("echo a word; fg")
    screen.see("NAME", none=["a word"])
    held(daemon.client(), "acquire etl")
    screen.see("1 held")
    screen.press("q")
    screen.see("a word")


def test_without_a_terminal_that_can(daemon, berthctl):
    done = berthctl("top")
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == "berthctl: top: it needs a terminal; without one, use berthctl status or berthctl watch\n"
    ours, its = pty.openpty()
    settings = termios.tcgetattr(its)
    for terminal in ("dumb", "no-such-terminal", ""):
        process = berthctl.start("top", stdin=its, stdout=its, env={"TERM": terminal})
        assert process.wait(DEADLINE) == 64, terminal
        assert termios.tcgetattr(its) == settings
        assert process.stderr.read() == b"berthctl: top: cannot draw on the terminal that $TERM names\n"
    os.close(its)
    os.close(ours)


def test_without_berthd(berthctl, on_screen):
    screen = on_screen(command="berthctl top; echo =$?=")
    screen.see("berthctl: cannot connect to ", "=69=")


def test_options(daemon, on_screen):
    held(daemon.client(), "acquire gpus")
    screen = on_screen(command="berthctl top --busy --sort used")
    screen.see("only: busy; sorted by used", "gpus", none=["deploy"])

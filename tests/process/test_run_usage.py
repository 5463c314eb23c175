"""berth: its command line, and what is refused before berthd is asked."""

import pytest

from lines import DEADLINE


def test_help_and_version(berth):
    for args in (["--help"], ["--version"], ["run", "--help"], ["release", "--help"]):
        done = berth(*args)
        assert (done.returncode, done.stderr) == (0, "")
        assert "berth" in done.stdout


HELP = {
    "run": ("-n, --nonblock", "-w, --timeout", "-E, --conflict-exit-code", "-p, --priority",
            "--holder", "--reason", "--if-down", "--down-after", "--export",
            "-s, --signal", "-k, --kill-after", "--on-lost", "-F, --no-fork", "--tree",
            "-S, --socket", "-q, --quiet", "-v, --verbose", "--help"),
    "acquire": ("--pid", "--ttl", "-n, --nonblock", "-w, --timeout", "-E,", "-p, --priority",
                "--holder", "--reason", "-s, --signal", "-k, --kill-after", "--on-lost",
                "--if-down fail|wait ", "--down-after", "-S,", "-q,", "-v,", "--json"),
    "renew": ("--holder", "--ttl", "--down-after", "-S,", "-v,"),
}


def test_help_names_every_option(berth):
    for subcommand, options in HELP.items():
        done = berth(subcommand, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        for option in options:
            assert option in done.stdout, subcommand
    for option in ("--export", "--tree", "--no-fork", "--item"):
        assert option not in berth("acquire", "--help").stdout


USAGE_ERRORS = [
    (["run", "deploy", "./x"], "no `--`: did you mean `berth run deploy -- ./x`?"),
    (["run", "-n", "deploy", "./x", "-n", "a b"],
     "no `--`: did you mean `berth run -n deploy -- ./x -n 'a b'`?"),
    (["run", "--holder", "me", "deploy:2", "make", "--jobs"],
     "no `--`: did you mean `berth run --holder me deploy:2 -- make --jobs`?"),
    (["run", "deploy"], "no COMMAND"),
    (["run", "--", "true"], "no NAME"),
    (["run"], "no COMMAND"),
    (["run", "deploy", "./x", "--", "y"], "./x: not a resource's name"),
    (["run", "a/../b", "--", "true"], "a/../b: not a resource's name"),
    (["run", "db=2", "--", "true"], "db=2: not a resource's name; did you mean db:2?"),
    (["run", "x" * 129, "--", "true"], "x" * 129 + ": not a resource's name"),
    (["run", "a:", "--", "true"], "a:: COUNT must be a number of units, all or shared"),
    (["run", "a:-1", "--", "true"], "a:-1: COUNT must be a number of units, all or shared"),
    (["run", "a:99999999999999999999", "--", "true"],
     "a:99999999999999999999: COUNT must be a number of units, all or shared"),
    (["run", *"abcdefghijklmnopq", "--", "true"], "more than 16 resources"),
    (["run", "--timout", "1", "a", "--", "true"],
     "no such option: --timout; did you mean --timeout? (see berth run --help)"),
    (["run", "-nz", "a", "--", "true"], "no such option: -z (see berth run --help)"),
    (["run", "-w"], "-w needs an argument"),
    (["help", "rum"], "no such command: rum; did you mean berth run?"),
    (["wait"], "no such command: wait; did you mean berthctl wait?"),
    (["run", "-w", "soon", "a", "--", "true"], "--timeout=soon: not a duration like 30s or 1h30m"),
    (["run", "-E", "256", "a", "--", "true"],
     "--conflict-exit-code=256: not an exit status from 0 to 255"),
    (["run", "-p", "1001", "a", "--", "true"],
     "--priority=1001: not a number from -1000 to 1000"),
    (["run", "--holder", "", "a", "--", "true"], "--holder=: not 1 to 128 bytes"),
    (["run", "--reason", "", "a", "--", "true"], "--reason=: empty"),
    (["run", "--if-down", "hope", "a", "--", "true"],
     "--if-down=hope: not one of fail, wait, run"),
    (["run", "--down-after", "x", "a", "--", "true"], "--down-after=x: not a duration like 30s or 1h30m"),
    (["run", "-s", "0", "a", "--", "true"], "--signal=0: not a signal like TERM or 15"),
    (["run", "-k", "x", "a", "--", "true"], "--kill-after=x: not a duration like 30s or 1h30m"),
    (["run", "--on-lost", "run", "a", "--", "true"],
     "--on-lost=run: not one of kill, term, warn"),
    (["run", "-F", "--tree", "a", "--", "true"], "--no-fork cannot be combined with --tree"),
    (["run", "--pid", "7", "a", "--", "true"], "no such option: --pid (see berth run --help)"),
    (["run", "--export", "1X", "a", "--", "true"], "--export=1X: not a valid variable name"),
    (["run", "--export", "BERTH_LEASE", "a", "--", "true"],
     "--export=BERTH_LEASE: berth sets this variable itself"),
    (["run", "-S", "/" + "x" * 107, "a", "--", "true"],
     "the socket path is empty or too long"),
    (["release"], "LEASE or NAME is required"),
    (["release", "1", "2"], "more than one LEASE or NAME"),
    (["release", "/x", "--item", "1"], "/x: not a resource's name"),
    (["release", "a", "--item", "b c"], "--item=b c: not an item's name"),
    (["release", "a", "--item", "1", "--holder", "me"],
     "--holder and --item exclude each other"),
    (["release", "-w", "1", "a"], "no such option: -w (see berth release --help)"),
    (["bogus"], "no such command: bogus; see berth --help"),
    (["rnu"], "no such command: rnu; did you mean berth run?"),
    (["stauts"], "no such command: stauts; did you mean berthctl status?"),
    (["hello"], "no such command: hello; see berth --help"),
    ([], "no command; see berth --help"),
    (["acquire", "r"], "how long should the lease last? Use --pid $$ (as long as the calling script), "
            "or --ttl DURATION"),
    (["acquire", "--pid", "2", "--ttl", "1", "r"], "--pid cannot be combined with --ttl"),
    (["acquire", "--pid", "1", "r"], "--pid=1: process 1 never ends, so the lease would not either"),
    (["acquire", "--pid", "0", "r"], "--pid=0: not a process id"),
    (["acquire", "--pid", "x", "r"], "--pid=x: not a process id"),
    (["acquire", "--pid", "99999999999", "r"], "--pid=99999999999: not a process id"),
    (["acquire", "--ttl", "0", "r"], "--ttl=0: not a duration like 30s or 1h30m"),
    (["acquire", "--ttl", "soon", "r"], "--ttl=soon: not a duration like 30s or 1h30m"),
    (["acquire", "--ttl", "1"], "no NAME"),
    (["acquire", "--ttl", "1", "/"], "/: not a resource's name"),
    (["acquire", "--ttl", "1", "r", "--", "true"], "acquire runs no COMMAND; did you mean `berth run`?"),
    (["acquire", "--ttl", "1", "--export", "X", "r"], "no such option: --export (see berth acquire --help)"),
    (["acquire", "--ttl", "1", "--tree", "r"], "no such option: --tree (see berth acquire --help)"),
    (["acquire", "--ttl", "1", "-F", "r"], "no such option: -F (see berth acquire --help)"),
    (["acquire", "--ttl", "1", "--if-down", "run", "r"], "--if-down=run: acquire has no command to run"),
    (["renew"], "LEASE or NAME is required"),
    (["renew", "1", "2"], "more than one LEASE or NAME"),
    (["renew", "deploy"], "deploy: not a lease; for a NAME use --holder ID"),
    (["renew", "/", "--holder", "me"], "/: not a resource's name"),
    (["renew", "1", "--ttl", "0"], "--ttl=0: not a duration like 30s or 1h30m"),
    (["renew", "1", "--item", "x"], "no such option: --item (see berth renew --help)"),
]


def test_usage_errors(berth):
    for args, message in USAGE_ERRORS:
        done = berth(*args)
        assert (done.returncode, done.stdout) == (64, ""), args
        assert done.stderr == f"berth: {message}\n"
    assert berth("run", "a", "--", "true", "-w").returncode == 69  # right as it is; nobody listens


def test_a_count_beside_its_name(berth, fake):
    process = berth.start("run", "db", "2", "--", "true")
    fake.tells("error unknown 2:%20no%20such%20resource")
    assert process.wait(DEADLINE) == 78
    assert process.stderr.read() == b"berth: 2: no such resource (unknown); did you mean db:2?\n"


def asked_for(berth, fake, *args, env=None):
    """The words of the request that this command line makes."""
    process = berth.start("run", *args, env=env)
    peer, words = fake.asked()
    peer.send("error would-wait\n")
    assert process.wait(DEADLINE) == 75
    return words


def executable(directory, name):
    """A command of that name: one that is missing asks for nothing."""
    path = directory / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_request(berth, fake, directory):
    words = asked_for(
        berth, fake, "-w", "1.0005", "a", "-p", "-3", "--holder", "me 100%", "market/x:12",
        "--reason", "\u00e4\n", "--", executable(directory, "a program"), "-w")
    assert words[:3] == ["acquire", "a:1", "market/x:12"]
    keys = dict(word.split("=", 1) for word in words[3:])
    wait = keys.pop("wait")
    assert wait.endswith("ms") and 900 < int(wait[:-2]) <= 1001
    assert int(keys.pop("pid")) > 1
    assert len(keys.pop("once")) == 16
    assert keys == {"priority": "-3", "holder": "me%20100%25", "reason": "%C3%A4%0A",
                    "program": "a%20program"}


def test_the_plainest_request(berth, fake):
    words = asked_for(berth, fake, "a", "--", "true")
    assert words[:3] == ["acquire", "a:1", "program=true"]
    assert [word.split("=")[0] for word in words[3:]] == ["once", "pid"]


def test_how_to_stop_it(berth, fake):
    words = asked_for(
        berth, fake, "-s", "SIGINT", "-k", "1.5s", "--on-lost", "term", "a", "--", "true")
    assert words[5:] == ["signal=2", "kill_after=1500ms", "on_lost=term"]


@pytest.mark.parametrize("word", ["usr1", "SIGUSR1", "10"])
def test_signals_have_names(berth, fake, word):
    assert "signal=10" in asked_for(berth, fake, "-s", word, "a", "--", "true")


def test_a_long_program_is_cut(berth, fake, directory):
    words = asked_for(berth, fake, "a", "--", executable(directory, "p" * 65))
    assert "program=" + "p" * 64 in words


@pytest.mark.parametrize("reason, sent", [
    ("x" * 300, "x" * 256), ("x" + "\u00e4" * 200, "x" + "%C3%A4" * 127), ("y" * 256, "y" * 256)])
def test_a_long_reason_is_cut(berth, fake, reason, sent):
    """Between two characters."""
    words = asked_for(berth, fake, "--reason", reason, "a", "--", "true")
    assert f"reason={sent}" in words


def test_help_of_a_subcommand(berth):
    for word in "run", "acquire", "release", "renew":
        assert berth("help", word).stdout == berth(word, "--help").stdout != ""
    assert berth("help").stdout == berth("--help").stdout != ""


def test_the_longest_request_fits(berth, fake, directory):
    names = [f"{i:x}" + "n" * 127 + ":99999" for i in range(16)]
    words = asked_for(
        berth, fake, *names, "--holder", "\x01" * 128, "--reason", "\x01" * 256, "-p", "-1000",
        "-w", "1d", "-s", "10", "-k", "1d", "--on-lost", "kill", "--",
        executable(directory, "\x01" * 64),
        env={"BERTH_LEASE": "1" * 13})
    assert words[1:17] == names


@pytest.mark.parametrize("lease, sent", [("3k", True), ("0", True), ("oops", False), ("", False),
                                         ("3k x=y", False)])
def test_the_parent_s_lease(berth, fake, lease, sent):
    words = asked_for(berth, fake, "a", "--", "true", env={"BERTH_LEASE": lease})
    assert (f"parent={lease}" in words) == sent

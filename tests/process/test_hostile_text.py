"""What strangers write is printed harmlessly: what a client says about itself, what a server
answers, paths, arguments, files. Each test drives the real programs with all of hostile.NASTY: text
by text, or together where another test of the same way to print has them text by text."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from conftest import read_line
from daemon_help import connect_as, held, needs_root, status, untimed, waits
from fleet_help import clock, hosts, needs_redis, redis_server  # noqa: F401
from fleet_ops_help import client_of, fleet, gets
from hostile import MARK, TOGETHER, encoded, require_harmless, texts

PROGRAM, HOLDER, REASON = texts(64), texts(128), texts(256)
ALL = list(REASON)
VIEWER = 60006  # no account exists for it: a uid needs no name to have rights
LOCALES = ["C", "C.UTF-8"]


def words_of(name):
    """What a client says about itself."""
    said = {"program": PROGRAM.get(name), "holder": HOLDER.get(name), "reason": REASON.get(name)}
    return " ".join(f"{key}={encoded(text)}" for key, text in said.items() if text)


def config(section):
    return "\n".join(section.format(i) for i in range(len(ALL)))


CONFIG = config("[lock r{}]")


def everything_held(daemon):
    """Resource r<i> is held by a client that says ALL[i] about itself."""
    client = daemon.client()
    for i, name in enumerate(ALL):
        held(client, f"acquire r{i} {words_of(name)}")
    return client


def start_all(program, *before, after=(), **options):
    return [program.start(*before, f"r{i}", *after, **options) for i in range(len(ALL))]


def said_by(processes, status):
    """The stderr of each, to its end."""
    for process in processes:
        out, err = process.communicate(timeout=30)
        assert process.returncode == status and out == b"", (process.args, err)
        yield err


# ---- what clients say about themselves


def test_status_lines(daemon):
    everything_held(daemon)
    other = daemon.client()
    waits(other, f"acquire r0 {words_of('newline')}2")
    for line in other.lines("status"):
        assert len(line) < 4096 and "  " not in line
        require_harmless(line + "\n")


def test_history_lines_and_their_log(berthd):
    daemon = berthd("log = leases\n" + CONFIG)
    client = everything_held(daemon)
    client.close()
    other = daemon.client()
    while len(lines := other.lines("history")) < len(ALL) + 2:
        assert lines[-1] == "end"
    for line in lines:
        assert len(line) < 4096 and "  " not in line
        require_harmless(line + "\n")
    daemon.stop()
    require_harmless(daemon.log.read_text())


def test_the_waiting_line_names_the_holder(daemon, berth):
    client = everything_held(daemon)
    processes = start_all(berth, "run", after=["--", "true"])
    for name, process in zip(ALL, processes):
        said = require_harmless(read_line(process.stderr) + "\n", lines=1)
        assert said.startswith("berth: waiting for r") and MARK in said, name
    client.close()
    for process in processes:
        assert process.wait(30) == 0


def test_a_refusal_names_the_holder(daemon, berth):
    """... and why the resource is paused."""
    client = everything_held(daemon)
    for refusal in "would-wait", "paused":
        for err in said_by(start_all(berth, "run", "-n", after=["--", "true"]), 75):
            said = require_harmless(err, lines=1)
            assert MARK in said and f"({refusal})" in said
        for i, name in enumerate(ALL):
            assert client.request(f"pause r{i} reason={encoded(REASON[name])}") == "ok"


def test_an_explanation(berthd, berthctl):
    """`why` quotes holders, those ahead, pauses and reservations."""
    daemon = berthd(config("[semaphore r{}]\nlimit = 2"))
    client = everything_held(daemon)
    waiter = daemon.client()
    for i, name in enumerate(ALL):
        text = encoded(REASON[name])
        assert client.request(f"reserve r{i} 1 reason={text}") == "ok"
        waits(waiter, f"acquire r{i} program={encoded(PROGRAM.get(name, b'x'))} reason={text}")
        for then in f"pause r{i} reason={text}", "ping":
            for line in client.lines(f"why r{i}"):
                assert len(line) < 4096 and "  " not in line
                require_harmless(line + "\n")
            assert client.request(then) == "ok"
        assert require_harmless(berthctl("why", f"r{i}").stdout).count(MARK) >= 4, name


def test_identities_and_reasons_of_one_s_own(daemon, berth):
    """Arguments may come from strangers as well: messages about refused ones quote them."""
    processes = []
    for i, name in enumerate(ALL):
        identity = HOLDER.get(name, b"x")
        held(daemon.client(), f"acquire r{i} holder={encoded(identity)}")
        processes.append(berth.start("run", "-n", "--holder", identity, f"r{i}", "--", "true"))
    for err in said_by(processes, 75):
        assert "already has it, as pid " in require_harmless(err, lines=1)


def test_the_operator_s_table_and_json(berthd, berthctl):
    daemon = berthd(config("[semaphore r{}]\nlimit = 2"))
    client = everything_held(daemon)
    for i, name in enumerate(ALL):
        text = encoded(REASON[name])
        assert client.request(f"reserve r{i} 1 reason={text}") == "ok"
        assert client.request(f"pause r{i} reason={text}") == "ok"
        assert client.request(f"limit r{i} 3 reason={text}") == "ok"
        assert client.request(f"drain reason={text}").startswith("ok ")
    for locale in LOCALES:
        env = {"LC_ALL": locale}
        shown = require_harmless(berthctl("status", env=env).stdout, unicode=locale != "C")
        assert len(re.findall(rf"paused since \S+ by \S+: {MARK}", shown)) == len(ALL), locale
        assert len(re.findall(rf"limit 3 \(file: 2\), since \S+ by \S+: {MARK}", shown)) == len(ALL), locale
        assert len(re.findall(rf"lease\w* held; since \S+ by \S+: {MARK}", shown)) == 1, locale
        assert shown.count(f"({MARK}") == len(ALL), locale  # reserved
        printed = berthctl("status", "--json", env=env).stdout
        resources = json.loads(require_harmless(printed, lines=1))["resources"]
        for name, resource in zip(ALL, resources):
            (holder,) = resource["holders"]
            (item,) = resource["items"]
            for text, said in ((holder["reason"], REASON), (holder["holder"], HOLDER),
                               (holder["program"], PROGRAM), (resource["pause_reason"], REASON),
                               (item["reason"], REASON)):
                assert text == (shown_in_json(said[name]) if name in said else None), (locale, name)


def test_what_has_ended(daemon, berthctl):
    """What a client has said of itself, and why an operator took its lease away."""
    everything_held(daemon)
    operator = daemon.client()
    for i, name in enumerate(ALL):
        (lease,) = status(operator, f"r{i}").holders(f"r{i}")
        assert operator.request(f"drop {lease} reason={encoded(REASON[name])}") == "ok"
    for locale in LOCALES:
        env = {"LC_ALL": locale}
        shown = require_harmless(berthctl("history", env=env).stdout, unicode=locale != "C")
        assert shown.count(f": {MARK}") == len(ALL) and len(shown.splitlines()) == 2 + 2 * len(ALL), locale
        assert shown.count(MARK) == 3 * len(REASON) + len(HOLDER) + len(PROGRAM), locale  # also of the drop itself
        require_harmless(berthctl("stats", env=env).stdout)
        ended = json.loads(require_harmless(berthctl("history", "--json", env=env).stdout, lines=1))["leases"]
        assert len(ended) == len(ALL)
        for name, lease in zip(ALL, ended):
            for text, said in ((lease["reason"], REASON), (lease["holder"], HOLDER), (lease["program"], PROGRAM),
                               (lease["why"], REASON)):
                assert text == (shown_in_json(said[name]) if name in said else None), (locale, name)


@needs_root
def test_who_sees_what_is_hidden(berthd, berthctl):
    """`view-users`: a user who changes nothing is shown everything, and all of it harmless."""
    daemon = berthd(f"view-users = {VIEWER}\n" + config("[lock r{}]\nshow-commands = owner"))
    everything_held(daemon)
    viewer, env = connect_as(daemon, VIEWER), {"LC_ALL": "C.UTF-8"}
    said = []
    for i in range(len(ALL)):
        require_harmless(refusal := viewer.request(f"acquire r{i} wait=0") + "\n", lines=1)
        said.append(refusal)
    assert all(MARK in refusal for refusal in said)
    for line in viewer.lines("status"):
        require_harmless(line + "\n")

    def as_viewer():
        os.setuid(VIEWER)

    assert require_harmless(berthctl("status", env=env, preexec_fn=as_viewer).stdout, unicode=True).count(MARK) >= len(ALL)
    printed = berthctl("status", "--json", env=env, preexec_fn=as_viewer).stdout
    shown = json.loads(require_harmless(printed, lines=1))["resources"]
    assert [resource["holders"][0]["reason"] for resource in shown] == [shown_in_json(REASON[name]) for name in ALL]


def shown_in_json(text):
    """Bytes that are no UTF-8 as \\xNN: everything else is there again."""
    return text.decode("utf-8", "backslashreplace")


def test_the_daemon_s_log(berthd):
    """Whatever requests, names and arguments contain, a line of the log is one line."""
    daemon = berthd(CONFIG, "-v")
    root = daemon.client()
    for i, name in enumerate(ALL):
        text = encoded(REASON[name])
        client = daemon.client()
        client.request(f"hello program={encoded(PROGRAM.get(name, b'x'))}")
        lease = held(client, f"acquire r{i} {words_of(name)}")
        for line in (f"pause {text}", f"limit r{i} {text}", f"reserve r{i} {text} reason={text}",
                     f"pause r{i} reason={text}", f"reserve r{i} 0 reason={text}", f"revoke {text}",
                     f"drop {text}/1", f"{text} r0", f"release r{i} item={text}"):
            root.request(line)
        root.send(REASON[name] + b"\n")
        root.request("ping")
        while root.line() != "ok":
            pass
        root.request(f"drop {lease}")
    root.close()
    daemon.stop()
    log = require_harmless(daemon.log.read_bytes())
    assert "drop " in log and all(line.startswith("berthd: ") for line in untimed(log).splitlines())


# ---- what a server answers


ERRORS = [f"error {code} {{}}" for code in ("unknown", "down", "busy", "nonsense")]


@pytest.mark.parametrize("answer", ERRORS + ["waiting 1 position=1\n* denied 1 unknown {}"])
def test_berth_of_a_hostile_server(berth, fake, answer):
    for text in REASON.values() if answer == ERRORS[0] else [TOGETHER]:
        process = berth.start("run", "-v", "r", "--", "true")
        fake.tells(answer.format(encoded(text)))
        (err,) = said_by([process], 78 if "unknown" in answer else 69)
        assert MARK in require_harmless(err)


@pytest.mark.parametrize("command", [["release", "1"], ["renew", "1"], ["acquire", "--ttl", "1", "r"]])
def test_the_other_commands_of_berth(berth, fake, command):
    process = berth.start(*command)
    fake.tells(f"error unknown {encoded(TOGETHER)}")
    (err,) = said_by([process], 78)
    assert MARK in require_harmless(err, lines=1)


def test_a_hostile_server_while_one_waits(berth, fake):
    """A hostile server makes up even places and whole lines."""
    waiting = []
    for name in ALL:
        text = encoded(PROGRAM.get(name, b"Qq"))
        process = berth.start("run", "-v", "r", "--", "true")
        waiting.append((process, fake.queue(f"waiting 1 position={text}"), text))
    for process, peer, text in waiting:
        assert peer.line() == "why lease=1"  # after a second
        peer.send(f"ok is={text} lease={text} position={text}\nbrief {text} {text}\nstops {text}\n"
                  f"because {text}\n{text}\nend\n")
        said = [require_harmless(read_line(process.stderr) + "\n", lines=1) for _ in range(2)]
        assert any(f"waiting for {MARK}" in line for line in said), said
        peer.send(f"* revoked 1 {text} {text}\n* lost 1 {text} {text}\n* denied 1 {text} {text}\n")
        (err,) = said_by([process], 69)
        assert MARK in require_harmless(err)


def test_a_hostile_server_takes_the_lease(berth, fake):
    for name in ALL:
        text = encoded(REASON[name])
        process = berth.start("run", "-v", "r", "--", "sleep", "100", stdin=-1)
        peer = fake.grant()
        peer.send(f"* revoked 1 revoked {text}\n")
        err = process.stderr.read()
        assert process.wait(30) == 124
        assert MARK in require_harmless(err)


COMMANDS = [["status"], ["status", "--json"], ["version"], ["reload"], ["drain", "--wait"], ["pause", "r"], ["history"],
            ["stats"]]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_berthctl_of_a_hostile_server(berthctl, fake, command):
    for text in map(encoded, REASON.values() if command == COMMANDS[0] else [TOGETHER]):
        for answer in (f"error config {text}", f"error {text} {text}", f"error {text}", text):
            process = berthctl.start(*command, env={"LC_ALL": "C.UTF-8"})
            peer, _ = fake.asked()
            peer.send(f"* {text}\n{answer}\n")
            out, err = process.communicate(timeout=30)
            assert process.returncode in (69, 78) and out == b"", err
            require_harmless(err, unicode=True)
            assert MARK in err.decode() or answer in (text, f"error {text}")


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("command", COMMANDS[:2], ids=" ".join)
def test_berthctl_shows_what_a_hostile_server_says(berthctl, fake, command, locale):
    texts = [encoded(text) for text in PROGRAM.values()]
    process = berthctl.start(*command, env={"LC_ALL": locale})
    peer, _ = fake.asked()
    peer.send("ok draining=1 held=1 waiting=1\n" + "".join(
        f"database {text} state={text} why={text} server={text} redis_version={text} warning={text}\n"
        f"resource {text} kind=pool scope={text} database={text} database_state={text} limit=1"
        f" paused=1 pause_reason={text} changed={text} template={text} items={text} reserved={text}"
        f" draining={text} reserve={text},{text}\n"
        f"holder {text} units={text} bound={text} stopping={text} host={text} holder={text}"
        f" reason={text} program={text}\n"
        f"waiter {text} blocked={text} host={text} holder={text} reason={text} program={text}\n"
        f"{text} {text}\n" for text in texts) + "end\n")
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and err == b"", err
    shown = require_harmless(out, unicode=locale != "C" and "--json" not in command)
    assert shown.count(MARK) > 20 * len(texts)
    if "--json" in command:
        json.loads(shown)


@pytest.mark.parametrize("locale", LOCALES)
def test_berthctl_shows_a_hostile_history(berthctl, fake, locale):
    texts = [encoded(text) for text in PROGRAM.values()]
    shown = {}
    for command in ("history", "history --json", "stats", "stats --json"):
        process = berthctl.start(*command.split(), env={"LC_ALL": locale})
        peer, words = fake.asked()
        assert words == ["hello"]
        peer.send(f"ok history={texts[0]}\n")
        assert peer.line().split(" ")[0] == "history"
        peer.send("ok now=1795397400000 since=1795397400000\n" + "".join(
            f"{text} {text}\n"
            f"ended {text} units={text}:{text};{text}=1 uid=60001 how={text} code={text} database={text} by=60001"
            f" holder={text} program={text} reason={text} why={text} cgroup={text} args={text} host={text}\n"
            f"did {text} at=1 uid=60001 resource={text} target={text} old={text} new={text} host={text} reason={text}\n"
            f"gap from=1 until=2 why={text}\n" for text in texts) + "end\n")
        assert peer.line() == "status"
        peer.send("ok\n" + "".join(
            f"resource {text} kind=pool limit=1\nholder {text} units={text} uid=60001\n" for text in texts) + "end\n")
        out, err = process.communicate(timeout=30)
        assert process.returncode == 0 and err == b"", err
        shown[command] = require_harmless(out, unicode=locale != "C" and "--json" not in command)
    assert shown["history"].count(MARK) == 21 * len(texts) and shown["history --json"].count(MARK) == 22 * len(texts)
    assert shown["stats"].count(MARK) == shown["stats --json"].count(MARK) >= len(texts)
    for lease, text in zip(json.loads(shown["history --json"])["leases"], PROGRAM.values(), strict=True):
        assert lease["why"] == lease["args"] == lease["cgroup"] == shown_in_json(text)
    json.loads(shown["stats --json"])


def test_berthctl_metrics_of_a_hostile_server(berthctl, fake):
    texts = [encoded(text) for text in PROGRAM.values()]
    for locale in LOCALES:
        process = berthctl.start("metrics", env={"LC_ALL": locale})
        peer, _ = fake.asked()
        peer.send("ok\n" + "".join(
            f"figure berth_held resource={text} value=1\nfigure {text} value={text}\n"
            f"histogram berth_wait_seconds resource={text} sum=1 le=+Inf:1\n" for text in texts) + "end\n")
        out, err = process.communicate(timeout=30)
        assert process.returncode == 0 and err == b"", err
        assert require_harmless(out, unicode=locale != "C").count(MARK) == 4 * len(texts), locale


def test_berthctl_version_of_a_hostile_server(berthctl, fake):
    process = berthctl.start("version", env={"LC_ALL": "C.UTF-8"})
    fake.tells(f"ok version={encoded(TOGETHER)} proto=1 pid=1 uptime=1")
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and err == b""
    assert MARK in require_harmless(out, unicode=True, lines=2)


# ---- paths and arguments


PATHS = {name: text.replace(b"/", b"") for name, text in texts(60).items()}


@pytest.mark.parametrize("program", ["berth", "berthctl"])
def test_a_socket_s_path(berth, berthctl, program):
    """Nobody listens; or a server that speaks nonsense: both messages name the path."""
    for name, path in PATHS.items():
        started = {"berth": berth, "berthctl": berthctl}[program].start(
            *{"berth": ["run", "r", "--", "true"], "berthctl": ["ping"]}[program],
            env={"BERTH_SOCKET": os.fsdecode(path), "LC_ALL": "C.UTF-8"})
        (err,) = said_by([started], 69)
        assert MARK in require_harmless(err, unicode=True, lines=1), name


def test_berth_prints_as_berthctl_does(berth, berthctl, berthd):
    """What an operator has written, and what a holder says."""
    client = berthd("[lock a]\n[lock b]\n").client()
    reason = "größer 日本\x1b\u202e"
    assert client.request(f"pause a reason={encoded(reason.encode())}") == "ok"
    held(client, f"acquire b holder={encoded(reason.encode())}")
    for locale, shown in {"C.UTF-8": r"größer 日本\x1b\xe2\x80\xae",
                          "C": r"gr\xc3\xb6\xc3\x9fer \xe6\x97\xa5\xe6\x9c\xac\x1b\xe2\x80\xae"}.items():
        for name in "a", "b":
            waiting = berth.start("run", name, "--", "true", env={"LC_ALL": locale})
            assert shown in read_line(waiting.stderr)
            waiting.terminate()
            waiting.wait()
            assert shown in berthctl("status", name, env={"LC_ALL": locale}).stdout


@pytest.mark.parametrize("before, after", [
    (["run"], ["--", "true"]), (["run", "r"], []), (["run", "-w"], ["r", "--", "x"]), ([], []), (["release"], []),
    (["acquire", "--pid"], ["r"]), (["run", "--export"], ["r", "--", "x"])])
def test_arguments(berth, before, after):
    for text in REASON.values() if before == ["run"] else [TOGETHER]:
        (err,) = said_by([berth.start(*before, text, *after)], 64)
        require_harmless(err, lines=1)


@pytest.mark.parametrize("words", [["{}"], ["status", "-{}"], ["pause", "r", "--{}"]])
@pytest.mark.parametrize("program", ["berth", "berthctl"])
def test_options(berth, berthctl, program, words):
    words = [word.encode().replace(b"{}", TOGETHER) for word in words]
    started = {"berth": berth, "berthctl": berthctl}[program].start(*words, env={"LC_ALL": "C.UTF-8"})
    (err,) = said_by([started], 64)
    require_harmless(err, unicode=True, lines=1)


def test_what_is_suggested_may_be_pasted(berth, directory):
    """`did you mean` quotes for a shell."""
    for name, text in texts(60).items():
        if text.isascii() and os.fsdecode(text).isprintable():
            (err,) = said_by([berth.start("run", "r", "printf", "%s", text)], 64)
            suggested = err.decode().split("did you mean `", 1)[1][:-len("`?\n")]
            words = suggested.replace("berth run r -- ", "", 1)
            shown = subprocess.run(
                ["sh", "-c", words], cwd=directory, capture_output=True, check=True)
            assert shown.stdout == text, name
    assert not (directory / "pwned").exists()


def test_a_command_that_is_not_there(berthd, berth):
    berthd("[lock r]\n")
    for name, text in texts(60).items():
        (err,) = said_by([berth.start("run", "r", "--", text)], 127)
        assert MARK in require_harmless(err, lines=1)


# ---- what a shell is told to evaluate


def test_assignments_for_a_shell(berthd, berth, directory):
    """The path of the socket is the only value that may be anything."""
    daemon = berthd("[pool p]\nitems = a\n[semaphore s]\nlimit = 99\n")
    for name, path in PATHS.items():
        place = os.fsencode(directory) + b"/" + path
        os.symlink(os.fsencode(daemon.socket), place)
        env = {"BERTH_SOCKET": os.fsdecode(place)}
        out = berth.start("acquire", "--ttl", "1h", "s", env=env).communicate(timeout=30)[0]
        shown = subprocess.run(["sh", "-c", 'eval "$1"; printf %s "$BERTH_SOCKET"', "sh", out],
                               cwd=directory, capture_output=True, check=True)
        assert (shown.stdout, shown.stderr) == (place, b""), name
        printed = berth.start("acquire", "--json", "--ttl", "1h", "s", env=env).communicate(timeout=30)[0]
        require_harmless(printed, lines=1)
        assert json.loads(printed)["socket"] == place.decode("utf-8", "replace") or name == "no UTF-8"
    assert not (directory / "pwned").exists()


def environment_file(text):
    """As systemd.exec(5) reads EnvironmentFile=: within single quotes all bytes are literal, within
    double ones a backslash escapes one of "\\`$."""
    found = {}
    while text:
        name, _, text = text.partition(b"=")
        if text[:1] == b"'":
            value, _, text = text[1:].partition(b"'")
        elif text[:1] == b'"':
            end = re.match(rb'"((?:\\.|[^"\\])*)"', text, re.S)
            value, text = re.sub(rb'\\(["\\`$])', rb"\1", end[1]), text[end.end():]
        else:
            value, newline, rest = text.partition(b"\n")
            text = newline + rest
        assert text[:1] == b"\n", text
        found[name.decode()], text = value, text[1:]
    return found


def test_assignments_for_systemd(berthd, berth, directory):
    daemon = berthd("[semaphore s]\nlimit = 99\n")
    for name, path in PATHS.items():
        place = os.fsencode(directory) + b"/" + path
        os.symlink(os.fsencode(daemon.socket), place)
        out = berth.start("acquire", "--ttl", "1h", "s", env={"BERTH_SOCKET": os.fsdecode(place)})
        assert environment_file(out.communicate(timeout=30)[0])["BERTH_SOCKET"] == place, name


# ---- files


LINES = ["{}", "[{}]", "[lock {}]", "[lock a]\n{} = 1", "[lock a]\nlimit = {}", "[pool p]\nitems = {}",
         "[lock a]\nallow-users = {}", "[daemon]\ninclude = {}", "[daemon]\nsocket = {}",
         "[redis]\nurl = {}", "[lock a]\nredis = {}", "[lock a]\ndeny-groups = {}"]


def checked(daemon, file):
    """The exit status of `berthd --check`, which says nothing on stdout, and its messages."""
    done = subprocess.run([daemon.process.args[0], "--check", "-c", file], capture_output=True, check=False)
    assert done.stdout == b""
    return done.returncode, require_harmless(done.stderr)


def test_the_check_of_a_file(berthd, berthctl, directory):
    """In messages of --check, and of a reload to the operator and in the log."""
    daemon = berthd("[lock a]\n")
    good = daemon.config.read_bytes()
    for text in texts(70).values():
        for line in LINES:
            bad = line.encode().replace(b"{}", text)
            daemon.config.write_bytes(good + b"limit = x\n" + bad + b"\n")
            if line == LINES[4]:
                assert checked(daemon, daemon.config)[0] == 78
            answer = daemon.client().request("reload")
            assert answer.startswith("error config ")
            require_harmless(answer + "\n")
        done = berthctl("reload", env={"LC_ALL": "C.UTF-8"})
        assert done.returncode == 78
        require_harmless(done.stderr, unicode=True)
    daemon.config.write_bytes(good)
    daemon.stop()
    require_harmless(daemon.log.read_bytes())


def test_names_of_files(berthd, directory):
    """Of the file itself, and of those that it includes."""
    parts = directory / "conf.d"
    parts.mkdir()
    daemon = berthd("include = conf.d\n[lock a]\n")
    for name, path in PATHS.items():
        file = pathlib.Path(os.fsdecode(os.fsencode(parts) + b"/" + path + b".conf"))
        file.write_text("[lock a]\n")
        answer = daemon.client().request("reload")
        assert answer.startswith("error config ") and MARK in require_harmless(answer + "\n")
        file.write_text("x")
        exit_status, said = checked(daemon, file)
        assert exit_status == 78 and MARK in said and said.count("\n") == 1, name
        file.unlink()
    daemon.stop()
    require_harmless(daemon.log.read_bytes())


# ---- after a restart, and from other hosts


def test_what_a_journal_and_a_state_file_bring_back(berthd, berthctl):
    daemon = berthd(config("[semaphore r{}]\nlimit = 2"), "-v")
    client = daemon.client()
    for i, name in enumerate(ALL):
        held(client, f"acquire r{i} ttl=1h {words_of(name)}")
        assert client.request(f"reserve r{i} 1 reason={encoded(REASON[name])}") == "ok"
    before = berthctl("status", "--json").stdout
    daemon.kill()
    daemon.start()
    after = berthctl("status", "--json").stdout
    said = [[holder[key] for holder in resource["holders"] for key in ("reason", "holder", "program")]
            + [item["reason"] for item in resource["items"]]
            for resource in json.loads(before)["resources"]]
    assert said == [[holder[key] for holder in resource["holders"]
                     for key in ("reason", "holder", "program")]
                    + [item["reason"] for item in resource["items"]]
                    for resource in json.loads(after)["resources"]]
    require_harmless(berthctl("status", env={"LC_ALL": "C.UTF-8"}).stdout, unicode=True)
    daemon.stop()
    require_harmless(daemon.log.read_bytes())


@needs_redis
def test_leases_of_other_hosts(redis_server, hosts):  # noqa: F811
    a, b = fleet(redis_server, hosts, 2, "[lock etl]\nscope = fleet\n" + config("[lock r{}]\nscope = fleet"))
    there = client_of(a)
    for i, name in enumerate(ALL):
        gets(there, f"acquire r{i} {words_of(name)}")
        if i % 4 == 0:
            assert there.request(f"reserve r{i} 0 reason={encoded(REASON[name])}") == "ok"
    for line in client_of(b).lines("status"):
        assert len(line) < 4096
        require_harmless(line + "\n")
    for locale in LOCALES:
        env = {"LC_ALL": locale}
        assert require_harmless(b.berthctl("status", env=env).stdout, locale != "C").count(MARK) > len(ALL)
        printed = json.loads(require_harmless(b.berthctl("status", "--json", env=env).stdout, lines=1))
        for name, resource in zip(ALL, printed["resources"][1:]):
            assert resource["holders"][0]["reason"] == shown_in_json(REASON[name])
    processes = [b.berth.start("run", f"r{i}", "--", "true") for i in range(len(ALL))]
    for process in processes:
        assert MARK in require_harmless(read_line(process.stderr) + "\n", lines=1)
    for host in (a, b):
        require_harmless(host.log.read_bytes())

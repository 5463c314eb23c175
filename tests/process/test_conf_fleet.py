"""[redis] and scope = fleet in the configuration: checked before a start, and on a running daemon."""

import subprocess

from conftest import BUILD
from daemon_help import held
from lines import DEADLINE

FLEET = "[lock f]\nscope = fleet\n"


def check(directory, text):
    """--check: (status, messages)."""
    path = directory / "checked.conf"
    path.write_text(text)
    done = subprocess.run([BUILD / "berthd", "-c", path, "--check"], stdin=subprocess.DEVNULL,
        text=True, capture_output=True, timeout=DEADLINE)
    return done.returncode, done.stderr.replace(str(path), "checked.conf")


def test_check_says_what_is_right(directory):
    path = directory / "checked.conf"
    for text, said in (("[lock a]\n", "OK: 1 resource\n"), ("", "OK: 0 resources\n"),
                       ("[redis]\nurl = unix:///x\n" + FLEET + "[lock t/*]\n", "OK: 2 resources, 1 database\n")):
        path.write_text(text)
        done = subprocess.run([BUILD / "berthd", "-c", path, "--check"], text=True, capture_output=True, check=True)
        assert (done.stdout, done.stderr) == (said, "")


def test_check(directory):
    redis = "[redis]\nurl = unix:///none\nttl = 12s\n"
    assert check(directory, redis + FLEET) == (0, "")
    assert check(directory, redis + FLEET + "kill-after = 10s\norder = first-fit\n")[0] == 78
    status, said = check(directory, "[redis]\nurl = rediss://u:hunter2@h,h\n" + FLEET + "redis = x\n")
    lines = said.splitlines()
    assert status == 78 and len(lines) == 2
    assert lines[0].startswith("berthd: checked.conf:2: [redis] url: ")
    assert lines[1].startswith("berthd: checked.conf:5: [lock f] redis: there is no section [redis x]")
    assert "hunter2" not in said


def test_a_database_comes_with_the_next_start(berthd):
    """A reload that adds a database reports it, and one that uses it at once changes nothing."""
    daemon = berthd("[lock a]\n")
    client = daemon.client()
    redis = f"[redis]\nurl = unix://{daemon.socket}.none\n"
    daemon.configure("[lock b]\n" + redis)
    assert "the%20new%20section%20[redis]%20takes%20effect%20at%20the%20next%20start" in client.request("reload")
    assert "the new section [redis] takes effect at the next start" in daemon.log.read_text()
    held(client, "acquire b")
    daemon.configure("[lock c]\n" + redis + FLEET)
    answer = client.request("reload")
    assert answer.startswith("error config ") and "[redis]%20is%20new:%20restart%20berthd%20to%20use%20it" in answer
    assert client.request("acquire c").startswith("error unknown")

"""The page, from its package: off until it is enabled, behind its socket, and with the rights of a viewer."""

import json
import re
import shutil

import pytest

from conftest import OVER, Job, fill_in, leases
from machine import PACKAGE
from test_units import MAX_EXPOSED, comments, security

WEB_PACKAGE = PACKAGE.with_name(PACKAGE.name.replace("berth_", "berth-web_", 1))
UNITS = ("berth-web.socket", "berth-web.service")
ASK = """exec 3<>/dev/tcp/127.0.0.1/8181
printf 'GET %s HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n' "$1" "$2" >&3
cat <&3"""
SECRET = "/etc/berth/conf.d/secret.conf"


def put_over(machine):
    shutil.copy(f"{OVER}/berth-web", machine.root / "usr/sbin/berth-web")
    for unit in UNITS:
        fill_in(f"{unit}.in", machine.root / "lib/systemd/system" / unit)


@pytest.fixture(scope="module")
def package(installed):
    shutil.copy(WEB_PACKAGE, installed.root / "web.deb")
    installed.run("dpkg", "--unpack", "/web.deb")
    if OVER:
        put_over(installed)
    installed.run("dpkg", "--configure", "berth-web")
    yield installed
    installed.run("dpkg", "--purge", "berth-web")
    assert not installed.outside("/usr/sbin/berth-web").exists()
    assert "berth" not in installed.systemctl("--failed", "--plain", "--no-legend")


@pytest.fixture
def web(package, machine):
    machine.systemctl("start", "berth-web.socket")
    yield machine
    machine.systemctl("stop", "berth-web.socket", "berth-web.service")


def ask(machine, path, host="127.0.0.1:8181", user="alice"):
    """(status, body)"""
    answer = machine.run("bash", "-c", ASK, "bash", path, host, user=user)
    head, _, body = answer.partition("\n\n")  # as text: without \r
    return int(head.split()[1]), body


def get(machine, path):
    status, body = ask(machine, path)
    assert status == 200, body
    return json.loads(body)


def holders(machine, name):
    """As status.json shows them; None: it does not follow berthd yet."""
    shown = get(machine, "/status.json")
    if not shown["connected"]:
        return None
    return next(resource for resource in shown["resources"] if resource["name"] == name)["holders"]


def is_over(machine, lease):
    """Its entry of the history."""
    found = [entry for entry in get(machine, "/history.json")["leases"] if entry["lease"] == lease]
    return found[0] if found else None


def test_it_is_off(package):
    for unit in UNITS:
        assert package.try_("systemctl", "is-enabled", unit).stdout in ("disabled\n", "indirect\n")
        assert package.try_("systemctl", "is-active", unit).stdout == "inactive\n"


def test_exposure(package):
    overall, exposed = security(package, "berth-web.service")
    assert exposed
    assert overall <= MAX_EXPOSED
    explained = comments(package, "berth-web.service")
    for setting in exposed:
        for word in re.split("=/|=~|=", setting):
            assert word in explained, setting


@pytest.mark.parametrize("unit", UNITS)
def test_verify_is_silent(package, unit):
    done = package.try_("systemd-analyze", "verify", "--man=no", unit)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_first_question_starts_it(web):
    assert web.try_("systemctl", "is-active", "berth-web.service").stdout == "inactive\n"
    status, page = ask(web, "/")
    assert status == 200 and "<html" in page
    assert web.try_("systemctl", "is-active", "berth-web.service").stdout == "active\n"
    web.wait(lambda: ask(web, "/healthz") == (200, "ok\n"), "it follows berthd")
    assert ask(web, "/status.json", host="evil.example")[0] in (403, 421)


def test_it_has_no_rights(web):
    ask(web, "/")
    status = web.read(f"/proc/{web.main_pid('berth-web.service')}/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert int(fields["CapPrm"], 16) == int(fields["CapBnd"], 16) == 0
    assert int(fields["Uid"].split()[0]) >= 61184  # a dynamic user


def test_an_ended_job_over_restarts(web):
    job = Job(web, "ship", user="alice").begins()
    web.wait(lambda: [lease["lease"] for lease in holders(web, "ship") or ()] == [job.lease], "the job is shown")
    web.systemctl("restart", "berthd.service")
    web.wait(lambda: leases(web, "ship") == {job.lease: job.pid}, "berthd is back")
    web.systemctl("stop", "berth-web.service")  # the socket stays
    assert job.end() == 0
    # Not the instants: the ring and what is kept have them by looks at the clock of their own.
    for when in "what ended without it is known", "it is known over restarts":
        entry = web.wait(lambda: is_over(web, job.lease), when)
        assert (entry["how"], entry["exit"], entry["user"]) == ("released", 0, "alice")
        web.systemctl("restart", "berthd.service", "berth-web.service")


def test_an_upgrade_restarts_it_where_it_runs(web):
    ask(web, "/")
    before = web.main_pid("berth-web.service")
    web.run("dpkg", "--install", "/web.deb")
    assert web.main_pid("berth-web.service") not in (0, before)
    assert web.try_("systemctl", "is-enabled", "berth-web.socket").stdout == "disabled\n"


def test_only_view_groups_show_it_what_is_hidden(web, main_file):
    """In the group, by berthd's leave, and not otherwise."""
    web.write(SECRET, "[lock secret]\nshow-commands = owner\n")
    web.systemctl("reload", "berthd.service")
    job = Job(web, "secret", "--reason", "hidden words", user="bob").begins()
    held = web.wait(lambda: holders(web, "secret"), "the job is shown")
    assert (held[0]["lease"], held[0]["reason"]) == (job.lease, None)
    main_file("[daemon]\nview-groups = berth-view\n")
    web.systemctl("reload", "berthd.service")
    web.wait(lambda: [lease["reason"] for lease in holders(web, "secret") or ()] == ["hidden words"],
             "a viewer sees its reason")
    assert job.end() == 0
    web.outside(SECRET).unlink()

"""`make install`: what goes where, and that the operator's own file is left alone."""

import os
import subprocess

import pytest

from conftest import BUILD
from lines import DEADLINE

MAKE_IN = os.environ.get("BERTH_BUILD_DIR", "build")


@pytest.fixture
def make(directory):
    def make(target):
        done = subprocess.run(
            ["make", "-s", "-C", MAKE_IN, target, f"DESTDIR={directory}", "prefix=/usr", "sysconfdir=/etc"],
            env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE)
        assert done.returncode == 0, done.stderr
        return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}

    return make


def check(path):
    """berthd's complaints about a configuration."""
    done = subprocess.run([BUILD / "berthd", "--check", "-c", path], capture_output=True, text=True, timeout=DEADLINE)
    assert (done.returncode == 0) == (done.stderr == "")
    return done.stderr


def test_what_lands_where(make, directory):
    assert {
        "usr/bin/berth", "usr/bin/berthctl", "usr/sbin/berthd", "etc/berth/berth.conf",
        "usr/share/doc/berth/examples/berth.conf", "usr/share/doc/berth/README.md",
        "usr/share/berth/metrics/berth.rules.yml", "usr/share/berth/metrics/berth.dashboard.json",
        "usr/share/berth/metrics/berth-textfile", "usr/lib/nagios/plugins/check_berth",
        "usr/share/bash-completion/completions/berth", "usr/share/bash-completion/completions/berthctl",
        "usr/share/bash-completion/completions/berthd", "usr/share/zsh/site-functions/_berth",
    } <= make("install")
    path = directory / "etc/berth/berth.conf"
    text = path.read_text()
    assert check(path) == ""
    sections = [line for line in text.splitlines() if line.startswith("[")]
    assert sections == ["[daemon]", "[lock adhoc/*]", "[lock flock/*]"]
    # What is commented out is right, too. (The group comes with berth-web.)
    path.write_text(text.replace("\n;", "\n").replace("= berth-view", "= root"))
    assert path.read_text().count("\n[") == len(sections) + text.count("\n;[") > 4
    assert check(path) == ""
    path.write_text(text)
    assert make("uninstall") == set()


def test_own_configuration_stays(make, directory):
    path = directory / "etc/berth/berth.conf"
    path.parent.mkdir(parents=True)
    path.write_text("[lock mine]\n")
    make("install")
    assert path.read_text() == "[lock mine]\n"
    assert make("uninstall") == {"etc/berth/berth.conf"}

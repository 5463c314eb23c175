"""The units as systemd-analyze sees them."""

import re

import pytest

UNITS = "berthd.service berthd.socket berthd@two.service berthd@two.socket".split()
MAX_EXPOSED = 1.0


def security(machine, unit):
    """The overall exposure, and the settings that are exposed: {setting: exposure}."""
    lines = machine.run(
        "systemd-analyze", "security", "--offline=true", "--no-pager", unit, env={"SYSTEMD_COLORS": "0"}).splitlines()
    overall = re.search(r"Overall exposure level for \S+: ([\d.]+)", lines[-1])
    exposed = {}
    for line in lines:
        if match := re.match(r"\S (\S+) .*\s(\d\.\d)$", line.strip()):
            exposed[match[1]] = float(match[2])
    return float(overall[1]), exposed


@pytest.mark.parametrize("unit", UNITS)
def test_verify_is_silent(machine, unit):
    done = machine.try_("systemd-analyze", "verify", "--man=no", unit)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("unit", ["berthd.service", "berthd.socket"])
def test_verify_of_the_user_s_units_is_silent(machine, unit):
    done = machine.try_(
        "systemd-analyze", "verify", "--user", "--man=no", f"/usr/lib/systemd/user/{unit}", user="alice",
        env={"XDG_RUNTIME_DIR": "/tmp", "HOME": "/home/alice"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def comments(machine, unit):
    return "".join(line for line in machine.systemctl("cat", unit).splitlines() if line.startswith("#"))


@pytest.mark.parametrize("unit", ["berthd.service", "berthd@two.service"])
def test_exposure(machine, unit):
    overall, exposed = security(machine, unit)
    assert exposed  # else its words have changed
    assert overall <= MAX_EXPOSED
    explained = comments(machine, unit)
    for setting in exposed:
        for word in re.split("=/|=~|=", setting):
            assert word in explained, setting

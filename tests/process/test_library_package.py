"""The library for Python as a wheel, made without a network, and its Debian package's list of files."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest

from documents import SOURCE
from lines import DEADLINE
from readme import PROGRAM

CONFIG = "[lock adhoc/*]\n"
FILES = {path.name for path in (SOURCE / "python/berth").iterdir() if path.is_file()}

needs_pip = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("pip", "setuptools", "wheel")),
    reason="there is no pip, setuptools or wheel")


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE * 4, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_pip
def test_a_wheel(daemon, directory):
    source, wheels, there = (directory / name for name in ("source", "wheels", "there"))
    shutil.copytree(SOURCE / "python", source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    quiet = ["--no-index", "--no-deps", "-q"]
    environ = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}
    run(*pip, "wheel", *quiet, "--no-build-isolation", "-w", wheels, source, env=environ)
    wheel, = wheels.iterdir()
    assert wheel.name == f"berth-{version()}-py3-none-any.whl"
    run(*pip, "install", *quiet, "--target", there, wheel, env=environ)
    assert {path.name for path in (there / "berth").iterdir() if path.is_file()} == FILES
    environ = {**os.environ, "PYTHONPATH": str(there), "BERTH_SOCKET": str(daemon.socket)}
    said = run(sys.executable, "-c", PROGRAM, env=environ, cwd=directory)
    assert re.fullmatch(r"slot 0 is mine, with token \d+\n", said)


def version():
    return re.search(r'^version = "(.*)"$', (SOURCE / "python/pyproject.toml").read_text(), re.M)[1]


def test_one_version():
    assert f"AC_INIT([berth], [{version()}]" in (SOURCE / "configure.ac").read_text()
    assert f'__version__ = "{version()}"' in (SOURCE / "python/berth/__init__.py").read_text()


def test_every_file_is_in_the_tarball():
    listed = set(re.findall(r"^\tpython/berth/(\S+)", (SOURCE / "Makefile.am").read_text(), re.M))
    assert listed == FILES

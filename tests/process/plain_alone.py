"""The files of tests that a sanitized build leaves out: what they test is no code that a sanitizer
watches, or code that other tests run with the same input there. `make check-process` in a plain
build runs them all."""

import os
import pathlib

import pytest

HERE = pathlib.Path(__file__).parent
REASONS = {
    "test_cluster.py": "moves and ends of real nodes; test_cluster_link.py has what they make the link do",
    "test_completions.py": "shell code; the commands that it asks are test_ctl_status.py's",
    "test_fleet_sessions.py": "a program of bench/; real berthds do the same in the other test_fleet_*.py",
    "test_install.py": "make install, and the installed files",
    "test_instructions.py": "Python alone",
    "test_man_rights.py": "a page's table; test_rights_table.py tries the same rights",
    "test_metrics_rules.py": "rules for Prometheus, which its promtool tries",
    "test_protocol_clients.py": "a page's clients, in other languages",
    "test_readme.py": "a page's commands; the test_run_*.py and test_ctl*.py have their ways and faults",
    "test_recipes*.py": "a page's commands; the test_run_*.py and test_ctl*.py have their ways and faults",
    "test_scripts*.py": "scripts inside Redis",
}


def check_table():
    """A name that no file has is left over, and hides nothing."""
    for pattern in REASONS:
        if not any(HERE.glob(pattern)):
            raise pytest.UsageError(f"plain_alone.py: no file is {pattern}")


def pytest_ignore_collect(collection_path):
    """$BERTH_SANITIZED says what the build is."""
    if "BERTH_SANITIZED" in os.environ and any(map(collection_path.match, REASONS)):
        return True
    return None

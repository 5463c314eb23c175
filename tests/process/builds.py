"""In which build a file of tests runs. `make check-process` in a plain build runs all of them; a
sanitized build leaves out what is no code that a sanitizer watches, or what other tests run with the
same input there. scripts/check runs each test once: with sanitizers, unless they cannot say what
is asked."""

import os
import pathlib

import pytest

HERE = pathlib.Path(__file__).parent
PLAIN_ALONE = {
    "test_cluster.py": "moves and ends of real nodes; test_cluster_link.py has what they make the link do",
    "test_completions.py": "shell code; the commands that it asks are test_ctl_status.py's",
    "test_fleet_sessions.py": "a program of bench/; real berthds do the same in the other test_fleet_*.py",
    "test_conformance.py": "clients in other languages",
    "test_install.py": "make install, and the installed files",
    "test_instructions.py": "Python alone",
    "test_library*.py": "a client in Python; the test_daemon_*.py and test_lost_*.py have what it asks for",
    "test_metrics_rules.py": "rules for Prometheus, which its promtool tries",
    "test_protocol_clients.py": "a page's clients, in other languages",
    "test_readme.py": "a page's commands; the test_run_*.py and test_ctl*.py have their ways and faults",
    "test_recipes*.py": "a page's commands; the test_run_*.py and test_ctl*.py have their ways and faults",
    "test_scripts*.py": "scripts inside Redis",
}
BOTH = {
    "test_daemon_fairness.py": "memory: a sanitizer keeps what is freed",
    "test_daemon_hostile.py": "memory",
    "test_daemon_reading.py": "memory",
    "test_daemon_start.py": "open files, of which a sanitizer needs some",
    "test_fleet_large.py": "how long a listing may take",
    "test_lost_berthd.py": "draws at random, and a sanitized build draws less",
    "test_lost_ttl.py": "draws at random",
    "test_lost_wrapper.py": "draws at random",
    "test_watch.py": "memory",
    "test_web_past.py": "memory",
}


def check_table():
    """A name that no file has is left over, and hides nothing."""
    for pattern in (*PLAIN_ALONE, *BOTH):
        if not any(HERE.glob(pattern)):
            raise pytest.UsageError(f"builds.py: no file is {pattern}")


def pytest_ignore_collect(collection_path):
    """$BERTH_SANITIZED says what the build is, $BERTH_EACH_ONCE that a sanitized one follows."""
    if collection_path.suffix != ".py":
        return None
    if "BERTH_SANITIZED" in os.environ:
        return any(map(collection_path.match, PLAIN_ALONE)) or None
    if "BERTH_EACH_ONCE" in os.environ:
        return not any(map(collection_path.match, (*PLAIN_ALONE, *BOTH))) or None
    return None

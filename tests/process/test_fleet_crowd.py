"""Each call of a crowded fleet executes a bounded number of commands: tests/fleet-crowd, in small."""

import os
import subprocess
import sys

from conftest import BUILD
from daemon_help import SOURCE
from fleet_help import needs_redis

pytestmark = needs_redis


def test_no_call_is_long(tmp_path):
    done = subprocess.run(
        [sys.executable, SOURCE / "tests/fleet-crowd", "--daemons", "20", "--definitions", "60", "--instances",
         "400", "--waiters", "400", "--items", "1000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
        env={**os.environ, "BERTH_BUILD_DIR": str(BUILD), "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, done.stdout + done.stderr

"""Names a test that has run for a minute, and again each minute, while it runs: on the descriptor
$BERTH_NOTICES, as a test's own output is shown when it is over."""

import os
import signal
import time

import pytest

NOTICES = os.environ.get("BERTH_NOTICES")
SECONDS = 60


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    if not NOTICES:
        yield
        return
    began = time.monotonic()

    def name_it(*_):
        minutes = round((time.monotonic() - began) / 60)
        os.write(int(NOTICES), f"still running after {minutes} min: {item.nodeid}\n".encode())

    signal.signal(signal.SIGALRM, name_it)
    signal.setitimer(signal.ITIMER_REAL, SECONDS, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)

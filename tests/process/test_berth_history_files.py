"""What berth-history does when its files, or its directory, are touched or cannot be used for a while."""

import os
import shutil
import time

import pytest

from keeper_help import Keeper, ended, needs_history
from lines import until

pytestmark = needs_history

CONFIG = f"history-user = {os.geteuid()}\nhistory = 64K\n[semaphore s]\nlimit = 4\n[lock t/*]\n"
DAY = 86400


@pytest.fixture
def keeper(directory, daemon):
    started = []

    def start(text="", before=()):
        started.append(Keeper(directory, text, before))
        return started[0]

    yield start
    for each in started:
        for client in each.clients:
            client.close()
        each.stop()


def test_it_needs_no_shared_memory(keeper, daemon, client):
    """Who cuts that would end it."""
    kept = keeper()
    leases = [ended(client)]
    assert kept.past().leases == leases
    kept.stop()
    kept.start()
    leases.append(ended(client))
    assert kept.past().leases == leases
    assert not list(kept.days.glob("*-shm"))

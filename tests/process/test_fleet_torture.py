"""A short form of tests/fleet-torture."""

import os

from fleet_help import needs_redis
from fleet_torture import Torture

pytestmark = needs_redis

SECONDS = float(os.environ.get("BERTH_TORTURE_SECONDS", 12))


def tortured(directory, chance, seconds, **how):
    torture = Torture(directory, chance, say=print)
    try:
        torture.run(seconds, **how)
        print(torture.summary())
        assert torture.verdict() == []
    finally:
        torture.close()


def test_nothing_goes_wrong(directory, chance):
    tortured(directory, chance, SECONDS)

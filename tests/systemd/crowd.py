"""Clients without end, whose jobs are their own witnesses (tests/process/witness.py)."""

import fcntl
import shutil

from conftest import DEADLINE, WORK, status
from witness import GATES, MAX_LOCKS, Witness

FIRST = 1000  # the number of the first job that ends by itself; those before last until let_go()
EACH = 1000

LOOP = """
number=$1
while [ -e /srv/witness/go ]; do
    berth run crowd -- /srv/witness_job /srv/witness $number || echo "$number: $?" >>/srv/witness/failed
    number=$((number + 1))
done
"""


class Crowd(Witness):
    """`crowd` has 6 units: 4 are held until the end, the others go from hand to hand."""

    LIMIT, HOLDERS, LOOPS = 6, 4, 12

    def __init__(self, machine):
        super().__init__(machine.root / "srv")
        self.machine = machine
        shutil.copy(WORK / "witness_job", machine.root / "srv/witness_job")
        (self.directory / "go").touch()
        (self.directory / "failed").touch()
        (self.directory / "failed").chmod(0o666)
        fcntl.lockf(self.locks, fcntl.LOCK_UN, MAX_LOCKS - FIRST, GATES + FIRST)
        self.holders = [
            machine.start("berth", "run", "crowd", "--", "/srv/witness_job", "/srv/witness", number, user="alice")
            for number in range(self.HOLDERS)]
        self.wait_for_starts(self.HOLDERS)
        self.loops = [
            machine.start("sh", "-c", LOOP, "sh", FIRST + EACH * i, user=user)
            for i, user in zip(range(self.LOOPS), 2 * self.LOOPS * ["alice", "bob"])]
        self.goes_on()

    def goes_on(self, n=30):
        """Waits until so many more have had a place."""
        self.wait_for_starts(len(self.pids) + n)

    def ends_well(self):
        """None has failed, none was stopped, never were there too many."""
        self.goes_on()
        self.check(self.LIMIT)
        (self.directory / "go").unlink()
        for loop in self.loops:
            assert loop.wait(DEADLINE) == 0
        held = status(self.machine, "crowd")
        assert held["in_use"] == self.HOLDERS and held["waiting"] == 0
        for number, holder in enumerate(self.holders):
            self.let_go(number)
            assert holder.wait(DEADLINE) == 0
        assert (self.directory / "failed").read_text() == ""
        self.machine.wait(lambda: status(self.machine, "crowd")["in_use"] == 0, "all is free")
        self.close()
        shutil.rmtree(self.directory)

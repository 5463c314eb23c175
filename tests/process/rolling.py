"""Hosts of a fleet at work that get another berthd, one after the other, as an operator upgrades them
and rolls them back. Their jobs must not notice.

The load, its witnesses and what is checked at the end are those of fleet_torture.py, without its
faults."""

import time

from conftest import BUILD
from daemon_help import keys
from fleet_torture import Torture
from lines import DEADLINE, look_again

JOBS = 12  # at any time
BETWEEN = 1.0  # seconds of work from one step to the next


THIS = BUILD / "berthd"
NEXT = BUILD / "tests/next-format/berthd"  # knows layout 3 as well


class Rolling(Torture):
    def __init__(self, directory, chance):
        super().__init__(directory, chance, say=print)
        for witness in self.witnesses.values():
            witness.heard = set()

    # ---- work

    def work(self, seconds=BETWEEN):
        """Jobs come and go, operators change things, files get a new generation."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            while len(self.running) < JOBS:
                self.start_job()
            self.wait(min(end, time.monotonic() + 0.05))

    def roll(self, host, program, how="stop"):
        """The host gets that berthd while its jobs run. Waits until it is up."""
        self.fault({"operator_acts": 4, "generation_raised": 1})
        self.say(f"{self.hosts[host].name}: {how}, then {program}")
        self.is_up[host] = False
        getattr(self.hosts[host], how)()
        self.hosts[host].program = program
        self.hosts[host].start()
        self.is_up[host] = True
        self.wait_for(lambda: self.database_of(host)["state"] == "up")
        self.work()

    def roll_all(self, program, how="stop"):
        for host in self.chance.sample(range(len(self.hosts)), len(self.hosts)):
            self.roll(host, program, how)

    def wait_for(self, is_so):
        end = time.monotonic() + DEADLINE
        while not is_so():
            assert time.monotonic() < end
            self.work(0.05)
            look_again()

    # ---- looking

    def database_of(self, host):
        """The words of its `database` line."""
        client = self.hosts[host].client()
        lines = client.lines("status")
        client.close()
        self.hosts[host].clients.remove(client)
        line, = [line for line in lines if line.startswith("database ")]
        return keys(line.split())

    def layout(self):
        """Of the data."""
        return int(self.database.data()["db"]["layout"])

    def verdict(self):
        """No job was stopped, no host was without its database but while it was restarted."""
        wrong = super().verdict()
        if set(self.results) - {0, 69, 75, 78}:
            wrong.append(f"statuses {self.results}")
        for host in self.hosts:
            log = host.log.read_text()
            wrong += [line for line in log.splitlines()
                      if "this berthd knows" in line or "cannot be reached" in line or "refused:" in line
                      or "malformed" in line or "a wrong answer" in line]
        return wrong

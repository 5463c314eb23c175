"""Operators, new files, and hosts that come and go, while a fleet is tortured."""

import signal
import subprocess
import time

from lines import DEADLINE, look_again
from torture_resources import LAGS, LIMITS, TTL, TTLS, has_old, host_file

CHANGED = {"s": ["pause", "resume", "reset", "limit"], "l": ["pause", "resume", "reset"], "p": ["pause", "resume"]}
# So late may a job granted before a change still begin: a message was lost, or its wrapper was
# stopped meanwhile.
LATE = 15.0


class Changes:
    """The part of Torture that changes resources."""

    def begin_changes(self):
        self.generation = 0
        self.n_hosts = len(self.hosts)  # there ever were
        self.is_there = [True] * self.n_hosts
        self.answered_at = [0.0] * self.n_hosts  # when an operator's change was last answered there
        self.bounds = {name: [(0.0, limit)] for name, limit in LIMITS.items()}  # from when on
        self.forgetting = []  # berthctl, under way
        self.n_forgotten = 0
        self.changes = []  # of operators, under way: (process, name, bound, host)

    # ---- what is allowed

    def limit_at(self, name, when):
        """The largest bound in force when a job that began at `when` was granted."""
        changes = self.bounds[name]
        in_force = [bound for (at, bound), (until, _) in zip(changes, [*changes[1:], (float("inf"), 0)])
                    if until >= when - LATE and at <= when]
        return max(in_force)

    # ---- operators

    def operator_acts(self):
        """A lowered limit holds once the change is answered, a raised one as soon as it is
        requested."""
        name = self.chance.choice(list(CHANGED))
        word = self.chance.choice(CHANGED[name])
        host = self.chance.choice([n for n, up in enumerate(self.is_up) if up] or [None])
        if host is None or any(other == name for _, other, _, _ in self.changes):
            return None
        bound, more = {"pause": (0, []), "limit": (n := self.chance.randrange(1, 5), [str(n)])}.get(
            word, (LIMITS[name], []))
        self.bounds[name].append((time.monotonic(), LIMITS[name]))
        process = self.hosts[host].berthctl.start(
            word, name, *more, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.changes.append((process, name, bound, host))
        self.after(0.1, self.change_is_answered)
        return f"{word} {name}"

    def change_is_answered(self):
        for change in list(self.changes):
            process, name, bound, host = change
            if process.poll() is not None:
                self.changes.remove(change)
                if process.returncode == 0:
                    self.bounds[name].append((time.monotonic(), bound))
                    self.answered_at[host] = time.monotonic()
        if self.changes:
            self.after(0.1, self.change_is_answered)

    def generation_raised(self):
        """The new file comes to one host after the other."""
        self.generation += 1
        for n, _ in enumerate(self.hosts):
            self.after(self.chance.random() * 3, self.new_file, n, self.generation)
        for seconds in (4, 8) if not has_old(self.generation) else ():
            self.after(seconds, self.definition_forgotten)
        return "a new generation"

    def file_of(self, n, generation=0):
        """Files need not agree: on each host the smaller limit holds, in the fleet the longer times."""
        return host_file(self.url_of(n), generation, *map(self.chance.choice, ([4, 4, 3, 1], TTLS, LAGS)))

    def new_file(self, n, generation):
        if self.is_there[n]:
            self.hosts[n].configure(self.file_of(n, generation))
            self.hosts[n].signal(signal.SIGHUP)  # where berthd is stopped, it reloads when it goes on

    def reset_all(self):
        """Until each is: no paused job would ever end."""
        end = time.monotonic() + DEADLINE
        for name in CHANGED:
            self.bounds[name].append((time.monotonic(), LIMITS[name]))
            while self.hosts[0].berthctl("reset", name).returncode != 0 and time.monotonic() < end:
                look_again()

    # ---- a definition that leaves the files, and the database

    def definition_forgotten(self):
        """Some files may still have it, and jobs use it: then it stays, or comes back."""
        host = self.chance.choice([n for n, up in enumerate(self.is_up) if up] or [None])
        if host is not None:
            self.forgetting.append(self.hosts[host].berthctl.start(
                "forget", "old", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            self.after(0.2, self.forget_is_answered)
            return "forget old"

    def forget_is_answered(self):
        for process in list(self.forgetting):
            if process.poll() is not None:
                self.forgetting.remove(process)
                self.n_forgotten += process.returncode == 0
        if self.forgetting:
            self.after(0.2, self.forget_is_answered)

    def forget_for_good(self):
        """Once no file has it any more."""
        self.generation += 2 if not has_old(self.generation) else 1
        for n, _ in enumerate(self.hosts):
            self.new_file(n, self.generation)
        end = time.monotonic() + DEADLINE
        while having := [host for host in self.hosts if "old" in host.berthctl("status").stdout.split()]:
            if time.monotonic() > end:
                return self.complaints.append("\n".join(
                    f"the new file is not in force: {host.berthctl('status').stdout}{host.log.read_text()[-4000:]}"
                    for host in having))
        while (status := self.hosts[0].berthctl("forget", "old").returncode) not in (0, 78):
            if time.monotonic() > end:
                return self.complaints.append(f"forget old: status {status}")
        if "old" in self.database.data()["definitions"]:
            self.complaints.append("what was forgotten is there")

    # ---- hosts that come and go

    def host_leaves(self):
        """With all that runs there. Another one replaces it later."""
        host = self.chance.choice([n for n, up in enumerate(self.is_up) if up] or [None])
        if host is None or sum(self.is_there) < 3 or time.monotonic() < self.answered_at[host] + TTL:
            return None
        self.hear()
        self.is_up[host] = self.is_there[host] = False
        self.hosts[host].kill()
        for job in [*self.jobs_of(host), *self.orphans.values()]:
            if job.host == host:
                job.is_doomed = True
                job.faults.add("wrapper")
                job.process.kill()
                self.to_job(job, signal.SIGKILL)
        self.after(self.chance.choice([0.5, 3, TTL + 2]), self.host_joins, host)
        return "a host leaves"

    def host_joins(self, n):
        self.hosts[n].berth.end()
        self.hosts[n].berthctl.end()
        self.hosts[n] = self.make_host(f"h{self.n_hosts}", self.file_of(n, self.generation))
        self.n_hosts += 1
        self.is_up[n] = self.is_there[n] = True

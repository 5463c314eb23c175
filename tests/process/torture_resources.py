"""What a tortured fleet shares, and what is in force when."""

from fleet_help import redis_section

# Files of hosts differ in these; TTL and LAG are the largest.
TTLS = [6.0, 6.0, TTL := 8.0]
LAGS = [1.0, 1.0, LAG := 2.0]

RESOURCES = """
[semaphore s]
scope = fleet
limit = 4
kill-after = 500ms
[lock l]
scope = fleet
kill-after = 500ms
[semaphore t/*]
scope = fleet
limit = 2
kill-after = 500ms
[pool p]
scope = fleet
items = a b
kill-after = 500ms
[semaphore quota]
scope = fleet
limit = 4
max-units-per-user = 2
kill-after = 500ms
[lock rest]
scope = fleet
cooldown = 300ms
kill-after = 500ms
[semaphore burst]
scope = fleet
limit = 4
max-waiters = 100000
kill-after = 500ms
[semaphore one]
scope = fleet
limit = 4
kill-after = 500ms
"""
# A burst of requests takes nothing from its user's jobs.
BOUNDS = "max-waiters-per-user = 100000\nmax-leases-per-user = 100000\n"
# Only in the files of every second generation.
OLD = """
[lock old]
scope = fleet
kill-after = 500ms
"""
# All jobs belong to one user, and those of "one" have one identity.
LIMITS = {"s": 4, "l": 1, "t/x": 2, "p": 2, "quota": 2, "rest": 1, "one": 1, "old": 1}


def has_old(generation):
    return generation % 2 == 0


def host_file(url, generation, limit, ttl, lag):
    """Each generation has another definition of "s", with no difference that a job would see: another limit would end
    an operator's. `limit` is that of "quota"."""
    resources = RESOURCES.replace("limit = 4\n", f"limit = 4\nmax-waiters = {1000 + generation}\n", 1)
    resources = resources.replace("limit = 4\nmax-units", f"limit = {limit}\nmax-units")
    section = redis_section(url, f"{ttl:g}s", failover_lag=f"{lag:g}s", generation=generation)
    return BOUNDS + section + resources + (OLD if has_old(generation) else "")

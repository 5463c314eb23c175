/* fleet_jobs.c - the jobs of a host, and their wrappers, who know until when their leases are good
 * and do not need the daemon to end. */
#include "fleet_internal.h"

#include <string.h>

struct job *jobs_find(struct host *host, uint64_t id)
{
    for (size_t i = 0; i < MAX_JOBS; i++) {
        if (host->jobs[i].id == id) {
            return &host->jobs[i];
        }
    }
    return NULL;
}

size_t jobs_used(const struct host *host)
{
    size_t n = 0;
    for (size_t i = 0; i < MAX_JOBS; i++) {
        n += host->jobs[i].id != 0;
    }
    return n;
}

static nanoseconds random_wait(struct fleet *fleet)
{
    uint32_t kind = random_below(&fleet->random, 10);
    return kind == 0 ? 0 : kind == 1 ? chance(fleet, SECOND, 30 * SECOND) : NEVER;
}

void jobs_ask(struct fleet *fleet, struct host *host)
{
    static const char *const names[] = {"r0", "r1", "r2", "r3"};
    struct job *job = jobs_find(host, 0);
    struct ask ask = {.wait = random_wait(fleet), .signal = 15};
    struct lease *lease;
    const char *about;
    uint32_t first = random_below(&fleet->random, N_MODEL_RESOURCES);
    ask.n_wants = random_percent(&fleet->random, 25) ? 2 : 1;
    for (uint32_t i = 0; i < ask.n_wants; i++) {
        uint32_t resource = (first + i) % N_MODEL_RESOURCES;
        bool many = fleet->server.limits[resource] > 1 && random_percent(&fleet->random, 20);
        ask.wants[i] = (struct want){.name = names[resource], .count = many ? 2 : 1};
    }
    ask.priority = random_percent(&fleet->random, 10) ? 5 : 0;
    enum outcome outcome =
        core_acquire(host->core, &host->client, &ask, fleet->now, &host->effects, &lease, &about);
    if (outcome != OUTCOME_PENDING) {
        if (outcome != OUTCOME_DRAINING && outcome != OUTCOME_GRACE) {
            fail(fleet, "%s: an acquire ends with outcome %d", host->name, (int)outcome);
        }
        return;
    }
    bool is_long = random_percent(&fleet->random, 5);
    *job = (struct job){.id = lease->id,
        .is_waiting = true,
        .length = chance(fleet, 20 * MILLISECOND, is_long ? 60 * SECOND : 2 * SECOND),
        .budget = lease_stop_budget(lease),
        .asked = ++host->n_asked};
}

/* Leases of one host that wait have their tickets in the order in which they asked. */
static void check_order(struct fleet *fleet, struct host *host, const struct lease *granted)
{
    const struct job *mine = jobs_find(host, granted->id);
    for (size_t i = 0; i < MAX_JOBS; i++) {
        const struct job *other = &host->jobs[i];
        const struct lease *lease =
            other->id != 0 && other->is_waiting ? core_find_lease(host->core, other->id) : NULL;
        if (lease && lease->ticket != 0 &&
            (lease->ticket < granted->ticket) != (other->asked < mine->asked)) {
            fail(fleet, "%s: tickets are not in the order of the requests: %ju has %ju, %ju %ju",
                host->name, (uintmax_t)granted->id, (uintmax_t)granted->ticket,
                (uintmax_t)other->id, (uintmax_t)lease->ticket);
        }
    }
}

static void check_units(struct fleet *fleet, const struct host *host, const struct job *job)
{
    for (uint32_t resource = 0; resource < N_MODEL_RESOURCES; resource++) {
        if (job->units[resource] >> fleet->server.limits[resource] != 0) {
            fail(fleet, "%s: a unit of r%u above its limit", host->name, resource);
        }
        for (size_t i = 0; i < N_HOSTS * MAX_JOBS; i++) {
            const struct host *where = &fleet->hosts[i / MAX_JOBS];
            const struct job *other = &where->jobs[i % MAX_JOBS];
            if (other != job && other->is_alive && other->units[resource] & job->units[resource]) {
                fail(fleet, "a unit of r%u has two jobs, on %s and %s", resource, where->name,
                    host->name);
            }
        }
    }
}

void job_is_granted(struct fleet *fleet, struct host *host, const struct lease *lease)
{
    struct job *job = jobs_find(host, lease->id);
    if (!job || !job->is_waiting) {
        fail(fleet, "%s: a grant of nobody's lease", host->name);
    }
    check_order(fleet, host, lease);
    memset(job->units, 0, sizeof job->units);
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        uint32_t resource = (uint32_t)(claim->resource->name[1] - '0');
        for (const struct unit *unit = claim->units; unit; unit = unit->next_of_claim) {
            job->units[resource] |= UINT32_C(1) << unit->index;
        }
    }
    job->is_waiting = false;
    job->is_alive = true;
    job->ends_at = fleet->now + job->length;
    job->dies_at = NEVER;
    job->deadline = core_fleet_deadline(host->core, 1);
    check_units(fleet, host, job);
    fleet->n_grants++;
    trace(fleet, "%s: job %ju runs", host->name, (uintmax_t)job->id);
}

void job_dies(struct job *job)
{
    job->is_over = job->is_alive || job->is_waiting;
    job->is_alive = job->is_waiting = false;
}

void job_is_stopped(struct fleet *fleet, struct host *host, struct job *job)
{
    nanoseconds at = fleet->now + chance(fleet, 0, host->settings.ttl / 30);
    job->dies_at = at < job->dies_at ? at : job->dies_at;
}

static nanoseconds job_next(const struct job *job)
{
    nanoseconds at = job->ends_at < job->dies_at ? job->ends_at : job->dies_at;
    nanoseconds stop_at = job->deadline - job->budget;
    return !job->is_alive ? NEVER : job->dies_at == NEVER && stop_at < at ? stop_at : at;
}

nanoseconds jobs_next_deadline(const struct host *host)
{
    nanoseconds deadline = NEVER;
    for (size_t i = 0; i < MAX_JOBS; i++) {
        nanoseconds at = host->jobs[i].id != 0 ? job_next(&host->jobs[i]) : NEVER;
        deadline = at < deadline ? at : deadline;
    }
    return deadline;
}

void jobs_tick(struct fleet *fleet, struct host *host)
{
    for (size_t i = 0; i < MAX_JOBS; i++) {
        struct job *job = &host->jobs[i];
        if (job->id == 0 || !job->is_alive) {
            continue;
        }
        if (fleet->now >= job->ends_at || fleet->now >= job->dies_at) {
            trace(fleet, "%s: job %ju ends", host->name, (uintmax_t)job->id);
            job_dies(job);
        } else if (fleet->now >= job->deadline - job->budget) {
            job_is_stopped(fleet, host, job);
        }
    }
}

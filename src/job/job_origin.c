#include "job/job_origin.h"

#include "base/clock.h"
#include "base/memory.h"
#include "core/resource.h"
#include "job/process.h"

#include <stdlib.h>
#include <string.h>

/* How long a lease lasts before it is looked up: what is shorter leaves no trace, and costs
 * nothing. While many come, only the long ones are. */
#define LONG_ENOUGH (100 * INT64_C(1000000))
#define LONG_ENOUGH_WHILE_BUSY (5 * NANOSECONDS_PER_SECOND)

enum {
    TICK_MS = 100,
    BUSY = 32, /* new leases in one tick */
    MAX_LOOKED_UP = 16, /* leases in one turn: some 300 microseconds */
    GO_ON_AFTER_MS = 5,
    MAX_QUEUED = 16384, /* a power of 2; beyond, the oldest are not looked up */
};

/* ---- shared ---- */

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same(const struct job_origin *origin, const struct process_origin *found)
{
    const struct process_origin *known = &origin->known;
    return known->has_login == found->has_login &&
        (!found->has_login || known->login == found->login) &&
        is_same_text(known->cgroup, found->cgroup) && is_same_text(known->args, found->args);
}

static uint64_t hash_of(const struct process_origin *found)
{
    uint64_t seed = found->has_login ? found->login + UINT64_C(1) : 0;
    seed = found->cgroup ? hash_string(found->cgroup, seed) : seed;
    return found->args ? hash_string(found->args, seed) : seed;
}

static const char *add_text(struct job_origin *origin, const char *text)
{
    if (!text) {
        return NULL;
    }
    char *copy = strcpy(origin->texts + origin->size, text);
    origin->size += strlen(text) + 1;
    return copy;
}

static struct job_origin *job_origin_new(const struct process_origin *found)
{
    size_t size = (found->cgroup ? strlen(found->cgroup) + 1 : 0) +
        (found->args ? strlen(found->args) + 1 : 0);
    struct job_origin *origin = memory_new(sizeof *origin + size);
    origin->known = *found;
    origin->known.cgroup = add_text(origin, found->cgroup);
    origin->known.args = add_text(origin, found->args);
    return origin;
}

static struct job_origin *find_or_make(
    struct job_origins *origins, const struct process_origin *found)
{
    uint64_t hash = hash_of(found);
    struct table_node *node = table_find(&origins->by_content, hash);
    while (node && !is_same(container_of(node, struct job_origin, by_content), found)) {
        node = table_find_next(node);
    }
    if (node) {
        return container_of(node, struct job_origin, by_content);
    }
    struct job_origin *origin = job_origin_new(found);
    table_insert(&origins->by_content, &origin->by_content, hash);
    return origin;
}

static void drop(struct job_origins *origins, struct lease *lease)
{
    struct job_origin *origin = lease->origin;
    lease->origin = NULL;
    if (origin && --origin->n_leases == 0) {
        table_remove(&origins->by_content, &origin->by_content);
        free(origin);
    }
}

/* ---- the queue ---- */

/* Holds the lease as long as it is queued. */
static struct lease **job_origin_place_of(
    const struct job_origins *origins, const struct lease *lease)
{
    return &origins->queue[lease->look_up_at];
}

static void push(struct job_origins *origins, struct lease *lease)
{
    lease->look_up_at = (uint16_t)((origins->first + origins->n++) % MAX_QUEUED);
    *job_origin_place_of(origins, lease) = lease;
}

/* NULL: that one has ended. */
static struct lease *pop(struct job_origins *origins)
{
    struct lease **place = &origins->queue[origins->first++ % MAX_QUEUED];
    struct lease *lease = *place;
    origins->n--;
    *place = NULL;
    return lease;
}

void job_origin_forget(struct job_origins *origins, struct lease *lease)
{
    if (origins->queue && *job_origin_place_of(origins, lease) == lease) {
        *job_origin_place_of(origins, lease) = NULL;
    }
    drop(origins, lease);
}

/* ---- looking ---- */

static bool shows_arguments(const struct lease *lease)
{
    bool shows = true;
    for (size_t i = 0; i < lease_n_all(lease); i++) {
        shows &= lease->claims[i].resource->definition->shows_arguments;
    }
    return shows;
}

static nanoseconds lease_since(const struct lease *lease)
{
    return lease->state == LEASE_HELD ? lease->granted_at : lease->asked_at;
}

/* A client that is bound to nothing else is known by its pid alone: whoever has that now must have
 * been there when it asked. */
static void look_up(struct job_origins *origins, struct lease *lease)
{
    const struct process client = {.pid = lease->pid};
    bool has_job = lease->binding == BOUND_PROCESS;
    struct process_origin found;
    if (process_look_origin(has_job ? lease_bound_process(lease) : &client, lease->asked_at,
            shows_arguments(lease), &found)) {
        struct job_origin *origin = find_or_make(origins, &found);
        origin->n_leases++;
        drop(origins, lease);
        lease->origin = origin;
    }
}

/* Each lease of the queue once, until enough are looked up. Returns how many were. */
static unsigned look_around(struct job_origins *origins, nanoseconds min_age, nanoseconds now)
{
    unsigned n_looked_up = 0;
    for (size_t n = origins->n; n > 0 && n_looked_up < MAX_LOOKED_UP; n--) {
        struct lease *lease = pop(origins);
        if (lease && now - lease_since(lease) < min_age) {
            push(origins, lease);
        } else if (lease) {
            look_up(origins, lease);
            n_looked_up++;
        }
    }
    return n_looked_up;
}

static void job_origin_on_timer(uv_timer_t *timer)
{
    struct job_origins *origins = container_of(timer, struct job_origins, timer);
    bool is_busy = origins->n_new > BUSY;
    unsigned n_looked_up = look_around(
        origins, is_busy ? LONG_ENOUGH_WHILE_BUSY : LONG_ENOUGH, clock_now());
    if (n_looked_up < MAX_LOOKED_UP) {
        origins->n_new = 0;
    }
    if (origins->n > 0) {
        uv_timer_start(
            timer, job_origin_on_timer, n_looked_up < MAX_LOOKED_UP ? TICK_MS : GO_ON_AFTER_MS, 0);
    }
}

void job_origin_want(struct job_origins *origins, struct lease *lease)
{
    /* The job begins with the grant: what it was before is not what it has become. */
    uint8_t wanted = lease->state == LEASE_HELD ? LOOKED_UP_HELD : LOOKED_UP_WAITING;
    if (!origins->queue || lease->looked_up >= wanted) {
        return;
    }
    lease->looked_up = wanted;
    origins->n_new++;
    if (*job_origin_place_of(origins, lease) == lease) {
        return; /* it waited when it came there */
    }
    if (origins->n == 0) {
        uv_timer_start(&origins->timer, job_origin_on_timer, TICK_MS, 0);
    } else if (origins->n == MAX_QUEUED) {
        pop(origins);
    }
    push(origins, lease);
}

/* ---- life ---- */

void job_origins_init(struct job_origins *origins, uv_loop_t *loop)
{
    *origins = (struct job_origins){.by_content = TABLE_INIT};
    uv_timer_init(loop, &origins->timer);
}

void job_origins_begin(struct job_origins *origins)
{
    origins->queue = memory_new(MAX_QUEUED * sizeof *origins->queue);
}

void job_origins_stop(struct job_origins *origins)
{
    uv_timer_stop(&origins->timer);
    free(origins->queue);
    origins->queue = NULL;
    origins->n = 0;
}

void job_origins_deinit(struct job_origins *origins)
{
    table_deinit(&origins->by_content);
    free(origins->queue);
    origins->queue = NULL;
}

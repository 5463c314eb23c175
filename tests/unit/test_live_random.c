/* test_live_random.c - random lines of `watch`: who applies what the watcher hears to the state
 * that was there at the beginning has what the copy has (view/live.h). */
#include "../sim/random.h"
#include "print_help.h"
#include "seed.h"
#include "view/live.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { N_RESOURCES = 4, N_LEASES = 6, LINES = 60000 };

static struct random series;

static unsigned below(unsigned n)
{
    return random_below(&series, n);
}

/* What was heard of. */
static struct heard {
    enum live_state standings[N_RESOURCES][N_LEASES];
    bool resources[N_RESOURCES];
} heard;

static enum live_state *standing_of(const struct live_lease *lease)
{
    return &heard.standings[lease->resource->shown.name[1] - '0'][lease->shown.id[0] - 'a'];
}

static void hear_lease(void *context, const struct live_lease *lease)
{
    enum live_state *now = standing_of(lease);
    (void)context;
    cr_assert_eq(lease->previous_state, *now);
    if (lease->state == *now) {
        cr_assert_str_eq(lease->before.id, lease->shown.id);
    }
    *now = lease->state;
}

static void hear_record(void *context, enum status_line kind, const void *before, const void *now)
{
    const struct status_resource *was = before, *is = now;
    bool *is_there = &heard.resources[(was ? was : is)->name[1] - '0'];
    (void)context;
    cr_assert_eq(kind, LINE_RESOURCE);
    cr_assert_eq(*is_there, before != NULL);
    cr_assert(!was || !is || was->limit != is->limit);
    *is_there = now;
}

static const struct live_watcher watcher = {
    .record = hear_record,
    .lease = hear_lease,
};

static void random_line(char line[static 200])
{
    const char lease = (char)('a' + below(N_LEASES));
    unsigned resource = below(N_RESOURCES), kind = below(100);
    if (kind < 35) {
        snprintf(line, 200, "holder %c resource=r%u units=%u token=1 since=%u pid=%u uid=0", lease,
            resource, below(3), below(9000), below(2));
    } else if (kind < 65) {
        snprintf(line, 200, "waiter %c resource=r%u wants=1 since=%u priority=%d ticket=%u uid=0",
            lease, resource, below(9000), (int)below(3) - 1, below(5));
    } else if (kind < 80) {
        snprintf(line, 200, "gone %c resource=r%u", lease, resource);
    } else if (kind < 92) {
        snprintf(line, 200, "resource r%u kind=semaphore scope=host limit=%u", resource, below(3));
    } else if (kind < 97) {
        snprintf(line, 200, "removed r%u", resource);
    } else {
        snprintf(line, 200, "%s", kind < 99 ? "snapshot" : "holder a resource=r0 since=x");
    }
}

static enum live_state shown_state_of(const struct status *status, const char *name, const char *id)
{
    for (size_t i = 0; i < status->n_resources; i++) {
        const struct status_resource *resource = &status->resources[i];
        if (strcmp(resource->name, name) == 0) {
            const struct status_lease *lease = status_lease_find(resource, id);
            return !lease ? LIVE_ABSENT : lease->is_held ? LIVE_HOLDS : LIVE_WAITS;
        }
    }
    return LIVE_ABSENT;
}

/* The copy is what was heard, and its queues are in order. */
static void compare(struct live *live, nanoseconds now)
{
    size_t n[N_RESOURCES] = {0};
    const struct status *status = live_status(live, now);
    for (size_t i = 0; i < N_RESOURCES; i++) {
        const char name[] = {'r', (char)('0' + i), '\0'};
        cr_assert_eq(live_resource_find(live, name) != NULL, heard.resources[i]);
        for (size_t k = 0; k < N_LEASES; k++) {
            const char id[] = {(char)('a' + k), '\0'};
            enum live_state standing = shown_state_of(status, name, id);
            cr_assert_eq(standing, heard.standings[i][k]);
            n[i] += standing != LIVE_ABSENT;
        }
    }
    for (size_t i = 0; i < status->n_resources; i++) {
        const struct status_resource *resource = &status->resources[i];
        const struct status_lease *leases = resource->leases.list;
        size_t n_held = 0;
        cr_assert_eq(resource->leases.n, n[resource->name[1] - '0']);
        while (n_held < resource->leases.n && leases[n_held].is_held) {
            cr_assert_eq(leases[n_held++].position, 0);
        }
        const struct status_lease *waiters = leases + n_held;
        for (size_t k = 0; k + n_held < resource->leases.n; k++) {
            cr_assert(!waiters[k].is_held);
            cr_assert_eq(waiters[k].position, k + 1);
            cr_assert(k == 0 || waiters[k - 1].priority > waiters[k].priority ||
                (waiters[k - 1].priority == waiters[k].priority &&
                    waiters[k - 1].ticket.number <= waiters[k].ticket.number));
        }
    }
}

static void connect(struct live *live)
{
    live_forget(live);
    cr_assert_eq(live_take(live, "ok draining=0 held=0 waiting=0", 0), LIVE_MORE);
    cr_assert_eq(live_take(live, "snapshot", 0), LIVE_MORE);
}

Test(live_random, who_hears_of_all_changes_has_the_copy)
{
    struct live live;
    char line[200];
    nanoseconds now = 0;
    series.state = seed_of_test();
    memset(&heard, 0, sizeof heard);
    live_init(&live);
    live_watch(&live, &watcher);
    connect(&live);
    cr_assert_eq(live_take(&live, "end", 0), LIVE_END); /* empty: the first is not told */
    for (int i = 0; i < LINES; i++) {
        now += below(1000) * NANOSECONDS_PER_MILLISECOND;
        if (below(5) == 0) {
            cr_assert_eq(live_take(&live, "end", now), LIVE_END);
            compare(&live, now);
            continue;
        }
        random_line(line);
        if (live_take(&live, line, now) == LIVE_MALFORMED || below(500) == 0) {
            connect(&live);
        }
    }
    live_deinit(&live);
}

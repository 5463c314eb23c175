#include "status/own_waiters.h"

#include "base/memory.h"
#include "core/fleet.h"

#include <stdlib.h>

/* A lease that waits, for one of its resources. */
struct own_waiter {
    const struct resource *resource; /* to compare with; it may be gone */
    uint64_t id;
    size_t order;
};

static int compare(const void *left, const void *right)
{
    const struct own_waiter *a = left, *b = right;
    int order = (a->resource > b->resource) - (a->resource < b->resource);
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

static void add(struct lease *lease, void *context)
{
    struct own_waiters *waiters = context;
    waiters->list =
        memory_resize(waiters->list, waiters->n + lease->n_claims + 1, sizeof waiters->list[0]);
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct own_waiter waiter = {lease->claims[i].resource, lease->id, waiters->n};
        waiters->list[waiters->n++] = waiter;
    }
}

void own_waiters_gather(struct own_waiters *waiters, struct core *core, uint8_t database)
{
    if (!waiters->list) {
        waiters->list = memory_new(sizeof waiters->list[0]);
        core_fleet_for_each_waiter(core, database, add, waiters);
        qsort(waiters->list, waiters->n, sizeof waiters->list[0], compare);
    }
}

void own_waiters_deinit(struct own_waiters *waiters)
{
    free(waiters->list);
    *waiters = (struct own_waiters){0};
}

/* The place of the resource's first waiter. */
static size_t start_of(const struct own_waiters *waiters, const struct resource *resource)
{
    size_t low = 0, high = waiters->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_before = waiters->list[middle].resource < resource;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    return low;
}

static bool is_of(
    const struct own_waiters *waiters, const struct resource *resource, size_t place)
{
    return place < waiters->n && waiters->list[place].resource == resource;
}

size_t own_waiters_count(const struct own_waiters *waiters, const struct resource *resource)
{
    size_t start = start_of(waiters, resource), end = start;
    while (is_of(waiters, resource, end)) {
        end++;
    }
    return end - start;
}

uint64_t own_waiters_at(
    const struct own_waiters *waiters, const struct resource *resource, size_t i)
{
    size_t place = start_of(waiters, resource) + i;
    return is_of(waiters, resource, place) ? waiters->list[place].id : 0;
}

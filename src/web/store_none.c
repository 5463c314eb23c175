/* store_none.c - a store that keeps nothing. */
#include "web/store.h"

#include "base/memory.h"

#include <stdlib.h>

struct store {
    struct store_figures figures;
};

struct store *store_open(uv_loop_t *loop, const char *path, nanoseconds retention)
{
    (void)loop, (void)path, (void)retention;
    return memory_new(sizeof(struct store));
}

void store_close(struct store *store)
{
    free(store);
}

void store_add(struct store *store, const struct past_lease *lease)
{
    (void)lease;
    store->figures.added++;
}

void store_covers(struct store *store, uint64_t from, uint64_t until)
{
    (void)store, (void)from, (void)until;
}

uint64_t store_covered_until(const struct store *store)
{
    (void)store;
    return 0;
}

void store_find(
    struct store *store, const struct store_query *query, store_taker *taker, void *context)
{
    (void)store, (void)query;
    taker(context, NULL, "nothing is kept");
}

const char *store_health(const struct store *store)
{
    (void)store;
    return NULL;
}

void store_look(const struct store *store, struct store_figures *figures)
{
    *figures = store->figures;
}

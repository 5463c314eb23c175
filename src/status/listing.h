/* listing.h - what a database has last said about everything, kept for those who follow: its rows,
 * found by resource and lease. Pure. */
#pragma once

#include "base/time.h"
#include "status/fleet_rows.h"

struct listing {
    struct fleet_rows *rows;
    const char *session; /* whose leases are this host's: told from the core, not from here */
    uint64_t number; /* the owner's: each listing has another one */
    const char *mark; /* of the first page; "" if it had none */
    nanoseconds made_at;
    uint32_t *slots; /* an open hash of the rows of leases: 1 + index; 0: free */
    size_t n_slots; /* a power of 2, larger than the number of rows */
};

/* Takes the rows over; the session's name outlives it. */
struct listing *listing_new(struct fleet_rows *rows, const char *session, nanoseconds now);
struct listing *listing_free(struct listing *listing); /* accepts NULL; returns NULL */

/* Whether the script's answer is that nothing has changed since the mark of the request. */
bool listing_is_unchanged(const struct text *rows);

/* The row of that lease (SESSION/ID) on that resource; NULL: it has none there. */
const struct fleet_row *listing_find(
    const struct listing *listing, const struct fleet_resource *resource, const char *key);

/* Whether the lease of a row is this host's. */
bool listing_is_own(const struct listing *listing, const struct fleet_row *row);

/* ---- what is different between two listings: ages and places, which differ all the time, do not
 * count ---- */

/* Who hears each change. The names are good as long as both listings. */
struct fleet_changes_heard {
    void *context;
    /* It is new, different or gone, or a template that operators have changed; `definition` is the
     * name of the one behind it. Before the leases on it. */
    void (*resource)(void *context, const char *name, const char *definition);
    /* It is new there, different, or not there any more. */
    void (*lease)(void *context, const char *resource, const char *key);
    /* It is not there any more, but it may have been missed: the next listing knows. */
    void (*missing)(void *context, const char *resource, const char *key);
};

/* `before` may be NULL: there was none. Passes by this host's leases. */
void fleet_changes_find(const struct listing *before, const struct listing *now,
    const struct fleet_changes_heard *heard);

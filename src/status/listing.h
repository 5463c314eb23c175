/* listing.h - what a database has last said about everything, kept for those who follow: its rows,
 * found by resource and lease. Pure. */
#ifndef BERTH_STATUS_LISTING_H
#define BERTH_STATUS_LISTING_H

#include "base/time.h"
#include "status/fleet_rows.h"

struct listing {
    struct fleet_rows *rows;
    const char *mark; /* of the first page; "" if it had none */
    nanoseconds made_at;
    bool *is_torn; /* of each of .rows->resources: something changed between two of its pages, so a
                      lease that is not there may have been missed */
    uint32_t *slots; /* an open hash of the rows of leases: 1 + index; 0: free */
    size_t n_slots; /* a power of 2, larger than the number of rows */
};

/* Takes the rows over. */
struct listing *listing_new(struct fleet_rows *rows, nanoseconds now);
struct listing *listing_free(struct listing *listing); /* accepts NULL; returns NULL */

/* Whether the script's answer is that nothing has changed since the mark of the request. */
bool listing_is_unchanged(const struct text *rows);

/* The row of that lease (SESSION/ID) on that resource; NULL: it has none there. */
const struct fleet_row *listing_find(
    const struct listing *listing, const struct fleet_resource *resource, const char *key);

/* Whether a row's lease is of that session. */
bool listing_is_of(const struct fleet_row *row, const char *session);

#endif

/* top_rows.h - which resources, templates and leases `berthctl top` lists, and in which order.
 * Pure.
 *
 * The rows point into the picture (struct status) that they were made of: they are made again
 * whenever that has changed. */
#pragma once

#include "base/table.h"
#include "table/status_filter.h"
#include "view/status.h"

enum { TOP_TYPED_BYTES = 257 }; /* what may be typed, with its NUL: a reason is the longest */

/* What the user has chosen to see. */
struct top_choice {
    struct status_filter only; /* .sort NULL: instances below their template */
    char filter[TOP_TYPED_BYTES]; /* only what has this text in it; upper and lower case alike */
    /* The arguments, or the name, of a lease's process of this host; not escaped, good until the
     * next call. NULL: not known, or not to be seen. */
    const char *(*process_of)(void *context, const struct status_lease *lease, bool arguments);
    void *context;
    bool with_arguments;
};

/* Which resources are open: their leases are listed below them. */
struct top_folds {
    struct table table;
    uint64_t now; /* how often rows were made */
};

void top_folds_deinit(struct top_folds *folds);
void top_folds_set(struct top_folds *folds, const char *name, bool is_open);

struct top_row {
    const struct status_resource *resource; /* or template */
    const struct status_lease *lease; /* on it; NULL: the row is the resource's */
    bool has_leases; /* a resource of which leases are to be shown */
    bool is_open; /* of a resource: they follow */
};

struct top_rows {
    struct top_row *list; /* owned */
    size_t n;
    size_t n_resources, n_busy; /* in the list */
    size_t n_held, n_waiting; /* leases on these, also below one that is closed; each counts once */
    bool has_hosts; /* some resource is of fleet scope */
    size_t name_width, used_width, waiting_width; /* columns of the widest in the list */
};

/* Makes the rows. A resource that gets its first leases is opened if all rows then fit into `room`
 * lines, or all leases into half of them; so a newcomer sees at once who holds what. */
void top_rows_make(struct top_rows *rows, const struct status *status,
    const struct top_choice *choice, struct top_folds *folds, size_t room);

/* Its name; NULL: it is no lease. */
const char *top_row_lease(const struct top_row *row);

/* running.h - notes of `berthctl history` about what is not over, from an answer to `status`. Pure.
 */
#ifndef BERTH_BERTHCTL_RUNNING_H
#define BERTH_BERTHCTL_RUNNING_H

#include "base/text.h"
#include "view/status.h"

/* "3f9k is still held: berthctl why 3f9k". False: the answer does not have that lease. */
bool running_add_lease(const struct status *status, const char *lease, struct text *out);
/* Which leases of this host. */
struct running_choice {
    struct optional uid; /* only that user's */
    struct optional before; /* only what was held, or waited for, at that instant already */
    uint64_t now; /* milliseconds since 1970, as `before` */
    char *const *names; /* what `status` was asked for */
    size_t n_names;
};

/* "2 still held or waiting since before 03:05:00: berthctl status etl"; nothing if there are none.
 */
void running_add_some(
    const struct status *status, const struct running_choice *choice, struct text *out);
/* That the history of the first resource of fleet scope is this host's; nothing if there is none.
 */
void running_add_fleet(const struct status *status, struct text *out);

#endif

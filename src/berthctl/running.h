/* running.h - notes of `berthctl history` about what is not over, from an answer to `status`. Pure.
 */
#ifndef BERTH_BERTHCTL_RUNNING_H
#define BERTH_BERTHCTL_RUNNING_H

#include "base/text.h"
#include "berthctl/status.h"

/* "3f9k is still held: berthctl why 3f9k". False: the answer does not have that lease. */
bool running_add_lease(const struct status *status, const char *lease, struct text *out);
/* How many leases of that user are held or waited for on this host; nothing if there are none. */
void running_add_user(const struct status *status, uint64_t uid, struct text *out);
/* That the history of the first resource of fleet scope is this host's; nothing if there is none.
 */
void running_add_fleet(const struct status *status, struct text *out);

#endif

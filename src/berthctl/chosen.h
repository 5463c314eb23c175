/* chosen.h - `berthctl revoke` and `wait`: leases by what status shows of them, and waiting until
 * they are gone. */
#ifndef BERTH_BERTHCTL_CHOSEN_H
#define BERTH_BERTHCTL_CHOSEN_H

#include "berthctl/ctl_call.h"

/* Which leases of a resource; at least one member says so. */
struct choice {
    const char *holder; /* those of that identity, held or waiting; or NULL */
    uint64_t pid; /* those of that process of this host, held or waiting; or 0 */
    bool all; /* all that are held */
};

/* What the call asks for is done to each of these: `revoke` of the chosen leases of the resource
 * that its first argument names. With `wait`, returns when they are gone, or (after a message) at
 * `until`. Returns the exit status. */
int chosen_revoke(struct call *call, const struct choice *choice, bool wait, nanoseconds until);

/* Adds "; did you mean LEASE?" if status shows a lease whose word is near enough. Adds nothing if
 * the word may name a lease that is over: the word of the next lease is always near. */
void chosen_suggest(struct call *call, const char *word, struct text *out);

/* Returns when these leases are over, or at `until`: the exit status. SESSION/LEASE is one of
 * another host. */
int chosen_wait_gone(struct call *call, char *const leases[], size_t n, nanoseconds until);

/* Returns when nothing is held of what the call's arguments name, or at `until`: the exit status.
 */
int chosen_wait_idle(struct call *call, nanoseconds until);

#endif

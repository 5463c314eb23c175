/* quota.h - how much one user may have of one resource (max-units-per-user), so that a user at the
 * quota holds up nobody else.
 *
 * What a user holds counts, and so does what is kept for an older request of that user. A request
 * that does not fit is set aside. A user's requests for exactly the same things, at least one of
 * them bounded, form a *lane*: all of them fit or none does, so only the first stands in a queue
 * until something is kept for it there. So a user at the quota fills no queue, and a unit that
 * comes back lets in one request for each lane. */
#pragma once

#include "core/core.h"
#include "core/usage.h"

#include <sys/queue.h>

/* A lane's part of one resource. */
struct lane_link {
    TAILQ_ENTRY(lane_link) link; /* in usage.lanes */
    struct lane *lane;
    struct usage *usage;
    struct resource *resource;
    uint32_t count;
};

struct lane {
    TAILQ_ENTRY(lane) stale_link; /* in the core's list, if .is_stale */
    struct sorted_set outside; /* aside, but not by a pause: the first is let in when it fits */
    struct sorted_set inside; /* in a queue, with nothing kept for them yet */
    struct sorted_set keeping; /* the others that are not aside */
    size_t n_leases;
    bool is_stale;
    uint8_t n_links;
    struct lane_link links[]; /* in the order asked */
};

/* Whether what its user holds, `n_gone` units not counted, leaves room for the claim. */
bool claim_fits_quota(const struct claim *claim, uint32_t n_gone);
/* The same for all claims of a waiting lease; what is kept for that user's older requests counts
 * too. */
bool quota_fits(const struct lease *lease);
/* The first claim that does not fit; NULL: none. */
const struct claim *quota_first_exceeded(const struct lease *lease);

/* Call after the user's held or kept units, or the bound, have changed. */
void quota_changed(struct core *core, const struct usage *usage);
/* The same for all resources of the lease. */
void quota_changed_for(struct core *core, const struct lease *lease);

/* A waiting lease finds its lane if it needs one, or another lane after the bounds have changed. */
void lane_assign(struct core *core, struct lease *lease);
void lane_leave(struct core *core, struct lease *lease);
/* Call after what the lane knows about the lease has changed: whether it is aside, and whether by a
 * pause; whether anything is kept for it. */
void lane_update(struct core *core, struct lease *lease, bool is_blocked);
/* The next lease that is to be let in; NULL when none is left. */
struct lease *lane_next_to_enter(struct core *core);

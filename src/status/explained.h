/* explained.h - the answer to `why`: what becomes of a request, or of a lease, and why. Pure. */
#ifndef BERTH_STATUS_EXPLAINED_H
#define BERTH_STATUS_EXPLAINED_H

#include "status/fleet_rows.h"
#include "status/host_reasons.h"

/* What the database of the names, or of the lease, has said. */
struct explained_fleet {
    const char *database; /* its name */
    const char *session; /* whose leases are this host's */
    const struct fleet_rows *rows; /* NULL: it has said nothing */
    const char *state; /* why, if it has said nothing */
    bool is_unreachable; /* it is not asked for anything new */
    nanoseconds grace_left; /* while it grants nothing new; or 0 */
    bool is_new; /* that is its first grace, which `found` can end */
    nanoseconds wall_now; /* since 1970 */
    nanoseconds listed_at; /* when the database said .rows, by the clock of the scene's .now */
};

/* Why a request would be refused whatever is free. */
struct explained_bar {
    const char *forbidden; /* one of its names, which the viewer may not use; or NULL */
    bool is_too_much; /* answer_is_too_much() */
};

/* The whole answer for a request of the viewer's, whose names have definitions. `fleet` is NULL in
 * host scope. */
void explained_ask(struct text *out, const struct reasons_scene *scene,
    const struct explained_fleet *fleet, const struct ask *ask, const struct explained_bar *bar);
/* The whole answer for a lease, which is waiting or held. */
void explained_lease(struct text *out, const struct reasons_scene *scene,
    const struct explained_fleet *fleet, struct lease *lease);

#endif

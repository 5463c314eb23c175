/* explained.h - the answer to `why`: what would happen to a request, or is happening to a lease,
 * and why. Pure. */
#pragma once

#include "status/resource_row.h"

/* What the database of the names, or of the lease, grants at present. */
struct explained_database {
    bool is_unreachable; /* it is not asked for anything new */
    nanoseconds grace_left; /* while it grants nothing new; or 0 */
    bool is_new; /* that is its first grace, which `found` can end */
};

/* Why a request would be refused whatever is free. */
struct explained_refusal {
    const char *forbidden; /* one of its names, which the viewer may not use; or NULL */
    bool is_too_much; /* answer_is_too_much() */
};

/* The whole answer for a request of the viewer's, whose names have definitions. `database` is all
 * zero in host scope. */
void explained_ask(struct text *out, const struct scene *scene,
    const struct explained_database *database, const struct acquire_request *ask,
    const struct explained_refusal *bar);
/* The whole answer for a lease, which is waiting or held. */
void explained_lease(struct text *out, const struct scene *scene,
    const struct explained_database *database, struct lease *lease);

/* explained.h - the answer to `why`: what would happen to a request, or is happening to a lease,
 * and why. Pure. */
#pragma once

#include "fleet/session.h"
#include "status/resource_row.h"

/* Why a request would be refused whatever is free. */
struct explained_refusal {
    const char *forbidden; /* one of its names, which the viewer may not use; or NULL */
    bool is_too_much; /* answer_is_too_much() */
};

/* The whole answer for a request of the viewer's, whose names have definitions. `session` is in
 * their database; NULL in host scope. */
void explained_ask(struct text *out, const struct scene *scene, const struct session_view *session,
    const struct acquire_request *ask, const struct explained_refusal *bar);
/* The whole answer for a lease of this host, which is waiting or held. */
void explained_lease(struct text *out, const struct scene *scene,
    const struct session_view *session, struct lease *lease);
/* The same for one of another host, as its database has just listed it (SESSION/LEASE). False, and
 * no answer: it is not listed, or on no resource of this host's file. */
bool explained_listed(struct text *out, const struct scene *scene,
    const struct session_view *session, uint8_t database, const char *key);

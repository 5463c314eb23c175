/* describe.h - formats a resource, a holder, a waiter, a database as lines of `status`. Pure. */
#ifndef BERTH_STATUS_DESCRIBE_H
#define BERTH_STATUS_DESCRIBE_H

#include "base/text.h"
#include "core/core.h"
#include "fleet/link_info.h"
#include "fleet/session.h"
#include "status/viewer.h"

/* For a resource in fleet scope whose database has said nothing about it. */
struct describe_where {
    const char *database; /* the database's name */
    const char *state; /* why only this host's leases are shown; NULL: no reason known */
    uint32_t n_waiting; /* of this host */
};

/* `where` is NULL in host scope. */
void describe_resource(
    struct text *out, const struct resource *resource, const struct describe_where *where);
/* A template, of which that many instances are alive. */
void describe_template(struct text *out, const struct definition *template, uint32_t n_instances,
    const struct describe_where *where);
/* The viewer is the user who asks. */
void describe_holder(struct text *out, const struct claim *claim, const struct viewer *viewer,
    nanoseconds now);
/* Place 0: not known. */
void describe_waiter(struct text *out, const struct claim *claim, uint32_t position,
    const struct viewer *viewer, nanoseconds now);
/* Appends the keys of a held lease that only its own host knows: what it is bound to, ... */
void describe_life(struct text *out, const struct lease *lease, nanoseconds now);

const char *describe_state(enum session_state state);
/* `info` is NULL if the database was never connected. */
void describe_database(struct text *out, const struct database *database,
    const struct session_view *view, const struct link_info *info, nanoseconds now);

#endif

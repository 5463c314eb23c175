/* host_lines.h - fills the lines of `status` from the core: what this host knows. Pure. */
#ifndef BERTH_STATUS_HOST_LINES_H
#define BERTH_STATUS_HOST_LINES_H

#include "base/words.h"
#include "core/core.h"
#include "status/status_lines.h"
#include "status/viewer.h"

/* For a resource in fleet scope whose database has said nothing about it. */
struct host_scene {
    const char *database; /* the database's name */
    const char *state; /* why only this host's leases are shown; NULL: no reason known */
    uint32_t n_waiting; /* of this host */
};

const char *host_kind_word(enum kind kind);
/* `scene` is NULL in host scope. */
void host_describe_resource(
    struct text *out, const struct resource *resource, const struct host_scene *scene);
/* The record for host_describe_resource(), without units. */
struct status_resource host_resource_line(
    const struct resource *resource, const struct host_scene *scene);
void host_describe_template(
    struct text *out, const struct template *template, const struct host_scene *scene);
/* The viewer is the user who asks, or follows. The line of one who follows changes only when
 * something becomes of the lease. */
void host_describe_holder(struct text *out, const struct claim *claim, const struct viewer *viewer,
    bool follows, nanoseconds now);
/* Position 0: not known. */
void host_describe_waiter(struct text *out, const struct claim *claim, uint32_t position,
    const struct viewer *viewer, bool follows);

/* A waiter's record; the lease's id goes into `id`. */
struct status_lease host_waiter_line(char id[static LEASE_ID_SIZE], const struct claim *claim,
    uint32_t position, const struct viewer *viewer);

/* Whose lease it is: what a holder and a waiter have in common. Its id goes into `id`. */
struct status_lease host_lease_line(
    char id[static LEASE_ID_SIZE], const struct lease *lease, const struct viewer *viewer);
/* Fills in what only a held lease's own host knows: what it is bound to, ... */
void host_fill_life(struct status_lease *line, const struct lease *lease,
    const struct viewer *viewer, nanoseconds now);

#endif

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
/* The line for host_describe_resource(), without units. */
struct resource_line host_resource_line(
    const struct resource *resource, const struct host_scene *scene);
void host_describe_template(
    struct text *out, const struct template *template, const struct host_scene *scene);
/* The viewer is the user who asks. */
void host_describe_holder(struct text *out, const struct claim *claim, const struct viewer *viewer,
    nanoseconds now);
/* Position 0: not known. */
void host_describe_waiter(struct text *out, const struct claim *claim, uint32_t position,
    const struct viewer *viewer, nanoseconds now);

/* The same for those who follow: with the name of the resource, and a waiter with its ticket in
 * place of its position, and without the resource whose quota is used up: so the lease's line
 * changes only when something becomes of the lease. */
void host_tell_holder(struct text *out, const struct claim *claim, const struct viewer *viewer,
    nanoseconds now);
void host_tell_waiter(struct text *out, const struct claim *claim, const struct viewer *viewer,
    nanoseconds now);

/* A waiter's line that is not written yet; the lease's id goes into `id`. */
struct waiter_line host_waiter_line(char id[static LEASE_ID_SIZE], const struct claim *claim,
    uint32_t position, const struct viewer *viewer, nanoseconds now);

/* Whose lease it is: a part of either line. Its id goes into `id`. */
struct lease_line host_lease_line(char id[static LEASE_ID_SIZE], const struct lease *lease,
    const struct viewer *viewer, nanoseconds now);
/* Fills in what only a held lease's own host knows: what it is bound to, ... */
void host_fill_life(struct holder_line *line, const struct lease *lease, nanoseconds now);

#endif

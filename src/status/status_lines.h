/* status_lines.h - writes the lines of `status`: the records of wire/status_keys.h, of both scopes.
 * host_lines.c fills them from the core, fleet_lines.c from what a database has listed. Pure.
 *
 * Whatever a line shows, it stays one line, below LINE_BYTES. */
#ifndef BERTH_STATUS_STATUS_LINES_H
#define BERTH_STATUS_STATUS_LINES_H

#include "base/by_whom.h"
#include "core/terms.h"
#include "status/unit_list.h"
#include "wire/status_keys.h"

/* ---- resources ---- */

/* Sets what kind of a limit it is, and where it holds. */
void resource_set_kind(struct status_resource *resource, const char *kind, const char *database,
    const char *database_state);
/* Sets that it is paused, and by whom. */
void resource_set_pause(
    struct status_resource *resource, bool is_paused, const char *reason, struct by_whom by);

/* With its units. */
struct resource_line {
    struct status_resource shown;
    struct unit_list items, draining, reserved;
    struct reserve_list reserve_reasons;
};

void resource_line_write(struct text *out, struct resource_line *line);
void resource_line_deinit(struct resource_line *line);
/* Of a kind of line that is the same for everybody. */
void record_line_write(
    struct text *out, enum status_line line, const char *name, const void *record);

/* ---- leases ---- */

/* Sets the texts. */
void lease_set_texts(struct status_lease *lease, const struct terms *terms);
/* A holder or a waiter; what is FOR_TRUSTED, and the texts, unless it is .hidden. */
void lease_line_write(
    struct text *out, enum status_line line, const struct status_lease *lease, bool follows);

#endif

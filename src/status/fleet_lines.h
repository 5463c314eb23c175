/* fleet_lines.h - formats the rows of a database as lines of `status`. Pure. Whatever the rows
 * contain, a line stays one line, below LINE_BYTES. */
#ifndef BERTH_STATUS_FLEET_LINES_H
#define BERTH_STATUS_FLEET_LINES_H

#include "base/text.h"
#include "base/words.h"
#include "status/fleet_rows.h"
#include "status/status_lines.h"
#include "status/viewer.h"

/* Where, and to whom, the rows are shown. */
struct fleet_scene {
    struct core *core;
    const struct viewer *viewer; /* who asks; for leases alone */
    const char *database; /* the database's name */
    const char *state; /* why its rows may be old; NULL: they are not */
    bool follows; /* to one who follows */
    const char *session; /* whose leases are this host's */
    nanoseconds now;
    nanoseconds wall_now; /* since 1970 */
    nanoseconds listed_at; /* when the database said it, by the clock of .now */
};

void fleet_describe_resource(struct text *out, const struct fleet_rows *rows,
    const struct fleet_resource *resource, const struct fleet_scene *scene);
/* The rows have one for a template that operators have changed. */
void fleet_describe_template(struct text *out, const struct fleet_rows *rows,
    const struct template *template, const struct fleet_scene *scene);

/* The line for it, without its units. `room` is for what the line points to. */
struct status_resource fleet_resource_line(char room[static REASON_BYTES + 1],
    const struct fleet_rows *rows, const struct fleet_resource *resource,
    const struct fleet_scene *scene);
/* Adds them to its line. */
void fleet_fill_units(struct resource_line *line, const struct fleet_row *row);
/* Its reserved units; `reason` may be NULL. */
void fleet_for_each_reserved(const struct fleet_row *row,
    void (*function)(void *context, const char *unit, const char *reason), void *context);

/* The lease of a row, if it is this host's: it is shown with what only this host knows. NULL:
 * another host's. */
const struct lease *fleet_own_lease(const struct fleet_row *row, const struct fleet_scene *scene);

/* What the line for a lease points to. */
struct fleet_lease_room {
    const struct lease *own; /* NULL: another host's; only what that host has reported is known */
    char rooms[N_ATTRIBUTES][REASON_BYTES + 1];
    char host[REASON_BYTES + 1];
};

/* Whose lease it is: a part of either line. `host` is the field with the host. */
struct status_lease fleet_lease_line(struct fleet_lease_room *room, const struct fleet_row *row,
    enum lease_field host, const struct fleet_scene *scene);
struct status_lease fleet_waiter_line(struct fleet_lease_room *room, const struct fleet_row *row,
    const struct fleet_scene *scene);

/* Appends the line for row `row` of that resource; or nothing, and returns FLEET_NEITHER. */
enum fleet_lease fleet_describe_lease(struct text *out, const struct fleet_rows *rows,
    const struct fleet_resource *resource, size_t row, const struct fleet_scene *scene);

#endif

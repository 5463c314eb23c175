/* fleet_lines.h - the rows of a database as lines of `status`. Pure. Whatever is in the rows, a
 * line stays one, and below LINE_BYTES. */
#ifndef BERTH_STATUS_FLEET_LINES_H
#define BERTH_STATUS_FLEET_LINES_H

#include "base/text.h"
#include "status/fleet_rows.h"
#include "status/viewer.h"

/* Where the rows are shown. */
struct fleet_scene {
    struct core *core;
    const struct viewer *viewer; /* to whom; for leases alone */
    const char *database; /* its name */
    const char *session; /* whose leases are this host's */
    nanoseconds now;
    nanoseconds wall_now; /* since 1970 */
};

void fleet_describe_resource(struct text *out, const struct fleet_rows *rows,
    const struct fleet_resource *resource, const struct fleet_scene *scene);

/* If it is one of this host's: it is shown with what only this host knows. NULL: another's. */
const struct lease *fleet_own_lease(const struct fleet_row *row, const struct fleet_scene *scene);

/* Row `row` of that resource: adds its line, or nothing and FLEET_NEITHER. */
enum fleet_lease fleet_describe_lease(struct text *out, const struct fleet_rows *rows,
    const struct fleet_resource *resource, size_t row, const struct fleet_scene *scene);

#endif

/* fleet_view.h - what a database has said about some of its resources, shared by all who asked. */
#ifndef BERTH_STATUS_FLEET_VIEW_H
#define BERTH_STATUS_FLEET_VIEW_H

#include "core/types.h"
#include "status/fleet_rows.h"

/* Shared; give it back with view_release(). */
struct view {
    unsigned n_users;
    nanoseconds made_at;
    struct fleet_rows *rows; /* NULL: the database could not be asked */
};

/* Takes `rows` over; of one user. */
struct view *view_new(struct fleet_rows *rows, nanoseconds now);
struct view *view_keep(struct view *view);
/* Accepts NULL; returns NULL. */
struct view *view_release(struct view *view);

#endif

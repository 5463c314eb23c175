/* fleet_view.h - what a database has said about some of its resources, shared by all who asked. */
#ifndef BERTH_STATUS_FLEET_VIEW_H
#define BERTH_STATUS_FLEET_VIEW_H

#include "core/types.h"
#include "status/fleet_rows.h"

/* Why a database that is up has not said what was asked: no answer in time, or one that takes too
 * much memory or time. */
#define VIEW_SILENT "silent"
#define VIEW_TOO_LARGE "too-large"

/* Shared; give it back with view_release(). */
struct view {
    unsigned n_users;
    nanoseconds made_at;
    struct fleet_rows *rows; /* NULL: the database has not said it, for this reason: */
    const char *why; /* a word for `database_state`; static */
};

/* Takes `rows` over; of one user. Without them, `is_too_large` says why, or the database is
 * silent. */
struct view *view_new(struct fleet_rows *rows, bool is_too_large, nanoseconds now);
struct view *view_keep(struct view *view);
/* Accepts NULL; returns NULL. */
struct view *view_release(struct view *view);

#endif

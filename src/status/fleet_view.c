#include "status/fleet_view.h"

#include "base/memory.h"

#include <stdlib.h>

struct view *view_new(struct fleet_rows *rows, bool is_too_large, nanoseconds now)
{
    struct view *view = memory_new(sizeof *view);
    *view = (struct view){.n_users = 1,
        .made_at = now,
        .rows = rows,
        .why = is_too_large ? VIEW_TOO_LARGE : VIEW_SILENT};
    return view;
}

struct view *view_keep(struct view *view)
{
    view->n_users++;
    return view;
}

struct view *view_release(struct view *view)
{
    if (view && --view->n_users == 0) {
        fleet_rows_free(view->rows);
        free(view);
    }
    return NULL;
}

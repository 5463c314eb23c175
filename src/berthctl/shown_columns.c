#include "berthctl/shown_columns.h"

static bool stands_behind(enum shown shown)
{
    return shown_rows[shown].title && shown != SHOWN_program;
}

size_t shown_add_columns(struct column columns[MAX_COLUMNS], size_t n)
{
    for (enum shown i = 0; i < N_SHOWN; i++) {
        if (stands_behind(i)) {
            columns[n++] =
                (struct column){.title = shown_rows[i].title, .is_optional = true, .min_width = 12};
        }
    }
    return n;
}

void shown_add_cells(struct grid *grid, const char *const shown[N_SHOWN])
{
    for (enum shown i = 0; i < N_SHOWN; i++) {
        if (stands_behind(i)) {
            grid_add_string(grid, shown[i]);
        }
    }
}

/* shown.c - see shown.h. The attributes are those of base/attributes.def. */
#include "berthctl/shown.h"

#include "base/words.h"

const struct shown_row shown_rows[N_SHOWN] = {
#define ATTRIBUTE(name, type, bound, initial, heading) [SHOWN_##name] = {#name, heading},
#include "base/attributes.def"
#undef ATTRIBUTE
};

bool shown_take(const char *shown[N_SHOWN], char *const words[], size_t n)
{
    bool is_good = true;
    for (size_t i = 0; i < N_SHOWN; i++) {
        char *value = shown_rows[i].title ? words_find(words, n, shown_rows[i].word) : NULL;
        is_good = is_good && (!value || percent_decode(value));
        shown[i] = value;
    }
    return is_good;
}

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

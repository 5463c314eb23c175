#include "berthctl/stats_table.h"

#include "berthctl/grid.h"
#include "berthctl/past_table.h"
#include "view/when.h"
#include "view/who.h"

/* The columns of both tables. */
#define WAITS                                                                                      \
    {.title = "LEASES", .is_right = true}, {.title = "REFUSED", .is_right = true},                 \
        {.title = "WAITING", .is_right = true}, {.title = "WAITED", .is_right = true},             \
        {.title = "95%", .is_right = true},                                                        \
    {                                                                                              \
        .title = "LONGEST", .is_right = true                                                       \
    }
#define HOLDS                                                                                      \
    {.title = "HELD", .is_right = true}, {.title = "95%", .is_right = true},                       \
    {                                                                                              \
        .title = "LONGEST", .is_right = true                                                       \
    }

static const struct column resource_columns[] = {
    {.title = "RESOURCE"},
    WAITS,
    HOLDS,
    {.title = "USE", .is_right = true},
};

static const struct column user_columns[] = {
    {.title = "USER"},
    WAITS,
    {.title = "IN ALL", .is_right = true},
    HOLDS,
    {.title = "SHARE", .is_right = true},
};

static void add_age(struct grid *grid, bool is_known, uint64_t milliseconds)
{
    struct text cell = TEXT_INIT;
    text_add(&cell, is_known ? "" : "-");
    if (is_known) {
        text_add_age(&cell, milliseconds);
    }
    grid_add(grid, &cell);
}

static void add_spread(struct grid *grid, const struct spread *spread)
{
    bool is_known = spread->n > 0;
    add_age(grid, is_known, spread->median);
    add_age(grid, is_known, spread->percentile_95);
    add_age(grid, is_known, spread->longest);
}

static void add_waits(struct grid *grid, const struct figures *figures)
{
    grid_add_number(grid, figures->n_leases);
    grid_add_number(grid, figures->n_refused);
    grid_add_number(grid, figures->n_waiting);
    add_spread(grid, &figures->waits);
}

static void add_percent(
    struct grid *grid, const struct figures *figures, const struct optional *whole)
{
    uint64_t permille;
    struct text cell = TEXT_INIT;
    if (stats_permille(&figures->unit_time, whole, &permille)) {
        text_add_format(&cell, "%llu.%llu%%", (unsigned long long)(permille / 10),
            (unsigned long long)(permille % 10));
    } else {
        text_add(&cell, "unknown");
    }
    grid_add(grid, &cell);
}

static void print(const struct grid *grid, struct text *out)
{
    grid_print_titles(grid, out);
    for (size_t i = 0; i < grid_n_rows(grid); i++) {
        grid_print_row(grid, i, out);
    }
}

static void print_resources(const struct stats *stats, struct text *out)
{
    struct grid grid;
    grid_init(&grid, resource_columns, sizeof resource_columns / sizeof resource_columns[0], 0);
    for (size_t i = 0; i < stats->n_resources; i++) {
        const struct stats_resource *resource = &stats->resources[i];
        grid_add_string(&grid, resource->name);
        add_waits(&grid, &resource->figures);
        add_spread(&grid, &resource->figures.holds);
        add_percent(&grid, &resource->figures, &resource->capacity);
    }
    print(&grid, out);
    grid_deinit(&grid);
}

static void print_users(const struct stats *stats, struct text *out)
{
    struct grid grid;
    grid_init(&grid, user_columns, sizeof user_columns / sizeof user_columns[0], 0);
    for (size_t i = 0; i < stats->n_users; i++) {
        const struct stats_user *user = &stats->users[i];
        struct text cell = TEXT_INIT;
        text_add_user(&cell, &user->user);
        grid_add(&grid, &cell);
        add_waits(&grid, &user->figures);
        add_age(&grid, user->figures.waits.n > 0, user->figures.waits.sum);
        add_spread(&grid, &user->figures.holds);
        add_percent(&grid, &user->figures, &stats->unit_time);
    }
    print(&grid, out);
    grid_deinit(&grid);
}

void stats_table_print(const struct stats *stats, struct text *out)
{
    if (stats->n_resources == 0) {
        return;
    }
    text_add(out, "leases and waits that ended from ");
    text_add_when(out, (int64_t)stats->from, (int64_t)stats->to);
    text_add(out, " to ");
    text_add_when(out, (int64_t)stats->to, (int64_t)stats->to);
    text_add(out, " (");
    text_add_age(out, stats->to - stats->from);
    text_add(out, "), and waits so far: median, 95th percentile and longest\n\n");
    print_resources(stats, out);
    text_add(out, "\n");
    print_users(stats, out);
}

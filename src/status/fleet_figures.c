#include "status/fleet_figures.h"

#include "core/counts.h"
#include "status/metric_rows.h"

#include <string.h>

/* A row `sum`, of some resources of one definition: there may be several. */
enum sum_field {
    SUM_WORD,
    SUM_DEFINITION,
    SUM_LIMIT,
    SUM_HELD,
    SUM_FREE,
    SUM_WAITING,
    N_SUM_FIELDS
};

/* A row `sessions`. */
enum sessions_field { SESSIONS_WORD, SESSIONS_NUMBER, N_SESSIONS_FIELDS };

#define MAX_SUM (UINT64_C(1) << 53) /* exact in Lua */

void fleet_figures_hosts(struct text *out, const struct fleet_rows *rows, const char *database)
{
    const struct metrics_labels labels = {.database = database};
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct fleet_row *row = &rows->rows[i];
        uint64_t n;
        if (strcmp(row->fields, "sessions") == 0 && row->n >= N_SESSIONS_FIELDS &&
            fleet_number(row, SESSIONS_NUMBER, MAX_SUM, &n)) {
            metrics_value(out, METRIC_SHARED_hosts, &labels, n);
            return;
        }
    }
}

void fleet_figures_load(struct text *out, const struct load_view *load, const char *database)
{
    const struct metrics_labels labels = {.database = database};
    if (load->is_known) {
        metrics_time(out, METRIC_SHARED_busy, &labels, load->busy); /* of a second: a share */
    }
}

static uint64_t sum_up(const struct fleet_rows *rows, const char *name, enum sum_field field)
{
    uint64_t sum = 0, part;
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct fleet_row *row = &rows->rows[i];
        if (strcmp(row->fields, "sum") == 0 && row->n >= N_SUM_FIELDS &&
            strcmp(fleet_field(row, SUM_DEFINITION), name) == 0 &&
            fleet_number(row, field, MAX_SUM, &part)) {
            sum += part;
        }
    }
    return sum;
}

static void add_figures(struct text *out, const struct fleet_rows *rows, const char *name,
    const char *database)
{
    static const struct {
        enum metric metric;
        enum sum_field field;
    } figures[] = {
        {METRIC_FLEET_limit, SUM_LIMIT},
        {METRIC_FLEET_held, SUM_HELD},
        {METRIC_FLEET_free, SUM_FREE},
        {METRIC_FLEET_waiting, SUM_WAITING},
    };
    const struct metrics_labels labels = {.resource = name, .database = database};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        metrics_value(out, figures[i].metric, &labels, sum_up(rows, name, figures[i].field));
    }
}

size_t fleet_figures_resources(struct text *out, const struct fleet_rows *rows,
    const struct core *core, uint8_t number, const char *database, size_t from, size_t n)
{
    size_t size = core_counts_size(core);
    for (size_t i = from; i < size; i++) {
        struct counts_view view;
        if (!core_counts_at(core, i, 0, &view) || view.definition->database != number) {
            continue;
        }
        if (n-- == 0) {
            return i;
        }
        add_figures(out, rows, view.name, database);
    }
    return 0;
}

#include "status/metric_rows.h"

#include "core/meter.h"
#include "status/answer_lines.h"

#include <inttypes.h>
#include <string.h>

/* ---- one row ---- */

static void begin_row(struct text *out, const char *word, enum metric metric,
    const struct metrics_labels *labels)
{
    const struct metric_row *row = &metric_table[metric];
    text_add(out, word);
    text_add(out, " ");
    text_add(out, row->name);
    text_add_key(out, "resource", labels->resource);
    text_add_key(out, "database", labels->database);
    if (row->label != METRIC_NONE) {
        text_add_key(out, metric_label_words[row->label], labels->word);
    }
}

static void add_seconds(struct text *out, uint64_t microseconds)
{
    text_add_format(out, "%" PRIu64 ".%06u", microseconds / 1000000,
        (unsigned)(microseconds % 1000000));
}

void metrics_value(
    struct text *out, enum metric metric, const struct metrics_labels *labels, uint64_t value)
{
    begin_row(out, "figure", metric, labels);
    text_add_number_key(out, "value", value);
    text_add(out, "\n");
}

void metrics_time(struct text *out, enum metric metric, const struct metrics_labels *labels,
    uint64_t microseconds)
{
    begin_row(out, "figure", metric, labels);
    text_add(out, " value=");
    add_seconds(out, microseconds);
    text_add(out, "\n");
}

void metrics_histogram(struct text *out, enum metric metric, const struct metrics_labels *labels,
    const struct metric_histogram *histogram)
{
    bool is_latency = metric_table[metric].kind == METRIC_LATENCY;
    enum metric_scale scale = is_latency ? METRIC_LATENCIES : METRIC_SPANS;
    uint64_t count = 0;
    begin_row(out, "histogram", metric, labels);
    text_add(out, " sum=");
    add_seconds(out, histogram->sum);
    text_add(out, " le=");
    for (size_t i = 0; i < METRIC_BUCKETS; i++) {
        count += histogram->buckets[i];
        text_add(out, i > 0 ? "," : "");
        text_add(out, metric_bound_texts[scale][i]);
        text_add(out, ":");
        text_add_number(out, count);
    }
    text_add(out, "\n");
}

void metrics_answer(struct text *out, const struct text *rows, size_t next)
{
    text_add(out, "ok");
    if (next != 0) {
        text_add_number_key(out, "next", next);
    }
    text_add(out, "\n");
    text_add_bytes(out, rows->bytes, rows->length);
    text_add(out, "end\n");
}

/* ---- of one definition ---- */

/* These are shown from the beginning: what appears with its first event looks to Prometheus as if
 * nothing had happened. */
static const bool is_usual_denial[N_OUTCOMES] = {
    [OUTCOME_WOULD_WAIT] = true,
    [OUTCOME_TIMEOUT] = true,
    [OUTCOME_PAUSED] = true,
    [OUTCOME_CLOSED] = true,
    [OUTCOME_DRAINING] = true,
    [OUTCOME_HELD] = true,
    [OUTCOME_QUEUE_FULL] = true,
    [OUTCOME_QUOTA] = true,
    [OUTCOME_GRACE] = true,
    [OUTCOME_CANCELLED] = true,
    [OUTCOME_NO_SPACE] = true,
    [OUTCOME_FORBIDDEN] = true,
    [OUTCOME_IMPOSSIBLE] = true,
};
static const bool is_usual_end[N_OUTCOMES] = {
    [OUTCOME_RELEASED] = true,
    [OUTCOME_LOST] = true,
    [OUTCOME_DROPPED] = true,
    [OUTCOME_REVOKED] = true,
    [OUTCOME_MAX_HOLD] = true,
    [OUTCOME_EXPIRED] = true,
};

static void add_reasons(struct text *out, enum metric metric, const struct counts_view *view,
    const uint64_t counts[], const bool is_usual[])
{
    bool is_fleet = view->definition->database != 0;
    for (enum outcome i = 0; i < N_OUTCOMES; i++) {
        bool is_of_fleet = is_fleet && (i == OUTCOME_DOWN || i == OUTCOME_DEADLINE);
        if (counts[i] != 0 || is_usual[i] || is_of_fleet) {
            const struct metrics_labels labels = {
                .resource = view->name, .word = code_table[outcome_code(i)].word};
            metrics_value(out, metric, &labels, counts[i]);
        }
    }
}

static void add_counters(struct text *out, const struct counts_view *view)
{
    static const char *const how[N_GRANTED_HOW] = {"at-once", "waited"};
    const struct counts *counts = view->counts;
    const struct metrics_labels labels = {.resource = view->name};
    for (size_t i = 0; i < N_GRANTED_HOW; i++) {
        const struct metrics_labels split = {.resource = view->name, .word = how[i]};
        metrics_value(out, METRIC_RESOURCE_granted, &split, counts->granted[i]);
    }
    add_reasons(out, METRIC_RESOURCE_denied, view, counts->denied, is_usual_denial);
    add_reasons(out, METRIC_RESOURCE_ended, view, counts->ended, is_usual_end);
    metrics_value(out, METRIC_RESOURCE_reclaimed, &labels, counts->reclaimed);
    metrics_time(out, METRIC_RESOURCE_unit_seconds, &labels, view->unit_seconds);
    metrics_histogram(out, METRIC_RESOURCE_wait, &labels, &counts->wait);
    metrics_histogram(out, METRIC_RESOURCE_hold, &labels, &counts->hold);
}

static bool rate_holds(const struct resource *resource, nanoseconds now)
{
    const struct definition *definition = resource->definition;
    return definition->rate.units > 0 &&
        rate_goes_at(definition, resource_rate(resource).paid_at, 1) > now;
}

/* In fleet scope the database has the limit. */
static void add_limit(
    struct text *out, struct core *core, const struct counts_view *view, nanoseconds now)
{
    const struct metrics_labels labels = {.resource = view->name};
    const struct definition *definition = view->definition;
    struct resource *resource = core_find_resource(core, view->name);
    const struct template *template = core_find_template(core, view->name);
    if (definition->database == 0) {
        metrics_value(out, METRIC_RESOURCE_limit, &labels,
            resource       ? resource_limit(resource)
                : template ? template_limit(template)
                           : definition_limit(definition));
    }
    if (definition->database == 0 && resource) {
        bool is_blocked = resource_is_blocked(resource) || rate_holds(resource, now);
        metrics_value(out, METRIC_RESOURCE_free, &labels,
            is_blocked ? 0 : resource_free_units(resource) - resource_kept(resource));
    }
    if (template) {
        metrics_value(out, METRIC_RESOURCE_instances, &labels, template->n_instances);
    }
}

static void add_gauges(
    struct text *out, struct core *core, const struct counts_view *view, nanoseconds now)
{
    const struct metrics_labels labels = {.resource = view->name};
    add_limit(out, core, view, now);
    metrics_value(out, METRIC_RESOURCE_held, &labels, view->held);
    metrics_value(out, METRIC_RESOURCE_waiting, &labels, view->waiting);
    metrics_time(out, METRIC_RESOURCE_oldest_wait, &labels, microseconds(now - view->oldest_wait));
    metrics_time(out, METRIC_RESOURCE_oldest_hold, &labels, microseconds(now - view->oldest_hold));
}

/* ---- of the fleet ---- */

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
enum sessions_field { SESSIONS_WORD, SESSIONS_NUMBER, SESSIONS_GONE, N_SESSIONS_FIELDS };

#define MAX_SUM (UINT64_C(1) << 53) /* exact in Lua */

void metrics_hosts(struct text *out, const struct fleet_rows *rows, const char *database)
{
    const struct metrics_labels labels = {.database = database};
    size_t at = 0;
    uint64_t n, n_gone;
    const struct fleet_row *row = fleet_rows_next(rows, "sessions", N_SESSIONS_FIELDS, &at);
    if (row && fleet_number(row, SESSIONS_NUMBER, MAX_SUM, &n) &&
        fleet_number(row, SESSIONS_GONE, MAX_SUM, &n_gone)) {
        metrics_value(out, METRIC_SHARED_hosts, &labels, n);
        metrics_value(out, METRIC_SHARED_gone, &labels, n_gone);
    }
}

void metrics_load(struct text *out, const struct load_view *load, const char *database)
{
    const struct metrics_labels labels = {.database = database};
    if (load->is_known) {
        metrics_time(out, METRIC_SHARED_busy, &labels, load->busy); /* of a second: a share */
    }
}

static uint64_t sum_up(const struct fleet_rows *rows, const char *name, enum sum_field field)
{
    uint64_t sum = 0;
    const struct fleet_row *row;
    for (size_t at = 0; (row = fleet_rows_next(rows, "sum", N_SUM_FIELDS, &at));) {
        bool is_of_it = strcmp(fleet_field(row, SUM_DEFINITION), name) == 0;
        sum += is_of_it ? fleet_number_of(row, field, MAX_SUM) : 0;
    }
    return sum;
}

static void add_sums(struct text *out, const struct fleet_rows *rows, const char *name,
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

/* ---- definitions, some at a time ---- */

size_t metrics_resources(struct text *out, struct core *core, const struct metrics_sums *sums,
    size_t from, size_t n, nanoseconds now)
{
    size_t size = core_counts_size(core);
    for (size_t i = from; i < size; i++) {
        struct counts_view view;
        if (!core_counts_at(core, i, now, &view) ||
            (sums && view.definition->database != sums->number)) {
            continue;
        }
        if (n-- == 0) {
            return i;
        }
        if (sums) {
            add_sums(out, sums->rows, view.name, sums->database);
        } else {
            add_counters(out, &view);
            add_gauges(out, core, &view, now);
        }
    }
    return 0;
}

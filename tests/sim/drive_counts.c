/* drive_counts.c - what the core counts, against the model's. */
#include "drive_internal.h"

#include <stdlib.h>
#include <string.h>

static void same(const char *name, const char *what, size_t i, uint64_t is, uint64_t expected)
{
    REQUIRE(is == expected, "%s: %s %zu is %ju instead of %ju", name, what, i, (uintmax_t)is,
        (uintmax_t)expected);
}

static void compare_histogram(const char *name, const char *what,
    const struct metric_histogram *histogram, uint64_t sum, const uint64_t expected[])
{
    same(name, what, 0, histogram->sum, sum);
    for (size_t i = 0; i < METRIC_BUCKETS; i++) {
        same(name, what, i, histogram->buckets[i], expected[i]);
    }
}

static void compare_counters(const struct counts_view *view, const struct model_counts *expected)
{
    const struct counts *counts = view->counts;
    for (size_t i = 0; i < 2; i++) {
        same(view->name, "granted", i, counts->granted[i], expected->granted[i]);
    }
    for (size_t i = 0; i < N_OUTCOMES; i++) {
        same(view->name, "denied", i, counts->denied[i], expected->denied[i]);
        same(view->name, "ended", i, counts->ended[i], expected->ended[i]);
    }
    same(view->name, "reclaimed", 0, counts->reclaimed, expected->reclaimed);
    same(view->name, "unit-seconds", 0, view->unit_seconds, expected->unit_microseconds);
    compare_histogram(view->name, "wait", &counts->wait, expected->waited, expected->waits);
    compare_histogram(view->name, "hold", &counts->hold, expected->held, expected->holds);
}

static void compare_gauges(const struct simulation *simulation, const struct counts_view *view)
{
    const struct model *model = simulation->model;
    uint32_t held = 0, waiting = 0;
    nanoseconds oldest_wait = NEVER, oldest_hold = NEVER;
    for (size_t i = 0; i < model->n_leases; i++) {
        const struct model_lease *lease = model->leases[i];
        for (size_t k = 0; k < lease->n_claims; k++) {
            const struct model_claim *claim = &lease->claims[k];
            if (strcmp(claim->resource->counts_as, view->name) == 0) {
                held += lease->held ? claim->count : 0;
                waiting += !lease->held;
                oldest_hold = lease->held ? earlier(oldest_hold, lease->granted_at) : oldest_hold;
                oldest_wait = lease->held ? oldest_wait : earlier(oldest_wait, lease->asked_at);
            }
        }
    }
    same(view->name, "held", 0, view->held, held);
    same(view->name, "waiting", 0, view->waiting, waiting);
    same(view->name, "oldest wait", 0, (uint64_t)view->oldest_wait, (uint64_t)oldest_wait);
    same(view->name, "oldest hold", 0, (uint64_t)view->oldest_hold, (uint64_t)oldest_hold);
}

/* Each definition once, and no others. */
void counts_compare(struct simulation *simulation)
{
    struct model *model = simulation->model;
    size_t n = 0;
    for (size_t i = 0; i < core_counts_size(simulation->core); i++) {
        struct counts_view view;
        if (core_counts_at(simulation->core, i, simulation->now, &view)) {
            const struct model_counts *expected = model_find_counts(model, view.name);
            REQUIRE(expected && strcmp(view.definition->name, view.name) == 0,
                "%s is counted, and not defined", view.name);
            compare_counters(&view, expected);
            compare_gauges(simulation, &view);
            n++;
        }
    }
    REQUIRE(n == model->file.n, "%zu definitions are counted instead of %zu", n, model->file.n);
}

/* counts.h - what the core counts for each definition, from zero. The instances of a template count
 * for the template. */
#pragma once

#include "base/metrics.h"
#include "core/types.h"

struct core;
struct acquire_request;
struct definition;
struct saved_lease;

/* The counters and histograms of one definition, but for the time that its units were held. */
struct counts {
    uint64_t granted[N_GRANTED_HOW], denied[N_OUTCOMES], ended[N_OUTCOMES], reclaimed;
    struct metric_histogram wait, hold;
};

/* A request that was refused before the core was asked. Names without a definition count
 * nowhere. */
void core_count_refused(struct core *core, const struct acquire_request *ask, enum outcome why);
/* A lease of an earlier run that is over: it is not restored. `at`: when it ended. */
void core_count_ended_earlier(
    struct core *core, const struct saved_lease *saved, enum outcome why, nanoseconds at);

/* ---- looking ---- */

/* Slots, and so numbers that core_counts_at() takes. A definition keeps its number. */
size_t core_counts_size(const struct core *core);

struct counts_view {
    const char *name;
    const struct definition *definition;
    const struct counts *counts;
    uint64_t unit_seconds; /* until now; microseconds */
    uint32_t held; /* units */
    uint32_t waiting; /* requests; one for two instances of a template is two */
    nanoseconds oldest_wait, oldest_hold; /* since when; NEVER: none */
};

/* False: that slot is no definition's at present. */
bool core_counts_at(
    const struct core *core, size_t number, nanoseconds now, struct counts_view *view);

/* counts.h - what the core counts for each definition, in memory that may outlive the core: a file
 * that the daemon maps. The instances of a template count for the template.
 *
 * That memory may become zero at any time, as when a file is cut: then its figures begin again.
 *
 * A process killed between any two stores leaves figures that are right, but for the operation on
 * hand, of which some may be counted and others not: none is smaller than what has been shown, and
 * no time is counted twice. */
#ifndef BERTH_CORE_COUNTS_H
#define BERTH_CORE_COUNTS_H

#include "base/metrics.h"
#include "core/outcome.h"
#include "core/types.h"

struct core;
struct ask;
struct definition;
struct remembered;

enum {
    COUNTS_NAME_SIZE = 136, /* of a definition's name, with its NUL */
    METRIC_N_NONE = 1,
    METRIC_N_HOW = N_GRANTED_HOW,
    METRIC_N_REASON = N_OUTCOMES,
};

/* The counters and histograms of one definition, but for the time that its units were held. */
struct counts {
#define RESOURCE_COUNTER(id, name, label, help) uint64_t id[METRIC_N_##label];
#define RESOURCE_HISTOGRAM(id, name, label, help) struct metric_histogram id;
#include "base/metrics.def"
};

/* For how long units were held, and how many are held since then. */
struct counts_span {
    uint64_t unit_seconds; /* until .until; both in microseconds */
    uint64_t until;
    uint64_t held; /* units, from then on */
};

/* All zero: unused. */
struct counts_slot {
    char name[COUNTS_NAME_SIZE];
    struct counts_span spans[2];
    uint64_t current; /* which of .spans is valid, by its lowest bit: one store replaces a span */
    struct counts counts;
};

/* Where slots come from. Each call of more() gives the next *np of them, which last as long as the
 * core: first, n_earlier times, those of an earlier run, then unused ones. */
struct counts_memory {
    size_t n_earlier;
    struct counts_slot *(*more)(void *context, size_t *np);
    void *context;
};

/* Before the first core_define(); without it, the core counts in memory of its own. `memory` must
 * outlive the core. Units that were held in the earlier run count as held until
 * core_counts_begin(). */
void core_counts_keep(struct core *core, const struct counts_memory *memory);
/* After the last core_restore(). */
void core_counts_begin(struct core *core, nanoseconds now);

/* A request that was refused before the core was asked. Names without a definition count
 * nowhere. */
void core_count_refused(struct core *core, const struct ask *ask, enum outcome why);
/* A lease of an earlier run that is over: it is not restored. `at`: when it ended. */
void core_count_gone(
    struct core *core, const struct remembered *remembered, enum outcome why, nanoseconds at);

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

#endif

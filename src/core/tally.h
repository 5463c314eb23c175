/* tally.h - counts what happens to leases (core.h), and knows who has waited and held longest.
 * Each resource has the tally of the definition that governs it. */
#pragma once

#include "base/table.h"
#include "core/core.h"

#include <sys/queue.h>

TAILQ_HEAD(claim_list, claim);

enum { RECENT_HOLDS = 32 };

struct tally {
    struct table_node by_name;
    char *name; /* the definition's; owned */
    struct counts counts;
    uint64_t unit_seconds; /* for which units were held, until .until; both in microseconds */
    uint64_t until;
    const struct definition *definition; /* the file's; NULL: none at present */
    struct claim_list waiting; /* by when they asked */
    struct claim_list held; /* by when they were granted */
    uint32_t n_waiting; /* claims */
    uint32_t n_held; /* units */
    uint32_t n_resources; /* that have this tally */
    uint32_t n_recent; /* held leases that have ended since the start */
    uint64_t recent[RECENT_HOLDS]; /* for how long the latest were held, microseconds: a ring */
};

struct tallies {
    struct table by_name;
    struct tally **list; /* a definition keeps its number */
    size_t n;
    struct tally unnamed; /* for resources that no definition was ever known for */
};

void tallies_init(struct tallies *tallies);
void tallies_deinit(struct tallies *tallies);
/* From now on these definitions exist, and no others. Names of others keep their counts until a new
 * name needs the room. */
void tallies_define(struct core *core, const struct definition *definitions, size_t n);
/* The tally of the definition with that name, or of the template above it, even if that is gone;
 * else one that is never shown. */
struct tally *tallies_find(struct core *core, const char *name);
/* The resource counts there from now on. NULL: nowhere, as it goes. */
void tally_move(struct resource *resource, struct tally *tally, nanoseconds now);

/* The lease begins to wait; it ends with tally_grant(), tally_hold() or tally_end(). Repeated calls
 * are one. */
void tally_wait(struct lease *lease);
void tally_reclaim(const struct lease *lease);
/* The lease has been granted, and has its units. */
void tally_grant(struct lease *lease, nanoseconds now);
/* It has its units, and its grant was counted before or is not counted. */
void tally_hold(struct lease *lease, nanoseconds now);
/* The lease ends, whatever its state. OUTCOME_OK: that is not counted. Returns as what it is
 * counted. */
enum outcome tally_end(struct lease *lease, enum outcome why, nanoseconds now);

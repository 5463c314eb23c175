/* keep.h - requests for several resources: where they stand, and what is kept for them meanwhile.
 * The rule is in doc/ordering.md. */
#ifndef BERTH_CORE_KEEP_H
#define BERTH_CORE_KEEP_H

#include "core/core.h"

/* How a lease on several resources gets them. Only while it waits. */
struct road {
    struct lease *lease;
    struct claim *station; /* in whose queue it stands; NULL: it has yet to choose one */
    struct order_node timer; /* in core's keep timers, since something was kept */
    uint8_t n_kept;
    uint8_t n_let_go; /* how often its patience has ended, which doubles it */
    uint8_t n_forced; /* how often it has made way for nested requests since then */
    uint8_t claims[]; /* their indices: first those that are kept, then the rest as they come */
};

/* NULL if the lease wants one thing alone. */
struct road *road_new(struct lease *lease);

/* Something is kept for it. */
bool lease_keeps(const struct lease *lease);
/* Where it stands; NULL: nowhere yet. */
struct claim *lease_station(struct lease *lease);

/* Does nobody who stands in that queue before it keep it from going, if it stands there or not? */
bool claim_is_its_turn(const struct claim *claim);
/* It is its turn, and there are enough units for it. */
bool claim_has(const struct claim *claim);
/* The first claim, as they come, that has not enough; NULL: none. */
struct claim *lease_lacks(struct lease *lease);
/* One that is kept, and has been taken by an older request; NULL: none. */
struct claim *keep_lost(struct lease *lease);

/* It stands for what it lacks; for the first that is not kept if it lacks nothing. */
void keep_choose(struct core *core, struct lease *lease);
/* There is another than its station that is not kept yet. */
bool keep_has_another(const struct lease *lease);
/* Then, its station having enough, that is kept from now on, and it stands for what it lacks; for
 * the next if it lacks nothing. */
void keep_gain(struct core *core, struct lease *lease, nanoseconds now);
/* It stands for what it has lost, and keeps only what it had before that. */
void keep_fall(struct core *core, struct lease *lease, const struct claim *lost);
/* It is set aside, or waits no more: it stands nowhere. */
void keep_drop(struct core *core, struct lease *lease);
/* It has enough there, and its user's quota leaves room for it. */
bool keep_has_and_fits(const struct claim *claim);
/* A nested request would, but for what is kept for older ones, which wait for what its ancestors
 * hold, and so for itself; and which have not yet made way too often. */
bool keep_would_yield(struct core *core, const struct claim *nested);
/* Then as many of those older ones let go as it takes, the oldest first. */
void keep_yields(struct core *core, const struct claim *nested);

nanoseconds keep_next_deadline(const struct core *core);
/* The first that is due lets go. */
void keep_is_due(struct core *core, nanoseconds now, struct effects *effects);

#endif

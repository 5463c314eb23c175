/* keep.h - requests for several resources: in which queue each waits, and which units are kept for
 * it until it has the rest. doc/ordering.md has the rule. */
#pragma once

#include "core/core.h"

/* How a waiting lease on several resources gets them. */
struct road {
    struct lease *lease;
    struct claim *station; /* in whose queue the lease stands; NULL: not chosen yet */
    struct sorted_set_node timer; /* in the core's keep timers, while something is kept */
    uint8_t n_kept;
    uint8_t n_let_go; /* how often the patience has ended; each time doubles it */
    uint8_t claims[]; /* indices: first the kept claims, then the rest in the order to come */
};

/* NULL if the lease wants only one resource. */
struct road *road_new(struct lease *lease);

/* Whether something is kept for the lease. */
bool lease_keeps(const struct lease *lease);
/* The claim in whose queue the lease stands; NULL: none yet. */
struct claim *lease_station(struct lease *lease);

/* Whether nobody before that place in the resource's queue keeps its owner from going. */
bool resource_has_turn(const struct resource *resource, const struct sorted_set_node *own);
/* Whether nobody before the claim in its queue keeps it from going; it need not stand there
 * itself. */
bool claim_is_its_turn(const struct claim *claim);
/* From when on the rate lets it go, beside what is kept for older ones; NEVER: not before some of
 * these have gone. Its resource has a rate. */
nanoseconds claim_goes_at(const struct claim *claim);
/* Whether it is the claim's turn and there are enough units for it. */
bool claim_has(const struct claim *claim);
/* The lease's first claim, in the order to come, that has too few units; NULL: none. */
struct claim *lease_lacks(struct lease *lease);
/* A kept claim whose units an older request has taken; NULL: none. */
struct claim *keep_lost(struct lease *lease);

/* The lease now stands for what it lacks; if it lacks nothing, for its first claim that is not
 * kept. */
void keep_choose(struct core *core, struct lease *lease);
/* Whether a claim other than the station is not kept yet. */
bool keep_has_another(const struct lease *lease);
/* The station has enough and another claim is not kept yet: the station is kept from now on, and
 * the lease stands for what it lacks, or else for its next claim. But if the station has no rate,
 * and another claim has one and is not kept yet, the lease only goes to stand for that one. */
void keep_gain(struct core *core, struct lease *lease, nanoseconds now);
/* The lease stands for `lost`, and keeps only what it kept before that. */
void keep_fall(struct core *core, struct lease *lease, const struct claim *lost);
/* The lease is set aside or no longer waits: it stands nowhere. */
void keep_drop(struct core *core, struct lease *lease);

/* How far a request has come, for one that names the same resources and takes its place. */
struct progress {
    bool has_road; /* and it wants the same levels: all below but .overtaken is known */
    nanoseconds until; /* when its patience ends; NEVER */
    uint32_t overtaken[MAX_RESOURCES_PER_LEASE]; /* in the order of the other's claims */
    uint8_t n_kept, n_let_go;
    uint8_t claims[MAX_RESOURCES_PER_LEASE]; /* as struct road has them, of the other */
};
void keep_note(struct progress *progress, struct lease *lease, const struct lease *other);
/* The other one has just begun to wait. */
void keep_take(struct core *core, struct lease *other, const struct progress *progress);

/* The first lease that is due lets go. */
void keep_is_due(struct core *core, nanoseconds now, struct effects *effects);

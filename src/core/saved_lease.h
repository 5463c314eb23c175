/* saved_lease.h - the persistent form of a lease: it is stored, and the lease is rebuilt from it
 * after a restart. Whoever fills it in owns the strings and arrays. */
#pragma once

#include "core/lease.h"

struct saved_unit {
    const char *item; /* of a pool; else NULL */
    uint32_t slot;
};

/* What a resource's rate has let go: meter.h. */
struct saved_rate {
    nanoseconds charged_at; /* when units were granted last */
    nanoseconds paid_at; /* when the rate has made up for all of them */
    nanoseconds step; /* the rate as it was then: between two units; 0: none, or nothing is owed */
};

struct saved_claim {
    const char *name;
    uint32_t count;
    bool is_all, is_level; /* as of a claim */
    uint64_t token; /* of a held lease */
    bool is_pool; /* held */
    const struct saved_unit *units; /* held: `count` of them; else NULL */
    uint64_t sharer; /* of a share: the lease that has the units; else 0 */
    struct saved_rate rate; /* held: of the resource, when the record was written */
    uint8_t asked; /* once sorted by the core: its place before */
    nanoseconds cooldown; /* with .rested_at, if known: how long its units rest since */
};

struct saved_lease {
    uint64_t id;
    bool is_held;
    uint32_t uid;
    int32_t pid;
    struct lease_attributes attributes;
    enum binding binding;
    struct process process; /* BOUND_PROCESS */
    struct process wrapper; /* BOUND_PROCESS; pid 0: none */
    nanoseconds asked_at, granted_at;
    nanoseconds rested_at; /* when it ended, if only its units are remembered, at rest; or 0 */
    nanoseconds until; /* of the wait, or of the lease; NEVER if not limited */
    nanoseconds hold_until; /* held: as max-hold was at the grant; NEVER if there was none */
    nanoseconds ttl; /* BOUND_TIME */
    enum outcome stopping; /* OUTCOME_OK, or why (fleet scope: also LOST, DEADLINE) */
    struct actor by; /* with .stopping: who takes it away */
    const char *stop_reason; /* with .stopping: their words; or NULL */
    uint64_t ticket; /* as of a lease */
    uint8_t database; /* 0: host scope */
    bool wants_now; /* fleet scope, waiting: it does not want to wait, and had no answer yet */
    bool is_away; /* waiting: its client had been stopped */
    const char *kept; /* see struct lease; or NULL */
    bool is_opaque;
    bool has_cooldowns; /* .claims say how long they rest */
    size_t n_claims;
    struct saved_claim claims[MAX_RESOURCES_PER_LEASE];
};

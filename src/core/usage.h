/* usage.h - what one user has of one resource. */
#pragma once

#include "core/resource.h"

#include <sys/queue.h>

struct lane_link;

/* Lives while that uid holds or waits for some of it, and as resource.idle_usage until another one
 * is idle: the user of a moment ago asks next, as a rule. */
struct usage {
    struct table_node by_uid; /* in resource.usages */
    uint32_t uid;
    uint32_t units; /* held */
    uint32_t n_claims; /* held and waiting */
    uint32_t n_inside; /* as of the resource: this user's */
    /* the uid's places that are STANDS_KEEPING there, weighted by their count */
    struct sorted_set kept;
    TAILQ_HEAD(, lane_link) lanes; /* of those with a claim to the resource */
};

void usage_add_claim(struct resource *resource, struct claim *claim);
void usage_remove_claim(struct claim *claim);
/* Call before the resource is freed. */
void usage_forget_idle(struct resource *resource);
bool usage_has_claim(const struct resource *resource, uint32_t uid);
/* The lowest uid that has a claim. False: none has. O(users). */
bool usage_first_claimant(const struct resource *resource, uint32_t *uidp);
/* How many units the user holds. */
uint32_t usage_units_of(const struct resource *resource, uint32_t uid);

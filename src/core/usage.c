#include "core/usage.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

static struct usage *usage_find(const struct resource *resource, uint32_t uid)
{
    struct table_node *node = table_find_number(&resource->usages, uid);
    return node ? container_of(node, struct usage, by_uid) : NULL;
}

uint32_t usage_units_of(const struct resource *resource, uint32_t uid)
{
    const struct usage *usage = usage_find(resource, uid);
    return usage ? usage->units : 0;
}

bool usage_has_claim(const struct resource *resource, uint32_t uid)
{
    const struct usage *usage = usage_find(resource, uid);
    return usage && usage->n_claims > 0;
}

bool usage_first_claimant(const struct resource *resource, uint32_t *uidp)
{
    bool any = false;
    for (size_t i = 0; i < resource->usages.n_buckets; i++) {
        for (struct table_node *node = resource->usages.buckets[i]; node; node = node->next) {
            const struct usage *usage = container_of(node, struct usage, by_uid);
            if (usage->n_claims > 0 && (!any || usage->uid < *uidp)) {
                *uidp = usage->uid;
                any = true;
            }
        }
    }
    return any;
}

void usage_add_claim(struct resource *resource, struct claim *claim)
{
    uint32_t uid = claim->lease->uid;
    struct usage *usage = usage_find(resource, uid);
    if (!usage) {
        usage = memory_new(sizeof *usage);
        usage->uid = uid;
        TAILQ_INIT(&usage->lanes);
        table_insert(&resource->usages, &usage->by_uid, hash_number(uid));
    } else if (usage == resource->idle_usage) {
        resource->idle_usage = NULL;
    }
    usage->n_claims++;
    claim->usage = usage;
}

void usage_forget_idle(struct resource *resource)
{
    if (resource->idle_usage) {
        table_remove(&resource->usages, &resource->idle_usage->by_uid);
        free(resource->idle_usage);
        resource->idle_usage = NULL;
    }
}

void usage_remove_claim(struct claim *claim)
{
    struct usage *usage = claim->usage;
    claim->usage = NULL;
    if (--usage->n_claims == 0) {
        assert(
            usage->units == 0 && sorted_set_is_empty(&usage->kept) && TAILQ_EMPTY(&usage->lanes));
        usage_forget_idle(claim->resource);
        claim->resource->idle_usage = usage;
    }
}

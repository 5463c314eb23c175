#include "base/memory.h"
#include "core/internal.h"

#include <string.h>

/* Ignores the uid where the resource shares identities. */
static uint64_t identity_hash(const struct resource *resource, uint32_t uid, const char *holder)
{
    uint64_t owner = resource->definition->identity_shared ? UINT64_MAX : uid;
    uint64_t seed = hash_number((uint64_t)(uintptr_t)resource) ^ hash_number(owner);
    return hash_bytes(holder, strlen(holder), seed);
}

struct lease *identity_next(const struct core *core, const struct resource *resource, uint32_t uid,
    const char *holder, struct table_node **nodep)
{
    struct lease *found = NULL;
    struct table_node *node = *nodep
        ? table_find_next(*nodep)
        : table_find(&core->identities, identity_hash(resource, uid, holder));
    for (; node && !found; node = found ? node : table_find_next(node)) {
        const struct claim *claim = container_of(node, struct claim, by_identity);
        bool is_same = claim->resource == resource &&
            strcmp(claim->lease->attributes.holder, holder) == 0 &&
            (resource->definition->identity_shared || claim->lease->uid == uid);
        found = is_same ? claim->lease : NULL;
    }
    *nodep = node;
    return found;
}

struct lease *core_find_identity(
    const struct core *core, const struct resource *resource, uint32_t uid, const char *holder)
{
    struct lease *lease, *first = NULL;
    struct table_node *node = NULL;
    while ((lease = identity_next(core, resource, uid, holder, &node))) {
        if (lease_has_identity(lease)) {
            return lease;
        }
        first = first ? first : lease;
    }
    return first;
}

static inline bool has_identity(const struct claim *claim)
{
    return claim->lease->attributes.holder && !claim->is_level;
}

const struct claim *claim_identity_ahead(const struct core *core, const struct claim *claim)
{
    const struct lease *lease = claim->lease;
    bool waits = has_identity(claim) && !lease_has_identity(lease) && lease->database == 0;
    struct lease *other = waits
        ? core_find_identity(core, claim->resource, lease->uid, lease->attributes.holder)
        : NULL;
    return other && lease_has_identity(other) ? lease_own_claim(other, claim->resource) : NULL;
}

const struct claim *core_identity_ahead(const struct core *core, const struct lease *lease)
{
    const struct claim *ahead = NULL;
    for (size_t i = 0; !lease_has_identity(lease) && !ahead && i < lease->n_claims; i++) {
        ahead = claim_identity_ahead(core, &lease->claims[i]);
    }
    return ahead;
}

void identity_add(struct core *core, struct claim *claim)
{
    const struct lease *lease = claim->lease;
    if (has_identity(claim)) {
        table_insert(&core->identities, &claim->by_identity,
            identity_hash(claim->resource, lease->uid, lease->attributes.holder));
    }
}

void identity_remove(struct core *core, struct claim *claim)
{
    if (has_identity(claim)) {
        table_remove(&core->identities, &claim->by_identity);
    }
}

/* ---- repeated requests ---- */

/* A client that has not seen the answer repeats its acquire with the same `once`, and gets the same
 * lease, whatever its first connection does meanwhile. */
static uint64_t once_hash(uint32_t uid, const char *once)
{
    return hash_bytes(once, strlen(once), hash_number(uid));
}

void once_enter(struct core *core, struct lease *lease)
{
    if (lease->attributes.once) {
        table_insert(&core->once, &lease->by_once, once_hash(lease->uid, lease->attributes.once));
    }
}

void once_leave(struct core *core, struct lease *lease)
{
    if (lease->attributes.once) {
        table_remove(&core->once, &lease->by_once);
    }
}

struct lease *core_find_once(struct core *core, uint32_t uid, const char *once)
{
    struct lease *newest = NULL;
    struct table_node *node = table_find(&core->once, once_hash(uid, once));
    for (; node; node = table_find_next(node)) {
        struct lease *lease = container_of(node, struct lease, by_once);
        bool fits = lease->uid == uid && strcmp(lease->attributes.once, once) == 0;
        newest = fits && (!newest || lease->id > newest->id) ? lease : newest;
    }
    return newest;
}

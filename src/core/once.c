/* once.c - repeated requests. A client that has not seen the answer repeats its acquire with the
 * same `once`, and gets the same lease, whatever its first connection does meanwhile. */
#include "base/memory.h"
#include "core/internal.h"

#include <string.h>

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

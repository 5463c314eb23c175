/* fleet_changes.h - what is different between two listings of a database: which resources, and
 * which leases on them. Ages and places differ all the time, and do not count. Pure. */
#ifndef BERTH_STATUS_FLEET_CHANGES_H
#define BERTH_STATUS_FLEET_CHANGES_H

#include "status/listing.h"

/* Who hears each change. The names are good as long as both listings. */
struct fleet_changes_heard {
    void *context;
    /* It is new, different or gone, or a template that operators have changed; `definition` is the
     * name of the one behind it. Before the leases on it. */
    void (*resource)(void *context, const char *name, const char *definition);
    /* It is new there, different, or not there any more. */
    void (*lease)(void *context, const char *resource, const char *key);
    /* It is not there any more, but it may have been missed: the next listing knows. */
    void (*missing)(void *context, const char *resource, const char *key);
};

/* `before` may be NULL: there was none. Passes by this host's leases. */
void fleet_changes_find(const struct listing *before, const struct listing *now,
    const struct fleet_changes_heard *heard);

#endif

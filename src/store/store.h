/* store.h - where leases are kept: one vtable for the two scopes. `host` is local.c; `fleet` (Redis)
 * comes later.
 *
 * Always asynchronous: no call ever calls back. What becomes of *other* leases, and of an acquire
 * that did not end at once, is an effect in store->effects, which the daemon carries out after the
 * call (or, for a store with a connection of its own, after that has asked for it). */
#ifndef BERTH_STORE_STORE_H
#define BERTH_STORE_STORE_H

#include "core/core.h"

struct store;

/* As the functions of core.h, which see for their results. */
struct store_ops {
    const char *scope;
    enum outcome (*acquire)(struct store *store, struct client *client, const struct ask *ask,
        nanoseconds now, struct lease **leasep, const char **aboutp);
    void (*end)(
        struct store *store, struct lease *lease, const struct client *by, nanoseconds now);
    void (*revoke)(struct store *store, struct lease *lease, nanoseconds now);
    void (*drop)(struct store *store, struct lease *lease, nanoseconds now);
    enum outcome (*renew)(
        struct store *store, struct lease *lease, nanoseconds ttl, nanoseconds now);
    enum outcome (*bind)(struct store *store, struct lease *lease, const struct client *by,
        enum binding binding, const struct process *process);
    void (*process_gone)(struct store *store, struct lease *lease, nanoseconds now);
    enum outcome (*reclaim)(
        struct store *store, struct client *client, struct lease *lease, nanoseconds now);
    enum outcome (*reclaim_unknown)(struct store *store, struct client *client,
        const struct ask *ask, uint64_t id, const struct remembered_unit *const units[],
        nanoseconds now, struct lease **leasep, const char **aboutp);
    enum outcome (*change)(
        struct store *store, const char *name, const struct change *change, nanoseconds now);
    enum outcome (*client_init)(struct store *store, struct client *client, uint32_t uid);
    void (*client_end_leases)(struct store *store, struct client *client, nanoseconds now);
    void (*client_deinit)(struct store *store, struct client *client, nanoseconds now);
    void (*drain)(struct store *store, bool draining, nanoseconds now);
    void (*tick)(struct store *store, nanoseconds now);
    nanoseconds (*next_deadline)(const struct store *store);
    struct store *(*free)(struct store *store); /* returns NULL */
};

struct store {
    const struct store_ops *ops;
    struct effects effects;
};

#endif

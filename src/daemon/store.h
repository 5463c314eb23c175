/* store.h - where leases are kept: the core, in this process, for both scopes (local.c). Who grants
 * them differs: in fleet scope a database does, which session.h and link.h talk to.
 *
 * Always asynchronous: no call ever calls back. What becomes of *other* leases, of an acquire that
 * did not end at once, and what a database must be asked, is an effect in store->effects, which the
 * daemon carries out after the call. */
#ifndef BERTH_DAEMON_STORE_H
#define BERTH_DAEMON_STORE_H

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
    void (*withdraw)(struct store *store, struct lease *lease, nanoseconds now);
    void (*drop)(struct store *store, struct lease *lease, nanoseconds now);
    enum outcome (*renew)(
        struct store *store, struct lease *lease, nanoseconds ttl, nanoseconds now);
    enum outcome (*bind)(struct store *store, struct lease *lease, const struct client *by,
        enum binding binding, const struct process *process);
    void (*process_gone)(struct store *store, struct lease *lease, nanoseconds now);
    enum outcome (*reclaim)(
        struct store *store, struct client *client, struct lease *lease, nanoseconds now);
    enum outcome (*repeat)(
        struct store *store, struct client *client, struct lease *lease, nanoseconds now);
    enum outcome (*reclaim_unknown)(struct store *store, struct client *client,
        const struct ask *ask, uint64_t id, const struct remembered_claim claims[],
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

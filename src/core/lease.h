/* lease.h - one lease, from the request to its end. */
#ifndef BERTH_CORE_LEASE_H
#define BERTH_CORE_LEASE_H

#include "core/account.h"
#include "core/order.h"
#include "core/table.h"
#include "core/types.h"

#include <sys/queue.h>

struct client;
struct lease;
struct resource;
struct unit;
struct usage;

enum lease_state {
    LEASE_WAITING,
    LEASE_HELD,
    LEASE_ENDED, /* only while an effect still names it */
};

/* One resource's part of a lease. */
struct claim {
    struct lease *lease;
    struct resource *resource;
    struct order_node node; /* waiting: in the resource's queue or aside; held: in its holders */
    struct usage *usage; /* what that uid holds of the resource, if that is bounded; or NULL */
    struct identity *identity; /* NULL without --holder */
    struct unit **units; /* held: `count` of them; NULL while waiting */
    uint64_t token; /* held */
    uint32_t count;
    uint32_t overtaken; /* waiting under first-fit: how often it was passed */
};

struct lease {
    uint64_t id;
    uint64_t ticket; /* place in line */
    struct client *client; /* whose list it is in; NULL when ended */
    LIST_ENTRY(lease) link; /* in client->leases */
    struct table_node by_id;
    struct order_node timer; /* waiting with a time limit: in core's timers */
    struct charge charge; /* ACCOUNT_LEASES */
    struct charge waiter_charge; /* ACCOUNT_WAITERS while waiting */
    nanoseconds asked_at, granted_at;
    uint64_t parent;
    struct parking *parking; /* set aside for its user's quota; or NULL */
    struct lease *next_ended; /* effects.ended */
    uint32_t uid;
    int32_t pid;
    int32_t priority;
    uint8_t state; /* enum lease_state; only lease.c writes it */
    bool aside; /* waiting, but in no queue: quota, or another resource is blocked */
    uint8_t n_claims;
    const char *holder, *reason, *program; /* NULL if not given; owned, in one block */
    struct claim claims[]; /* in the order asked */
};

#endif

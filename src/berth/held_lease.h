/* held_lease.h - the lease while the job runs: what berthd says about it, having it back after the
 * connection was lost, and giving it back. Decides when the job is to be stopped; how is
 * stopping.h's. Knows no job.
 *
 * Whoever runs the loop calls holding_step() when the connection is readable or holding_deadline()
 * has come; nothing here blocks. */
#ifndef BERTH_BERTH_HELD_LEASE_H
#define BERTH_BERTH_HELD_LEASE_H

#include "berth/acquisition.h"
#include "base/backoff.h"
#include "berth/grant.h"
#include "berth/request.h"
#include "client/connection.h"
#include "client/stopping.h"

#include <stdbool.h>

enum holding_state {
    HOLDING_NOTHING, /* no lease, or it is gone */
    HOLDING_CONNECTED,
    HOLDING_APART, /* no connection; the next try is at holding.retry_at */
    HOLDING_RECLAIMING, /* connected, but not known whether we still have it */
};

struct holding {
    enum holding_state state;
    const struct options *options;
    const struct endpoint *endpoint;
    struct connection *connection;
    const struct grant *grant;
    struct wish wish; /* what it was acquired with; later, bound to what it is now */
    bool is_fleet; /* kept alive in a database: the deadline is its, and firm */
    struct backoff backoff;
    nanoseconds retry_at;
    struct stopping stopping;
};

/* After ASKING_GRANTED. `asking` and what it points at must stay. */
void holding_init(struct holding *holding, const struct asking *asking);
/* After ASKING_UNLEASED. */
void holding_init_nothing(struct holding *holding);

void holding_step(struct holding *holding, bool readable, nanoseconds now);
/* Includes that of holding.stopping. NEVER if only the connection can bring news. */
nanoseconds holding_deadline(const struct holding *holding);

/* Only the wrapper keeps the lease from now on. */
void holding_main_is_gone(struct holding *holding);

/* Gives the lease back: the job has ended, and is reaped. */
void holding_release(struct holding *holding);

#endif

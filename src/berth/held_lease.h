/* held_lease.h - the lease while the job runs: hears what berthd says about it, reclaims it after a
 * lost connection, gives it back. Decides when the job is to be stopped; stopping.h decides how.
 * Does not handle the job itself.
 *
 * The loop calls held_lease_step() when the connection is readable or held_lease_deadline() has
 * come; nothing here blocks. */
#pragma once

#include "berth/acquisition.h"
#include "base/backoff.h"
#include "berth/grant.h"
#include "berth/request.h"
#include "client/connection.h"
#include "client/stopping.h"

#include <stdbool.h>

enum held_lease_state {
    HELD_LEASE_NOTHING, /* there is no lease, or it is gone */
    HELD_LEASE_CONNECTED,
    HELD_LEASE_DISCONNECTED, /* no connection; the next try is at held_lease.retry_at */
    HELD_LEASE_RECLAIMING, /* connected; whether we still have it is not known yet */
};

struct held_lease {
    enum held_lease_state state;
    const struct options *options;
    const struct endpoint *endpoint;
    struct connection *connection;
    const struct grant *grant;
    struct acquire_params params; /* what it was acquired with, bound to what it is bound to now */
    bool is_fleet; /* kept alive in a database: the deadline is the database's, and firm */
    struct backoff backoff;
    nanoseconds retry_at;
    struct stopping stopping;
};

/* After ACQUISITION_GRANTED. `acquisition` and what it points at must stay valid. */
void held_lease_init(struct held_lease *held_lease, const struct acquisition *acquisition);
/* After ACQUISITION_UNLEASED. */
void held_lease_init_nothing(struct held_lease *held_lease);

void held_lease_step(struct held_lease *held_lease, bool readable, nanoseconds now);
/* Includes that of held_lease.stopping. NEVER if only the connection can bring news. */
nanoseconds held_lease_deadline(const struct held_lease *held_lease);

/* From now on only the wrapper keeps the lease. */
void held_lease_main_is_gone(struct held_lease *held_lease);

/* Gives the lease back: the job has ended so, and has been reaped. */
void held_lease_release(struct held_lease *held_lease, const struct job_end *end);

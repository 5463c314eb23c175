/* job_origin.h - where a lease's job comes from, for the history: who had logged in, the unit or
 * container, its arguments. That costs a dozen system calls: it is looked up a while after the
 * answer has gone, a few jobs in each turn of the loop. A lease that is over by then has none. */
#pragma once

#include "base/table.h"
#include "core/ended.h"
#include "core/lease.h"

#include <uv.h>

/* lease.looked_up */
enum { LOOKED_UP_WAITING = 1, LOOKED_UP_HELD = 2 };

/* lease.origin: jobs with the same share one. */
struct job_origin {
    struct process_origin known; /* the texts stand behind it */
    struct table_node by_content;
    uint32_t n_leases;
    size_t size; /* of the texts, with their NULs */
    char texts[];
};

struct job_origins {
    struct table by_content;
    uv_timer_t timer; /* runs while leases are to be looked at */
    struct lease **queue; /* these, each at its .look_up_at: a ring; a place is NULL once
                            its lease has ended. NULL: nothing is looked up */
    size_t first, n; /* with those that have ended */
    uint32_t n_new; /* put there lately */
};

void job_origins_init(struct job_origins *origins, uv_loop_t *loop);
/* From now on, leases are looked up. */
void job_origins_begin(struct job_origins *origins);
/* From now on, no lease is looked up, and leases may end without job_origin_forget(). */
void job_origins_stop(struct job_origins *origins);
/* When all leases are gone. */
void job_origins_deinit(struct job_origins *origins);

/* The lease waits, or is held: it will be looked up, if that has not been done. */
void job_origin_want(struct job_origins *origins, struct lease *lease);
/* The lease has ended: lease->origin, which may be NULL, is needed no more. */
void job_origin_forget(struct job_origins *origins, struct lease *lease);

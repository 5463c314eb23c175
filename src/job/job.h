/* job.h - the process that a lease is bound to: when it is gone, how it is stopped. */
#pragma once

#include "job/group.h"
#include "job/watch.h"

struct core;
struct effects;
struct fleet_names;
struct lease;
struct loop_iteration;

struct jobs {
    struct watches watches;
    struct group_signaller signaller;
    struct loop_iteration *turn;
    struct core *core;
    struct effects *effects; /* the core's */
    const struct fleet_names *databases;
};

/* Its process has become another user's (by sudo, by a setuid program): its holder may no longer
 * signal it. */
bool job_holder_may_not_signal(const struct lease *lease);

/* Whether the process of a held lease of own-names waits for the lock of a file: as viewer.h has
 * it. */
int32_t job_file_lock_holder(const struct lease *lease);

/* EFFECT_WATCH, EFFECT_UNWATCH (job_forget()) and EFFECT_SIGNAL. */
void job_watch(struct jobs *jobs, struct lease *lease);
void job_signal(struct jobs *jobs, const struct lease *lease, int signal);
/* Gives up the watch, if there is one. */
void job_forget(struct lease *lease);

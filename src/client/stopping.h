/* stopping.h - when and how a job whose lease is gone is stopped. Pure: the time, and what is left
 * of the job, are passed in; the signals are sent by whoever runs the loop, as stopping_step()
 * says. Doc: doc/protocol.md 3. */
#ifndef BERTH_CLIENT_STOPPING_H
#define BERTH_CLIENT_STOPPING_H

#include "base/clock.h"
#include "base/on_lost.h"

#include <stdbool.h>

enum stopping_state {
    STOPPING_NOT,
    STOPPING_BEGUN, /* nothing has been sent yet */
    STOPPING_ASKED, /* the job has got its signal */
    STOPPING_KILLED, /* and SIGKILL */
};

struct stopping {
    enum stopping_state state;
    enum on_lost on_lost; /* never ON_LOST_NOT_SAID */
    nanoseconds kill_after; /* a span */
    nanoseconds stop_at; /* of the last deadline; NEVER: none, or done with */
    nanoseconds kill_by; /* SIGKILL later than this may be too late for it; NEVER: none */
    nanoseconds kill_at; /* STOPPING_ASKED; NEVER: it is not killed */
    nanoseconds leave_at; /* STOPPING_KILLED: what is left of the group cannot be killed */
    nanoseconds look_at; /* NEVER, or when to call again though nothing may have happened */
};

enum job_left {
    JOB_GONE,
    JOB_GROUP_LEFT, /* the main process is gone; others are in its group, whose end nobody tells */
    JOB_LEFT, /* SIGCHLD tells its end */
};

enum stopping_action {
    STOPPING_NOTHING,
    STOPPING_ASK, /* send the signal */
    STOPPING_KILL, /* send SIGKILL */
    STOPPING_OVER, /* give the lease back */
};

/* What is not said (ON_LOST_NOT_SAID, NEVER) becomes the protocol's default. */
void stopping_init(struct stopping *stopping, enum on_lost on_lost, nanoseconds kill_after);

/* From `stop_at` on it is to be stopped, so that it is gone at `good_until`. */
void stopping_set_deadline(struct stopping *stopping, nanoseconds good_until, nanoseconds stop_at);
/* The lease is gone: there is nothing to stop for any more but what has begun, or begins now. */
void stopping_drop_deadline(struct stopping *stopping);

/* The deadline has come, and it has not begun. */
bool stopping_is_due(const struct stopping *stopping, nanoseconds now);

/* Under ON_LOST_WARN it does not, but the deadline is done with. */
void stopping_begin(struct stopping *stopping);

/* To be called in each turn. */
enum stopping_action stopping_step(struct stopping *stopping, enum job_left left, nanoseconds now);

/* When to call again, or NEVER. */
nanoseconds stopping_deadline(const struct stopping *stopping);

#endif

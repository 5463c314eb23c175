/* stopping.h - when and how a job whose lease is gone is stopped. Pure: the caller passes in the
 * time and what is left of the job, and sends the signals that stopping_step() asks for. Doc:
 * doc/protocol.md 3. */
#pragma once

#include "base/clock.h"
#include "base/on_lost.h"

#include <stdbool.h>

enum stopping_state {
    STOPPING_NOT,
    STOPPING_BEGUN, /* nothing has been sent yet */
    STOPPING_ASKED, /* the job has got its signal */
    STOPPING_KILLED, /* the job has got SIGKILL */
};

struct stopping {
    enum stopping_state state;
    enum on_lost on_lost; /* never ON_LOST_NOT_SAID */
    nanoseconds kill_after; /* a span */
    nanoseconds stop_at; /* of the last deadline; NEVER: none, or dealt with */
    nanoseconds kill_by; /* SIGKILL after this may come too late; NEVER: none */
    nanoseconds kill_at; /* STOPPING_ASKED; NEVER: the job is not killed */
    nanoseconds leave_at; /* STOPPING_KILLED: what is left of the group cannot be killed */
    nanoseconds look_at; /* when to call again even if nothing happens; or NEVER */
};

enum job_left {
    JOB_GONE,
    JOB_GROUP_LEFT, /* the main process is gone; nothing reports the end of others in its group */
    JOB_LEFT, /* SIGCHLD will report its end */
};

enum stopping_action {
    STOPPING_NOTHING,
    STOPPING_ASK, /* send the signal */
    STOPPING_KILL, /* send SIGKILL */
    STOPPING_OVER, /* give the lease back */
};

/* Values not given (ON_LOST_NOT_SAID, NEVER) become the protocol's defaults. */
void stopping_init(struct stopping *stopping, enum on_lost on_lost, nanoseconds kill_after);

/* The stop is to begin at `stop_at`, so that the job is gone at `good_until`. */
void stopping_set_deadline(struct stopping *stopping, nanoseconds good_until, nanoseconds stop_at);
/* The lease is gone: only a stop that has begun, or begins now, goes on. */
void stopping_drop_deadline(struct stopping *stopping);

/* The deadline has come, and the stop has not begun. */
bool stopping_is_due(const struct stopping *stopping, nanoseconds now);

/* Under ON_LOST_WARN the job is not stopped, but the deadline is dealt with. */
void stopping_begin(struct stopping *stopping);

/* Call it in each turn. */
enum stopping_action stopping_step(struct stopping *stopping, enum job_left left, nanoseconds now);

/* When to call again, or NEVER. */
nanoseconds stopping_deadline(const struct stopping *stopping);

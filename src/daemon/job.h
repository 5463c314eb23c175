/* job.h - the process that a lease is bound to: whether it may be, when it is gone, how it is
 * stopped. */
#ifndef BERTH_DAEMON_JOB_H
#define BERTH_DAEMON_JOB_H

#include "daemon/command_call.h"

/* The process that the client names by `pid`; BOUND_CONNECTION if the client lives in another PID
 * namespace, whose numbers are not ours. False, with an answer, if there is none, or not one that
 * the client may signal. */
bool job_identify(
    struct call *call, const char *pid, enum binding *bindingp, struct process *process);

/* Its process has become another user's (by sudo, by a setuid program): its holder may not signal it
 * any more. */
bool job_is_beyond_holder(const struct lease *lease);

/* EFFECT_WATCH, EFFECT_UNWATCH (job_forget()) and EFFECT_SIGNAL. */
void job_watch(struct server *server, struct lease *lease);
void job_signal(struct server *server, const struct lease *lease, int signal);
/* Lets go of the watch, if there is one. */
void job_forget(struct lease *lease);

#endif

/* named_process.h - the process that a client names by its pid: whether a lease may be bound to it.
 */
#ifndef BERTH_DAEMON_NAMED_PROCESS_H
#define BERTH_DAEMON_NAMED_PROCESS_H

#include "core/lease.h"

#include <stdbool.h>

struct call;

/* BOUND_CONNECTION if the client lives in another PID namespace, whose numbers mean something else.
 * False, after an answer, if there is no such process, or not one that the client may signal. */
bool named_process_find(
    struct call *call, const char *pid, enum binding *bindingp, struct process *process);

#endif

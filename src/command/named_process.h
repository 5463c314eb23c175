/* named_process.h - a process that a client names by its pid: whether the number means the same
 * here, and whether a lease may be bound to the process. */
#pragma once

#include "core/lease.h"

#include <stdbool.h>

struct call;

/* BOUND_CONNECTION if the client lives in another PID namespace, whose numbers mean something else.
 * False, after an answer, if there is no such process, or not one that the client may signal. */
bool named_process_find(
    struct call *call, const char *pid, enum binding *bindingp, struct process *process);
/* False, after an answer: the client lives in another PID namespace, or that cannot be told. */
bool named_process_shares_pid_ns(struct call *call);

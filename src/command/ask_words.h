/* ask_words.h - what the words of requests mean: from those of an acquire or a reclaim to an ask,
 * and which process a pid is. A function that returns false has answered with an error. */
#pragma once

#include "core/lease.h"

#include <stdbool.h>
#include <stddef.h>

struct call;

/* Once its definition is known: a lock that is shared is wanted alone, unless the request says
 * otherwise. */
void ask_settle_want(struct requested_resource *want);
/* False, and it is refused, if there is no job, and one of the wants from that one on must have
 * one. */
bool ask_may_have_programs(struct call *call, const struct acquire_request *ask, size_t from);

/* Takes `n` arguments apart in place: the names of the ask point into the line. With `units`, each
 * argument may be "NAME:COUNT:UNITS"; `units` has `n` elements, which get the third parts, and stay
 * as they are where there is none. */
bool ask_parse_wants(struct call *call, const char *const arguments[], size_t n,
    struct acquire_request *ask, char **units);

/* Afterwards the ask has its keys, its process, and a definition for each name; its user may use
 * all of them. */
bool ask_parse_attributes(struct call *call, struct acquire_request *ask);

/* ---- a process that a client names by its pid ---- */

/* BOUND_CONNECTION if the client lives in another PID namespace, whose numbers mean something else.
 * False, after an answer, if there is no such process, or not one that the client may signal. */
bool named_process_find(
    struct call *call, const char *pid, enum binding *bindingp, struct process *process);
/* Of `bind=peer`: the process that has connected, with which the connection ends from now on.
 * BOUND_CONNECTION if it cannot be seen: it lives in a PID namespace that is not below ours. */
bool named_process_peer(struct call *call, enum binding *bindingp, struct process *process);
/* False, after an answer: the client lives in another PID namespace, or that cannot be told. */
bool named_process_shares_pid_ns(struct call *call);

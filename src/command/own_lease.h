/* own_lease.h - what requests about a living lease of the client's user have in common. */
#pragma once

#include <stdbool.h>

struct call;
struct lease;

/* The lease that the first argument names. NULL, after an answer. */
struct lease *own_lease_find(struct call *call);
/* The change must be written down before it is promised. False, after an answer. */
bool own_lease_is_written_down(struct call *call, const struct lease *lease);
/* The request has begun to wait: the job of the one that it replaces is stopped, if it says so and
 * its user may. */
void own_lease_stop_replaced(struct call *call, const struct lease *by);
/* Answers why a lease of its kind cannot be changed so. */
void own_lease_refuse_kind(struct call *call, const struct lease *lease, const char *why);

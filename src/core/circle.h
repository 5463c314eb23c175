/* circle.h - requests of jobs that hold leases, and that wait for each other for ever.
 *
 * What a job holds while it asks again (*nested*, `parent=`) comes back only after that request has
 * ended. Of the nested requests that wait, one after the other is taken for served, if it could be
 * once everybody else has given everything back. Those that are left wait for each other, and no
 * release ends that: the last of them, in the order of the queues, is denied. doc/ordering.md has
 * the rule. */
#pragma once

#include "core/core.h"

/* The first claim of the lease, which begins to wait, that its own ancestors leave no room for
 * whoever else gives something back; NULL: none. */
const struct claim *circle_of_one(struct core *core, const struct lease *lease);

/* A lease begins to wait, or no longer waits. */
void circle_enter(struct core *core, struct lease *lease);
void circle_leave(struct core *core, struct lease *lease);
/* What may complete a circle: somebody stands before others now, has come back, or has got units;
 * or a limit has changed. */
void circle_look(struct core *core);
/* A request that has to be denied, and of core_last_circle() why; NULL: there is none. */
struct lease *circle_next_victim(struct core *core);
void circle_clear(struct circle *circle);

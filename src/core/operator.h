/* operator.h - shared by operator.c and define.c. */
#ifndef BERTH_CORE_OPERATOR_H
#define BERTH_CORE_OPERATOR_H

#include "core/core.h"

/* After the rules of a resource have changed: denies waiters that can never be granted any more
 * and sorts the others anew. No grants yet: core_settle(). */
void operator_changed(
    struct core *core, struct resource *resource, nanoseconds now, struct effects *effects);

#endif

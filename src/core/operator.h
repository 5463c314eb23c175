/* operator.h - shared by operator.c and define.c. */
#pragma once

#include "core/core.h"

/* Call after a resource's rules have changed: denies waiters that can never be granted any more and
 * sorts the others again. core_settle() then grants. */
void operator_changed(
    struct core *core, struct resource *resource, nanoseconds now, struct effects *effects);

/* Forgets what the resource has been given by itself and would be so without that. */
void operator_drop_moot(struct resource *resource);

/* Ends all that operators have changed, in host scope. */
void operator_end_changes(struct core *core, struct resource *resource);

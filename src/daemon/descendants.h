/* descendants.h - what a subreaper, a wrapper of `berth run --tree`, is the ancestor of. */
#ifndef BERTH_DAEMON_DESCENDANTS_H
#define BERTH_DAEMON_DESCENDANTS_H

#include "core/types.h"

#include <stddef.h>
#include <stdint.h>

struct descendant {
    struct process process;
};

/* Those that live, of its children that were born at `since` (as process.started) or later: who has
 * executed the wrapper may have had children before. How many there were. Looks at all of /proc. */
size_t descendants_for_each(const struct process *ancestor, uint64_t since,
    void (*function)(const struct descendant *descendant, void *context), void *context);

#endif

/* descendants.h - the descendants of a subreaper, a wrapper of `berth run --tree`. */
#ifndef BERTH_JOB_DESCENDANTS_H
#define BERTH_JOB_DESCENDANTS_H

#include "core/types.h"

#include <stddef.h>
#include <stdint.h>

struct descendant {
    struct process process;
};

/* Calls `function` for living descendants, only of children born at `since` (as process.started) or
 * later: the program that executed the wrapper may have had children before. Returns how many there
 * were. Reads all of /proc. */
size_t descendants_for_each(const struct process *ancestor, uint64_t since,
    void (*function)(const struct descendant *descendant, void *context), void *context);

#endif

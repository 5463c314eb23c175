/* types.h - the few types and bounds that every part of the core shares. Time comes in as an
 * argument. */
#pragma once

#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    MAX_RESOURCES_PER_LEASE = 16,
    MAX_LIMIT = 1000000, /* units of one resource */
    MAX_FLEET_ITEMS = 5000, /* of a pool in fleet scope: its database looks at all in each call */
    MAX_UNITS = 16384, /* of one lease */
    MAX_RANGES = 224, /* of one lease's slots: a grant has to fit on a line */
    MAX_SLOTS = 10 * MAX_LIMIT, /* slots have smaller numbers */
    MAX_PRIORITY = 1000,
    SIGNAL_KILL = 9, /* these two are the same everywhere (POSIX, kill(1)) */
    SIGNAL_TERM = 15,
    MAX_SIGNAL = 64, /* of Linux */
    FIRST_FIT_WINDOW = 64, /* how far from the head first-fit looks */
};

/* A pid may later be another process: `started` is its start time, in clock ticks since boot (field
 * 22 of /proc/PID/stat). The core compares neither with anything. */
struct process {
    int32_t pid;
    uint64_t started;
};

/* For bounds that may be absent. Zero is always a real bound. */
#define UNBOUNDED UINT32_MAX

enum { MAX_DATABASES = 8 }; /* numbered from 1; 0 = host scope */

/* How an operation of the core, or a lease, ended: named results that the caller must handle.
 * Running out of memory is none of them: it ends the daemon (doc/architecture.md). */
enum outcome {
#define OUTCOME(id, code, refusal) OUTCOME_##id,
#include "core/outcomes.def"
#undef OUTCOME
    N_OUTCOMES
};

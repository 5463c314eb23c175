/* grant.h - what berthd has granted, checked against what was asked for. Pure. */
#pragma once

#include "base/clock.h"
#include "berth/options.h"
#include "client/answer.h"
#include "base/on_lost.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was granted for one resource. */
struct granted {
    bool pool; /* named items, not numbered slots */
    const char *name, *token;
    const char *units; /* comma-separated; slots may be ranges like 3-7 */
    uint32_t count;
};

/* Do not copy: it points into itself. */
struct grant {
    char lease[LEASE_ID_SIZE];
    bool is_bound_to_connection; /* berthd cannot see the process to bind it to */
    nanoseconds kill_after; /* a span; NEVER: not given */
    enum on_lost on_lost;
    size_t n;
    struct granted granted[OPTIONS_MAX_RESOURCES];
    char text[LINE_BYTES];
};

/* Parses "ok LEASE UNITS..." or "* granted LEASE UNITS...". False unless it gives exactly what was
 * asked for. */
bool grant_parse(struct grant *grant, const struct answer *answer, const struct options *options);

/* Whether two grants of the same request have the same units. Tokens may differ. */
bool grant_has_units_of(const struct grant *grant, const struct grant *other);

/* Goes through the units of what was granted: a range of slots is one number after the other. */
struct unit_walk {
    const char *unit; /* `length` bytes */
    size_t length;

    /* private */
    const char *rest; /* parts of the list that are still to come; or NULL */
    bool pool;
    uint64_t slot, slots_end; /* of a range */
    char number[24];
};

/* Do not copy what unit_walk_next() has been called with: it points into itself. */
struct unit_walk unit_walk_of(const struct granted *granted);
/* The next unit. False: there is none. */
bool unit_walk_next(struct unit_walk *walk);

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

/* Calls `function` for each unit; a range of slots becomes one number after the other. `unit` has
 * `length` bytes. False if the list is malformed. */
typedef void unit_function(void *context, const char *unit, size_t length);
bool granted_for_each_unit(const struct granted *granted, unit_function *function, void *context);

/* fleet_past.h - what has ended of late, as a database remembers it for all hosts. It is asked for
 * one page at a time: the connection is parked, then has the page's lines as a long answer, then is
 * parked again. With a limit the pages come from the newest one back, and what matches is kept
 * until the limit is reached: then it is one long answer, the oldest first. */
#pragma once

#include "fleet/session.h"
#include "status/fleet_ended.h"
#include "status/status_walk.h"

struct call;

/* Before all that a database may remember: an end before this host's boot is a negative instant. */
#define LONG_AGO (-(NEVER / 4))

/* Which entries are asked for. */
struct past_filter {
    struct asked_names asked;
    nanoseconds since, until; /* ended at or after, asked for before */
    bool has_user;
    uint32_t user;
    char key[SESSION_ID_SIZE + LEASE_ID_SIZE]; /* SESSION/LEASE; "": any */
    uint64_t limit; /* the newest so many; 0: all */
    char after[STREAM_ID_SIZE]; /* only those behind that id, with their ids; "": all */
};

/* Answers later; takes the filter's names over. */
void past_begin(struct call *call, uint8_t database, const struct past_filter *filter);

/* Which key of `history` has no good value, of those that hosts and databases take; NULL: none.
 * Fills in the filter but for its names, its lease and .after. */
const char *past_take_keys(const struct call *call, struct past_filter *filter);

/* `history database=D` (command_past.c). */
void past_history(struct call *call);

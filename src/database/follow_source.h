/* follow_source.h - what `watch` reports beyond the core's own state: databases, and leases that
 * have ended; and the same of `history`, with what operators did. */
#pragma once

#include "status/follower.h"

struct server;

/* Which leases that are over a request asks for. */
struct ended_filter {
    struct asked_names asked;
    nanoseconds since; /* only what ended after that */
    nanoseconds until; /* only what was asked for before that; NEVER: all */
    bool has_user, has_lease;
    bool has_did; /* it asks for what operators did, too */
    uint32_t user;
    uint64_t lease;
};

/* Adds the lines of those between *positionp, which goes on, and `end` in the history, some at a
 * time. False: that was all. */
bool ended_lines_write(const struct server *server, const struct ended_filter *filter,
    uint64_t *positionp, uint64_t end, const struct answer_moment *moment, struct text *out,
    size_t enough);

/* How much of the history one piece of an answer looks at. */
struct ended_budget {
    unsigned n_left; /* entries, whatever becomes of them */
    unsigned n_read_left; /* of these, those taken apart: each costs as six lines of status */
};

#define ENDED_BUDGET                                                                               \
    {                                                                                              \
        .n_left = 512, .n_read_left = 16                                                           \
    }

static inline bool ended_budget_is_left(const struct ended_budget *budget)
{
    return budget->n_left > 0 && budget->n_read_left > 0;
}

/* Moves *positionp behind the next of those before `end`. False: that is the end, unless nothing of
 * the budget is left. */
bool ended_pass(const struct server *server, const struct ended_filter *filter,
    uint64_t *positionp, uint64_t end, struct ended_budget *budget);

struct follow_source follow_source_of(struct server *server);
/* Tells followers of databases of which the lines are different by now. */
void follow_source_look(struct server *server);

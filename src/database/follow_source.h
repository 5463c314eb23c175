/* follow_source.h - what `watch` reports beyond the core's own state: databases, and leases that
 * have ended. */
#pragma once

#include "status/follower.h"

struct server;

/* Which leases that are over a request asks for; {0}: all. */
struct ended_filter {
    struct asked_names asked;
    nanoseconds since; /* only what ended after that */
    bool has_user, has_lease;
    uint32_t user;
    uint64_t lease;
};

/* Adds the `ended` lines of those between *positionp, which goes on, and `end` in the history, some
 * at a time. False: that was all. */
bool ended_lines_write(const struct server *server, const struct ended_filter *filter,
    uint64_t *positionp, uint64_t end, const struct answer_moment *moment, struct text *out,
    size_t enough);

struct follow_source follow_source_of(struct server *server);
/* Tells followers of databases of which the lines are different by now. */
void follow_source_look(struct server *server);

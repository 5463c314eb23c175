/* database_log.h - what the log says about a database of fleet scope: when it comes and goes, and
 * its graces. */
#pragma once

#include "database/down_reasons.h"
#include "fleet/session.h"
#include "redis/link.h"

/* What was said of one database, so that nothing is said twice. Begins as {.name = ...}. */
struct database_log {
    const char *name; /* must outlive the log */
    struct down_reasons down_reasons;
    bool was_in_grace, was_slow;
};

void database_log_connected(struct database_log *log, const struct link_info *info);
/* One more try has failed, so; `refused`: by what the server is or allows. */
void database_log_down(struct database_log *log, const char *why, bool refused);
void database_log_certificates(const struct database_log *log);
void database_log_notice(const struct database_log *log, const char *notice);
/* At the end of each turn: says that a grace has begun or is over, and that renewals have become
 * slow, or are no longer. */
void database_log_grace(struct database_log *log, const struct session_view *view);
void database_log_slow(struct database_log *log, const struct session_view *view);

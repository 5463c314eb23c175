/* database_line.h - the lines of databases in the answers to `status` and `hosts`, and of the hosts
 * that they have heard from. Pure. */
#pragma once

#include "base/text.h"
#include "fleet/link_info.h"
#include "fleet/session.h"
#include "status/database_load.h"

const char *database_state_word(enum session_state state);
/* `info` is NULL if the database was never connected; `load` if it was not asked. */
void database_line_write(struct text *out, const struct database *database,
    const struct session_view *view, const struct latency_view *latency,
    const struct link_info *info, const struct load_view *load);

/* Sets `host` to the name of the host whose session `key` (SESSION/LEASE) names; "" if those rows
 * do not have it. */
void session_host(
    char host[static REASON_BYTES + 1], const struct fleet_rows *rows, const char *key);

/* The hosts, by name, and those that are gone, from the rows that the script `snapshot` gives.
 * `ttl` is the database's, in milliseconds; it said this at `listed_at`. */
void host_lines_write(struct text *out, const struct fleet_rows *rows, const char *database,
    const char *own_session, uint64_t ttl, nanoseconds listed_at);

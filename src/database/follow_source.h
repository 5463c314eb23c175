/* follow_source.h - what `watch` reports beyond the core's own state: databases, and leases that
 * have ended. */
#pragma once

#include "status/follower.h"

struct server;

struct follow_source follow_source_of(struct server *server);
/* Tells followers of databases of which the lines are different by now. */
void follow_source_look(struct server *server);

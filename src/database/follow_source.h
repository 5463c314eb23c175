/* follow_source.h - what followers are told besides what the core knows: databases, and leases that
 * are over. */
#ifndef BERTH_DATABASE_FOLLOW_SOURCE_H
#define BERTH_DATABASE_FOLLOW_SOURCE_H

#include "status/follower.h"

struct server;

struct follow_source follow_source_of(struct server *server);
/* Tells followers of databases of which the lines are different by now. */
void follow_source_look(struct server *server);

#endif

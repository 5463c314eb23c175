/* fleet_load.h - how busy a database is: from each view of all hosts that anybody asks for. */
#ifndef BERTH_DAEMON_FLEET_LOAD_H
#define BERTH_DAEMON_FLEET_LOAD_H

#include "status/database_load.h"
#include "status/fleet_view.h"

struct server;

/* Keeps what the view says, for the next one. Its rows must be there. */
struct load_view fleet_load_take(struct server *server, uint8_t database, const struct view *view);

#endif

#include "daemon/fleet_load.h"

#include "daemon/fleet_sessions.h"
#include "daemon/server.h"

struct load_view fleet_load_take(struct server *server, uint8_t database, const struct view *view)
{
    struct database_load *load = &server->loads[database - 1];
    struct session_view session;
    struct load_sample sample;
    fleet_look(server->fleet, database, &session);
    if (!load_read(view->rows, view->made_at, &sample)) {
        return (struct load_view){0}; /* it does not say, or no longer */
    }
    load_note(load, &sample);
    return load_view(load, session.call_rate);
}

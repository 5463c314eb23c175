/* deadlines.c - a database was reached: all who hold something of it are told how long that is good
 * for. */
#include "core/fleet.h"
#include "core/memory.h"
#include "daemon/answer.h"
#include "daemon/server.h"

static void tell_deadline(struct lease *lease, void *context)
{
    (void)context;
    if (!lease_is_away(lease)) {
        struct conn *conn = container_of(lease->client, struct conn, client);
        answer_deadline(conn_events(conn), lease);
    }
}

void answer_deadlines_of(struct server *server, uint8_t database)
{
    core_fleet_for_each_holder(server->core, database, tell_deadline, NULL);
}

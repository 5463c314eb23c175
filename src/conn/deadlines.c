#include "conn/deadlines.h"

#include "admission/server.h"
#include "base/memory.h"
#include "conn/conn.h"
#include "core/fleet.h"
#include "status/answer_lines.h"

static void send_deadline(struct lease *lease, void *context)
{
    (void)context;
    if (!lease_is_detached(lease)) {
        struct conn *conn = container_of(lease->client, struct conn, client);
        lease->is_unread = conn_grant_is_unread(lease); /* else this line might be meant */
        answer_deadline(conn_events(conn), lease, conn->server->clock_offset);
    }
}

void deadlines_send(struct core *core, uint8_t database)
{
    core_fleet_for_each_holder(core, database, send_deadline, NULL);
}

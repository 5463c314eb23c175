/* command_hosts.c - `hosts`: asks one database after the other which hosts it has heard from. */
#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "command/asking.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "database/fleet_sessions.h"
#include "status/database_line.h"

#include <stdlib.h>

static size_t names_to_ask_for(
    const struct asking *asking, uint8_t database, const char *names[MAX_ARGUMENTS])
{
    (void)asking, (void)database, (void)names;
    return 0; /* everything: no resource has the hosts */
}

static void command_hosts_add_database(
    struct text *out, struct server *server, uint8_t number, const struct view *hosts)
{
    if (!hosts) {
        fleet_write_line(server->fleet, number, NULL, out);
        return;
    }
    const struct load_view load = views_load(server->views, number, hosts);
    const struct session_view session = fleet_look(server->fleet, number);
    fleet_write_line(server->fleet, number, &load, out);
    host_lines_write(out, hosts->rows, fleet_name_of(&server->databases, number),
        fleet_session_id(server->fleet, number), milliseconds(session.ttl), hosts->made_at);
}

static bool command_hosts_answer(struct conn *conn, struct asking *asking)
{
    struct text *out = conn_answers(conn);
    text_add_format(out, "ok now=%lld\n", (long long)instant_of(clock_now()).at);
    for (uint8_t i = 1; i <= conn->server->databases.n; i++) {
        command_hosts_add_database(out, conn->server, i, asking->parts[i].view);
    }
    text_add(out, "end\n");
    return true;
}

void command_hosts(struct call *call)
{
    static const struct asking_kind kind = {
        .names = names_to_ask_for, .answer = command_hosts_answer};
    struct asking *asking = memory_new(sizeof *asking);
    asking->kind = &kind;
    asking_begin(call, asking);
}

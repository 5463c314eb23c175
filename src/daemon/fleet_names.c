#include "daemon/fleet_names.h"

#include "daemon/fleet_sessions.h"
#include "status/answer_lines.h"
#include "status/fleet_why.h"

#include <stdio.h>
#include <string.h>

const char *fleet_name_of(const struct server *server, uint8_t database)
{
    return database == 0 ? NULL : fleet_database(server, database)->name;
}

uint8_t fleet_find(const struct server *server, const char *name)
{
    for (size_t i = fleet_n_databases(server); i > 0; i--) {
        if (strcmp(fleet_database(server, (uint8_t)i)->name, name) == 0) {
            return (uint8_t)i;
        }
    }
    return 0;
}

void fleet_why(char *out, size_t size, const struct server *server, uint8_t database,
    const char *name, enum outcome why)
{
    struct session_view view;
    fleet_look(server, database, &view);
    fleet_why_of(out, size, fleet_database(server, database), view.why, name, why);
}

#include "record/fleet_names.h"

#include "conf/redis_url.h"

#include <string.h>

const struct database *fleet_database(const struct fleet_names *names, uint8_t database)
{
    return &names->databases[database - 1];
}

const char *fleet_name_of(const struct fleet_names *names, uint8_t database)
{
    return database == 0 ? NULL : fleet_database(names, database)->name;
}

uint8_t fleet_find(const struct fleet_names *names, const char *name)
{
    for (size_t i = names->n; i > 0; i--) {
        if (strcmp(names->databases[i - 1].name, name) == 0) {
            return (uint8_t)i;
        }
    }
    return 0;
}

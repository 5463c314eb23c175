#include "daemon/log_subject.h"

#include "core/resource.h"
#include "daemon/fleet_names.h"

#include <stdio.h>
#include <string.h>

static void add_names(struct log_about *about, const char *names)
{
    size_t length = strlen(about->resources);
    size_t room = sizeof about->resources - length;
    if (strlen(names) + 2 <= room) {
        snprintf(about->resources + length, room, "%s%s", length > 0 ? " " : "", names);
    }
}

void log_subject_resource(struct log_about *about, const char *name)
{
    if (name && name_is_valid(name)) {
        add_names(about, name);
    }
}

void log_subject_lease(
    struct log_about *about, const struct fleet_names *databases, const struct lease *lease)
{
    lease_id_format(about->lease, lease->id);
    about->holder = (struct log_process){.uid = lease->uid, .pid = lease->pid};
    about->identity = lease->terms.holder;
    about->program = lease->terms.program;
    about->database = fleet_name_of(databases, lease->database);
    if (lease->state == LEASE_ENDED) {
        add_names(about, lease->names);
        return;
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        add_names(about, lease->claims[i].resource->name);
    }
}

void log_subject_remembered(struct log_about *about, const struct remembered *remembered)
{
    lease_id_format(about->lease, remembered->id);
    about->holder = (struct log_process){.uid = remembered->uid, .pid = remembered->pid};
    about->identity = remembered->terms.holder;
    about->program = remembered->terms.program;
    for (size_t i = 0; i < remembered->n_claims; i++) {
        log_subject_resource(about, remembered->claims[i].name);
    }
}

const char *log_subject_what(char *out, size_t size, const struct log_about *about)
{
    size_t first = strcspn(about->resources, " "), more = 0;
    for (const char *c = about->resources + first; *c; c++) {
        more += *c == ' ';
    }
    if (more > 0) {
        snprintf(out, size, "%.*s and %zu more", (int)first, about->resources, more);
    } else {
        snprintf(out, size, "%.*s", (int)first, about->resources);
    }
    return out;
}

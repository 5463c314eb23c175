#include "record/log_subject.h"

#include "core/resource.h"
#include "record/fleet_names.h"

#include <stdio.h>
#include <string.h>

static void add_names(struct log_subject *subject, const char *names)
{
    size_t length = strlen(subject->resources);
    size_t room = sizeof subject->resources - length;
    if (strlen(names) + 2 <= room) {
        snprintf(subject->resources + length, room, "%s%s", length > 0 ? " " : "", names);
    }
}

void log_subject_resource(struct log_subject *subject, const char *name)
{
    if (name && name_is_valid(name)) {
        add_names(subject, name);
    }
}

void log_subject_lease(
    struct log_subject *subject, const struct fleet_names *databases, const struct lease *lease)
{
    lease_id_format(subject->lease, lease->id);
    subject->holder = log_process_of(lease->uid, lease->pid);
    subject->identity = lease->attributes.holder;
    subject->program = lease->attributes.program;
    subject->database = fleet_name_of(databases, lease->database);
    if (lease->state == LEASE_ENDED) {
        add_names(subject, lease_names(lease));
        return;
    }
    for (size_t i = 0; i < lease_n_named(lease); i++) {
        add_names(subject, lease_asked(lease, i)->resource->name);
    }
}

void log_subject_saved_lease(struct log_subject *subject, const struct saved_lease *saved)
{
    lease_id_format(subject->lease, saved->id);
    subject->holder = log_process_of(saved->uid, saved->pid);
    subject->identity = saved->attributes.holder;
    subject->program = saved->attributes.program;
    for (size_t i = 0; i < saved->n_claims && !saved->claims[i].is_level; i++) {
        log_subject_resource(subject, saved->claims[i].name);
    }
}

struct log_asker log_subject_asker(const struct log_process *asker)
{
    struct log_asker out;
    int n = snprintf(out.text, sizeof out.text, "uid %u", asker->by.uid);
    if (asker->by.has_login && asker->by.login != asker->by.uid) {
        n += snprintf(
            out.text + n, sizeof out.text - (size_t)n, " (login uid %u)", asker->by.login);
    }
    if (asker->pid != 0) {
        snprintf(out.text + n, sizeof out.text - (size_t)n, ", pid %d", (int)asker->pid);
    }
    return out;
}

struct log_what log_subject_what(const struct log_subject *subject)
{
    struct log_what out;
    size_t first = strcspn(subject->resources, " "), more = 0;
    for (const char *c = subject->resources + first; *c; c++) {
        more += *c == ' ';
    }
    int n = snprintf(out.text, sizeof out.text, "%.*s", (int)first, subject->resources);
    if (more > 0) {
        snprintf(out.text + n, sizeof out.text - (size_t)n, " and %zu more", more);
    }
    return out;
}

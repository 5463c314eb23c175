/* log_subject.h - makes the subject of a log message from what the daemon has: leases, clients,
 * names. Each function adds to *subject, which begins as {0} or with an event. */
#pragma once

#include "base/actor.h"
#include "core/lease.h"
#include "core/saved_lease.h"
#include "log/log.h"

struct fleet_names;

/* Also for a lease that has ended, until effects_clear(). */
void log_subject_lease(
    struct log_subject *subject, const struct fleet_names *databases, const struct lease *lease);
void log_subject_saved_lease(struct log_subject *subject, const struct saved_lease *saved);
/* Left out if it is not the name of a resource: a client may say anything. */
void log_subject_resource(struct log_subject *subject, const char *name);

/* "uid 0 (login uid 1000), pid 7": who asks, for the message itself. */
struct log_asker {
    char text[64];
};
struct log_asker log_subject_asker(const struct log_process *asker);

/* "deploy", "deploy and 2 more": the lease's resources, for the message itself. */
struct log_what {
    char text[NAME_BYTES + 32];
};
struct log_what log_subject_what(const struct log_subject *subject);

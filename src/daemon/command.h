/* command.h - one line of a client -> one answer. The rows are wire/commands.def's; the function
 * behind the row `x` is command_x(). */
#ifndef BERTH_DAEMON_COMMAND_H
#define BERTH_DAEMON_COMMAND_H

#include "core/core.h"
#include "daemon/conn.h"
#include "wire/protocol.h"

struct call {
    struct conn *conn;
    struct server *server;
    const struct request *request;
    const char *line; /* the request, as it was sent */
    nanoseconds now;
    struct text *out; /* where the answer goes */
    bool is_logged_later; /* by who answers it later */
};

/* `line` is taken apart in place. */
void command_run(struct conn *conn, char *line, size_t length);
void command_refuse_too_long(struct conn *conn);

/* RIGHT_RESOURCE_ADMIN (of the first argument) and RIGHT_DAEMON_ADMIN are checked before the
 * function is called. RIGHT_USE and RIGHT_OWNER depend on what the function finds: it asks these,
 * which answer with an error if the right is missing. */
bool call_may_use(struct call *call, const struct definition *definition, const char *name);
bool call_owns(struct call *call, const struct lease *lease);
/* As call_owns(), of a lease of another host: it is `uid`'s, of that resource. */
bool call_owns_of(
    struct call *call, uint32_t uid, const struct definition *definition, const char *name);
bool call_administers_daemon(struct call *call);
/* Whether an admin of each of its resources, whoever's it is; without an answer. */
bool call_administers(struct call *call, const struct lease *lease);

void call_ok(struct call *call);
void call_refuse(struct call *call, enum code code, const char *about);

/* A resource name or an item as it must be written, or else an error. */
bool call_check_name(struct call *call, const char *name);
bool call_check_item(struct call *call, const char *item);

#define COMMAND(word, fewest, most, keys, right, help) void command_##word(struct call *call);
#include "wire/commands.def"
#undef COMMAND

#endif

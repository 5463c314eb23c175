/* command_call.h - one request that is being carried out: who asks, for what, and where the answer goes. The
 * rows are wire/commands.def's; the function behind the row `x` is command_x(). */
#ifndef BERTH_DAEMON_COMMAND_CALL_H
#define BERTH_DAEMON_COMMAND_CALL_H

#include "base/text.h"
#include "core/core.h"
#include "daemon/asker.h"
#include "log/log.h"
#include "wire/protocol.h"

struct conn;
struct request_log;
struct server;

struct call {
    struct conn *conn;
    struct server *server;
    const struct request *request;
    const char *line; /* the request, as it was sent */
    nanoseconds now;
    struct text *out; /* where the answer goes */
    bool is_logged_later; /* by who answers it later */
};

/* As the log names who asks; and as rights.h knows them: until asker_deinit(). */
struct log_process call_asker(const struct call *call);
void call_init_asker(struct call *call, struct asker *asker);
/* What the log will say of the request; NULL: nothing. */
struct request_log *call_log(const struct call *call);

/* RIGHT_RESOURCE_ADMIN (of the first argument) and RIGHT_DAEMON_ADMIN are checked before the
 * function is called. RIGHT_USE and RIGHT_OWNER depend on what the function finds: it asks these,
 * which, but for call_may(), answer with an error if the right is missing. */
bool call_may(struct call *call, rights_function *may, const struct rights *rights);
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
/* There is no such resource: of those that the asker has that right to, the nearest is suggested. NULL: to
 * look at, as everybody may at all. */
void call_refuse_unknown(struct call *call, const char *name, rights_function *may);
/* The resource has no such item, or slot. */
void call_refuse_unknown_item(struct call *call, const char *name, const char *item);

/* A resource name or an item as it must be written, or else an error. */
bool call_check_name(struct call *call, const char *name);
bool call_check_item(struct call *call, const char *item);

#define COMMAND(word, fewest, most, keys, right, help) void command_##word(struct call *call);
#include "wire/commands.def"
#undef COMMAND

#endif

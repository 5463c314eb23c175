/* command_call.h - one request being carried out: who asks, for what, and where the answer goes. A
 * row `x` of wire/commands.def is carried out by command_x(). */
#pragma once

#include "admission/asker.h"
#include "base/actor.h"
#include "base/text.h"
#include "core/core.h"
#include "log/log.h"
#include "wire/protocol.h"

struct conn;
struct lease;
struct request_log;
struct server;

struct call {
    struct conn *conn;
    struct server *server;
    const struct request *request;
    const char *line; /* the request, as it was sent */
    nanoseconds now;
    struct text *out; /* the answer goes here */
    const char *was, *is; /* what the request changes, before and after; or NULL */
    char was_room[16], is_room[16]; /* for numbers */
    bool is_logged_later; /* by the function that answers it later */
};

/* The user who asks: for the log; and for rights.h, until asker_deinit(). */
struct log_process call_asker(const struct call *call);
/* The same with the login uid, which shows who has used sudo. The log has it for requests that
 * change something. */
struct log_process call_operator(const struct call *call);
/* The same, as others may know it. */
struct actor call_actor(const struct call *call);
void call_init_asker(struct call *call, struct asker *asker);
/* Whether the user's name is still being looked up: then the request is held back, and carried out
 * again when that has ended, or after 4 s. The function has done nothing yet, and just returns. */
bool call_awaits_name(struct call *call, uint32_t uid);
static inline bool call_is_operators(const struct call *call)
{
    enum right right = command_table[call->request->command].right;
    return right == RIGHT_RESOURCE_ADMIN || right == RIGHT_DAEMON_ADMIN;
}

/* What will be said about the request, which a database carries out (0: its definition's, if any);
 * NULL: nothing. */
struct request_log *call_log(const struct call *call, uint8_t database);
/* The history gets an entry of what it has done to that lease of this host; `new` as in ended.h. */
void call_record_did(const struct call *call, const struct lease *lease, const char *new);

/* RIGHT_RESOURCE_ADMIN (for the first argument), RIGHT_DAEMON_ADMIN and RIGHT_HISTORY are checked
 * before the function is called. RIGHT_USE, RIGHT_OWNER and RIGHT_LEASE_ADMIN depend on what the
 * function finds: it calls these, which, except call_may(), answer with an error if the right is
 * missing. */
bool call_may(struct call *call, rights_function *may, const struct rights *rights);
bool call_may_use(struct call *call, const struct definition *definition, const char *name);
bool call_may_administer(
    struct call *call, const struct definition *definition, const char *name);
bool call_owns(struct call *call, const struct lease *lease);
/* As call_owns(), for another host's lease, which belongs to `uid` and is on that resource. */
bool call_owns_of(
    struct call *call, uint32_t uid, const struct definition *definition, const char *name);
bool call_administers_daemon(struct call *call);
/* RIGHT_HISTORY. False: an error is the answer, or the request is held back for the user's name. */
bool call_keeps_history(struct call *call);
/* Whether the user administers each resource of the lease, whoever owns it; gives no answer. */
bool call_administers(struct call *call, const struct lease *lease);

void call_ok(struct call *call);
void call_refuse(struct call *call, enum code code, const char *subject);
/* Answers that no lease has that id. */
void call_refuse_unknown_lease(struct call *call);
/* Answers that there is no such resource, and suggests the nearest to which the user has that
 * right. NULL: to look at, as everybody may. */
void call_refuse_unknown(struct call *call, const char *name, rights_function *may);
/* Answers that the resource has no such item or slot. */
void call_refuse_unknown_item(struct call *call, const char *name, const char *item);

/* Checks the form of a resource name or an item; answers with an error if it is wrong. */
bool call_check_name(struct call *call, const char *name);
/* Whether there is a resource of that name, or a definition; else answers with an error
 * (call_refuse_unknown()). */
bool call_check_resource(struct call *call, const char *name, rights_function *may);
/* Whether each argument is a pattern, or names a resource that exists; else answers with an
 * error. */
bool call_check_asked_names(struct call *call);
bool call_check_item(struct call *call, const char *item);
/* The lease that the key `lease` names; NULL, after an answer: there is none. */
struct lease *call_find_lease(struct call *call, const char *id);

#define COMMAND(word, min, max, keys, right, help) void command_##word(struct call *call);
#include "wire/commands.def"
#undef COMMAND

/* command.c: one line of a client -> one answer. Modifies `line`. False: the request would only be
 * answered, which is not possible any more, so it is skipped and not charged. */
bool command_run(struct conn *conn, char *line, size_t length);

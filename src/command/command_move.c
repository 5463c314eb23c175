/* command_move.c - the request by which operators move a waiting request. */
#include "admission/server.h"
#include "command/remote.h"
#include "conn/command_call.h"
#include "conn/disk_wait.h"
#include "record/lease_log.h"
#include "record/ledger.h"
#include "status/answer_lines.h"

#include <string.h>

static bool may_move(struct call *call, const struct lease *lease)
{
    bool may = true;
    for (size_t i = 0; may && i < lease_n_all(lease); i++) {
        const struct resource *resource = lease->claims[i].resource;
        may = call_may_administer(call, resource->definition, resource->name);
    }
    return may;
}

static void log_taken(const struct call *call, const struct lease *lease, const char *event)
{
    lease_log_taken(&call->server->databases, lease, call_operator(call), COMMAND_move, event,
        call->request->keys[KEY_INDEX_reason]);
}

/* In host scope. The place must be written down before it is promised. */
static void move_here(struct call *call, struct lease *lease)
{
    struct server *server = call->server;
    bool is_first = strcmp(call->request->arguments[1], "first") == 0, has_numbers;
    if (!disk_wait_has_numbers(call, &has_numbers)) {
        return;
    }
    if (has_numbers) {
        log_taken(call, lease, "moved");
        core_move(server->core, lease, is_first, call->now, &server->effects);
        ledger_commit(&server->ledger);
    }
    if (has_numbers && !lease->is_unwritten) {
        call_record_did(call, lease, call->request->arguments[1]);
        call_ok(call);
    } else {
        call_refuse(call, CODE_NO_SPACE, NULL);
    }
}

static void move_lease(struct call *call, struct lease *lease)
{
    if (!may_move(call, lease)) {
        return;
    }
    if (lease->state == LEASE_HELD) {
        answer_held(call->out, call->request->arguments[0]);
        return;
    }
    if (lease->is_opaque) {
        answer_error_saying(call->out, CODE_KIND,
            "a newer version of berthd has made it; this version can only end it");
        return;
    }
    if (lease->database != 0) {
        log_taken(call, lease, "move"); /* whether its database moves it is not known yet */
        remote_move_own(call, lease);
    } else {
        move_here(call, lease);
    }
}

void command_move(struct call *call)
{
    const char *word = call->request->arguments[0], *where = call->request->arguments[1];
    uint64_t id;
    if (strcmp(where, "first") != 0 && strcmp(where, "last") != 0) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "first or last, not %.32s", where);
    } else if (!remote_parse_own(call->server, word, &id)) {
        remote_take(call);
    } else {
        struct lease *lease = core_find_lease(call->server->core, id);
        if (lease) {
            move_lease(call, lease);
        } else {
            call_refuse_unknown_lease(call);
        }
    }
}

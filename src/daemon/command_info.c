/* command_info.c - requests that only look: hello, ping, version, status. */
#include "config.h"

#include "core/memory.h"
#include "daemon/answer.h"
#include "daemon/command.h"
#include "daemon/describe.h"
#include "daemon/server.h"
#include "daemon/snapshot.h"
#include "wire/text.h"

#include <stdlib.h>
#include <unistd.h>

void command_hello(struct call *call)
{
    const char *proto = call->request->keys[KEY_INDEX_proto];
    const char *program = call->request->keys[KEY_INDEX_program];
    uint64_t version;
    if (proto && (!number_parse(proto, UINT32_MAX, &version) || version != PROTOCOL_VERSION)) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "this daemon speaks proto=1");
        return;
    }
    if (program) {
        free(call->conn->program);
        call->conn->program = memory_string(program);
    }
    text_add(call->out, "ok");
    text_add_number_key(call->out, "proto", PROTOCOL_VERSION);
    text_add_key(call->out, "version", PACKAGE_VERSION);
    text_add_number_key(call->out, "pid", (uint64_t)getpid());
    text_add(call->out, "\n");
}

void command_ping(struct call *call)
{
    call_ok(call);
}

void command_version(struct call *call)
{
    text_add(call->out, "ok");
    text_add_key(call->out, "version", PACKAGE_VERSION);
    text_add_number_key(call->out, "proto", PROTOCOL_VERSION);
    text_add_number_key(call->out, "pid", (uint64_t)getpid());
    text_add_number_key(
        call->out, "uptime", (uint64_t)(call->now - call->server->started_at) / 1000000);
    text_add(call->out, "\n");
}

/* ---- status ---- */

enum { FEW_HOLDERS = 8 };

static void add_head(struct call *call)
{
    const struct core *core = call->server->core;
    text_add(call->out, "ok");
    text_add_number_key(call->out, "draining", core_is_draining(core));
    text_add_number_key(call->out, "held", core_n_held(core));
    text_add_number_key(call->out, "waiting", core_n_waiting(core));
    nanoseconds grace = core_grace_until(core);
    if (grace != NEVER) {
        text_add_number_key(
            call->out, "grace", (uint64_t)(grace > call->now ? grace - call->now : 0) / 1000000);
    }
    text_add(call->out, "\n");
}

/* As seen by the lease: no other waiters, and few of the holders. */
static void add_resource_of(struct call *call, const struct claim *own)
{
    const struct claim *claim;
    int n = 0;
    describe_resource(call->out, own->resource);
    TAILQ_FOREACH (claim, &own->resource->holders, link) {
        if (n++ == FEW_HOLDERS) {
            break;
        }
        describe_holder(call->out, claim, call->now);
    }
    if (own->lease->state == LEASE_WAITING) {
        describe_waiter(call->out, own, claim_position(own), call->now);
    }
}

static void status_of_lease(struct call *call, const char *text)
{
    uint64_t id;
    if (!lease_id_parse(text, &id)) {
        call_refuse(call, CODE_BAD_VALUE, "lease");
        return;
    }
    const struct lease *lease = core_find_lease(call->server->core, id);
    if (!lease) {
        call_refuse(call, CODE_UNKNOWN, "lease");
        return;
    }
    add_head(call);
    for (size_t i = 0; i < lease->n_claims; i++) {
        add_resource_of(call, &lease->claims[i]);
    }
    text_add(call->out, "end\n");
}

static bool are_known(struct call *call)
{
    struct core *core = call->server->core;
    const struct request *request = call->request;
    for (size_t i = 0; i < request->n_arguments; i++) {
        const char *name = request->arguments[i];
        if (!call_check_name(call, name)) {
            return false;
        }
        if (!core_find_resource(core, name) && !core_find_definition(core, name)) {
            call_refuse(call, CODE_UNKNOWN, name);
            return false;
        }
    }
    return true;
}

void command_status(struct call *call)
{
    const struct request *request = call->request;
    const char *lease = request->keys[KEY_INDEX_lease];
    struct core *core = call->server->core;
    if (lease && request->n_arguments > 0) {
        call_refuse(call, CODE_MALFORMED, "names and a lease");
    } else if (lease) {
        status_of_lease(call, lease);
    } else if (are_known(call)) {
        add_head(call);
        call->conn->snapshot = request->n_arguments == 0
            ? snapshot_new(core)
            : snapshot_new_of(core, request->arguments, request->n_arguments);
        /* goes on in conn_flush() */
    }
}

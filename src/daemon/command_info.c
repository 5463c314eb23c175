/* command_info.c - requests that only look: hello, ping, version, status. */
#include "config.h"

#include "core/memory.h"
#include "daemon/answer.h"
#include "daemon/command.h"
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
    snapshot_add_head(call->out, call->server->core);
    for (size_t i = 0; i < lease->n_claims; i++) {
        snapshot_add_resource_for(call->out, lease->claims[i].resource, lease, call->now);
    }
    snapshot_add_end(call->out);
}

/* Looking at an instance that nobody uses does not make it. */
static void add_idle_instance(struct text *out, const char *name, const struct definition *definition)
{
    struct resource *idle = resource_new(name, definition);
    idle->is_instance = true;
    snapshot_add_resource(out, idle, 0);
    resource_free(idle);
}

static void status_of_names(struct call *call)
{
    struct core *core = call->server->core;
    const struct request *request = call->request;
    for (size_t i = 0; i < request->n_arguments; i++) {
        const char *name = request->arguments[i];
        if (!call_check_name(call, name)) {
            return;
        }
        if (!core_find_resource(core, name) && !core_find_definition(core, name)) {
            call_refuse(call, CODE_UNKNOWN, name);
            return;
        }
    }
    snapshot_add_head(call->out, core);
    for (size_t i = 0; i < request->n_arguments; i++) {
        const char *name = request->arguments[i];
        struct resource *resource = core_find_resource(core, name);
        if (resource) {
            snapshot_add_resource(call->out, resource, call->now);
        } else {
            add_idle_instance(call->out, name, core_find_definition(core, name));
        }
    }
    snapshot_add_end(call->out);
}

void command_status(struct call *call)
{
    const char *lease = call->request->keys[KEY_INDEX_lease];
    if (lease && call->request->n_arguments > 0) {
        call_refuse(call, CODE_MALFORMED, "names and a lease");
    } else if (lease) {
        status_of_lease(call, lease);
    } else if (call->request->n_arguments > 0) {
        status_of_names(call);
    } else {
        snapshot_add_head(call->out, call->server->core);
        call->conn->snapshot = snapshot_new(call->server->core); /* goes on in conn_flush() */
    }
}

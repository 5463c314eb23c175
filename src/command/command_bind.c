/* command_bind.c - moves a lease to another process: bind. */
#include "admission/server.h"
#include "command/ask_words.h"
#include "command/own_lease.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "job/job.h"
#include "journal/proof.h"
#include "status/answer_lines.h"

static bool program_may_take(struct call *call, const struct lease *lease)
{
    for (size_t i = 0; i < lease_n_all(lease); i++) {
        const struct resource *resource = lease->claims[i].resource;
        if (resource->definition->refuses_programs) {
            call_refuse(call, CODE_JOBS_ONLY, resource->name);
            return false;
        }
    }
    return true;
}

void command_bind(struct call *call)
{
    struct server *server = call->server;
    const char *pid = call->request->keys[KEY_INDEX_pid];
    const char *bind = call->request->keys[KEY_INDEX_bind];
    enum binding binding;
    struct process process;
    if (!pid == !bind) {
        call_refuse(call, CODE_MALFORMED, pid ? "pid and bind" : "no pid");
        return;
    }
    struct lease *lease = own_lease_find(call);
    if (!lease ||
        !(bind ? program_may_take(call, lease) && named_process_peer(call, &binding, &process)
               : named_process_find(call, pid, &binding, &process))) {
        return;
    }
    enum outcome outcome = bind
        ? core_bind_program(server->core, &call->conn->client, lease, binding, &process, call->now,
              &server->effects)
        : lease_bind(lease, &call->conn->client, binding, &process, &server->effects);
    if (outcome == OUTCOME_LOST) {
        answer_error_saying(call->out, CODE_LOST, "it is being stopped");
        return;
    }
    if (outcome != OUTCOME_OK) {
        own_lease_refuse_kind(
            call, lease, "the lease waits, is bound to time, or is not yours alone");
        return;
    }
    job_forget(lease); /* the old one; a new watch is an effect */
    if (own_lease_is_written_down(call, lease)) {
        text_add(call->out, "ok");
        bool is_said = binding == BOUND_CONNECTION || bind;
        text_add_key(call->out, "bound", is_said ? lease_bound_word(lease) : NULL);
        text_add(call->out, " proof=");
        proof_write(call->out, call->server->state.secret, lease);
        text_add(call->out, "\n");
    }
}

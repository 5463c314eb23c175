#include "command/own_lease.h"

#include "admission/server.h"
#include "command/remote.h"
#include "conn/command_call.h"
#include "record/ledger.h"
#include "status/answer_lines.h"

struct lease *own_lease_find(struct call *call)
{
    uint64_t id;
    const char *word = call->request->arguments[0];
    if (!remote_parse_own(call->server, word, &id)) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "not a lease");
        return NULL;
    }
    struct lease *lease = core_find_lease(call->server->core, id);
    if (!lease) {
        call_refuse_unknown_lease(call);
        return NULL;
    }
    return call_owns(call, lease) ? lease : NULL;
}

bool own_lease_is_written_down(struct call *call, const struct lease *lease)
{
    ledger_commit(&call->server->ledger);
    if (lease->is_unwritten) {
        call_refuse(call, CODE_NO_SPACE, NULL);
        return false;
    }
    return true;
}

void own_lease_refuse_kind(struct call *call, const struct lease *lease, const char *why)
{
    answer_error_saying(call->out, CODE_KIND, "%s",
        lease->is_opaque
            ? "it was granted by a newer version of berthd; this version can only end it"
            : why);
}

#include "command/named_process.h"

#include "base/words.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "job/process.h"
#include "status/answer_lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Out of a resource that has nothing to do with the process. */
static bool could_not_look(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

static enum conn_pids conn_look_at_pids(struct conn *conn)
{
    if (conn->pids == PIDS_NOT_KNOWN) {
        errno = 0;
        bool shares = process_shares_our_namespace(conn->pid);
        conn->pids = shares ? PIDS_OURS : could_not_look(errno) ? PIDS_NOT_KNOWN : PIDS_OTHERS;
    }
    return conn->pids;
}

/* A client that names itself is looked up only once: if its pid should be another process by now,
 * the start time shows that. */
static enum process_check identify(struct conn *conn, pid_t pid, struct process *process)
{
    uint32_t uid = conn->client.uid;
    if (pid == conn->pid && conn->started != 0) {
        *process = (struct process){.pid = pid, .started = conn->started};
        return PROCESS_OK;
    }
    if (pid == getpid()) {
        return PROCESS_NOT_YOURS; /* it would stop us */
    }
    struct process_place place;
    enum process_check check = process_identify(pid, uid, uid == 0, process, &place);
    if (check == PROCESS_OK && pid == conn->pid) {
        conn->started = process->started;
    }
    bool shows_client = conn->pid > 0 && (pid == conn->pid || place.parent == conn->pid);
    if (place.is_here && shows_client) {
        conn->pids = PIDS_OURS; /* as berth run is the parent of its job: no second look at /proc */
    }
    return check;
}

bool named_process_shares_pid_ns(struct call *call)
{
    enum conn_pids pids = conn_look_at_pids(call->conn);
    if (pids == PIDS_NOT_KNOWN) {
        answer_error_saying(call->out, CODE_NO_MEMORY, "%s", strerror(errno));
    } else if (pids == PIDS_OTHERS) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "pid: of another PID namespace");
    }
    return pids == PIDS_OURS;
}

bool named_process_find(
    struct call *call, const char *pid, enum binding *bindingp, struct process *process)
{
    uint64_t number;
    *bindingp = BOUND_CONNECTION;
    *process = (struct process){.pid = call->conn->pid};
    if (!number_parse(pid, INT32_MAX, &number) || number == 0) {
        call_refuse(call, CODE_BAD_VALUE, "pid");
        return false;
    }
    enum process_check check = PROCESS_NONE;
    struct process found;
    if (call->conn->pids != PIDS_OTHERS) {
        check = identify(call->conn, (pid_t)number, &found);
    }
    int error = errno;
    enum conn_pids pids = conn_look_at_pids(call->conn);
    if (pids == PIDS_NOT_KNOWN) {
        answer_error_saying(call->out, CODE_NO_MEMORY, "%s", strerror(errno));
        return false;
    }
    if (pids == PIDS_OTHERS) {
        return true;
    }
    switch (check) {
    case PROCESS_OK:
        *bindingp = BOUND_PROCESS;
        *process = found;
        return true;
    case PROCESS_NONE:
        answer_error_saying(call->out, could_not_look(error) ? CODE_NO_MEMORY : CODE_BAD_VALUE,
            "%s", could_not_look(error) ? strerror(error) : "pid: no such process");
        return false;
    case PROCESS_NOT_YOURS:
        break;
    }
    answer_error_saying(call->out, CODE_FORBIDDEN, "pid: not your process");
    return false;
}

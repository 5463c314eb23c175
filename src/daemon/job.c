#include "daemon/job.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "daemon/conn.h"
#include "daemon/lease_log.h"
#include "daemon/process.h"
#include "daemon/server.h"
#include "daemon/watch.h"
#include "status/answer_lines.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* ---- who it is ---- */

/* For want of something that has nothing to do with the process. */
static bool could_not_look(void)
{
    return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
}

static enum conn_pids conn_look_at_pids(struct conn *conn)
{
    if (conn->pids == PIDS_NOT_KNOWN) {
        errno = 0;
        bool shares = process_shares_our_namespace(conn->pid);
        conn->pids = shares ? PIDS_OURS : could_not_look() ? PIDS_NOT_KNOWN : PIDS_OTHERS;
    }
    return conn->pids;
}

/* A client that names itself need be looked at but once: should its pid be another process by now,
 * the start says so. */
static enum process_check identify(struct conn *conn, pid_t pid, struct process *process)
{
    uint32_t uid = conn->client.uid;
    if (pid == getpid()) {
        return PROCESS_NOT_YOURS; /* it would stop us */
    }
    if (pid == conn->pid && conn->started != 0) {
        *process = (struct process){.pid = pid, .started = conn->started};
        return PROCESS_OK;
    }
    enum process_check check = process_identify(pid, uid, uid == 0, process);
    if (check == PROCESS_OK && pid == conn->pid) {
        conn->started = process->started;
    }
    return check;
}

bool job_identify(
    struct call *call, const char *pid, enum binding *bindingp, struct process *process)
{
    uint64_t number;
    *bindingp = BOUND_CONNECTION;
    *process = (struct process){.pid = call->conn->pid};
    if (!number_parse(pid, INT32_MAX, &number) || number == 0) {
        call_refuse(call, CODE_BAD_VALUE, "pid");
        return false;
    }
    enum conn_pids pids = conn_look_at_pids(call->conn);
    if (pids == PIDS_NOT_KNOWN) {
        answer_error_saying(call->out, CODE_NO_MEMORY, strerror(errno));
        return false;
    }
    if (pids == PIDS_OTHERS) {
        return true;
    }
    switch (identify(call->conn, (pid_t)number, process)) {
    case PROCESS_OK:
        *bindingp = BOUND_PROCESS;
        return true;
    case PROCESS_NONE:
        answer_error_saying(call->out, could_not_look() ? CODE_NO_MEMORY : CODE_BAD_VALUE,
            could_not_look() ? strerror(errno) : "pid: no such process");
        return false;
    case PROCESS_NOT_YOURS:
        break;
    }
    answer_error_saying(call->out, CODE_FORBIDDEN, "pid: not your process");
    return false;
}

/* ---- when it is gone ---- */

static void on_gone(struct watches *watches, void *context)
{
    struct server *server = container_of(watches, struct server, watches);
    struct lease *lease = context;
    job_forget(lease);
    core_process_gone(server->core, lease, clock_now(), &server->effects);
    server_carry_out(server);
    server_end_turn(server);
}

void job_watch(struct server *server, struct lease *lease)
{
    job_forget(lease);
    lease->watch = watch_new(&server->watches, lease_keeper(lease), on_gone, lease);
}

void job_forget(struct lease *lease)
{
    if (lease->watch) {
        lease->watch = watch_free(lease->watch);
    }
}

/* ---- stopping it ---- */

bool job_is_beyond_holder(const struct lease *lease)
{
    struct process process;
    return lease->binding == BOUND_PROCESS &&
        process_identify(lease->process.pid, lease->uid, false, &process) == PROCESS_NOT_YOURS;
}

/* Root's and our own reach by themselves no further than we do. */
static bool is_lent(const struct lease *lease)
{
    return lease->uid != 0 && lease->uid != geteuid();
}

/* To whom the lease's user may send no signal: none that the user has chosen, and none at all if it
 * is the user who stops the job. */
static int signal_to_others(const struct lease *lease, int signal)
{
    return lease->stopping == OUTCOME_WITHDRAWN ? 0 : signal == SIGKILL ? SIGKILL : SIGTERM;
}

void job_signal(struct server *server, const struct lease *lease, int signal)
{
    const struct group_signal each = {
        .leader = lease->process,
        .wrapper = lease->wrapper,
        .uid = lease->uid,
        .own = signal,
        .others = is_lent(lease) ? signal_to_others(lease, signal) : signal,
    };
    if (each.others != each.own || lease->wrapper.pid != 0) {
        group_signaller_add(&server->group_signaller, &each);
        lease_log_signal(&server->databases, lease, signal, 0);
        return;
    }
    errno = ESRCH;
    bool sent = lease->watch && watch_signal(lease->watch, signal);
    lease_log_signal(&server->databases, lease, signal, sent ? 0 : errno);
}
